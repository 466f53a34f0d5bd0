"""Converts arguments of linear algebra functions to matrices and stacks of matrices, with NumPy's dtype rules and checks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments, reductions

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

LinAlgError = np.linalg.LinAlgError
_MANY_INFOS = 1024
"""Status values of factorizations: more are reduced on the device before they are copied."""
_DTYPES = {"f": "f", "d": "d", "F": "F", "D": "D"}


def compute_dtype(name: str, *arrays: Any) -> np.dtype:
    """Returns the dtype in which NumPy computes: double precision unless all operands are in single
    precision; raises TypeError for unsupported dtypes."""
    for array in arrays:
        if array.dtype.kind not in "biu" and array.dtype.char not in _DTYPES:
            raise TypeError(f"linalg.{name}: array type {array.dtype} is unsupported in linalg")
    is_complex = any(array.dtype.kind == "c" for array in arrays)
    is_single = all(array.dtype.char in "fF" for array in arrays)
    return np.dtype(("F" if is_complex else "f") if is_single else ("D" if is_complex else "d"))


def real_dtype(dtype: np.dtype) -> np.dtype:
    """Returns the dtype of real and imaginary parts."""
    return np.dtype(dtype.char.lower())


def matrix_array(name: str, value: Any, what: str = "a") -> DeviceNDArray:
    """Returns the value as a device array with two or more dimensions; raises LinAlgError for fewer
    dimensions."""
    array = arguments.as_device_array(value, what)
    if array.ndim < 2:
        raise LinAlgError(
            f"linalg.{name}: {what} has shape {array.shape}: it must be at least two-dimensional"
        )
    return array


def square_matrix_array(name: str, value: Any, what: str = "a") -> DeviceNDArray:
    """Returns the value as a device array of square matrices; raises LinAlgError for other matrices."""
    array = matrix_array(name, value, what)
    if array.shape[-1] != array.shape[-2]:
        raise LinAlgError(
            f"linalg.{name}: {what} has shape {array.shape}: the last two dimensions of the array must "
            "be square"
        )
    return array


def copy_row_major(array: DeviceNDArray, dtype: np.dtype) -> DeviceNDArray:
    """Returns a row-major copy of shape (count, rows, columns), which the caller may overwrite."""
    rows, columns = array.shape[-2:]
    copy = array.astype(dtype, "C") if array.dtype != dtype else array.copy("C")
    return copy.reshape(math.prod(array.shape[:-2]), rows, columns)


def copy_column_major(array: DeviceNDArray, dtype: np.dtype) -> DeviceNDArray:
    """Returns a column-major copy: the transposed matrices as (count, columns, rows), which the
    caller may overwrite."""
    return copy_row_major(array.swapaxes(-1, -2), dtype)


def check_infos(infos: DeviceNDArray, message: str) -> None:
    """Raises LinAlgError if a factorization failed. Waits for it."""
    few = reductions.any(infos) if infos.size > _MANY_INFOS else infos
    if few.size and few.copy_to_host().any():
        raise LinAlgError(message)


def same_device(name: str, a: Any, b: Any) -> None:
    """Raises ValueError if the arrays are on different devices."""
    if a.device != b.device:
        raise ValueError(f"linalg.{name}: a is on device {a.device}, b on device {b.device}")
