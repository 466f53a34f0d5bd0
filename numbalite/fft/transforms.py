"""Implements np.fft's functions, with arguments as in NumPy."""

from __future__ import annotations

import functools
import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.fft.execution import (
    TransformInput,
    complex_to_complex,
    complex_to_real,
    real_to_complex,
    scale_in_place,
)
from numbalite.fft.plans import FORWARD, INVERSE
from numbalite.functions import arguments
from numbalite.functions.arguments import empty_like
from numbalite.ndarray import assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime.shapes import AxisError, tuple_of_integers, tuple_of_items

if TYPE_CHECKING:
    from numbalite.ndarray.arrays import DeviceNDArray

_SWAPPED = {"backward": "forward", None: "forward", "ortho": "ortho", "forward": "backward"}


# ---------------------------------------------------------------------------------------- arguments


def _scale_factor(name, norm, total, inverse):
    """Returns the factor by which a result is scaled."""
    if norm not in _SWAPPED:
        raise ValueError(
            f'fft.{name}: Invalid norm value {norm}; should be "backward", "ortho" or "forward".'
        )
    if norm == "ortho":
        return 1 / math.sqrt(total)
    return 1 / total if (norm == "forward") != inverse else 1.0


@functools.cache
def _complex_dtype(dtype):
    """Returns the complex dtype of a transform in the installed version of NumPy."""
    if dtype.kind not in "biufc":
        raise TypeError(f"an array of {dtype} has no Fourier transform")
    found = np.fft.fft(np.zeros(1, dtype)).dtype
    if found.char not in "FD":
        raise TypeError(
            f"the Fourier transform of {dtype} arrays would be {found}, which cuFFT has not"
        )
    return found


@functools.cache
def _real_dtype(dtype):
    """Returns the dtype of NumPy's real inverse transform, which computes float16 in float32 and rounds."""
    return np.fft.irfft(np.zeros(2, dtype)).dtype


def _check_length(name, n):
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"fft.{name}: Invalid number of FFT data points ({n}) specified.")
    return n


def _normalized_axis(name, axis, array):
    number = operator.index(axis)
    if not -array.ndim <= number < array.ndim:
        raise AxisError(
            f"fft.{name}: axis {axis} is out of bounds for an array of shape {array.shape}"
        )
    return number % array.ndim


def _lengths_and_axes(name, array, s, axes):
    """Returns lengths and axes in the form of NumPy's functions of several dimensions; lengths None: those of
    the array."""
    s, axes = (one if one is None else tuple_of_items(one, f"fft.{name}") for one in (s, axes))
    if s is None:
        axes = range(array.ndim) if axes is None else axes
        return [None] * len(axes), [_normalized_axis(name, axis, array) for axis in axes]
    if axes is None:
        axes = range(-len(s), 0)
    if len(s) != len(axes):
        raise ValueError(
            f"fft.{name}: Shape and axes have different lengths ({len(s)} and {len(axes)})."
        )
    axes = [_normalized_axis(name, axis, array) for axis in axes]
    return [None if n is None or (n == -1 and _is_for_several_axes(name)) else n for n in s], axes


def _is_for_several_axes(name):
    """Returns whether the transform has several axes (fft2, fftn). Only transforms of several axes accept the
    length -1, which means the whole axis."""
    return name[-1] in "n2"


def _split_axes(name, axes):
    """Returns (all axes but the last, the last axis, which has half the length in a real transform)."""
    if not axes:
        raise IndexError(f"fft.{name}: a transform of real numbers requires at least one axis")
    return axes[:-1], axes[-1]


def _scale_result(name, result, factor, out):
    """Returns the scaled result, in `out` if passed."""
    if factor != 1 and result.size:
        scale_in_place(result, factor)
    if out is None or out is result:
        return result
    if not isinstance(out, _core.DeviceArray):
        raise TypeError(f"fft.{name}: out must be a device array, not {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError(
            f"fft.{name}: output array has wrong shape: {out.shape}, the result has {result.shape}"
        )
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"fft.{name}: the result is {result.dtype}, which out ({out.dtype}) cannot hold"
        )
    assign.assign(out, result)
    return out


# ------------------------------------------------------------------------------- one and more axes


