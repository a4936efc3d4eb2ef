"""The yardstick of bench-timeline: timelines in Redis as Mastodon keeps them, fed with the same posts.

In:  posts by author and their followers. Out: entries per second, CPU per entry, memory of a full timeline.
A timeline is a sorted set feed:home:ID of at most 800 posts, their 64-bit ids as members and scores; a post is written
to each follower with ZADD, and the set trimmed with ZREMRANGEBYRANK (Mastodon's FeedManager). Redis is favoured: many
entries share a pipeline, nothing is written to disk, nobody is asked whether a reader filters the post, and posts are
in memory already. Measured twice: with redis-py (and hiredis), and with commands written straight to the socket, which
is about what the server itself can do.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hiredis
import psutil
import redis
from penstock.embedded.child import Child
from penstock.embedded.ports import HOST, free_ports
from penstock.embedded.supervisor import Supervisor
from timeline_cpu import seconds
from timeline_data import Audience

CHILD = "redis"
KEEP = 800
PIPELINED = 1_000  # entries
FIRST_ACCOUNT = 109_000_000_000_000_000
FIRST_STATUS = 113_000_000_000_000_000
ID_STEP = 65_536  # a millisecond: the lower 16 bits of such an id are a sequence
TIMEOUT_S = 30.0


@dataclass(frozen=True)
class FanOut:
    """CPU seconds of the server and of the client."""

    entries: int
    seconds: float
    server_cpu_s: float
    client_cpu_s: float

    @property
    def rate(self) -> float:
        return self.entries / self.seconds

    @property
    def cpu_us(self) -> float:
        """Per entry."""
        return (self.server_cpu_s + self.client_cpu_s) / self.entries * 1e6


def start_redis(supervisor: Supervisor, program: Path) -> int:
    """Its port."""
    (port,) = free_ports(1)
    folder = supervisor.state / CHILD
    folder.mkdir()
    options = {"bind": HOST, "port": str(port), "save": "", "appendonly": "no", "dir": str(folder)}
    command = (str(program), *(word for name, value in options.items() for word in (f"--{name}", value)))

    def ready() -> str | None:
        try:
            with redis.Redis(HOST, port, socket_timeout=TIMEOUT_S) as client:
                client.ping()
        except redis.ConnectionError as error:
            return f"redis on {port}: {error}"
        return None

    supervisor.start(Child(CHILD, command, ready=ready))
    return port


def key_of(user: int) -> str:
    return f"feed:home:{FIRST_ACCOUNT + user}"


def entries(authors: Iterable[int], audience: Audience, first_post: int) -> Iterator[tuple[int, list[int]]]:
    """(id of the post, its readers) in pieces that a pipeline takes."""
    for number, author in enumerate(authors, first_post):
        readers = audience[author].tolist()
        for begin in range(0, len(readers), PIPELINED):
            yield FIRST_STATUS + number * ID_STEP, readers[begin : begin + PIPELINED]


class Client:
    """redis-py."""

    def __init__(self, port: int) -> None:
        self._redis = redis.Redis(HOST, port, socket_timeout=TIMEOUT_S)

    def send(self, pieces: list[tuple[int, list[int]]]) -> None:
        with self._redis.pipeline(transaction=False) as pipeline:
            for post, readers in pieces:
                for reader in readers:
                    key = key_of(reader)
                    pipeline.zadd(key, {str(post): post})
                    pipeline.zremrangebyrank(key, 0, -KEEP - 1)
            pipeline.execute()

    def close(self) -> None:
        self._redis.close()


class Bare:
    """Commands as bytes, each key's part of them made once; answers are read and counted."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection((HOST, port), TIMEOUT_S)
        self._reader = hiredis.Reader()
        self._parts: dict[int, tuple[bytes, bytes]] = {}

    def send(self, pieces: list[tuple[int, list[int]]]) -> None:
        commands: list[bytes] = []
        for post, readers in pieces:
            number = str(post).encode()
            tail = b"\r\n$%d\r\n%b\r\n$%d\r\n%b\r\n" % (len(number), number, len(number), number)
            for reader in readers:
                zadd, trim = self._parts_of(reader)
                commands += (zadd, tail, trim)
        self._socket.sendall(b"".join(commands))
        self._read(len(commands) // 3 * 2)

    def close(self) -> None:
        self._socket.close()

    def _parts_of(self, reader: int) -> tuple[bytes, bytes]:
        parts = self._parts.get(reader)
        if parts is None:
            key = key_of(reader).encode()
            named = b"$%d\r\n%b" % (len(key), key)
            lowest = str(-KEEP - 1).encode()
            trim = b"*4\r\n$15\r\nZREMRANGEBYRANK\r\n%b\r\n$1\r\n0\r\n$%d\r\n%b\r\n" % (named, len(lowest), lowest)
            parts = self._parts[reader] = (b"*4\r\n$4\r\nZADD\r\n" + named, trim)
        return parts

    def _read(self, answers: int) -> None:
        while answers:
            answer = self._reader.gets()
            if answer is False:
                data = self._socket.recv(1 << 16)
                if not data:
                    raise SystemExit("redis closed the connection")
                self._reader.feed(data)
            elif isinstance(answer, hiredis.ReplyError):
                raise SystemExit(f"redis: {answer}")
            else:
                answers -= 1


def fan_out(client: Client | Bare, pid: int, pieces: Iterator[tuple[int, list[int]]], seconds_max: float) -> FanOut:
    """For so long, or until the pieces end."""
    server, here = psutil.Process(pid), psutil.Process()
    cpu, own_cpu, began = seconds(server), seconds(here), time.perf_counter()
    count = 0
    for some in _pipelines(pieces):
        client.send(some)
        count += sum(len(readers) for _, readers in some)
        if time.perf_counter() - began > seconds_max:
            break
    took = time.perf_counter() - began
    return FanOut(count, took, seconds(server) - cpu, seconds(here) - own_cpu)


def _pipelines(pieces: Iterator[tuple[int, list[int]]]) -> Iterator[list[tuple[int, list[int]]]]:
    some: list[tuple[int, list[int]]] = []
    size = 0
    for piece in pieces:
        some.append(piece)
        size += len(piece[1])
        if size >= PIPELINED:
            yield some
            some, size = [], 0
    if some:
        yield some


def bytes_of_a_timeline(port: int) -> int:
    """With 800 entries."""
    client = Client(port)
    reader = -1  # nobody's
    for number in range(KEEP):
        client.send([(FIRST_STATUS + number * ID_STEP * 997, [reader])])
    client.close()
    with redis.Redis(HOST, port, socket_timeout=TIMEOUT_S) as asker:
        held, size = asker.zcard(key_of(reader)), asker.memory_usage(key_of(reader), samples=0)
    if held != KEEP or size is None:
        raise SystemExit(f"redis holds {held} entries of {KEEP}")
    return int(size)


Make = Callable[[int], Client | Bare]
