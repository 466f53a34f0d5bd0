"""Compares polynomials by their coefficients, and sequences of powers, on device arrays with NumPy."""

import warnings

import numpy as np
import pytest
from kit.likenumpy import assert_equal_results, assert_same_result, to_device

from numbalite import cuda

LINES = [np.array(x) for x in ([2.0, -1, 3], [0.0, 0, 1, 4], [0.0], [5, 2], [])]


@pytest.mark.parametrize("dtype", ["f4", "i4", "c16"])
def test_polyval_and_vander_match_numpy(dtype):
    x = np.arange(-2, 4).astype(dtype)
    for p in (np.array([2, -1, 3], dtype), [1.5, 2], []):
        assert_same_result(np.polyval, p, x)
    assert_same_result(np.polyval, x[:3], x.reshape(2, 3))
    for count, increasing in ((None, False), (3, True), (1, False), (0, False)):
        assert_same_result(np.vander, x, count, increasing=increasing)
    assert_same_result(np.vander, x.reshape(2, 3))


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
def test_polynomial_arithmetic_matches_numpy(name):
    for one in LINES:
        for other in (LINES[0], LINES[1].astype("i4"), LINES[2]):
            assert_same_result(getattr(np, name), one, other)
    assert_same_result(getattr(np, name), np.array(3.0), LINES[0])
    assert_same_result(getattr(np, name), np.ones((2, 2)), LINES[0])
    with pytest.raises(TypeError, match=f"{name}: .* a poly1d is in host memory"):
        getattr(np, name)(cuda.to_device(LINES[0]), np.poly1d([1, 2]))


def test_polyder_and_polyint_match_numpy():
    for line in (*LINES[:4], LINES[1].astype("i4")):
        for m in (0, 1, 2, 3, -1):
            assert_same_result(np.polyder, line, m)
            assert_same_result(np.polyint, line, m)
        assert_same_result(np.polyint, line, 2, [3.0])
        assert_same_result(np.polyint, line, 2, np.array([3.0, 4]))
        assert_same_result(np.polyint, line, 2, [])


def test_polyfit_matches_numpy():
    x = np.array([0.0, 1, 2, 3, 4, 5])
    y = np.array([0, 0.8, 0.9, 0.1, -0.8, -1])
    both = np.stack([y, y**2], 1)
    weights = np.array([1.0, 2, 1, 0.5, 1, 1])
    for args in ((x, y, 3), (x.astype("f4"), both, 1), (x, y, 2, None, False, weights)):
        expected = np.polyfit(*args)
        result = np.polyfit(*to_device(args))
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result.copy_to_host(), expected, rtol=2e-5)
    for cov in (True, "unscaled"):
        for values in (y, both):
            result = np.polyfit(*to_device((x, values, 2)), cov=cov)
            for one, other in zip(result, np.polyfit(x, values, 2, cov=cov), strict=True):
                np.testing.assert_allclose(one.copy_to_host(), other, rtol=1e-9, atol=1e-12)
    result = np.polyfit(*to_device((x, y, 1)), full=True)
    assert result[2] == 2 and result[4] == len(x) * np.finfo(float).eps
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        np.polyfit(*to_device((x[:2], y[:2], 3)))
    assert "poorly conditioned" in str(caught[0].message)
    for bad in ((both, y, 1), (x, y[:3], 1), (x[:0], y[:0], 1), (x, np.array(1.0), 1), (x, y, -1)):
        assert_same_result(np.polyfit, *bad)
    assert_same_result(np.polyfit, x, y, 1, w=both)
    assert_same_result(np.polyfit, x, y, 1, w=x[:2])
    assert_same_result(np.polyfit, x[:2], y[:2], 1, cov=True)


def test_logspace_matches_numpy():
    start = np.array([0.0, 1, 2])
    assert_same_result(np.logspace, start, 3, 4)
    assert_same_result(np.logspace, start, 3.5, 4, endpoint=False, base=2, dtype="i4", axis=-1)
    assert_same_result(np.logspace, start, 3, 2, base=np.array([2.0, 3, 4]))
    np.testing.assert_allclose(cuda.logspace(0, 2, 3).copy_to_host(), [1, 10, 100])


@pytest.mark.parametrize("dtype", [None, "f4", "c16"])
def test_geomspace_matches_numpy(dtype):
    first, last = np.array([1.0, -2, 4]), np.array([1000.0, -1, 4])
    for num in (0, 1, 4):
        for endpoint in (True, False):
            assert_same_result(np.geomspace, first, last, num, endpoint, dtype=dtype)
    assert_same_result(np.geomspace, first.astype("f4"), 8, 3, axis=-1, dtype=dtype)
    assert_equal_results(
        cuda.geomspace(1, 1000, 4, dtype=dtype), np.geomspace(1, 1000, 4, dtype=dtype)
    )
    assert_same_result(np.geomspace, np.array([0.0, 1]), 3)
    if dtype == "c16":
        assert_same_result(np.geomspace, np.array([1j, 1 + 1j]), 3 + 0j, 5)
