from collections.abc import Callable

import pytest
from penstock.client import Added, Cursor, Post, Removed
from penstock.clock import Corrected, Domain, Method
from penstock.demo import screen, summary
from penstock.demo.audit import Audit
from penstock.demo.joins import Joins
from penstock.demo.ledger import Identity
from penstock.demo.profiles import Change, Kind, Profile
from penstock.demo.scene import ErrorRow, Scene
from penstock.demo.sightings import Sighting
from penstock.demo.stack import Stack
from penstock.demo.truth import Truth
from penstock.embedded.jobs import Jobs
from penstock.embedded.postgres import Postgres
from penstock.embedded.services import Service
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MATCHED, Clock, Enrichment, Event, RowVersion
from penstock.pipeline import load

NOW_US = 1_790_000_000_000_000
ANN = Profile("u1", "Ann", "DE", "pro")
STACK = Stack(
    "127.0.0.1:20001",
    Service("ingestion", "127.0.0.1:20002", "http://127.0.0.1:20003/metrics"),
    Service("enrichment", "127.0.0.1:20004", "http://127.0.0.1:20005/metrics"),
    Service("timeline", "127.0.0.1:20007", "http://127.0.0.1:20008/metrics"),
    Jobs("jobs", "http://127.0.0.1:20009/metrics"),
    Postgres("127.0.0.1", 20006, "postgres", "secret", "app", "postgres"),
    {"PENSTOCK_PIPELINE": "pipeline.yaml"},
)

NewScene = Callable[[], Scene]


@pytest.fixture
def new_scene() -> NewScene:
    """Before anything has happened."""

    def new() -> Scene:
        truth = Truth()
        return Scene(300, 30.0, STACK, "penstock", load(), truth, Joins(load(), truth))

    return new


@pytest.fixture
def scene(new_scene: NewScene) -> Scene:
    """Half a minute in which everything went well: 100 events, 10 of them without a bound."""
    scene = new_scene()
    scene.truth.begin_with(ANN.user, ANN.columns, NOW_US - 1_000_000)
    for seq in range(1, 101):
        identity = Identity("device-0001", "boot-1", seq)
        scene.ledger.make(identity, NOW_US)
        scene.ledger.read(identity)
        scene.ledger.acknowledge(identity)
        scene.ledger.enrich(identity)
        scene.joins.take(identity, viewed(NOW_US + 5_000))
        scene.fresh_us.add(150_000)
        method, bound_us = (Method.ECHO, 40_000) if seq <= 90 else (Method.NAIVE, None)
        corrected = Corrected(NOW_US + 5_000, bound_us, method, Domain.WALL, 0, False, False, NOW_US)
        scene.accuracy.add(
            NOW_US, occurred_us=NOW_US + 800_000, sent_us=NOW_US, received_us=NOW_US + 60_000, corrected=corrected
        )
        claimed_us = NOW_US - seq % 2 * 86_400_000_000
        revision = int(seq % 10 == 0)
        sighting = Sighting(NOW_US, bound_us, claimed_us, "page.viewed", "u1: pro, DE", revision, False)
        scene.sightings.offer(sighting, NOW_US + seq * 1_000_000)
        scene.rate.sample(seq * seq)
        scene.enriched_rate.sample(seq * seq)
    scene.truth.committed(Change(Kind.UPDATE, (ANN._replace(plan="free"),)), NOW_US + 1_000_000)
    scene.joins.judge(NOW_US + 2_000_000)
    scene.elapsed_s = 30.2
    scene.tally.refused["unknown type"] = 3
    scene.tally.latency_us.add(4_000)
    scene.enrichment.rows, scene.enrichment.lag_records, scene.enrichment.lag_s = 1, 12, 0.25
    scene.rows_compared, scene.rows_differing = 1, 0
    show_timelines(scene)
    return scene


