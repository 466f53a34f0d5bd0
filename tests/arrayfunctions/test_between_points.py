"""Compares interpolation on device arrays with NumPy's own."""

import numpy as np
import pytest
from kit.likenumpy import assert_same_result

X = np.array([[-3.0, 0, 0.25, 1], [2.5, np.nan, 7, np.inf]])
XP, FP = np.array([0.0, 1, 2, 4]), np.array([3.0, -1, -1, np.inf])


@pytest.mark.parametrize("points", [4, 1])
def test_interp_matches_numpy(points):
    xp, fp = XP[:points], FP[:points]
    assert_same_result(np.interp, X, xp, fp)
    assert_same_result(np.interp, X, xp, fp, left=7, right=-7)
    assert_same_result(np.interp, X[:, ::-2], xp, fp + 2j * xp, left=1 - 1j)
    assert_same_result(np.interp, X[0], xp[::-1] + 5, xp, period=-3)
    assert_same_result(np.interp, X[:0], xp.astype("i4"), [1] * points)
    for place in (0, -1):
        odd = xp.copy()
        odd[place] = np.nan
        assert_same_result(np.interp, X, odd, fp, left=7, right=-7)


@pytest.mark.parametrize(
    ("arrays", "keywords"),
    [
        ((X, XP, FP[:2]), {}), ((X, XP[:0], FP[:0]), {}), ((X, X, FP), {}), ((XP * 1j, XP, FP), {}),
        ((X, XP, FP), {"period": 0}),
    ],
)  # fmt: skip
def test_interp_rejects_invalid_points_as_numpy(arrays, keywords):
    assert_same_result(np.interp, *arrays, **keywords)
