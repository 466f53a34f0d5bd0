"""Tests values other than plain numbers and arrays: times, enumerations, parts of complex arrays,
pointers, views."""

import cmath
import ctypes
import enum
import math
import random

import numpy as np
import pytest

from numbalite import cuda, njit, types
from numbalite.errors import TranslationError
from numbalite.numba.top import carray, farray


@cuda.jit
def datetime_arithmetic(days, hours, day, hour, out_days, out_hours, numbers, tests):
    out_days[0] = days[0] + day
    out_days[1] = days[1] - 2 * day
    out_hours[0] = days[1] - days[0]
    out_hours[1] = hours[0] + hour * 2.5
    out_hours[2] = -hour
    out_hours[3] = days[2] - days[0]
    out_hours[4] = (day + hour) % day
    out_hours[5] = day / 2
    numbers[0] = day / hour
    numbers[1] = (day + hour) // day
    tests[0] = days[0] < days[1]
    tests[1] = days[2] == days[2]
    tests[2] = days[2] != days[2]
    tests[3] = days[0] + day == days[1]
    tests[4] = day > hour
    tests[5] = np.isnat(days[2])
    tests[6] = days[2] <= days[0]


def test_datetimes_match_numpy(assert_as_python):
    days = np.array(["2005-02-03", "2005-02-04", "NaT"], "M8[D]")
    hours = np.array(["2005-02-03T05"], "M8[h]")
    day, hour = np.timedelta64(1, "D"), np.timedelta64(1, "h")
    out_hours = np.zeros(6, "m8[h]")
    args = (
        days,
        hours[:1] - hours[:1],
        day,
        hour,
        np.zeros(2, "M8[D]"),
        out_hours,
        np.zeros(2),
        np.zeros(7, bool),
    )
    assert_as_python(datetime_arithmetic, *args)

    def store_moment(out, moment):
        out[0] = moment

    out = np.zeros(1, "M8[D]")
    with pytest.raises(TranslationError, match="does not fit into"):
        cuda.jit(store_moment)[1, 1](out, np.datetime64("2005-02-03T05", "h"))

    def subtract_month_and_day(out, month, day):
        out[0] = month - day

    with pytest.raises(TranslationError, match="has no meaning"):
        cuda.jit(subtract_month_and_day)[1, 1](np.zeros(1, "m8[D]"), np.timedelta64(1, "M"), day)


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class PlanetEnum(enum.Enum):
    VENUS = (4.869e24, 6.0518e6)
    EARTH = (5.976e24, 6.37814e6)


@cuda.jit
def compare_members(a, b, out):
    out[0] = a == b
    out[1] = a is b
    out[2] = a is not Color.RED
    out[3] = Color["RED"] == Color.GREEN
    out[4] = Color.RED is Color["RED"]
    out[5] = b is True
    out[6] = Color.GREEN.value == 2 and PlanetEnum.EARTH.value[1] < 1e7


def test_enumeration_members_match_python():
    for a, b in ((Color.RED, Color.RED), (Color.RED, Color.GREEN)):
        out = np.zeros(7, bool)
        compare_members[1, 1](a, b, out)
        assert out.tolist() == [a is b, a is b, False, False, True, False, True]

    @cuda.jit
    def compare_planets(a, b, out):
        mass, radius = a
        out[0] = mass > b[0]
        out[1] = a == PlanetEnum.EARTH and a is PlanetEnum.EARTH
        out[2] = a == b

    out = np.zeros(3, bool)
    compare_planets[1, 1](PlanetEnum.EARTH, PlanetEnum.VENUS, out)
    assert out.tolist() == [True, True, False]

    def missing_member(out):
        out[0] = Color["BLUE"] == Color.RED

    with pytest.raises(TranslationError, match="Color has no such member"):
        cuda.jit("void(boolean[:])")(missing_member)


@cuda.jit
def complex_functions(z, w, tests, reals, out):
    tests[0] = cmath.isnan(z)
    tests[1] = cmath.isinf(z)
    tests[2] = cmath.isfinite(z)
    reals[0] = cmath.phase(z)
    reals[1], reals[2] = cmath.polar(z)
    reals[3] = math.remainder(7.5, 2.0)
    out[0] = cmath.rect(reals[1], reals[2])
    out[1] = cmath.log(z, w)
    out[2] = z**w
    out[3] = z**3


@cuda.jit
def from_polar(sizes, angles, out):
    for k in range(sizes.size):
        out[k] = cmath.rect(sizes[k], angles[k])


