"""The canonical hash against its definition."""

from __future__ import annotations

from hashlib import blake2b

from delivery_maker import Maker, followed, post, spread
from penstock.delivery.numbers import user_number
from penstock.timelines.store import Shape


def test_the_definition() -> None:
    maker = Maker(Shape(2, 1, 1, 1))
    posts = [post("a", str(time_us), time_us) for time_us in (-5, 7, 9)]
    maker.tell(followed("a", ["ann", "bob", "cyd"]), followed("star", ["cyd"]))
    maker.tell(spread(posts[:2], ["ann"]), spread([post("star", "s", 8)], outbox=True))
    maker.tell(spread([posts[2]], ["ann"]))
    total = 0
    for user, seen in (("ann", [posts[2], posts[1]]), ("cyd", [post("star", "s", 8)])):
        words = [user_number(user).to_bytes(8, "little")]
        for one in seen:
            words += [one.time_us.to_bytes(8, "little", signed=True), one.number.to_bytes(8, "little")]
            words += [blake2b(one.SerializeToString(deterministic=True), digest_size=8).digest()]
        total += int.from_bytes(blake2b(b"".join(words), digest_size=16).digest(), "little")
    assert maker.partition.digest() == total % (1 << 128)


def test_who_sees_nothing_does_not_count() -> None:
    maker = Maker(Shape(2, 1, 1, 1))
    maker.tell(followed("a", ["ann"]), spread([post("star", "s", 8)], outbox=True))
    assert maker.partition.digest() == 0
