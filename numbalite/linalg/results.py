"""Results of linear algebra functions: Creates NumPy's named tuples, eigenvectors, triangles and identity
matrices."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.arguments import empty_like
from numbalite.kernels.decorators import jit

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


@functools.cache
def _result_tuple_class(name):
    """Returns the class of the named tuple that NumPy's function of this name returns; a plain tuple before NumPy
    1.25."""
    made = type(getattr(np.linalg, name)(np.eye(1)))
    return made if hasattr(made, "_fields") else lambda *values: values


def as_named_tuple(name: str, *values: Any) -> Any:
    """Returns the values as the tuple that NumPy's function of this name returns."""
    return _result_tuple_class(name)(*values)


@jit
def _copy_triangle(out, source, lower):
    """
    long long i = grid<1>(), columns = out.shape[2], rows = out.shape[1];
    if (i >= out.size()) return;
    long long column = i % columns, row = i / columns % rows, matrix = i / columns / rows;
    auto value = source(matrix, row, column);
    out(matrix, row, column) = (lower ? column <= row : column >= row) ? value : decltype(value)(0);
    """


@jit
def _fill_identity(out):
    """
    long long i = grid<1>(), columns = out.shape[2], rows = out.shape[1];
    if (i < out.size()) out.data()[i] = i % columns == i / columns % rows;
    """


@jit
def _join_pairs(out, values, columns):
    """
    long long i = grid<1>(), n = out.shape[2];
    if (i >= out.size()) return;
    long long row = i % n, at = i / n % n, matrix = i / n / n;
    auto sign = values(matrix, at).imag();
    auto real = columns(matrix, sign < 0 ? at - 1 : at, row), imag = real;
    imag = sign > 0 ? columns(matrix, at + 1, row) : sign < 0 ? -columns(matrix, at, row) : 0;
    out(matrix, row, at) = {real, imag};
    """


def complex_eigenvectors(values: DeviceNDArray, columns: DeviceNDArray) -> DeviceNDArray:
    """Returns row-major complex eigenvectors from LAPACK's column-major result for real matrices.

    For two conjugate eigenvalues, two neighbouring columns contain an eigenvector's real and imaginary part.
    """
    out = empty_like(columns, columns.shape, values.dtype)
    if out.size:
        _join_pairs.forall(out.size, arguments.THREADS, stream=columns.stream)(out, values, columns)
    return out


def copy_of_triangle(source: DeviceNDArray, lower: bool) -> DeviceNDArray:
    """Returns a new stack with the lower or upper triangles of another stack; all other elements are zero."""
    out = empty_like(source, source.shape, source.dtype)
    if out.size:
        _copy_triangle.forall(out.size, arguments.THREADS, stream=source.stream)(
            out, source, int(lower)
        )
    return out


def identity_stack(like: Any, count: int, rows: int, dtype: Any) -> DeviceNDArray:
    """Returns a stack of identity matrices."""
    out = empty_like(like, (count, rows, rows), dtype)
    if out.size:
        _fill_identity.forall(out.size, arguments.THREADS, stream=like.stream)(out)
    return out
