from hypothesis import given
from hypothesis import strategies as st
from penstock.enrichment.intake import KnownRow, SkipReason
from penstock.enrichment.intake.order import Ordered, lsn_bytes, lsn_of, order, order_truncate
from penstock.enrichment.intake.stamp import Stamp
from penstock.enrichment.tables import Version


def known(ts: int, lsn: int, *, from_snapshot: bool = False) -> KnownRow:
    return KnownRow(Version(ts, lsn_bytes(lsn)), False, {}, (), from_snapshot)


STAMPS = st.builds(Stamp, st.integers(1, 9), st.integers(1, 9), st.booleans())
KNOWN = st.builds(known, st.integers(1, 9), st.integers(1, 9), from_snapshot=st.booleans())
VERSIONS = st.builds(lambda ts, lsn: Version(ts, lsn_bytes(lsn)), st.integers(1, 9), st.integers(1, 9))


@given(STAMPS, st.none() | KNOWN, st.none() | VERSIONS)
def test_a_version_is_above_what_is_known_and_never_earlier_than_it_was_made(
    stamp: Stamp, row: KnownRow | None, truncated: Version | None
) -> None:
    ordered = order(stamp, row, truncated)
    if isinstance(ordered, SkipReason):
        assert row is not None
        assert stamp.lsn <= lsn_of(row.version)
        return
    assert row is None or ordered.version > row.version
    assert ordered.version.valid_from_us >= stamp.valid_from_us
    assert lsn_of(ordered.version) == stamp.lsn
    if truncated is not None and stamp.lsn > lsn_of(truncated):
        assert ordered.version > truncated


@given(STAMPS, KNOWN, st.none() | VERSIONS)
def test_what_was_written_once_is_not_written_again(stamp: Stamp, row: KnownRow, truncated: Version | None) -> None:
    ordered = order(stamp, row, truncated)
    if isinstance(ordered, Ordered):
        written = KnownRow(ordered.version, False, {}, (), stamp.from_snapshot)
        assert order(stamp, written, truncated) is SkipReason.DUPLICATE


def test_a_change_without_a_past_has_its_own_time_and_place() -> None:
    assert order(Stamp(5, 7, from_snapshot=False), None, None) == Ordered(
        Version(5, b"\0\0\0\0\0\0\0\x07"), raised=False, log_restart=False
    )


def test_truncates_are_ordered_among_themselves() -> None:
    first, second = Stamp(5, 7, from_snapshot=False), Stamp(6, 9, from_snapshot=False)
    version = order_truncate(second, None)
    assert version == Version(6, lsn_bytes(9))
    assert order_truncate(second, version) is SkipReason.DUPLICATE
    assert order_truncate(first, version) is SkipReason.SUPERSEDED
