import socket
from collections.abc import Callable
from threading import Thread

import pytest
from penstock.embedded.broker import Kafka
from penstock.embedded.ports import HOST, free_ports
from penstock.embedded.readiness import answers


def test_nobody_there() -> None:
    [port] = free_ports(1)
    assert answers(port)() == f"nothing listens on {HOST}:{port} yet"


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (b"", "gives no producer ids yet (error -1)"),
        (bytes(12) + (14).to_bytes(2, "big"), "gives no producer ids yet (error 14)"),
    ],
)
def test_somebody_else_is_not_taken_for_a_broker(content: bytes, missing: str) -> None:
    with socket.create_server((HOST, 0)) as server:
        Thread(target=_answer_once(server, content)).start()
        assert missing in (answers(server.getsockname()[1])() or "ready")


def test_a_broker_is_ready(kafka: Kafka) -> None:
    assert answers(int(kafka.bootstrap.rpartition(":")[2]))() is None


def _answer_once(server: socket.socket, content: bytes) -> Callable[[], None]:
    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1024)
            connection.sendall(content)

    return answer
