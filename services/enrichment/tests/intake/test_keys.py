import json
from typing import Any

import pytest
from penstock.enrichment.intake import KeylessTableError, KeyMismatchError, Position, check_key
from penstock.enrichment.intake.envelope import RecordKey
from penstock.enrichment.intake.keys import KEY_BYTES_MAX, row_key_of
from penstock.enrichment.intake.outcome import RefusedError
from penstock.pipeline import Table
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_NO_KEY, CHANGE_REFUSAL_TOO_LARGE

PLACE = Position("cdc.app.profiles", 2, 30)
TABLE = Table.model_validate({"source": {"debezium": {"topic": "cdc.app.profiles"}}, "key": "id"})
ROW = json.dumps({"op": "c", "after": {"id": 1}, "source": {"lsn": 1, "ts_us": 1}}).encode()


def key_of(columns: dict[str, Any], *names: str) -> str:
    return row_key_of(RecordKey(columns, {}), names)


def test_keys_are_texts_whatever_their_types() -> None:
    assert key_of({"id": 12}, "id") == "12"
    assert key_of({"id": "5b1e6ac0-0000-4000-8000-000000000001"}, "id") == "5b1e6ac0-0000-4000-8000-000000000001"
    assert key_of({"ok": True}, "ok") == "true"
    assert key_of({"b": "x/y", "a": -1}, "a", "b") == "-1/x%2Fy"
    assert row_key_of(RecordKey({"price": "MDQ="}, {"price": 3}), ("price",)) == "12.340"


@pytest.mark.parametrize("columns", [{"id": None}, {"other": 1}, {"id": 1, "region": "eu"}, {"id": ""}])
def test_a_key_that_names_no_row_is_refused(columns: dict[str, Any]) -> None:
    with pytest.raises(RefusedError) as refused:
        key_of(columns, "id")
    assert refused.value.refusal.reason == CHANGE_REFUSAL_NO_KEY


def test_keys_have_a_limit() -> None:
    with pytest.raises(RefusedError) as refused:
        key_of({"id": "x" * (KEY_BYTES_MAX + 1)}, "id")
    assert refused.value.refusal.reason == CHANGE_REFUSAL_TOO_LARGE
    assert len(key_of({"id": "x" * KEY_BYTES_MAX}, "id")) == KEY_BYTES_MAX


def test_at_the_start_a_record_proves_that_keys_fit() -> None:
    assert check_key("profiles", TABLE, b'{"id": 1}', ROW, PLACE)


def test_a_table_without_a_key_is_refused_at_the_start() -> None:
    with pytest.raises(KeylessTableError, match=r"'profiles'.*cdc\.app\.profiles\[2\]@30.*PRIMARY KEY"):
        check_key("profiles", TABLE, None, ROW, PLACE)


def test_another_key_than_declared_is_refused_at_the_start() -> None:
    with pytest.raises(KeyMismatchError, match=r"keyed by 'user', 'region', but pipeline.yaml says 'id'"):
        check_key("profiles", TABLE, b'{"user": 1, "region": "eu"}', ROW, PLACE)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"serverName": "cdc.app"}', b'{"ts_ms": 1}'),
        (None, b'{"op": "t", "source": {"lsn": 1, "ts_us": 1}}'),
        (b'{"id": 1}', None),
        (b'{"id": 1}', b"{"),
        (b"{", ROW),
    ],
)
def test_other_records_prove_nothing(key: bytes | None, value: bytes | None) -> None:
    assert not check_key("profiles", TABLE, key, value, PLACE)
