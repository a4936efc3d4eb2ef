"""Timelines are exact whatever dies: the driver of the join, its workers and the service are killed again and again,
while posts and follows change without pause. Then they are as the ledger says, and as the audit says; and all ways to
come to them give the same bits."""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import psutil
import pytest
from enrichment_stack import PATIENCE_S, until
from penstock.client import NotYetVisibleError
from penstock.embedded.broker import Kafka
from penstock.embedded.errors import ChildDiedError
from penstock.embedded.jobs import Jobs
from penstock.embedded.services import Service
from penstock.timeline.v1.delivery_pb2 import Delivery
from timeline_deaths import DEADLY, DeadlyJoin, DeadlyService, batches, family
from timeline_ledger import FOLLOWERS, TablesWriter, TimelineLedger, timelines
from timeline_stack import (
    SHARDS,
    TimelineStack,
    asking,
    content_hash,
    pipeline,
    served,
    settle,
    timeline_stack,
)

MANY = 100
ROUNDS = int(os.environ.get("PENSTOCK_DRILL_ROUNDS", "20"))
SEED = int(os.environ.get("PENSTOCK_DRILL_SEED", "5"))
CAPACITY, SLACK = 10, 4
PIPELINE = pipeline(capacity=CAPACITY, slack=SLACK, merge_at_read_above=FOLLOWERS)
VICTIMS = {"worker": 10, "service": 7, "driver": 3}  # of twenty
pytestmark = pytest.mark.timeout(600 + 30 * ROUNDS)


@dataclass(frozen=True)
class Drill:
    """What is left after all deaths: the join and the service, alive."""

    stack: TimelineStack
    ledger: TimelineLedger
    jobs: Jobs
    service: Service

    def check(self, service: Service) -> None:
        """Timelines are as the ledger says, and nothing is under way."""
        token = self.stack.tables_token()
        served(service, self.ledger.users, CAPACITY, token)  # whatever it is: now all is told
        settle([service])
        assert served(service, self.ledger.users, CAPACITY, token) == timelines(self.ledger.changes, CAPACITY)


@pytest.fixture(scope="module")
def drill(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drill]:
    folder, prefix, chance = tmp_path_factory.mktemp("drill"), f"test-{uuid.uuid4().hex[:12]}-", random.Random(SEED)
    with (
        timeline_stack(kafka.bootstrap, prefix, PIPELINE, folder) as stack,
        timeline_stack(kafka.bootstrap, prefix, PIPELINE, folder / "deadly") as beside,
    ):
        jobs = stack.start_join()
        saving = {"PENSTOCK_TIMELINE_STATE_FOLDER": str(folder / "state"), "PENSTOCK_TIMELINE_SNAPSHOT_AGE_S": "1"}
        (deadly,) = beside.start_service("deadly", settings=saving | {"PENSTOCK_TIMELINE_FAILPOINTS": DEADLY})
        ledger = TimelineLedger(TablesWriter(kafka.bootstrap, prefix, SHARDS), SEED)
        join, service = DeadlyJoin(stack.supervisor, jobs, chance), DeadlyService(beside.supervisor, deadly)
        with ledger.written():
            die_again_and_again(ledger, join, service, chance)
        assert join.driver_deaths + join.worker_deaths + service.deaths >= ROUNDS
        assert "Lost task" in stack.supervisor.log(jobs.name).read_text(), "no worker died at its work"
        beside.supervisor.kill(deadly.name)
        (survivor,) = stack.start_service("survivor", settings=saving)
        yield Drill(stack, ledger, jobs, survivor)


