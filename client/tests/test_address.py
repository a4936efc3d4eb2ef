from __future__ import annotations

import pytest
from penstock.client.address import host_and_port


@pytest.mark.parametrize(
    ("server", "place"),
    [
        ("127.0.0.1:7070", ("127.0.0.1", 7070)),
        ("ingestion.penstock.svc.cluster.local:443", ("ingestion.penstock.svc.cluster.local", 443)),
        ("[::1]:7070", ("::1", 7070)),
        ("[fe80::1%eth0]:65535", ("fe80::1%eth0", 65535)),
    ],
)
def test_host_and_port(server: str, place: tuple[str, int]) -> None:
    assert host_and_port(server) == place


@pytest.mark.parametrize(
    "server",
    ["", "127.0.0.1", ":7070", "host:", "host:port", "host:0", "host:65536", "host:٧٠", "::1:7070", "a b:1", "h:1/x"],
)
def test_what_is_no_address(server: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not an address; write HOST:PORT, for example 127\.0\.0\.1:7070$"
    ) as error:
        host_and_port(server)
    assert repr(server) in str(error.value)


@pytest.mark.parametrize("scheme", ["http", "https", "grpc"])
def test_url_is_told_what_to_leave_out(scheme: str) -> None:
    with pytest.raises(ValueError, match=f"leave out {scheme}:// and write host:7070"):
        host_and_port(f"{scheme}://host:7070")


def test_long_address_is_cut() -> None:
    with pytest.raises(ValueError, match=r"^'x{100}…' is not an address"):
        host_and_port("x" * 5000)
