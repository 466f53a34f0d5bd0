"""New arrays of the elements of one: repeated, side by side, in another order along an axis.

An Arrangement says which parts go where. It depends on how the array lies and on what is asked for, and
functions that make one remember it (functools.lru_cache): what is left of a call is the new array and
the copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.cuda import assign, copyplan, shapes

if TYPE_CHECKING:
    from numbalite.cuda.arrays import DeviceNDArray

KEPT = 512
"""Arrangements that a function remembers."""


class Arrangement(NamedTuple):
    shape: tuple[int, ...]
    """Of the new array, in C order."""
    copies: tuple[tuple[copyplan.Plan, int, int], ...]
    """(how, bytes to where it begins in the array, and in the new one) of each part."""


class Lies(NamedTuple):
    """All that an Arrangement needs to know of an array; functions that remember are called with it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int
    low: int
    """The lowest bits of the address."""


def lies(array: DeviceNDArray) -> Lies:
    return Lies(array.shape, array.strides, array.itemsize, array._address % 16)


def part(
    lie: Lies, shape: tuple, of: tuple, to: tuple, begin: int = 0, at: int = 0
) -> tuple[copyplan.Plan, int, int]:
    """A part to copy: its shape, its strides on both sides, and where it begins."""
    low = (lie.low + begin | at) % 16
    return copyplan.plan(shape, of, to, lie.itemsize, low), begin, at


def arranged(array: DeviceNDArray, arrangement: Arrangement) -> DeviceNDArray:
    """The new array, where the array is."""
    if array.device != _core.current_device():
        with assign.on_device(array.device):
            return arranged(array, arrangement)
    made = _core.device_empty(arrangement.shape, array.dtype)
    for way, begin, at in arrangement.copies:
        assign.copy_by(way, array, made, 0, begin, at)
    return made


def packed(lie: Lies, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a new array."""
    return shapes.packed(shape, lie.itemsize, "C")
