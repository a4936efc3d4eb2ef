"""What became of an event.

A `Pending` stands for an event from `publish` until its batch is settled: acknowledged (the
event accepted, a duplicate or refused) or given up (an error). A `Receipt` is the
acknowledgement as a value, made when somebody asks: most are never asked for.
Pure; how to wait is added by the publisher for threads and by the one for asyncio.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from penstock.client.batch import Answer, Batch
from penstock.client.errors import PenstockError
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_DUPLICATE, REFUSAL_REASON_UNSPECIFIED, RefusalReason

_REASON_PREFIX = "REFUSAL_REASON_"


class Status(Enum):
    """What the server said about an event."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    """Accepted by an earlier attempt whose answer was lost."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The server's answer about one event, which (device_id, boot_id, seq) identifies."""

    device_id: str
    boot_id: str
    seq: int
    status: Status
    consistency: ConsistencyToken | None = None
    """Carry this in a read to see the event. Absent if the answering request wrote nothing."""
    reason: RefusalReason.ValueType = REFUSAL_REASON_UNSPECIFIED
    detail: str = ""
    """Why it was refused, for people."""

    @property
    def delivered(self) -> bool:
        """The event is in the log."""
        return self.status is not Status.REFUSED

    @property
    def reason_name(self) -> str:
        """For example UNKNOWN_TYPE."""
        return reason_name(self.reason)


def reason_name(reason: RefusalReason.ValueType) -> str:
    """For example UNKNOWN_TYPE; of a version that is not known here, its number."""
    known = reason in RefusalReason.values()
    return RefusalReason.Name(reason).removeprefix(_REASON_PREFIX) if known else f"reason {reason}"


def receipt_of(answer: Answer, index: int, seq: int) -> Receipt:
    """The receipt of one event of a batch."""
    refusal = answer.refusals.get(index)
    if refusal is None:
        return Receipt(answer.device_id, answer.boot_id, seq, Status.ACCEPTED, answer.consistency)
    status = Status.DUPLICATE if refusal.reason == REFUSAL_REASON_DUPLICATE else Status.REFUSED
    return Receipt(answer.device_id, answer.boot_id, seq, status, answer.consistency, refusal.reason, refusal.detail)


def refused_receipts(batch: Batch) -> list[Receipt]:
    """The receipts of a batch's refused events; duplicates are not refused."""
    answer = batch.settlement
    if not isinstance(answer, Answer):
        return []
    receipts = (receipt_of(answer, index, batch.first_seq + index) for index in sorted(answer.refusals))
    return [receipt for receipt in receipts if receipt.status is Status.REFUSED]


class Pending:
    """An event that is under way."""

    __slots__ = ("_batch", "seq")

    def __init__(self, batch: Batch, seq: int) -> None:
        self._batch = batch
        self.seq = seq

    def done(self) -> bool:
        """Settled: there is a receipt, or an error instead."""
        return self._batch.settlement is not None

    def _settled(self) -> Receipt:
        """The receipt; raises why there is none. Only when done."""
        settlement = self._batch.settlement
        if isinstance(settlement, PenstockError):
            raise settlement
        if settlement is None:
            raise RuntimeError(f"event {self.seq} is still under way")
        return receipt_of(settlement, self.seq - self._batch.first_seq, self.seq)
