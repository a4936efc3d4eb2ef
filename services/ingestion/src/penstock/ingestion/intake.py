"""From a request's bytes to an answer, by way of the log.

In:  the bytes of a PublishRequest. Out: a PublishResponse, only after Kafka confirmed the batch.
The record is the request's own bytes with our Stamp appended (protobuf merges what is concatenated), so nothing is
encoded again. Everything up to handing the record to Kafka happens without waiting, in the order of arrival.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from penstock.clock import BatchClock, Floor, newest, stamp
from penstock.events.v1.event_pb2 import ClockDomain, ClockMethod
from penstock.events.v1.raw_batch_pb2 import RawBatch, RejectedBatch, Rejection
from penstock.ingest.v1.ingest_pb2 import PublishResponse
from penstock.ingestion import wire
from penstock.ingestion.clocks import ClockDesk, Observed, Session
from penstock.ingestion.errors import BadRequest, Busy, LogUnavailable
from penstock.ingestion.gate import Gate, Inspection
from penstock.ingestion.journal import Journal, Written
from penstock.ingestion.ledger import Ledger, Verdict
from penstock.ingestion.metrics import Metrics
from penstock.ingestion.tally import Tally

RAW = "events.raw.v1"
REJECTED = "events.rejected.v1"


@dataclass(frozen=True, slots=True)
class Topics:
    """Names in Kafka of the topics that ingestion writes."""

    raw: str
    rejected: str


class Intake:
    def __init__(
        self,
        *,
        gate: Gate,
        clocks: ClockDesk,
        ledger: Ledger,
        journal: Journal,
        topics: Topics,
        metrics: Metrics,
        timeout_s: float,
        now_us: Callable[[], int],
    ) -> None:
        self._gate = gate
        self._clocks = clocks
        self._ledger = ledger
        self._journal = journal
        self._topics = topics
        self._refused = metrics.requests_refused
        self._tally = Tally(metrics, gate.types)
        self._timeout_s = timeout_s
        self._now_us = now_us

    async def publish(
        self, request: bytes, *, deadline_s: float | None, traceparent: str, session: Session | None = None
    ) -> PublishResponse:
        """Raises a RequestError if the batch as a whole is not taken."""
        received_us = self._now_us()
        try:
            self._journal.admit(len(request))
            found = self._gate.inspect(request)
            observed = self._clocks.observe(found, received_us, session)
            verdict = self._ledger.judge(request, found)
            floor = self._floor(found, observed, verdict, received_us)
            writes = self._write(request, found, observed, verdict, received_us, traceparent)
            self._tally.batch(len(request), found, observed.estimate, verdict)
            written = await self._confirmed(writes, deadline_s)
        except BadRequest:
            self._refused.labels("malformed").inc()
            raise
        except Busy:
            self._refused.labels("full").inc()
            raise
        except LogUnavailable:
            self._refused.labels("log").inc()
            raise
        self._ledger.accepted(verdict)
        self._tally.accepted(observed.estimate, verdict)
        return self._answer(observed, verdict, floor, written)

    def _floor(self, found: Inspection, observed: Observed, verdict: Verdict, received_us: int) -> Floor | None:
        """The newest event of the boot, this batch included: the next batch's events are not corrected to before."""
        if verdict.newest_row < 0:
            return None
        row = found.rows[verdict.newest_row].tolist()
        clock = BatchClock.of(
            observed.estimate,
            received_us=received_us,
            sent_wall_us=found.sent.wall_us,
            sent_steady_us=found.sent.steady_us,
            drift_ppm_max=self._clocks.settings.drift_ppm_max,
        )
        steady_us = row[wire.STEADY] if row[wire.HAS_STEADY] else None
        return newest(observed.floor, row[wire.SEQ], clock.correct(row[wire.SEQ], row[wire.WALL], steady_us))

    def _write(
        self,
        request: bytes,
        found: Inspection,
        observed: Observed,
        verdict: Verdict,
        received_us: int,
        traceparent: str,
    ) -> list[asyncio.Future[Written]]:
        """Hands what there is to write to Kafka: the batch if any event passed, and the refused ones if any."""
        key = found.device_id.encode()
        writes = []
        if verdict.accepted:
            mark = stamp(
                observed.estimate,
                received_us=received_us,
                drift_ppm_max=self._clocks.settings.drift_ppm_max,
                refused=[refusal.index for refusal in verdict.refusals],
                traceparent=traceparent,
            )
            record = request + RawBatch(stamp=mark).SerializeToString()
            writes.append(self._journal.send(self._topics.raw, key, record))
        wrong = [refusal for refusal in verdict.refusals if not verdict.is_duplicate(refusal)]
        if wrong:
            rejected = RejectedBatch(
                device_id=found.device_id,
                boot_id=found.boot_id,
                received_us=received_us,
                refused_by="ingestion",
            )
            for refusal in wrong:
                at, end = found.rows[refusal.index, [wire.AT, wire.END]].tolist()
                rejected.rejections.append(
                    Rejection(
                        index=refusal.index,
                        reason=refusal.reason,
                        detail=refusal.detail,
                        event=request[at:end],
                    )
                )
            writes.append(self._journal.send(self._topics.rejected, key, rejected.SerializeToString()))
        return writes

    async def _confirmed(self, writes: list[asyncio.Future[Written]], deadline_s: float | None) -> list[Written]:
        if not writes:
            return []
        patience = self._timeout_s
        if deadline_s is not None:
            # Answer before the caller hangs up: an answer with advice is worth more than a deadline exceeded.
            patience = max(0.0, min(patience, deadline_s - max(0.05, deadline_s / 10)))
        try:
            async with asyncio.timeout(patience):
                return [await write for write in writes]
        except TimeoutError as error:
            raise LogUnavailable(
                f"Kafka did not confirm the batch within {patience:.1f} s; it may or may not be in the log: "
                "send it again with the same identities",
                retry_after_ms=1000,
            ) from error

    def _answer(
        self, observed: Observed, verdict: Verdict, floor: Floor | None, written: list[Written]
    ) -> PublishResponse:
        estimate = observed.estimate
        response = PublishResponse(
            accepted=verdict.accepted,
            refusals=verdict.refusals,
            clock_token=self._clocks.reply(observed, floor, self._now_us()),
        )
        # Set in place: messages made elsewhere would be copied.
        clock = response.clock
        clock.method = ClockMethod.ValueType(estimate.method)
        clock.domain = ClockDomain.ValueType(estimate.domain or 0)
        clock.offset_us = estimate.offset_us
        if (bound_us := estimate.error_bound_us) is not None:
            clock.error_bound_us = bound_us
        if verdict.accepted:
            response.consistency.positions.add(topic=RAW, partition=written[0].partition, offset=written[0].offset)
        return response
