"""What pipeline.yaml declares, as arrays for compiled.py.

In:  the event types, their enrichments and the rows they write. Out: arrays, made once.
A type that needs more than compiled.py knows about is not usual: its events are left to Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from penstock.enrichment.join import compiled as c
from penstock.enrichment.join.joiner import Plan
from penstock.enrichment.join.rows import RowShape
from penstock.pipeline import Pipeline

ROW_KEYS_MAX: Final = 4
NAMES_MAX: Final = 256


class Declared:
    """`names`: all texts in a row; `types`, `known`: places of types and attributes in it; `shapes`: one per type."""

    def __init__(self, pipeline: Pipeline, plans: Mapping[str, Sequence[Plan]], rows: Mapping[str, RowShape]) -> None:
        self.kinds = tuple(pipeline.event_types)
        self._text = bytearray()
        self._attributes: dict[str, int] = {}
        self._places: list[tuple[int, int]] = []
        self.types = np.array([self._put(kind.encode()) for kind in self.kinds], np.int64).reshape(-1, 2)
        self.shapes = np.zeros((len(self.kinds), c.SHAPE_COLUMNS), np.int64)
        self.row_bytes_max = 0
        for number, kind in enumerate(self.kinds):
            self._shape(self.shapes[number], pipeline.event_types[kind].key, plans.get(kind, ()), rows.get(kind))
        self.known = np.array(self._places, np.int64).reshape(-1, 2)
        self.names: NDArray[np.uint8] = np.frombuffer(bytes(self._text), np.uint8)

    def _put(self, text: bytes) -> tuple[int, int]:
        at = len(self._text)
        self._text += text
        return at, len(text)

    def _attribute(self, name: str) -> int:
        number = self._attributes.get(name)
        if number is None:
            number = self._attributes[name] = len(self._places)
            self._places.append(self._put(name.encode()))
        return number

    def _shape(self, shape: NDArray[np.int64], key: str | None, plans: Sequence[Plan], row: RowShape | None) -> None:
        ons = [name for plan in plans for name in plan.on]
        fits = len(ons) <= c.ONS_MAX and (
            row is None or (len(row.key) <= ROW_KEYS_MAX and len(row.columns) <= c.COLUMNS_MAX)
        )
        if not fits or len(self._places) >= NAMES_MAX:
            return
        shape[c.IS_USUAL] = 1
        shape[c.KEY_NAME] = -1 if key is None else self._attribute(key)
        shape[c.ONS] = len(ons)
        shape[c.ON_NAME : c.ON_NAME + len(ons)] = [self._attribute(name) for name in ons]
        if row is not None:
            self._row(shape, row)

    def _row(self, shape: NDArray[np.int64], row: RowShape) -> None:
        shape[c.WRITES_ROW] = 1
        shape[c.HEAD_AT], shape[c.HEAD_LEN] = self._put(row.head)
        shape[c.ROW_KEYS] = len(row.key)
        shape[c.ROW_KEY_NAME : c.ROW_KEY_NAME + len(row.key)] = [self._attribute(name) for name in row.key]
        shape[c.PARTITION_NAME] = -1 if row.partitioned_by is None else self._attribute(row.partitioned_by)
        shape[c.PARTITIONS] = row.partitions
        shape[c.COLUMNS] = len(row.columns)
        for number, (name, entry_name) in enumerate(row.columns):
            column = c.COLUMN + 3 * number
            shape[column : column + 3] = (self._attribute(name), *self._put(entry_name))
        entries = sum(len(entry_name) + 21 for _, entry_name in row.columns)
        self.row_bytes_max = max(self.row_bytes_max, len(row.head) + entries)
