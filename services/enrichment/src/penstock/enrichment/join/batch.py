"""One raw batch, its usual events assembled by compiled code.

In:  a batch and what its events share. Out: where each event lies, and the bytes of each usual one for the logs.
Buffers are kept from batch to batch. Use from one thread.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from penstock.clock import BatchClock, Corrected
from penstock.enrichment.join import compiled as c
from penstock.enrichment.join.assembly import Assembly
from penstock.enrichment.join.declared import Declared
from penstock.events.v1.raw_batch_pb2 import RawBatchView

# What Python needs of each event, in this order.
COLUMNS: Final = (
    c.STATUS, c.AT, c.END, c.TYPE, c.SEQ, c.T_US, c.BASE_AT, c.BASE_END, c.KEY_AT, c.KEY_END,
    c.ROW_AT, c.ROW_END, c.ROW_KEY_AT, c.ROW_KEY_END, c.PARTITION, c.ON_AT, c.ON_AT + 1,
)  # fmt: skip
FIXED_BYTES: Final = 256  # of an event's tags and sizes, generously


class Assembled(NamedTuple):
    """`columns` as COLUMNS says, one entry per event; `out` is what they point into; `rows` has all there is."""

    columns: list[list[int]]
    out: bytes
    rows: NDArray[np.int64]


class Assembler:
    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._spans = np.empty((1_024, 2), np.int64)
        self._rows = np.empty((1_024, c.ROW_COLUMNS), np.int64)
        self._out = np.empty(1 << 20, np.uint8)
        self._shared = np.zeros(c.SHARED_COLUMNS, np.int64)
        self._compile()

    def _compile(self) -> None:
        """Now, or reads it from numba's cache: the first batch should not have to wait for it."""
        nothing, declared = np.frombuffer(b"\0", np.uint8), self._declared
        c.event_spans(nothing, self._spans)
        c.assemble(
            nothing, self._spans[:0], declared.names, declared.types, declared.known, declared.shapes,
            self._shared, nothing, self._rows[:0], self._out,
        )  # fmt: skip

    def assemble(self, value: bytes, view: RawBatchView, clock: BatchClock, assembly: Assembly) -> Assembled | None:
        """None: nothing about this batch is usual."""
        parts = self._share(view, clock, assembly)
        if parts is None:
            return None
        data = np.frombuffer(value, np.uint8)
        count = c.event_spans(data, self._spans)
        if count > len(self._spans):
            self._spans = np.empty((2 * count, 2), np.int64)
            self._rows = np.empty((2 * count, c.ROW_COLUMNS), np.int64)
            count = c.event_spans(data, self._spans)
        if count < 1:
            return None
        # Of an event's own bytes there are at most: itself, its key, the key and the columns of its row.
        room = 4 * len(value) + count * (2 * len(parts) + self._declared.row_bytes_max + FIXED_BYTES)
        if room > len(self._out):
            self._out = np.empty(2 * room, np.uint8)
        declared, rows = self._declared, self._rows[:count]
        used = c.assemble(
            data,
            self._spans[:count],
            declared.names,
            declared.types,
            declared.known,
            declared.shapes,
            self._shared,
            np.frombuffer(parts, np.uint8),
            rows,
            self._out,
        )
        return Assembled(rows[:, COLUMNS].T.tolist(), self._out[:used].tobytes(), rows)

    def _share(self, view: RawBatchView, clock: BatchClock, assembly: Assembly) -> bytes | None:
        """Writes what all events share into an array; returns its pieces of text, or None if it is not usual."""
        plain = clock.plain()
        if plain is None:
            return None
        floor = plain.floor
        numbers = [
            plain.by_steady, plain.sent_us, plain.received_us, plain.offset_us, plain.bounded, plain.offset_min_us,
            plain.offset_max_us, plain.drift_ppm_max, floor is not None,
            *((floor.seq, floor.device_us, floor.corrected_us) if floor is not None else (0, 0, 0)),
        ]  # fmt: skip
        if any(abs(number) >= c.TIME_US_MAX for number in numbers) or plain.drift_ppm_max >= 1_000_000:
            return None
        tail, clock_part, device = assembly.shared
        how = assembly.how(Corrected(0, None, plain.method, plain.domain, plain.offset_us, False, False, None))
        position = b"\0".join((device, view.boot_id.encode(), b""))
        at = 0
        for piece in (tail, clock_part, how, device, position, assembly.source):
            numbers += (at, len(piece))
            at += len(piece)
        self._shared[:] = numbers
        return b"".join((tail, clock_part, how, device, position, assembly.source))
