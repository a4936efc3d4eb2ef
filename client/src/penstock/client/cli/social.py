"""What `penstock post`, `follow`, `unfollow` and `delete-post` do: publish one event, and wait until readers see it.

In:  what somebody does, as an event of the social pipeline; where to publish it, and where to look for it.
Out: what happened, the token with which reads see it, and how long it took to be seen.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.client.cli import screen
from penstock.client.cli.options import as_option_error
from penstock.client.cli.publishing import Target
from penstock.client.cli.rendering import visible
from penstock.client.cli.times import clock_text, span_text
from penstock.client.errors import NotYetVisibleError, PenstockError, TimelinesError
from penstock.client.estimate import ClockEstimate
from penstock.client.receipt import Receipt
from penstock.client.row import places_of
from penstock.client.timelines import Timelines
from penstock.events.v1.raw_batch_pb2 import REFUSAL_REASON_UNKNOWN_TYPE
from rich.console import Console


@dataclass(frozen=True, slots=True)
class Deed:
    """What somebody does."""

    command: str
    """As it was typed."""
    event_type: str
    attributes: Mapping[str, str]
    sentence: str
    """What has happened once it is accepted."""
    reader: str | None
    """Whose timeline changes; None: those of all who follow the author."""

    @property
    def asked(self) -> str:
        """Whose timeline is asked whether it is visible; where many change, the author's stands for them."""
        return self.reader or self.attributes["author"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of it."""

    deed: Deed
    receipt: Receipt
    clock: ClockEstimate | None
    visible_after_us: int | None = None
    """From the moment it was published; None: nobody waited."""


def publish(deed: Deed, target: Target, timelines: Timelines | None) -> Outcome:
    """Publishes; with `timelines` waits until they reflect it. PenstockError: it was refused, or is not visible."""
    target.check_reachable()
    with target.publisher(linger_s=0, on_refused=lambda _: None) as publisher:
        began = time.monotonic_ns()
        with as_option_error():
            pending = publisher.publish(deed.event_type, deed.attributes)
        receipt = pending.result(target.timeout_s + 1)
        clock = publisher.clock
    if not receipt.delivered:
        raise PenstockError(_refusal(deed, receipt))
    if timelines is None:
        return Outcome(deed, receipt, clock)
    _wait(deed, receipt, timelines)
    return Outcome(deed, receipt, clock, (time.monotonic_ns() - began) // 1000)


def _refusal(deed: Deed, receipt: Receipt) -> str:
    said = f"refused {deed.event_type}: {receipt.reason_name}: {receipt.detail}"
    if receipt.reason != REFUSAL_REASON_UNKNOWN_TYPE:
        return said
    return (
        f"{said}. `penstock {deed.command}` is for the social pipeline, and another one runs there: "
        "publish its events with `penstock publish TYPE KEY=VALUE…`"
    )


def _wait(deed: Deed, receipt: Receipt, timelines: Timelines) -> None:
    if receipt.consistency is None:
        raise PenstockError(f"{deed.sentence}, but the answer that had the token was lost: nothing to wait for")
    done = f"{deed.sentence} (token {' '.join(_token(receipt))})"
    try:
        timelines.get(deed.asked, limit=1, consistency=receipt.consistency)
    except NotYetVisibleError as error:
        raise PenstockError(f"{done}, but it was not visible in time: {error}") from error
    except TimelinesError as error:
        raise PenstockError(f"{done}, but whether it is visible nobody could say: {error}") from error


def _token(receipt: Receipt) -> list[str]:
    """As --token takes it; empty if it was accepted by an earlier attempt, whose answer was lost."""
    return [] if receipt.consistency is None else [str(place) for place in places_of(receipt.consistency.positions)]


def show(outcome: Outcome, out: Console, *, as_json: bool) -> None:
    """Prints what happened."""
    if as_json:
        screen.write_line(out, json.dumps(outcome_fields(outcome)))
        return
    out.print(visible(outcome.deed.sentence), markup=False)
    token = _token(outcome.receipt)
    if token:
        options = " ".join(f"--token {place}" for place in token)
        out.print(f"token {' '.join(token)}", markup=False)
        reader = shlex.quote(visible(outcome.deed.reader or "FOLLOWER"))
        out.print(f"  penstock timeline {reader} {options} waits for it", style="dim", markup=False)
    if outcome.visible_after_us is not None:
        after = f"visible after {span_text(outcome.visible_after_us)}"
        out.print(f"{after} (by the timeline of {visible(outcome.deed.asked)})", style="green", markup=False)
    if outcome.clock is not None:
        out.print(clock_text(outcome.clock), style="dim", markup=False)


def outcome_fields(outcome: Outcome) -> dict[str, Any]:
    """null is "nobody waited"."""
    receipt = outcome.receipt
    return {
        "type": outcome.deed.event_type,
        "attributes": dict(sorted(outcome.deed.attributes.items())),
        "status": receipt.status.value,
        "device_id": receipt.device_id,
        "boot_id": receipt.boot_id,
        "seq": receipt.seq,
        "token": _token(receipt),
        "visible_after_us": outcome.visible_after_us,
    }
