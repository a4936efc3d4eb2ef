"""A real broker for tests. In the root conftest:

    pytest_plugins = ["penstock.embedded.pytest_plugin"]

`kafka`         the one broker of the run (`kafka.bootstrap`); workers of pytest-xdist share it.
                It is everybody's: create topics below `topic_prefix`, never kill it.
`own_kafka`     a broker for this test alone, with `own_kafka.supervisor` to kill and restart it.
`topic_prefix`  a random name per test, so that topics and groups of tests never meet.
`cdc`           the run's PostgreSQL and Connect, beside `kafka`, with a database of this test alone:
                make tables on `cdc.postgres`, then `cdc.capture("public.profiles")`. Never kill them.
`own_cdc`       the same, all three for this test alone, with `own_cdc.supervisor` to kill and restart them.
"""

import sys
import uuid
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from penstock.embedded.broker import Kafka
from penstock.embedded.cache import Progress
from penstock.embedded.captures import Captures, CdcServers, open_captures, start_cdc
from penstock.embedded.kafka import start_kafka
from penstock.embedded.shared import BrokerHost, ask_host, ask_host_for_cdc
from penstock.embedded.supervisor import Supervisor

HOST = pytest.StashKey[BrokerHost]()
ADDRESS = "penstock_broker_host"


@dataclass(frozen=True)
class OwnKafka:
    bootstrap: str
    name: str
    supervisor: Supervisor

    def kill(self) -> None:
        """kill -9."""
        self.supervisor.kill(self.name)

    def restart(self) -> None:
        """On the same port, with the same data."""
        self.supervisor.restart(self.name)


@dataclass(frozen=True)
class OwnCdc(Captures):
    supervisor: Supervisor = field(kw_only=True)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[HOST] = BrokerHost(_shown_despite_capture(config))


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Of pytest-xdist, in the controller, for each worker."""
    node.workerinput[ADDRESS] = node.config.stash[HOST].serve()


def pytest_unconfigure(config: pytest.Config) -> None:
    if (host := config.stash.get(HOST, None)) is not None:
        host.close()


@pytest.fixture(scope="session")
def kafka(pytestconfig: pytest.Config) -> Kafka:
    """The broker that all tests of this run share."""
    if (host := pytestconfig.stash.get(HOST, None)) is not None:
        return host.kafka()
    workerinput: dict[str, str] = pytestconfig.workerinput  # type: ignore[attr-defined]  # set by pytest-xdist
    return ask_host(workerinput[ADDRESS])


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[OwnKafka]:
    """A broker to kill."""
    with Supervisor(tmp_path / "own") as supervisor:
        broker = start_kafka(supervisor)
        yield OwnKafka(broker.bootstrap, broker.name, supervisor)


@pytest.fixture(scope="session")
def cdc_servers(pytestconfig: pytest.Config) -> CdcServers:
    """The PostgreSQL and the Connect that all tests of this run share."""
    if (host := pytestconfig.stash.get(HOST, None)) is not None:
        return host.cdc()
    workerinput: dict[str, str] = pytestconfig.workerinput  # type: ignore[attr-defined]  # set by pytest-xdist
    return ask_host_for_cdc(workerinput[ADDRESS])


@pytest.fixture
def cdc(cdc_servers: CdcServers, topic_prefix: str) -> Iterator[Captures]:
    """A database of this test's own, and connectors for its tables."""
    with closing(open_captures(cdc_servers, topic_prefix)) as captures:
        yield captures


@pytest.fixture
def own_cdc(own_kafka: OwnKafka) -> OwnCdc:
    """Kafka, PostgreSQL and Connect to kill."""
    servers = start_cdc(own_kafka.supervisor, Kafka(own_kafka.bootstrap, own_kafka.name))
    return OwnCdc(servers.kafka, servers.postgres, servers.connect, "", "cdc", supervisor=own_kafka.supervisor)


@pytest.fixture
def topic_prefix() -> str:
    return f"test-{uuid.uuid4().hex[:12]}-"


def _shown_despite_capture(config: pytest.Config) -> Progress:
    """Downloads take a while: say so on the terminal, not in the captured output of a test."""

    def show(text: str) -> None:
        capture = config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            sys.stderr.write(f"\n==> {text}")
            sys.stderr.flush()

    return show
