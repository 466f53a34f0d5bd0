"""Compares reductions and the methods of CUDA ufuncs with NumPy: axes, layouts, dtypes,
keywords."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import assert_close, draw_examples, result_or_error

from numbalite import cuda, vectorize

TYPES = ["i4", "i8", "f8"]


@functools.cache
def make_ufunc(name):
    names = [drawn.numba_name(t) for t in TYPES]
    expressions = {
        "add": ("x + y", 0),
        "maximum": ("x >= y || x != x ? x : y", "reorderable"),
        "subtract": ("x - y", None),
    }
    expression, identity = expressions[name]
    signatures = [f"{t}({t}, {t})" for t in names]
    return vectorize(signatures, target="cuda", source=expression, args="x, y", identity=identity)


@functools.cache
def make_reduction(expression):
    return cuda.reduce(expression)


@st.composite
def draw_arrays(draw, dtypes, min_dims=0, max_dims=4):
    """Returns (argument, host array), on the host or the device, with any strides; integers, so
    that sums are exact."""
    shape = draw(drawn.draw_shapes(min_dims, max_dims))
    values = drawn.make_values(draw(st.integers(0, 99)), shape, "i2").astype(
        draw(st.sampled_from(dtypes))
    )
    placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape))))
    return drawn.convert_to_argument(
        placed, draw(st.sampled_from(["host", "device", "device", "foreign"]))
    ), placed.host


@st.composite
def draw_axes(draw, ndim):
    choice = draw(st.integers(0, 2)) if ndim else draw(st.sampled_from([0, 2]))
    if choice == 0:
        return None
    if choice == 1:
        return draw(st.integers(-ndim, ndim - 1))
    chosen = draw(st.lists(st.integers(0, ndim - 1), unique=True)) if ndim else []
    return tuple(a - ndim if draw(st.booleans()) else a for a in chosen)


def assert_same(call, oracle):
    """numbalite and NumPy return the same result, or both raise an error."""
    theirs = result_or_error(oracle)
    drawn.assert_same_value_or_error(result_or_error(call), theirs, assert_close)


@draw_examples(30)
@given(data=st.data())
def test_reduce_matches_numpy(data):
    argument, host = data.draw(draw_arrays(["i4", "i8", "f8", "i2"]))
    name = data.draw(st.sampled_from(["add", "maximum"]))
    keywords = {"axis": data.draw(draw_axes(host.ndim))}
    if data.draw(st.booleans()):
        keywords["keepdims"] = True
    if data.draw(st.integers(0, 2)) == 0:
        keywords["initial"] = data.draw(st.sampled_from([0, 3, -1000]))
    if data.draw(st.integers(0, 3)) == 0:
        keywords["dtype"] = data.draw(st.sampled_from(["i8", "f8"]))
    elif host.dtype == np.int16 or (name == "add" and host.dtype == np.int32):
        keywords["dtype"] = np.dtype("i8")  # NumPy widens sums of small integers by itself
    if data.draw(st.integers(0, 3)) == 0:
        keywords["where"] = drawn.make_values(
            4, data.draw(drawn.draw_broadcast_shape(host.shape)), "?"
        )
    assert_same(
        lambda: make_ufunc(name).reduce(argument, **keywords),
        lambda: getattr(np, name).reduce(host, **keywords),
    )


@draw_examples(15)
@given(data=st.data())
def test_reduce_into_out_matches_numpy(data):
    argument, host = data.draw(draw_arrays(["i8"], max_dims=3))
    axis, keepdims = data.draw(draw_axes(host.ndim)), data.draw(st.booleans())
    expected = np.asarray(np.add.reduce(host, axis=axis, keepdims=keepdims))
    dtype = data.draw(st.sampled_from(["i8", "f8", "i4"]))
    placed = drawn.PlacedArray(
        np.zeros(expected.shape, dtype), data.draw(drawn.array_recipes(expected.ndim))
    )
    out = placed.device() if data.draw(st.booleans()) else placed.host
    assert make_ufunc("add").reduce(argument, axis=axis, keepdims=keepdims, out=out) is out
    assert_close(np.asarray(drawn.to_host(out)), expected.astype(dtype))


@draw_examples(20)
@given(data=st.data())
def test_accumulate_matches_numpy(data):
    argument, host = data.draw(draw_arrays(TYPES, max_dims=3))
    name = data.draw(st.sampled_from(["add", "maximum", "subtract"]))
    axis = data.draw(st.integers(-3, 2))
    keywords = {} if host.dtype != np.int32 else {"dtype": "i8"}
    assert_same(
        lambda: make_ufunc(name).accumulate(argument, axis, **keywords),
        lambda: getattr(np, name).accumulate(host, axis, **keywords),
    )


@draw_examples(20)
@given(data=st.data())
def test_reduceat_matches_numpy(data):
    argument, host = data.draw(draw_arrays(["i8", "f8"], 1, 3))
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    indices = data.draw(st.lists(st.integers(-1, 6), min_size=1, max_size=5))
    name = data.draw(st.sampled_from(["add", "maximum"]))
    assert_same(
        lambda: make_ufunc(name).reduceat(argument, indices, axis),
        lambda: getattr(np, name).reduceat(host, indices, axis),
    )


@draw_examples(15)
@given(data=st.data())
def test_at_matches_numpy(data):
    shape = data.draw(drawn.draw_shapes(1, 2))
    values = drawn.make_values(1, shape, "i8")
    n = data.draw(st.integers(0, 12))
    indices = np.array([data.draw(st.integers(-2, 6)) for _ in range(n)], "i8")
    operand = data.draw(st.sampled_from([2, drawn.make_values(2, (n, *shape[1:]), "i8")]))
    name = data.draw(st.sampled_from(["add", "subtract", "maximum"]))
    mine = cuda.to_device(values) if data.draw(st.booleans()) else values.copy()
    expected = values.copy()
    _, refused = result_or_error(getattr(np, name).at, expected, indices, operand)
    _, error = result_or_error(make_ufunc(name).at, mine, indices, operand)
    assert (error is None) == (refused is None), f"{error!r}, NumPy {refused!r}"
    if refused is None:
        assert_close(mine, expected)
    elif not isinstance(refused, TypeError):
        assert isinstance(error, (ValueError, IndexError))


@draw_examples(10)
@given(data=st.data())
def test_outer_matches_numpy(data):
    (x, host_x), (y, host_y) = (data.draw(draw_arrays(["i8", "i4"], max_dims=2)) for _ in range(2))
    assert_same(
        lambda: make_ufunc("subtract").outer(x, y), lambda: np.subtract.outer(host_x, host_y)
    )


@draw_examples(30)
@given(data=st.data())
def test_cuda_reduce_matches_numpy(data):
    argument, host = data.draw(draw_arrays(["i4", "i8", "f8", "f4"], 1, 4))
    axis = data.draw(draw_axes(host.ndim))
    if axis == ():
        axis = None
    init = data.draw(st.sampled_from([None, 0, 7]))
    if host.size == 0 and init is None:
        return
    total = np.sum(host, axis=axis, dtype=host.dtype)
    expected = total if init is None else (total + np.asarray(init, host.dtype)).astype(host.dtype)
    keywords = {} if axis is None and host.ndim == 1 else {"axis": axis}
    if axis is None and host.ndim > 1:
        argument, keywords = np.ascontiguousarray(host).reshape(-1), {}
    result = make_reduction("a + b")(argument, init=init, **keywords)
    np.testing.assert_array_equal(np.asarray(drawn.to_host(result)), expected)


@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 4097, 20001])
def test_reductions_keep_the_operand_order(n):
    """Tests operations that are associative but not commutative: the last element, and products of 2x2
    matrices packed in an int."""
    x = np.arange(1, n + 1)
    if n == 0:
        return
    assert make_reduction("b")(x) == n
    assert make_reduction("a")(x) == 1
    assert make_reduction("b")(cuda.to_device(x)[::-1]) == 1
