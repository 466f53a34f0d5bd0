"""New arrays of the elements of one: repeated, side by side, in another order along an axis.

An Arrangement says which parts go where. It depends on how the array lies and on what is asked for, and
functions that make one remember it (functools.lru_cache): what is left of a call is the new array and
the copies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.ndarray import assign, batchcopy
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from numbalite.ndarray.arrays import DeviceNDArray

KEPT = 512
"""Arrangements that a function remembers."""


class Copy(NamedTuple):
    """A part: its shape, its strides on both sides, and the bytes to where it begins in the array and in the new
    one."""

    shape: tuple[int, ...]
    of: tuple[int, ...]
    to: tuple[int, ...]
    begin: int = 0
    at: int = 0


class Arrangement(NamedTuple):
    shape: tuple[int, ...]
    copies: tuple[Copy, ...]
    strides: tuple[int, ...] | None = None
    """Of the new array; without them it is in C order."""


class Lies(NamedTuple):
    """All that an Arrangement needs to know of an array; functions that remember are called with it."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    itemsize: int


def lies(array: DeviceNDArray) -> Lies:
    return Lies(array.shape, array.strides, array.itemsize)


def arranged(array: DeviceNDArray, arrangement: Arrangement) -> DeviceNDArray:
    """The new array, where the array is."""
    if array.device != _core.current_device():
        with assign.on_device(array.device):
            return arranged(array, arrangement)
    made = _core.device_empty(arrangement.shape, array.dtype, strides=arrangement.strides)
    batchcopy.copy(made, [batchcopy.Part(array, *one) for one in arrangement.copies])
    return made


def packed(lie: Lies, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a new array in C order."""
    return shapes.packed(shape, lie.itemsize, "C")
