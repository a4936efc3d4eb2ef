import pytest
from penstock.demo.joins import Joins
from penstock.demo.ledger import Identity
from penstock.demo.profiles import Change, Kind, Profile
from penstock.demo.truth import Truth
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_HISTORY_EVICTED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    Clock,
    Enrichment,
    EnrichmentStatus,
    Event,
    RowVersion,
)
from penstock.pipeline import load

ANN = Profile("ann", "Ann", "DE", "pro")
NOW_US = 10_000


def identity(seq: int) -> Identity:
    return Identity("device-0001", "boot-1", seq)


def event(
    t_us: int,
    status: EnrichmentStatus.ValueType = ENRICHMENT_STATUS_MATCHED,
    plan: str | None = "pro",
    since_us: int = 100,
    *,
    revision: int = 0,
    key: str = "ann",
) -> Event:
    columns = {} if plan is None else {"country": "DE", "plan": plan}
    version = RowVersion(valid_from_us=since_us) if since_us else None
    joined = Enrichment(name="user", table="profiles", key=key, status=status, columns=columns, version=version)
    return Event(
        type="page.viewed",
        attributes={"user": "ann", "page": "/"},
        clock=Clock(corrected_us=t_us),
        enrichments=[joined],
        revision=revision,
    )


@pytest.fixture
def truth() -> Truth:
    """In the snapshot since 100, another plan since 200, deleted since 300."""
    truth = Truth()
    truth.begin_with("ann", ANN.columns, 100)
    truth.committed(Change(Kind.UPDATE, (ANN._replace(plan="free"),)), 200)
    truth.committed(Change(Kind.DELETE, (ANN,)), 300)
    return truth


@pytest.fixture
def joins(truth: Truth) -> Joins:
    return Joins(load(), truth)


def wrong_after(joins: Joins, *events: Event) -> int:
    for seen in events:
        joins.take(identity(1), seen)
    joins.judge(NOW_US)
    assert joins.unjudged == 0
    return joins.wrong


@pytest.mark.parametrize(
    "right",
    [
        event(99, ENRICHMENT_STATUS_HISTORY_EVICTED, None, 0),
        event(100),
        event(199),
        event(200, plan="free", since_us=200),
        event(300, ENRICHMENT_STATUS_DELETED, None, 300),
        Event(type="search.made", attributes={"session": "s"}, clock=Clock(corrected_us=100)),
    ],
)
def test_what_agrees_with_the_truth_is_right(joins: Joins, right: Event) -> None:
    assert wrong_after(joins, right) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        event(99),
        event(200),
        event(150, plan="free"),
        event(150, since_us=101),
        event(150, key="ben"),
        event(150, ENRICHMENT_STATUS_MISSING, None, 0),
        event(300, ENRICHMENT_STATUS_DELETED, None, 299),
        Event(type="page.viewed", attributes={"user": "ann"}, clock=Clock(corrected_us=150)),
        Event(type="search.made", clock=Clock(corrected_us=150), enrichments=event(150).enrichments),
    ],
)
def test_what_does_not_is_wrong(joins: Joins, wrong: Event) -> None:
    assert wrong_after(joins, wrong) == 1
    assert "device-0001 seq 1 revision 0: " in str(joins.example)


def test_a_correction_makes_it_right(joins: Joins) -> None:
    corrected = event(200, plan="free", since_us=200, revision=1)
    assert wrong_after(joins, event(200), corrected) == 0
    assert (joins.judged, joins.corrections, joins.example) == (1, 1, None)


def test_a_correction_can_make_it_wrong(joins: Joins) -> None:
    assert wrong_after(joins, event(150), event(150, plan="free", since_us=200, revision=1)) == 1


def test_it_is_judged_when_all_about_its_time_is_known(joins: Joins, truth: Truth) -> None:
    truth.begin(5_000)
    joins.take(identity(1), event(6_000, ENRICHMENT_STATUS_DELETED, None, 300))
    joins.judge(NOW_US)
    assert (joins.judged, joins.unjudged) == (0, 1)
    truth.committed(Change(Kind.INSERT, (ANN,)), 5_500)
    joins.judge(NOW_US)
    assert (joins.judged, joins.unjudged, joins.wrong) == (1, 0, 1)


def test_joins_are_counted_as_first_emitted(joins: Joins) -> None:
    wrong_after(joins, event(300), event(300, ENRICHMENT_STATUS_DELETED, None, 300, revision=1))
    assert joins.by_status == {"matched": 1, "missing": 0, "deleted": 0, "history evicted": 0}


def test_what_is_too_much_to_be_judged_counts_as_wrong(truth: Truth) -> None:
    joins = Joins(load(), truth, waiting_max=1, wrong_max=1)
    for seq in (1, 2):
        joins.take(identity(seq), event(150))
    joins.judge(NOW_US)
    assert (joins.judged, joins.wrong) == (1, 1)
    for seq in (3, 4):
        joins.take(identity(seq), event(200))
        joins.judge(NOW_US)
    assert (joins.judged, joins.wrong) == (3, 3)
