"""The steps before the tables: ingestion and enrichment, so that a post can be published as a device does it.

In:  a course that runs. Out: a way to send posts through Publish; the two services, for as long as it is open.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import grpc
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but missing from its __all__
    AdminClient,
    NewTopic,
)
from penstock.embedded.services import start_enrichment, start_ingestion
from penstock.ingest.v1.ingest_pb2 import PublishRequest
from penstock.ingest.v1.ingest_pb2_grpc import IngestServiceStub
from timeline_course import Course
from timeline_data import TEXT
from timeline_visible import Send

CAPTURED = "cdc.app.profiles"  # Debezium's, which stays empty: enrichment looks there, too
TIMEOUT_S = 30.0


@contextmanager
def chain(on: Course) -> Iterator[Send]:
    """Enrichment first reads all rows of the tables, which takes a while where there are millions."""
    client = AdminClient({"bootstrap.servers": on.bootstrap})
    for made in client.create_topics([NewTopic(CAPTURED, 1)]).values():
        made.result()
    ingestion = start_ingestion(on.supervisor, on.bootstrap, environment=on.settings)
    enrichment = start_enrichment(on.supervisor, on.bootstrap, environment=on.settings)
    sequence = count(1)
    with grpc.insecure_channel(ingestion.address) as channel:
        publish = IngestServiceStub(channel).Publish

        def send(author: str, post_id: str) -> None:
            now_us = time.time_ns() // 1000
            request = PublishRequest(device_id="bench-probe", boot_id="boot")
            request.sent.wall_us = now_us
            event = request.events.add(type="post.created", seq=next(sequence))
            event.occurred.wall_us = now_us
            event.attributes.update({"author": author, "post_id": post_id, "text": TEXT, "language": "en"})
            answer = publish(request, timeout=TIMEOUT_S)
            if answer.accepted != 1:
                raise SystemExit(f"ingestion refused a post: {answer.refusals}")

        yield send
    on.supervisor.end(enrichment.name)
    on.supervisor.end(ingestion.name)
