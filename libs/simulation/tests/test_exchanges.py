from random import Random

import pytest
from penstock.simulation import SCENARIOS, Exchange, Scenario, make_device, run

START_US = 1_790_000_000_000_000
SKEW_US = 1_600


def exchanges(scenario: Scenario, seed: int) -> list[Exchange]:
    random = Random(seed)
    return run(random, scenario, make_device(random, scenario, START_US), START_US)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("seed", range(5))
def test_every_run_is_possible(scenario: Scenario, seed: int) -> None:
    done = exchanges(scenario, seed)
    events = [event for exchange in done for event in exchange.events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert sum(bool(exchange.events) for exchange in done) == scenario.requests
    assert not done[0].events
    for number, exchange in enumerate(done):
        assert exchange.sent.true_us <= exchange.received_us + SKEW_US
        assert exchange.received_us <= exchange.replied_us
        assert all(event.occurred.true_us <= exchange.sent.true_us for event in exchange.events)
        if exchange.reply_received is not None:
            assert exchange.replied_us <= exchange.reply_received.true_us + SKEW_US
        if exchange.echoes is not None:
            echoed = done[exchange.echoes].reply_received
            assert exchange.echoes < number
            assert echoed is not None
            assert echoed.true_us <= exchange.sent.true_us


def test_data_comes_with_a_token() -> None:
    for exchange in exchanges(SCENARIOS[1], 3):
        assert exchange.echoes is not None or not exchange.events


def test_careless_clients_keep_the_time_of_their_first_attempt() -> None:
    scenario = next(scenario for scenario in SCENARIOS if scenario.stale_resends)
    delays = [
        exchange.received_us - exchange.sent.true_us
        for seed in range(5)
        for exchange in exchanges(scenario, seed)
        if exchange.events
    ]
    assert max(delays) > 60_000_000
