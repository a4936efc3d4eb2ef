"""Kafka, PostgreSQL and Connect as one thing to write tests and demos with.

In:  tables, made by SQL.
Out: their changes on topics of this user alone: its own database, topic prefix, connectors and replication slots.
`close` takes back from the servers whatever they would keep; the topics stay, as in any Kafka.
"""

import uuid
from dataclasses import dataclass, field

from penstock.embedded.broker import Kafka
from penstock.embedded.connect import start_connect
from penstock.embedded.connectors import Connect
from penstock.embedded.debezium import Cdc
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.postgres import Postgres, create_database, drop_database, start_postgres
from penstock.embedded.supervisor import Supervisor


@dataclass(frozen=True)
class CdcServers:
    """The running parts, shared by as many as like."""

    kafka: Kafka
    postgres: Postgres
    connect: Connect


def start_cdc(supervisor: Supervisor, kafka: Kafka) -> CdcServers:
    """PostgreSQL and a Connect without connectors, beside a Kafka that runs."""
    topic_prefix = f"{uuid.uuid4().hex[:8]}-"  # another Connect may be on the same Kafka
    postgres = start_postgres(supervisor)
    return CdcServers(kafka, postgres, start_connect(supervisor, kafka.bootstrap, topic_prefix=topic_prefix))


@dataclass(frozen=True)
class Captures:
    kafka: Kafka
    postgres: Postgres
    connect: Connect
    topic_prefix: str
    _stem: str
    _captured: list[Cdc] = field(default_factory=list)

    def capture(
        self, *tables: str, partitions: int = 1, compact: bool = False, full_rows: bool = True, heartbeat_ms: int = 500
    ) -> Cdc:
        """Starts the connector for tables that exist (`public.profiles`); returns when it runs. One per database."""
        if self._captured:
            raise EmbeddedError(
                f"{self.postgres.database} is captured already: name all tables in one call of `capture`, since two"
                " connectors of one database would use the same topics"
            )
        cdc = Cdc(
            tables,
            topic_prefix=self.topic_prefix,
            name=self._stem,
            partitions=partitions,
            heartbeat_ms=heartbeat_ms,
            compact=compact,
            full_rows=full_rows,
        )
        self._captured.append(cdc)
        self.connect.add(cdc.name, cdc.configuration(self.postgres))
        return cdc

    def topic(self, table: str) -> str:
        """Where the changes of a captured table go."""
        return next(cdc for cdc in self._captured if table in cdc.tables).topic(self.postgres.database, table)

    def close(self) -> None:
        for cdc in self._captured:
            self.connect.remove(cdc.name)
        drop_database(self.postgres)


def open_captures(servers: CdcServers, topic_prefix: str) -> Captures:
    """A database of its own on shared servers."""
    stem = f"c{uuid.uuid4().hex[:12]}"
    create_database(servers.postgres, stem)
    return Captures(servers.kafka, servers.postgres.with_database(stem), servers.connect, topic_prefix, stem)
