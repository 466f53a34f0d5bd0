"""Statements and expressions: kernels with one thread compute the same as the Python function."""

import cmath
import math

import numpy as np
import pytest

from numbalite import cuda, errors, float32, float64, int8, int16, int32, int64, uint8, uint64

NAN, INF = float("nan"), float("inf")


@cuda.jit
def control_flow(n, out):
    total = 0
    for i in range(n):
        if i == 2:
            continue
        elif i > 6:
            break
        else:
            total += i
    else:
        total = -1
    out[0] = total
    for i in range(3):  # noqa: B007
        pass
    else:
        out[1] = i
    out[2] = i
    j = 0
    while True:
        j += 1
        if j > 4:
            break
    out[3] = j
    while j > 0:
        j -= 2
    else:
        out[4] = j
    for i in range(10, 0, -3):
        out[5] += i
    for i in range(2, n, 3):
        i = i * 2
        out[6] += i
    for i in range(n):  # noqa: B007
        n = 2
        out[7] += 1
    step = -2 if out[0] > 0 else 2
    for i in range(5, -5, step):
        out[8] += i
    x = 0
    for i in range(4):
        if i > 1:
            out[9] += last  # noqa: F821
        last = i * 10
        for k in range(i):
            x += k
    out[10] = x
    out[11] = k
    if n > 100:
        return
    out[12] = 1
    for i in range(2):  # noqa: B007
        for j in range(3):
            if j == 1:
                break
        else:
            out[13] = 99
        out[14] += j
    while n < 50:
        n += 7
        if n % 5 == 0:
            continue
        out[15] += n


@cuda.jit
def none_arguments_and_nested_functions(mask, x, out):
    if mask is None or mask[0] > 0:
        out[0] = 1
    if (n := len(x)) > 2:
        out[1] = n

    def combine_digits(v, w):
        return v * 10 + w

    def put_sum(k, v):
        out[k] = v + n * x[k]

    twice = lambda v: v + v + n
    out[2] = combine_digits(n, 2) + twice(4)
    put_sum(4, 5)
    for k in range(2):
        offset = k * 10
        item = lambda j: x[j] + offset  # noqa: B023 (called in the same iteration)
        out[5 + k] = item(1) + item(2)
    acc = x.dtype.type(0)
    for v in x:
        acc += v
    out[3] = acc


def test_none_arguments_and_other_constructs_match_python(assert_as_python):
    for mask in (None, np.ones(1), np.zeros(1)):
        assert_as_python(
            none_arguments_and_nested_functions, mask, np.arange(5, dtype=np.float32), np.zeros(8)
        )


def test_control_flow_matches_python(assert_as_python):
    assert_as_python(control_flow, 9, np.zeros(16, np.int64))
    assert_as_python(control_flow, 4, np.zeros(16, np.int64))


