"""What a row costs in memory, in a table of enrichment and in a dict of messages, and how fast the table is.

    .venv/bin/python benchmarks/table_memory.py [--rows 1000000] [--versions 4]

Memory is what a process grows by (RSS) while it takes in the rows, each way in a process of its own; payload is the
bytes of keys and values. Rows are profiles: a key, three columns. The messages are parsed before the clock starts,
and times are CPU time, the best of five rounds, because other processes get in the way of single ones.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
from penstock.enrichment.tables import History, Table, change_of, snapshot
from penstock.events.v1.event_pb2 import Position
from penstock.tables.v1.row_change_pb2 import Op, RowChange

HISTORY = History(versions_max=100, age_us_max=30 * 86_400_000_000)
START_US, STEP_US = 1_767_225_600_000_000, 1_000_000
ORIGIN = snapshot.Origin("profiles", "tables.profiles.v1", "", "")
FIRST_NAMES = ("Ana", "Bo", "Chidi", "Dörte", "Eun-ji")
PLANS, COUNTRIES = ("free", "premium", "business"), ("DE", "FR", "US", "BR", "IN", "JP")
ROUNDS, SAMPLE = 5, 20_000


def key_of(number: int) -> str:
    return f"user-{number * 2_654_435_761 % 2**32:08x}"


def name_of(number: int, version: int) -> str:
    return f"{FIRST_NAMES[number % 5]} of {number:x}, as {version}"


def message_of(number: int, version: int) -> RowChange:
    message = RowChange(table="profiles", op=Op.OP_UPSERT, source=Position(topic="cdc.app.profiles"))
    fill(message, number, version)
    return message


def fill(message: RowChange, number: int, version: int) -> None:
    message.key = key_of(number)
    columns = message.columns
    columns["name"], columns["country"] = name_of(number, version), COUNTRIES[number % 6]
    columns["plan"] = PLANS[number % 3]
    message.version.valid_from_us = START_US + version * STEP_US
    message.version.position = (number << 8 | version).to_bytes(8, "big")
    message.source.partition, message.source.offset = number % 8, number


def payload_bytes(rows: int, version: int) -> int:
    """Of one version of each row, keys included."""
    messages = (message_of(number, version) for number in range(0, rows, max(1, rows // SAMPLE)))
    sizes = [len(each.key) + sum(len(value.encode()) for value in each.columns.values()) for each in messages]
    return round(sum(sizes) / len(sizes) * rows)


def encoded(rows: int, version: int) -> Iterator[bytes]:
    message = message_of(0, version)
    for number in range(rows):
        fill(message, number, version)
        yield message.SerializeToString()


def resident_bytes() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def in_messages(rows: int, versions: int) -> list[int]:
    """What the process grew by after one version of each row and after all: in a dict, as they were parsed."""
    before, grown = resident_bytes(), []
    newest: dict[str, RowChange] = {}
    older: dict[str, list[RowChange]] = {}
    for version in range(versions):
        for record in encoded(rows, version):
            message = RowChange.FromString(record)
            if version:
                older.setdefault(message.key, []).append(message)
            else:
                newest[message.key] = message
        grown.append(resident_bytes() - before)
    return [grown[0], grown[-1]]


def filled(rows: int, versions: int, after_first: Callable[[], None] = lambda: None) -> Table:
    table = Table("profiles", HISTORY)
    for version in range(versions):
        for offset, record in enumerate(encoded(rows, version)):
            table.apply(change_of(RowChange.FromString(record)), offset % 8, offset)
        if version == 0:
            after_first()
    return table


def in_table(rows: int, versions: int) -> list[int]:
    before, grown = resident_bytes(), []
    table = filled(rows, versions, lambda: grown.append(resident_bytes() - before))
    grown.append(resident_bytes() - before)
    assert table.rows == rows
    return grown


def best_us(work: Callable[[], object], count: int) -> float:
    """CPU time for one of `count` that each round does, in the best round."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return min(taken) / count * 1e6