def _transform_complex(name, a, s, axes, norm, out, direction):
    """Implements fft, ifft and their versions for several axes."""
    a = arguments.as_device_array(a, "a")
    lengths, axes = _lengths_and_axes(name, a, s, axes)
    sizes = [a.shape[x] if n is None else n for n, x in zip(lengths, axes, strict=True)]
    sizes = [_check_length(name, n) for n in sizes]
    factor = _scale_factor(name, norm, math.prod(sizes), direction == INVERSE)
    if not axes:  # without axes, nothing is transformed, and NumPy keeps the dtype
        return _scale_result(name, a.copy(), 1, out)
    operand = TransformInput(a).with_dtype(_complex_dtype(a.dtype))
    if len(set(axes)) < len(axes):  # a repeated axis is transformed twice, the last axis first
        for n, x in reversed(list(zip(sizes, axes, strict=True))):
            operand = _transform_if_nonempty(operand.with_lengths({x: n}), [x], direction)
        return _scale_result(name, operand.array, factor, out)
    operand = operand.with_lengths(dict(zip(axes, sizes, strict=True)))
    operand = _transform_if_nonempty(operand, axes, direction, _writable_out(out))
    return _scale_result(
        name, operand.array if operand.owned else operand.array.copy(), factor, out
    )


def _transform_if_nonempty(operand, axes, direction, out=None):
    return complex_to_complex(operand, axes, direction, out) if operand.array.size else operand


def _writable_out(out):
    """Returns the array to which a transform may write, if its dtype is suitable."""
    return out if isinstance(out, _core.DeviceArray) else None


def _real_forward_transform(name, a, s, axes, norm, out):
    a = arguments.as_device_array(a, "a")
    if a.dtype.kind == "c":
        raise TypeError(f"fft.{name}: a is {a.dtype}: a real transform takes a real array")
    lengths, axes = _lengths_and_axes(name, a, s, axes)
    sizes = [a.shape[x] if n is None else n for n, x in zip(lengths, axes, strict=True)]
    sizes = [_check_length(name, n) for n in sizes]
    factor = _scale_factor(name, norm, math.prod(sizes), False)
    others, last = _split_axes(name, axes)
    complex_dtype = _complex_dtype(a.dtype)
    operand = TransformInput(a).with_dtype(np.dtype(complex_dtype.char.lower()))
    distinct = len(set(axes)) == len(axes)
    together = axes if distinct else [last]
    operand = operand.with_lengths(
        {x: n for n, x in zip(sizes, axes, strict=True) if x in together}
    )
    if not operand.array.size:
        shape = list(operand.array.shape)
        shape[last] = shape[last] // 2 + 1
        for n, x in [] if distinct else zip(sizes, others, strict=False):
            shape[x] = n
        return _scale_result(name, empty_like(a, shape, complex_dtype), 1, out)
    operand = real_to_complex(operand, together, _writable_out(out) if distinct else None)
    for n, x in [] if distinct else reversed(list(zip(sizes, others, strict=False))):
        operand = _transform_if_nonempty(operand.with_lengths({x: n}), [x], FORWARD)
    return _scale_result(name, operand.array, factor, out)


