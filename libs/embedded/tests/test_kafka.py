"""The real broker: what it promises to clients, also after kill -9."""

from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.cimpl import NewTopic
from penstock.embedded.broker import Kafka
from penstock.embedded.pytest_plugin import OwnKafka
from penstock.embedded.readiness import quiet_admin

TIMEOUT_S = 30.0


def create(bootstrap: str, topic: str) -> None:
    admin = quiet_admin(bootstrap)
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(TIMEOUT_S)


def produce(bootstrap: str, topic: str, values: Iterable[bytes]) -> list[bytes]:
    """The values that the broker acknowledged."""
    acknowledged: list[bytes] = []

    def note(error: KafkaError | None, record: "Message[bytes, bytes]") -> None:
        if error is None:
            acknowledged.append(record.value() or b"")

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True})
    for value in values:
        producer.produce(topic, value, on_delivery=note)
    assert producer.flush(TIMEOUT_S) == 0
    return acknowledged


def consume(bootstrap: str, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        records = consumer.consume(count, TIMEOUT_S)
        consumer.commit(asynchronous=False)
        return [record.value() or b"" for record in records]
    finally:
        consumer.close()


def test_what_is_produced_is_consumed(kafka: Kafka, topic_prefix: str) -> None:
    topic = f"{topic_prefix}events"
    create(kafka.bootstrap, topic)
    values = [b"%d" % number for number in range(100)]
    assert produce(kafka.bootstrap, topic, values) == values
    assert consume(kafka.bootstrap, topic, 100) == values


def test_a_topic_nobody_created_is_an_error(kafka: Kafka, topic_prefix: str) -> None:
    codes: list[int | None] = []

    def note(error: KafkaError | None, _: "Message[bytes, bytes]") -> None:
        codes.append(None if error is None else error.code())

    producer = Producer({"bootstrap.servers": kafka.bootstrap, "topic.metadata.propagation.max.ms": 1})
    producer.produce(f"{topic_prefix}misspelt", b"", on_delivery=note)
    producer.flush(TIMEOUT_S)
    assert codes == [KafkaError.UNKNOWN_TOPIC_OR_PART]


def test_acknowledged_records_survive_kill_9(own_kafka: OwnKafka) -> None:
    create(own_kafka.bootstrap, "events")
    acknowledged: list[bytes] = []
    pid = own_kafka.supervisor.pid(own_kafka.name)
    for life in range(2):
        acknowledged += produce(own_kafka.bootstrap, "events", [b"%d-%d" % (life, n) for n in range(500)])
        own_kafka.kill()
        own_kafka.restart()
    assert own_kafka.supervisor.pid(own_kafka.name) != pid
    assert len(acknowledged) == 1000
    assert consume(own_kafka.bootstrap, "events", 1000) == acknowledged
