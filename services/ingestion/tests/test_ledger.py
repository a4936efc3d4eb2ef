from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.events.v1.event_pb2 import Event
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.ingestion.gate import Gate
from penstock.ingestion.ledger import Ledger, Verdict
from penstock.ingestion.recent import Recent


@pytest.fixture
def ledger(gate: Gate) -> Ledger:
    return Ledger(gate, Recent(100))


def judge(gate: Gate, ledger: Ledger, *events: Event) -> Verdict:
    raw = PublishRequest(device_id="d", boot_id="b", events=events).SerializeToString()
    return ledger.judge(raw, gate.inspect(raw))


def post(seq: int = 0, *, id: str = "", boot_id: str = "", type: str = "post.created") -> Event:
    return Event(type=type, seq=seq, id=id, boot_id=boot_id, attributes={"author": "a", "post_id": "p"})


def refused(verdict: Verdict) -> list[int]:
    return [refusal.index for refusal in verdict.refusals]


def test_a_new_run_is_accepted_whole_and_refused_whole_the_second_time(gate: Gate, ledger: Ledger) -> None:
    events = [post(seq) for seq in range(1, 6)]
    first = judge(gate, ledger, *events)
    assert (first.accepted, refused(first), first.newest_row) == (5, [], 4)
    ledger.accepted(first)
    second = judge(gate, ledger, *events)
    assert (second.accepted, refused(second)) == (0, [0, 1, 2, 3, 4])
    assert second.refusals[0].detail == "already accepted: seq 1"


def test_what_kafka_did_not_confirm_is_no_duplicate(gate: Gate, ledger: Ledger) -> None:
    judge(gate, ledger, post(1))
    assert judge(gate, ledger, post(1)).accepted == 1


def test_a_batch_that_overlaps_keeps_its_new_events(gate: Gate, ledger: Ledger) -> None:
    ledger.accepted(judge(gate, ledger, post(1), post(2), post(3)))
    verdict = judge(gate, ledger, post(2), post(3), post(4), post(5))
    assert (verdict.accepted, refused(verdict), verdict.newest_row) == (2, [0, 1], 3)
    ledger.accepted(verdict)
    assert judge(gate, ledger, post(4), post(6)).accepted == 1


def test_one_identity_stands_once_in_a_batch(gate: Gate, ledger: Ledger) -> None:
    verdict = judge(gate, ledger, post(7), post(7), post(id="x"), post(id="x"))
    assert (verdict.accepted, refused(verdict)) == (2, [1, 3])
    ledger.accepted(verdict)
    assert judge(gate, ledger, post(id="x")).refusals[0].detail == "already accepted: id 'x'"


def test_numbers_of_another_boot_are_other_numbers(gate: Gate, ledger: Ledger) -> None:
    ledger.accepted(judge(gate, ledger, post(1), post(2)))
    verdict = judge(gate, ledger, post(1, boot_id="before"), post(3))
    assert (verdict.accepted, verdict.newest_row) == (2, 1)
    ledger.accepted(verdict)
    assert refused(judge(gate, ledger, post(1, boot_id="before"))) == [0]


def test_a_batch_that_was_overtaken_is_still_remembered(gate: Gate, ledger: Ledger) -> None:
    early, late = judge(gate, ledger, post(1), post(2)), judge(gate, ledger, post(3), post(4))
    ledger.accepted(late)
    ledger.accepted(early)
    assert refused(judge(gate, ledger, *(post(seq) for seq in range(1, 6)))) == [0, 1, 2, 3]


def test_accepted_events_are_counted_by_type(gate: Gate, ledger: Ledger) -> None:
    verdict = judge(gate, ledger, post(1), post(2, type="no.such"), post(3))
    counts = {gate.types[kind]: count for kind, count in enumerate(verdict.types) if count}
    assert counts == {"post.created": 2}
    assert verdict.refused_types == [-1]


@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 30), min_size=1, max_size=8), st.sampled_from(["", "other"]), st.booleans()),
        max_size=40,
    )
)
def test_any_interleaving_of_resends_takes_each_identity_once(
    gate: Gate, tries: list[tuple[list[int], str, bool]]
) -> None:
    """Batches come in any order, overlap, and are sent again; some are never confirmed by Kafka."""
    ledger, confirmed = Ledger(gate, Recent(100)), set[tuple[str, int]]()
    for numbers, boot_id, confirms in tries:
        verdict = judge(gate, ledger, *(post(number, boot_id=boot_id) for number in numbers))
        taken = {(boot_id, number) for index, number in enumerate(numbers) if index not in refused(verdict)}
        assert len(taken) == verdict.accepted, "one identity twice in a batch"
        assert not taken & confirmed, "an identity that Kafka holds was taken again"
        assert taken | confirmed >= {(boot_id, number) for number in numbers}, "an event was neither taken nor known"
        if confirms:
            ledger.accepted(verdict)
            confirmed |= taken
