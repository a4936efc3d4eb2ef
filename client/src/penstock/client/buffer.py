"""Events that wait to be sent, already in their batches.

In:  events, numbered as they are taken in.
Out: batches in the order of the numbers; batches that waited too long.
Guaranteed: a number is given once and without gaps; what is taken in never exceeds the bounds,
in events and in bytes (events stay counted until they are settled, see Tally). Pure.
"""

from __future__ import annotations

from collections import deque

from penstock.client.batch import Batch
from penstock.client.encoding import FRAME_BYTES_MAX
from penstock.client.errors import EventTooLargeError
from penstock.client.excerpt import excerpt
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Tally
from penstock.events.v1.event_pb2 import Event

# A batch is given up when its oldest event is. So that its youngest is not given up much too early,
# a batch collects for no longer than this part of the delivery timeout.
_COLLECTING_PART = 10


class Buffer:
    """Numbers events and collects them in batches."""

    def __init__(self, settings: PublisherSettings, tally: Tally) -> None:
        self._settings = settings
        self._tally = tally
        self._linger_us = int(settings.linger_s * 1e6)
        self._delivery_timeout_us = int(settings.delivery_timeout_s * 1e6)
        self._collecting_us = self._delivery_timeout_us // _COLLECTING_PART
        self._batch_bytes_max = settings.batch_bytes_max
        self._closed: deque[Batch] = deque()
        self._open: Batch | None = None
        self._flush_through = 0
        self.last_seq = 0
        self.urgent_counts = frozenset({1, settings.batch_events_max})
        """A batch that has reached one of these gives the sender reason to look: a linger starts, or it is full."""

    def add(self, event: Event, now_us: int) -> Batch | None:
        """Numbers the event and puts it into a batch, which is returned. None: no room, and nothing happened."""
        settings, tally = self._settings, self._tally
        if tally.buffered >= settings.buffer_events_max:
            return None
        event.seq = seq = self.last_seq + 1
        body = event.SerializeToString()
        size = len(body) + FRAME_BYTES_MAX
        if tally.buffered_bytes + size > settings.buffer_bytes_max:
            self._check_size(event, size)
            return None
        batch = self._open
        if batch is None or batch.size + size > self._batch_bytes_max or now_us - batch.added_us > self._collecting_us:
            self._check_size(event, size)
            self._close()
            batch = self._open = Batch(seq, now_us, now_us + self._delivery_timeout_us)
        self.last_seq = seq
        batch.bodies.append(body)
        batch.count += 1
        batch.size += size
        tally.buffered += 1
        tally.buffered_bytes += size
        if batch.count == settings.batch_events_max:
            self._close()
        return batch

    def _check_size(self, event: Event, size: int) -> None:
        if size > self._batch_bytes_max:
            raise EventTooLargeError(
                f"an event of type {excerpt(event.type)} takes {size} bytes and a batch at most "
                f"{self._batch_bytes_max}; make it smaller or raise batch_bytes_max"
            )

    def _close(self) -> None:
        if self._open is not None:
            self._closed.append(self._open)
            self._open = None

    def flush(self) -> int:
        """Lets nothing linger that was taken in so far; returns the last number."""
        self._flush_through = self.last_seq
        return self.last_seq

    def limit_batches(self, bytes_max: int) -> None:
        """The server takes no larger ones. Batches that were begun stay as they are."""
        self._batch_bytes_max = min(self._settings.batch_bytes_max, bytes_max)

    def oldest(self) -> Batch | None:
        """The next batch to go."""
        return self._closed[0] if self._closed else self._open

    def due_us(self) -> int | None:
        """From when on the next batch may go: at once if it is full or flushed, else when its linger ends."""
        batch = self.oldest()
        if batch is None:
            return None
        ready = batch is not self._open or batch.first_seq <= self._flush_through
        return batch.added_us if ready else batch.added_us + self._linger_us

    def take(self) -> Batch:
        """Takes the next batch out, encoded. There must be one."""
        if not self._closed:
            self._close()
        batch = self._closed.popleft()
        batch.close()
        return batch

    def take_expired(self, now_us: int) -> list[Batch]:
        """Takes out what has waited too long."""
        expired: list[Batch] = []
        while (batch := self.oldest()) is not None and batch.expires_us <= now_us:
            expired.append(self.take())
        return expired

    def take_all(self) -> list[Batch]:
        """Takes everything out."""
        self._close()
        return [self.take() for _ in range(len(self._closed))]
