"""Which tables are captured, and the settings of the Debezium connector that does it.

In:  a `Cdc`, written by people, and the database it is about.
Out: a connector configuration for Kafka Connect. Every change of a table goes to the topic
     `<topic_prefix>cdc.<database>.<table>`, as Debezium's plain JSON envelope (no schemas inside).
Guaranteed: each committed change arrives at least once, per key in the order of the commits, also if Connect or
     the database is killed in between. Duplicates have the same LSN. Not so during the first snapshot: one that was
     cut short is taken anew, with a greater LSN, and nothing tells of rows deleted between the two.
Pure: nothing is started or asked here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from penstock.embedded.postgres import Postgres

TABLE = re.compile(r"[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*")
NAME = re.compile(r"[a-z0-9_]{1,50}")

SETTINGS: Mapping[str, str] = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "tasks.max": "1",
    "plugin.name": "pgoutput",  # the decoder that PostgreSQL itself has
    "publication.autocreate.mode": "filtered",  # publishes our tables, not all tables
    "snapshot.mode": "initial",
    "tombstones.on.delete": "true",
    # An update leaves out large columns that it does not change, and so does the create that follows a change of the
    # key: Debezium then asks the table. It gets the row of now, not of then, and none if the row is gone or its key
    # has changed since; `full_rows` is exact and leaves this nothing to do.
    "post.processors": "reselect",
    "reselect.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
    "reselect.reselect.unavailable.values": "true",
    "reselect.reselect.null.values": "false",  # a null is a value
    # Values must explain themselves, since no schema comes with them: a bare number could be days, micro- or
    # nanoseconds, and a decimal as a JSON number would lose digits.
    "decimal.handling.mode": "string",
    "time.precision.mode": "isostring",
    "interval.handling.mode": "string",
    "hstore.handling.mode": "json",
    "binary.handling.mode": "base64",
    # After a crash the slot may seem in use, and the database may be away: look again soon. The defaults are 10 s.
    "slot.retry.delay.ms": "500",
    "slot.max.retries": "40",
    "retriable.restart.connector.wait.ms": "500",
    "poll.interval.ms": "50",
    "topic.creation.default.replication.factor": "-1",  # the broker's own
}

# A truncation is a record without a key, which Kafka refuses on a compacted topic; the task would fail for good.
WHOLE_LOG: Mapping[str, str] = {
    "skipped.operations": "none",
    "topic.creation.default.cleanup.policy": "delete",
    "topic.creation.default.retention.ms": "-1",  # a table is whole only with its oldest change
}
NEWEST_PER_KEY: Mapping[str, str] = {
    "skipped.operations": "t",
    "topic.creation.default.cleanup.policy": "compact",
}


@dataclass(frozen=True)
class Cdc:
    """What is captured. `name` is the connector's; its slot and publication are called the same."""

    tables: tuple[str, ...]  # schema.table
    topic_prefix: str = ""  # so that tests can own their topics
    name: str = "cdc"
    partitions: int = 1  # of each table's topic
    heartbeat_ms: int = 1000  # an idle database says so this often
    compact: bool = False  # topics keep the newest change per key, and truncations are not told
    full_rows: bool = True  # sets REPLICA IDENTITY FULL: every change has all columns, as they were
    settings: Mapping[str, str] = field(default_factory=dict)  # of the connector; they win over ours

    def __post_init__(self) -> None:
        if faults := list(self._faults()):
            raise ValueError(f"Cdc {self.name!r}: " + "; ".join(faults))

    def topic(self, database: str, table: str) -> str:
        """Where the changes of one table go; the schema is not part of the name."""
        return f"{self._server(database)}.{table.rpartition('.')[2]}"

    def heartbeat_topic(self, database: str) -> str:
        return f"{self._heartbeat_prefix}.{self._server(database)}"

    def configuration(self, postgres: Postgres) -> dict[str, str]:
        """For Kafka Connect."""
        kept = NEWEST_PER_KEY if self.compact else WHOLE_LOG
        identity = {"replica.identity.autoset.values": ",".join(f"{table}:FULL" for table in self.tables)}
        return {
            **SETTINGS,
            **kept,
            **(identity if self.full_rows else {}),
            **self._source(postgres),
            **self._topics(postgres.database),
            **self.settings,
        }

    def _source(self, postgres: Postgres) -> dict[str, str]:
        return {
            "database.hostname": postgres.host,
            "database.port": str(postgres.port),
            "database.user": postgres.user,
            "database.password": postgres.password,
            "database.dbname": postgres.database,
            "slot.name": self.name,
            "publication.name": self.name,
            "table.include.list": ",".join(map(re.escape, self.tables)),
            "heartbeat.interval.ms": str(self.heartbeat_ms),
        }

    def _topics(self, database: str) -> dict[str, str]:
        server = self._server(database)
        return {
            "topic.prefix": server,
            "topic.heartbeat.prefix": self._heartbeat_prefix,
            # Debezium puts the schema into the name; ours are `cdc.<database>.<table>`.
            "transforms": "unschema",
            "transforms.unschema.type": "org.apache.kafka.connect.transforms.RegexRouter",
            "transforms.unschema.regex": rf"({re.escape(server)})\.[^.]+\.([^.]+)",
            "transforms.unschema.replacement": "$1.$2",
            "topic.creation.default.partitions": str(self.partitions),
            "topic.creation.groups": "heartbeat",
            "topic.creation.heartbeat.include": re.escape(self.heartbeat_topic(database)),
            "topic.creation.heartbeat.partitions": "1",
        }

    @property
    def _heartbeat_prefix(self) -> str:
        return f"{self.topic_prefix}__debezium-heartbeat"

    def _server(self, database: str) -> str:
        return f"{self.topic_prefix}cdc.{database}"

    def _faults(self) -> Iterator[str]:
        if not self.tables:
            yield "it names no table"
        yield from (
            f"{table!r} is not schema.table in lower case" for table in self.tables if not TABLE.fullmatch(table)
        )
        names = [table.rpartition(".")[2] for table in self.tables]
        yield from (
            f"{name!r} is in two schemas, and both would go to one topic" for name in {*names} if names.count(name) > 1
        )
        if not NAME.fullmatch(self.name):
            yield "the name must be 1 to 50 of a-z, 0-9 and _, as for replication slots"
        if self.partitions < 1:
            yield f"{self.partitions} partitions are too few"
