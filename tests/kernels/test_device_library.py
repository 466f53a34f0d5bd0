"""Compares results of the device library: arrays, complex numbers, random numbers, groups.

Each test runs one small translation unit through the public API, on the session's driver.
"""

import cmath
import math

import numpy as np
import pytest
from kit.launch import run_on_copies

from numbalite import cuda
from numbalite.errors import CompileError, KernelError

# ---- the grid ----

GRID = r"""
__global__ void where(long long *out, int dims) {
    auto [gx, gy, gz] = gridsize<3>();
    auto [x, y, z] = grid<3>();
    long long i = (z * gy + y) * gx + x;
    long long *o = out + 6 * i;
    if (dims == 1) { o[0] = grid<1>(); o[1] = gridsize<1>(); int narrow = grid<1>(); o[2] = narrow; }
    if (dims == 2) { auto [a, b] = grid<2>(); auto [c, d] = gridsize<2>(); o[0] = a; o[1] = b; o[2] = c; o[3] = d; }
    if (dims == 3) { o[0] = x; o[1] = y; o[2] = z; o[3] = gx; o[4] = gy; o[5] = gz; }
}
"""


def test_grid_and_gridsize_return_indices():
    kernel = cuda.jit(source=GRID)
    (out,) = run_on_copies(kernel, 3, 5, np.zeros((15, 6), np.int64), 1)
    assert [row[:3].tolist() for row in out] == [[i, 15, i] for i in range(15)]
    (out,) = run_on_copies(kernel, (2, 3), (4, 2), np.zeros((6, 8, 6), np.int64), 2)
    assert all(out[y, x, :4].tolist() == [x, y, 8, 6] for y in range(6) for x in range(8))
    (out,) = run_on_copies(kernel, (1, 2, 3), (2, 1, 2), np.zeros((6, 2, 2, 6), np.int64), 3)
    places = np.ndindex(6, 2, 2)
    assert all(out[z, y, x].tolist() == [x, y, z, 2, 2, 6] for z, y, x in places)


# ---- array ----

FACTORS = np.array([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], np.float32)


@cuda.jit
def loop_over_ranges(x, m, rows, total):
    """
    for (float &v : x) v += 1;
    for (auto v : x) total[0] += v;
    int i = 0;
    for (auto row : m) {
        for (auto v : row) rows[i] += v;
        for (auto &v : row) v = -v;
        ++i;
    }
    for (float v : m[0]) total[1] += v;
    for (auto row : FACTORS)
        for (float v : row) total[2] += v;
    for (float v : FACTORS[1]) total[3] += v;
    auto at = x.begin();
    if (x.size() > 1) total[4] = *++at;
    """


@pytest.mark.parametrize(
    "order, debug", [("C", False), ("F", False), ("strided", False), ("strided", True)]
)
def test_range_for_loops_iterate_over_arrays(order, debug):
    kernel = cuda.jit(debug=True)(loop_over_ranges.py_func) if debug else loop_over_ranges
    x, m = np.arange(24.0, dtype=np.float32), np.arange(48.0).reshape(6, 8)
    if order == "strided":
        device_x, device_m = cuda.to_device(x)[20::-3], cuda.to_device(m)[::-2, 1::2]
        x, m = x[20::-3], m[::-2, 1::2]
    else:
        device_x, device_m = cuda.to_device(x), cuda.to_device(np.array(m, order=order))
    rows, total = np.zeros(len(m)), np.zeros(5, np.float32)
    sums = [cuda.to_device(rows), cuda.to_device(total)]
    kernel[1, 1](device_x, device_m, *sums)
    after_x, after_m = device_x.copy_to_host(), device_m.copy_to_host()
    rows, total = (d.copy_to_host() for d in sums)
    assert np.array_equal(after_x, x + 1) and np.array_equal(after_m, -m)
    assert np.array_equal(rows, m.sum(axis=1))
    assert total.tolist() == [(x + 1).sum(), -m[0].sum(), 66, 60, x[1] + 1]


def test_range_for_loops_accept_empty_and_const_arrays():
    @cuda.jit("void(const float32[:], const float32[:, ::1], float32[:])")
    def sum_ranges(x, m, out):
        """
        for (auto v : x) out[0] += v;
        for (auto row : m) for (const float &v : row) out[1] += v;
        """

    for n in (0, 1, 5):
        x, m, out = np.full(n, 2, np.float32), np.ones((n, 3), np.float32), np.zeros(2, np.float32)
        (_, _, out) = run_on_copies(sum_ranges, 1, 1, x, m, out)
        assert out.tolist() == [2 * n, 3 * n]


@pytest.mark.sim
def test_loops_over_arrays_are_checked():
    @cuda.jit
    def store_total(x, out):
        """
        float sum = 0;
        for (float v : x) sum += v;
        for (float &v : x) v = sum;
        out[threadIdx.x] = sum;
        """

    x, out = cuda.device_array(8, np.float32), cuda.device_array(2, np.float32)
    with cuda.checks("unwritten"), pytest.raises(KernelError, match=r"reads x\[0\]") as caught:
        store_total[1, 1](x, out)
        cuda.synchronize()
    assert caught.value.kind == "unwritten"
    x[:] = 1
    with cuda.checks("race"), pytest.raises(KernelError, match=r" x\[\d\]") as caught:
        store_total[1, 2](x, out)
        cuda.synchronize()
    assert caught.value.kind == "race"


