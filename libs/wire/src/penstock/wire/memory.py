"""Four machine instructions for compiled code: load or store a byte or a word, at an address.

numba counts references whenever an array is passed from one compiled function to the next, and tests every index
for being negative. In ingestion's walk, which calls a dozen tiny functions per event, that was three quarters of the
time.
Addresses have neither cost and no safety: whoever uses these keeps every index inside its array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

Codegen = Callable[[Any, Any, Any, Sequence[Any]], Any]

WORD = ir.IntType(64)


def _pointer(builder: Any, base: Any, offset: Any, to: Any) -> Any:
    return builder.inttoptr(builder.add(base, offset), to.as_pointer())


def _word_pointer(builder: Any, base: Any, index: Any) -> Any:
    return _pointer(builder, base, builder.shl(index, ir.Constant(WORD, 3)), WORD)


def _byte(typing: Any, base: Any, at: Any) -> tuple[Any, Codegen]:
    """The byte `at` bytes after the address `base`."""

    def load(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        base, at = arguments
        return builder.zext(builder.load(_pointer(builder, base, at, ir.IntType(8))), WORD)

    return types.int64(types.int64, types.int64), load


def _word(typing: Any, base: Any, index: Any) -> tuple[Any, Codegen]:
    """The int64 number `index` of the array at the address `base`."""

    def load(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        return builder.load(_word_pointer(builder, *arguments))

    return types.int64(types.int64, types.int64), load


def _put(typing: Any, base: Any, index: Any, value: Any) -> tuple[Any, Codegen]:
    """Stores an int64 as number `index` of the array at the address `base`."""

    def store(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        base, index, value = arguments
        builder.store(value, _word_pointer(builder, base, index))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), store


def _put_byte(typing: Any, base: Any, at: Any, value: Any) -> tuple[Any, Codegen]:
    """Stores the low eight bits of an int64 `at` bytes after the address `base`."""

    def store(context: Any, builder: Any, signature: Any, arguments: Sequence[Any]) -> Any:
        base, at, value = arguments
        small = ir.IntType(8)
        builder.store(builder.trunc(value, small), _pointer(builder, base, at, small))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), store


byte = cast(Callable[[int, int], int], intrinsic(_byte))
word = cast(Callable[[int, int], int], intrinsic(_word))
put = cast(Callable[[int, int, int], None], intrinsic(_put))
put_byte = cast(Callable[[int, int, int], None], intrinsic(_put_byte))