def speed(rows: int, versions: int) -> dict[str, float]:
    table = filled(rows, 1)
    sample = random.Random(4).sample(range(rows), min(SAMPLE, rows))
    keys, strangers = [key_of(number) for number in sample], [f"nobody-{number}" for number in sample]

    def look(at_us: int, among: Sequence[str]) -> Callable[[], None]:
        def work() -> None:
            for key in among:
                table.as_of(key, at_us)

        return work

    now_us = START_US + versions * STEP_US
    figures = {"lookup_hit_us": best_us(look(now_us, keys), len(keys))}
    figures["lookup_miss_us"] = best_us(look(now_us, strangers), len(keys))
    figures |= apply_speed(table, rows, sample, versions)
    middle_us = START_US + versions // 2 * STEP_US
    figures["lookup_as_of_us"] = best_us(look(middle_us, keys), len(keys))
    return figures


def apply_speed(table: Table, rows: int, sample: Sequence[int], versions: int) -> dict[str, float]:
    """From a parsed message: rows that are new, and rows that get one version more, up to `versions`."""

    def apply(messages: Sequence[RowChange]) -> float:
        begun = time.process_time()
        for offset, message in enumerate(messages):
            table.apply(change_of(message), 0, offset)
        return (time.process_time() - begun) / len(messages) * 1e6

    new = [[message_of(rows + number, 0) for number in range(at, at + 4_000)] for at in range(0, 20_000, 4_000)]
    updates = ([message_of(number, version) for number in sample] for version in range(1, versions))
    return {
        "apply_new_us": min(apply(messages) for messages in new),
        "apply_update_us": sorted(apply(messages) for messages in updates)[(versions - 1) // 2],
    }


def files(rows: int) -> dict[str, float]:
    table = filled(rows, 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profiles.snapshot"
        image_s = timed(table.image)
        image = table.image()
        write_s = timed(lambda: snapshot.write(path, image, ORIGIN, {0: rows}))
        figures = {"snapshot_bytes_per_row": path.stat().st_size / rows}
        load_s = timed(lambda: snapshot.load(path, ORIGIN, HISTORY))
        hash_s = timed(table.content_hash)
    return figures | {"image_s": image_s, "snapshot_write_s": write_s, "snapshot_load_s": load_s, "hash_s": hash_s}


def timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def memory(rows: int, versions: int) -> dict[str, float]:
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as fresh:
        table, table_all = fresh.apply(in_table, (rows, versions))
        messages, messages_all = fresh.apply(in_messages, (rows, min(versions, 3)))
    payload = payload_bytes(rows, 0)
    extra_payload = (payload_bytes(rows, 1) / rows) - len(key_of(0))
    extra = (table_all - table) / rows / (versions - 1) - extra_payload
    extra_messages = (messages_all - messages) / rows / (min(versions, 3) - 1) - extra_payload
    overhead, overhead_messages = (table - payload) / rows, (messages - payload) / rows
    return {
        "payload_bytes_per_row": payload / rows,
        "bytes_per_row": overhead,
        "dict_bytes_per_row": overhead_messages,
        "ratio_to_dict_memory": overhead_messages / overhead,
        "bytes_per_extra_version": extra,
        "dict_bytes_per_extra_version": extra_messages,
        "ratio_to_dict_memory_per_version": extra_messages / extra,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=4, help="of each row, where versions are measured")
    options = parser.parse_args()
    if options.rows < 1_000 or options.versions < 2:
        parser.error("needs --rows 1000 or more and --versions 2 or more")
    figures = memory(options.rows, options.versions)
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as fresh:
        figures |= fresh.apply(speed, (options.rows, options.versions))
        figures |= fresh.apply(files, (options.rows,))
    for name, figure in figures.items():
        print(f"{name:36} {figure:12.2f}")
    print(json.dumps({"rows": options.rows} | {name: round(figure, 3) for name, figure in figures.items()}))


if __name__ == "__main__":
    main()
