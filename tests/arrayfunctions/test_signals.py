"""Compares filters, slopes, areas, weighted means and covariances on device arrays with NumPy."""

import numpy as np
import pytest
from kit.likenumpy import assert_same_result

from numbalite import cuda

MATRIX = np.random.default_rng(0).standard_normal((4, 6))
LINE = np.arange(5)


@pytest.mark.parametrize("dtype", ["i4", "c8", "?"])
def test_convolve_and_correlate_match_numpy(dtype):
    rng = np.random.default_rng(1)
    lines = [(rng.integers(0, 5, n) + 1j * rng.integers(0, 5, n)) for n in (1, 2, 5, 8)]
    if dtype != "c8":
        lines = [line.real for line in lines]
    lines = [line.astype(dtype) for line in lines]
    for mode in ("full", "same", "valid", "other"):
        for one in lines:
            for other in lines[:3]:
                assert_same_result(np.convolve, one, other, mode)
                assert_same_result(np.correlate, one, other, mode)
    for mode in (2, -1, None):
        assert_same_result(np.convolve, lines[2], lines[1], mode)
    assert_same_result(np.convolve, lines[0], lines[0][:0])
    assert_same_result(np.convolve, MATRIX, LINE)


def test_gradients_are_in_c_order():
    for one in np.gradient(cuda.to_device(MATRIX)):
        assert one.is_c_contiguous()  # kernels receive contiguous arrays as pointers


@pytest.mark.parametrize("edge_order", [1, 2, 3])
def test_gradient_matches_numpy(edge_order):
    places = np.array([0, 1, 3, 4, 7, 9])
    for args in (
        (MATRIX,), (MATRIX, 2.0), (MATRIX, 2.0, 3.0), (MATRIX, np.array([0, 1, 3.0, 4]), places),
        (LINE,), (MATRIX.astype("f4"),), (LINE, places[:5]), (np.arange(2.0),), (np.arange(1.0),),
        (MATRIX, 1, 2, 3), (MATRIX, np.arange(3)),
    ):  # fmt: skip
        assert_same_result(np.gradient, *args, edge_order=edge_order)
    assert_same_result(np.gradient, MATRIX, axis=(1, 0), edge_order=edge_order)
    assert_same_result(np.gradient, MATRIX > 1, edge_order=edge_order)


def test_average_matches_numpy():
    squares = MATRIX * MATRIX
    for args, keywords in (
        ((MATRIX,), {}), ((LINE,), {"returned": True}), ((MATRIX, 0), {"weights": squares}),
        ((MATRIX,), {"weights": squares, "returned": True}), ((MATRIX, 1), {"weights": np.arange(6)}),
        ((MATRIX, (1, 0)), {"weights": squares.T}), ((MATRIX, 0), {"weights": squares, "keepdims": True}),
        ((MATRIX,), {"weights": LINE}), ((MATRIX, 0), {"weights": LINE}),
        ((LINE,), {"weights": LINE, "returned": True}),
    ):  # fmt: skip
        assert_same_result(np.average, *args, **keywords)
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        np.average(cuda.to_device(MATRIX), 0, np.zeros(4))


def test_trapezoid_matches_numpy():
    trapezoid = getattr(np, "trapezoid", None) or np.trapz  # the name before NumPy 2.0
    places = np.array([0, 1, 3, 4, 7.5, 9])
    for args, keywords in (
        ((MATRIX,), {}), ((MATRIX,), {"dx": 0.5, "axis": 0}), ((MATRIX, places), {}), ((LINE,), {}),
        ((MATRIX, places[:4]), {"axis": 0}), ((MATRIX, MATRIX * 2), {}), ((MATRIX, places[:3]), {}),
        ((MATRIX > 0,), {}), ((MATRIX * 1j,), {}), ((MATRIX,), {"axis": 2}), ((LINE[:1],), {}),
        ((MATRIX[0], MATRIX**2), {}), ((MATRIX[0], MATRIX[:2]), {"axis": 0}),
    ):  # fmt: skip
        assert_same_result(trapezoid, *args, **keywords)


