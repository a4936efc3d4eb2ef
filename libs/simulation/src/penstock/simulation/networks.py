"""The network between a simulated device and the service: how long the next request and its reply take.

In:  a seeded source of randomness and a profile. Out: one `Travel` per request.
Delays are log-normal around a level that belongs to the device and differs by direction (uplinks are slower); on top
come stalls, lost requests and lost replies. Nothing here waits: a caller adds the delays to true times, or sleeps.
"""

from dataclasses import dataclass
from math import exp, log
from random import Random
from typing import NamedTuple

from penstock.simulation.clocks import SECOND_US


class Travel(NamedTuple):
    """How one request and its reply fare."""

    up_us: int
    # Between the request's arrival and the reply's departure: the time until Kafka has the batch.
    service_us: int
    down_us: int
    request_lost: bool
    reply_lost: bool


@dataclass(frozen=True)
class NetworkProfile:
    """How good the networks of a population are."""

    # A device's typical delay one way lies between these.
    delay_us_least: int = 15_000
    delay_us_most: int = 120_000
    # Spread of single delays: 0.5 means that one in a hundred takes 3.2 times as long as typical.
    jitter: float = 0.5
    # Spread of the ratio between a device's two directions.
    asymmetry: float = 0.2
    stalled_requests: float = 0.0
    stalled_replies: float = 0.0
    stall_us_least: int = 10 * SECOND_US
    stall_us_most: int = 30 * SECOND_US
    lost_requests: float = 0.0
    lost_replies: float = 0.0


class Network:
    """One device's way to the service."""

    def __init__(self, random: Random, profile: NetworkProfile) -> None:
        self._random, self._profile = random, profile
        typical = exp(random.uniform(log(profile.delay_us_least), log(profile.delay_us_most)))
        ratio = exp(random.gauss(0.0, profile.asymmetry) / 2)
        self._up_us, self._down_us = typical * ratio, typical / ratio

    def travel(self) -> Travel:
        """The fate of the next request."""
        profile, chance = self._profile, self._random.random
        return Travel(
            up_us=self._delay_us(self._up_us, profile.stalled_requests),
            service_us=self._random.randint(2_000, 15_000),
            down_us=self._delay_us(self._down_us, profile.stalled_replies),
            request_lost=chance() < profile.lost_requests,
            reply_lost=chance() < profile.lost_replies,
        )

    def _delay_us(self, typical_us: float, stalled: float) -> int:
        delay_us = round(typical_us * exp(self._random.gauss(0.0, self._profile.jitter)))
        if self._random.random() < stalled:
            delay_us += self._random.randint(self._profile.stall_us_least, self._profile.stall_us_most)
        return delay_us
