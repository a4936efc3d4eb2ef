from hypothesis import given
from hypothesis import strategies as st
from penstock.demo.histogram import Histogram


def histogram(values: list[int]) -> Histogram:
    made = Histogram()
    for value in values:
        made.add(value)
    return made


@given(st.lists(st.integers(0, 1 << 50), min_size=1), st.sampled_from([0.5, 0.99, 1.0]))
def test_quantiles_are_within_two_percent(values: list[int], share: float) -> None:
    found = histogram(values).quantile(share)
    exact = sorted(values)[max(1, round(share * len(values))) - 1]
    assert found is not None
    assert abs(found - exact) <= exact * 0.02


def test_nothing_has_no_quantile() -> None:
    assert Histogram().quantile(0.5) is None


def test_the_greatest_is_exact_and_no_quantile_exceeds_it() -> None:
    found = histogram([1_000_003])
    assert found.greatest == found.quantile(0.99) == 1_000_003


def test_values_out_of_range_are_counted_at_its_ends() -> None:
    found = histogram([-5, 1 << 70])
    assert (found.count, found.quantile(0.5), found.greatest) == (2, 0, (1 << 56) - 1)
