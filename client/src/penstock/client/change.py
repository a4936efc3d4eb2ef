"""What happens to a timeline: plain values, made from what a subscription is told. Pure.

Guaranteed: whoever holds what a cursor says and takes a change in holds what the cursor of the change says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.client.cursor import Cursor, from_wire
from penstock.client.post import Post, post_of
from penstock.timeline.v1 import timeline_pb2


@dataclass(frozen=True, slots=True)
class Added:
    """A post entered the timeline."""

    post: Post
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class Removed:
    """A post left it: it was deleted, its author is no longer followed, or newer posts took its place."""

    number: int
    id: str
    """Empty where the server no longer knows it, and so is the author: the number says which one it was."""
    author: str
    cursor: Cursor


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """All there was to tell has been told. Comes after each connecting, and now and then while nothing happens."""

    cursor: Cursor


Change: TypeAlias = Added | Removed | CaughtUp
"""What happened to a timeline. Resuming at its `cursor` goes on after it."""


def change_of(response: timeline_pb2.SubscribeResponse) -> Change:
    """ValueError if it is of a kind that is not known here."""
    cursor = from_wire(response.cursor)
    kind = response.WhichOneof("change")
    if kind == "added":
        return Added(post_of(response.added), cursor)
    if kind == "removed":
        return Removed(response.removed.number, response.removed.id, response.removed.author, cursor)
    if kind == "heartbeat":
        return CaughtUp(cursor)
    raise ValueError("a change of a kind that this version does not know")
