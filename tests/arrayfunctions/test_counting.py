"""Compares histograms, searches, unique elements and quantiles on the device with NumPy."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn, likenumpy
from kit.drawn import draw_examples, result_or_error
from kit.needs import numpy_since
from kit.sample import draw_cases

from numbalite import cuda

RNG = np.random.default_rng(11)
on_device = cuda.to_device


def assert_equal_results(result, expected):
    if isinstance(expected, (tuple, list)):
        assert len(result) == len(expected)
        for one, other in zip(result, expected, strict=True):
            assert_equal_results(one, other)
        return
    expected = np.asarray(expected)
    got = result.copy_to_host()
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if got.dtype.kind in "fc":
        eps = float(np.finfo(got.dtype).eps)
        np.testing.assert_allclose(got, expected, rtol=64 * eps, atol=64 * eps)
    else:
        np.testing.assert_array_equal(got, expected)


def assert_same_outcome(function, host, device):
    """Asserts that both functions have equal results, or raise the same kind of exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = result_or_error(function, *host)
        ours = result_or_error(function, *device)
    drawn.assert_same_value_or_error(ours, theirs, assert_equal_results)


# ------------------------------------------------------------------------------------- histograms


def test_bincount_matches_numpy():
    unsigned = np.array([0, 1, 1, 3], np.uint64)
    np.testing.assert_array_equal(np.bincount(cuda.to_device(unsigned)), [1, 2, 0, 1])
    x, weights = RNG.integers(0, 50, 1000), RNG.random(1000)
    d, w = on_device(x), on_device(weights)
    for host, device in (
        ((x,), (d,)),
        ((x[::-2], weights[::2], 80), (d[::-2], w[::2], 80)),
        ((x.astype("u1"), None, 3), (on_device(x.astype("u1")), None, 3)),
        ((x[:0], None, 2), (d[:0], None, 2)),
        ((x[:0], weights[:0]), (d[:0], w[:0])),
        ((x * 1000,), (on_device(x * 1000),)),  # more bins than fit into shared memory
        ((x - 1,), (on_device(x - 1),)),
        ((weights,), (w,)),
        ((x, weights[1:]), (d, w[1:])),
        ((x, None, -1), (d, None, -1)),
        ((x.reshape(10, 100),), (d.reshape(10, 100),)),
    ):
        assert_same_outcome(np.bincount, host, device)


@draw_examples(30)
@given(data=st.data())
def test_histogram_matches_numpy(data):
    dtype = data.draw(st.sampled_from(["f4", "f8", "i4", "?"]))
    shape = data.draw(drawn.draw_shapes(0, 2, most=60))
    rng = np.random.default_rng(data.draw(st.integers(0, 50)))
    values = (rng.standard_normal(shape) * 20).astype(dtype)
    if dtype == "f4" and values.size and data.draw(st.booleans()):
        values.flat[0] = data.draw(st.sampled_from([np.nan, np.inf]))
    placed = drawn.PlacedArray(values, data.draw(drawn.array_recipes(len(shape))))
    bins = data.draw(st.sampled_from([1, 7, 10, 0, [-10, 0, 0.5, 20], [3, 1], [0, 5, 5, 9]]))
    keywords = {"density": data.draw(st.booleans())}
    if data.draw(st.booleans()):
        keywords["range"] = data.draw(st.sampled_from([(-3, 7), (0, 0), (5, 2)]))
    weights = data.draw(st.sampled_from([None, "f8", "i4", "c16"]))
    of_weights = None if weights is None else rng.integers(0, 5, shape).astype(weights)
    assert_same_outcome(
        lambda a, w: np.histogram(a, bins, weights=w, **keywords),
        (placed.host, of_weights),
        (placed.device(), None if weights is None else on_device(of_weights)),
    )


def test_histogramdd_matches_numpy():
    sample, weights = RNG.random((300, 2)), RNG.integers(0, 4, 300)
    d, w = on_device(sample), on_device(weights)
    assert_same_outcome(np.histogramdd, (sample, 4), (d, 4))
    assert_same_outcome(np.histogramdd, (sample, (3, [0, 0.3, 1])), (d, (3, [0, 0.3, 1])))
    assert_same_outcome(
        lambda x, y, w: np.histogram2d(x, y, [3, [0, 0.3, 1]], density=True, weights=w),
        (sample[:, 0], sample[:, 1], weights),
        (d[:, 0], d[:, 1], w),
    )
    assert_same_outcome(np.histogram2d, (sample[:, 0], sample[:, 1]), (d[:, 0], d[:, 1]))
    assert_same_outcome(np.histogramdd, (sample, (1, 2, 3)), (d, (1, 2, 3)))


RULES = ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"]


