"""Tests reduce, accumulate and reduceat of NumPy's ufuncs over axes of zero, one and two elements, where the
result depends on the identity or on the first element: NumPy begins every `reduce` with the identity, and
`accumulate` and `reduceat` with an element."""

import itertools

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, vectorize
from numbalite.ufuncs.protocols import cuda_ufunc_for

UFUNCS = {
    ufunc.__name__: ufunc
    for ufunc in vars(np).values()
    if isinstance(ufunc, np.ufunc) and (ufunc.nin, ufunc.nout) == (2, 1) and ufunc.signature is None
}
EXTREMES = (
    np.maximum,
    np.minimum,
    np.fmax,
    np.fmin,
)  # NumPy's result for 0.0 and -0.0 depends on the processor
SHAPES = [(0,), (1,), (2,), (1, 3), (3, 1), (2, 0), (1, 1), (2, 1, 2), (1, 2, 1)]


def random_values(dtype, shape, rng):
    """Returns numbers of both signs, with zeros of both signs and values that are not finite."""
    x = rng.integers(0 if dtype.kind in "?u" else -9, 10, shape).astype(dtype)
    if dtype.kind in "fc" and x.size:
        special = np.array([-0.0, 0.0, np.inf, -np.inf, np.nan, 1.5, -7], dtype)
        at = rng.random(shape) < 0.5
        x[at] = rng.choice(special, shape)[at]
    return x


def reduction_calls(x):
    """Yields the calls of a ufunc with the array, as functions of the ufunc and the array."""
    axes = [axis for n in range(x.ndim + 1) for axis in itertools.combinations(range(x.ndim), n)]
    for axis in [None, *axes, *range(x.ndim)]:
        yield f"reduce, {axis=}", lambda f, x, axis=axis: f.reduce(x, axis=axis)
        yield f"kept, {axis=}", lambda f, x, axis=axis: f.reduce(x, axis=axis, keepdims=True)
    for axis in range(x.ndim):
        yield f"accumulate, {axis=}", lambda f, x, axis=axis: f.accumulate(x, axis)
        yield f"reduceat, {axis=}", lambda f, x, axis=axis: f.reduceat(x, [0, 0], axis)
    yield "where", lambda f, x: f.reduce(x, where=np.zeros(x.shape, bool))
    yield "initial", lambda f, x: f.reduce(x, initial=1)


def result_or_error(call, *args):
    with np.errstate(all="ignore"):
        try:
            return np.asarray(call(*args))
        except (TypeError, ValueError, IndexError) as problem:
            return problem


def check_results(found, expected, signs):
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected)
        return
    rtol = {"e": 2e-3, "f": 1e-5, "F": 1e-5}.get(expected.dtype.char, 1e-12)
    np.testing.assert_allclose(found, expected, rtol, equal_nan=True)
    if signs and expected.dtype.kind == "f":
        np.testing.assert_array_equal(
            np.signbit(found) & (found == 0), np.signbit(expected) & (expected == 0)
        )


def _supported_reductions():
    for name, ufunc in UFUNCS.items():
        try:
            cuda_ufunc_for(ufunc)._check_binary("reduce")
        except TypeError:
            continue
        yield name


SUPPORTED = sorted(_supported_reductions())


def test_tested_ufuncs_include_every_ufunc_with_an_identity():
    with_identity = {name for name, ufunc in UFUNCS.items() if ufunc.identity is not None}
    assert with_identity <= set(SUPPORTED)


@pytest.mark.parametrize("name, code", list(itertools.product(SUPPORTED, "?bBhHiIqQefdFD")))
def test_reductions_of_short_axes_match_numpy(name, code):
    ufunc, dtype, rng = UFUNCS[name], np.dtype(code), random_generator()
    for shape in SHAPES:
        x = random_values(dtype, shape, rng)
        if ufunc is np.lcm and code in "bB":  # with larger numbers, overflow depends on the order
            x = np.fmod(x, 7)
        device = cuda.to_device(x)
        for what, call in reduction_calls(x):
            expected, found = result_or_error(call, ufunc, x), result_or_error(call, ufunc, device)
            assert isinstance(expected, Exception) == isinstance(found, Exception), (
                what, x, expected, found,
            )  # fmt: skip
            if isinstance(expected, Exception):
                continue
            try:
                check_results(found, expected, ufunc not in EXTREMES)
            except AssertionError as problem:
                raise AssertionError(f"{what} of {x!r}: {problem}") from None


def test_user_ufunc_reductions_begin_with_the_identity():
    longest = vectorize(
        ["float64(float64, float64)"], target="cuda", source="sqrt(x * x + y * y)", args="x, y", identity=0
    )  # fmt: skip
    for x in (np.array([-7.0]), np.zeros(0), np.array([[-7.0, 3.0]])):
        expected = np.hypot.reduce(x)
        np.testing.assert_array_equal(longest.reduce(x), expected)
        np.testing.assert_array_equal(longest.reduce(cuda.to_device(x)).copy_to_host(), expected)


@pytest.mark.parametrize("code", "efdFD")
def test_sums_of_minus_zero_match_numpy(code):
    """NumPy's sums begin with 0.0, scans with the first element."""
    x = np.array([[-0.0, -0.0]], code)
    for function in (np.sum, np.nansum, np.mean, np.nanmean, np.cumsum, np.trace):
        expected = function(x)
        found = np.asarray(function(cuda.to_device(x)))
        np.testing.assert_array_equal(
            np.signbit(found.real), np.signbit(expected.real), function.__name__
        )
