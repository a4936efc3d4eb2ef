"""Machine instructions for compiled code, beside those of penstock.wire.memory: rows, 32-bit numbers, moving, fetching.

Everything here takes addresses. numba would pass twenty arrays from one compiled function to the next and count the
references of each: measured, several times the cost of what is done with them. There is no safety: whoever uses these
keeps every index inside its array.
"""

# ruff: noqa: ARG001 (the signature of an intrinsic is numba's)

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.core import cgutils
from numba.extending import intrinsic
from penstock.wire.memory import WORD, Codegen

# How many turns of a loop before it is needed memory is asked for.
FETCH_AHEAD = 8

_code: Any = cgutils  # which has no types
_HALF = ir.IntType(32)
_BYTE = ir.IntType(8)


def rows(dtype: np.dtype[Any], place: int) -> Callable[[int, int], Any]:
    """Makes an instruction: the row with a number, of rows whose address is in a table of words at `place`."""
    record, size = from_dtype(dtype), dtype.itemsize

    def row(typing: Any, table: Any, number: Any) -> tuple[Any, Codegen]:
        def pointer(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
            table, number = arguments
            begin = builder.load(_pointer(builder, table, ir.Constant(WORD, 8 * place), WORD))
            # The table changes between calls from Python only, so that one look at it is enough.
            begin.set_metadata("invariant.load", builder.module.add_metadata([]))
            address = builder.add(begin, builder.mul(number, ir.Constant(WORD, size)))
            return builder.inttoptr(address, context.get_value_type(record))

        return record(types.int64, types.int64), pointer

    return cast(Callable[[int, int], Any], intrinsic(row))


def _pointer(builder: Any, base: Any, offset: Any, to: Any) -> Any:
    return builder.inttoptr(builder.add(base, offset), to.as_pointer())


def _half_pointer(builder: Any, base: Any, index: Any) -> Any:
    return _pointer(builder, base, builder.shl(index, ir.Constant(WORD, 2)), _HALF)


def _half(typing: Any, base: Any, index: Any) -> tuple[Any, Codegen]:
    """The int32 number `index` of the array at the address `base`."""

    def load(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return builder.sext(builder.load(_half_pointer(builder, *arguments)), WORD)

    return types.int64(types.int64, types.int64), load


def _put_half(typing: Any, base: Any, index: Any, value: Any) -> tuple[Any, Codegen]:
    """Stores an int32 as number `index` of the array at the address `base`."""

    def store(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        base, index, value = arguments
        builder.store(builder.trunc(value, _HALF), _half_pointer(builder, base, index))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), store


def _add(typing: Any, base: Any, index: Any, value: Any) -> tuple[Any, Codegen]:
    """Adds to the int64 number `index` of the array at the address `base`."""

    def change(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        base, index, value = arguments
        pointer = _pointer(builder, base, builder.shl(index, ir.Constant(WORD, 3)), WORD)
        builder.store(builder.add(builder.load(pointer), value), pointer)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), change


def _move(typing: Any, to: Any, source: Any, size: Any) -> tuple[Any, Codegen]:
    """Moves bytes from one address to another; they may overlap."""

    def move(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        to, source, size = arguments
        to, source = (builder.inttoptr(address, _BYTE.as_pointer()) for address in (to, source))
        _code.raw_memmove(builder, to, source, size, ir.Constant(WORD, 1))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), move


def _fetch(typing: Any, address: Any) -> tuple[Any, Codegen]:
    """Has a line brought into the cache that will be needed soon. Any address will do."""

    def fetch(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), _HALF, _HALF, _HALF])
        function = _code.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        pointer = builder.inttoptr(arguments[0], _BYTE.as_pointer())
        builder.call(function, [pointer, *(ir.Constant(_HALF, flag) for flag in (1, 3, 1))])  # to write, keep, data
        return context.get_dummy_value()

    return types.void(types.int64), fetch


half = cast(Callable[[int, int], int], intrinsic(_half))
put_half = cast(Callable[[int, int, int], None], intrinsic(_put_half))
add = cast(Callable[[int, int, int], None], intrinsic(_add))
move = cast(Callable[[int, int, int], None], intrinsic(_move))
fetch = cast(Callable[[int], None], intrinsic(_fetch))
