"""Tests permutations and choices."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.random import shuffling

default_rng = cuda.random.default_rng


def to_host_array(array):
    return array.copy_to_host()


def chi_square_deviation(counts, expected):
    """Returns chi-square minus its mean, in units of its standard deviation."""
    degrees = np.size(counts) - 1
    return (((counts - expected) ** 2 / expected).sum() - degrees) / np.sqrt(2 * degrees)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 1024, 1025, 2048, 50_001])
def test_permutations_contain_each_index_once(n):
    rng = default_rng(n)
    made = [to_host_array(rng.permutation(n)) for _ in range(2)]
    assert all(np.array_equal(np.sort(x), np.arange(n)) for x in made)
    assert n < 6 or (made[0] != made[1]).any()


def test_short_permutations_are_equally_likely():
    made = to_host_array(
        shuffling.permutation_prefixes(default_rng(1).bit_generator, 24_000, 4, 4, 0)
    ).reshape(-1, 4)
    found, counts = np.unique(made, axis=0, return_counts=True)
    assert len(found) == 24 and abs(chi_square_deviation(counts, 1000)) < 3.3


@pytest.mark.parametrize("n", [33, 70, 1000, 1024])
def test_blocks_that_share_a_short_row_permute_as_one(n):
    """A few rows are shared by several blocks each, 513 rows have one block each."""
    few, many = (
        to_host_array(
            shuffling.permutation_prefixes(default_rng(3).bit_generator, sorted_rows, n, 20, 0)
        )
        for sorted_rows in (2, 513)
    )
    assert np.array_equal(few, many[: 2 * 20])


@pytest.mark.parametrize("n", [1025, 2048])
def test_long_permutations_pass_statistical_tests(n):
    """Counts fixed points, neighbours that stay neighbours, positions of the first two elements,
    and even and odd permutations."""
    lines = 1500
    x = to_host_array(
        shuffling.permutation_prefixes(default_rng(2).bit_generator, lines, n, n, 0)
    ).reshape(lines, n)
    poisson = np.exp(-1) / np.array([1, 1, 2, 6])
    poisson = lines * np.append(poisson, 1 - poisson.sum())
    for hits in ((x == np.arange(n)).sum(1), (np.diff(x, axis=1) == 1).sum(1)):
        assert chi_square_deviation(np.bincount(np.minimum(hits, 4), minlength=5), poisson) < 3.3
    pairs = (x[:, 0] * 6 // n) * 6 + x[:, 1] * 6 // n
    assert chi_square_deviation(np.bincount(pairs, minlength=36), lines / 36) < 3.3
    correlations = [np.corrcoef(row, np.arange(n))[0, 1] for row in x[:200]]
    assert abs(np.mean(correlations)) < 3.3 / np.sqrt(200 * n)
    odd = sum(is_odd(row) for row in x[:100].tolist())
    assert 30 < odd < 70


def is_odd(permutation):
    seen, cycles = [False] * len(permutation), 0
    for start in range(len(permutation)):
        cycles += not seen[start]
        while not seen[start]:
            seen[start], start = True, permutation[start]
    return (len(permutation) - cycles) % 2


@pytest.mark.parametrize(
    "dtype", ["i1", "f2", "f4", "c16", "S3", [("a", "i4"), ("b", "i1")]], ids=str
)
def test_permuted_along_each_axis_and_dtype_keeps_elements(dtype):
    rng, x = default_rng(3), np.arange(60).reshape(3, 4, 5).astype("i1")
    x = (
        np.resize(
            np.arange(60 * np.dtype(dtype).itemsize, dtype=np.uint8).view(np.uint8),
            60 * np.dtype(dtype).itemsize,
        )
        .view(dtype)
        .reshape(3, 4, 5)
    )
    d = cuda.to_device(x)
    order = sorted(range(60), key=lambda k: x.ravel()[k].tobytes())
    assert order  # all elements differ
    for axis in (0, 1, -1):
        made = to_host_array(rng.permutation(d, axis=axis))
        assert sorted_slices(made, axis) == sorted_slices(x, axis)
        made = to_host_array(rng.permuted(d, axis=axis))
        assert sorted_rows(made, axis) == sorted_rows(x, axis)
    assert sorted(map(bytes, to_host_array(rng.permuted(d)).ravel())) == sorted(
        map(bytes, x.ravel())
    )


def sorted_slices(x, axis):
    return sorted(part.tobytes() for part in np.moveaxis(x, axis, 0))


def sorted_rows(x, axis):
    flat = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    return [sorted(map(bytes, line)) for line in flat]


def test_in_place_shuffle_of_strided_views_keeps_other_elements():
    rng, x = default_rng(4), np.arange(6000.0).reshape(3000, 2)
    d = cuda.to_device(x)
    assert rng.shuffle(d[::2].T, axis=1) is None
    made = to_host_array(d)
    assert np.array_equal(made[1::2], x[1::2]) and (made != x).any()
    assert np.array_equal(made[np.argsort(made[:, 0])], x)
    out = cuda.device_array((2, 3000))
    assert rng.permuted(d.T, axis=1, out=out) is out
    assert np.array_equal(np.sort(to_host_array(out)), x.T)
    assert rng.permuted(d, axis=0, out=d) is d
    for empty in (np.empty((0, 3)), np.empty((3, 0))):
        assert to_host_array(rng.permutation(empty)).shape == empty.shape
        assert to_host_array(rng.permuted(empty, axis=1)).shape == empty.shape


def test_choice_draws_from_the_population():
    rng = default_rng(5)
    assert to_host_array(rng.choice(5)).shape == () and to_host_array(rng.choice(0, 0)).shape == (
        0,
    )
    assert set(to_host_array(rng.choice([10, 20, 30], (40, 5))).ravel().tolist()) == {10, 20, 30}
    few = to_host_array(rng.choice(10**9, 2000, replace=False))
    assert np.unique(few).size == 2000 and abs(few.mean() / 10**9 - 0.5) < 0.03
    taken = rng.choice(cuda.to_device(np.arange(6).reshape(2, 3)), (2, 2), axis=1, replace=True)
    assert taken.shape == (2, 2, 2)
    assert np.array_equal(to_host_array(taken)[1], to_host_array(taken)[0] + 3)
    assert sorted(to_host_array(rng.choice(np.arange(8), 8, replace=False)).tolist()) == list(
        range(8)
    )


def test_choice_follows_the_weights():
    rng, p = default_rng(6), np.array([0, 0.1, 0.2, 0, 0.7, 0])
    made = np.bincount(to_host_array(rng.choice(6, 10_000, p=p)), minlength=6)
    assert (made[p == 0] == 0).all()
    assert chi_square_deviation(made[p > 0], 10_000 * p[p > 0]) < 3.3
    pairs = [
        tuple(to_host_array(rng.choice(6, 2, replace=False, p=cuda.to_device(p))))
        for _ in range(300)
    ]
    ways = {(i, j): 300 * p[i] * p[j] / (1 - p[i]) for i in (1, 2, 4) for j in (1, 2, 4) if i != j}
    assert set(pairs) <= set(ways)
    assert (
        chi_square_deviation(
            np.array([pairs.count(way) for way in ways]), np.array(list(ways.values()))
        )
        < 3.3
    )
    some = to_host_array(rng.choice(1000, 300, replace=False, p=np.arange(1000) / 499_500))
    assert np.unique(some).size == 300 and 600 < some.mean() < 690
    assert to_host_array(rng.choice(1, 1, replace=False, p=[1.0])).tolist() == [0]
