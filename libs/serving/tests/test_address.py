from __future__ import annotations

import socket

import pytest
from penstock.serving.address import AddressInUse, reserve


def test_port_0_becomes_a_free_port_that_we_can_share() -> None:
    held, address = reserve("127.0.0.1:0")
    port = int(address.rpartition(":")[2])
    with held, socket.socket() as ours:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        ours.bind(("127.0.0.1", port))
        ours.listen()
        with pytest.raises(AddressInUse, match="Address already in use"):
            reserve(address)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(AddressInUse, match=r"192\.0\.2\.1:0"):
        reserve("192.0.2.1:0")


def test_connections_that_are_not_quite_gone_do_not_matter() -> None:
    """A server that closed first leaves its port in TIME_WAIT."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with socket.create_connection(server.getsockname()) as client:
            accepted, _ = server.accept()
            accepted.close()
            assert client.recv(1) == b""
    held, _ = reserve(address)
    held.close()
