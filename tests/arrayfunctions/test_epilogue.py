"""cuda.matmul with a function of the product's elements, and with a stream. NumPy computes the expected
results: the product, then the function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import assert_close, draw_examples

from numbalite import cuda, vectorize
from numbalite.errors import CompileError


@vectorize(target="cuda")
def scale_and_add(x, y, scale):
    "return scale * x + y;"


def random_integers(seed, shape, dtype):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


@draw_examples(40)
@given(data=st.data())
def test_matmul_with_epilogue_accepts_any_layout(data):
    dtype = data.draw(st.sampled_from(["f4", "f8", "i4", "f2"]))
    rows, depth, columns, count = (data.draw(st.sampled_from([0, 1, 2, 5])) for _ in range(4))
    stacked = data.draw(st.sampled_from([(), (count,)]))
    a, b = (
        random_integers(1, (*stacked, rows, depth), dtype),
        random_integers(2, (depth, columns), dtype),
    )
    product = np.matmul(a, b)
    shape = data.draw(st.sampled_from([(), (columns,), (rows, 1), (rows, columns), product.shape]))
    c = drawn.PlacedArray(
        random_integers(3, shape, dtype), data.draw(drawn.array_recipes(len(shape)))
    )
    placed = drawn.convert_to_argument(c, data.draw(st.sampled_from(["device", "foreign", "host"])))
    x, y = cuda.to_device(a), cuda.to_device(b)
    assert_close(cuda.matmul(x, y, placed, epilogue=np.add), product + c.host, device=True)
    expected = product * product.dtype.type(2) + c.host
    out = cuda.device_array(np.shape(expected), expected.dtype)
    assert cuda.matmul(x, y, placed, product.dtype.type(2), epilogue=scale_and_add, out=out) is out
    assert_close(out, np.asarray(expected))


def test_epilogue_expression_is_applied_to_products():
    a, b, bias = (
        random_integers(1, (6, 3), "f4"),
        random_integers(2, (3, 4), "f4"),
        random_integers(3, (4,), "f4"),
    )
    x, y = cuda.to_device(a), cuda.to_device(b)
    assert_close(
        cuda.matmul(x, y, epilogue="max(x + bias, 0.0f)", bias=bias), np.maximum(a @ b + bias, 0)
    )
    assert_close(
        cuda.matmul(a, b, epilogue="x > limit", limit=np.float32(2)), a @ b > 2, device=True
    )
    body = "auto t = x - row; return t * t + column;"
    assert_close(
        cuda.matmul(
            x, y, epilogue=body, row=bias, column=random_integers(4, (6, 1), "f4"), dtype="f8"
        ),
        (np.matmul(a, b, dtype="f8") - bias) ** 2 + random_integers(4, (6, 1), "f4"),
    )
    assert_close(cuda.matmul(x[0], y, epilogue="-x"), -(a[0] @ b))
    out = cuda.to_device(a @ b)
    cuda.matmul(x, y, epilogue="x + y", y=out, out=out)  # out is an operand, too
    assert_close(out, 2 * (a @ b))
    assert_close(cuda.matmul(out, out.T, epilogue="x / 2", out=cuda.device_array((6, 6), "f4")), 2 * (a @ b) @ (a @ b).T)  # fmt: skip


def test_repeated_matmul_calls_with_epilogue_are_replayed():
    """From the third call on, calls are replayed without Python, with the current values of the arrays."""
    out = cuda.device_array((6, 4), "f4")
    for seed in range(5):
        a, b, bias = (
            random_integers(seed, (6, 3), "f4"),
            random_integers(seed + 1, (3, 4), "f4"),
            random_integers(seed, 4, "f4"),
        )
        x, y, d_bias = (cuda.to_device(one) for one in (a, b, bias))
        assert cuda.matmul(x, y, out=out) is out
        assert_close(out, a @ b)
        clipped = cuda.matmul(x, y, epilogue="max(x + bias, 0.0f)", bias=d_bias)
        assert_close(clipped, np.maximum(a @ b + bias, 0))
        assert_close(cuda.matmul(x, y, d_bias, epilogue=np.add, out=out), a @ b + bias)


def test_epilogue_runs_on_the_given_stream():
    a = random_integers(1, (4, 4), "f4")
    stream = cuda.stream(non_blocking=True)
    d = cuda.to_device(a, stream=stream)
    for epilogue, more in ((None, ()), (np.negative, ()), ("x", ()), (np.add, (d,))):
        found = cuda.matmul(d, d, *more, epilogue=epilogue, stream=stream)
        stream.synchronize()
        expected = {np.negative: -(a @ a), np.add: a @ a + a}.get(epilogue, a @ a)
        np.testing.assert_array_equal(found.copy_to_host(stream=stream), expected)


@pytest.mark.gpu
def test_epilogue_is_captured_in_a_graph():
    """On the simulator, matrix products cannot be captured in a graph."""
    a = random_integers(1, (4, 4), "f4")
    d, out = cuda.to_device(a), cuda.device_array((4, 4), "f4")
    cuda.matmul(d, d, epilogue="x + 1", out=out)
    stream = cuda.stream()
    with stream.capture() as graph:
        cuda.matmul(d, d, epilogue="x + 1", out=out, stream=stream)
        squares = d @ d  # of the captured stream, too
    out.fill(0)
    graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(out, a @ a + 1)
    np.testing.assert_array_equal(squares, a @ a)


@pytest.mark.sim
def test_products_cannot_be_captured_on_the_simulator():
    d = cuda.ones((2, 2))
    d @ d
    with cuda.stream().capture(), pytest.raises(RuntimeError, match="capture it on a GPU"):
        d @ d


def test_invalid_arguments_raise():
    d = cuda.ones((2, 2))
    for exception, match, more, keywords in (
        (TypeError, "bias is passed without an epilogue", (), {"bias": 1}),
        (TypeError, "an operand after a and b is passed without", (1,), {}),
        (TypeError, "by their names in this text", (1,), {"epilogue": "x + y"}),
        (TypeError, "y is not an argument; a ufunc's operands follow", (), {"epilogue": np.add, "y": 1}),
        (TypeError, "x is the product's element", (), {"epilogue": "x", "x": 1}),
        (TypeError, "2 together; tanh makes 1 of 1", (d,), {"epilogue": np.tanh}),
        (TypeError, "1 together; divmod makes 2 of 2", (), {"epilogue": np.divmod}),
        (TypeError, "a text in C.*not a builtin_function", (), {"epilogue": abs}),
        (TypeError, "isnat has no counterpart", (), {"epilogue": np.isnat}),
        (CompileError, "undeclared identifier 'y'|'y' was not declared|identifier \"y\"", (), {"epilogue": "x + y"}),
        (ValueError, r"shapes \(2,2\) \(3,\)", (np.ones(3),), {"epilogue": np.add}),
        (ValueError, "could not be broadcast", (), {"epilogue": "x", "out": cuda.ones(3)}),
        (TypeError, "Cannot cast|same_kind", (), {"epilogue": "x", "out": cuda.ones((2, 2), "i4")}),
        (TypeError, "return arrays must be", (), {"out": 3}),
    ):  # fmt: skip
        with pytest.raises(exception, match=match):
            cuda.matmul(d, d, *more, **keywords)
