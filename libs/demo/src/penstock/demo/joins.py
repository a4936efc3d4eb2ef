"""Judges every join against the truth, and counts what joins found.

In:  enriched events in the log's order, any number of revisions of each; the truth, which comes in beside them.
Out: joins by status as first emitted, corrections, and how many events' newest revision is wrong *now*. While a change
     is on its way from the database, some are; each has to be corrected, and at the end none may be left.
A join is right if status, columns and the version's time are those of the truth. It is judged once all that was
committed before the event's time is known. Bounded: `waiting_max` wait for that, `wrong_max` for their correction.
"""

from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple

from penstock.demo.ledger import Identity
from penstock.demo.truth import Truth, Valid
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_HISTORY_EVICTED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    Enrichment,
    Event,
)
from penstock.pipeline import Pipeline

TABLE = "profiles"
WAITING_MAX = 200_000
WRONG_MAX = 200_000
STATUS_TEXTS = {
    ENRICHMENT_STATUS_MATCHED: "matched",
    ENRICHMENT_STATUS_MISSING: "missing",
    ENRICHMENT_STATUS_DELETED: "deleted",
    ENRICHMENT_STATUS_HISTORY_EVICTED: "history evicted",
}


class _Expected(NamedTuple):
    """One enrichment of pipeline.yaml: its name, the attribute with the row's key, the columns that are copied."""

    name: str
    on: str
    columns: frozenset[str]


class _Found(NamedTuple):
    """What one revision of an event says."""

    identity: Identity
    revision: int
    type: str
    keys: tuple[str, ...]
    t_us: int
    enrichments: Sequence[Enrichment]


class Joins:
    def __init__(
        self, pipeline: Pipeline, truth: Truth, *, waiting_max: int = WAITING_MAX, wrong_max: int = WRONG_MAX
    ) -> None:
        self._expected = _expected(pipeline)
        self._truth = truth
        self._waiting: deque[_Found] = deque()
        self._wrong: dict[Identity, _Found] = {}
        self._waiting_max, self._wrong_max = waiting_max, wrong_max
        self.by_status: Counter[str] = Counter(dict.fromkeys(STATUS_TEXTS.values(), 0))
        self.corrections = 0
        self.judged = 0
        # Too many at once to be judged, or to be remembered until their correction: they count as wrong.
        self.given_up = 0

    def take(self, identity: Identity, event: Event) -> None:
        """One record of the enriched log."""
        self.corrections += event.revision > 0
        expected = self._expected.get(event.type, ())
        if not expected and not event.enrichments:
            return
        if event.revision == 0:
            for one in event.enrichments:
                self.by_status[STATUS_TEXTS.get(one.status, "unknown")] += 1
        if len(self._waiting) >= self._waiting_max:
            self.given_up += 1
            return
        keys = tuple(event.attributes.get(one.on, "") for one in expected)
        t_us = event.clock.corrected_us
        self._waiting.append(_Found(identity, event.revision, event.type, keys, t_us, event.enrichments))

    def judge(self, now_us: int) -> None:
        """Those about whose time all is known; the others keep their place, so that revisions stay in order."""
        known_us = self._truth.known_until_us(now_us)
        while self._waiting and self._waiting[0].t_us < known_us:
            self._judge(self._waiting.popleft())

    @property
    def wrong(self) -> int:
        """Events whose newest revision is not right (yet)."""
        return len(self._wrong) + self.given_up

    @property
    def unjudged(self) -> int:
        return len(self._waiting)

    @property
    def example(self) -> str | None:
        """One that is wrong, in words."""
        return next((self._describe(found) for found in self._wrong.values()), None)

    def _judge(self, found: _Found) -> None:
        self.judged += found.revision == 0
        if self._is_right(found):
            self._wrong.pop(found.identity, None)
        elif found.identity in self._wrong or len(self._wrong) < self._wrong_max:
            self._wrong[found.identity] = found
        else:
            self.given_up += 1

    def _is_right(self, found: _Found) -> bool:
        expected = self._expected.get(found.type, ())
        return len(found.enrichments) == len(expected) and all(
            one.name == want.name and one.table == TABLE and one.key == key and _agrees(one, want, valid)
            for one, want, key, valid in zip(found.enrichments, expected, found.keys, self._valid(found), strict=True)
        )

    def _valid(self, found: _Found) -> list[Valid]:
        return [self._truth.as_of(key, found.t_us) for key in found.keys]

    def _describe(self, found: _Found) -> str:
        said = ", ".join(f"{STATUS_TEXTS.get(one.status, '?')} {dict(one.columns)}" for one in found.enrichments)
        true = ", ".join(f"{STATUS_TEXTS[valid.status]} {dict(valid.columns)}" for valid in self._valid(found))
        where = f"{found.identity.device_id} seq {found.identity.seq} revision {found.revision}"
        return f"{where}: {said or 'nothing'}; true: {true or 'nothing'}"


def _agrees(one: Enrichment, want: _Expected, valid: Valid) -> bool:
    columns = {name: value for name, value in valid.columns.items() if name in want.columns}
    return one.status == valid.status and dict(one.columns) == columns and one.version.valid_from_us == valid.since_us


def _expected(pipeline: Pipeline) -> dict[str, tuple[_Expected, ...]]:
    return {
        kind: tuple(
            _Expected(one.name, one.on[0], frozenset(one.columns or ())) for one in pipeline.enrichments_of(kind)
        )
        for kind in pipeline.event_types
    }
