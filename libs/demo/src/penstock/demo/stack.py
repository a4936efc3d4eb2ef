"""The real thing: Kafka, PostgreSQL, Debezium, our services and the Spark job, as children of this process.

In:  a supervisor, the profiles that the database begins with, and who follows whom.
Out: addresses that answer, lines of progress, and a truth that begins with those profiles, in enrichment's table.
Spark takes longest to start, so it is started as soon as there is a Kafka, and waited for last.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from penstock.client import PenstockError
from penstock.demo.beginning import publish_follows, write_settings
from penstock.demo.database import NAME, SETTINGS, make_profiles
from penstock.demo.filling import fill_table, fill_timelines
from penstock.demo.joins import TABLE
from penstock.demo.profiles import Profile
from penstock.demo.progress import Starts, Write
from penstock.demo.truth import Truth
from penstock.embedded.cache import Progress
from penstock.embedded.connect import prepare_connect, start_connect
from penstock.embedded.connectors import Connect
from penstock.embedded.debezium import Cdc
from penstock.embedded.errors import ChildError
from penstock.embedded.jobs import Jobs, prepare_jobs, start_jobs
from penstock.embedded.kafka import prepare_kafka, start_kafka
from penstock.embedded.postgres import Postgres, start_postgres
from penstock.embedded.services import Service, start_enrichment, start_ingestion, start_timeline
from penstock.embedded.supervisor import Supervisor

DEBEZIUM = "debezium"
# When they are asked to end, nothing is left to do.
_ENRICHMENT = {"PENSTOCK_ENRICHMENT_DRAIN_GRACE_S": "5"}
_TIMELINE = {"PENSTOCK_TIMELINE_DRAIN_GRACE_S": "2"}


@dataclass(frozen=True)
class Stack:
    """`environment`: what all parts of the pipeline share."""

    bootstrap: str
    ingestion: Service
    enrichment: Service
    timeline: Service
    jobs: Jobs
    postgres: Postgres
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Beginnings:
    """What is there before the first device: rows of the database, and whom everybody follows."""

    devices: int
    rows: Sequence[Profile]
    follows: Mapping[str, Sequence[str]]


def prepare(progress: Progress) -> None:
    """What takes long, once per machine. To be called before signals are caught, so that Ctrl-C ends a download."""
    prepare_kafka(progress)
    prepare_connect(progress)
    prepare_jobs(progress)


def start(supervisor: Supervisor, beginnings: Beginnings, truth: Truth, write: Write) -> Stack:
    """Returns when all of it answers, and enrichment's table holds the rows."""
    shared = write_settings(supervisor.state, beginnings.devices)
    with Starts(write) as starts:
        starts.announce("Kafka", "PostgreSQL")
        kafka = starts.begin("Kafka", lambda: start_kafka(supervisor), lambda kafka: f"answers on {kafka.bootstrap}")
        postgres = starts.begin("PostgreSQL", lambda: _start_postgres(supervisor, beginnings.rows), _where)
        bootstrap = kafka.result().bootstrap
        starts.announce("Spark", "Debezium", "ingestion", "enrichment", "timeline")
        jobs = starts.begin(
            "Spark", lambda: start_jobs(supervisor, bootstrap, environment=shared), lambda _: "joins posts with follows"
        )
        debezium = starts.begin(
            "Debezium", lambda: _capture(supervisor, bootstrap, postgres.result()), lambda _: f"follows {NAME}"
        )
        ingestion = starts.begin(
            "ingestion", lambda: start_ingestion(supervisor, bootstrap, environment=shared), _serves
        )
        timeline = starts.begin(
            "timeline",
            lambda: start_timeline(supervisor, bootstrap, environment=shared | _TIMELINE | _state(supervisor)),
            _serves,
        )
        society = starts.begin(
            "ingestion",
            lambda: _found_society(supervisor, ingestion.result(), beginnings.follows),
            lambda count: f"has taken {count:,} follows",
        )
        debezium.result()  # enrichment would look for a topic that is not there yet again only after seconds
        enrichment = starts.begin(
            "enrichment", lambda: start_enrichment(supervisor, bootstrap, environment=shared | _ENRICHMENT), _serves
        )
        filled = starts.begin(
            "enrichment",
            lambda: fill_table(supervisor, enrichment.result(), beginnings.rows, truth),
            lambda count: f"has {count:,} {TABLE}",
        )
        starts.wait_for(enrichment=filled, timeline=timeline, ingestion=society, Spark=jobs)
        starts.begin(
            "timeline",
            lambda: fill_timelines(supervisor, timeline.result(), beginnings.follows),
            lambda count: f"knows {count:,} users",
        ).result()
    return Stack(
        bootstrap,
        ingestion.result(),
        enrichment.result(),
        timeline.result(),
        jobs.result(),
        postgres.result(),
        shared,
    )


def _found_society(supervisor: Supervisor, ingestion: Service, follows: Mapping[str, Sequence[str]]) -> int:
    try:
        return publish_follows(ingestion.address, follows)
    except PenstockError:
        supervisor.check()  # a dead ingestion explains it better
        raise


def _state(supervisor: Supervisor) -> dict[str, str]:
    return {"PENSTOCK_TIMELINE_STATE_FOLDER": str(supervisor.state / "timeline")}


def _start_postgres(supervisor: Supervisor, rows: Sequence[Profile]) -> Postgres:
    postgres = start_postgres(supervisor, settings=SETTINGS)
    make_profiles(postgres, rows)
    return postgres


def _capture(supervisor: Supervisor, bootstrap: str, postgres: Postgres) -> Connect:
    cdc = Cdc(tables=(NAME,))
    return start_connect(supervisor, bootstrap, {cdc.name: cdc.configuration(postgres)}, name=DEBEZIUM)


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
