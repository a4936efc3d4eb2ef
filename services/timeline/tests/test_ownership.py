from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from penstock.timelines.ownership import Ownership


@given(st.integers(1, 40), st.integers(1, 60), st.lists(st.text(min_size=1), min_size=1))
def test_every_partition_has_one_owner_and_all_agree(replicas: int, partitions: int, users: list[str]) -> None:
    all_of_them = [Ownership(replica=number, replicas=replicas, partitions=partitions) for number in range(replicas)]
    owned = [partition for one in all_of_them for partition in one.own]
    assert sorted(owned) == list(range(partitions))
    for user in users:
        (seat,) = {one.seat(user) for one in all_of_them}
        assert seat.partition in all_of_them[seat.owner].own


def test_a_replica_that_is_none() -> None:
    with pytest.raises(ValueError, match="replica 2 of 2"):
        Ownership(replica=2, replicas=2, partitions=8)
