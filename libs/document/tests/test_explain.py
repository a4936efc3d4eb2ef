from penstock.document.explain import explain
from penstock.document.section import Section
from penstock.document.tree import Node, parse


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
