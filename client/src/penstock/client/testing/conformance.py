"""What every ingestion service owes every publisher, and the reverse.

Subclass `PublisherConformance` in a test module, and define there a fixture `ingest_target`:
the fake in this package, or a real service with its Kafka. The suite needs of a target only an
address and the identities that are in its log.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Iterator
from typing import Protocol

import pytest
from penstock.client import AsyncPublisher, Plaintext, Publisher, PublisherSettings, Receipt, Status
from penstock.client.channel import TransportName
from penstock.client.testing.proxy import LossyProxy
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_UNKNOWN_TYPE

EVENT = ("page.viewed", {"user": "ada", "page": "/"})
PATIENCE_S = 60.0
# Small batches and short pauses, so that little data makes many exchanges.
QUICK = PublisherSettings(batch_events_max=20, linger_s=0.005, retry_initial_s=0.01, retry_max_s=0.2)


class IngestTarget(Protocol):
    """An ingestion service under test that takes events of type page.viewed."""

    @property
    def address(self) -> str: ...

    def identities(self, device_id: str) -> Collection[tuple[str, int]]:
        """(boot_id, seq) of the device's events in the log, in its order; a resend may be there twice."""


@pytest.fixture(params=["unary", "stream"])
def transport(request: pytest.FixtureRequest) -> TransportName:
    name: TransportName = request.param
    return name


@pytest.fixture
def device_id() -> str:
    return f"device-{uuid.uuid4().hex}"


@pytest.fixture
def proxy(ingest_target: IngestTarget) -> Iterator[LossyProxy]:
    with LossyProxy(ingest_target.address) as proxy:
        yield proxy


class PublisherConformance:
    """The suite. Import the fixtures of this module along with it."""

    def test_acknowledged_events_are_in_the_log_in_order(
        self, ingest_target: IngestTarget, device_id: str, transport: TransportName
    ) -> None:
        with Publisher(
            ingest_target.address, device_id, security=Plaintext(), settings=QUICK, transport=transport
        ) as publisher:
            pending = [publisher.publish(*EVENT) for _ in range(205)]
            receipts = [p.result(PATIENCE_S) for p in pending]
        assert {r.status for r in receipts} == {Status.ACCEPTED}
        assert [r.seq for r in receipts] == list(range(1, 206))
        assert all(r.consistency is not None and r.consistency.positions for r in receipts)
        assert list(ingest_target.identities(device_id)) == [(publisher.boot_id, r.seq) for r in receipts]

    async def test_asyncio_publisher_does_the_same(
        self, ingest_target: IngestTarget, device_id: str, transport: TransportName
    ) -> None:
        async with AsyncPublisher(
            ingest_target.address, device_id, security=Plaintext(), settings=QUICK, transport=transport
        ) as publisher:
            pending = [await publisher.publish(*EVENT) for _ in range(205)]
            receipts = [await p for p in pending]
        assert {r.status for r in receipts} == {Status.ACCEPTED}
        assert list(ingest_target.identities(device_id)) == [(publisher.boot_id, n) for n in range(1, 206)]

    def test_one_refused_event_does_not_harm_its_batch(
        self, ingest_target: IngestTarget, device_id: str, transport: TransportName
    ) -> None:
        refused: list[Receipt] = []
        with Publisher(
            ingest_target.address,
            device_id,
            security=Plaintext(),
            settings=QUICK,
            transport=transport,
            on_refused=refused.append,
        ) as publisher:
            good = [publisher.publish(*EVENT), publisher.publish(*EVENT)]
            bad = publisher.publish("no.such.type", {"user": "ada"})
            good.append(publisher.publish(*EVENT))
            publisher.flush(PATIENCE_S)
            assert refused == [bad.result()]
        assert bad.result().reason == REFUSAL_REASON_UNKNOWN_TYPE
        assert "no.such.type" in bad.result().detail
        assert all(p.result().delivered for p in good)
        assert [seq for _, seq in ingest_target.identities(device_id)] == [1, 2, 4]

    def test_first_batch_has_two_sided_bounds(
        self, ingest_target: IngestTarget, device_id: str, transport: TransportName
    ) -> None:
        with Publisher(ingest_target.address, device_id, security=Plaintext(), transport=transport) as publisher:
            publisher.publish(*EVENT).result(PATIENCE_S)
            assert publisher.clock is not None
            assert publisher.clock.method == "ECHO"

    def test_each_publisher_of_a_device_is_a_boot(self, ingest_target: IngestTarget, device_id: str) -> None:
        boots = []
        for _ in range(2):
            with Publisher(ingest_target.address, device_id, security=Plaintext()) as publisher:
                publisher.publish(*EVENT)
                boots.append(publisher.boot_id)
        assert list(ingest_target.identities(device_id)) == [(boots[0], 1), (boots[1], 1)]

    def test_threads_share_a_publisher(self, ingest_target: IngestTarget, device_id: str) -> None:
        with Publisher(ingest_target.address, device_id, security=Plaintext(), settings=QUICK) as publisher:
            threads = [
                threading.Thread(target=lambda: [publisher.publish(*EVENT) for _ in range(100)]) for _ in range(4)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        assert list(ingest_target.identities(device_id)) == [(publisher.boot_id, n) for n in range(1, 401)]

    def test_lost_connections_lose_no_event(
        self, ingest_target: IngestTarget, proxy: LossyProxy, device_id: str, transport: TransportName
    ) -> None:
        pending = []
        with Publisher(
            proxy.address, device_id, security=Plaintext(), settings=QUICK, transport=transport
        ) as publisher:
            for cut in range(6):
                pending += [publisher.publish(*EVENT) for _ in range(70)]
                pending[-50].result(PATIENCE_S)
                if cut % 2:
                    proxy.mute()
                    pending += [publisher.publish(*EVENT) for _ in range(30)]
                proxy.cut()
        assert all(p.result().delivered for p in pending)
        assert set(ingest_target.identities(device_id)) == {(publisher.boot_id, p.seq) for p in pending}

    async def test_lost_connections_lose_no_event_in_asyncio(
        self, ingest_target: IngestTarget, proxy: LossyProxy, device_id: str, transport: TransportName
    ) -> None:
        pending = []
        async with AsyncPublisher(
            proxy.address, device_id, security=Plaintext(), settings=QUICK, transport=transport
        ) as publisher:
            for _ in range(4):
                pending += [await publisher.publish(*EVENT) for _ in range(70)]
                await pending[-50]
                proxy.cut()
        receipts = [await p for p in pending]
        assert all(r.delivered for r in receipts)
        assert set(ingest_target.identities(device_id)) == {(publisher.boot_id, r.seq) for r in receipts}
