"""What can happen to a file between two starts."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines import snapshot
from penstock.timelines.snapshot import Content, Origin, Refused

ORIGIN = Origin(
    topic="timeline.deliveries.v1",
    topic_id="abc",
    partition=3,
    partitions=8,
    shards=8,
    capacity=800,
    slack=200,
    posts="p",
    follows="f",
    image_format=1,
)
CONTENT = Content(
    {"next_offset": 7, "authors": ["ann", "bob"]},
    {
        "slots": np.arange(5, dtype=np.uint32),
        "bytes": np.frombuffer(b"payload", np.uint8),
        "none": np.empty(0, np.int64),
    },
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "timelines.3.snapshot"


def refusal(loaded: Content | Refused) -> str:
    assert isinstance(loaded, Refused)
    assert not loaded.missing
    return loaded.reason


def assert_same(loaded: Content | Refused, content: Content) -> None:
    assert isinstance(loaded, Content), loaded
    assert loaded.meta == content.meta
    assert loaded.arrays.keys() == content.arrays.keys()
    for name, array in loaded.arrays.items():
        assert array.dtype == content.arrays[name].dtype
        np.testing.assert_array_equal(array, content.arrays[name])
        assert array.flags.writeable


def test_it_comes_back_as_it_was(path: Path) -> None:
    size = snapshot.write(path, CONTENT, ORIGIN)
    assert path.stat().st_size == size
    assert_same(snapshot.load(path, ORIGIN), CONTENT)
    assert {file.name for file in path.parent.iterdir()} == {path.name}


def test_the_one_before_is_kept(path: Path) -> None:
    newer = dataclasses.replace(CONTENT, meta={"next_offset": 9})
    for content in (CONTENT, CONTENT, newer):
        snapshot.write(path, content, ORIGIN)
    assert_same(snapshot.load(path, ORIGIN), newer)
    assert_same(snapshot.load(snapshot.previous(path), ORIGIN), CONTENT)


def test_a_first_start_has_none(path: Path) -> None:
    assert snapshot.load(path, ORIGIN) == Refused(f"there is no {path}", missing=True)


@given(data=st.data())
def test_no_damaged_byte_is_taken(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("damaged") / "timelines.snapshot"
    size = snapshot.write(path, CONTENT, ORIGIN)
    at = data.draw(st.integers(0, size - 1))
    flipped = bytearray(path.read_bytes())
    flipped[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(flipped)
    assert refusal(snapshot.load(path, ORIGIN))


@given(data=st.data())
def test_no_file_that_was_cut_off_is_taken(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("cut") / "timelines.snapshot"
    size = snapshot.write(path, CONTENT, ORIGIN)
    path.write_bytes(path.read_bytes()[: data.draw(st.integers(0, size - 1))])
    assert refusal(snapshot.load(path, ORIGIN))


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Origin)])
def test_one_of_other_timelines_is_refused_and_says_why(name: str, path: Path) -> None:
    snapshot.write(path, CONTENT, ORIGIN)
    other = dataclasses.replace(ORIGIN, **{name: type(getattr(ORIGIN, name))(99)})
    reason = refusal(snapshot.load(path, other))
    assert f"its {name} is {getattr(ORIGIN, name)!r}, not {getattr(other, name)!r}" in reason


def test_a_format_of_another_release_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "FORMAT", 2)
    snapshot.write(path, CONTENT, ORIGIN)
    monkeypatch.undo()
    assert "has format 2; this release reads format 1" in refusal(snapshot.load(path, ORIGIN))


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"origin": dataclasses.asdict(ORIGIN)},
        {"origin": dataclasses.asdict(ORIGIN), "meta": {}, "arrays": [["a", "O", [1]]]},
        {"origin": dataclasses.asdict(ORIGIN), "meta": {}, "arrays": [["a", "u8", [10**6]]]},
        {"origin": dataclasses.asdict(ORIGIN), "meta": {}, "arrays": [["a", "no dtype", [1]]]},
    ],
)
def test_a_whole_file_that_is_not_as_we_write_it_is_refused(
    header: dict[str, Any], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json, "dumps", lambda _, dumps=json.dumps: dumps(header))
    snapshot.write(path, Content({}, {}), ORIGIN)
    monkeypatch.undo()
    assert "cannot be understood" in refusal(snapshot.load(path, ORIGIN))


def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()
    assert "cannot be read" in refusal(snapshot.load(path, ORIGIN))


@pytest.mark.parametrize("place", ["snapshot_partial", "snapshot_moved", "snapshot_written"])
def test_wherever_the_process_dies_one_is_whole(place: str, path: Path) -> None:
    class Died(BaseException):
        pass

    def die(name: str) -> None:
        if name == place:
            raise Died

    newer = dataclasses.replace(CONTENT, meta={"next_offset": 9})
    snapshot.write(path, CONTENT, ORIGIN)
    with pytest.raises(Died):
        snapshot.write(path, newer, ORIGIN, die)
    whole = [
        loaded
        for loaded in (snapshot.load(path, ORIGIN), snapshot.load(snapshot.previous(path), ORIGIN))
        if isinstance(loaded, Content)
    ]
    assert whole
    assert_same(whole[0], newer if place == "snapshot_written" else CONTENT)
    snapshot.write(path, newer, ORIGIN)
    assert_same(snapshot.load(path, ORIGIN), newer)
