from dataclasses import replace
from random import Random

from penstock.simulation.networks import Network, NetworkProfile

PROFILE = NetworkProfile()


def test_delays_lie_around_the_devices_level_and_stalls_on_top() -> None:
    profile = replace(PROFILE, stalled_requests=0.03, lost_replies=0.05)
    network = Network(Random(3), profile)
    travels = [network.travel() for _ in range(4_000)]
    stalled = [travel for travel in travels if travel.up_us >= profile.stall_us_least]
    assert 80 < len(stalled) < 160
    assert max(travel.up_us for travel in travels) < profile.stall_us_most + 2_000_000
    assert max(travel.down_us for travel in travels) < profile.stall_us_least
    assert min(travel.up_us for travel in travels) > 0
    assert 140 < sum(travel.reply_lost for travel in travels) < 260
    assert not any(travel.request_lost for travel in travels)


def test_devices_differ_in_their_level() -> None:
    medians = []
    for seed in range(50):
        network = Network(Random(seed), PROFILE)
        medians.append(sorted(network.travel().up_us for _ in range(99))[49])
    assert min(medians) < 25_000
    assert max(medians) > 90_000
