"""Our Spark jobs as a child: one application in local mode, ready when its queries run.

In:  a supervisor, the address of a Kafka, the names of jobs. Out: where its metrics are.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.error import URLError
from urllib.request import urlopen

from penstock.embedded import jars
from penstock.embedded.cache import Progress, quiet
from penstock.embedded.child import Child, Probe
from penstock.embedded.java import find_java
from penstock.embedded.ports import free_ports
from penstock.embedded.supervisor import Supervisor

ASK_TIMEOUT_S = 1.0
JARS = "spark-kafka"
_RUNNING = "penstock_jobs_query_running"


@dataclass(frozen=True)
class Jobs:
    """`metrics` is a URL on loopback."""

    name: str
    metrics: str


def prepare_jobs(progress: Progress = quiet) -> None:
    """What takes long, once per machine."""
    jars.ensure(JARS, find_java(), progress=progress)


def start_jobs(
    supervisor: Supervisor,
    bootstrap: str,
    jobs: Sequence[str] = ("timelines",),
    *,
    name: str = "jobs",
    environment: Mapping[str, str] | None = None,
) -> Jobs:
    """Starts the application and returns when every query runs; `environment` wins over ours."""
    java = find_java()
    (port,) = free_ports(1)
    metrics = f"127.0.0.1:{port}"
    settings = {
        "PENSTOCK_BOOTSTRAP": bootstrap,
        "PENSTOCK_JOBS_METRICS_LISTEN": metrics,
        "PENSTOCK_JOBS_TOPICS": "create",
        "PENSTOCK_JOBS_CHECKPOINTS": str(supervisor.state / name / "checkpoints"),
        "PENSTOCK_JOBS_JARS": ",".join(map(str, jars.ensure(JARS, java, progress=supervisor.progress))),
        "JAVA_HOME": str(java.home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        **(environment or {}),
    }
    url = f"http://{metrics}/metrics"
    command = (sys.executable, "-m", "penstock.jobs", "run", *jobs)
    supervisor.start(Child(name, command, ready=running(url, jobs), environment=settings, stop_grace_s=60))
    return Jobs(name, url)


def running(url: str, jobs: Sequence[str]) -> Probe:
    """Asks the metrics whether every query runs."""

    def probe() -> str | None:
        try:
            with urlopen(url, timeout=ASK_TIMEOUT_S) as answer:
                lines = answer.read().decode().splitlines()
        except (URLError, OSError) as error:
            return f"metrics on {url}: {error}"
        waiting = [job for job in jobs if f'{_RUNNING}{{query="{job}"}} 1.0' not in lines]
        return f"not running yet: {', '.join(waiting)}" if waiting else None

    return probe
