"""Reads the raw log, corrects times from what it finds there, and compares them with the truth.

In:  records of events.raw.v1. Out: the ledger and the accuracy, kept up to date.
It knows nothing of a batch but its bytes. Events of devices that are not of the fleet are not judged.
"""

from collections.abc import Container

from google.protobuf.message import DecodeError
from penstock.clock import Corrected, batch_clock, correct_event
from penstock.demo.accuracy import Accuracy
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.population import is_ours
from penstock.events.v1.event_pb2 import Event
from penstock.events.v1.raw_batch_pb2 import RawBatchView

RAW = "events.raw.v1"


class Observer:
    def __init__(self, ledger: Ledger, accuracy: Accuracy) -> None:
        self._ledger, self._accuracy = ledger, accuracy

    def take(self, record: bytes) -> None:
        """One record of the log."""
        try:
            batch = RawBatchView.FromString(record)
        except DecodeError:
            return  # not of the fleet: somebody plays with the log, and enrichment sets it aside
        if not is_ours(batch.device_id):
            return
        clock, refused = batch_clock(batch.sent, batch.stamp), frozenset(batch.stamp.refused)
        for event in accepted_events(batch, refused):
            self._judge(batch, event, correct_event(event, clock, batch.boot_id))

    def _judge(self, batch: RawBatchView, event: Event, corrected: Corrected) -> None:
        true_us = self._ledger.read(Identity(batch.device_id, event.boot_id or batch.boot_id, event.seq))
        if true_us is not None:
            self._accuracy.add(
                true_us,
                occurred_us=event.occurred.wall_us,
                sent_us=batch.sent.wall_us,
                received_us=batch.stamp.received_us,
                corrected=corrected,
            )


def accepted_events(batch: RawBatchView, refused: Container[int]) -> list[Event]:
    """The others are in the log, but they are not events."""
    return [Event.FromString(raw) for index, raw in enumerate(batch.events) if index not in refused]
