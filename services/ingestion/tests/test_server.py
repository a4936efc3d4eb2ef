"""A real server on a real Kafka: what is acknowledged is there, and failures say what to do."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import grpc
import pytest
import trustme
from google.rpc import error_details_pb2, status_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from penstock.embedded.broker import Kafka
from penstock.embedded.pytest_plugin import OwnKafka
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView, RefusalReason, RejectedBatch
from penstock.ingest.v1.ingest_pb2 import (
    PublishRequest,
    PublishResponse,
    PublishStreamRequest,
    PublishStreamResponse,
)
from penstock.topics import load
from penstock.topics.kafka import ensure
from running_ingestion import Running, batch, is_serving, post, running, stub

RAW = "events.raw.v1"
PUBLISH = "/penstock.ingest.v1.IngestService/Publish"


@pytest.fixture
async def server(kafka: Kafka, topic_prefix: str) -> AsyncIterator[Running]:
    async with running(kafka.bootstrap, topic_prefix, {"STREAM_WINDOW_BATCHES": "3"}) as started:
        await is_serving(started)
        yield started


async def test_the_log_holds_the_request_as_it_came_and_the_stamp(server: Running) -> None:
    request = batch(1, 3).SerializeToString()
    async with server.channel() as channel:
        answer = await channel.unary_unary(PUBLISH, bytes, PublishResponse.FromString)(request)
    assert answer.accepted == 3
    (record,) = server.records()
    assert record.startswith(request)
    view = RawBatchView.FromString(record)
    assert [Event.FromString(raw).seq for raw in view.events] == [1, 2, 3]
    assert view.stamp.received_us > 0
    (position,) = answer.consistency.positions
    assert (position.topic, position.offset) == ("events.raw.v1", 0)


async def test_one_bad_event_does_not_fail_its_batch(server: Running) -> None:
    request = PublishRequest(
        device_id="d", boot_id="b", events=[post(1), Event(type="no.such", seq=2), post(3), post(1)]
    )
    async with server.channel() as channel:
        answer = await stub(channel).Publish(request)
    assert answer.accepted == 2
    assert [(refusal.index, refusal.reason) for refusal in answer.refusals] == [
        (1, RefusalReason.REFUSAL_REASON_UNKNOWN_TYPE),
        (3, RefusalReason.REFUSAL_REASON_DUPLICATE),
    ]
    assert [event.seq for event in server.events()] == [1, 3]
    (rejected,) = (RejectedBatch.FromString(record) for record in server.records("events.rejected.v1"))
    assert [(rejection.index, rejection.event) for rejection in rejected.rejections] == [
        (1, request.events[1].SerializeToString())
    ]
    assert server.sample("penstock_ingestion_events_total", type="unknown", outcome="unknown_type") == 1
    assert server.sample("penstock_ingestion_events_total", type="post.created", outcome="accepted") == 2


async def test_a_resend_is_answered_duplicate_and_not_written_again(server: Running) -> None:
    async with server.channel() as channel:
        await stub(channel).Publish(batch(1, 2))
        again = await stub(channel).Publish(batch(1, 2))
    assert again.accepted == 0
    assert len(again.refusals) == 2
    assert not again.HasField("consistency")
    assert len(server.records()) == 1


async def test_an_empty_batch_brings_a_token_and_writes_nothing(server: Running) -> None:
    request = PublishRequest(device_id="d", boot_id="b")
    request.sent.wall_us = 1_000_000_000
    async with server.channel() as channel:
        answer = await stub(channel).Publish(request)
    assert answer.clock_token
    assert server.records() == []


async def test_malformed_bytes_are_the_clients_fault(server: Running) -> None:
    async with server.channel() as channel:
        publish = channel.unary_unary(PUBLISH, bytes, bytes)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await publish(b"\xff\xff\xff")
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert "not a penstock.ingest.v1.PublishRequest: byte 0" in (caught.value.details() or "")
    labels = {"grpc_type": "unary", "grpc_service": "penstock.ingest.v1.IngestService", "grpc_method": "Publish"}
    assert server.sample("grpc_server_handled_total", **labels, grpc_code="INVALID_ARGUMENT") == 1


async def test_reflection_and_health_are_served(server: Running) -> None:
    async with server.channel() as channel:
        call = reflection_pb2_grpc.ServerReflectionStub(channel).ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        answer = await call.read()
        names = {service.name for service in answer.list_services_response.service}
        call.cancel()
    assert names == {
        "penstock.ingest.v1.IngestService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    }


async def test_a_stream_tells_its_window_and_answers_in_order(server: Running) -> None:
    async def batches() -> AsyncIterator[PublishStreamRequest]:
        for number in range(20):
            yield PublishStreamRequest(batch_id=number, batch=batch(1 + 5 * number, 5))

    async with server.channel() as channel:
        answers = [answer async for answer in stub(channel).PublishStream(batches())]
    assert answers[0].window.batches == 3
    assert [answer.answer.batch_id for answer in answers[1:]] == list(range(20))
    assert [event.seq for event in server.events()] == list(range(1, 101))


async def test_a_bad_batch_fails_alone_and_the_stream_goes_on(server: Running) -> None:
    async def batches() -> AsyncIterator[PublishStreamRequest]:
        yield PublishStreamRequest(batch_id=1, batch=batch(1, 1))
        yield PublishStreamRequest(batch_id=2, batch=PublishRequest(events=[post(2)]))
        yield PublishStreamRequest(batch_id=3, batch=batch(3, 1))

    async with server.channel() as channel:
        answers = [answer async for answer in stub(channel).PublishStream(batches())]
    assert [answer.WhichOneof("message") for answer in answers] == ["window", "answer", "failure", "answer"]
    assert answers[2].failure.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert answers[2].failure.retry_after_us == 0


async def test_a_stop_ends_streams_after_what_is_under_way(server: Running) -> None:
    async with server.channel() as channel:
        call = stub(channel).PublishStream()
        await call.write(PublishStreamRequest(batch_id=1, batch=batch(1, 1)))
        window, answer = await call.read(), await call.read()
        assert isinstance(window, PublishStreamResponse)
        assert isinstance(answer, PublishStreamResponse)
        assert window.HasField("window")
        assert answer.answer.response.accepted == 1
        server.stop.set()
        assert await call.code() == grpc.StatusCode.UNAVAILABLE
    assert await server.exit_code == 0


def retry_info(error: grpc.aio.AioRpcError) -> tuple[error_details_pb2.RetryInfo, str]:
    metadata = dict(error.trailing_metadata())
    details = metadata["grpc-status-details-bin"]
    assert isinstance(details, bytes)
    status = status_pb2.Status.FromString(details)
    info = error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    return info, str(metadata["grpc-retry-pushback-ms"])


async def test_kafka_stopped_is_unavailable_within_the_deadline_then_full(
    own_kafka: OwnKafka, topic_prefix: str
) -> None:
    """The broker hangs (SIGSTOP): answers come before the deadline, memory is bounded, nothing was said to be OK."""
    settings = {"INFLIGHT_BYTES_MAX": "1048576", "PRODUCE_TIMEOUT_S": "60"}
    async with running(own_kafka.bootstrap, topic_prefix, settings) as server:
        await is_serving(server)
        async with server.channel() as channel:
            publish = stub(channel).Publish
            await publish(batch(1, 1))
            broker = own_kafka.supervisor.pid("kafka")
            os.kill(broker, signal.SIGSTOP)
            try:
                began = time.monotonic()
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await publish(batch(2, 1), timeout=1)
                assert caught.value.code() == grpc.StatusCode.UNAVAILABLE, time.monotonic() - began
                info, pushback = retry_info(caught.value)
                assert info.retry_delay.ToMilliseconds() == int(pushback) > 0
                big = PublishRequest(device_id="big", boot_id="b", events=[post(1, text="x" * 8000)] * 100)
                answers = await asyncio.gather(*(publish(big, timeout=2) for _ in range(6)), return_exceptions=True)
                codes = [answer.code() for answer in answers if isinstance(answer, grpc.aio.AioRpcError)]
                assert sorted(code.name for code in codes) == ["RESOURCE_EXHAUSTED"] * 5 + ["UNAVAILABLE"]
                full = next(a for a in answers if isinstance(a, grpc.aio.AioRpcError) and a.code() == codes[-1])
                assert "at most 1,048,576 may" in (full.details() or "")
                assert retry_info(full)[0].retry_delay.ToMilliseconds() > 0
                assert server.sample("penstock_ingestion_inflight_bytes") > 0
            finally:
                os.kill(broker, signal.SIGCONT)
            # What waited goes through now, and the same identity again is a duplicate or a second record, never lost.
            answer = await publish(batch(2, 1), timeout=30, wait_for_ready=True)
            assert answer.accepted + len(answer.refusals) == 1
            assert {1, 2} <= {event.seq for event in server.events()}


async def test_topics_that_differ_end_it_with_the_difference(
    kafka: Kafka, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topics = load().prefixed(topic_prefix)
    other = replace(topics, topics={**topics.topics, RAW: topics[RAW].model_copy(update={"partitions": 3})})
    ensure({"bootstrap.servers": kafka.bootstrap}, other, names=[RAW])
    async with running(kafka.bootstrap, topic_prefix) as server:
        assert await server.exit_code == 1
    assert "events.raw.v1: partitions should be 8, is 3" in caplog.text


async def test_missing_topics_are_waited_for(kafka: Kafka, topic_prefix: str) -> None:
    async with running(kafka.bootstrap, topic_prefix, {"TOPICS": "verify"}) as server:
        serving = asyncio.create_task(is_serving(server))
        ensure({"bootstrap.servers": kafka.bootstrap}, server.topics, names=["events.raw.v1", "events.rejected.v1"])
        await serving


async def test_tls_is_served_with_a_certificate(kafka: Kafka, topic_prefix: str, tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    certificate.private_key_pem.write_to_path(str(tmp_path / "key"))
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(str(tmp_path / "certificate"), append=True)
    settings = {"TLS_CERTIFICATE": str(tmp_path / "certificate"), "TLS_KEY": str(tmp_path / "key")}
    async with running(kafka.bootstrap, topic_prefix, settings) as server:
        credentials = grpc.ssl_channel_credentials(authority.cert_pem.bytes())
        target = server.address.replace("127.0.0.1", "localhost")
        await is_serving(server, grpc.aio.secure_channel(target, credentials))
        async with grpc.aio.secure_channel(target, credentials) as channel:
            assert (await stub(channel).Publish(batch(1, 1))).accepted == 1
        async with server.channel() as plain:
            with pytest.raises(grpc.aio.AioRpcError):
                await stub(plain).Publish(batch(2, 1), timeout=2)


async def test_old_connections_and_streams_are_renewed(kafka: Kafka, topic_prefix: str) -> None:
    """So that load spreads over new pods: a stream ends after what is under way, and the channel connects anew."""
    async with running(kafka.bootstrap, topic_prefix, {"CONNECTION_AGE_MAX_S": "1"}) as server:
        await is_serving(server)
        async with server.channel() as channel:
            call = stub(channel).PublishStream()
            await call.write(PublishStreamRequest(batch_id=1, batch=batch(1, 1)))
            answers = [await call.read(), await call.read()]
            assert isinstance(answers[1], PublishStreamResponse)
            assert answers[1].answer.response.accepted == 1
            assert await call.code() == grpc.StatusCode.UNAVAILABLE
            assert (await stub(channel).Publish(batch(2, 1), wait_for_ready=True)).accepted == 1
