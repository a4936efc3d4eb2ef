"""Where a replica begins."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from penstock.timelines import snapshot
from penstock.timelines.errors import RefusedStartError
from penstock.timelines.held import Held
from penstock.timelines.recovery import Recovery, paths
from penstock.timelines.snapshot import Content

World = Any  # of conftest.py
P = 1  # the partition that the tests look at


@pytest.fixture
def reader(world: World) -> str:
    """Has a timeline in the partition, made of 3 records; two snapshots are of the first one and of all."""
    user: str = world.user_in(P)
    world.apply(world.join.follow(user, "ann"))
    return user


def save(world: World, folder: Path) -> None:
    image = world.held[P].partition.image()
    snapshot.write(paths(folder, world.origin(P))[0], Content(image.meta, image.arrays), world.origin(P))


def recover(world: World, folder: Path | None, span: tuple[int, int]) -> tuple[Held, list[str]]:
    recovery = Recovery(folder, world.shape, salt=7)
    (held,) = recovery.recover([world.origin(P)], {P: span})
    return held, recovery.refused


def two_snapshots(world: World, folder: Path) -> None:
    save(world, folder)
    for number in range(2):
        world.apply(world.join.post("ann", f"p{number}", number))
    save(world, folder)


def test_without_a_folder_or_snapshots_it_begins_at_the_beginning(world: World, tmp_path: Path) -> None:
    for folder in (None, tmp_path):
        held, refused = recover(world, folder, (0, 5))
        assert (held.position, held.partition.entries, refused) == (0, 0, [])


def test_the_newest_snapshot_is_taken(world: World, reader: str, tmp_path: Path) -> None:
    two_snapshots(world, tmp_path)
    held, refused = recover(world, tmp_path, (0, 5))
    assert (held.position, refused) == (3, [])
    assert held.partition.digest() == world.held[P].partition.digest() != 0
    assert recover(world, tmp_path, (3, 3))[0].position == 3, "the log need not reach further back"


def test_the_one_before_is_taken_if_the_newest_is_damaged(world: World, reader: str, tmp_path: Path) -> None:
    two_snapshots(world, tmp_path)
    newest = paths(tmp_path, world.origin(P))[0]
    newest.write_bytes(newest.read_bytes()[:-1])
    held, (reason,) = recover(world, tmp_path, (0, 5))
    assert held.position == 1
    assert "is damaged or cut off" in reason


def test_one_that_is_ahead_of_the_log_is_of_another_log(world: World, reader: str, tmp_path: Path) -> None:
    two_snapshots(world, tmp_path)
    held, (reason,) = recover(world, tmp_path, (0, 2))
    assert held.position == 1
    assert "is ahead of the log: it ends at 3" in reason


def test_a_whole_file_with_another_content_is_refused(world: World, tmp_path: Path) -> None:
    path = paths(tmp_path, world.origin(P))[0]
    snapshot.write(path, Content({"number": 1}, {}), world.origin(P))
    held, (reason,) = recover(world, tmp_path, (0, 0))
    assert held.position == 0
    assert "cannot be understood" in reason


def test_a_log_without_its_beginning_is_refused(world: World, reader: str, tmp_path: Path) -> None:
    with pytest.raises(
        RefusedStartError, match=r"v1\[1\] is needed from offset 0 on, but begins at offset 4"
    ) as caught:
        recover(world, tmp_path, (4, 9))
    assert "start the join with a new checkpoint" in str(caught.value)
    two_snapshots(world, tmp_path)
    with pytest.raises(
        RefusedStartError, match=r"from offset 3 on, where the snapshot .* ends, but begins at offset 4"
    ):
        recover(world, tmp_path, (4, 9))


def test_other_settings_make_other_timelines(world: World, reader: str, tmp_path: Path) -> None:
    two_snapshots(world, tmp_path)
    origin = dataclasses.replace(world.origin(P), capacity=99)
    recovery = Recovery(tmp_path, world.shape, salt=7)
    (held,) = recovery.recover([origin], {P: (0, 5)})
    assert held.position == 0
    assert all("its capacity is 100, not 99" in reason for reason in recovery.refused)
    assert len(recovery.refused) == 2
