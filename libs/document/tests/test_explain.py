from typing import Annotated, Literal

import pytest
from penstock.document import InvalidDocumentError, read
from penstock.document.explain import explain
from penstock.document.section import Section, Spelling
from penstock.document.tree import Node, parse
from pydantic import Field


class Twig(Section):
    length: int = Field(description="In centimetres")


class Branch(Section):
    twigs: Annotated[tuple[Annotated[str, Spelling("[a-z]+", "a word")], ...], Field(min_length=1)] = ("a",)
    longest: Twig | None = None
    shortest: Literal["none"] | Twig = "none"


class Leaf(Section):
    colour: str | None = None
    veins: dict[str, int] | None = None


def tree(text: str) -> Node:
    root, _ = parse(text)
    assert root is not None
    return root


def test_names_that_pydantic_adds_to_a_path_are_left_out() -> None:
    error = {"type": "string_type", "loc": ("colour", "str"), "msg": "", "input": 5}
    [fault] = explain(error, tree("colour: 5\n"), Leaf.model_json_schema())  # type: ignore[arg-type]  # a plain dict
    assert str(fault) == "1:9: colour: is the number 5; should be text (quotes make it text)"


def test_an_error_without_words_of_our_own_keeps_pydantics() -> None:
    error = {"type": "int_from_float", "loc": ("veins", "a"), "msg": "Input should be whole", "input": 1.5}
    root = tree("veins: {a: 1.5}\n")
    [fault] = explain(error, root, Leaf.model_json_schema())  # type: ignore[arg-type]  # a plain dict
    assert str(fault) == "1:12: veins.a: is the number 1.5; input should be whole"


def test_long_values_are_shortened() -> None:
    error = {"type": "int_type", "loc": ("colour",), "msg": "", "input": "x" * 100}
    [fault] = explain(error, tree("colour: x\n"), Leaf.model_json_schema())  # type: ignore[arg-type]  # a plain dict
    assert fault.problem == f"is '{'x' * 57}...'"


def faults(text: str) -> list[str]:
    with pytest.raises(InvalidDocumentError) as caught:
        read(text, "b", Branch)
    return [str(fault) for fault in caught.value.faults]


def test_an_entry_that_is_not_sound_is_an_entry() -> None:
    assert faults("twigs: [A]\n") == ["1:9: twigs[0]: 'A' is not spelt as it must be; should be a word"]
    assert faults("twigs: []\n") == ["1:8: twigs: has 0 entries; at least 1 should be there"]


@pytest.mark.parametrize("name", ["longest", "shortest"])
def test_the_keys_of_a_section_that_may_be_something_else_are_known(name: str) -> None:
    unknown = f"1:{len(name) + 4}: {name}.lenght: 'lenght' is not a key of this section; did you mean 'length'?"
    missing = f"1:1: {name}: the key 'length' is missing; add `length:` (In centimetres)"
    assert {missing, unknown} <= set(faults(f"{name}: {{lenght: 5}}\n"))
