"""What the fleet has lived through, as counters that the devices add to and the view shows."""

from collections import Counter, deque
from dataclasses import dataclass, field

from penstock.demo.histogram import Histogram

RATE_SECONDS = 60


@dataclass
class Tally:
    """All of it is of fixed size."""

    requests: int = 0
    stalled: int = 0
    requests_lost: int = 0
    replies_lost: int = 0
    duplicates: int = 0
    offline_now: int = 0
    offline_spells: int = 0
    clocks_set: int = 0
    # By reason, as people say it.
    refused: Counter[str] = field(default_factory=Counter)
    # Calls that failed, by gRPC's name of the code.
    failed: Counter[str] = field(default_factory=Counter)
    # How long the service took to answer, without the simulated network.
    latency_us: Histogram = field(default_factory=Histogram)


class Rate:
    """A count per second over the last minute, from a count that only grows."""

    def __init__(self) -> None:
        self._last = 0
        self.per_second: deque[int] = deque(maxlen=RATE_SECONDS)

    def sample(self, count: int) -> None:
        """To be called once a second."""
        self.per_second.append(count - self._last)
        self._last = count

    def recent(self, seconds: int = 5) -> int:
        """The average of the last few seconds."""
        newest = list(self.per_second)[-seconds:]
        return round(sum(newest) / len(newest)) if newest else 0
