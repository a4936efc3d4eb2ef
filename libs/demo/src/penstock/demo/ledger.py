"""What became of each event, kept by the side that made it: the audit that nothing acknowledged is lost or doubled.

In:  every event made, with its true time; every acknowledgement and refusal; every event read from the raw log, and
     from the enriched one.
Out: the truth of an event when it is first read; counts; what is lost, and what is doubled.
Bounded: an event is forgotten when it is acknowledged, in the raw log and enriched; while `events_max` are open, no
more are taken. Of refused events the newest are remembered, to notice one that comes out as an event all the same.
"""

from dataclasses import dataclass
from typing import NamedTuple

EVENTS_MAX = 500_000
REFUSED_MAX = 10_000


class Identity(NamedTuple):
    """Of an event. Never a time."""

    device_id: str
    boot_id: str
    seq: int


@dataclass(slots=True)
class _Open:
    true_us: int
    acknowledged: bool = False
    read: bool = False
    enriched: bool = False


class Ledger:
    def __init__(self, events_max: int = EVENTS_MAX) -> None:
        self._events_max = events_max
        self._open: dict[Identity, _Open] = {}
        self._refused: dict[Identity, None] = {}
        self.acknowledged = 0
        self.in_log = 0
        self.copies_in_log = 0
        self.refused = 0
        self.refused_in_log = 0
        self.enriched = 0
        self.doubled = 0

    @property
    def is_full(self) -> bool:
        return len(self._open) >= self._events_max

    def make(self, identity: Identity, true_us: int) -> None:
        """An event has happened on a device."""
        self._open[identity] = _Open(true_us)

    def acknowledge(self, identity: Identity) -> None:
        """The service said that the log has it."""
        event = self._open[identity]
        if not event.acknowledged:
            event.acknowledged = True
            self.acknowledged += 1
            self._forget_if_done(identity, event)

    def refuse(self, identity: Identity) -> None:
        """The service said that it will never be in the log."""
        event = self._open.pop(identity)
        self.refused += 1
        self.refused_in_log += event.read + event.enriched
        self._refused[identity] = None
        if len(self._refused) > REFUSED_MAX:
            del self._refused[next(iter(self._refused))]

    def read(self, identity: Identity) -> int | None:
        """The log has it. Returns its true time when it is first read, None for what is there again or must not be."""
        event = self._open.get(identity)
        if event is None or event.read:
            if identity in self._refused:
                self.refused_in_log += 1
            else:
                self.copies_in_log += 1
            return None
        event.read = True
        self.in_log += 1
        self._forget_if_done(identity, event)
        return event.true_us

    def enrich(self, identity: Identity) -> None:
        """The enriched log has it, as first emitted: that is to be so once, and of what was not refused."""
        event = self._open.get(identity)
        if event is None or event.enriched:
            if identity in self._refused:
                self.refused_in_log += 1
            else:
                self.doubled += 1
            return
        event.enriched = True
        self.enriched += 1
        self._forget_if_done(identity, event)

    @property
    def awaited(self) -> int:
        """Acknowledged, and not read from the raw log yet. What this says at the very end is lost."""
        return sum(event.acknowledged and not event.read for event in self._open.values())

    @property
    def unenriched(self) -> int:
        """Acknowledged, and not in the enriched log yet. What this says at the very end is lost."""
        return sum(event.acknowledged and not event.enriched for event in self._open.values())

    @property
    def unacknowledged(self) -> int:
        """Made, and neither acknowledged nor refused yet: on the devices, or under way."""
        return sum(not event.acknowledged for event in self._open.values())

    def _forget_if_done(self, identity: Identity, event: _Open) -> None:
        if event.acknowledged and event.read and event.enriched:
            del self._open[identity]
