"""Computes medians, quantiles and percentiles from sorted copies; also with weights, and ignoring NaN."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.algorithms import sorting
from numbalite.functions import arguments, outputs
from numbalite.functions.geometry import axes_of
from numbalite.functions.nans import nanmean
from numbalite.ndarray.dispatch import implements
from numbalite.ufuncs.fuse import fuse

if TYPE_CHECKING:
    from typing import Any


def _closest_index(n, q):
    """Returns the nearest index by Hyndman and Fan's third definition. A tie is rounded to the even position
    counted from 1, an odd index."""
    place = n * q - 1 - 0.5
    lower = np.floor(place)
    return np.where((place == lower) & (lower % 2 == 1), lower, lower + 1)


def _position_of_quantile(alpha, beta):
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


_WHOLE = {
    "inverted_cdf": lambda n, q: np.ceil(n * q) - 1,
    "closest_observation": _closest_index,
    "lower": lambda n, q: np.floor((n - 1) * q),
    "higher": lambda n, q: np.ceil((n - 1) * q),
    "nearest": lambda n, q: np.around((n - 1) * q),
}
"""The methods whose quantiles are elements: which one of n."""
_BETWEEN = {
    "averaged_inverted_cdf": lambda n, q: n * q - 1,
    "interpolated_inverted_cdf": _position_of_quantile(0, 1),
    "hazen": _position_of_quantile(0.5, 0.5),
    "weibull": _position_of_quantile(0, 0),
    "linear": lambda n, q: (n - 1) * q,
    "median_unbiased": _position_of_quantile(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _position_of_quantile(3 / 8.0, 3 / 8.0),
    "midpoint": lambda n, q: 0.5 * (np.floor((n - 1) * q) + np.ceil((n - 1) * q)),
}
"""The methods that interpolate: indices with a fraction."""


def _sorted_rows(a, axes):
    """Moves the reduced axes to the end, merges them into one axis, and sorts."""
    if axes == (a.ndim - 1,):
        return a
    kept = [k for k in range(a.ndim) if k not in axes]
    count = 1
    for k in axes:
        count *= a.shape[k]
    return arguments.reshape(a.transpose((*kept, *axes)), (*(a.shape[k] for k in kept), count))


def _reduced_axes(axis, ndim):
    return tuple(range(ndim)) if axis is None else tuple(sorted(axes_of(axis, ndim)))


def _sort_rows(a, axis):
    """Returns (sorted rows, the axes)"""
    axes = _reduced_axes(axis, a.ndim)
    rows = _sorted_rows(a, axes)
    return sorting.sort(rows, rows.ndim - 1), axes


def _may_be_nan(a):
    return a.dtype.kind in "fc"


def _replace_by_nan(made, rows):
    """Returns the results, with NaN for rows that contain NaN. NaN is the last element of a sorted row."""
    if not _may_be_nan(rows):
        return made
    return _nan_or_result(rows[..., -1], made)


@fuse
def _nan_or_result(last, made):
    return np.where(np.isnan(last), last, made)


def _broadcast_to_out(made, out):
    """Repeats the result for an `out` of more elements; a later check rejects an `out` that does not fit."""
    shape = getattr(out, "shape", made.shape)
    ones = shape[len(shape) - made.ndim :] if made.ndim else ()
    fits = len(ones) == made.ndim and all(
        a in (1, b) for a, b in zip(made.shape, ones, strict=True)
    )
    return np.broadcast_to(made, shape) if fits and shape != made.shape else made


def _finish_result(name, made, a, axes, keepdims, out, casting="unsafe"):
    if keepdims and keepdims is not np._NoValue:
        front = made.shape[: made.ndim - (a.ndim - len(axes))]
        kept = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
        made = made.reshape((*front, *kept))
    if (
        name == "quantile" and out is not None
    ):  # as in NumPy, whose quantile ends with a ufunc call with out
        made = _broadcast_to_out(made, out)
    return outputs.copy_to_out(name, out, made, casting)


@implements("median")
def median(a, axis=None, out=None, overwrite_input: bool = False, keepdims=False) -> Any:
    a = arguments.as_device_array(a)
    with arguments.on_device_of(a):
        rows, axes = _sort_rows(a, axis)
        return _finish_result("median", _row_medians(rows), a, axes, keepdims, out)


def _row_medians(rows):
    """Returns the medians of sorted rows."""
    n = rows.shape[-1]
    if not n or rows.dtype.kind != "f":
        made = np.mean(rows[..., (n - 1) // 2 : n // 2 + 1] if n else rows, axis=-1)
        return _replace_by_nan(made, rows) if n else made
    if n % 2 == 1:
        return _replace_by_nan(rows[..., n // 2], rows)
    return _mean_of_two(rows[..., n // 2 - 1], rows[..., n // 2], rows[..., -1])


@fuse
def _mean_of_two(low, high, last):
    """Returns the mean of two elements as np.mean computes it; NaN if the row's last element is NaN."""
    wide = np.result_type(low.dtype, np.float32)
    made = ((low.astype(wide) + high.astype(wide)) / 2).astype(low.dtype)
    return np.where(np.isnan(last), last, made)


