"""Python numbers as operands of a device ufunc are converted to the types of its loops, as in
numba."""

import os
import random

import numpy as np
import pytest
from kit.sample import VARIABLE

from numbalite import cuda, guvectorize, vectorize

INTEGERS = [np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.fixture(scope="module")
def add():
    """Returns a ufunc with a loop for each integer type and for float32."""
    names = [*map(str, INTEGERS), "float32"]

    @vectorize([f"{t}({t}, {t})" for t in names], target="cuda")
    def add(a, b):
        return a + b

    return add


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_a_float_becomes_an_integer_if_it_is_one(add, dtype):
    random_ = random.Random(f"{os.environ.get(VARIABLE)} {dtype}")
    limits = np.iinfo(dtype)
    x = np.zeros(3, dtype)
    values = [0.0, -0.0, float(limits.min), 15.0, 15.5, float(limits.max), float(limits.max) * 2.5,
              float(limits.min) * 2.5 - 1, float("nan"), float("inf"), -0.5]  # fmt: skip
    values += [random_.choice([1.0, 0.5]) * random_.randrange(-(2**70), 2**70) for _ in range(10)]
    values += [float(random_.randrange(int(limits.min), int(limits.max) >> 2)) for _ in range(10)]
    for value in values:
        for given in (x, cuda.to_device(x)):
            fits = value == value and abs(value) != np.inf and value == int(value)
            if fits and limits.min <= int(value) <= limits.max:
                found = add(given, value)
                assert found.dtype == dtype
                np.testing.assert_array_equal(np.asarray(found), np.full(3, int(value), dtype))
            else:
                with pytest.raises(TypeError, match=rf"is not a valid {dtype}"):
                    add(given, value)


def test_scalars_are_converted_to_the_matching_loop():
    one = vectorize(["int16(int16, int16)"], target="cuda")(lambda a, b: a + b)
    two = vectorize(["int16(int16, int16)", "int16(int16, int32)"], target="cuda")(lambda a, b: a)
    x = np.arange(3, dtype=np.int16)
    np.testing.assert_array_equal(one(x, 15.0), x + 15)
    np.testing.assert_array_equal(one(15.0, x), x + 15)
    np.testing.assert_array_equal(one(x, 15.5, casting="unsafe"), x + 15)
    assert one(2.0, 3.0) == 5
    for wrong in (lambda: one(x, 15j), lambda: two(x, 15.0), lambda: one(x.astype(float), 15.0),
                  lambda: one(x, 15.0, casting="safe")):  # fmt: skip
        with pytest.raises(TypeError):
            wrong()


def test_gufunc_scalars_must_be_exact():
    @guvectorize(["void(int16[:], int16, int16[:])"], "(n),()->(n)", target="cuda")
    def add_scalar(x, by, out):
        for i in range(x.size):
            out[i] = x[i] + by

    x = np.arange(3, dtype=np.int16)
    np.testing.assert_array_equal(add_scalar(x, 15.0), x + 15)
    with pytest.raises(TypeError, match=r"15.5 is not a valid int16"):
        add_scalar(x, 15.5)
