"""The rounding errors of reductions of difficult data are within the limits of
tests/bench/accuracy.py, which measures all cases."""

import fractions
import functools
import math
import random
import warnings

import numpy as np
import pytest
from bench import accuracy

from numbalite import cuda

CALLS = [(name, code) for name, case in accuracy.CASES.items() for code in case.codes]


@pytest.mark.parametrize("name, code", CALLS)
def test_rounding_errors_of_reductions_are_small(name, code):
    """Tests large means, cancellation, alternating signs, wide ranges and denormals, along each
    axis and over all elements."""
    seed = random.randrange(10**6)
    shape = tuple(random.Random(seed).choices([(60, 90), (7, 500), (300, 20)])[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        errors = accuracy.measure_errors(name, code, np.random.default_rng(seed), shape)
    assert errors
    assert not accuracy.cases_above_limit(name, code, errors), (seed, shape)


@pytest.fixture
def assert_near():
    """Returns whether a result is within a few roundings of the exact number."""

    def assert_scalar_near(found, exact, roundings=1.02):
        dtype = np.asarray(found).real.dtype
        error = abs(complex(np.asarray(found).ravel()[0]) - complex(exact))
        assert error <= abs(exact) * float(np.finfo(dtype).eps) / 2 * roundings

    return assert_scalar_near


def exact_variance(x):
    apart = x.astype(np.longdouble) - x[1]  # nothing is lost
    return ((apart - apart.mean()) ** 2).mean()


@pytest.mark.cases(1)
@pytest.mark.parametrize("code, mean", [("f", 1e4), ("f", 3e6), ("d", 1e9), ("d", 1e14)])
@pytest.mark.parametrize("first", [None, 0.0, -1.0])
def test_variances_with_a_large_mean_are_accurate(
    optimized_host_code, assert_near, code, mean, first
):
    """If the first element is an outlier, the error is at most the rounding of its square in
    float64. Without the compiler's optimizer, multiplications and additions are not fused."""
    roundings = 4 if code == "d" and first is not None else 1.02
    x = (np.random.default_rng(5).normal(size=100_003) + mean).astype(code)
    if first is not None:
        x[0] = first * mean
    exact = float(exact_variance(x))
    for d in (cuda.to_device(x), cuda.to_device(np.repeat(x, 2))[::2]):
        assert_near(d.var(), exact, roundings)
        assert_near(d.std(), math.sqrt(exact), roundings)
        assert_near(np.nanstd(d), math.sqrt(exact), roundings)


@pytest.mark.parametrize("code", "?bBhHiI")
def test_variances_of_integers_are_rounded_once(assert_near, code):
    """Tests standard deviations that are small compared with the mean, and values at the limits of the
    dtype."""
    rng, dtype = np.random.default_rng(8), np.dtype(code)
    low, high = (0, 1) if code == "?" else (np.iinfo(code).min, np.iinfo(code).max)
    for below in (low, high - 1):
        x = rng.integers(below, high, (50, 37), endpoint=True, dtype=np.int64).astype(dtype)
        x[:, :2] = below, high
        for axis in (0, 1, None):
            rows = [x.ravel()] if axis is None else np.moveaxis(x, axis, -1)
            for d in (cuda.to_device(x), cuda.to_device(np.repeat(x, 2, axis=1))[:, ::2]):
                for ddof in (0, 1, 2.5):
                    made = np.asarray(d.var(axis, ddof=ddof)).ravel()
                    for one, row in zip(made, rows, strict=True):
                        numbers = list(map(int, row))
                        count = len(numbers)
                        squares = count * sum(k * k for k in numbers) - sum(numbers) ** 2
                        exact = float(
                            fractions.Fraction(squares, count) / fractions.Fraction(count - ddof)
                        )
                        assert_near(one, exact)
    same = cuda.to_device(np.full((3, 40), high, dtype))
    np.testing.assert_array_equal(np.asarray(same.std(1)), 0)


def test_variances_of_large_numbers_are_accurate(optimized_host_code, assert_near):
    x = (np.random.default_rng(6).normal(size=(3, 40_000)) + 1e9).astype("d")
    for axis in (0, 1, None):
        found = np.asarray(cuda.to_device(x).var(axis)).ravel()
        rows = [x.ravel()] if axis is None else np.moveaxis(x, axis, -1)
        for one, row in list(zip(found, rows, strict=True))[:50]:
            assert_near(
                one, exact_variance(row), 3 if axis == 0 else 1.02
            )  # few distances: each is rounded


@pytest.mark.parametrize("axis", [0, 1, None])
def test_sums_of_float16_are_rounded_once(axis):
    x = (np.random.default_rng(7).random((1000, 300)) / 10).astype("e")
    exact = x.astype("d").sum(axis)
    found = np.asarray(cuda.to_device(x).sum(axis))
    np.testing.assert_allclose(found.astype("d"), exact, 2.0**-11 * 1.01)


@functools.cache
def long_vectors(code):
    """Returns two vectors and their product."""
    count = 100_003 if code == "e" else 1_000_003
    x, y = (np.random.default_rng(i).random(count).astype(code) for i in (1, 2))
    return x, y, math.fsum(accuracy._split_products(x, y))


@pytest.mark.parametrize(
    "call", [np.dot, np.vdot, np.inner, np.matmul, np.vecdot], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("code", "efd")
def test_dot_products_of_long_vectors_are_accurate(assert_near, call, code):
    """On every device products of long vectors are computed by a reduction, whose accuracy
    does not decrease with the number of elements."""
    x, y, exact = long_vectors(code)
    for a, b in ((x, y), (x[None], y[:, None])):
        if a.ndim == 1 or call is np.matmul:
            assert_near(call(cuda.to_device(a), cuda.to_device(b)), exact, 1.1)


def test_sums_with_infinities_and_nan_match_numpy():
    """Skips elements whose sum is infinite, because the correction for the rounding error is NaN for these
    elements."""
    for values in ([np.inf, 1], [np.inf, -np.inf], [np.nan, 1], [1e308, 1e308], [-np.inf, 1, 2]):
        for code in "fdFD":
            with np.errstate(all="ignore"):
                x = np.array(values * 40).astype(code)
                d = cuda.to_device(x)
                for function in (np.sum, np.mean, np.prod, np.nansum, np.linalg.norm):
                    if code in "FD" and function in (np.prod, np.mean):
                        continue
                    np.testing.assert_array_equal(
                        np.asarray(function(d)), function(x), f"{function.__name__} {code} {values}"
                    )


def test_nan_reductions_of_all_nan_rows_match_numpy():
    x = np.full((3, 4), np.nan)
    x[1] = [1, 2, np.nan, 4]
    d = cuda.to_device(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in (np.nanmean, np.nanvar, np.nanstd):
            for more in ({}, {"axis": 1}, {"axis": 0}, {"axis": 1, "keepdims": True}):
                np.testing.assert_allclose(np.asarray(function(d, **more)), function(x, **more))
        for ddof in (1, 2, 3, 4):
            expected = np.nanvar(x, axis=1, ddof=ddof)
            np.testing.assert_allclose(np.nanvar(d, axis=1, ddof=ddof).copy_to_host(), expected)


def test_float16_averages_and_integrals_do_not_overflow():
    x = np.full(5000, 300, "e")
    weights = np.full(5000, 30, "e")
    d = cuda.to_device(x)
    assert np.average(d, weights=cuda.to_device(weights)) == 300
    step = cuda.to_device(np.arange(5000) / 2500).astype("e")
    small = d / 10
    exact = float((step[1:].copy_to_host() - step[:-1].copy_to_host()).astype(float).sum()) * 30
    assert np.trapezoid(small, step) == np.float16(exact)
    assert np.trapezoid(cuda.to_device(np.full(3001, 21, "e"))) == np.float16(63000)


@pytest.mark.parametrize("code", "FD")
def test_vdot_is_accurate_when_terms_cancel(assert_near, code):
    """vdot and vecdot lose no digits of a product, even if nearly all digits cancel."""
    rng = np.random.default_rng(4)
    a = (rng.normal(size=1001) + 1j * rng.normal(size=1001)).astype(code)
    b = (1j * a).astype(code)  # the real part of each product is 0, up to rounding
    b[:500] *= 1 + 2.0**-20
    exact = accuracy._exact_dot(a.conj(), b)
    x, y = cuda.to_device(a), cuda.to_device(b)
    for found in (np.vdot(x, y), np.linalg.vecdot(x, y)):
        assert_near(found.imag, exact.imag)
        assert_near(found.real, exact.real, 1.02 if code == "F" else 200)
