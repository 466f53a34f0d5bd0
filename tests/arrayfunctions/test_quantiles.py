"""Quantiles with weights, and of what is not NaN, on device arrays against NumPy's own."""

import numpy as np
import pytest
from kit.likenumpy import same

from numbalite import cuda


def rows_with_nans(dtype="f8"):
    """Rows with some NaN, with NaN alone and with none, on the host and the device."""
    host = np.random.default_rng(4).integers(-9, 9, (4, 5, 3)).astype(dtype)
    host[np.random.default_rng(5).random(host.shape) < 0.4] = np.nan
    host[0, 0], host[1, 1] = np.nan, [1, 2, 3]
    return host, cuda.to_device(host)


@pytest.mark.parametrize("axis", [None, 1, (0, 2), 3])
def test_quantiles_of_what_is_not_nan(axis):
    host, device = rows_with_nans()
    for q, method in ((0.5, "linear"), ([0.1, 0.9], "closest_observation"), ([0.1, 0.9], "hazen")):
        keywords = {"q": q, "axis": axis, "method": method}
        same(np.nanquantile, (device,), (host,), keywords)
    keywords = {"axis": axis, "keepdims": True}
    same(np.nanpercentile, (device, 30), (host, 30), keywords)
    same(np.nanmedian, (device,), (host,), keywords)
    same(np.nanmedian, (device[:0],), (host[:0],), keywords)


@pytest.mark.parametrize("axis", [None, 0, (0, 1)])
def test_quantiles_by_weights(axis):
    host, device = rows_with_nans()
    weights = np.random.default_rng(6).integers(0, 3, host.shape).astype("f8") + (host != host)
    weights[0] += 1
    keywords = {"axis": axis, "method": "inverted_cdf"}
    for function in (np.quantile, np.nanquantile):
        same(
            function,
            (device, [0, 0.3, 1]),
            (host, [0, 0.3, 1]),
            keywords | {"weights": weights},
        )
    for one in (None, 1, 2):  # weights of one axis
        keywords |= {"axis": one, "weights": [0, 1, 2, 1, 3]}
        same(np.percentile, (device, 30), (host, 30), keywords)


@pytest.mark.parametrize("weights", [[1, -1, 1], [0, 0, 0], [1, np.nan, 1], [1, 1]])
def test_wrong_weights(weights):
    host = np.arange(3.0)
    for method in ("inverted_cdf", "linear"):
        keywords = {"axis": 0, "method": method, "weights": weights}
        same(np.quantile, (cuda.to_device(host), 0.5), (host, 0.5), keywords)


def test_an_array_without_axes_has_no_axis_0():
    host = np.array(3.0)
    device = cuda.to_device(host)
    for axis in (0, None):
        same(np.median, (device,), (host,), {"axis": axis})
        same(np.quantile, (device, 0.5), (host, 0.5), {"axis": axis})


@pytest.mark.parametrize("method", ["midpoint", "averaged_inverted_cdf", "linear"])
def test_dtypes_of_places_count(method):
    line = np.arange(5, dtype="f4")
    for q in (np.float32(0.5), np.float64(0.5), 0.5):
        same(np.quantile, (cuda.to_device(line), q), (line, q), {"method": method})


def test_places_of_whole_numbers_and_booleans():
    host = np.random.default_rng(7).integers(0, 100, 300).astype("f4")
    host[2] = np.nan
    device = cuda.to_device(host)
    for q in (True, np.array([True, False]), [0, 1], 1):
        same(np.nanquantile, (device, q), (host, q))
    for q in (np.uint8(1), np.array([1, 0], "i1")):  # n times q is more than they hold
        same(np.nanquantile, (device, q), (host, q.astype(int)))
