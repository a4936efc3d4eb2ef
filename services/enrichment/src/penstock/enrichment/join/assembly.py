"""Our part of an event's bytes: appended to the device's part (protobuf merges), never encoding that again."""

from __future__ import annotations

from typing import Final

from penstock.clock import Corrected
from penstock.enrichment.join.encoding import sized, tag, varint
from penstock.events.v1.event_pb2 import Event, Position
from penstock.events.v1.raw_batch_pb2 import RawBatchView

_BOOT: Final = tag(Event.BOOT_ID_FIELD_NUMBER, sized=True)
_DEVICE: Final = tag(Event.DEVICE_ID_FIELD_NUMBER, sized=True)
_KEY: Final = tag(Event.KEY_FIELD_NUMBER, sized=True)
_CLOCK: Final = tag(Event.CLOCK_FIELD_NUMBER, sized=True)
_SOURCE: Final = tag(Event.SOURCE_FIELD_NUMBER, sized=True)
# Fields of penstock.events.v1.Clock.
_SENT: Final = tag(1, sized=True)
_RECEIVED, _CORRECTED, _BOUND, _METHOD, _DOMAIN, _OFFSET, _CLAMPED, _SPANS = (
    tag(field, sized=False) for field in range(2, 10)
)


class Assembly:
    """What the events of one batch share is encoded once."""

    def __init__(self, batch: RawBatchView, source: Position) -> None:
        self.source = source.SerializeToString()
        self._clock = sized(_SENT, batch.sent.SerializeToString()) + _RECEIVED + varint(batch.stamp.received_us)
        self._device = batch.device_id.encode()
        self._shared = sized(_DEVICE, self._device) + sized(_SOURCE, self.source)
        self._boot = sized(_BOOT, batch.boot_id.encode())
        self._hows: dict[tuple[int, int | None, int, bool, bool], bytes] = {}

    @property
    def shared(self) -> tuple[bytes, bytes, bytes]:
        """What is the same for all usual events: of the event, of its clock, and of the device's id."""
        return self._boot + self._shared, self._clock, self._device

    def tail(self, corrected: Corrected, key: bytes, *, has_boot: bool) -> bytes:
        """To be appended to an event's own bytes. `has_boot`: those say of which boot it is."""
        t_us, bound_us, method, domain, offset_us, clamped, spans, _ = corrected
        how = self._hows.get((method, domain, offset_us, clamped, spans))
        if how is None:
            how = self.how(corrected)
        bound = b"" if bound_us is None else _BOUND + varint(bound_us)
        clock = b"".join((self._clock, _CORRECTED, varint(t_us), bound, how))
        parts = (
            b"" if has_boot else self._boot,
            self._shared,
            _KEY,
            varint(len(key)),
            key,
            _CLOCK,
            varint(len(clock)),
            clock,
        )
        return b"".join(parts)

    def how(self, corrected: Corrected) -> bytes:
        """How the time was found: nearly always the same for all events of a batch."""
        _, _, method, domain, offset_us, clamped, spans, _ = corrected
        named = zip(
            (_METHOD, _DOMAIN, _OFFSET, _CLAMPED, _SPANS),
            (int(method), int(domain or 0), offset_us, int(clamped), int(spans)),
            strict=True,
        )
        how = b"".join(name + varint(value) for name, value in named)
        self._hows[method, domain, offset_us, clamped, spans] = how
        return how


def identity(event: Event) -> tuple[str, str, str]:
    """What tells an enriched event from all others: device, boot and number, or device and the client's own id."""
    if event.seq:
        return event.device_id, event.boot_id, str(event.seq)
    return event.device_id, "", event.id
