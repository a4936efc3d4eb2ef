"""Events that change a table: the row that follows from one, as pipeline.yaml declares it."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from penstock.enrichment.join.encoding import sized, tag, varint
from penstock.enrichment.steps import Output
from penstock.events.v1.event_pb2 import Event, RowVersion
from penstock.pipeline import Pipeline, row_key
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.topics import TopicMap, murmur2_partition

_KEY: Final = tag(RowChange.KEY_FIELD_NUMBER, sized=True)
_COLUMNS: Final = tag(RowChange.COLUMNS_FIELD_NUMBER, sized=True)
_VERSION: Final = tag(RowChange.VERSION_FIELD_NUMBER, sized=True)
_SOURCE: Final = tag(RowChange.SOURCE_FIELD_NUMBER, sized=True)
_BOUND: Final = tag(RowChange.ERROR_BOUND_US_FIELD_NUMBER, sized=False)
_VALID_FROM: Final = tag(RowVersion.VALID_FROM_US_FIELD_NUMBER, sized=False)
_POSITION: Final = tag(RowVersion.POSITION_FIELD_NUMBER, sized=True)
# A map's entry is a message of two fields.
_ENTRY_NAME, _ENTRY_VALUE = tag(1, sized=True), tag(2, sized=True)

_tuple: Final = tuple.__new__  # a NamedTuple's own constructor takes three times as long
# Authors who write now wrote a moment ago.
_partition: Final = lru_cache(maxsize=100_000)(murmur2_partition)


class RowShape(NamedTuple):
    """What an event type does to a table. `columns` are sorted, as a map's entries are in protobuf's fixed order."""

    head: bytes
    key: tuple[str, ...]
    columns: tuple[tuple[str, bytes], ...]
    partitioned_by: str | None
    topic: str
    partitions: int


class RowWriter:
    def __init__(self, pipeline: Pipeline, topics: TopicMap) -> None:
        self.shapes = {
            kind: _shape(pipeline, topics, declared.table, op)
            for kind, event_type in pipeline.event_types.items()
            for declared, op in ((event_type.upserts, Op.OP_UPSERT), (event_type.deletes, Op.OP_DELETE))
            if declared is not None
        }

    def __contains__(self, kind: str) -> bool:
        """Whether events of this type change a table."""
        return kind in self.shapes

    def change(self, event: Event, valid_from_us: int, bound_us: int | None, position: bytes, source: bytes) -> Output:
        """The change as a record of its table's topic, in the partition where the rows that it joins with are.

        `bound_us` is that of valid_from_us, `position` from position_of, `source` an encoded Position.
        """
        shape = self.shapes[event.type]
        value = event.attributes.get
        key = row_key([value(part, "") for part in shape.key])
        key_bytes = key.encode()
        version = b"".join((_VALID_FROM, varint(valid_from_us), _POSITION, varint(len(position)), position))
        parts = [shape.head, varint(len(key_bytes)), key_bytes]
        for name, entry_name in shape.columns:
            if content := value(name):
                content_bytes = content.encode()
                size = varint(len(content_bytes))
                parts += (
                    _COLUMNS,
                    varint(len(entry_name) + len(size) + len(content_bytes)),
                    entry_name,
                    size,
                    content_bytes,
                )
        parts += (_VERSION, varint(len(version)), version, _SOURCE, varint(len(source)), source)
        if bound_us is not None:
            parts += (_BOUND, varint(bound_us))
        subject = key_bytes if shape.partitioned_by is None else value(shape.partitioned_by, "").encode()
        return _tuple(Output, (shape.topic, key_bytes, b"".join(parts), _partition(subject, shape.partitions)))


def _shape(pipeline: Pipeline, topics: TopicMap, name: str, op: Op.ValueType) -> RowShape:
    table, topic, columns = pipeline.tables[name], topics.tables[name], pipeline.columns_of(name)
    assert columns is not None, "a table of events has the columns that its events have"
    return RowShape(
        RowChange(table=name, op=op).SerializeToString() + _KEY,
        table.key,
        tuple((one, _entry_name(one)) for one in sorted(columns)) if op == Op.OP_UPSERT else (),
        table.partitioned_by,
        topics.kafka_name(topic),
        topics[topic].partitions,
    )


def _entry_name(name: str) -> bytes:
    """The first field of a map's entry, and what stands before the second one's size."""
    return sized(_ENTRY_NAME, name.encode()) + _ENTRY_VALUE


def position_of(device_id: str, boot_id: str, event: Event) -> bytes:
    """The event's identity as bytes: breaks ties between events of one microsecond, the same way in every replay."""
    last = event.seq.to_bytes(8, "big") if event.seq else event.id.encode()
    return b"\0".join((device_id.encode(), boot_id.encode(), last))
