from penstock.clock import (
    BatchClock,
    Domain,
    Estimate,
    Floor,
    Method,
    Prior,
    batch_clock,
    correct,
    observe,
    stamp,
    unusable,
)
from penstock.events.v1.event_pb2 import (
    CLOCK_DOMAIN_UNSPECIFIED,
    CLOCK_METHOD_ECHO,
    CLOCK_METHOD_RECEIVED,
    ClockDomain,
    ClockMethod,
    DeviceTime,
    Event,
)
from penstock.events.v1.raw_batch_pb2 import RawBatch

T0 = 1_790_000_000_000_000
RECEIVED_US = T0 + 50_000


def estimated() -> Estimate:
    state = observe(None, domain=Domain.WALL, sent_us=T0 - 10_000_000, received_us=T0 - 9_960_000).replied(
        T0 - 9_950_000, Floor(3, T0 - 20_000_000, T0 - 20_000_000)
    )
    assert state is not None
    state = state._replace(prior=Prior(-5_000_000, -4_000_000, T0 - 9_000_000))
    return observe(state, domain=Domain.WALL, sent_us=T0, received_us=RECEIVED_US, echo=state.echo(None))


def test_methods_and_domains_are_numbered_as_in_the_protos() -> None:
    assert {f"CLOCK_METHOD_{method.name}": method.value for method in Method} == {
        name: number for name, number in ClockMethod.items() if number
    }
    assert {f"CLOCK_DOMAIN_{domain.name}": domain.value for domain in Domain} == {
        name: number for name, number in ClockDomain.items() if number
    }


def test_whoever_reads_the_log_computes_what_ingestion_computed() -> None:
    estimate = estimated()
    here = BatchClock.of(estimate, received_us=RECEIVED_US, sent_wall_us=T0, sent_steady_us=None, drift_ppm_max=200)
    stamped = stamp(estimate, received_us=RECEIVED_US, drift_ppm_max=200, refused=[1], traceparent="00-ab")
    device_part = RawBatch(device_id="d", sent=DeviceTime(wall_us=T0)).SerializeToString()
    batch = RawBatch.FromString(device_part + RawBatch(stamp=stamped).SerializeToString())
    there = batch_clock(batch.sent, batch.stamp)
    assert list(batch.stamp.refused) == [1]
    for seq, wall_us in [(4, T0 - 1), (4, T0 - 19_000_000), (2, T0 + 5), (9, T0 - 90_000_000), (5, 0)]:
        assert there.correct(seq, wall_us) == here.correct(seq, wall_us)


def test_an_event_gets_its_clock() -> None:
    event = Event(seq=4, occurred=DeviceTime(wall_us=T0 - 1_000_000))
    stamped = stamp(estimated(), received_us=RECEIVED_US, drift_ppm_max=200)
    clock = correct(event, sent=DeviceTime(wall_us=T0), boot_id="b", stamp=stamped)
    assert clock.method == CLOCK_METHOD_ECHO
    assert clock.corrected_us == T0 - 1_000_000 + clock.offset_us
    assert clock.HasField("error_bound_us")
    event.boot_id = "another"
    other = correct(event, sent=DeviceTime(wall_us=T0), boot_id="b", stamp=stamped)
    assert not other.HasField("error_bound_us")


def test_a_request_without_a_time_is_stamped_too() -> None:
    stamped = stamp(unusable(), received_us=RECEIVED_US, drift_ppm_max=200)
    clock = correct(Event(occurred=DeviceTime(wall_us=T0)), sent=DeviceTime(), boot_id="", stamp=stamped)
    assert (clock.method, clock.domain) == (CLOCK_METHOD_RECEIVED, CLOCK_DOMAIN_UNSPECIFIED)
    assert clock.corrected_us == RECEIVED_US
    assert not clock.HasField("error_bound_us")
