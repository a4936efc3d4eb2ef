"""What single requests make of the estimate; the law that bounds hold is in test_truth.py."""

import pytest
from penstock.clock import BatchClock, ClockState, Domain, Estimate, Floor, Method, Settings, observe, unusable

SECOND_US = 1_000_000
# The device is an hour behind: offset +3600 s.
OFFSET_US = 3_600 * SECOND_US
T0 = 1_790_000_000 * SECOND_US
SETTINGS = Settings()
SKEW_US = SETTINGS.server_skew_us


def request(
    state: ClockState | None,
    at_us: int,
    *,
    up_us: int = 40_000,
    reply_at_us: int | None = None,
    ahead_us: int = 0,
    reply_ahead_us: int = 0,
    domain: Domain = Domain.WALL,
    token: ClockState | None = None,
) -> Estimate:
    """A request sent at true time `at_us`; `ahead_us` is by how much the clock had been set forwards."""
    echoed = token or state
    echo = None
    if reply_at_us is not None and echoed is not None:
        echo = echoed.echo(reply_at_us - OFFSET_US + reply_ahead_us)
    return observe(
        state,
        domain=domain,
        sent_us=at_us - OFFSET_US + ahead_us,
        received_us=at_us + up_us,
        echo=echo,
        settings=SETTINGS,
    )


def replied(estimate: Estimate, floor: Floor | None = None) -> ClockState:
    assert estimate.next_state is not None
    state = estimate.replied(estimate.next_state.received_us + 10_000, floor)
    assert state is not None
    return state


@pytest.fixture
def known() -> ClockState:
    """After two exchanges with 40 ms each way; the last request left at T0 + 10 s."""
    first = replied(request(None, T0))
    return replied(request(first, T0 + 10 * SECOND_US, reply_at_us=T0 + 90_000))


def test_first_contact_is_the_peers_formula_without_a_bound() -> None:
    estimate = request(None, T0)
    assert (estimate.method, estimate.offset_us, estimate.error_bound_us) == (
        Method.NAIVE, OFFSET_US + 40_000, None
    )  # fmt: skip


def test_one_whole_exchange_bounds_the_offset_on_both_sides() -> None:
    estimate = request(replied(request(None, T0)), T0 + SECOND_US, reply_at_us=T0 + 90_000)
    assert estimate.method is Method.ECHO
    assert estimate.offset_min_us == OFFSET_US - 40_000 - SKEW_US - 199  # 990 ms of drift, rounded up
    assert estimate.offset_max_us == OFFSET_US + 40_000 + SKEW_US
    assert abs(estimate.offset_us - OFFSET_US) <= 200


def test_a_token_without_the_time_of_arrival_still_proves_causality() -> None:
    state = replied(request(None, T0))
    estimate = observe(
        state,
        domain=Domain.WALL,
        sent_us=T0 + SECOND_US - OFFSET_US,
        received_us=T0 + SECOND_US + 40_000,
        echo=state.echo(None),
    )
    assert estimate.method is Method.ECHO
    assert estimate.offset_min_us == OFFSET_US - (SECOND_US - 50_000) - SKEW_US


@pytest.mark.parametrize("nonsense", [-1, 1 << 56, 1 << 63])
def test_a_nonsensical_time_of_arrival_is_as_good_as_none(nonsense: int, known: ClockState) -> None:
    sent_us, received_us = T0 + 20 * SECOND_US - OFFSET_US, T0 + 20 * SECOND_US + 40_000
    with_it, without = (
        observe(known, domain=Domain.WALL, sent_us=sent_us, received_us=received_us, echo=known.echo(arrived))
        for arrived in (nonsense, None)
    )
    assert with_it == without


def test_a_stall_moves_neither_point_nor_steady_bound(known: ClockState) -> None:
    steady = known._replace(domain=Domain.STEADY)
    estimate = request(
        steady,
        T0 + 20 * SECOND_US,
        up_us=20 * SECOND_US,
        reply_at_us=T0 + 10 * SECOND_US + 90_000,
        domain=Domain.STEADY,
    )
    assert abs(estimate.offset_us - OFFSET_US) < 2_000
    assert estimate.error_bound_us is not None
    assert estimate.error_bound_us < 60_000
    assert estimate.late_us > 19 * SECOND_US
    assert not estimate.clock_was_set


def test_on_the_wall_clock_a_late_request_is_bounded_by_what_holds_regardless(known: ClockState) -> None:
    sent_us = T0 + 20 * SECOND_US
    estimate = request(known, sent_us, up_us=20 * SECOND_US, reply_at_us=T0 + 10 * SECOND_US + 90_000)
    assert abs(estimate.offset_us - OFFSET_US) < 2_000
    assert estimate.offset_max_us == OFFSET_US + 20 * SECOND_US + SKEW_US
    assert estimate.offset_min_us == OFFSET_US - (sent_us - known.replied_us) - SKEW_US


