from __future__ import annotations

import pytest
from penstock.client.batch import Answer, Batch
from penstock.client.errors import PublisherClosedError
from penstock.client.receipt import Pending, Receipt, Status, refused_receipts
from penstock.events.v1.event_pb2 import ConsistencyToken, Position
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_DUPLICATE, REFUSAL_REASON_UNKNOWN_TYPE
from penstock.ingest.v1.ingest_pb2 import Refusal

TOKEN = ConsistencyToken(positions=[Position(topic="t", partition=1, offset=2)])
UNKNOWN = Refusal(index=1, reason=REFUSAL_REASON_UNKNOWN_TYPE, detail="no")
DUPLICATE = Refusal(index=2, reason=REFUSAL_REASON_DUPLICATE)


@pytest.fixture
def batch() -> Batch:
    return Batch(first_seq=10, added_us=0, expires_us=0, count=3, body=b"much")


def test_receipts_are_found_by_number(batch: Batch) -> None:
    pending = [Pending(batch, seq) for seq in (10, 11, 12)]
    assert not pending[0].done()
    batch.settle(Answer("d", "b", TOKEN, {1: UNKNOWN, 2: DUPLICATE}))
    accepted, refused, duplicate = (p._settled() for p in pending)
    assert accepted == Receipt("d", "b", 10, Status.ACCEPTED, TOKEN)
    assert (refused.seq, refused.status, refused.delivered, refused.reason_name, refused.detail) == (
        11,
        Status.REFUSED,
        False,
        "UNKNOWN_TYPE",
        "no",
    )
    assert (duplicate.status, duplicate.delivered) == (Status.DUPLICATE, True)
    assert refused_receipts(batch) == [refused]


def test_error_is_raised(batch: Batch) -> None:
    batch.settle(PublisherClosedError("closed"))
    with pytest.raises(PublisherClosedError, match="closed"):
        Pending(batch, 10)._settled()
    assert refused_receipts(batch) == []


def test_settled_batch_keeps_no_bytes(batch: Batch) -> None:
    batch.settle(Answer("d", "b", None, {}))
    assert batch.body == b""


def test_reason_of_a_newer_server_has_a_name() -> None:
    assert Receipt("d", "b", 1, Status.REFUSED, reason=99).reason_name == "reason 99"  # type: ignore[arg-type]  # from the wire
