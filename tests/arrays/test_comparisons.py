"""`==`, `!=` and `in` of device arrays and what is no number, against NumPy."""

import operator
from decimal import Decimal

import numpy as np
import pytest
from kit.calls import traced_again
from kit.likenumpy import alike

from numbalite import cuda

TABLE = np.array([[3.0, 1], [2, 3]])


@pytest.mark.parametrize("compared", [operator.eq, operator.ne])
@pytest.mark.parametrize(
    "other",
    [None, "text", b"text", ..., float, {}, map, ["a", "b"], np.array(["a", "b"]), TABLE[0], 3, []],
    ids=str,
)
def test_equal_to_no_number(compared, other):
    alike(compared, TABLE, other)
    alike(lambda x, y: compared(y, x), TABLE, other)
    alike(operator.lt, TABLE, other)


def test_what_may_be_equal_is_refused():
    """Objects that are numbers, of which there are none on the device."""
    d = cuda.to_device(TABLE)
    for other in (Decimal(3), np.array([3, None], object)):
        for compared in (operator.eq, operator.ne):
            with pytest.raises(TypeError, match="has no counterpart on the device"):
                compared(d, other)


def test_records_are_refused():
    d = cuda.to_device(np.zeros(3, [("x", "f4"), ("i", "i4")]))
    for call in (lambda: d == d, lambda: np.array_equal(d, d), lambda: d + 1):
        with pytest.raises(TypeError, match=r"of records .* d\['name'\], or copy_to_host"):
            call()


def test_contains():
    for value in (3, 2.5, None, [3, 7], TABLE[1]):
        alike(operator.contains, TABLE, value)
    alike(operator.contains, TABLE[:0], 3)


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
def test_whole_arrays(a, b):
    for given in ((a, b), (b, a), (a, a), (b, b)):
        alike(np.array_equiv, *given)
        for equal_nan in (False, True):
            alike(np.array_equal, *given, equal_nan)
            alike(np.allclose, *given, 1e-5, np.float32(1e-8), equal_nan)


def test_whole_arrays_are_read_once():
    d, e = cuda.to_device(TABLE), cuda.to_device(TABLE)
    for compared in (np.array_equal, np.array_equiv, np.allclose):
        assert traced_again(lambda: compared(d, e)).count("cuLaunchKernel") == 1  # noqa: B023


@pytest.mark.parametrize("dtype", "bHiQf")
def test_numbers_beyond_the_dtype(dtype):
    host = np.array([0, 1, 100], dtype)
    for number in (300, -1, 2**40, 2**70, -(2**70)):
        for compared in (operator.lt, operator.le, operator.eq, operator.ne, np.greater):
            alike(compared, host, number)
            alike(lambda x, y: compared(y, x), host, number)  # noqa: B023
        alike(operator.add, host, number)
