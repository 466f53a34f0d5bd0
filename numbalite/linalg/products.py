"""Implements NumPy's products other than `@`: dot, vdot, inner, outer, tensordot, matrix_power, multi_dot,
trace."""

from __future__ import annotations

import contextlib
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments, outputs
from numbalite.functions.geometry import axes_of
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

from . import matmul as _matmul

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


def _check_out(name, out, shape, dtype):
    """Raises ValueError if `out` differs from the result in shape, dtype or layout."""
    outputs.check_out(name, out)
    if (
        not isinstance(out, _core.DeviceArray)
        or out.shape != tuple(shape)
        or out.dtype != dtype
        or not out.is_c_contiguous()
    ):
        raise ValueError(
            "output array is not acceptable (must have the right datatype, number of dimensions, "
            "and be a C-Array)"
        )


@implements("dot")
def dot(a, b, out=None) -> DeviceNDArray:
    a, b = arguments.arrays_of((a, b), "an operand of dot")
    if a.ndim == 0 or b.ndim == 0:
        if out is not None:
            _check_out("dot", out, a.shape or b.shape, np.result_type(a.dtype, b.dtype))
        return np.multiply(a, b, out=out)
    i, j = a.ndim - 1, max(b.ndim - 2, 0)
    _check_summed_lengths(a, b, i, j)
    if out is not None:
        shape = a.shape[:i] + b.shape[:j] + b.shape[j + 1 :]
        _check_out("dot", out, shape, np.result_type(a.dtype, b.dtype))
    if a.ndim <= 2 and b.ndim <= 2:
        return _matmul.dot(a, b, out)
    return _contract_axes(a, b, [i], [j], out)


def _check_summed_lengths(a, b, i, j):
    if a.shape[i] != b.shape[j]:
        raise ValueError(
            f"shapes {shapes._shape_text(a.shape)} and {shapes._shape_text(b.shape)} not aligned: "
            f"{a.shape[i]} (dim {i}) != {b.shape[j]} (dim {j})"
        )


def _contract_axes(a, b, of_a: Sequence[int], of_b: Sequence[int], out: Any = None):
    """Sums products over the axes `of_a` of a and `of_b` of b, by one matrix product."""
    for i, j in zip(of_a, of_b, strict=True):
        _check_summed_lengths(a, b, i, j)
    free_a = [i for i in range(a.ndim) if i not in of_a]
    free_b = [j for j in range(b.ndim) if j not in of_b]
    depth = 1
    for i in of_a:
        depth *= a.shape[i]
    shape = [a.shape[i] for i in free_a] + [b.shape[j] for j in free_b]
    rows, columns = _number_of_elements(a, free_a), _number_of_elements(b, free_b)
    left = arguments.reshape(a.transpose([*free_a, *of_a]), (rows, depth))
    right = arguments.reshape(b.transpose([*of_b, *free_b]), (depth, columns))
    if out is None:
        return _matmul.dot(left, right).reshape(shape)
    _matmul.dot(left, right, out.reshape(rows, columns))
    return out


def _number_of_elements(array, axes):
    count = 1
    for axis in axes:
        count *= array.shape[axis]
    return count


@implements("vdot")
def vdot(a, b, /) -> DeviceNDArray:
    a, b = (arguments.as_1d(one) for one in arguments.arrays_of((a, b)))
    if a.size != b.size:
        raise ValueError(f"cannot reshape array of size {a.size} into shape ({b.size},)")
    if a.dtype.kind == "c":
        return _matmul.vecdot(a, b)
    return _matmul.dot(a, b)


@implements("inner")
def inner(a, b, /) -> DeviceNDArray:
    a, b = arguments.arrays_of((a, b), "an operand of inner")
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    return _contract_axes(a, b, [a.ndim - 1], [b.ndim - 1])


@implements("outer")
def outer(a, b, out=None) -> DeviceNDArray:
    a, b = (arguments.as_1d(one) for one in arguments.arrays_of((a, b)))
    return np.multiply(a[:, None], b[None, :], out=out)


@implements("linalg.outer")
def linalg_outer(x1, x2, /) -> DeviceNDArray:
    a, b = arguments.arrays_of((x1, x2))
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(
            "Input arrays must be one-dimensional, but they are "
            f"x1.ndim={a.ndim} and x2.ndim={b.ndim}."
        )
    return outer(a, b)


