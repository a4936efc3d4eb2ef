"""When a change was made, and where in the database's log: what orders changes.

In:  the `source` of an envelope.
Out: a `Stamp`, or RefusedError where a change cannot be ordered.
The time is that of the commit, the same for all of a transaction; of a snapshot's rows, that of the snapshot. The log
sequence number (LSN) grows with every change of one row, and for one row in the order of the commits. It is no order
between rows: a long transaction writes early and commits late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.enrichment.intake.outcome import RefusedError
from penstock.tables.v1.rejected_change_pb2 import CHANGE_REFUSAL_NO_VERSION

Fields = Mapping[str, object]

LSN_MAX: Final = 2**64 - 1
TIME_US_MAX: Final = 2**63 - 1
_STREAMED: Final = (None, False, "false")


class Stamp(NamedTuple):
    valid_from_us: int
    lsn: int
    from_snapshot: bool


def stamp_of(envelope: Fields) -> Stamp:
    source = envelope.get("source")
    if not isinstance(source, dict):
        raise _unordered("'source' is not an object")
    time_us, lsn = _time_us(source), _lsn(source)
    if lsn is None:
        raise _unordered(
            f"'source.lsn' is {source.get('lsn')!r} instead of a place in PostgreSQL's log"
            f" (the connector is {source.get('connector')!r})"
        )
    if time_us is None:
        raise _unordered("'source' has none of ts_us, ts_ns and ts_ms, so it does not say when it was committed")
    return Stamp(time_us, lsn, envelope.get("op") == "r" or source.get("snapshot") not in _STREAMED)


def _time_us(source: Fields) -> int | None:
    """As precisely as it is told; older connectors tell milliseconds only."""
    if (time_us := _count(source.get("ts_us"), TIME_US_MAX)) is not None:
        return time_us
    if (time_ns := _count(source.get("ts_ns"), TIME_US_MAX)) is not None:
        return time_ns // 1_000
    time_ms = _count(source.get("ts_ms"), TIME_US_MAX // 1_000)
    return None if time_ms is None else time_ms * 1_000


def _lsn(source: Fields) -> int | None:
    return _count(source.get("lsn"), LSN_MAX)


def _count(value: object, most: int) -> int | None:
    return value if type(value) is int and 0 < value <= most else None


def _unordered(detail: str) -> RefusedError:
    return RefusedError(CHANGE_REFUSAL_NO_VERSION, detail)
