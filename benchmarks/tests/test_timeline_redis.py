import socket
import threading
from importlib import import_module
from pathlib import Path
from types import ModuleType

import hiredis
import numpy as np
import pytest


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("timeline_redis"), import_module("timeline_data")


def test_every_reader_of_a_post_is_an_entry_and_pipelines_are_bounded(modules: tuple[ModuleType, ModuleType]) -> None:
    module, data = modules
    followers = np.arange(2_500)
    edges = data.Edges(np.where(followers < 2_400, 0, 1), followers)
    audience = data.Audience.of(edges, 3)
    pieces = list(module.entries([0, 1, 2], audience, 10))
    assert [(post - module.FIRST_STATUS) // module.ID_STEP for post, _ in pieces] == [10, 10, 10, 11]
    assert sorted(reader for _, readers in pieces for reader in readers) == followers.tolist()
    pipelines = list(module._pipelines(iter(pieces)))
    assert [sum(len(readers) for _, readers in one) for one in pipelines] == [1_000, 1_000, 500]


def test_bare_commands_are_those_of_mastodon(modules: tuple[ModuleType, ModuleType]) -> None:
    module, _ = modules
    commands: list[list[bytes]] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            reader = hiredis.Reader()
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(1 << 16):
                    reader.feed(data)
                    while (command := reader.gets()) is not False:
                        commands.append(command)
                        connection.sendall(b":1\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        client = module.Bare(server.getsockname()[1])
        client.send([(113_000_000_000_000_007, [3, 4])])
        client.close()
        thread.join()
    status = b"113000000000000007"
    assert commands == [
        [b"ZADD", b"feed:home:109000000000000003", status, status],
        [b"ZREMRANGEBYRANK", b"feed:home:109000000000000003", b"0", b"-801"],
        [b"ZADD", b"feed:home:109000000000000004", status, status],
        [b"ZREMRANGEBYRANK", b"feed:home:109000000000000004", b"0", b"-801"],
    ]
