"""Implements histograms: bincount, histogram, histogram2d, histogramdd and bin edges."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import counting
from numbalite.functions import arguments, bin_rules
from numbalite.functions.onepass import cxx_type, operator_loops, run_reduction
from numbalite.functions.searching import insertion_indices
from numbalite.ndarray.dispatch import implements
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


_KEPT_BINS = 64


def _flatten(a):
    return a.reshape(-1, copy=None if a.is_c_contiguous() else True)


def _flat_weights(weights, a):
    """Returns the weights as a 1-dimensional array; raises ValueError if their shape differs from that of
    `a`."""
    if weights is None:
        return None
    weights = arguments.as_device_array(weights)
    if weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    return _flatten(weights)


def _count_by_parts(count, weights):
    """Calls `count(weights)`, separately for real and imaginary parts, and converts the result to the dtype
    of the weights."""
    if weights is None:
        return count(None)
    if weights.dtype.kind != "c":
        return count(weights).astype(weights.dtype, copy=False)
    real, imag = (count(_flatten(part)) for part in (weights.real, weights.imag))
    made = arguments.empty(real.shape, weights.dtype, real)
    made.real[...] = real
    made.imag[...] = imag
    return made


@implements("bincount")
def bincount(x, /, weights=None, minlength=0) -> DeviceNDArray:
    x, minlength = arguments.as_device_array(x), operator.index(minlength)
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    if x.ndim != 1:
        raise ValueError(
            "object of too small depth for desired array"
            if x.ndim == 0
            else "object too deep for desired array"
        )
    if x.dtype == np.uint64:  # as NumPy since 2.3
        x = x.astype(np.intp)
    if not np.can_cast(x.dtype, np.intp, "safe"):
        raise TypeError(
            f"Cannot cast array data from {x.dtype!r} to {np.dtype(np.intp)!r} according to the rule 'safe'"
        )
    if weights is not None:
        weights = arguments.as_device_array(weights)
        if weights.ndim != 1:
            raise ValueError("object too deep for desired array")
        if weights.size != x.size:
            raise ValueError("The weights and list don't have the same length.")
        if not np.can_cast(weights.dtype, np.float64, "safe"):
            raise TypeError(
                f"Cannot cast array data from {weights.dtype!r} to {np.dtype(np.float64)!r} according to the rule 'safe'"
            )
        weights = _flatten(weights)
    if not x.size:
        nothing = arguments.empty((minlength,), np.intp, x)
        nothing.fill(0)
        return nothing
    x = _flatten(x)
    low, high = element_limits(x)
    if low < 0:
        raise ValueError("'list' argument must have no negative elements")
    length = max(int(high) + 1, minlength)
    with arguments.on_device_of(x):
        return counting.count_integers(x, weights, length)


# ----------------------------------------------------------------------------------------- edges


def _bin_edges(a, bins, limits):
    """Returns (edges on the host, (first edge, 1 / width of a bin) for bins of equal width)"""
    if np.ndim(bins) == 0:
        bins = operator.index(bins)
        if limits is not None and len(limits) != 2:
            raise ValueError(
                f"range must be the lowest and the highest edge, not {len(limits)} numbers"
            )
        if limits is None and a.size:
            return _equal_bins(bins, None, element_limits(a).astype(_counting_dtype(a.dtype)))
        empty = np.zeros(0, _counting_dtype(a.dtype))
        if limits is not None and all(type(one) in (int, float) for one in limits):
            return _cached_equal_bins(bins, *limits, a.dtype)
        return _equal_bins(bins, limits, empty)
    edges = (
        arguments.as_device_array(bins).copy_to_host() if hasattr(bins, "copy_to_host") else bins
    )
    return np.histogram_bin_edges(np.zeros(0), edges, limits), 0.0, 0.0


def _bins_by_rule(a, rule, limits, weights):
    """Returns the number of bins by a rule of NumPy, such as "auto"."""
    bin_rules.check_rule(rule, weights)
    ends = element_limits(a) if a.size else np.zeros(0, _counting_dtype(a.dtype))
    first, last = np.histogram_bin_edges(ends.astype(_counting_dtype(a.dtype)), 1, limits).tolist()
    a = a.astype(_counting_dtype(a.dtype), copy=False)
    if limits is not None and a.size:
        a = a[np.logical_and(a >= first, a <= last)]
        ends = element_limits(a) if a.size else ends
    ptp = 0
    if a.size:
        ptp = ends[1] - ends[0] if a.dtype.kind == "f" else int(ends[1]) - int(ends[0])
    counted = lambda count: histogram(a, count, limits)[0]
    return bin_rules.bin_count(rule, bin_rules.SampleStatistics(a, ptp, counted), first, last)


def _equal_bins(bins, limits, ends):
    edges = np.histogram_bin_edges(ends, bins, limits)
    count, first, last = len(edges) - 1, float(edges[0]), float(edges[-1])
    return edges, first, count / (last - first) if last > first else 0.0


@functools.lru_cache(_KEPT_BINS, typed=True)
def _cached_equal_bins(bins, low, high, dtype):
    """Returns equal bins, from a cache for the same limits. The cache contains no device arrays: the caller
    owns the edges, so each call copies the edges to the device."""
    return _equal_bins(bins, (low, high), np.zeros(0, _counting_dtype(dtype)))


def element_limits(a: Any) -> np.ndarray:
    """Returns the smallest and the largest element, on the host, and waits for these values."""
    return _limits_on_device(a).copy_to_host()


@traced
def _limits_on_device(a):
    number = np.dtype("f4") if a.dtype.char == "e" else a.dtype
    loops = _limits_loops(number)
    made = run_reduction(loops, a, None, False, loops.loop_dtype, 1.0, True)
    return made._view((2,), (number.itemsize,), number)


@functools.cache
def _limits_loops(dtype):
    return operator_loops(f"limits_of<{cxx_type(dtype)}>", "limits", np.dtype((dtype, 2)))


def _counting_dtype(dtype):
    """Returns the dtype in which elements are counted, which is uint8 for booleans."""
    return np.dtype(np.uint8) if dtype.kind == "b" else dtype


def _real_device_array(name, a):
    a = arguments.as_device_array(a)
    if a.dtype.kind not in "biuf":
        raise TypeError(f"{name}: elements of dtype {a.dtype} are in no bins")
    return a


@implements("histogram_bin_edges")
def histogram_bin_edges(a, bins=10, range=None, weights=None) -> DeviceNDArray:
    a = _real_device_array("histogram_bin_edges", a)
    _flat_weights(weights, a)
    if isinstance(bins, str):
        bins = _bins_by_rule(a, bins, range, weights)
    return arguments.as_device_array(_bin_edges(a, bins, range)[0])


@implements("histogram")
def histogram(a, bins=10, range=None, density=None, weights=None) -> tuple:
    a = _real_device_array("histogram", a)
    weights = _flat_weights(weights, a)
    if isinstance(bins, str):
        bins = _bins_by_rule(a, bins, range, weights)
    if weights is not None and weights.dtype == bool and np.ndim(bins) and a.size:
        raise TypeError(
            "histogram: sums of boolean weights are not booleans: use weights.astype(int)"
        )
    edges, first, scale = _bin_edges(a, bins, range)
    common = np.promote_types(edges.dtype, _counting_dtype(a.dtype))
    x = _flatten(a)
    with arguments.on_device_of(a):
        on_device = arguments.as_device_array(edges)
        compared = on_device.astype(common, copy=False)
        made = _count_by_parts(
            lambda w: counting.count_between_edges(x, w, compared, first, scale), weights
        )
        if density:
            width = np.diff(on_device).astype(float)
            made = made / width / np.sum(made)
        return made, on_device


@implements("histogramdd")
def histogramdd(sample, bins=10, range=None, density=None, weights=None) -> tuple:
    if hasattr(sample, "shape"):
        sample = arguments.as_device_array(sample)
        if sample.ndim < 2:
            sample = sample.reshape(-1, 1)
        if sample.ndim > 2:
            raise ValueError(
                f"histogramdd: the sample has shape {sample.shape}, two dimensions are expected"
            )
        columns = [sample[:, k] for k in _numbers(sample.shape[1])]
    else:
        columns = arguments.arrays_of(sample)
        common = np.result_type(*(one.dtype for one in columns))
        columns = [one.astype(common, copy=False) for one in columns]
    dims = len(columns)
    if not hasattr(bins, "__len__"):
        bins = [bins] * dims
    elif len(bins) != dims:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if range is None:
        range = [None] * dims
    elif len(range) != dims:
        raise ValueError("range argument must have one entry per dimension")
    count = columns[0].size
    if weights is not None:
        weights = _flatten(arguments.as_device_array(weights))
        if weights.size != count:
            raise ValueError("The weights and list don't have the same length.")
    with arguments.on_device_of(columns[0]):
        place: Any = None
        edges = []
        for column, of_bins, limits in zip(columns, bins, range, strict=True):
            column = _real_device_array("histogramdd", column)
            if np.ndim(of_bins) == 0 and not isinstance(of_bins, str) and of_bins < 1:
                raise ValueError("histogramdd: a number of bins must be positive")
            if (
                limits is not None and np.ndim(of_bins) == 0
            ):  # the dtype of the edges does not depend on the sample's dtype
                low, high = limits
                ends = np.zeros(0, np.linspace(low, high, 0).dtype)
                of_column = np.histogram_bin_edges(ends, operator.index(of_bins), limits)
            else:
                of_column, _, _ = _bin_edges(column, of_bins, limits)
            edges.append(arguments.as_device_array(of_column))
            number = _bin_number_array(column, edges[-1])
            length = len(of_column) + 1
            place = number if place is None else place * length + number
        shape = tuple(one.size + 1 for one in edges)
        made = counting.count_integers(
            place, None if weights is None else weights.astype(float), _element_count(shape)
        )
        inner = made.reshape(shape)[(slice(1, -1),) * dims].astype(float)
        if density:
            total = np.sum(inner)
            for axis, one in enumerate(edges):
                along = [1] * dims
                along[axis] = -1
                inner = inner / np.diff(one).reshape(along)
            inner = inner / total
        return inner, edges


def _bin_number_array(column, edges):
    """Returns an array with the bin number of each element: 0 before the first edge, len(edges) after the
    last edge, which belongs to the last bin."""
    number = insertion_indices(edges, column, "right")
    return number - np.equal(column, edges[-1]).astype(number.dtype)


def _element_count(shape):
    total = 1
    for n in shape:
        total *= n
    return total


_numbers = range


@implements("histogram2d")
def histogram2d(x, y, bins=10, range=None, density=None, weights=None) -> tuple:
    x, y = arguments.arrays_of((x, y))
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if hasattr(bins, "__len__") and len(bins) not in (1, 2):
        bins = [bins, bins]
    made, edges = histogramdd([x, y], bins, range, density, weights)
    return made, edges[0], edges[1]
