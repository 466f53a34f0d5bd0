"""Iterative solvers for sparse arrays: `cuda.sparse.linalg.cg`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.sparse.construct import issparse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

__all__ = ["cg"]


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[[DeviceNDArray], object] | None = None,
) -> tuple[DeviceNDArray, int]:
    """Solves ``A @ x = b`` for a positive definite matrix.

    The matrix is symmetric (or Hermitian). Each iteration waits for the norm of
    the residual.

    Parameters
    ----------
    A : sparse array, DeviceNDArray or function
        The matrix, or a function of a vector.
    b : array
        The right-hand side, a vector.
    x0 : array
        The start of the iteration.
    rtol, atol : float
        The iteration has converged if ``norm(b - A @ x) <= max(rtol *
        norm(b), atol)``.
    maxiter : int
        The maximum number of iterations, by default 10 times the length of
        ``b``.
    M : sparse array, DeviceNDArray or function
        Approximates the inverse of ``A``.
    callback : function
        A function that is called with x after each iteration.

    Returns
    -------
    tuple
        (x, info): info is 0, or the number of iterations without
        convergence.

    Raises
    ------
    ValueError
        ``b`` is not a vector.

    Notes
    -----
    The method is the method of conjugate gradients.

    Examples
    --------
    >>> A = cuda.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(5, 5))
    >>> x, info = cuda.sparse.linalg.cg(A, np.ones(5))
    >>> print(x.copy_to_host().round(3), info)
    [2.5 4.  4.5 4.  2.5] 0
    """
    b = arguments.as_device_array(b, "b")
    if b.ndim == 2 and b.shape[1] == 1:
        b = b.reshape(-1)
    if b.ndim != 1:
        raise ValueError(f"cg: b must be a vector, not an array of shape {b.shape}")
    apply, kinds = _as_operator(A, "A", b.size)
    precondition, others = (None, []) if M is None else _as_operator(M, "M", b.size)
    with arguments.on_device_of(b):
        kind = np.result_type(b.dtype, np.float32, *kinds, *others)
        b = b.astype(kind, copy=False)
        x = _initial_guess(x0, b)
        residual = b - apply(x) if x0 is not None else b.copy()
        enough = max(float(rtol) * float(np.linalg.norm(b)), float(atol))
        most = 10 * b.size if maxiter is None else maxiter
        direction, before = None, None
        for _ in range(most):
            if float(np.linalg.norm(residual)) <= enough:
                return x, 0
            step = residual if precondition is None else precondition(residual)
            now = np.vdot(residual, step)
            direction = step.copy() if direction is None else step + direction * (now / before)
            product = apply(direction)
            length = now / np.vdot(direction, product)
            x += direction * length
            residual = residual - product * length
            before = now
            if callback is not None:
                callback(x)
        return x, 0 if float(np.linalg.norm(residual)) <= enough else most


def _initial_guess(x0, b):
    if x0 is None:
        return np.zeros_like(b)
    x = arguments.as_device_array(x0, "x0").reshape(-1)
    if x.shape != b.shape:
        raise ValueError(f"cg: x0 has {x.size} elements, b has {b.size}")
    return x.astype(b.dtype)


def _as_operator(given, name, n):
    """Returns (a function that multiplies the matrix by a vector, the dtypes of the matrix)"""
    if callable(given) and not hasattr(given, "shape"):
        return given, []
    matrix = given if issparse(given) else arguments.as_device_array(given, name)
    if matrix.shape != (n, n):
        raise ValueError(f"cg: {name} has shape {matrix.shape}, and b has {n} elements")
    return lambda x: matrix @ x, [matrix.dtype]
