"""What a join step must know when raw partitions become its own, from the logs of whoever had them before.

In:  the records of enrichment.seen.v1 and events.enriched.v1. Out: which events were taken, and which can still be
     corrected.
Pure: reading the log is the caller's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from penstock.enrich.v1.seen_pb2 import SeenWindow
from penstock.enrichment.join.assembly import identity
from penstock.enrichment.join.horizon import Emitted
from penstock.enrichment.join.joiner import Joiner
from penstock.enrichment.join.seen import Ranges, Seen
from penstock.enrichment.steps import Record
from penstock.events.v1.event_pb2 import Event
from penstock.pipeline import key_values


def restore_seen(records: Iterable[Record], seen: Mapping[int, Seen]) -> None:
    """Fills the windows of raw partitions, which have the numbers of the changelog's."""
    for record in records:
        of_partition, value = seen[record.partition() or 0], record.value()
        if value is None:  # a boot, or a device without numbers, that had to be forgotten
            device_id, boot_id, *is_of_ids = key_values((record.key() or b"").decode())
            if is_of_ids:
                of_partition.restore_ids(device_id, None)
            else:
                of_partition.restore(device_id, boot_id, None)
            continue
        window = SeenWindow.FromString(value)
        if window.ids:
            of_partition.restore_ids(window.device_id, list(window.ids))
        else:
            of_partition.restore(window.device_id, window.boot_id, Ranges(list(window.ranges), window.forgotten))


def emitted_before(
    records: Iterable[Record], raw_partitions: Collection[int], joiner: Joiner, events_max: int
) -> Iterator[Emitted]:
    """The newest revision of each event of these partitions that had something to join; the last `events_max` read."""
    # As bytes: parsed, a busy topic's events would take gigabytes.
    newest: dict[tuple[str, str, str], tuple[int, int, bytes]] = {}
    for record in records:
        value = record.value() or b""
        event = Event.FromString(value)
        if event.source.partition not in raw_partitions or not event.enrichments:
            continue
        name, revision = identity(event), event.revision
        if name in newest and newest[name][0] > revision:
            continue
        newest.pop(name, None)
        newest[name] = (revision, record.timestamp()[1] * 1000, value)
        if len(newest) > events_max:
            del newest[next(iter(newest))]
    for _, emitted_us, value in newest.values():
        yield _emitted(Event.FromString(value), emitted_us, joiner)


def _emitted(event: Event, emitted_us: int, joiner: Joiner) -> Emitted:
    known = [(row, one) for one in event.enrichments if (row := joiner.row_of(event, one)) is not None]
    base = Event()
    base.CopyFrom(event)
    base.ClearField("enrichments")
    base.ClearField("revision")
    # Those of a former pipeline.yaml stay as they are: nothing can change them.
    base.enrichments.extend(one for one in event.enrichments if joiner.row_of(event, one) is None)
    return Emitted(
        event.source.partition,
        event.key.encode(),
        base.SerializeToString(deterministic=True),
        event.clock.corrected_us,
        emitted_us,
        event.revision,
        tuple(row for row, _ in known),
        tuple(Event(enrichments=[one]).SerializeToString(deterministic=True) for _, one in known),
    )
