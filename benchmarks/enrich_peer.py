"""Quix Streams as a process beside ours: its environment, its topics, and the same events as it likes them best.

In:  the shapes of events, the table, and raw batches as ingestion wrote them.
Out: a contestant, and for each raw batch one JSON record per event, its time corrected already.
The environment is made on the first run, by uv, from enrich_quix.txt, and kept until that file changes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from enrich_data import SHAPES, Oracle, Shape
from enrich_log import Log, Record
from enrich_race import Contestant
from penstock.clock import batch_clock, correct_event
from penstock.embedded.child import Child
from penstock.events.v1.event_pb2 import ENRICHMENT_STATUS_MATCHED
from penstock.events.v1.raw_batch_pb2 import RawBatch
from stack import Stack, say

HERE = Path(__file__).parent
REQUIREMENTS = HERE / "enrich_quix.txt"
TOOLS = HERE.parent / ".tools"
GROUP = "quix"


def topic(name: str, part: str) -> str:
    """Of a shape: its events, the enriched ones, or the rows made from them."""
    return f"quix.{part}.{name}"


def environment() -> Path:
    """Its Python; installs it if need be."""
    digest = hashlib.sha256(REQUIREMENTS.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = TOOLS / f"quix-{digest}"
    python, done = folder / "bin" / "python", folder / "complete"
    if not done.exists():
        say(f"installing Quix Streams into .tools/{folder.name} (once)")
        run("venv", "--clear", "--python", sys.executable, str(folder))
        run("pip", "install", "--no-deps", "--python", str(python), "-r", str(REQUIREMENTS))
        done.touch()
    return python


def run(*arguments: str) -> None:
    ended = subprocess.run([str(TOOLS / "bin" / "uv"), *arguments], capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"uv could not install Quix Streams from {REQUIREMENTS.name}:\n{ended.stderr}")


def start(stack: Stack, log: Log, oracle: Oracle, commit_every: int) -> Contestant:
    python, state = environment(), stack.supervisor.state / "quix"
    state.mkdir()
    log.create(*(topic(name, part) for name in SHAPES for part in ("events", "enriched", "rows")))
    table = state / "table.json"
    table.write_text(json.dumps({key: list(versions_of(oracle, key)) for key in oracle.versions}))
    settings = state / "settings.json"
    settings.write_text(
        json.dumps(
            {
                "bootstrap": stack.bootstrap,
                "group": GROUP,
                "state": str(state / "state"),
                "commit_every": commit_every,
                "table": str(table),
                "streams": [stream(name, shape) for name, shape in SHAPES.items()],
            }
        )
    )
    stack.supervisor.start(Child("quix", (str(python), str(HERE / "enrich_quix.py"), str(settings))))
    return Contestant("quix", GROUP)


def versions_of(oracle: Oracle, key: str) -> Iterator[tuple[int, dict[str, str] | None]]:
    for row in oracle.versions[key]:
        yield row.valid_from_us, row.columns if row.status == ENRICHMENT_STATUS_MATCHED else None


def stream(name: str, shape: Shape) -> dict[str, object]:
    return {
        "source": topic(name, "events"),
        "enriched": topic(name, "enriched"),
        "on": shape.on,
        "columns": shape.columns,
        "rows": topic(name, "rows"),
        "row_key": shape.row_key,
        "row_columns": shape.row_columns,
    }


def records(shape: Shape, batches: Iterable[Record]) -> Iterator[Record]:
    """One for each event, flat: what Quix reads fastest."""
    for batch in batches:
        raw = RawBatch.FromString(batch.value)
        clock = batch_clock(raw.sent, raw.stamp)
        for event in raw.events:
            value = {
                "type": event.type,
                "device_id": raw.device_id,
                "boot_id": raw.boot_id,
                "seq": event.seq,
                "occurred_us": event.occurred.wall_us,
                "received_us": raw.stamp.received_us,
                "corrected_us": correct_event(event, clock, raw.boot_id).corrected_us,
                **event.attributes,
            }
            yield Record(event.attributes[shape.on].encode(), json.dumps(value, separators=(",", ":")).encode())
