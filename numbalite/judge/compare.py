"""Compares an array with the expected array. Finds the first element that is wrong."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from numbalite.judge.guarded import is_unwritten
from numbalite.types.tolerance import tolerance


class Mismatch(NamedTuple):
    """The first wrong element, and the number of wrong elements."""

    place: tuple
    got: object
    expected: object
    wrong: int
    total: int


def find_mismatch(got, expected, allowed=None):
    """Returns the Mismatch of two arrays of equal shape, or None. NaN counts as equal to NaN in this
    comparison."""
    got, expected = np.asarray(got), np.asarray(expected)
    if allowed is None:
        allowed = tolerance(got.dtype)
    if got.dtype.kind in "fc" or expected.dtype.kind in "fc":
        wide = np.result_type(got.dtype, expected.dtype, np.float64)
        with np.errstate(all="ignore"):
            a, b = got.astype(wide), expected.astype(wide)
            finite = np.abs(b[np.isfinite(b)])
            largest = float(finite.max()) if finite.size else 0.0
            most = allowed.rtol * np.abs(b) + allowed.atol * largest + allowed.absolute
            near = (np.abs(a - b) <= most) & np.isfinite(b)
        wrong = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    else:
        wrong = got != expected
    count = int(np.count_nonzero(wrong))
    if not count:
        return None
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return Mismatch(index, got[index], expected[index], count, wrong.size)


def element_text(value) -> str:
    """Returns one element as text with up to 7 significant digits: short, without hiding a difference."""
    if isinstance(value, (complex, np.complexfloating)):
        return f"{complex(value):.7g}"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.7g}"
    return str(value)


def array_text(array) -> str:
    """Returns the text of a short array in one line."""
    array = np.asarray(array)
    if array.ndim == 0:
        return element_text(array[()])
    return "[" + ", ".join(array_text(part) for part in array) + "]"


def failure_rows(name, got, want, found, arguments) -> dict:
    """Returns {label: text}, the rows that describe a failed case. The rows are ``arguments``, pairs (name,
    value), complete or near the wrong element if they are long; the result and the expected value."""
    index = found.place
    rows = dict(_argument_row(argument, index, want.shape) for argument in arguments)
    subscript = f"[{', '.join(map(str, index))}]" if index else ""
    if 1 < want.size <= 8 and want.ndim == 1:
        rows[f"{name}, expected"] = array_text(want)
        rows[f"{name}, got"] = array_text(got)
    rows[f"{name}{subscript}, expected"] = element_text(found.expected)
    note = "   (nothing was written there)" if is_unwritten(got[index]) else ""
    rows[f"{name}{subscript}, got"] = element_text(found.got) + note
    return rows


def _argument_row(argument: tuple, index: tuple, shape: tuple) -> tuple:
    name, value = argument
    if not isinstance(value, np.ndarray):
        return name, element_text(value)
    if value.size <= 8 or (value.size <= 16 and value.ndim > 1):
        return name, array_text(value)
    if value.shape == shape and value.dtype.kind in "fciu":
        return f"{name}[{', '.join(map(str, index))}]", element_text(value[index])
    beginning = ", ".join(map(element_text, value.ravel()[:4]))
    return name, f"{value.dtype} {value.shape}: {beginning}, ..."
