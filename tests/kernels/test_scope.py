"""Tests the values of the Python scope that kernels use: numbers, arrays, device functions."""

import math

import numpy as np
import pytest
from kit.arrays import zeros_array

import numbalite
from numbalite import cuda, errors, float32, types, void
from numbalite.compilers import compile_count

# These tests pass host arrays for convenience; other tests check the warning.


@cuda.jit
def set_elements(x, v):
    "x[grid<1>()] = v;"


# --- names from the Python scope -------------------------------------------------------------------------

SCALE = 3
TABLE = np.arange(6, dtype="f4").reshape(2, 3)
WEIGHTS = np.array([1, 2, 3], "i4")
HALF = np.float16(0.5)
REAL = np.float32


def test_numbers_of_the_scope_are_constants():
    offset, flag, big, root = 0.25, True, 2**40, np.float32(math.sqrt(2 * math.pi))
    z, infinity, not_a_number, low = 1 + 2j, math.inf, math.nan, -(2**63)

    @cuda.jit
    def store_captured_numbers(x):
        """
        x[0] = SCALE; x[1] = offset; x[2] = flag; x[3] = big; x[4] = root; x[5] = z.imag();
        x[6] = infinity; x[7] = not_a_number; x[8] = low; x[9] = HALF;
        static_assert(sizeof(SCALE) == 4 && sizeof(big) == 8 && sizeof(root) == 4);
        REAL t[SCALE]; static_assert(sizeof(t) == 12);
        """

    x = zeros_array(10, "f8")
    store_captured_numbers[1, 1](x)
    expected = [3, 0.25, 1, 2**40, float(root), 2, math.inf, math.nan, -(2.0**63), 0.5]
    np.testing.assert_array_equal(x, expected)
    assert offset and flag and big and z and infinity and not_a_number and low


def test_local_variables_shadow_captured_names():
    """The kernel is compiled once, whatever values a notebook assigns to names that are local
    variables of the kernel."""
    counts = []
    for n in range(3):
        i, total, at = n, float(n), np.full(9000, n, "f8")  # larger than constant memory

        @cuda.jit
        def shadow_captured_names(x):
            "float total = 0; for (int i = 0; i < 3; i++) { float at = x[i]; total += at; } x[0] = total;"

        x = np.arange(3, dtype="f4")
        shadow_captured_names[1, 1](x)
        assert x[0] == 3 and (i, total, at[0]) == (n, n, n)
        counts.append(compile_count())
    assert counts[0] == counts[2]


def test_captured_arrays_become_constant_memory():
    @cuda.jit
    def read_captured_arrays(x):
        """
        int i = grid<1>();
        if (i < TABLE.size()) x[i] = TABLE(i / 3, i % 3) * WEIGHTS[i % 3] + TABLE[1][0];
        if (i == 6) x[i] = TABLE.shape[0] * 10 + TABLE.shape[1];
        """

    x = zeros_array(7)
    read_captured_arrays[1, 8](x)
    np.testing.assert_array_equal(x[:6].reshape(2, 3), TABLE * WEIGHTS + TABLE[1][0])
    assert x[6] == 23


def test_device_functions_accept_array_arguments():
    @cuda.jit(device=True)
    def sum_elements(a):
        "float t = 0; for (int i = 0; i < a.size(); ++i) t += a[i]; return t;"

    @cuda.jit("float32(const float32[:, :])", device=True)
    def element_1_2(a):
        "return a(1, 2);"

    @cuda.jit
    def call_array_functions(x):
        "x[0] = sum_elements(WEIGHTS) + element_1_2(TABLE);"

    x = zeros_array(1)
    call_array_functions[1, 1](x)
    assert x[0] == 6 + 5


def test_parameters_and_locals_shadow_captured_names():
    i = v = n = 100
    grid = 7

    @cuda.jit
    def shadow_with_parameters(x, v):
        """
        int i = grid<1>();
        for (int n = 0; n < 2; ++n) x[i] += n + v;
        """

    x = zeros_array()
    shadow_with_parameters[1, 4](x, 3)
    assert (x == 7).all() and i and v and n and grid


