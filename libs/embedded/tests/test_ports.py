import random
import socket

import pytest
from penstock.embedded.ports import FIRST, HOST, LAST, free_ports, is_listening


def test_ports_differ_and_lie_below_those_the_kernel_gives_to_clients() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(FIRST <= port <= LAST for port in ports)


def test_a_taken_port_is_passed_over() -> None:
    [first] = free_ports(1, random.Random(7))
    with socket.create_server((HOST, first)):
        assert is_listening(first)
        assert free_ports(1, random.Random(7)) != [first]
    assert not is_listening(first)


def test_there_is_a_limit_to_the_search() -> None:
    with pytest.raises(OSError, match="of 300 free ports"):
        free_ports(300)
