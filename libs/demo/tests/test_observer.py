import pytest
from penstock.clock import Method
from penstock.demo.accuracy import Accuracy
from penstock.demo.ledger import Identity, Ledger
from penstock.demo.observer import Observer
from penstock.events.v1.event_pb2 import ClockDomain, ClockMethod, DeviceTime, Event
from penstock.events.v1.raw_batch_pb2 import RawBatch, Stamp

NOW_US = 1_790_000_000_000_000
AHEAD_US = 3_600_000_000


@pytest.fixture
def ledger() -> Ledger:
    """Two events happened, one second apart."""
    ledger = Ledger()
    for seq in (1, 2):
        ledger.make(Identity("device-0001", "boot-1", seq), NOW_US + seq * 1_000_000)
    return ledger


def record(device_id: str = "device-0001", refused: tuple[int, ...] = ()) -> bytes:
    """By a clock that is an hour ahead, sent after three seconds and received 40 ms later."""
    occurred = [DeviceTime(wall_us=NOW_US + AHEAD_US + seq * 1_000_000) for seq in (1, 2)]
    stamp = Stamp(
        received_us=NOW_US + 3_040_000,
        method=ClockMethod.CLOCK_METHOD_ECHO,
        domain=ClockDomain.CLOCK_DOMAIN_WALL,
        offset_us=-AHEAD_US + 3_000,
        offset_min_us=-AHEAD_US - 10_000,
        offset_max_us=-AHEAD_US + 16_000,
        refused=refused,
    )
    return RawBatch(
        device_id=device_id,
        boot_id="boot-1",
        sent=DeviceTime(wall_us=NOW_US + AHEAD_US + 3_000_000),
        events=[Event(type="page.viewed", seq=seq, occurred=time) for seq, time in enumerate(occurred, 1)],
        stamp=stamp,
    ).SerializeToString()


def test_times_are_found_from_the_record_alone_and_compared(ledger: Ledger) -> None:
    accuracy = Accuracy()
    Observer(ledger, accuracy).take(record())
    assert ledger.in_log == 2
    assert accuracy.ours.wrong_us.greatest == 3_000
    assert accuracy.ours.coverage == 1
    assert accuracy.peers.wrong_us.greatest == 40_000
    assert accuracy.device.wrong_us.greatest == AHEAD_US
    assert accuracy.by_method[Method.ECHO].wrong_us.count == 2


def test_refused_events_are_no_events(ledger: Ledger) -> None:
    Observer(ledger, Accuracy()).take(record(refused=(0,)))
    assert ledger.in_log == 1
    assert ledger.read(Identity("device-0001", "boot-1", 1)) is not None


def test_a_record_that_is_there_twice_is_measured_once(ledger: Ledger) -> None:
    accuracy = Accuracy()
    watching = Observer(ledger, accuracy)
    watching.take(record())
    watching.take(record())
    assert (ledger.in_log, ledger.copies_in_log, accuracy.ours.wrong_us.count) == (2, 2, 2)


def test_guests_are_not_judged(ledger: Ledger) -> None:
    accuracy = Accuracy()
    Observer(ledger, accuracy).take(record(device_id="cli-laptop"))
    assert (ledger.in_log, ledger.copies_in_log, accuracy.ours.wrong_us.count) == (0, 0, 0)
