"""Our Spark jobs as a child: one application in local mode, ready when its queries run.

In:  a supervisor, the address of a Kafka, the names of jobs. Out: where its metrics are.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
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
    (port,) = free_ports(1)
    metrics = f"127.0.0.1:{port}"
    settings = {
        **_settings(bootstrap, supervisor.progress),
        "PENSTOCK_JOBS_METRICS_LISTEN": metrics,
        "PENSTOCK_JOBS_TOPICS": "create",
        "PENSTOCK_JOBS_CHECKPOINTS": str(supervisor.state / name / "checkpoints"),
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


@dataclass(frozen=True)
class Audited:
    """What `penstock-jobs audit` said: its exit code (0 no differences, 1 some, 2 no audit) and its JSON report."""

    code: int
    report: Mapping[str, Any]
    errors: str


def run_audit(
    bootstrap: str, server: str, *, environment: Mapping[str, str] | None = None, timeout_s: float = 600.0
) -> Audited:
    """Compares all timelines that `server` serves with the tables' logs; `environment` wins over ours."""
    child = audit_child(bootstrap, server, environment)
    settings = {**os.environ, **child.environment}
    done = subprocess.run(child.command, env=settings, capture_output=True, text=True, timeout=timeout_s, check=False)
    lines = done.stdout.strip().splitlines()
    return Audited(done.returncode, json.loads(lines[-1]) if lines else {}, done.stderr)


def audit_child(bootstrap: str, server: str, environment: Mapping[str, str] | None = None) -> Child:
    """The audit for a supervisor that is to `run` it: its report is a line of its log."""
    command = (sys.executable, "-m", "penstock.jobs", "audit", "--json", "--server", server)
    return Child("audit", command, environment={**_settings(bootstrap), **(environment or {})})


def _settings(bootstrap: str, progress: Progress = quiet) -> dict[str, str]:
    java = find_java()
    return {
        "PENSTOCK_BOOTSTRAP": bootstrap,
        "PENSTOCK_JOBS_JARS": ",".join(map(str, jars.ensure(JARS, java, progress=progress))),
        "JAVA_HOME": str(java.home),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
