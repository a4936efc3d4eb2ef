from __future__ import annotations

import numpy as np
import pytest
from penstock.clock import Domain, Floor, Method, Settings
from penstock.ingestion.clocks import ClockCache, ClockDesk, Observed, Session
from penstock.ingestion.gate import Inspection, Reading
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.tokens import TokenSealer
from prometheus_client import CollectorRegistry

NO_TIME = Reading(0, None)
SECOND = 1_000_000
NOW = 1_700_000_000 * SECOND


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


@pytest.fixture
def desk(registry: CollectorRegistry) -> ClockDesk:
    return ClockDesk(TokenSealer([b"k" * 32]), Settings(), 100, Metrics(registry))


def request(sent: Reading, token: bytes = b"", reply: Reading = NO_TIME, device: str = "d") -> Inspection:
    rows = np.zeros((0, 0), np.int64)
    return Inspection(device, "boot", token, sent, reply, rows, passed=0, run=None)


def wall(us: int) -> Reading:
    return Reading(us, None)


def first_exchange(desk: ClockDesk, session: Session | None = None) -> tuple[Observed, bytes]:
    """The device is 5 s behind; its request takes 20 ms, and the reply leaves 10 ms later."""
    observed = desk.observe(request(wall(NOW - 5 * SECOND)), NOW + 20_000, session)
    return observed, desk.reply(observed, None, NOW + 30_000)


def test_the_first_contact_is_naive_and_the_echo_bounds_it(desk: ClockDesk) -> None:
    observed, token = first_exchange(desk)
    assert observed.estimate.method is Method.NAIVE
    assert observed.estimate.error_bound_us is None
    later = NOW + SECOND
    echoed = request(wall(later - 5 * SECOND), token, wall(NOW + 50_000 - 5 * SECOND))
    estimate = desk.observe(echoed, later + 20_000, None).estimate
    assert estimate.method is Method.ECHO
    assert estimate.error_bound_us is not None
    assert abs(estimate.offset_us - 5 * SECOND) <= estimate.error_bound_us < 60_000


def test_without_tokens_the_cache_remembers(desk: ClockDesk) -> None:
    first_exchange(desk)
    later = NOW + SECOND
    again = desk.observe(request(wall(later - 5 * SECOND)), later + 3 * SECOND, None).estimate
    assert again.method is Method.ONE_WAY
    assert abs(again.offset_us - 5 * SECOND) < 100_000  # the stall of three seconds did not count
    other = desk.observe(request(wall(later), device="other"), later, None).estimate
    assert other.method is Method.NAIVE


def test_a_useless_token_is_counted_and_ignored(desk: ClockDesk, registry: CollectorRegistry) -> None:
    _, token = first_exchange(desk)
    damaged = token[:-1] + bytes([token[-1] ^ 1])
    assert desk.observe(request(wall(NOW), damaged, device="new"), NOW, None).estimate.method is Method.NAIVE
    assert desk.observe(request(wall(NOW), token, device="thief"), NOW, None).estimate.method is Method.NAIVE
    for reason in ("FORGED", "OTHER_DEVICE"):
        assert registry.get_sample_value("penstock_ingestion_tokens_refused_total", {"reason": reason}) == 1


def test_no_usable_time_needs_no_clock(desk: ClockDesk) -> None:
    observed = desk.observe(request(NO_TIME), NOW, None)
    assert observed.estimate.method is Method.RECEIVED
    assert desk.reply(observed, None, NOW) == b""


def test_a_lost_reply_does_not_lose_the_order_of_events(desk: ClockDesk) -> None:
    """The device echoes an old token because the newest reply was lost; the floor of that reply still holds."""
    _, token = first_exchange(desk)
    floor = Floor(seq=9, device_us=NOW - 4 * SECOND, corrected_us=NOW + SECOND)
    second = desk.observe(request(wall(NOW - 4 * SECOND), token, wall(NOW - 5 * SECOND + 50_000)), NOW + SECOND, None)
    desk.reply(second, floor, NOW + SECOND)  # never arrives
    third = desk.observe(
        request(wall(NOW - 3 * SECOND), token, wall(NOW - 5 * SECOND + 50_000)), NOW + 2 * SECOND, None
    )
    assert third.floor == floor


def test_on_a_stream_the_newest_knowledge_counts(desk: ClockDesk) -> None:
    session = Session()
    _, token = first_exchange(desk, session)
    floor = Floor(seq=5, device_us=NOW - 4 * SECOND, corrected_us=NOW + SECOND)
    second = desk.observe(
        request(wall(NOW - 4 * SECOND), token, wall(NOW - 5 * SECOND + 50_000)), NOW + SECOND, session
    )
    desk.reply(second, floor, NOW + SECOND)
    overtaking = request(wall(NOW - 3 * SECOND), token, wall(NOW - 5 * SECOND + 50_000))
    assert desk.observe(overtaking, NOW + 2 * SECOND, session).floor == floor
    assert desk.observe(overtaking, NOW + 2 * SECOND, None).floor is None  # the stream's knowledge is its own


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = ClockCache(2)
    desk = ClockDesk(TokenSealer([b"k" * 32]), Settings(), 2, Metrics(CollectorRegistry()))
    state = first_exchange(desk)[0].estimate.replied(NOW)
    assert state is not None
    for device in ("a", "b", "a", "c"):
        cache.put(device, "boot", state)
    assert cache.get("b", "boot", Domain.WALL) is None
    assert cache.get("a", "boot", Domain.WALL) == state
    assert cache.get("a", "boot", Domain.STEADY) is None
