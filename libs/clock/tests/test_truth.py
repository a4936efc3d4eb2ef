"""The law of this library: whatever a clock does within its stated drift, the bound contains the truth.

A small world in which the truth is known: hypothesis chooses the clock's rates, every delay, which replies get
lost and which events wait; the world plays the device and the server; the test compares with the truth.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from penstock.clock import (
    BatchClock,
    ClockState,
    Corrected,
    Domain,
    Estimate,
    Floor,
    Method,
    Settings,
    newest,
    observe,
)

START_US = 1_790_000_000_000_000
SECOND_US = 1_000_000
DAY_US = 86_400 * SECOND_US
SETTINGS = Settings()

settings.register_profile("truth", deadline=None, max_examples=250)
settings.load_profile("truth")


@dataclass
class TrueClock:
    """A device's clock: a rate (ppm) for each `span_us` of true time, a start offset, and at most one set."""

    rates: list[int]
    span_us: int
    ahead_us: int
    set_at_us: int = 1 << 62
    set_by_us: int = 0

    def read(self, true_us: int) -> int:
        elapsed, drift = true_us - START_US, 0
        for number, rate in enumerate(self.rates):
            begins, last = number * self.span_us, number + 1 == len(self.rates)
            until = elapsed if last else min(elapsed, begins + self.span_us)
            drift += rate * (until if number == 0 else max(0, until - begins))
        jump = self.set_by_us if true_us >= self.set_at_us else 0
        return true_us + self.ahead_us + drift // 1_000_000 + jump

    def offset_us(self, true_us: int) -> int:
        return true_us - self.read(true_us)


class Step(NamedTuple):
    """What fate has in store for one request."""

    pause_us: int
    up_us: int
    service_us: int
    down_us: int
    reply_lost: bool
    # How many events happen in the pause, and how many of those that wait go with this request.
    happen: int
    take: int


class Seen(NamedTuple):
    """An event as it came out, beside the truth."""

    seq: int
    true_us: int
    corrected: Corrected
    received_us: int


class Arrival(NamedTuple):
    """A request at the server. `echoes`: the request whose reply it echoes, and when that had arrived (true)."""

    sent_true_us: int
    received_us: int
    replied_us: int
    echoes: tuple[int, int] | None
    # Sequence number and true time of each event.
    events: list[tuple[int, int]]


