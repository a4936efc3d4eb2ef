"""Publish events to penstock.

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
    PenstockError,
    PublisherClosedError,
    UndeliveredError,
)
from penstock.client.estimate import ClockEstimate
from penstock.client.publisher import PendingReceipt, Publisher
from penstock.client.reading import Reading
from penstock.client.receipt import Receipt, Status
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Stats

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
    "PendingReceipt",
    "PenstockError",
    "Plaintext",
    "Publisher",
    "PublisherClosedError",
    "PublisherSettings",
    "Reading",
    "Receipt",
    "Stats",
    "Status",
    "SystemClocks",
    "Tls",
    "UndeliveredError",
]
