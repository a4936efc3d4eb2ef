"""Posts and pages of them: plain values, made from the answers of the timeline service. Pure.

Guaranteed: a page is sorted by (time, id, author), newest first, and its cursors stay right while posts come and go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from penstock.client.cursor import Cursor, from_wire, to_wire
from penstock.client.place import Place
from penstock.client.row import places_of
from penstock.timeline.v1 import delivery_pb2, timeline_pb2

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Post:
    """A post of a timeline. It belongs to its author: the same id of another author is another post."""

    id: str
    author: str
    time_us: int
    """When it was written: the corrected time of its event, or the commit time in the database."""
    error_bound_us: int | None
    """How wrong that time may be; None where nothing bounds it."""
    attributes: Mapping[str, str]
    number: int
    """What removals call it. A post that is written again has another: to readers the old one goes, a new one comes."""
    position: bytes
    """Breaks ties between versions of one microsecond: the database's log sequence number, or an event's identity."""

    @property
    def time(self) -> datetime:
        """The same moment as a datetime, in UTC."""
        return _EPOCH + timedelta(microseconds=self.time_us)

    @property
    def order(self) -> tuple[int, str, str]:
        """By this timelines are sorted, the greatest first."""
        return self.time_us, self.id, self.author

    @property
    def cursor(self) -> Cursor:
        """Its place: for the page of posts just older, or just newer, than this one."""
        return from_wire(timeline_pb2.Cursor(time_us=self.time_us, post_id=self.id, author=self.author))


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a timeline."""

    posts: tuple[Post, ...]
    """Newest first."""
    next: Cursor | None
    """Goes on in the same direction. None: there is nothing older. Towards newer posts there always is a next time."""
    live: Cursor | None
    """For `subscribe` only: it goes on after exactly what this page shows. None where a cursor was asked with."""
    refilling: bool
    """Older posts may be missing and are on their way, because many posts were removed."""
    stale: bool
    """The consistency that was asked for was not reached, which the caller had allowed."""
    applied: tuple[Place, ...]
    """The state that answered."""

    def cut(self, posts_max: int) -> Page:
        """The newest of its posts, and where to go on after them."""
        if len(self.posts) <= posts_max:
            return self
        posts = self.posts[:posts_max]
        return replace(self, posts=posts, next=posts[-1].cursor, live=None)


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Asks for a page: the newest posts, or those next to a cursor."""

    user: str
    cursor: Cursor | None = None
    newer: bool = False
    """Towards newer posts instead of older ones."""
    limit: int | None = None
    """None: as many as the server thinks right."""


def request_of(query: PageQuery) -> timeline_pb2.GetTimelineRequest:
    """The question as it is sent. ValueError where there is no such question."""
    if not query.user:
        raise ValueError("whose timeline? the user must not be empty")
    if query.limit is not None and query.limit < 1:
        raise ValueError(f"limit must be at least 1, not {query.limit}")
    if query.newer and query.cursor is None:
        raise ValueError("newer than what? newer=True needs a cursor, for example posts[0].cursor of a page")
    direction = timeline_pb2.DIRECTION_NEWER if query.newer else timeline_pb2.DIRECTION_OLDER
    cursor = None if query.cursor is None else to_wire(query.cursor)
    return timeline_pb2.GetTimelineRequest(user=query.user, cursor=cursor, direction=direction, limit=query.limit or 0)


def page_of(response: timeline_pb2.GetTimelineResponse) -> Page:
    """The answer."""
    return Page(
        tuple(post_of(post) for post in response.posts),
        from_wire(response.next) if response.HasField("next") else None,
        from_wire(response.live) if response.HasField("live") else None,
        response.refilling,
        response.stale,
        places_of(response.applied),
    )


def post_of(said: delivery_pb2.Post) -> Post:
    """As deliveries carry it."""
    bound_us = said.error_bound_us if said.HasField("error_bound_us") else None
    attributes = dict(said.attributes)
    return Post(said.id, said.author, said.time_us, bound_us, attributes, said.number, said.version.position)
