"""One host, many askers. The broker is a stub here; test_pytest_plugin.py shares a real one."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from penstock.embedded.broker import Kafka
from penstock.embedded.cache import quiet
from penstock.embedded.child import Child
from penstock.embedded.errors import ChildDiedError, EmbeddedError
from penstock.embedded.shared import BrokerHost, ask_host
from penstock.embedded.supervisor import Supervisor

BROKER = Kafka("127.0.0.1:1", "kafka")


class Starts:
    """Counts the starts, and fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.count = 0
        self._failures = failures

    def __call__(self, supervisor: Supervisor) -> Kafka:
        self.count += 1
        if self.count <= self._failures:
            raise EmbeddedError("the disk is full")
        return BROKER


@pytest.fixture
def make_host() -> Iterator[Callable[[Callable[[Supervisor], Kafka]], BrokerHost]]:
    hosts: list[BrokerHost] = []

    def make(start: Callable[[Supervisor], Kafka]) -> BrokerHost:
        hosts.append(BrokerHost(quiet, start))
        return hosts[-1]

    yield make
    for host in hosts:
        host.close()


def test_all_askers_get_the_broker_that_was_started_once(
    make_host: Callable[[Starts], BrokerHost],
) -> None:
    starts = Starts()
    host = make_host(starts)
    with ThreadPoolExecutor(8) as askers:
        answers = list(askers.map(ask_host, [host.serve()] * 8))
    assert answers == [BROKER] * 8
    assert host.kafka() == BROKER
    assert starts.count == 1


def test_a_failed_start_is_told_and_the_next_one_may_succeed(
    make_host: Callable[[Starts], BrokerHost],
) -> None:
    address = make_host(Starts(failures=1)).serve()
    with pytest.raises(EmbeddedError, match="the disk is full"):
        ask_host(address)
    assert ask_host(address) == BROKER


def test_a_broker_that_died_is_told_to_the_next_asker(
    make_host: Callable[[Callable[[Supervisor], Kafka]], BrokerHost],
) -> None:
    supervisors: list[Supervisor] = []

    def start(supervisor: Supervisor) -> Kafka:
        supervisor.start(Child("kafka", ("sleep", "3600")))
        supervisors.append(supervisor)
        return BROKER

    host = make_host(start)
    host.kafka()
    os.kill(supervisors[0].pid("kafka"), signal.SIGKILL)
    with pytest.raises(ChildDiedError):
        supervisors[0].wait(timeout_s=60)
    with pytest.raises(EmbeddedError, match="kafka ended by itself with signal SIGKILL"):
        ask_host(host.serve())


def test_nothing_is_started_for_nobody(make_host: Callable[[Starts], BrokerHost]) -> None:
    starts = Starts()
    make_host(starts).serve()
    assert starts.count == 0
