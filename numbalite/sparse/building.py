"""Creates sparse arrays: eye_array, diags_array and random_array."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.random.generator import Generator, default_rng
from numbalite.sparse import construct
from numbalite.sparse.diagonals import dia_array
from numbalite.sparse.formats import coo_array

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import DTypeLike


def eye_array(
    m: int,
    n: int | None = None,
    *,
    k: int = 0,
    dtype: DTypeLike = float,
    format: str | None = None,
) -> Any:
    """Returns an array with ones on a diagonal, as scipy.sparse.eye_array.

    Parameters
    ----------
    m, n : int
        The numbers of rows and columns; the default of n is m.
    k : int
        The index of the diagonal.
    dtype : dtype
        The dtype of the values.
    format : str
        The format of the result, by default dia.

    Returns
    -------
    dia_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        A length is negative, or the diagonal is outside the array.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.eye_array(2, 3, k=1).toarray().copy_to_host()
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    rows, columns = construct.shape_of("eye_array", (m, m if n is None else n))
    ones = arguments.empty((1,), construct.stored_dtype("eye_array", dtype))
    ones.fill(1)
    return diags_array([ones], offsets=[k], shape=(rows, columns), format=format)


def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: Any = None,
    format: str | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Returns an array from its diagonals, as scipy.sparse.diags_array.

    Parameters
    ----------
    diagonals : array or list of arrays
        One vector, or several vectors with their offsets. A diagonal of one
        element is repeated; elements past the end of the array are dropped.
    offsets : int or list of int
        The indices of the diagonals.
    shape : tuple of int
        The shape; by default a square that fits the first diagonal.
    format : str
        The format of the result, by default dia.
    dtype : dtype
        The dtype of the values, by default the common dtype of the
        diagonals.

    Returns
    -------
    dia_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        A diagonal is too short, an offset is outside the array or occurs twice,
        or the number of offsets differs from the number of diagonals.
    TypeError
        ``diagonals`` is a dict or a set.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.diags_array([[1.0, 2.0], [3.0]], offsets=[0, 1]).toarray().copy_to_host()
    array([[1., 3.],
           [0., 2.]])
    """
    if np.ndim(offsets) == 0:
        if isinstance(diagonals, (dict, set)):
            raise TypeError(
                "diags_array: the diagonals must be a sequence of vectors, or one vector"
            )
        is_one = not len(diagonals) or np.ndim(diagonals[0]) == 0
        diagonals, offsets = [diagonals] if is_one else diagonals, [offsets]
    diagonals = [_at_least_1d(one) for one in arguments.arrays_of(diagonals, "a diagonal")]
    offsets = [operator.index(one) for one in offsets]
    if len(diagonals) != len(offsets):
        raise ValueError(f"diags_array: {len(diagonals)} diagonals, {len(offsets)} offsets")
    if len(set(offsets)) < len(offsets):
        raise ValueError("diags_array: an offset occurs twice")
    if shape is None:
        shape = (diagonals[0].size + abs(offsets[0]),) * 2
    shape = construct.shape_of("diags_array", shape)
    dtype = np.result_type(*diagonals) if dtype is None else dtype
    dtype = construct.stored_dtype("diags_array", dtype)
    diagonals = [
        _diagonal_of_length(one.astype(dtype, copy=False), k, shape)
        for one, k in zip(diagonals, offsets)
    ]
    return _build_dia_array(diagonals, offsets, shape).asformat(format)


def _at_least_1d(array):
    return array.reshape(1) if array.ndim == 0 else array


def _diagonal_length(rows, columns, k):
    """Returns the number of elements of the k-th diagonal; negative if the diagonal is outside the array."""
    return min(rows + k, columns - k, rows, columns)


def _diagonal_of_length(diagonal, k, shape):
    length = _diagonal_length(*shape, k)
    if length < 0:
        raise ValueError(f"diags_array: offset {k} is outside of shape {shape}")
    if diagonal.ndim != 1 or (diagonal.size < length and diagonal.size != 1):
        raise ValueError(
            f"diags_array: a diagonal of shape {diagonal.shape} at offset {k} must have {length} elements"
        )
    return np.broadcast_to(diagonal, (length,)) if diagonal.size < length else diagonal[:length]


def _build_dia_array(diagonals, offsets, shape):
    """Returns a dia_array from diagonals of the correct lengths."""
    width = max(values.size + max(k, 0) for values, k in zip(diagonals, offsets, strict=True))
    data = arguments.empty((len(offsets), width), diagonals[0].dtype, diagonals[0])
    data.fill(0)
    for row, values, k in zip(data, diagonals, offsets, strict=True):
        row[max(k, 0) : max(k, 0) + values.size] = values
    return dia_array._from_parts(data, tuple(offsets), shape)


def random_array(
    shape: Any,
    *,
    density: float = 0.01,
    format: str = "coo",
    dtype: DTypeLike | None = None,
    rng: Generator | int | None = None,
    data_sampler: Callable[..., Any] | None = None,
) -> Any:
    """Returns an array of random values, as scipy.sparse.random_array.

    The values are at random indices. Waits.

    Parameters
    ----------
    shape : tuple of int
        The shape, of one or two dimensions.
    density : float
        The fraction of stored elements.
    format : str
        The format of the result.
    dtype : dtype
        The dtype of the values, by default float64. Values are uniform in
        [0, 1), or over the whole range of an integer dtype.
    rng : Generator or int
        A generator of cuda.random, or a seed.
    data_sampler : function
        Returns the values: ``data_sampler(size=count)``.

    Returns
    -------
    coo_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        ``density`` is not in [0, 1].

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.random_array((100, 200), density=0.1, rng=1)
    coo_array(shape=(100, 200), dtype=float64, nnz=2000, device=0)
    """
    shape = construct.shape_of("random_array", shape, len(shape))
    if not 0 <= density <= 1:
        raise ValueError(f"random_array: density is {density}: it must be from 0 to 1")
    dtype = construct.stored_dtype("random_array", float if dtype is None else dtype)
    rng = default_rng(rng)
    size = math.prod(shape)
    places = _distinct_integers(rng, size, round(density * size))
    if data_sampler is None:
        data = _random_values(rng, places.size, dtype)
    else:
        data = arguments.as_device_array(data_sampler(size=places.size)).astype(dtype, copy=False)
    places = places.astype(construct.dtype_of_indices(size), copy=False)
    return coo_array._from_parts(data, (places,), (size,)).reshape(shape).asformat(format)


def _distinct_integers(rng, size, count):
    """Returns `count` different random integers below `size`, by drawing until enough integers differ."""
    if 4 * count >= size:
        return rng.permutation(size)[:count]
    found = np.unique(rng.integers(size, size=count + count // 4 + 9))
    while found.size < count:
        found = np.unique(np.concatenate([found, rng.integers(size, size=count)]))
    return found[rng.permutation(found.size)[:count]]


def _random_values(rng, count, dtype):
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size=count, dtype=dtype, endpoint=True)
    if dtype.kind == "b":
        return rng.integers(0, 2, size=count).astype(dtype)
    if dtype.kind == "c":
        return (rng.random(count) + 1j * rng.random(count)).astype(dtype)
    return rng.random(count).astype(dtype)