def test_rebinding_does_not_change_a_compiled_kernel():
    namespace = {"cuda": cuda, "N": 3}
    exec("@cuda.jit\ndef k(x):\n    'x[0] = N;'\n", namespace)
    k, x = namespace["k"], zeros_array(1)
    k[1, 1](x)
    namespace["N"] = 4
    k[1, 1](x)
    assert x[0] == 3
    k.recompile()
    k[1, 1](x)
    assert x[0] == 4


def test_closures_compile_one_kernel_per_value():
    def make_kernel(n):
        @cuda.jit
        def store_captured_n(x):
            "x[0] = n;"

        return store_captured_n

    x = zeros_array(1)
    kernels = [make_kernel(n) for n in range(3)]
    for n, k in enumerate(kernels):
        k[1, 1](x)
        assert x[0] == n


def test_preprocessor_lines_use_captured_numbers():
    @cuda.jit
    def use_preprocessor(x):
        """
        #if SCALE == 3
            x[0] = SCALE + 1;
        #else
            x[0] = -1;
        #endif
        """

    x = zeros_array(1)
    use_preprocessor[1, 1](x)
    assert x[0] == 4


def test_non_ascii_names_are_captured():
    σ = 2.0

    @cuda.jit
    def multiply_non_ascii(x, μ):
        "x[0] = σ * μ;  // σμ"

    x = zeros_array(1)
    multiply_non_ascii[1, 1](x, 3.0)
    assert x[0] == 6 and σ


def test_macros_and_includes_of_a_body_are_used():
    @cuda.jit
    def use_macros_and_includes(x):
        """
        #include <cuda_fp16.h>
        #define SQUARE(v) ((v) * (v))
        x[0] = SQUARE(__half2float(__float2half(3.0f)));
        """

    x = zeros_array(1)
    use_macros_and_includes[1, 1](x)
    assert x[0] == 9


def test_capturing_a_large_array_raises_with_an_explanation():
    data = np.zeros(20000)
    with pytest.raises(errors.CompileError, match="160000 bytes.*65536 bytes.*as an argument"):

        @cuda.jit("void(float64[:])")
        def capture_large_array(x):
            "x[0] = data[0];"

    @cuda.jit("void(float64[:])")
    def shadow_large_array(x):
        "double data = 1; x[0] = data;"

    assert data.size


# --- device functions ---------------------------------------------------------------------------------------


@cuda.jit(device=True)
def axpy(a, x, y):
    "return a * x + y;"


@cuda.jit("float32(float32)", device=True)
def square(x):
    "return x * x;"


@cuda.jit(device=True)
def to_polar(x, y):
    "return make_tuple(sqrt(x * x + y * y), atan2(y, x));"


@cuda.jit(["int32(int32)", "float32(float32)"], device=True)
def is_4_byte_float(x):
    "return sizeof(x) == 4 && x / 2 * 2 != x ? 1 : 2;"


FACTOR = 10


@cuda.jit(device=True, inline="always")
def scale_by_factor(x):
    "x * FACTOR"


@cuda.jit("int64(int64)", device=True)
def factorial(n):
    "return n <= 1 ? 1 : n * factorial(n - 1);"


def test_captured_device_functions_are_called():
    FACTOR = 1

    @cuda.jit
    def call_captured_functions(x):
        """
        x[0] = axpy(2.0f, 3.0f, 4.0f);
        x[1] = square(3) + axpy(1, 2, 3);
        auto [r, phi] = to_polar(3.0, 4.0);
        x[2] = r;
        x[3] = is_4_byte_float(3) * 10 + is_4_byte_float(3.0f);
        x[4] = scale_by_factor(FACTOR);
        x[5] = factorial(10);
        """

    x = zeros_array(6)
    call_captured_functions[1, 1](x)
    assert x.tolist() == [10, 14, 5, 12, 10, 3628800] and FACTOR


