"""What a timeline is, in ten lines: the newest live posts of the authors that a user follows.

In:  all changes of the two tables, in any order, with repetitions. Out: posts, newest first; the canonical hash.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import TypeVar

from penstock.delivery.rows import FollowRow, PostRow

Row = TypeVar("Row", PostRow, FollowRow)


def live(rows: Iterable[Row]) -> list[Row]:
    """Of each post, or of each follow, the change with the greatest version; if it is alive."""
    newest: dict[tuple[str, str], Row] = {}
    for row in rows:
        key = (row.author, row.id) if isinstance(row, PostRow) else (row.author, row.follower)
        newest[key] = max(newest.get(key, row), row, key=lambda one: (one.time_us, one.position))
    return [row for row in newest.values() if row.alive]


def timeline(user: str, posts: Iterable[PostRow], follows: Iterable[FollowRow], capacity: int) -> list[PostRow]:
    authors = {follow.author for follow in live(follows) if follow.follower == user}
    seen = [post for post in live(posts) if post.author in authors]
    return sorted(seen, key=place, reverse=True)[:capacity]


def place(post: PostRow) -> tuple[int, bytes, bytes]:
    return post.time_us, post.id.encode(), post.author.encode()


def canonical_hash(timelines: dict[int, list[PostRow]]) -> int:
    """Of timelines by the number of their user."""
    total = 0
    for user, posts in timelines.items():
        words = [user]
        for post in posts:
            payload = blake2b(post.payload or b"", digest_size=8).digest()
            words += [post.time_us & (1 << 64) - 1, post.number, int.from_bytes(payload, "little")]
        text = b"".join(word.to_bytes(8, "little") for word in words)
        total += int.from_bytes(blake2b(text, digest_size=16).digest(), "little") if posts else 0
    return total % (1 << 128)
