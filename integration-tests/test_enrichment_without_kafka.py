"""Kafka goes away while enrichment works: it still stops when told."""

from __future__ import annotations

from penstock.client import Plaintext, Publisher
from penstock.embedded.pytest_plugin import OwnKafka
from penstock.embedded.services import start_enrichment, start_ingestion


def test_it_stops_when_told_even_if_kafka_is_gone(own_kafka: OwnKafka) -> None:
    supervisor = own_kafka.supervisor
    ingestion = start_ingestion(supervisor, own_kafka.bootstrap)
    start_enrichment(supervisor, own_kafka.bootstrap, environment={"PENSTOCK_ENRICHMENT_DRAIN_GRACE_S": "3"})
    with Publisher(ingestion.address, "d", security=Plaintext()) as publisher:
        for number in range(200):
            publisher.publish("post.created", {"author": "a", "post_id": str(number)})
    own_kafka.kill()
    # 0: it was between two transactions. 1: one was under way and had to be left. -9 would be the supervisor's doing.
    assert supervisor.end("enrichment") in {0, 1}
    assert "stopped" in supervisor.log("enrichment").read_text(), "the watchdog had to end it"
