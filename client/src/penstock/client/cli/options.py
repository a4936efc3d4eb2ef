"""Options that several commands share, with the environment variables they default to."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from penstock.client.address import host_and_port
from penstock.client.channel import Plaintext, Security, Tls
from penstock.client.excerpt import excerpt
from penstock.client.place import place_of
from penstock.document import InvalidDocumentError
from penstock.events.v1.event_pb2 import ConsistencyToken
from penstock.pipeline import EventType, Pipeline
from penstock.pipeline import load as load_pipeline
from penstock.topics import TopicMap, load

Server: TypeAlias = Annotated[
    str, typer.Option(envvar="PENSTOCK_SERVER", metavar="HOST:PORT", help="The ingestion service.")
]
TablesServer: TypeAlias = Annotated[
    str,
    typer.Option("--server", envvar="PENSTOCK_TABLES_SERVER", metavar="HOST:PORT", help="The enrichment service."),
]
TimelineServer: TypeAlias = Annotated[
    str,
    typer.Option("--server", envvar="PENSTOCK_TIMELINE_SERVER", metavar="HOST:PORT", help="The timeline service."),
]
UseTls: TypeAlias = Annotated[bool, typer.Option("--tls", help="Encrypt.")]
UsePlaintext: TypeAlias = Annotated[bool, typer.Option("--plaintext", help="Do not encrypt (implied on loopback).")]
Roots: TypeAlias = Annotated[
    Path | None, typer.Option(help="PEM file of the authorities to trust; implies --tls.", metavar="FILE")
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="One JSON object per line.")]
Timeout: TypeAlias = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for an answer.")]
Tokens: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--token", metavar="PLACE", help="Wait until this record is reflected; may be repeated."),
]
AllowStale: TypeAlias = Annotated[
    bool, typer.Option("--allow-stale", help="If it is not in time: show what is there, marked.")
]
Device: TypeAlias = Annotated[
    str | None, typer.Option(envvar="PENSTOCK_DEVICE", help="The device's id. [default: this host's name]")
]
LocalTime: TypeAlias = Annotated[bool, typer.Option("--local", help="Times in this machine's zone instead of UTC.")]
Bootstrap: TypeAlias = Annotated[
    str, typer.Option(envvar="PENSTOCK_BOOTSTRAP", metavar="HOST:PORT,…", help="Kafka's bootstrap servers.")
]
Prefix: TypeAlias = Annotated[
    str, typer.Option(envvar="PENSTOCK_TOPIC_PREFIX", help="What stands before every topic's name in Kafka.")
]
PipelineFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--pipeline", envvar="PENSTOCK_PIPELINE", metavar="FILE", help="pipeline.yaml; default: the social pipeline."
    ),
]
DEFAULT_SERVER = "127.0.0.1:7070"
DEFAULT_TABLES_SERVER = "127.0.0.1:7071"
DEFAULT_TIMELINE_SERVER = "127.0.0.1:7072"
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"


class OptionError(Exception):
    """Options that do not go together, or do not say enough."""


@contextmanager
def as_option_error() -> Iterator[None]:
    """What the library calls a wrong value was typed by the user of a command."""
    try:
        yield
    except ValueError as error:
        raise OptionError(str(error)) from error


def security_of(server: str, *, tls: bool, plaintext: bool, roots: Path | None) -> Security:
    """Encryption is chosen, not guessed; only a loopback address may go without saying."""
    with as_option_error():
        host, _ = host_and_port(server)
    if tls and plaintext:
        raise OptionError("--tls and --plaintext exclude each other")
    if tls or roots is not None:
        return Tls(roots)
    if plaintext or _is_loopback(host):
        return Plaintext()
    raise OptionError(
        f"{excerpt(server, 100)} is not on this machine: say --tls, or --plaintext if the network encrypts by itself"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


def token_of(places: Sequence[str]) -> ConsistencyToken | None:
    """From what was typed after --token. ValueError where one of them is no place."""
    token = ConsistencyToken()
    for place in (place_of(text) for text in places):
        token.positions.add(topic=place.topic, partition=place.partition, offset=place.offset)
    return token if token.positions else None


def device_id(device: str | None) -> str:
    """Who publishes: what was said, or this host."""
    return device or f"cli-{socket.gethostname()}"[:128]


def topic_map(prefix: str, pipeline: Path | None = None) -> TopicMap:
    """The map with the topics of the pipeline's tables, as they are named in this Kafka."""
    tables, own = _pipeline(pipeline).tables, os.environ.get("PENSTOCK_TOPIC_MAP")
    try:
        return load(Path(own) if own else None).for_tables(tables).prefixed(prefix)
    except InvalidDocumentError as error:
        raise OptionError(str(error)) from None


def event_types(pipeline: Path | None) -> Mapping[str, EventType]:
    """What the pipeline lets pass."""
    return _pipeline(pipeline).event_types


def _pipeline(path: Path | None) -> Pipeline:
    try:
        return load_pipeline(path)
    except InvalidDocumentError as error:
        raise OptionError(str(error)) from None
