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


class SampleStatistics:
    """Statistics of the elements, from which the bin rules compute the number of bins."""

    def __init__(self, a: DeviceNDArray, ptp: Any, counted: Callable) -> None:
        self.a = a
        self.size = a.size
        self.ptp = ptp
        self.counted = counted
        """counted(n) returns the histogram with n bins."""


def _sqrt_width(sample):
    return sample.ptp / np.sqrt(sample.size)


def _sturges_width(sample):
    return sample.ptp / (np.log2(sample.size) + 1)


def _rice_width(sample):
    return sample.ptp / (2 * sample.size ** (1 / 3))


def _scott_width(sample):
    return (24 * np.pi**0.5 / sample.size) ** (1 / 3) * np.std(sample.a).item()


def _freedman_diaconis_width(sample):
    """Returns the bin width by the rule of Freedman and Diaconis."""
    high, low = np.percentile(sample.a, [75, 25]).tolist()
    return 2 * (high - low) * sample.size ** (-1 / 3)


def _doane_width(sample):
    if sample.size <= 2:
        return 0.0
    sigma = np.std(sample.a)
    if not sigma.item() > 0:
        return 0.0
    n = sample.size
    of_normal = np.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    skewness = np.mean(((sample.a - np.mean(sample.a)) / sigma) ** 3.0).item()
    return sample.ptp / (1 + np.log2(n) + np.log2(1 + abs(skewness) / of_normal))


def _stone_bin_count(sample):
    """Returns the number of bins by Stone's rule: the number with the smallest estimated error, from one
    histogram for each number."""
    n = sample.size
    if n <= 1 or sample.ptp == 0:
        return 0

    def estimated_error(count):
        part = sample.counted(count) / n
        return (2 - (n + 1) * np.dot(part, part).item()) / (sample.ptp / count)

    most = max(100, int(np.sqrt(n)))
    best = min(range(1, most + 1), key=estimated_error)
    if best == most:
        errors.warn("The number of bins estimated may be suboptimal.", RuntimeWarning)
    return sample.ptp / best


def _auto_width(sample):
    return min(
        max(_freedman_diaconis_width(sample), _sqrt_width(sample) / 2), _sturges_width(sample)
    )


_WIDTHS = {
    "stone": _stone_bin_count,
    "auto": _auto_width,
    "doane": _doane_width,
    "fd": _freedman_diaconis_width,
    "rice": _rice_width,
    "scott": _scott_width,
    "sqrt": _sqrt_width,
    "sturges": _sturges_width,
}


def check_rule(rule: str, weights: Any) -> None:
    if rule not in _WIDTHS:
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    if weights is not None:
        raise TypeError(
            "Automated estimation of the number of bins is not supported for weighted data"
        )


def bin_count(rule: str, sample: SampleStatistics, first: Any, last: Any) -> int:
    """Returns the number of bins between the first and the last edge."""
    width = _WIDTHS[rule](sample) if sample.size else 0
    if not width:
        return 1
    if sample.a.dtype.kind in "iu" and width < 1:
        width = 1
    return math.ceil((last - first) / width)
