from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from random import Random
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.delivery.numbers import partition_of, user_number
from penstock.delivery.rows import Rows
from penstock.pipeline import load
from penstock.tables.v1.row_change_pb2 import RowChange

AUTHORS, USERS, CAPACITY = 4, 6, 3


def module(name: str) -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1]))
        return import_module(name)


def random_rows(random: Random) -> list[RowChange]:
    """Posts that share times and ids, follows that end and begin again; in any order."""
    rows = module("timeline_data").Rows(1_000)
    made = []
    for _ in range(60):
        author, ends = f"a{random.randrange(AUTHORS)}", random.random() < 0.3
        if random.random() < 0.5:
            made.append(rows.post(author, f"p{random.randrange(5)}", time_us=random.randrange(8), ends=ends))
        else:
            made.append(rows.follow(f"u{random.randrange(USERS)}", author, ends=ends))
    random.shuffle(made)
    return [RowChange.FromString(row.value) for row in made]


def plain_timelines(changes: list[RowChange]) -> dict[int, list[tuple[int, int, bytes]]]:
    """The definition, in plain Python: (time, number, payload), newest first."""
    state: dict[tuple[str, str], RowChange] = {}
    for change in changes:
        known = state.get((change.table, change.key))
        if known is None or _version(change) > _version(known):
            state[change.table, change.key] = change
    rows = Rows(load())
    posts = [rows.post(change) for (table, _), change in state.items() if table == "posts"]
    follows = [rows.follow(change) for (table, _), change in state.items() if table == "follows"]
    return {
        user_number(user): [
            (post.time_us, post.number, post.payload or b"")
            for post in sorted(posts, key=lambda post: (post.time_us, post.id, post.author), reverse=True)
            if post.alive and any(f.alive and f.follower == user and f.author == post.author for f in follows)
        ][:CAPACITY]
        for user in (f"u{number}" for number in range(USERS))
    }


def _version(change: RowChange) -> tuple[int, bytes]:
    return change.version.valid_from_us, change.version.position


def _hash(payload: bytes) -> int:
    return int.from_bytes(blake2b(payload, digest_size=8).digest(), "little")


@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_the_oracle_is_the_definition(random: Random, partitions: int) -> None:
    oracle_module, changes = module("timeline_oracle"), random_rows(random)
    rows = Rows(load())
    by_table = {
        table: [change.SerializeToString() for change in changes if change.table == table]
        for table in ("posts", "follows")
    }
    shard = oracle_module.Shard(
        list(oracle_module.living_posts(rows, iter(by_table["posts"]))),
        oracle_module.followers(rows, iter(by_table["follows"])),
    )
    oracle = oracle_module.Oracle([shard], CAPACITY)
    expected = plain_timelines(changes)
    found = {user: oracle.timeline(index).tolist() for index, user in enumerate(oracle.users.tolist())}
    assert {user: posts for user, posts in found.items() if posts} == {
        user: [[time, number, _hash(payload)] for time, number, payload in posts]
        for user, posts in expected.items()
        if posts
    }
    sums = [0] * partitions
    for user, posts in found.items():
        if posts:
            words = np.array([user, *(word for post in posts for word in post)], "<u8").tobytes()
            sums[partition_of(user, partitions)] += int.from_bytes(blake2b(words, digest_size=16).digest(), "little")
    assert oracle.hashes(partitions) == [one % (1 << 128) for one in sums]


def test_nothing_is_nothing() -> None:
    oracle_module = module("timeline_oracle")
    oracle = oracle_module.Oracle([oracle_module.Shard([], {})], CAPACITY)
    assert (oracle.users.tolist(), oracle.hashes(2)) == ([], [0, 0])
