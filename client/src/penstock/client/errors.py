"""What can go wrong with an event on its way to penstock, and with a question to its tables or timelines.

    PenstockError
    ├── EventTooLargeError       one event is larger than a batch may be; nothing was buffered
    ├── BufferFullError          no room within `block_timeout_s`; nothing was buffered
    ├── PublisherClosedError     the publisher was closed; the event was not delivered
    ├── EventDroppedError        no room, and the publisher was told to drop; counted
    ├── DeliveryTimeoutError     tried until `delivery_timeout_s`; the event may or may not be in the log
    ├── BatchRejectedError       the server answered with a code that trying again does not help
    ├── FlushTimeoutError        not everything was settled in time; it still may be
    ├── UndeliveredError         raised by close(): some events of this publisher were not delivered
    └── ReadError                a service did not answer a question, or answered that it cannot
        ├── TablesError          of the tables, by enrichment
        │   └── NoSuchTableError the pipeline declares no table of this name
        ├── TimelinesError       of the timelines
        └── NotYetVisibleError   the token is not reflected yet; wait longer, or allow a stale answer. It is also a
                                 TablesError or a TimelinesError

An event that the server *refused* is not an exception: its receipt says so, with the reason. Neither is a row that
is not there: its status says so; nor a timeline of a user that nobody knows: it is empty.
"""

from __future__ import annotations

from penstock.client.settings import PublisherSettings


class PenstockError(Exception):
    """Anything that this package raises on purpose."""


class EventTooLargeError(PenstockError, ValueError):
    """One event is larger than a batch may be."""


class BufferFullError(PenstockError):
    """The buffer stayed full for as long as the caller was willing to wait."""

    @classmethod
    def after(cls, settings: PublisherSettings) -> BufferFullError:
        """After having waited."""
        return cls(
            f"no room in the buffer ({settings.buffer_events_max} events, {settings.buffer_bytes_max} bytes) "
            f"for block_timeout_s = {settings.block_timeout_s:g}; the server is slower than this publisher "
            "or not there"
        )


class PublisherClosedError(PenstockError):
    """The publisher is closed, or was closed before the event was delivered."""


class EventDroppedError(PenstockError):
    """The buffer was full and the publisher was told to drop."""


class DeliveryTimeoutError(PenstockError):
    """No acknowledgement within `delivery_timeout_s`; the event may or may not be in the log."""


class BatchRejectedError(PenstockError):
    """The server refused a whole batch, for a reason that trying again does not change."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"the server answered {code}: {detail}")
        self.code = code
        self.detail = detail


class FlushTimeoutError(PenstockError):
    """Some events were neither acknowledged nor given up when the time for flushing was over."""


class UndeliveredError(PenstockError):
    """At close: events that were never acknowledged, with the first reason."""

    def __init__(self, events: int, first: PenstockError) -> None:
        super().__init__(f"{events} {'event was' if events == 1 else 'events were'} not delivered; first: {first}")
        self.events = events
        self.first = first


class ReadError(PenstockError):
    """A question has no answer."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        """As in the documentation of gRPC."""
        self.detail = detail


class TablesError(ReadError):
    """A question to the tables has no answer."""


class NoSuchTableError(TablesError):
    """The pipeline of this enrichment service declares no table of this name."""


class TimelinesError(ReadError):
    """A question to the timelines has no answer."""


class NotYetVisibleError(ReadError):
    """What the token names was not reflected within the time that the caller gave; asking again may help."""


class TablesNotYetVisibleError(NotYetVisibleError, TablesError):
    """By the tables."""


class TimelinesNotYetVisibleError(NotYetVisibleError, TimelinesError):
    """By the timelines."""
