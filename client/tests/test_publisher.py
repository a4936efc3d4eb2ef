from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest
from penstock.client import (
    BatchRejectedError,
    BufferFullError,
    ClockEstimate,
    DeliveryTimeoutError,
    EventDroppedError,
    EventTooLargeError,
    FlushTimeoutError,
    PendingReceipt,
    Plaintext,
    Publisher,
    PublisherClosedError,
    PublisherSettings,
    Reading,
    Status,
    Tls,
    UndeliveredError,
)
from penstock.client.channel import TransportName
from penstock.client.testing import FakeIngest

EVENT = ("page.viewed", {"user": "ada", "page": "/"})
PATIENCE_S = 30.0


class StoppedClocks:
    def __init__(self, steady_us: int | None = 11) -> None:
        self._steady_us = steady_us

    def wall_us(self) -> int:
        return 1_000_000

    def steady_us(self) -> int | None:
        return self._steady_us


@pytest.fixture(params=["unary", "stream"])
def transport(request: pytest.FixtureRequest) -> TransportName:
    name: TransportName = request.param
    return name


def quick(**changes: Any) -> PublisherSettings:
    return PublisherSettings(**{"linger_s": 0.0, "retry_initial_s": 0.01, "retry_max_s": 0.02} | changes)


@pytest.fixture
def publisher(fake: FakeIngest, transport: TransportName) -> Iterator[Publisher]:
    with Publisher(
        fake.address, "d1", security=Plaintext(), settings=quick(), transport=transport, clocks=StoppedClocks()
    ) as publisher:
        yield publisher


def test_event_carries_what_was_said(fake: FakeIngest, publisher: Publisher) -> None:
    publisher.publish(
        "post.created", {"a": "1"}, b"x", content_type="text/plain", id="mine", traceparent="00-1"
    ).result(PATIENCE_S)
    event = fake.batches[0].events[0]
    assert (event.id, event.type, dict(event.attributes), event.data) == ("mine", "post.created", {"a": "1"}, b"x")
    assert (event.content_type, event.traceparent, event.seq) == ("text/plain", "00-1", 1)
    assert (event.occurred.wall_us, event.occurred.steady_us) == (1_000_000, 11)


def test_occurred_may_be_given(fake: FakeIngest, publisher: Publisher) -> None:
    publisher.publish(*EVENT, occurred=datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC))
    publisher.publish(*EVENT, occurred=Reading(7, 8))
    publisher.flush(PATIENCE_S)
    first, second = (event.occurred for batch in fake.batches for event in batch.events)
    assert (first.wall_us, first.HasField("steady_us")) == (5_000_000, False)
    assert (second.wall_us, second.steady_us) == (7, 8)


def test_echoes_the_token_of_the_last_reply(fake: FakeIngest, publisher: Publisher) -> None:
    for _ in range(3):
        publisher.publish(*EVENT).result(PATIENCE_S)
    assert [request.clock_token for request in fake.requests] == [b"", b"token-1", b"token-2", b"token-3"]
    assert [request.reply_received.steady_us for request in fake.requests] == [0, 11, 11, 11]


def test_device_without_steady_clock(fake: FakeIngest) -> None:
    with Publisher(fake.address, "d1", security=Plaintext(), clocks=StoppedClocks(None)) as publisher:
        publisher.publish(*EVENT)
    batch = fake.batches[0]
    assert not batch.sent.HasField("steady_us")
    assert not batch.reply_received.HasField("steady_us")
    assert not batch.events[0].occurred.HasField("steady_us")


def test_lost_reply_is_resent_and_answered_as_duplicate(fake: FakeIngest, publisher: Publisher) -> None:
    fake.lose_replies()
    assert publisher.publish(*EVENT).result(PATIENCE_S).status is Status.DUPLICATE
    assert len(fake.batches) == 2
    assert publisher.stats.resent == publisher.stats.duplicates == publisher.stats.acknowledged == 1


@pytest.mark.parametrize(
    "code", [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED]
)
def test_transient_failures_are_tried_again(fake: FakeIngest, publisher: Publisher, code: grpc.StatusCode) -> None:
    fake.fail_next(code, times=3, retry_after_ms=1)
    assert publisher.publish(*EVENT).result(PATIENCE_S).status is Status.ACCEPTED
    assert publisher.stats.resent == 3


