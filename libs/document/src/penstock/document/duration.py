"""Spans of time as people write them: 500ms, 0s, 45s, 30m, 12h, 7d, 4w.

In:  a word of a document.
Out: whole milliseconds, or a fault that says which words are spans of time, or which ones are allowed here.
Pure. A document keeps the word as it was written; `milliseconds` says how long it is.
"""

import re
from dataclasses import dataclass
from typing import Any

from penstock.document.section import Misfit, MisfitError, Spelling
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_PATTERN = r"(0|[1-9][0-9]{0,11})(ms|s|m|h|d|w)"


def milliseconds(duration: str) -> int:
    """Say how long a span is; ValueError if the word is none."""
    match = re.fullmatch(_PATTERN, duration)
    if match is None:
        raise ValueError(f"'{duration}' is not a duration: a number with ms, s, m, h, d or w, such as 30d")
    return int(match[1]) * _UNIT_MS[match[2]]


@dataclass(frozen=True, slots=True)
class Duration:
    """A span from `least` to `most` for `Annotated[str, Duration(…)]`; `or_else` is a word that may stand instead."""

    least: str
    most: str
    example: str
    or_else: str = ""

    def check(self, word: str) -> str:
        """Let a span of the right length through."""
        self._spelling.check(word)
        if word == self.or_else or milliseconds(self.least) <= milliseconds(word) <= milliseconds(self.most):
            return word
        raise MisfitError(Misfit(f"is {word}", f"should be {self.least} to {self.most}{self._alternative}"))

    @property
    def _spelling(self) -> Spelling:
        pattern = f"{_PATTERN}|{re.escape(self.or_else)}" if self.or_else else _PATTERN
        rule = f"a number with ms, s, m, h, d or w, such as {self.example}{self._alternative}"
        return Spelling(pattern, rule)

    @property
    def _alternative(self) -> str:
        return f", or {self.or_else}" if self.or_else else ""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return self._spelling.__get_pydantic_json_schema__(schema, handler)
