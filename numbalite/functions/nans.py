"""Implements reductions and cumulative sums that ignore NaN, and nan_to_num.

Each reduction replaces NaN by its identity element in the same pass. No warning is issued, because the check
would wait for the values."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.functions import arguments, outputs, reductions
from numbalite.functions.onepass import accumulator, cxx_type, run_reduction
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs import elementwise
from numbalite.ufuncs.mapped import MapReduce
from numbalite.ufuncs.protocols import cuda_ufunc_for
from numbalite.ufuncs.reduceloops import OperatorLoops
from numbalite.ufuncs.ruled import UfuncWithLoopRule

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_NO_VALUE: Any = np._NoValue


# ---------------------------------------------------------------------------------- sums and products


@functools.cache
def _map_reduction(ufunc, dtype, neutral):
    """Returns the reduction (MapReduce) of the elements that are not NaN and not masked out; other elements
    count as ``neutral``."""
    function = elementwise.template_function("kept", neutral=neutral)
    scalar = types.scalar(dtype)
    signature = types.Signature(scalar, (scalar, types.boolean))
    return MapReduce(function, signature, cuda_ufunc_for(ufunc), dtype)


@functools.cache
def _counting_reduction(dtype):
    """Returns the reduction (MapReduce) that counts the elements that are not NaN and not masked out."""
    function = elementwise.template_function("counted")
    signature = types.Signature(types.int64, (types.scalar(dtype), types.boolean))
    return MapReduce(function, signature, cuda_ufunc_for(np.add), reductions.COUNTER)


@functools.cache
def _sum_loops(stored, wide, result):
    text, size = accumulator(stored, wide, result)
    return OperatorLoops(f"nan_sum_of<{cxx_type(wide)}, {text}>", "nansum", size)


@functools.cache
def _mean_loops(stored, wide, result):
    text, size = accumulator(stored, wide, result)
    return OperatorLoops(
        f"nan_mean_of<{cxx_type(wide)}, {text}>", "nanmean", -(-(size + 8) // 16) * 16
    )


def _has_nans(a):
    return a.dtype.kind in "fc"


def _checked_mask(where):
    if where is _NO_VALUE or where is True:
        return np.True_
    reductions.check_mask(where)
    return arguments.as_device_array(where)


def _reduce_wide(ufunc, neutral, a, axis, wide, where):
    """Returns the result of the reduction in the dtype ``wide``, with the reduced axes kept.

    NaN is replaced first if ``wide`` cannot represent it.
    """
    if not np.can_cast(a.dtype, wide, "same_kind"):
        return reductions.reduce_axes(
            ufunc, _replace_nan(a, neutral), axis, wide, None, True, where=where
        )
    asked = _checked_mask(where)
    if ufunc is np.add and asked is np.True_ and a.size:
        return run_reduction(_sum_loops(a.dtype, wide, wide), a, axis, True, wide, 1.0, True)
    return _map_reduction(ufunc, wide, neutral)((a, asked), axis, True, None, 0)


def _nan_reduction(name, ufunc, neutral, a, axis, dtype, out, keepdims, initial, where):
    a = arguments.as_device_array(a)
    if not _has_nans(a):
        return reductions.reduce_axes(ufunc, a, axis, dtype, out, keepdims, initial, where)
    result = a.dtype if dtype is None else np.dtype(dtype)
    wide = np.dtype("f4") if result.char == "e" else result
    if initial is None:  # no initial value
        return reductions.reduce_axes(
            ufunc, _replace_nan(a, neutral), axis, dtype, out, keepdims, initial, where
        )
    made = _reduce_wide(ufunc, neutral, a, axis, wide, where)
    if initial is not _NO_VALUE:
        made = ufunc(made, wide.type(initial), out=made)
    return reductions.finish_result(name, made, a, axis, result, out, keepdims)


@implements("nansum")
def nansum(
    a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE
) -> Any:
    return _nan_reduction("nansum", np.add, 0, a, axis, dtype, out, keepdims, initial, where)


@implements("nanprod")
def nanprod(
    a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE
) -> Any:
    return _nan_reduction("nanprod", np.multiply, 1, a, axis, dtype, out, keepdims, initial, where)


@implements("nancumsum")
def nancumsum(a, axis=None, dtype=None, out=None) -> Any:
    return reductions.cumsum(_replace_nan(a, 0), axis, dtype, out)


@implements("nancumprod")
def nancumprod(a, axis=None, dtype=None, out=None) -> Any:
    return reductions.cumprod(_replace_nan(a, 1), axis, dtype, out)


# ------------------------------------------------------------------------------------------ extremes


@implements("nanmax")
def nanmax(a, axis=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE) -> Any:
    return reductions.reduce_axes(np.fmax, a, axis, None, out, keepdims, initial, where)


@implements("nanmin")
def nanmin(a, axis=None, out=None, keepdims=_NO_VALUE, initial=_NO_VALUE, where=_NO_VALUE) -> Any:
    return reductions.reduce_axes(np.fmin, a, axis, None, out, keepdims, initial, where)


def _first_extreme_index(a, axis, out, keepdims, is_largest):
    """Returns the index of the first extreme (minimum or maximum) that is not NaN. Waits for the result.
    Raises ValueError for an all-NaN slice."""
    a = arguments.as_device_array(a)
    found = reductions.first_extreme_index(a, axis, None, keepdims, is_largest, not _has_nans(a))
    if _has_nans(a) and found.size and reductions.min(found).item() < 0:
        raise ValueError("All-NaN slice encountered")
    return outputs.copy_to_wider_out("nanargmax" if is_largest else "nanargmin", out, found)


@implements("nanargmax")
def nanargmax(a, axis=None, out=None, *, keepdims=_NO_VALUE) -> Any:
    return _first_extreme_index(a, axis, out, keepdims, True)


@implements("nanargmin")
def nanargmin(a, axis=None, out=None, *, keepdims=_NO_VALUE) -> Any:
    return _first_extreme_index(a, axis, out, keepdims, False)


# ------------------------------------------------------------------------------ means and variances


def _count_not_nan(a, axis, where):
    return _counting_reduction(a.dtype)((a, _checked_mask(where)), axis, True, None, 0)


@implements("nanmean")
def nanmean(a, axis=None, dtype=None, out=None, keepdims=_NO_VALUE, *, where=_NO_VALUE) -> Any:
    a = arguments.as_device_array(a)
    _check_dtypes("nanmean", a, dtype, out)
    if not _has_nans(a):
        return reductions.mean(a, axis, dtype, out, keepdims, where=where)
    wide, result = reductions.sum_dtypes(a.dtype, dtype)
    if out is None and reductions.is_in_one_pass(a, wide, dtype, where):
        return run_reduction(
            _mean_loops(a.dtype, wide, result), a, axis, keepdims, result, 1.0, True
        )
    made, result = _nan_mean(a, axis, dtype, where, out)
    return reductions.finish_result("nanmean", made, a, axis, result, out, keepdims)


def _check_dtypes(name, a, dtype, out):
    """Raises TypeError if the input can have NaN, but the result's dtype cannot."""
    if not _has_nans(a):
        return
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None:
        outputs.check_out(name, out)
        if out.dtype.kind not in "fc":
            raise TypeError("If a is inexact, then out must be inexact")


