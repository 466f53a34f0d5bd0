"""Implements qr, svd, eig and eigh, and functions that use singular values: matrix_rank, pinv and lstsq."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments as given
from numbalite.functions import reductions
from numbalite.functions.arguments import empty_like
from numbalite.linalg import lapack
from numbalite.linalg.arguments import (
    LinAlgError,
    check_infos,
    compute_dtype,
    copy_column_major,
    copy_row_major,
    matrix_array,
    real_dtype,
    same_device,
    square_matrix_array,
)
from numbalite.linalg.results import (
    as_named_tuple,
    complex_eigenvectors,
    copy_of_triangle,
    identity_stack,
)
from numbalite.missingnames import WAYS_OUT
from numbalite.ndarray.assign import on_device_of
from numbalite.ndarray.dispatch import implements
from numbalite.ufuncs import elementwise

if TYPE_CHECKING:
    from typing import Any

_NO_VALUE: Any = np._NoValue


# -------------------------------------------------------------------------------------------------- QR


def _copy_to_rows(stack_by_columns, batch):
    """Copies a column-major stack to a row-major array with the batch dimensions."""
    made = stack_by_columns.swapaxes(1, 2)
    made = made.copy("C")
    return made.reshape(batch + made.shape[1:])


@implements("linalg.qr")
def qr(a, mode: str = "reduced") -> Any:
    """Computes a = q r by Householder reflections; the modes are reduced, complete, r and raw. Does not
    wait."""
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"linalg.qr: unrecognized mode {mode!r}: reduced, complete, r or raw")
    with on_device_of(a):
        a = matrix_array("qr", a)
        dtype = compute_dtype("qr", a)
        batch, (m, n) = a.shape[:-2], a.shape[-2:]
        k = min(m, n)
        factors = copy_column_major(a, dtype)  # (count, n, m)
        if factors.size:
            scales = lapack.qr(factors)
        else:
            scales = empty_like(a, (factors.shape[0], k), dtype)
        if mode == "raw":
            return factors.reshape((*batch, n, m)), scales.reshape((*batch, k))
        columns = m if mode == "complete" else k
        upper = copy_of_triangle(factors.swapaxes(1, 2)[:, :columns], False)
        upper = upper.reshape((*batch, columns, n))
        if mode == "r":
            return upper
        return as_named_tuple("qr", _q_factor(factors, scales, columns, batch), upper)


def _q_factor(factors, scales, columns, batch):
    count, n, m = factors.shape
    if not factors.size:
        made = identity_stack(factors, count, m, factors.dtype)[:, :columns]
        return _copy_to_rows(made, batch)
    if columns <= n:
        wide = factors if columns == n else factors[:, :columns].copy("C")
    else:
        wide = empty_like(factors, (count, columns, m), factors.dtype)
        wide.fill(0)
        wide[:, :n] = factors
    lapack.qr_columns(wide, scales)
    return _copy_to_rows(wide, batch)


# ------------------------------------------------------------------------------------ singular values


def singular_values_and_vectors(
    name: str, a: Any, dtype: np.dtype, full: bool, vectors: bool
) -> tuple:
    """Returns (u, s, vh) as in NumPy; u and vh are None without ``vectors``. Waits."""
    batch, (m, n) = a.shape[:-2], a.shape[-2:]
    is_wide, k = n >= m, min(m, n)
    # cuSOLVER supports tall matrices: a wide row-major matrix is read as its column-major transpose.
    given_by = copy_row_major(a, dtype) if is_wide else copy_column_major(a, dtype)
    count = given_by.shape[0]
    if given_by.size:
        u, values, v, infos = lapack.svd(given_by, full, vectors)
        check_infos(infos, "SVD did not converge")
    else:
        values = empty_like(a, (count, k), real_dtype(dtype))
        long = identity_stack(a, count, max(m, n), dtype)
        u = long if full else long[:, :k].copy("C")
        v = identity_stack(a, count, k, dtype)
    values = values.reshape((*batch, k))
    if not vectors:
        return None, values, None
    if not is_wide:
        return _copy_to_rows(u, batch), values, _copy_to_rows(v, batch)
    return v.reshape(batch + v.shape[1:]), values, u.reshape(batch + u.shape[1:])


@implements("linalg.svd")
def svd(a, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Returns the singular values, and with compute_uv the singular vectors.

    Waits for convergence: LinAlgError if there is none. `hermitian` has no effect on speed."""
    with on_device_of(a):
        a = square_matrix_array("svd", a) if hermitian else matrix_array("svd", a)
        u, values, vh = singular_values_and_vectors(
            "svd", a, compute_dtype("svd", a), full_matrices, compute_uv
        )
        return as_named_tuple("svd", u, values, vh) if compute_uv else values