ARRAYS = r"""
template <class A, class B> __device__ void copy2(A from, B to) {
    for (int i = 0; i < from.shape[0]; ++i)
        for (unsigned j = 0; j < from.shape[1]; ++j) {
            to(i, j) = from(i, j) + 100 * from[i][j];
            if (&from(i, j) != &from[i][j]) to(i, j) = -1;
        }
}
__global__ void strided(array<const float, 2> a, array<float, 2> b) { copy2(a, b); }
__global__ void c_order(array<const float, 2, layout::C> a, array<float, 2, layout::C> b) { copy2(a, b); }
__global__ void f_order(array<const float, 2, layout::F> a, array<float, 2, layout::F> b) { copy2(a, b); }

template <class A> __device__ int total(A a, array<int> out, int slot) {
    long long sum = 0;
    for (int i = 0; i < a.shape[0]; ++i)
        for (int j = 0; j < a.shape[1]; ++j)
            for (int k = 0; k < a.shape[2]; ++k) {
                sum += (long long)a(i, j, k) * (i * 100 + j * 10 + k);
                if (&a(i, j, k) != &a[i][j][k]) sum = -1;
            }
    out[slot] = sum;
    return sum;
}
__device__ int through_any(array<const int, 3> a, array<int> out, int slot) { return total(a, out, slot); }
__global__ void three(array<int, 3> a, array<int, 3, layout::C> c, array<int, 3, layout::F> f, array<int> out) {
    total(a, out, 0); total(c, out, 1); total(f, out, 2);
    through_any(a, out, 3); through_any(c, out, 4); through_any(f, out, 5);
}
__global__ void five(array<const int, 5> a, array<const int, 5, layout::C> c, array<const int, 5, layout::F> f,
                     array<const int, 4, layout::F> g, array<int> out) {
    out[0] = a(1, 0, 2, 1, 3); out[1] = c(1, 0, 2, 1, 3); out[2] = f(1, 0, 2, 1, 3);
    out[3] = a[1][0][2][1][3]; out[4] = c[1][0][2][1][3]; out[5] = f[1][0][2][1][3]; out[6] = g(1, 0, 2, 1);
    out[7] = g[1][0][2][1];
}
__global__ void facts(array<const double, 3> a, array<long long> out) {
    out[0] = a.size(); out[1] = a.ndim; out[2] = a.data() == &a(0, 0, 0);
    for (int k = 0; k < 3; ++k) { out[3 + k] = a.shape[k]; out[6 + k] = a.strides[k]; }
}
__global__ void by_hand(const float *p, float *out) {
    array<const float, 2> columns = {p, {3, 4}, {sizeof(float), 3 * sizeof(float)}};
    out[0] = columns(2, 1); out[1] = columns[1][3];
}
"""


@pytest.fixture(scope="module")
def array_kernels():
    return cuda.module(ARRAYS)


def run_copy(kernel, a, order):
    b = cuda.to_device(np.zeros(a.shape, a.dtype, order=order))
    kernel[1, 1](a, b)
    return b.copy_to_host()


def test_two_dimensional_arrays_index_every_layout(array_kernels):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected = host * 101
    assert np.array_equal(run_copy(array_kernels.c_order, cuda.to_device(host), "C"), expected)
    f = cuda.to_device(np.asfortranarray(host))
    assert np.array_equal(run_copy(array_kernels.f_order, f, "F"), expected)
    assert np.array_equal(run_copy(array_kernels.strided, f, "C"), expected)


@pytest.mark.parametrize(
    "index",
    [np.s_[::2, ::3], np.s_[::-1, ::-1], np.s_[3:0:-2, 1:], np.s_[:0, :], np.s_[:, 2:3]],
    ids=str,
)
def test_arrays_index_any_strides(array_kernels, index):
    host = np.arange(42, dtype=np.float32).reshape(6, 7)
    a = cuda.to_device(host)[index]
    assert np.array_equal(run_copy(array_kernels.strided, a, "C"), host[index] * 101)


def test_arrays_index_transposed_and_broadcast_views(array_kernels):
    host = np.arange(20, dtype=np.float32).reshape(4, 5)
    assert np.array_equal(
        run_copy(array_kernels.strided, cuda.to_device(host).T, "C"), host.T * 101
    )


def test_three_dimensional_arrays_index_every_layout(array_kernels):
    host = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    a = cuda.to_device(np.repeat(host, 2, axis=1))[:, ::2]
    c, f = cuda.to_device(host), cuda.to_device(np.asfortranarray(host))
    (out,) = run_on_copies(array_kernels.three, 1, 1, a, c, f, np.zeros(6, np.int32))
    i, j, k = np.indices(host.shape)
    assert out.tolist() == [int((host * (i * 100 + j * 10 + k)).sum())] * 6


