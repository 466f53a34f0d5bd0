"""Compares packbits and unpackbits on device arrays with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_same, assert_same_result


@st.composite
def draw_placed_array(draw, dtypes):
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 7, 8, 9, 17]), max_size=3).map(tuple))
    values = drawn.make_values(draw(st.integers(0, 9)), shape, draw(st.sampled_from(dtypes)))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    return drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape)))), axis


@draw_examples(25)
@given(case=draw_placed_array(["?", "u1", "i4"]), order=st.sampled_from(["big", "little"]))
def test_packbits_matches_numpy(case, order):
    one, axis = case
    assert_same(np.packbits, (one.device(), axis, order), (one.host, axis, order))


@draw_examples(25)
@given(
    case=draw_placed_array(["u1"]),
    order=st.sampled_from(["big", "little"]),
    count=st.sampled_from([None, 0, 3, 8, 11, 40, -1, -9, -1000]),
)
def test_unpackbits_matches_numpy(case, order, count):
    def unpack_bits(a, *rest):
        result = np.unpackbits(a, *rest)
        if a.size == 0 and isinstance(a, np.ndarray):
            result[...] = 0  # without input bytes, NumPy leaves the added bits uninitialized
        return result

    one, axis = case
    rest = axis, count, order
    assert_same(unpack_bits, (one.device(), *rest), (one.host, *rest))


@pytest.mark.parametrize("function", [np.packbits, np.unpackbits])
def test_packbits_rejects_other_dtypes(function):
    assert_same_result(function, np.zeros(3))
    assert_same_result(function, np.zeros(3, "u1"), bitorder="middle")
    assert_same_result(function, np.zeros(3, "u1"), bitorder=10)
    assert_same_result(function, np.zeros(3, "u1"), axis=1)
    assert_same_result(function, np.array(3, "u1"), axis=0)