@cuda.jit
def divide_numbers(i, j, x, y, ints, floats):
    ints[0] = i // j
    ints[1] = i % j
    ints[2] = -i // j
    ints[3] = -i % j
    ints[4] = i // -j
    ints[5] = i % -j
    ints[6] = i << 3
    ints[7] = -i >> 1
    ints[8] = i & 6 | 1 ^ j
    ints[9] = ~i
    ints[10] = i**3
    ints[11] = (-2) ** j
    ints[12] = int(x)
    ints[13] = int(-x)
    ints[14] = round(x)
    ints[15] = abs(-i) + abs(i)
    ints[16] = min(i, j, 2) * 100 + max(i, j)
    ints[17], ints[18] = divmod(-i, j)
    ints[19] = math.floor(-x) + math.ceil(x) * 10
    ints[20] = (i > j) + (x > y)
    ints[21] = i if i > j else j
    ints[22] = not i
    ints[23] = (0 <= i < 10 and j != 3) or x > 100
    ints[24] = 1 << 40
    ints[25] = 7 * (i - (j - 2)) + i * (j // 2) - i * (j % 2)
    ints[26] = bool(i) + int(True)
    ints[27] = i in (1, 7, 9)
    ints[28] = j not in (1, 7, 9)
    ints[29] = pow(i, 2)
    ints[30] = (i and 0 and j) + (i or 3 or j)
    floats[0] = i / j
    floats[1] = x // y
    floats[2] = x % y
    floats[3] = -x // y
    floats[4] = -x % y
    floats[5] = x**2
    floats[6] = x**-2
    floats[7] = x**0.5
    floats[8] = 2**-1
    floats[9] = abs(-x)
    floats[10] = min(x, y) - max(x, y)
    floats[11] = float(i)
    floats[12] = x - (y - (x - y))
    floats[13] = x / (y * 2) / 3
    floats[14] = i * 0.5 + j
    floats[15] = round(x, 1)
    floats[16] = 1e-3 + 1e5 + 2.0
    floats[17] = i and x
    floats[18] = (i - i) or y
    floats[19] = +x - -y


def test_number_operations_match_python(assert_as_python):
    for i, j in ((7, 3), (-7, 3), (2, 5)):
        for x, y in ((7.25, 2.5), (-1.5, 0.75), (0.0, -3.0)):
            if x > 0:
                assert_as_python(divide_numbers, i, j, x, y, np.zeros(31, np.int64), np.zeros(20))


@cuda.jit
def call_in_conditions(x, ints):
    def record_and_read(k):
        ints[0] = ints[0] * 10 + k  # the order and the number of the evaluations
        return x[k]

    if 0 <= record_and_read(1) < 5:
        ints[1] = 1
    if record_and_read(0) < record_and_read(1) <= record_and_read(2) < record_and_read(3) < 100:
        ints[2] = 1
    if ints[0] < record_and_read(4) < 7:
        ints[3] = 1
    ints[4] = record_and_read(5) or 7
    ints[5] = record_and_read(1) and record_and_read(2)
    ints[6] = (
        (record_and_read(5) and record_and_read(1)) or record_and_read(2) or record_and_read(3)
    )


def test_calls_in_conditions_are_evaluated_once(assert_as_python):
    for x in ([0, 3, 3, 2, 9, 0], [4, 3, 5, 6, -1, 2], [1, 2, 3, 4, 5, 0]):
        assert_as_python(call_in_conditions, np.array(x), np.zeros(7, np.int64))


@cuda.jit
def overflow_integers(x, ints):
    total = x[0] + x[0]
    if x[0] > 0 and total < 0:
        ints[0] = 1
    product, power = 1, 1
    for j in range(1, 100):
        product = product * j
        if product < 0:
            ints[1] = j
            break
    while power > 0:
        power *= 2
        ints[2] += 1


@pytest.mark.sim
def test_integer_overflow_wraps():
    """Integers wrap around on the simulator, as in numba. (A GPU's compiler may assume that no
    overflow happens.)"""
    ints = np.zeros(3, np.int64)
    overflow_integers[1, 1](np.array([2**62]), ints)
    assert ints.tolist() == [1, 21, 63]


@cuda.jit
def tuples_in_order(a, out):
    for i in range(3):
        for j in range(3):
            p, q = (a[i], a[j], 1), (a[j], a[i], 2.5)
            out[i, j, 0] = p < q
            out[i, j, 1] = p <= q[:2]
            out[i, j, 2] = p > q
            out[i, j, 3] = p[:2] >= q[:2]
            out[i, j, 4] = q[:2] < q


def test_tuple_comparison_matches_python(assert_as_python):
    assert_as_python(tuples_in_order, np.array([3, 1, 3]), np.zeros((3, 3, 5)))


@cuda.jit
def change_loop_bounds(a, b, n, out):
    for i, j in enumerate(range(n, a[0], 2)):
        a[0] += 1
        n += 5
        out[0] += i * 100 + j
    for i, j in zip(range(a[1], a[2]), a):
        a[1] += 1
        a[2] += 3
        out[1] += i * 10 + j
    n = 2
    for i, v in enumerate(a[b[0] :], n):
        n += 1
        b[0] = 0
        out[2] += i * v
    c = a
    for i, v in enumerate(c):
        c = b
        out[3] += i * v


def test_loops_evaluate_their_range_once(assert_as_python):
    assert_as_python(
        change_loop_bounds, np.array([9, 2, 6, 1]), np.array([1, 6, 7]), 1, np.zeros(4, np.int64)
    )


@cuda.jit
def raise_to_power(x, n, out):
    i = cuda.threadIdx.x
    out[i] = x[i] ** n[i]


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_negative_integer_powers_are_truncated(dtype):
    """Negative powers of integers are truncated to integers, as in an assignment to an integer array; also
    if x**-n is not representable."""
    x = np.array([1, -1, -1, 3, 2, 24, -10], dtype)
    out = np.full(x.size, 9, dtype)
    raise_to_power[1, x.size](x, np.array([-7, -7, -8, -1, -64, -24, -99], dtype), out)
    assert out.tolist() == [1, -1, 1, 0, 0, 0, 0]


@cuda.jit
def math_functions(x, n, out):
    out[0] = math.sin(x) + math.cos(x) * math.tan(x)
    out[1] = math.exp(x) - math.log(x)
    out[2] = math.sqrt(x) + math.sqrt(n)
    out[3] = math.pow(x, 3)
    out[4] = math.atan2(x, 2)
    out[5] = math.hypot(x, n)
    out[6] = math.fabs(-x)
    out[7] = math.pi + math.e
    out[8] = math.isnan(x) + math.isinf(x) * 2
    out[9] = math.copysign(x, -1.0)
    out[10] = math.fmod(-x, 2.0)
    out[11] = math.log2(8.0) + math.log10(100.0) + math.log1p(x)
    out[12] = np.sqrt(x) + np.abs(-x) + np.floor(x)
    out[13] = np.minimum(x, 1.0) + np.maximum(x, 1.0)
    out[14] = math.degrees(x) + math.radians(x)
    out[15] = math.inf
    out[16] = math.trunc(-x)
    out[17] = math.gcd(n, 12)


def test_math_functions_match_python():
    out, wanted = np.zeros(18), np.zeros(18)
    math_functions[1, 1](1.3, 18, out)
    math_functions.py_func(1.3, 18, wanted)
    np.testing.assert_allclose(out, wanted, rtol=1e-14)


@cuda.jit
def rounding_functions(x, n, out, left):
    i = cuda.grid(1)
    out[i] = math.floor(x[i])
    left[i] = x[i] - math.ceil(x[i])
    if i == 0:
        out[i] = math.trunc(x[i]) / 2 + math.floor(n)


def test_floor_is_a_float_as_in_numba_cuda():
    x = np.float32([-2.5, 1e30, -np.inf])
    out, left = np.zeros(3), np.ones(3, np.float32)
    rounding_functions[1, 3](x, 7, out, left)
    assert out.tolist() == [6.0, float(x[1]), -np.inf]
    assert left.tolist()[:2] == [-0.5, 0.0] and np.isnan(left[2])
    (text,) = rounding_functions.inspect_source().values()
    assert "left[i] = x[i] - ceil(x[i]);" in text and "int64(" not in text

    @cuda.jit
    def index_by_float(x, out):
        out[math.floor(x)] = 1

    with pytest.raises(
        errors.TranslationError, match=r"not a valid index(.|\n)*int\(x\) makes one"
    ):
        index_by_float[1, 1](1.5, out)


@cuda.jit
def large_integer_literals(out, bits):
    out[0] = 2**63
    out[1] = 2**62 * 2 - 1
    out[2] = -(2**63)
    out[3] = 60 * 60 + ~(1 << 63)
    out[4] = 2**-1
    bits[0] = 1 << 63


def test_literal_integer_arithmetic_has_unlimited_precision():
    """As Python's compiler does."""
    out, bits = np.zeros(5), np.zeros(1, np.uint64)
    large_integer_literals[1, 1](out, bits)
    assert out.tolist() == [2.0**63, 2.0**63, -(2.0**63), float(60 * 60 + ~(1 << 63)), 0.5]
    assert bits[0] == 1 << 63

    @cuda.jit
    def too_large_literal(out):
        out[0] = 10**20

    with pytest.raises(
        errors.TranslationError, match="100000000000000000000 does not fit in 64 bits"
    ):
        too_large_literal[1, 1](out)


@cuda.jit
def numpys_functions(x, n, out):
    for i in range(x.size):
        out[i, 0] = np.maximum(x[i], 1.0)
        out[i, 1] = np.minimum(1, x[i])
        out[i, 2] = np.maximum(n, i)
        out[i, 3] = np.clip(x[i], -1, 1.5)
        out[i, 4] = np.clip(x[i], None, a_max=0.0) + np.clip(n, 3, 4)
        out[i, 5] = np.where(x[i] > 0, x[i], n)
        out[i, 6] = np.fmod(np.int64(-(2**62) - 1), n + 3) + np.fmod(x[i], 2)


def test_numpy_scalar_functions_match_numpy():
    """maximum, minimum and clip return NaN if an operand is NaN; fmod of integers is exact."""
    x = np.array([np.nan, -2, 0.5, 7], np.float32)
    out, wanted = np.zeros((2, x.size, 7))
    numpys_functions[1, 1](x, 2, out)
    numpys_functions.py_func(x, 2, wanted)
    np.testing.assert_array_equal(out, wanted)


@cuda.jit
def atomics_in_unused_arguments(counts, out):
    out[0] = np.where(counts[0] > 5, cuda.atomic.add(counts, 0, 1), cuda.atomic.add(counts, 1, 1))
    out[1] = np.logical_and(cuda.atomic.add(counts, 0, 1) > 9, cuda.atomic.add(counts, 1, 1) > 9)


def test_unused_function_arguments_are_evaluated():
    counts, out = np.zeros(2, np.int32), np.full(2, 9)
    atomics_in_unused_arguments[1, 1](counts, out)
    assert counts.tolist() == [2, 2] and out.tolist() == [0, 0]


@cuda.jit
def change_variable_types(n, x, out, f):
    a = 1
    out[0] = a // 2
    a = 1.5
    f[0] = a / 2
    a = n
    out[1] = a // 2
    b = 0
    for _ in range(3):
        b = b + 0.5
    f[1] = b
    c, d = 1, 2
    c, d = d, c + d
    out[2] = c * 10 + d
    out[3], out[4] = out[2], out[0]
    out[3], out[4] = out[4], out[3]
    p = q = r = n + 1
    out[5] = p + q + r
    t = (n, x, 3)
    f[2] = t[0] + t[1] + t[2] + t[-1]
    u, (v, w) = n, (2, x)
    f[3] = u + v + w
    first, *rest = (1, 2, 3)
    out[6] = first + rest[1] + len(rest)
    s = (1, 2) + (3,)
    out[7] = s[2]
    for k in (5, 6, 7):
        out[8] += k
    e: int = 4
    out[9] = e
    n += 1
    n *= 2
    n -= 3
    n //= 2
    n <<= 2
    n |= 1
    n ^= 6
    n %= 7
    n **= 2
    out[10] = n
    x /= 4
    x **= 2
    x %= 1.5
    f[4] = x
    if n > 3:
        z = 1
    else:
        z = 2.5
    f[5] = z
    double = 3
    float32 = 4
    min_ = double + float32
    out[11] = min_
    y = 2
    while y < 40:
        y, n = y * 2, y
    out[12] = y + n
    for i, value in enumerate(s):
        out[13] += i * value
    for one, two in zip(s, (4, 5, 6)):
        out[14] += one * two
    for i in range(2):
        m = i
    out[15] = m + i


def test_variable_types_match_python(assert_as_python):
    assert_as_python(change_variable_types, 5, 2.75, np.zeros(16, np.int64), np.zeros(6))


@cuda.jit
def index_arrays(a, b, c, out):
    out[0] = a[-1]
    out[1] = a[len(a) - 1] + a.size + a.shape[0] + a.ndim
    out[2] = b[1, 2] + b[-1, -1] + b[1][2] + b[-1][0]
    out[3] = b.shape[0] * 100 + b.shape[1]
    m, n = b.shape
    out[4] = m + n + b.size + b.ndim
    row = b[1]
    out[5] = row[0] + row[-2]
    at = (1, 1)
    out[6] = b[at]
    total = 0
    for v in a:
        total += v
    out[7] = total
    i = -2
    out[8] = a[i]
    a[i] = 50
    a[i] += 5
    a[-1] *= 2
    b[0, -1] -= 7
    part = a[1:4]
    out[9] = part[0] + part[-1] + len(part)
    part[1] = 77
    out[10] = c[1, 0, -1] + c[1][0][-1]
    col = b[:, 1]
    out[11] = col[0] + col[1]
    back = a[::-1]
    out[12] = back[0]
    b[1, :] = 9
    b[:, 0] = a[:2]
    out[13] = c[..., 0][1, 1] + c[1, ...][0, 2]
    out[14] = b.T[2, 0] + b.T.shape[0]
    out[15] = a.itemsize + a.strides[0] + a[2:][0] + a[:-3][-1] + a[-3:-1][0]
    out[16] = a[3:1].size


def test_array_indexing_matches_python(assert_as_python):
    a = np.arange(6) * 3
    b = np.arange(6).reshape(2, 3) + 10
    c = np.arange(12).reshape(2, 2, 3)
    assert_as_python(index_arrays, a, b, c, np.zeros(17, np.int64))
    strided = np.arange(12)[::2]
    assert_as_python(index_arrays, strided, np.asfortranarray(b), c[::-1], np.zeros(17, np.int64))


@cuda.jit
def complex_arithmetic(z, x, out, real):
    out[0] = z * z + x
    out[1] = z / (1 + 2j)
    out[2] = z.conjugate() * 1j
    real[0] = z.real + z.imag
    real[1] = abs(z)
    out[3] = complex(x, 2) - z
    out[4] = -z
    real[2] = z == z
    real[3] = z != 0
    out[5] = z * 2
    out[6] = complex(x)


def test_complex_arithmetic_matches_python(assert_as_python):
    assert_as_python(complex_arithmetic, 1.5 + 2j, 0.5, np.zeros(7, complex), np.zeros(4))


@cuda.jit
def complex_functions(z, out):
    out[0] = cmath.exp(z)
    out[1] = cmath.sqrt(z)
    out[2] = np.sin(z)


def test_complex_functions_match_cmath():
    out = np.zeros(3, complex)
    complex_functions[1, 1](1 + 2j, out)
    z = 1 + 2j
    np.testing.assert_allclose(out, [cmath.exp(z), cmath.sqrt(z), np.sin(z)], rtol=1e-12)


N, SCALE, FLAG = 3, 0.5, False
PAIR = (4, 5)
TABLE = np.array([[1, 2, 3], [4, 5, 6]])


def test_captured_values_match_python(assert_as_python):
    offset, half = 7, np.float32(0.5)

    @cuda.jit
    def read_captured_values(out, f):
        out[0] = N + offset
        out[1] = PAIR[0] * 10 + PAIR[1]
        out[2] = TABLE[1, 2] + TABLE[-1][0] + TABLE.shape[1]
        for i in range(N):
            out[3] += TABLE[0, i]
        f[0] = SCALE * half
        if FLAG:
            out[4] = no_such_name  # noqa: F821
        out[5] = N**2
        m, n = PAIR
        out[6] = m - n
        f[1] = np.pi
        f[2] = int32(3.9) + uint8(257 & 0xFF) + np.int64(2)
        table = TABLE
        out[7] = table[0, 1]

    assert_as_python(read_captured_values, np.zeros(8, np.int64), np.zeros(3))


POINT = np.dtype([("x", "f4"), ("y", "f4"), ("n", "i4"), ("v", "f4", (2,))], align=True)


@cuda.jit
def change_records(points, out):
    for i in range(len(points)):
        points[i].x += 1
        points[i]["y"] = points[i].x * 2
        p = points[i]
        p.n = i
        p.v[0] = 3
        p.v[-1] = p.n
    out[0] = points[0].x + points[1].y


def test_record_fields_are_written():
    points = np.zeros(3, POINT)
    out = np.zeros(1)
    change_records[1, 1](points, out)
    assert points["x"].tolist() == [1, 1, 1] and points["y"].tolist() == [2, 2, 2]
    assert points["n"].tolist() == [0, 1, 2] and points["v"].tolist() == [[3, 0], [3, 1], [3, 2]]
    assert out[0] == 3


def test_result_types_match_numba():
    """Expressions have types by numba's rules, as shown by the types in the C++."""

    @cuda.jit
    def store_result_types(i, u, b, f, out, wide):
        wide[0] = i * i
        wide[1] = i + i
        wide[2] = b + b
        wide[3] = -i
        wide[4] = i << 4
        wide[5] = ~b
        out[0] = u - 1
        out[1] = f * 3
        out[2] = f / 3
        out[3] = f * f - 1
        out[4] = f + b
        out[5] = i / i
        wide[6] = abs(i * -1 - 1)
        wide[7] = (u | 1) // 2  # int64, as in numba
        out[6] = (u ^ 1) / 2
        out[7] = (u & i) + (i >= (u | 1))
        wide[8] = u + i  # int64
        wide[9] = u * 3
        wide[10] = (u - 1) // (b > 0)
        wide[13] = (u + 2) // 3 + (-b >> 4)
        wide[14] = -round(b)
        out[11] = divmod(u, 3 * i - i)[0] + divmod(-7, b)[1]
        out[8] = (u + 1) / 2
        wide[11] = round(1 / i**-1)  # Python's, while numba's i**-1 is 0
        wide[12] = (b > 0) ** u + u
        out[9] = min(u, i)
        out[10] = (b > 250) ** (i - i + np.int32(0)) + (b > 0) ** i * f

    i, u, b, f = np.int32(2**31 - 1), np.uint64(2**63), np.uint8(200), np.float32(1 / 3)
    wide, out = np.zeros(15, np.int64), np.zeros(12)
    store_result_types[1, 1](i, u, b, f, out, wide)
    n, least = 2**31 - 1, -(2**63)
    assert wide.tolist() == [
        n * n, 2 * n, 400, -n, n << 4, 55, n + 1, -(2**62), least + n, least, -least - 1, n, least + 1,
        (least + 2) // 3 + 3, -200,
    ]  # fmt: skip
    third = float(f)
    assert out.tolist() == [
        float(2**63), third * 3, third / 3, float(f * f) - 1, float(f + np.float32(200)), 1.0, float(-(2**62)), 1.0,
        float(-(2**62)), float(n), 1 + third,
        float(2**63 // (2 * n) + 193),
    ]  # fmt: skip


ALWAYS = True


def test_variables_of_unconditional_blocks_are_defined():
    """In C++ a block that always runs has no braces, so its variables are declared in the surrounding block,
    each with its own type."""

    @cuda.jit
    def assign_in_blocks(n, out):
        if ALWAYS:
            a = n
            while a > 3:
                a -= 2
            out[0] = a
        if ALWAYS:
            a = n + 1
            while a > 3:
                a -= 3
            out[1] = a
        for _ in range(n):
            a = 0.5
            out[2] += a
        else:
            a = n * 0.25
            out[3] = a
        while a < 0:
            a += 1
        else:
            a = n
            out[4] = a

    out = np.zeros(5)
    assign_in_blocks[1, 1](7, out)
    assert out.tolist() == [3, 2, 3.5, 1.75, 7]


def test_default_arguments_work_with_signatures():
    @cuda.jit("void(int32, float64[:])")
    def half_of_signature(n, out):
        out[0] = n / 2

    @cuda.jit([(int64, float32[:]), (float64, float64[:])])
    def half_of_signatures(n, out):
        out[0] = n / 2

    out = np.zeros(1)
    half_of_signature[1, 1](3, out)
    assert out[0] == 1.5
    half_of_signatures[1, 1](5.0, out)
    assert out[0] == 2.5
    assert len(half_of_signatures.signatures) == 2


def test_division_by_zero_returns_infinity_or_nan():
    @cuda.jit
    def divide_by_zero(x, zero, out):
        out[0] = x / zero
        out[1] = -x / zero
        out[2] = zero / zero
        out[3] = min(x, zero)

    out = np.zeros(4)
    divide_by_zero[1, 1](1.0, 0.0, out)
    np.testing.assert_array_equal(out, [INF, -INF, NAN, 0])


@pytest.mark.parametrize("value", [2**40, -5, 3])
def test_signed_unsigned_comparison_compares_values(value):
    @cuda.jit
    def compare_mixed_signs(i, u, out):
        out[0] = i < u
        out[1] = i >= u
        out[2] = i == u
        out[3] = cuda.threadIdx.x - 1 < 0
        out[4] = cuda.threadIdx.x > i

    out = np.zeros(5, np.int64)
    compare_mixed_signs[1, 1](value, np.uint64(4), out)
    assert out.tolist() == [value < 4, value >= 4, value == 4, True, 0 > value]


@cuda.jit
def index_after_conditions(a, out):
    """The range of an index after a condition is valid until the index is assigned."""
    n = a.size
    for i in range(-1, n):
        if i > 0:
            out[0] += a[i - 1]
        elif i == 0:
            out[1] += a[i - 1]
        else:
            out[2] += a[i - 1]
        if i < 1:
            continue
        j = i
        while j > 0 and a[j - 1] > 2:
            out[3] += a[j - 1]
            j -= 2
            out[4] += a[j]
        if j > 1:
            j -= 2
        out[5] += a[j - 1] if j >= 1 else a[j - 2]
        if not (j <= 0 or i < 2):
            out[6] += a[j - 1] + a[i - 2]
        k = -i
        for j in range(2):
            if k > -2 and i != 0:
                k -= 1
            out[7] += a[k] + a[j - 1]


@cuda.jit
def assign_in_one_statement(a, out):
    """Tests operands that an assignment in the same statement changes."""
    i, j, k = 1, 2, 3
    (k, i), j = (j + 10, k * 7), i
    out[0], out[1], out[2] = i, j, k
    i = k = i * 2 + 1
    out[3], out[4] = i, k
    (i, out[5]), out[6] = (out[0], i), out[5]
    out[7] = int16(70000) % 97 + (int8(200) < 0)
    out[8] = float32(0.1) == 0.1


def test_constant_conditions_are_removed(assert_as_python):
    a = np.array([5, 3, 9, 4, 1, 7], np.int64)
    assert_as_python(index_after_conditions, a, np.zeros(8, np.int64))
    (source,) = index_after_conditions.inspect_source().values()
    assert "out[0] += a[i - 1];" in source and "out[3] += a[j - 1];" in source
    assert "out[2] += a[py::wrap(i - 1, a.shape[0])]" in source
    out = np.zeros(9, np.int64)
    assign_in_one_statement[1, 1](a, out)
    assert out.tolist() == [21, 1, 12, 43, 43, 43, 0, 4464 % 97 + 1, 0]


@cuda.jit
def unsigned_arithmetic(b, d, f, out):
    """Unsigned numbers wrap around at 64 bits, as in numba, signed numbers in their own width;
    comparisons are exact."""
    x = -b[0]
    out[0] = x >> 60
    y = b[0] - f[0]
    out[1] = y >> 60
    out[2] = d[1] >= uint64(f[0])
    z = -d[0]
    out[3] = z >> 62 & 1


def test_unsigned_arithmetic_wraps_around():
    out = np.zeros(4, np.uint64)
    unsigned_arithmetic[1, 1](np.uint8([3]), np.int32([4, -5]), np.uint32([7]), out)
    assert out.tolist() == [0, 15, 0, 1]


def code_after_returns(x):
    if x > 1:
        return x
        x = undefined  # noqa: F821
    else:
        return -x
    y = x + 1
    return y


@cuda.jit
def code_after_endless_loop(out):
    i = 0
    while True:
        i += 1
        if i > 5:
            out[0] = i
            out[1] = code_after_returns(-i)
            return
        continue
        i = 100
    out[2] = i


def test_unreachable_statements_are_skipped(assert_as_python):
    assert_as_python(code_after_endless_loop, np.zeros(3, np.int64))