def test_complex_predicates_and_parts_match_cmath():
    for z in (1 + 2j, complex(math.inf, -1)):
        tests, reals, out = np.zeros(3, bool), np.zeros(4), np.zeros(4, complex)
        complex_functions[1, 1](z, 2 - 1j, tests, reals, out)
        assert tests.tolist() == [cmath.isnan(z), cmath.isinf(z), cmath.isfinite(z)]
        np.testing.assert_allclose(reals, [cmath.phase(z), *cmath.polar(z), math.remainder(7.5, 2)])
        if cmath.isfinite(z):
            np.testing.assert_allclose(
                out, [z, cmath.log(z, 2 - 1j), z ** (2 - 1j), z**3], rtol=1e-12
            )
    inf, nan = math.inf, math.nan
    pairs = [
        (0, inf),
        (0, nan),
        (inf, 0),
        (-inf, 0),
        (inf, 1),
        (-inf, -1),
        (inf, nan),
        (2, nan),
        (2, 3),
    ]
    out = np.zeros(len(pairs), complex)
    from_polar[1, 1](*np.array(pairs, float).T.copy(), out)
    np.testing.assert_allclose(out, [cmath.rect(*pair) for pair in pairs], rtol=1e-15)


@cuda.jit
def view_arrays(z, a, raw, out):
    i = cuda.grid(1)
    cuda.atomic.add(z.real, i, 1)
    z.imag[i] *= 2
    if i == 0:
        b = a.reshape(3, -1)
        out[0] = b[2, 1]
        out[1] = a.reshape((2, 3, -1))[1, 2, 0]
        out[2] = a.ravel()[5]
        out[3] = a.flat[7]
        out[4] = raw[4:12].view(np.int32)[1]
        out[5] = a.transpose()[1, 0]
        out[6] = a.real[1, 2]
        out[7] = a[2:].reshape(3, 2)[2, 1] * 100 + a[1, 1:].reshape(2, 1)[1, 0]
        row = a[1, 1:]  # of neighbours, or not
        if out.size > 3:
            row = a[0, ::2]
        out[8] = row[1]


def test_views_inside_kernels_match_numpy():
    z, a, raw = np.arange(4) * (1 + 1j), np.arange(12).reshape(4, 3), np.arange(16, dtype=np.uint8)
    out = np.zeros(9, np.int64)
    expected = z.real + 1 + 2j * z.imag
    view_arrays[1, 4](z, a, raw, out)
    np.testing.assert_array_equal(z, expected)
    assert out.tolist() == [9, 10, 5, 7, raw[4:12].view(np.int32)[1], 1, 5, 1105, 2]

    def ravel_of_transposed(a, out):
        out[0] = a.T.ravel()[0]

    with pytest.raises(TranslationError, match="do not lie one behind the other"):
        cuda.jit("void(int64[:, ::1], int64[:])")(ravel_of_transposed)


RECORD = np.dtype([("i", np.int32), ("x", np.float64), ("part", np.int16, 2)], align=True)


@cuda.jit
def read_record_fields(r, z, out):
    out[0] = r.x[2] + r["i"][-1]
    out[1] = r[1][0] + r[1][-2]
    r.x[0] = 9
    out[2] = r.x.sum()
    out[3] = np.less(z[0], z[1]) + np.greater(z[0], 1j)
    out[4] = np.maximum(z[0], z[1]).imag
    for i, j in enumerate(range(10, 1, -3)):
        out[5] += i * j
    for i, j in zip(range(0, 7, 2), range(3)):
        out[6] += i * j


def test_record_fields_and_complex_comparisons_match_numpy():
    records, out = np.zeros(4, RECORD), np.zeros(7)
    records["i"], records["x"] = range(4), [1, 2, 3, 4]
    read_record_fields[1, 1](records, np.array([1 + 2j, 1 + 3j]), out)
    assert out.tolist() == [6, 3, 18, 2, 3, 15, 10]
    assert records["x"].tolist() == [9, 2, 3, 4]
    (overload,) = read_record_fields.overloads.values()
    assert overload._type_annotation.typemap["j"] is types.int64


