"""`penstock post`, `delete-post`, `follow` and `unfollow`: the social pipeline, for people to play with."""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from penstock.client.channel import Security
from penstock.client.cli import screen, social
from penstock.client.cli.faults import one_sentence
from penstock.client.cli.options import (
    DEFAULT_SERVER,
    DEFAULT_TIMELINE_SERVER,
    AsJson,
    Device,
    Roots,
    Server,
    UsePlaintext,
    UseTls,
    device_id,
    security_of,
)
from penstock.client.cli.publishing import Target
from penstock.client.cli.social import Deed
from penstock.client.cli.timeline_commands import asking
from penstock.client.timelines import Timelines

_ID_CHARS = 16  # 64 bits, among the posts of one author

Author: TypeAlias = Annotated[str, typer.Argument(metavar="AUTHOR", help="Who writes posts.")]
Follower: TypeAlias = Annotated[str, typer.Argument(metavar="FOLLOWER", help="Who reads them.")]
Wait: TypeAlias = Annotated[bool, typer.Option("--wait", help="Wait until it is visible, and say how long it took.")]
Reader: TypeAlias = Annotated[
    str | None, typer.Option(metavar="USER", help="With --wait: whose timeline to ask. [default: the author's]")
]
ForTimelines: TypeAlias = Annotated[
    str,
    typer.Option(
        "--timeline-server",
        envvar="PENSTOCK_TIMELINE_SERVER",
        metavar="HOST:PORT",
        help="The timeline service, for --wait.",
    ),
]
Seconds: TypeAlias = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to try for, and to wait.")]


@dataclass(frozen=True, slots=True)
class _Way:
    """How to publish, and how to see it."""

    wait: bool
    timeline_server: str
    device: str | None
    server: str
    tls: bool
    plaintext: bool
    roots: Path | None
    timeout_s: float
    as_json: bool

    def security(self, server: str) -> Security:
        return security_of(server, tls=self.tls, plaintext=self.plaintext, roots=self.roots)

    def timelines(self) -> Timelines:
        server = self.timeline_server
        return asking(server, self.security(server), self.timeout_s, "--timeline-server")


def post(
    author: Author,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What it says.")],
    post_id: Annotated[str | None, typer.Option("--id", help="The post's id. [default: a random one]")] = None,
    wait: Wait = False,
    reader: Reader = None,
    timeline_server: ForTimelines = DEFAULT_TIMELINE_SERVER,
    as_json: AsJson = False,
    device: Device = None,
    server: Server = DEFAULT_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Seconds = 30.0,
) -> None:
    """Write a post; it enters the timelines of all who follow its author.

    With the id of a post that exists, it is written again: its text changes, and its time.

    The token says where the event is in the log: `penstock timeline` and `penstock lookup` wait for it with --token.

    Examples:

        penstock post ada 'Hello, world'

        penstock post ada 'Hello, Bob' --id p1 --wait --reader bob
    """
    name = post_id or uuid.uuid4().hex[:_ID_CHARS]
    attributes = {"author": author, "post_id": name, "text": text}
    deed = Deed("post", "post.created", attributes, f"{author} posted {name}", reader)
    _do(deed, _Way(wait, timeline_server, device, server, tls, plaintext, roots, timeout, as_json))


def delete_post(
    author: Author,
    post_id: Annotated[str, typer.Argument(metavar="ID", help="The post's id.")],
    wait: Wait = False,
    reader: Reader = None,
    timeline_server: ForTimelines = DEFAULT_TIMELINE_SERVER,
    as_json: AsJson = False,
    device: Device = None,
    server: Server = DEFAULT_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Seconds = 30.0,
) -> None:
    """Take a post back; it leaves all timelines.

    Whether there is such a post, nobody checks: if it comes later than its deletion, it is gone at once.

    Example:

        penstock delete-post ada p1 --wait
    """
    attributes = {"author": author, "post_id": post_id}
    deed = Deed("delete-post", "post.deleted", attributes, f"{author} deleted {post_id}", reader)
    _do(deed, _Way(wait, timeline_server, device, server, tls, plaintext, roots, timeout, as_json))


def follow(
    follower: Follower,
    author: Author,
    wait: Wait = False,
    timeline_server: ForTimelines = DEFAULT_TIMELINE_SERVER,
    as_json: AsJson = False,
    device: Device = None,
    server: Server = DEFAULT_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Seconds = 30.0,
) -> None:
    """Follow an author, whose posts, the ones before included, enter the follower's timeline.

    Example:

        penstock follow bob ada --wait
    """
    attributes = {"follower": follower, "author": author}
    deed = Deed("follow", "follow.created", attributes, f"{follower} follows {author}", follower)
    _do(deed, _Way(wait, timeline_server, device, server, tls, plaintext, roots, timeout, as_json))


def unfollow(
    follower: Follower,
    author: Author,
    wait: Wait = False,
    timeline_server: ForTimelines = DEFAULT_TIMELINE_SERVER,
    as_json: AsJson = False,
    device: Device = None,
    server: Server = DEFAULT_SERVER,
    tls: UseTls = False,
    plaintext: UsePlaintext = False,
    roots: Roots = None,
    timeout: Seconds = 30.0,
) -> None:
    """Follow an author no longer; all their posts leave the follower's timeline.

    Example:

        penstock unfollow bob ada --wait
    """
    attributes = {"follower": follower, "author": author}
    deed = Deed("unfollow", "follow.deleted", attributes, f"{follower} no longer follows {author}", follower)
    _do(deed, _Way(wait, timeline_server, device, server, tls, plaintext, roots, timeout, as_json))


def _do(deed: Deed, way: _Way) -> None:
    """Where nobody could say whether it is visible, nothing is published."""
    with one_sentence():
        target = Target(way.server, way.security(way.server), device_id(way.device), way.timeout_s)
        with way.timelines() if way.wait else nullcontext() as timelines:
            outcome = social.publish(deed, target, timelines)
        social.show(outcome, screen.stdout(), as_json=way.as_json)
