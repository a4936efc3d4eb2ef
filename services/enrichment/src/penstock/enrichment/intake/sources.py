"""Whether the topics that pipeline.yaml names can be made into its tables: asked at the start, before anything is read.

In:  the pipeline, and the records of a topic from its beginning.
Out: nothing if all is well, or nothing can be said yet; else UnusableTableError, which names all tables that are not.
The first change of a row decides. A topic that has none yet, or does not exist yet, is believed; the translator says
the same when the first change comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final

from penstock.enrichment.intake.keys import check_key
from penstock.enrichment.intake.outcome import Position, UnusableTableError
from penstock.enrichment.steps import Record
from penstock.pipeline import Pipeline, Table

RECORDS_MAX: Final = 1_000  # of a topic that begins with something else than changes of rows


def check_sources(pipeline: Pipeline, read: Callable[[str], Iterable[Record]]) -> None:
    """`read` gives what a topic holds now, by its name in Kafka; only as much of it is taken as it needs."""
    faults: list[UnusableTableError] = []
    for name, table in pipeline.tables.items():
        if (topic := table.debezium_topic) is not None:
            try:
                _check(name, table, read(topic))
            except UnusableTableError as fault:
                faults.append(fault)
    if len(faults) == 1:
        raise faults[0]
    if faults:
        raise UnusableTableError("\n".join(map(str, faults)))


def _check(name: str, table: Table, records: Iterable[Record]) -> None:
    for record in islice(records, RECORDS_MAX):
        place = Position(record.topic() or "", record.partition() or 0, record.offset() or 0)
        if check_key(name, table, record.key(), record.value(), place):
            return
