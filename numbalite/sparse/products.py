"""Calls cuSPARSE: products, triangular solves, sorting, and conversions between formats.

All formats except dia are passed to cuSPARSE by rows: a csc array is passed as the csr array of its
transpose, which shares the memory. The descriptors and the buffer for products with a vector or a matrix are
cached with the sparse array, per stream. Kernels compute the products of integers and booleans, which
cuSPARSE does not support, and of dia arrays.
"""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.algorithms import order as orders
from numbalite.algorithms import radix
from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence
from numbalite.runtime.libraries.table import CUDA_TYPES, CUSPARSE, stream_number, workspace
from numbalite.sparse import construct, kernels
from numbalite.ufuncs import operands
from numbalite.ufuncs.fuse import fuse

if TYPE_CHECKING:
    from typing import Any

_INDEX = {"i": 2, "l": 3, "q": 3}  # cusparseIndexType_t
_BY_COLUMNS, _BY_ROWS = 1, 2
_MAX_PLANS = 16


def _scalar_and_address(dtype, value):
    """Returns (a host array with a scalar for cuSPARSE, its address). The scalar is a float32 for half precision."""
    made = np.array([value], "f" if dtype == "e" else dtype)
    return made, made.ctypes.data


_ONES = {char: _scalar_and_address(char, 1) for char in construct.VALUES}
_ZEROS = {char: _scalar_and_address(char, 0) for char in construct.VALUES}


def _compute_type(char):
    return CUDA_TYPES["f" if char == "e" else char]


def _matrix_descriptor(handle, rows):
    """Creates the cuSPARSE descriptor of a csr array."""
    kind = _INDEX[rows.indices.dtype.char]
    args = (*rows.shape, rows.nnz, rows.indptr, rows.indices, rows.data, kind, kind, 0)
    kept = rows.indptr, rows.indices, rows.data
    return handle.create_object(
        "CreateCsr", "DestroySpMat", *args, CUDA_TYPES[rows.dtype.char], kept=kept
    )


def _vector_descriptor_of(handle, array):
    """Creates the cuSPARSE descriptor of a vector."""
    kind = CUDA_TYPES[array.dtype.char]
    return handle.create_object(
        "CreateDnVec", "DestroyDnVec", array.size, array, kind, kept=(array,)
    )


def _vector_descriptor(handle, array):
    """Creates the descriptor of a vector like `array`, whose address is set later."""
    kind = CUDA_TYPES[array.dtype.char]
    return handle.create_object("CreateDnVec", "DestroyDnVec", array.size, array, kind)


def _dense_descriptor(handle, array):
    """Creates the descriptor of a contiguous row-major or column-major matrix."""
    rows, columns = array.shape
    by_rows = array.is_c_contiguous()
    step, order = (columns, _BY_ROWS) if by_rows else (rows, _BY_COLUMNS)
    args = rows, columns, max(step, 1), array, CUDA_TYPES[array.dtype.char], order
    return handle.create_object("CreateDnMat", "DestroyDnMat", *args, kept=(array,))


def _library_handle(a, other=None):
    stream = a.data.stream
    if not stream and other is not None:
        stream = other.stream
    return CUSPARSE.calls_on(stream)


# --------------------------------------------------------------------------------- with dense arrays


def _sum_excess_duplicates(a):
    """Sums duplicates if the array stores more elements than rows * columns, because cuSPARSE rejects this;
    returns the array."""
    if a.nnz > a.shape[0] * a.shape[1]:
        a.sum_duplicates()
    return a


def same_device(a: Any, b: Any) -> None:
    """Raises ValueError if two arrays are on different devices."""
    if a.device != b.device:
        raise ValueError(
            f"sparse arrays: one operand is on device {a.device}, the other on {b.device}"
        )


def _shape_error(what, a, b):
    shapes = f"{a.shape} and {b.shape}" if a is not None else ""
    return ValueError(f"sparse matmul: shapes {shapes} do not fit: {what}")


def matmul(a: Any, b: Any, out: Any) -> Any:
    """a @ b for a sparse a."""
    b = construct.as_operand(b)
    if np.ndim(b) == 0:
        raise ValueError("sparse matmul: numbers are not multiplied by @: use '*' instead")
    if a.ndim == 1 or (construct.issparse(b) and b.ndim == 1):
        return _multiply_vectors(a, b, out)
    if construct.issparse(b):
        if out is not None:
            raise TypeError("sparse matmul: the product of two sparse arrays does not support out")
        return _sparse_product(a, b)
    with arguments.on_device_of(a.data):
        return _multiply_by_dense(a, b, out)


