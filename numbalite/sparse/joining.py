"""Combines sparse arrays: vstack, hstack, block_array, block_diag, Kronecker products and sums, triangles, find."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.runtime import shapes
from numbalite.sparse import construct, products
from numbalite.sparse.building import eye_array
from numbalite.sparse.construct import issparse
from numbalite.sparse.formats import coo_array, csr_array
from numbalite.ufuncs.protocols import cuda_ufunc_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.ndarray.arrays import DeviceNDArray


def _sparse_block(block):
    """Converts an array, list or number to a 2-dimensional csr, csc or coo array; a vector becomes a row."""
    block = construct.as_operand(block)
    if not issparse(block):
        block = arguments.as_device_array(block, "a block")
        block = coo_array(block.reshape(1, -1) if block.ndim < 2 else block)
    if block.format == "dia":
        return block.tocoo()
    return block.reshape((1, -1)) if block.ndim == 1 else block


# --------------------------------------------------------------------------------------------- blocks


def vstack(blocks: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Stacks arrays vertically, as scipy.sparse.vstack.

    The arrays are sparse or dense; vectors are rows.

    Parameters
    ----------
    blocks : list of arrays
        The arrays.
    format : str
        The format of the result, by default csr if all blocks are csr,
        otherwise coo.
    dtype : dtype
        The dtype of the result.

    Returns
    -------
    csr_array, coo_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        The numbers of columns differ, or there are no blocks.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.vstack([sparse.eye_array(2), np.ones((1, 2))]).toarray().copy_to_host()
    array([[1., 0.],
           [0., 1.],
           [1., 1.]])
    """
    blocks = shapes.list_of_items(blocks, "vstack")
    return block_array([[one] for one in blocks], format=format, dtype=dtype)


def hstack(blocks: Sequence[Any], format: str | None = None, dtype: DTypeLike | None = None) -> Any:
    """Stacks sparse or dense arrays horizontally, as scipy.sparse.hstack.

    Parameters
    ----------
    blocks : list of arrays
        The arrays.
    format : str
        The format of the result, by default csr or csc if all blocks have this
        format, otherwise coo.
    dtype : dtype
        The dtype of the result.

    Returns
    -------
    coo_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        The numbers of rows differ, or there are no blocks.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.hstack([sparse.eye_array(2), np.ones((2, 1))]).toarray().copy_to_host()
    array([[1., 0., 1.],
           [0., 1., 1.]])
    """
    blocks = shapes.list_of_items(blocks, "hstack")
    return block_array([blocks], format=format, dtype=dtype)


