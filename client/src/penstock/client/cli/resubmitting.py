"""`penstock dead-letters resubmit`: tries letters again and says, one by one, what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.client.cli.dead_letters import DeadLetters, Outcome, Wanted
from penstock.client.cli.letters import CHANGES, Letter, indexes_by_place
from penstock.client.cli.record_writer import RecordWriter
from penstock.client.cli.rendering import visible
from penstock.client.place import Place
from penstock.pipeline import EventType
from rich.console import Console


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which events of which records, oldest first; None: all of a record's."""

    indexes: Mapping[Place, set[int] | None]
    letters: int

    @property
    def text(self) -> str:
        """How many."""
        return f"{self.letters:,} dead {'letter' if self.letters == 1 else 'letters'}"


def choose(letters: DeadLetters, wanted: Wanted, letters_max: int) -> Chosen:
    """All that are wanted, the newest `letters_max` if there are more; of what was refused several times the newest."""
    found: dict[bytes, Letter] = {}
    for letter in letters.newest(wanted):
        found.setdefault(letter.fingerprint or str(letter.place).encode(), letter)
        if len(found) == letters_max:
            break
    oldest_first = list(found.values())[::-1]
    return Chosen(dict(indexes_by_place(oldest_first)), len(found))


def resubmit(
    letters: DeadLetters,
    chosen: Chosen,
    bootstrap: str,
    event_types: Mapping[str, EventType],
    out: Console,
    err: Console,
) -> bool:
    """False: something was left out."""
    written, left_out = 0, 0
    with RecordWriter(bootstrap) as writer:
        for outcome in letters.resubmit(chosen.indexes, writer, event_types):
            _tell(outcome, out, err)
            written += outcome.written is not None
            left_out += bool(outcome.plan.left_out)
    records = "record was" if written == 1 else "records were"
    err.print(
        f"{written:,} {records} written again; what fails once more will be a new dead letter"
        if written
        else "nothing was written",
        style="dim",
    )
    return not left_out


def _tell(outcome: Outcome, out: Console, err: Console) -> None:
    place, plan = outcome.place, outcome.plan
    if outcome.written is not None:
        what = "1 change" if place.topic == CHANGES else f"{plan.entries} {'event' if plan.entries == 1 else 'events'}"
        note = f" ({plan.note})" if plan.note else ""
        out.print(f"{place}: {what} re-submitted as {outcome.written}{note}", markup=False)
    for reason in plan.left_out:
        err.print(f"{place}: left out: {visible(reason)}", style="yellow", markup=False)
