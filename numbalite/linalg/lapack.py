"""Factorizes stacks by cuSOLVER: contiguous arrays (count, columns, rows) of column-major matrices.

As in LAPACK, factorizations overwrite their input. One matrix, or a few large matrices, are factorized one
after another; many small matrices by the batched functions."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions.arguments import empty_like
from numbalite.kernels.decorators import jit
from numbalite.linalg.arguments import real_dtype
from numbalite.runtime.attributes import NUMBERS
from numbalite.runtime.libraries.table import (
    CUBLAS,
    CUDA_TYPES,
    CUSOLVER,
    LETTERS,
    memory,
    workspace,
)

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

SMALL = 128
"""Up to this order many matrices are factorized by one call."""
TINY = 32
"""Up to this order Jacobi's method decomposes many matrices by one call."""
POLAR = 128
"""From this order on, singular vectors are computed by a polar decomposition."""
_MAX_PERTURBATION = 2.0**-30
"""Of a float32 matrix, relative to its largest singular value, in a polar decomposition in double precision."""
_DOUBLE_RATIO = NUMBERS["SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO"]
NONE, TRANSPOSED = 0, 1
_LOWER, _UPPER = 0, 1
_params = threading.local()


def _solver_handle(array):
    return CUSOLVER.calls_on(array.stream)


def _cached_object(array, kind):
    """Returns a cuSOLVER object without call-specific state, such as "Params", from a cache with one object
    per thread and device."""
    key = kind, array.device, _core.device_generation(array.device)
    made = _params.__dict__.get(key)
    if made is None:
        made = _params.__dict__[key] = _solver_handle(array).create_object(
            f"Create{kind}", f"Destroy{kind}"
        )
    return made


def _cuda_type(array):
    return CUDA_TYPES[array.dtype.char]


def _address_array(stack):
    """Returns a library argument, an array of the matrices' device addresses; the call counts as a use of the stack."""
    _core.invalidate_trace()  # a replay would use these addresses
    count, step = stack.shape[0], np.uint64(stack.strides[0])
    made = empty_like(stack, (count,), np.uint64)
    _addresses_of.forall(count, stream=stack.stream)(made, np.uint64(stack._address), step)
    return _core.LibraryValue(made._address, None, (made, stack))


@jit
def _addresses_of(out, first, step):
    """
    long long i = grid<1>();
    if (i < out.size()) out[i] = first + i * step;
    """


class _StackSolver:
    """Calls a 64-bit function for each matrix of a stack; queries the workspace size once."""

    def __init__(self, array, name, *args):
        self.handle = _solver_handle(array)
        self.name = name
        self.params = _cached_object(array, "Params")
        device, host = self.handle.read_sizes(f"{name}_bufferSize", self.params, *args)
        self.end = (workspace(device), device, memory(host), host)

    def __call__(self, *args, more=()):
        """Calls the function; ``more`` contains arguments that follow the info argument."""
        *args, info = args
        self.handle(self.name, self.params, *args, *self.end, info, *more)


def factor_lu(stack: DeviceNDArray) -> tuple[DeviceNDArray, DeviceNDArray]:
    """Computes LU with partial pivoting in place; returns (1-based pivots, infos); pivots are int32 if
    `is_stack_of_small_matrices`."""
    count, n, _ = stack.shape
    infos = empty_like(stack, (count,), np.int32)
    if is_stack_of_small_matrices(stack):
        pivots = empty_like(stack, (count, n), np.int32)
        cublas = CUBLAS.calls_on(stack.stream)
        name = f"{LETTERS[stack.dtype.char]}getrfBatched"
        cublas(name, n, _address_array(stack), n, pivots, infos, count)
        return pivots, infos
    pivots = empty_like(stack, (count, n), np.int64)
    kind = _cuda_type(stack)
    getrf = _StackSolver(stack, "Xgetrf", n, n, kind, stack, n, kind)
    for i in range(count):
        getrf(n, n, kind, stack[i], n, pivots[i], kind, infos[i : i + 1])
    return pivots, infos


def is_stack_of_small_matrices(stack: DeviceNDArray, most: int = SMALL) -> bool:
    """Returns whether the stack has many small matrices, so that the batched functions are faster."""
    return stack.shape[0] > 1 and stack.shape[-1] <= most


