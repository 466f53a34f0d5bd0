"""Implements NumPy's rules for the number of bins of a histogram ("auto", "fd", ...), from statistics that
the device reduces."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite import errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


class Sample:
    """The statistics of the elements that the bin rules use."""

    def __init__(self, a: DeviceNDArray, ptp: Any, counted: Callable) -> None:
        self.a = a
        self.size = a.size
        self.ptp = ptp
        self.counted = counted
        """counted(n) returns the histogram with n bins."""


def _sqrt(sample):
    return sample.ptp / np.sqrt(sample.size)


def _sturges(sample):
    return sample.ptp / (np.log2(sample.size) + 1)


def _rice(sample):
    return sample.ptp / (2 * sample.size ** (1 / 3))


def _scott(sample):
    return (24 * np.pi**0.5 / sample.size) ** (1 / 3) * np.std(sample.a).item()


def _fd(sample):
    """Returns the bin width by the rule of Freedman and Diaconis."""
    high, low = np.percentile(sample.a, [75, 25]).tolist()
    return 2 * (high - low) * sample.size ** (-1 / 3)


def _doane(sample):
    if sample.size <= 2:
        return 0.0
    sigma = np.std(sample.a)
    if not sigma.item() > 0:
        return 0.0
    n = sample.size
    of_normal = np.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    skewness = np.mean(((sample.a - np.mean(sample.a)) / sigma) ** 3.0).item()
    return sample.ptp / (1 + np.log2(n) + np.log2(1 + abs(skewness) / of_normal))


def _stone(sample):
    """Returns the number of bins by Stone's rule: the number with the smallest estimated error, from one
    histogram for each number."""
    n = sample.size
    if n <= 1 or sample.ptp == 0:
        return 0

    def error(count):
        part = sample.counted(count) / n
        return (2 - (n + 1) * np.dot(part, part).item()) / (sample.ptp / count)

    most = max(100, int(np.sqrt(n)))
    best = min(range(1, most + 1), key=error)
    if best == most:
        errors.warn("The number of bins estimated may be suboptimal.", RuntimeWarning)
    return sample.ptp / best


def _auto(sample):
    return min(max(_fd(sample), _sqrt(sample) / 2), _sturges(sample))


_WIDTHS = {
    "stone": _stone,
    "auto": _auto,
    "doane": _doane,
    "fd": _fd,
    "rice": _rice,
    "scott": _scott,
    "sqrt": _sqrt,
    "sturges": _sturges,
}


def check(rule: str, weights: Any) -> None:
    if rule not in _WIDTHS:
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    if weights is not None:
        raise TypeError(
            "Automated estimation of the number of bins is not supported for weighted data"
        )


def count(rule: str, sample: Sample, first: Any, last: Any) -> int:
    """Returns the number of bins between the first and the last edge."""
    width = _WIDTHS[rule](sample) if sample.size else 0
    if not width:
        return 1
    if sample.a.dtype.kind in "iu" and width < 1:
        width = 1
    return math.ceil((last - first) / width)
