"""The user whose timeline the view shows: follows a few authors, and now and then one more, or one less.

In:  who is here. Out: follows and unfollows, published like anybody's.
So whole authors come into the timeline and leave it, besides the posts that their authors write and delete.
"""

from collections.abc import Callable, Sequence
from random import Random

from penstock.demo.device import Time
from penstock.demo.probe import Publisher
from penstock.demo.society import ONLOOKER

# Of those who are here, counted from the most popular one.
_FOLLOWED = (0, 8, 40)
_FIRST_PAUSE_US = 5_000_000
_PAUSE_US = (5_000_000, 9_000_000)


async def look_around(publisher: Publisher, time: Time, random: Random, present: Callable[[], Sequence[str]]) -> None:
    """Until time is over."""
    users = present()
    followed = list(dict.fromkeys(users[min(rank, len(users) - 1)] for rank in _FOLLOWED))
    for author in followed:
        await publisher.publish("follow.created", {"follower": ONLOOKER, "author": author})
    await time.wait_us(_FIRST_PAUSE_US)
    extra: str | None = None
    while not time.is_over:
        if extra is not None:
            await publisher.publish("follow.deleted", {"follower": ONLOOKER, "author": extra})
            extra = None
        elif others := [user for user in present() if user not in followed]:
            extra = random.choice(others)
            await publisher.publish("follow.created", {"follower": ONLOOKER, "author": extra})
        await time.wait_us(random.randint(*_PAUSE_US))
