"""Implements convolution by the product of transforms, with the modes of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.runtime.shapes import axis_number, tuple_of_integers
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


@traced
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> DeviceNDArray:
    """Returns the convolution of two arrays, over all axes or over some, as scipy.signal.fftconvolve.

    mode: "full" returns every element at which the arrays overlap; "same" returns the centre of "full", in
    the shape of in1; "valid" returns the elements at which one array is completely inside the other. Along
    all other axes, the lengths must be equal or 1. The result is float32 or complex64 for arrays of single
    precision, otherwise in double precision. Raises ValueError for incompatible shapes.

    >>> blurred = cufft.fftconvolve(d_image, d_filter, mode="same")
    """
    a, b = arguments.arrays_of((in1, in2), "in1 and in2")
    if a.ndim != b.ndim:
        raise ValueError(
            f"fftconvolve: in1 and in2 should have the same dimensionality, they have shapes {a.shape} and {b.shape}"
        )
    if mode not in ("full", "same", "valid"):
        raise ValueError(
            f"fftconvolve: acceptable modes are 'full', 'same' and 'valid', not {mode!r}"
        )
    if a.ndim == 0:
        return np.multiply(a, b)  # type: ignore[return-value]
    axes = _checked_axes(a, b, axes)
    if a.size == 0 or b.size == 0:
        return arguments.empty((0,), np.result_type(a.dtype, b.dtype), a)
    if mode == "valid" and not all(a.shape[i] >= b.shape[i] for i in axes):
        a, b = b, a
        if not all(a.shape[i] >= b.shape[i] for i in axes):
            raise ValueError(
                "fftconvolve: for 'valid' mode, one must be at least as large as the other in every dimension, "
                f"not {in1.shape} and {in2.shape}"
            )
    with arguments.on_device_of(a):
        return _crop_to_mode(_full_convolution(a, b, axes), a.shape, b.shape, mode, axes)


def _checked_axes(a, b, axes):
    if axes is None:
        axes = range(a.ndim)
    axes = [axis_number(i, a.ndim) for i in tuple_of_integers(axes)]
    if not axes or len(set(axes)) < len(axes):
        raise ValueError(f"fftconvolve: axes must be unique, and one at least, not {axes}")
    for i in range(a.ndim):
        if i not in axes and a.shape[i] != b.shape[i] and 1 not in (a.shape[i], b.shape[i]):
            raise ValueError(
                f"fftconvolve: incompatible shapes for in1 and in2: {a.shape} and {b.shape}"
            )
    return axes


def _full_convolution(a, b, axes):
    lengths = [a.shape[i] + b.shape[i] - 1 for i in axes]
    sizes = [_fast_length(n) for n in lengths]
    real = a.dtype.kind != "c" and b.dtype.kind != "c"
    forward, inverse = (np.fft.rfftn, np.fft.irfftn) if real else (np.fft.fftn, np.fft.ifftn)
    product = forward(a, sizes, axes)
    product = np.multiply(product, forward(b, sizes, axes))
    cut = [slice(None)] * a.ndim
    for i, n in zip(axes, lengths, strict=True):
        cut[i] = slice(n)
    return inverse(product, sizes, axes)[tuple(cut)]


def _crop_to_mode(full, shape, other, mode, axes):
    if mode == "full":
        return full
    cut = [slice(None)] * full.ndim
    for i in axes:
        n = shape[i] if mode == "same" else shape[i] - other[i] + 1
        start = (full.shape[i] - n) // 2
        cut[i] = slice(start, start + n)
    return full[tuple(cut)]


def _fast_length(n):
    """Returns the smallest length, at least n, for which cuFFT has fast transforms: a product of 2, 3, 5 and
    7."""
    while True:
        rest = n
        for factor in (2, 3, 5, 7):
            while rest % factor == 0:
                rest //= factor
        if rest == 1:
            return n
        n += 1
