"""The order in which an instance works, without Kafka."""

from __future__ import annotations

from typing import Any, cast

from penstock.enrichment.engine import BEHIND, Engine, Parts
from penstock.enrichment.follower import Counts as FollowerCounts
from penstock.enrichment.follower import Follower, Polled, Progress
from penstock.enrichment.join.emission import Counts
from penstock.enrichment.metrics import Metrics
from penstock.enrichment.transactor import Report
from prometheus_client import CollectorRegistry


class World:
    """A follower that is behind, and a join that stops the engine when it has been asked."""

    def __init__(self, behind: int) -> None:
        self.behind = behind
        self.told: list[str] = []
        self.tables: dict[str, Any] = {}
        self.counts: Any = Counts(events=7)
        self.progress = Progress(total=3)
        self.registry = CollectorRegistry()
        self.engine = Engine(
            self.parts,
            cast(Follower, Followed(self)),
            Metrics(self.registry),
            snapshot_changes=1,
            on_progress=lambda: self.told.append("progress"),
        )

    def parts(self) -> Parts:
        world: Any = self
        return Parts(cast(Any, Followed(self)), world, world, world, world, None, world)

    # The join.
    def round(self, wait_s: float) -> Report:
        self.told.append(f"join at {self.behind}")
        self.engine.stopping.set()
        return Report(1, 1, committed=True)


class Followed:
    def __init__(self, world: World) -> None:
        self.world = world
        self.tables: dict[str, Any] = {}
        self.counts = FollowerCounts()
        self.progress = world.progress

    def load(self, stop: Any) -> None:
        self.world.told.append("load")

    def ends(self) -> dict[tuple[str, int], int]:
        return {("t", 0): 1}

    def holds(self, ends: dict[tuple[str, int], int]) -> bool:
        return not ends or self.world.behind == 0

    def wait_until_holds(self, ends: object) -> None:
        self.world.told.append("complete")

    def poll(self, wait_s: float) -> Polled:
        applied = min(self.world.behind, BEHIND)
        self.world.behind -= applied
        return Polled(applied, [])

    def lags(self) -> dict[str, int]:
        return {"t": self.world.behind}

    def save(self, changes_min: int) -> None:
        self.world.told.append("save")


def test_tables_that_are_far_behind_go_before_the_join() -> None:
    world = World(behind=4 * BEHIND)
    world.engine.run()
    assert world.told[:2] == ["load", "complete"]
    # Joined as soon as they were near enough, and not before.
    assert [said for said in world.told if said.startswith("join")] == [f"join at {BEHIND}"]
    assert world.told[-1] == "save"


def test_what_was_committed_is_counted_and_loading_is_shown_at_once() -> None:
    world = World(behind=0)
    assert world.registry.get_sample_value("penstock_enrichment_load_records", {"state": "total"}) == 3
    world.engine.run()
    assert world.registry.get_sample_value("penstock_enrichment_events_total") == 7
    assert world.registry.get_sample_value(
        "penstock_enrichment_transactions_total", {"step": "join", "outcome": "committed"}
    )