def rmatmul(a: Any, b: Any, out: Any) -> Any:
    """Computes a @ b for a sparse b as the transposed product b.T @ a.T."""
    a = construct.as_operand(a)
    if construct.issparse(a):
        return matmul(a, b, out)
    with arguments.on_device_of(b.data):
        a = arguments.as_device_array(a, "a")
        if b.ndim == 1:
            return _multiply_vectors(a, b, out)
        if a.ndim not in (1, 2):
            raise ValueError(
                f"sparse matmul: a has shape {a.shape}: it must have one or two dimensions"
            )
        if a.shape[-1] != b.shape[0]:
            raise _shape_error("the inner lengths differ", a, b)
        if out is not None and out.ndim == 2:
            matmul(b.T, a.T, out.T)
            return out
        made = matmul(b.T, a.T, out)
        return made if made.ndim == 1 else operands.contiguous_array(made.T)


def _multiply_vectors(a, b, out):
    """Computes a @ b with a 1-dimensional sparse operand, which is handled as a matrix with one row or
    column."""
    if not construct.issparse(b):
        b = arguments.as_device_array(b, "b")
    left = a.reshape((1, -1)) if construct.issparse(a) and a.ndim == 1 else a
    right = b.reshape((-1, 1)) if construct.issparse(b) and b.ndim == 1 else b
    made = rmatmul(left, right, None) if not construct.issparse(left) else matmul(left, right, None)
    shape = a.shape[:-1] + b.shape[1:]
    if construct.issparse(made) and not shape:
        made = made.sum()
    made = made.reshape(shape)
    if out is None:
        return made
    out[...] = made
    return out


def _multiply_by_dense(a, b, out):
    """Computes a @ b for a sparse `a` and a dense vector or matrix `b`."""
    b = arguments.as_device_array(b, "b")
    if b.ndim not in (1, 2):
        raise ValueError(
            f"sparse matmul: b has shape {b.shape}: it must have one or two dimensions"
        )
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"sparse matmul: shapes {a.shape} and {b.shape} do not fit: the inner lengths differ"
        )
    same_device(a, b)
    dtype = construct.stored_dtype("sparse matmul", np.result_type(a.dtype, b.dtype))
    if b.dtype != dtype:
        b = b.astype(dtype)
    wanted = (a.shape[0], *b.shape[1:])
    if out is None:
        made = arguments.empty(wanted, dtype, a.data, "F" if _is_column_major(b) else "C")
        made = arguments.bind_to_stream(made, a.data, b)
    else:
        made = _output_or_temporary(out, wanted, dtype, b)
    if not (a.nnz and made.size):
        made.fill(0)
    elif a.format == "dia" or dtype.char not in construct.VALUES:
        as_matrix = (one.reshape(-1, 1) if one.ndim == 1 else one for one in (b, made))
        a.astype(dtype, copy=False)._multiply_into(*as_matrix)
    else:
        _product_of_rows(a, dtype, b, made)
    if out is not None and made is not out:
        out[...] = made
        return out
    return made


def _product_of_rows(a, dtype, b, made):
    rows, operation = _sum_excess_duplicates(a)._as_csr_array(), int(a.format == "csc")
    if rows.dtype != dtype:
        rows = rows.astype(dtype)
    if b.ndim == 1:
        _vector_product(rows, operation, operands.contiguous_array(b), made)
    else:
        _matrix_product(rows, operation, b if _is_contiguous(b) else b.copy("C"), made)


def _is_contiguous(b):
    return b.is_c_contiguous() or b.is_f_contiguous()


def _is_column_major(b):
    return b.ndim == 2 and b.is_f_contiguous() and not b.is_c_contiguous()


def _output_or_temporary(out, shape, dtype, b):
    """Checks `out`, and returns `out` if the product can be written there directly, otherwise a temporary
    array."""
    if not isinstance(out, _core.DeviceArray):
        raise TypeError(f"sparse matmul: out is a {type(out).__name__}: it must be a device array")
    if out.shape != shape or out.dtype != dtype:
        raise ValueError(
            f"sparse matmul: out has shape {out.shape} and dtype {out.dtype}: it must have shape {shape} "
            f"and dtype {dtype}"
        )
    if out.readonly:
        raise ValueError("sparse matmul: out is read-only")
    apart = np.may_share_memory(out, b)
    return arguments.empty(shape, dtype, out) if apart or not _is_contiguous(out) else out


