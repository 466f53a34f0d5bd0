"""Compares weighted quantiles and nanquantile on device arrays with NumPy's own."""

import random
from fractions import Fraction

import numpy as np
import pytest
from kit.likenumpy import assert_same
from kit.needs import numpy_since

from numbalite import cuda


def rows_with_nans(dtype="f8"):
    """Returns rows with some NaN, with only NaN and without NaN, on the host and on the device."""
    host = np.random.default_rng(4).integers(-9, 9, (4, 5, 3)).astype(dtype)
    host[np.random.default_rng(5).random(host.shape) < 0.4] = np.nan
    host[0, 0], host[1, 1] = np.nan, [1, 2, 3]
    return host, cuda.to_device(host)


@numpy_since("2.1", "closest_observation rounds half to even")
@pytest.mark.parametrize("axis", [None, 1, (0, 2), 3])
def test_nanquantiles_ignore_nan(axis):
    host, device = rows_with_nans()
    for q, method in ((0.5, "linear"), ([0.1, 0.9], "closest_observation"), ([0.1, 0.9], "hazen")):
        keywords = {"q": q, "axis": axis, "method": method}
        assert_same(np.nanquantile, (device,), (host,), keywords)
    keywords = {"axis": axis, "keepdims": True}
    assert_same(np.nanpercentile, (device, 30), (host, 30), keywords)
    assert_same(np.nanmedian, (device,), (host,), keywords)
    assert_same(np.nanmedian, (device[:0],), (host[:0],), keywords)


@numpy_since("2.4", "weights of 0 and NaN are errors")
@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_weighted_quantiles_match_numpy(axis):
    host, device = rows_with_nans()
    weights = np.random.default_rng(6).integers(0, 3, host.shape).astype("f8") + (host != host)
    weights[0] += 1
    keywords = {"axis": axis, "method": "inverted_cdf"}
    for function in (np.quantile, np.nanquantile):
        assert_same(
            function,
            (device, [0, 0.3, 1]),
            (host, [0, 0.3, 1]),
            keywords | {"weights": weights},
        )
    for one in (None, 1, 2):  # weights of one axis
        keywords |= {"axis": one, "weights": [0, 1, 2, 1, 3]}
        assert_same(np.percentile, (device, 30), (host, 30), keywords)


@numpy_since("2.4", "weights of 0 and NaN are errors")
@pytest.mark.parametrize("weights", [[1, -1, 1], [0, 0, 0], [1, np.nan, 1], [1, 1]])
def test_invalid_weights_raise_numpys_errors(weights):
    host = np.arange(3.0)
    for method in ("inverted_cdf", "linear"):
        keywords = {"axis": 0, "method": method, "weights": weights}
        assert_same(np.quantile, (cuda.to_device(host), 0.5), (host, 0.5), keywords)


def test_quantile_of_a_zero_dimensional_array_rejects_axis_0():
    host = np.array(3.0)
    device = cuda.to_device(host)
    for axis in (0, None):
        assert_same(np.median, (device,), (host,), {"axis": axis})
        assert_same(np.quantile, (device, 0.5), (host, 0.5), {"axis": axis})


@numpy_since("2.4", "the dtype of q counts")
@pytest.mark.parametrize("method", ["midpoint", "averaged_inverted_cdf", "linear"])
def test_dtypes_of_probabilities_determine_the_result(method):
    line = np.arange(5, dtype="f4")
    for q in (np.float32(0.5), np.float64(0.5), 0.5):
        assert_same(np.quantile, (cuda.to_device(line), q), (line, q), {"method": method})


def test_quantiles_with_integer_and_boolean_probabilities_match_numpy():
    host = np.random.default_rng(7).integers(0, 100, 300).astype("f4")
    host[2] = np.nan
    device = cuda.to_device(host)
    for q in (True, np.array([True, False]), [0, 1], 1):
        assert_same(np.nanquantile, (device, q), (host, q))
    for q in (np.uint8(1), np.array([1, 0], "i1")):  # n times q exceeds the range of the dtype
        assert_same(np.nanquantile, (device, q), (host, q.astype(int)))


METHODS = (
    "linear averaged_inverted_cdf interpolated_inverted_cdf hazen weibull median_unbiased "
    "normal_unbiased midpoint"
).split()


@numpy_since("2.4", "the dtype of q counts")
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "f2"])
def test_single_quantile_of_random_shapes_matches_numpy(dtype):
    """Tests quantiles that are Python or NumPy numbers, the smallest and the largest index, NaN, and several
    axes."""
    rng = np.random.default_rng(17)
    for _ in range(40):
        shape = [int(n) for n in rng.integers(1, 8, rng.integers(1, 4))]
        host = rng.normal(scale=50, size=shape).astype(dtype)
        if host.dtype.kind == "f" and rng.random() < 0.3:
            host.flat[int(rng.integers(host.size))] = np.nan
        axis = tuple(int(i) for i in np.flatnonzero(rng.random(host.ndim) < 0.6)) or None
        q = float(rng.choice([0, 1, rng.random()]))
        q = (float, np.float64, np.float32, np.array)[int(rng.integers(4))](q)
        given = {"axis": axis, "keepdims": bool(rng.random() < 0.4)}
        given["method"] = METHODS[int(rng.integers(len(METHODS)))]
        found, want = np.quantile(cuda.to_device(host), q, **given), np.quantile(host, q, **given)
        assert found.shape == want.shape
        if (
            want.size > 1 or not np.isnan(want).any()
        ):  # NumPy returns a single NaN in the array's own dtype
            assert found.dtype == want.dtype
        rtol = 1e-2 if dtype == "f2" else 1e-5
        np.testing.assert_allclose(found.copy_to_host(), want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_quantiles_with_fraction_probabilities_return_float64(name):
    """Exact fractions: NumPy computes such quantiles with Python objects; on the device the result is a
    float64."""
    function = getattr(np, name)
    rng = random.Random(name)
    x = np.array([rng.randrange(100) for _ in range(9)])
    whole = 100 if "percentile" in name else 1
    q = [Fraction(rng.randrange(8), 7) * whole for _ in range(4)]
    q = [min(one, Fraction(whole)) for one in q]
    for given in (q, q[0], Fraction(0), Fraction(whole)):
        found = function(cuda.to_device(x), given)
        assert found.dtype == np.float64
        wanted = np.asarray(function(x, given)).astype(float)
        np.testing.assert_allclose(np.asarray(found.copy_to_host()), wanted, rtol=1e-15)
