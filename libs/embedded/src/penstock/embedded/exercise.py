"""Uses a broker once in each of the ways that we use brokers.

In:  the address of a broker without a topic.
Out: nothing but the classes that the broker has loaded by then, for its archive.
"""

from concurrent.futures import Future

from confluent_kafka import Consumer, Producer
from confluent_kafka.cimpl import NewTopic
from penstock.embedded.readiness import quiet_admin

TOPIC = "warmup"
TIMEOUT_S = 30.0
RECORDS = 20


def exercise(bootstrap: str) -> None:
    admin = quiet_admin(bootstrap)  # held: its requests end with it
    created: dict[str, Future[None]] = admin.create_topics([NewTopic(TOPIC, 1, 1)])
    created[TOPIC].result(TIMEOUT_S)
    _produce(bootstrap)
    _consume(bootstrap)


def _produce(bootstrap: str) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": TOPIC, "compression.type": "lz4", "log_level": 0}
    )
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    for number in range(RECORDS):
        producer.produce(TOPIC, str(number).encode())
    producer.commit_transaction(TIMEOUT_S)


def _consume(bootstrap: str) -> None:
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": TOPIC, "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([TOPIC])
    try:
        consumer.consume(RECORDS, TIMEOUT_S)
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
