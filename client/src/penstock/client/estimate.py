"""What the server thinks of a device's clock.

In:  the ClockEstimate of an answer. Out: the same as a plain value, or None where the answer has none.
Guaranteed: where nothing bounds the error the bound is None, never 0. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.events.v1.event_pb2 import ClockDomain, ClockMethod
from penstock.ingest.v1.ingest_pb2 import PublishResponse


@dataclass(frozen=True, slots=True)
class ClockEstimate:
    """Server time minus device time, as of one answer."""

    method: str
    """How it was found: ECHO, ONE_WAY, NAIVE or RECEIVED (the device gave no usable time)."""
    domain: str | None
    """The clock of the device that the offset is added to: WALL or STEADY. None: neither is usable."""
    offset_us: int
    """The best estimate. A steady clock counts from any moment, so its offset says nothing by itself."""
    error_bound_us: int | None
    """The truth is within plus or minus this. None: nothing bounds it."""


def estimate_of(response: PublishResponse) -> ClockEstimate | None:
    """The estimate that an answer brought."""
    if not response.HasField("clock"):
        return None
    said = response.clock
    bound_us = said.error_bound_us if said.HasField("error_bound_us") else None
    return ClockEstimate(method_name(said.method), domain_name(said.domain), said.offset_us, bound_us)


def method_name(method: ClockMethod.ValueType) -> str:
    """For example ECHO; of a version that is not known here, its number."""
    return ClockMethod.Name(method).removeprefix("CLOCK_METHOD_") if method in ClockMethod.values() else str(method)


def domain_name(domain: ClockDomain.ValueType) -> str | None:
    """WALL or STEADY; None where it is not said."""
    if not domain:
        return None
    return ClockDomain.Name(domain).removeprefix("CLOCK_DOMAIN_") if domain in ClockDomain.values() else str(domain)
