import ast
from pathlib import Path

import penstock.clock
import pytest
from penstock.clock import BatchClock, Domain, Floor, Method, Prior, newest

SECOND_US = 1_000_000
T0 = 1_790_000_000 * SECOND_US
OFFSET_US = 60 * SECOND_US


def wall_batch(prior: Prior | None = None, floor: Floor | None = None, **changes: int) -> BatchClock:
    """Sent at T0 by the wall clock, which is a minute behind; received 50 ms later; offset known to 40 ms."""
    return BatchClock(
        method=Method.ECHO,
        domain=Domain.WALL,
        offset_us=OFFSET_US,
        offset_min_us=OFFSET_US - 40_000,
        offset_max_us=OFFSET_US + 40_000,
        drift_ppm_max=200,
        received_us=T0 + OFFSET_US + changes.get("travel_us", 50_000),
        sent_wall_us=T0,
        sent_steady_us=None,
        prior=prior,
        floor=floor,
    )


def steady_batch() -> BatchClock:
    """Sent at 1000 s after boot, when the wall clock showed T0; the steady clock's offset is T0."""
    return BatchClock(
        method=Method.ECHO,
        domain=Domain.STEADY,
        offset_us=T0,
        offset_min_us=T0 - 10,
        offset_max_us=T0 + 10,
        drift_ppm_max=200,
        received_us=T0 + 1_001 * SECOND_US,
        sent_wall_us=T0,
        sent_steady_us=1_000 * SECOND_US,
    )


def test_the_bound_grows_with_the_time_between_occurring_and_sending() -> None:
    at_once, an_hour_ago = wall_batch().correct(1, T0), wall_batch().correct(1, T0 - 3_600 * SECOND_US)
    assert (at_once.corrected_us, at_once.error_bound_us) == (T0 + OFFSET_US, 40_000)
    assert an_hour_ago.corrected_us == T0 + OFFSET_US - 3_600 * SECOND_US
    assert an_hour_ago.error_bound_us == 40_000 + 720_145


def test_an_event_from_after_its_sending_is_clamped_and_flagged() -> None:
    corrected = wall_batch().correct(1, T0 + 70_000)
    assert corrected.clamped
    assert corrected.corrected_us == T0 + OFFSET_US
    assert corrected.error_bound_us == 40_017


def test_a_claim_from_the_future_is_bounded_only_by_a_clock_that_we_know_of() -> None:
    year_us = 365 * 86_400 * SECOND_US
    assert wall_batch().correct(1, T0 + year_us).error_bound_us is None
    prior = Prior(OFFSET_US - year_us - 1_000, OFFSET_US - year_us + 1_000, T0 + OFFSET_US)
    corrected = wall_batch(prior).correct(1, T0 + year_us - 3 * SECOND_US)
    assert corrected.spans_clock_set
    assert corrected.error_bound_us is not None
    assert 3 * SECOND_US <= corrected.error_bound_us < 4 * SECOND_US


def test_a_corrected_time_is_never_after_the_receive_time() -> None:
    corrected = wall_batch(travel_us=-1_500).correct(1, T0)
    assert corrected.corrected_us == T0 + OFFSET_US - 1_500
    assert corrected.error_bound_us == 41_500


def test_an_event_that_may_be_older_than_a_set_spans_both_readings() -> None:
    prior = Prior(OFFSET_US + 9 * SECOND_US, OFFSET_US + 11 * SECOND_US, T0 + OFFSET_US)
    older = wall_batch(prior).correct(1, T0 - 20 * SECOND_US)
    younger = wall_batch(prior).correct(2, T0 - 5 * SECOND_US)
    assert older.spans_clock_set
    assert older.error_bound_us is not None
    assert older.error_bound_us >= 11 * SECOND_US
    assert not younger.spans_clock_set
    assert younger.error_bound_us == 40_000 + 1_001


def test_a_prior_from_a_long_silence_widens_but_is_not_called_a_set() -> None:
    prior = Prior(OFFSET_US - 17 * SECOND_US, OFFSET_US + 17 * SECOND_US, T0 + OFFSET_US)
    corrected = wall_batch(prior).correct(1, T0 - 30 * SECOND_US)
    assert not corrected.spans_clock_set
    assert corrected.error_bound_us is not None
    assert corrected.error_bound_us >= 17 * SECOND_US


def test_the_floor_raises_what_follows_it_and_widens_the_bound_by_as_much() -> None:
    floor = Floor(7, T0 - SECOND_US, T0 + OFFSET_US - SECOND_US + 30_000)
    raised = wall_batch(floor=floor).correct(8, T0 - SECOND_US)
    assert raised.corrected_us == floor.corrected_us
    assert raised.error_bound_us == 40_000 + 201 + 30_000
    assert wall_batch(floor=floor).correct(7, T0 - SECOND_US).corrected_us == T0 + OFFSET_US - SECOND_US
    ran_back = wall_batch(floor=floor).correct(8, T0 - SECOND_US - 1)
    assert ran_back.corrected_us == T0 + OFFSET_US - SECOND_US - 1


def test_the_steady_clock_ignores_what_the_wall_clock_says() -> None:
    corrected = steady_batch().correct(1, 12345, 900 * SECOND_US)
    assert (corrected.corrected_us, corrected.domain) == (T0 + 900 * SECOND_US, Domain.STEADY)
    assert corrected.error_bound_us == 10 + 20_005


@pytest.mark.parametrize(("steady_us", "same_boot"), [(900 * SECOND_US, False), (None, True), (-1, True)])
def test_without_the_steady_clock_of_this_boot_the_wall_clock_serves_without_a_bound(
    steady_us: int | None, same_boot: bool
) -> None:
    corrected = steady_batch().correct(1, T0 - 10 * SECOND_US, steady_us, same_boot=same_boot)
    assert corrected.corrected_us == T0 + 990 * SECOND_US
    assert corrected.error_bound_us is None


def test_a_wall_clock_of_another_boot_is_not_bounded() -> None:
    corrected = wall_batch().correct(1, T0 - SECOND_US, same_boot=False)
    assert corrected.corrected_us == T0 + OFFSET_US - SECOND_US
    assert corrected.error_bound_us is None


def test_an_event_without_a_time_gets_the_receive_time() -> None:
    corrected = wall_batch().correct(1, 0)
    assert (corrected.corrected_us, corrected.method) == (T0 + OFFSET_US + 50_000, Method.RECEIVED)
    assert corrected.error_bound_us is None
    assert newest(None, 1, corrected) is None


def test_the_floor_only_ever_moves_on() -> None:
    corrected = wall_batch().correct(3, T0)
    floor = newest(None, 3, corrected)
    assert floor == Floor(3, T0, T0 + OFFSET_US)
    assert newest(floor, 2, corrected) is floor
    assert newest(floor, 0, corrected) is floor


def test_the_library_knows_neither_floats_nor_calendars() -> None:
    package = Path(penstock.clock.__file__).parent
    for path in package.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            where = f"{path.name}:{getattr(node, 'lineno', 0)}"
            assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), where
            assert not isinstance(node, ast.Div), where
            assert not (isinstance(node, ast.Name) and node.id in {"float", "round"}), where
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            module = node.module if isinstance(node, ast.ImportFrom) else None
            imported = {name.split(".")[0] for name in [*names, module or ""]}
            assert not imported & {"datetime", "time", "calendar", "decimal", "fractions", "math"}, where
