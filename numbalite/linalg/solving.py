"""Implements solve, inv, tensorsolve, tensorinv, det, slogdet and cholesky."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from numbalite.functions import arguments as given
from numbalite.functions import reductions
from numbalite.functions.arguments import empty_like
from numbalite.functions.creation import number_sequence
from numbalite.linalg import lapack
from numbalite.linalg.arguments import (
    LinAlgError,
    check_infos,
    compute_dtype,
    copy_column_major,
    copy_row_major,
    real_dtype,
    same_device,
    square_matrix_array,
)
from numbalite.linalg.results import as_named_tuple, copy_of_triangle, identity_stack
from numbalite.ndarray.assign import on_device_of
from numbalite.ndarray.dispatch import implements
from numbalite.ufuncs import elementwise, operands

if TYPE_CHECKING:
    from typing import Any

_SINGULAR = "Singular matrix"


# ------------------------------------------------------------------------------------------- systems


def _check_right_side(a, b):
    """Returns (b, with a column axis if b is a vector; whether b is a vector). Checks b's shape against
    a's."""
    is_vector = b.ndim == 1
    if b.ndim == 0 or b.shape[-1 if is_vector else -2] != a.shape[-1]:
        raise ValueError(
            f"linalg.solve: a has shape {a.shape}, b has shape {b.shape}: b must have {a.shape[-1]} rows"
        )
    return (b.reshape(*b.shape, 1) if is_vector else b), is_vector


@implements("linalg.solve")
def solve(a, b) -> Any:
    """Solves a x = b by LU with partial pivoting. Waits for the factorization: LinAlgError for a singular matrix."""
    with on_device_of(a, b):
        a, b = square_matrix_array("solve", a), given.as_device_array(b, "b")
        same_device("solve", a, b)
        dtype = compute_dtype("solve", a, b)
        b, is_vector = _check_right_side(a, b)
        try:
            batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            raise ValueError(
                f"linalg.solve: a has shape {a.shape}, b has shape {b.shape}: the leading dimensions "
                "cannot be broadcast together"
            ) from None
        shape = batch + b.shape[-2:]
        b = operands.broadcast_view(b, shape)
        if math.prod(a.shape[:-2]) != 1:
            a = operands.broadcast_view(a, batch + a.shape[-2:])
        right = copy_column_major(b, dtype)
        if right.size or a.size:
            lus = copy_row_major(a, dtype)
            pivots, infos = lapack.factor_lu(lus)
            if right.size:
                lapack.lu_solve(lus, pivots, right, lapack.TRANSPOSED)
            check_infos(infos, _SINGULAR)
        if shape[-1] == 1:
            return right.reshape(shape[:-1] if is_vector else shape)
        return right.swapaxes(1, 2).copy("C").reshape(shape)


def inverse_stack(a: Any, dtype: Any) -> tuple[Any, Any]:
    """Returns (the inverses of an array of matrices, infos)"""
    lus = copy_row_major(a, dtype)
    if lapack.is_stack_of_small_matrices(lus, lapack.TINY) and lus.size:
        return lapack.inverse(lus)
    made = identity_stack(lus, lus.shape[0], lus.shape[1], dtype)
    if not made.size:
        return made, empty_like(a, (0,), np.int32)
    pivots, infos = lapack.factor_lu(lus)
    lapack.lu_solve(lus, pivots, made, lapack.NONE)
    return made, infos


@implements("linalg.inv")
def inv(a) -> Any:
    """Returns the inverse. Waits for the factorization: LinAlgError for a singular matrix."""
    with on_device_of(a):
        a = square_matrix_array("inv", a)
        made, infos = inverse_stack(a, compute_dtype("inv", a))
        check_infos(infos, _SINGULAR)
        return made.reshape(a.shape)


