import asyncio

from confluent_kafka import Producer
from penstock.demo.log_reader import LogReader
from penstock.embedded.broker import Kafka
from penstock.topics import load
from penstock.topics.kafka import ensure

TOPIC = "events.enriched.v1"
PATIENCE_S = 60


def write(kafka: Kafka, values: range, *, commit: bool) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "test-log-reader"})
    producer.init_transactions(PATIENCE_S)
    producer.begin_transaction()
    for value in values:
        producer.produce(load().kafka_name(TOPIC), key=str(value), value=str(value))
    producer.flush(PATIENCE_S)
    if commit:
        producer.commit_transaction(PATIENCE_S)
    else:
        producer.abort_transaction(PATIENCE_S)


async def test_all_that_is_committed_is_read_up_to_the_end_that_is_a_transactions_marker(own_kafka: Kafka) -> None:
    ensure({"bootstrap.servers": own_kafka.bootstrap}, load(), names=[TOPIC])
    read: list[int] = []
    reader = LogReader(own_kafka.bootstrap, TOPIC, lambda value: read.append(int(value)))
    async with asyncio.timeout(2 * PATIENCE_S):
        running = asyncio.create_task(reader.run())
        await asyncio.to_thread(write, own_kafka, range(50), commit=True)
        await asyncio.to_thread(write, own_kafka, range(50, 60), commit=False)
        await asyncio.to_thread(write, own_kafka, range(60, 80), commit=True)
        await reader.finish()
        await running
    assert sorted(read) == [*range(50), *range(60, 80)]
