"""Converts and checks the arguments of a distribution: parameters, which are numbers or arrays, and the
output array."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite import _core
from numbalite.ndarray.arrays import device_array
from numbalite.ndarray.foreign import cuda_array_or_none
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Interval(NamedTuple):
    """An interval that must contain a parameter; no interval contains NaN."""

    words: str
    holds: Callable[[Any], bool]


REAL = Interval("a number", lambda x: True)
FINITE = Interval("finite", lambda x: abs(x) < float("inf"))
POSITIVE = Interval("positive", lambda x: x > 0)
NOT_NEGATIVE = Interval("not negative", lambda x: x >= 0)
ABOVE_ONE = Interval("above 1", lambda x: x > 1)
PROBABILITY = Interval("from 0 to 1", lambda x: 0 <= x <= 1)
CHANCE = Interval("above 0 and at most 1", lambda x: 0 < x <= 1)
BELOW_ONE = Interval("at least 0 and below 1", lambda x: 0 <= x < 1)
MEAN = Interval("from 0 to 9.2e18", lambda x: 0 <= x <= 9.2e18)
MANY = Interval("from 0 to 10**9", lambda x: 0 <= x <= 10**9)
COUNT = Interval("from 0 to 2**53", lambda x: 0 <= x <= 2**53)


_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)
NUMBERS = (int, float, np.generic)
"""The types of numbers of Python and NumPy, in contrast to arrays."""


def check_scalar(what: str, name: str, value: Any, inside: Interval, dtype: np.dtype) -> Any:
    """Checks a scalar parameter, and returns it as a Python int or float."""
    try:
        found = float(value) if dtype is _DOUBLE or dtype is _SINGLE else operator.index(value)
    except (TypeError, ValueError):
        kind = "a real number" if dtype.kind == "f" else "an integer"
        raise TypeError(
            f"{what}: {name} must be {kind} or an array, not {type(value).__name__}"
        ) from None
    if not inside.holds(found):
        raise ValueError(f"{what}: {name} must be {inside.words}, not {value}")
    return found


def as_array(what: str, name: str, value: Any) -> Any:
    """Returns a device array, or a NumPy array of numbers."""
    found = cuda_array_or_none(value)
    if found is None:
        found = np.asarray(value)
    if found.dtype.kind not in "biuf":
        raise TypeError(f"{what}: {name} must hold real numbers, not {found.dtype}")
    return found


def minimum_and_maximum(values: Any) -> tuple:
    """Returns the minimum and the maximum of a non-empty array; both are NaN if an element is NaN."""
    if isinstance(values, np.ndarray):
        return values.min(), values.max()
    flat = values.reshape(-1)
    return np.min(flat).item(), np.max(flat).item()


def broadcast_shape(what: str, size: Any, arrays: list) -> tuple:
    """Returns the shape of the output: the broadcast shape of the parameters, or `size`, to which they must
    be broadcastable."""
    try:
        together = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError as problem:
        raise ValueError(f"{what}: {problem}") from None
    if size is None:
        return together
    shape = shape_of_size(what, size)
    try:
        fits = np.broadcast_shapes(shape, together) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{what}: size {size} does not fit parameters that together have shape {together}"
        )
    return shape


def shape_of_size(what: str, size: Any) -> tuple:
    """Returns a size as a tuple. TypeError, ValueError."""
    try:
        shape = shapes.tuple_of_integers(size)
    except TypeError:
        raise TypeError(f"{what}: size must be an int or a tuple of ints, not {size!r}") from None
    if min(shape, default=0) < 0:
        raise ValueError(f"{what}: size must not be negative: {size}")
    return shape


def broadcast_parameter(
    what: str, name: str, values: Any, inside: Interval, dtype: np.dtype, shape: tuple, stream: Any
) -> Any:
    """Checks an array parameter, and returns it on the device with the output's shape and the kernel's
    dtype."""
    if dtype.kind in "iu" and values.dtype.kind == "f":
        raise TypeError(f"{what}: {name} must hold integers, not {values.dtype}")
    if inside is not REAL and values.size:
        of_host = isinstance(values, np.ndarray)
        for found in minimum_and_maximum(
            values if of_host or values.is_c_contiguous() else values.copy()
        ):
            if not inside.holds(found):
                raise ValueError(f"{what}: {name} must be {inside.words}, not {found}")
    made = device_array(shape, dtype, stream=stream)
    if made.size:
        made[...] = values
    return made


def broadcast_parameters(
    what: str, size: Any, out: Any, given: tuple, dtypes: list, stream: Any
) -> tuple:
    """Returns (shape of the output, list of kernel arguments) for parameters of which at least one is an
    array."""
    if out is not None and size is None:
        size = getattr(out, "shape", None)
    values = [
        value if isinstance(value, NUMBERS) else as_array(what, name, value)
        for name, value, _ in given
    ]
    shape = broadcast_shape(what, size, [v for v in values if not isinstance(v, NUMBERS)])
    made = [
        check_scalar(what, name, value, inside, dtype)
        if isinstance(value, NUMBERS)
        else broadcast_parameter(what, name, value, inside, dtype, shape, stream)
        for (name, _, inside), value, dtype in zip(given, values, dtypes, strict=True)
    ]
    return shape, made


def checked_or_new_output(what: str, size: Any, dtype: Any, out: Any, stream: Any) -> Any:
    """Returns the array to fill: `out`, checked, or a new one."""
    if out is not None:
        return output_array(what, size, dtype, out)
    try:
        return device_array(() if size is None else size, dtype, stream=stream)
    except (TypeError, ValueError):
        shape_of_size(what, size)
        raise


def output_array(what: str, size: Any, dtype: Any, out: Any) -> Any:
    """Returns the output array with a given dtype: `out`, checked."""
    found = cuda_array_or_none(out)
    if found is None:
        raise TypeError(f"{what}: out must be a device array, not {type(out).__name__}")
    if found.dtype != dtype:
        raise TypeError(f"{what}: out has dtype {found.dtype}, not {dtype}")
    if size is not None and found.shape != shape_of_size(what, size):
        raise ValueError(f"{what}: out has shape {found.shape}, size is {size}")
    if not found.is_c_contiguous():
        raise ValueError(f"{what}: out must be C-contiguous, but its strides are {found.strides}")
    if found.readonly:
        raise ValueError(f"{what}: out is read-only")
    if found.device != _core.current_device():
        raise ValueError(
            f"{what}: out is on device {found.device}, the current one is {_core.current_device()}"
        )
    return found
