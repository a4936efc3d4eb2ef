import pytest
from penstock.demo.profiles import Change, Kind, Profile
from penstock.demo.truth import Truth, Valid
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_HISTORY_EVICTED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
)

ANN, BEN = Profile("ann", "Ann", "DE", "pro"), Profile("ben", "Ben", "US", "free")


@pytest.fixture
def truth() -> Truth:
    """Ann was there from the beginning, 100, and changed at 200. Ben came at 300 and was deleted at 400."""
    truth = Truth()
    truth.begin_with("ann", ANN.columns, 100)
    truth.committed(Change(Kind.UPDATE, (ANN._replace(plan="free"),)), 200)
    truth.committed(Change(Kind.INSERT, (BEN,)), 300)
    truth.committed(Change(Kind.DELETE, (BEN,)), 400)
    return truth


@pytest.mark.parametrize(("t_us", "plan", "since_us"), [(100, "pro", 100), (199, "pro", 100), (200, "free", 200)])
def test_a_version_is_valid_from_its_commit_until_the_next(truth: Truth, t_us: int, plan: str, since_us: int) -> None:
    assert truth.as_of("ann", t_us) == Valid(ENRICHMENT_STATUS_MATCHED, ANN._replace(plan=plan).columns, since_us)


def test_before_the_snapshot_nobody_knows(truth: Truth) -> None:
    assert truth.as_of("ann", 99).status == ENRICHMENT_STATUS_HISTORY_EVICTED


def test_before_the_insert_there_was_nothing(truth: Truth) -> None:
    assert truth.as_of("ben", 299).status == ENRICHMENT_STATUS_MISSING
    assert truth.as_of("cyd", 999).status == ENRICHMENT_STATUS_MISSING


def test_a_deleted_row_says_since_when(truth: Truth) -> None:
    assert truth.as_of("ben", 400) == Valid(ENRICHMENT_STATUS_DELETED, {}, 400)


def test_what_is_now(truth: Truth) -> None:
    assert {user: valid.status for user, valid in truth.now().items()} == {
        "ann": ENRICHMENT_STATUS_MATCHED,
        "ben": ENRICHMENT_STATUS_DELETED,
    }
    assert (truth.changes, str(truth.newest)) == (dict.fromkeys(Kind, 1), "DELETE ben")


def test_while_a_change_is_under_way_nothing_is_known_since_it_began(truth: Truth) -> None:
    assert truth.known_until_us(1_000) == 1_000
    truth.begin(900)
    assert truth.known_until_us(1_000) == 900
    truth.committed(Change(Kind.INSERT, (BEN,)), 950)
    assert truth.known_until_us(1_000) == 1_000
