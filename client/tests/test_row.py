from __future__ import annotations

from datetime import UTC, datetime

import pytest
from penstock.client.place import Place
from penstock.client.row import Lookup, RowStatus, key_text, request_of, row_of
from penstock.enrich.v1.enrich_pb2 import LookupResponse
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_MISSING,
    EnrichmentStatus,
    Position,
    RowVersion,
)


@pytest.mark.parametrize(
    ("key", "text"),
    [("ada", "ada"), ("ada/bob", "ada/bob"), (("ada", "bob"), "ada/bob"), (["a/b"], "a%2Fb"), ("a%2Fb", "a%2Fb")],
)
def test_keys(key: str | list[str], text: str) -> None:
    assert key_text(key) == text


def test_a_key_that_no_row_has() -> None:
    with pytest.raises(ValueError, match="stands for nothing"):
        key_text("50%")
    with pytest.raises(ValueError, match="at least one value"):
        key_text([])


def test_times_of_a_question() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert request_of(Lookup("t", "k", noon)) == request_of(Lookup("t", "k", 1_767_268_800_000_000))
    assert not request_of(Lookup("t", "k")).HasField("as_of_us")
    assert request_of(Lookup("t", "k", 0)).HasField("as_of_us")
    with pytest.raises(ValueError, match="no time zone"):
        request_of(Lookup("t", "k", datetime(2026, 1, 1)))


def test_a_deleted_row_has_a_version_and_a_missing_one_has_none() -> None:
    applied = [Position(topic="t", partition=n, offset=9) for n in (1, 0)]
    version = RowVersion(valid_from_us=1_767_268_800_000_000, position=b"p")
    deleted = row_of(LookupResponse(status=ENRICHMENT_STATUS_DELETED, version=version, applied=applied, stale=True))
    assert (deleted.found, deleted.status, deleted.position) == (False, RowStatus.DELETED, b"p")
    assert deleted.valid_from == datetime(2026, 1, 1, 12, tzinfo=UTC)
    assert (deleted.applied, deleted.stale) == ((Place("t", 0, 9), Place("t", 1, 9)), True)
    missing = row_of(LookupResponse(status=ENRICHMENT_STATUS_MISSING))
    assert (missing.status, missing.valid_from, missing.valid_from_us) == (RowStatus.MISSING, None, None)


def test_every_status_of_the_contract_is_known() -> None:
    known = set(EnrichmentStatus.values()) - {EnrichmentStatus.ENRICHMENT_STATUS_UNSPECIFIED}
    assert {status.value for status in RowStatus} == known