@implements("linalg.svdvals")
def svdvals(x, /) -> Any:
    return svd(x, compute_uv=False)


@implements("linalg.matrix_rank")
def matrix_rank(A, tol=None, hermitian: bool = False, *, rtol=None) -> Any:
    """Returns the number of singular values above the tolerance."""
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    with on_device_of(A):
        A = given.as_device_array(A, "A")
        if A.ndim < 2:
            return int(np.any(A))
        values = svd(A, compute_uv=False, hermitian=hermitian)
        if tol is None:
            eps = np.finfo(values.dtype).eps
            rtol = max(A.shape[-2:]) * eps if rtol is None else _limit_with_axis(rtol)
            highest = reductions.max(values, -1, keepdims=True, initial=0)
            tol = np.multiply(highest, rtol)
        else:
            tol = _limit_with_axis(tol)
        return reductions.sum(np.greater(values, tol), -1, np.intp)


def _limit_with_axis(limit):
    return limit if np.ndim(limit) == 0 else given.as_device_array(limit)[..., None]


def _adjoint(a):
    """Returns the conjugate transposes; views for real matrices."""
    a = a.swapaxes(-1, -2)
    return np.conjugate(a) if a.dtype.kind == "c" else a


@implements("linalg.pinv")
def pinv(a, rcond=None, hermitian: bool = False, *, rtol=_NO_VALUE) -> Any:
    """Returns the Moore-Penrose inverse, by singular values."""
    with on_device_of(a):
        a = square_matrix_array("pinv", a) if hermitian else matrix_array("pinv", a)
        dtype = compute_dtype("pinv", a) if all(a.shape[-2:]) else a.dtype  # as NumPy has it
        if rcond is None:
            rcond = 1e-15 if rtol is _NO_VALUE else rtol
            if rcond is None:
                rcond = max(a.shape[-2:]) * np.finfo(dtype).eps
        elif rtol is not _NO_VALUE:
            raise ValueError("`rtol` and `rcond` can't be both set.")
        if not a.size:
            return empty_like(a, a.shape[:-2] + a.shape[:-3:-1], dtype)
        u, values, vh = singular_values_and_vectors("pinv", a, dtype, False, True)
        highest = reductions.max(values, -1, keepdims=True)
        limits = np.multiply(highest, _limit_with_axis(rcond)).astype(values.dtype, copy=False)
        factors = elementwise.template_ufunc("inverse_above")(values, limits)
        return np.matmul(_adjoint(vh), np.multiply(factors[..., None], _adjoint(u)))


@implements("linalg.lstsq")
def lstsq(a, b, rcond=None) -> Any:
    """Returns the least-squares solution of a x = b: (x, sums of squared residuals, rank, singular
    values)."""
    with on_device_of(a, b):
        a, b = given.as_device_array(a), given.as_device_array(b, "b")
        is_vector = b.ndim == 1
        if a.ndim != 2 or b.ndim not in (1, 2):
            raise LinAlgError(
                f"linalg.lstsq: a has shape {a.shape}, b has shape {b.shape}: a must be two-dimensional, "
                "b a vector or two-dimensional"
            )
        if a.shape[0] != b.shape[0]:
            raise LinAlgError(
                f"linalg.lstsq: a has shape {a.shape}, b has shape {b.shape}: incompatible dimensions"
            )
        same_device("lstsq", a, b)
        dtype = compute_dtype("lstsq", a, b)
        b = b.reshape(-1, 1) if is_vector else b
        b = b.astype(dtype, copy=False)
        made = _least_squares(a, b, dtype, rcond)
        if is_vector:
            return made[0].reshape(a.shape[1]), *made[1:]
        return made