def test_a_clock_set_forwards_is_seen_at_once(known: ClockState) -> None:
    by_us = 3 * SECOND_US
    estimate = request(known, T0 + 20 * SECOND_US, reply_at_us=T0 + 10 * SECOND_US + 90_000, ahead_us=by_us)
    assert estimate.clock_was_set
    assert abs(estimate.offset_us - (OFFSET_US - by_us)) < 2_000
    assert estimate.prior is not None
    assert estimate.prior.offset_min_us <= OFFSET_US <= estimate.prior.offset_max_us


def test_a_clock_set_backwards_past_our_last_reply_is_seen_at_once(known: ClockState) -> None:
    by_us = 60 * SECOND_US
    estimate = request(known, T0 + 20 * SECOND_US, reply_at_us=T0 + 10 * SECOND_US + 90_000, ahead_us=-by_us)
    assert estimate.clock_was_set
    assert abs(estimate.offset_us - (OFFSET_US + by_us)) < 2_000


def test_a_clock_set_backwards_a_little_is_seen_with_the_next_echo(known: ClockState) -> None:
    by_us = 3 * SECOND_US
    first = request(known, T0 + 20 * SECOND_US, reply_at_us=T0 + 10 * SECOND_US + 90_000, ahead_us=-by_us)
    assert not first.clock_was_set
    assert first.offset_min_us is not None
    assert first.offset_max_us is not None
    assert first.offset_min_us <= OFFSET_US < OFFSET_US + by_us <= first.offset_max_us
    second = request(
        replied(first),
        T0 + 30 * SECOND_US,
        reply_at_us=T0 + 20 * SECOND_US + 90_000,
        ahead_us=-by_us,
        reply_ahead_us=-by_us,
    )
    assert second.clock_was_set
    assert abs(second.offset_us - (OFFSET_US + by_us)) < 4_000
    assert second.error_bound_us is not None
    assert second.error_bound_us < 60_000
    assert second.prior is not None
    assert second.prior.offset_min_us <= OFFSET_US <= second.prior.offset_max_us


def test_events_that_ran_backwards_settle_which_of_them_are_older(known: ClockState) -> None:
    by_us = 15 * SECOND_US // 2
    known = known._replace(floor=Floor(4, T0 + 19 * SECOND_US - OFFSET_US, T0 + 19 * SECOND_US))
    first = request(known, T0 + 20 * SECOND_US, reply_at_us=T0 + 10 * SECOND_US + 90_000, ahead_us=-by_us)
    ran_back = Floor(5, T0 + 20 * SECOND_US - OFFSET_US - by_us, T0 + 20 * SECOND_US - by_us)
    second = request(
        replied(first, ran_back),
        T0 + 30 * SECOND_US,
        reply_at_us=T0 + 20 * SECOND_US + 90_000,
        ahead_us=-by_us,
        reply_ahead_us=-by_us,
    )
    assert second.clock_was_set
    assert second.prior is None


def test_a_prior_is_dropped_once_an_event_is_younger_than_the_set(known: ClockState) -> None:
    by_us = 3 * SECOND_US
    estimate = request(known, T0 + 20 * SECOND_US, reply_at_us=T0 + 10 * SECOND_US + 90_000, ahead_us=by_us)
    before = Floor(1, T0 + 19 * SECOND_US - OFFSET_US, T0 + 16 * SECOND_US)
    after = Floor(2, T0 + 20 * SECOND_US - OFFSET_US + by_us, T0 + 20 * SECOND_US)
    assert replied(estimate, before).prior is not None
    assert replied(estimate, after).prior is None


def test_an_echo_from_before_a_known_set_does_not_undo_it(known: ClockState) -> None:
    by_us = 3 * SECOND_US
    reply_at_us = T0 + 10 * SECOND_US + 90_000
    newest = replied(request(known, T0 + 20 * SECOND_US, reply_at_us=reply_at_us, ahead_us=by_us))
    # On a stream: another request that was already under way, with the same old token.
    estimate = request(newest, T0 + 20 * SECOND_US + 50_000, reply_at_us=reply_at_us, ahead_us=by_us, token=known)
    assert not estimate.clock_was_set
    assert abs(estimate.offset_us - (OFFSET_US - by_us)) < 2_000


