"""Medians and quantiles, of sorted copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.cuda.algorithms import sorting
from numbalite.cuda.arrayfunctions import arguments
from numbalite.cuda.arrayfunctions.dispatch import WAYS_OUT, implements
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any


def _closest(n, q):
    """Half to even, counted from 1, as Hyndman and Fan's third definition has it."""
    place = n * q - 1 - 0.5
    lower, even = np.floor(place), np.floor(place) % 2 == 0
    return np.where((place == lower) & even, lower, lower + 1)


def _place(alpha, beta):
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


_WHOLE = {
    "inverted_cdf": lambda n, q: np.ceil(n * q) - 1,
    "closest_observation": _closest,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
}
"""The methods whose quantiles are elements: which one of n."""
_BETWEEN = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _place(0, 1),
    "hazen": _place(0.5, 0.5),
    "weibull": _place(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _place(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _place(3 / 8.0, 3 / 8.0),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}
"""Those between two: places with a fraction."""


def _sorted(a, axis):
    """(sorted, with the axes that are left first, and the others as one; the axes)"""
    axes = operands.axes_of(axis, a.ndim)
    kept = [k for k in range(a.ndim) if k not in axes]
    turned = a.transpose((*kept, *axes))
    rest = tuple(a.shape[k] for k in kept)
    count = 1
    for k in axes:
        count *= a.shape[k]
    rows = arguments.reshaped(turned, (*rest, count))
    return sorting.sort(rows, rows.ndim - 1), axes


def _may_be_nan(a):
    return a.dtype.kind in "fc"


def _result(made, a, axes, keepdims, out):
    if keepdims and keepdims is not np._NoValue:
        front = made.shape[: made.ndim - (a.ndim - len(axes))]
        kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
        made = made.reshape((*front, *kept))
    if out is None:
        return made
    if out.shape != made.shape:
        raise ValueError(f"output has shape {out.shape}, the result {made.shape}")
    np.copyto(out, made, casting="same_kind")
    return out


@implements("median")
def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False
) -> Any:
    a = arguments.array(a)
    with arguments.on_device_of(a):
        rows, axes = _sorted(a, axis)
        n = rows.shape[-1]
        made = np.mean(rows[..., (n - 1) // 2 : n // 2 + 1] if n else rows, axis=-1)
        if n and _may_be_nan(a):
            last = rows[..., -1]
            made = np.where(np.isnan(last), last, made)
        return _result(made, a, axes, keepdims, out)


def _between(rows, q, method, is_weak):
    """Values between two elements each."""
    n = rows.shape[-1]
    place = np.asarray(_BETWEEN[method](n, q))
    before = np.floor(place)
    after = before + 1
    above, below = place >= n - 1, place < 0
    before, after = (np.where(above, n - 1, np.where(below, 0, one)) for one in (before, after))
    part = place - before
    # NumPy's places above the last element are counted from the end, and so is the fraction.
    part = np.where(above, place + 1, part)
    if method == "averaged_inverted_cdf":
        part = np.where(part == 0, 0.5, 1.0)
    elif method == "midpoint":
        part = np.where(place % 1 == 0, 0.0, 0.5)
    low, high = _taken(rows, before), _taken(rows, after)
    width = high - low
    if is_weak:
        t = float(part)
        return low + width * t if t < 0.5 else high - width * (1 - t)
    t = arguments.array(part.reshape(part.shape + (1,) * (low.ndim - part.ndim)))
    return np.where(np.greater_equal(t, 0.5), high - width * (1 - t), low + width * t)


def _taken(rows, places):
    """The elements of each row at these places, which come first in the result's shape."""
    flat = np.asarray(places).astype(np.int64).ravel()
    index = np.broadcast_to(arguments.array(flat), (*rows.shape[:-1], flat.size))
    made = sorting.take_along(rows, index, rows.ndim - 1, 0)
    return np.moveaxis(made, -1, 0).reshape((*np.shape(places), *rows.shape[:-1]), copy=None)


def _quantile(a, q, axis, out, method, keepdims, weights, is_weak):
    operands.axes_of(axis, a.ndim)
    if weights is not None:
        raise TypeError(f"quantiles with weights have no counterpart on the device: {WAYS_OUT}")
    if method not in _WHOLE and method not in _BETWEEN:
        names = ", ".join(sorted((*_WHOLE, *_BETWEEN)))
        raise ValueError(f"{method!r} is not a valid method. Use one of: {names}")
    if q.ndim > 2:
        raise ValueError("q must be a scalar or 1d")
    with arguments.on_device_of(a):
        rows, axes = _sorted(a, axis)
        n = rows.shape[-1]
        if not n:
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        if method in _WHOLE or (method == "linear" and q.dtype.kind in "iu"):
            place = (_WHOLE.get(method) or _BETWEEN[method])(n, q)
            made = _taken(rows, np.clip(place, 0, n - 1))
        else:
            made = _between(rows, q, method, is_weak)
        if _may_be_nan(a):
            last = rows[..., -1]
            made = np.where(np.isnan(last), last, made)
        return _result(made, a, axes, keepdims, out)


def _numbers(a, q):
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    return arguments.array(q).copy_to_host() if hasattr(q, "copy_to_host") else np.asanyarray(q)


def _check_places(given, message):
    if not np.all((given >= 0) & (given <= 1)):
        raise ValueError(message)


def _is_weak(q):
    """Does q leave the result's dtype to the array?"""
    return type(q) in (int, float)


@implements("quantile")
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    a = arguments.array(a)
    _check_places(given := _numbers(a, q), "Quantiles must be in the range [0, 1]")
    return _quantile(a, given, axis, out, method, keepdims, weights, _is_weak(q))


@implements("percentile")
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    a = arguments.array(a)
    given = np.asarray(np.true_divide(_numbers(a, q), 100))
    _check_places(given, "Percentiles must be in the range [0, 100]")
    return _quantile(a, given, axis, out, method, keepdims, weights, _is_weak(q))
