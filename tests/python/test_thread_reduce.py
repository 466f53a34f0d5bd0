"""Tests NumPy's reductions in kernels, and loops over tuples whose items have several types."""

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, errors
from numbalite.python.unroll import literal_unroll

NUMBERS = np.array([[1.5, 2], [3, np.nan]])
FLOATS = np.arange(1, 13, dtype=np.float32).reshape(3, 4)[:, ::2]
INTEGERS = np.array([[3, -2, 0], [7, 7, -2]], np.int16)
ARRAYS = (np.array([1.0, 2]), NUMBERS[:, ::-1], np.array([[[4]]], np.uint8))


@cuda.jit
def reduce_arrays(floats, integers, out):
    placed = cuda.shared.array((2, 2), np.int32)
    for i in range(2):
        for j in range(2):
            placed[i, j] = i * 2 - j
    out[0] = np.sum(floats)
    out[1] = floats.prod()
    out[2] = floats.mean()
    out[3] = np.var(integers)
    out[4] = integers.std()
    out[5] = integers.min()
    out[6] = np.max(integers)
    out[7] = integers.argmax()
    out[8] = np.argmin(integers)
    out[9] = np.count_nonzero(integers)
    out[10] = np.nansum(NUMBERS)
    out[11] = np.max(NUMBERS)
    out[12] = np.nanmax(NUMBERS) + np.argmax(NUMBERS)
    out[13] = np.nanmean(NUMBERS)
    out[14] = placed.sum()
    out[15] = np.all(integers)
    out[16] = np.any(integers[0])
    out[17] = np.nanmin(NUMBERS) + np.nanstd(NUMBERS)
    out[18] = np.nanprod(NUMBERS) + np.nanvar(NUMBERS)
    out[19] = placed[1].max()


def test_array_reductions_in_kernels_match_numpy():
    out, expected = np.zeros(20), np.zeros(20)
    reduce_arrays[1, 1](FLOATS, INTEGERS, out)
    f, i, n, placed = FLOATS, INTEGERS, NUMBERS, np.array([[0, -1], [2, 1]])
    expected[:] = [
        *(f.sum(), f.prod(), f.mean(), i.var(), i.std(), i.min(), i.max(), i.argmax(), i.argmin()),
        *(np.count_nonzero(i), np.nansum(n), np.max(n), np.nanmax(n) + np.argmax(n), np.nanmean(n)),
        *(placed.sum(), np.all(i), np.any(i[0]), np.nanmin(n) + np.nanstd(n)),
        *(np.nanprod(n) + np.nanvar(n), placed[1].max()),
    ]
    np.testing.assert_allclose(out, expected, rtol=1e-6)


@cuda.jit
def averages_of_many(x, out):
    out[0] = np.var(x)
    out[1] = x.std()
    out[2] = np.nanmean(x)
    out[3] = np.nanvar(x)
    out[4] = np.nanstd(x)


def test_variances_of_float32_accumulate_in_float64():
    x = random_generator().normal(100, 1, 100_000).astype(np.float32)
    out, exact = np.zeros(5), x.astype(np.float64)
    averages_of_many[1, 1](x, out)
    expected = [exact.var(), exact.std(), exact.mean(), exact.var(), exact.std()]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_invalid_reductions_raise():
    @cuda.jit(debug=True)
    def maximum_of_empty(x, out):
        out[0] = x[:0].max()

    with pytest.raises(ValueError, match="zero-size array"):
        maximum_of_empty[1, 1](np.ones(3), np.zeros(1))

    @cuda.jit
    def sum_along_axis(x, out):
        out[0] = np.sum(x, axis=0)

    with pytest.raises(errors.TranslationError, match=r"sum: takes an array, and nothing else"):
        sum_along_axis[1, 1](FLOATS, np.zeros(1))

    @cuda.jit
    def complex_maximum(x, out):
        out[0] = x.max()

    with pytest.raises(errors.TranslationError, match="takes real numbers, not complex64"):
        complex_maximum[1, 1](np.ones(2, np.complex64), np.zeros(1))


@cuda.jit
def pythons_sums(x, f, out):
    out[0] = sum((1, 2.5, x[0]))
    out[1] = sum(x)
    out[2] = sum(f, 0.5)
    out[3] = sum((x[0], x[1]), start=10) + sum(())


def test_sum_matches_python(assert_as_python):
    assert_as_python(pythons_sums, np.array([3, 4], np.int32), FLOATS[0], np.zeros(4))

    @cuda.jit
    def sum_of_row(x, out):
        out[0] = sum(x)

    with pytest.raises(errors.TranslationError, match="sum: takes a tuple, or an array of numbers"):
        sum_of_row[1, 1](np.ones((2, 2)), np.zeros(1))


@cuda.jit
def unroll_tuples(pair, out):
    n = 0
    for array in literal_unroll(ARRAYS):
        out[n] = np.nansum(array) + array.ndim
        n += 1
    for item in literal_unroll(pair):
        for part in literal_unroll((item, 1j)):
            if abs(part) > 1:
                out[n] += abs(part)
    out[n + 1] = n


def test_loops_over_tuples_of_several_types_are_unrolled(assert_as_python):
    assert_as_python(unroll_tuples, (2, 2.5), np.zeros(5))
    assert literal_unroll(ARRAYS) is ARRAYS

    @cuda.jit
    def break_in_unrolled_loop(out):
        for item in literal_unroll((1, 2.0)):
            if item > 1:
                break
            out[0] = item

    with pytest.raises(
        errors.TranslationError, match="break is not supported in a loop over literal_unroll"
    ):
        break_in_unrolled_loop[1, 1](np.zeros(1))

    @cuda.jit
    def unroll_array(x, out):
        for item in literal_unroll(x):
            out[0] = item

    with pytest.raises(errors.TranslationError, match="literal_unroll takes a tuple"):
        unroll_array[1, 1](np.zeros(1), np.zeros(1))


@cuda.jit
def reduce_zero_dimensional(x, out):
    out[0] = np.count_nonzero(x)
    out[1] = np.sum(x)


def test_zero_dimensional_array_argument_is_readable():
    out = np.zeros(2)
    reduce_zero_dimensional[1, 1](np.array(5), out)
    assert out.tolist() == [1, 5]


@cuda.jit
def first_or_all(a, b):
    if isinstance(b, tuple):
        b = b[0]
    if a is None:
        a = 5.5
        return a + b
        a = b[1]  # never
    return a + b


@cuda.jit
def rebind_parameters(out):
    out[0] = first_or_all(1, (2, 3))
    out[1] = first_or_all(1.5, 2)
    out[2] = first_or_all(None, 2)


def test_branches_decided_by_types_may_bind_any_type():
    out = np.zeros(3)
    rebind_parameters[1, 1](out)
    assert out.tolist() == [3, 3.5, 7.5]


CAPTURED = np.array(7)


@cuda.jit
def reduce_captured_number(out):
    number = CAPTURED
    out[0] = np.count_nonzero(number) + number[()]


def test_captured_zero_dimensional_array_is_a_constant():
    out = np.zeros(1)
    reduce_captured_number[1, 1](out)
    assert out[0] == 8
    assert "const int64 &number = CAPTURED;" in str(reduce_captured_number.inspect_source())