@pytest.mark.parametrize("code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNAUTHENTICATED])
def test_final_failures_carry_the_servers_words(
    fake: FakeIngest, transport: TransportName, code: grpc.StatusCode
) -> None:
    publisher = Publisher(fake.address, "d1", security=Plaintext(), settings=quick(), transport=transport)
    fake.fail_next(code, "attributes of what?")
    pending = publisher.publish(*EVENT)
    with pytest.raises(BatchRejectedError, match=f"{code.name}: attributes of what"):
        pending.result(PATIENCE_S)
    assert isinstance(pending.exception(), BatchRejectedError)
    assert publisher.publish(*EVENT).result(PATIENCE_S).delivered
    with pytest.raises(UndeliveredError, match="1 event was not delivered; first: the server answered"):
        publisher.close()


def test_blocks_while_the_buffer_is_full(fake: FakeIngest) -> None:
    with Publisher(
        fake.address, "d1", security=Plaintext(), settings=quick(buffer_events_max=3, block_timeout_s=PATIENCE_S)
    ) as publisher:
        with fake.hold():
            for _ in range(3):
                publisher.publish(*EVENT)
            blocked = threading.Thread(target=publisher.publish, args=EVENT)
            blocked.start()
            assert publisher.stats.buffered == 3
        blocked.join(PATIENCE_S)
        assert not blocked.is_alive()
    assert [seq for _, seq in fake.identities("d1")] == [1, 2, 3, 4]


def test_raises_when_it_blocked_long_enough(fake: FakeIngest) -> None:
    settings = quick(buffer_events_max=1, block_timeout_s=0.01)
    with Publisher(fake.address, "d1", security=Plaintext(), settings=settings) as publisher, fake.hold():
        publisher.publish(*EVENT)
        with pytest.raises(BufferFullError, match=r"no room in the buffer \(1 events.*block_timeout_s = 0.01"):
            publisher.publish(*EVENT)


def test_drops_and_counts_when_told_to(fake: FakeIngest) -> None:
    settings = quick(buffer_events_max=2, when_full="drop")
    with Publisher(fake.address, "d1", security=Plaintext(), settings=settings) as publisher:
        with fake.hold():
            pending = [publisher.publish(*EVENT) for _ in range(5)]
        publisher.flush(PATIENCE_S)
        with pytest.raises(EventDroppedError):
            pending[4].result()
        assert (publisher.stats.dropped, publisher.stats.acknowledged) == (3, 2)
        assert publisher.publish(*EVENT).result(PATIENCE_S).seq == 3


def test_event_that_no_batch_can_hold(publisher: Publisher) -> None:
    with pytest.raises(EventTooLargeError, match=r"post\.created takes 2000"):
        publisher.publish("post.created", data=b"x" * 2_000_000)


def test_flush_says_when_it_takes_too_long(fake: FakeIngest, publisher: Publisher) -> None:
    with fake.hold():
        pending = publisher.publish(*EVENT)
        with pytest.raises(FlushTimeoutError, match=r"1 event is still under way after 0\.01 s"):
            publisher.flush(0.01)
        with pytest.raises(TimeoutError, match=r"event 1 is still under way after 0.01 s"):
            pending.result(0.01)
    publisher.flush(PATIENCE_S)
    assert pending.done()


def test_callbacks_have_run_when_flush_returns(publisher: Publisher) -> None:
    seen: list[PendingReceipt] = []
    pending = publisher.publish(*EVENT)
    pending.add_done_callback(seen.append)
    publisher.flush(PATIENCE_S)
    pending.add_done_callback(seen.append)
    assert seen == [pending, pending]


def test_callback_may_publish_and_must_not_flush(publisher: Publisher) -> None:
    outcome: list[object] = []

    def react(_: PendingReceipt) -> None:
        outcome.append(publisher.publish(*EVENT))
        try:
            publisher.flush(PATIENCE_S)
        except RuntimeError as error:
            outcome.append(str(error))

    publisher.publish(*EVENT).add_done_callback(react)
    publisher.flush(PATIENCE_S)
    assert isinstance(outcome[0], PendingReceipt)
    assert outcome[0].result(PATIENCE_S).delivered
    assert outcome[1:] in ([], ["flush() in a callback of the publisher would wait for itself"])


def test_callback_that_raises_is_logged(
    publisher: Publisher, fake: FakeIngest, caplog: pytest.LogCaptureFixture
) -> None:
    with fake.hold():
        publisher.publish(*EVENT).add_done_callback(lambda _: 1 / 0)
    publisher.flush(PATIENCE_S)
    assert publisher.publish(*EVENT).result(PATIENCE_S).delivered
    assert "ZeroDivisionError" in caplog.text


def test_refused_events_are_logged_unless_somebody_listens(
    publisher: Publisher, caplog: pytest.LogCaptureFixture
) -> None:
    publisher.publish("no.such.type").result(PATIENCE_S)
    publisher.flush(PATIENCE_S)
    assert "event 1 was refused: UNKNOWN_TYPE: type 'no.such.type' is not declared" in caplog.text


def test_close_names_what_it_could_not_deliver(fake: FakeIngest) -> None:
    publisher = Publisher(fake.address, "d1", security=Plaintext(), settings=quick())
    with fake.hold():
        pending = publisher.publish(*EVENT)
        with pytest.raises(UndeliveredError, match=r"1 event was not delivered.*closed before the event was delivered"):
            publisher.close(timeout_s=0.01)
    with pytest.raises(PublisherClosedError):
        pending.result()
    with pytest.raises(PublisherClosedError):
        publisher.publish(*EVENT)
    publisher.close()  # a second time is nothing


def test_fault_in_the_block_is_not_hidden_by_close(fake: FakeIngest) -> None:
    fake.fail_next(grpc.StatusCode.INVALID_ARGUMENT)

    def work() -> None:
        with Publisher(fake.address, "d1", security=Plaintext(), settings=quick()) as publisher:
            publisher.publish(*EVENT)
            raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        work()
    assert "1 event was not delivered" in caught.value.__notes__[0]


def test_server_that_is_not_there(transport: TransportName) -> None:
    settings = quick(delivery_timeout_s=0.2)
    publisher = Publisher("127.0.0.1:1", "d1", security=Plaintext(), settings=settings, transport=transport)
    pending = publisher.publish(*EVENT)
    said = r"\(not sent: \d+ attempts? before it failed\); the last failure was UNAVAILABLE"
    with pytest.raises(DeliveryTimeoutError, match=said):
        pending.result(PATIENCE_S)
    with pytest.raises(UndeliveredError):
        publisher.close()


def test_server_that_never_answers(fake: FakeIngest, transport: TransportName) -> None:
    settings = quick(request_timeout_s=0.05)
    with Publisher(fake.address, "d1", security=Plaintext(), settings=settings, transport=transport) as publisher:
        publisher.publish(*EVENT).result(PATIENCE_S)
        with fake.hold():
            pending = publisher.publish(*EVENT)
            with pytest.raises(TimeoutError):
                pending.result(0.3)
            assert publisher.stats.resent > 0
        assert pending.result(PATIENCE_S).delivered
    assert [seq for _, seq in fake.identities("d1")] == [1, 2]


def test_stream_keeps_the_servers_window(fake: FakeIngest) -> None:
    settings = quick(batch_events_max=2)
    with Publisher(fake.address, "d1", security=Plaintext(), settings=settings, transport="stream") as publisher:
        for _ in range(200):
            publisher.publish(*EVENT)
    assert fake.streams == 1
    assert [event.seq for batch in fake.batches for event in batch.events] == list(range(1, 201))


def test_clock_is_a_value_and_its_bound_none_where_nothing_bounds_it(fake: FakeIngest, publisher: Publisher) -> None:
    publisher.publish(*EVENT).result(PATIENCE_S)
    assert publisher.clock == ClockEstimate(method="ECHO", domain="STEADY", offset_us=0, error_bound_us=None)


def test_there_is_no_clock_before_the_first_answer(fake: FakeIngest) -> None:
    with fake.hold(), Publisher(fake.address, "d1", security=Plaintext(), settings=quick()) as publisher:
        assert publisher.clock is None


@pytest.mark.parametrize("server", ["127.0.0.1", "http://127.0.0.1:7070"])
def test_address_is_checked_at_once(server: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Publisher(server, "d1", security=Plaintext())


def test_unknown_transport_is_named(fake: FakeIngest) -> None:
    wrong: Any = "pigeon"
    with pytest.raises(ValueError, match="transport must be one of unary, stream, not 'pigeon'"):
        Publisher(fake.address, "d1", security=Plaintext(), transport=wrong)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", *names]
    subprocess.run([*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    credentials = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    with FakeIngest(credentials=credentials) as fake:
        with Publisher(fake.address, "d1", security=Tls(certificate)) as publisher:
            assert publisher.publish(*EVENT).result(PATIENCE_S).delivered
        stranger = Publisher(fake.address, "d2", security=Tls(), settings=quick(delivery_timeout_s=0.5))
        with pytest.raises(DeliveryTimeoutError):
            stranger.publish(*EVENT).result(PATIENCE_S)
        with pytest.raises(UndeliveredError):
            stranger.close()
    assert len(fake.log) == 1


def test_tls_without_its_certificate(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"roots\.pem"):
        Publisher("127.0.0.1:1", "d1", security=Tls(tmp_path / "roots.pem"))
