"""Reads a document into its model.

In:  text (or a file) and a `Section`.
Out: the section, or `InvalidDocumentError` with every fault of text and content together.
"""

from pathlib import Path
from typing import TypeVar

from penstock.document.explain import explain
from penstock.document.faults import Fault, InvalidDocumentError, Place
from penstock.document.section import Section
from penstock.document.tree import parse
from pydantic import ValidationError

SectionT = TypeVar("SectionT", bound=Section)


def read(text: str, source: str, section: type[SectionT]) -> SectionT:
    """Read a document; `source` names it in faults."""
    root, faults = parse(text)
    if root is None:
        raise InvalidDocumentError(source, faults)
    try:
        content = section.model_validate(root.value, context=root.value)
    except ValidationError as error:
        schema = section.model_json_schema()
        explained = [fault for detail in error.errors() for fault in explain(detail, root, schema)]
        raise InvalidDocumentError(source, [*faults, *explained]) from None
    if faults:
        raise InvalidDocumentError(source, faults)
    return content


def read_file(path: Path, section: type[SectionT]) -> SectionT:
    """Read a file. One that cannot be opened raises OSError as usual; one that is not UTF-8 is a fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start})"
        raise InvalidDocumentError(str(path), [Fault(Place(1, 1), "", problem, "save it as UTF-8")]) from None
    return read(text, str(path), section)
