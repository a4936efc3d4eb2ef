from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from penstock.events.v1.event_pb2 import (
    ENRICHMENT_STATUS_DELETED,
    ENRICHMENT_STATUS_MATCHED,
    ENRICHMENT_STATUS_MISSING,
)
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.pipeline import load

NOW_US = 1_800_000_000_000_000
MINUTE_US = 60_000_000
ROWS = 200


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("enrich_data")


def test_the_oracle_knows_the_past_of_a_row(data: ModuleType) -> None:
    oracle = data.Oracle(data.changes(ROWS, NOW_US))
    changed, gone = data.key_of(3), data.key_of(151)
    before, after = oracle.as_of(changed, NOW_US - 31 * MINUTE_US), oracle.as_of(changed, NOW_US - 30 * MINUTE_US)
    assert (before.columns["name"], after.columns["name"]) == ("Dörte of 3, as 0", "Dörte of 3, as 1")
    assert oracle.as_of(gone, NOW_US - 16 * MINUTE_US).status == ENRICHMENT_STATUS_MATCHED
    assert oracle.as_of(gone, NOW_US).status == ENRICHMENT_STATUS_DELETED
    assert oracle.as_of(changed, 0).status == ENRICHMENT_STATUS_MISSING
    assert oracle.as_of("nobody", NOW_US).status == ENRICHMENT_STATUS_MISSING


def test_events_are_what_the_social_pipeline_declares(data: ModuleType) -> None:
    pipeline = load(None)
    for shape in data.SHAPES.values():
        declared = pipeline.event_types[shape.event_type]
        assert set(declared.required) <= shape.attributes(1, ROWS).keys()
        assert declared.key == shape.on
        (enrichment,) = pipeline.enrichments_of(shape.event_type)
        assert (enrichment.on, set(enrichment.columns or ())) == ((shape.on,), set(shape.columns))
        table = pipeline.tables[declared.upserts.table] if declared.upserts is not None else None
        assert shape.row_key == (table.key if table is not None else ())
        assert table is None or set(shape.row_columns) <= set(table.columns or ())


def test_no_event_is_sent_twice_and_devices_number_theirs_without_gaps(data: ModuleType) -> None:
    batches = data.DEVICES + 1
    sent = [
        PublishRequest.FromString(request)
        for run in (0, 1)
        for request in data.requests(data.POSTS, run, batches, ROWS, NOW_US)
    ]
    seqs = [event.seq for request in sent for event in request.events]
    assert len(set(seqs)) == len(seqs) == 2 * batches * data.BATCH
    first, again = sent[0], sent[data.DEVICES]
    assert first.device_id == again.device_id
    assert again.events[0].seq == first.events[-1].seq + 1
    times = [event.occurred.wall_us for event in [*first.events, *again.events]]
    assert times == sorted(times)
    assert NOW_US - 60 * MINUTE_US <= times[0] < times[-1] < NOW_US
