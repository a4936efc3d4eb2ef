"""`penstock audit`: hands over to penstock-jobs, which has Spark; the client alone is small."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from penstock.client.cli import screen
from penstock.client.cli.faults import check_reachable, one_sentence
from penstock.client.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_TIMELINE_SERVER,
    AsJson,
    Bootstrap,
    PipelineFile,
    Prefix,
    TimelineServer,
)

_NOT_MADE = 2


def audit(
    server: TimelineServer = DEFAULT_TIMELINE_SERVER,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    prefix: Prefix = "",
    pipeline: PipelineFile = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often users that differ are compared.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Recompute every timeline from the tables' logs, and compare it with what the service serves.

    A batch job of Spark on this machine; it needs the package penstock-jobs and Java. Exit code 0: no differences,
    1: some, the first of which are shown, 2: the audit could not be made.

    Example:

        penstock audit --bootstrap kafka:9092 --server timeline:7072
    """
    if find_spec("penstock.jobs") is None:
        screen.fail("the audit needs Spark: install the package penstock-jobs beside this one", _NOT_MADE)
    with one_sentence(exit_code=_NOT_MADE):
        check_reachable(server, "the timeline service", "Is it running, and is --server right?")
        raise typer.Exit(_run(server, bootstrap, prefix, pipeline, rounds, as_json=as_json))


def _run(server: str, bootstrap: str, prefix: str, pipeline: Path | None, rounds: int, *, as_json: bool) -> int:
    settings = {"PENSTOCK_BOOTSTRAP": bootstrap, "PENSTOCK_TOPIC_PREFIX": prefix}
    if pipeline is not None:
        settings["PENSTOCK_PIPELINE"] = str(pipeline)
    command = [sys.executable, "-m", "penstock.jobs", "audit", "--server", server, "--rounds", str(rounds)]
    return subprocess.run(
        [*command, *(["--json"] if as_json else [])], env=os.environ | settings, check=False
    ).returncode
