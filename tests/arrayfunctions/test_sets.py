"""Compares set operations on device arrays with NumPy."""

import numpy as np
import pytest
from kit.likenumpy import assert_same_result
from kit.sample import random_generator

from numbalite import cuda

TABLE = np.array([[5, 1], [2, 2]])
WHOLE = np.array([2, 9, 5, 2])
REAL = np.array([1, 2, np.nan, 3, np.nan, 2.5])
OTHER = np.array([2, np.nan, 3.0])
NONE = np.array([], int)


@pytest.mark.parametrize("name", ["isin", "union1d", "setdiff1d", "setxor1d", "intersect1d"])
def test_set_functions_match_numpy(name):
    function = getattr(np, name)
    for pair in ((TABLE, WHOLE), (REAL, OTHER), (TABLE, OTHER), (NONE, WHOLE), (WHOLE, NONE)):
        assert_same_result(function, *pair)
    if name != "union1d":
        assert_same_result(function, np.array([3, 1, 2]), np.array([2, 3, 7]), assume_unique=True)


def test_union1d_with_a_number_matches_numpy():
    for dtype in ("f4", "u1", "?", "c8"):
        for number in (3, 2.5, 1j, True, np.float64(2), np.array(2.5), [2]):
            assert_same_result(np.union1d, np.array([0, 1, 1], dtype), number)
            assert_same_result(
                lambda x, n: np.concatenate([n, x], axis=None), np.array([0, 1], dtype), number
            )


def test_intersect1d_indices_and_isin_invert_match_numpy():
    assert_same_result(np.intersect1d, TABLE, WHOLE, return_indices=True)
    assert_same_result(
        np.intersect1d, WHOLE[:3], WHOLE[1:3], assume_unique=True, return_indices=True
    )
    assert_same_result(np.isin, TABLE, WHOLE, invert=True)
    assert_same_result(np.isin, REAL, OTHER, invert=True)
    assert_same_result(np.isin, TABLE, [2, 3])
    assert_same_result(np.isin, TABLE, WHOLE, kind="other")


@pytest.mark.parametrize("dtype", ["?", "i1", "u1"])
def test_unique_of_bytes_returns_counts(dtype):
    rng = random_generator()
    for low, high in ((0, 256), (120, 140), (5, 6)):
        numbers = rng.integers(low, high, int(rng.integers(1, 9000))).astype(np.uint8)
        host = numbers > 130 if dtype == "?" else numbers.view(dtype)
        device = cuda.to_device(host)[::-1]
        found, expected = (np.unique(a, return_counts=True) for a in (device, host))
        for ours, theirs in zip(found, expected, strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours.copy_to_host(), theirs)