def block_array(
    blocks: Sequence[Sequence[Any]], *, format: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Returns an array from rows of blocks, as scipy.sparse.block_array.

    The blocks are sparse or dense.

    Parameters
    ----------
    blocks : list of lists of arrays
        The rows of blocks; None is a block of zeros.
    format : str
        The format of the result, by default csr or csc if all blocks have this
        format, otherwise coo.
    dtype : dtype
        The dtype of the result.

    Returns
    -------
    coo_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        The shapes of the blocks are inconsistent, the rows have different
        numbers of blocks, or all blocks are None.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> a = sparse.eye_array(2)
    >>> sparse.block_array([[a, None], [a, 2 * a]]).shape
    (4, 4)
    """
    blocks = [shapes.list_of_items(row, "row") for row in shapes.list_of_items(blocks, "blocks")]
    table = [[None if one is None else _sparse_block(one) for one in row] for row in blocks]
    if not table or not table[0] or len({len(row) for row in table}) > 1:
        raise ValueError("block_array: blocks must be rows of the same number of arrays")
    heights = [_common_length(row, 0, i) for i, row in enumerate(table)]
    widths = [_common_length(column, 1, j) for j, column in enumerate(zip(*table))]
    below, right = np.cumsum([0, *heights]), np.cumsum([0, *widths])
    placed = [
        (one, int(below[i]), int(right[j]))
        for i, row in enumerate(table)
        for j, one in enumerate(row)
        if one is not None
    ]
    if not placed:
        raise ValueError("block_array: all blocks are None")
    formats = {None if one is None else one.format for row in table for one in row}
    found = formats.pop() if len(formats) == 1 else "coo"
    shape = int(below[-1]), int(right[-1])
    if found == "csr" and len(table[0]) == 1 and format in (None, "csr"):
        return _stack_vertically([one for one, _, _ in placed], shape, dtype)
    if found == "csc" and len(table) == 1 and format in (None, "csc"):
        return _stack_vertically([one.T for one, _, _ in placed], shape[::-1], dtype).T
    return _join_blocks(placed, shape, dtype).asformat(format or found)


def _common_length(blocks, axis, number):
    """Returns the common length of the blocks in a row or column of blocks."""
    lengths = {one.shape[axis] for one in blocks if one is not None}
    if len(lengths) > 1:
        what = ("row", "column")[axis]
        raise ValueError(
            f"block_array: the blocks of {what} {number} differ in axis {axis}: {sorted(lengths)}"
        )
    return lengths.pop() if lengths else 0


def block_diag(
    mats: Iterable[Any], format: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """Arranges arrays along the diagonal, as scipy.sparse.block_diag.

    Parameters
    ----------
    mats : list of arrays
        The arrays, sparse or dense, lists and numbers.
    format : str
        The format of the result, by default coo.
    dtype : dtype
        The dtype of the result.

    Returns
    -------
    coo_array or another sparse array
        The array.

    Raises
    ------
    ValueError
        There are no arrays.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.block_diag([np.ones((1, 2)), 3.0]).toarray().copy_to_host()
    array([[1., 1., 0.],
           [0., 0., 3.]])
    """
    placed, rows, columns = [], 0, 0
    for one in map(_sparse_block, shapes.list_of_items(mats, "block_diag")):
        placed.append((one, rows, columns))
        rows, columns = rows + one.shape[0], columns + one.shape[1]
    if not placed:
        raise ValueError("block_diag: need at least one array")
    return _join_blocks(placed, (rows, columns), dtype).asformat(format)


def _joined_dtype(blocks, dtype):
    dtype = np.result_type(*(one.dtype for one in blocks)) if dtype is None else dtype
    return construct.stored_dtype("block_array", dtype)


def _index_dtype(blocks, largest):
    """Returns the index dtype of an array that is built from blocks."""
    coo = [one.coords[0] if one.format == "coo" else one.indices for one in blocks]
    return np.result_type(construct.dtype_of_indices(largest), *(one.dtype for one in coo))


def _join_blocks(placed, shape, dtype):
    """Returns a coo_array from blocks (array, first row, first column)."""
    blocks = [one for one, _, _ in placed]
    for one in blocks:
        products.same_device(one, blocks[0])
    dtype, kind = _joined_dtype(blocks, dtype), _index_dtype(blocks, max(shape))
    data, row, col = [], [], []
    with arguments.on_device_of(blocks[0].data):
        for one, first, left in placed:
            coo = one.tocoo()
            data.append(coo.data.astype(dtype, copy=False))
            row.append(np.add(coo.row.astype(kind, copy=False), first))
            col.append(np.add(coo.col.astype(kind, copy=False), left))
        data, row, col = (np.concatenate(one) for one in (data, row, col))
    return coo_array._from_parts(data, (row, col), shape)


def _stack_vertically(blocks, shape, dtype):
    """Stacks csr arrays vertically."""
    for one in blocks:
        products.same_device(one, blocks[0])
    count = sum(one.nnz for one in blocks)
    dtype, kind = _joined_dtype(blocks, dtype), _index_dtype(blocks, max(*shape, count))
    before, ends = 0, [blocks[0].indptr[:1].astype(kind)]
    with arguments.on_device_of(blocks[0].data):
        for one in blocks:
            ends.append(np.add(one.indptr[1:].astype(kind, copy=False), before))
            before += one.nnz
        data = np.concatenate([one.data.astype(dtype, copy=False) for one in blocks])
        indices = np.concatenate([one.indices.astype(kind, copy=False) for one in blocks])
        parts = data, indices, np.concatenate(ends)
    return csr_array._from_parts(parts, shape, all(one._is_sorted for one in blocks))


# -------------------------------------------------------------------------------- Kronecker products


def kron(A: Any, B: Any, format: str | None = None) -> Any:
    """Returns the Kronecker product of two arrays, as scipy.sparse.kron.

    The arrays may be sparse or dense.

    Parameters
    ----------
    A, B : array
        The factors.
    format : str
        The format of the result, by default coo.

    Returns
    -------
    coo_array or another sparse array
        The product.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.kron(sparse.eye_array(2), np.ones((1, 2))).toarray().copy_to_host()
    array([[1., 1., 0., 0.],
           [0., 0., 1., 1.]])
    """
    a, b = (_sparse_block(one).tocoo() for one in (A, B))
    products.same_device(a, b)
    shape = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    kind = _index_dtype([a, b], max(shape))
    with arguments.on_device_of(a.data):
        coords = [
            cuda_ufunc_for(np.add).outer(np.multiply(one.astype(kind), length), other.astype(kind))
            for one, length, other in zip(a.coords, b.shape, b.coords)
        ]
        data = cuda_ufunc_for(np.multiply).outer(a.data, b.data)
        data, *coords = (arguments.as_1d(one) for one in (data, *coords))
    return coo_array._from_parts(data, coords, shape).asformat(format)


def kronsum(A: Any, B: Any, format: str | None = None) -> Any:
    """Returns the Kronecker sum of two arrays, as scipy.sparse.kronsum.

    The result is kron(I, A) + kron(B, I).

    Parameters
    ----------
    A, B : array
        The square arrays, sparse or dense.
    format : str
        The format of the result, by default csr.

    Returns
    -------
    csr_array or another sparse array
        The sum.

    Raises
    ------
    ValueError
        An array is not square.
    """
    a, b = _sparse_block(A), _sparse_block(B)
    for name, one in (("A", a), ("B", b)):
        if one.shape[0] != one.shape[1]:
            raise ValueError(f"kronsum: {name} has shape {one.shape}: it must be square")
    dtype = np.result_type(a.dtype, b.dtype)
    with arguments.on_device_of(a.data):
        first = kron(eye_array(b.shape[0], dtype=dtype), a)
        second = kron(b, eye_array(a.shape[0], dtype=dtype))
    return (first + second).asformat(format)


# ------------------------------------------------------------------------------------------ triangles


def tril(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Returns the elements on and below a diagonal, as scipy.sparse.tril.

    Waits.

    Parameters
    ----------
    A : array
        The array, sparse or dense.
    k : int
        The index of the diagonal.
    format : str
        The format of the result, by default coo.

    Returns
    -------
    coo_array or another sparse array
        The lower triangle.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.tril(np.ones((2, 2))).toarray().copy_to_host()
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle(A, k, np.greater_equal, format)


def triu(A: Any, k: int = 0, format: str | None = None) -> Any:
    """Returns the elements on and above a diagonal, as scipy.sparse.triu.

    Waits.

    Parameters
    ----------
    A : array
        The array, sparse or dense.
    k : int
        The index of the diagonal.
    format : str
        The format of the result, by default coo.

    Returns
    -------
    coo_array or another sparse array
        The upper triangle.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.triu(np.ones((2, 2))).toarray().copy_to_host()
    array([[1., 1.],
           [0., 1.]])
    """
    return _triangle(A, k, np.less_equal, format)


def _triangle(A, k, compared, format):
    a = _sparse_block(A).tocoo()
    with arguments.on_device_of(a.data):
        mask = compared(np.add(a.row.astype(np.int64), k), a.col)
        return a._filter_elements(mask).asformat(format)


def find(A: Any) -> tuple[DeviceNDArray, DeviceNDArray, DeviceNDArray]:
    """Returns the nonzero elements and their indices, as scipy.sparse.find.

    The elements are sorted by row, then by column. Waits.

    Parameters
    ----------
    A : array
        The array, sparse or dense.

    Returns
    -------
    tuple of DeviceNDArray
        (rows, columns, values).

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> print(*sparse.find(np.array([[0.0, 5.0], [7.0, 0.0]])))
    [0 1] [1 0] [5. 7.]
    """
    a = _sparse_block(A).tocsr()
    a.sum_duplicates()
    made = a._filter_elements(np.not_equal(a.data, 0)).tocoo()
    return made.row, made.col, made.data
