from collections import Counter
from random import Random

from penstock.demo.society import READERS_PER_DEVICE, choose, first_follows, merged_above


def test_popularity_is_a_power_law() -> None:
    random, authors = Random(1), [f"u{number}" for number in range(200)]
    chosen = Counter(choose(random, authors) for _ in range(20_000))
    assert chosen["u0"] > 10 * chosen["u50"] > 0
    assert chosen["u199"] > 0


def test_whoever_is_alone_can_be_chosen() -> None:
    assert choose(Random(1), ["u1"]) == "u1"


def test_users_and_those_who_only_read_follow_somebody_and_nobody_themselves() -> None:
    follows = first_follows(Random(1), 200)
    assert len(follows) == 200 * (1 + READERS_PER_DEVICE)
    assert all(followed and follower not in followed for follower, followed in follows.items())
    assert all(len(set(followed)) == len(followed) for followed in follows.values())


def test_a_few_are_celebrities() -> None:
    followers = Counter(author for followed in first_follows(Random(1), 200).values() for author in followed)
    assert 2 <= sum(count > merged_above(200) for count in followers.values()) <= 20


def test_a_society_of_one_has_readers() -> None:
    assert first_follows(Random(1), 1) == {f"r{number}": ["u1"] for number in range(1, READERS_PER_DEVICE + 1)}
