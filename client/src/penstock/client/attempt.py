"""Attempts to send a batch, and the steps that an outbox tells its sender."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.client.batch import Batch


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """One try to send a batch."""

    id: int
    """Unique within the publisher; the batch_id of streams."""
    batch: Batch
    started_us: int
    deadline_us: int

    @property
    def timeout_s(self) -> float:
        """For the call that carries it."""
        return max(self.deadline_us - self.started_us, 1000) / 1e6


@dataclass(frozen=True, slots=True)
class Window:
    """How much may be under way. One batch, until a server says otherwise."""

    batches: int = 1
    bytes: int = 1 << 62


@dataclass(frozen=True, slots=True)
class Send:
    """Send this; tell the outbox how it ended."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do until then (None: until something comes in)."""

    until_us: int | None


@dataclass(frozen=True, slots=True)
class Reset:
    """An answer is overdue: end the stream and say that it broke."""

    detail: str


Step: TypeAlias = Send | Wait | Reset