def test_five_dimensional_arrays_index_every_layout(array_kernels):
    host = np.arange(2 * 1 * 3 * 2 * 4, dtype=np.int32).reshape(2, 1, 3, 2, 4)
    f, g = np.asfortranarray(host), np.asfortranarray(host[..., 1])
    a = cuda.to_device(np.repeat(host, 2, axis=3))[:, :, :, ::2]
    args = [a, *map(cuda.to_device, (host, f, g))]
    (out,) = run_on_copies(array_kernels.five, 1, 1, *args, np.zeros(8, np.int32))
    assert out.tolist() == [host[1, 0, 2, 1, 3]] * 6 + [host[1, 0, 2, 1, 1]] * 2


def test_array_has_its_shape(array_kernels):
    a = cuda.to_device(np.ones((4, 6, 5)))[::2, ::-3, 1:]
    (out,) = run_on_copies(array_kernels.facts, 1, 1, a, np.zeros(9, np.int64))
    assert out.tolist() == [2 * 2 * 4, 3, 1, 2, 2, 4, 480, -120, 8]


def test_arrays_can_be_constructed_from_pointers(array_kernels):
    _, out = run_on_copies(
        array_kernels.by_hand, 1, 1, np.arange(12, dtype=np.float32), np.zeros(2, np.float32)
    )
    assert out.tolist() == [5.0, 10.0]


# ---- what does not compile ----


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("y(0, 1) = 1;", "one index for each dimension"),
        ("array<float, 2> z = y;", ""),
        ("array<double> z = y;", ""),
        ("array<float, 1, layout::C> z = y;", ""),
        ("array<const float> z = y; z[0] = 1;", ""),
        ("array<const float> c = y; array<float> z = c;", ""),
    ],
    ids=[
        "two indices",
        "other ndim",
        "other type",
        "unknown layout",
        "write to const",
        "drop const",
    ],
)
def test_invalid_array_indexing_does_not_compile(body, words):
    source = "__global__ void k(array<float> y) { " + body + " }"
    with pytest.raises(CompileError) as caught:
        cuda.jit(source=source)[1, 1](cuda.to_device(np.zeros(3, np.float32)))
    assert words in str(caught.value)


def test_a_kernel_cannot_have_a_reference_parameter():
    with pytest.raises(CompileError, match="reference"):
        cuda.jit(source="__global__ void k(float &x) { x = 1; }")[1, 1](1.0)


# ---- debug=True ----


@cuda.jit("void(float32[:, :], int32, int32)", debug=True)
def write_at(table, i, j):
    r"""
    if (grid<1>() == 37)
        table(i, j) = 1;
    __syncthreads();
    if (threadIdx.x == 0 && i < 0)
        table[0][0] = 2;
    """


@cuda.jit("void(int32[:], int32)", debug=True)
def assert_below(x, limit):
    r"""
    auto i = grid<1>();
    assert(x[i] < limit);
    x[i] = 100;
    """


@pytest.mark.lines
@pytest.mark.parametrize(
    ("i", "j", "axis", "index"), [(0, 7, 1, 7), (4, 0, 0, 4), (-1, 2, 0, -1), (0, -5, 1, -5)]
)
def test_debug_reports_an_index_out_of_bounds(i, j, axis, index):
    table = cuda.to_device(np.zeros((4, 7), np.float32))
    with pytest.raises(KernelError) as caught:
        write_at[2, 32](table, i, j)
    text = str(caught.value)
    assert "write_at" in text
    assert "table" in text
    assert f"{index}" in text
    assert f"axis {axis}" in text
    line = write_at.py_func.__code__.co_firstlineno + 4
    assert f"test_device_library.py({line})" in text
    assert "(4, 7)" in text
    assert "(1, 0, 0)" in text  # block
    assert "(5, 0, 0)" in text  # thread
    # The context survives, so the next launch succeeds.
    write_at[2, 32](table, 3, 6)
    assert table.copy_to_host()[3, 6] == 1


def test_debug_reports_an_assertion():
    x = cuda.to_device(np.arange(8, dtype=np.int32))
    with pytest.raises(KernelError) as caught:
        assert_below[1, 8](x, 7)
    text = str(caught.value)
    assert "x[i] < limit" in text
    assert "(7, 0, 0)" in text
    assert_below[1, 8](cuda.to_device(np.zeros(8, np.int32)), 7)


# ---- complex ----

