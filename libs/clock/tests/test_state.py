from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.clock import Domain, Settings, choose_domain
from penstock.clock.state import TIME_MAX_US, drift_us


@pytest.mark.parametrize(
    ("wall_us", "steady_us", "boot_id", "domain"),
    [
        (5, 7, "b", Domain.STEADY),
        (0, 0, "b", Domain.STEADY),
        (5, 7, "", Domain.WALL),
        (5, None, "b", Domain.WALL),
        (5, -1, "b", Domain.WALL),
        (5, TIME_MAX_US, "b", Domain.WALL),
        (0, None, "b", None),
        (-5, -5, "b", None),
        (TIME_MAX_US, None, "", None),
    ],
)
def test_the_steady_clock_is_chosen_where_it_is_usable(
    wall_us: int, steady_us: int | None, boot_id: str, domain: Domain | None
) -> None:
    assert choose_domain(wall_us, steady_us, boot_id) is domain


@given(st.integers(-10, TIME_MAX_US), st.integers(0, 100_000))
def test_drift_is_rounded_up_and_allows_for_either_clock(elapsed_us: int, ppm: int) -> None:
    # A clock that runs slow by `ppm` counts less than the truth: the truth is what drifts.
    exact = Fraction(max(0, elapsed_us)) * ppm / (1_000_000 - ppm)
    assert exact <= drift_us(elapsed_us, ppm) < exact + 1


def test_settings_say_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="server_skew_us=-1"):
        Settings(server_skew_us=-1)
    with pytest.raises(ValueError, match="drift_ppm_max=500000"):
        Settings(drift_ppm_max=500_000)
