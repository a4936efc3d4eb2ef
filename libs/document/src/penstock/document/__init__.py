"""YAML documents that say where they are wrong.

In:  the text of a document and the pydantic model that it should fit.
Out: the model, or one `InvalidDocumentError` with all faults: where, what is wrong, what would be right.
"""

from penstock.document.duration import Duration, milliseconds
from penstock.document.faults import Fault, InvalidDocumentError, suggestion
from penstock.document.reading import read, read_file
from penstock.document.section import (
    FormatVersion,
    Misfit,
    MisfitError,
    Section,
    Spelling,
    declared,
    validated,
    without_repeats,
)

__all__ = [
    "Duration",
    "Fault",
    "FormatVersion",
    "InvalidDocumentError",
    "Misfit",
    "MisfitError",
    "Section",
    "Spelling",
    "declared",
    "milliseconds",
    "read",
    "read_file",
    "suggestion",
    "validated",
    "without_repeats",
]
