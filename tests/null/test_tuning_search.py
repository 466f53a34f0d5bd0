"""Compares the search of cuda.autotune with a random search, on computed times."""

import itertools

import numpy as np
import pytest

from numbalite.tuning import search

SPACES = 60


def random_landscape(seed):
    """Returns (coordinates, times) of a random space: a bowl, an interaction of two constants, and
    a cliff."""
    rng = np.random.default_rng(seed)
    axes = [
        [32, 64, 128, 256, 512, 1024],
        [1, 2, 4, 8, 16][: rng.integers(4, 6)],
        [1, 2, 4, 8][: rng.integers(2, 5)],
        [False, True],
    ]
    points = search.feature_coordinates(list(itertools.product(*axes)))
    steepness, best = rng.uniform(0, 1.5, points.shape[1]), rng.random(points.shape[1])
    times = (steepness * (points - best) ** 2).sum(axis=1)
    i, j = rng.choice(points.shape[1], 2, replace=False)
    times += rng.uniform(0, 1) * abs(points[:, i] + points[:, j] - 1)
    times += rng.uniform(0, 1) * (points[:, i] * points[:, j] > 0.8)
    return points, np.exp(times + 0.004 * rng.standard_normal(len(times)))


def run_search(points, times, start, budget):
    """Returns (the measured rows, the best measured time)."""
    rows = []

    def measure_row(row):
        rows.append(row)
        return times[row]

    search.search(points, start, budget, measure_row)
    return rows, times[rows].min()


def test_tuning_search_beats_random_search():
    near = random_near = 0
    for seed in range(SPACES):
        points, times = random_landscape(seed)
        rng = np.random.default_rng(seed)
        budget = max(10, len(times) // 10)
        rows, best = run_search(points, times, int(rng.integers(len(times))), budget)
        assert len(rows) == len(set(rows)) == budget
        near += best < 1.02 * times.min()
        drawn = rng.choice(len(times), budget, replace=False)
        random_near += times[drawn].min() < 1.02 * times.min()
    assert near > 0.7 * SPACES
    assert near > random_near + 0.15 * SPACES


def test_tuning_search_begins_with_the_given_variant():
    points, times = random_landscape(1)
    assert run_search(points, times, 7, 5)[0][0] == 7


def test_failed_variants_do_not_count_as_trials():
    points, times = random_landscape(2)
    launched = []

    def measure_even_row(row):
        if row % 2:
            return None
        launched.append(row)
        return times[row]

    search.search(points, 1, 12, measure_even_row)
    assert len(launched) == 12
    search.search(points, 0, 10**6, lambda row: None)  # ends without any measured time


def test_equal_times_do_not_end_the_search():
    points, _ = random_landscape(3)
    rows, _ = run_search(points, np.full(len(points), 0.25), 0, 12)
    assert len(rows) == len(set(rows)) == 12


def test_small_spaces_are_measured_completely():
    points = search.feature_coordinates([(64,), (128,), (256,)])
    assert sorted(run_search(points, np.array([3.0, 1.0, 2.0]), 0, 10)[0]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([64, 128, 256], [0, 0.5, 1]),
        ([0, 1, 4], [0, 0.25, 1]),
        ([False, True], [0, 1]),
        (["rows", "columns"], [1, 0]),
        ([1, 1, 1], [0, 0, 0]),
    ],
)
def test_tuning_values_are_scaled_to_unit_range(column, expected):
    assert search.feature_coordinates([(value,) for value in column])[:, 0].tolist() == expected
