"""`penstock timeline` and `penstock timelines`: what a timeline service shows its readers, and what it holds."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import Annotated

import typer
from penstock.client.channel import Security
from penstock.client.cli import partition_listing, screen, timeline_listing
from penstock.client.cli.faults import check_reachable, one_sentence
from penstock.client.cli.options import (
    DEFAULT_TIMELINE_SERVER,
    AllowStale,
    AsJson,
    LocalTime,
    OptionError,
    Roots,
    TimelineServer,
    Timeout,
    Tokens,
    UsePlaintext,
    UseTls,
    as_option_error,
    security_of,
    token_of,
)
from penstock.client.cli.timeline_following import Display, LineDisplay, follow
from penstock.client.cli.timeline_screen import ScreenDisplay
from penstock.client.post import Page, PageQuery, request_of
from penstock.client.timelines import Timelines
from penstock.events.v1.event_pb2 import ConsistencyToken

_POSTS = 20
_PAGE_POSTS_MAX = 100


def timeline(
    user: Annotated[str, typer.Argument(metavar="USER", help="Whose timeline.")],
    following: Annotated[bool, typer.Option("--follow", help="Go on, showing what comes and goes.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help=f"So many posts at most. [default: {_POSTS}]")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All posts, back to the oldest.")] = False,
    tokens: Tokens = None,
    allow_stale: AllowStale = False,
    as_json: AsJson = False,
    local: LocalTime = False,
    server: TimelineServer = DEFAULT_TIMELINE_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Timeout = 10.0,
) -> None:
    """Show a timeline: the posts of those whom a user follows, the newest first.

    The time of a post is the corrected one, with the bound of its error (`± ?`: nothing bounds it). With --follow the
    newest posts are shown, and then every post that comes (+) or goes (-); a service that is restarted is connected to
    again, and nothing is missed meanwhile. Ctrl-C ends it.

    PLACE is TOPIC:PARTITION:OFFSET, as `penstock post` and `penstock follow` say it, or what `penstock publish` says
    after "in": the timeline is shown as that event left it, or later.

    Exit code 0: this is the timeline, which may be empty. 2: nobody could say.

    Examples:

        penstock timeline bob

        penstock timeline bob --follow

        penstock timeline bob --token events.raw.v1:5:0 --timeout 30

        penstock timeline bob --all --json | jq '.posts[].attributes.text'
    """
    with one_sentence(exit_code=2):
        if everything and (limit is not None or following):
            raise OptionError("--all goes neither with --limit nor with --follow")
        security = security_of(server, tls=tls, plaintext=plaintext, roots=roots)
        with as_option_error():
            request_of(PageQuery(user))  # refuses what is no user
            token = token_of(tokens or ())
        out, zone = screen.stdout(), None if local else UTC
        with asking(server, security, timeout) as asked:
            if following:
                display: Display = LineDisplay(out, screen.stderr(), zone, as_json=as_json)
                if out.is_terminal and not as_json:
                    display = ScreenDisplay(out, limit, zone)
                posts = limit or max(_POSTS, 2 * display.posts_wanted)
                page = asked.get(user, limit=posts, consistency=token, allow_stale=allow_stale)
                _follow(asked, user, page, display)
            else:
                pages = _pages(asked, user, None if everything else limit or _POSTS, token, allow_stale=allow_stale)
                timeline_listing.show(user, pages, out, screen.stderr(), zone, as_json=as_json)


def _follow(asked: Timelines, user: str, page: Page, display: Display) -> None:
    try:
        follow(asked, user, page, display)
    except KeyboardInterrupt:  # how it is meant to end
        raise typer.Exit(0) from None


def _pages(
    asked: Timelines, user: str, posts_max: int | None, token: ConsistencyToken | None, *, allow_stale: bool
) -> Iterator[Page]:
    """Until there were so many posts; None: all of them."""
    left = posts_max
    size = _PAGE_POSTS_MAX if left is None else min(left, _PAGE_POSTS_MAX)
    for page in asked.pages(user, limit=size, consistency=token, allow_stale=allow_stale):
        if left is not None and len(page.posts) >= left:
            yield page.cut(left)
            return
        yield page
        left = None if left is None else left - len(page.posts)


def timelines(
    with_hash: Annotated[bool, typer.Option("--hash", help="Hash all timelines, which may take a while.")] = False,
    as_json: AsJson = False,
    servers: Annotated[
        list[str] | None,
        typer.Option(
            "--server",
            envvar="PENSTOCK_TIMELINE_SERVER",
            metavar="HOST:PORT",
            help=f"The timeline service; may be repeated, for its replicas. [default: {DEFAULT_TIMELINE_SERVER}]",
        ),
    ] = None,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Timeout = 60.0,
) -> None:
    """Show what a timeline service holds, partition by partition.

    `entries` counts the posts in all timelines, `posts` the different ones among them, `memory` what all of it takes,
    `lag` the deliveries that are in the log and not in the timelines yet, `refilling` the timelines that wait for older
    posts. `applied` is the newest delivery that the partition holds, as PARTITION:OFFSET.

    With --hash, `content` is a hash of the timelines, and the last line has the one of all partitions: the same
    timelines give the same, however many partitions and replicas they are spread over, and so do those that were built
    again from the beginning of the log. It needs all partitions: name all replicas.

    Exit code 2 if one of the servers could not say.

    Examples:

        penstock timelines

        penstock timelines --hash --server timeline-0:7072 --server timeline-1:7072 --plaintext
    """
    with one_sentence(exit_code=2):
        states = {}
        for server in servers or [DEFAULT_TIMELINE_SERVER]:
            with asking(server, security_of(server, tls=tls, plaintext=plaintext, roots=roots), timeout) as asked:
                states[server] = asked.describe(with_hash=with_hash)
        partition_listing.show(states, screen.stdout(), screen.stderr(), as_json=as_json)


def asking(server: str, security: Security, timeout_s: float, option: str = "--server") -> Timelines:
    """A client, if somebody listens there."""
    check_reachable(server, "a timeline service", f"Name one with {option} or PENSTOCK_TIMELINE_SERVER.")
    return Timelines(server, security=security, timeout_s=timeout_s)
