"""The host's promises, with a state store of dicts that commits or does not, as Spark's does."""

from __future__ import annotations

from typing import Any, cast

import pandas as pd
import pytest
from penstock.events.v1.event_pb2 import RowVersion
from penstock.jobs.timelines import processor as module
from penstock.jobs.timelines.changes import FOLLOWS, POSTS
from penstock.jobs.timelines.processor import JoinProcessor, Settings
from penstock.jobs.timelines.shard import Shape
from penstock.pipeline import load
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.timeline.v1.delivery_pb2 import Delivery
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

PIPELINE = load()


class Store:
    """ValueState and MapState on one dict, of which a batch that fails changes nothing."""

    def __init__(self) -> None:
        self.committed: dict[Any, tuple[Any, ...]] = {}
        self.current: dict[Any, tuple[Any, ...]] = {}

    def begin(self) -> None:
        self.current = dict(self.committed)

    def commit(self) -> None:
        self.committed = self.current

    def getValueState(self, name: str, schema: str) -> State:  # noqa: N802 -- Spark's names
        return State(self, name)

    def getMapState(self, name: str, key: str, value: str) -> State:  # noqa: N802
        return State(self, name)


class State:
    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name

    def get(self) -> tuple[Any, ...] | None:
        return self.getValue(())

    def update(self, value: tuple[Any, ...]) -> None:
        self.updateValue((), value)

    def getValue(self, key: tuple[Any, ...]) -> tuple[Any, ...] | None:  # noqa: N802
        return self._store.current.get((self._name, key))

    def updateValue(self, key: tuple[Any, ...], value: tuple[Any, ...]) -> None:  # noqa: N802
        self._store.current[self._name, key] = value

    def removeKey(self, key: tuple[Any, ...]) -> None:  # noqa: N802
        del self._store.current[self._name, key]


class Worker:
    """A worker process: its own copies of shards."""

    def __init__(self, store: Store, epoch: int = 1) -> None:
        self._store = store
        self._settings = Settings("checkpoint", PIPELINE, Shape(2, 10, 100), epoch)
        self.copies: dict[Any, Any] = {}

    def batch(self, monkeypatch: pytest.MonkeyPatch, *records: tuple[int, bytes], commit: bool = True) -> list[bytes]:
        monkeypatch.setattr(module, "_copies", self.copies)
        self._store.begin()
        processor = JoinProcessor(self._settings)
        processor.init(cast(StatefulProcessorHandle, self._store))
        frame = pd.DataFrame(records, columns=["kind", "value"])
        frames = list(processor.handleInputRows((3,), iter([frame]), None))
        if commit:
            self._store.commit()
        return [value for one in frames for value in one["value"] if value is not None]


def change(table: str, key: str, time_us: int, op: Op.ValueType = Op.OP_UPSERT) -> bytes:
    version = RowVersion(valid_from_us=time_us, position=b"p")
    return RowChange(table=table, key=key, op=op, version=version).SerializeToString()


def follow(name: str) -> tuple[int, bytes]:
    return FOLLOWS, change("follows", f"{name}/ann", 1)


def post(name: str) -> tuple[int, bytes]:
    return POSTS, change("posts", f"ann/{name}", 1)


def told(records: list[bytes]) -> list[tuple[int, int, list[str]]]:
    return [
        (one.epoch, one.batch, [post.id for author in one.authors for post in author.posts])
        for one in map(Delivery.FromString, records)
    ]


def test_that_batches_are_numbered_and_tell_of_what_came_before(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(Store(), epoch=77)
    assert told(worker.batch(monkeypatch, follow("bob"))) == [(77, 1, [])]
    assert told(worker.batch(monkeypatch, post("a"))) == [(77, 2, ["a"])]


def test_that_a_batch_run_again_elsewhere_tells_the_same_to_the_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    one, two = Worker(store), Worker(store)
    one.batch(monkeypatch, follow("bob"), follow("cat"))
    failed = one.batch(monkeypatch, post("a"), commit=False)
    assert two.batch(monkeypatch, post("a"), commit=False) == failed
    # The copy that the failed attempt left must not be taken for the state.
    assert one.batch(monkeypatch, post("a")) == failed
    assert told(two.batch(monkeypatch, post("b"))) == [(1, 3, ["b"])]


def test_that_a_worker_that_is_behind_catches_up_from_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    one, two = Worker(store), Worker(store)
    one.batch(monkeypatch, follow("bob"))
    two.batch(monkeypatch, follow("cat"))
    two.batch(monkeypatch, follow("dan"))
    spread = Delivery.FromString(one.batch(monkeypatch, post("a"))[0]).authors[0].spread[0]
    everybody = sum(
        len(spread.readers) // 8
        for record in two.batch(monkeypatch, post("b"))
        for spread in Delivery.FromString(record).authors[0].spread
    )
    assert len(spread.readers) > 0
    assert everybody == 3


@pytest.mark.parametrize("batches", [1, 2, 7])
def test_that_a_new_worker_reads_image_and_log(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    monkeypatch.setattr(module, "IMAGE_AFTER_BATCHES", 3)
    monkeypatch.setattr(module, "PIECE_BYTES", 100)
    store = Store()
    one = Worker(store)
    one.batch(monkeypatch, follow("bob"), follow("cat"))
    for number in range(batches):
        one.batch(monkeypatch, post(f"p{number}"))
    assert sum(name == "log" for name, _ in store.committed) < 3
    expected = one.batch(monkeypatch, follow("dan"), commit=False)
    assert Worker(store).batch(monkeypatch, follow("dan")) == expected
    assert sorted(told(expected)[0][2]) == [f"p{number}" for number in range(batches)]


def test_that_a_shard_keeps_its_epoch_over_restarts(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    Worker(store, epoch=5).batch(monkeypatch, follow("bob"))
    assert told(Worker(store, epoch=9).batch(monkeypatch, post("a"))) == [(5, 2, ["a"])]
