"""Rows of the tables as what a timeline is made of: posts and follows.

In:  changes of the two tables that the section `timeline` of pipeline.yaml names.
Out: `PostRow` and `FollowRow`: who, which, alive or gone, and the version: of all changes of one post, or of one
     follow, the one with the greatest (time_us, position) counts. A post that is alive comes with what readers will be
     shown, a serialized penstock.timeline.v1.Post: the same bytes wherever it is made of the same change.
     ValueError for what is no change of a row of its table.
A truncate is not about one row: it ends every row of the table that is older than its version. Whoever has the rows
must see to it (`change.op == OP_TRUNCATE`); here it is a ValueError. A record without a value (a tombstone, for the
broker's compaction) is the caller's too: the delete came before it.
Pure.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.delivery.numbers import post_key, post_number, user_number
from penstock.pipeline import Pipeline, key_values
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.timeline.v1.delivery_pb2 import Post

_tuple: Final = tuple.__new__  # a NamedTuple's own constructor takes three times as long
_UPSERT: Final = int(Op.OP_UPSERT)
_DELETE: Final = int(Op.OP_DELETE)


class PostRow(NamedTuple):
    """A version of a post. `payload` is None where the post is gone."""

    author: str
    id: str
    alive: bool
    time_us: int
    position: bytes
    payload: bytes | None
    key: int  # of the post
    number: int  # of this version of it


class FollowRow(NamedTuple):
    """A version of the fact that a user follows an author, or no longer does."""

    follower: str
    author: str
    alive: bool
    time_us: int
    position: bytes
    number: int  # of the follower


class Rows:
    """Reads changes as the timeline of a pipeline understands them."""

    def __init__(self, pipeline: Pipeline) -> None:
        timeline = pipeline.timeline
        if timeline is None:
            raise ValueError("this pipeline has no timelines: its file lacks the section `timeline:`")
        self.posts_table, self.follows_table = timeline.posts.table, timeline.follows.table
        self._post_key = pipeline.tables[self.posts_table].key
        self._post_author = self._post_key.index(timeline.posts.author)
        self._follow_key = pipeline.tables[self.follows_table].key
        self._author_first = self._follow_key[0] == timeline.follows.author
        columns = pipeline.columns_of(self.posts_table)
        # What a post has in other fields. Most tables do not keep it beside the key.
        self._hidden = tuple(name for name in self._post_key if columns is None or name in columns)

    def post(self, change: RowChange) -> PostRow:
        """A row of the table of posts. A post's id is the rest of its key, as row_key writes it."""
        key, op, version = change.key, change.op, change.version
        position, parts = version.position, key.split("/")
        if (
            not _UPSERT <= op <= _DELETE
            or not position
            or len(parts) != len(self._post_key)
            or change.table != self.posts_table
        ):
            raise _unfit(change, self.posts_table, self._post_key)
        author = parts.pop(self._post_author)
        post_id = parts[0] if len(parts) == 1 else "/".join(parts)
        if "%" in key:
            author = _values(change)[self._post_author]
        time_us, alive, key_number = version.valid_from_us, op == _UPSERT, post_key(author, post_id)
        number = post_number(key_number, time_us, position)
        payload = self._payload(change, author, post_id, number) if alive else None
        return _tuple(PostRow, (author, post_id, alive, time_us, position, payload, key_number, number))

    def follow(self, change: RowChange) -> FollowRow:
        """A row of the table of follows."""
        key, op, version = change.key, change.op, change.version
        position, parts = version.position, key.split("/")
        if (
            not _UPSERT <= op <= _DELETE
            or not position
            or len(parts) != len(self._follow_key)
            or change.table != self.follows_table
        ):
            raise _unfit(change, self.follows_table, self._follow_key)
        follower, author = _values(change) if "%" in key else parts
        if self._author_first:
            follower, author = author, follower
        number = user_number(follower)
        return _tuple(FollowRow, (follower, author, op == _UPSERT, version.valid_from_us, position, number))

    def _payload(self, change: RowChange, author: str, post_id: str, number: int) -> bytes:
        version = change.version
        post = Post()
        # One by one, which takes two thirds of the time that the constructor takes.
        post.id, post.author, post.time_us, post.number = post_id, author, version.valid_from_us, number
        post.version.CopyFrom(version)
        if change.HasField("error_bound_us"):
            post.error_bound_us = change.error_bound_us
        attributes = post.attributes
        attributes.update(change.columns)
        for name in self._hidden:
            attributes.pop(name, None)
        return post.SerializeToString(deterministic=True)


def _values(change: RowChange) -> tuple[str, ...]:
    """Of a key in which something is escaped."""
    try:
        return key_values(change.key)
    except ValueError as error:
        raise ValueError(f"a change of table '{change.table}', key '{change.key}': {error}") from None


def _unfit(change: RowChange, table: str, key: tuple[str, ...]) -> ValueError:
    """Of several faults, the one that explains the others."""
    if change.table != table:
        fault = f"its table is not '{table}'"
    elif change.op == Op.OP_TRUNCATE:
        fault = "it truncates the table, which is not about one row"
    elif change.op not in (_UPSERT, _DELETE):
        fault = f"its op is {change.op}, which this release does not know"
    elif not change.version.position:
        fault = "it has no version, so nobody can say which of two changes counts"
    else:
        fault = f"its key is not one value for each of {', '.join(key)}"
    return ValueError(f"a change of table '{change.table}', key '{change.key}': {fault}")
