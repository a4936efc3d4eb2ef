from collections import Counter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from penstock.tables.v1.row_change_pb2 import Op, RowChange

USERS, POSTS = 300, 960


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    return import_module("timeline_load"), import_module("timeline_data")


def test_a_round_has_posts_and_some_of_everything_else(modules: tuple[ModuleType, ModuleType]) -> None:
    module, data = modules
    load = module.Load(data.power_law(USERS, 5_000, 1), USERS, POSTS)
    rows = data.Rows(1_000)
    rounds = [[RowChange.FromString(row.value) for row in load.rows(rows, number)] for number in range(3)]
    assert [len(one) for one in rounds] == [POSTS, POSTS + 30, POSTS + 40]
    kinds = Counter((change.table, change.op) for change in rounds[2])
    assert kinds == {
        ("posts", Op.OP_UPSERT): POSTS + 10,
        ("posts", Op.OP_DELETE): 10,
        ("follows", Op.OP_DELETE): 10,
        ("follows", Op.OP_UPSERT): 10,
    }
    first, second, third = ({change.key for change in one if change.table == "posts"} for one in rounds)
    changed = [change.key for change in rounds[1] if change.table == "posts" and change.key in first]
    assert len(changed) == len(set(changed)) == 20
    assert len(second & third) == 20
    ended, begun = (
        [change.key for change in one if change.table == "follows" and change.op == op]
        for one, op in ((rounds[1], Op.OP_DELETE), (rounds[2], Op.OP_UPSERT))
    )
    assert ended == begun


def test_the_others_are_spread_over_the_round(modules: tuple[ModuleType, ModuleType]) -> None:
    module, data = modules
    load = module.Load(data.power_law(USERS, 5_000, 1), USERS, POSTS)
    tables = [RowChange.FromString(row.value).table for row in load.rows(data.Rows(1_000), 1)]
    assert tables.index("follows") < 110
