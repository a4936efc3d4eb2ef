"""`penstock topics`: the map of topics beside what Kafka holds of it."""

from __future__ import annotations

from penstock.client.cli.screen import write_line
from penstock.topics import Topic, TopicMap
from penstock.topics.kafka import LiveTopic, describe
from rich.console import Console
from rich.table import Table

_KAFKA_TIMEOUT_S = 10.0
_HEADINGS = ("topic", "partitions", "records", "key", "cleanup", "retention", "producers", "consumers", "message")


def list_topics(topic_map: TopicMap, bootstrap: str, out: Console) -> None:
    """Prints a row per topic; those that Kafka does not have are marked."""
    live = describe({"bootstrap.servers": bootstrap}, topic_map, timeout_s=_KAFKA_TIMEOUT_S)
    rows = [row(topic, topic_map[topic.name]) for topic in live]
    if out.is_terminal:
        out.print(_table(rows))
    else:
        write_line(out, "\n".join("\t".join(cells) for cells in (_HEADINGS, *rows)))


def row(live: LiveTopic, topic: Topic) -> tuple[str, ...]:
    """The cells of one topic."""
    partitions = str(len(live.partitions)) if live.exists else "missing"
    if live.exists and len(live.partitions) != topic.partitions:
        partitions = f"{len(live.partitions)} (map: {topic.partitions})"
    return (
        live.kafka_name,
        partitions,
        f"{live.records:,}" if live.exists else "-",
        topic.key,
        topic.cleanup,
        topic.retention,
        ", ".join(topic.producers),
        ", ".join(topic.consumers),
        topic.message.removeprefix("penstock."),
    )


def _table(rows: list[tuple[str, ...]]) -> Table:
    table = Table(*_HEADINGS, box=None, header_style="bold")
    table.columns[2].justify = "right"
    for cells in rows:
        table.add_row(*cells, style="yellow" if cells[1] == "missing" else "")
    return table
