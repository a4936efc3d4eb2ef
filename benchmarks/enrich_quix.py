"""The yardstick of bench-enrich: the same join with Quix Streams, in its own process and its own environment.

In (arguments): a file with one JSON object (see `Settings` below).
Out: enriched events, and rows of posts, on Kafka as JSON; exactly once, by Quix's own transactions.
What favours Quix here: one record per event instead of batches to be taken apart; JSON by orjson, its fastest format;
times already corrected; the table is a finished dict in memory that nobody has to follow, with its answers made
beforehand; no duplicates to look for, nothing to correct later; client settings as fast as ours.
"""

from __future__ import annotations

import json
import sys
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

# Not in the workspace: its confluent-kafka is older than ours.
from quixstreams import Application  # type: ignore[import-not-found]
from quixstreams.dataframe.joins.lookups.base import BaseField, BaseLookup  # type: ignore[import-not-found]


class Stream(TypedDict):
    """One shape of events: where from, where to, joined on what with which columns, and the row it makes, if any."""

    source: str
    enriched: str
    on: str
    columns: list[str]
    rows: str
    row_key: list[str]  # empty: no row
    row_columns: list[str]


class Settings(TypedDict):
    """`table` names a file: {key: [[valid from, columns or null when deleted], …]}, sorted by time."""

    bootstrap: str
    group: str
    state: str
    commit_every: int
    table: str
    streams: list[Stream]


@dataclass(frozen=True)
class Answer(BaseField):  # type: ignore[misc]  # a class of Quix, unknown to mypy
    """For one enrichment: by key, the times from which each answer holds, and the answers."""

    rows: dict[str, tuple[list[int], list[dict[str, Any]]]]
    missing: dict[str, Any]


class TableLookup(BaseLookup):  # type: ignore[misc]  # a class of Quix, unknown to mypy
    """As of the event's time, which Quix has no lookup of its own for."""

    def join(
        self, fields: dict[str, Answer], on: str, value: dict[str, Any], _key: Any, _t_ms: int, _headers: Any
    ) -> None:
        for name, field in fields.items():
            row = field.rows.get(on)
            index = bisect_right(row[0], value["corrected_us"]) if row else 0
            value[name] = row[1][index - 1] if row and index else field.missing


def answer(table: dict[str, list[tuple[int, dict[str, str] | None]]], columns: list[str]) -> Answer:
    def one(key: str, valid_from_us: int, row: dict[str, str] | None) -> dict[str, Any]:
        status = "DELETED" if row is None else "MATCHED"
        chosen = {name: row[name] for name in columns} if row else {}
        return {"table": "profiles", "key": key, "status": status, "columns": chosen, "valid_from_us": valid_from_us}

    rows = {
        key: ([t_us for t_us, _ in versions], [one(key, t_us, row) for t_us, row in versions])
        for key, versions in table.items()
    }
    return Answer(rows, {"table": "profiles", "status": "MISSING", "columns": {}})


def application(settings: Settings) -> Any:
    return Application(
        broker_address=settings["bootstrap"],
        consumer_group=settings["group"],
        auto_offset_reset="earliest",
        processing_guarantee="exactly-once",
        commit_every=settings["commit_every"],
        consumer_poll_timeout=0.02,
        state_dir=settings["state"],
        auto_create_topics=False,
        use_changelog_topics=False,
        broker_availability_timeout=0,
        loglevel="WARNING",
        consumer_extra_config={
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": 5,
            "queued.max.messages.kbytes": 65_536,
        },
        producer_extra_config={
            "compression.type": "lz4",
            "linger.ms": 200,  # a commit does not wait for it; large batches cost less
            "batch.num.messages": 100_000,
            "queue.buffering.max.messages": 500_000,
        },
    )


def add(app: Any, stream: Stream, table: dict[str, list[tuple[int, dict[str, str] | None]]]) -> None:
    def topic(name: str) -> Any:
        return app.topic(name, key_deserializer="bytes", key_serializer="bytes", value_deserializer="json")

    frame = app.dataframe(topic(stream["source"]))
    frame = frame.join_lookup(TableLookup(), {stream["on"] + "_row": answer(table, stream["columns"])}, on=stream["on"])
    frame = frame.to_topic(topic(stream["enriched"]))
    if stream["row_key"]:
        keys, columns = stream["row_key"], stream["row_columns"]

        def row(value: dict[str, Any]) -> dict[str, Any]:
            return {
                "table": "posts",
                "key": "/".join([value[name] for name in keys]),
                "op": "UPSERT",
                "columns": {name: value[name] for name in columns},
                "valid_from_us": value["corrected_us"],
                "position": [value["device_id"], value["boot_id"], value["seq"]],
            }

        frame.apply(row).to_topic(topic(stream["rows"]), key=lambda change: change["key"].encode())


def main() -> None:
    settings: Settings = json.loads(Path(sys.argv[1]).read_text())
    table = json.loads(Path(settings["table"]).read_text())
    app = application(settings)
    for stream in settings["streams"]:
        add(app, stream, table)
    app.run()


if __name__ == "__main__":
    main()
