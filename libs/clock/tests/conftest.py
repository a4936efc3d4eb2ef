"""A world in which the truth is known: a device whose clock drifts, may be set, and talks to a server."""

from bisect import bisect_right
from dataclasses import dataclass, field

import pytest
from hypothesis import settings

settings.register_profile("penstock", deadline=None, max_examples=300)
settings.load_profile("penstock")

START_US = 1_790_000_000_000_000


@dataclass
class TrueClock:
    """A device's clock: `rates` (ppm) per `span_us` of true time, ahead by a start offset, set at times."""

    rates: list[int]
    span_us: int
    ahead_us: int = 0
    sets: list[tuple[int, int]] = field(default_factory=list)

    def read(self, true_us: int) -> int:
        elapsed = true_us - START_US
        drift = 0
        for number, rate in enumerate(self.rates):
            # The first rate also held before the start, the last one holds for ever.
            begins = 0 if number else min(0, elapsed)
            ends = self.span_us if number + 1 < len(self.rates) else max(self.span_us, elapsed)
            within = min(elapsed - number * self.span_us, ends)
            if number == 0 and begins < 0:
                drift += begins * rate
            elif within > 0:
                drift += within * rate
        self.sets.sort()
        jumps = sum(by for at, by in self.sets[: bisect_right([at for at, _ in self.sets], true_us)])
        return true_us + self.ahead_us + drift // 1_000_000 + jumps

    def offset_us(self, true_us: int) -> int:
        """Server minus device, as it truly is."""
        return true_us - self.read(true_us)


@pytest.fixture
def start_us() -> int:
    return START_US


@pytest.fixture
def true_clock() -> type[TrueClock]:
    return TrueClock
