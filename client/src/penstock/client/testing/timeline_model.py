"""What a timeline is, in plain Python: the newest live posts, by (time, id, author), of the authors a user follows.

In:  posts, deletions, follows and unfollows, in the order in which they count.
Out: timelines, pages of them, and what changes between what a reader holds and what there is. Pure.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from penstock.events.v1.event_pb2 import RowVersion
from penstock.timeline.v1.delivery_pb2 import Post
from penstock.timeline.v1.timeline_pb2 import Cursor, PostRemoved, SubscribeResponse

_HASH_LIMIT = 1 << 128
Order = tuple[int, str, str]


@dataclass(slots=True)
class TimelineModel:
    """All timelines."""

    capacity: int
    posts: dict[tuple[str, str], Post] = field(default_factory=dict)
    """By author and id."""
    follows: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The authors that a user follows."""

    def timeline(self, user: str) -> list[Post]:
        """Newest first."""
        followed = self.follows.get(user, ())
        found = [post for post in self.posts.values() if post.author in followed]
        return sorted(found, key=order_of, reverse=True)[: self.capacity]

    def older(self, user: str, cursor: Cursor | None, limit: int) -> tuple[list[Post], bool]:
        """The posts just older than the cursor, and whether there are more."""
        posts = self.timeline(user)
        if cursor is not None:
            posts = [post for post in posts if order_of(post) < _order(cursor)]
        return posts[:limit], len(posts) > limit

    def newer(self, user: str, cursor: Cursor, limit: int) -> list[Post]:
        """The posts just newer than the cursor."""
        return [post for post in self.timeline(user) if order_of(post) > _order(cursor)][-limit:]

    def view(self, user: str, cursor: Cursor) -> list[Post]:
        """The posts that are not older than the cursor's; all where it has none."""
        posts = self.timeline(user)
        return [post for post in posts if order_of(post) >= _order(cursor)] if cursor.post_id else posts

    def content_hash(self) -> bytes:
        """Of all timelines that are not empty, in any order."""
        total = 0
        for user in self.follows:
            content = [(post.number, post.SerializeToString(deterministic=True)) for post in self.timeline(user)]
            if content:
                digest = hashlib.blake2b(repr((user, content)).encode(), digest_size=16).digest()
                total += int.from_bytes(digest, "little")
        return (total % _HASH_LIMIT).to_bytes(16, "little")


def changes(held: dict[int, Post | None], view: Collection[Post]) -> Iterator[SubscribeResponse]:
    """What a reader must be told to hold the view, removals first; `held` (None: only its number is known) follows."""
    there = {post.number: post for post in view}
    for number, post in list(held.items()):
        if number not in there:
            del held[number]
            yield SubscribeResponse(removed=_removed(number, post))
    for post in sorted(view, key=order_of):
        new = post.number not in held
        held[post.number] = post
        if new:
            yield SubscribeResponse(added=post)


def post_number(author: str, post_id: str, version: RowVersion) -> int:
    """What cursors call a post: one that was edited is another one to readers."""
    text = f"{author}\0{post_id}\0{version.valid_from_us}\0".encode() + version.position
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def order_of(post: Post) -> Order:
    """The greatest is the newest."""
    return post.time_us, post.id, post.author


def cursor_at(post: Post) -> Cursor:
    """The place of a post."""
    return Cursor(time_us=post.time_us, post_id=post.id, author=post.author)


def _order(cursor: Cursor) -> Order:
    return cursor.time_us, cursor.post_id, cursor.author


def _removed(number: int, post: Post | None) -> PostRemoved:
    return PostRemoved(number=number) if post is None else PostRemoved(number=number, id=post.id, author=post.author)
