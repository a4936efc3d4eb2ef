from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from penstock.timelines import snapshot
from penstock.timelines.held import Holdings
from penstock.timelines.metrics import Metrics
from penstock.timelines.recovery import Recovery
from penstock.timelines.saving import Saving
from prometheus_client import CollectorRegistry

World = Any  # of conftest.py


class Desk:
    def __init__(self, world: World, folder: Path | None, *, entries: int = 10, age_s: float = 100) -> None:
        self.world = world
        self.folder = folder
        self.registry = CollectorRegistry()
        self.saving = Saving(folder, Metrics(self.registry), entries=entries, age_s=age_s)
        self.holdings = Holdings(list(world.held.values()))
        for held in self.holdings:
            held.saved_at = 0

    def changed(self, partition: int, entries: int) -> None:
        held = self.world.held[partition]
        held.records_since_save += 1
        held.changed_since_save += entries

    def look(self, now: float) -> None:
        self.saving.look(self.holdings, now)
        if self.saving._writing is not None:
            self.saving._writing[1].result()

    def saved(self) -> set[int]:
        found = self.folder.glob("*.snapshot") if self.folder else ()
        return {int(path.name.split(".")[-2]) for path in found}

    def outcomes(self, outcome: str) -> float:
        return self.registry.get_sample_value("penstock_timeline_snapshots_total", {"outcome": outcome}) or 0


def test_a_partition_is_saved_when_enough_has_changed(world: World, tmp_path: Path) -> None:
    desk = Desk(world, tmp_path)
    desk.changed(0, 9)
    desk.look(1)
    assert desk.saved() == set()
    desk.changed(0, 1)
    desk.look(2)
    assert desk.saved() == {0}
    assert (world.held[0].changed_since_save, desk.outcomes("written")) == (0, 1)


def test_it_is_saved_after_a_while_if_anything_has_changed(world: World, tmp_path: Path) -> None:
    desk = Desk(world, tmp_path)
    desk.changed(1, 0)
    desk.look(99)
    assert desk.saved() == set()
    desk.look(100)
    desk.look(101)
    desk.look(300)
    assert desk.saved() == {1}
    assert desk.outcomes("written") == 1


def test_one_at_a_time_the_one_that_changed_most_first(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, go_on = Desk(world, tmp_path), threading.Event()
    write = snapshot.write
    monkeypatch.setattr(snapshot, "write", lambda *given: go_on.wait(30) and write(*given))
    desk.changed(0, 20)
    desk.changed(1, 30)
    desk.saving.look(desk.holdings, 1)
    desk.saving.look(desk.holdings, 2)
    assert (world.held[0].changed_since_save, world.held[1].changed_since_save) == (20, 0)
    go_on.set()
    desk.saving.finish(desk.holdings, 3)
    assert desk.saved() == {0, 1}


def test_the_end_saves_all_that_has_changed(world: World, tmp_path: Path) -> None:
    user = world.user_in(0)
    world.apply(world.join.follow(user, "ann"))
    world.apply(world.join.post("ann", "p", 1))
    desk = Desk(world, tmp_path)
    desk.changed(0, 1)
    desk.saving.finish(desk.holdings, 1)
    assert desk.saved() == {0}
    (held,) = Recovery(tmp_path, world.shape, salt=1).recover([world.origin(0)], {0: (0, 2)})
    assert held.partition.digest() == world.held[0].partition.digest() != 0


def test_a_disk_that_does_not_take_it_is_reported_and_tried_again(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "gone"
    desk = Desk(world, folder)
    desk.changed(0, 10)
    desk.look(1)
    assert desk.outcomes("failed") == 1
    assert "no snapshot of partition 0 was written" in caplog.text
    folder.mkdir()
    desk.look(2)
    assert desk.saved() == set()
    desk.look(101)
    assert desk.saved() == {0}


def test_without_a_folder_nothing_is_saved(world: World) -> None:
    desk = Desk(world, None)
    desk.changed(0, 1_000)
    desk.look(1_000)
    desk.saving.finish(desk.holdings, 1_001)
    assert desk.outcomes("written") == 0
