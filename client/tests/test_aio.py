from __future__ import annotations

import asyncio

import grpc
import pytest
from penstock.client import (
    AsyncPendingReceipt,
    AsyncPublisher,
    BatchRejectedError,
    BufferFullError,
    ClockEstimate,
    DeliveryTimeoutError,
    EventDroppedError,
    FlushTimeoutError,
    Plaintext,
    PublisherClosedError,
    PublisherSettings,
    Receipt,
    Status,
    UndeliveredError,
)
from penstock.client.channel import TransportName
from penstock.client.testing import FakeIngest

EVENT = ("page.viewed", {"user": "ada", "page": "/"})
QUICK = PublisherSettings(linger_s=0, retry_initial_s=0.01, retry_max_s=0.02)
TINY = PublisherSettings(linger_s=0, buffer_events_max=2, block_timeout_s=0.01)


@pytest.fixture(params=["unary", "stream"])
def transport(request: pytest.FixtureRequest) -> TransportName:
    name: TransportName = request.param
    return name


async def test_lost_reply_is_resent_and_answered_as_duplicate(fake: FakeIngest, transport: TransportName) -> None:
    fake.lose_replies()
    async with AsyncPublisher(
        fake.address, "d1", security=Plaintext(), settings=QUICK, transport=transport
    ) as publisher:
        receipt = await (await publisher.publish(*EVENT))
        assert receipt.status is Status.DUPLICATE
        assert publisher.stats.resent == 1
    assert fake.identities("d1") == [(publisher.boot_id, 1)]


async def test_final_failure_and_close(fake: FakeIngest, transport: TransportName) -> None:
    publisher = AsyncPublisher(fake.address, "d1", security=Plaintext(), settings=QUICK, transport=transport)
    fake.fail_next(grpc.StatusCode.PERMISSION_DENIED, "not you")
    with pytest.raises(BatchRejectedError, match="PERMISSION_DENIED: not you"):
        await (await publisher.publish(*EVENT))
    with pytest.raises(UndeliveredError):
        await publisher.close()
    with pytest.raises(PublisherClosedError):
        await publisher.publish(*EVENT)


@pytest.mark.parametrize("server", ["127.0.0.1", "http://127.0.0.1:7070"])
async def test_address_is_checked_at_once(server: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        AsyncPublisher(server, "d1", security=Plaintext())


async def test_clock_is_a_value_and_its_bound_none_where_nothing_bounds_it(fake: FakeIngest) -> None:
    async with AsyncPublisher(fake.address, "d1", security=Plaintext(), settings=QUICK) as publisher:
        assert publisher.clock is None
        await (await publisher.publish(*EVENT))
        assert publisher.clock == ClockEstimate(method="ECHO", domain="STEADY", offset_us=0, error_bound_us=None)


async def test_full_buffer_blocks_or_drops(fake: FakeIngest) -> None:
    async with AsyncPublisher(fake.address, "d1", security=Plaintext(), settings=TINY) as publisher:
        with fake.hold():
            await publisher.publish(*EVENT)
            await publisher.publish(*EVENT)
            with pytest.raises(BufferFullError):
                await publisher.publish(*EVENT)
        await publisher.flush(30)
        assert (await (await publisher.publish(*EVENT))).seq == 3
    dropping = PublisherSettings(linger_s=0, buffer_events_max=1, when_full="drop")
    async with AsyncPublisher(fake.address, "d1", security=Plaintext(), settings=dropping) as publisher:
        with fake.hold():
            await publisher.publish(*EVENT)
            with pytest.raises(EventDroppedError):
                await (await publisher.publish(*EVENT))
        assert publisher.stats.dropped == 1


async def test_blocked_publish_goes_on_when_there_is_room(fake: FakeIngest) -> None:
    settings = PublisherSettings(linger_s=0, buffer_events_max=1, block_timeout_s=30)
    async with AsyncPublisher(fake.address, "d1", security=Plaintext(), settings=settings) as publisher:
        pending = [await publisher.publish(*EVENT) for _ in range(5)]
        assert (await pending[4]).delivered


async def test_flush_timeout_and_close_timeout(fake: FakeIngest, transport: TransportName) -> None:
    publisher = AsyncPublisher(fake.address, "d1", security=Plaintext(), transport=transport)
    with fake.hold():
        pending = await publisher.publish(*EVENT)
        with pytest.raises(FlushTimeoutError):
            await publisher.flush(0.01)
        with pytest.raises(UndeliveredError):
            await publisher.close(0.01)
    with pytest.raises(PublisherClosedError):
        await pending


async def test_callbacks_and_refusals(fake: FakeIngest) -> None:
    seen: list[AsyncPendingReceipt] = []
    refused: list[Receipt] = []
    async with AsyncPublisher(fake.address, "d1", security=Plaintext(), on_refused=refused.append) as publisher:
        pending = await publisher.publish("no.such.type")
        pending.add_done_callback(seen.append)
        await publisher.flush(30)
        pending.add_done_callback(seen.append)
    assert seen == [pending, pending]
    assert [r.reason_name for r in refused] == ["UNKNOWN_TYPE"]


async def test_server_that_is_not_there(transport: TransportName) -> None:
    settings = PublisherSettings(linger_s=0, retry_initial_s=0.01, delivery_timeout_s=0.2)
    publisher = AsyncPublisher("127.0.0.1:1", "d1", security=Plaintext(), settings=settings, transport=transport)
    with pytest.raises(DeliveryTimeoutError):
        await (await publisher.publish(*EVENT))
    with pytest.raises(UndeliveredError):
        await publisher.close()


async def test_server_that_never_answers(fake: FakeIngest, transport: TransportName) -> None:
    settings = PublisherSettings(linger_s=0, retry_initial_s=0.01, retry_max_s=0.02, request_timeout_s=0.05)
    async with AsyncPublisher(
        fake.address, "d1", security=Plaintext(), settings=settings, transport=transport
    ) as publisher:
        await (await publisher.publish(*EVENT))
        with fake.hold():
            pending = await publisher.publish(*EVENT)
            with pytest.raises(FlushTimeoutError):
                await publisher.flush(0.3)
            assert publisher.stats.resent > 0
        assert (await pending).delivered


async def test_cancelling_a_waiter_leaves_the_event(fake: FakeIngest) -> None:
    async with AsyncPublisher(fake.address, "d1", security=Plaintext()) as publisher:
        pending = await publisher.publish(*EVENT)
        with fake.hold(), pytest.raises(TimeoutError):
            await asyncio.wait_for(_receipt(pending), 0.01)
        assert (await pending).delivered


async def _receipt(pending: AsyncPendingReceipt) -> Receipt:
    return await pending
