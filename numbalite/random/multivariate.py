"""Implements distributions of vectors: multivariate normal, multinomial, Dirichlet. A vector is computed from
numbers that are drawn from scalar distributions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from numbalite.ndarray import arrays
from numbalite.random import parameters
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from typing import Any

_BY_BETA = 0.1
"""Largest alpha below which sums of gamma numbers may be 0."""


def _shape_of_size(what: str, size: Any) -> tuple:
    return () if size is None else parameters.shape_of_size(what, size)


def normal(
    rng: Any, mean: Any, cov: Any, size: Any, check_valid: str, tol: float, method: str, stream: Any
) -> Any:
    what = "multivariate_normal"
    mean, cov = parameters.as_array(what, "mean", mean), parameters.as_array(what, "cov", cov)
    if method not in ("eigh", "svd", "cholesky"):
        raise ValueError(f"{what}: method must be one of {{'eigh', 'svd', 'cholesky'}}")
    if check_valid not in ("warn", "raise", "ignore"):
        raise ValueError(f"{what}: check_valid must equal 'warn', 'raise', or 'ignore'")
    if mean.ndim != 1:
        raise ValueError(f"{what}: mean must be 1 dimensional")
    if cov.shape != mean.shape * 2:
        raise ValueError(
            f"{what}: cov must have shape {mean.shape * 2} for mean of shape {mean.shape}, not {cov.shape}"
        )
    n = mean.shape[0]
    shape = (*_shape_of_size(what, size), n)
    if not n:
        return rng.standard_normal(shape, stream=stream)
    factor = _covariance_factor(what, cov.astype(np.float64), check_valid, tol, method)
    if isinstance(factor, np.ndarray):
        factor = operands.to_device(np.ascontiguousarray(factor), stream)
    drawn = rng.standard_normal((np.prod(shape[:-1], dtype=int).item(), n), stream=stream)
    made = np.matmul(drawn, factor).reshape(shape)
    made += mean.astype(np.float64)
    return made


def _covariance_factor(what, cov, check_valid, tol, method):
    """Returns the matrix by which rows of standard normal numbers are multiplied. The matrix is computed on
    the device if `cov` is a device array, otherwise on the host."""
    if method == "cholesky":
        return np.linalg.cholesky(cov).T
    if method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        is_valid = bool(np.all(values >= -tol))
        factor = vectors * np.sqrt(np.abs(values))
    else:
        vectors, values, others = np.linalg.svd(cov)
        is_valid = bool(np.allclose(np.matmul(others.T * values, others), cov, rtol=tol, atol=tol))
        factor = vectors * np.sqrt(values)
    if check_valid != "ignore" and not is_valid:
        message = f"{what}: covariance is not symmetric positive-semidefinite."
        if check_valid == "raise":
            raise ValueError(message)
        warnings.warn(message, RuntimeWarning, stacklevel=4)
    return factor.T


def multinomial(rng: Any, n: Any, pvals: Any, size: Any, stream: Any) -> Any:
    """Draws each component from a binomial distribution over the trials that remain after the previous
    components."""
    what = "multinomial"
    if not isinstance(n, parameters.NUMBERS):
        n = parameters.as_array(what, "n", n)
    pvals = parameters.as_array(what, "pvals", pvals).astype(np.float64)
    if not pvals.ndim or not pvals.shape[-1]:
        raise ValueError(
            f"{what}: pvals must have at least 1 dimension and the last dimension of pvals must be greater than 0."
        )
    if pvals.size:
        if not bool(np.all((pvals >= 0) & (pvals <= 1))):
            raise ValueError(f"{what}: pvals must be from 0 to 1, and no NaN")
        if float(np.max(np.sum(pvals[..., :-1], axis=-1))) > 1 + 1e-12:
            raise ValueError(f"{what}: sum(pvals[..., :-1]) > 1.0")
    given = [one for one in (n, pvals[..., 0]) if not isinstance(one, parameters.NUMBERS)]
    shape = parameters.broadcast_shape(what, size, given)
    count = pvals.shape[-1]
    before = np.cumsum(pvals, axis=-1) - pvals
    rest = np.where(before < 1, 1 - before, 1)
    chances = np.minimum(pvals / rest, 1.0)
    made = arrays.device_array((*shape, count), np.int64, stream=stream)
    left = arrays.device_array(shape, np.int64, stream=stream)
    left[...] = n
    for j in range(count - 1):
        drawn = rng.binomial(left, chances[..., j], shape, stream=stream)
        made[..., j] = drawn
        left = left - drawn
    made[..., count - 1] = left
    return made


def dirichlet(rng: Any, alpha: Any, size: Any, stream: Any) -> Any:
    what = "dirichlet"
    alpha = parameters.as_array(what, "alpha", alpha).astype(np.float64)
    if alpha.ndim != 1 or not alpha.size:
        raise ValueError(
            f"{what}: alpha must be a one-dimensional sequence of length greater than 0"
        )
    low, high = (float(one) for one in parameters.minimum_and_maximum(alpha))
    if not low >= 0:
        raise ValueError(f"{what}: alpha must be not negative, not {low}")
    shape = (*_shape_of_size(what, size), alpha.shape[0])
    if high < _BY_BETA and low > 0:
        return _dirichlet_by_beta(rng, alpha, shape, stream)
    made = rng.standard_gamma(alpha, shape, stream=stream)
    total = made.sum(axis=-1, keepdims=True)
    made /= np.where(total > 0, total, 1)
    return made


def _dirichlet_by_beta(rng, alpha, shape, stream):
    """Each component is a beta-distributed part of the remainder after the previous components."""
    behind = np.cumsum(alpha[::-1])[::-1]
    made = arrays.device_array(shape, np.float64, stream=stream)
    left = arrays.device_array(shape[:-1], np.float64, stream=stream)
    left.fill(1)
    for j in range(shape[-1] - 1):
        part = rng.beta(float(alpha[j]), float(behind[j + 1]), shape[:-1], stream=stream)
        made[..., j] = left * part
        left = left * (1 - part)
    made[..., shape[-1] - 1] = left
    return made
