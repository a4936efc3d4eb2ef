"""Everything there is to show, for whichever view shows it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.clock import Method
from penstock.demo import texts
from penstock.demo.accuracy import Accuracy, Errors
from penstock.demo.ledger import Ledger
from penstock.demo.sightings import Sightings
from penstock.demo.stack import Stack
from penstock.demo.tally import Rate, Tally

METHOD_TEXTS = {
    Method.ECHO: "clock tokens",
    Method.ONE_WAY: "no tokens",
    Method.NAIVE: "first contact",
    Method.RECEIVED: "no usable clock",
}


@dataclass
class Scene:
    """`command`: how the penstock command is called from here."""

    devices: int
    duration_s: float | None
    stack: Stack
    command: str
    ledger: Ledger = field(default_factory=Ledger)
    accuracy: Accuracy = field(default_factory=Accuracy)
    sightings: Sightings = field(default_factory=Sightings)
    tally: Tally = field(default_factory=Tally)
    rate: Rate = field(default_factory=Rate)
    elapsed_s: float = 0.0
    is_ending: bool = False
    # False: the log could not be read to its end, and what is missing from it may be there.
    is_log_read: bool = True

    @property
    def time_text(self) -> str:
        """For example 00:17 of 00:30."""
        now = texts.elapsed(self.elapsed_s)
        return now if self.duration_s is None else f"{now} of {texts.elapsed(self.duration_s)}"

    @property
    def hints(self) -> tuple[str, ...]:
        """What to type in a second terminal."""
        return (
            f"{self.command} tail events.raw.v1 --bootstrap {self.stack.bootstrap}",
            f"{self.command} publish profile.changed user=me --server {self.stack.server}",
        )


class ErrorRow(NamedTuple):
    """One line of the table of errors, as text."""

    name: str
    events: str
    p50: str
    p99: str
    worst: str
    bound: str
    within: str


ERROR_HEADINGS = ErrorRow("error against the truth", "events", "p50", "p99", "worst", "bound", "in bound")


def error_rows(accuracy: Accuracy) -> Iterator[ErrorRow]:
    """Ours, ours by method, the peers', the device's own."""
    yield _error_row("penstock", accuracy.ours)
    for method, errors in accuracy.by_method.items():
        if errors.wrong_us.count:
            yield _error_row(f"  {METHOD_TEXTS[method]}", errors)
    yield _error_row("peers: + received − sent", accuracy.peers)
    yield _error_row("the device's own clock", accuracy.device)


def _error_row(name: str, errors: Errors) -> ErrorRow:
    wrong_us, some = errors.wrong_us, errors.wrong_us.count > 0
    return ErrorRow(
        name,
        f"{wrong_us.count:,}",
        texts.span(wrong_us.quantile(0.50)),
        texts.span(wrong_us.quantile(0.99)),
        texts.span(wrong_us.greatest if some else None),
        f"± {texts.span(errors.bound_us.quantile(0.50))}" if errors.bound_us.count else "none",
        texts.percent(errors.coverage),
    )
