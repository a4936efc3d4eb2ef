from typing import Annotated

import pytest
from penstock.document import Duration, InvalidDocumentError, Section, milliseconds, read


class Nap(Section):
    length: Annotated[str, Duration("0s", "1h", "20m")]
    alarm: Annotated[str, Duration("1s", "1d", "8h", "never")] = "never"


@pytest.mark.parametrize(
    ("text", "ms"),
    [("0s", 0), ("500ms", 500), ("45s", 45_000), ("30m", 1_800_000), ("12h", 43_200_000), ("4w", 2_419_200_000)],
)
def test_durations_are_told_in_milliseconds(text: str, ms: int) -> None:
    assert milliseconds(text) == ms


@pytest.mark.parametrize("text", ["", "5", "d", "1.5h", "-1s", "07d", "7 d", "7D", "1y", "7d\n", "1000000000000ms"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: a number with ms, s, m, h, d or w, such as 30d"):
        milliseconds(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "length: soon",
            "1:9: length: 'soon' is not spelt as it must be; should be a number with ms, s, m, h, d or w, such as 20m",
        ),
        ("length: 61m", "1:9: length: is 61m; should be 0s to 1h"),
        ("length: 5", "1:9: length: is the number 5; should be text (quotes make it text)"),
        ("{length: 1m, alarm: 0s}", "1:21: alarm: is 0s; should be 1s to 1d, or never"),
        (
            "{length: 1m, alarm: nver}",
            "1:21: alarm: 'nver' is not spelt as it must be; should be a number with ms, s, m,"
            " h, d or w, such as 8h, or never",
        ),
    ],
)
def test_faults_say_which_spans_are_allowed(text: str, fault: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        read(text, "n", Nap)
    assert [str(found) for found in caught.value.faults] == [fault]


def test_the_word_is_kept_as_written_and_bounds_are_included() -> None:
    assert read("{length: 60m, alarm: never}", "n", Nap) == Nap(length="60m", alarm="never")


def test_the_schema_knows_the_spelling() -> None:
    alarm = Nap.model_json_schema()["properties"]["alarm"]
    assert alarm["pattern"] == r"^(?:(0|[1-9][0-9]{0,11})(ms|s|m|h|d|w)|never)$"