def die_again_and_again(
    ledger: TimelineLedger, join: DeadlyJoin, service: DeadlyService, chance: random.Random
) -> None:
    kill = {"worker": join.kill_worker, "service": service.kill, "driver": join.kill_driver}
    victims = [victim for victim, share in VICTIMS.items() for _ in range(ROUNDS * share // 20)]
    chance.shuffle(victims)
    for victim in victims:
        ledger.grows(by=chance.randrange(30, 300))
        kill[victim]()
        service.revive()
    join.is_back()


def test_no_entry_is_lost_doubled_stale_or_a_ghost(drill: Drill) -> None:
    drill.check(drill.service)
    audited = drill.stack.audit(drill.service.address)
    assert (audited.code, audited.report.get("differences")) == (0, 0), (audited.report, audited.errors[-3000:])
    deliveries = list(drill.stack.deliveries())
    spreads = [spread for one in deliveries for author in one.authors for spread in author.spread]
    assert {spread.outbox for spread in spreads} == {True, False}
    assert any(one.refilled for one in deliveries)


def test_all_ways_to_the_same_timelines_give_the_same_bits(drill: Drill) -> None:
    drill.check(drill.service)
    stack, name = drill.stack, drill.service.name
    from_snapshot_and_log = content_hash([drill.service])
    assert stack.supervisor.end(name) == 0
    stack.supervisor.restart(name)
    assert "timelines are loaded: 0 deliveries were applied" in stack.supervisor.log(name).read_text()
    assert content_hash([drill.service]) == from_snapshot_and_log
    for replicas in (1, 2, 3):
        from_log = stack.start_service(f"of-{replicas}", replicas=replicas)
        settle(from_log)
        assert content_hash(from_log) == from_snapshot_and_log
        assert served(from_log[-1], drill.ledger.users, CAPACITY, None) == timelines(drill.ledger.changes, CAPACITY)


def test_so_do_other_numbers_of_partitions(drill: Drill, kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    """Fewer shards, fewer timeline partitions, all changes in another order and in few batches."""
    drill.check(drill.service)
    shipped = resources.files("penstock.topics").joinpath("topics.yaml").read_text(encoding="utf-8")
    shards, timeline_partitions = 3, 5
    deliveries = shipped.index("  timeline.deliveries.v1:")
    refills = shipped.index("  timeline.refills.v1:")
    topics = tmp_path / "topics.yaml"
    topics.write_text(
        shipped[:deliveries].replace("partitions: 8", f"partitions: {shards}")
        + shipped[deliveries:refills].replace("partitions: 8", f"partitions: {timeline_partitions}")
        + shipped[refills:].replace("partitions: 8", f"partitions: {shards}"),
        encoding="utf-8",
    )
    changes = drill.ledger.changes.copy()
    random.Random(SEED).shuffle(changes)
    with timeline_stack(
        kafka.bootstrap, topic_prefix, PIPELINE, tmp_path, {"PENSTOCK_TOPIC_MAP": str(topics)}
    ) as other:
        (service,) = other.start_service()
        writer = TablesWriter(kafka.bootstrap, topic_prefix, shards)
        for change in changes:
            writer.write(change)
        writer.flush()
        other.start_join(settings={"PENSTOCK_JOBS_RECORDS_MAX": "5000"})
        served(service, drill.ledger.users, CAPACITY, other.tables_token())
        settle([service])
        assert content_hash([service]) == content_hash([drill.service])


def test_a_join_that_was_replaced_is_not_believed(drill: Drill) -> None:
    """It stands still while another one takes its place with a new checkpoint, and then goes on."""
    stack, ledger = drill.stack, drill.ledger
    old = family(stack.supervisor.pid("jobs"))
    stand_still(old)
    successor = stack.start_join("successor")
    with ledger.written():
        until(lambda: batches(successor) > 1)
        go_on(old)
        until(lambda: any(is_outdated(stack.deliveries())))
    drill.check(drill.service)
    stand_still(new := family(stack.supervisor.pid("successor")))
    done = batches(drill.jobs)
    ledger.write(100)
    ledger.finish()
    until(lambda: batches(drill.jobs) > done)  # nobody is told
    with asking(drill.service) as reading, pytest.raises(NotYetVisibleError):
        reading.get(ledger.users[0], consistency=stack.tables_token(), timeout_s=3)
    go_on(new)
    drill.check(drill.service)


@pytest.mark.skipif(ROUNDS < MANY, reason=f"takes long: only where PENSTOCK_DRILL_ROUNDS is {MANY} or more")
def test_of_two_joins_with_one_checkpoint_the_first_ends(drill: Drill, kafka: Kafka, tmp_path: Path) -> None:
    """It stands still while the other one goes on from where it was; then it goes on too, and Spark notices."""
    stack, ledger, checkpoint = drill.stack, drill.ledger, {"PENSTOCK_JOBS_CHECKPOINTS": str(tmp_path / "checkpoint")}
    with timeline_stack(kafka.bootstrap, stack.prefix, PIPELINE, tmp_path) as beside:
        predecessor = beside.start_join("predecessor", checkpoint)
        with ledger.written():
            until(lambda: batches(predecessor) > 1)
            stand_still(old := family(beside.supervisor.pid("predecessor")))
            heir = stack.start_join("heir", checkpoint)
            until(lambda: batches(heir) > 1)
            go_on(old)
            with pytest.raises(ChildDiedError, match="CONCURRENT_STREAM_LOG_UPDATE"):
                beside.supervisor.wait(PATIENCE_S)
            stack.supervisor.kill("heir")  # what is on disk now, two have written
            stack.supervisor.restart("heir")
        drill.check(drill.service)


def stand_still(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        process.suspend()


def go_on(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        process.resume()


def is_outdated(deliveries: Iterable[Delivery]) -> Iterator[bool]:
    """Of each: a later life of the join has spoken before."""
    epochs: dict[tuple[int, int], int] = {}
    for one in deliveries:
        place = one.timeline_partition, one.shard
        yield one.epoch < epochs.setdefault(place, one.epoch)
        epochs[place] = max(one.epoch, epochs[place])
