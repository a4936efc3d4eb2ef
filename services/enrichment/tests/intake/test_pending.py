from penstock.enrichment.intake import KnownRow
from penstock.enrichment.intake.pending import DOUBTS_MAX, Pending
from penstock.enrichment.tables import Version


class Lookup(dict[str, KnownRow]):
    def newest(self, key: str) -> KnownRow | None:
        return self.get(key)


def row(ts: int, *, deleted: bool = False, **columns: str) -> KnownRow:
    return KnownRow(Version(ts, b""), deleted, columns, ())


def test_the_newer_of_both_is_the_newest() -> None:
    lookup = Lookup(a=row(2), b=row(2))
    pending = Pending(lookup, 10, 10_000)
    pending.put("a", row(3))
    pending.put("b", row(1))
    assert [pending.newest(key) for key in "abc"] == [row(3), row(2), None]


def test_a_rollback_brings_back_what_was_committed_before() -> None:
    pending = Pending(Lookup(), 10, 10_000)
    pending.put("a", row(1))
    pending.committed()
    pending.put("a", row(2))
    pending.truncate(Version(9, b""))
    pending.rolled_back()
    assert pending.newest("a") == row(1)
    assert pending.truncated is None


def test_it_is_full_until_the_lookup_has_caught_up() -> None:
    lookup = Lookup()
    pending = Pending(lookup, 2, 10_000)
    for ts, key in enumerate("aab", start=1):
        pending.put(key, row(ts))
        pending.committed()
    assert pending.is_full
    lookup["a"] = row(1)  # not yet the newest of it
    assert pending.is_full
    lookup["a"] = row(2)
    assert not pending.is_full
    assert pending.newest("b") == row(3)


def test_bytes_are_bounded_too() -> None:
    pending = Pending(Lookup(), 1_000, 1_000)
    pending.put("a", row(1, bio="x" * 1_000))
    pending.committed()
    assert pending.is_full
    pending.put("a", row(2))
    pending.committed()
    assert not pending.is_full


def test_a_row_behind_a_truncate_is_not_known() -> None:
    pending = Pending(Lookup(a=row(9, deleted=True), b=row(8, deleted=True)), 10, 10_000)
    pending.truncate(Version(9, b""))
    assert pending.newest("a") is None
    assert pending.newest("b") == row(8, deleted=True)


def test_where_doubts_are_too_many_everything_is_doubtful() -> None:
    pending = Pending(Lookup(), 10, 10_000)
    pending.doubt("a")
    assert (pending.is_doubtful("a"), pending.is_doubtful("b")) == (True, False)
    pending.put("a", row(1))
    assert not pending.is_doubtful("a")
    for number in range(DOUBTS_MAX + 1):
        pending.doubt(str(number))
    assert pending.is_doubtful("b")
