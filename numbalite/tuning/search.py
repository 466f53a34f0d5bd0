"""Selects the variants to measure if there are too many: Bayesian optimization with Gaussian processes.

A Gaussian process models the logarithm of the time as a function of the constants and the resources of a
variant. The few times do not determine which of these coordinates matter, that is, the process's length on each
axis: many lengths are drawn, and each process counts by its likelihood. Each round measures the variant with the
largest expected improvement over the best time so far.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PROCESSES = 64
_LENGTHS = 0.25, 4.0  # range of a process's lengths: with the upper limit, an axis hardly matters
_NOISE = 1e-2  # fraction of the variance of the logarithms that the coordinates do not explain
_START = 4  # variants that are measured before the first model


def feature_coordinates(rows: Sequence[Sequence[Any]]) -> np.ndarray:
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
    """Returns the row number, among `waiting`, with the largest expected improvement.

    Rasmussen and Williams, Gaussian Processes for Machine Learning, algorithm 2.1, for all processes at once.
    """
    rows, measured = sorted(waiting), sorted(times)
    y = np.log([times[i] for i in measured])
    y = (y - y.mean()) / max(float(y.std()), 1e-3)
    axes = points.shape[1]
    low, high = np.log(_LENGTHS)
    lengths = np.exp(np.random.default_rng(0).uniform(low, high, (_PROCESSES, axes)))
    scaled = points[:, None, :] / (lengths * math.sqrt(axes) / 2)
    covariance = _covariance(scaled[measured], scaled[measured]) + _NOISE * np.eye(len(y))
    across = _covariance(scaled[rows], scaled[measured])
    inverse = np.linalg.inv(covariance)
    weights = inverse @ y
    # The most likely variance of each process; it would be 0 if all times are equal
    scale = np.maximum(weights @ y / len(y), 1e-12)
    likelihood = -0.5 * (len(y) * np.log(scale) + np.linalg.slogdet(covariance)[1])
    variance = np.maximum(1 - (across @ inverse * across).sum(axis=2), 1e-9)
    expected = (across @ weights[:, :, None])[:, :, 0]
    improvement = _expected_improvement(y.min(), expected, np.sqrt(variance * scale[:, None]))
    return rows[int(np.argmax(np.exp(likelihood - likelihood.max()) @ improvement))]


def _expected_improvement(best, expected, deviation):
    z = (best - expected) / deviation
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    below = np.vectorize(math.erf)(z / math.sqrt(2)) / 2 + 0.5
    return deviation * (z * below + density)


def _covariance(a, b):
    """Returns Matérn's covariance with smoothness 5/2 for each process, of the points `a` (points, processes,
    axes) and `b`."""
    a, b = a.transpose(1, 0, 2), b.transpose(1, 0, 2)
    distance = np.sqrt(5 * ((a[:, :, None] - b[:, None]) ** 2).sum(axis=3))
    return (1 + distance + distance**2 / 3) * np.exp(-distance)
