"""Compares sorting on the device with NumPy: dtypes, layouts, ties, NaNs, stability, indices of every
width."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit import drawn
from kit.drawn import draw_examples, result_or_error
from kit.sample import random_generator

from numbalite import cuda
from numbalite.algorithms import order, radix

DTYPES = ["?", "u1", "i1", "i2", "u4", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
KINDS_APART = ["u1", "i4", "f4", "c8"]  # dtypes of which each has its own kernels


def random_values(rng, dtype, shape):
    """Returns numbers with many ties, extremes and NaNs of both signs."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        parts = random_values(rng, "f4" if dtype.itemsize == 8 else "f8", (*shape, 2))
        return parts.view(dtype)[..., 0].copy()
    if dtype.kind in "mM":
        made = rng.integers(-3, 3, shape).astype("i8").view(dtype)
        made[rng.random(shape) < 0.2] = np.array("NaT", dtype)
        return made
    made = rng.integers(0, 4, shape).astype(dtype)
    if dtype.kind in "iu":
        chosen = rng.random(shape) < 0.5
        info = np.iinfo(dtype)
        made[chosen] = rng.integers(info.min, info.max, chosen.sum(), dtype=dtype, endpoint=True)
    if dtype.kind == "f":
        odd = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, -1, 0.5], dtype)
        chosen = rng.random(shape) < 0.5
        made[chosen] = rng.choice(odd, chosen.sum())
    return made


def assert_same_bits(result, expected):
    """Also compares the signs of zeros: -0.0 equals 0.0, so the signs show whether the sort is
    stable; NaNs are
    alike."""
    got = result.copy_to_host()
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(got, expected)
    if got.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


def expected_argsort(host, axis, descending):
    """Sorts stably. A descending sort is not the reverse of an ascending sort, which would reverse ties,
    too."""
    if not descending:
        return np.argsort(host, axis, kind="stable")
    n = host.shape[axis]
    return n - 1 - np.flip(np.argsort(np.flip(host, axis), axis, kind="stable"), axis)


