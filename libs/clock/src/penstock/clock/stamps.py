"""Between the clock's plain integers and the protos that carry them.

In:  an estimate, or a stamped batch from the log.
Out: the `Stamp` that ingestion appends, or the `Clock` of an event.
An event's time is a function of the event, its batch's `sent` and the stamp, and of nothing else: whoever reads
the log computes what ingestion computed.
"""

from collections.abc import Iterable

from penstock.clock.correction import BatchClock, Corrected
from penstock.clock.estimate import Estimate
from penstock.clock.state import Domain, Floor, Method, Prior
from penstock.events.v1.event_pb2 import Clock, ClockDomain, ClockMethod, DeviceTime, Event
from penstock.events.v1.raw_batch_pb2 import Floor as FloorMessage
from penstock.events.v1.raw_batch_pb2 import PriorClock, Stamp


def stamp(
    estimate: Estimate,
    *,
    received_us: int,
    drift_ppm_max: int,
    refused: Iterable[int] = (),
    traceparent: str = "",
) -> Stamp:
    """What ingestion adds to a batch."""
    made = Stamp(
        received_us=received_us,
        method=ClockMethod.ValueType(estimate.method),
        domain=ClockDomain.ValueType(estimate.domain or 0),
        offset_us=estimate.offset_us,
        offset_min_us=estimate.offset_min_us,
        offset_max_us=estimate.offset_max_us,
        drift_ppm_max=drift_ppm_max,
        refused=refused,
        traceparent=traceparent,
    )
    prior, state = estimate.prior, estimate.next_state
    if prior is not None:
        made.prior.CopyFrom(
            PriorClock(
                offset_min_us=prior.offset_min_us,
                offset_max_us=prior.offset_max_us,
                set_before_us=prior.set_before_us,
            )
        )
    if state is not None and state.floor is not None:
        floor = state.floor
        made.floor.CopyFrom(FloorMessage(seq=floor.seq, device_us=floor.device_us, corrected_us=floor.corrected_us))
    return made


def batch_clock(sent: DeviceTime, stamp: Stamp) -> BatchClock:
    """The clock of a batch read from the log."""
    bounded = stamp.HasField("offset_min_us") and stamp.HasField("offset_max_us")
    prior, floor = stamp.prior, stamp.floor
    return BatchClock(
        method=Method(stamp.method or Method.RECEIVED),
        domain=Domain(stamp.domain) if stamp.domain else None,
        offset_us=stamp.offset_us,
        offset_min_us=stamp.offset_min_us if bounded else None,
        offset_max_us=stamp.offset_max_us if bounded else None,
        drift_ppm_max=stamp.drift_ppm_max,
        received_us=stamp.received_us,
        sent_wall_us=sent.wall_us,
        sent_steady_us=sent.steady_us if sent.HasField("steady_us") else None,
        prior=Prior(prior.offset_min_us, prior.offset_max_us, prior.set_before_us) if stamp.HasField("prior") else None,
        floor=Floor(floor.seq, floor.device_us, floor.corrected_us) if stamp.HasField("floor") else None,
    )


def correct_event(event: Event, clock: BatchClock, boot_id: str) -> Corrected:
    """The time of one event of a batch that was sent in boot `boot_id`."""
    occurred = event.occurred
    steady_us = occurred.steady_us if occurred.HasField("steady_us") else None
    same_boot = not event.boot_id or event.boot_id == boot_id
    return clock.correct(event.seq, occurred.wall_us, steady_us, same_boot=same_boot)


def correct(event: Event, *, sent: DeviceTime, boot_id: str, stamp: Stamp) -> Clock:
    """The clock of one event of a stamped batch. For many events make the `batch_clock` once."""
    return clock_of(correct_event(event, batch_clock(sent, stamp), boot_id), sent, stamp.received_us)


def clock_of(corrected: Corrected, sent: DeviceTime, received_us: int) -> Clock:
    """The message that an event carries from enrichment on."""
    return Clock(
        sent=sent,
        received_us=received_us,
        corrected_us=corrected.corrected_us,
        error_bound_us=corrected.error_bound_us,
        method=ClockMethod.ValueType(corrected.method),
        domain=ClockDomain.ValueType(corrected.domain or 0),
        offset_us=corrected.offset_us,
        clamped=corrected.clamped,
        spans_clock_set=corrected.spans_clock_set,
    )
