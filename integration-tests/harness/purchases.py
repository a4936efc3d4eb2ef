"""People buy items while prices and their own profiles change: what is sent, and what joins should find.

Prices are a table of events, profiles one of a database. The oracle is a sorted list and a search from its end; all
that it takes from the log are the times of versions.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from penstock.client import Plaintext, Publisher, PublisherSettings
from penstock.events.v1.event_pb2 import Event
from penstock.tables.v1.row_change_pb2 import OP_TRUNCATE, OP_UPSERT, RowChange
from penstock.topics import load, murmur2_partition
from row_history import RowHistory, found_by
from sql_ledger import Entry, in_order

PIPELINE = """
version: 1
tables:
  prices:
    about: What an item costs.
    source: events
    key: item
    columns: [price]
    history: {{versions: 10000, age: 30d}}
  profiles:
    about: Users.
    source: {{debezium: {{topic: {topic}}}}}
    key: user_id
    columns: [name]
    history: {{versions: 10000, age: 30d}}
event_types:
  price.set:
    about: An item has a price.
    required: [item, price]
    key: item
    upserts: {{table: prices}}
  price.dropped:
    about: An item has no price any more.
    required: [item]
    key: item
    deletes: {{table: prices}}
  item.bought:
    about: A user bought an item.
    required: [item, user]
    key: user
enrichments:
  - {{event_type: item.bought, table: prices, on: item, as: price}}
  - {{event_type: item.bought, table: profiles, on: user, as: buyer}}
"""
CREATE = b"CREATE TABLE profiles (user_id text PRIMARY KEY, name text, bio text)"
PATIENCE_S = 240.0
USERS = 8
SETTINGS = PublisherSettings(batch_events_max=20, linger_s=0.005, delivery_timeout_s=PATIENCE_S)

Identity = tuple[str, str, int]
Sent = dict[Identity, dict[str, str]]


def event_of(number: int) -> tuple[str, dict[str, str]]:
    """Mostly purchases; now and then the price of one of five items changes, or goes."""
    item = f"i{number * 7 % 5}"
    if number % 6 == 0:
        return "price.set", {"item": item, "price": str(number)}
    if number % 31 == 0:
        return "price.dropped", {"item": item}
    return "item.bought", {"item": item, "user": f"k{number % USERS}"}


def publish_until(stop: threading.Event, address: str, device_id: str, sent: Sent) -> None:
    with Publisher(address, device_id, security=Plaintext(), settings=SETTINGS) as publisher:
        number = 0
        while not stop.wait(0.8):
            pending = []
            for _ in range(4):
                number += 1
                kind, attributes = event_of(number)
                pending.append((attributes, publisher.publish(kind, attributes)))
            for attributes, one in pending:
                receipt = one.result(PATIENCE_S)
                assert receipt.delivered
                sent[device_id, receipt.boot_id, receipt.seq] = attributes


@contextmanager
def publishing(address: str) -> Iterator[Sent]:
    """By one device for each partition of the raw log. Yields what was acknowledged; all of it at the end."""
    stop, sent = threading.Event(), Sent()
    threads = [threading.Thread(target=publish_until, args=(stop, address, device_id, sent)) for device_id in devices()]
    for thread in threads:
        thread.start()
    try:
        yield sent
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def devices() -> Iterable[str]:
    partitions = load()["events.raw.v1"].partitions
    names = (f"device-{number}" for number in range(1_000))
    found = {murmur2_partition(name.encode(), partitions): name for name in names}
    assert len(found) == partitions
    return found.values()


Rows = Mapping[str, RowHistory]


def is_right(event: Event, buyers: Rows, prices: Rows) -> bool:
    """Whether an event's joins are those of the oracle; only purchases are joined."""
    found = {one.name: found_by(one) for one in event.enrichments}
    if event.type != "item.bought":
        return not found
    t_us = event.clock.corrected_us
    buyer = buyers.get(event.attributes["user"], RowHistory()).at(t_us)
    return found == {"buyer": buyer, "price": prices.get(event.attributes["item"], RowHistory()).at(t_us)}


def profiles(changes: Iterable[RowChange], made: Sequence[Entry]) -> Rows:
    """What was made, with the times of the log; which must hold just that."""
    written = sorted(changes, key=in_order)
    assert [Entry(change.key, change.op, change.columns.get("name", "")) for change in written] == made
    rows: dict[str, RowHistory] = defaultdict(RowHistory)
    for entry, change in zip(made, written, strict=True):
        for key in list(rows) if entry.op == OP_TRUNCATE else [entry.key]:
            rows[key].add(change.version.valid_from_us, {"name": entry.name} if entry.op == OP_UPSERT else None)
    return rows


def prices_of(events: Iterable[Event]) -> Rows:
    """What the events about prices say, by their corrected times; of one microsecond, by their identities."""
    rows: dict[str, RowHistory] = defaultdict(RowHistory)
    for event in sorted(events, key=lambda event: (event.clock.corrected_us, identity(event))):
        if event.type != "item.bought":
            price = {"price": event.attributes["price"]} if event.type == "price.set" else None
            rows[event.attributes["item"]].add(event.clock.corrected_us, price)
    return rows


def newest(events: Iterable[Event]) -> Iterable[Event]:
    """Each at its last revision."""
    return {identity(event): event for event in sorted(events, key=lambda event: event.revision)}.values()


def identity(event: Event) -> Identity:
    return event.device_id, event.boot_id, event.seq
