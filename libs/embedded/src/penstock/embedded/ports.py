"""Ports for children, on the loopback interface only.

Out: a port that is free now and that no outgoing connection will be given: it
     lies below the range from which the kernel serves connecting sockets. So a
     killed child can come back on its port, and a client that keeps trying the
     port meanwhile cannot end up connected to itself.
"""

import random
import socket

HOST = "127.0.0.1"
FIRST, LAST = 20_000, 32_000
ATTEMPTS_MAX = 200


def free_ports(count: int, chance: random.Random | None = None) -> list[int]:
    """Different free ports; they are held together until all are known."""
    chance = chance or random.Random()
    held: list[socket.socket] = []
    try:
        for _ in range(ATTEMPTS_MAX):
            if len(held) == count:
                break
            if (bound := _bind(chance.randint(FIRST, LAST))) is not None:
                held.append(bound)
        if len(held) < count:
            raise OSError(f"found only {len(held)} of {count} free ports between {FIRST} and {LAST}")
        return [bound.getsockname()[1] for bound in held]
    finally:
        for bound in held:
            bound.close()


def is_listening(port: int, timeout_s: float = 0.5) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((HOST, port), timeout_s).close()
    except OSError:
        return False
    return True


def _bind(port: int) -> socket.socket | None:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        bound.bind((HOST, port))
    except OSError:
        bound.close()
        return None
    return bound
