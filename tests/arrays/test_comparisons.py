"""Compares `==`, `!=` and `in` of device arrays with NumPy, for operands that are not numbers."""

import operator
import os
from decimal import Decimal

import numpy as np
import pytest
from kit import sample
from kit.calls import driver_calls_when_warm
from kit.likenumpy import assert_same_result
from kit.sample import random_generator

from numbalite import cuda

TABLE = np.array([[3.0, 1], [2, 3]])


@pytest.mark.parametrize("compared", [operator.eq, operator.ne])
@pytest.mark.parametrize(
    "other",
    [None, "text", b"text", ..., float, {}, map, ["a", "b"], np.array(["a", "b"]), TABLE[0], 3, []],
    ids=str,
)
def test_comparison_with_non_numbers_is_unequal(compared, other):
    assert_same_result(compared, TABLE, other)
    assert_same_result(lambda x, y: compared(y, x), TABLE, other)
    assert_same_result(operator.lt, TABLE, other)


def test_comparisons_of_unsupported_dtypes_raise():
    """Tests objects that behave like numbers but have no dtype on the device."""
    table = cuda.to_device(TABLE)
    integers = cuda.to_device(np.array([[3, 1], [2, 3]]))
    refused = [(table, Decimal(3)), (table, np.array([3, None], object))]
    refused += [(integers, np.timedelta64(3, "s")), (integers, np.array([3, 4], "m8[D]"))]
    for d, other in refused:
        for compared in (operator.eq, operator.ne):
            with pytest.raises(TypeError, match="has no counterpart on the device"):
                compared(d, other)


