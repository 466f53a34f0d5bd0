"""Implements transforms in the array's own memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.fft.execution import TransformInput, complex_to_complex
from numbalite.fft.plans import FORWARD, INVERSE
from numbalite.ndarray import arrays, assign
from numbalite.runtime.traced import traced

if TYPE_CHECKING:
    from typing import Any


@traced
def fft_inplace(ary: Any, stream: Any = None) -> None:
    """Computes the Fourier transform over all axes, in place.

    ary: a complex64 or complex128 array of any shape and strides, in device memory, or in host memory (the
    array is then copied to the device and back). stream: the stream of the work; by default the array's own.
    Raises TypeError for other arrays, ValueError for a read-only array.

    >>> d = cuda.to_device(image.astype(np.complex64))
    >>> cufft.fft_inplace(d)
    """
    _transform_in_place("fft_inplace", ary, stream, FORWARD)


@traced
def ifft_inplace(ary: Any, stream: Any = None) -> None:
    """Computes the inverse of `fft_inplace` without scaling, so fft_inplace and then ifft_inplace multiply the
    array by ary.size."""
    _transform_in_place("ifft_inplace", ary, stream, INVERSE)


def _transform_in_place(name, ary, stream, direction):
    on_host = isinstance(ary, np.ndarray)
    if not on_host and not isinstance(ary, _core.DeviceArray):
        raise TypeError(f"{name}: ary must be an array, not {type(ary).__name__}")
    if ary.dtype.char not in "FD":
        raise TypeError(
            f"{name}: ary is {ary.dtype}, a transform in place requires complex64 or complex128: "
            "np.fft.rfftn takes real arrays"
        )
    if not ary.flags.writeable:
        raise ValueError(f"{name}: ary is read-only")
    array = arrays.to_device(ary, stream=stream or 0) if on_host else ary
    if stream is not None:
        array = array.bind(stream)
    if array.size and array.ndim:
        _transform_checked(array, direction)
    if on_host:
        array.copy_to_host(ary, stream=stream or 0)


def _transform_checked(array, direction):
    axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    operand = complex_to_complex(TransformInput(array, owned=True), axes, direction)
    if operand.array is not array:
        assign.assign(array, operand.array)