class VectorPlan:
    """The cuSPARSE descriptors and the buffer for y = op(A) x, for one stream."""

    def __init__(self, handle: Any, rows: Any, operation: int, x: Any, y: Any) -> None:
        char = rows.dtype.char
        self.data = rows.data
        self.matrix = _matrix_descriptor(handle, rows)
        self.x, self.y = _vector_descriptor(handle, x), _vector_descriptor(handle, y)
        self.args = (
            operation, _ONES[char][1], self.matrix, self.x, _ZEROS[char][1],
            self.y, _compute_type(char), 0,
        )  # fmt: skip
        self.buffer = workspace(handle.size("SpMV_bufferSize", *self.args))
        for name, takes_handle in (("SpMV", True), ("DnVecSetValues", False)):
            CUSPARSE.find(name, takes_handle)
        if CUSPARSE.has_function("SpMV_preprocess"):
            handle("SpMV_preprocess", *self.args, self.buffer)

    def run(self, stream: Any, x: Any, y: Any) -> None:
        """Computes y = op(A) x. The caller must hold the lock of A. In a capture, the graph gets its own
        buffer, because the graph may run concurrently with other work."""
        functions = CUSPARSE.functions
        set_values, name = functions["DnVecSetValues"], "DnVecSetValues"
        status = set_values(stream, self.x, x) or set_values(stream, self.y, y)
        if not status:
            name = "SpMV"
            own = _core.workspace_of_graph(stream, self.buffer.size)
            status = functions["SpMV"](stream, *self.args, self.buffer if own is None else own)
        if status:
            raise CUSPARSE.failure(name, status)


def _vector_product(rows, operation, x, y):
    handle = _library_handle(rows, x)
    with rows._lock:
        key = operation, stream_number(handle.stream)
        plan = rows._plans.get(key)
        if plan is None or plan.data is not rows.data:
            if len(rows._plans) >= _MAX_PLANS:
                rows._plans.clear()
            plan = rows._plans[key] = VectorPlan(handle, rows, operation, x, y)
        plan.run(handle.stream, x, y)
        rows._plans[operation, x._call_key()] = plan


def multiply_by_plan(a: Any, x: Any) -> Any:
    """Computes a @ x by a cached plan for a vector like x; returns None without a cached plan."""
    if a.format in ("coo", "dia"):
        return None
    rows = a._as_csr_array()
    data = rows.data
    plan = rows._plans.get((int(a.format == "csc"), x._call_key()))
    if plan is None or plan.data is not data or x.dtype is not data.dtype:
        return None
    made = arguments.bind_to_stream(_core.device_empty((a.shape[0],), data.dtype), data, x)
    with rows._lock:
        plan.run(data.stream or x.stream, x, made)
    return made


def _matrix_product(rows, operation, b, made):
    handle, char = _library_handle(rows, b), rows.dtype.char
    with rows._lock:
        key = "matrix", stream_number(handle.stream)
        plan = rows._plans.get(key)
        if plan is None or plan.kept[2] is not rows.data:
            plan = rows._plans[key] = _matrix_descriptor(handle, rows)
    right, result = _dense_descriptor(handle, b), _dense_descriptor(handle, made)
    args = (
        operation, 0, _ONES[char][1], plan, right, _ZEROS[char][1], result,
        _compute_type(char), 0,
    )  # fmt: skip
    handle("SpMM", *args, workspace(handle.size("SpMM_bufferSize", *args)))


# -------------------------------------------------------------------------------- with sparse arrays


