"""Filters, slopes and weighted means on device arrays, against NumPy."""

import numpy as np
import pytest
from kit.likenumpy import same

from numbalite import cuda

MATRIX = np.random.default_rng(0).standard_normal((4, 6))
LINE = np.arange(5)


def moved(value):
    return cuda.to_device(value) if isinstance(value, np.ndarray) else value


def alike(function, *args, **keywords):
    on_device = {name: moved(value) for name, value in keywords.items()}
    call = lambda args, keywords: function(*args, **keywords)
    same(call, (tuple(map(moved, args)), on_device), (args, keywords))


@pytest.mark.parametrize("dtype", ["i4", "c8", "?"])
def test_convolutions(dtype):
    rng = np.random.default_rng(1)
    lines = [(rng.integers(0, 5, n) + 1j * rng.integers(0, 5, n)) for n in (1, 2, 5, 8)]
    if dtype != "c8":
        lines = [line.real for line in lines]
    lines = [line.astype(dtype) for line in lines]
    for mode in ("full", "same", "valid", "other"):
        for one in lines:
            for other in lines[:3]:
                alike(np.convolve, one, other, mode)
                alike(np.correlate, one, other, mode)
    for mode in (2, -1, None):
        alike(np.convolve, lines[2], lines[1], mode)
    alike(np.convolve, lines[0], lines[0][:0])
    alike(np.convolve, MATRIX, LINE)


@pytest.mark.parametrize("edge_order", [1, 2, 3])
def test_gradients(edge_order):
    places = np.array([0, 1, 3, 4, 7, 9])
    for args in (
        (MATRIX,), (MATRIX, 2.0), (MATRIX, 2.0, 3.0), (MATRIX, np.array([0, 1, 3.0, 4]), places),
        (LINE,), (MATRIX.astype("f4"),), (LINE, places[:5]), (np.arange(2.0),), (np.arange(1.0),),
        (MATRIX, 1, 2, 3), (MATRIX, np.arange(3)),
    ):  # fmt: skip
        alike(np.gradient, *args, edge_order=edge_order)
    alike(np.gradient, MATRIX, axis=(1, 0), edge_order=edge_order)


def test_averages():
    squares = MATRIX * MATRIX
    for args, keywords in (
        ((MATRIX,), {}), ((LINE,), {"returned": True}), ((MATRIX, 0), {"weights": squares}),
        ((MATRIX,), {"weights": squares, "returned": True}), ((MATRIX, 1), {"weights": np.arange(6)}),
        ((MATRIX, (1, 0)), {"weights": squares.T}), ((MATRIX, 0), {"weights": squares, "keepdims": True}),
        ((MATRIX,), {"weights": LINE}), ((MATRIX, 0), {"weights": LINE}),
        ((LINE,), {"weights": LINE, "returned": True}),
    ):  # fmt: skip
        alike(np.average, *args, **keywords)
    with pytest.raises(ZeroDivisionError, match="Weights sum to zero"):
        np.average(cuda.to_device(MATRIX), 0, np.zeros(4))
