"""Turns pydantic's errors into faults that a newcomer understands.

In:  the errors of one validation, the document's tree, the JSON schema of the model.
Out: faults that point to the key or value at fault and say what would be right.
Pure: the text of a fault depends on nothing but these three.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.document.faults import Fault, path_text, suggestion
from penstock.document.section import MisfitError
from penstock.document.tree import Node
from pydantic_core import ErrorDetails

# pydantic's error types for a value of the wrong kind, and the kind that was wanted.
_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "dict_type": "a mapping (`key: value` lines)",
    "model_type": "a mapping (`key: value` lines)",
    "model_attributes_type": "a mapping (`key: value` lines)",
    "tuple_type": "a list",
}
Schema = Mapping[str, Any]


def explain(error: ErrorDetails, root: Node, schema: Schema) -> Iterator[Fault]:
    """Say where in the document an error is and what it means."""
    if _is_miscounted(error):
        return
    path = _steps(error, root)
    of_key = "[key]" in error["loc"] or error["type"] == "extra_forbidden"
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, MisfitError):
        for misfit in cause.misfits:
            yield _fault((*path, *misfit.at), root, misfit.problem, misfit.remedy, of_key=of_key)
        for detail in cause.beside.errors() if cause.beside else ():
            detail["loc"] = (*error["loc"], *detail["loc"])
            yield from explain(detail, root, schema)
    elif error["type"] == "missing":
        yield _missing(path, root, schema)
    elif error["type"] == "extra_forbidden":
        remedy = suggestion(path[-1], _below(path[:-1], schema).get("properties", {}))
        yield _fault(path, root, f"'{path[-1]}' is not a key of this section", remedy, of_key=of_key)
    else:
        yield _fault(path, root, *_sentence(error), of_key=of_key)


def _is_miscounted(error: ErrorDetails) -> bool:
    """pydantic counts only the sound entries of a list; those that are not have faults of their own."""
    if error["type"] != "too_short" or not isinstance(error["input"], tuple):
        return False
    return len(error["input"]) >= int(error.get("ctx", {})["min_length"])


def _sentence(error: ErrorDetails) -> tuple[str, str]:
    """Say what is wrong with a value, and what would be right."""
    kind, context = error["type"], error.get("ctx", {})
    if kind in _KINDS:
        quotes = " (quotes make it text)" if kind == "string_type" and error["input"] is not None else ""
        return f"is {_described(error['input'])}", f"should be {_KINDS[kind]}{quotes}"
    if kind == "literal_error":
        return f"is {_described(error['input'])}", f"should be {context['expected']}"
    if kind == "too_short":
        return f"has {context['actual_length']} entries", f"at least {context['min_length']} should be there"
    if kind == "too_long":
        return (
            f"has more than {context['max_length']} entries",
            f"at most {context['max_length']} are allowed",
        )
    return f"is {_described(error['input'])}", error["msg"][:1].lower() + error["msg"][1:]


def _missing(path: tuple[str | int, ...], root: Node, schema: Schema) -> Fault:
    """Point to the section that lacks a key, and say what the key is for."""
    about = str(_below(path, schema).get("description", ""))
    remedy = f"add `{path[-1]}:`" + (f" ({about.rstrip('.')})" if about else "")
    node = _nearest(path[:-1], root)
    return Fault(node.key_place, path_text(path[:-1]), f"the key '{path[-1]}' is missing", remedy)


def _fault(path: tuple[str | int, ...], root: Node, problem: str, remedy: str, *, of_key: bool) -> Fault:
    node = _nearest(path, root)
    return Fault(node.key_place if of_key else node.place, path_text(path), problem, remedy)


def _steps(error: ErrorDetails, root: Node) -> tuple[str | int, ...]:
    """Leave out what pydantic adds to a path: '[key]' and the names of union members."""
    steps: list[str | int] = []
    node = root
    for step in error["loc"]:
        if step in node.children:
            steps.append(step)
            node = node.children[step]
    # What is missing is in no document, and yet the subject of the fault.
    return (*steps, error["loc"][-1]) if error["type"] == "missing" else tuple(steps)


def _nearest(path: Sequence[str | int], root: Node) -> Node:
    """Find the node of a path, or the last one on the way to it."""
    node = root
    for step in path:
        if step not in node.children:
            break
        node = node.children[step]
    return node


def _described(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"'{value}'" if len(value) <= 60 else f"'{value[:57]}...'"
    return "a list" if isinstance(value, tuple) else "a mapping"


def _below(path: Sequence[str | int], schema: Schema) -> Schema:
    """Follow a path through a JSON schema; empty where it leads nowhere."""
    here: Schema = schema
    for step in path:
        here = _resolved(here, schema)
        patterns = list(here.get("patternProperties", {}).values())
        if isinstance(step, int):
            here = here.get("items", {})
        elif step in here.get("properties", {}):
            here = here["properties"][step]
        else:
            here = patterns[0] if patterns else here.get("additionalProperties") or {}
    return _resolved(here, schema)


def _resolved(here: Schema, schema: Schema) -> Schema:
    reference = here.get("$ref") or _section_of(here)
    if reference is None:
        return here
    definition: Schema = schema["$defs"][str(reference).rsplit("/", 1)[-1]]
    # A description beside the reference is more specific than the definition's own.
    return {**definition, **{key: value for key, value in here.items() if key != "$ref"}}


def _section_of(here: Schema) -> str | None:
    """Find the section among alternatives: one that may be left out, or may be a word instead."""
    members = (*here.get("anyOf", ()), *here.get("oneOf", ()))
    return next((member["$ref"] for member in members if "$ref" in member), None)