@implements("nanmedian")
def nanmedian(a, axis=None, out=None, overwrite_input: bool = False, keepdims=np._NoValue) -> Any:
    a = arguments.as_device_array(a)
    if a.size == 0:
        return nanmean(a, axis, out=out, keepdims=keepdims)
    if not _may_be_nan(a):
        return median(a, axis, out, overwrite_input, keepdims)
    with arguments.on_device_of(a):
        rows, axes = _sort_rows(a, axis)
        n = _valid_counts(rows)
        low, high = _take_from_rows(rows, np.maximum(n - 1, 0) // 2), _take_from_rows(rows, n // 2)
        made = np.where(n % 2 == 1, low, np.mean(np.stack([low, high]), axis=0))
        return _finish_result("nanmedian", made, a, axes, keepdims, out)


# ------------------------------------------------------------------------------------------ quantiles


def _valid_counts(rows):
    """Returns an array with the number of elements of each row that are not NaN."""
    return np.count_nonzero(np.equal(rows, rows), axis=-1)


def _interpolate_two(rows, n, q, method, is_weak):
    """Interpolates between two neighbouring elements of each row of n elements, for one number q."""
    place = _BETWEEN[method](n, q)
    before = min(max(math.floor(place), 0), n - 1)
    part = place + 1 if place >= n - 1 else place - before
    if method == "averaged_inverted_cdf":
        part = type(part)(1 if part else 0.5)
    elif method == "midpoint":
        part = type(part)(0.5 if place % 1 else 0)
    low, high = rows[..., before], rows[..., min(before + (place >= 0), n - 1)]
    t = float(part) if is_weak else arguments.as_device_array(np.full((1,) * low.ndim, part))
    if _may_be_nan(rows):
        return _interpolate_or_nan(low, high, t, rows[..., -1])
    return _interpolate_between(low, high, t)


def _interpolate_rows(rows, n, q, method, is_weak):
    """Interpolates between neighbouring elements among the first n elements of each row."""
    place = _BETWEEN[method](n, q)
    if not isinstance(place, _core.DeviceArray):
        place = np.asarray(place)
    before = np.floor(place)
    after = before + 1
    above, below = place >= n - 1, place < 0
    before, after = (np.where(above, n - 1, np.where(below, 0, one)) for one in (before, after))
    part = place - before
    # As in NumPy, a position past the last element is counted from the end, with its fraction.
    part = np.where(above, place + 1, part)
    number = part.dtype.type if part.dtype.kind == "f" else np.float64
    if method == "averaged_inverted_cdf":
        part = np.where(part == 0, number(0.5), number(1))
    elif method == "midpoint":
        part = np.where(place % 1 == 0, number(0), number(0.5))
    both = _take_from_rows(rows, np.stack([before, after]))
    low, high = both[0, ...], both[1, ...]
    if isinstance(part, _core.DeviceArray):
        t = part.astype(rows.dtype) if is_weak else part
    elif is_weak:
        t = float(part)
    else:
        t = arguments.as_device_array(part.reshape(part.shape + (1,) * (low.ndim - part.ndim)))
    return _interpolate_between(low, high, t)


@fuse
def _interpolate_between(low, high, t):
    width = high - low
    return np.where(t >= 0.5, high - width * (1 - t), low + width * t)


@fuse
def _interpolate_or_nan(low, high, t, last):
    """Interpolates between elements; the result is NaN for a row that contains NaN, which is the last element
    of a sorted row."""
    width = high - low
    made = np.where(t >= 0.5, high - width * (1 - t), low + width * t)
    return np.where(np.isnan(last), last, made)


def _take_from_rows(rows, indices):
    """Returns the elements of each row at these positions, whose axes come first in the result.

    `indices` are a host array for all rows, or a device array with separate indices for each row in its last
    axes.
    """
    rest = rows.shape[:-1]
    if isinstance(indices, _core.DeviceArray):
        front = indices.shape[: indices.ndim - len(rest)]
        index = indices.astype(np.int64).reshape(math.prod(front), *rest)
        index = np.moveaxis(index, 0, -1)
    else:  # in C order, as NumPy's
        index = arguments.as_device_array(np.asarray(indices).astype(np.int64))
        return np.take(np.moveaxis(rows, -1, 0), index, axis=0)
    made = sorting.take_along_rows(rows, index, rows.ndim - 1, 0)
    return np.moveaxis(made, -1, 0).reshape((*front, *rest), copy=None)


def _quantiles_of_sorted_rows(rows, n, q, method, is_weak):
    """Returns the quantiles q of sorted rows. n: the number of valid elements, one number for all rows, or an
    array on the device with one number per row."""
    if method not in _WHOLE and (method != "linear" or q.dtype.kind not in "iu"):
        return _interpolate_rows(rows, n, q, method, is_weak)
    place = (_WHOLE.get(method) or _BETWEEN[method])(n, q)
    return _take_from_rows(rows, np.clip(place, 0, n - 1))


def _nan_quantiles(rows, q, method, is_weak):
    """Returns the quantiles of the elements that are not NaN; for an all-NaN row, returns the row's first
    element."""
    n = np.maximum(_valid_counts(rows), 1)
    q = q.reshape(q.shape + (1,) * n.ndim)
    n = n.astype(np.result_type(q, 0.0 if is_weak else q))
    made = _quantiles_of_sorted_rows(rows, n, q, method, is_weak)
    front = q.ndim - n.ndim
    if q.size == 1 or not n.ndim:
        return made
    # As in NumPy, the quantiles of a row are contiguous in memory.
    rows_first = made.transpose((*range(front, made.ndim), *range(front)))
    return rows_first.copy("C").transpose((*range(n.ndim, made.ndim), *range(n.ndim)))


def _weighted_quantiles(a, weights, axes, q, passes_nan):
    """Returns (quantiles by weights, sorted rows)"""
    rows = _sorted_rows(a, axes)
    order = sorting.argsort(rows, rows.ndim - 1)
    rows = sorting.take_along_rows(rows, order, rows.ndim - 1, 0)
    weights = sorting.take_along_rows(_sorted_rows(weights, axes), order, rows.ndim - 1, 0)
    n = rows.shape[-1]
    if passes_nan and _may_be_nan(a):
        weights = np.where(np.isnan(rows), 0, weights)
        n = np.maximum(_valid_counts(rows), 1)[..., None]
    sums = np.cumsum(weights, axis=-1, dtype=np.float64)
    total = sums[..., -1:]
    if passes_nan and _may_be_nan(a):
        total = np.where(np.isnan(rows[..., :1]), 1, total)
    sums = sums / total
    if bool(np.any(np.isnan(sums[..., -1]))):
        raise ValueError("Weights included NaN, inf or were all zero.")
    if q.dtype.kind == "f":
        sums = sums.astype(q.dtype)
    sums = np.where(sums == 0, -1, sums)  # do not select leading elements of weight 0
    flat = arguments.as_device_array(q.reshape(-1, 1))
    index = np.sum(np.less(sums[..., None, :], flat), axis=-1)
    index = np.moveaxis(np.minimum(index, n - 1), -1, 0)
    return _take_from_rows(rows, index.reshape((*q.shape, *rows.shape[:-1]))), rows


def _checked_weights(weights, a, axis, method):
    """Returns the weights, broadcast to the array's shape and checked."""
    if method != "inverted_cdf":
        raise ValueError(f"Only method 'inverted_cdf' supports weights. Got: {method}.")
    weights = arguments.as_device_array(weights)
    if weights.shape != a.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        given = axes_of(axis, a.ndim)
        if weights.shape != tuple(a.shape[k] for k in given):
            raise ValueError(
                f"Shape of weights {weights.shape} must be consistent with shape of a {a.shape} along "
                "specified axis."
            )
        transposed = weights.transpose(tuple(np.argsort(given)))
        weights = transposed.reshape([n if k in given else 1 for k, n in enumerate(a.shape)])
        weights = np.broadcast_to(weights, a.shape)
    if bool(np.any(weights < 0)):
        raise ValueError("Weights must be non-negative.")
    return weights


def _compute_quantile_of_array(a, q, axis, out, method, keepdims, weights, is_weak, passes_nan):
    with arguments.on_device_of(a):
        axes = _reduced_axes(axis, a.ndim)
        if weights is not None:
            weights = _checked_weights(weights, a, axis, method)
        if passes_nan and a.size == 0:
            return nanmean(a, axis, out=out, keepdims=keepdims)
        if method not in _WHOLE and method not in _BETWEEN:
            names = ", ".join(sorted((*_WHOLE, *_BETWEEN)))
            raise ValueError(f"{method!r} is not a valid method. Use one of: {names}")
        if q.ndim > 2:
            raise ValueError("q must be a scalar or 1d")
        rows = None
        if weights is None:
            rows, _ = _sort_rows(a, axis)
            is_number = q.ndim == 0 and q.dtype.kind == "f" and method in _BETWEEN
            if is_number and not passes_nan and a.size and rows.is_c_contiguous():
                made = _interpolate_two(
                    rows, rows.shape[-1], q.item() if is_weak else q[()], method, is_weak
                )
                return _finish_result("quantile", made, a, axes, keepdims, out, "same_kind")
        if a.size == 0 and 0 in (a.shape[k] for k in axes):
            raise IndexError("index -1 is out of bounds for axis 0 with size 0")
        if rows is None:
            made, rows = _weighted_quantiles(a, weights, axes, q, passes_nan)
        elif passes_nan and _may_be_nan(a):
            made = _nan_quantiles(rows, q, method, is_weak)
        else:
            made = _quantiles_of_sorted_rows(rows, rows.shape[-1], q, method, is_weak)
        if passes_nan:
            return _finish_result("nanquantile", made, a, axes, keepdims, out)
        return _finish_result(
            "quantile", _replace_by_nan(made, rows), a, axes, keepdims, out, "same_kind"
        )


def _read_arguments(a, q):
    if a.dtype.kind == "c":
        raise TypeError("a must be an array of real numbers")
    q = (
        arguments.as_device_array(q).copy_to_host()
        if hasattr(q, "copy_to_host")
        else np.asanyarray(q)
    )
    if q.dtype.kind == "O":  # such as Fraction
        return q.astype(np.float64)
    return q.astype(np.intp) if q.dtype.kind in "biu" else q


def _are_valid_quantiles(q):
    """Returns whether all quantiles are in [0, 1]."""
    if q.ndim == 0 and q.dtype.kind in "iuf":
        return 0 <= q.item() <= 1
    return np.all((q >= 0) & (q <= 1))


def _quantile_function(passes_nan):
    def compute_quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = np._NoValue,
        *,
        weights: Any = None,
    ) -> Any:
        a = arguments.as_device_array(a)
        given = _read_arguments(a, q)
        if not _are_valid_quantiles(given):
            raise ValueError("Quantiles must be in the range [0, 1]")
        is_weak = type(q) in (int, float)
        return _compute_quantile_of_array(
            a, given, axis, out, method, keepdims, weights, is_weak, passes_nan
        )

    return compute_quantile


def _percentile_function(passes_nan):
    def percentile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: Any = np._NoValue,
        *,
        weights: Any = None,
    ) -> Any:
        a = arguments.as_device_array(a)
        given = np.asarray(np.true_divide(_read_arguments(a, q), 100))
        if not _are_valid_quantiles(given):
            raise ValueError("Percentiles must be in the range [0, 100]")
        is_weak = type(q) in (int, float)
        return _compute_quantile_of_array(
            a, given, axis, out, method, keepdims, weights, is_weak, passes_nan
        )

    return percentile


quantile = implements("quantile")(_quantile_function(False))
nanquantile = implements("nanquantile")(_quantile_function(True))
percentile = implements("percentile")(_percentile_function(False))
nanpercentile = implements("nanpercentile")(_percentile_function(True))