def _real_inverse_transform(name, a, s, axes, norm, out):
    a = arguments.as_device_array(a, "a")
    lengths, axes = _lengths_and_axes(name, a, s, axes)
    others, last = _split_axes(name, axes)
    sizes = [a.shape[x] if n is None else n for n, x in zip(lengths, axes, strict=True)]
    if lengths[-1] is None and (s is None or s[-1] is None):  # -1 is the whole axis, unchanged
        sizes[-1] = (a.shape[last] - 1) * 2
    sizes = [_check_length(name, n) for n in sizes]
    factor = _scale_factor(name, norm, math.prod(sizes), True)
    operand = TransformInput(a).with_dtype(_complex_dtype(a.dtype))
    distinct = len(set(axes)) == len(axes)
    for n, x in zip(sizes, others, strict=False):
        operand = operand.with_lengths({x: n})
        if not distinct:  # transforms the axes one after the other, the first axis first
            operand = _transform_if_nonempty(operand, [x], INVERSE)
    operand = operand.with_lengths({last: sizes[-1] // 2 + 1})
    if not operand.array.size:
        shape = list(operand.array.shape)
        shape[last] = sizes[-1]
        real = np.dtype(operand.array.dtype.char.lower())
        made = _scale_result(name, empty_like(a, shape, real), 1, out)
    else:
        operand = complex_to_real(
            operand, axes if distinct else [last], sizes[-1], _writable_out(out)
        )
        made = _scale_result(name, operand.array, factor, out)
    return made if others or out is not None else made.astype(_real_dtype(a.dtype), copy=False)


def _as_tuple(n):
    return None if n is None else (n,)


@implements("fft.fft")
def fft(a, n=None, axis: int = -1, norm=None, out=None) -> DeviceNDArray:
    return _transform_complex("fft", a, _as_tuple(n), (axis,), norm, out, FORWARD)


@implements("fft.ifft")
def ifft(a, n=None, axis: int = -1, norm=None, out=None) -> DeviceNDArray:
    return _transform_complex("ifft", a, _as_tuple(n), (axis,), norm, out, INVERSE)


@implements("fft.fftn")
def fftn(a, s=None, axes=None, norm=None, out=None) -> DeviceNDArray:
    return _transform_complex("fftn", a, s, axes, norm, out, FORWARD)


@implements("fft.ifftn")
def ifftn(a, s=None, axes=None, norm=None, out=None) -> DeviceNDArray:
    return _transform_complex("ifftn", a, s, axes, norm, out, INVERSE)


@implements("fft.fft2")
def fft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> DeviceNDArray:
    return _transform_complex("fft2", a, s, axes, norm, out, FORWARD)


@implements("fft.ifft2")
def ifft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> DeviceNDArray:
    return _transform_complex("ifft2", a, s, axes, norm, out, INVERSE)


@implements("fft.rfft")
def rfft(a, n=None, axis: int = -1, norm=None, out=None) -> DeviceNDArray:
    return _real_forward_transform("rfft", a, _as_tuple(n), (axis,), norm, out)


@implements("fft.rfftn")
def rfftn(a, s=None, axes=None, norm=None, out=None) -> DeviceNDArray:
    return _real_forward_transform("rfftn", a, s, axes, norm, out)


@implements("fft.rfft2")
def rfft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> DeviceNDArray:
    return _real_forward_transform("rfft2", a, s, axes, norm, out)


@implements("fft.irfft")
def irfft(a, n=None, axis: int = -1, norm=None, out=None) -> DeviceNDArray:
    return _real_inverse_transform("irfft", a, _as_tuple(n), (axis,), norm, out)


@implements("fft.irfftn")
def irfftn(a, s=None, axes=None, norm=None, out=None) -> DeviceNDArray:
    return _real_inverse_transform("irfftn", a, s, axes, norm, out)


@implements("fft.irfft2")
def irfft2(a, s=None, axes=(-2, -1), norm=None, out=None) -> DeviceNDArray:
    return _real_inverse_transform("irfft2", a, s, axes, norm, out)


@implements("fft.hfft")
def hfft(a, n=None, axis: int = -1, norm=None, out=None) -> DeviceNDArray:
    a = arguments.as_device_array(a, "a")
    _scale_factor("hfft", norm, 1, True)
    with arguments.on_device_of(a):
        return _real_inverse_transform(
            "hfft", np.conjugate(a), _as_tuple(n), (axis,), _SWAPPED[norm], out
        )


@implements("fft.ihfft")
def ihfft(a, n=None, axis: int = -1, norm=None, out=None) -> DeviceNDArray:
    _scale_factor("ihfft", norm, 1, False)
    made = _real_forward_transform("ihfft", a, _as_tuple(n), (axis,), _SWAPPED[norm], out)
    with arguments.on_device_of(made):
        return np.conjugate(made, out=made)


# ----------------------------------------------------------------------------------------- shifting


def _shifts_and_axes(x, axes, sign):
    axes = range(x.ndim) if axes is None else axes
    numbers = [_normalized_axis("fftshift", axis, x) for axis in tuple_of_integers(axes)]
    return tuple(sign * (x.shape[axis] // 2) for axis in numbers), tuple(numbers)


@implements("fft.fftshift")
def fftshift(x, axes=None) -> DeviceNDArray:
    x = arguments.as_device_array(x, "x")
    return np.roll(x, *_shifts_and_axes(x, axes, 1))


@implements("fft.ifftshift")
def ifftshift(x, axes=None) -> DeviceNDArray:
    x = arguments.as_device_array(x, "x")
    return np.roll(x, *_shifts_and_axes(x, axes, -1))
