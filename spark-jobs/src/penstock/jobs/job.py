"""What every job is given: the session, the pipeline, and how to read and write Kafka."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.pipeline import Pipeline
from penstock.topics import TopicMap
from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Context:
    spark: SparkSession
    pipeline: Pipeline
    topics: TopicMap
    kafka: Mapping[str, str]  # of Kafka's Java clients
    checkpoints: str
    records_max: int

    def checkpoint(self, job: str) -> str:
        """Where a job keeps its offsets and state."""
        return f"{self.checkpoints.rstrip('/')}/{job}"

    def read(self, topics: Sequence[str]) -> DataFrame:
        """All committed records of these topics, from their beginning; it is an error if some were deleted unread."""
        options = {
            "subscribe": ",".join(topics),
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(self.records_max),
            "kafka.isolation.level": "read_committed",
            **self._client(),
        }
        return self.spark.readStream.format("kafka").options(**options).load()

    def sink_options(self, record_bytes_max: int) -> dict[str, str]:
        """For a producer that may write records of this size."""
        return {
            **self._client(),
            "kafka.acks": "all",
            "kafka.enable.idempotence": "true",
            "kafka.compression.type": "lz4",
            "kafka.linger.ms": "0",
            "kafka.max.request.size": str(record_bytes_max),
            "kafka.batch.size": str(256 << 10),
        }

    def _client(self) -> dict[str, str]:
        return {f"kafka.{name}": value for name, value in self.kafka.items()}
