"""Tests cuda.sort, cuda.topk and cuda.histogram with user-defined orders and bins."""

import pickle

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import CompileError

RNG = np.random.default_rng(13)
NUMBERS = RNG.integers(-20, 20, (3, 700))
RECORDS = np.zeros(50, [("a", "i4"), ("b", "f4")])
RECORDS["a"], RECORDS["b"] = RNG.integers(0, 5, 50), RNG.random(50)


def assert_equal_arrays(result, expected):
    got = result.copy_to_host() if isinstance(result, cuda.DeviceNDArray) else result
    assert (type(got), got.dtype) == (np.ndarray, expected.dtype)
    np.testing.assert_array_equal(got, expected)


def test_sort_by_key_expression_matches_numpy():
    device = cuda.to_device(NUMBERS)
    down = cuda.sort(key="-x")
    assert_equal_arrays(down(device), -np.sort(-NUMBERS))
    assert_equal_arrays(down(NUMBERS, 0), -np.sort(-NUMBERS, 0))  # host arguments give host results
    assert_equal_arrays(down.argsort(device), np.argsort(-NUMBERS, kind="stable"))
    assert_equal_arrays(down(device, axis=None), -np.sort(-NUMBERS, None))
    assert down(device, out=device) is device
    assert_equal_arrays(device, -np.sort(-NUMBERS))
    modulus = 11

    @cuda.sort
    def square_modulo(x):
        return x * x % modulus

    assert_equal_arrays(
        square_modulo.argsort(NUMBERS), np.argsort(NUMBERS * NUMBERS % 11, kind="stable")
    )
    assert_equal_arrays(cuda.sort(key="-x.b")(RECORDS), RECORDS[np.argsort(-RECORDS["b"])])


def test_sort_by_comparison_expression_is_stable():
    by_remainder = cuda.sort(less="a % 7 < b % 7")
    for rows in (NUMBERS[:, :5], NUMBERS, np.tile(NUMBERS, (1, 5))):
        key = np.fmod(rows, 7)
        for axis in (1, 0):
            places = np.argsort(key, axis, kind="stable")
            assert_equal_arrays(by_remainder.argsort(rows, axis), places)
            assert_equal_arrays(
                by_remainder(cuda.to_device(rows), axis), np.take_along_axis(rows, places, axis)
            )
        places = np.argsort(key, None, kind="stable")
        assert_equal_arrays(by_remainder(rows, None), rows.ravel()[places])
    assert_equal_arrays(pickle.loads(pickle.dumps(by_remainder))(NUMBERS), by_remainder(NUMBERS))
    assert_equal_arrays(by_remainder(NUMBERS[:, :0]), NUMBERS[:, :0])
    order = cuda.sort(less="a.a != b.a ? a.a > b.a : a.b < b.b")
    places = np.lexsort((RECORDS["b"], -RECORDS["a"]))
    assert_equal_arrays(order(RECORDS), RECORDS[places])
    assert_equal_arrays(order.argsort(RECORDS), places)


def test_sort_without_key_matches_numpy():
    assert_equal_arrays(cuda.sort()(RECORDS), np.sort(RECORDS))
    assert_equal_arrays(cuda.sort(descending=True)(NUMBERS), -np.sort(-NUMBERS))


def test_sort_with_a_key_is_captured_in_a_graph():
    device, down = cuda.to_device(NUMBERS), cuda.sort(key="-x")
    less = cuda.sort(less="b < a")
    out = [cuda.device_array_like(device) for _ in range(2)]
    stream = cuda.stream()
    for sort, one in zip((down, less), out, strict=True):
        sort(device, out=one, stream=stream)
    with stream.capture() as graph:
        for sort, one in zip((down, less), out, strict=True):
            sort(device, out=one, stream=stream)
    for one in out:
        one.fill(0)
    graph.launch(stream)
    stream.synchronize()
    for one in out:
        assert_equal_arrays(one, -np.sort(-NUMBERS))


def test_topk_matches_argsort():
    device = cuda.to_device(NUMBERS)
    for axis, largest in ((1, True), (0, False), (-1, False)):
        sign = -1 if largest else 1
        places = np.argsort(sign * NUMBERS, axis, kind="stable")
        first = (slice(None), slice(3)) if axis else (slice(2),)
        k = 3 if axis else 2
        values, found = cuda.topk(device, k, axis, largest=largest)
        assert_equal_arrays(found, np.ascontiguousarray(places[first]))
        assert_equal_arrays(
            values, np.ascontiguousarray(np.take_along_axis(NUMBERS, places, axis)[first])
        )
    values, places = cuda.topk(np.array([1.0, np.nan, 3.0]), 2)
    assert_equal_arrays(values, np.array([np.nan, 3.0]))
    with pytest.raises(ValueError, match="k=4 of 3 elements along axis 0"):
        cuda.topk(device, 4, 0)


def test_histogram_of_an_expression_matches_bincount():
    numbers, weights = RNG.random(5000).astype("f4"), RNG.random(5000)
    tens = cuda.histogram("int(x * 10)", bins=10)
    expected = np.bincount((numbers * 10).astype(int), minlength=10)
    assert_equal_arrays(tens(numbers), expected)
    out = tens(cuda.to_device(numbers))
    assert tens(cuda.to_device(numbers[::-1]), out=out) is out
    assert_equal_arrays(out, 2 * expected)
    np.testing.assert_allclose(
        tens(numbers, weights), np.bincount((numbers * 10).astype(int), weights, 10)
    )
    assert_equal_arrays(cuda.histogram("x.a", bins=4)(RECORDS), np.bincount(RECORDS["a"])[:4])
    many = cuda.histogram(
        "x", bins=20_000
    )  # bins in global memory; negative values are not counted
    assert_equal_arrays(many(NUMBERS), np.bincount(NUMBERS[NUMBERS >= 0], minlength=20_000))
    assert_equal_arrays(pickle.loads(pickle.dumps(tens))(numbers), expected)


def test_invalid_arguments_raise():
    for call, error, words in (
        (lambda: cuda.sort(key="x", less="a < b"), TypeError, "either key= or less="),
        (
            lambda: cuda.sort(less="a < b", descending=True),
            TypeError,
            "descending=True is not accepted",
        ),
        (lambda: cuda.sort(key="x.z")(NUMBERS), CompileError, "x.z"),
        (lambda: cuda.sort(key="x")("abc"), TypeError, "."),
        (
            lambda: cuda.sort(key="x")(NUMBERS, out=NUMBERS),
            TypeError,
            "out= must be a device array",
        ),
        (lambda: cuda.sort(less="a < b")(np.zeros(2, [("x", "u1", 4000)])), TypeError, "too large"),
        (lambda: cuda.histogram("x", bins=0), ValueError, "must be positive"),
        (lambda: cuda.histogram("x", bins=2)(NUMBERS, NUMBERS[0]), ValueError, "weights must be"),
        (
            lambda: cuda.histogram("x", bins=2)(NUMBERS, out=NUMBERS),
            TypeError,
            "out= must be a device",
        ),
    ):
        with pytest.raises(error, match=words):
            call()
