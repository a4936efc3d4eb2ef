from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.client.buffer import Buffer
from penstock.client.encoding import event_of
from penstock.client.errors import EventTooLargeError
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Tally
from penstock.events.v1.event_pb2 import Event
from penstock.ingest.v1.ingest_pb2 import PublishRequest

SMALL = PublisherSettings(batch_events_max=4, batch_bytes_max=200, buffer_events_max=12, buffer_bytes_max=500)
LINGER_US = 20_000


def event(data_bytes: int = 0) -> Event:
    return event_of("t", None, b"x" * data_bytes, 1, None, {})


@given(sizes=st.lists(st.integers(0, 150), max_size=40))
def test_batches_keep_numbers_and_bounds(sizes: list[int]) -> None:
    tally = Tally()
    buffer = Buffer(SMALL, tally)
    taken = [size for size in sizes if buffer.add(event(size), 0) is not None]
    assert tally.buffered == len(taken) <= SMALL.buffer_events_max
    assert tally.buffered_bytes <= SMALL.buffer_bytes_max
    seen: list[Event] = []
    while buffer.oldest() is not None:
        batch = buffer.take()
        events = PublishRequest.FromString(batch.body).events
        assert len(events) == batch.count <= SMALL.batch_events_max
        assert len(batch.body) <= batch.size <= SMALL.batch_bytes_max
        assert events[0].seq == batch.first_seq
        seen += events
    assert [(e.seq, len(e.data)) for e in seen] == list(enumerate(taken, 1))


def test_due_when_full_flushed_or_lingered() -> None:
    buffer = Buffer(SMALL, Tally())
    assert buffer.due_us() is None
    buffer.add(event(), 100)
    assert buffer.due_us() == 100 + LINGER_US
    assert buffer.flush() == 1
    assert buffer.due_us() == 100
    buffer.take()
    for _ in range(4):
        buffer.add(event(), 200)
    assert buffer.due_us() == 200


def test_urgent_counts_are_the_first_and_the_last() -> None:
    buffer = Buffer(SMALL, Tally())
    batches = [buffer.add(event(), 0) for _ in range(5)]
    assert [b is batches[0] for b in batches] == [True, True, True, True, False]
    assert buffer.urgent_counts == {1, 4}


def test_too_large_is_said_before_a_number_is_given() -> None:
    buffer = Buffer(SMALL, Tally())
    with pytest.raises(EventTooLargeError, match=r"takes 2.. bytes and a batch at most 200"):
        buffer.add(event(200), 0)
    assert buffer.add(event(), 0) is not None
    assert buffer.last_seq == 1


def test_server_may_want_smaller_batches() -> None:
    buffer = Buffer(SMALL, Tally())
    buffer.limit_batches(100)
    buffer.add(event(50), 0)
    buffer.add(event(50), 0)
    assert buffer.take().count == 1


def test_takes_what_has_waited_too_long() -> None:
    settings = PublisherSettings(delivery_timeout_s=1)
    buffer = Buffer(settings, Tally())
    buffer.add(event(), 0)
    buffer.add(event(), 150_000)  # more than a tenth later: a batch of its own
    assert [batch.first_seq for batch in buffer.take_expired(1_000_000)] == [1]
    assert [batch.first_seq for batch in buffer.take_all()] == [2]
    assert buffer.oldest() is None