def lu_solve(
    lus: DeviceNDArray, pivots: DeviceNDArray, right: DeviceNDArray, operation: int
) -> None:
    """Solves op(A) x = b, and replaces b, a stack (count, columns, n), by x. With a single A, the count of b
    may be any number."""
    count, n, _ = lus.shape
    columns = right.shape[1]
    if count == 1 and right.shape[0] > 1:
        right = right.reshape(1, right.shape[0] * columns, n)
        columns = right.shape[1]
    if is_stack_of_small_matrices(lus):
        status = ctypes.c_int()
        name = f"{LETTERS[lus.dtype.char]}getrsBatched"
        cublas = CUBLAS.calls_on(lus.stream)
        addresses = _address_array(lus), _address_array(right)
        where = ctypes.addressof(status)
        cublas(name, operation, n, columns, addresses[0], n, pivots, addresses[1], n, where, count)
        return
    kind, info, params = (
        _cuda_type(lus),
        empty_like(lus, (1,), np.int32),
        _cached_object(lus, "Params"),
    )
    handle = _solver_handle(lus)
    for i in range(count):
        args = (operation, n, columns, kind, lus[i], n, pivots[i], kind, right[i], n, info)
        handle("Xgetrs", params, *args)


def inverse(stack: DeviceNDArray) -> tuple[DeviceNDArray, DeviceNDArray]:
    """Returns (the inverses, infos) of many matrices of order TINY or less, which are unchanged."""
    count, n, _ = stack.shape
    made = empty_like(stack, stack.shape, stack.dtype)
    infos = empty_like(stack, (count,), np.int32)
    name = f"{LETTERS[stack.dtype.char]}matinvBatched"
    CUBLAS.calls_on(stack.stream)(
        name, n, _address_array(stack), n, _address_array(made), n, infos, count
    )
    return made, infos


def cholesky(stack: DeviceNDArray) -> DeviceNDArray:
    """Computes a = L L^H in the lower triangle of A, without changing the other triangle; returns infos.

    U^H U is not supported, because cuSOLVER needs up to 2.7 times as long for the upper triangle (H200, n =
    2048).
    """
    count, n, _ = stack.shape
    infos = empty_like(stack, (count,), np.int32)
    kind, fill = _cuda_type(stack), _LOWER
    if is_stack_of_small_matrices(stack):
        name = f"{LETTERS[stack.dtype.char]}potrfBatched"
        _solver_handle(stack)(name, fill, n, _address_array(stack), n, infos, count)
        return infos
    potrf = _StackSolver(stack, "Xpotrf", fill, n, kind, stack, n, kind)
    for i in range(count):
        potrf(fill, n, kind, stack[i], n, kind, infos[i : i + 1])
    return infos


def qr(stack: DeviceNDArray) -> DeviceNDArray:
    """Computes QR in place, as Householder reflectors below R; returns the scale factors (tau) of the reflectors."""
    count, n, m = stack.shape
    scales, info = (
        empty_like(stack, (count, min(m, n)), stack.dtype),
        empty_like(stack, (1,), np.int32),
    )
    kind = _cuda_type(stack)
    geqrf = _StackSolver(stack, "Xgeqrf", m, n, kind, stack, m, kind, scales, kind)
    for i in range(count):
        geqrf(m, n, kind, stack[i], m, kind, scales[i], kind, info)
    return scales


def qr_columns(stack: DeviceNDArray, scales: DeviceNDArray) -> None:
    """Replaces Householder reflectors by the columns of Q; columns without a reflector complete the basis."""
    count, n, m = stack.shape
    k, info = scales.shape[1], empty_like(stack, (1,), np.int32)
    is_complex = stack.dtype.kind == "c"
    name = f"{LETTERS[stack.dtype.char]}{'ungqr' if is_complex else 'orgqr'}"
    handle = _solver_handle(stack)
    size = handle.size(f"{name}_bufferSize", m, n, k, stack, m, scales, kind=ctypes.c_int)
    work = workspace(size * stack.dtype.itemsize)
    for i in range(count):
        handle(name, m, n, k, stack[i], m, scales[i], work, size, info)


