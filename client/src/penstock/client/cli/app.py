"""The commands of `penstock`: their arguments, their help, their exit codes.

Every fault that a user can cause ends in one sentence on stderr and exit code 1; of `lookup` 2, since 1 says that there
is no such row, and of `timeline` and `timelines`, which ask in the same way, 2 as well.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from penstock.client.cli import (
    audit_command,
    publishing,
    screen,
    social_commands,
    table_commands,
    timeline_commands,
)
from penstock.client.cli.dead_letter_commands import dead_letters
from penstock.client.cli.faults import one_sentence
from penstock.client.cli.jsonl import EventLine
from penstock.client.cli.options import (
    DEFAULT_BOOTSTRAP,
    DEFAULT_SERVER,
    AsJson,
    Bootstrap,
    Device,
    LocalTime,
    OptionError,
    PipelineFile,
    Prefix,
    Roots,
    Server,
    UsePlaintext,
    UseTls,
    device_id,
    security_of,
    topic_map,
)
from penstock.client.encoding import Extras
from penstock.client.excerpt import excerpt

app = typer.Typer(
    help="Publish events to penstock and look at what became of them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


@app.command()
def publish(
    event_type: Annotated[str | None, typer.Argument(metavar="TYPE", help="For example post.created.")] = None,
    attributes: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="The event's attributes.")] = None,
    data: Annotated[str | None, typer.Option(help="Opaque data; @FILE reads it from a file.")] = None,
    content_type: Annotated[str, typer.Option(help="The media type of the data.")] = "",
    jsonl: Annotated[
        str | None, typer.Option(metavar="FILE", help="Publish a JSON object per line of FILE; - is stdin.")
    ] = None,
    device: Device = None,
    server: Server = DEFAULT_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to try for.")] = 30.0,
) -> None:
    """Publish one event, or a file of them.

    Exit code 1 if anything was not accepted.

    Examples:

        penstock publish page.viewed user=ada page=/

        penstock publish post.created author=ada post_id=p1 --data 'Hello' --content-type text/plain

        echo '{"type": "page.viewed", "attributes": {"user": "ada", "page": "/"}}' | penstock publish --jsonl -
    """
    with one_sentence():
        security = security_of(server, tls=tls, plaintext=plaintext, roots=roots)
        target = publishing.Target(server, security, device_id(device), timeout)
        if jsonl is not None:
            if event_type is not None:
                raise OptionError("give a TYPE or --jsonl, not both")
            source = None if jsonl == "-" else Path(jsonl)
            accepted = publishing.publish_lines(target, source, sys.stdin.buffer, screen.stderr())
        else:
            event = _event_line(event_type, attributes or [], data, content_type)
            accepted = publishing.publish_one(target, event, screen.stdout())
    raise typer.Exit(0 if accepted else 1)


def _event_line(event_type: str | None, pairs: list[str], data: str | None, content_type: str) -> EventLine:
    if event_type is None:
        raise OptionError("say what happened: penstock publish TYPE KEY=VALUE…, or --jsonl FILE")
    attributes = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise OptionError(f"{excerpt(pair)!r} is not an attribute; write KEY=VALUE")
        attributes[name] = value
    read = Path(data[1:]).read_bytes() if data is not None and data.startswith("@") else (data or "").encode()
    return EventLine(event_type, attributes, read, None, Extras(content_type=content_type) if content_type else {})


@app.command()
def tail(
    topic: Annotated[str, typer.Argument(help="A topic of the map, for example events.raw.v1.")],
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="Start with the oldest record.")] = False,
    entries_max: Annotated[int | None, typer.Option("--max", min=1, help="Stop after so many events.")] = None,
    as_json: AsJson = False,
    local: LocalTime = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
    prefix: Prefix = "",
    pipeline: PipelineFile = None,
) -> None:
    """Show what is in a topic, as it comes; Ctrl-C ends it.

    An event's time is the corrected one, with the bound of its error (`± ?`: nothing bounds it) and how it was
    found. Refused events are in the log, too, and marked.

    Examples:

        penstock tail events.raw.v1

        penstock tail events.rejected.v1 --from-beginning --max 10

        penstock tail events.raw.v1 --json | jq .attributes
    """
    # Kafka's library is loaded only by the commands that need it.
    from penstock.client.cli import tailing
    from penstock.topics.errors import TopicsError

    wanted = tailing.Tail(topic, bootstrap, from_beginning, entries_max, as_json, local)
    with one_sentence(tailing.TailError, TopicsError):
        tailing.tail(wanted, topic_map(prefix, pipeline), screen.stdout())


@app.command()
def topics(bootstrap: Bootstrap = DEFAULT_BOOTSTRAP, prefix: Prefix = "", pipeline: PipelineFile = None) -> None:
    """Show the map of topics beside what Kafka holds of it.

    Topics that Kafka does not have yet are marked as missing. Compaction and transactions leave gaps, so that
    `records` is an upper bound.

    Example:

        penstock topics --bootstrap kafka:9092
    """
    # Kafka's library is loaded only by the commands that need it.
    from penstock.client.cli import listing
    from penstock.topics.errors import TopicsError

    with one_sentence(TopicsError):
        listing.list_topics(topic_map(prefix, pipeline), bootstrap, screen.stdout())


app.command()(table_commands.tables)
app.command()(table_commands.lookup)
app.command()(timeline_commands.timeline)
app.command()(timeline_commands.timelines)
app.command()(audit_command.audit)
app.command()(social_commands.post)
app.command()(social_commands.delete_post)
app.command()(social_commands.follow)
app.command()(social_commands.unfollow)
app.add_typer(dead_letters, name="dead-letters")
