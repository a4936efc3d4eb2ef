"""What ingestion knows of its devices' clocks, from wherever it is kept, and what it hands back.

In:  a request's readings and token. Out: an estimate of the device's clock, and a token for the reply.
The knowledge travels in the token. A bounded cache of this process keeps it for devices without tokens, and the
order of sequence numbers for those whose last reply was lost. On a stream, where requests overtake tokens, the newest
counts.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from penstock.clock import (
    ClockState,
    Domain,
    Echo,
    Estimate,
    Floor,
    Settings,
    choose_domain,
    observe,
    unusable,
)
from penstock.ingestion.gate import Inspection, Reading
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.tokens import TokenSealer

SESSION_DEVICES_MAX = 256


class ClockCache:
    """The newest state of each device, the least recently used one forgotten first."""

    def __init__(self, devices_max: int) -> None:
        self._devices_max = devices_max
        self._states: OrderedDict[tuple[str, str, Domain], ClockState] = OrderedDict()

    def get(self, device_id: str, boot_id: str, domain: Domain) -> ClockState | None:
        return self._states.get(self._key(device_id, boot_id, domain))

    def put(self, device_id: str, boot_id: str, state: ClockState) -> None:
        key = self._key(device_id, boot_id, state.domain)
        self._states[key] = state
        self._states.move_to_end(key)
        if len(self._states) > self._devices_max:
            self._states.popitem(last=False)

    @staticmethod
    def _key(device_id: str, boot_id: str, domain: Domain) -> tuple[str, str, Domain]:
        # A steady clock starts anew with each boot; a wall clock goes on, but sequence numbers (the floor) do not,
        # so a wall clock's state is kept per boot as well.
        return device_id, boot_id, domain


class Session(ClockCache):
    """What one stream knows: usually of one device."""

    def __init__(self) -> None:
        super().__init__(SESSION_DEVICES_MAX)


@dataclass(frozen=True, slots=True)
class Observed:
    device_id: str
    boot_id: str
    estimate: Estimate
    floor: Floor | None
    keep_in: ClockCache | None  # None: nothing was learnt


class ClockDesk:
    def __init__(self, sealer: TokenSealer, settings: Settings, devices_max: int, metrics: Metrics) -> None:
        self._sealer = sealer
        self.settings = settings
        self._cache = ClockCache(devices_max)
        self._sets = metrics.clock_sets
        self._refused = metrics.tokens_refused

    def observe(self, request: Inspection, received_us: int, session: Session | None) -> Observed:
        device_id, boot_id = request.device_id, request.boot_id
        domain = choose_domain(request.sent.wall_us, request.sent.steady_us, boot_id)
        if domain is None:
            return Observed(device_id, boot_id, unusable(), None, None)
        told = self._told(request, received_us, domain)
        kept = session if session is not None else self._cache
        known = kept.get(device_id, boot_id, domain)
        # On a stream the newest counts, since requests overtake tokens. Otherwise the token does.
        state = known or told if session is not None else with_newest_floor(told, known) or known
        echo = told.echo(reading(request.reply_received, domain)) if told is not None else None
        estimate = self._estimate(state, domain, request, received_us, echo)
        floor = estimate.next_state.floor if estimate.next_state is not None else None
        return Observed(device_id, boot_id, estimate, floor, kept)

    def _told(self, request: Inspection, received_us: int, domain: Domain) -> ClockState | None:
        """What the device's token says, if it is any good."""
        if not request.clock_token:
            return None
        opened = self._sealer.open(request.clock_token, request.device_id, request.boot_id, received_us)
        if not isinstance(opened, ClockState):
            self._refused.labels(opened.name).inc()
            return None
        return opened if opened.domain == domain else None

    def _estimate(
        self,
        state: ClockState | None,
        domain: Domain,
        request: Inspection,
        received_us: int,
        echo: Echo | None,
    ) -> Estimate:
        sent_us = reading(request.sent, domain)
        assert sent_us is not None  # choose_domain saw it
        estimate = observe(
            state, domain=domain, sent_us=sent_us, received_us=received_us, echo=echo, settings=self.settings
        )
        if estimate.clock_was_set:
            self._sets.inc()
        return estimate

    def reply(self, observed: Observed, floor: Floor | None, replied_us: int) -> bytes:
        """The token for the reply; empty if there is nothing to tell."""
        state = observed.estimate.replied(replied_us, floor)
        if state is None:
            return b""
        if observed.keep_in is not None:
            observed.keep_in.put(observed.device_id, observed.boot_id, state)
        return self._sealer.seal(state, observed.device_id, observed.boot_id)


def with_newest_floor(told: ClockState | None, known: ClockState | None) -> ClockState | None:
    """A reply that was lost took its floor with it: the device's token is then older than what we remember."""
    if told is None or known is None or known.floor is None:
        return told
    if told.floor is not None and told.floor.seq >= known.floor.seq:
        return told
    return told._replace(floor=known.floor)


def reading(of: Reading, domain: Domain) -> int | None:
    return of.steady_us if domain is Domain.STEADY else (of.wall_us or None)
