"""Consume, transform, produce: each batch of input, its output, its state and its offsets in one Kafka transaction.

In:  topics of a consumer group, and a `Step` that turns records into records and keeps state per input partition.
Out: the step's records, exactly once for readers of committed records, whatever dies and whenever.
How: output, changelog and offsets commit together or not at all. After any doubt (an abort, a commit whose answer did
     not come) the producer is made anew, which settles what became of the old transaction; then state is restored and
     input is read again from what Kafka says is committed. A process thought dead is fenced: by its transactional id
     if it came back, by the group's generation if its partitions went elsewhere.
Use from one thread. There is no close(): between rounds no transaction is open, a static member does not tell its group
that it leaves, and librdkafka can hang for ever, holding Python's lock, if it is closed while the group rebalances (its
issue 4527; one stop in six right after a start). So keep it until the process ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from penstock.enrichment.orphans import Orphans
from penstock.enrichment.steps import Output, Step

logger = logging.getLogger(__name__)

COMMIT_TIMEOUT_S = 30.0
INIT_TIMEOUT_S = 60.0
ASK_TIMEOUT_S = 30.0
BEGINNING = 0
BYTES_MAX = 8 << 20  # of input in one transaction: some ten thousand events
PARTITION_UA = -1  # unassigned: the key chooses


class Fenced(Exception):
    """Another process has our transactional id: this one must end."""


class Report(NamedTuple):
    """One round: records read, records written, whether a transaction was committed, whether records are held back."""

    read: int
    written: int
    committed: bool
    holds: bool = False


def no_failpoint(name: str) -> None:
    """The usual one."""


class Transactor:
    def __init__(
        self,
        step: Step,
        *,
        kafka: Mapping[str, str],
        group: str,
        transactional_id: str,
        topics: Sequence[str],
        records_max: int,
        failpoint: Callable[[str], None] = no_failpoint,
    ) -> None:
        self._step = step
        self._producer_config = _producer_config(kafka, transactional_id)
        self._records_max = self._records_now = records_max
        self._failpoint = failpoint
        self._assigned: set[tuple[str, int]] = set()
        self._to_restore: list[TopicPartition] = []
        self._held: list[Message] = []
        self._done: dict[tuple[str, int], int] = {}  # the next offset to commit, by partition
        self._producer = self._new_producer()
        self._consumer = Consumer(_consumer_config(kafka, group, transactional_id), logger=logger)
        self._topics = list(topics)
        self._orphans = Orphans(kafka=kafka, group=group, member=transactional_id, topics=self._topics)
        self._subscribe()

    def round(self, wait_s: float) -> Report:
        """Waits for input up to `wait_s`, then does one transaction if there is anything to do."""
        if not self._held and self._orphans.must_rejoin():
            self._consumer.unsubscribe()
            self._subscribe()
        messages: list[Message] = []
        if not self._step.is_overdue():
            messages, self._held = _within(self._held or self._read(wait_s), BYTES_MAX)
        if self._to_restore:
            self._restore(self._to_restore)
            self._to_restore = []
        messages = [message for message in messages if _place(message) in self._assigned]
        if not messages and not self._step.has_due():
            return Report(0, 0, committed=False)
        if messages and self._step.must_wait(messages):
            self._held = messages + self._held
            return Report(0, 0, committed=False, holds=True)
        try:
            written = self._transact(messages)
        except KafkaException as error:
            self._start_over(error, messages)
            return Report(len(messages), 0, committed=False)
        self._step.committed()
        self._records_now = min(2 * self._records_now, self._records_max)
        self._done.update({_place(message): (message.offset() or 0) + 1 for message in messages})
        return Report(len(messages), written, committed=True)

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )

    def assigned(self) -> list[TopicPartition]:
        return [TopicPartition(topic, partition) for topic, partition in sorted(self._assigned)]

    def lag(self) -> dict[tuple[str, int], int]:
        """Records that are not committed yet, by partition, as far as the client has heard of them."""
        lags = {}
        for place in self.assigned():
            _, end = self._consumer.get_watermark_offsets(place, cached=True)
            done = self._done.get((place.topic, place.partition))
            if end >= 0 and done is not None:
                lags[place.topic, place.partition] = max(0, end - done)
        return lags

    def _read(self, wait_s: float) -> list[Message]:
        first = self._consumer.poll(wait_s)
        if first is None:
            return []
        # consume() alone would wait until it has as many as asked for.
        messages = [first, *self._consumer.consume(self._records_now - 1, 0)] if self._records_now > 1 else [first]
        return [message for message in messages if self._is_record(message)]

    def _is_record(self, message: Message) -> bool:
        error = message.error()
        if error is None:
            return True
        if error.code() not in {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._MAX_POLL_EXCEEDED}:
            raise KafkaException(error)
        # Not created yet, by Debezium for example; or it took us so long that the group went on without us. The client
        # asks or joins again by itself.
        logger.warning("%s", error.str())
        return False

    def _transact(self, messages: Sequence[Message]) -> int:
        self._producer.begin_transaction()
        self._failpoint("before_produce")
        written = self._write(self._step.process(messages)) + self._write(self._step.due())
        self._failpoint("after_produce")
        # Sent even if nothing was read: it is what fences us if our partitions went elsewhere.
        offsets = self._next_offsets(messages)
        self._producer.send_offsets_to_transaction(offsets, self._consumer.consumer_group_metadata(), ASK_TIMEOUT_S)
        self._failpoint("before_commit")
        self._producer.commit_transaction(COMMIT_TIMEOUT_S)
        self._failpoint("after_commit")
        return written

    def _write(self, outputs: Iterable[Output]) -> int:
        produce, written = self._producer.produce, 0
        for topic, key, value, partition in outputs:
            written += 1
            while True:
                try:
                    produce(topic, value, key, PARTITION_UA if partition is None else partition)
                except BufferError:
                    self._producer.poll(0.1)  # the queue is full: let it send
                else:
                    break
        return written

    def _next_offsets(self, messages: Sequence[Message]) -> list[TopicPartition]:
        ends: dict[tuple[str, int], int] = {}
        for message in messages:
            topic, partition = _place(message)
            ends[topic, partition] = (message.offset() or 0) + 1
        if not ends:  # where we are, once more
            ends = {place: self._done[place] for place in self._assigned if place in self._done}
        return [TopicPartition(topic, partition, end) for (topic, partition), end in ends.items()]

    def _start_over(self, error: KafkaException, messages: Sequence[Message]) -> None:
        """Settles what became of the transaction, and goes back to what is committed."""
        cause: KafkaError = error.args[0]
        logger.warning("transaction given up (%s: %s); starting over", cause.name(), cause.str())
        if cause.code() in {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}:
            raise Fenced(cause.str()) from error
        self._step.rolled_back()
        # If it took longer than Kafka lets a transaction take, the next one must be smaller, or it would never end.
        self._records_now = max(1, self._records_now // 2)
        self._producer = self._new_producer()  # waits until the old transaction is committed or aborted
        messages, self._held = [*messages, *self._held], []
        read = {_place(message) for message in messages} & self._assigned
        committed = self._committed(read)
        if not messages or any(committed[place] != self._done.get(place) for place in read):
            # It was committed after all, or nobody can tell: what we remember may be behind the log.
            places = self.assigned()
            self._step.forget(places)
            self._step.restore(places)
        for (topic, partition), offset in committed.items():
            self._consumer.seek(TopicPartition(topic, partition, offset))
            self._done[topic, partition] = offset

    def _committed(self, places: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Where the group goes on, by partition."""
        if not places:
            return {}
        asked = [TopicPartition(topic, partition) for topic, partition in sorted(places)]
        found = self._consumer.committed(asked, ASK_TIMEOUT_S)
        return {(place.topic, place.partition): max(place.offset, BEGINNING) for place in found}

    def _new_producer(self) -> Producer:
        producer = Producer(self._producer_config, logger=logger)
        producer.init_transactions(INIT_TIMEOUT_S)
        return producer

    def _restore(self, partitions: Sequence[TopicPartition]) -> None:
        self._step.restore(partitions)
        self._done |= self._committed({(place.topic, place.partition) for place in partitions})
        self._consumer.resume(list(partitions))

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Within poll(): takes the partitions, paused, until their state is back."""
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)
        self._assigned |= {(place.topic, place.partition) for place in partitions}
        self._to_restore += partitions

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        """Within poll(), so never within a transaction: what was committed is, and the rest is somebody else's."""
        gone = {(place.topic, place.partition) for place in partitions}
        self._assigned -= gone
        self._held = [message for message in self._held if _place(message) not in gone]
        for place in gone:
            self._done.pop(place, None)
        self._to_restore = [place for place in self._to_restore if (place.topic, place.partition) not in gone]
        self._step.forget(partitions)
        consumer.incremental_unassign(partitions)