def _sparse_product(a, b):
    """Returns the product of two sparse arrays as csr; as csc if the first array is csc. Waits for its
    size."""
    if a.shape[1] != b.shape[0]:
        raise _shape_error("the inner lengths differ", a, b)
    same_device(a, b)
    if a.format == "csc":
        return _sparse_product(b.tocsc().T, a.T).T
    if a.format == b.format == "dia":
        return _sparse_product(a.tocsr(), b).todia()
    dtype = np.result_type(a.dtype, b.dtype)
    with arguments.on_device_of(a.data):
        left, right = (_csr_of_dtype(one, dtype) for one in (a, b))
        shape = a.shape[0], b.shape[1]
        if not (left.nnz and right.nnz):
            return type(left)(shape, dtype=dtype)
        left, right = same_indices(left, right)
        if dtype.char not in "fdFD":
            return _multiply_by_sorting(left, right, shape)
        return left._from_parts(_multiply_csr(left, right, shape, left.indices.dtype), shape, False)


def _multiply_by_sorting(left, right, shape):
    """Multiplies sparse arrays of dtypes that cuSPARSE does not support: lists all products of two elements,
    then sorts the products by position and sums duplicates."""
    lines = rows_by_number(right, left.indices)
    places, col = lines.tocoo().coords
    factors, row = (take_unchecked(one, places) for one in (left.data, left.tocoo().row))
    data = np.multiply(factors, lines.data)
    return left.formats["coo"]._from_parts(data, (row, col), shape).tocsr()


def _csr_of_dtype(a, dtype):
    rows = _sum_excess_duplicates(a.tocsr())
    return rows if rows.dtype == dtype else rows.astype(dtype)


def _cast_indices(rows, kind):
    if rows.indices.dtype == kind:
        return rows
    parts = rows.data, rows.indices.astype(kind), rows.indptr.astype(kind)
    return rows._from_parts(parts, rows.shape, rows._is_sorted)


def _multiply_csr(left, right, shape, kind):
    handle, char = _library_handle(left), left.dtype.char
    a, b = _matrix_descriptor(handle, left), _matrix_descriptor(handle, right)
    indptr = arguments.empty((shape[0] + 1,), kind, left.data)
    index = _INDEX[kind.char]
    c = handle.create_object(
        "CreateCsr", "DestroySpMat", *shape, 0, indptr, None, None, index, index, 0, CUDA_TYPES[char],
        kept=(indptr,),
    )  # fmt: skip
    steps = handle.create_object("SpGEMM_createDescr", "SpGEMM_destroyDescr")
    args = (
        0, 0, _ONES[char][1], a, b, _ZEROS[char][1], c, CUDA_TYPES[char], 0, steps,
    )  # fmt: skip
    buffers = []
    for name in ("SpGEMM_workEstimation", "SpGEMM_compute"):
        size = ctypes.c_size_t()
        handle(name, *args, ctypes.addressof(size), None)
        buffers.append(workspace(size.value))
        handle(name, *args, ctypes.addressof(size), buffers[-1])
    sizes = (ctypes.c_int64 * 3)()
    first = ctypes.addressof(sizes)
    handle.call_without_handle("SpMatGetSize", c, first, first + 8, first + 16)
    indices = arguments.empty((sizes[2],), kind, left.data)
    data = arguments.empty((sizes[2],), left.dtype, left.data)
    handle.call_without_handle("CsrSetPointers", c, indptr, indices, data)
    handle("SpGEMM_copy", *args)
    return data, indices, indptr


def canonical_rows(a: Any, dtype: Any) -> Any:
    """Returns the array as csr with this dtype, sorted and without duplicates."""
    rows = _csr_of_dtype(a, dtype)
    rows.sum_duplicates()
    return rows


def same_indices(left: Any, right: Any) -> tuple[Any, Any]:
    """Returns two csr arrays with a common index dtype: int64 if one of the two arrays has int64 indices."""
    kind = np.result_type(left.indices.dtype, right.indices.dtype)
    return _cast_indices(left, kind), _cast_indices(right, kind)


# ---------------------------------------------------------------------------------------- conversions


def _as_int32(*arrays):
    """Returns index arrays as int32, which the conversions of cuSPARSE require."""
    return [one if one.dtype.itemsize == 4 else one.astype(np.int32) for one in arrays]


def _check_sort_size(lines, length, count):
    if max(lines, length, count) >= 2**31:
        raise ValueError(
            f"cuSPARSE sorts arrays with less than 2**31 rows, columns and elements: {lines}, {length}, {count}"
        )