def test_histogram_ranges_match_numpy():
    x = RNG.random((40, 2)).astype("f4")
    d = on_device(x)
    for limits in (None, ((0, 1), (0, np.float32(0.9))), ((0, 0), (0, 1)), (None, (0.5, 1)),
                   ((0, 1, 2), (0, 1)), ((1, 0), (0, 1))):  # fmt: skip
        for bins in (3, (2, 4), [3, np.array([0, 0.5, 1])], (0, 1)):
            assert_same_outcome(np.histogramdd, (x, bins, limits), (d, bins, limits))
    columns = (x[:, 0], x[:, 1].astype("f8"))
    assert_same_outcome(np.histogram2d, columns, tuple(map(on_device, columns)))
    for limits in ((0, 1, 2), (0,), (1, 0), (0, np.nan)):
        assert_same_outcome(np.histogram, (x, 5, limits), (d, 5, limits))


@numpy_since("2.1", "bins of integers have a width of at least 1")
@pytest.mark.parametrize("rule", RULES)
def test_histogram_bin_rules_match_numpy(rule):
    normal = np.random.default_rng(5).standard_normal(300)
    hosts = [normal, (normal * 20).astype("i4"), normal.astype("f4") ** 2, np.ones(5)]
    if rule != "stone":  # the rule "stone" computes a histogram for each of 100 bin counts
        hosts += [normal[:2], normal[:0], normal > 0]
    for host in draw_cases(3, hosts, rule):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            likenumpy.assert_same_result(np.histogram_bin_edges, host, rule)
    likenumpy.assert_same_result(np.histogram, normal, rule, (-1, 0.5))


def test_unknown_bin_rules_raise():
    sample = RNG.random((9, 2))
    likenumpy.assert_same_result(np.histogram, sample, "other")
    likenumpy.assert_same_result(np.histogram, sample, "fd", weights=sample)
    likenumpy.assert_same_result(np.histogramdd, sample, "auto")
    likenumpy.assert_same_result(np.histogramdd, sample, ["auto", 3])


# --------------------------------------------------------------------------------------- searches


def test_searchsorted_matches_numpy():
    a = np.sort(RNG.integers(0, 20, 40)).astype("f4")
    a[-2:] = np.nan
    v = RNG.integers(-1, 21, (5, 6)).astype("f8")
    v[0, 0] = np.nan
    sorter = RNG.permutation(40)
    shuffled = np.empty(40, "f4")
    shuffled[sorter] = a
    for side in ("left", "right"):
        assert_same_outcome(np.searchsorted, (a, v, side), (on_device(a), on_device(v), side))
        assert_same_outcome(
            np.searchsorted, (a[:0], v.T, side), (on_device(a[:0]), on_device(v).T, side)
        )
        assert_same_outcome(
            np.searchsorted,
            (shuffled, v, side, sorter),
            (on_device(shuffled), on_device(v), side, on_device(sorter)),
        )
    d = on_device(a)
    assert np.searchsorted(d, 3.0).item() == np.searchsorted(a, 3.0)
    for more in ((v, "middle"), (v, 3), (v, "left", sorter[1:]), (v, "left", sorter + 40)):
        assert_same_outcome(np.searchsorted, (a, *more), (d, *more))


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f4", "f8", "c8", "c16", "M8[s]"])
@pytest.mark.parametrize("size", [1, 100, 1023, 1024, 1025])
def test_searchsorted_in_short_arrays_matches_numpy(size, dtype):
    """Blocks copy arrays of up to 1024 elements to shared memory."""
    a, v = (RNG.integers(0, 100, n).astype("i8") for n in (size, 777))
    a, v = (one.view(dtype) if dtype == "M8[s]" else one.astype(dtype) for one in (a, v))
    sorter = np.argsort(a, kind="stable")
    for side in ("left", "right"):
        for args in ((a[sorter], v, side), (a, v, side, sorter)):
            ours = [on_device(x) if isinstance(x, np.ndarray) else x for x in args]
            assert_same_outcome(np.searchsorted, args, tuple(ours))
    assert_same_outcome(np.isin, (v, a), (on_device(v), on_device(a)))
    if dtype[0] in "iuf":
        bins = a[sorter][:: RNG.choice((1, -1))]
        assert_same_outcome(np.digitize, (v, bins), (on_device(v), on_device(bins)))


def test_digitize_matches_numpy():
    x = RNG.integers(-1, 11, (5, 6)).astype("f8")
    d, edges = on_device(x), np.array([0, 3, 3, 9.0])
    for bins in (edges, edges[::-1], edges[[0, 2, 1]] * [1, 2, 1]):
        for right in (False, True):
            assert_same_outcome(np.digitize, (x, bins, right), (d, on_device(bins), right))
            assert_same_outcome(np.digitize, (x, bins, right), (d, bins, right))
    assert_same_outcome(np.digitize, (x * 1j, edges), (on_device(x * 1j), edges))


