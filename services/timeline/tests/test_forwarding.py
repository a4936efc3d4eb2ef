"""Calls passed on, by a network that is real: to a server that plays the other replica."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme
from penstock.serving.errors import ServiceError
from penstock.timelines.config import PREFIX, load
from penstock.timelines.errors import Away, NotOurs, OwnersAnswer
from penstock.timelines.forwarding import FORWARDED, Forwarding
from penstock.timelines.metrics import Metrics
from penstock.timelines.ownership import Ownership
from penstock.timelines.replica import _peer_credentials
from prometheus_client import CollectorRegistry

SERVICE = "test.Service"


class Peer:
    """Answers with what it was asked; a request that names a status ends so."""

    def __init__(self) -> None:
        self.metadata: dict[str, Any] = {}
        self.remaining: float | None = None
        self.server = grpc.aio.server()
        methods: dict[str, Any] = {
            "Unary": grpc.unary_unary_rpc_method_handler(self.unary),
            "Stream": grpc.unary_stream_rpc_method_handler(self.stream),
        }
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))

    async def unary(self, request: bytes, context: Any) -> bytes:
        self.metadata, self.remaining = dict(context.invocation_metadata()), context.time_remaining()
        if request == b"full":
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "no room", (("grpc-retry-pushback-ms", "70"),))
        if request == b"stopping":
            await context.abort(grpc.StatusCode.UNAVAILABLE, "this replica stops", (("grpc-retry-pushback-ms", "7"),))
        return request * 2

    async def stream(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        for number in range(3):
            yield request + b"%d" % number
        if request == b"end":
            await context.abort(grpc.StatusCode.NOT_FOUND, "that is all")


class Call:
    """The context of the call that is passed on."""

    def __init__(self, remaining: float | None = 30.0, **metadata: str) -> None:
        self._remaining, self._metadata = remaining, metadata

    def time_remaining(self) -> float | None:
        return self._remaining

    def invocation_metadata(self) -> list[tuple[str, str]]:
        return [(name.replace("_", "-"), value) for name, value in self._metadata.items()]


class House:
    def __init__(self, peer: Peer, address: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self.peer = peer
        self.registry = CollectorRegistry()
        self.forwarding = Forwarding(
            Ownership(replica=0, replicas=2, partitions=8),
            ["unused:1", address],
            Metrics(self.registry),
            service=SERVICE,
            credentials=credentials,
            patience_s=3,
        )

    async def unary(self, request: bytes, call: Any = None) -> bytes:
        given: Any = call or Call()
        return await self.forwarding.unary(1, "Unary", request, given)

    async def stream(self, request: bytes) -> list[bytes]:
        call: Any = Call()
        return [answer async for answer in self.forwarding.stream(1, "Stream", request, call)]

    def count(self, code: str) -> float:
        labels = {"replica": "1", "grpc_code": code}
        return self.registry.get_sample_value("penstock_timeline_forwarded_total", labels) or 0


@pytest.fixture
async def house() -> AsyncIterator[House]:
    peer = Peer()
    port = peer.server.add_insecure_port("127.0.0.1:0")
    await peer.server.start()
    house = House(peer, f"127.0.0.1:{port}")
    yield house
    await house.forwarding.close()
    await peer.server.stop(0)


async def test_an_answer_comes_back_as_it_is(house: House) -> None:
    assert await house.unary(b"ab") == b"abab"
    assert await house.stream(b"x") == [b"x0", b"x1", b"x2"]
    assert house.count("OK") == 2


async def test_the_deadline_and_the_trace_go_along_and_that_it_was_passed_on(house: House) -> None:
    await house.unary(b"", Call(20.0, traceparent="00-aa-bb-01", authorization="secret"))
    assert house.peer.metadata[FORWARDED] == "1"
    assert house.peer.metadata["traceparent"] == "00-aa-bb-01"
    assert "authorization" not in house.peer.metadata
    assert house.peer.remaining is not None
    assert 10 < house.peer.remaining < 21
    await house.unary(b"", Call(None))
    assert 0 < house.peer.remaining < 7


@pytest.mark.parametrize(
    ("request_", "code", "detail", "retry_after_ms"),
    [
        (b"full", grpc.StatusCode.RESOURCE_EXHAUSTED, "no room", 70),
        (b"stopping", grpc.StatusCode.UNAVAILABLE, "this replica stops", 7),
    ],
)
async def test_an_error_of_the_owner_comes_back_as_it_is(
    house: House, request_: bytes, code: grpc.StatusCode, detail: str, retry_after_ms: int
) -> None:
    with pytest.raises(OwnersAnswer) as caught:
        await house.unary(request_)
    assert (caught.value.code, caught.value.detail) == (code, detail)
    assert caught.value.retry_after_ms == retry_after_ms
    assert house.count(code.name) == 1


async def test_a_stream_that_ends_with_an_error(house: House) -> None:
    with pytest.raises(ServiceError, match="that is all"):
        await house.stream(b"end")
    assert house.count("NOT_FOUND") == 1


async def test_an_owner_that_is_not_there(house: House) -> None:
    await house.peer.server.stop(0)
    with pytest.raises(Away, match=r"replica 1 at .*, which has this user, does not answer") as caught:
        await house.unary(b"")
    assert caught.value.retry_after_ms


def test_a_call_is_passed_on_once() -> None:
    house = House(Peer.__new__(Peer), "unused:1")
    fresh: Any = Call()
    house.forwarding.refuse_twice(1, fresh)
    passed_on: Any = Call(penstock_forwarded="1")
    with pytest.raises(NotOurs, match="replicas disagree"):
        house.forwarding.refuse_twice(1, passed_on)


async def test_replicas_call_each_other_over_tls_with_their_certificates(tmp_path: Path) -> None:
    authority, stranger = trustme.CA(), trustme.CA()
    pair = authority.issue_cert("localhost")
    files = {name: tmp_path / f"{name}.pem" for name in ("certificate", "key", "ca", "strange_ca")}
    files["certificate"].write_bytes(b"".join(blob.bytes() for blob in pair.cert_chain_pems))
    pair.private_key_pem.write_to_path(str(files["key"]))
    authority.cert_pem.write_to_path(str(files["ca"]))
    stranger.cert_pem.write_to_path(str(files["strange_ca"]))

    def credentials(ca: str) -> grpc.ChannelCredentials | None:
        environment = {"TLS_CERTIFICATE": "certificate", "TLS_KEY": "key", "PEER_CA": ca}
        return _peer_credentials(load({PREFIX + name: str(files[file]) for name, file in environment.items()}))

    peer, pem = Peer(), files["certificate"].read_bytes()
    served = grpc.ssl_server_credentials(
        [(files["key"].read_bytes(), pem)], files["ca"].read_bytes(), require_client_auth=True
    )
    port = peer.server.add_secure_port("localhost:0", served)
    await peer.server.start()
    house = House(peer, f"localhost:{port}", credentials("ca"))
    assert await house.unary(b"ab") == b"abab"
    strange = House(peer, f"localhost:{port}", credentials("strange_ca"))
    with pytest.raises(Away, match="does not answer"):
        await strange.unary(b"ab")
    await asyncio.gather(house.forwarding.close(), strange.forwarding.close())
    await peer.server.stop(0)


def test_without_tls_replicas_do_without(tmp_path: Path) -> None:
    assert _peer_credentials(load({})) is None
