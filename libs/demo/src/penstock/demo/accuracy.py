"""How wrong times are, where the truth is known: ours, the peers' and the device's own.

In:  for each event the truth, what the log says and what our clock made of it.
Out: distributions of the error, in all and by the method that found the time; how often the truth lay within the
     stated bound. Pure, and of fixed size.
"""

from dataclasses import dataclass, field

from penstock.clock import Corrected, Method
from penstock.demo.histogram import Histogram

# What the exit code demands of the stated bounds.
COVERAGE_LEAST = 0.999


@dataclass
class Errors:
    """The errors of one way to find times, and its bounds where it states any."""

    wrong_us: Histogram = field(default_factory=Histogram)
    bound_us: Histogram = field(default_factory=Histogram)
    within: int = 0

    def add(self, wrong_us: int, bound_us: int | None = None) -> None:
        self.wrong_us.add(wrong_us)
        if bound_us is not None:
            self.bound_us.add(bound_us)
            self.within += wrong_us <= bound_us

    @property
    def coverage(self) -> float | None:
        """The share of bounded times whose bound holds the truth. None: no time had a bound."""
        return self.within / self.bound_us.count if self.bound_us.count else None


@dataclass
class Accuracy:
    ours: Errors = field(default_factory=Errors)
    by_method: dict[Method, Errors] = field(default_factory=lambda: {method: Errors() for method in Method})
    peers: Errors = field(default_factory=Errors)
    device: Errors = field(default_factory=Errors)

    def add(self, true_us: int, *, occurred_us: int, sent_us: int, received_us: int, corrected: Corrected) -> None:
        """One event: `occurred_us` and `sent_us` are readings of the device's wall clock."""
        wrong_us = abs(corrected.corrected_us - true_us)
        self.ours.add(wrong_us, corrected.error_bound_us)
        self.by_method[corrected.method].add(wrong_us, corrected.error_bound_us)
        self.peers.add(abs(occurred_us + received_us - sent_us - true_us))
        self.device.add(abs(occurred_us - true_us))

    @property
    def bounds_hold(self) -> bool:
        """Whether the bounds keep their promise; trivially so where none was made."""
        coverage = self.ours.coverage
        return coverage is None or coverage >= COVERAGE_LEAST
