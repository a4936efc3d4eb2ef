from penstock.demo.enriched import EnrichedObserver, sighting_of
from penstock.demo.histogram import Histogram
from penstock.demo.joins import Joins
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.sightings import Sightings
from penstock.demo.truth import Truth
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
    Clock,
    DeviceTime,
    Enrichment,
    EnrichmentStatus,
    Event,
)
from penstock.pipeline import load

NOW_US = 1_790_000_000_000_000
ONE = Identity("device-0001", "boot-1", 1)


def event(
    status: EnrichmentStatus.ValueType = ENRICHMENT_STATUS_MISSING, revision: int = 0, device_id: str = ONE.device_id
) -> Event:
    columns = {"plan": "pro", "country": "DE"} if status == ENRICHMENT_STATUS_MATCHED else {}
    return Event(
        type="page.viewed",
        device_id=device_id,
        boot_id=ONE.boot_id,
        seq=ONE.seq,
        occurred=DeviceTime(wall_us=NOW_US - 60),
        attributes={"user": "ann", "page": "/"},
        clock=Clock(corrected_us=NOW_US - 50, error_bound_us=7, received_us=NOW_US - 40),
        enrichments=[Enrichment(name="user", table="profiles", key="ann", status=status, columns=columns)],
        revision=revision,
    )


def observer() -> EnrichedObserver:
    ledger = Ledger()
    ledger.make(ONE, NOW_US)
    return EnrichedObserver(ledger, Joins(load(), Truth()), Sightings(), Histogram(), lambda: NOW_US)


def test_an_event_is_counted_once_and_its_corrections_apart() -> None:
    watching = observer()
    watching.take(event().SerializeToString())
    watching.take(event(revision=1).SerializeToString())
    watching.joins.judge(NOW_US)
    assert (watching.ledger.enriched, watching.ledger.doubled) == (1, 0)
    assert (watching.joins.judged, watching.joins.corrections, watching.joins.wrong) == (1, 1, 0)
    assert (watching.fresh_us.count, watching.fresh_us.greatest) == (1, 40)


def test_the_same_event_as_first_emitted_twice_is_doubled() -> None:
    watching = observer()
    for _ in range(2):
        watching.take(event().SerializeToString())
    assert watching.ledger.doubled == 1


def test_guests_are_shown_and_not_judged() -> None:
    watching = observer()
    watching.take(event(device_id="cli-laptop").SerializeToString())
    assert [seen.is_guest for seen in watching.sightings.newest] == [True]
    assert (watching.ledger.enriched, watching.ledger.doubled, watching.joins.unjudged) == (0, 0, 0)


def test_what_the_demo_publishes_itself_is_neither_shown_nor_judged() -> None:
    watching = observer()
    watching.take(event(device_id="demo-probe").SerializeToString())
    assert not watching.sightings.newest
    assert (watching.ledger.enriched, watching.ledger.doubled, watching.joins.unjudged) == (0, 0, 0)


def test_what_was_joined_with_nothing_is_not_worth_showing() -> None:
    watching = observer()
    bare = event()
    bare.ClearField("enrichments")
    watching.take(bare.SerializeToString())
    assert not watching.sightings.newest
    watching.take(event(revision=1).SerializeToString())
    assert len(watching.sightings.newest) == 1


def test_a_sighting_says_what_the_event_was_joined_with() -> None:
    seen = sighting_of(event(ENRICHMENT_STATUS_MATCHED, revision=2), is_guest=False)
    assert (seen.joined, seen.revision, seen.bound_us, seen.claimed_us) == ("ann: pro, DE", 2, 7, NOW_US - 60)
    assert sighting_of(event(), is_guest=True).joined == "ann: missing"
    unjoined = sighting_of(Event(type="search.made"), is_guest=False)
    assert (unjoined.joined, unjoined.bound_us) == ("–", None)
