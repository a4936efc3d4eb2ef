"""Reads what a topic holds at this moment, once, and ends.

In:  librdkafka's client settings and a topic's name in Kafka.
Out: its records, committed ones only, in order within each partition, up to where each partition ended at the start.
For tests, measurements and audits: no group is joined and no offset is kept.
"""

from collections.abc import Collection, Iterator, Mapping
from time import monotonic

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from penstock.topics.errors import KafkaUnreachableError

Spans = dict[int, tuple[int, int]]  # partition: first and end offset

TIMEOUT_S = 30.0
BATCH = 1_000
# What a broker that has just come back may say, and librdkafka does not call retriable.
PASSING = {"_TRANSPORT", "_ALL_BROKERS_DOWN", "LEADER_NOT_AVAILABLE", "NOT_LEADER_FOR_PARTITION", "_TIMED_OUT"}
WAIT_S = 0.05  # consume() fills its batch or uses up this time, whatever has come


def content(
    client_config: Mapping[str, str],
    topic: str,
    *,
    partitions: Collection[int] | None = None,
    since_ms: int | None = None,
    newest_max: int | None = None,
    wait_for_open: bool = False,
    timeout_s: float = TIMEOUT_S,
) -> Iterator[Message]:
    """Every record that the topic holds now: of all partitions or some, from the beginning or a record's time on.

    With `newest_max`, at most about so many, the newest, the same share of each partition.
    What was committed behind a transaction that is still open cannot be read yet. With `wait_for_open` it is waited
    for: whoever died within a transaction leaves it open until its timeout.
    """
    consumer = Consumer(_config(client_config, "read_committed"))
    # One that reads committed records is told an end that lies before the first open transaction.
    asker = Consumer(_config(client_config, "read_uncommitted")) if wait_for_open else consumer
    try:
        spans = _spans(asker, topic, partitions, timeout_s)
        if since_ms is not None:
            spans = _later_spans(asker, topic, spans, since_ms, timeout_s)
        if newest_max is not None and spans:
            share = -(-newest_max // len(spans))
            spans = {number: (max(first, end - share), end) for number, (first, end) in spans.items()}
        yield from _until_the_end(consumer, topic, spans, timeout_s)
    finally:
        consumer.close()
        if asker is not consumer:
            asker.close()


def _config(client_config: Mapping[str, str], isolation: str) -> dict[str, str | bool | int]:
    return {
        **client_config,
        "group.id": "penstock-content",  # librdkafka wants one; nothing is committed to it
        "enable.auto.commit": False,
        "isolation.level": isolation,
        "enable.partition.eof": True,
        "fetch.wait.max.ms": 50,
        "fetch.queue.backoff.ms": 5,
    }


def _until_the_end(consumer: Consumer, topic: str, spans: Spans, timeout_s: float) -> Iterator[Message]:
    ends = {number: end for number, (first, end) in spans.items() if end > first}
    consumer.assign([TopicPartition(topic, number, spans[number][0]) for number in ends])
    last_seen = monotonic()
    while ends:
        messages = consumer.consume(BATCH, WAIT_S)
        if messages:
            last_seen = monotonic()
        elif monotonic() - last_seen > timeout_s:
            raise KafkaUnreachableError(topic, timeout_s, "its records stopped coming before its end")
        for message in messages:
            error, partition, offset = message.error(), message.partition(), message.offset()
            if error is not None and not _is_end(error.name()):
                raise KafkaException(error)
            if error is None and partition in ends:
                yield message
            # The end of a partition may be a transaction's marker, which is never delivered.
            if partition in ends and offset is not None and offset + (error is None) >= ends[partition]:
                del ends[partition]


def _spans(consumer: Consumer, topic: str, wanted: Collection[int] | None, timeout_s: float) -> Spans:
    """First and end offset of each partition; asks again while a broker is coming back."""
    deadline = monotonic() + timeout_s
    while True:
        try:
            partitions = consumer.list_topics(topic, timeout=timeout_s).topics[topic].partitions
            return {
                number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout_s)
                for number in partitions
                if wanted is None or number in wanted
            }
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].name() not in PASSING:
                raise
            if monotonic() > deadline:
                raise KafkaUnreachableError(topic, timeout_s, error.args[0].str()) from error
            consumer.poll(WAIT_S)  # gives the client time to reconnect


def _later_spans(consumer: Consumer, topic: str, spans: Spans, since_ms: int, timeout_s: float) -> Spans:
    """The same, each from the first record that is not older; -1 says that all are."""
    asked = [TopicPartition(topic, number, since_ms) for number in spans]
    firsts = {found.partition: found.offset for found in consumer.offsets_for_times(asked, timeout_s)}
    return {number: (end if firsts[number] < 0 else firsts[number], end) for number, (_, end) in spans.items()}


def _is_end(name: str) -> bool:
    return name == "_PARTITION_EOF"
