from __future__ import annotations

import grpc
import grpc.aio
import pytest
from penstock.client.channel import Plaintext, failure_of, failure_of_batch, open_channel
from penstock.client.retry import Failure
from penstock.client.testing import FakeIngest
from penstock.events.v1.event_pb2 import Event
from penstock.ingest.v1.ingest_pb2 import BatchFailure, PublishRequest
from penstock.ingest.v1.ingest_pb2_grpc import IngestServiceStub

REQUEST = PublishRequest(device_id="d", events=[Event(seq=1)])
UNAVAILABLE = grpc.StatusCode.UNAVAILABLE
CASES = [
    ({}, Failure(14, "gone")),
    ({"retry_after_ms": 250}, Failure(14, "gone", retry_after_us=250_000)),
    ({"pushback": "40"}, Failure(14, "gone", retry_after_us=40_000)),
    ({"pushback": "40", "retry_after_ms": 250}, Failure(14, "gone", retry_after_us=40_000)),
    ({"pushback": "-1"}, Failure(14, "gone", final=True)),
    ({"pushback": "soon"}, Failure(14, "gone", final=True)),
]


@pytest.mark.parametrize(("hints", "expected"), CASES)
def test_what_the_server_wishes_is_heard(fake: FakeIngest, hints: dict[str, int | str], expected: Failure) -> None:
    fake.fail_next(UNAVAILABLE, "gone", **hints)  # type: ignore[arg-type]  # the keys are right, see CASES
    with open_channel(fake.address, Plaintext()) as channel, pytest.raises(grpc.RpcError) as error:
        IngestServiceStub(channel).Publish(REQUEST)
    assert failure_of(error.value) == expected


@pytest.mark.parametrize(("hints", "expected"), CASES)
async def test_asyncio_hears_the_same(fake: FakeIngest, hints: dict[str, int | str], expected: Failure) -> None:
    fake.fail_next(UNAVAILABLE, "gone", **hints)  # type: ignore[arg-type]  # the keys are right, see CASES
    async with grpc.aio.insecure_channel(fake.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await IngestServiceStub(channel).Publish(REQUEST)
    assert failure_of(error.value) == expected


def test_batch_failure_without_a_time_is_final() -> None:
    assert failure_of_batch(BatchFailure(code=14, detail="x", retry_after_us=5)) == Failure(14, "x", 5)
    assert failure_of_batch(BatchFailure(code=3, detail="x")) == Failure(3, "x", None, final=True)
