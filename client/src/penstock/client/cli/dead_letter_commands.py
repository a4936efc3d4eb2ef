"""`penstock dead-letters`: what was set aside, why, and how to try it again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from penstock.client.cli import screen
from penstock.client.cli.faults import one_sentence
from penstock.client.cli.options import (
    DEFAULT_BOOTSTRAP,
    AsJson,
    Bootstrap,
    LocalTime,
    OptionError,
    PipelineFile,
    Prefix,
    as_option_error,
    event_types,
    topic_map,
)
from penstock.client.cli.times import moment_us
from penstock.client.excerpt import excerpt
from penstock.client.place import place_of

# Kafka's library is loaded only by the commands that need it.
if TYPE_CHECKING:
    from penstock.client.cli.dead_letters import DeadLetters, Wanted

_RESUBMITTED_MAX = 10_000
Value = TypeVar("Value")

Reason = Annotated[str | None, typer.Option(metavar="REASON", help="Only those, for example UNKNOWN_TYPE.")]
Since = Annotated[
    str | None,
    typer.Option(metavar="TIME", help="Only newer ones: 2026-11-16T03:00:00Z, 2h (ago), or microseconds since 1970."),
]

dead_letters = typer.Typer(
    help="""Look at what was set aside, and try it again.

    Events that ingestion or enrichment refused are in events.rejected.v1, changes of a database that could not be read
    in changes.rejected.v1. Everything else went on without them.
    """,
    no_args_is_help=True,
)


@dead_letters.command("list")
def list_letters(
    reason: Reason = None,
    since: Since = None,
    limit: Annotated[int, typer.Option("--max", min=1, max=100_000, help="At most so many.")] = 20,
    as_json: AsJson = False,
    local: LocalTime = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    prefix: Prefix = "",
) -> None:
    """List dead letters, the newest first.

    Each begins with its place (TOPIC:PARTITION:OFFSET), which `show` and `resubmit` take. Events of one request that
    were refused together have one place.

    Examples:

        penstock dead-letters list

        penstock dead-letters list --reason UNKNOWN_TYPE --since 2h --json
    """
    with _opened(bootstrap, prefix) as letters:
        from penstock.client.cli import letter_list

        found = list(islice(letters.newest(_wanted(reason, since)), limit + 1))
        letter_list.show(found[:limit], screen.stdout(), None if local else UTC, as_json=as_json)
        if not found:
            screen.stderr().print("no dead letters", style="green")
        elif len(found) > limit:
            screen.stderr().print(f"these are the newest {limit}; --max shows more", style="dim")


@dead_letters.command()
def show(
    place: Annotated[str, typer.Argument(metavar="PLACE", help="Of the dead letter: TOPIC:PARTITION:OFFSET.")],
    as_json: AsJson = False,
    local: LocalTime = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    prefix: Prefix = "",
) -> None:
    """Show one dead letter with everything that is known of it.

    Payloads are shown as text or JSON where they are that, else in hexadecimal, and shortened; --json has the whole.

    Example:

        penstock dead-letters show events.rejected.v1:0:12
    """
    with _opened(bootstrap, prefix) as letters:
        from penstock.client.cli import letter_text

        found = letters.at(_typed(place_of, place))
        out = screen.stdout()
        if as_json:
            for fields in letter_text.shown_fields(*found):
                screen.write_line(out, json.dumps(fields))
        else:
            for text, style in letter_text.shown(*found, None if local else UTC):
                out.print(text, style=style, markup=False)


@dead_letters.command()
def resubmit(
    places: Annotated[
        list[str] | None, typer.Argument(metavar="PLACE", help="Of dead letters: TOPIC:PARTITION:OFFSET.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="REASON", help="All with this reason, instead of places; asks for --yes.")
    ] = None,
    since: Since = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without it, --reason only says how many there are.")
    ] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    prefix: Prefix = "",
    pipeline: PipelineFile = None,
) -> None:
    """Try dead letters again, after what was wrong has been mended.

    Writes the record that a letter came in to its topic once more, with the same key, partition, payload and headers.
    Of a batch of events only the refused ones are tried. A letter that fails again becomes a new dead letter; the old
    one stays in the list until its topic forgets it.

    **At least once.** If this command is interrupted or run twice, a record may be written twice; it has the effect of
    once. Events keep their identity, and enrichment drops those that it has taken. Changes of a database keep their
    version: one that is older than what the table has of its row changes nothing, neither the row nor its history.

    Events that *ingestion* refused are in no topic. They are tried if the reason was UNKNOWN_TYPE or MISSING_ATTRIBUTE
    and they fit the pipeline that --pipeline names; the rest is for the device to send again. Such events are dated by
    when they were received, since the clock of their device at that time is not known any more.

    Exit code 1 if anything was left out.

    Examples:

        penstock dead-letters resubmit events.rejected.v1:0:12 changes.rejected.v1:1:3

        penstock dead-letters resubmit --reason UNKNOWN_TYPE --since 2h --pipeline pipeline.yaml --yes
    """
    with _opened(bootstrap, prefix) as letters:
        from penstock.client.cli import resubmitting

        if bool(places) == (reason is not None):
            raise OptionError("give the PLACEs of dead letters, or --reason for all that have it")
        if reason is None:
            chosen = resubmitting.Chosen({_typed(place_of, text): None for text in places or ()}, len(places or ()))
        else:
            chosen = resubmitting.choose(letters, _wanted(reason, since), _RESUBMITTED_MAX)
            if not yes:
                raise OptionError(f"{chosen.text} would be re-submitted; add --yes to do it")
        complete = resubmitting.resubmit(
            letters, chosen, bootstrap, event_types(pipeline), screen.stdout(), screen.stderr()
        )
    raise typer.Exit(0 if complete else 1)


@contextmanager
def _opened(bootstrap: str, prefix: str) -> Iterator[DeadLetters]:
    from penstock.client.cli.dead_letters import DeadLetters
    from penstock.client.cli.records import Records, RecordsError
    from penstock.topics.errors import TopicsError

    with one_sentence(RecordsError, TopicsError), Records(bootstrap) as records:
        yield DeadLetters(records, topic_map(prefix))


def _wanted(reason: str | None, since: str | None) -> Wanted:
    from penstock.client.cli.dead_letters import Wanted

    since_ms = None if since is None else _typed(lambda text: moment_us(text, time.time_ns() // 1000), since) // 1000
    return Wanted(None if reason is None else _reason(reason), since_ms)


def _reason(typed: str) -> str:
    from penstock.client.cli.letters import known_reasons

    name, known = typed.upper().replace("-", "_"), known_reasons()
    if name in known:
        return name
    close = get_close_matches(name, known, n=2)
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
    raise OptionError(f"no dead letter has the reason {excerpt(typed)!r}; {hint}")


def _typed(read: Callable[[str], Value], text: str) -> Value:
    with as_option_error():
        return read(text)
