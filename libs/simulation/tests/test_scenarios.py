from itertools import pairwise
from random import Random

import pytest
from penstock.simulation import SCENARIOS, Scenario, make_device

START_US = 1_790_000_000_000_000


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_same_seed_gives_the_same_device(scenario: Scenario) -> None:
    one, other = (make_device(Random(5), scenario, START_US) for _ in range(2))
    later_us = START_US + 3_600_000_000
    assert one.clocks.read(later_us) == other.clocks.read(later_us)
    assert one.network.travel() == other.network.travel()
    assert one.offline == other.offline
    assert len(one.offline) == scenario.offline_spells


def test_offline_spells_do_not_overlap() -> None:
    scenario = next(scenario for scenario in SCENARIOS if scenario.offline_spells)
    for seed in range(50):
        spells = make_device(Random(seed), scenario, START_US).offline
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(spells))


def test_scenarios_keep_the_drift_that_the_service_is_told() -> None:
    assert all(scenario.clocks.drift_ppm_max < 200 for scenario in SCENARIOS)
