"""Asks the join for older posts, where removals left a gap in an inbox.

In:  what each partition waits for (`Refill`), the time, and what became of each record that was sent.
Out: request records, each to the shard of its authors; a limited number of refills at a time, the others after them.
Guaranteed: a refill is asked until it is answered: again after a while, then rarer, and soon where Kafka did not take a
record. Asking twice does no harm: the join answers twice, and the second answer completes nothing.
Pure but for `send`; use from one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

RARER = 2.0
RARER_MAX = 16
FAILED_RETRY_S = 1.0


class Refill(Protocol):
    """As the store has it."""

    @property
    def reader(self) -> int: ...
    @property
    def request(self) -> int: ...
    @property
    def records(self) -> Iterable[tuple[int, bytes]]: ...


class Key(NamedTuple):
    """A gap."""

    partition: int
    reader: int
    request: int


Told = Callable[[bool], None]
Send = Callable[[int, bytes, bytes, Told], None]  # the shard, the key, the message, what to call when it is known


@dataclass
class _Asked:
    again_at: float
    wait_s: float


@dataclass
class Counts:
    """Since the start."""

    asked: int = 0
    answered: int = 0
    again: int = 0
    failed: int = 0


@dataclass
class Desk:
    """`send` raises BufferError when it can take no more for now."""

    send: Send
    outstanding_max: int
    retry_s: float
    counts: Counts = field(default_factory=Counts)
    _asked: dict[Key, _Asked] = field(default_factory=dict)

    @property
    def outstanding(self) -> int:
        return len(self._asked)

    def waits(self, partition: int) -> bool:
        """Whether anything that was asked for it is not known to be answered."""
        return any(key.partition == partition for key in self._asked)

    def look(self, partition: int, waiting: Iterable[Refill], now: float) -> None:
        """Asks what can be asked of what a partition waits for, which is all that it waits for."""
        refills = {Key(partition, refill.reader, refill.request): refill for refill in waiting}
        for key in [key for key in self._asked if key.partition == partition and key not in refills]:
            del self._asked[key]
            self.counts.answered += 1
        for key, refill in refills.items():
            asked = self._asked.get(key)
            if asked is None and len(self._asked) >= self.outstanding_max:
                continue
            if asked is not None and now < asked.again_at:
                continue
            wait_s = self.retry_s if asked is None else min(asked.wait_s * RARER, self.retry_s * RARER_MAX)
            if not self._ask(key, refill):
                return  # no room with the producer: whoever is left is asked for at the next look
            self._asked[key] = _Asked(now + wait_s, wait_s)
            if asked is None:
                self.counts.asked += 1
            else:
                self.counts.again += 1

    def _ask(self, key: Key, refill: Refill) -> bool:
        def told(taken: bool) -> None:
            if not taken:
                self.counts.failed += 1
                self._soon(key)

        try:
            for shard, message in refill.records:
                self.send(shard, str(refill.reader).encode(), message, told)
        except BufferError:
            return False
        return True

    def _soon(self, key: Key) -> None:
        """Kafka did not take a record: the join cannot answer."""
        asked = self._asked.get(key)
        if asked is not None:
            asked.again_at = min(asked.again_at, asked.again_at - asked.wait_s + FAILED_RETRY_S)
