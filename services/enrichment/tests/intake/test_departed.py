from penstock.enrichment.intake import KnownRow
from penstock.enrichment.intake.departed import Departed
from penstock.enrichment.tables import Version


def row(size: int) -> KnownRow:
    return KnownRow(Version(1, b""), False, {"bio": "x" * size}, ())


def test_a_row_is_found_by_where_it_was_deleted() -> None:
    departed = Departed()
    departed.put(5, row(1))
    assert departed.get(5) == row(1)
    assert departed.get(6) is None


def test_the_oldest_go_first_by_number_and_by_size() -> None:
    departed = Departed(rows_max=2, bytes_max=1_000)
    for lsn in (1, 2, 3):
        departed.put(lsn, row(1))
    assert [departed.get(lsn) is not None for lsn in (1, 2, 3)] == [False, True, True]
    departed.put(3, row(2))
    departed.put(4, row(900))
    assert [departed.get(lsn) is not None for lsn in (2, 3, 4)] == [False, False, True]
