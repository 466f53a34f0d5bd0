"""Compares generalized ufuncs of every target with NumPy's: loop dimensions, layouts, axes,
outputs, errors."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import assert_close, draw_examples, result_or_error

from numbalite import cuda, guvectorize

TARGETS = ["cpu", "parallel", "cuda"]
MATMUL = """
for (int i = 0; i < c.shape[0]; ++i)
    for (int j = 0; j < c.shape[1]; ++j) {
        double t = 0;
        for (int k = 0; k < a.shape[1]; ++k) t += double(a(i, k)) * double(b(k, j));
        c(i, j) = t;
    }
"""
DOT = """
int64 t = 0;
for (int i = 0; i < x.size(); ++i) t += x[i] * y[i];
r[0] = t;
"""
FILTER = """
int n = x.size(), k = weights.size();
for (int i = 0; i < n; ++i) {
    float32 t = 0;
    for (int j = 0; j < k; ++j) if (i - j >= 0) t += x[i - j] * weights[j];
    r[i] = t;
}
"""
BOUNDS = """
low[0] = x[0], high[0] = x[0];
for (int i = 1; i < x.size(); ++i) {
    if (x[i] < low[0]) low[0] = x[i];
    if (x[i] > high[0]) high[0] = x[i];
}
"""


@functools.cache
def matmul(target):
    return guvectorize(
        ["void(float32[:,:], float32[:,:], float32[:,:])", "void(float64[:,:], float64[:,:], float64[:,:])"],
        "(m,n),(n,p)->(m,p)", target=target, source=MATMUL, args="a, b, c",
    )  # fmt: skip


@functools.cache
def dot(target):
    return guvectorize(
        ["void(int64[:], int64[:], int64[:])"],
        "(n),(n)->()",
        target=target,
        source=DOT,
        args="x, y, r",
    )


@functools.cache
def causal_filter(target):
    return guvectorize(
        ["void(float32[:], float32[:], float32[:])"], "(n),(k)->(n)", target=target, source=FILTER, args="x, weights, r"
    )  # fmt: skip


@functools.cache
def make_bounds_gufunc(target):
    return guvectorize(
        ["void(int32[:], int32[:], int32[:])"], "(n)->(),()", target=target, source=BOUNDS, args="x, low, high"
    )  # fmt: skip


def filter_rows(x, weights):
    def convolve_row(x, weights):
        return np.convolve(x, weights)[: len(x)] if x.size and weights.size else np.zeros_like(x)

    return np.vectorize(convolve_row, signature="(n),(k)->(n)", otypes=["f4"])(x, weights)


@pytest.fixture(params=TARGETS)
def ufunc_target(request):
    return request.param


@st.composite
def draw_operands(draw, target, cores, dtypes, loop_dims=3):
    """Returns (arguments, host arrays) whose loop dimensions broadcast; `cores`: their core
    shapes."""
    loop = draw(drawn.draw_shapes(max_dims=loop_dims, most=4))
    full = draw(st.integers(0, len(cores) - 1))
    arguments, hosts = [], []
    for i, core in enumerate(cores):
        shape = (loop if i == full else draw(drawn.draw_broadcast_shape(loop))) + core
        values = drawn.make_values(draw(st.integers(0, 99)), shape, draw(st.sampled_from(dtypes)))
        placed = drawn.PlacedArray(values, draw(drawn.array_recipes(len(shape))))
        places = drawn.PLACES if target == "cuda" else ["host"]
        arguments.append(drawn.convert_to_argument(placed, draw(st.sampled_from(places))))
        hosts.append(placed.host)
    return arguments, hosts


def draw_dimension_lengths(least=0):
    return st.sampled_from([n for n in (0, 1, 2, 3, 4, 5) if n >= least])


@draw_examples(20)
@given(data=st.data())
def check_matmul(target, data):
    m, n, p = (data.draw(draw_dimension_lengths()) for _ in range(3))
    arguments, hosts = data.draw(draw_operands(target, [(m, n), (n, p)], ["f4", "f4", "f8"]))
    expected = np.matmul(*hosts)
    keywords = {}
    if data.draw(st.booleans()):
        mine = drawn.PlacedArray(
            np.zeros(expected.shape, "f8"), data.draw(drawn.array_recipes(expected.ndim))
        )
        device = target == "cuda" and data.draw(st.booleans())
        keywords["out"] = mine.device() if device else mine.host
        expected = expected.astype("f8")
    result = matmul(target)(*arguments, **keywords)
    if keywords:
        assert result is keywords["out"]
        np.testing.assert_allclose(drawn.to_host(result), expected, rtol=1e-4, atol=1e-3)
    else:
        assert result.dtype == expected.dtype and result.shape == expected.shape
        assert isinstance(result, cuda.DeviceNDArray) == any(
            map(drawn.is_device_argument, arguments)
        )
        np.testing.assert_allclose(drawn.to_host(result), expected, rtol=1e-4, atol=1e-3)


def test_gufunc_matmul_matches_numpy(ufunc_target):
    check_matmul(ufunc_target)


@draw_examples(15)
@given(data=st.data())
def check_axes(target, data):
    """axes= in numpy.matmul's form."""
    m, n, p = (data.draw(draw_dimension_lengths(1)) for _ in range(3))
    loop = data.draw(drawn.draw_shapes(max_dims=2, most=4))
    axes, moved = [], []
    ndim = len(loop) + 2
    for _ in range(3):
        pair = data.draw(st.permutations(range(-ndim, 0)))[:2]
        axes.append(tuple(a + ndim if data.draw(st.booleans()) else a for a in pair))
        moved.append(pair)
    hosts = [
        np.moveaxis(drawn.make_values(i, loop + core, "f8"), (-2, -1), pair)
        for i, (core, pair) in enumerate(zip([(m, n), (n, p)], moved))
    ]
    expected = np.matmul(*hosts, axes=axes)
    place = cuda.to_device if target == "cuda" and data.draw(st.booleans()) else np.asarray
    result = matmul(target)(*map(place, hosts), axes=axes)
    assert result.shape == expected.shape
    np.testing.assert_allclose(drawn.to_host(result), expected, rtol=1e-12)


