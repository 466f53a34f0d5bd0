"""Implements numpy.matmul and the gufuncs vecdot, matvec and vecmat, by cuBLAS or a kernel for integers."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.compilers import templates
from numbalite.functions import arguments
from numbalite.functions.geometry import moveaxis
from numbalite.functions.reductions import sum_of_products
from numbalite.kernels.decorators import builtin_kernel
from numbalite.kernels.kernel import MULTIPROCESSOR_COUNT
from numbalite.ndarray import assign
from numbalite.runtime import shapes
from numbalite.runtime.libraries.table import CUBLAS
from numbalite.runtime.traced import traced
from numbalite.ufuncs import operands
from numbalite.ufuncs.protocols import cuda_ufunc_for

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_SIGNATURE = "(n?,k),(k,m?)->(n?,m?)"
_BLOCK = 16, 16  # threads per block of the integer kernel
_BLOCKS = (
    4  # blocks of the integer kernel per multiprocessor, if the summed dimension is long enough
)
_PART_DEPTH = 512  # minimum depth of a part


def operator(left: Any, right: Any) -> Any:
    """Returns left @ right, for operands that the C fast path does not handle."""
    for one in (left, right):
        if getattr(type(one), "__array_ufunc__", left) is None:
            return NotImplemented
    return np.matmul(left, right)


@traced
def matmul(
    *inputs: Any,
    out: Any = None,
    casting: Any = "same_kind",
    order: str = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
    axes: Any = None,
    stream: Any = 0,
) -> Any:
    """Implements numpy.matmul with at least one device array among the operands; returns a device array."""
    if len(inputs) == 3 and out is None:
        *inputs, out = inputs  # type: ignore[assignment]
    if len(inputs) != 2:
        raise TypeError(
            f"matmul() takes from 2 to 3 positional arguments but {len(inputs)} were given"
        )
    order = shapes.order_of(order)
    if (
        out is dtype is signature is axes is None
        and casting == "same_kind"
        and order == "K"
        and not stream
    ):
        made = _product_of_vectors(*inputs)
        if made is not None:
            return made
    if isinstance(out, tuple):
        (out,) = out
    if out is not None and not isinstance(out, np.ndarray) and not operands.is_on_device(out):
        raise TypeError("return arrays must be of ArrayType")
    out = operands.device_view(out) if operands.is_on_device(out) else out
    a, b = arguments.arrays_of(inputs, "an operand of matmul")
    if dtype is not None:
        signature = (None, None, np.dtype(dtype))
    given = (a.dtype, b.dtype, None if out is None else out.dtype)
    words = {"signature": signature} if signature else {}
    loop = np.matmul.resolve_dtypes(given, casting=casting, **words)
    if axes is not None:
        a, b, back = _move_matrix_axes(a, b, axes)
    with assign.on_device(a.device):
        shape = _result_shape(a.shape, b.shape)
        made_of = a.dtype if dtype is None and _is_bfloat16(*given) else loop[2]
        target = _direct_target(out, shape, made_of, (a, b)) if axes is None else None
        made = arguments.empty(shape, made_of) if target is None else target
        left, right, result = _as_matrices(a, b, made)
        _multiply_into(left, right, result, stream)
        made = made if axes is None else back(made)
        if out is None:
            return (
                made.astype(made.dtype, order, copy=False, stream=stream) if order == "F" else made
            )
        if made is not out:
            _check_shape(out, made.shape)
            _store_product(made, out, stream)
        return out


def _product_of_vectors(a, b):
    """Returns the product of a vector and a matrix, computed as a matrix product by the C fast path, or None
    if the fast path does not support the operands."""
    if not (isinstance(a, _core.DeviceArray) and isinstance(b, _core.DeviceArray)):
        return None
    ranks, n = {a.ndim, b.ndim}, a.shape[-1] if a.ndim else 0
    if ranks != {1, 2} or n == 0 or n != b.shape[0] or not b.size or not a.size:
        return None
    if a.dtype != b.dtype or a.dtype.kind not in "fc":
        return None
    shape = a.shape[:-1] + b.shape[1:]
    if a.ndim == 1:
        a = a._view((1, n), (n * a.strides[0], a.strides[0]), a.dtype)
    if b.ndim == 1:
        b = b._view((n, 1), (b.strides[0], b.itemsize), b.dtype)
    return (a @ b).reshape(shape)


def dot(a: DeviceNDArray, b: DeviceNDArray, out: Any = None) -> DeviceNDArray:
    """Returns the product as in numpy.dot; the product of two bfloat16 arrays is a bfloat16 array."""
    if out is None and _is_bfloat16(a.dtype, b.dtype):
        out = arguments.empty(_result_shape(a.shape, b.shape), a.dtype, a)
    return matmul(a, b, out=out)


def _check_shape(out, shape):
    if not hasattr(out, "shape"):
        raise TypeError(f"matmul: out must be an array, not {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"matmul: the output array has shape {out.shape}, the result {shape}")


def _store_product(made, out, stream):
    if isinstance(out, np.ndarray):
        out[...] = made.copy_to_host(stream=stream)
    else:
        assign.assign(operands.device_view(out), made, stream)


def _direct_target(out, shape, dtype, sources):
    """Returns `out` if the product can be written directly to `out`, otherwise None."""
    if out is None or not isinstance(out, _core.DeviceArray):
        return None
    _check_shape(out, shape)
    fits = out.dtype == dtype and operands.is_aligned(out) and not out.readonly
    if out.readonly:
        raise ValueError("output array is read-only")
    return out if fits and not any(assign.may_overlap(one, out) for one in sources) else None


# ------------------------------------------------------------------------------------------ shapes


def _check_ranks(name, signature, *operands_and_ranks):
    for number, (operand, needed) in enumerate(operands_and_ranks):
        ndim = len(getattr(operand, "shape", operand))
        if ndim < needed:
            raise ValueError(
                f"{name}: Input operand {number} does not have enough dimensions (has {ndim}, gufunc core "
                f"with signature {signature} requires {needed})"
            )


def _result_shape(a, b):
    """Returns the shape of matmul's result; raises ValueError with NumPy's message for unsuitable shapes."""
    _check_ranks("matmul", _SIGNATURE, (a, 1), (b, 1))
    depth = b[0] if len(b) == 1 else b[-2]
    if a[-1] != depth:
        raise ValueError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"{_SIGNATURE} (size {depth} is different from {a[-1]})"
        )
    try:
        stacked = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: "
            f"{shapes._shape_text(a)}->{_remapped_shape_text(a)} {shapes._shape_text(b)}->{_remapped_shape_text(b)} "
        ) from None
    return stacked + a[-2:-1] + (b[-1:] if len(b) > 1 else ())


def _remapped_shape_text(shape):
    return f"({','.join([*map(str, shape[:-2]), 'newaxis', 'newaxis'])})"


def _as_matrices(a, b, out):
    """Returns the operands and `out` with at least two axes."""
    if b.ndim == 1:
        b, out = b[:, None], out[..., None]
    if a.ndim == 1:
        a, out = a[None], out[..., None, :]
    return a, b, out


def _move_matrix_axes(a, b, axes):
    """Applies the argument `axes`: returns (a and b with matrices in the last axes, a function that moves the
    result's axes back)."""
    if not isinstance(axes, list) or len(axes) not in (2, 3):
        raise ValueError(
            "axes should be a list with an entry for all 2 inputs and outputs; entries for outputs can only be omitted if none of them has core axes."
        )
    if len(axes) == 2:
        if a.ndim > 1 or b.ndim > 1:
            raise ValueError(
                "axes should be a list with an entry for all 2 inputs and outputs; entries for outputs can only be omitted if none of them has core axes."
            )
        axes = [*axes, ()]
    moved = []
    for one, given in ((a, axes[0]), (b, axes[1])):
        given = shapes.tuple_of_integers(given)
        moved.append(moveaxis(one, given, tuple(range(-len(given), 0))))
    last = shapes.tuple_of_integers(axes[2])
    return *moved, lambda made: moveaxis(made, tuple(range(-len(last), 0)), last)


# ---------------------------------------------------------------------------------------- products


def _multiply_into(a, b, out, stream):
    """Computes out = a @ b for arrays with at least two axes. `out` must have the loop's dtype and share no
    memory with a and b."""
    rows, columns = a.shape[-2], b.shape[-1]
    stacked = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if not out.size:
        return
    if a.shape[-1] == 0:
        out._fill(np.zeros((), out.dtype), stream)
        return
    if not _has_16_bit_elements(a, b, out):
        a, b = (one.astype(out.dtype, copy=False, stream=stream) for one in (a, b))
    a, b = (one if operands.is_aligned(one) else one.copy(stream=stream) for one in (a, b))
    # Dot products are reductions with all multiprocessors, because cuBLAS sums serially beyond 2**31 elements.
    if rows == columns == 1 and out.dtype.kind in "buifc":
        sum_of_products(out.dtype, "a * b")(
            (a[..., 0, :], b[..., 0]), -1, False, out[..., 0, 0], stream
        )
    elif out.dtype.kind in "fc" or _is_bfloat16(out.dtype):
        if out.dtype.kind != "V":
            operands.check_dtype(out.dtype, "matmul")
        _multiply_by_cublas(a, b, out, stacked, stream)
    else:
        _multiply_by_tiles(a, b, out, stacked, stream)


def _multiply_by_tiles(a, b, out, stacked, stream):
    """Computes products of integers and booleans. A few products with a long summed dimension are split along
    this dimension."""
    rows, columns, depth = out.shape[-2], out.shape[-1], a.shape[-1]
    count = math.prod(stacked)
    flat = [
        _merge_batch_axes(assign.broadcast_view(one, stacked + one.shape[-2:]), count)
        for one in (a, b)
    ]
    tiles = count * -(-rows // _BLOCK[0]) * -(-columns // _BLOCK[1])
    blocks = _BLOCKS * _core.device_attribute(out.device, MULTIPROCESSOR_COUNT)
    parts = max(1, min(blocks // tiles, depth // _PART_DEPTH))
    made = None
    if parts == 1:
        made = out._reshaped_view((1, count, rows, columns), "C", False)
    direct = made is not None and operands.is_aligned(made)
    target = made if direct else arguments.empty((parts, count, rows, columns), out.dtype)
    _matmul_kernel(out.dtype)[min(tiles * parts, 2**31 - 1), _BLOCK, stream](*flat, target)
    if not direct:
        total = (
            cuda_ufunc_for(np.add).reduce(target, 0, out.dtype, stream=stream)
            if parts > 1
            else target
        )
        assign.assign(out, total.reshape(out.shape), stream)


def _is_bfloat16(*dtypes):
    """Returns whether all dtypes are ml_dtypes.bfloat16."""
    return all(one is not None and one.kind == "V" and one.name == "bfloat16" for one in dtypes)


def _has_16_bit_elements(a, b, out):
    """Returns whether all elements have a 16-bit type that cuBLAS reads directly and accumulates in
    float32."""
    narrow = a.dtype == b.dtype and (a.dtype.char == "e" or _is_bfloat16(a.dtype))
    return narrow and out.dtype in (a.dtype, np.dtype("f"))


def _bit_view(array):
    """Returns a view of the bits of a bfloat16 array; returns other arrays unchanged."""
    is_one = _is_bfloat16(array.dtype)
    return array._view(array.shape, array.strides, np.dtype("u2")) if is_one else array


def _merge_batch_axes(array, count):
    """Merges all axes except the last two; copies the array if the strides require a copy."""
    shape = (count, *array.shape[-2:])
    view = array._reshaped_view(shape, "C", False)
    return array._reshaped_view(shape, "C", True) if view is None else view


@functools.cache
def _matmul_kernel(dtype):
    source = templates.fill_template("matmul")
    return builtin_kernel(source, f"matmul<{dtype.name}>")


def _multiply_by_cublas(a, b, out, stacked, stream):
    """Computes the product by cuBLAS, with a single call if the stack axes can be merged into one axis."""
    if not _core.cudalib_is_open("cublas"):
        CUBLAS.open()
    bfloat16 = _is_bfloat16(a.dtype)
    a, b, out = map(_bit_view, (a, b, out))
    count = math.prod(stacked)
    if len(stacked) > 1 or a.ndim > 3 or b.ndim > 3:
        a, b = (
            one._reshaped_view(one.shape[-2:], "C", False)
            if math.prod(one.shape[:-2]) == 1
            else _merge_batch_axes(assign.broadcast_view(one, stacked + one.shape[-2:]), count)
            for one in (a, b)
        )
    target = out._reshaped_view(
        (count, *out.shape[-2:]) if a.ndim == 3 or b.ndim == 3 else out.shape[-2:], "C", False
    )
    made = target
    if made is None or not _is_matrix(made):
        made = arguments.empty(
            (count, *out.shape[-2:]) if a.ndim == 3 or b.ndim == 3 else out.shape[-2:], out.dtype
        )
    a, b = (one if _is_matrix(one) else one.copy(stream=stream) for one in (a, b))
    a, b = (one[0] if one.ndim == 3 and one.shape[0] == 1 else one for one in (a, b))
    if made.ndim == 3 and a.ndim == b.ndim == 2:
        made = made[0]
    if not _core.gemm(a, b, made, stream, bfloat16):
        raise AssertionError(
            f"matmul: cuBLAS does not take {a.shape}, {a.strides} and {b.shape}, {b.strides}"
        )
    if made._address != out._address:
        assign.assign(out, made.reshape(out.shape), stream)


def _is_matrix(array):
    """Returns whether cuBLAS can read the array: one of the last two axes must be contiguous, and the other's
    stride at least its length."""
    if not operands.is_aligned(array) or any(step % array.itemsize for step in array.strides):
        return False
    if array.ndim == 3 and array.strides[0] < 0 and array.shape[0] > 1:
        return False
    rows, columns = array.shape[-2:]
    row, column = (step // array.itemsize for step in array.strides[-2:])
    by_rows = (column == 1 or columns == 1) and (row >= columns or (rows == 1 and row >= 0))
    return by_rows or ((row == 1 or rows == 1) and (column >= rows or columns == 1))


# -------------------------------------------------------------------------------- vectors in stacks


@traced
def vecdot(x1: Any, x2: Any, /, out: Any = None, *, axis: int = -1, **keywords: Any) -> Any:
    """Returns the sums of conj(x1) * x2 along an axis."""
    a, b = arguments.arrays_of((x1, x2), "an operand of vecdot")
    _check_ranks("vecdot", "(n),(n)->()", (a, 1), (b, 1))
    a, b = (moveaxis(one, axis, -1) for one in (a, b))
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n),(n)->() (size {b.shape[-1]} is different from {a.shape[-1]})"
        )
    if a.dtype == b.dtype and a.dtype.char in "FD" and a.shape == b.shape and not keywords:
        made = sum_of_products(a.dtype, "conj(a) * b")((a, b), -1, False, None, 0)
        return _drop_last_axes(made, 0, out)
    a = _conjugate(a)
    return _drop_last_axes(matmul(a[..., None, :], b[..., :, None], **keywords), 2, out)


@traced
def matvec(x1: Any, x2: Any, /, out: Any = None, **keywords: Any) -> Any:
    """Returns the products of stacked matrices and stacked vectors."""
    a, b = arguments.arrays_of((x1, x2), "an operand of matvec")
    _check_ranks("matvec", "(m,n),(n)->(m)", (a, 2), (b, 1))
    return _drop_last_axes(matmul(a, b[..., :, None], **keywords), 1, out)


@traced
def vecmat(x1: Any, x2: Any, /, out: Any = None, **keywords: Any) -> Any:
    """Returns the products of stacked conjugated vectors and stacked matrices."""
    a, b = arguments.arrays_of((x1, x2), "an operand of vecmat")
    _check_ranks("vecmat", "(n),(n,m)->(m)", (a, 1), (b, 2))
    a = _conjugate(a)
    made = matmul(a[..., None, :], b, **keywords)
    return _drop_last_axes(made.swapaxes(-1, -2), 1, out)


def _conjugate(a: Any) -> Any:
    return np.conjugate(a) if a.dtype.kind == "c" else a


def _drop_last_axes(made: DeviceNDArray, axes: int, out: Any) -> Any:
    """Returns the product without its last axes, which have length 1."""
    left = made.ndim - axes
    made = made._view_with_layout(made.shape[:left], made.strides[:left])
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return made
    _check_shape(out, made.shape)
    _store_product(made, out, 0)
    return out


for _name, _function in (
    ("matmul", _core.matmul),
    ("vecdot", vecdot),
    ("matvec", matvec),
    ("vecmat", vecmat),
):
    if hasattr(np, _name):  # NumPy 2.0 introduced vecdot, NumPy 2.2 the other functions
        _core.ufunc_counterparts[getattr(np, _name)] = _function
