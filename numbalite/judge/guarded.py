"""Manages guarded and unwritten memory: arrays within larger arrays whose margins are marked, and outputs
whose initial contents no kernel computes."""

from __future__ import annotations

from typing import Any

import numpy as np

MARGIN = 1024
"""Elements before and after each array: as many as a block can have threads."""


class GuardedArray:
    """The contents of an array, and of the larger array that contains it: ``whole`` is one-dimensional,
    with ``margin`` elements on each side of the array. ``key`` distinguishes the arrays of a call. Arrays of
    structs and objects have no margin."""

    def __init__(self, array: np.ndarray, key: int, margin: int = MARGIN) -> None:
        self.shape, self.size = array.shape, array.size
        self.margin = margin if array.dtype.kind in "fciub" else 0
        dtype = array.dtype
        self._mark = True if dtype.kind == "b" else 77 if dtype.itemsize == 1 else 1000 + key
        if self.margin:
            self.whole = np.full(array.size + 2 * margin, self._mark, dtype)
        else:
            self.whole = np.empty(array.size, dtype)
        self.whole[self.margin : self.margin + self.size] = array.ravel()

    def view_of_array(self, whole: Any) -> Any:
        """Returns the view of the array within the larger array, which is in host or device memory."""
        return whole[self.margin : self.margin + self.size].reshape(self.shape)

    def out_of_bounds_write(self, name: str, after: np.ndarray, is_input: bool) -> str:
        """Returns a sentence about a write out of bounds in a call, found in the contents of the larger array
        after the call, or "" if there is none."""
        for where, margin in (
            ("before its start", after[: self.margin]),
            ("behind its end", after[self.margin + self.size :]),
        ):
            if self.margin and (margin != self._mark).any():
                return f"something is written into {name} {where}: guard the edges."
        if (
            is_input
            and self.view_of_array(after).tobytes() != self.view_of_array(self.whole).tobytes()
        ):
            return f"the input {name} is changed by the call."
        return ""


def unwritten(shape, dtype):
    """Returns an array whose contents no kernel would produce.

    Parameters
    ----------
    shape : int or tuple of int
        The shape.
    dtype : dtype
        The dtype.

    Returns
    -------
    numpy.ndarray
        An array of NaN with bits that arithmetic never produces, or of an
        unusual number.
    """
    dtype = np.dtype(dtype)
    array = np.empty(shape, dtype)
    array.reshape(-1).view(_unsigned_dtype(dtype))[...] = _poison_value(dtype)
    return array


def is_unwritten(value) -> bool:
    """Returns whether every element still has the value that `unwritten` stored. A computed NaN has other
    bits, and counts as written."""
    return bool(np.all(unwritten_elements(value)))


def unwritten_elements(value) -> np.ndarray:
    """Returns for each element whether it still has the value that `unwritten` stored."""
    value = np.ascontiguousarray(value)
    if value.dtype.kind not in "fciu":
        return np.zeros(value.shape, bool)
    same = value.reshape(-1).view(_unsigned_dtype(value.dtype)) == _poison_value(value.dtype)
    return same.reshape(*value.shape, -1).all(-1) if value.size else np.zeros(value.shape, bool)


def _unsigned_dtype(dtype):
    """Returns the unsigned integer dtype for a view of elements of this dtype; a complex number is two such
    integers."""
    if dtype.kind not in "fc":
        return dtype
    size = dtype.itemsize // (2 if dtype.kind == "c" else 1)
    return np.dtype(f"u{min(size, 8)}")


def _poison_value(dtype):
    """Returns the contents of `unwritten` arrays. Floats are initialized with a signalling NaN; every
    computed NaN is a quiet NaN."""
    if dtype.kind in "fc":
        return {2: 0x7D5A, 4: 0x7FA5A5A5, 8: 0x7FF5A5A5A5A5A5A5}[_unsigned_dtype(dtype).itemsize]
    return np.iinfo(dtype).max // 3 if dtype.kind in "iu" else False
