"""Tests NumPy's functions that apply a user's function to device arrays: to 1-D slices, over axes,
by conditions, to coordinates. NumPy is the judge."""

import numpy as np
import pytest
from kit.likenumpy import assert_equal_results, assert_same_result

from numbalite import cuda

CUBE = np.arange(24.0).reshape(2, 3, 4)
X = np.array([[-2.0, -0.5, 0], [0.5, 1, 3]])


@pytest.mark.parametrize("axis", [0, 1, -1, 3])
def test_apply_along_axis_matches_numpy(axis):
    assert_same_result(np.apply_along_axis, np.sum, axis, CUBE)
    assert_same_result(np.apply_along_axis, lambda line, step: line[::step] * 2, axis, CUBE, 2)
    assert_same_result(np.apply_along_axis, lambda line: np.outer(line, line[:2]), axis, CUBE)
    assert_same_result(np.apply_along_axis, np.sum, axis, CUBE[:0])
    assert_same_result(np.apply_along_axis, lambda line: 3, axis, CUBE)
    assert_same_result(np.apply_along_axis, np.sum, 0, np.array(1.0))


def test_apply_over_axes_matches_numpy():
    for axes in ((0, 2), 1, (-1,), (7,)):
        assert_same_result(np.apply_over_axes, np.sum, CUBE, axes)
    assert_same_result(
        np.apply_over_axes, lambda a, axis: np.max(a, axis, keepdims=True), CUBE, (0, 1)
    )
    assert_same_result(np.apply_over_axes, lambda a, axis: a[0, 0, ...], CUBE, 0)


def test_piecewise_matches_numpy():
    twice = lambda x, by=2: x * by
    assert_same_result(np.piecewise, X, [X < 0, X >= 1], [-1, twice])
    assert_same_result(np.piecewise, X, [X < 0, X >= 1], [-1, twice, 5.5], 3)
    assert_same_result(np.piecewise, X, [X < 0], [twice], by=7)
    assert_same_result(np.piecewise, X, np.stack([X < 0, X > 1]), [1, twice])
    assert_same_result(np.piecewise, X[0], X[0] < 0, [twice, 3])
    assert_same_result(np.piecewise, np.arange(3), [np.array([True, False, True])], [1.7, twice])
    assert_same_result(np.piecewise, X, [X < 0], [1, 2, 3])
    assert_same_result(np.piecewise, np.array(3.0), [True, False], [twice, 4])
    assert_same_result(np.piecewise, X, [X[:, :2] < 0], [1])


def test_fromfunction_matches_numpy():
    like = cuda.zeros(1)
    for dtype in (float, "i4"):
        assert_equal_results(
            np.fromfunction(lambda i, j: 2 * i + j, (2, 3), dtype=dtype, like=like),
            np.fromfunction(lambda i, j: 2 * i + j, (2, 3), dtype=dtype),
        )
