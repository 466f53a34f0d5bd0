"""Bits packed into bytes and unpacked, on device arrays, compared with NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import examples
from kit.likenumpy import alike, assert_same


@st.composite
def draw_placed_array(draw, dtypes):
    shape = draw(st.lists(st.sampled_from([0, 1, 2, 3, 7, 8, 9, 17]), max_size=3).map(tuple))
    values = drawn.make_values(draw(st.integers(0, 9)), shape, draw(st.sampled_from(dtypes)))
    axis = draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    return drawn.PlacedArray(values, draw(drawn.recipes(len(shape)))), axis


@examples(25)
@given(case=draw_placed_array(["?", "u1", "i4"]), order=st.sampled_from(["big", "little"]))
def test_packbits_matches_numpy(case, order):
    one, axis = case
    assert_same(np.packbits, (one.device(), axis, order), (one.host, axis, order))


@examples(25)
@given(
    case=draw_placed_array(["u1"]),
    order=st.sampled_from(["big", "little"]),
    count=st.sampled_from([None, 0, 3, 8, 11, 40, -1, -9, -1000]),
)
def test_unpackbits_matches_numpy(case, order, count):
    def unpack(a, *rest):
        result = np.unpackbits(a, *rest)
        if a.size == 0 and isinstance(a, np.ndarray):
            result[...] = 0  # without input bytes, NumPy leaves the added bits uninitialized
        return result

    one, axis = case
    rest = axis, count, order
    assert_same(unpack, (one.device(), *rest), (one.host, *rest))


@pytest.mark.parametrize("function", [np.packbits, np.unpackbits])
def test_packbits_rejects_other_dtypes(function):
    alike(function, np.zeros(3))
    alike(function, np.zeros(3, "u1"), bitorder="middle")
    alike(function, np.zeros(3, "u1"), bitorder=10)
    alike(function, np.zeros(3, "u1"), axis=1)
    alike(function, np.array(3, "u1"), axis=0)
