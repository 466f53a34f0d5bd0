"""Compares coordinates of grids, diagonals and triangles, and flat indices, on device arrays with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_equal_results, assert_same_result

from numbalite import cuda

PLACES = np.array([2, 0, 1])
MASK = np.array([True, False, True, True])


def test_ix_matches_numpy():
    assert_same_result(np.ix_, PLACES, PLACES[:2])
    assert_same_result(np.ix_, MASK, PLACES.astype("u1"), [])
    assert_same_result(np.ix_, PLACES[:0])
    assert_same_result(np.ix_, PLACES[:, None], PLACES)
    d = cuda.to_device(np.arange(12).reshape(4, 3))
    assert_equal_results(
        d[np.ix_(cuda.to_device(MASK), [1, 2])], np.arange(12).reshape(4, 3)[np.ix_(MASK, [1, 2])]
    )


def test_indices_match_numpy():
    for shape in ((2, 3), (4,), (), (2, 0, 3)):
        for dtype in (int, "f4"):
            assert_equal_results(cuda.indices(shape, dtype), np.indices(shape, dtype))
        assert_equal_results(cuda.indices(shape, sparse=True), np.indices(shape, sparse=True))


def test_mgrid_and_ogrid_match_numpy():
    for name in ("mgrid", "ogrid"):
        ours, numpys = getattr(cuda, name), getattr(np, name)
        assert_equal_results(ours[:3, 1:5:2], numpys[:3, 1:5:2])
        assert_equal_results(ours[0:1:5j, -1:1], numpys[0:1:5j, -1:1])
        assert_equal_results(ours[2:7], numpys[2:7])


def test_diagonal_and_triangle_indices_match_numpy():
    for args in ((3, 2), (-3, 2), (3, 0), (2, -1)):
        assert_equal_results(cuda.diag_indices(*args), np.diag_indices(*args))
    for shape in ((3, 3), (2, 2, 2), (2, 3), (3,), (0, 0)):
        assert_same_result(np.diag_indices_from, np.zeros(shape))
    for name in ("tril_indices", "triu_indices"):
        for args in ((3,), (3, 1), (2, -1, 4), (0,)):
            assert_equal_results(getattr(cuda, name)(*args), getattr(np, name)(*args))
        for shape in ((3, 3), (2, 4), (0, 2), (2,), (2, 2, 2)):
            assert_same_result(getattr(np, f"{name}_from"), np.zeros(shape), 1)


@pytest.mark.parametrize("order", ["C", "F", "X"])
def test_unravel_index_matches_numpy(order):
    for places in (np.array([[0, 5], [23, 7]]), np.array(11), np.array([24]), np.array([-1])):
        assert_same_result(np.unravel_index, places, (2, 3, 4), order=order)
    assert_same_result(np.unravel_index, np.array([1.5]), (2, 3), order=order)
    assert_same_result(np.unravel_index, np.array([1, 2], "u1"), 7, order=order)
    assert_same_result(np.unravel_index, np.zeros(0, int), (0, 3), order=order)
    for shape in ((2**62, 2), (2**63 - 1, 1), (2**63,)):
        assert_same_result(np.unravel_index, PLACES, shape, order=order)
        assert_same_result(np.ravel_multi_index, (PLACES,) * len(shape), shape, order=order)


@draw_examples(25)
@given(data=st.data())
def test_ravel_multi_index_matches_numpy(data):
    dims = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    shape = data.draw(drawn.draw_shapes(0, 2, most=3))
    reach = data.draw(st.sampled_from([0, 0, 3]))
    mode = data.draw(st.sampled_from(["raise", "wrap", "clip", "up"]))
    if data.draw(st.booleans()):
        mode = tuple(data.draw(st.sampled_from(["wrap", "clip", "raise"])) for _ in dims)
    rng = np.random.default_rng(data.draw(st.integers(0, 20)))
    places = tuple(
        rng.integers(-reach, n + reach, data.draw(drawn.draw_broadcast_shape(shape))).astype(
            data.draw(st.sampled_from(["i8", "i4"]))
        )
        for n in dims
    )
    order = data.draw(st.sampled_from("CFX"))
    assert_same_result(np.ravel_multi_index, places, dims, mode, order)


def test_invalid_multi_indices_raise_numpys_errors():
    assert_same_result(np.ravel_multi_index, (PLACES, PLACES), (3,))
    assert_same_result(np.ravel_multi_index, (PLACES,), (3, 3))
    for mode in ("raise", "wrap", "clip"):
        assert_same_result(np.ravel_multi_index, (PLACES, PLACES), (3, 0), mode)
        assert_same_result(np.ravel_multi_index, (PLACES[:0], PLACES[:0]), (3, 0), mode)
    assert_same_result(np.ravel_multi_index, (PLACES, PLACES * 1.5), (3, 3))
    assert_same_result(np.ravel_multi_index, (PLACES, PLACES), (3, 3), ("wrap",))
    assert_same_result(np.ravel_multi_index, (PLACES, PLACES[:2]), (3, 3))
    assert_same_result(np.ravel_multi_index, np.array([PLACES, PLACES]), (3, 3))
