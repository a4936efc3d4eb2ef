"""One process per core behind one port, and a parent that watches them and answers Prometheus.

The parent forks before any gRPC or Kafka object exists (both have threads, which do not survive a fork) and serves
nothing itself. A worker that dies ends the whole: the orchestrator restarts it, and clients resend. Workers notice
the parent's death by the end of a pipe, also after kill -9.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path
from wsgiref.simple_server import WSGIServer

import uvloop
from confluent_kafka import KafkaException
from penstock.ingestion.config import Config
from penstock.ingestion.gate import Gate
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.server import serve
from penstock.serving.address import reserve
from penstock.topics import TopicMap
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

logger = logging.getLogger(__name__)

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def run(config: Config, gate: Gate, topics: TopicMap, metrics_folder: Path) -> int:
    held, address = reserve(config.listen)
    reserve(config.metrics_listen)[0].close()  # taken by somebody else: say so before anything is started
    parent_lives, leash = os.pipe()
    count = config.workers or os.cpu_count() or 1
    workers = {fork(config, gate, topics, address, parent_lives, leash): number for number in range(count)}
    stopping = False

    def stop(*_: object) -> None:
        nonlocal stopping
        stopping = True
        tell(workers, signal.SIGTERM)

    for number in STOP_SIGNALS:
        signal.signal(number, stop)
    http, metrics_address = serve_metrics(config.metrics_listen, metrics_folder)
    logger.info("gRPC on %s, metrics on http://%s/metrics, %d worker(s)", address, metrics_address, count)
    failed = False
    while workers:
        pid, status = os.wait()
        worker = workers.pop(pid, None)
        if worker is None:
            continue  # as process 1 of a container we inherit strangers
        mark_process_dead(pid, str(metrics_folder))  # type: ignore[no-untyped-call]  # it has no types
        code = os.waitstatus_to_exitcode(status)
        if code != 0 or not stopping:
            logger.error("worker %d (pid %d) ended with %d; stopping", worker, pid, code)
            failed = True
            stop()
    http.shutdown()
    held.close()
    return 1 if failed else 0


def tell(workers: dict[int, int], number: signal.Signals) -> None:
    for pid in workers:
        os.kill(pid, number)


def serve_metrics(address: str, folder: Path) -> tuple[WSGIServer, str]:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, str(folder))  # type: ignore[no-untyped-call]  # it has no types
    host, _, port = address.rpartition(":")
    server, _ = start_http_server(int(port), host.strip("[]"), registry)
    return server, f"{host}:{server.server_port}"


def fork(config: Config, gate: Gate, topics: TopicMap, address: str, parent_lives: int, leash: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    os.close(leash)  # only the parent holds it: when the parent is gone, parent_lives ends
    code = 1
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            code = runner.run(work(config, gate, topics, address, parent_lives))
    except KafkaException as error:
        logger.error("cannot start: the Kafka settings are not accepted: %s", error)  # noqa: TRY400 -- says all
    except Exception:
        logger.exception("worker failed")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # never return into the parent's stack


async def work(config: Config, gate: Gate, topics: TopicMap, address: str, parent_lives: int) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(parent_lives, stop.set)
    return await serve(config, gate, topics, Metrics(CollectorRegistry()), address, stop)
