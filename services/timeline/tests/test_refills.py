from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.refills import RARER_MAX, Desk, Told


@dataclass(frozen=True)
class Gap:
    """As the store's Refill."""

    reader: int
    request: int = 1
    records: tuple[tuple[int, bytes], ...] = ((0, b"r0"), (3, b"r3"))


@dataclass
class Kafka:
    """Takes so many records."""

    room: int = 10**9
    sent: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)

    def send(self, shard: int, key: bytes, message: bytes, told: Told) -> None:
        if len(self.sent) >= self.room:
            raise BufferError
        self.sent.append((shard, key, message))
        self.told.append(told)


def test_a_gap_is_asked_for_once_each_record_to_its_shard() -> None:
    kafka = Kafka()
    desk = Desk(kafka.send, 10, 30)
    for now in (0.0, 1.0, 29.0):
        desk.look(2, [Gap(7)], now)
    assert kafka.sent == [(0, b"7", b"r0"), (3, b"7", b"r3")]
    assert (desk.counts.asked, desk.outstanding) == (1, 1)
    assert desk.waits(2)
    desk.look(2, [], 30.0)
    assert (desk.counts.answered, desk.outstanding, desk.waits(2)) == (1, 0, False)


def test_no_more_than_a_number_of_them_at_a_time_and_the_others_after_them() -> None:
    kafka = Kafka()
    desk = Desk(kafka.send, 2, 30)
    desk.look(0, [Gap(1), Gap(2), Gap(3)], 0)
    desk.look(1, [Gap(4)], 0)
    assert {key for _, key, _ in kafka.sent} == {b"1", b"2"}
    desk.look(0, [Gap(2), Gap(3)], 1)
    assert {key for _, key, _ in kafka.sent} == {b"1", b"2", b"3"}


def test_it_is_asked_again_and_then_rarer() -> None:
    kafka = Kafka()
    desk = Desk(kafka.send, 10, 1)
    asked_at = []
    for tick in range(200):
        before = len(kafka.sent)
        desk.look(0, [Gap(1)], tick)
        if len(kafka.sent) > before:
            asked_at.append(tick)
    pauses = [later - earlier for earlier, later in pairwise(asked_at)]
    assert pauses[:5] == [1, 2, 4, 8, 16]
    assert set(pauses[5:]) == {RARER_MAX}
    assert desk.counts.again == len(asked_at) - 1


def test_a_record_that_kafka_did_not_take_is_sent_again_soon() -> None:
    kafka = Kafka()
    desk = Desk(kafka.send, 10, 1000)
    desk.look(0, [Gap(1)], 0)
    kafka.told[0](True)
    kafka.told[1](False)
    desk.look(0, [Gap(1)], 0.5)
    assert len(kafka.sent) == 2
    desk.look(0, [Gap(1)], 2)
    assert len(kafka.sent) == 4
    assert desk.counts.failed == 1


def test_a_record_that_failed_after_the_answer_came_changes_nothing() -> None:
    kafka = Kafka()
    desk = Desk(kafka.send, 10, 1000)
    desk.look(0, [Gap(1)], 0)
    desk.look(0, [], 1)
    kafka.told[0](False)
    desk.look(0, [], 2)
    assert desk.outstanding == 0


def test_a_producer_that_is_full_is_tried_again() -> None:
    kafka = Kafka(room=3)
    desk = Desk(kafka.send, 10, 1000)
    desk.look(0, [Gap(1), Gap(2), Gap(3)], 0)
    assert (len(kafka.sent), desk.outstanding) == (3, 1)
    kafka.room = 100
    desk.look(0, [Gap(1), Gap(2), Gap(3)], 1)
    assert [key for _, key, _ in kafka.sent] == [b"1", b"1", b"2", b"2", b"2", b"3", b"3"]


@given(
    st.lists(st.tuples(st.integers(0, 1), st.sets(st.integers(0, 5)), st.integers(0, 40)), max_size=60),
    st.integers(1, 4),
)
def test_the_limit_holds_and_nobody_is_forgotten(looks: list[tuple[int, set[int], int]], most: int) -> None:
    kafka = Kafka()
    desk = Desk(kafka.send, most, 5)
    now = 0
    for partition, readers, pause in looks:
        now += pause
        desk.look(partition, [Gap(reader) for reader in sorted(readers)], now)
        assert desk.outstanding <= most
    for partition in (0, 1):
        desk.look(partition, [], now)
    assert desk.outstanding == 0
    desk.look(0, [Gap(9)], now)
    assert kafka.sent[-1][1] == b"9"
    assert desk.counts.asked == desk.counts.answered + 1