def test_renamed_device_functions_of_other_scopes_are_called():
    def make_device_function():
        bias = 5

        @cuda.jit(device=True)
        def add_bias(x):
            "return axpy(1, x, bias);"

        assert bias
        return add_bias

    f = make_device_function()

    @cuda.jit
    def call_renamed_function(x):
        "x[0] = f(1);"

    x = zeros_array(1)
    call_renamed_function[1, 1](x)
    assert x[0] == 6


def test_device_functions_accept_a_source():
    helper = cuda.jit(
        device=True,
        source="""
        #include <cuda_fp16.h>
        template <class T> __device__ T twice(T x) { return x + x; }
        __device__ float helper(float x) { return twice(x) + 1; }
        """,
    )
    lerp = cuda.jit("__device__ float lerp(float a, float b) { return (a + b) / 2; }", device=True)

    @cuda.jit
    def call_source_function(x):
        "x[0] = helper(lerp(1, 3));"

    x = zeros_array(1)
    call_source_function[1, 1](x)
    assert x[0] == 5 and helper.name == "helper" and lerp.name == "lerp"


def test_device_functions_write_to_arrays():
    @cuda.jit(device=True)
    def store_element(a, i, v):
        "a[i] = v;"

    @cuda.jit("void(float32[:], int32)", device=True)
    def clear_element(a, i):
        "a[i] = 0;"

    @cuda.jit
    def call_storing_functions(x):
        "store_element(x, 1, 3); store_element(x, 2, 4); clear_element(x, 2);"

    x = zeros_array()
    call_storing_functions[1, 1](x)
    assert x.tolist() == [0, 3, 0, 0]


def test_launching_a_device_function_raises():
    with pytest.raises(RuntimeError, match="device function.*cannot be launched"):
        axpy[1, 1]
    with pytest.raises(TypeError, match="device function"):
        axpy(1, 2, 3)
    assert repr(axpy) == "<device function axpy(a, x, y)>"
    assert "float32(float32)" in repr(square) and "auto axpy(" in axpy.inspect_source()


def test_calling_a_kernel_in_a_kernel_raises():
    with pytest.raises(errors.CompileError, match=r"set_elements is a kernel.*device=True"):

        @cuda.jit("void(float32[:])")
        def call_kernel(x):
            "set_elements(x, 1);"


def test_library_and_macro_names_may_be_captured():
    array, complex, layout = np.arange(3, dtype="f4"), 2.5, 3

    @cuda.jit(device=True)
    def add_captured_nan(array, NAN):
        "return array[1] + NAN;"

    @cuda.jit
    def capture_library_names(out, tuple, z):
        "out[0] = array[1] + complex + layout + tuple[0] + z.real() + add_captured_nan(array, 1) + isnan(NAN);"

    out = np.zeros(1, "f4")
    capture_library_names[1, 1](out, np.ones(1, "f4"), np.complex64(1))
    assert out[0] == 11.5

    @cuda.jit
    def macro_named_parameters(NULL, NAN, threadIdx, warpSize, array, M_PI, float32):
        "array[0] = NULL + NAN + threadIdx + warpSize + M_PI + float32 + grid<1>();"

    macro_named_parameters[1, 1](1, 2, 3, 4, out, 5, 6)
    assert out[0] == 21


def test_macros_of_options_are_not_captured():
    @cuda.jit(options=["-DN=5", "-DT=float", "-DK"])
    def use_option_macros(x):
        "T t = N + K; x[0] = t;"

    x = np.zeros(1, "f4")
    use_option_macros[1, 1](x)
    assert x[0] == 6


