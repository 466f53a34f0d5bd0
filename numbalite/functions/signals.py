"""Implements functions of sampled signals: convolve, correlate, unwrap, gradient, trapezoid, interp."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.geometry import axes_of
from numbalite.functions.reductions import sum_of_products
from numbalite.kernels.decorators import jit
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs.mapped import IN_OWN_PRECISION

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_MODES = ("valid", "same", "full")


@jit
def _convolution_kernel(a, v, out, first):
    """
    for (long long i = grid<1>(); i < out.size(); i += gridsize<1>()) {
        long long at = i + first;
        long long low = max(0ll, at - a.size() + 1), high = min(v.size() - 1, at);
        auto sum = out[i];
        sum = 0;
        for (long long k = low; k <= high; k++)
            sum += v[k] * a[at - k];
        out[i] = sum;
    }
    """


def _convolve_directly(a, v, mode):
    """Computes a direct convolution, with one product per result element and weight."""
    if not isinstance(mode, (str, int)):
        raise TypeError(f"mode must be a str or an int, not {type(mode).__name__}")
    if mode in range(3):
        mode = _MODES[mode]
    if mode not in _MODES:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full', not {mode!r}")
    if a.ndim > 1 or v.ndim > 1:
        raise ValueError("object too deep for desired array")
    a, v = a.reshape(-1), v.reshape(-1)
    for name, one in (("a", a), ("v", v)):
        if one.size == 0:
            raise ValueError(f"{name} cannot be empty")
    if v.size > a.size:
        a, v = v, a
    dtype = np.result_type(a.dtype, v.dtype)
    a, v = arguments.convert_array(a, dtype), arguments.convert_array(v, dtype)
    count = {"full": a.size + v.size - 1, "same": a.size, "valid": a.size - v.size + 1}[mode]
    first = {"full": 0, "same": (v.size - 1) // 2, "valid": v.size - 1}[mode]
    out = arguments.empty((count,), dtype, a)
    with arguments.on_device_of(a):
        _convolution_kernel.forall(count, arguments.THREADS)(a, v, out, first)
    return out


@implements("convolve")
def convolve(a, v, mode: str | int = "full") -> DeviceNDArray:
    """``numbalite.cuda.libs.cufft.fftconvolve`` is faster for long ``v``."""
    a, v = arguments.arrays_of((a, v))
    return _convolve_directly(a, v, mode)


@implements("correlate")
def correlate(a, v, mode: str | int = "valid") -> DeviceNDArray:
    a, v = arguments.arrays_of((a, v))
    if a.ndim == 0 or v.ndim == 0:
        raise ValueError("object of too small depth for desired array")
    if v.size > a.size:
        return _conjugate_if_complex(np.flip(correlate(v, a, mode)))
    return _convolve_directly(a, np.flip(_conjugate_if_complex(v)), mode)


def _conjugate_if_complex(a):
    return np.conjugate(a) if a.dtype.kind == "c" else a


@implements("unwrap")
def unwrap(p, discont=None, axis: int = -1, *, period: float = 2 * math.pi) -> DeviceNDArray:
    p = arguments.as_device_array(p)
    steps = np.diff(p, axis=axis)
    axis = axes_of(axis, p.ndim)[0]
    dtype = np.result_type(steps, period)
    if dtype.kind in "iu":
        high, odd = divmod(period, 2)
    else:
        high, odd = period / 2, 0
    short = np.mod(steps + high, period) - high
    if not odd:  # a step of exactly half a period keeps its sign
        upwards = np.logical_and(np.equal(short, -high), np.greater(steps, 0))
        np.copyto(short, high, where=upwards)
    moved = short - steps
    np.copyto(moved, 0, where=np.less(np.abs(steps), period / 2 if discont is None else discont))
    made = p.astype(dtype)
    behind = (slice(None),) * axis + (slice(1, None),)
    made[behind] = p[behind] + np.cumsum(moved, axis=axis)
    return made


# ---------------------------------------------------------------------------------------------- slopes


@implements("gradient")
def gradient(f, *varargs, axis=None, edge_order: int = 1) -> Any:
    f = arguments.as_device_array(f)
    axes = tuple(range(f.ndim)) if axis is None else axes_of(axis, f.ndim)
    dtype = f.dtype
    if dtype.kind not in "fc":
        f = f.astype(np.float64)
    steps = _spacings(f, varargs, axes)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    if dtype.kind == "b":
        raise TypeError(f"numpy.gradient of booleans, of shape {f.shape}: they have no differences")
    made = []
    for one, step in zip(axes, steps, strict=True):
        if f.shape[one] < edge_order + 1:
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, at least "
                "(edge_order + 1) elements are required."
            )
        made.append(_gradient_along_last_axis(np.moveaxis(f, one, -1), step, edge_order, one))
    return made[0] if len(made) == 1 else tuple(made)


def _spacings(f, given, axes):
    """Returns a list with the spacing for each axis: a number, or an array of the distances between
    neighbours."""
    if len(given) == 0:
        return [1.0] * len(axes)
    if len(given) == 1 and shapes.ndim_of(given[0]) == 0:
        return [given[0]] * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    return [
        _sample_distances(one, f.shape[axis]) if shapes.ndim_of(one) else one
        for one, axis in zip(given, axes, strict=True)
    ]


def _sample_distances(places, length):
    if shapes.ndim_of(places) != 1:
        raise ValueError("distances must be either scalars or 1d")
    if len(places) != length:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    places = arguments.as_device_array(places)
    if places.dtype.kind not in "fc":
        places = places.astype(np.float64)
    return np.diff(places)


def _gradient_along_last_axis(f, step, edge_order, axis):
    """Returns the gradient along the last axis of ``f``, as a new array in which this axis has index
    ``axis``, with the memory layout of the array that gradient received."""
    whole = np.empty_like(np.moveaxis(f, -1, axis))
    made = np.moveaxis(whole, axis, -1)
    if np.ndim(step) == 0:
        made[..., 1:-1] = (f[..., 2:] - f[..., :-2]) / (2.0 * step)
        before = after = step
        front = (step, step)
    else:
        left, right = step[:-1], step[1:]
        made[..., 1:-1] = (
            -right / (left * (left + right)) * f[..., :-2]
            + (right - left) / (left * right) * f[..., 1:-1]
            + left / (right * (left + right)) * f[..., 2:]
        )
        before, after = step[:1], step[-1:]
        front = (step[:1], step[1:2])
    if edge_order == 1:
        made[..., :1] = (f[..., 1:2] - f[..., :1]) / before
        made[..., -1:] = (f[..., -1:] - f[..., -2:-1]) / after
    else:
        back = front if np.ndim(step) == 0 else (step[-1:], step[-2:-1])
        made[..., :1] = _edge_slope(f[..., :1], f[..., 1:2], f[..., 2:3], *front)
        made[..., -1:] = -_edge_slope(f[..., -1:], f[..., -2:-1], f[..., -3:-2], *back)
    return whole


def _edge_slope(f0, f1, f2, h0, h1):
    """Returns the slope, at the first of three points, of the parabola through them."""
    whole = h0 + h1
    return -(h0 + whole) / (h0 * whole) * f0 + whole / (h0 * h1) * f1 - h0 / (h1 * whole) * f2


# ----------------------------------------------------------------------------------------------- areas


@implements("trapezoid", "trapz")
def trapezoid(y, x=None, dx=1.0, axis: int = -1) -> Any:
    axis = shapes.axis_index(axis)
    if x is None:
        (y,) = arguments.arrays_of((y,))
        width = dx
    else:
        y, x = arguments.arrays_of((y, x))
        width = np.diff(x) if x.ndim == 1 else np.diff(x, axis=axis)
        if x.ndim == 1:
            at = axes_of(axis, y.ndim)[0]
            width = width.reshape([-1 if i == at else 1 for i in range(y.ndim)])
    (at,) = axes_of(axis, y.ndim)
    left, right = (
        y[tuple(part if i == at else slice(None) for i in range(y.ndim))]
        for part in (slice(None, -1), slice(1, None))
    )
    made = _sum_of_trapezoids(y.dtype, width, left, right, at)
    if made is None:
        return (width * (right + left) / 2.0).sum(axis)
    if made.ndim < 2:
        return made
    operands = (left, right) if shapes.ndim_of(width) < y.ndim else (left, right, width)
    kept = [tuple(one.strides[i] for i in range(y.ndim) if i != at) for one in operands]
    return arguments.with_axis_order(made, *kept)


def _sum_of_trapezoids(dtype, width, left, right, axis):
    """Returns the sum of width * (left + right) / 2, rounded once in most cases. Returns None if no kernel
    supports the dtype or shapes."""
    is_number = type(width) in (int, float)
    if not is_number:
        dtype = np.result_type(dtype, getattr(width, "dtype", object))
    if dtype.char not in ("e", *IN_OWN_PRECISION) or not (is_number or width.ndim == left.ndim):
        return None
    is_wide = dtype.char in "dD"
    rest = axis, False, None, 0
    if is_number:
        total = sum_of_products(dtype, "a + b" if is_wide else "(a + b) / 2")((left, right), *rest)
        return width * (total / 2.0) if is_wide else width * total
    if is_wide:
        total = sum_of_products(dtype, "a * b")
        return (total((width, right), *rest) + total((width, left), *rest)) / 2.0
    total = sum_of_products(dtype, "a * ((b + c) / 2)", "a, b, c")
    return total((width, left, right), *rest)


# --------------------------------------------------------------------------------------- interpolation


@jit
def _interpolation_kernel(x, xp, fp, out, left, right, has_left, has_right, at_nan):
    """
    const long long n = xp.size();
    for (long long i = grid<1>(); i < out.size(); i += gridsize<1>()) {
        double at = x[i], made;
        long long low = 0, high = n;  // the first index after `at` is in low ... high
        while (low < high) {
            long long middle = low + (high - low) / 2;
            if (at >= xp[middle]) low = middle + 1; else high = middle;  // so NaN counts as larger
        }
        long long j = max(low - 1, 0ll);
        if (at != at && n > 1) made = at_nan == 0 ? at : 0.0;
        else if (at < xp[0]) made = has_left ? left : fp[0];
        else if (at > xp[n - 1]) made = has_right ? right : fp[n - 1];
        else if (j == n - 1 || xp[j] == at) made = fp[j];
        else {
            double slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]);
            made = slope * (at - xp[j]) + fp[j];
            if (made != made) {
                made = slope * (at - xp[j + 1]) + fp[j + 1];
                if (made != made && fp[j] == fp[j + 1]) made = fp[j];
            }
        }
        out[i] = made;
    }
    """


@implements("interp")
def interp(x, xp, fp, left=None, right=None, period=None) -> DeviceNDArray:
    x, xp, fp = arguments.arrays_of((x, xp, fp))
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        period, left, right = abs(period), None, None
    if xp.ndim != 1 or fp.ndim != 1:
        raise ValueError(
            f"interp: xp and fp must be 1-D sequences, not {xp.ndim}-D and {fp.ndim}-D"
        )
    if xp.size != fp.size:
        raise ValueError("fp and xp are not of the same length.")
    if xp.size == 0:
        raise ValueError("array of sample points is empty")
    for name, one in (("x", x), ("xp", xp)):
        if one.dtype.kind == "c":
            raise TypeError(f"interp: {name} is complex, real numbers are expected")
    x, xp = arguments.convert_array(x, np.float64), arguments.convert_array(xp, np.float64)
    if period is not None:
        x, xp = x % period, xp % period
        order = np.argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = np.concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = np.concatenate([fp[-1:], fp, fp[:1]])
    kind = np.complex128 if fp.dtype.kind == "c" else np.float64
    made = arguments.empty(x.shape, kind, x)
    if not made.size:
        return made
    line, x = made.reshape(-1), x.ravel()
    parts = ("real", "imag") if kind is np.complex128 else ("real",)
    with arguments.on_device_of(x):
        for at_nan, part in enumerate(parts):
            ends = [0.0 if one is None else float(getattr(one, part)) for one in (left, right)]
            values = arguments.convert_array(getattr(fp, part), np.float64)
            _interpolation_kernel.forall(line.size, arguments.THREADS)(
                x,
                xp,
                values,
                getattr(line, part),
                *ends,
                left is not None,
                right is not None,
                at_nan,
            )
    return made