def eigh(stack: DeviceNDArray, upper: bool, vectors: bool) -> tuple[DeviceNDArray, DeviceNDArray]:
    """Returns (ascending eigenvalues, infos); eigenvectors replace the columns of the matrices."""
    count, n, _ = stack.shape
    values = empty_like(stack, (count, n), real_dtype(stack.dtype))
    infos = empty_like(stack, (count,), np.int32)
    kind, real, fill = _cuda_type(stack), _cuda_type(values), _UPPER if upper else _LOWER
    begin = (int(vectors), fill, n, kind)
    if is_stack_of_small_matrices(stack, TINY):
        is_complex = stack.dtype.kind == "c"
        name = f"{LETTERS[stack.dtype.char]}{'heevj' if is_complex else 'syevj'}Batched"
        jacobi = _cached_object(stack, "SyevjInfo")
        _run_jacobi(stack, name, (*begin[:3], stack, n, values), infos, jacobi)
        return values, infos
    if count > 1 and CUSOLVER.has_function("XsyevBatched"):
        handle, params = _solver_handle(stack), _cached_object(stack, "Params")
        pair = (ctypes.c_size_t * 2)()
        first = ctypes.addressof(pair)
        handle(
            "XsyevBatched_bufferSize", params, *begin, stack, n, real, values, kind, first, first + 8, count,
        )  # fmt: skip
        end = (workspace(pair[0]), pair[0], memory(pair[1]), pair[1], infos, count)
        handle("XsyevBatched", params, *begin, stack, n, real, values, kind, *end)
        return values, infos
    syevd = _StackSolver(stack, "Xsyevd", *begin, stack, n, real, values, kind)
    for i in range(count):
        syevd(*begin, stack[i], n, real, values[i], kind, infos[i : i + 1])
    return values, infos


def has_general_eigensolver() -> bool:
    """Returns whether cuSOLVER has Xgeev (CUDA 12.8 or later). A missing library raises its error when a
    function is called."""
    return CUSOLVER.has_function("Xgeev") or not CUSOLVER.has_function("Xgetrf")


def eig(stack: DeviceNDArray, vectors: bool) -> tuple[DeviceNDArray, Any, DeviceNDArray]:
    """Returns (complex eigenvalues, eigenvectors as columns, infos) of square matrices, which are overwritten.

    For two conjugate eigenvalues of a real matrix, two columns contain an eigenvector's real and imaginary part.
    """
    count, n, _ = stack.shape
    values = empty_like(stack, (count, n), np.result_type(stack.dtype, np.complex64))
    made = empty_like(stack, stack.shape, stack.dtype) if vectors else None
    infos = empty_like(stack, (count,), np.int32)
    kind, of_values = _cuda_type(stack), _cuda_type(values)

    def library_arguments(i):
        right = None if made is None else made[i]
        return (
            0,
            int(vectors),
            n,
            kind,
            stack[i],
            n,
            of_values,
            values[i],
            kind,
            None,
            n,
            kind,
            right,
            n,
            kind,
        )

    geev = _StackSolver(stack, "Xgeev", *library_arguments(0))
    for i in range(count):
        geev(*library_arguments(i), infos[i : i + 1])
    return values, made, infos


def _run_jacobi(stack, name, args, infos, parameters):
    """Calls a batched Jacobi function of cuSOLVER, which returns its workspace size in elements."""
    handle, size = _solver_handle(stack), ctypes.c_int()
    count = stack.shape[0]
    handle(f"{name}_bufferSize", *args, ctypes.addressof(size), parameters, count)
    work = workspace(size.value * stack.dtype.itemsize)
    handle(name, *args, work, size.value, infos, parameters, count)


def _tiny_svd(stack, full, vectors):
    count, n, m = stack.shape
    values = empty_like(stack, (count, n), real_dtype(stack.dtype))
    infos = empty_like(stack, (count,), np.int32)
    u, v = (empty_like(stack, (count, k, k), stack.dtype) for k in (m, n))
    name = f"{LETTERS[stack.dtype.char]}gesvdjBatched"
    jacobi = _cached_object(stack, "GesvdjInfo")
    _run_jacobi(stack, name, (int(vectors), m, n, stack, m, values, u, m, v, n), infos, jacobi)
    if not vectors:
        return None, values, None, infos
    v = _conjugate_copy(v.swapaxes(1, 2))
    return u if full or m == n else u[:, :n].copy("C"), values, v, infos


