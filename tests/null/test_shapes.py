"""Strides after reshaping and broadcasting, with NumPy as the oracle."""

import itertools

import numpy as np
import pytest

from numbalite import _core
from numbalite.runtime import shapes


def arrays_of_each_layout():
    base = np.arange(5000, dtype=np.int32)
    yield base[:24].reshape(2, 3, 4)
    yield base[:24].reshape(2, 3, 4).transpose(2, 0, 1)
    yield base[:48].reshape(2, 3, 8)[:, :, ::2]
    yield base[:48].reshape(4, 3, 4)[::2]
    yield base[:24][::-1].reshape(4, 6)
    yield base[:24].reshape(1, 24, 1)
    yield np.broadcast_to(base[:4], (6, 4))
    yield np.broadcast_to(base[:1], (2, 12))
    yield base[:24].reshape((4, 6), order="F")
    yield base[:0].reshape(3, 0)
    yield base[:1].reshape(())


def shapes_of_size(size):
    if size == 0:
        return [(0,), (0, 3), (2, 0, 5)]
    found = {(size,), (1, size), (size, 1), (1, size, 1)}
    for a, b in itertools.product(range(1, size + 1), repeat=2):
        if size % (a * b) == 0:
            found.add((a, b, size // (a * b)))
    return sorted(found | ({()} if size == 1 else set()))


@pytest.mark.parametrize("order", "CF")
def test_reshaped_strides_match_numpy(order):
    for array in arrays_of_each_layout():
        for shape in shapes_of_size(array.size):
            strides = shapes.strides_of_reshape(
                array.shape, array.strides, array.itemsize, shape, order
            )
            expected = array.reshape(shape, order=order)
            if strides is None:
                assert not np.shares_memory(expected, array)
            else:
                view = np.lib.stride_tricks.as_strided(array, shape, strides)
                np.testing.assert_array_equal(view, expected)


def test_reshape_resolves_minus_one():
    assert shapes.new_shape_of(12, ((3, -1),)) == (3, 4)
    assert shapes.new_shape_of(12, (2, 6)) == (2, 6)
    assert shapes.new_shape_of(12, (-1,)) == (12,)
    assert shapes.new_shape_of(1, ((),)) == ()
    assert shapes.new_shape_of(0, (0, 5)) == (0, 5)
    for bad in ((5,), (-1, -1), (-1, 5), (-2, -6), (0, -1)):
        with pytest.raises(ValueError):
            shapes.new_shape_of(12, bad)
    with pytest.raises(TypeError):
        shapes.new_shape_of(12, (3.0, 4))


def test_broadcast_strides_match_numpy():
    array = np.arange(12).reshape(3, 1, 4)
    for wanted in ((3, 5, 4), (2, 3, 1, 4), (3, 1, 4)):
        strides = shapes.broadcast_strides(array.shape, array.strides, wanted)
        view = np.lib.stride_tricks.as_strided(array, wanted, strides)
        np.testing.assert_array_equal(view, np.broadcast_to(array, wanted))
    assert shapes.drop_leading_ones((1, 1, 3), (3,)) == (3,)
    for shape, wanted in (((4,), (3,)), ((2, 3), (3,)), ((3, 1), (3,))):
        with pytest.raises(ValueError, match="could not broadcast"):
            shapes.drop_leading_ones(shape, wanted)


def test_packed_like_matches_numpys_empty_like():
    for array in arrays_of_each_layout():
        strides = shapes.packed_like(array.shape, array.strides, array.itemsize)
        expected = np.empty_like(array)
        if 0 not in array.strides and array.size > 1 and min(array.strides) > 0:
            for axis, length in enumerate(array.shape):
                assert length == 1 or strides[axis] == expected.strides[axis]
        assert (
            sorted(shapes.packed(array.shape, 4, "C")) == sorted(shapes.packed(array.shape, 4, "F"))
            or array.ndim > 1
        )


def draw_array(rng, shape):
    """Returns an array with a random layout: transposed, reversed, with gaps or repeated
    elements."""
    order = rng.permutation(len(shape))
    memory = np.zeros([2 * shape[i] for i in order], "f4")
    steps = [int(rng.choice([1, 1, 2, -1])) for _ in order]
    parts = [slice(None, None, step) for step in steps]
    array = memory[tuple(parts)].transpose(np.argsort(order))
    array = array[tuple(slice(n) for n in shape)]
    if array.ndim and rng.random() < 0.3:
        array = np.broadcast_to(array[:1], array.shape)
    return array


def test_new_arrays_have_the_axes_in_numpys_order():
    """Tests the strides of one array and of several arrays."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        shape = [int(n) for n in rng.integers(1, 5, rng.integers(0, 5))]
        several = [draw_array(rng, shape) for _ in range(rng.integers(1, 4))]
        strides = [one.strides for one in several]
        made = np.nditer([*several, None], ["zerosize_ok"]).operands[-1]
        found = shapes.packed_as(tuple(shape), made.itemsize, *strides)
        compared = [i for i, n in enumerate(shape) if n > 1]
        assert [found[i] for i in compared] == [made.strides[i] for i in compared]


def test_invalid_geometry_raises():
    for call in (
        lambda: _core.packed_strides((1 << 40, 1 << 40), 4, "C"),
        lambda: _core.packed_strides((3,), -1, "C"),
        lambda: _core.strides_like((3,), (4, 4), 4),
        lambda: _core.strides_as((3, 3), 4, (4, 4), (4,)),
        lambda: _core.reshaped_strides((3, 4), (16, 4), 4, (5,)),
        lambda: _core.broadcast_strides((1,) * 33, (4,) * 33, (1,)),
    ):
        with pytest.raises(ValueError):
            call()
    assert _core.broadcast_strides((3,), (4,), (2, 4)) is None
    for call in (
        lambda: _core.packed_strides((3,), 4),
        lambda: _core.strides_as((3,)),
        lambda: _core.strides_as(("a",), 4),
    ):
        with pytest.raises(TypeError):
            call()
