"""Implements polynomials by their coefficients: evaluation, arithmetic, fits, and Vandermonde matrices."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import errors
from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence
from numbalite.functions.signals import convolve
from numbalite.ndarray.dispatch import implements

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


@implements("polyval")
def polyval(p, x) -> Any:
    """Evaluates a polynomial by Horner's rule, in two passes over x per coefficient."""
    if isinstance(x, np.poly1d):
        raise TypeError("polyval: x must be a device array of numbers, not a polynomial")
    p, x = arguments.arrays_of((p, x))
    y = np.zeros_like(x)
    for k in range(len(p)):
        y = y * x + p[k : k + 1].reshape(p.shape[1:])
    return y


def _coefficient_array(p, name):
    if isinstance(p, np.poly1d):
        raise TypeError(f"{name}: pass a device array of coefficients: a poly1d is in host memory")
    p = arguments.as_device_array(p)
    return p.reshape(1) if p.ndim == 0 else p


def _coefficient_vector(p, name):
    if np.ndim(p) == 0:
        raise TypeError(f"{name}: p has no dimensions; pass a 1-dimensional array of coefficients")
    return _coefficient_array(p, name)


def _all_coefficients(name, *several):
    lines = [_coefficient_array(one, name) for one in several]
    return arguments.arrays_of(lines)


def _pad_coefficients(one, length):
    """Returns the coefficients, with leading zeros added up to a length."""
    more = length - len(one)
    return one if more <= 0 else np.concatenate([np.zeros(more, one.dtype, like=one), one])


def _equal_length_coefficients(name, a1, a2):
    one, other = _all_coefficients(name, a1, a2)
    length = max(len(one), len(other))
    return _pad_coefficients(one, length), _pad_coefficients(other, length)


@implements("polyadd")
def polyadd(a1, a2) -> DeviceNDArray:
    return np.add(*_equal_length_coefficients("polyadd", a1, a2))


@implements("polysub")
def polysub(a1, a2) -> DeviceNDArray:
    return np.subtract(*_equal_length_coefficients("polysub", a1, a2))


@implements("polymul")
def polymul(a1, a2) -> DeviceNDArray:
    """Waits for the index of the first nonzero coefficient, because NumPy drops leading zeros."""
    shortened = []
    for one in _all_coefficients("polymul", a1, a2):
        if one.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        trimmed = np.trim_zeros(one, "f")
        shortened.append(trimmed if len(trimmed) else np.zeros(1, one.dtype, like=one))
    first, second = shortened
    return convolve(first, second)


@implements("polyder")
def polyder(p, m: int = 1) -> DeviceNDArray:
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = _coefficient_vector(p, "polyder")
    for _ in range(m):
        degree = max(len(p) - 1, 0)
        p = p[:-1] * number_sequence(degree, -1, degree, np.int64, p)
    return p


@implements("polyint")
def polyint(p, m: int = 1, k=None) -> DeviceNDArray:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    p = _coefficient_vector(p, "polyint")
    constants = np.zeros(m, like=p) if k is None else _coefficient_array(k, "polyint")
    if len(constants) == 1 and m > 1:
        constants = constants[0] * np.ones(m, like=p)
    if len(constants) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for i in range(m):
        powers = number_sequence(len(p), -1, len(p), np.int64, p)
        p = np.concatenate([np.true_divide(p, powers), constants[i : i + 1]])
    return p


@implements("polyfit")
def polyfit(x, y, deg, rcond=None, full: bool = False, w=None, cov=False) -> Any:
    """Solves the least-squares problem by singular values; waits for the device."""
    count = int(deg) + 1
    if count < 1:
        raise ValueError("expected deg >= 0")
    x, y = (one + 0.0 for one in arguments.arrays_of((x, y)))
    if x.ndim != 1:
        raise TypeError("expected 1D vector for x")
    if x.size == 0:
        raise TypeError("expected non-empty vector for x")
    if y.ndim < 1 or y.ndim > 2:
        raise TypeError("expected 1D or 2D array for y")
    if len(x) != len(y):
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = len(x) * np.finfo(x.dtype).eps
    powers = vander(x, count)
    if w is not None:
        powers, y = _apply_weights(powers, y, arguments.as_device_array(w) + 0.0)
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    powers = powers / scale
    made, residuals, rank, values = np.linalg.lstsq(powers, y, rcond)
    made = (made.T / scale).T
    if rank != count and not full:
        errors.warn("Polyfit may be poorly conditioned", _RANK_WARNING)
    if full:
        return made, residuals, rank, values, rcond
    if cov:
        return made, _covariance(powers, scale, residuals, y.ndim, cov)
    return made


_RANK_WARNING = getattr(np, "exceptions", np).RankWarning


def _apply_weights(powers, y, w):
    if w.ndim != 1:
        raise TypeError("expected a 1-d array for weights")
    if len(w) != len(y):
        raise TypeError("expected w and y to have the same length")
    return powers * w[:, None], y * (w[:, None] if y.ndim == 2 else w)


def _covariance(powers, scale, residuals, ndim, cov):
    base = np.linalg.inv(np.dot(powers.T, powers)) / np.outer(scale, scale)
    factor = 1
    if cov != "unscaled":
        count, order = powers.shape
        if count <= order:
            raise ValueError(
                "the number of data points must exceed order to scale the covariance matrix"
            )
        factor = residuals / (count - order)
    return base * factor if ndim == 1 else base[:, :, None] * factor


@implements("vander")
def vander(x, N=None, increasing: bool = False) -> DeviceNDArray:
    x = arguments.as_device_array(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.size if N is None else operator.index(N)
    made = arguments.empty((x.size, count), np.promote_types(x.dtype, int), x)
    powers = made if increasing else made[:, ::-1]
    if count > 0:
        powers[:, 0] = 1
    if count > 1:
        powers[:, 1:] = np.cumprod(
            np.broadcast_to(x[:, None], (x.size, count - 1)), axis=1, dtype=made.dtype
        )
    return made
