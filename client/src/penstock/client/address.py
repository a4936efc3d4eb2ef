"""Where a server is: HOST:PORT, checked before anything tries to connect.

gRPC would take a name without a port to mean port 443, and look up "http" as a name; both end in a
delivery timeout that does not say why. Pure: no name is looked up here.
"""

from __future__ import annotations

import re

from penstock.client.excerpt import excerpt

_ADDRESS = re.compile(r"(?:\[([0-9A-Za-z:.%_-]+)\]|([^\s:/@\[\]?#]+)):([0-9]{1,5})")
_PORT_MAX = 65_535


def host_and_port(server: str) -> tuple[str, int]:
    """Both parts of an address. Raises ValueError where there are none."""
    found = _ADDRESS.fullmatch(server)
    if found is None or not 0 < int(found[3]) <= _PORT_MAX:
        raise ValueError(f"{excerpt(server, 100)!r} is not an address; {_advice(server)}")
    return found[1] or found[2], int(found[3])


def _advice(server: str) -> str:
    scheme, separator, rest = server.partition("://")
    if separator and _ADDRESS.fullmatch(rest):
        return f"leave out {scheme}:// and write {rest}"
    return "write HOST:PORT, for example 127.0.0.1:7070"
