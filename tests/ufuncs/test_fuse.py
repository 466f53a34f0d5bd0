"""numbalite.fuse: the kernel computes the same as the function with NumPy's arrays, in NumPy's
dtypes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples
from kit.likenumpy import assert_equal_results
from kit.sample import draw_cases

import numbalite
from numbalite import cuda, vectorize


@numbalite.fuse
def where_and_clip(x, y):
    return np.where(x > y, x - 1, np.clip(y, 0, 2)) * 2 + abs(x) // 3


@numbalite.fuse
def three_results(x, y):
    return x * y, (x < y) | (y == 2), np.divmod(x, y + 10)[1]


@numbalite.fuse
def blended_sum(x, a):
    return (a * x + (1 - a) * 2).astype("f4").sum()


@numbalite.fuse
def column_maximum(x, y):
    return np.maximum(x, y + 1).max(axis=0)


@numbalite.fuse
def squares(x, y):
    return np.sum(x**2 + y, axis=-1, keepdims=True)


# For each pair of dtypes, every function compiles a kernel. None: an array of integers.
OPERANDS = draw_cases(3, itertools.product(["f4", "i4"], [2, 1.5, np.float32(2), None]))


@draw_examples(20)
@given(data=st.data())
def test_fused_functions_match_numpy(data):
    """Tests arrays of several dtypes and any layout, and numbers with and without a dtype."""
    shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple))
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    dtype, number = data.draw(st.sampled_from(OPERANDS))
    placed = drawn.PlacedArray(
        rng.integers(0, 5, shape).astype(dtype), data.draw(drawn.array_recipes(len(shape)))
    )
    other = np.ones(shape[-1], "i4") if number is None else number
    for fused in (where_and_clip, three_results, column_maximum, squares):
        if fused is three_results and np.ndim(other) == 0:
            continue
        expected = fused.function(placed.host, other)
        result = fused(placed.device(), other)
        for one, wanted in zip(
            *(x if isinstance(x, tuple) else (x,) for x in (result, expected)), strict=True
        ):
            assert_equal_results(one, wanted)


def test_python_scalars_keep_the_arrays_dtype():
    host = np.arange(6, dtype="f4")
    d = cuda.to_device(host)
    for a in (0.25, 3, np.float64(0.25), np.float32(0.5)):
        assert_equal_results(blended_sum(d, a), blended_sum.function(host, a))
    assert len(blended_sum._programs) == 4
    text = blended_sum.inspect_source(d, 0.25)
    assert "const float v0 =" in text and text.count("return") == 1
    assert isinstance(blended_sum(host, 0.25), np.float32)  # of the host's arrays alone


def test_fused_functions_support_out_streams_and_graphs():
    """Tests out=, streams, graphs, reductions in one part and in several, and empty arrays."""
    host = np.arange(70_000, dtype="f8").reshape(70, 1000)

    @numbalite.fuse
    def weighted_row_sums(x, y):
        return (x + y * 2).sum(axis=1)

    @numbalite.fuse
    def doubled(x):
        return x + x

    d, e = cuda.to_device(host), cuda.to_device(np.arange(1000.0))
    expected = weighted_row_sums.function(host, np.arange(1000.0))
    out, stream = cuda.device_array(70), cuda.stream()
    assert weighted_row_sums(d, e, out=out, stream=stream) is out
    stream.synchronize()
    assert_equal_results(out, expected)
    with stream.capture() as graph:
        doubled(d, out=d, stream=stream)
    graph.launch(stream)
    stream.synchronize()
    assert_equal_results(d, host * 2)
    flat = cuda.to_device(host.reshape(-1)[::-1].copy())

    @numbalite.fuse
    def sum_of_doubled(x):
        return (x * 2).sum()

    assert_equal_results(sum_of_doubled(flat[::2]), (host.reshape(-1)[::-1][::2] * 2).sum())
    assert_equal_results(sum_of_doubled(flat[:0]), np.float64(0))
    with pytest.raises(ValueError, match="zero-size array"):
        column_maximum(d[:0], 1)


VIEWS = (
    np.s_[:], np.s_[:, 4:], np.s_[:, 1:-1], np.s_[..., ::2], np.s_[..., ::-1], np.s_[1::2], np.s_[:, :1],
    np.s_[:, ::-2, 8:],
)  # fmt: skip


def test_reductions_read_strided_operands():
    """Tests each kind of load: several elements at once, constant stride, computed index, or one element for
    all threads."""

    @numbalite.fuse
    def row_products(x, y):
        return (x * y).sum(axis=-1)

    @numbalite.fuse
    def sum_over_two_axes(x, y):
        return (x * y).sum(axis=(0, 1))

    @numbalite.fuse
    def column_maximum_of_sum(x, y):
        return (x + y).max(axis=0)

    rng = np.random.default_rng(1)
    host = {code: rng.integers(0, 4, (6, 12, 44)).astype(code) for code in "efdb"}
    device = {code: cuda.to_device(x) for code, x in host.items()}
    for codes, view in itertools.product(draw_cases(2, ["ff", "fd", "eb", "dd"]), VIEWS):
        x, y = (host[code][view] for code in codes)
        d, e = (device[code][view] for code in codes)
        for turned in (False, True):
            if turned:
                x, y, d, e = x.T, y[..., ::-1].T, d.T, e[..., ::-1].T
            for fused in (row_products, sum_over_two_axes, column_maximum_of_sum):
                assert_equal_results(fused(d, e), fused.function(x, y))
                assert_equal_results(fused(d, e[:1]), fused.function(x, y[:1]))
                assert_equal_results(fused(d, e[..., :1]), fused.function(x, y[..., :1]))


def test_fused_reductions_of_long_rows_match_numpy():
    """Tests long rows with gaps between them, in one operand or both, and one row that is
    broadcast."""

    @numbalite.fuse
    def long_row_sum(x, y):
        return (x * 2 - y).sum()

    host = np.random.default_rng(1).integers(0, 4, (40, 4104)).astype("f4")
    d = cuda.to_device(host)
    for view in (np.s_[:, 4:-4], np.s_[:, 1:], np.s_[::-1, :4096], np.s_[:, ::2], np.s_[:, 3:4100]):
        x, a = host[view], d[view]
        for y, b in ((x, a), (x[:1], a[:1]), (x[:, :1], a[:, :1]), (x[::-1], a[::-1])):
            assert_equal_results(long_row_sum(a, b), long_row_sum.function(x, y))


def test_user_ufuncs_are_fused():
    @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
    def hypotenuse(x, y):
        "return sqrt(x * x + y * y);"

    @numbalite.fuse
    def any_long_hypotenuse(x, y):
        return np.any(hypotenuse(x, y) > 4.5)

    d = cuda.to_device(np.array([3, 1], "f4"))
    assert bool(any_long_hypotenuse(d, 4)) and not bool(any_long_hypotenuse(d, 1.0))


def test_wrapped_functions_are_fused(monkeypatch):
    """A profiler, or a program that runs NumPy's tests, puts its own functions into the namespace."""
    for name in ("where", "clip", "max"):
        function = getattr(np, name)
        monkeypatch.setattr(np, name, lambda *args, _function=function: _function(*args))

    @numbalite.fuse
    def maximum_of_positive(x):
        return np.max(np.clip(np.where(x > 0, x, 0), 0, 1.5))

    assert maximum_of_positive(cuda.to_device(np.array([-1.0, 1.0, 2.0]))) == 1.5


