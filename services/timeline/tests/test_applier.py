"""The loop, on a log that a test writes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest
from penstock.delivery.numbers import user_number
from penstock.timeline.v1.delivery_pb2 import JoinProgress
from penstock.timelines.applier import CHUNK_BYTES, CHUNK_RECORDS, Applier, _chunks
from penstock.timelines.errors import BrokenLogError
from penstock.timelines.held import Holdings
from penstock.timelines.log import Log, Record
from penstock.timelines.metrics import Metrics
from penstock.timelines.progress import Progress
from penstock.timelines.refilling import Refilling
from penstock.timelines.saving import Saving
from penstock.timelines.store import OutOfOrderError
from prometheus_client import CollectorRegistry

World = Any  # of conftest.py


class FakeLog:
    """Gives what it has, one batch per poll, then stops whoever reads it."""

    def __init__(self) -> None:
        self.batches: list[list[Record]] = []
        self.ends: dict[int, int] = {}
        self.progress_end = 0
        self.began: dict[int, int] = {}
        self.on_empty: Callable[[], None] = lambda: None

    def begin(self, starts: dict[int, int]) -> int:
        self.began = starts
        return self.progress_end

    def poll(self, wait_s: float) -> list[Record]:
        if not self.batches:
            self.on_empty()
            return []
        return self.batches.pop(0)

    def end(self, partition: int) -> int:
        return self.ends.get(partition, -1)


class FakeRefilling:
    def __init__(self) -> None:
        self.looks = 0

    def look(self, holdings: Holdings, now: float) -> None:
        self.looks += 1


class Desk:
    def __init__(self, world: World) -> None:
        self.world = world
        self.log, self.refilling, self.registry = FakeLog(), FakeRefilling(), CollectorRegistry()
        self.progress = Progress("timeline.deliveries.v1")
        self.rung: list[set[int]] = []
        self.loaded_after: list[int] = []  # batches that were left
        metrics = Metrics(self.registry)
        self.applier = Applier(
            cast(Log, self.log),
            Holdings(list(world.held.values())),
            self.progress,
            cast(Refilling, self.refilling),
            Saving(None, metrics, entries=1, age_s=1),
            metrics,
            ring=lambda changed: self.rung.append(set(changed)),
        )
        self.log.on_empty = self.applier.stopping.set

    def write(self, written: Iterable[tuple[int, bytes]], offset: int) -> None:
        for partition, record in written:
            self.log.batches.append([Record(partition, offset, record, written_ms=1)])

    def run(self, ends: dict[int, int]) -> None:
        self.applier.run(ends, lambda: self.loaded_after.append(len(self.log.batches)))

    def metric(self, name: str, **labels: str) -> float:
        return self.registry.get_sample_value(f"penstock_timeline_{name}", labels) or 0


@pytest.fixture
def desk(world: World) -> Desk:
    return Desk(world)


def test_it_is_loaded_when_it_holds_what_the_log_held(desk: Desk) -> None:
    join, user = desk.world.join, desk.world.user_in(1)
    desk.write(join.follow(user, "ann"), 0)
    desk.write(join.post("ann", "p", 5), 1)
    desk.write(join.post("ann", "q", 6), 2)
    desk.run({0: 0, 1: 2})
    assert desk.log.began == {0: 0, 1: 0}
    assert desk.loaded_after == [1]
    assert (desk.applier.load.total, desk.applier.load.done) == (2, 2)
    assert desk.world.held[1].position == 3
    assert desk.world.held[1].partition.view(user_number(user)).size == 2
    assert desk.metric("deliveries_total", outcome="applied") == 3
    assert desk.metric("entries_total", change="added") == 2
    assert desk.metric("freshness_seconds_count") == 1, "replayed ones say nothing about freshness"
    assert desk.refilling.looks > 0


def test_progress_must_be_known_too(desk: Desk) -> None:
    desk.log.progress_end = 2
    told = JoinProgress(query="q").SerializeToString()
    desk.log.batches = [[Record(None, 0, told, b"q")], [Record(None, 1, end=True)], [Record(None, 2, end=True)]]
    desk.run({0: 0, 1: 0})
    assert desk.loaded_after == [0]
    assert desk.progress.needed({}, 0) == -1


def test_an_end_behind_what_is_never_delivered_counts(desk: Desk) -> None:
    desk.log.batches = [[Record(0, 4, end=True)]]
    desk.run({0: 4, 1: 0})
    assert desk.loaded_after == [0]
    assert desk.world.held[0].position == 4


def test_watched_users_are_named(desk: Desk) -> None:
    join, user = desk.world.join, desk.world.user_in(1)
    desk.world.held[1].partition.watch(user_number(user))
    desk.write(join.follow(user, "ann"), 0)
    desk.write(join.post("ann", "p", 5), 1)
    desk.run({0: 0, 1: 0})
    assert {user_number(user)} in desk.rung


def test_what_came_again_is_dropped_and_counted(desk: Desk) -> None:
    written = desk.world.join.follow(desk.world.user_in(0), "ann")
    desk.write(written, 0)
    desk.write(written, 1)
    desk.run({0: 2, 1: 0})
    assert desk.metric("deliveries_total", outcome="dropped") == 1
    assert desk.world.held[0].position == 2


def test_a_record_that_is_missing_ends_it(desk: Desk) -> None:
    (partition, record) = desk.world.join.follow(desk.world.user_in(0), "ann")[0]
    # The field `part`, which makes it the second of its batch.
    desk.log.batches = [[Record(partition, 0, record + b"\x28\x01")]]
    with pytest.raises(OutOfOrderError, match="part 0 is missing"):
        desk.run({0: 1, 1: 0})
    assert desk.loaded_after == []


def test_a_record_without_a_value_ends_it(desk: Desk) -> None:
    desk.log.batches = [[Record(0, 7)]]
    with pytest.raises(BrokenLogError, match=r"v1\[0\]@7 has no value"):
        desk.run({0: 8, 1: 0})


def test_whoever_reads_waits_for_a_few_records_only(world: World) -> None:
    small = [Record(0, n, b"x") for n in range(3 * CHUNK_RECORDS + 1)]
    assert [len(chunk) for chunk in _chunks(small)] == [CHUNK_RECORDS] * 3 + [1]
    large = [Record(0, n, b"x" * CHUNK_BYTES) for n in range(3)]
    assert [len(chunk) for chunk in _chunks(large)] == [1, 1, 1]


def test_lag_is_what_the_client_has_heard_of(desk: Desk) -> None:
    desk.write(desk.world.join.follow(desk.world.user_in(0), "ann"), 0)
    desk.log.ends = {0: 5}
    desk.run({0: 1, 1: 0})
    assert (desk.world.held[0].lag, desk.world.held[1].lag) == (4, 0)
    assert desk.metric("lag_records", partition="0") == 4
    assert desk.metric("lag_seconds", partition="0") > 0
    assert desk.metric("lag_seconds", partition="1") == 0


def test_a_copy_is_made_between_two_records(desk: Desk) -> None:
    join, user = desk.world.join, desk.world.user_in(1)
    desk.write(join.follow(user, "ann"), 0)
    desk.write(join.post("ann", "p", 5), 1)
    wanted = desk.applier.image(1)
    thread = threading.Thread(target=desk.run, args=({0: 0, 1: 2},))
    thread.start()
    assert wanted.result(30).meta["number"] == 1
    thread.join()