def _least_squares(a, b, dtype, rcond):
    m, n = a.shape
    columns, real = b.shape[1], real_dtype(dtype)
    u, values, vh = singular_values_and_vectors("lstsq", a, dtype, False, True)
    eps = np.finfo(dtype).eps
    rcond = (
        eps * max(m, n) if rcond is None else eps if isinstance(rcond, str) or rcond < 0 else rcond
    )
    if values.size:
        limit = np.multiply(values[:1], real.type(rcond))
        rank = int(reductions.sum(np.greater(values, limit), None, np.intp).item())
        weights = elementwise.template_ufunc("inverse_above")(values, limit)
        x = np.matmul(_adjoint(vh), np.multiply(weights[:, None], np.matmul(_adjoint(u), b)))
        distance = np.subtract(b, np.matmul(a.astype(dtype, copy=False), x))
    else:
        rank, distance = 0, b
        x = empty_like(a, (n, columns), dtype)
        x.fill(0)
    if rank == n and m > n:
        residuals = reductions.sum(elementwise.template_ufunc("squared", "squares")(distance), 0)
    else:
        residuals = empty_like(a, (0,), real)
    return x, residuals, np.int32(rank), values


# ------------------------------------------------------------------------------------ eigenvalues


def _hermitian_eigenvalues(name, a, UPLO, vectors):
    side = str(UPLO).upper()
    if side not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    a = square_matrix_array(name, a)
    dtype = compute_dtype(name, a)
    factors = copy_row_major(a, dtype)
    count, n, _ = factors.shape
    if factors.size:
        # cuSOLVER reads a row-major Hermitian matrix as its conjugate, which has the same eigenvalues.
        # NumPy's lower triangle is the upper triangle of the conjugate matrix.
        values, infos = lapack.eigh(factors, side == "L", vectors)
        check_infos(infos, "Eigenvalues did not converge")
    else:
        values = empty_like(a, (count, n), real_dtype(dtype))
    values = values.reshape(a.shape[:-1])
    if not vectors:
        return values
    made = factors.swapaxes(1, 2)
    made = (np.conjugate(made) if dtype.kind == "c" else made).copy("C")
    return as_named_tuple("eigh", values, made.reshape(a.shape))


@implements("linalg.eigh")
def eigh(a, UPLO: str = "L") -> Any:
    """Returns the ascending eigenvalues and the eigenvectors of a symmetric or Hermitian matrix.

    Reads only one triangle. Waits for convergence: LinAlgError if there is none.
    """
    with on_device_of(a):
        return _hermitian_eigenvalues("eigh", a, UPLO, True)


@implements("linalg.eigvalsh")
def eigvalsh(a, UPLO: str = "L") -> Any:
    with on_device_of(a):
        return _hermitian_eigenvalues("eigvalsh", a, UPLO, False)


@functools.cache
def _numpy_returns_real_eigenvalues():
    """Returns whether the installed NumPy returns real eigenvalues if all imaginary parts are zero."""
    return np.linalg.eigvals(np.eye(1)).dtype.kind == "f"


def _general_eigenvalues(name, a, vectors):
    a = square_matrix_array(name, a)
    dtype = compute_dtype(name, a)
    if not lapack.has_general_eigensolver():
        raise TypeError(
            f"numpy.linalg.{name} has no counterpart on the device before cuSOLVER of CUDA 12.8: {WAYS_OUT}"
        )
    if a.dtype.kind in "fc" and not np.all(np.isfinite(a)):
        raise LinAlgError("Array must not contain infs or NaNs")
    factors = copy_column_major(a, dtype)
    if factors.size:
        values, columns, infos = lapack.eig(factors, vectors)
        check_infos(infos, "Eigenvalues did not converge")
    else:
        values = empty_like(a, factors.shape[:2], np.result_type(dtype, np.complex64))
        columns = factors
    made = None
    if vectors:
        made = (
            complex_eigenvectors(values, columns)
            if dtype.kind == "f"
            else columns.swapaxes(1, 2).copy("C")
        )
        made = made.reshape(a.shape)
    if dtype.kind == "f" and _numpy_returns_real_eigenvalues() and not np.any(values.imag):
        values, made = values.real.copy(), made.real.copy() if vectors else None
    return values.reshape(a.shape[:-1]), made


@implements("linalg.eig")
def eig(a) -> Any:
    """Returns the eigenvalues, in no particular order, and the eigenvectors of any square matrix.

    Waits to check for non-finite elements, for convergence, and for real eigenvalues of a real matrix.
    """
    with on_device_of(a):
        return as_named_tuple("eig", *_general_eigenvalues("eig", a, True))


@implements("linalg.eigvals")
def eigvals(a) -> Any:
    with on_device_of(a):
        return _general_eigenvalues("eigvals", a, False)[0]
