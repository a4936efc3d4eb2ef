"""Which version a change becomes, or why it is none.

In:  when and where in the log a change was made, and the newest version that is known of its row.
Out: a version above that one, or a reason to skip the change.
Guaranteed: the versions that are written of one row only ever grow. So the newest record of a row on a compacted topic
is its newest version; and a duplicate, a redelivery and a snapshot that is older than what is known write nothing.

Versions are ordered by time first, but the database's log is what says which change was later: where its clock ran
backwards, or a snapshot was stamped later than a change that it does not have, the time is raised to that of the
version before. Time decides alone where LSNs begin anew, because the database moved to another server.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.enrichment.intake.outcome import SkipReason
from penstock.enrichment.intake.rows import KnownRow
from penstock.enrichment.intake.stamp import Stamp
from penstock.enrichment.tables import Version

LSN_BYTES: Final = 8
# Debezium stamps a snapshot moments after the point in the log that it shows. One that is this much newer than a change
# with a greater LSN shows another log.
LOG_RESTART_US: Final = 3_600_000_000
# Makes a change greater than a snapshot that was taken at the very place in the log that the change was written to.
AFTER_SNAPSHOT: Final = b"\x01"


class Ordered(NamedTuple):
    version: Version
    raised: bool  # above the time that the change claims
    log_restart: bool


def order(stamp: Stamp, known: KnownRow | None, truncated: Version | None) -> Ordered | SkipReason:
    """`truncated` is the newest truncate: a row that was written after it must not be behind it."""
    placed = Version(stamp.valid_from_us, lsn_bytes(stamp.lsn))
    log_restart = False
    if known is not None:
        if (reason := _old(stamp, known)) is not None:
            return reason
        log_restart = stamp.from_snapshot and stamp.lsn < lsn_of(known.version)
        placed = _above(known.version, placed)
    if truncated is not None and stamp.lsn > lsn_of(truncated):
        placed = _above(truncated, placed)
    return Ordered(placed, placed.valid_from_us > stamp.valid_from_us, log_restart)


def order_truncate(stamp: Stamp, truncated: Version | None) -> Version | SkipReason:
    """Truncates are compared with one another only: they are in no order with the rows of other partitions."""
    version = Version(stamp.valid_from_us, lsn_bytes(stamp.lsn))
    if truncated is None or version > truncated:
        return version
    return SkipReason.DUPLICATE if version == truncated else SkipReason.SUPERSEDED


def lsn_bytes(lsn: int) -> bytes:
    return lsn.to_bytes(LSN_BYTES, "big")


def lsn_of(version: Version) -> int:
    return int.from_bytes(version.position[:LSN_BYTES], "big")


def _old(stamp: Stamp, known: KnownRow) -> SkipReason | None:
    known_lsn = lsn_of(known.version)
    if stamp.lsn > known_lsn:
        return None
    later_us = stamp.valid_from_us - known.version.valid_from_us
    if stamp.lsn < known_lsn:
        # Between transactions of one row LSN and time agree: if they do not, the log began anew. A snapshot's time
        # says less, since it is not the time of a change.
        return None if later_us > (LOG_RESTART_US if stamp.from_snapshot else 0) else SkipReason.SUPERSEDED
    if later_us > 0 or (known.from_snapshot and not stamp.from_snapshot):
        return None
    return SkipReason.DUPLICATE


def _above(known: Version, placed: Version) -> Version:
    if placed.valid_from_us > known.valid_from_us:
        return placed
    if placed.position > known.position:
        return Version(known.valid_from_us, placed.position)
    return Version(known.valid_from_us, placed.position[:LSN_BYTES] + AFTER_SNAPSHOT)
