from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.intake.outcome import RefusedError
from penstock.enrichment.intake.values import DEPTH_MAX, load_json, text_of
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_UNREADABLE_VALUE


@pytest.mark.parametrize(
    ("json", "text"),
    [
        (b"null", None),
        (b'"ann"', "ann"),
        (b'""', ""),
        (b"true", "true"),
        (b"false", "false"),
        (b"12", "12"),
        (b"123456789012345678901234567890", "123456789012345678901234567890"),
        (b"1.50", "1.50"),
        (b"0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
        (b"1.0E10", "1.0E10"),
        (b"NaN", "NaN"),
        (b'"NAN"', "NAN"),
        (b"-Infinity", "-Infinity"),
        (b'"infinity"', "infinity"),
        (b'"2026-01-02T03:04:05.678901Z"', "2026-01-02T03:04:05.678901Z"),
        (b'"+292278994-08-16Z"', "+292278994-08-16Z"),
        (b'["b", 1, 1.50, null, true, "\\u00e9"]', '["b",1,1.50,null,true,"é"]'),
        (b'{"b": [1], "a": {"d": 1, "c": "\\""}}', '{"a":{"c":"\\"","d":1},"b":[1]}'),
        (b'{"scale": 3, "value": "MDQ="}', "12.340"),  # Debezium's VariableScaleDecimal
        (b'{"scale": 0, "value": "/w=="}', "-1"),
        (b'{"scale": "3", "value": "MDQ="}', '{"scale":"3","value":"MDQ="}'),  # a map of texts
    ],
)
def test_every_kind_of_value_is_a_text(json: bytes, text: str | None) -> None:
    assert text_of(load_json(json), "c") == text


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [("MDQ=", 3, "12.340"), ("MDQ=", 0, "12340"), ("/////w==", 2, "-0.01"), ("AQ==", -2, "100"), ("AA==", 2, "0.00")],
)
def test_decimals_in_bytes_have_digits_where_the_scale_is_known(value: str, scale: int, text: str) -> None:
    assert text_of(value, "c", scale) == text


@pytest.mark.parametrize("value", ["not base64!", "", "MDQ"])
def test_a_decimal_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(RefusedError, match="column 'price'") as refused:
        text_of(value, "price", 2)
    assert refused.value.refusal.reason == CHANGE_REFUSAL_UNREADABLE_VALUE


def test_what_is_no_text_is_refused() -> None:
    for value in ("\ud800", ["\ud800"], {"a": "\ud800"}):
        with pytest.raises(RefusedError, match="surrogate"):
            text_of(value, "c")


def test_nesting_has_a_limit() -> None:
    with pytest.raises(RefusedError, match="nested"):
        text_of(load_json(b"[" * (DEPTH_MAX + 2) + b"]" * (DEPTH_MAX + 2)), "c")
    with pytest.raises(ValueError, match="nested"):
        load_json(b"[" * 200_000)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=4))
def test_canonical_json_says_what_was_said(value: list[Any]) -> None:
    text = text_of(value, "c")
    assert text is not None
    assert load_json(text.encode()) == value
    assert text_of(load_json(text.encode()), "c") == text
