"""Implements window functions (hamming, kaiser, ...) and FFT frequencies, which create arrays on the current
device.

NumPy's functions have no `like=`, so the functions of this module are called through numbalite.cuda."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions.creation import number_sequence
from numbalite.functions.elements import i0
from numbalite.ndarray.dispatch import implements

if TYPE_CHECKING:
    from collections.abc import Callable

    from numbalite.ndarray.arrays import DeviceNDArray


def _register_window(name: str, of: Callable) -> Callable:
    """Registers a window function from ``of(n, last)``, which returns its values at n = -last, -last + 2,
    ..., last."""

    def window_function(M: int) -> DeviceNDArray:
        count = operator.index(M)
        if count < 2:
            return number_sequence(1.0, 0.0, max(count, 0), np.float64)
        return of(number_sequence(1.0 - count, 2.0, count, np.float64), float(count - 1))

    window_function.__name__ = name
    return implements(name)(window_function)


def _cosine_values(n, last):
    return np.cos(n * (np.pi / last))


bartlett = _register_window("bartlett", lambda n, last: 1 - np.abs(n) / last)
hanning = _register_window("hanning", lambda n, last: 0.5 + 0.5 * _cosine_values(n, last))
hamming = _register_window("hamming", lambda n, last: 0.54 + 0.46 * _cosine_values(n, last))
blackman = _register_window(
    "blackman",
    lambda n, last: 0.42 + 0.5 * _cosine_values(n, last) + 0.08 * _cosine_values(2 * n, last),
)


@implements("kaiser")
def kaiser(M: int, beta) -> DeviceNDArray:
    count = operator.index(M)
    if count < 2:
        return number_sequence(1.0, 0.0, max(count, 0), np.float64)
    n = number_sequence(1.0 - count, 2.0, count, np.float64) / (count - 1)
    return i0(beta * np.sqrt(1 - n * n)) / np.i0(float(beta))


# ------------------------------------------------------------------------------------ frequencies


@implements("fft.fftfreq")
def fftfreq(n: int, d: float = 1.0, device=None) -> DeviceNDArray:
    n = _window_length(n)
    made = number_sequence(0, 1, n, np.float64)
    upper = (n + 1) // 2
    made[upper:] = number_sequence(-(n // 2), 1, n - upper, np.float64)
    return made * (1.0 / (n * d))


@implements("fft.rfftfreq")
def rfftfreq(n: int, d: float = 1.0, device=None) -> DeviceNDArray:
    n = _window_length(n)
    return number_sequence(0, 1, n // 2 + 1, np.float64) * (1.0 / (n * d))


def _window_length(n):
    if not hasattr(n, "__index__"):
        raise ValueError("n should be an integer")
    return operator.index(n)
