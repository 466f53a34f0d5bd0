"""round and np.round with a number of digits: Python's and NumPy's results, for random numbers of
each type."""

import warnings

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, njit

COUNT = 400


@cuda.jit
def round_all(x, digits, by_round, by_numpy):
    i = cuda.grid(1)
    if i < x.size:
        by_round[i] = round(x[i], digits[i])
        by_numpy[i] = np.round(x[i], digits[i])


@cuda.jit
def round_complex(x, digits, scaled, whole):
    i = cuda.grid(1)
    if i < x.size:
        scaled[i] = np.around(x[i], decimals=digits[i])
        whole[i] = np.round(x[i])


def random_reals(random, dtype, digits):
    """Returns ties, numbers next to ties, and numbers of all sizes, that do not overflow when
    scaled."""
    ties = (random.integers(-(10**3), 10**3, COUNT) + 0.5) / 10.0**digits
    near = np.nextafter(ties, random.choice([-np.inf, np.inf], COUNT))
    free = random.normal(size=COUNT) * 10.0 ** random.integers(-3, 4, COUNT)
    special = random.choice([0.0, -0.0, np.inf, -np.inf, np.nan], COUNT)
    kind = random.choice(4, COUNT, p=[0.4, 0.2, 0.35, 0.05])
    with np.errstate(over="ignore"):
        return np.choose(kind, [ties, near, free, special]).astype(dtype)


def numpy_rounded(x, digits):
    """Returns np.round of each number; numbers that overflow when scaled are unchanged."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        rounded = np.array([np.round(v, int(n)) for v, n in zip(x, digits, strict=True)], x.dtype)
    return np.where(np.isfinite(rounded), rounded, x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_rounded_reals_match_numpy_and_python(dtype):
    random = random_generator()
    limit = 4 if dtype == "f2" else 7
    digits = random.integers(-limit, limit + 1, COUNT)
    x = random_reals(random, dtype, digits)
    by_round, by_numpy = np.zeros_like(x), np.zeros_like(x)
    round_all[4, 128](x, digits, by_round, by_numpy)
    np.testing.assert_array_equal(by_numpy, numpy_rounded(x, digits))
    if dtype != "f8":  # np.float32.__round__ is np.round
        np.testing.assert_array_equal(by_round, by_numpy)
        return
    expected = [round(float(v), int(n)) for v, n in zip(x, digits, strict=True)]
    np.testing.assert_array_equal(by_round, expected)
    np.testing.assert_array_equal(np.signbit(by_round), np.signbit(expected))
    assert njit(lambda v, n: round(v, n))(2.5, 300) == 2.5
    assert njit(lambda v, n: round(v, n))(2.5, -400) == 0


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4", "i8", "u8"])
def test_rounded_integers_match_python(dtype):
    random = random_generator()
    info = np.iinfo(dtype)
    x = random.integers(info.min, info.max, COUNT, dtype, endpoint=True)
    x[::2] = random.integers(max(info.min, -100), 101, len(x[::2]))
    digits = random.integers(-21, 4, COUNT)
    digits[::2] = random.integers(-3, 2, len(x[::2]))
    by_round, by_numpy = np.zeros_like(x), np.zeros_like(x)
    round_all[4, 128](x, digits, by_round, by_numpy)
    expected = [round(int(v), int(n)) for v, n in zip(x, digits, strict=True)]
    wrapped = np.array([v & (1 << 64) - 1 for v in expected], "u8").astype(dtype)
    np.testing.assert_array_equal(by_round, wrapped)
    fits = np.array([info.min <= v <= info.max for v in expected]) & (abs(x.astype(object)) < 2**53)
    found = np.array([np.round(v, int(n)) for v, n in zip(x[fits], digits[fits], strict=True)])
    np.testing.assert_array_equal(by_numpy[fits], found)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_rounded_complex_numbers_match_numpy(dtype):
    random = random_generator()
    digits = random.integers(-4, 8, COUNT)
    part = np.zeros(0, dtype).real.dtype
    x = np.zeros(COUNT, dtype)
    x.real, x.imag = (random_reals(random, part, digits) for _ in range(2))
    x[~np.isfinite(x)] = 1.5 - 2.5j
    scaled, whole = np.zeros_like(x), np.zeros_like(x)
    round_complex[4, 128](x, digits, scaled, whole)
    np.testing.assert_array_equal(scaled, numpy_rounded(x, digits))
    np.testing.assert_array_equal(whole, np.round(x))
