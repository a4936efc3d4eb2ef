from __future__ import annotations

import threading
from typing import Any

import pytest
from penstock.timelines import held as module
from penstock.timelines.held import Holdings, ReadersFirst

World = Any  # of conftest.py


def test_a_position_is_known_of_our_partitions_only(world: World) -> None:
    holdings = Holdings([world.held[1]])
    world.held[1].position, world.held[1].end = 7, 9
    assert (holdings.position(1), holdings.position(0), holdings[1].lag) == (7, None, 2)
    assert [one.number for one in holdings] == [1]


def test_a_reader_that_waits_comes_before_the_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "YIELDS_MAX", 1_000_000)  # however slow the machine
    lock, order = ReadersFirst(), list[str]()

    def read() -> None:
        with lock:
            order.append("read")

    reading = threading.Thread(target=read)
    with lock:
        reading.start()
        while not lock._is_wanted:
            pass
    lock.let_readers_in()
    with lock:
        order.append("write")
    reading.join()
    assert order == ["read", "write"]


def test_readers_cannot_keep_the_writer_out() -> None:
    lock = ReadersFirst()
    lock._is_wanted = True  # again and again
    lock.let_readers_in()
    with lock:
        pass


def test_an_error_releases_it() -> None:
    lock = ReadersFirst()
    with pytest.raises(KeyError), lock:
        raise KeyError
    with lock:
        pass
