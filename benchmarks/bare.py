"""The yardstick of bench-ingest: a bare confluent-kafka producer, one record per event, in its own process.

In (arguments): bootstrap servers, topic, events. Out: one JSON object with seconds and CPU seconds.
Same durability (acks=all, idempotent), same compression, same bytes per event; no gRPC, no checks, no clocks.
"""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import KafkaError, Message, Producer
from load import event


def main() -> None:
    bootstrap, topic, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    now_us = time.time_ns() // 1000
    values = [event(seq, now_us).SerializeToString() for seq in range(1, 5_001)]
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "enable.idempotence": True,
            "compression.type": "lz4",
            "partitioner": "murmur2_random",
            "linger.ms": 5,
            "queue.buffering.max.messages": 500_000,
        }
    )
    failures: list[KafkaError] = []

    def report(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    cpu, began = time.process_time(), time.perf_counter()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, values[number % 5_000], key=b"device-%d" % (number % 64), on_delivery=report)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1_000 == 0:
            producer.poll(0)
    left = producer.flush(60)
    took, cpu = time.perf_counter() - began, time.process_time() - cpu
    if failures or left:
        raise SystemExit(f"the bare producer lost {len(failures) + left} records")
    print(json.dumps({"seconds": took, "cpu_seconds": cpu, "events": count}))


if __name__ == "__main__":
    main()