@dataclass
class World:
    """One device and one server, which remembers the device as ingestion's cache does.

    `waits`: a request is sent after the reply to the one before. `stream`: requests arrive in order, and the
    server goes on from its own newest state.
    """

    clock: TrueClock
    domain: Domain
    steps: list[Step]
    waits: bool = True
    stream: bool = False
    tokens: bool = True
    seen: list[Seen] = field(default_factory=list)
    estimates: list[tuple[int, Estimate]] = field(default_factory=list)

    def run(self) -> "World":
        left: dict[int, ClockState] = {}
        last: ClockState | None = None
        arrivals = self._arrivals()
        for number in sorted(range(len(arrivals)), key=lambda n: arrivals[n].received_us):
            last = left[number] = self._serve(arrivals[number], left, last)
        return self

    def _arrivals(self) -> list[Arrival]:
        now, seq, last_received = START_US, 0, 0
        waiting: list[tuple[int, int]] = []
        replies: list[tuple[int, int]] = []
        arrivals: list[Arrival] = []
        for number, step in enumerate(self.steps):
            for share in range(step.happen):
                seq += 1
                waiting.append((seq, now + step.pause_us * (share + 1) // (step.happen + 1)))
            now += step.pause_us
            received = max(now + step.up_us, last_received if self.stream else 0)
            replied, last_received = received + step.service_us, received
            arrived, echoes = max((reply for reply in replies if reply[0] <= now), default=(0, None))
            arrivals.append(
                Arrival(
                    now,
                    received,
                    replied,
                    None if echoes is None or not self.tokens else (echoes, arrived),
                    waiting[: step.take],
                )
            )
            del waiting[: step.take]
            if not step.reply_lost:
                replies.append((replied + step.down_us, number))
            if self.waits:
                now = replied + (0 if step.reply_lost else step.down_us)
        return arrivals

    def _serve(self, request: Arrival, left: dict[int, ClockState], last: ClockState | None) -> ClockState:
        state, echo = last, None
        if request.echoes is not None:
            token = left[request.echoes[0]]
            echo = token.echo(self.clock.read(request.echoes[1]))
            state = last if self.stream else token
        floor = last.floor if last is not None else None
        if state is not None:
            state = state._replace(floor=floor)
        estimate = observe(
            state,
            domain=self.domain,
            sent_us=self.clock.read(request.sent_true_us),
            received_us=request.received_us,
            echo=echo,
            settings=SETTINGS,
        )
        self.estimates.append((request.sent_true_us, estimate))
        after = estimate.replied(request.replied_us, self._correct(estimate, request, floor))
        assert after is not None
        return after

    def _correct(self, estimate: Estimate, request: Arrival, floor: Floor | None) -> Floor | None:
        sent, steady = self.clock.read(request.sent_true_us), self.domain is Domain.STEADY
        clock = BatchClock.of(
            estimate,
            received_us=request.received_us,
            sent_wall_us=START_US if steady else sent,
            sent_steady_us=sent if steady else None,
            drift_ppm_max=SETTINGS.drift_ppm_max,
        )
        for seq, true_us in request.events:
            reading = self.clock.read(true_us)
            corrected = clock.correct(seq, START_US if steady else reading, reading if steady else None)
            self.seen.append(Seen(seq, true_us, corrected, request.received_us))
            if seq == request.events[-1][0]:
                floor = newest(floor, seq, corrected)
        return floor


def clocks() -> st.SearchStrategy[TrueClock]:
    rates = st.lists(st.integers(-SETTINGS.drift_ppm_max, SETTINGS.drift_ppm_max), min_size=1, max_size=5)
    spans = st.sampled_from([SECOND_US, 60 * SECOND_US, DAY_US])
    return st.builds(TrueClock, rates, spans, st.integers(-400 * DAY_US, 400 * DAY_US))


def steps(pause_us_most: int, delay_us_most: int) -> st.SearchStrategy[list[Step]]:
    delays = st.integers(0, delay_us_most)
    few = st.integers(0, 3)
    step = st.builds(
        Step, st.integers(0, pause_us_most), delays, st.integers(0, 50_000), delays, st.booleans(), few, few
    )
    return st.lists(step, min_size=1, max_size=12)


def check_bounds(world: World) -> None:
    for sent_true, estimate in world.estimates:
        if estimate.offset_min_us is not None and estimate.offset_max_us is not None:
            assert estimate.offset_min_us <= world.clock.offset_us(sent_true) <= estimate.offset_max_us
            assert estimate.offset_min_us <= estimate.offset_us <= estimate.offset_max_us
    for seen in world.seen:
        bound = seen.corrected.error_bound_us
        if bound is not None:
            assert abs(seen.corrected.corrected_us - seen.true_us) <= bound, seen


@given(
    clocks(),
    st.sampled_from(Domain),
    steps(2 * DAY_US, 40 * SECOND_US),
    st.booleans(),
    st.booleans(),
)
def test_the_bound_contains_the_truth_of_every_clock_that_keeps_its_drift(
    clock: TrueClock, domain: Domain, fate: list[Step], waits: bool, stream: bool
) -> None:
    check_bounds(World(clock, domain, fate, waits=waits, stream=stream).run())


@given(
    clocks(),
    steps(30 * SECOND_US, 80_000),
    st.integers(0, 100 * SECOND_US),
    st.integers(SECOND_US // 2, 400 * DAY_US),
    st.booleans(),
    st.booleans(),
)
def test_the_bound_contains_the_truth_when_the_wall_clock_is_set(
    clock: TrueClock, fate: list[Step], after_us: int, by_us: int, forwards: bool, stream: bool
) -> None:
    # The set comes after the first exchange: nobody can know of a set before anything was known of the clock.
    opening = Step(0, 40_000, 5_000, 40_000, False, 0, 0)
    clock.set_at_us, clock.set_by_us = START_US + 85_000 + after_us, by_us if forwards else -by_us
    check_bounds(World(clock, Domain.WALL, [opening, *fate], stream=stream).run())


@given(clocks(), st.sampled_from(Domain), steps(DAY_US, 40 * SECOND_US), st.booleans(), st.booleans())
def test_no_event_is_corrected_to_after_its_receipt(
    clock: TrueClock, domain: Domain, fate: list[Step], waits: bool, tokens: bool
) -> None:
    for seen in World(clock, domain, fate, waits=waits, tokens=tokens).run().seen:
        assert seen.corrected.corrected_us <= seen.received_us


@given(clocks(), st.sampled_from(Domain), steps(DAY_US, 40 * SECOND_US), st.booleans(), st.booleans())
def test_corrected_times_keep_the_order_of_the_sequence(
    clock: TrueClock, domain: Domain, fate: list[Step], stream: bool, tokens: bool
) -> None:
    seen = World(clock, domain, fate, stream=stream, tokens=tokens).run().seen
    for earlier, later in pairwise(seen):
        assert earlier.seq < later.seq
        assert earlier.corrected.corrected_us <= later.corrected.corrected_us


@given(clocks(), st.sampled_from(Domain), steps(DAY_US, 40 * SECOND_US))
def test_a_request_that_narrows_the_interval_is_at_worst_as_wrong_as_the_peers_or_half_a_round_trip(
    clock: TrueClock, domain: Domain, fate: list[Step]
) -> None:
    for sent_true, estimate in World(clock, domain, fate).run().estimates:
        left = estimate.next_state
        assert left is not None
        peers = left.received_us - left.sent_us
        if estimate.method is Method.ECHO and left.offset_max_us == peers + SETTINGS.server_skew_us:
            truth = clock.offset_us(sent_true)
            allowed = max(abs(peers - truth), left.delay_us or 0) + SETTINGS.server_skew_us
            assert abs(estimate.offset_us - truth) <= allowed


def test_a_clock_beyond_its_stated_drift_is_noticed_and_not_covered_up() -> None:
    clock = TrueClock([20_000], DAY_US, 0)
    fate = [Step(60 * SECOND_US, 20_000, 0, 20_000, False, 1, 1)] * 10
    estimates = World(clock, Domain.STEADY, fate).run().estimates
    assert sum(estimate.clock_was_set for _, estimate in estimates) >= 8