def test_macros_shadow_captured_names():
    """A macro of an option is defined everywhere; a macro of a header is defined where the header
    is included."""
    N, T, K = 1, 2, np.arange(3)

    @cuda.jit(device=True)
    def add_macro(x):
        "return x + N;"

    @cuda.jit(options=["-DN=5"], headers={"m.h": "#define T float\n#define K 7\n"})
    def use_shadowing_macros(x):
        """
        #include "m.h"
        T t = add_macro(N) + K; x[0] = t;
        """

    x = np.zeros(1, "f4")
    use_shadowing_macros[1, 1](x)
    assert x[0] == 17 and (N, T, K[2]) == (1, 2, 2)


def test_header_macros_do_not_conflict_with_numbalites_headers():
    """N, T and similar names are also template parameters or variables of numbalite's headers."""
    names = [*"ACFILNRS", "count", "index", "type", "value", "n", "put", "run", "apply", "data"]
    header = "".join(f"#define {name} 1\n" for name in names) + "#define T float\n"
    given = {"headers": {"m.h": header}}
    x = np.arange(3, dtype="f4")
    plus = cuda.jit("float32(float32)", device=True)(_plus_one)

    @cuda.jit(**given)
    def use_header_macros(x):
        """
        #include "m.h"
        x[threadIdx.x] = plus(x[threadIdx.x]) + T(N);
        """

    use_header_macros[1, 3](x)
    assert x.tolist() == [2, 3, 4] and plus.name == "_plus_one"

    @numbalite.jit("float32(float32)", **given)
    def add_macro_on_cpu(x):
        """
        #include "m.h"
        return x + T(N);
        """

    assert add_macro_on_cpu(1) == 2
    for target in ("cuda", "cpu"):

        @numbalite.vectorize(target=target, **given)
        def add(x, y):
            """
            #include "m.h"
            return x + y * T(N);
            """

        @numbalite.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target=target, **given)
        def copy_as_type(x, y):
            """
            #include "m.h"
            for (int i = 0; i < x.size(); ++i) y[i] = x[i] + T(N);
            """

        assert add(x, x).tolist() == [4, 6, 8] and copy_as_type(x).tolist() == [3, 4, 5]


def _plus_one(x):
    "return x + 1;"


# --- compiled for GPUs, if NVRTC is installed ------------------------------------------------------------


@pytest.mark.parametrize("cc", [(7, 5), (9, 0)])
def test_captured_scope_kernels_compile_for_gpus(cc):
    particle = np.dtype([("x", "f4"), ("v", "f8", (2,))], align=True)
    packed = np.dtype([("a", "i1"), ("x", "f8")])
    states = np.zeros(2, particle)
    infinity, z, w, low, flags = math.inf, 1 + 2j, np.complex64([1j]), -(2**63), np.array([True])
    halves = np.array([1, np.nan], "f2")
    σ = 2.0

    @cuda.jit(launch_bounds=(128, 2))
    def use_whole_scope(x, p, q, h):
        """
        #include <cooperative_groups.h>
        #define TWICE(v) ((v) + (v))
        int i = grid<1>();
        x[i] = SCALE + infinity + z.imag() + w[0].real() + low + float(HALF) + σ + TABLE(1, 2) + WEIGHTS[1];
        p[i] = states[1]; p[i].v[1] = TWICE(flags[0]); q[i].x = 3;
        h[i] = halves[1];
        auto [r, phi] = to_polar(x[0], x[1]);
        x[i] += axpy(r, phi, 1) + square(2) + is_4_byte_float(3) + scale_by_factor(4) + factorial(5);
        #if SCALE == 3
        auto block = cooperative_groups::this_thread_block();
        block.sync();
        #endif
        """

    signature = types.Signature(
        void,
        [float32[:], types.from_dtype(particle)[:], types.from_dtype(packed)[::1], types.f2[:]],
    )
    try:
        text, _ = cuda.compile(use_whole_scope, signature, cc=cc)
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")
    assert ".entry nl_use_whole_scope(" in text and ".maxntid 128" in text
    assert infinity and z and low and σ and w.size and flags.size and halves.size and states.size
