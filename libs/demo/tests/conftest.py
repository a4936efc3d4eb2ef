import pytest
from penstock.clock import Corrected, Domain, Method
from penstock.demo import screen, summary
from penstock.demo.ledger import Identity
from penstock.demo.scene import ErrorRow, Scene
from penstock.demo.sightings import Sighting
from penstock.demo.stack import Stack

NOW_US = 1_790_000_000_000_000


@pytest.fixture
def scene() -> Scene:
    """Half a minute in which everything went well: 100 events, 10 of them without a bound."""
    scene = Scene(300, 30.0, Stack("127.0.0.1:20001", "127.0.0.1:20002", "http://127.0.0.1:20003/metrics"), "penstock")
    for seq in range(1, 101):
        identity = Identity("device-0001", "boot-1", seq)
        scene.ledger.make(identity, NOW_US)
        scene.ledger.read(identity)
        scene.ledger.acknowledge(identity)
        method, bound_us = (Method.ECHO, 40_000) if seq <= 90 else (Method.NAIVE, None)
        corrected = Corrected(NOW_US + 5_000, bound_us, method, Domain.WALL, 0, False, False, NOW_US)
        scene.accuracy.add(
            NOW_US, occurred_us=NOW_US + 800_000, sent_us=NOW_US, received_us=NOW_US + 60_000, corrected=corrected
        )
        claimed_us = NOW_US - seq % 2 * 86_400_000_000
        sighting = Sighting(NOW_US, bound_us, method, claimed_us, "page.viewed", "device-0001", False)
        scene.sightings.offer(sighting, NOW_US + seq * 1_000_000)
        scene.rate.sample(seq * seq)
    scene.elapsed_s = 30.2
    scene.tally.refused["unknown type"] = 3
    scene.tally.latency_us.add(4_000)
    return scene


@pytest.fixture
def wide_scene(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """The same after a day, with everything as wide as it gets."""
    row = ErrorRow("peers: + received − sent", "190,000,000", "119 min", "119 min", "119 min", "± 119 min", "100.00 %")
    for view in (screen, summary):
        monkeypatch.setattr(view, "error_rows", lambda _: [row] * 6)
    scene.devices, scene.duration_s, scene.elapsed_s = 5_000, 172_800.0, 86_400.0
    tally = scene.tally
    tally.stalled, tally.requests_lost, tally.offline_now, tally.clocks_set = 650_000, 770_000, 5_000, 36_000
    tally.duplicates, tally.failed["UNAVAILABLE"] = 4_400_000, 10_000
    tally.refused.update({"unknown type": 990_000, "missing attribute": 990_000})
    return scene