def test_functions_that_cannot_be_fused_raise():
    d = cuda.to_device(np.arange(3.0))
    for function, message in (
        (lambda x: x if x > 0 else 1, "decides by values"),
        (lambda x: x[0], "asks for elements"),
        (lambda x: np.sort(x), "numpy.sort is not an element-wise function and cannot be fused"),
        (lambda x: x.sum() + 1, "must be the last step"),
        (lambda x: np.sqrt(x.max()), "must be the last step"),
        (lambda x: x + d, "give arrays as arguments"),
        (lambda x: x.mean(), "has no attribute mean"),
        (lambda x: x * x.size, "asks for a shape"),
        (lambda x: np.add(x, 1, out=d), "with out= cannot be fused"),
        (
            lambda x: np.cumsum(x),
            "numpy.cumsum is not an element-wise function and cannot be fused",
        ),
        (lambda x: x @ x, "is a function of whole arrays|unsupported operand"),
        (lambda x: np.matmul(x, x), "matmul is a function of whole arrays"),
        (lambda x: "x", "str is used in the function"),
    ):
        with pytest.raises(TypeError, match=message):
            numbalite.fuse(function)(d)
    with pytest.raises(TypeError, match="no numbers of dtype"):
        where_and_clip(np.array(["a"]), 1)
    with pytest.raises(TypeError, match="takes a function"):
        numbalite.fuse("x + 1")
    with pytest.raises(ValueError, match="broadcast"):
        where_and_clip(d, np.ones(2))
