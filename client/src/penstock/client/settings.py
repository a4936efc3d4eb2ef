"""The limits of a publisher: how much it holds, how it batches, how long it tries.

Everything has a limit; units are in the names; all faults are reported at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WhenFull = Literal["block", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherSettings:
    """Defaults suit a server process; a small device wants a smaller buffer and a longer linger."""

    batch_events_max: int = 500
    batch_bytes_max: int = 1 << 20
    """Encoded events per request. The server's own limit must not be smaller."""
    linger_s: float = 0.02
    """How long the oldest event waits for company before a batch that is not full goes out."""
    buffer_events_max: int = 20_000
    buffer_bytes_max: int = 32 << 20
    """Bounds on everything that is not yet settled, what is under way included."""
    when_full: WhenFull = "block"
    block_timeout_s: float = 30.0
    """With `block`: how long `publish` waits for room before it raises BufferFullError."""
    request_timeout_s: float = 10.0
    """How long one attempt may take."""
    delivery_timeout_s: float = 120.0
    """How long an event is tried for, from `publish` on, before it is given up."""
    retry_initial_s: float = 0.1
    retry_max_s: float = 10.0
    """Backoff doubles from the one to the other, with jitter; what the server asks for wins."""
    close_timeout_s: float = 30.0
    """How long `close` waits for what is buffered."""

    def __post_init__(self) -> None:
        faults = [*self._not_positive(), *self._contradictions()]
        if faults:
            raise ValueError("settings of the publisher: " + "; ".join(faults))

    def _not_positive(self) -> list[str]:
        positive = (
            "batch_events_max", "batch_bytes_max", "buffer_events_max", "buffer_bytes_max",
            "request_timeout_s", "delivery_timeout_s", "retry_initial_s", "retry_max_s",
        )  # fmt: skip
        not_negative = ("linger_s", "block_timeout_s", "close_timeout_s")
        faults = [f"{name} must be above 0, not {getattr(self, name)}" for name in positive if getattr(self, name) <= 0]
        faults += [
            f"{name} must not be below 0, not {getattr(self, name)}" for name in not_negative if getattr(self, name) < 0
        ]
        return faults

    def _contradictions(self) -> list[str]:
        faults = []
        if self.when_full not in ("block", "drop"):
            faults.append(f'when_full must be "block" or "drop", not {self.when_full!r}')
        if self.retry_max_s < self.retry_initial_s:
            faults.append(f"retry_max_s {self.retry_max_s} is below retry_initial_s {self.retry_initial_s}")
        if self.buffer_bytes_max < self.batch_bytes_max:
            faults.append(f"buffer_bytes_max {self.buffer_bytes_max} is below batch_bytes_max {self.batch_bytes_max}")
        return faults