UNARY = [
    *("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "conj"),
    *("log2", "log1p", "exp2", "expm1", "asin", "acos", "atan", "asinh", "acosh", "atanh"),
]
BINARY = [
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "pow(a, b)",
    "a * b.real()",
    "b.imag() / a",
    "a - 2",
    "3 * a",
]

COMPLEX = (
    "template <class T> __global__ void unary(array<const complex<T>> z, array<complex<T>, 2> out) {\n"
    "    auto i = grid<1>(); if (i >= z.size()) return;\n"
    + "".join(f"    out({k}, i) = {f}(z[i]);\n" for k, f in enumerate(UNARY))
    + "}\ntemplate <class T> __global__ void binary(array<const complex<T>> x, array<const complex<T>> y,\n"
    "                                            array<complex<T>, 2> out) {\n"
    "    auto i = grid<1>(); if (i >= x.size()) return; complex<T> a = x[i], b = y[i];\n"
    + "".join(f"    out({k}, i) = {e};\n" for k, e in enumerate(BINARY))
    + r"""}
template <class T> __global__ void parts(array<const complex<T>> z, array<T, 2> out) {
    auto i = grid<1>(); if (i >= z.size()) return; auto w = z[i];
    out(0, i) = abs(w); out(1, i) = arg(w); out(2, i) = norm(w); out(3, i) = real(w); out(4, i) = imag(w);
    complex<T> p = polar(abs(w), arg(w)); out(5, i) = p.real(); out(6, i) = p.imag();
    out(7, i) = w == z[i]; out(8, i) = w != z[i] + 1; out(9, i) = isfinite(w);
}
__global__ void mixed(complex64 z, double d, int n, complex128 *out) {
    static_assert(sizeof(z * d) == 16 && sizeof(z * n) == 8 && sizeof(z * 2.0f) == 8 && sizeof(n - z) == 8, "");
    complex64 w = z; w *= d; w += n; w -= 1; w /= complex128(2, 0);
    out[0] = w; out[1] = d / z; out[2] = pow(z, 3); out[3] = pow(z, -2); out[4] = -z; out[5] = pow(2.0, z);
    w = 2.0 * z; out[6] = w; w.real(5); w.imag(n); out[7] = w; complex64 e; e = 4; out[8] = e;
}
"""
)

POINTS = [
    0,
    1,
    -1,
    1j,
    -1j,
    1 + 1e-3j,
    0.6 + 0.8j,
    3 - 4j,
    -2.5 + 0.1j,
    1e-6 + 1e-6j,
    7 + 9j,
    -0.3 - 9j,
]


@pytest.fixture(scope="module")
def complex_kernels():
    return cuda.module(COMPLEX)


def close(found, expected, dtype):
    scale = np.maximum(np.abs(expected), 1)
    error = np.abs(found - expected) / scale
    return error.max() <= (4e-6 if dtype in (np.complex64, np.float32) else 1e-14)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_functions_match_numpy(complex_kernels, dtype):
    real = "float" if dtype == np.complex64 else "double"
    z = np.array([*POINTS[5:], 1 + 1e-6j, 1e-3j, -40 + 2j], dtype)
    _, out = run_on_copies(
        complex_kernels[f"unary<{real}>"], 1, 32, z, np.zeros((len(UNARY), z.size), dtype)
    )
    for name, row in zip(UNARY, out, strict=True):
        inverse = name.startswith("a")
        expected = getattr(np, f"arc{name[1:]}" if inverse else name)(z.astype(np.complex128))
        assert close(row, expected, dtype), (name, z, row, expected)
        if inverse:  # both parts are accurate to the last digits, even if one part is tiny
            tolerance = 16 * np.finfo(dtype).eps
            assert np.allclose(row.real, expected.real, rtol=tolerance, atol=0), name
            assert np.allclose(row.imag, expected.imag, rtol=tolerance, atol=0), name


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arithmetic_matches_numpy(complex_kernels, dtype):
    real = "float" if dtype == np.complex64 else "double"
    x, y = (v.ravel().astype(dtype) for v in np.meshgrid(POINTS[1:8], POINTS[1:9]))
    zeros = np.zeros((len(BINARY), x.size), dtype)
    _, _, out = run_on_copies(complex_kernels[f"binary<{real}>"], 2, 32, x, y, zeros)
    a, b = x.astype(np.complex128), y.astype(np.complex128)
    for expression, row in zip(BINARY, out, strict=True):
        expression = expression.replace("real()", "real").replace("imag()", "imag")
        expected = eval(expression, {"a": a, "b": b, "pow": np.power})
        assert close(row, expected, dtype), expression


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_abs_angle_and_parts_match_numpy(complex_kernels, dtype):
    real = np.float32 if dtype == np.complex64 else np.float64
    name = "float" if dtype == np.complex64 else "double"
    z = np.array(POINTS, dtype)
    _, out = run_on_copies(
        complex_kernels[f"parts<{name}>"], 1, 32, z, np.zeros((10, z.size), real)
    )
    expected = [np.abs(z), np.angle(z), np.abs(z) ** 2, z.real, z.imag, z.real, z.imag]
    for row, right in zip(out, expected, strict=False):
        assert close(row, right, real)
    assert (out[7:] == 1).all()


def test_complex_arithmetic_with_real_numbers_matches_numpy(complex_kernels):
    z, d, n = 1.5 - 2j, 0.5, 3
    (out,) = run_on_copies(
        complex_kernels.mixed, 1, 1, np.complex64(z), d, n, np.zeros(9, np.complex128)
    )
    expected = [(z * d + n - 1) / 2, d / z, z**3, z**-2, -z, 2.0**z, 2 * z, 5 + 3j, 4]
    assert np.allclose(out, expected, rtol=1e-6)


def test_complex_arithmetic_avoids_overflow(complex_kernels):
    big, tiny = 1e300, 1e-300
    x = np.array([big + big * 1j, tiny + tiny * 1j, big * 1j, complex(math.inf, 1), 0], complex)
    y = np.array([big - big * 1j, tiny - tiny * 1j, big, complex(1, 0), 0], complex)
    _, _, out = run_on_copies(
        complex_kernels["binary<double>"], 1, 32, x, y, np.zeros((len(BINARY), 5), complex)
    )
    assert np.allclose(out[3][:3], [1j, 1j, 1j])
    assert out[3][3].real == math.inf
    assert np.isnan(out[3][4])
    assert out[4][4] == 1  # pow(0, 0)
    z = np.array([big * (1 + 1j), tiny * (3 + 4j), complex(-math.inf, 0), -4 - 0j, -0.0], complex)
    _, roots = run_on_copies(
        complex_kernels["unary<double>"], 1, 32, z, np.zeros((len(UNARY), 5), complex)
    )
    assert np.allclose(roots[3][:2], [cmath.sqrt(z[0]), cmath.sqrt(z[1])], rtol=1e-14, atol=0)
    assert roots[3][2] == complex(0, math.inf)
    assert roots[3][3] == cmath.sqrt(z[3])
    assert np.isclose(roots[1][0], cmath.log(z[0]))
    flat = np.array([300 + 1j, -300 - 2j, 40j, 1e-9], complex)
    _, out = run_on_copies(
        complex_kernels["unary<double>"], 1, 32, flat, np.zeros((len(UNARY), 4), complex)
    )
    assert np.allclose(out[9], [cmath.tanh(v) for v in flat], rtol=1e-14, atol=0)


# ---- tuples ----

TUPLES = r"""
__device__ auto polar_of(float x, float y) { return make_tuple(hypotf(x, y), atan2f(y, x)); }
__device__ tuple<int, float> two(int n) { return {n, 0.5f}; }
__global__ void k(float *out) {
    auto [r, phi] = polar_of(3, 4);
    auto t = make_tuple(1, make_tuple(2.5, 'x'), out);
    auto [a, b, p] = t;
    auto [c, d] = b;
    get<0>(t) += 6;
    p[0] = r; p[1] = phi; p[2] = a + c; p[3] = d; p[4] = get<0>(t); p[5] = get<1>(two(9));
    p[6] = two(1) == two(1) && two(1) != two(2); p[7] = get<7>(tuple{0, 1, 2, 3, 4, 5, 6, 7});
    const auto q = make_tuple(8.0f); p[8] = get<0>(q);
}
"""


def test_tuples_support_structured_bindings():
    (out,) = run_on_copies(cuda.jit(source=TUPLES), 1, 1, np.zeros(9, np.float32))
    assert np.allclose(out, [5, math.atan2(4, 3), 3.5, ord("x"), 7, 0.5, 1, 7, 8])


# ---- mathematics on other types ----


@cuda.jit("void(float32[:], int32, int64)")
def mixed_math(out, n, m):
    r"""
    out[0] = sqrt(n); out[1] = max(out[0], 0); out[2] = min(n, m); out[3] = pow(out[0], 0.5);
    out[4] = hypot(3, 4.0f); out[5] = max(sin(out[0]) - 0.3, 0); out[6] = M_PI; out[7] = max(grid<1>(), 5);
    out[8] = -INFINITY < -FLT_MAX; out[9] = INT_MAX == 2147483647; out[10] = fmod(7, 4); out[11] = max(2u, 3);
    """


def test_math_functions_accept_mixed_types():
    out = cuda.to_device(np.zeros(12, np.float32))
    mixed_math[1, 1](out, 9, 2**40)
    assert np.allclose(out.copy_to_host(), [3, 3, 9, 3**0.5, 5, 0, math.pi, 5, 1, 1, 3, 3])


# ---- half precision ----


@cuda.jit("void(float16[:], const float16[:])")
def half_math(out, x):
    r"""
    auto i = grid<1>();
    if (i >= x.size()) return;
    out[i] = sin(x[i]) * x[i] + sqrt(abs(x[i])) + max(x[i], float16(0.5f));
    """


def test_half_functions_match_float64():
    x = np.linspace(-3, 3, 40).astype(np.float16)
    out = cuda.to_device(np.zeros_like(x))
    half_math[2, 32](out, cuda.to_device(x))
    wide = x.astype(np.float64)
    expected = np.sin(wide) * wide + np.sqrt(np.abs(wide)) + np.maximum(wide, 0.5)
    assert np.allclose(out.copy_to_host(), expected, rtol=4e-3, atol=4e-3)


# ---- random numbers; the expected values are numba's ----

RANDOM = r"""
__global__ void draw(array<xoroshiro128p_state> states, array<unsigned long long> bits, array<double> out) {
    for (int k = 0; k < 4; ++k) bits[k] = xoroshiro128p_next(states, 1);
    for (int k = 0; k < 4; ++k) out[k] = xoroshiro128p_uniform_float32(states, 1);
    for (int k = 0; k < 4; ++k) out[4 + k] = xoroshiro128p_uniform_float64(states, 1);
    for (int k = 0; k < 4; ++k) out[8 + k] = xoroshiro128p_normal_float32(states, 1);
    for (int k = 0; k < 4; ++k) out[12 + k] = xoroshiro128p_normal_float64(states, 1);
    auto copy = states[0]; bits[4] = xoroshiro128p_next(copy); bits[5] = states[0].s0;
}
__global__ void jump(xoroshiro128p_state *states, unsigned long long seed, int n) {
    init_xoroshiro128p_state(states, 0, seed);
    for (int k = 1; k < n; ++k) { states[k] = states[k - 1]; xoroshiro128p_jump(states, k); }
}
"""
STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)])
SEQUENCES = {
    (1, 0): [
        (0x910A2DEC89025CC1, 0x910A2DEC89025CC1),
        (0x73C19A5348FC9098, 0x6C96C932F21D71EE),
        (0x0B3D0CD6DDFA7A4C, 0xD3C2C33E9B8E707A),
        (0x3B80C389FCD31EE7, 0xB43C70624D182BBB),
        (0x17E0E052C5094B78, 0x8341792FB49D7386),
    ],
    (42, 3): [
        (0x0EF6261E44FD8ABC9 & (2**64 - 1), 0x0C6EBFA4759A0F22),
        (0x965712E7AC28B9B1, 0xC5FDD9C6A44F58A6),
        (0x83301600D4232C74, 0xE168D4FC5D8EE374),
    ],
    (2**64 - 1, 0): [
        (0xE4D971771B652C20, 0xE4D971771B652C20),
        (0xF06E5493D9197688, 0x5D1905E55C940204),
        (0x451FC10B7CD06B84, 0xC2C48037AD7BEC7F),
    ],
    (12345678901234567890, 1000): [
        (0x271AE2D54E87E5A1, 0x535E1543F460C72A),
        (0xA642B06F835D2FFB, 0x8D66D012E027D9BB),
    ],
}


