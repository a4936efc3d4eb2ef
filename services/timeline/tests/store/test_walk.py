"""The walk against protobuf's own parser, on messages of any kind and on bytes that are none."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from penstock.timeline.v1.delivery_pb2 import AuthorChanges, Delivery, Post, Spread, Withdrawal
from penstock.timelines.store import changes as of
from penstock.timelines.store.changes import Changes
from penstock.timelines.store.walk import walk

words = st.integers(0, (1 << 64) - 1)
numbers = st.lists(words, max_size=5).map(lambda some: np.array(some, "<u8").tobytes())
names = st.text(max_size=8)
flags = st.booleans()


@st.composite
def authors(draw: st.DrawFn) -> AuthorChanges:
    name = draw(names)
    posts = draw(
        st.lists(
            st.builds(
                Post,
                id=names,
                author=st.just(name),
                time_us=st.integers(-(1 << 63), (1 << 63) - 1),
                error_bound_us=st.none() | st.integers(0, 1 << 40),
                attributes=st.dictionaries(names, names, max_size=2),
                number=words,
            ),
            max_size=3,
        )
    )
    indexes = st.lists(st.integers(0, len(posts) - 1), max_size=4) if posts else st.just([])
    spreads = st.builds(Spread, posts=indexes, readers=numbers, outbox=flags, older_left_out=flags)
    withdrawals = st.builds(Withdrawal, posts=numbers, readers=numbers, outbox=flags)
    return AuthorChanges(
        author=name,
        unfollowed=draw(numbers),
        withdrawn=draw(st.lists(withdrawals, max_size=2)),
        followed=draw(numbers),
        posts=posts,
        spread=draw(st.lists(spreads, max_size=3)),
    )


deliveries = st.builds(
    Delivery,
    timeline_partition=st.integers(0, 7),
    shard=st.integers(0, 7),
    epoch=st.integers(-(1 << 63), (1 << 63) - 1),
    batch=st.integers(0, 1 << 60),
    part=st.integers(0, 1 << 20),
    authors=st.lists(authors(), max_size=3),
)


def walked(record: bytes) -> tuple[int, Changes]:
    changes, data = Changes(), np.frombuffer(record, np.uint8)
    while (code := walk(data.ctypes.data, data.size, changes.address)) == of.FULL:
        changes.lengthen()
    return code, changes


def packed(record: bytes, at: int, count: int) -> bytes:
    return record[at : at + 8 * count]


def said(record: bytes, changes: Changes) -> Delivery:
    """The message again, from rows."""
    delivery = Delivery(
        timeline_partition=changes.field(of.PARTITION),
        shard=changes.field(of.SHARD),
        epoch=changes.field(of.EPOCH),
        batch=changes.field(of.BATCH),
        part=changes.field(of.PART),
    )
    for row in changes.rows(of.AUTHORS):
        delivery.authors.add(author=record[row["name_at"] : row["name_at"] + row["name_size"]].decode())
    firsts: dict[int, int] = {}
    for index, row in enumerate(changes.rows(of.POSTS)):
        firsts.setdefault(int(row["author"]), index)
        post = Post.FromString(record[row["at"] : row["at"] + row["size"]])
        assert (post.time_us, post.number) == (row["time_us"], row["number"].view(np.uint64))
        assert post.id.encode() == record[row["id_at"] : row["id_at"] + row["id_size"]]
        delivery.authors[row["author"]].posts.append(post)
    indexes, first = changes.rows(of.INDEXES).tolist(), 0
    for row in changes.rows(of.OPS):
        author, outbox = delivery.authors[row["author"]], bool(row["outbox"])
        assert row["first"] == first
        first += int(row["readers"])
        readers = b"" if outbox else packed(record, row["readers_at"], row["readers"])
        if row["op"] == of.UNFOLLOWED:
            author.unfollowed = readers
        elif row["op"] == of.FOLLOWED:
            author.followed = readers
        elif row["op"] == of.WITHDRAWN:
            author.withdrawn.add(posts=packed(record, row["posts_at"], row["posts"]), readers=readers, outbox=outbox)
        else:
            some = [
                one - firsts[int(row["author"])] for one in indexes[row["posts_at"] : row["posts_at"] + row["posts"]]
            ]
            left_out = bool(row["older_left_out"])
            author.spread.add(posts=some, readers=readers, outbox=outbox, older_left_out=left_out)
    assert changes.field(of.READERS) == first
    for row in changes.rows(of.REFILLED):
        delivery.refilled.add(reader=int(row["reader"].view(np.uint64)), request=int(row["request"].view(np.uint64)))
    return delivery


def without_readers_of_outboxes(delivery: Delivery) -> Delivery:
    for author in delivery.authors:
        for withdrawal in author.withdrawn:
            withdrawal.readers = b"" if withdrawal.outbox else withdrawal.readers
        for spread in author.spread:
            spread.readers = b"" if spread.outbox else spread.readers
    return delivery


@given(deliveries, st.lists(st.tuples(words, words), max_size=3))
def test_that_rows_say_what_the_message_says(delivery: Delivery, refilled: list[tuple[int, int]]) -> None:
    for reader, request in refilled:
        delivery.refilled.add(reader=reader, request=request)
    record = delivery.SerializeToString(deterministic=True)
    code, changes = walked(record)
    assert code == of.OK
    assert said(record, changes) == without_readers_of_outboxes(delivery)


@given(deliveries, st.data())
def test_that_broken_records_are_refused_or_read_as_protobuf_reads_them(
    delivery: Delivery, data: st.DataObject
) -> None:
    record = bytearray(delivery.SerializeToString(deterministic=True))
    for _ in range(data.draw(st.integers(1, 3))):
        if record:
            record[data.draw(st.integers(0, len(record) - 1))] = data.draw(st.integers(0, 255))
    broken = bytes(record[: data.draw(st.integers(0, len(record)))])
    code, changes = walked(broken)
    try:
        theirs = Delivery.FromString(broken)
    except DecodeError:
        assert code != of.OK or not all_texts_are_read(changes)
        return
    if code == of.OK:
        assert changes.field(of.AUTHORS) == len(theirs.authors)
        assert changes.field(of.REFILLED) == len(theirs.refilled)


def all_texts_are_read(changes: Changes) -> bool:
    """Attributes and versions of posts are passed over unread: protobuf may find fault with them, the walk cannot."""
    return changes.field(of.POSTS) == 0


def test_that_indexes_need_not_be_packed_and_unknown_fields_are_passed_over() -> None:
    post = Post(id="1", author="a", number=1).SerializeToString()
    unknown = b"\x7a\x02hi" + b"\x78\x05" + b"\x79" + bytes(8) + b"\x7d" + bytes(4)
    spread = b"\x08\x00\x08\x00" + unknown + b"\x12\x08" + (7).to_bytes(8, "little")
    author = b"\x0a\x01a" + bytes([0x2A, len(post)]) + post + bytes([0x32, len(spread)]) + spread + unknown
    record = bytes([0x32, len(author)]) + author + unknown + b"\x20\x03"
    code, changes = walked(record)
    assert code == of.OK
    assert changes.field(of.BATCH) == 3
    (row,) = changes.rows(of.OPS)
    assert (row["op"], row["posts"], row["readers"]) == (of.SPREAD, 2, 1)


@pytest.mark.parametrize(
    ("author", "code"),
    [
        (AuthorChanges(author="a", posts=[Post(author="a")], spread=[Spread(posts=[1])]), of.NO_SUCH_POST),
        (AuthorChanges(author="a", spread=[Spread(posts=[1 << 31])]), of.NO_SUCH_POST),
        (AuthorChanges(author="a", posts=[Post(author="b")]), of.OTHER_AUTHOR),
        (AuthorChanges(author="a", unfollowed=b"123"), of.NOT_NUMBERS),
        (AuthorChanges(author="a", withdrawn=[Withdrawal(posts=b"123")]), of.NOT_NUMBERS),
        (AuthorChanges(author="a", spread=[Spread(readers=b"123456789")]), of.NOT_NUMBERS),
    ],
)
def test_that_what_breaks_the_contract_is_refused(author: AuthorChanges, code: int) -> None:
    assert walked(Delivery(authors=[AuthorChanges(author="x"), author]).SerializeToString())[0] == code


def test_that_names_are_text() -> None:
    assert walked(b"\x32\x04\x0a\x02\xff\xfe")[0] == of.NOT_TEXT
