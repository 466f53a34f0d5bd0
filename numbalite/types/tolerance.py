"""Computes the tolerance of a computed value, by its dtype."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Tolerance(NamedTuple):
    """The allowed difference is ``rtol`` * value + ``atol`` * largest value + ``absolute``."""

    rtol: float
    atol: float
    absolute: float = 0.0


def tolerance(dtype: Any, terms: float = 1) -> Tolerance:
    """Returns the tolerance for a value of a dtype.

    Parameters
    ----------
    dtype : dtype
        The dtype of the value. Integers, booleans and dates must be equal.
    terms : float
        The number of terms, for a sum of products.

    Returns
    -------
    Tolerance
        A few times the distance between neighbouring numbers; for a sum,
        multiplied by the square root of ``terms``.

    Examples
    --------
    >>> from numbalite.course import tolerance
    >>> tolerance(np.float32).rtol
    1.9073486328125e-06
    """
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        return Tolerance(0.0, 0.0)
    step = float(np.finfo(dtype).eps)
    return Tolerance(16 * step * terms**0.5, 2 * step * terms**0.5)