def test_comparisons_with_dates_and_other_dtypes_match_numpy():
    """NumPy compares no elements if numpy.equal has no loop for the two dtypes, and issues no
    warning."""
    random = random_generator()
    for _ in range(60):
        shape = [(), (1,), (3,), (2, 3), (0, 3)][random.integers(5)]
        dtype = random.choice(["?", "i1", "u2", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
        host = random.integers(0, 3, shape).astype(dtype)
        kinds = ["M8[D]", "M8[ns]", "U3", "S2"]
        if host.dtype.kind in "fc" or dtype == "u8":
            kinds += ["m8[s]", "m8[D]"]
        other_shape = [(), (1,), (3,), (2, 1)][random.integers(4)]
        other = random.integers(0, 3, other_shape).astype(random.choice(kinds))
        if other.dtype.kind in "mM" and random.random() < 0.5:
            other[random.random(other_shape) < 0.5] = "NaT"
        for value in (other, other[()], other.tolist() if other.dtype.kind in "SU" else other):
            for compared in (operator.eq, operator.ne):
                assert_same_result(compared, host, value)
    for value in (np.datetime64("2020"), np.timedelta64(3, "s"), np.zeros(4, "M8[s]")):
        for call in (np.equal, np.not_equal, operator.lt, operator.add):
            assert_same_result(call, np.ones(3), value)
    strings = np.array(["a", "1", ""], np.dtypes.StringDType())
    assert (cuda.ones(3) == strings).tolist() == [False] * 3
    assert (cuda.ones(3) != strings).tolist() == [True] * 3
    assert_same_result(operator.ne, np.ones(3), np.zeros(4, "M8[s]"))
    assert_same_result(operator.eq, np.ones(3), np.dtype(float))
    for value in (np.void(b"ab"), np.zeros(3, "V3"), np.zeros(3, [("a", "i4")])):
        assert_same_result(operator.eq, np.ones(3), value)


def test_elementwise_comparison_of_records_raises():
    d = cuda.to_device(np.zeros(3, [("x", "f4"), ("i", "i4")]))
    for call in (lambda: np.equal(d, d), lambda: d < d, lambda: d + 1):
        with pytest.raises(TypeError, match=r"of records .* d\['name'\], or copy_to_host"):
            call()


def test_contains_matches_numpy():
    for value in (3, 2.5, None, [3, 7], TABLE[1]):
        assert_same_result(operator.contains, TABLE, value)
    assert_same_result(operator.contains, TABLE[:0], 3)


WHOLES = [
    (np.array([[np.nan, 1], [-np.inf, 0]]), np.array([[np.nan, 1 + 1e-9], [-np.inf, -0.0]])),
    (TABLE, TABLE[0]),
    (TABLE[::-1].astype("f4"), 3),
    (np.array([2**63, 1], "u8"), np.array([-(2**63), 1])),
    (np.array([1 + 1j, complex(0, np.nan)]), np.array([1 + 1j, complex(1, np.nan)])),
    (TABLE[:0], TABLE[:0]),
    (TABLE > 1, TABLE.astype("i1") > 1),
]


@pytest.mark.parametrize("a, b", WHOLES, ids=range(len(WHOLES)))
def test_array_equal_and_allclose_match_numpy(a, b):
    for given in ((a, b), (b, a), (a, a), (b, b)):
        assert_same_result(np.array_equiv, *given)
        for equal_nan in (False, True):
            assert_same_result(np.array_equal, *given, equal_nan)
            assert_same_result(np.allclose, *given, 1e-5, np.float32(1e-8), equal_nan)


def test_array_equal_reads_each_array_once():
    d, e = cuda.to_device(TABLE), cuda.to_device(TABLE)
    for compared in (np.array_equal, np.array_equiv, np.allclose):
        assert driver_calls_when_warm(lambda: compared(d, e)).count("cuLaunchKernel") == 1  # noqa: B023


@pytest.mark.parametrize("dtype", "bHiQf")
def test_comparisons_with_out_of_range_numbers_match_numpy(dtype):
    host = np.array([0, 1, 100], dtype)
    for number in (300, -1, 2**40, 2**70, -(2**70)):
        for compared in (operator.lt, operator.le, operator.eq, operator.ne, np.greater):
            assert_same_result(compared, host, number)
            assert_same_result(lambda x, y: compared(y, x), host, number)  # noqa: B023
        assert_same_result(operator.add, host, number)


def test_comparisons_of_records_match_numpy():
    random = random_generator()

    def random_records(shape, dtype):
        made = np.zeros(shape, dtype)
        made["x"] = random.integers(0, 2, shape)
        made["y"] = random.choice([0, 1, np.nan], (*shape, 2))
        return made

    dtypes = ([("x", "i4"), ("y", "f4", 2)], [("x", "f8"), ("y", "f8", 2)])
    nested = [[*one, ("p", [("q", "c8"), ("z", "?")])] for one in dtypes]
    shapes = (((5,), (5,)), ((5,), (3, 1)), ((), (4,)), ((0,), (1,)), ((2, 3), (2, 3)))
    for first, second in (dtypes, dtypes[::-1], nested, (nested[0], nested[0])):
        for shape, other in shapes:
            a, b = random_records(shape, first), random_records(other, second)
            for x, y in ((a, b), (a, a)):
                d = cuda.to_device(x)
                for e in (cuda.to_device(y), y):
                    np.testing.assert_array_equal(np.asarray(d == e), x == y)
                    np.testing.assert_array_equal(np.asarray(d != e), x != y)
    a = np.zeros(3, dtypes[0])
    d = cuda.to_device(a)
    assert np.array_equal(d, d)
    assert not np.array_equal(d, cuda.to_device(random_records((3,), dtypes[0])))
    for other in (3, np.ones(3), cuda.ones(3), "x", None, np.zeros(3, [("x", "i4")])):
        for compared in (operator.eq, operator.ne):
            with pytest.raises(TypeError, match="Cannot compare structured"):
                compared(d, other)
    with pytest.raises(ValueError, match="shape"):
        operator.eq(d, np.zeros(4, dtypes[0]))
    empty = cuda.to_device(np.zeros(3, []))
    assert operator.eq(empty, empty).tolist() == [True] * 3


def _drawn_dtype(random, depth=0):
    """Fields of any types, with and without gaps between them; some are arrays, some are
    records."""
    fields = []
    for i in range(random.integers(1, 5)):
        kind = random.choice(["?", "i1", "u2", "f2", "i4", "f4", "c8", "i8", "f8", "c16"])
        field = _drawn_dtype(random, depth + 1) if random.random() < 0.2 and depth < 2 else kind
        shape = [(), (), (2,), (3, 1)][random.integers(4)]
        fields.append((f"f{i}", field, shape))
    return np.dtype(fields, align=bool(random.random() < 0.3))


def _draw_values(random, array):
    for name in array.dtype.names:
        if array[name].dtype.names:
            _draw_values(random, array[name])
        else:
            array[name] = random.choice([0, 1], array[name].shape, p=[0.1, 0.9])


@pytest.mark.parametrize("case", range(4))
def test_comparisons_of_random_records_match_numpy(case):
    """Packed records have fields whose elements are not aligned."""
    random = np.random.default_rng([case, *os.environ.get(sample.VARIABLE, "").encode()])
    for _ in range(5):
        dtype = _drawn_dtype(random)
        shape = [(), (1,), (70,), (3, 5)][random.integers(4)]
        a, b = np.zeros((2, *shape), dtype)
        for one in (a, b):
            _draw_values(random, one[...])
        x, y = cuda.to_device(a), cuda.to_device(b)
        for compared in (operator.eq, operator.ne):
            np.testing.assert_array_equal(np.asarray(compared(x, y)), compared(a, b))
            np.testing.assert_array_equal(np.asarray(compared(x, b)), compared(a, b))
        assert np.array_equal(x, x) == np.array_equal(a, a)


@pytest.mark.parametrize("offset", range(0, 16, 4))
@pytest.mark.parametrize("dtype", ["f4", "c8"])
def test_comparisons_of_elements_aligned_to_four_bytes(dtype, offset):
    """Complex numbers need no more alignment than one of their parts."""
    itemsize = np.dtype(dtype).itemsize
    random = np.random.default_rng(offset)
    for n, step in ((1, 1), (3, 1), (200, 1), (5, 3)):
        raw = np.zeros(16 + n * step * itemsize, "u1")
        host = raw[offset : offset + n * step * itemsize].view(dtype)[::step]
        host[...] = random.integers(0, 3, n)
        device = cuda.to_device(raw)[offset : offset + n * step * itemsize].view(dtype)[::step]
        np.testing.assert_array_equal((device == 1).copy_to_host(), host == 1)
        np.testing.assert_array_equal((device + device).copy_to_host(), host + host)
        np.testing.assert_array_equal(device.sum().copy_to_host(), host.sum())
        device *= 2
        np.testing.assert_array_equal(device.copy_to_host(), host * 2)
        table = cuda.to_device(np.zeros(16 + 33 * 35 * itemsize, "u1"))
        square = table[offset : offset + 33 * 35 * itemsize].view(dtype).reshape(33, 35)
        square[...] = 1
        square.T[...] = square.T + 1
        np.testing.assert_array_equal(square.copy_to_host(), np.full((33, 35), 2))