def _nan_mean(a, axis, dtype, where, out=None):
    """Returns (mean with the reduced axes kept, dtype of the result)"""
    wide, result = reductions.sum_dtypes(a.dtype, dtype)
    total = _reduce_wide(np.add, 0, a, axis, wide, where)
    reductions.warn_of_complex(a.dtype, wide)
    return reductions.divide_by_count(total, _count_not_nan(a, axis, where), out), result


@functools.cache
def _squares_reduction(number, real):
    """Returns the reduction (MapReduce) that computes the sum of |x - mean|^2."""
    function = elementwise.template_function(
        "kept_square", squares=elementwise.template_text("squares")
    )
    scalar = types.scalar(number)
    signature = types.Signature(types.scalar(real), (scalar, scalar, types.boolean))
    return MapReduce(function, signature, cuda_ufunc_for(np.add), real)


def _nan_variance(a, axis, dtype, ddof, where, mean, correction, out):
    """Returns (variance with the reduced axes kept, dtype of the result). The variance is NaN if no degrees
    of freedom are left."""
    ddof = reductions.subtracted_degrees(ddof, correction)
    wide, result = reductions.sum_dtypes(a.dtype, dtype)
    if mean is _NO_VALUE:
        mean, _ = _nan_mean(a, axis, wide, where)
    if a.dtype.kind == "c" and dtype is None:
        result = np.dtype(result.char.lower())
    mean = arguments.as_device_array(mean)
    squares = _squares_reduction(*reductions.square_dtypes(a, mean, wide))
    total = squares((a, mean, _checked_mask(where)), axis, True, None, 0)
    degrees = np.subtract(_count_not_nan(a, axis, where), ddof)
    made = reductions.divide_by_count(total, np.maximum(degrees, 0), out)
    return np.where(np.greater(degrees, 0), made, made.dtype.type(np.nan)), result


