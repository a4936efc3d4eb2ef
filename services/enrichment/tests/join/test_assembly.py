from hypothesis import given
from hypothesis import strategies as st
from penstock.clock import Corrected, Domain, Method, clock_of
from penstock.enrichment.join.assembly import Assembly, identity
from penstock.events.v1.event_pb2 import DeviceTime, Event, Position
from penstock.events.v1.raw_batch_pb2 import RawBatchView

INT64 = st.integers(-(2**63), 2**63 - 1)
SOURCE = Position(topic="events.raw.v1", partition=3, offset=2**40)


@given(
    st.integers(0, 2**60),
    st.one_of(st.none(), st.integers(0, 2**60)),
    st.sampled_from(list(Method)),
    st.one_of(st.none(), st.sampled_from(list(Domain))),
    INT64,
    st.booleans(),
    st.booleans(),
    st.text(max_size=300),
)
def test_the_tail_makes_the_event_that_messages_would_have_made(
    t_us: int,
    bound_us: int | None,
    method: Method,
    domain: Domain | None,
    offset_us: int,
    clamped: bool,
    spans: bool,
    key: str,
) -> None:
    batch = RawBatchView(device_id="d", boot_id="b")
    batch.sent.CopyFrom(DeviceTime(wall_us=5, steady_us=0))
    batch.stamp.received_us = 2**50
    corrected = Corrected(t_us, bound_us, method, domain, offset_us, clamped, spans, None)
    own = Event(type="page.viewed", seq=7)
    assembly = Assembly(batch, SOURCE)
    for _ in range(2):  # the second time from what the first one left
        tail = assembly.tail(corrected, key.encode(), has_boot=False)
        made = Event.FromString(own.SerializeToString() + tail)
        assert made == Event(
            type="page.viewed",
            seq=7,
            boot_id="b",
            device_id="d",
            key=key,
            clock=clock_of(corrected, batch.sent, batch.stamp.received_us),
            source=SOURCE,
        )


def test_an_event_of_another_boot_keeps_its_own() -> None:
    batch = RawBatchView(device_id="d", boot_id="b")
    corrected = Corrected(1, None, Method.RECEIVED, None, 0, False, False, None)
    own = Event(seq=7, boot_id="before")
    tail = Assembly(batch, SOURCE).tail(corrected, b"k", has_boot=True)
    assert identity(Event.FromString(own.SerializeToString() + tail)) == ("d", "before", "7")


def test_without_a_number_the_id_is_the_identity() -> None:
    assert identity(Event(device_id="d", boot_id="b", id="x")) == ("d", "", "x")