def transposed(a: Any) -> tuple:
    """Returns (data, indices, indptr) of a csr array converted to csc, and vice versa."""
    with arguments.on_device_of(a.data):
        lines, length = _sum_excess_duplicates(a)._line_lengths()
        count, kind = a.nnz, a.indices.dtype
        _check_sort_size(lines, length, count)
        if a.dtype.char not in construct.VALUES:
            return _transpose_by_index(a)
        indices, indptr = _as_int32(a.indices, a.indptr)
        data = arguments.empty((count,), a.dtype, a.data)
        new_indices = arguments.empty((count,), np.int32, a.data)
        new_indptr = arguments.empty((length + 1,), np.int32, a.data)
        if not count:
            new_indptr.fill(0)
        else:
            handle = _library_handle(a)
            args = (
                lines, length, count, a.data, indptr, indices, data, new_indptr, new_indices,
                CUDA_TYPES[a.dtype.char], 1, 0, 1,
            )  # fmt: skip
            handle("Csr2cscEx2", *args, workspace(handle.size("Csr2cscEx2_bufferSize", *args)))
        return data, new_indices.astype(kind, copy=False), new_indptr.astype(kind, copy=False)


def _transpose_by_index(a):
    """Implements `transposed` for dtypes that cuSPARSE does not support: transposes the element numbers as
    float64, then gathers the values."""
    order, indices, indptr = transposed(
        a._with_data(number_sequence(0, 1, a.nnz, np.float64, a.data))
    )
    return take_unchecked(a.data, order.astype(np.int32)), indices, indptr


def coo_as_csr_parts(a: Any) -> tuple:
    """Returns (data, indices, indptr) of a coo array as csr, sorted and without duplicates.
    Waits."""
    with arguments.on_device_of(a.data):
        rows, columns = a.shape
        if a.nnz:
            return _canonical_rows(a.data, a.row, a.col, None, rows, columns)
        indptr = arguments.empty((rows + 1,), a.row.dtype, a.data)
        indptr.fill(0)
        return a.data, a.col, indptr


@fuse
def _have_equal(a, b):
    return np.any(a == b)


def _canonical_rows(data, numbers, indices, indptr, lines, length):
    """Returns (data, indices, indptr) of the elements in rows or columns (lines) with these
    numbers, sorted by line and index, with summed duplicates. If the elements are already in the order of their
    lines, ``indptr`` contains the start of each line; otherwise, pass None."""
    keys, order = _sorted_keys(numbers, indices, lines, length)
    data = take_unchecked(data, order)
    indices = arguments.empty((data.size,), indices.dtype, data)
    if indptr is None:
        indptr = arguments.empty((lines + 1,), indices.dtype, data)
    kernels.split_keys.forall(max(data.size, lines + 1))(keys, length, indices, indptr)
    if data.size < 2 or not _have_equal(keys[1:], keys[:-1]):
        return data, indices, indptr
    counts = arguments.empty((lines + 1,), indptr.dtype, data)
    kernels.count_unique.forall(lines)(indices, indptr, counts)
    new_indptr = construct.indptr_of_counts(counts)
    left = new_indptr[-1:].item()
    new_indices = arguments.empty((left,), indices.dtype, data)
    new_data = arguments.empty((left,), data.dtype, data)
    kernels.add_duplicates.forall(lines)(data, indices, indptr, new_indptr, new_indices, new_data)
    return new_data, new_indices, new_indptr


def _sorted_keys(numbers, indices, lines, length):
    """Returns (keys, order): line * length + index of each element, sorted, and the previous positions of the
    elements."""
    if lines * length >= 2**63:
        raise ValueError(f"an array of {lines} x {length} has too many positions to sort: 2**63")
    # The smallest signed type of the keys, because fewer bytes need fewer sorting passes
    kind = np.min_scalar_type(-max(lines * length, 1))
    keys, made = (arguments.empty(numbers.shape, kind, numbers) for _ in range(2))
    order = arguments.empty(numbers.shape, np.int64, numbers)
    kernels.combine_indices.forall(keys.size)(numbers, indices, length, keys)
    radix.sort_rows(orders.order_of(kind), keys, made, order, 1, keys.size, 0)
    return made, order


def take_unchecked(values: Any, order: Any) -> Any:
    """Returns values[order] without a check; the caller guarantees valid indices."""
    made = arguments.empty(order.shape, values.dtype, values)
    if order.size:
        kernels.take_values.forall(order.size)(values, order, made)
    return made


