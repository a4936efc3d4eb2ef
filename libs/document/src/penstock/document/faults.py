"""What is wrong with a document, and where.

In:  places, paths and sentences.
Out: `Fault`s in the order of the document, and the one error that carries them all.
"""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a text, counted from 1 as editors do."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One thing that is wrong: where, what, and what would be right (empty where `problem` says it all)."""

    place: Place
    path: str
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        subject = f"{self.path}: " if self.path else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.place.line}:{self.place.column}: {subject}{self.problem}{remedy}"


class InvalidDocumentError(ValueError):
    """A document with at least one fault."""

    def __init__(self, source: str, faults: Iterable[Fault]) -> None:
        self.source = source
        self.faults = tuple(sorted(set(faults)))
        count = "1 fault" if len(self.faults) == 1 else f"{len(self.faults)} faults"
        lines = (f"  {source}:{fault}" for fault in self.faults)
        super().__init__("\n".join((f"{source} has {count}:", *lines)))


def path_text(path: Iterable[str | int]) -> str:
    """Write a path the way people do: event_types.post.created.required[1]."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def suggestion(word: object, known: Iterable[str]) -> str:
    """Say which of the known words was probably meant; else list them."""
    words = sorted(known)
    close = difflib.get_close_matches(str(word), words, n=1)
    if close:
        return f"did you mean '{close[0]}'?"
    return f"known here: {', '.join(words)}" if words else ""
