"""The columns that a table keeps of a row.

In:  the row after a change, and the row before it, as far as that is known.
Out: the values of the kept columns; those whose value nobody knows. NULL is no value.
A value that the source left out, because it did not change, is that of the row before. It is unknown where that row is,
or where that row lacks it: such a value was never NULL, so it cannot be the row that was changed. Never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.enrichment.intake.rows import KnownRow
from penstock.enrichment.intake.unavailable import Unavailable
from penstock.enrichment.intake.values import sound, text_of


class Columns(NamedTuple):
    values: dict[str, str]
    unknown: tuple[str, ...]
    kept: int  # values of the row before
    absent: int  # columns that the table keeps and the row does not have


NO_COLUMNS: Final = Columns({}, (), 0, 0)


class ColumnReader:
    def __init__(self, kept: tuple[str, ...] | None, unavailable: Unavailable) -> None:
        """`kept` is None where the table keeps all columns."""
        self._kept = kept
        self._unavailable = unavailable

    def read(self, after: Mapping[str, object], scales: Mapping[str, int], before: KnownRow | None) -> Columns:
        names = tuple(sound(name, name) for name in after) if self._kept is None else self._kept
        values: dict[str, str] = {}
        unknown: list[str] = []
        kept = absent = 0
        for name in names:
            value = after.get(name)
            if value is None:
                absent += name not in after
            elif not self._unavailable.is_in(value):
                text = text_of(value, name, scales.get(name))
                if text is not None:
                    values[name] = text
            elif before is not None and name in before.columns:
                values[name] = before.columns[name]
                kept += 1
            else:
                unknown.append(name)
        return Columns(values, tuple(unknown), kept, absent)
