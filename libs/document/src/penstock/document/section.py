"""What models of documents are built from.

In:  rules of spelling and reference, said once in the model.
Out: strict, frozen models whose broken rules name a problem and a remedy, and still export a JSON schema.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class Section(BaseModel):
    """A mapping of a document: nothing is converted, nothing unknown is let in, nothing changes later."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Misfit:
    """A broken rule, `at` a path below the value that was checked."""

    problem: str
    remedy: str = ""
    at: tuple[str | int, ...] = ()


class MisfitError(ValueError):
    """Raised by validators of sections: one fault per misfit, and those that pydantic found `beside` them."""

    def __init__(self, *misfits: Misfit, beside: ValidationError | None = None) -> None:
        super().__init__("; ".join(misfit.problem for misfit in misfits))
        self.misfits = misfits
        self.beside = beside


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a word must look. `rule` completes the sentence "should be …"."""

    pattern: str
    rule: str
    chars_max: int = 1000

    def check(self, word: str) -> str:
        """Let a well-spelt word through."""
        if len(word) > self.chars_max:
            raise MisfitError(Misfit(f"has {len(word)} characters", f"at most {self.chars_max} are allowed"))
        if re.fullmatch(self.pattern, word) is None:
            raise MisfitError(Misfit(f"'{word}' is not spelt as it must be", f"should be {self.rule}"))
        return word

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "pattern": f"^(?:{self.pattern})$"}


def _whole_number(value: object) -> object:
    # To Python, and so to pydantic, true and 1.0 are equal to 1.
    if type(value) is not int:
        raise MisfitError(Misfit("is not a whole number", "should be 1"))
    return value


FormatVersion = Annotated[Literal[1], BeforeValidator(_whole_number)]


def without_repeats(words: Any, validate: ValidatorFunctionWrapHandler) -> Any:
    """Let a list through in which nothing stands twice (for WrapValidator: faults of items stay beside)."""
    return validated(words, validate, _repeats(words) if isinstance(words, tuple) else ())


def validated(value: Any, validate: ValidatorFunctionWrapHandler, found: Iterable[Misfit]) -> Any:
    """Validate a value in which misfits were found already: pydantic's faults are reported beside them."""
    misfits = tuple(found)
    try:
        valid = validate(value)
    except ValidationError as error:
        if misfits:
            raise MisfitError(*misfits, beside=error) from None
        raise
    if misfits:
        raise MisfitError(*misfits)
    return valid


def _repeats(words: tuple[Any, ...]) -> Iterator[Misfit]:
    seen: set[str] = set()
    for index, word in enumerate(words):
        if not isinstance(word, str):
            continue
        if word in seen:
            yield Misfit(f"'{word}' is listed twice", "remove one of them", (index,))
        seen.add(word)


def declared(info: ValidationInfo, section: str) -> Iterable[str] | None:
    """Name what the document declares in a top-level section, sound or not; None outside of a document.

    References are checked against this, so that a fault in one entry never makes another one look wrong.
    """
    document = info.context
    entries = document.get(section) if isinstance(document, Mapping) else None
    return [str(name) for name in entries] if isinstance(entries, Mapping) else None
