"""Who follows whom: a small social network with a few celebrities, and many who only read.

In:  a seeded randomness, and who is here. Out: the follows that there are at the beginning; an author to follow.
Popularity is a power law, and age is what makes popular: of those who are here, the ones who came first are followed
most. Pure.
"""

from collections.abc import Sequence
from random import Random

from penstock.demo.population import user_of

# Whose timeline the view shows, who posts so that latency can be measured, and who waits for those posts.
ONLOOKER = "you"
PROBE_AUTHOR, PROBE_READER = "probe", "probe-reader"
# Those who only read have no device here.
READERS_PER_DEVICE = 4
_SKEW = 2.6
_FOLLOWED_LEAST, _FOLLOWED_MOST = 4, 24


def reader_of(number: int) -> str:
    """One who only reads."""
    return f"r{number}"


def merged_above(devices: int) -> int:
    """From more followers than this on, an author is a celebrity: a fifth of all who are here at the beginning."""
    return max(5, (devices + READERS_PER_DEVICE * devices) // 5)


def choose(random: Random, authors: Sequence[str]) -> str:
    """An author to follow; the first ones far more often than the last ones."""
    return authors[int(len(authors) * random.random() ** _SKEW)]


def first_follows(random: Random, devices: int) -> dict[str, list[str]]:
    """Of each user, and of each who only reads: the authors followed at the beginning."""
    authors = [user_of(number) for number in range(1, devices + 1)]
    readers = [reader_of(number) for number in range(1, READERS_PER_DEVICE * devices + 1)]
    follows = {follower: _some(random, authors, follower) for follower in [*authors, *readers]}
    return {follower: followed for follower, followed in follows.items() if followed}


def _some(random: Random, authors: Sequence[str], follower: str) -> list[str]:
    tries = random.randint(_FOLLOWED_LEAST, _FOLLOWED_MOST)
    chosen = dict.fromkeys(choose(random, authors) for _ in range(tries))
    return [author for author in chosen if author != follower]
