"""Compares diagonals, triangles, grids, windows, blocks and choices on device arrays with NumPy."""

import numpy as np
import pytest
from kit.likenumpy import assert_equal_results, assert_same_result
from kit.sample import random_generator

from numbalite import cuda

MATRIX = np.random.default_rng(0).standard_normal((4, 6))
LINE = np.arange(5)
CUBE = np.random.default_rng(1).standard_normal((2, 3, 4)).astype("f4")


@pytest.mark.parametrize("name", ["diag", "diagflat", "tril", "triu"])
def test_diag_and_triangle_functions_match_numpy(name):
    for array in (MATRIX, LINE, CUBE, np.array(3.0)):
        for k in (-2, 0, 7):
            assert_same_result(getattr(np, name), array, k)
    assert_equal_results(np.tri(3, 4, 1, like=cuda.to_device(LINE)), np.tri(3, 4, 1))


@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal_matches_numpy(wrap):
    shapes = ((4, 6), (9, 3), (3, 3, 3))
    for shape in shapes:
        for value in (5, np.arange(2)):
            for order in "CF":
                host = np.zeros(shape, order=order)
                d = cuda.to_device(host)
                np.fill_diagonal(d, value, wrap)
                np.fill_diagonal(host, value, wrap)
                np.testing.assert_array_equal(d, host)
    assert_same_result(np.fill_diagonal, LINE, 5, wrap)
    assert_same_result(np.fill_diagonal, CUBE, 5, wrap)


def test_meshgrid_matches_numpy():
    lines = [np.arange(i + 2.0) for i in range(3)]
    for indexing in ("xy", "ij", "q"):
        for sparse in (False, True):
            for count in (1, 2, 3):
                assert_same_result(np.meshgrid, *lines[:count], indexing=indexing, sparse=sparse)


def test_sliding_window_view_matches_numpy():
    windows = np.lib.stride_tricks.sliding_window_view
    for array, *how in (
        (LINE, 3), (MATRIX, (2, 3)), (MATRIX, 3, 1), (MATRIX, (2, 2), (0, 0)),  # right
        (MATRIX, 3), (LINE, 9), (LINE, -1),  # refused
    ):  # fmt: skip
        assert_same_result(windows, array, *how)
    d = cuda.to_device(LINE)
    assert windows(d, 2).address == d.address


def test_cross_matches_numpy():
    rng = np.random.default_rng(2)
    for one in ((3,), (4, 3), (2, 4, 3)):
        for other in ((3,), (4, 3)):
            assert_same_result(np.cross, rng.standard_normal(one), rng.standard_normal(other))
    vectors = rng.standard_normal((3, 5))
    assert_same_result(np.cross, vectors, vectors[::-1].T, axisa=0, axisc=0)
    assert_same_result(np.linalg.cross, vectors, vectors + 1, axis=0)
    assert_same_result(np.cross, MATRIX, MATRIX)
    assert_same_result(np.cross, vectors.T > 0, vectors.T > 0)


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "f2", "f4", "f8", "c8"])
def test_cross_products_of_dtypes_are_exactly_those_of_numpy(dtype):
    """The cross product rounds products before the subtraction, so that parallel vectors have the product
    0."""
    rng = random_generator()
    a = (rng.random((200, 3)) * 100).astype(dtype)
    b = np.concatenate([a[:100] * a.dtype.type(3), (rng.random((100, 3)) * 100).astype(dtype)])
    found = np.cross(cuda.to_device(a), cuda.to_device(b)).copy_to_host()
    assert found.dtype == a.dtype
    if a.dtype.kind == "c":
        np.testing.assert_allclose(found, np.cross(a, b), 1e-5, 1e-2)
    else:
        np.testing.assert_array_equal(found, np.cross(a, b))
    np.testing.assert_allclose(
        np.cross(cuda.to_device(a), b.astype("c16")), np.cross(a, b.astype("c16"))
    )


def test_block_and_select_match_numpy():
    for arrays in (
        [[MATRIX, MATRIX], [MATRIX, MATRIX * 2]], [LINE, LINE], LINE, [[LINE, LINE], [np.ones(10)]],
        [[[MATRIX]], [[MATRIX]]], [[MATRIX], MATRIX], [[]],
    ):  # fmt: skip
        assert_same_result(np.block, arrays)
    for choices in (
        ([MATRIX > 1, MATRIX < -1], [MATRIX, -MATRIX]), ([LINE > 2, LINE > 1], [LINE, LINE * 2.0], -1),
        ([LINE > 1], [LINE, LINE]), ([LINE], [LINE]), ([LINE > 1], [LINE.tolist()], LINE.tolist()),
    ):  # fmt: skip
        assert_same_result(np.select, *choices)
