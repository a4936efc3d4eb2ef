"""Events that change a table: the row that follows from one, as pipeline.yaml declares it."""

from __future__ import annotations

from penstock.enrichment.transactor import Output
from penstock.events.v1.event_pb2 import Event, Position, RowVersion
from penstock.events.v1.raw_batch_pb2 import RawBatchView
from penstock.pipeline import Pipeline, row_key
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.topics import TopicMap, murmur2_partition


class RowWriter:
    def __init__(self, pipeline: Pipeline, topics: TopicMap) -> None:
        self._changes = {
            kind: (declared.table, op)
            for kind, event_type in pipeline.event_types.items()
            for declared, op in ((event_type.upserts, Op.OP_UPSERT), (event_type.deletes, Op.OP_DELETE))
            if declared is not None
        }
        self._tables = pipeline.tables
        self._columns = {name: pipeline.columns_of(name) for name in pipeline.tables}
        self._topics = {
            name: (topics.kafka_name(topic), topics[topic].partitions) for name, topic in topics.tables.items()
        }

    def change(self, event: Event, batch: RawBatchView, valid_from_us: int, source: Position) -> Output | None:
        """The change as a record of its table's topic, in the partition where the rows that it joins with are."""
        declared = self._changes.get(event.type)
        if declared is None:
            return None
        name, op = declared
        table, value = self._tables[name], event.attributes.get
        key = row_key([value(part, "") for part in table.key])
        change = RowChange(
            table=name,
            key=key,
            op=op,
            version=RowVersion(valid_from_us=valid_from_us, position=_position(event, batch)),
            source=source,
        )
        if op == Op.OP_UPSERT:
            columns = self._columns[name]
            for column in event.attributes if columns is None else columns:
                if value(column):
                    change.columns[column] = event.attributes[column]
        topic, partitions = self._topics[name]
        subject = key if table.partitioned_by is None else value(table.partitioned_by, "")
        partition = murmur2_partition(subject.encode(), partitions)
        return Output(topic, key.encode(), change.SerializeToString(deterministic=True), partition)


def _position(event: Event, batch: RawBatchView) -> bytes:
    """The event's identity as bytes: breaks ties between events of one microsecond, the same way in every replay."""
    boot_id = event.boot_id or batch.boot_id
    last = event.seq.to_bytes(8, "big") if event.seq else event.id.encode()
    return b"\0".join((batch.device_id.encode(), boot_id.encode(), last))
