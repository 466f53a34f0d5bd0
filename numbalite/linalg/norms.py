"""Computes norms of vectors and matrices, and condition numbers. A norm is computed in one pass over the
elements if possible."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.functions import arguments as given
from numbalite.functions import reductions
from numbalite.functions.onepass import accumulator, cxx_type, run_reduction
from numbalite.linalg.arguments import (
    LinAlgError,
    compute_dtype,
    matrix_array,
    real_dtype,
    square_matrix_array,
)
from numbalite.linalg.decompositions import svd
from numbalite.linalg.solving import inverse_stack
from numbalite.ndarray.assign import on_device_of
from numbalite.ndarray.dispatch import implements
from numbalite.ufuncs import elementwise, operands
from numbalite.ufuncs.mapped import IN_OWN_PRECISION, MapReduce
from numbalite.ufuncs.protocols import cuda_ufunc_for
from numbalite.ufuncs.reduceloops import OperatorLoops

if TYPE_CHECKING:
    from typing import Any


@functools.cache
def _magnitude_reduction(ufunc, dtype):
    """Returns a MapReduce, which computes each element's magnitude and reduces the magnitudes in one pass."""
    real = real_dtype(dtype)
    signature = types.Signature(types.scalar(real), (types.scalar(dtype),))
    function = elementwise.template_function("magnitude", "squares")
    return MapReduce(function, signature, cuda_ufunc_for(ufunc), real)


def _reduce_magnitudes(ufunc, x, axis, keepdims):
    """Reduces the magnitudes of the elements by a ufunc, in one pass for dtypes of IN_OWN_PRECISION."""
    if x.dtype.char in IN_OWN_PRECISION and x.size:
        return _magnitude_reduction(ufunc, x.dtype)((x,), axis, keepdims, None, 0)
    initial = 0 if ufunc is np.maximum else reductions._NO_VALUE
    return reductions.reduce_axes(ufunc, np.abs(x), axis, None, None, keepdims, initial)


@functools.cache
def _norm_loops(dtype):
    if dtype.char in "?bB":  # squares of 8-bit integers are summed exactly, as integers
        return OperatorLoops("norm_of<int, numbalite::int64>", "norm", 8)
    wide = dtype if dtype.kind in "fc" else np.dtype(float)
    text, size = accumulator(*[real_dtype(wide)] * 3)
    return OperatorLoops(f"norm_of<{cxx_type(wide)}, {text}>", "norm", size)


def _as_inexact(x):
    return x if x.dtype.kind in "fc" else x.astype(float)


def _euclidean_norm(x, axis, keepdims):
    is_integer = x.dtype.kind in "biu"
    if (is_integer or x.dtype.char in ("e", *IN_OWN_PRECISION)) and x.size:
        result = np.dtype(float) if is_integer else real_dtype(x.dtype)
        return run_reduction(_norm_loops(x.dtype), x, axis, keepdims, result, 1.0, True)
    x = _as_inexact(x)
    squares = elementwise.template_ufunc("squared", "squares")(x)
    return np.sqrt(reductions.sum(squares, axis, keepdims=keepdims))


def _vector_norm(x, order, axis, keepdims):
    if order is None or order == 2:
        return _euclidean_norm(x, axis, keepdims)
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    x = _as_inexact(x)
    if order == 0:
        return reductions.sum(np.not_equal(x, 0), axis, real_dtype(x.dtype), keepdims=keepdims)
    if order in _REDUCED_MAGNITUDES:
        return _reduce_magnitudes(_REDUCED_MAGNITUDES[order], x, axis, keepdims)
    size = np.abs(x)
    power = size.dtype.type(order)
    total = reductions.sum(np.power(size, power), axis, keepdims=keepdims)
    return np.power(total, np.reciprocal(power))


_REDUCED_MAGNITUDES = {1: np.add, np.inf: np.maximum, -np.inf: np.minimum}
_BY_VALUES = {
    2: lambda values: reductions.max(values, -1, initial=0),
    -2: lambda values: reductions.min(values, -1),
    "nuc": lambda values: reductions.sum(values, -1),
}
_BY_SUMS = {
    1: (reductions.max, 0),
    -1: (reductions.min, 0),
    np.inf: (reductions.max, 1),
    -np.inf: (reductions.min, 1),
}