def svd(stack: DeviceNDArray, full: bool, vectors: bool) -> tuple[Any, Any, Any, Any]:
    """Returns (columns of U, singular values, columns of V^H, infos); U and V^H are None without ``vectors``.

    The matrices must have at least as many rows as columns, and are overwritten.
    """
    count, n, m = stack.shape
    if is_stack_of_small_matrices(stack, TINY):
        return _tiny_svd(stack, full, vectors)
    if vectors and n >= POLAR and CUSOLVER.has_function("Xgesvdp"):
        return _polar_svd(stack, full)
    return _qr_svd(stack, full, vectors)


def _polar_svd(stack, full):
    """Computes the SVD by a polar decomposition, which is faster and more accurate than the QR algorithm.

    cuSOLVER perturbs matrices that are nearly singular, and reports the size of the perturbation; these
    matrices are decomposed again. In double precision, a perturbation is far below the precision of float32.
    """
    dtype, limit = stack.dtype, 0.0
    if dtype.char in "fF" and _core.device_attribute(stack.device, _DOUBLE_RATIO) <= 2:
        limit = _MAX_PERTURBATION
    work = stack.astype(np.result_type(dtype, np.float64)) if limit else stack.copy("C")
    u, values, v, infos, perturbed = _polar_factors(work, full)
    if limit:
        u, v, values = u.astype(dtype), v.astype(dtype), values.astype(real_dtype(dtype))
    highest = values[:, 0].copy_to_host()  # waits
    for i in np.flatnonzero((infos.copy_to_host() != 0) | ~(perturbed <= limit * highest)):
        one = slice(i, i + 1)
        u[one], values[one], v[one], infos[one] = _qr_svd(stack[one], full, True)
    return u, values, v, infos


def _polar_factors(stack, full):
    """Returns (columns of U, singular values, columns of V^H, infos, perturbations). cuSOLVER writes the
    perturbations to host memory, so read them only after waiting for the stream."""
    count, n, m = stack.shape
    values = empty_like(stack, (count, n), real_dtype(stack.dtype))
    infos = empty_like(stack, (count,), np.int32)
    u = empty_like(stack, (count, m if full else n, m), stack.dtype)
    v = empty_like(stack, (count, n, n), stack.dtype)
    kind, real, perturbed = _cuda_type(stack), _cuda_type(values), np.zeros(count)
    begin = (1, 0 if full else 1, m, n, kind)

    def library_arguments(i):
        return (*begin, stack[i], m, real, values[i], kind, u[i], m, kind, v[i], n, kind)

    gesvdp = _StackSolver(stack, "Xgesvdp", *library_arguments(0))
    for i in range(count):
        gesvdp(*library_arguments(i), infos[i : i + 1], more=(perturbed.ctypes.data + 8 * i,))
    return u, values, _conjugate_copy(v.swapaxes(1, 2)), infos, perturbed


def _conjugate_copy(array):
    """Returns a contiguous copy of the conjugates."""
    return (np.conjugate(array) if array.dtype.kind == "c" else array).copy("C")


def _qr_svd(stack, full, vectors):
    count, n, m = stack.shape
    values = empty_like(stack, (count, n), real_dtype(stack.dtype))
    infos = empty_like(stack, (count,), np.int32)
    u = empty_like(stack, (count, m if full else n, m), stack.dtype) if vectors else None
    v = empty_like(stack, (count, n, n), stack.dtype) if vectors else None
    job = ord("N") if not vectors else ord("A") if full else ord("S")
    kind, real = _cuda_type(stack), _cuda_type(values)

    def library_arguments(i=None):
        one = (
            (stack, values, u, v)
            if i is None
            else (stack[i], values[i], u if u is None else u[i], v if v is None else v[i])
        )
        a, s, left, right = one
        return job, job, m, n, kind, a, m, real, s, kind, left, m, kind, right, n, kind

    gesvd = _StackSolver(stack, "Xgesvd", *library_arguments())
    for i in range(count):
        gesvd(*library_arguments(i), infos[i : i + 1])
    return u, values, v, infos