def test_digitize_with_nan_bins_matches_numpy():
    x, nan = np.array([0, 1, 1.5, 2, 3, np.nan, np.inf, -np.inf]), np.nan
    d = on_device(x)
    for bins in ([nan], [nan, nan], [1, 2, nan], [1, 1, 2, nan, nan], [nan, 2, 1], [nan, nan, 2, 1, 1],
                 [nan, 1, 2]):  # fmt: skip
        for right in (False, True):
            bins = np.array(bins, float)
            assert_same_outcome(np.digitize, (x, bins, right), (d, on_device(bins), right))


# ---------------------------------------------------------------------------------- what is there once


@numpy_since("2.1", "the shape of inverse indices")
@pytest.mark.parametrize("dtype", ["f4", "i8", "c16", "record"])
def test_unique_matches_numpy(dtype):
    host = RNG.integers(0, 4, (7, 5)).astype("i8" if dtype == "record" else dtype)
    if dtype == "record":
        fields = np.zeros(host.shape, [("a", "i8"), ("b", "f4")])
        fields["a"], fields["b"] = host, host.T.reshape(host.shape) % 2
        host = fields.ravel()
    elif dtype != "i8":
        host[0] = host[3, 2] = np.nan
    if dtype == "c16":
        host[1, 1] = complex(1, np.nan)
    every = {"return_index": True, "return_inverse": True, "return_counts": True}
    for keywords in ({}, {"return_inverse": True}, {"return_counts": True}, every):
        for array in (host, host[:0]):
            assert_same_outcome(
                lambda a, kw=keywords: np.unique(a, **kw), (array,), (on_device(array),)
            )
        if dtype == "f4" and "return_inverse" not in keywords:  # NumPy's NaNs are unsorted here
            keywords = {**keywords, "equal_nan": False}
            assert_same_outcome(
                lambda a, kw=keywords: np.unique(a, **kw), (host,), (on_device(host),)
            )
    if dtype == "record":
        return
    rows = np.repeat(RNG.integers(0, 2, (6, 3)), 2, 0).astype(dtype)
    for axis in (0, 1, -1, 2):
        assert_same_outcome(
            lambda a, n=axis: np.unique(a, axis=n, **every), (rows,), (on_device(rows),)
        )


@numpy_since("2.1", "the shape of inverse indices")
def test_unique_rows_with_nan_match_numpy():
    rows = np.array(
        [[2, np.nan, 2], [np.nan, 1, np.nan], [np.nan, 1, np.nan], [2, 2, 2], [2, 2, 2]]
    )
    every = {"return_index": True, "return_inverse": True, "return_counts": True}
    for dtype in ("f4", "f8", "c16"):
        for axis in (0, 1):
            for equal in (True, False):
                assert_same_outcome(
                    lambda a: np.unique(a, axis=axis, equal_nan=equal, **every),  # noqa: B023
                    (rows.astype(dtype),),
                    (on_device(rows.astype(dtype)),),
                )


@pytest.mark.skipif(not hasattr(np, "unique_all"), reason="NumPy 2.0 has them")
def test_array_api_unique_functions_match_numpy():
    host = RNG.integers(0, 4, 30)
    for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
        function = getattr(np, name)
        result, expected = function(on_device(host)), function(host)
        assert isinstance(result, cuda.DeviceNDArray) or type(result) is type(expected)
        if name != "unique_values":  # NumPy's are in no order
            assert_equal_results(result, expected)


# -------------------------------------------------------------------------------------- quantiles

METHODS = [
    "linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "inverted_cdf",
    "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "median_unbiased",
    "normal_unbiased", "mode",
]  # fmt: skip


@numpy_since("2.4", "the dtype of q counts")
@draw_examples(40)
@given(data=st.data())
def test_quantiles_match_numpy(data):
    dtype = data.draw(st.sampled_from(["f4", "f8", "i4"]))
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    rng = np.random.default_rng(data.draw(st.integers(0, 50)))
    values = (rng.standard_normal(shape) * 9).astype(dtype)
    if dtype != "i4" and data.draw(st.integers(0, 2)) == 0:
        values.flat[0] = np.nan
    placed = drawn.PlacedArray(values, data.draw(drawn.array_recipes(len(shape))))
    host, device = placed.host, placed.device()
    axes = [None, *range(-len(shape), len(shape) + 1), tuple(range(len(shape)))]
    keywords = {"axis": data.draw(st.sampled_from(axes)), "keepdims": data.draw(st.booleans())}
    assert_same_outcome(lambda a: np.median(a, **keywords), (host,), (device,))
    keywords["method"] = data.draw(st.sampled_from(METHODS))
    q = data.draw(
        st.sampled_from([0, 1, 0.3, 0.5, [0.25, 0.5, 0.77, 1], np.array([[0.1], [0.2]]), -0.1, 2])
    )
    assert_same_outcome(lambda a: np.quantile(a, q, **keywords), (host,), (device,))
    assert_same_outcome(lambda a: np.percentile(a, 30, **keywords), (host,), (device,))
