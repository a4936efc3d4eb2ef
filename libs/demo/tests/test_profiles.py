from collections import Counter
from random import Random

from penstock.demo.profiles import (
    CHANGES_PER_USER_MAX,
    Change,
    Kind,
    Profile,
    Profiles,
    changes_per_s,
    pauses_us,
    seed,
)
from penstock.pipeline import load

USERS = [f"u{number}" for number in range(1, 101)]
ANN = Profile("u1", "Ann", "DE", "pro")


def planned(present: list[str], rows: list[Profile], count: int) -> list[Change]:
    profiles = Profiles(Random(1), rows)
    changes = (profiles.next(present) for _ in range(count))
    return [change for change in changes if change is not None]


def test_nearly_all_users_have_a_profile_at_first() -> None:
    rows = seed(Random(1), 100)
    assert len(rows) == 95
    assert "u13" not in {row.user for row in rows}


def test_a_profile_has_the_columns_that_the_pipeline_keeps() -> None:
    assert set(ANN.columns) == set(load().tables["profiles"].columns or ())


def test_the_database_could_do_it_all_in_this_order() -> None:
    rows = {row.user: row for row in seed(Random(1), 100)}
    for change in planned(USERS, list(rows.values()), 2_000):
        for row in change.rows:
            if change.kind is Kind.INSERT:
                assert row.user not in rows
            else:
                assert row.user in rows
            if change.kind is Kind.UPDATE:
                assert row != rows[row.user]
            rows[row.user] = row
            if change.kind is Kind.DELETE:
                del rows[row.user]


def test_most_are_updates_and_some_users_are_always_without_a_profile() -> None:
    profiles = Profiles(Random(1), seed(Random(1), 100))
    kinds: Counter[Kind] = Counter()
    without = []
    for _ in range(1_000):
        change = profiles.next(USERS)
        assert change is not None
        kinds[change.kind] += 1
        without.append(sum(user not in profiles.rows for user in USERS))
    assert kinds[Kind.UPDATE] > kinds[Kind.INSERT] + kinds[Kind.DELETE]
    assert min(kinds.values()) > 50
    assert 0 < min(without) <= max(without) < 20


def test_only_users_who_are_here_are_changed() -> None:
    changes = planned(["u1", "u2", "u200"], seed(Random(1), 100), 50)
    assert {row.user for change in changes for row in change.rows} == {"u1", "u2", "u200"}


def test_no_row_has_more_versions_than_enrichment_keeps() -> None:
    changes = planned(["u1"], [ANN], 500)
    assert len(changes) == CHANGES_PER_USER_MAX
    assert load().tables["profiles"].history.versions > CHANGES_PER_USER_MAX


def test_the_number_of_profiles_is_limited() -> None:
    profiles = Profiles(Random(1), [], users_max=3)
    for _ in range(100):
        profiles.next(USERS)
    assert len(profiles.rows) <= 3


def test_nobody_here_is_nothing_to_do() -> None:
    assert Profiles(Random(1), [ANN]).next([]) is None


def test_changes_can_be_read() -> None:
    assert str(Change(Kind.UPDATE, (ANN,))) == "UPDATE u1 (Ann, DE, pro)"
    assert str(Change(Kind.INSERT, (ANN, ANN))) == "INSERT u1 (Ann, DE, pro) and 1 more"
    assert str(Change(Kind.DELETE, (ANN,))) == "DELETE u1"


def test_few_devices_have_few_changes() -> None:
    assert changes_per_s(1) < changes_per_s(10) < changes_per_s(300) == changes_per_s(5_000)
    pauses = pauses_us(Random(1), 300)
    mean_us = sum(next(pauses) for _ in range(1_000)) / 1_000
    assert 0.8 < mean_us * changes_per_s(300) / 1_000_000 < 1.2
