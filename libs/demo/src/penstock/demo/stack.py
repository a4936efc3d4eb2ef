"""The real thing: Kafka, PostgreSQL, Debezium, ingestion and enrichment, as children of this process.

In:  a supervisor, and the profiles that the database begins with.
Out: addresses that answer, lines of progress, and a truth that begins with those profiles, in enrichment's table.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import grpc
from penstock.demo.database import NAME, SETTINGS, make_profiles
from penstock.demo.joins import TABLE
from penstock.demo.lookups import Lookups
from penstock.demo.profiles import Profile
from penstock.demo.progress import Starts, Write
from penstock.demo.truth import Truth, Valid
from penstock.embedded.cache import Progress
from penstock.embedded.connect import prepare_connect, start_connect
from penstock.embedded.connectors import Connect
from penstock.embedded.debezium import Cdc
from penstock.embedded.errors import ChildError, EmbeddedError, StopRequestedError
from penstock.embedded.kafka import prepare_kafka, start_kafka
from penstock.embedded.postgres import Postgres, start_postgres
from penstock.embedded.services import Service, start_enrichment, start_ingestion
from penstock.embedded.supervisor import Supervisor

FILLED_WITHIN_S = 120.0
_ASK_EVERY_S = 0.1
# When it is asked to end, nothing is left to do.
_ENRICHMENT = {"PENSTOCK_ENRICHMENT_DRAIN_GRACE_S": "5"}


@dataclass(frozen=True)
class Stack:
    bootstrap: str
    ingestion: Service
    enrichment: Service
    postgres: Postgres


class TableNotFilledError(EmbeddedError):
    """Change data capture did not bring the rows that the database began with."""


def prepare(progress: Progress) -> None:
    """What takes long, once per machine. To be called before signals are caught, so that Ctrl-C ends a download."""
    prepare_kafka(progress)
    prepare_connect(progress)


def start(supervisor: Supervisor, rows: Sequence[Profile], truth: Truth, write: Write) -> Stack:
    """Returns when all of it answers, and enrichment's table holds these rows."""
    with Starts(write) as starts:
        starts.announce("Kafka", "PostgreSQL")
        kafka = starts.begin("Kafka", lambda: start_kafka(supervisor), lambda kafka: f"answers on {kafka.bootstrap}")
        postgres = starts.begin("PostgreSQL", lambda: _start_postgres(supervisor, rows), _where)
        bootstrap = kafka.result().bootstrap
        starts.announce("Debezium", "ingestion", "enrichment")
        debezium = starts.begin(
            "Debezium", lambda: _capture(supervisor, bootstrap, postgres.result()), lambda _: f"follows {NAME}"
        )
        ingestion = starts.begin("ingestion", lambda: start_ingestion(supervisor, bootstrap), _serves)
        debezium.result()  # enrichment would look for a topic that is not there yet again only after seconds
        enrichment = starts.begin(
            "enrichment", lambda: start_enrichment(supervisor, bootstrap, environment=_ENRICHMENT), _serves
        )
        stack = Stack(bootstrap, ingestion.result(), enrichment.result(), postgres.result())
        filled = starts.begin(
            "enrichment", lambda: _fill(supervisor, stack, rows, truth), lambda count: f"has {count:,} {TABLE}"
        )
        filled.result()
    return stack


def _start_postgres(supervisor: Supervisor, rows: Sequence[Profile]) -> Postgres:
    postgres = start_postgres(supervisor, settings=SETTINGS)
    make_profiles(postgres, rows)
    return postgres


def _capture(supervisor: Supervisor, bootstrap: str, postgres: Postgres) -> Connect:
    cdc = Cdc(tables=(NAME,))
    return start_connect(supervisor, bootstrap, {cdc.name: cdc.configuration(postgres)}, name="debezium")


def _fill(supervisor: Supervisor, stack: Stack, rows: Sequence[Profile], truth: Truth) -> int:
    """The truth begins with these rows, each since the time that enrichment states."""
    deadline = time.monotonic() + FILLED_WITHIN_S
    with Lookups(stack.enrichment.address, TABLE) as lookups:
        while (versions := _versions(lookups, rows)) is None:
            if supervisor.wait(_ASK_EVERY_S):
                raise StopRequestedError("stopped while starting, as requested")
            if time.monotonic() > deadline:
                raise TableNotFilledError(
                    f"the table {TABLE} does not have the {len(rows):,} rows of the database after"
                    f" {FILLED_WITHIN_S:.0f} s: is this machine too busy? Try again with fewer DEVICES"
                )
    for row in rows:
        truth.begin_with(row.user, row.columns, versions[row.user].since_us)
    return len(versions)


def _versions(lookups: Lookups, rows: Sequence[Profile]) -> dict[str, Valid] | None:
    """None: they have not all come yet."""
    try:
        return lookups.newest(row.user for row in rows) if lookups.rows() >= len(rows) else None
    except grpc.RpcError:
        return None  # whether it still lives, the supervisor knows


def _where(postgres: Postgres) -> str:
    return f"answers on {postgres.host}:{postgres.port}"


def _serves(service: Service) -> str:
    return f"answers on {service.address}"


@contextmanager
def state_folder() -> Iterator[Path]:
    """A folder that is gone afterwards; where a child has failed, its logs stay to be read."""
    folder = Path(mkdtemp(prefix="penstock-demo-"))
    try:
        yield folder
    except ChildError:
        for path in folder.iterdir():
            if path.name != "logs":
                rmtree(path) if path.is_dir() else path.unlink()
        raise
    except BaseException:
        rmtree(folder)
        raise
    rmtree(folder)