def test_gufuncs_match_numpy_with_axes(ufunc_target):
    check_axes(ufunc_target)


@pytest.mark.skipif(not hasattr(np, "vecdot"), reason="NumPy 2 has vecdot")
@draw_examples(20)
@given(data=st.data())
def check_axis_and_keepdims(target, data):
    loop = data.draw(drawn.draw_shapes(max_dims=2, most=4))
    n, position = data.draw(draw_dimension_lengths()), data.draw(st.integers(0, len(loop)))
    shape = loop[:position] + (n,) + loop[position:]
    hosts = [
        drawn.make_values(i, shape, data.draw(st.sampled_from(["i8", "i4", "u1"])))
        for i in range(2)
    ]
    keywords = {}
    if data.draw(st.booleans()):
        keywords["axis"] = position - data.draw(st.sampled_from([0, len(shape)]))
    elif position != len(loop):
        keywords["axes"] = [position, position] + ([()] if data.draw(st.booleans()) else [])
    if data.draw(st.booleans()):
        keywords["keepdims"] = True
        keywords.pop("axes", None)
    expected, refused = result_or_error(np.vecdot, *[h.astype("i8") for h in hosts], **keywords)
    place = cuda.to_device if target == "cuda" and data.draw(st.booleans()) else np.asarray
    result, error = result_or_error(dot(target), *map(place, hosts), **keywords)
    assert (error is None) == (refused is None), f"{error!r}, NumPy {refused!r}"
    if refused is None:
        assert_close(result, expected)


def test_gufuncs_match_numpy_with_axis_and_keepdims(ufunc_target):
    check_axis_and_keepdims(ufunc_target)


@draw_examples(15)
@given(data=st.data())
def check_filter(target, data):
    n, k = data.draw(draw_dimension_lengths()), data.draw(draw_dimension_lengths())
    arguments, hosts = data.draw(draw_operands(target, [(n,), (k,)], ["f4"]))
    result = causal_filter(target)(*arguments)
    loop = np.broadcast_shapes(*(h.shape[:-1] for h in hosts))
    assert result.shape == (*loop, n) and result.dtype == np.float32
    if result.size and k:
        np.testing.assert_allclose(drawn.to_host(result), filter_rows(*hosts), rtol=1e-4, atol=1e-2)


def test_filter_gufunc_matches_numpy(ufunc_target):
    check_filter(ufunc_target)


@draw_examples(12)
@given(data=st.data())
def check_several_outputs(target, data):
    arguments, hosts = data.draw(
        draw_operands(target, [(data.draw(draw_dimension_lengths(1)),)], ["i4", "i2", "?"])
    )
    low, high = make_bounds_gufunc(target)(*arguments)
    for result, expected in ((low, hosts[0].min(-1)), (high, hosts[0].max(-1))):
        assert_close(result, np.asarray(expected).astype("i4")[()])


def test_gufuncs_with_several_outputs_match_numpy(ufunc_target):
    check_several_outputs(ufunc_target)


@draw_examples(25)
@given(data=st.data())
def check_refusals(target, data):
    """Core dimensions that disagree or are missing, unsuitable dtypes and outputs raise if NumPy
    raises."""
    shapes = [data.draw(st.lists(st.sampled_from([1, 2, 3]), max_size=4)) for _ in range(2)]
    hosts = [
        drawn.make_values(i, s, data.draw(st.sampled_from(["f4", "f8", "i2", "c8"])))
        for i, s in enumerate(shapes)
    ]
    keywords, oracle_keywords = {}, {}
    choice = data.draw(st.integers(0, 4))
    if choice == 0:
        # numpy.matmul would accept fewer dimensions
        shape = data.draw(st.lists(st.sampled_from([1, 2, 3]), min_size=2, max_size=4))
        dtype = data.draw(st.sampled_from(["f4", "f8", "i4", "c16"]))
        keywords, oracle_keywords = {"out": np.zeros(shape, dtype)}, {"out": np.zeros(shape, dtype)}
    elif choice == 1:
        axes = data.draw(st.lists(st.tuples(*[st.integers(-3, 2)] * 2), min_size=2, max_size=3))
        keywords = oracle_keywords = {"axes": axes}
    elif choice == 2:
        keywords = oracle_keywords = {"axis": -1}
    if any(
        min(len(s), 2) < 2 for s in shapes
    ):  # numpy.matmul accepts vectors, (m,n),(n,p) does not
        result, error = result_or_error(matmul(target), *hosts, **keywords)
        assert isinstance(error, (ValueError, TypeError))
        return
    complex_in = any(h.dtype.kind == "c" for h in hosts)
    expected, refused = result_or_error(np.matmul, *hosts, **oracle_keywords)
    place = cuda.to_device if target == "cuda" and data.draw(st.booleans()) else np.asarray
    result, error = result_or_error(matmul(target), *map(place, hosts), **keywords)
    if complex_in:
        assert isinstance(error, (TypeError, ValueError)), f"{result!r}"
        return
    assert (error is None) == (refused is None), f"{error!r}, NumPy {refused!r}"
    if refused is None:
        np.testing.assert_allclose(drawn.to_host(result), expected, rtol=1e-3, atol=1e-2)


def test_gufuncs_raise_numpys_errors(ufunc_target):
    check_refusals(ufunc_target)
