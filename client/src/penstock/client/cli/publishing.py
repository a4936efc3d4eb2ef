"""`penstock publish`: one event, or a file of them.

In:  events. Out: how many were accepted and, line by line, why the others were not.
A bad or refused line does not stop the rest; the exit code says that there was one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from penstock.client.channel import Security
from penstock.client.cli.faults import check_reachable
from penstock.client.cli.jsonl import BadLineError, EventLine, parse
from penstock.client.cli.options import as_option_error
from penstock.client.cli.times import clock_text
from penstock.client.errors import PenstockError
from penstock.client.publisher import PendingReceipt, Publisher
from penstock.client.receipt import Receipt, Status
from penstock.client.settings import PublisherSettings
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

_FAULTS_SHOWN_MAX = 20
# Events that time out say why; closing first would only say that it closed.
_CLOSE_GRACE_S = 5.0


@dataclass(frozen=True, slots=True)
class Target:
    """Where to publish, and as whom."""

    server: str
    security: Security
    device_id: str
    timeout_s: float

    def publisher(self, linger_s: float, on_refused: Callable[[Receipt], object]) -> Publisher:
        """Tries for as long as the user is willing to wait."""
        settings = PublisherSettings(
            linger_s=linger_s,
            delivery_timeout_s=self.timeout_s,
            block_timeout_s=self.timeout_s,
            close_timeout_s=self.timeout_s + _CLOSE_GRACE_S,
        )
        with as_option_error():
            return Publisher(
                self.server, self.device_id, security=self.security, settings=settings, on_refused=on_refused
            )

    def check_reachable(self) -> None:
        """Fails at once where waiting would not help."""
        advice = "Name one with --server or PENSTOCK_SERVER; `make demo` starts one and prints its address."
        check_reachable(self.server, "an ingestion service", advice)


def publish_one(target: Target, event: EventLine, out: Console) -> bool:
    """Publishes an event and says what became of it. False: it was refused."""
    target.check_reachable()
    with target.publisher(linger_s=0, on_refused=lambda _: None) as publisher:
        with as_option_error():
            pending = _publish(publisher, event)
        receipt = pending.result(target.timeout_s + 1)
        clock = publisher.clock
    out.print(_outcome(event.type, receipt), markup=False, style="" if receipt.delivered else "red")
    if clock is not None and receipt.delivered:
        out.print(clock_text(clock), style="dim", markup=False)
    return receipt.delivered


def _publish(publisher: Publisher, event: EventLine) -> PendingReceipt:
    return publisher.publish(event.type, event.attributes, event.data, occurred=event.occurred, **event.extras)


def _outcome(event_type: str, receipt: Receipt) -> str:
    identity = f"{receipt.device_id}/{receipt.boot_id}/{receipt.seq}"
    if receipt.status is Status.REFUSED:
        return f"refused {event_type}: {receipt.reason_name}: {receipt.detail}"
    positions = receipt.consistency.positions if receipt.consistency else ()
    places = ", ".join(f"{p.topic}[{p.partition}]@{p.offset}" for p in positions)
    return f"{receipt.status.value} {event_type} as {identity}{f' in {places}' if places else ''}"


@dataclass(slots=True)
class LineReport:
    """What became of the lines of a file."""

    out: Console
    numbers: list[int] = field(default_factory=list)
    """The line of each event, by its sequence number."""
    bad: int = 0
    refused: int = 0
    last: int = 0
    """The last line that was read."""

    def bad_line(self, number: int, reason: str) -> None:
        """The line is not an event."""
        self.bad += 1
        self._show(f"line {number}: {reason}")

    def refused_event(self, receipt: Receipt) -> None:
        """The server does not take the event."""
        self.refused += 1
        self._show(f"line {self.numbers[receipt.seq - 1]}: refused: {receipt.reason_name}: {receipt.detail}")

    def _show(self, text: str) -> None:
        shown = self.bad + self.refused
        if shown <= _FAULTS_SHOWN_MAX:
            self.out.print(text, style="red", markup=False)
        elif shown == _FAULTS_SHOWN_MAX + 1:
            self.out.print("more lines have faults; they are counted below", style="red")


def publish_lines(target: Target, source: Path | None, stdin: BinaryIO, out: Console) -> bool:
    """Publishes a file (None: stdin) line by line. False: not all of it was accepted."""
    target.check_reachable()
    report = LineReport(out)
    publisher = target.publisher(linger_s=0.02, on_refused=report.refused_event)
    faults: list[PenstockError] = []
    try:
        with publisher, _lines(source, stdin, out) as lines:
            _publish_each(publisher, lines, report)
    except PenstockError as error:  # no room for too long, or not all delivered: the counts say how far it got
        faults.append(error)
    stats = publisher.stats
    out.print(f"{stats.acknowledged} accepted, {stats.refused} refused, {report.bad} bad lines", markup=False)
    for fault in faults:
        out.print(f"stopped after line {report.last}: {fault}", style="red", markup=False)
    return not (faults or stats.refused or report.bad)


def _publish_each(publisher: Publisher, lines: Iterable[bytes], report: LineReport) -> None:
    for number, line in enumerate(lines, 1):
        report.last = number
        if not line.strip():
            continue
        report.numbers.append(number)  # before publishing: the refusal may come back at once
        try:
            _publish(publisher, parse(line))
        except (BadLineError, ValueError) as error:
            report.numbers.pop()
            report.bad_line(number, str(error))


@contextmanager
def _lines(source: Path | None, stdin: BinaryIO, out: Console) -> Iterator[Iterator[bytes]]:
    """The lines, with a progress bar on a terminal."""
    total = source.stat().st_size if source is not None and source.is_file() else None
    columns = (SpinnerColumn(), TextColumn("publishing"), BarColumn(), TaskProgressColumn(), DownloadColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("publishing", total=total)
        file = source.open("rb") if source is not None else stdin

        def advancing() -> Iterator[bytes]:
            for line in file:
                yield line
                progress.advance(task, len(line))

        try:
            yield advancing()
        finally:
            if source is not None:
                file.close()
