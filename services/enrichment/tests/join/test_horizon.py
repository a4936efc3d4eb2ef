from __future__ import annotations

from penstock.enrichment.join.horizon import Emitted, Horizon
from penstock.enrichment.join.joiner import Row
from penstock.enrichment.tables import Applied


def emitted(key: str, t_us: int, *, partition: int = 0, emitted_us: int = 0) -> Emitted:
    return Emitted(partition, key.encode(), b"", t_us, emitted_us, 0, (Row(0, "profiles", key),), (b"",))


def filled(*events: Emitted, events_max: int = 10) -> Horizon:
    horizon = Horizon(events_max, 100)
    for event in events:
        horizon.add(event)
    horizon.commit()
    return horizon


def changed(key: str | None, from_us: int, until_us: int) -> Applied:
    return Applied(changed=True, key=key, from_us=from_us, until_us=until_us)


def test_a_change_points_at_the_events_in_its_time_and_row() -> None:
    early, within, late, other = emitted("a", 4), emitted("a", 5), emitted("a", 9), emitted("b", 5)
    horizon = filled(early, within, late, other)
    horizon.table_changed("profiles", changed("a", 5, 9))
    assert horizon.suspects(10) == [within]
    horizon.table_changed("profiles", changed(None, 4, 10))  # a truncate
    assert set(horizon.suspects(10)) == {early, within, late, other}
    horizon.table_changed("another", changed(None, 0, 99))
    horizon.cleared([early, within, late])
    assert horizon.suspects(10) == [other]


def test_what_is_not_committed_is_not_there() -> None:
    horizon = Horizon(10, 100)
    horizon.add(emitted("a", 5))
    horizon.rollback()
    horizon.commit()
    assert len(horizon) == 0


def test_it_is_bounded_in_number_and_age() -> None:
    horizon = filled(*(emitted("a", number, emitted_us=number) for number in range(5)), events_max=3)
    assert (len(horizon), horizon.evicted) == (3, 2)
    horizon.table_changed("profiles", changed("a", 0, 99))
    horizon.expire(now_us=103)
    assert [event.t_us for event in horizon.suspects(10)] == [3, 4]
    assert horizon.evicted == 2, "age is no eviction before its time"


def test_partitions_that_went_elsewhere_are_forgotten() -> None:
    ours, theirs = emitted("a", 5, partition=0), emitted("a", 5, partition=1)
    horizon = filled(ours, theirs)
    horizon.table_changed("profiles", changed("a", 0, 9))
    horizon.forget({1})
    assert (len(horizon), horizon.suspects(10)) == (1, [ours])
