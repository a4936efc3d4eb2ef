import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.pipeline import key_values, row_key

# Most values that matter are made of what keys are made of.
VALUES = st.lists(st.text(alphabet="/%25Fa") | st.text(), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (("alice",), "alice"),
        (("alice", "bob"), "alice/bob"),
        (("a/b",), "a%2Fb"),
        (("100%", "a/b"), "100%25/a%2Fb"),
        (("%2F",), "%252F"),
        (("", ""), "/"),
        (("",), ""),
    ],
)
def test_keys_read_like_paths(values: tuple[str, ...], key: str) -> None:
    assert row_key(values) == key


@given(VALUES)
def test_a_key_is_taken_apart_into_what_it_was_made_of(values: list[str]) -> None:
    assert key_values(row_key(values)) == tuple(values)


@given(VALUES, VALUES)
def test_different_values_have_different_keys(some: list[str], others: list[str]) -> None:
    assert (row_key(some) == row_key(others)) == (some == others)


def test_no_values_are_no_key() -> None:
    with pytest.raises(ValueError, match="at least one value"):
        row_key(())


@pytest.mark.parametrize("text", ["50%", "a%20b", "%2f", "a/%"])
def test_what_is_no_key_is_not_taken_apart(text: str) -> None:
    with pytest.raises(ValueError, match=r"write % as %25 and / as %2F"):
        key_values(text)
