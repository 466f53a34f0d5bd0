"""Polynomials, and the powers that they are made of."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.cuda.arrayfunctions import arguments
from numbalite.cuda.arrayfunctions.dispatch import implements

if TYPE_CHECKING:
    from typing import Any

    from numbalite.cuda.arrays import DeviceNDArray


@implements("polyval")
def polyval(p: Any, x: Any) -> Any:
    """Horner's rule: two passes for each coefficient."""
    if isinstance(x, np.poly1d):
        raise TypeError("polyval: x is a polynomial, device arrays of numbers are expected")
    p, x = arguments.arrays_of((p, x))
    y = np.zeros_like(x)
    for k in range(len(p)):
        y = y * x + p[k : k + 1].reshape(p.shape[1:])
    return y


@implements("vander")
def vander(x: Any, N: Any = None, increasing: bool = False) -> DeviceNDArray:
    x = arguments.array(x)
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
