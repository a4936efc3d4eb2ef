"""The dead letter of a record that was refused.

In:  the record, where it is, why it was refused, and when.
Out: a `RejectedChange` that fits its topic: what is too large is cut, and said to be.
"""

from __future__ import annotations

from typing import Final

from penstock.enrichment.intake.outcome import Position, Refusal
from penstock.events.v1.event_pb2 import Position as PositionMessage
from penstock.tables.v1.rejected_change_pb2 import RejectedChange

# A record of changes.rejected.v1 has at most 8 MiB; people read these.
VALUE_BYTES_MAX: Final = 1 << 20
KEY_BYTES_MAX: Final = 1 << 16


def rejected_change(
    table_name: str,
    source: Position,
    refusal: Refusal,
    key: bytes | None,
    value: bytes | None,
    rejected_us: int,
    *,
    value_bytes_max: int = VALUE_BYTES_MAX,
) -> RejectedChange:
    """The record's key must be `table_name`, as the map of topics says."""
    message = RejectedChange(
        table=table_name,
        source=PositionMessage(topic=source.topic, partition=source.partition, offset=source.offset),
        reason=refusal.reason,
        detail=refusal.detail,
        rejected_us=rejected_us,
    )
    if key is not None:
        message.key = key[:KEY_BYTES_MAX]
    if value is not None:
        message.value = value[:value_bytes_max]
        message.value_cut = len(value) > value_bytes_max
    return message