def rows_by_number(rows: Any, lines: Any) -> Any:
    """Returns a csr array of the rows of `rows` with the numbers `lines`. Waits for the number of elements in
    these rows."""
    count, kind = lines.size, rows.indices.dtype
    starts, ends = (take_unchecked(one, lines) for one in (rows.indptr[:-1], rows.indptr[1:]))
    indptr = arguments.empty((count + 1,), np.int64, rows.data)
    np.subtract(ends, starts, out=indptr[1:])  # type: ignore[call-overload]
    indptr = construct.indptr_of_counts(indptr)
    stored = indptr[-1:].item()
    kind = kind if stored < 2**31 else np.dtype(np.int64)
    data, indices = (arguments.empty((stored,), t, rows.data) for t in (rows.dtype, kind))
    if stored:
        args = *rows._component_arrays(), lines, indptr, indices, data
        kernels.gather_rows.forall(stored)(*args)
    parts = data, indices, indptr.astype(kind)
    return rows._from_parts(parts, (count, rows.shape[1]), rows._is_sorted)


def canonical_parts(parts: tuple, lines: int, length: int) -> tuple:
    """Returns (data, indices, indptr) with sorted indices and summed duplicates in each row or
    column. Waits."""
    data, indices, indptr = parts
    if not data.size:
        return parts
    with arguments.on_device_of(data):
        numbers = arguments.empty((data.size,), indices.dtype, data)
        kernels.store_row_numbers.forall(data.size)(indptr, numbers)
        return _canonical_rows(data, numbers, indices, indptr.copy(), lines, length)


# -------------------------------------------------------------------------------- triangular systems


def _set_attribute(handle, matrix, attribute, value):
    word = ctypes.c_int(value)
    handle.call_without_handle("SpMatSetAttribute", matrix, attribute, ctypes.addressof(word), 4)


def solve_triangular(a: Any, b: Any, lower: bool, unit: bool) -> Any:
    """Solves a x = b for a triangular a."""
    name = "spsolve_triangular"
    if a.shape[0] != a.shape[1]:
        raise ValueError(f"{name}: A has shape {a.shape}: it must be square")
    if b.ndim not in (1, 2) or b.shape[0] != a.shape[0]:
        raise ValueError(
            f"{name}: A has shape {a.shape}, b has shape {b.shape}: b must have {a.shape[0]} rows"
        )
    with arguments.on_device_of(a.data):
        dtype = np.result_type(a.dtype, b.dtype, np.float32)
        construct.value_dtype(name, dtype)
        a = a if a.format in ("csr", "csc") else a.tocsr()
        a = a if a.dtype == dtype else a.astype(dtype)
        a.sum_duplicates()
        if not unit and a.shape[0] and np.any(np.equal(a.diagonal(), 0)).item():
            raise np.linalg.LinAlgError(f"{name}: A is singular: zero entry on diagonal")
        right = b.astype(dtype, "F") if b.ndim == 2 else b.astype(dtype)
        made = arguments.empty(b.shape, dtype, a.data, "F" if b.ndim == 2 else "C")
        made = arguments.bind_to_stream(made, a.data, b)
        if not math.prod(b.shape):
            return made
        if not a.nnz:  # without stored elements, a is the identity, whose unit diagonal is implicit
            return right
        _solve_triangular(a, right, made, lower, unit)
        return operands.contiguous_array(made) if b.ndim == 2 else made


def _solve_triangular(a, right, made, lower, unit):
    handle, char = _library_handle(a), a.dtype.char
    is_turned = a.format == "csc"
    matrix = _matrix_descriptor(handle, a._as_csr_array())
    _set_attribute(handle, matrix, 0, int(lower == is_turned))
    _set_attribute(handle, matrix, 1, int(unit))
    name, describe = (
        ("SpSV", _vector_descriptor_of) if right.ndim == 1 else ("SpSM", _dense_descriptor)
    )
    b, x = describe(handle, right), describe(handle, made)
    steps = handle.create_object(f"{name}_createDescr", f"{name}_destroyDescr")
    operations = (int(is_turned),) if right.ndim == 1 else (int(is_turned), 0)
    args = (
        *operations, _ONES[char][1], matrix, b, x, CUDA_TYPES[char], 0, steps,
    )  # fmt: skip
    buffer = workspace(handle.size(f"{name}_bufferSize", *args))
    handle(f"{name}_analysis", *args, buffer)
    handle(f"{name}_solve", *args)
