"""Takes a port for us before anybody serves on it."""

from __future__ import annotations

import socket


class AddressInUse(Exception):
    """Another program serves there."""


def reserve(address: str) -> tuple[socket.socket, str]:
    """Holds the address and returns it with its port: our processes share it by SO_REUSEPORT, strangers must not."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError as error:
            raise AddressInUse(f"cannot listen on {address}: {error.strerror}") from error
        number = probe.getsockname()[1]
    held = socket.socket(family)
    # The first is for connections of a process before us that are not quite gone (TIME_WAIT).
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind((host, number))
    return held, f"[{host}]:{number}" if family == socket.AF_INET6 else f"{host}:{number}"
