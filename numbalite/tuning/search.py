"""Selects the variants to measure if there are too many: Bayesian optimization with a Gaussian process.

The Gaussian process models the logarithm of the time as a function of the constants and the resources of a
variant. Each round measures the variant with the largest expected improvement over the best time so far.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_LENGTHS = (0.5, 1.0, 2.0)
_NOISE = 1e-4  # fraction of the variance of the logarithms: repeated times differ by about 1 %
_START = 4  # variants that are measured before the first model


def features(rows: Sequence[Sequence[Any]]) -> np.ndarray:
    """Returns the coordinates of variants, from 0 to 1 on each axis. Positive numbers are on a logarithmic
    scale. Other values, such as names, are replaced by their positions in sorted order."""
    columns = [_feature_column(list(column)) for column in zip(*rows, strict=True)]
    varying = [column for column in columns if column.max() > column.min()]
    if not varying:
        return np.zeros((len(rows), 1))
    found = np.stack(varying, axis=1)
    low = found.min(axis=0)
    return (found - low) / (found.max(axis=0) - low)


def _feature_column(values):
    if all(isinstance(v, (int, float, np.number)) and v > 0 for v in values):
        return np.log2(np.array(values, float))
    if all(isinstance(v, (bool, int, float, np.number)) for v in values):
        return np.array(values, float)
    order = {text: i for i, text in enumerate(sorted({str(v) for v in values}))}
    return np.array([order[str(v)] for v in values], float)


def search(
    points: np.ndarray, start: int, budget: int, measured: Callable[[int], float | None]
) -> None:
    """Calls ``measured(i)`` for at most ``budget`` rows of ``points``, beginning with row ``start``.

    ``measured`` returns the time of a variant, or None if it cannot be launched; these calls are
    not counted in ``budget``.
    """
    times: dict[int, float] = {}
    waiting = set(range(len(points)))
    while waiting and len(times) < budget:
        if not times and start in waiting:
            chosen = start
        elif len(times) < min(_START, budget):
            chosen = _farthest_row(points, times, waiting)
        else:
            chosen = _most_promising_row(points, times, waiting)
        waiting.discard(chosen)
        time = measured(chosen)
        if time is not None:
            times[chosen] = time


def _farthest_row(points, times, waiting):
    """Returns the row number, among `waiting`, with the largest distance to the nearest measured row."""
    rows = sorted(waiting)
    if not times:
        return rows[0]
    gaps = points[rows][:, None, :] - points[sorted(times)][None, :, :]
    return rows[int(np.argmax((gaps**2).sum(axis=2).min(axis=1)))]


def _most_promising_row(points, times, waiting):
    """Returns the row number, among `waiting`, with the largest expected improvement."""
    rows, known = sorted(waiting), sorted(times)
    y = np.log([times[i] for i in known])
    mean, spread = y.mean(), max(float(y.std()), 1e-3)
    y = (y - mean) / spread
    x = points[known]
    length = max(_LENGTHS, key=lambda each: _log_likelihood(x, y, each))
    inverse = np.linalg.inv(_kernel(x, x, length) + _NOISE * np.eye(len(known)))
    across = _kernel(points[rows], x, length)
    expected = across @ inverse @ y
    variance = np.maximum(1 - np.einsum("ij,jk,ik->i", across, inverse, across), 1e-12)
    deviation = np.sqrt(variance)
    z = (y.min() - expected) / deviation
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    below = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in z])
    return rows[int(np.argmax(deviation * (z * below + density)))]


def _kernel(a, b, length):
    """Matérn's covariance with smoothness 5/2."""
    distance = np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)) * math.sqrt(5) / length
    return (1 + distance + distance**2 / 3) * np.exp(-distance)


def _log_likelihood(x, y, length):
    covariance = _kernel(x, x, length) + _NOISE * np.eye(len(x))
    sign, logarithm = np.linalg.slogdet(covariance)
    return -0.5 * (y @ np.linalg.solve(covariance, y) + logarithm) if sign > 0 else -math.inf
