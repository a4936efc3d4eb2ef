"""Our part of an event's bytes: appended to the device's part, never encoding that again."""

from __future__ import annotations

from penstock.clock import Corrected
from penstock.events.v1.event_pb2 import ClockDomain, ClockMethod, Event, Position
from penstock.events.v1.raw_batch_pb2 import RawBatchView


class Assembly:
    """One message, filled anew for each batch and touched up for each event: making messages costs more than that."""

    def __init__(self) -> None:
        self._tail = Event()
        self._clock = self._tail.clock
        self._boot_id = ""

    def begin(self, batch: RawBatchView, source: Position) -> None:
        """What all events of a batch share."""
        tail = self._tail
        tail.Clear()
        self._boot_id = batch.boot_id
        tail.device_id = batch.device_id
        tail.source.CopyFrom(source)
        self._clock = tail.clock
        self._clock.sent.CopyFrom(batch.sent)
        self._clock.received_us = batch.stamp.received_us

    def tail(self, event: Event, corrected: Corrected, key: str) -> bytes:
        """To be appended to this event's own bytes."""
        tail, clock = self._tail, self._clock
        tail.key = key
        tail.boot_id = event.boot_id or self._boot_id
        clock.corrected_us = corrected.corrected_us
        if corrected.error_bound_us is None:
            clock.ClearField("error_bound_us")
        else:
            clock.error_bound_us = corrected.error_bound_us
        clock.method = ClockMethod.ValueType(corrected.method)
        clock.domain = ClockDomain.ValueType(corrected.domain or 0)
        clock.offset_us = corrected.offset_us
        clock.clamped = corrected.clamped
        clock.spans_clock_set = corrected.spans_clock_set
        return tail.SerializeToString()


def identity(event: Event) -> tuple[str, str, str]:
    """What tells an enriched event from all others: device, boot and number, or device and the client's own id."""
    if event.seq:
        return event.device_id, event.boot_id, str(event.seq)
    return event.device_id, "", event.id