@draw_examples(60)
@given(data=st.data())
def test_sort_and_argsort_match_numpy(data):
    dtype = data.draw(st.sampled_from([*KINDS_APART, *DTYPES, "m8[s]", "M8[D]"]))
    shape = data.draw(drawn.draw_shapes(0, 3, most=70))
    rng = np.random.default_rng(data.draw(st.integers(0, 50)))
    placed = drawn.PlacedArray(
        random_values(rng, dtype, shape), data.draw(drawn.array_recipes(len(shape)))
    )
    host, device = placed.host, placed.device()
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape) - 1, len(shape))))
    for function in (np.sort, np.argsort):
        theirs = result_or_error(function, host, axis, kind="stable")
        drawn.assert_same_value_or_error(
            result_or_error(function, device, axis, kind="stable"), theirs, assert_same_bits
        )
        if theirs[1] is not None:
            return
    if axis is not None and host.ndim:
        places = expected_argsort(host, axis, True)
        assert_same_bits(device.argsort(axis, descending=True), places)
        device.sort(axis, descending=True)
        assert_same_bits(device, np.take_along_axis(host, places, axis))


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "u4", "f4", "i8", "f8", "m8[s]"])
def test_block_radix_sort_of_rows_matches_numpy(dtype):
    """Tests blocks of every number of threads, and keys whose digits are all equal, for which
    passes are skipped."""
    rng = random_generator()
    for longest in (1024, 2048, 4096, 8192):
        n = int(rng.choice([longest, rng.integers(longest // 2 + 1, longest)]))
        host = random_values(rng, dtype, (3, n))
        if dtype[0] in "iu":
            host[1] = rng.integers(0, 100, n)
            host[2] = 77
        device, descending = cuda.to_device(host), bool(rng.integers(2))
        places = expected_argsort(host, 1, descending)
        assert_same_bits(device.argsort(descending=descending), places)
        device.sort(descending=descending)
        assert_same_bits(device, np.take_along_axis(host, places, 1))


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "c8"])
def test_radix_sort_of_rows_longer_than_a_block_matches_numpy(dtype):
    """Radix sort of several tiles and rows, with even and odd numbers of passes, also in place."""
    rng = np.random.default_rng(3)
    host = random_values(rng, dtype, (2, 8500))
    device = cuda.to_device(host)
    for descending in (False, True):
        places = expected_argsort(host, 1, descending)
        assert_same_bits(device.argsort(descending=descending), places)
        other = device.copy()
        other.sort(descending=descending)
        assert_same_bits(other, np.take_along_axis(host, places, 1))
    assert_same_bits(np.sort(device), np.sort(host, kind="stable"))
    assert_same_bits(np.sort(device, axis=None), np.sort(host, axis=None, kind="stable"))


@pytest.mark.parametrize("dtype", ["?", "i1", "u1"])
def test_long_rows_of_bytes_use_counting_sort(dtype):
    """The rows to sort are not aligned, and may contain all values, some values or only one value."""
    rng = random_generator()
    rows, n = int(rng.integers(1, 4)), int(rng.integers(8193, 40_000))
    for low, high in ((0, 256), (100, 140), (77, 78)):
        numbers = rng.integers(low, high, (rows, n)).astype(np.uint8)
        host = numbers > 120 if dtype == "?" else numbers.view(dtype)
        device, in_order = cuda.to_device(host), np.sort(host)
        assert_same_bits(np.sort(device), in_order)
        assert_same_bits(np.sort(device[:, 5:]), np.sort(host[:, 5:]))
        assert_same_bits(np.unique(device), np.unique(host))
        device.sort(descending=True)
        assert_same_bits(device, in_order[:, ::-1])


def test_counting_sort_with_64_bit_counts_matches_numpy(monkeypatch):
    """Rows of 2**30 elements and more need counters of 64 bits."""
    monkeypatch.setattr(radix, "_WIDE_COUNTS", 0)
    monkeypatch.setattr(radix, "_MANY", 0)  # counted as many are
    host = random_values(np.random.default_rng(4), "i2", (8200,))
    device = cuda.to_device(host)
    assert_same_bits(np.sort(device), np.sort(host))
    assert_same_bits(np.argsort(device), np.argsort(host, kind="stable"))
    assert_same_bits(np.sort(device.view("i1")), np.sort(host.view("i1")))
    assert_same_bits(np.unique(device.view("i1")), np.unique(host.view("i1")))


RECORD = np.dtype([("a", "i4"), ("b", "f4"), ("c", "u1")])


def random_records(count):
    rng = np.random.default_rng(5)
    made = np.zeros(count, RECORD)
    for name, dtype in (("a", "u1"), ("b", "f4"), ("c", "u1")):
        made[name] = (
            random_values(rng, dtype, (count,)) if name == "b" else rng.integers(0, 3, count)
        )
    made["b"][np.isnan(made["b"])] = 2  # NumPy compares records by == if their dtype allows it
    return made


def test_sort_of_records_by_several_fields_matches_numpy():
    host = random_records(40)
    device = cuda.to_device(host)
    for fields in (None, "c", ["b", "a"]):
        expected = np.argsort(host, kind="stable", order=fields)
        assert_same_bits(np.argsort(device, order=fields), expected)
        np.testing.assert_array_equal(
            np.sort(device, order=fields).copy_to_host(), np.sort(host, kind="stable", order=fields)
        )
    device.sort(order="c")
    np.testing.assert_array_equal(device.copy_to_host(), np.sort(host, kind="stable", order="c"))
    keys = host["a"], host["b"], host["c"]
    assert_same_bits(np.lexsort(tuple(map(cuda.to_device, keys))), np.lexsort(keys))
    table = np.random.default_rng(6).integers(0, 3, (3, 4, 5))
    assert_same_bits(np.lexsort(cuda.to_device(table), axis=0), np.lexsort(table, axis=0))


def test_partition_and_argpartition_match_numpy():
    host = random_values(np.random.default_rng(7), "f4", (3, 50))
    device = cuda.to_device(host)
    for kth in (4, -1, [3, 20]):
        got = np.partition(device, kth).copy_to_host()
        np.testing.assert_array_equal(got[:, kth], np.partition(host, kth)[:, kth])
        places = np.argpartition(device, kth).copy_to_host()
        np.testing.assert_array_equal(np.take_along_axis(host, places, 1), got)
    device.partition(3)
    np.testing.assert_array_equal(device.copy_to_host()[:, 3], np.partition(host, 3)[:, 3])
    for kth, error in ((50, ValueError), (1.5, TypeError), ([[1]], ValueError)):
        for array in (host, device):
            with pytest.raises(error):
                np.partition(array, kth)


def test_invalid_arguments_raise():
    device = cuda.to_device(np.arange(6.0).reshape(2, 3))
    view = cuda.to_device(random_records(3))
    for call, error, words in (
        (lambda: np.sort(device, kind="bubble"), ValueError, "sort kind must be one of"),
        (lambda: np.sort(device, order="a"), ValueError, "no fields"),
        (lambda: np.sort(view, order="z"), ValueError, "unknown field name: z"),
        (lambda: np.sort(device, kind="stable", stable=True), ValueError, "at the same time"),
        (lambda: np.sort(device, axis=2), np.exceptions.AxisError, "axis 2 is out of bounds"),
        (lambda: np.lexsort(device[:0]), TypeError, "need sequence of keys"),
        (lambda: np.lexsort((device, device[0])), ValueError, "same shape"),
        (lambda: order.order_of(np.dtype("S3")), TypeError, "elements of dtype"),
    ):
        with pytest.raises(error, match=words):
            call()


def test_sort_is_captured_in_a_graph():
    host = random_values(np.random.default_rng(8), "f4", (4500,))
    device, small = cuda.to_device(host), cuda.to_device(host[:100])
    device.copy().sort()
    small.copy().sort()
    stream = cuda.stream()
    with stream.capture() as graph:
        device.sort(stream=stream)
        small.sort(stream=stream)
    np.testing.assert_array_equal(device.copy_to_host(), host)
    graph.launch(stream)
    stream.synchronize()
    assert_same_bits(device, np.sort(host, kind="stable"))
    assert_same_bits(small, np.sort(host[:100], kind="stable"))


def test_sort_kernels_pass_the_checks():
    host = random_values(np.random.default_rng(9), "f4", (4500,))
    device, small = cuda.to_device(host), cuda.to_device(host[:300])
    if not cuda.is_simulated():
        pytest.skip("the simulator's checks")
    with cuda.checks():
        assert_same_bits(np.sort(device), np.sort(host, kind="stable"))
        assert_same_bits(np.argsort(small), np.argsort(host[:300], kind="stable"))


def test_transposed_rows_are_sorted_in_their_layout():
    host = np.random.default_rng(5).random((7, 300)).T
    d = cuda.to_device(host.T.copy()).T
    made, expected = np.sort(d, 0), np.sort(host, 0)
    np.testing.assert_array_equal(made.copy_to_host(), expected)
    assert (made.strides, d.strides) == (expected.strides, host.strides)
    view = d.T
    d.sort(0)  # in place: the array keeps its memory
    np.testing.assert_array_equal(view.copy_to_host(), expected.T)