def _place(message: Message) -> tuple[str, int]:
    return message.topic() or "", message.partition() or 0


def _within(messages: list[Message], bytes_max: int) -> tuple[list[Message], list[Message]]:
    """The first ones that are not too much together, at least one; and the rest."""
    total = 0
    for index, message in enumerate(messages):
        total += len(message.value() or b"")
        if total > bytes_max and index:
            return messages[:index], messages[index:]
    return messages, []


def _producer_config(kafka: Mapping[str, str], transactional_id: str) -> dict[str, Any]:
    return {
        "transactional.id": transactional_id,
        "enable.idempotence": True,
        "acks": "all",
        "partitioner": "murmur2_random",
        "compression.type": "lz4",
        "linger.ms": 100,  # until a batch is full or the commit, which flushes; fewer wake-ups, larger batches
        "message.max.bytes": 8 << 20,
        "queue.buffering.max.messages": 500_000,
        "transaction.timeout.ms": 30_000,  # of one who died: so long, others cannot see what is behind it
        "log.connection.close": False,
        **kafka,
    }


def _consumer_config(kafka: Mapping[str, str], group: str, member: str) -> dict[str, Any]:
    return {
        # A member by name gets its partitions back at once when it restarts; a namesake that still runs is fenced.
        "group.instance.id": member,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "partition.assignment.strategy": "cooperative-sticky",
        "fetch.queue.backoff.ms": 5,
        "queued.max.messages.kbytes": 65_536,
        "session.timeout.ms": 10_000,
        "topic.metadata.refresh.interval.ms": 5_000,  # finds topics that are created later
        "log.connection.close": False,
        **kafka,
    }
