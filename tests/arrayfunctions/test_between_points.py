"""Interpolation, polynomials, places counted in one number: on device arrays against NumPy's own."""

import numpy as np
import pytest
from kit.likenumpy import same

from numbalite import cuda


def both(function, *arrays, **keywords):
    """Arrays on the device and the host; all else as it is."""
    device = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in arrays]
    same(function, device, arrays, keywords)


X = np.array([[-3.0, 0, 0.25, 1], [2.5, np.nan, 7, np.inf]])
XP, FP = np.array([0.0, 1, 2, 4]), np.array([3.0, -1, -1, np.inf])


@pytest.mark.parametrize("points", [4, 1])
def test_interp(points):
    xp, fp = XP[:points], FP[:points]
    both(np.interp, X, xp, fp)
    both(np.interp, X, xp, fp, left=7, right=-7)
    both(np.interp, X[:, ::-2], xp, fp + 2j * xp, left=1 - 1j)
    both(np.interp, X[0], xp[::-1] + 5, xp, period=-3)
    both(np.interp, X[:0], xp.astype("i4"), [1] * points)


@pytest.mark.parametrize(
    ("arrays", "keywords"),
    [
        ((X, XP, FP[:2]), {}), ((X, XP[:0], FP[:0]), {}), ((X, X, FP), {}), ((XP * 1j, XP, FP), {}),
        ((X, XP, FP), {"period": 0}),
    ],
)  # fmt: skip
def test_wrong_points(arrays, keywords):
    both(np.interp, *arrays, **keywords)


@pytest.mark.parametrize("dtype", ["f4", "i4", "c16"])
def test_polynomials(dtype):
    x = np.arange(-2, 4).astype(dtype)
    for p in (np.array([2, -1, 3], dtype), [1.5, 2], []):
        both(np.polyval, p, x)
    both(np.polyval, x[:3], x.reshape(2, 3))
    for count, increasing in ((None, False), (3, True), (1, False), (0, False)):
        both(np.vander, x, count, increasing=increasing)
    both(np.vander, x.reshape(2, 3))


def test_powers_and_others():
    start = np.array([0.0, 1, 2])
    both(np.logspace, start, 3, 4)
    both(np.logspace, start, 3.5, 4, endpoint=False, base=2, dtype="i4", axis=-1)
    both(np.logspace, start, 3, 2, base=np.array([2.0, 3, 4]))
    np.testing.assert_allclose(cuda.logspace(0, 2, 3).copy_to_host(), [1, 10, 100])
    for dtype in ("f4", "f8", "i4"):
        both(np.sinc, np.array([[0, 1, -2], [3, 0, 5]], dtype) / np.array(4, dtype))
        both(np.fix, np.array([-1.5, 0, 1.5]).astype(dtype))


@pytest.mark.parametrize("order", ["C", "F", "X"])
def test_unravel_index(order):
    for places in (np.array([[0, 5], [23, 7]]), np.array(11), np.array([24]), np.array([-1])):
        both(np.unravel_index, places, (2, 3, 4), order=order)
    both(np.unravel_index, np.array([1.5]), (2, 3), order=order)
    both(np.unravel_index, np.array([1, 2], "u1"), 7, order=order)
    both(np.unravel_index, np.zeros(0, int), (0, 3), order=order)
