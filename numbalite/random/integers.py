"""Implements Generator.integers, whose bounds are ints or arrays of ints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.random import parameters
from numbalite.random.kernels import Integers
from numbalite.random.parameters import NUMBERS as _NUMBERS

if TYPE_CHECKING:
    from typing import Any

_TYPES = tuple(map(np.dtype, "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()))
_LONG = np.dtype(np.int64)
_NARROW, _WIDE = Integers(32, _TYPES), Integers(64, _TYPES)


def draw_integers(
    bits: Any, low: Any, high: Any, size: Any, dtype: Any, endpoint: bool, out: Any, stream: Any
) -> Any:
    """`Generator.integers`."""
    if high is None:
        low, high = 0, low
    if dtype is None:
        dtype = np.int64 if out is None else getattr(out, "dtype", np.int64)
    dtype = np.dtype(dtype)
    if dtype not in _TYPES:
        raise TypeError(f"integers: dtype must be an integer type or bool, not {dtype}")
    if not (isinstance(low, _NUMBERS) and isinstance(high, _NUMBERS)):
        return _draw_with_array_bounds(bits, low, high, size, dtype, endpoint, out, stream)
    first = parameters.check_scalar("integers", "low", low, parameters.REAL, _LONG)
    last = parameters.check_scalar("integers", "high", high, parameters.REAL, _LONG) - (
        not endpoint
    )
    _check_bounds(first, last, dtype, endpoint)
    made = (_NARROW if dtype.itemsize < 8 else _WIDE).fill("integers", dtype)
    result = parameters.checked_or_new_output("integers", size, dtype, out, stream)
    made(result, bits, stream, (_signed_int64(first), last - first))
    return result if out is None else out


def _check_bounds(first, last, dtype, endpoint):
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if first < least:
        raise ValueError(f"integers: low is out of bounds for {dtype}: {first}")
    if last > most:
        raise ValueError(f"integers: high is out of bounds for {dtype}: {last + (not endpoint)}")
    if last < first:
        sign = "at most" if endpoint else "below"
        raise ValueError(f"integers: low must be {sign} high: {first}, {last + (not endpoint)}")


def _signed_int64(number):
    return number - 2**64 if number >= 2**63 else number


def _draw_with_array_bounds(bits, low, high, size, dtype, endpoint, out, stream):
    """By 64 bits for each number."""
    bounds = [
        value if isinstance(value, _NUMBERS) else parameters.as_array("integers", name, value)
        for name, value in (("low", low), ("high", high))
    ]
    for name, bound in zip(("low", "high"), bounds, strict=True):
        if getattr(bound, "dtype", np.dtype(np.int64)).kind not in "biu":
            raise TypeError(f"integers: {name} must hold integers, not {bound.dtype}")
    shape = parameters.broadcast_shape(
        "integers",
        size if out is None else out.shape,
        [np.empty(np.shape(b), bool) for b in bounds],
    )
    # 64 bits do not suffice for the checks, so the bounds are checked on the host.
    low, high = (b.copy_to_host() if hasattr(b, "copy_to_host") else b for b in bounds)
    first = np.asarray(low).astype(object)
    last = np.asarray(high).astype(object) - (not endpoint)
    width = last - first
    if np.size(width):
        worst = np.argmin(width)
        pair = [np.broadcast_to(b, np.shape(width)).flat[worst] for b in (first, last)]
        _check_bounds(np.min(first), np.max(last), dtype, endpoint)
        _check_bounds(*pair, dtype, endpoint)
    made = _WIDE.fill("integers", dtype, (True, True))
    result = parameters.checked_or_new_output("integers", shape, dtype, out, stream)
    arrays = [
        parameters.broadcast_parameter(
            "integers", name, values, parameters.REAL, values.dtype, shape, stream
        )
        for name, values in (("low", _as_uint64(first).view(np.int64)), ("high", _as_uint64(width)))
    ]
    made(result, bits, stream, arrays)
    return result if out is None else out


def _as_uint64(values):
    """Returns Python ints in an array, with 64 bits each."""
    return np.asarray(np.asarray(values) % 2**64).astype(np.uint64)