def show_timelines(scene: Scene) -> None:
    """Twelve posts in the timeline that is shown, of which one has just come, and another one has just gone."""
    join, timeline, probe = scene.join, scene.timeline, scene.probe
    join.behind, join.batch_s = 9, 0.65
    join.rate.sample(90)
    timeline.lag_records, timeline.lag_s, timeline.users, timeline.entries = 2, 0.04, 1_503, 153_002
    timeline.posts, timeline.refilled, timeline.added, timeline.removed = 4_210, 31, 160_000, 7_000
    timeline.fresh_s = 0.013
    timeline.rate.sample(6_500)
    timeline.outgoing.sample(120)
    for latency_us in (900_000, 1_100_000, 1_900_000):
        probe.latency_us.add(latency_us)
        probe.newest_us.append(latency_us)
    cursor = Cursor(b"")
    for number in range(1, 13):
        post = Post(
            f"p{number}", ANN.user, NOW_US - number * 1_000_000, 40_000, {"text": "The herons are back"}, number, b""
        )
        scene.onlooker.take(Added(post, cursor), NOW_US - 1_000_000 if number == 1 else NOW_US - 60_000_000)
    scene.onlooker.take(Removed(3, "p3", ANN.user, cursor), NOW_US)
    scene.audit = Audit(14.0, 1_503, 4_210, 14_400, 153_002, 0)


def viewed(t_us: int, revision: int = 0, plan: str = "pro") -> Event:
    """A page that Ann viewed, as the enriched log has it."""
    found = Enrichment(
        name="user",
        table="profiles",
        key=ANN.user,
        status=ENRICHMENT_STATUS_MATCHED,
        columns={"country": ANN.country, "plan": plan},
        version=RowVersion(valid_from_us=NOW_US - 1_000_000),
    )
    return Event(
        type="page.viewed",
        attributes={"user": ANN.user, "page": "/home"},
        clock=Clock(corrected_us=t_us),
        enrichments=[found],
        revision=revision,
    )


@pytest.fixture
def wide_scene(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """The same after a day, with everything as wide as it gets."""
    row = ErrorRow("peers: + received − sent", "190,000,000", "119 min", "119 min", "119 min", "± 119 min", "100.00 %")
    for view in (screen, summary):
        monkeypatch.setattr(view, "error_rows", lambda _, by_method=True: [row] * (6 if by_method else 3))
    scene.devices, scene.duration_s, scene.elapsed_s = 5_000, 172_800.0, 86_400.0
    tally, ledger, joins = scene.tally, scene.ledger, scene.joins
    tally.stalled, tally.requests_lost, tally.offline_now, tally.clocks_set = 650_000, 770_000, 5_000, 36_000
    tally.duplicates, tally.failed["UNAVAILABLE"] = 4_400_000, 10_000
    tally.refused.update({"unknown type": 990_000, "missing attribute": 990_000})
    ledger.acknowledged, ledger.refused, ledger.enriched, joins.corrections = (
        190_000_000,
        1_980_000,
        190_000_000,
        99_000,
    )
    joins.by_status.update({"matched": 100_000_000, "missing": 9_000_000, "deleted": 900_000, "history evicted": 9_000})
    scene.enrichment.rows, scene.enrichment.lag_records, scene.enrichment.lag_s = 20_000, 1_000_000, 3_600.0
    scene.join.behind, scene.join.batch_s = 1_000_000, 119.0
    scene.timeline.lag_records, scene.timeline.lag_s = 1_000_000, 3_600.0
    scene.timeline.users, scene.timeline.entries, scene.timeline.refilled = 45_000, 9_000_000, 9_000_000
    scene.timeline.added, scene.timeline.removed = 900_000_000, 900_000_000
    scene.audit = Audit(299.0, 45_000, 19_000_000, 9_000_000, 9_000_000, 0)
    scene.probe.latency_us.add(7_140_000_000)
    scene.truth.changes = {Kind.UPDATE: 360_000, Kind.INSERT: 80_000, Kind.DELETE: 80_000}
    return scene