def _variance_or_root(plain, a, axis, dtype, out, ddof, keepdims, where, mean, correction):
    """Implements nanvar and nanstd. plain: np.var or np.std, for arrays without NaN."""
    a = arguments.as_device_array(a)
    name = "nanstd" if plain is reductions.std else "nanvar"
    _check_dtypes(name, a, dtype, out)
    if not _has_nans(a):
        return plain(
            a, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction
        )
    wide, result = reductions.sum_dtypes(a.dtype, dtype)
    if out is None and mean is _NO_VALUE and reductions.is_in_one_pass(a, wide, dtype, where):
        taken = float(reductions.subtracted_degrees(ddof, correction))
        if a.dtype.kind == "c":
            result = np.dtype(result.char.lower())
        loops = reductions.variance_loops(wide, result, plain is reductions.std, True)
        return run_reduction(loops, a, axis, keepdims, result, taken, True)
    made, result = _nan_variance(a, axis, dtype, ddof, where, mean, correction, out)
    if plain is reductions.std:
        made = reductions.square_root_in_place(made, False)
    return reductions.finish_result(name, made, a, axis, result, out, keepdims)


@implements("nanvar")
def nanvar(
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_NO_VALUE,
    *,
    where=_NO_VALUE,
    mean=_NO_VALUE,
    correction=_NO_VALUE,
) -> Any:
    given = a, axis, dtype, out, ddof, keepdims, where, mean, correction
    return _variance_or_root(reductions.var, *given)


@implements("nanstd")
def nanstd(
    a,
    axis=None,
    dtype=None,
    out=None,
    ddof=0,
    keepdims=_NO_VALUE,
    *,
    where=_NO_VALUE,
    mean=_NO_VALUE,
    correction=_NO_VALUE,
) -> Any:
    given = a, axis, dtype, out, ddof, keepdims, where, mean, correction
    return _variance_or_root(reductions.std, *given)


# ---------------------------------------------------------------------------------------- replacement


def _replace_nan(a, number):
    """Returns the array with NaN replaced by a number; returns the array itself if its dtype has no NaN."""
    a = arguments.as_device_array(a)
    if not _has_nans(a):
        return a
    return np.where(np.isnan(a), a.dtype.type(number), a)


@functools.cache
def _finite_ufunc():
    return UfuncWithLoopRule("finite", _finite_dtypes)


def _finite_dtypes(request):
    dtype = request.inputs[0]
    real = np.dtype(dtype.char.lower())
    return request.check_loop((dtype, real, real, real, dtype))


@implements("nan_to_num")
def nan_to_num(x, copy: bool = True, nan=0.0, posinf=None, neginf=None) -> DeviceNDArray:
    given = x
    shapes.check_copy(copy)
    x = arguments.as_device_array(x)
    if not _has_nans(x):
        return x.copy() if copy else x
    real = np.dtype(x.dtype.char.lower())
    most = np.finfo(real).max if posinf is None else posinf
    least = np.finfo(real).min if neginf is None else neginf
    out = None if copy or given is not x else x
    instead = (
        np.broadcast_to(arguments.as_device_array(one).astype(real, copy=False), x.shape)
        if np.ndim(one)
        else real.type(one)
        for one in (nan, most, least)
    )
    return _finite_ufunc()(x, *instead, out=out)
