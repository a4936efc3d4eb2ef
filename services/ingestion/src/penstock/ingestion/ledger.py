"""Judges the events of a batch: which are accepted, which are refused and why, which were accepted before.

In:  an inspected request. Out: a Verdict. After Kafka confirmed the batch, accepted() remembers its identities.
Most batches are one unbroken run of numbers never seen before: those take three comparisons, whatever their size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from penstock.events.v1.raw_batch_pb2 import RefusalReason
from penstock.ingest.v1.ingest_pb2 import Refusal
from penstock.ingestion import wire
from penstock.ingestion.gate import Gate, Inspection
from penstock.ingestion.recent import Recent

DUPLICATE = RefusalReason.REFUSAL_REASON_DUPLICATE


@dataclass(slots=True)
class Verdict:
    """What becomes of a batch. `types` counts accepted events by index of type."""

    device_id: str
    boot_id: str
    accepted: int = 0
    refusals: list[Refusal] = field(default_factory=list)
    refused_types: list[int] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    # The accepted event of this boot with the highest number; -1 if there is none.
    newest_row: int = -1
    run: tuple[int, int] | None = None
    seqs: dict[str, list[int]] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)

    @staticmethod
    def is_duplicate(refusal: Refusal) -> bool:
        return refusal.reason == DUPLICATE


class Ledger:
    def __init__(self, gate: Gate, recent: Recent) -> None:
        self._gate = gate
        self._recent = recent

    def judge(self, request: bytes, found: Inspection) -> Verdict:
        verdict = Verdict(found.device_id, found.boot_id)
        if found.run is not None and self._recent.all_new(found.device_id, found.boot_id, found.run[0]):
            verdict.accepted, verdict.run = len(found.rows), found.run
            verdict.newest_row = len(found.rows) - 1
        else:
            self._judge_each(request, found, verdict)
        self._count_types(found, verdict)
        return verdict

    def _judge_each(self, request: bytes, found: Inspection, verdict: Verdict) -> None:
        seen_here: set[tuple[str, int] | str] = set()
        for index, row in enumerate(found.rows.tolist()):
            if row[wire.CODE] == wire.PASS and self._is_repeat(request, found, row, seen_here, verdict):
                found.rows[index, wire.CODE] = row[wire.CODE] = DUPLICATE
            if row[wire.CODE] != wire.PASS:
                detail = self._gate.detail(request, row)
                verdict.refusals.append(
                    Refusal(index=index, reason=RefusalReason.ValueType(row[wire.CODE]), detail=detail)
                )
                verdict.refused_types.append(row[wire.TYPE])
                continue
            verdict.accepted += 1
            newest = found.rows[verdict.newest_row, wire.SEQ] if verdict.newest_row >= 0 else 0
            if row[wire.SEQ] > newest and not row[wire.OTHER_BOOT]:
                verdict.newest_row = index

    def _is_repeat(
        self,
        request: bytes,
        found: Inspection,
        row: list[int],
        seen_here: set[tuple[str, int] | str],
        verdict: Verdict,
    ) -> bool:
        """Whether the event's identity was accepted before, or stands in this batch already."""
        identity: tuple[str, int] | str
        if row[wire.SEQ]:
            at, size = row[wire.ROW_BOOT_AT], row[wire.ROW_BOOT_LEN]
            boot_id = request[at : at + size].decode() if row[wire.OTHER_BOOT] else found.boot_id
            identity = (boot_id, row[wire.SEQ])
            if identity in seen_here or self._recent.has_seq(found.device_id, boot_id, row[wire.SEQ]):
                return True
            verdict.seqs.setdefault(boot_id, []).append(row[wire.SEQ])
        else:
            at, size = row[wire.ID_AT], row[wire.ID_LEN]
            identity = request[at : at + size].decode()
            if identity in seen_here or self._recent.has_id(found.device_id, identity):
                return True
            verdict.ids.append(identity)
        seen_here.add(identity)
        return False

    @staticmethod
    def _count_types(found: Inspection, verdict: Verdict) -> None:
        if verdict.accepted == 0:
            return
        kinds = found.rows[:, wire.TYPE]
        if verdict.accepted < len(found.rows):
            kinds = kinds[found.rows[:, wire.CODE] == wire.PASS]
        verdict.types = np.bincount(kinds).tolist()

    def accepted(self, verdict: Verdict) -> None:
        """Kafka holds them: from now on they are duplicates."""
        if verdict.run is not None:
            lowest, highest = verdict.run
            if self._recent.all_new(verdict.device_id, verdict.boot_id, lowest):
                self._recent.add_range(verdict.device_id, verdict.boot_id, lowest, highest)
            else:  # another batch overtook this one
                self._recent.add_seqs(verdict.device_id, verdict.boot_id, range(lowest, highest + 1))
        for boot_id, seqs in verdict.seqs.items():
            self._recent.add_seqs(verdict.device_id, boot_id, seqs)
        if verdict.ids:
            self._recent.add_ids(verdict.device_id, verdict.ids)
