from __future__ import annotations

from penstock.delivery.numbers import user_number
from penstock.delivery.rows import Rows
from penstock.events.v1.event_pb2 import RowVersion
from penstock.jobs.timelines.bundle import packed, unpacked
from penstock.jobs.timelines.changes import FOLLOWS, POSTS, REFILLS, Cut, Reader, batch_of, bundle_of
from penstock.pipeline import load
from penstock.tables.v1.row_change_pb2 import Op, RowChange
from penstock.timeline.v1.delivery_pb2 import RefillRequest

READER = Reader(Rows(load()))


def change(table: str, key: str, time_us: int, op: Op.ValueType = Op.OP_UPSERT, position: bytes = b"p") -> bytes:
    version = RowVersion(valid_from_us=time_us, position=position)
    return RowChange(table=table, key=key, op=op, version=version).SerializeToString()


def test_that_of_each_row_the_greatest_version_counts_whatever_the_order() -> None:
    records = [
        (POSTS, change("posts", "ann/a", 2, Op.OP_DELETE)),
        (POSTS, change("posts", "ann/a", 1)),
        (FOLLOWS, change("follows", "bob/ann", 5, position=b"q")),
        (FOLLOWS, change("follows", "bob/ann", 5, Op.OP_DELETE, position=b"p")),
        (POSTS, None),
    ]
    for some in (records, records[::-1]):
        batch = READER.batch(some)
        assert [(one.author, one.id, one.time_us, one.payload) for one in batch.posts] == [("ann", "a", 2, None)]
        assert [(one.author, one.follower, one.follows) for one in batch.follows] == [("ann", user_number("bob"), True)]
        assert batch.unreadable == 0


def test_that_what_cannot_be_understood_is_counted_and_the_rest_goes_on() -> None:
    batch = READER.batch(
        [
            (POSTS, b"\xff\xff"),
            (POSTS, change("posts", "no author", 1)),
            (REFILLS, b"\xff"),
            (POSTS, change("follows", "a/b", 1)),
            (POSTS, change("posts", "ann/a", 1)),
        ]
    )
    assert (batch.unreadable, len(batch.posts)) == (4, 1)


def test_that_a_batch_comes_back_from_the_log_as_it_was() -> None:
    batch = READER.batch(
        [
            (POSTS, change("posts", "ann/a", 2)),
            (POSTS, change("posts", "bob/ü", 3, Op.OP_DELETE)),
            (FOLLOWS, change("follows", "bob/ann", 5)),
            (FOLLOWS, change("follows", "", 7, Op.OP_TRUNCATE)),
            (FOLLOWS, change("follows", "", 6, Op.OP_TRUNCATE)),
            (REFILLS, RefillRequest(reader=1).SerializeToString()),
        ]
    )
    assert batch.follows_cut == Cut(7, b"p")
    again = batch_of(unpacked(packed(bundle_of(batch))))
    assert (again.posts, again.follows) == (batch.posts, batch.follows)
    assert (again.posts_cut, again.follows_cut) == (None, Cut(7, b"p"))
    assert again.refills == []


def test_that_only_rows_change_state() -> None:
    assert not READER.batch([(REFILLS, RefillRequest(reader=1).SerializeToString())]).changes_state
    assert READER.batch([(FOLLOWS, change("follows", "", 7, Op.OP_TRUNCATE))]).changes_state
