"""`==`, `!=` and `in` of device arrays and what is no number, against NumPy."""

import operator
from decimal import Decimal

import numpy as np
import pytest
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


def test_contains():
    for value in (3, 2.5, None, [3, 7], TABLE[1]):
        alike(operator.contains, TABLE, value)
    alike(operator.contains, TABLE[:0], 3)
