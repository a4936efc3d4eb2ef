"""The events of one device between `publish` and their acknowledgement.

In:  events to send; answers, failures and the passing of time.
Out: the next step (send this batch, wait until then, give up the stream), and settled events.
Guaranteed:
- an event gets its number once, when it is taken in, and keeps it over every resend;
- batches leave in the order of the numbers; with a window of one, they also arrive in it;
- every event taken in is settled exactly once: acknowledged, or given up with an error;
- what is not settled never exceeds the bounds of the buffer, in events and in bytes.
Pure: time is an argument (`now_us`, any steady clock), so are the device's readings and chance.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

from penstock.client.attempt import Attempt, Reset, Send, Step, Wait, Window
from penstock.client.batch import Answer, Batch
from penstock.client.buffer import Buffer
from penstock.client.encoding import set_echo, set_sent
from penstock.client.errors import (
    BatchRejectedError,
    DeliveryTimeoutError,
    EventDroppedError,
    FlushTimeoutError,
    PenstockError,
)
from penstock.client.estimate import ClockEstimate, estimate_of
from penstock.client.excerpt import excerpt
from penstock.client.reading import Reading
from penstock.client.retry import RETRIED_EXCHANGE, Backoff, Failure, may_retry
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Tally
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_DUPLICATE
from penstock.ingest.v1.ingest_pb2 import PublishRequest, PublishResponse

# The opening clock exchange makes the first batch's times exact; it is not worth a long wait.
_EXCHANGE_TIMEOUT_US = 2_000_000
_DEVICE_ID_BYTES_MAX = 128


class Outbox:
    """Batches under way and batches to be sent again. Not thread-safe: its owner is."""

    def __init__(self, device_id: str, boot_id: str, settings: PublisherSettings, random: Callable[[], float]) -> None:
        size = len(device_id.encode())
        if not 0 < size <= _DEVICE_ID_BYTES_MAX:
            raise ValueError(
                f"device_id must have 1 to {_DEVICE_ID_BYTES_MAX} bytes, and {excerpt(device_id)!r} has {size}"
            )
        self.device_id, self.boot_id = device_id, boot_id
        self.tally = Tally()
        self.buffer = Buffer(settings, self.tally)
        self.clock: ClockEstimate | None = None
        self._request_timeout_us = int(settings.request_timeout_s * 1e6)
        self._delivery_timeout_s = settings.delivery_timeout_s
        self._backoff = Backoff(int(settings.retry_initial_s * 1e6), int(settings.retry_max_s * 1e6))
        self._random = random
        self._head = PublishRequest(device_id=device_id, boot_id=boot_id)
        self._resend: list[Batch] = []  # ascending by number, and so by expiry
        self._in_flight: dict[int, Attempt] = {}
        self._window = Window()
        self._attempts = 0
        self._failures = 0
        self._last_failure: Failure | None = None
        self._not_before_us = 0
        self._exchange_due = True

    def settled_through(self) -> int:
        """Every event up to this number is settled."""
        firsts = [attempt.batch.first_seq for attempt in self._in_flight.values() if attempt.batch.count]
        firsts += [batch.first_seq for batch in [*self._resend[:1], self.buffer.oldest()] if batch is not None]
        return min(firsts, default=self.buffer.last_seq + 1) - 1

    def under_way(self, attempt: Attempt) -> bool:
        """It was neither answered nor given up."""
        return attempt.id in self._in_flight

    def next(self, now_us: int) -> Step:
        """What the sender is to do now. What a `Send` names counts as under way from here on."""
        overdue = next((a for a in self._in_flight.values() if a.deadline_us <= now_us), None)
        if overdue is not None:
            return Reset(f"no answer within {(now_us - overdue.started_us) // 1000} ms")
        if now_us < self._not_before_us:
            return self._wait(self._not_before_us)
        if self._exchange_due:
            return self._wait() if self._in_flight else self._send(Batch(0, now_us, now_us), now_us)
        if len(self._in_flight) >= self._window.batches:
            return self._wait()
        due_us = now_us if self._resend else self.buffer.due_us()
        if due_us is None or due_us > now_us:
            return self._wait(due_us)
        return self._send_if_room(now_us)

    def _wait(self, moment_us: int | None = None) -> Wait:
        """Until then, or until something happens by itself: an answer is overdue, an event expires."""
        times = [attempt.deadline_us for attempt in self._in_flight.values()]
        times += [batch.expires_us for batch in [*self._resend[:1], self.buffer.oldest()] if batch is not None]
        times += [] if moment_us is None else [moment_us]
        return Wait(min(times, default=None))

    def _send_if_room(self, now_us: int) -> Step:
        if not self._resend:
            self._resend.append(self.buffer.take())
        under_way = sum(attempt.batch.size for attempt in self._in_flight.values())
        if under_way and under_way + self._resend[0].size > self._window.bytes:
            return self._wait()
        return self._send(self._resend.pop(0), now_us)

    def _send(self, batch: Batch, now_us: int) -> Send:
        if batch.count:
            deadline_us = min(now_us + self._request_timeout_us, batch.expires_us)
        else:
            deadline_us = now_us + min(self._request_timeout_us, _EXCHANGE_TIMEOUT_US)
        self._attempts += 1
        attempt = Attempt(self._attempts, batch, now_us, deadline_us)
        self._in_flight[attempt.id] = attempt
        self.tally.sent_batch(batch.count, again=batch.attempts > 0)
        batch.attempts += 1
        return Send(attempt)

    def request(self, attempt: Attempt, sent: Reading) -> bytes:
        """The bytes of a PublishRequest for this attempt, sent now."""
        set_sent(self._head, sent)
        return self._head.SerializeToString() + attempt.batch.body

    # What comes back. Each returns the batches that it settled.

    def answered(self, attempt: Attempt, response: PublishResponse, now_us: int, arrived: Reading) -> list[Batch]:
        """The server took the batch."""
        if response.clock_token:
            set_echo(self._head, response.clock_token, arrived)
        if attempt.id not in self._in_flight:  # given up meanwhile; its resend will be answered as duplicate
            return []
        fault = _unaccounted(attempt.batch, response)
        if fault is not None:
            return self.failed(attempt, fault, now_us)
        del self._in_flight[attempt.id]
        self._exchange_due, self._failures, self._last_failure = False, 0, None
        self.clock = estimate_of(response) or self.clock
        return self._acknowledge(attempt.batch, response)

    def _acknowledge(self, batch: Batch, response: PublishResponse) -> list[Batch]:
        token = response.consistency if response.HasField("consistency") else None
        refusals = {refusal.index: refusal for refusal in response.refusals}
        duplicates = sum(refusal.reason == REFUSAL_REASON_DUPLICATE for refusal in refusals.values())
        self.tally.acknowledged_batch(batch.count, duplicates, len(refusals) - duplicates, batch.size)
        batch.settle(Answer(self.device_id, self.boot_id, token, refusals))
        return [batch] if batch.count else []

    def failed(self, attempt: Attempt, failure: Failure, now_us: int) -> list[Batch]:
        """An attempt failed: its batch is tried again later, or given up."""
        if self._in_flight.pop(attempt.id, None) is None:
            return []
        batch, retry = attempt.batch, may_retry(failure)
        self._last_failure = failure
        if batch.count and not retry:
            return self._give_up([batch], BatchRejectedError(failure.code_name, failure.detail))
        if batch.count:
            insort(self._resend, batch, key=lambda b: b.first_seq)
        else:
            self._exchange_due = retry and failure.code in RETRIED_EXCHANGE
        if retry:
            self._failures += 1
            pause_us = self._backoff.pause_us(self._failures, failure.retry_after_us, self._random())
            self._not_before_us = max(self._not_before_us, now_us + pause_us)
        return self.expire(now_us)

    def broken(self, failure: Failure, now_us: int) -> list[Batch]:
        """The stream ended, and with it everything under way: one failure, however many batches."""
        failures = self._failures
        settled: list[Batch] = []
        for attempt in list(self._in_flight.values()):
            self._failures = failures
            settled += self.failed(attempt, failure, now_us)
        self._window = Window()
        return settled

    def open_window(self, window: Window) -> None:
        """The server said how much may be under way."""
        self._window = window
        self.buffer.limit_batches(window.bytes)

    def expire(self, now_us: int) -> list[Batch]:
        """Gives up what was tried for too long; what is under way gets its answer first."""
        settled: list[Batch] = []
        while self._resend and self._resend[0].expires_us <= now_us:
            batch = self._resend.pop(0)
            settled += self._give_up([batch], self._too_late(batch.attempts))
        return settled + self._give_up(self.buffer.take_expired(now_us), self._too_late(0))

    def drop(self) -> Batch:
        """Counts an event that found no room. It has no number and a batch of its own, already given up."""
        batch = Batch(0, 0, 0)
        batch.settle(EventDroppedError("the buffer was full and when_full is 'drop'"))
        self.tally.dropped += 1
        return batch

    def abandon(self, error: PenstockError) -> list[Batch]:
        """Gives up everything, for a publisher that ends."""
        under_way = [attempt.batch for attempt in self._in_flight.values() if attempt.batch.count]
        batches = [*under_way, *self._resend, *self.buffer.take_all()]
        self._in_flight.clear()
        self._resend.clear()
        return self._give_up(batches, error)

    def _too_late(self, attempts: int) -> DeliveryTimeoutError:
        tried = _counted(attempts) if attempts else self._not_sent()
        return DeliveryTimeoutError(
            f"not acknowledged within delivery_timeout_s = {self._delivery_timeout_s:g} ({tried}){self._last_words()}"
        )

    def _not_sent(self) -> str:
        """Of a batch that never left: what stood before it, a clock exchange or another batch, did not get through."""
        return f"not sent: {_counted(self._failures)} before it failed" if self._failures else "not sent"

    def not_flushed(self, timeout_s: float | None) -> FlushTimeoutError:
        """What to say when flushing took too long."""
        count = f"{self.tally.buffered} event{' is' if self.tally.buffered == 1 else 's are'}"
        return FlushTimeoutError(f"{count} still under way after {timeout_s:g} s{self._last_words()}")

    def _last_words(self) -> str:
        return f"; the last failure was {self._last_failure}" if self._last_failure else ""

    def _give_up(self, batches: list[Batch], error: PenstockError) -> list[Batch]:
        for batch in batches:
            batch.settle(error)
            self.tally.gave_up(batch.count, batch.size, error)
        return batches


def _counted(attempts: int) -> str:
    return f"{attempts} attempt{'' if attempts == 1 else 's'}"


def _unaccounted(batch: Batch, response: PublishResponse) -> Failure | None:
    """An answer must account for every event, or it acknowledges nothing."""
    indexes = {refusal.index for refusal in response.refusals}
    total = response.accepted + len(indexes)
    if total == batch.count and all(index < batch.count for index in indexes):
        return None
    return Failure.unknown(f"the answer accounts for {total} of {batch.count} events; is this an ingestion service?")
