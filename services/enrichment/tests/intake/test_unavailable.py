import base64

import pytest
from penstock.enrichment.intake.unavailable import DEFAULT_MARK, Unavailable
from penstock.enrichment.intake.values import Numeral

RAW = DEFAULT_MARK.encode()


@pytest.mark.parametrize(
    "value",
    [
        DEFAULT_MARK,
        "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==",  # bytea, as base64
        RAW.hex(),  # bytea, as hex
        [DEFAULT_MARK],  # text[], json[]
        [base64.b64encode(RAW).decode()],  # bytea[]
        ["b68a35a7-17ad-35b3-af2a-ae46edb4545a"],  # uuid[]
        list(RAW),  # int[], bigint[]
        [Numeral(f"{byte}.0") for byte in RAW],  # float8[]
        [str(byte) for byte in RAW],  # numeric[]
        {DEFAULT_MARK: DEFAULT_MARK},  # hstore as a map
        f'{{"{DEFAULT_MARK}":"{DEFAULT_MARK}"}}',  # hstore as JSON
    ],
)
def test_the_mark_is_recognised_in_every_form(value: object) -> None:
    assert Unavailable().is_in(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        f"about {DEFAULT_MARK}",
        [],
        ["a"],
        [DEFAULT_MARK, "a"],
        list(RAW)[1:],
        [*list(RAW)[1:], 0],
        [True] * len(RAW),
        ["x"] * len(RAW),
        [None] * len(RAW),
        {DEFAULT_MARK: "a"},
        "b68a35a7-17ad-35b3-af2a-ae46edb4545a",  # a single UUID is never left out
        95,
    ],
)
def test_other_values_are_values(value: object) -> None:
    assert not Unavailable().is_in(value)


def test_the_connector_may_use_another_mark() -> None:
    assert Unavailable("gone").is_in(["gone"])
    assert Unavailable("hex:676f6e65").is_in("gone")
    assert not Unavailable("gone").is_in(DEFAULT_MARK)