def test_xoroshiro_numbers_match_numba():
    states = np.array(SEQUENCES[1, 0][:2], STATE)
    module = cuda.module(RANDOM)
    states, bits, out = run_on_copies(
        module.draw, 1, 1, states, np.zeros(6, np.uint64), np.zeros(16)
    )
    assert [hex(b) for b in bits[:4].tolist()] == [
        "0xe05863863b1a0286",
        "0x35d4f476e08d5559",
        "0x6b48e8d378de8c7b",
        "0x14a696847e78f7ad",
    ]
    assert bits[4] == np.uint64(2 * 0x910A2DEC89025CC1 % 2**64)
    assert bits[5] == states[0]["s0"] == 0x910A2DEC89025CC1
    uniform = [0.2647968828678131, 0.13737323880195618, 0.41318100690841675, 0.23441050946712494]
    assert out[:4].tolist() == uniform
    hexes = [
        "0x1.10e1529ad2b7cp-1",
        "0x1.32a8258773505p-1",
        "0x1.d84e7735743f8p-4",
        "0x1.6ca305dd8d6c0p-6",
    ]
    assert [v.hex() for v in out[4:8].tolist()] == hexes
    normal = [0.9026424288749695, 3.4433987140655518, -0.08109887689352036, 1.7751100063323975]
    assert np.allclose(out[8:12], normal, rtol=1e-5, atol=1e-6)
    normal = [-1.3093252145543166, 0.326356961264083, -0.43897193982910243, -0.6781957234191295]
    assert np.allclose(out[12:], normal, rtol=1e-6)
    assert states[1].tolist() == (0x6631DE9D21D591A5, 0xAD8DCB74A47C48A2)


