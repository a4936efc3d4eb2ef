"""How far a device's clock is off, and how wrong that can be. Pure, and integers only.

`observe` takes one request into account and gives an `Estimate`; `BatchClock.correct` gives the time of each
event of that request; `stamp` and `correct` do the same between protos.
"""

from penstock.clock.correction import BatchClock, Corrected, newest
from penstock.clock.estimate import Estimate, unusable
from penstock.clock.estimator import observe
from penstock.clock.stamps import batch_clock, clock_of, correct, correct_event, stamp
from penstock.clock.state import ClockState, Domain, Echo, Floor, Method, Prior, Settings, choose_domain

__all__ = [
    "BatchClock",
    "ClockState",
    "Corrected",
    "Domain",
    "Echo",
    "Estimate",
    "Floor",
    "Method",
    "Prior",
    "Settings",
    "batch_clock",
    "choose_domain",
    "clock_of",
    "correct",
    "correct_event",
    "newest",
    "observe",
    "stamp",
    "unusable",
]
