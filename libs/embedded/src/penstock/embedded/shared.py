"""One broker for a whole test run, whichever processes the tests run in; and one PostgreSQL with Connect.

In:  requests, in this process or over a local socket from pytest-xdist's workers.
Out: the address of the one broker; it is started by the first request, so a run
     without a broker test has none. A broker that cannot start or has died is an
     error in every test that asks, with its last log lines. PostgreSQL and Connect likewise.
"""

import shutil
import tempfile
from collections.abc import Callable
from multiprocessing.connection import Client, Listener
from pathlib import Path
from threading import Lock, Thread

from penstock.embedded.broker import Kafka
from penstock.embedded.cache import Progress
from penstock.embedded.captures import CdcServers, start_cdc
from penstock.embedded.errors import EmbeddedError
from penstock.embedded.kafka import start_kafka
from penstock.embedded.supervisor import Supervisor

KAFKA, CDC = "kafka", "cdc"  # what one can ask for


class BrokerHost:
    """Lives in the process that outlives all tests."""

    def __init__(self, progress: Progress, start: Callable[[Supervisor], Kafka] = start_kafka) -> None:
        self._progress = progress
        self._start = start
        self._starting = Lock()
        self._folder: Path | None = None
        self._supervisor: Supervisor | None = None
        self._kafka: Kafka | None = None
        self._cdc_supervisor: Supervisor | None = None
        self._cdc: CdcServers | None = None
        self._listener: Listener | None = None

    def kafka(self) -> Kafka:
        with self._starting:
            if self._kafka is None:
                self._close_supervisor()  # of a start that failed: this one may succeed
                self._supervisor = Supervisor(self._own_folder() / "state", self._progress)
                self._kafka = self._start(self._supervisor)
            if self._supervisor is not None:
                self._supervisor.check()
            return self._kafka

    def cdc(self) -> CdcServers:
        kafka = self.kafka()
        with self._starting:
            if self._cdc is None:
                self._close_cdc()
                self._cdc_supervisor = Supervisor(self._own_folder() / "cdc", self._progress)
                self._cdc = start_cdc(self._cdc_supervisor, kafka)
            if self._cdc_supervisor is not None:
                self._cdc_supervisor.check()
            return self._cdc

    def serve(self) -> str:
        """The address at which workers ask; serving starts with the first call."""
        if self._listener is None:
            self._listener = Listener(str(self._own_folder() / "ask"), "AF_UNIX", backlog=64)
            Thread(target=self._answer_all, args=(self._listener,), name="broker host", daemon=True).start()
        return str(self._listener.address)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._close_cdc()
        self._close_supervisor()
        if self._folder is not None:
            shutil.rmtree(self._folder)

    def _answer_all(self, listener: Listener) -> None:
        with listener:  # closed if this thread should fail: better refused than left waiting
            while True:
                try:
                    connection = listener.accept()
                except OSError:
                    return  # closed
                with connection:
                    connection.send(self._answer(connection.recv()))

    def _answer(self, wanted: object) -> Kafka | CdcServers | str:
        try:
            return self.cdc() if wanted == CDC else self.kafka()
        except EmbeddedError as error:
            return str(error)

    def _own_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="penstock-"))  # short: socket paths have a limit
        return self._folder

    def _close_supervisor(self) -> None:
        if self._supervisor is not None:
            self._supervisor.stop()
            self._supervisor = None

    def _close_cdc(self) -> None:
        if self._cdc_supervisor is not None:
            self._cdc_supervisor.stop()
            self._cdc_supervisor = None


def ask_host(address: str) -> Kafka:
    """The broker of the host that serves there."""
    answer = _ask(address, KAFKA)
    if isinstance(answer, Kafka):
        return answer
    raise EmbeddedError(str(answer))


def ask_host_for_cdc(address: str) -> CdcServers:
    """PostgreSQL and Connect, beside that broker."""
    answer = _ask(address, CDC)
    if isinstance(answer, CdcServers):
        return answer
    raise EmbeddedError(str(answer))


def _ask(address: str, wanted: str) -> object:
    with Client(address, "AF_UNIX") as connection:
        connection.send(wanted)
        answer: object = connection.recv()
        return answer