def test_pointer_parameters_accept_addresses():
    @cuda.jit(types.void(types.CPointer(types.uint8), types.uint32))
    def add_one(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] += 1

    x = cuda.to_device(np.arange(10, dtype=np.uint8))
    add_one[1, 32](x.__cuda_array_interface__["data"][0], len(x))
    assert x.copy_to_host().tolist() == list(range(1, 11))

    @cuda.jit(types.void(types.CPointer(types.uint8), types.int64))
    def mark_through_pointer(p, n):
        c = carray(p, (2, n // 2))
        f = farray(p, (2, n // 2), dtype=types.uint8)
        c[1, 0] = f[1, 0] = c[0, -1] * 10
        carray(p, n)[n - 1] = f.shape[1]
        line = farray(p, n)
        line[2] = line.T[0] + 2

    mark_through_pointer[1, 1](x.__cuda_array_interface__["data"][0], len(x))
    assert x.copy_to_host().tolist() == [1, 50, 3, 4, 5, 50, 7, 8, 9, 5]


def test_captured_zero_dimensional_device_array_is_accessible():
    scale = cuda.to_device(np.array(42.0))

    @cuda.jit
    def doubled(out):
        out[()] = 2 * scale[()]
        scale[()] += 1

    out = cuda.device_array(())
    doubled[1, 1](out)
    assert (out.copy_to_host(), scale.copy_to_host()) == (84, 43)


SCALE, COUNT, TURN = np.array(2.5), np.array(3, np.int32), np.array(1 + 2j)


def use_dimensionless_arrays(value, index):
    """Tests operators, conditions, functions and attributes of 0-dimensional arrays."""
    total = value * 2 - (-SCALE) + SCALE**2 + COUNT // 2
    if SCALE > 1 and COUNT and not value < -100:
        total += min(SCALE, index) + max(1, COUNT) + math.sqrt(SCALE) + int(SCALE) + float(COUNT)
    for _ in range(COUNT):
        total += SCALE if value > 1 else value
    total += TURN.real + (TURN * 2).imag + SCALE.item() + SCALE[()] + COUNT.T
    total += SCALE.ndim + SCALE.size + COUNT.itemsize + TURN.nbytes + len(SCALE.shape)
    pair = (SCALE, COUNT)
    return total + pair[0] * pair[1] + np.maximum(SCALE, index) + (COUNT in (3, 4))


combined_on_device = cuda.jit(device=True)(use_dimensionless_arrays)


def test_zero_dimensional_arrays_are_used_as_numbers():
    @cuda.jit
    def combine_scalars(value, out):
        i = cuda.grid(1)
        out[i] = combined_on_device(value, i) if i else combined_on_device(SCALE, COUNT)

    drawn = np.array(random.uniform(-5, 5))
    for value in (drawn, cuda.to_device(drawn)):
        out = np.zeros(5)
        combine_scalars[1, 5](value, out)
        wanted = [
            use_dimensionless_arrays(SCALE, COUNT),
            *(use_dimensionless_arrays(drawn, i) for i in range(1, 5)),
        ]
        np.testing.assert_allclose(out, wanted, rtol=1e-12)
    assert njit(lambda: SCALE * 2 + COUNT)() == 8
    assert njit(lambda: SCALE)() == 2.5


def test_carray_and_farray_view_host_pointers():
    numbers = (ctypes.c_float * 6)(*range(6))
    pointer = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_float))
    assert carray(pointer, (2, 3)).tolist() == [[0, 1, 2], [3, 4, 5]]
    found = farray(ctypes.addressof(numbers), (2, 3), np.float32)
    assert found.tolist() == [[0, 2, 4], [1, 3, 5]]
    found[0, 0] = 7
    assert numbers[0] == 7
    with pytest.raises(TypeError, match="one to float32, the dtype is float64"):
        carray(pointer, 3, np.float64)
    with pytest.raises(TypeError, match="needs a dtype"):
        carray(ctypes.addressof(numbers), 3)
    assert isinstance(types.UniTuple(types.int64, 2), types.UniTuple)
    assert not isinstance(types.Tuple((types.int64, types.int32)), types.UniTuple)


@cuda.jit
def numpy_functions(i, j, x, y, z, ints, floats, tests):
    ints[0] = np.fmax(i, j)
    ints[1] = np.fmin(i, j)
    ints[2] = np.gcd(i, j)
    ints[3] = np.lcm(i, j)
    ints[4] = np.square(i - j)
    ints[5] = np.positive(i)
    floats[0] = np.fmax(x, y)
    floats[1] = np.logaddexp(x, 2)
    floats[2] = np.logaddexp2(x, x)
    floats[3] = np.heaviside(x, 0.5)
    floats[4] = np.reciprocal(x)
    floats[5] = np.fabs(i)
    floats[6] = np.square(x)
    floats[7] = np.conjugate(z).imag
    floats[8] = np.ldexp(x, 3)
    floats[9] = np.fmin(x, y)
    tests[0] = np.signbit(x)
    tests[1] = np.logical_and(i, x)
    tests[2] = np.logical_or(i - i, x > 5)
    tests[3] = np.logical_xor(i, j)
    tests[4] = np.logical_not(x)
    tests[5] = np.logical_not(i == j)


def test_numpy_functions_in_kernels_match_numpy(assert_as_python):
    for i, j, x, y in ((-6, 4, -1.5, math.nan), (12, 18, 2.25, -0.0)):
        assert_as_python(
            numpy_functions,
            i,
            j,
            x,
            y,
            1 + 2j,
            np.zeros(6, np.int64),
            np.zeros(10),
            np.zeros(6, bool),
        )


@cuda.jit
def write_into_arrays(a, row, n, out, tests):
    np.add(a, row, out)
    np.multiply(out, 2, out)
    np.sqrt(out, out)
    np.less(a, n, tests)
    np.maximum(row[1:], n, out=out[0, 1:])
    np.square(n, out=out[1])


def test_elementwise_numpy_functions_over_arrays_match_numpy(assert_as_python):
    a, row = np.arange(6).reshape(2, 3), np.array([0.5, 1.5, 2.5])
    assert_as_python(write_into_arrays, a, row, 2, np.zeros((2, 3)), np.zeros((2, 3), bool))

    def elementwise_over_array(x):
        y = np.sin(x)

    with pytest.raises(TranslationError, match="the result would be a new array"):
        cuda.jit("void(float64[:])")(elementwise_over_array)
