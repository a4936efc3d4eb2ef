"""Publish events to penstock, ask its tables, read its timelines.

>>> from penstock.client import Plaintext, Publisher
>>> with Publisher("127.0.0.1:7070", "phone-17", security=Plaintext()) as publisher:  # doctest: +SKIP
...     publisher.publish("post.created", {"author": "ada", "post": "p1"})
"""

from penstock.client.aio import AsyncPendingReceipt, AsyncPublisher
from penstock.client.change import Added, CaughtUp, Change, Removed
from penstock.client.channel import Plaintext, Tls
from penstock.client.clocks import DeviceClocks, SystemClocks
from penstock.client.cursor import Cursor
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
    ReadError,
    TablesError,
    TimelinesError,
    UndeliveredError,
)
from penstock.client.estimate import ClockEstimate
from penstock.client.place import Place
from penstock.client.post import Page, PageQuery, Post
from penstock.client.publisher import PendingReceipt, Publisher
from penstock.client.reading import Reading
from penstock.client.receipt import Receipt, Status
from penstock.client.row import Lookup, Row, RowStatus, TableState
from penstock.client.settings import PublisherSettings
from penstock.client.stats import Stats
from penstock.client.subscription import Disconnection, Subscription
from penstock.client.tables import Tables
from penstock.client.timeline_state import TimelinePartition, TimelinesState, summed_hash
from penstock.client.timeline_view import TimelineView
from penstock.client.timelines import Timelines

__all__ = [
    "Added",
    "AsyncPendingReceipt",
    "AsyncPublisher",
    "BatchRejectedError",
    "BufferFullError",
    "CaughtUp",
    "Change",
    "ClockEstimate",
    "Cursor",
    "DeliveryTimeoutError",
    "DeviceClocks",
    "Disconnection",
    "EventDroppedError",
    "EventTooLargeError",
    "FlushTimeoutError",
    "Lookup",
    "NoSuchTableError",
    "NotYetVisibleError",
    "Page",
    "PageQuery",
    "PendingReceipt",
    "PenstockError",
    "Place",
    "Plaintext",
    "Post",
    "Publisher",
    "PublisherClosedError",
    "PublisherSettings",
    "ReadError",
    "Reading",
    "Receipt",
    "Removed",
    "Row",
    "RowStatus",
    "Stats",
    "Status",
    "Subscription",
    "SystemClocks",
    "TableState",
    "Tables",
    "TablesError",
    "TimelinePartition",
    "TimelineView",
    "Timelines",
    "TimelinesError",
    "TimelinesState",
    "Tls",
    "UndeliveredError",
    "summed_hash",
]
