from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import user_number
from penstock.events.v1.event_pb2 import Position
from penstock.timeline.v1.timeline_pb2 import Cursor, GetTimelineRequest, GetTimelineResponse, SubscribeResponse
from penstock.timelines import difference, pages
from penstock.timelines.difference import Reader, reader_of

World = Any  # of conftest.py
SEEN = [Position(topic="timeline.deliveries.v1", partition=1, offset=8)]


def told(reader: Reader, world: World, user: str = "reader") -> list[SubscribeResponse]:
    """All of it."""
    messages, more = [], True
    while more:
        changes = reader.changes(world.held_of(user).partition, user_number(user), SEEN)
        assert len(changes.messages) <= difference.CHANGES_MAX
        some = [SubscribeResponse.FromString(message) for message in changes.messages]
        assert [message.HasField("removed") for message in some[: changes.removed]] == [True] * changes.removed
        assert all(message.HasField("added") for message in some[changes.removed :])
        messages += some
        more = changes.more
    return messages


def follow(held: dict[int, Any], messages: list[SubscribeResponse]) -> None:
    """As a client does; each message must be a change, and its cursor must say what is held after it."""
    for message in messages:
        if message.HasField("added"):
            assert message.added.number not in held
            held[message.added.number] = message.added
        else:
            del held[message.removed.number]
        assert set(message.cursor.held) == held.keys()
        assert list(message.cursor.seen) == SEEN


def test_removals_come_first_then_posts_oldest_first(world: World) -> None:
    world.apply(world.join.follow("reader", "ann"))
    for number in range(3):
        world.apply(world.join.post("ann", f"p{number}", number))
    reader, held = Reader(None, {}), dict[int, Any]()
    messages = told(reader, world)
    assert [message.added.id for message in messages] == ["p0", "p1", "p2"]
    follow(held, messages)
    world.apply(world.join.delete("ann", "p1"))
    for number in (4, 3):
        world.apply(world.join.post("ann", f"p{number}", number))
    messages = told(reader, world)
    assert [message.removed.id or message.added.id for message in messages] == ["p1", "p3", "p4"]
    assert messages[0].removed.author == "ann"
    follow(held, messages)
    assert told(reader, world) == []


def test_an_edited_post_is_removed_and_added(world: World) -> None:
    world.apply(world.join.follow("reader", "ann"))
    world.apply(world.join.post("ann", "p", 1, text="Helo"))
    reader, held = Reader(None, {}), dict[int, Any]()
    follow(held, told(reader, world))
    world.apply(world.join.post("ann", "p", 2, text="Hello"))
    messages = told(reader, world)
    follow(held, messages)
    assert [message.WhichOneof("change") for message in messages] == ["removed", "added"]
    assert [post.attributes["text"] for post in held.values()] == ["Hello"]


def test_a_reader_sees_nothing_below_its_floor(world: World) -> None:
    world.apply(world.join.follow("reader", "ann"))
    for number in range(5):
        world.apply(world.join.post("ann", f"p{number}", 1_000 + number))
    question = pages.question(GetTimelineRequest(user="reader", limit=2), pages.Limits(50, 100))
    answer = pages.page(world.held_of("reader"), user_number("reader"), question, stale=False)
    live = GetTimelineResponse.FromString(answer).live
    reader = reader_of(live, pages.place_of(live))
    assert told(reader, world) == []
    world.apply(world.join.delete("ann", "p1"))
    assert told(reader, world) == []
    world.apply(world.join.delete("ann", "p3"))
    (message,) = told(reader, world)
    assert (message.removed.id, message.removed.author) == ("p3", "ann"), "known by name, though held from before"
    assert (message.cursor.time_us, message.cursor.post_id, message.cursor.author) == (1_003, "p3", "ann")


def test_a_post_that_left_before_the_reader_came_is_told_by_its_number(world: World) -> None:
    reader = reader_of(Cursor(held=[77]), None)
    (message,) = told(reader, world)
    assert (message.removed.number, message.removed.id, message.removed.author) == (77, "", "")
    assert list(message.cursor.held) == []


def test_a_heartbeat_has_the_whole_cursor(world: World) -> None:
    reader = reader_of(Cursor(held=[77]), None)
    message = SubscribeResponse.FromString(reader.heartbeat(SEEN))
    assert message.HasField("heartbeat")
    assert message.cursor == Cursor(seen=SEEN, held=[77])


def test_much_is_told_in_parts_that_can_be_resumed(make_world: Callable[..., World]) -> None:
    world = make_world(capacity=500)
    world.apply(world.join.follow("reader", "ann"))
    for number in range(3 * difference.CHANGES_MAX):
        world.apply(world.join.post("ann", f"p{number}", number, text="x" * 10_000))
    partition = world.held_of("reader").partition
    changes = Reader(None, {}).changes(partition, user_number("reader"), SEEN)
    assert changes.more
    assert len(changes.messages) <= difference.CHANGES_MAX
    # The reader is cut off in the middle, and goes on with somebody else.
    middle = SubscribeResponse.FromString(changes.messages[10])
    rest = told(reader_of(middle.cursor, None), world)
    assert [message.added.id for message in rest] == [f"p{number}" for number in range(11, 3 * difference.CHANGES_MAX)]


@given(data=st.data())
def test_whatever_happens_the_reader_ends_with_the_timeline(
    data: st.DataObject, make_world: Callable[..., World]
) -> None:
    world = make_world(capacity=8, slack=30)
    reader, held = Reader(None, {}), dict[int, Any]()
    authors = ["ann", "bob"]
    for _ in range(data.draw(st.integers(1, 25))):
        author, join = data.draw(st.sampled_from(authors)), world.join
        what = data.draw(st.sampled_from(["post", "delete", "follow", "unfollow", "look", "resume"]))
        if what == "post":
            post_id, time_us = data.draw(st.sampled_from("abcdef")), data.draw(st.integers(1, 9))
            if post_id not in join.posts[author] or join.posts[author][post_id].time_us != time_us:
                world.apply(join.post(author, post_id, time_us))
        elif what == "delete" and join.posts[author]:
            world.apply(join.delete(author, data.draw(st.sampled_from(sorted(join.posts[author])))))
        elif what == "follow" and "reader" not in join.followers[author]:
            world.apply(join.follow("reader", author))
        elif what == "unfollow":
            world.apply(join.unfollow("reader", author))
        else:
            if what == "resume":
                reader = reader_of(Cursor(held=held), None)
            follow(held, told(reader, world))
            assert sorted(held) == sorted(post.number for post in join.timeline("reader"))
