from pathlib import Path
from typing import Annotated, Literal

import pytest
from penstock.document import (
    InvalidDocumentError,
    Misfit,
    MisfitError,
    Section,
    Spelling,
    declared,
    read,
    read_file,
    suggestion,
    without_repeats,
)
from pydantic import Field, ValidationInfo, WrapValidator, field_validator

Name = Annotated[str, Spelling("[a-z]+", "lowercase")]


class Boat(Section):
    captain: Name = Field(description="Who steers.")
    crew: Annotated[tuple[Name, ...], Field(max_length=3), WrapValidator(without_repeats)] = ()
    sail: Literal["gaff", "lug"] = "lug"
    length_m: int = Field(10, ge=1)
    tows: str | None = None

    @field_validator("tows")
    @classmethod
    def _towed_exists(cls, boat: str | None, info: ValidationInfo) -> str | None:
        known = declared(info, "boats")
        if boat is not None and known is not None and boat not in known:
            raise MisfitError(Misfit(f"'{boat}' is no boat", suggestion(boat, known)))
        return boat


class Harbour(Section):
    boats: dict[Name, Boat]


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        read(text, "h", Harbour)
    return [str(fault) for fault in caught.value.faults]


def test_a_sound_document_is_read() -> None:
    harbour = read("boats: {ada: {captain: b, crew: [c, d]}}", "h", Harbour)
    assert harbour.boats["ada"].crew == ("c", "d")


@pytest.mark.parametrize(
    ("boat", "fault"),
    [
        ("{}", "2:3: boats.ada: the key 'captain' is missing; add `captain:` (Who steers)"),
        (
            "{captain: b, sial: lug}",
            "2:21: boats.ada.sial: 'sial' is not a key of this section; did you mean 'sail'?",
        ),
        ("{captain: B}", "2:18: boats.ada.captain: 'B' is not spelt as it must be; should be lowercase"),
        ("{captain: 5}", "2:18: boats.ada.captain: is the number 5; should be text (quotes make it text)"),
        ("{captain: }", "2:9: boats.ada.captain: is empty; should be text"),
        ("{captain: b, sail: jib}", "2:27: boats.ada.sail: is 'jib'; should be 'gaff' or 'lug'"),
        ("{captain: b, length_m: '9'}", "2:31: boats.ada.length_m: is '9'; should be a whole number"),
        ("{captain: b, length_m: true}", "2:31: boats.ada.length_m: is true; should be a whole number"),
        (
            "{captain: b, length_m: 0}",
            "2:31: boats.ada.length_m: is the number 0; input should be greater than or equal to 1",
        ),
        ("{captain: b, crew: c}", "2:27: boats.ada.crew: is 'c'; should be a list"),
        (
            "{captain: b, crew: [c, d, e, f]}",
            "2:27: boats.ada.crew: has more than 3 entries; at most 3 are allowed",
        ),
        ("{captain: b, crew: [c, c]}", "2:31: boats.ada.crew[1]: 'c' is listed twice; remove one of them"),
        ("{captain: b, tows: adda}", "2:27: boats.ada.tows: 'adda' is no boat; did you mean 'ada'?"),
        ("[b]", "2:8: boats.ada: is a list; should be a mapping (`key: value` lines)"),
    ],
)
def test_a_fault_says_where_what_and_what_would_be_right(boat: str, fault: str) -> None:
    assert faults(f"boats:\n  ada: {boat}\n") == [fault]


def test_a_misspelt_key_of_a_mapping_is_found_at_the_key() -> None:
    assert faults("boats:\n  Ada: {captain: b}\n") == [
        "2:3: boats.Ada: 'Ada' is not spelt as it must be; should be lowercase"
    ]


def test_all_faults_come_at_once_those_of_the_text_too() -> None:
    text = "boats:\n  ada: {captain: 1, crew: [C, d, d]}\n  ada: {}\n  bob: {captain: b, tows: ada}\nextra: 1\n"
    assert [fault.split(": ")[0] + " " + fault.split(": ")[1] for fault in faults(text)] == [
        "2:18 boats.ada.captain",
        "2:28 boats.ada.crew[0]",
        "2:34 boats.ada.crew[2]",
        "3:3 boats.ada",
        "5:1 extra",
    ]


def test_a_document_that_is_no_mapping_is_a_fault() -> None:
    assert faults("- a\n") == ["1:1: is a list; should be a mapping (`key: value` lines)"]


def test_a_file_is_named_in_its_faults(tmp_path: Path) -> None:
    path = tmp_path / "harbour.yaml"
    path.write_text("boats: 1\n")
    with pytest.raises(InvalidDocumentError, match=r"harbour\.yaml:1:8: boats: is the number 1"):
        read_file(path, Harbour)


def test_a_file_that_is_not_utf8_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "harbour.yaml"
    path.write_bytes(b"boats: \xff\n")
    with pytest.raises(InvalidDocumentError, match=r"is not UTF-8 \(byte 7\)"):
        read_file(path, Harbour)
