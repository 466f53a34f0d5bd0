"""Implements numba.cuda.kernels.transpose: the transpose of a matrix on the device."""

from __future__ import annotations

from typing import Any

from numbalite import cuda

__all__ = ["transpose"]


def transpose(a: Any, b: Any = None) -> Any:
    """Writes the transpose of a matrix to ``b``, or to a new array, and returns this array."""
    a = cuda.as_cuda_array(a)
    if b is None:
        b = cuda.device_array(a.shape[::-1], a.dtype)
    cuda.as_cuda_array(b)[...] = a.T
    return b