def test_cov_and_corrcoef_match_numpy():
    counts, weights = np.arange(6) % 3 + 1, np.linspace(0.5, 2, 6)
    for args, keywords in (
        ((MATRIX,), {}), ((MATRIX,), {"rowvar": False}), ((MATRIX, MATRIX[::-1]), {}), ((LINE,), {}),
        ((MATRIX, MATRIX[0]), {"bias": True}), ((MATRIX,), {"ddof": 2}), ((MATRIX,), {"ddof": 1.5}),
        ((MATRIX,), {"fweights": counts}), ((MATRIX,), {"fweights": counts, "aweights": weights}),
        ((MATRIX,), {"aweights": weights, "ddof": 0}), ((MATRIX,), {"bias": True}),
        ((MATRIX,), {"fweights": weights}), ((MATRIX,), {"aweights": -weights}), ((MATRIX[:, :1],), {}),
        ((MATRIX[None],), {}), ((MATRIX,), {"dtype": np.float32}), ((MATRIX + 1j * MATRIX[::-1],), {}),
        ((MATRIX[:0],), {}), ((LINE, LINE**2), {}), ((MATRIX.T, LINE[:4]), {"rowvar": False}),
    ):  # fmt: skip
        assert_same_result(np.cov, *args, **keywords)
        if not keywords or "rowvar" in keywords:
            assert_same_result(np.corrcoef, *args, **keywords)
    for given, problem in ((counts[:2], "incompatible numbers of samples"), (MATRIX, "multidim")):
        for name in ("fweights", "aweights"):
            with pytest.raises(RuntimeError, match=f"{problem}.*{name}"):  # as NumPy's
                np.cov(cuda.to_device(MATRIX), **{name: given})


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="came with NumPy 2.1")
def test_cumulative_sums_with_initial_value_match_numpy():
    for args, keywords in (
        ((LINE,), {}), ((LINE,), {"include_initial": True}), ((MATRIX,), {}), ((MATRIX,), {"axis": 3}),
        ((MATRIX,), {"axis": 1, "include_initial": True}), ((MATRIX,), {"axis": -2, "dtype": "f4"}),
        ((MATRIX[:, :0],), {"axis": 1, "include_initial": True}),
        ((LINE,), {"out": np.zeros(6, int), "include_initial": True}),
    ):  # fmt: skip
        assert_same_result(np.cumulative_sum, *args, **keywords)
        assert_same_result(np.cumulative_prod, *args, **keywords)


def test_ediff1d_matches_numpy():
    for args, keywords in (
        ((MATRIX,), {}), ((LINE,), {"to_end": [7, 8]}), ((LINE,), {"to_begin": LINE, "to_end": 3}),
        ((LINE,), {"to_end": 1.5}), ((LINE[:1],), {}), ((LINE[:0],), {"to_begin": 3}),
    ):  # fmt: skip
        assert_same_result(np.ediff1d, *args, **keywords)


def test_isreal_and_isposinf_match_numpy():
    special = np.array([0, np.inf, -np.inf, np.nan, 1])
    for function in (np.isreal, np.iscomplex, np.isposinf, np.isneginf):
        for x in (special, special.astype("c8"), LINE, special.astype("f2")):
            assert_same_result(function, x)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_unwrap_matches_numpy(dtype):
    rng = np.random.default_rng(3)
    phases = (rng.integers(-8, 8, (3, 20)) * 1.25).astype(dtype)
    for keywords in ({}, {"axis": 0}, {"discont": 4}, {"period": 4}, {"period": 5}, {"axis": 2}):
        assert_same_result(np.unwrap, phases, **keywords)
    assert_same_result(
        np.unwrap, np.array([0, 2, 4, 2, 0, -2], dtype), period=4
    )  # half a period, both ways
    assert_same_result(np.unwrap, phases[:, :0])


def test_weighted_covariances_of_complex_numbers_match_numpy():
    assert_same_result(np.cov, MATRIX * 1j, aweights=np.arange(6.0))
