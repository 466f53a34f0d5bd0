"""Compares delete, insert, append and resize on device arrays with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_same, assert_same_result, to_device
from kit.needs import numpy_since

MATRIX = np.arange(12.0).reshape(3, 4)


def draw_indices(draw, n, most):
    """Returns indices that delete and insert accept for an axis of n elements, and some indices out of
    bounds."""
    kind = draw(st.sampled_from(["number", "slice", "list", "array", "mask", "one", "empty"]))
    if kind == "number":
        return draw(st.integers(-n - 1, most + 1))
    if kind == "slice":
        ends = st.one_of(st.none(), st.integers(-n - 1, n + 1))
        return slice(draw(ends), draw(ends), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))
    if kind == "mask":
        count = draw(st.sampled_from([n, n, n, n + 1]))
        return np.random.default_rng(draw(st.integers(0, 9))).random(count) < 0.5
    if kind == "empty":
        return draw(st.sampled_from([[], np.zeros(0, int)]))
    count = 1 if kind == "one" else draw(st.integers(2, 4))
    items = draw(st.lists(st.integers(-n, most), min_size=count, max_size=count))
    return items if kind == "list" else np.array(items)


@st.composite
def draw_edit(draw, past):
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    values = np.arange(np.prod(shape)).reshape(shape).astype(draw(st.sampled_from(["f4", "i2"])))
    placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape))))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    n = values.size if axis is None else shape[axis]
    return placed, axis, draw_indices(draw, n, n if past else n - 1)


@draw_examples(40)
@given(case=draw_edit(past=False), on_host=st.booleans())
def test_delete_matches_numpy(case, on_host):
    placed, axis, places = case
    there = places if on_host else to_device(places)
    assert_same(np.delete, (placed.device(), there, axis), (placed.host, places, axis))


@numpy_since("2.2", "a mask is not an array of the integers 0 and 1")
@draw_examples(40)
@given(case=draw_edit(past=True), on_host=st.booleans(), data=st.data())
def test_insert_matches_numpy(case, on_host, data):
    placed, axis, places = case
    there = places if on_host else to_device(places)
    host = placed.host
    values = data.draw(st.sampled_from([7, 2.5, np.array([9]), host[:1], np.arange(2), "each"]))
    if isinstance(values, str):
        n = host.size if axis is None else host.shape[axis]
        count = np.size(np.arange(n)[places]) if isinstance(places, slice) else np.size(places)
        shape = [count if i == (axis or 0) % host.ndim else n for i, n in enumerate(host.shape)]
        values = np.arange(count if axis is None else np.prod(shape)) + 100
        values = values if axis is None else values.reshape(shape)
    assert_same(
        np.insert, (placed.device(), there, to_device(values), axis), (host, places, values, axis)
    )


@numpy_since("2.2", "a mask with two dimensions is an error")
def test_insert_and_delete_raise_numpys_errors():
    for function, rest in ((np.delete, ()), (np.insert, (1,))):
        assert_same_result(function, MATRIX, 1, *rest, axis=2)
        assert_same_result(function, MATRIX, [1, 9], *rest, axis=0)
        assert_same_result(function, MATRIX, [0.5, 1], *rest, axis=0)
        assert_same_result(function, MATRIX, np.array([0.0, 1]), *rest, axis=0)
        assert_same_result(function, MATRIX, np.zeros((2, 2), bool), *rest, axis=0)
        assert_same_result(function, np.array(3.0), 0, *rest)
        assert_same_result(function, np.array(3.0), 0, *rest, axis=0)
    assert_same_result(np.insert, MATRIX, [0, 1], np.arange(3), axis=0)
    assert_same_result(np.insert, MATRIX, [[0, 1]], 1, axis=0)


@pytest.mark.parametrize(
    "host", [MATRIX, MATRIX.T, np.arange(3), np.array(7), np.zeros(0)], ids=str
)
def test_resize_matches_numpy(host):
    for shape in ((2, 3), 7, (5, 5), (0, 2), (), -1, (2, -3)):
        assert_same_result(np.resize, host, shape)


@numpy_since("2.4", "an unknown side is an error")
def test_trim_zeros_matches_numpy():
    line = np.array([0, 0, 3, 0, 5, 0], "f4")
    table = np.zeros((4, 5), int)
    table[1:3, 2] = 1
    for host in (line, line[2:], line[:1], line[:0], table):
        for trim in ("fb", "F", "b", "bf", "x"):
            assert_same_result(np.trim_zeros, host, trim)
        for axis in (-1, (0,), (), 5):
            assert_same_result(np.trim_zeros, host, "fb", axis)


def test_delete_keeps_the_memory_order():
    for host in (MATRIX, np.asfortranarray(MATRIX)):
        for places in (1, slice(9, None), slice(0, 2)):
            made = np.delete(to_device(host).copy("K"), places, axis=1)
            assert made.is_f_contiguous() == np.delete(host, places, axis=1).flags.f_contiguous
