"""What a publisher has done so far, counted in events."""

from __future__ import annotations

from dataclasses import dataclass, fields

from penstock.client.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Stats:
    """A snapshot. Every event is in one of: buffered, acknowledged, refused, dropped, failed."""

    sent: int
    """Events that were sent at least once."""
    resent: int
    """Sendings beyond the first, one for each event of a batch sent again."""
    acknowledged: int
    """In the log: accepted, or accepted by an earlier attempt."""
    duplicates: int
    """Part of `acknowledged`: the server had them already."""
    refused: int
    """The server will not take them; see `on_refused`."""
    failed: int
    """Given up with an error."""
    dropped: int
    """Not taken in because the buffer was full."""
    buffered: int
    """Taken in and not yet settled, what is under way included."""
    buffered_bytes: int


@dataclass(slots=True)
class Tally:
    """The running count behind Stats."""

    sent: int = 0
    resent: int = 0
    acknowledged: int = 0
    duplicates: int = 0
    refused: int = 0
    failed: int = 0
    dropped: int = 0
    buffered: int = 0
    buffered_bytes: int = 0
    first_error: PenstockError | None = None

    def snapshot(self) -> Stats:
        """As a value."""
        return Stats(**{f.name: getattr(self, f.name) for f in fields(Stats)})

    def sent_batch(self, events: int, *, again: bool) -> None:
        """A batch left, for the first time or again."""
        if again:
            self.resent += events
        else:
            self.sent += events

    def acknowledged_batch(self, events: int, duplicates: int, refused: int, size: int) -> None:
        """A batch was answered."""
        self.acknowledged += events - refused
        self.duplicates += duplicates
        self.refused += refused
        self.buffered -= events
        self.buffered_bytes -= size

    def gave_up(self, events: int, size: int, error: PenstockError) -> None:
        """Events were given up."""
        self.failed += events
        self.buffered -= events
        self.buffered_bytes -= size
        if events and self.first_error is None:
            self.first_error = error
