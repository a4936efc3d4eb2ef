"""Publish events to penstock, and ask its tables.

>>> from penstock.client import Plaintext, Publisher
>>> with Publisher("127.0.0.1:7070", "phone-17", security=Plaintext()) as publisher:  # doctest: +SKIP
...     publisher.publish("post.created", {"author": "ada", "post": "p1"})
"""

from penstock.client.aio import AsyncPendingReceipt, AsyncPublisher
from penstock.client.channel import Plaintext, Tls
from penstock.client.clocks import DeviceClocks, SystemClocks
from penstock.client.errors import (
    BatchRejectedError,
    BufferFullError,
    DeliveryTimeoutError,
    EventDroppedError,
    EventTooLargeError,
    FlushTimeoutError,
    NoSuchTableError,
    NotYetVisibleError,
    PenstockError,
    PublisherClosedError,
    TablesError,
    UndeliveredError,
)
from penstock.client.estimate import ClockEstimate
from penstock.client.place import Place
from penstock.client.publisher import PendingReceipt, Publisher
from penstock.client.reading import Reading
from penstock.client.receipt import Receipt, Status
from penstock.client.row import Lookup, Row, RowStatus, TableState
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Stats
from penstock.client.tables import Tables

__all__ = [
    "AsyncPendingReceipt",
    "AsyncPublisher",
    "BatchRejectedError",
    "BufferFullError",
    "ClockEstimate",
    "DeliveryTimeoutError",
    "DeviceClocks",
    "EventDroppedError",
    "EventTooLargeError",
    "FlushTimeoutError",
    "Lookup",
    "NoSuchTableError",
    "NotYetVisibleError",
    "PendingReceipt",
    "PenstockError",
    "Place",
    "Plaintext",
    "Publisher",
    "PublisherClosedError",
    "PublisherSettings",
    "Reading",
    "Receipt",
    "Row",
    "RowStatus",
    "Stats",
    "Status",
    "SystemClocks",
    "TableState",
    "Tables",
    "TablesError",
    "Tls",
    "UndeliveredError",
]