@implements("linalg.tensorinv")
def tensorinv(a, ind: int = 2) -> Any:
    a = given.as_device_array(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    length = math.prod(a.shape[ind:])
    return inv(a.reshape(-1 if a.size else 0, length)).reshape(a.shape[ind:] + a.shape[:ind])


@implements("linalg.tensorsolve")
def tensorsolve(a, b, axes=None) -> Any:
    with on_device_of(a, b):
        a, b = given.as_device_array(a), given.as_device_array(b, "b")
    if axes is not None:
        last = list(normalize_axis_tuple(axes, a.ndim, "axes"))
        a = a.transpose([i for i in range(a.ndim) if i not in last] + last)
    left = a.shape[b.ndim - a.ndim :] if a.ndim > b.ndim else ()
    count = math.prod(left)
    if a.size != count**2:
        raise LinAlgError(
            f"linalg.tensorsolve: a has shape {a.shape}, b has shape {b.shape}: a must have as many rows "
            "as columns"
        )
    return solve(a.reshape(count, count), b.ravel()).reshape(left)


# --------------------------------------------------------------------------------------- determinants


def _lu_diagonals(a, dtype):
    """Returns (diagonals of LU, pivots, 1-based row numbers, infos)"""
    lus = copy_row_major(a, dtype)
    count, n, _ = lus.shape
    pivots, infos = lapack.factor_lu(lus)
    indices = number_sequence(1, 1, n, pivots.dtype, lus)
    return lus.diagonal(0, 1, 2), pivots, indices, infos


def _identity_matrix(a, dtype):
    with on_device_of(a):
        made = empty_like(a, a.shape[:-2], dtype)
        made.fill(1)
        return made


@implements("linalg.det")
def det(a) -> Any:
    """Returns the determinant. Does not wait."""
    with on_device_of(a):
        a = square_matrix_array("det", a)
        dtype = compute_dtype("det", a)
        if not a.size:
            return _identity_matrix(a, dtype)
        diagonals, pivots, indices, infos = _lu_diagonals(a, dtype)
        made = reductions.prod(elementwise.template_ufunc("factor")(diagonals, pivots, indices), 1)
        return elementwise.template_ufunc("otherwise")(made, infos, dtype.type(0)).reshape(
            a.shape[:-2]
        )


@implements("linalg.slogdet")
def slogdet(a) -> Any:
    """Returns the sign (or phase) of the determinant and the logarithm of its magnitude. Does not
    wait."""
    with on_device_of(a):
        a = square_matrix_array("slogdet", a)
        dtype = compute_dtype("slogdet", a)
        real = real_dtype(dtype)
        if not a.size:
            return as_named_tuple(
                "slogdet", _identity_matrix(a, dtype), np.log(_identity_matrix(a, real))
            )
        diagonals, pivots, indices, infos = _lu_diagonals(a, dtype)
        phases = elementwise.template_ufunc("phase")(
            elementwise.template_ufunc("factor")(diagonals, pivots, indices)
        )
        sign = elementwise.template_ufunc("otherwise")(
            reductions.prod(phases, 1), infos, dtype.type(0)
        )
        size = reductions.sum(np.log(np.abs(diagonals)), 1)
        size = elementwise.template_ufunc("otherwise")(size, infos, real.type(-np.inf))
        return as_named_tuple("slogdet", sign.reshape(a.shape[:-2]), size.reshape(a.shape[:-2]))


# -------------------------------------------------------------------------------------------- Cholesky


@implements("linalg.cholesky")
def cholesky(a, /, *, upper: bool = False) -> Any:
    """Returns L of a = L L^H, or U of a = U^H U. Waits; raises LinAlgError unless a is positive definite."""
    with on_device_of(a):
        a = square_matrix_array("cholesky", a)
        # cuSOLVER reads a row-major a as conj(a), whose lower triangle consists of a's upper triangle.
        # The factor L of conj(a), read as row-major, is the factor U of a.
        factors = (copy_row_major if upper else copy_column_major)(a, compute_dtype("cholesky", a))
        if not factors.size:
            return factors.reshape(a.shape)
        infos = lapack.cholesky(factors)
        made = copy_of_triangle(factors if upper else factors.swapaxes(1, 2), not upper)
        check_infos(infos, "Matrix is not positive definite")
        return made.reshape(a.shape)