def _matrix_norm(x, order, axes, keepdims):
    if order in (None, "fro", "f"):
        return _euclidean_norm(x, tuple(axes), keepdims)
    x = _as_inexact(x)
    if order in _BY_VALUES:
        last = x.transpose([i for i in range(x.ndim) if i not in axes] + list(axes))
        made = _BY_VALUES[order](svd(last, compute_uv=False))
    elif order in _BY_SUMS:
        reduction, which = _BY_SUMS[order]
        sums = _reduce_magnitudes(np.add, x, axes[which], True)
        keywords = {"initial": 0} if reduction is reductions.max else {}
        made = reduction(sums, tuple(sorted(axes)), **keywords)
    else:
        raise ValueError("Invalid norm order for matrices.")
    if keepdims:
        made = made.reshape([1 if i in axes else n for i, n in enumerate(x.shape)])
    return made


@implements("linalg.norm")
def norm(x, ord=None, axis=None, keepdims: bool = False) -> Any:
    """Returns a norm of vectors or matrices. The matrix norms 2, -2 and "nuc" use singular values and
    wait for the device."""
    with on_device_of(x):
        x = given.as_device_array(x, "x")
        if axis is None:
            flat = (
                ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)
            )
            if flat:
                return _euclidean_norm(x, None, keepdims)
            axes: tuple = tuple(range(x.ndim))
        elif isinstance(axis, tuple):
            axes = axis
        else:
            try:
                axes = (operator.index(axis),)
            except TypeError:
                raise TypeError("'axis' must be None, an integer or a tuple of integers") from None
        if len(axes) not in (1, 2):
            raise ValueError("Improper number of dimensions to norm.")
        operands.axes_of(tuple(axes), x.ndim)  # raises an exception for invalid or repeated axes
        axes = tuple(one % x.ndim for one in axes)
        if len(axes) == 1:
            return _vector_norm(x, ord, axes[0], keepdims)
        return _matrix_norm(x, ord, axes, keepdims)


@implements("linalg.matrix_norm")
def matrix_norm(x, /, *, keepdims: bool = False, ord="fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@implements("linalg.vector_norm")
def vector_norm(x, /, *, axis=None, keepdims: bool = False, ord=2) -> Any:
    with on_device_of(x):
        x = given.as_device_array(x, "x")
        if axis is None:
            made = norm(x.ravel(), ord)
            return made.reshape((1,) * x.ndim) if keepdims else made
        if isinstance(axis, tuple) and len(axis) != 1:
            numbers = operands.axes_of(axis, x.ndim)
            left = [i for i in range(x.ndim) if i not in numbers]
            rest = tuple(x.shape[i] for i in left)
            made = norm(x.transpose([*left, *numbers]).copy("C").reshape(*rest, -1), ord, -1)
            kept = [1 if i in numbers else n for i, n in enumerate(x.shape)]
            return made.reshape(kept) if keepdims else made
        return norm(x, ord, axis[0] if isinstance(axis, tuple) else axis, keepdims)


@implements("linalg.cond")
def cond(x, p=None) -> Any:
    """Returns the condition number in a norm; infinity for a singular matrix."""
    with on_device_of(x):
        x = matrix_array("cond", x, "x")
        if 0 in x.shape[-2:]:
            raise LinAlgError("cond is not defined on empty arrays")
        if p in (None, 2, -2):
            values = svd(x, compute_uv=False)
            ends = values[..., 0], values[..., -1]
            made = np.true_divide(*(ends[::-1] if p == -2 else ends))
        else:
            x = square_matrix_array("cond", x, "x")
            dtype = compute_dtype("cond", x)
            inverse, infos = inverse_stack(x, dtype)
            inverse = inverse.reshape(x.shape)
            axes = (-2, -1)
            made = norm(x.astype(dtype, copy=False), p, axes) * norm(inverse, p, axes)
            infos = infos.reshape(x.shape[:-2])
            made = elementwise.template_ufunc("otherwise")(made, infos, made.dtype.type(np.nan))
        had_nan = np.any(np.isnan(x), (-2, -1))
        is_bad = np.logical_and(np.isnan(made), np.logical_not(had_nan))
        return np.where(is_bad, made.dtype.type(np.inf), made)
