"""Why an event of the raw log is not taken, and the dead letter that says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from penstock.events.v1.raw_batch_pb2 import RawBatchView, RefusalReason, RejectedBatch, Rejection


class Unfit(NamedTuple):
    """For machines and for people."""

    reason: RefusalReason.ValueType
    detail: str

    @property
    def label(self) -> str:
        """The reason as a metric's label."""
        return RefusalReason.Name(self.reason).removeprefix("REFUSAL_REASON_").lower()


# Dropped; all others are set aside.
DUPLICATE: Final = Unfit(RefusalReason.REFUSAL_REASON_DUPLICATE, "taken before")
NOT_A_BATCH: Final = Unfit(RefusalReason.REFUSAL_REASON_MALFORMED, "not a RawBatch with a stamp of ingestion")
NOT_AN_EVENT: Final = Unfit(RefusalReason.REFUSAL_REASON_MALFORMED, "not an Event")
TOO_OLD: Final = Unfit(RefusalReason.REFUSAL_REASON_TOO_OLD, "too old to tell whether it was taken before")


def too_large(size: int, bytes_max: int) -> Unfit:
    said = f"{size} bytes with its enrichments, and a record may have {bytes_max}: join fewer columns"
    return Unfit(RefusalReason.REFUSAL_REASON_TOO_LARGE, said)


def unknown_type(name: str) -> Unfit:
    return Unfit(
        RefusalReason.REFUSAL_REASON_UNKNOWN_TYPE, f"type {name!r} is not declared in pipeline.yaml (any more)"
    )


def dead_letter(batch: RawBatchView | None, rejections: Iterable[Rejection]) -> RejectedBatch:
    """For events.rejected.v1. None: the batch itself could not be read."""
    letter = RejectedBatch(refused_by="enrichment", rejections=rejections)
    if batch is not None:
        letter.device_id, letter.boot_id = batch.device_id, batch.boot_id
        letter.received_us = batch.stamp.received_us
    return letter
