"""`penstock tail`: what is in a topic, as it comes.

In:  committed records of one topic, from its end or its beginning.
Out: one line per event. Joins no consumer group and commits nothing: looking changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from difflib import get_close_matches

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, TopicPartition
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from penstock.client.cli.rendering import Entry, entries
from penstock.client.cli.screen import write_line
from penstock.topics import TopicMap
from penstock.topics.contracts import descriptor
from penstock.topics.kafka import describe
from rich.console import Console
from rich.text import Text

_KAFKA_TIMEOUT_S = 10.0
_POLL_S = 0.2
_RECORDS_PER_POLL = 200


class TailError(Exception):
    """There is nothing to tail."""


@dataclass(frozen=True, slots=True)
class Tail:
    """What to show, and how."""

    topic: str
    bootstrap: str
    from_beginning: bool
    entries_max: int | None
    as_json: bool
    local_time: bool


def tail(tail: Tail, topic_map: TopicMap, out: Console) -> None:
    """Shows entries until there were `entries_max`, or the user has seen enough."""
    name = _name_of(tail.topic, topic_map)
    message_class = _message_class(topic_map[name].message)
    consumer = Consumer(
        {
            "bootstrap.servers": tail.bootstrap,
            "group.id": "penstock-tail",  # the library wants one; it is neither joined nor committed to
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": 5,
        },
        logger=None,
    )
    try:
        consumer.assign(_start(tail, name, topic_map))
        zone = None if tail.local_time else UTC
        shown = 0
        for record_fields, message in _messages(consumer, message_class):
            for entry in entries(message, zone):
                _show(entry, record_fields, tail.as_json, out)
                shown += 1
                if shown == tail.entries_max:
                    return
    except KafkaException as error:
        raise TailError(f"Kafka at {tail.bootstrap}: {error.args[0].str()}") from error
    finally:
        consumer.close()


def _name_of(topic: str, topic_map: TopicMap) -> str:
    """The name on the map of what the user typed, with or without the prefix."""
    known = {topic_map.kafka_name(name): name for name in topic_map.topics} | {n: n for n in topic_map.topics}
    if topic in known:
        return known[topic]
    close = get_close_matches(topic, topic_map.topics, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]}?" if close else "`penstock topics` lists them."
    raise TailError(f"the map of topics has no {topic!r}; {hint}")


def _start(tail: Tail, name: str, topic_map: TopicMap) -> list[TopicPartition]:
    live = describe({"bootstrap.servers": tail.bootstrap}, topic_map, names=[name], timeout_s=_KAFKA_TIMEOUT_S)[0]
    if not live.exists:
        raise TailError(
            f"{live.kafka_name} is on the map, but Kafka at {tail.bootstrap} has no such topic yet; "
            "is this the right Kafka, and PENSTOCK_TOPIC_PREFIX the right prefix?"
        )
    offset = OFFSET_BEGINNING if tail.from_beginning else OFFSET_END
    return [TopicPartition(live.kafka_name, partition.number, offset) for partition in live.partitions]


def _message_class(name: str) -> type[Message]:
    found = descriptor(name)
    if found is None:
        raise TailError(f"the map of topics names the message {name}, which this version does not know")
    return GetMessageClass(found)


def _messages(consumer: Consumer, message_class: type[Message]) -> Iterator[tuple[dict[str, object], Message]]:
    while True:
        for record in consumer.consume(_RECORDS_PER_POLL, _POLL_S):
            if record.error() is not None:
                raise KafkaException(record.error())
            place = f"{record.topic()}[{record.partition()}]@{record.offset()}"
            value = record.value()
            if value is None:
                continue  # a tombstone: the key is gone, and there is no message
            try:
                message = message_class.FromString(value)
            except DecodeError as error:
                raise TailError(f"the record {place} is no {message_class.DESCRIPTOR.full_name}: {error}") from error
            yield {"topic": record.topic(), "partition": record.partition(), "offset": record.offset()}, message


def _show(entry: Entry, record_fields: dict[str, object], as_json: bool, out: Console) -> None:
    if as_json:
        write_line(out, json.dumps(record_fields | entry.fields))
    else:
        line = Text.assemble(*((f"{text} ", style) for text, style in entry.parts)) if entry.parts else Text(entry.text)
        line.rstrip()
        out.print(line)