def test_a_long_silence_may_hide_a_small_set(known: ClockState) -> None:
    day_us = 86_400 * SECOND_US
    estimate = request(known, T0 + day_us, reply_at_us=T0 + 10 * SECOND_US + 90_000)
    assert not estimate.clock_was_set
    assert abs(estimate.offset_us - OFFSET_US) < 2_000
    assert estimate.prior is not None
    assert estimate.prior.offset_max_us - estimate.prior.offset_min_us > 2 * 17 * SECOND_US


def test_a_request_that_was_overtaken_allows_for_drift_in_between(known: ClockState) -> None:
    steady = known._replace(domain=Domain.STEADY)
    overtaken = request(steady, T0 - 90 * SECOND_US, up_us=100 * SECOND_US + 50_000, domain=Domain.STEADY)
    in_order = request(steady, T0 + 10 * SECOND_US, up_us=50_000, domain=Domain.STEADY)
    assert overtaken.offset_max_us is not None
    assert in_order.offset_max_us is not None
    assert overtaken.offset_max_us - in_order.offset_max_us == 20_005


def test_without_echoes_the_quickest_request_counts() -> None:
    state = replied(request(None, T0, up_us=15 * SECOND_US))
    estimate = request(state, T0 + 20 * SECOND_US, up_us=30_000)
    assert (estimate.method, estimate.offset_us) == (Method.ONE_WAY, OFFSET_US + 30_000)
    assert estimate.error_bound_us is None
    stalled = request(replied(estimate), T0 + 30 * SECOND_US, up_us=20 * SECOND_US)
    assert abs(stalled.offset_us - OFFSET_US) < 40_000


def test_without_echoes_a_clock_set_backwards_is_believed_the_second_time() -> None:
    by_us = 60 * SECOND_US
    state = replied(request(None, T0))
    first = request(state, T0 + 10 * SECOND_US, ahead_us=-by_us)
    assert abs(first.offset_us - OFFSET_US) < 50_000
    second = request(replied(first), T0 + 20 * SECOND_US, up_us=50_000, ahead_us=-by_us)
    assert second.clock_was_set
    assert abs(second.offset_us - (OFFSET_US + by_us)) <= 50_000


@pytest.mark.parametrize(("by_us", "after_us"), [(300 * SECOND_US, 10 * SECOND_US), (2 * OFFSET_US, 5 * OFFSET_US)])
def test_without_echoes_what_cannot_be_a_stall_is_believed_at_once(by_us: int, after_us: int) -> None:
    estimate = request(replied(request(None, T0)), T0 + after_us, ahead_us=-by_us)
    assert estimate.clock_was_set
    assert abs(estimate.offset_us - (OFFSET_US + by_us)) <= 40_000


def test_a_clock_set_back_by_hours_in_a_long_silence_is_seen_at_once(known: ClockState) -> None:
    by_us, day_us = 10 * OFFSET_US, 86_400 * SECOND_US
    estimate = request(known, T0 + day_us, reply_at_us=T0 + 10 * SECOND_US + 90_000, ahead_us=-by_us)
    assert estimate.clock_was_set
    assert abs(estimate.offset_us - (OFFSET_US + by_us)) < 2_000
    assert estimate.prior is not None
    assert estimate.prior.offset_min_us <= OFFSET_US <= estimate.prior.offset_max_us


def test_a_state_of_the_other_clock_is_ignored(known: ClockState) -> None:
    estimate = request(known, T0 + 20 * SECOND_US, domain=Domain.STEADY)
    assert estimate.method is Method.NAIVE


def test_a_request_without_a_time_leaves_nothing_behind() -> None:
    assert unusable().method is Method.RECEIVED
    assert unusable().replied(T0) is None


@pytest.mark.parametrize("set_by_us", [25 * SECOND_US, -4 * SECOND_US])
def test_a_set_that_a_stalled_first_exchange_hides_is_spanned(set_by_us: int) -> None:
    """Nothing contradicts itself: the only exchange so far was so slow that the set looks like a part of it."""
    opening = replied(request(None, T0, up_us=5 * SECOND_US))
    second = request(
        opening,
        T0 + 7 * SECOND_US,
        ahead_us=set_by_us,
        reply_at_us=T0 + 5 * SECOND_US + 50_000,
        reply_ahead_us=set_by_us,
    )
    clock = BatchClock.of(
        second,
        received_us=T0 + 7 * SECOND_US + 40_000,
        sent_wall_us=T0 + 7 * SECOND_US - OFFSET_US + set_by_us,
        sent_steady_us=None,
        drift_ppm_max=SETTINGS.drift_ppm_max,
    )
    before_the_set = T0 + 2 * SECOND_US
    corrected = clock.correct(1, before_the_set - OFFSET_US)
    assert corrected.error_bound_us is not None
    assert abs(corrected.corrected_us - before_the_set) <= corrected.error_bound_us