def test_xoroshiro_states_by_sequential_jumps_match_numba():
    module = cuda.module(RANDOM)
    (states,) = run_on_copies(module.jump, 1, 1, np.zeros(5, STATE), 1, 5)
    assert states.tolist() == SEQUENCES[1, 0]


@pytest.mark.parametrize(("seed", "start"), SEQUENCES)
def test_xoroshiro_states_by_parallel_init_match_numba(seed, start):
    init = cuda.jit(source='#include "numbalite/random_init.cuh"\n', name="nl_random_init")
    n = 37
    (states,) = run_on_copies(init, 1, 32, np.zeros(n + 1, STATE), n, seed, start)
    known = SEQUENCES[seed, start]
    assert states[: len(known)].tolist() == known
    assert states[n].tolist() == (0, 0)
    # The numbers do not depend on the grid: the tail of one array equals the head of a later array.
    (later,) = run_on_copies(init, 1, 32, np.zeros(3, STATE), 3, seed, start + 34)
    assert states[34:n].tolist() == later.tolist()


# ---- warps and groups ----

WARPS = r"""
struct pair { char tag; double value; };
__global__ void shuffles(int *out, double *wide) {
    int lane = laneid();
    pair p = {(char)lane, lane + 0.25};
    p = shfl_sync(0xffffffff, p, 31 - lane);
    complex64 z(lane, -lane); z = shfl_xor_sync(0xffffffff, z, 1);
    wide[lane] = p.value; wide[32 + lane] = z.imag();
    out[lane] = p.tag; out[32 + lane] = __popc(lanemask_lt()); out[64 + lane] = warpid();
    out[96 + lane] = match_any_sync(0xffffffff, (long long)(lane % 3));
    out[128 + lane] = eq_sync(0xffffffff, lane >= 0) + 2 * eq_sync(0xffffffff, lane > 3);
    out[160 + lane] = shfl_up_sync(0xffffffff, (short)lane, 2, 8) + shfl_down_sync(0xffffffff, lane, 1);
}
"""

