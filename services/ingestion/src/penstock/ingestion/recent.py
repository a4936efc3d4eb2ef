"""Remembers which events were accepted a short while ago, so that a resend is answered `duplicate`.

Only a courtesy: it spares the log, and tells a client what happened. Exactness is enrichment's work, which sees
every record. So this may forget (bounded: the least recently used device goes first) but must never claim an event
that Kafka did not confirm: add() is called after the delivery report.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

WINDOW = 4_096
IDS_PER_DEVICE = 1_024


@dataclass(slots=True)
class _Seen:
    """Sequence numbers: the highest, and a bit for each of the WINDOW numbers up to it. Ids: the newest."""

    highest: int = 0
    bits: int = 0
    ids: OrderedDict[str, None] | None = None


class Recent:
    def __init__(self, devices_max: int) -> None:
        self._devices_max = devices_max
        self._devices: OrderedDict[tuple[str, str], _Seen] = OrderedDict()

    def __len__(self) -> int:
        return len(self._devices)

    def all_new(self, device_id: str, boot_id: str, lowest_seq: int) -> bool:
        """True if no number from lowest_seq on was seen: the usual case, one comparison for a whole batch."""
        seen = self._devices.get((device_id, boot_id))
        return seen is None or lowest_seq > seen.highest

    def has_seq(self, device_id: str, boot_id: str, seq: int) -> bool:
        seen = self._devices.get((device_id, boot_id))
        if seen is None or seq > seen.highest or seen.highest - seq >= WINDOW:
            return False
        return bool(seen.bits >> (seen.highest - seq) & 1)

    def has_id(self, device_id: str, event_id: str) -> bool:
        seen = self._devices.get((device_id, ""))
        return seen is not None and seen.ids is not None and event_id in seen.ids

    def add_seqs(self, device_id: str, boot_id: str, seqs: Iterable[int]) -> None:
        seen = self._of(device_id, boot_id)
        ordered = sorted(seqs)
        if not ordered:
            return
        highest = max(seen.highest, ordered[-1])
        advance = highest - seen.highest
        bits = seen.bits << advance if advance < WINDOW else 0
        for seq in ordered:
            if highest - seq < WINDOW:
                bits |= 1 << (highest - seq)
        seen.highest, seen.bits = highest, bits & ((1 << WINDOW) - 1)

    def add_range(self, device_id: str, boot_id: str, lowest: int, highest: int) -> None:
        """As add_seqs for every number from lowest to highest, in one step; lowest is above all that was seen."""
        seen = self._of(device_id, boot_id)
        count, advance = highest - lowest + 1, highest - seen.highest
        kept = seen.bits << advance if advance < WINDOW else 0
        seen.highest, seen.bits = highest, (kept | ((1 << count) - 1)) & ((1 << WINDOW) - 1)

    def add_ids(self, device_id: str, ids: Iterable[str]) -> None:
        seen = self._of(device_id, "")
        if seen.ids is None:
            seen.ids = OrderedDict()
        for event_id in ids:
            seen.ids[event_id] = None
            if len(seen.ids) > IDS_PER_DEVICE:
                seen.ids.popitem(last=False)

    def _of(self, device_id: str, boot_id: str) -> _Seen:
        key = (device_id, boot_id)
        seen = self._devices.get(key)
        if seen is None:
            seen = self._devices[key] = _Seen()
            if len(self._devices) > self._devices_max:
                self._devices.popitem(last=False)
        else:
            self._devices.move_to_end(key)
        return seen
