"""Computes covariance and correlation matrices, by one matrix product."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import errors
from numbalite.functions import arguments
from numbalite.functions.reductions import average, mean
from numbalite.ndarray.dispatch import implements

if TYPE_CHECKING:
    from numbalite.ndarray.arrays import DeviceNDArray


@implements("cov")
def cov(
    m,
    y=None,
    rowvar: bool = True,
    bias: bool = False,
    ddof=None,
    fweights=None,
    aweights=None,
    *,
    dtype=None,
) -> DeviceNDArray:
    """Waits for the device if there are weights, because their sums are checked on the host."""
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    if ddof is None:
        ddof = int(not bias)
    x = _variable_rows(m, y, rowvar, dtype)
    if x.shape[0] == 0:
        return x.reshape(0, 0)
    counts = _float64_weights(fweights, "fweights", x)
    others = _float64_weights(aweights, "aweights", x)
    if counts is not None and bool(np.any(counts != np.rint(counts))):
        raise TypeError("fweights must be integer")
    both = counts if others is None else others if counts is None else counts * others
    if both is None:
        middle, degrees = mean(x, 1, keepdims=True), x.shape[1] - ddof
    else:
        middle, total = average(x, 1, both, True, keepdims=True)
        degrees = total = total.ravel()[0].item().real
        if ddof:
            degrees -= ddof if others is None else ddof * np.sum(both * others).item() / total
    if degrees <= 0:
        errors.warn("Degrees of freedom <= 0 for slice", RuntimeWarning)
        degrees = 0.0
    x = x - middle
    right = (x if both is None else x * both).T
    made = x @ (np.conjugate(right) if right.dtype.kind == "c" else right)
    made *= np.true_divide(1, degrees)
    return made.squeeze()


def _variable_rows(m, y, rowvar, dtype):
    """Returns the variables of both arrays as rows of one array. Callers must not modify the returned array,
    because it may share memory with an argument."""
    given = [m] if y is None else [m, y]
    given = arguments.arrays_of(given, "an array of variables")
    for one, name in zip(given, "my", strict=False):
        if one.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    dtype = np.result_type(*(one.dtype for one in given), np.float64) if dtype is None else dtype
    if np.dtype(dtype).kind not in "fc":
        raise TypeError(f"cov: means have fractions, but the dtype {np.dtype(dtype)} cannot hold")
    rows = [np.atleast_2d(one).astype(dtype, copy=False) for one in given]
    if not rowvar:
        if given[0].ndim != 1:
            rows[0] = rows[0].T
        if y is not None and rows[1].shape[0] != 1:
            rows[1] = rows[1].T
    if rows[0].shape[0] == 0:
        return rows[0]
    return rows[0] if y is None else np.concatenate(rows)


def _float64_weights(given, name, x):
    if given is None:
        return None
    weights = arguments.as_device_array(given, name).astype(np.float64, copy=False)
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != x.shape[1]:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if bool(np.any(weights < 0)):
        raise ValueError(f"{name} cannot be negative")
    return weights


@implements("corrcoef")
def corrcoef(
    x, y=None, rowvar: bool = True, bias=np._NoValue, ddof=np._NoValue, *, dtype=None
) -> DeviceNDArray:
    if bias is not np._NoValue or ddof is not np._NoValue:
        errors.warn("bias and ddof have no effect and are deprecated", DeprecationWarning)
    made = cov(x, y, rowvar, dtype=dtype)
    if made.ndim == 0:
        return made / made
    deviations = np.sqrt(np.diag(made).real)
    made /= deviations[:, None]
    made /= deviations[None, :]
    for part in (made.real, made.imag) if made.dtype.kind == "c" else (made,):
        np.clip(part, -1, 1, out=part)  # type: ignore[call-overload]
    return made
