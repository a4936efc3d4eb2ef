"""Runs one simulated device against a service that only answers: everything both sides would see, with the truth.

In:  a seeded randomness, a scenario and a device. Out: its exchanges in the order in which they arrive.
The device behaves like our client: it opens with an empty exchange and repeats it until one is answered, has one
request under way, numbers its events, sends them in order, echoes the newest reply, and after a lost reply sends the
same events again. True times go in; the clocks' readings and the server's times come out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from penstock.simulation.clocks import MINUTE_US, SECOND_US, Reading
from penstock.simulation.networks import Travel
from penstock.simulation.scenarios import Scenario, SimulatedDevice

# The clocks of our own pods differ by up to this, either way.
_POD_SKEW_US = 800


class SimulatedEvent(NamedTuple):
    """One event; `occurred.true_us` is what a correction should find."""

    seq: int
    occurred: Reading


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that arrived, and the reply to it."""

    sent: Reading
    received_us: int
    replied_us: int
    # None: the reply was lost.
    reply_received: Reading | None
    # The number of the exchange whose reply this request echoes.
    echoes: int | None
    # Events that had not arrived before. Empty: a clock exchange, or everything was a resend.
    events: tuple[SimulatedEvent, ...]


def run(random: Random, scenario: Scenario, device: SimulatedDevice, start_us: int) -> list[Exchange]:
    """Everything that one device exchanges with the service in one run of the scenario."""
    return list(_Run(random, scenario, device, start_us).exchanges())


class _Run:
    def __init__(self, random: Random, scenario: Scenario, device: SimulatedDevice, start_us: int) -> None:
        self._random, self._scenario, self._device = random, scenario, device
        self._now_us, self._seq, self._boot, self._count = start_us, 0, -1, 0
        self._events_until_us = start_us - scenario.pause_us_least
        self._echo: int | None = None
        self._offline = list(device.offline)

    def exchanges(self) -> Iterator[Exchange]:
        for _ in range(self._scenario.requests):
            if self._device.clocks.read(self._now_us).boot != self._boot:
                yield from self._open()
            yield from self._send(self._new_events())
            self._pause()

    def _open(self) -> Iterator[Exchange]:
        """Every run of the client asks for the time first; tokens are kept over a restart, as the events are."""
        self._boot = self._device.clocks.read(self._now_us).boot
        yield from self._send(())

    def _pause(self) -> None:
        scenario = self._scenario
        self._now_us += self._random.randint(scenario.pause_us_least, scenario.pause_us_most)
        if self._offline and self._offline[0][0] <= self._now_us:
            self._now_us = max(self._now_us, self._offline.pop(0)[1])

    def _new_events(self) -> tuple[SimulatedEvent, ...]:
        span_us = self._now_us - self._events_until_us
        # Offline, events go on at about one in ten minutes.
        count = self._scenario.events_per_request + min(200, max(0, span_us - 2 * MINUTE_US) // (10 * MINUTE_US))
        times = sorted(self._random.randint(self._events_until_us, self._now_us) for _ in range(count))
        self._events_until_us = self._now_us
        events = []
        for true_us in times:
            occurred, self._seq = self._device.clocks.read(true_us), self._seq + 1
            events.append(SimulatedEvent(self._seq, occurred))
        return tuple(events)

    def _send(self, events: tuple[SimulatedEvent, ...]) -> Iterator[Exchange]:
        """Sends until answered. What arrives for the first time carries the events."""
        sent, echo = self._device.clocks.read(self._now_us), self._echo
        while True:
            travel = self._device.network.travel()
            if not travel.request_lost:
                exchange = self._arrive(sent, travel, events, echo)
                yield exchange
                events = ()
                if exchange.reply_received is not None:
                    return
            patience_us = 300 * SECOND_US if travel.request_lost else 10 * SECOND_US
            self._now_us += self._random.randint(5 * SECOND_US, patience_us)
            if not self._scenario.stale_resends:
                sent, echo = self._device.clocks.read(self._now_us), self._echo

    def _arrive(self, sent: Reading, travel: Travel, events: tuple[SimulatedEvent, ...], echo: int | None) -> Exchange:
        skew_us = self._random.randint(-_POD_SKEW_US, _POD_SKEW_US)
        received_us = self._now_us + travel.up_us
        replied_us = received_us + travel.service_us
        reply_received = None
        if travel.reply_lost:
            self._now_us = replied_us
        else:
            self._now_us = replied_us + travel.down_us
            reply_received = self._device.clocks.read(self._now_us)
            self._echo = self._count
        self._count += 1
        return Exchange(sent, received_us + skew_us, replied_us + skew_us, reply_received, echo, events)
