"""How long the embedded broker takes to start, and what each measure saves.

    .venv/bin/python benchmarks/kafka_start.py [--download]

Seconds from the call to a broker that is ready for clients (see penstock.embedded.readiness), and CPU seconds
of the broker from start to stop, which a busy machine changes less. Medians of five rounds in which the
variants take turns; what happens once per machine is measured once. `--download` also fetches the jars into
an empty cache, which needs the network. The last line is one JSON object.
"""

import argparse
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from penstock.embedded.broker import describe
from penstock.embedded.cache import quiet
from penstock.embedded.jars import ensure
from penstock.embedded.java import find_java
from penstock.embedded.jvm import Jvm
from penstock.embedded.kafka import HEAP_MB, start_kafka
from penstock.embedded.supervisor import Supervisor
from penstock.embedded.warmup import Warmup, prepare

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--download", action="store_true")
    options = parser.parse_args()
    java = find_java()
    jvm = Jvm(java, tuple(ensure("kafka", java, progress=print)))
    figures = once(jvm, download=options.download)
    warmup = prepare(jvm, print)
    rounds = [{**flags(jvm, warmup), **life()} for _ in range(ROUNDS)]
    figures |= {name: statistics.median(measured[name] for measured in rounds) for name in rounds[0]}
    for name, seconds in figures.items():
        print(f"{name:36} {seconds:6.2f} s")
    print(json.dumps({name: round(seconds, 2) for name, seconds in figures.items()}))


def once(jvm: Jvm, *, download: bool) -> dict[str, float]:
    """What the first start on a machine costs on top."""
    figures = {}
    with tempfile.TemporaryDirectory() as cache:
        if download:
            figures["download_jars_s"] = timed(lambda: ensure("kafka", jvm.java, cache=Path(cache)))
        figures["prepare_once_s"] = timed(lambda: prepare(jvm, quiet, Path(cache)))
    return figures


def flags(jvm: Jvm, warmup: Warmup) -> dict[str, float]:
    """A broker on new storage, with more and more of our flags."""
    optimising = jvm.tuned(HEAP_MB, for_load=True)
    archive = f"-XX:SharedArchiveFile={warmup.archive}"
    variants = {
        "java_defaults": replace(jvm, flags=()),
        "small_c2": optimising,
        "small_c1": jvm,
        "small_c2_archive": optimising.with_flags(archive),
        "small_c1_archive": jvm.with_flags(archive),
    }
    figures = {}
    for name, variant in variants.items():
        cpu_before = children_cpu_s()
        figures[f"{name}_s"] = start(variant, warmup)
        figures[f"{name}_cpu_s"] = children_cpu_s() - cpu_before
    return figures


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def start(jvm: Jvm, warmup: Warmup) -> float:
    with tempfile.TemporaryDirectory() as state, Supervisor(Path(state)) as supervisor:
        child, _ = describe(supervisor.state, "kafka", jvm, warmup.checkpoint, {})
        return timed(lambda: supervisor.start(child))


def life() -> dict[str, float]:
    """What a user of `start_kafka` waits for."""
    with tempfile.TemporaryDirectory() as state, Supervisor(Path(state)) as supervisor:
        figures = {"start_s": timed(lambda: start_kafka(supervisor))}
        figures["restart_s"] = timed(lambda: supervisor.restart("kafka"))
        supervisor.kill("kafka")
        figures["restart_after_kill_s"] = timed(lambda: supervisor.restart("kafka"))
        figures["stop_s"] = timed(supervisor.stop)
        return figures


if __name__ == "__main__":
    main()