GROUPS = r"""
namespace cg = cooperative_groups;
__device__ int tree(cg::thread_group g, int *scratch, int value) {
    int rank = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        scratch[rank] = value; g.sync();
        if (rank < i) value += scratch[rank + i];
        g.sync();
    }
    return value;
}
__global__ void sums(int *out) {
    __shared__ int scratch[64];
    auto block = cg::this_thread_block();
    int sum = tree(block, scratch, block.thread_rank());
    if (block.thread_rank() == 0) out[blockIdx.x] = sum;
}
__global__ void tiles(int *out) {
    auto block = this_thread_block();
    auto tile = tiled_partition<8>(block);
    cg::thread_block_tile<4> quarter = cg::tiled_partition<4>(tile);
    int me = block.thread_rank(), n = block.size();
    out[me] = cg::reduce(tile, me, cg::plus<int>());
    out[n + me] = cg::reduce(quarter, me, cg::greater<int>());
    out[2 * n + me] = cg::inclusive_scan(tile, 1, cg::plus<int>()) * 100 + cg::exclusive_scan(tile, 1);
    out[3 * n + me] = tile.ballot(me & 1) + 1000 * tile.meta_group_rank() + 100000 * tile.meta_group_size();
    out[4 * n + me] = tile.shfl(me, 2) + 100 * tile.shfl_down(me, 1) + 10000 * tile.shfl_up(me, 1);
    out[5 * n + me] = tile.shfl_xor(me, 3) * 100 + tile.any(me == 9) * 10 + tile.all(me < 8);
    int agree; unsigned mask = quarter.match_all(me / 4, agree);
    out[6 * n + me] = mask * 10 + agree + 1000 * quarter.match_any(me % 2);
    auto same = cg::binary_partition(tile, me % 3 == 0);
    auto label = cg::labeled_partition(tile, me % 3);
    out[7 * n + me] = same.size() * 100 + label.size() * 10 + label.thread_rank();
}
__global__ void some(int *out) {
    int me = threadIdx.x;
    out[me] = -1;
    if (me % 4 == 1) {
        auto active = cg::coalesced_threads();
        int sum = cg::reduce(active, me, cg::plus<int>());
        out[me] = sum * 10000 + active.size() * 100 + active.thread_rank();
        out[32 + me] = active.shfl(me, 0) + 100 * active.shfl_down(me, 1) + 10000 * active.shfl_up(me, 1);
        out[64 + me] = active.ballot(me > 10) + 1000 * cg::exclusive_scan(active, 1, cg::plus<int>());
        active.sync();
    }
}
__global__ void whole(int *cells, int *out, int rounds) {
    auto grid = cg::this_grid();
    int n = grid.size(), me = grid.thread_rank();
    for (int round = 0; round < rounds; ++round) {
        int next = cells[(me + 1) % n];
        grid.sync();
        cells[me] = next + 1;
        cg::this_grid().sync();
    }
    out[me] = cells[me] * 2 + grid.is_valid();
}
"""


def test_warp_shuffles_and_reductions_match_expected():
    out, wide = run_on_copies(
        cuda.jit(source=WARPS), 1, 32, np.zeros((6, 32), np.int32), np.zeros((2, 32))
    )
    lanes = np.arange(32)
    assert wide[0].tolist() == (31 - lanes + 0.25).tolist()
    assert wide[1].tolist() == (-(lanes ^ 1)).tolist()
    assert out[0].tolist() == (31 - lanes).tolist()
    assert out[1].tolist() == lanes.tolist()
    assert (out[2] == 0).all()
    masks = [sum(1 << int(k) for k in lanes if k % 3 == lane % 3) for lane in lanes]
    assert (out[3].astype(np.uint32) == np.array(masks, np.uint32)).all()
    assert (out[4] == 1).all()
    up, down = np.where(lanes % 8 < 2, lanes, lanes - 2), np.minimum(lanes + 1, 31)
    assert out[5].tolist() == (up + down).tolist()


@pytest.fixture(scope="module")
def group_kernels():
    return cuda.module(GROUPS)