@implements("linalg.matmul")
def linalg_matmul(x1, x2, /) -> DeviceNDArray:
    return _matmul.matmul(x1, x2)


@implements("linalg.vecdot")
def linalg_vecdot(x1, x2, /, *, axis: int = -1) -> DeviceNDArray:
    return _matmul.vecdot(x1, x2, axis=axis)


@implements("tensordot")
def tensordot(a, b, axes=2) -> DeviceNDArray:
    a, b = arguments.arrays_of((a, b), "an operand of tensordot")
    if not np.iterable(axes):
        count = operator.index(axes)
        if count < 0:
            raise ValueError("shape-mismatch for sum")
        if count > min(a.ndim, b.ndim):
            _raise_count_error(a, b, count)
        of_a, of_b = list(range(a.ndim - count, a.ndim)), list(range(count))
    else:
        of_a, of_b = (list(shapes.tuple_of_integers(one)) for one in axes)
    if len(of_a) != len(of_b):
        raise ValueError("shape-mismatch for sum")
    of_a, of_b = list(axes_of(of_a, a.ndim)), list(axes_of(of_b, b.ndim))
    if any(a.shape[i] != b.shape[j] for i, j in zip(of_a, of_b, strict=True)):
        raise ValueError("shape-mismatch for sum")
    return _contract_axes(a, b, of_a, of_b)


def _raise_count_error(a, b, count):
    """Raises NumPy's exception for more axes than the arrays have. NumPy compares lengths up to the first
    missing axis."""
    with contextlib.suppress(IndexError):
        if any(a.shape[i - count] != b.shape[i] for i in range(count)):
            raise ValueError("shape-mismatch for sum")
    raise IndexError(
        f"tensordot: axes is {count}, the operands have {a.ndim} and {b.ndim} dimensions"
    )


@implements("linalg.tensordot")
def linalg_tensordot(x1, x2, /, *, axes=2) -> DeviceNDArray:
    return tensordot(x1, x2, axes)


@implements("linalg.matrix_power")
def matrix_power(a, n) -> Any:
    a = arguments.as_device_array(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    n = operator.index(n)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 0:
        made = np.zeros_like(a)
        np.einsum("...ii->...i", made)[...] = 1
        return made
    result = None
    while True:
        if n & 1:
            result = (
                a.copy("K") if result is None and n == 1 else a if result is None else result @ a
            )
        n >>= 1
        if not n:
            return result
        a = a @ a


@implements("linalg.multi_dot")
def multi_dot(arrays, *, out=None) -> DeviceNDArray:
    """Multiplies matrices in the order with the least work, which NumPy computes from the shapes."""
    parts = arguments.arrays_of(arrays)
    if len(parts) < 2:
        raise ValueError("Expecting at least two arrays.")
    letters = [chr(ord("a") + i) for i in range(len(parts) + 1)]
    words = [letters[i : i + 2] for i in range(len(parts))]
    if parts[0].ndim == 1:
        words[0] = words[0][1:]
    if parts[-1].ndim == 1:
        words[-1] = words[-1][:1]
    if any(one.ndim != len(word) for one, word in zip(parts, words, strict=True)):
        raise np.linalg.LinAlgError(
            "multi_dot accepts matrices; the first and the last may be vectors"
        )
    result = "".join(words[0][:-1] + words[-1][1:])
    made = np.einsum(",".join(map("".join, words)) + "->" + result, *parts, optimize=True)
    if out is None:
        return made
    _check_out("linalg.multi_dot", out, made.shape, made.dtype)
    arguments.as_device_array(out)[...] = made
    return out


@implements("trace")
def trace(a, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype=None, out=None) -> Any:
    return np.sum(
        arguments.as_device_array(a).diagonal(offset, axis1, axis2), -1, dtype=dtype, out=out
    )


@implements("linalg.trace")
def linalg_trace(x, /, *, offset: int = 0, dtype=None) -> Any:
    return trace(x, offset, -2, -1, dtype)


@implements("kron")
def kron(a, b) -> Any:
    a, b = arguments.arrays_of((a, b))
    count = max(a.ndim, b.ndim)
    of_a = (1,) * (count - a.ndim) + a.shape
    of_b = (1,) * (count - b.ndim) + b.shape
    left = arguments.reshape(a, [n for length in of_a for n in (length, 1)])
    right = arguments.reshape(b, [n for length in of_b for n in (1, length)])
    return np.multiply(left, right).reshape([n * m for n, m in zip(of_a, of_b, strict=True)])
