from typing import Annotated

import pytest
from penstock.document.section import FormatVersion, Section, Spelling, without_repeats
from pydantic import TypeAdapter, ValidationError, WrapValidator


class Shelf(Section):
    books: tuple[str, ...]


def test_a_section_is_strict_and_frozen() -> None:
    shelf = Shelf(books=("a",))
    with pytest.raises(ValidationError, match="frozen"):
        setattr(shelf, "books", ())  # noqa: B010  mypy knows that a plain assignment is wrong
    with pytest.raises(ValidationError, match="valid tuple"):
        Shelf.model_validate({"books": "a"})


def test_spelling_limits_length_before_it_matches() -> None:
    word = TypeAdapter(Annotated[str, Spelling("a+", "some a", 3)])
    assert word.validate_python("aaa") == "aaa"
    with pytest.raises(ValidationError, match="has 4 characters"):
        word.validate_python("aaaa")
    with pytest.raises(ValidationError, match="'b' is not spelt as it must be"):
        word.validate_python("b")


def test_spelling_is_exported_as_one_anchored_pattern() -> None:
    word = TypeAdapter(Annotated[str, Spelling("a|b", "a or b")])
    assert word.json_schema() == {"type": "string", "pattern": "^(?:a|b)$"}


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 2])
def test_only_the_whole_number_is_a_version(value: object) -> None:
    version: TypeAdapter[int] = TypeAdapter(FormatVersion)
    assert version.validate_python(1) == 1
    with pytest.raises(ValidationError):
        version.validate_python(value)


def test_repeats_are_found_beside_faults_of_items() -> None:
    words: TypeAdapter[tuple[str, ...]] = TypeAdapter(Annotated[tuple[str, ...], WrapValidator(without_repeats)])
    assert words.validate_python(("a", "b")) == ("a", "b")
    with pytest.raises(ValidationError, match="'a' is listed twice"):
        words.validate_python(("a", 5, "a"))