def test_thread_block_group_sums_a_block(group_kernels):
    (out,) = run_on_copies(group_kernels.sums, 3, 64, np.zeros(3, np.int32))
    assert out.tolist() == [64 * 63 // 2] * 3


def test_tiled_partitions_compute_tile_sums(group_kernels):
    (out,) = run_on_copies(group_kernels.tiles, 1, 32, np.zeros((8, 32), np.int32))
    me = np.arange(32)
    tile, rank = me // 8, me % 8
    assert out[0].tolist() == (tile * 64 + 28).tolist()
    assert out[1].tolist() == (me // 4 * 4 + 3).tolist()
    assert out[2].tolist() == ((rank + 1) * 100 + rank).tolist()
    assert out[3].tolist() == (0b10101010 + 1000 * tile + 400000).tolist()
    down, up = tile * 8 + np.minimum(rank + 1, 7), tile * 8 + np.maximum(rank - 1, 0)
    assert out[4].tolist() == (tile * 8 + 2 + 100 * down + 10000 * up).tolist()
    assert out[5].tolist() == ((me ^ 3) * 100 + (tile == 1) * 10 + (tile == 0)).tolist()
    assert out[6].tolist() == (151 + 1000 * np.where(me % 2, 0b1010, 0b0101)).tolist()
    for t in range(4):
        members = np.arange(t * 8, t * 8 + 8)
        for m in members:
            same = int(((members % 3 == 0) == (m % 3 == 0)).sum())
            label = members[members % 3 == m % 3].tolist()
            assert out[7, m] == same * 100 + len(label) * 10 + label.index(m)


def test_coalesced_group_contains_active_threads(group_kernels):
    (out,) = run_on_copies(group_kernels.some, 1, 32, np.zeros((3, 32), np.int32))
    members = [m for m in range(32) if m % 4 == 1]
    for rank, m in enumerate(members):
        assert out[0, m] == sum(members) * 10000 + 800 + rank
        down, up = members[min(rank + 1, 7)], members[max(rank - 1, 0)]
        assert out[1, m] == 1 + 100 * down + 10000 * up
        assert out[2, m] == 0b11111000 + 1000 * rank
    assert out[0, 0] == -1


def test_grid_group_synchronizes_all_blocks():
    kernel = cuda.jit(source=GROUPS, name="whole", cooperative=True)
    n, rounds = 4 * 32, 5
    cells, out = run_on_copies(
        kernel, 4, 32, np.arange(n, dtype=np.int32), np.zeros(n, np.int32), rounds
    )
    expected = (np.arange(n) + rounds) % n + rounds
    assert cells.tolist() == expected.tolist()
    assert out.tolist() == (expected * 2 + 1).tolist()


# ---- captured constants ----

WEIGHTS = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
PHASES = np.array([1j, 2 + 0.5j], np.complex128)
FLAGS = np.array([True, False, True])


@cuda.jit(device=True)
def trace_of(table):
    "return table(0, 0) + table[1][1];"


@cuda.jit("void(float64[:], int32)")
def use_constants(out, i):
    r"""
    out[0] = WEIGHTS(i, 2); out[1] = WEIGHTS[i][0]; out[2] = WEIGHTS.shape[0] * 10 + WEIGHTS.shape[1];
    out[3] = WEIGHTS.size(); out[4] = WEIGHTS.strides[0]; out[5] = PHASES[i].real(); out[6] = PHASES(i).imag();
    out[7] = FLAGS[i] + 2 * FLAGS[2]; out[8] = trace_of(WEIGHTS); out[9] = WEIGHTS.ndim;
    array<const float, 2> view = WEIGHTS; out[10] = view(i, 1);
    """


def test_captured_arrays_are_constants():
    out = cuda.to_device(np.zeros(11))
    use_constants[1, 1](out, 1)
    assert out.copy_to_host().tolist() == [6, 4, 23, 6, 12, 2, 0.5, 2, 6, 2, 5]


ATOMIC_OBJECTS = r"""
#include <cuda/atomic>
__device__ cuda::atomic<int, cuda::thread_scope_device> counter;
__global__ void objects(int* o, float* f) {
    cuda::atomic_ref<int, cuda::thread_scope_device> a(o[0]);
    a.fetch_add(2);
    a.fetch_max((int)threadIdx.x, cuda::memory_order_relaxed);
    cuda::std::atomic_ref<int> b(o[1]);
    ++b;
    b += 2;
    cuda::atomic_ref<float> c(f[0]);
    c.fetch_add(0.5f, cuda::std::memory_order_relaxed);
    counter.fetch_add(1);
    __syncthreads();
    if (threadIdx.x > 0) return;
    int expected = 7;
    o[2] = counter.load(cuda::memory_order_acquire);
    o[3] = cuda::atomic_ref<int>(o[4]).compare_exchange_strong(expected, 5) ? -1 : expected;
    o[5] = cuda::atomic_ref<int>(o[4]).exchange(9) + (int)b;
}
__global__ void handing_over(int* data, int* flag, int* out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        *data = 42;
        ready.store(1, cuda::memory_order_release);
    } else {
        while (ready.load(cuda::memory_order_acquire) == 0) {}
        *out = *data;
    }
}
"""


def test_cuda_atomic_and_atomic_ref_update_memory():
    try:
        module = cuda.module(ATOMIC_OBJECTS)
    except CompileError as problem:
        assert "pip install" in str(problem)
        pytest.skip("the toolkit's headers are not installed")
    o, f = cuda.to_device(np.array([0, 0, 0, 0, 3, 0], "i4")), cuda.to_device(np.zeros(1, "f4"))
    data, flag = cuda.to_device(np.zeros(1, "i4")), cuda.to_device(np.zeros(1, "i4"))
    module.objects[1, 32](o, f)
    assert o.copy_to_host().tolist() == [64, 96, 32, 3, 9, 99] and f.copy_to_host()[0] == 16
    module.handing_over[2, 1](data, flag, o[:1])
    assert o.copy_to_host()[0] == 42
    if cuda.is_simulated():
        flag[:] = 0
        with cuda.checks():
            module.handing_over[2, 1](data, flag, o[:1])
        relaxed = cuda.module(
            ATOMIC_OBJECTS.replace("_release", "_relaxed").replace("_acquire", "_relaxed")
        )
        with cuda.checks(), pytest.raises(KernelError, match="nothing that orders the blocks"):
            relaxed.handing_over[2, 1](np.zeros(1, "i4"), np.zeros(1, "i4"), o[:1])
