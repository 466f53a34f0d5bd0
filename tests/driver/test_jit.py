"""cuda.jit: its forms, signatures and options, what kernels take from the Python scope, and what can be
asked of a kernel."""

import copy
import inspect
import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import numbalite
from numbalite import cuda, errors, float32, float64, int32, types, void
from numbalite.compilers import compile_count


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numbalite.NumbaPerformanceWarning)
        yield


def zeros(n=4, dtype="f4"):
    return np.zeros(n, dtype)


# --- forms ---------------------------------------------------------------------------------------------


def test_bare_decorator():
    @cuda.jit
    def fill(x, v):
        "x[grid<1>()] = v;"

    x = zeros()
    fill[1, 4](x, 2.5)
    assert (x == 2.5).all()
    assert fill.__name__ == "fill" and fill.__doc__ == "x[grid<1>()] = v;"
    assert list(inspect.signature(fill).parameters) == ["x", "v"]


@pytest.mark.parametrize(
    "signature",
    ["void(float32[:], float32)", "(f4[:], f4)", void(float32[:], float32), (float32[:], float32),
     ["void(float32[:], float32)"], [(float32[:], float32)]],
    ids=str,
)  # fmt: skip
def test_signatures_of_every_form(signature):
    @cuda.jit(signature)
    def fill(x, v):
        "x[grid<1>()] = v;"

    assert fill.signatures == [(float32[:], float32)] and fill.specialized
    x = zeros()
    fill[2, 2](x, 3)
    assert (x == 3).all()


def test_parentheses_without_a_signature():
    @cuda.jit()
    def fill(x):
        "x[grid<1>()] = 1;"

    x = zeros()
    fill[1, 4](x)
    assert x.all() and fill.signatures == [(float32[::1],)]


def test_as_a_call():
    def fill(x):
        "x[grid<1>()] = 1;"

    kernel = cuda.jit("void(int32[:])")(fill)
    x = zeros(dtype="i4")
    kernel[1, 4](x)
    assert x.all() and kernel.py_func is fill
    x[:] = 0
    cuda.jit(fill)[1, 4](x)
    assert x.all()


SOURCE = r"""
template <typename T> __global__ void axpy(T a, const T* x, T* y, int n) {
    int i = grid<1>();
    if (i < n) y[i] += a * x[i];
}
__global__ void one(float* y) { y[threadIdx.x] = 1; }
"""


def test_a_source():
    axpy = cuda.jit(source=SOURCE, name="axpy<float>")
    x, y = np.arange(4, dtype="f4"), zeros()
    axpy[1, 32](2.0, x, y, 4)
    np.testing.assert_array_equal(y, 2 * x)
    assert repr(axpy) == "<CUDA kernel axpy<float>(a, x, y, n)>"


def test_a_source_in_the_first_place():
    kernel = cuda.jit("__global__ void only(float* y) { y[threadIdx.x] = 7; }")
    y = zeros()
    kernel[1, 4](y)
    assert (y == 7).all() and kernel.__name__ == "only"


def test_a_source_from_a_file(tmp_path):
    (tmp_path / "values.h").write_text("#define VALUE 9\n")
    path = tmp_path / "kernel.cu"
    path.write_text('#include "values.h"\n__global__ void k(int* y) { y[0] = VALUE; }\n')
    y = zeros(1, "i4")
    cuda.jit(source=path)[1, 1](y)
    assert y[0] == 9


def test_which_kernel_of_a_source():
    with pytest.raises(TypeError, match=r"several kernels.*axpy, one"):
        cuda.jit(source=SOURCE)
    with pytest.raises(TypeError, match=r"axpy is a template.*axpy<float>"):
        cuda.jit(source=SOURCE.partition("__global__ void one")[0])
    with pytest.raises(errors.CompileError, match="no kernel"):
        cuda.jit(source="int x;")
    with pytest.raises(TypeError, match="name= goes with source="):
        cuda.jit("void(int32)", name="x")


def test_a_signature_beside_a_source_is_checked():
    text = "__global__ void k(float* y, int n) { y[0] = n; }"
    y = zeros(1)
    cuda.jit("void(float32[:], int32)", source=text)[1, 1](y, 3)
    assert y[0] == 3
    with pytest.raises(errors.SignatureError, match=r"float\* y, int n"):
        cuda.jit("void(float64[:], int32)", source=text)
    with pytest.raises(errors.SignatureError):
        cuda.jit("void(float32[:])", source=text)


@pytest.mark.parametrize("what", [3, 3.5, {}, object()])
def test_what_jit_does_not_take(what):
    with pytest.raises(TypeError):
        cuda.jit(what)


def test_a_type_is_no_signature():
    with pytest.raises(errors.SignatureError, match="void\\(float32\\)"):
        cuda.jit(float32)(lambda x: x)


def test_a_body_in_the_place_of_a_signature():
    with pytest.raises(errors.SignatureError, match="stands in a function"):
        cuda.jit("int i = grid<1>();")


def test_python_bodies():
    with pytest.raises(
        TypeError, match=r"(?s)kernel: the body of a kernel.*@cuda.jit\n    def kernel"
    ):

        @cuda.jit
        def kernel(x):
            x[0] = 1

    with pytest.raises(TypeError, match="return \\.\\.\\.;"):

        @cuda.jit(device=True)
        def function(x):
            return x


def test_kernels_return_nothing():
    with pytest.raises(TypeError, match=r"CUDA kernel must have void return type\."):

        @cuda.jit("int32(int32[:])")
        def kernel(x):
            ""

    with pytest.raises(TypeError, match=r"CUDA kernel must have void return type\."):
        cuda.jit("__global__ int k() { return 1; }")


def test_parameters_and_signature_must_agree():
    with pytest.raises(errors.SignatureError, match="2 parameters .x, n.*has 1"):

        @cuda.jit("void(int32[:])")
        def kernel(x, n):
            ""


@pytest.mark.parametrize("header", ["x, *rest", "x, **rest", "x, n=3", "new"])
def test_parameters_that_kernels_cannot_have(header):
    with pytest.raises(TypeError, match="k: "):
        names = {"cuda": cuda}
        exec(f"@cuda.jit\ndef k({header}):\n    'x[0] = 1;'\n", names)


def test_decorating_twice():
    @cuda.jit
    def kernel(x):
        ""

    with pytest.raises(TypeError, match="compiled already"):
        cuda.jit(kernel)


# --- types of the arguments ----------------------------------------------------------------------------


@cuda.jit
def lazy(x, v):
    "x[grid<1>()] = v;"


def test_one_compilation_for_each_list_of_types():
    x = zeros()
    lazy[1, 4](x, 1)
    count = compile_count()
    lazy[2, 2](x, 2)
    lazy[1, 4](cuda.to_device(x), 3)
    assert compile_count() == count
    lazy[1, 4](x, 1.5)
    assert (x == 1.5).all() and set(lazy.signatures) >= {
        (float32[::1], types.int64), (float32[::1], float64)
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_every_dtype(dtype):
    @cuda.jit
    def copy(x, y):
        "int i = grid<1>(); if (i < y.size()) y[i] = x[i];"

    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    y = np.zeros_like(x)
    copy[1, 8](x, y)
    np.testing.assert_array_equal(x, y)


def test_layouts():
    @cuda.jit
    def add(a):
        "auto [i, j] = grid<2>(); if (i < a.shape[0] && j < a.shape[1]) a(i, j) += i * 10 + j;"

    expected = np.add.outer(np.arange(3) * 10, np.arange(4)).astype("f4")
    for a in (np.zeros((3, 4), "f4"), np.zeros((4, 3), "f4").T, np.zeros((6, 4), "f4")[::2]):
        add[1, (4, 4)](a)
        np.testing.assert_array_equal(a, expected)
    layouts = {args[0].layout for args in add.signatures}
    assert {"C", "F"} <= layouts


def test_records():
    particle = np.dtype([("x", "f4"), ("v", "f8"), ("n", "i2", (2,))], align=True)

    @cuda.jit
    def move(p, t):
        "auto& q = p[grid<1>()]; q.x += q.v * t; q.n[1] = q.n[0] + 1;"

    p = np.zeros(3, particle)
    p["v"] = [1, 2, 3]
    move[1, 3](p, 2.0)
    assert p["x"].tolist() == [2, 4, 6] and p["n"][:, 1].tolist() == [1, 1, 1]

    @cuda.jit("void(particle[:], particle)")
    def fill(p, value):
        "particle q = value; p[grid<1>()] = q;"

    fill[1, 3](p, np.array((1, 2, (3, 4)), particle)[()])
    assert p["n"].tolist() == [[3, 4]] * 3


def test_unaligned_records():
    packed = np.dtype([("a", "i1"), ("x", "f8")])

    @cuda.jit
    def set_(p):
        "int i = grid<1>(); p[i].a = i; p[i].x = i + 0.5;"

    p = np.zeros(3, packed)
    set_[1, 3](p)
    assert p["x"].tolist() == [0.5, 1.5, 2.5] and p["a"].tolist() == [0, 1, 2]


def test_const_arrays_are_inputs():
    @cuda.jit("void(const float32[:], float32[:])")
    def copy(x, y):
        "y[grid<1>()] = x[grid<1>()];"

    x, y = np.arange(4, dtype="f4"), zeros()
    x.flags.writeable = False
    copy[1, 4](x, y)
    np.testing.assert_array_equal(x, y)
    with pytest.raises(errors.CompileError):

        @cuda.jit("void(const float32[:])")
        def write(x):
            "x[0] = 1;"


def test_pointers_in_signatures():
    @cuda.jit("void(const float32*, float32*)")
    def copy(x, y):
        "y[threadIdx.x] = x[threadIdx.x];"

    x, y = np.arange(4, dtype="f4"), zeros()
    copy[1, 4](x, y)
    np.testing.assert_array_equal(x, y)


# --- several signatures -----------------------------------------------------------------------------------


@cuda.jit(["void(int32[:], int32)", "void(float32[:], float32)", "void(float64[:], float64)"])
def several(x, v):
    "x[grid<1>()] = v * 2;"


@pytest.mark.parametrize("dtype, value", [("i4", 3), ("f4", 1.5), ("f8", 1.5), ("f8", 3)])
def test_the_signature_that_fits(dtype, value):
    x = zeros(dtype=dtype)
    several[1, 4](x, value)
    assert (x == value * 2).all()
    assert len(several.overloads) == 3 and not several.specialized


def test_no_signature_fits():
    with pytest.raises(TypeError, match=r"(?s)no signature of several takes.*int16.*void\(int32"):
        several[1, 4](zeros(dtype="i2"), 1)
    with pytest.raises(TypeError):
        several[1, 4](zeros(dtype="i4"), 1.5)
    with pytest.raises(TypeError):
        several[1, 4](zeros())


@cuda.jit(["void(float32[:], float32, float64)", "void(float32[:], float64, float32)"])
def twins(x, a, b):
    "x[0] = a + b;"


def test_ambiguity():
    x = zeros(1)
    twins[1, 1](x, np.float32(1), np.float64(2))
    assert x[0] == 3
    with pytest.raises(TypeError, match="(?s)ambiguous.*float64, float32"):
        twins[1, 1](x, np.float32(1), np.float32(2))


def test_exact_types_come_before_conversions():
    @cuda.jit(["void(float64[:], float64)", "void(float64[:], int64)", "void(float64[:], float32)"])
    def which(x, v):
        "x[0] = sizeof(v) * (v / 2 == 0.5 ? 1 : 10);"

    x = zeros(1, "f8")
    for value, result in ((1, 80), (1.0, 8), (np.float32(1), 4), (np.int16(1), 80)):
        which[1, 1](x, value)
        assert x[0] == result, value


def test_looser_layouts():
    @cuda.jit(["void(float32[:, ::1])", "void(float32[:, :])"])
    def which(x):
        "x(0, 0) = sizeof(x) && decltype(x)(x).strides[1] == 4 ? 1 : 2;"

    for x in (np.zeros((2, 2), "f4"), np.zeros((2, 2), "f4").T):
        which[1, 1](x)
        assert x[0, 0] in (1, 2)


# --- names from the Python scope -------------------------------------------------------------------------

SCALE = 3
TABLE = np.arange(6, dtype="f4").reshape(2, 3)
WEIGHTS = np.array([1, 2, 3], "i4")
HALF = np.float16(0.5)
REAL = np.float32


def test_constants():
    offset, flag, big, root = 0.25, True, 2**40, np.float32(math.sqrt(2 * math.pi))
    z, infinity, not_a_number, low = 1 + 2j, math.inf, math.nan, -(2**63)

    @cuda.jit
    def k(x):
        """
        x[0] = SCALE; x[1] = offset; x[2] = flag; x[3] = big; x[4] = root; x[5] = z.imag();
        x[6] = infinity; x[7] = not_a_number; x[8] = low; x[9] = HALF;
        static_assert(sizeof(SCALE) == 4 && sizeof(big) == 8 && sizeof(root) == 4);
        REAL t[SCALE]; static_assert(sizeof(t) == 12);
        """

    x = zeros(10, "f8")
    k[1, 1](x)
    expected = [3, 0.25, 1, 2**40, float(root), 2, math.inf, math.nan, -(2.0**63), 0.5]
    np.testing.assert_array_equal(x, expected)
    assert offset and flag and big and z and infinity and not_a_number and low


def test_constant_arrays():
    @cuda.jit
    def k(x):
        """
        int i = grid<1>();
        if (i < TABLE.size()) x[i] = TABLE(i / 3, i % 3) * WEIGHTS[i % 3] + TABLE[1][0];
        if (i == 6) x[i] = TABLE.shape[0] * 10 + TABLE.shape[1];
        """

    x = zeros(7)
    k[1, 8](x)
    np.testing.assert_array_equal(x[:6].reshape(2, 3), TABLE * WEIGHTS + TABLE[1][0])
    assert x[6] == 23


def test_an_array_as_argument_of_a_device_function():
    @cuda.jit(device=True)
    def total(a):
        "float t = 0; for (int i = 0; i < a.size(); ++i) t += a[i]; return t;"

    @cuda.jit("float32(const float32[:, :])", device=True)
    def corner(a):
        "return a(1, 2);"

    @cuda.jit
    def k(x):
        "x[0] = total(WEIGHTS) + corner(TABLE);"

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 6 + 5


def test_parameters_and_local_declarations_win():
    i = v = n = 100
    grid = 7

    @cuda.jit
    def k(x, v):
        """
        int i = grid<1>();
        for (int n = 0; n < 2; ++n) x[i] += n + v;
        """

    x = zeros()
    k[1, 4](x, 3)
    assert (x == 7).all() and i and v and n and grid


def test_rebinding_does_not_change_a_compiled_kernel():
    namespace = {"cuda": cuda, "N": 3}
    exec("@cuda.jit\ndef k(x):\n    'x[0] = N;'\n", namespace)
    k, x = namespace["k"], zeros(1)
    k[1, 1](x)
    namespace["N"] = 4
    k[1, 1](x)
    assert x[0] == 3
    k.recompile()
    k[1, 1](x)
    assert x[0] == 4


def test_closures():
    def make(n):
        @cuda.jit
        def k(x):
            "x[0] = n;"

        return k

    x = zeros(1)
    kernels = [make(n) for n in range(3)]
    for n, k in enumerate(kernels):
        k[1, 1](x)
        assert x[0] == n


def test_numbers_in_preprocessor_lines():
    @cuda.jit
    def k(x):
        """
        #if SCALE == 3
            x[0] = SCALE + 1;
        #else
            x[0] = -1;
        #endif
        """

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 4


def test_names_beyond_ascii():
    σ = 2.0

    @cuda.jit
    def k(x, μ):
        "x[0] = σ * μ;  // σμ"

    x = zeros(1)
    k[1, 1](x, 3.0)
    assert x[0] == 6 and σ


def test_macros_and_includes_in_a_body():
    @cuda.jit
    def k(x):
        """
        #include <cuda_fp16.h>
        #define SQUARE(v) ((v) * (v))
        x[0] = SQUARE(__half2float(__float2half(3.0f)));
        """

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 9


def test_large_arrays_are_explained():
    data = np.zeros(20000)
    with pytest.raises(errors.CompileError, match="160000 bytes.*65536 bytes.*as an argument"):

        @cuda.jit("void(float64[:])")
        def k(x):
            "x[0] = data[0];"

    @cuda.jit("void(float64[:])")
    def fine(x):
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
def polar(x, y):
    "return make_tuple(sqrt(x * x + y * y), atan2(y, x));"


@cuda.jit(["int32(int32)", "float32(float32)"], device=True)
def which(x):
    "return sizeof(x) == 4 && x / 2 * 2 != x ? 1 : 2;"


FACTOR = 10


@cuda.jit(device=True, inline="always")
def scaled(x):
    "x * FACTOR"


@cuda.jit("int64(int64)", device=True)
def factorial(n):
    "return n <= 1 ? 1 : n * factorial(n - 1);"


def test_device_functions():
    FACTOR = 1

    @cuda.jit
    def k(x):
        """
        x[0] = axpy(2.0f, 3.0f, 4.0f);
        x[1] = square(3) + axpy(1, 2, 3);
        auto [r, phi] = polar(3.0, 4.0);
        x[2] = r;
        x[3] = which(3) * 10 + which(3.0f);
        x[4] = scaled(FACTOR);
        x[5] = factorial(10);
        """

    x = zeros(6)
    k[1, 1](x)
    assert x.tolist() == [10, 14, 5, 12, 10, 3628800] and FACTOR


def test_a_device_function_from_another_scope_under_another_name():
    def make():
        bias = 5

        @cuda.jit(device=True)
        def shifted(x):
            "return axpy(1, x, bias);"

        assert bias
        return shifted

    f = make()

    @cuda.jit
    def k(x):
        "x[0] = f(1);"

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 6


def test_device_functions_as_source():
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
    def k(x):
        "x[0] = helper(lerp(1, 3));"

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 5 and helper.name == "helper" and lerp.name == "lerp"


def test_device_functions_that_write_arrays():
    @cuda.jit(device=True)
    def put(a, i, v):
        "a[i] = v;"

    @cuda.jit("void(float32[:], int32)", device=True)
    def clear(a, i):
        "a[i] = 0;"

    @cuda.jit
    def k(x):
        "put(x, 1, 3); put(x, 2, 4); clear(x, 2);"

    x = zeros()
    k[1, 1](x)
    assert x.tolist() == [0, 3, 0, 0]


def test_device_functions_are_not_launched():
    with pytest.raises(TypeError, match="device function.*cannot be launched"):
        axpy[1, 1]
    with pytest.raises(TypeError, match="device function"):
        axpy(1, 2, 3)
    assert repr(axpy) == "<device function axpy(a, x, y)>"
    assert "float32(float32)" in repr(square) and "auto axpy(" in axpy.inspect_source()


def test_a_kernel_is_no_device_function():
    with pytest.raises(errors.CompileError, match=r"lazy is a kernel.*device=True"):

        @cuda.jit("void(float32[:])")
        def k(x):
            "lazy(x, 1);"


# --- options ------------------------------------------------------------------------------------------------


def test_unknown_options():
    with pytest.raises(TypeError, match="no option 'fast_math'; did you mean fastmath="):
        cuda.jit(fast_math=True)
    with pytest.raises(TypeError, match="max_registers"):
        cuda.jit(maxrregcount=32)
    with pytest.raises(TypeError, match="it has .*fastmath"):
        cuda.jit(qqqqqq=1)
    with pytest.raises(errors.DeprecationError):
        cuda.jit(argtypes=[])


@pytest.mark.parametrize(
    "option",
    [{"launch_bounds": "x"}, {"launch_bounds": 0}, {"launch_bounds": (1, 2, 3, 4)},
     {"shared_memory_carveout": 101}, {"shared_memory_carveout": "most"}, {"max_registers": 0},
     {"max_registers": True}, {"shared_memory_carveout": 1.5}, {"options": "-DX"},
     {"options": [3]}, {"std": "fortran"}, {"headers": ["x"]}, {"cluster": (1, 2, 3, 4)},
     {"cluster": 0}, {"opt": 4}, {"fastmath": "yes"}, {"debug": "yes"}, {"inline": "maybe"},
     {"extensions": [3]}, {"device": True, "launch_bounds": 32}],
    ids=str,
)  # fmt: skip
def test_options_that_make_no_sense(option):
    with pytest.raises((TypeError, ValueError)):
        cuda.jit(**option)


@pytest.mark.parametrize(
    "option",
    [{"fastmath": True}, {"debug": True}, {"lineinfo": True}, {"opt": False}, {"opt": 1},
     {"max_registers": 32}, {"launch_bounds": 128}, {"launch_bounds": (128, 2)}, {"cache": True},
     {"lto": True}, {"inline": "always"}, {"shared_memory_carveout": "MaxL1"},
     {"shared_memory_carveout": 50}, {"std": "c++20"}, {"std": 14}, {"fastmath": {"nsz"}},
     {"debug": False, "opt": True}, {"link": []}, {"boundscheck": True}],
    ids=str,
)  # fmt: skip
def test_options(option):
    @cuda.jit("void(float32[:])", **option)
    def k(x):
        "x[grid<1>()] = 3;"

    x = zeros()
    k[1, 4](x)
    assert (x == 3).all()


def test_options_for_the_compiler_and_headers():
    @cuda.jit(options=["-DVALUE=4", "-DOTHER"], headers={"mine.h": "#define MINE 5\n"})
    def k(x):
        """
        #include "mine.h"
        #ifdef OTHER
        x[0] = VALUE + MINE;
        #endif
        """

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 9


def test_contradicting_options_are_warned_of():
    with pytest.warns(numbalite.NumbaInvalidConfigWarning, match="lineinfo"):
        cuda.jit(debug=True, lineinfo=True)
    with pytest.warns(numbalite.NumbaInvalidConfigWarning, match="opt"):
        cuda.jit(debug=True, opt=True)


def test_linked_sources(tmp_path):
    path = tmp_path / "helper.cu"
    path.write_text('extern "C" __device__ float helper(float x) { return x + 1; }\n')

    class CUSource:
        data, name = "__device__ float other(float x) { return 2 * x; }", "other.cu"

    @cuda.jit(link=[str(path), CUSource()])
    def k(x):
        "x[0] = helper(other(3));"

    x = zeros(1)
    k[1, 1](x)
    assert x[0] == 7
    with pytest.raises(NotImplementedError, match=r"a.ptx.*source"):
        cuda.jit(link=["a.ptx"])


def test_extensions():
    class Wrapped:
        def __init__(self, array):
            self.array = array

    class Extension:
        def prepare_args(self, ty, val, stream, retr):
            if isinstance(val, Wrapped):
                retr.append(lambda: log.append("after"))
                return ty, val.array
            return ty, val

    log = []

    @cuda.jit(extensions=[Extension()])
    def k(x, v):
        "x[grid<1>()] = v;"

    x = zeros()
    k[1, 4](Wrapped(x), 2)
    assert (x == 2).all() and log == ["after"]


# --- launching ------------------------------------------------------------------------------------------------


def test_a_launch_needs_a_configuration():
    with pytest.raises(ValueError, match="launch configuration"):
        lazy(zeros(), 1)
    with pytest.raises(ValueError, match="must specify at least the griddim and blockdim"):
        lazy[1]


def test_configure_and_keywords():
    x = zeros()
    lazy.configure(1, 4)(x=x, v=2)
    assert (x == 2).all()
    lazy.configure((2,), (2,), stream=0, sharedmem=0)(x, v=3)
    assert (x == 3).all()


@cuda.jit
def guarded(x, n):
    "int i = grid<1>(); if (i < n) x[i] += 1;"


@pytest.mark.parametrize("n", [1, 100, 1025])
@pytest.mark.parametrize("tpb", [0, 32])
def test_forall(n, tpb):
    x = zeros(n)
    guarded.forall(n, tpb)(x, n)
    assert (x == 1).all()
    guarded.forall(n, tpb=tpb)(n=n, x=x)
    assert (x == 2).all()


def test_forall_of_nothing():
    guarded.forall(0)("anything")
    with pytest.raises(ValueError, match="Can't create ForAll with negative task count: -1"):
        guarded.forall(-1)
    with pytest.raises((TypeError, AttributeError)):
        guarded.forall(1.5)


def test_specialize():
    @cuda.jit
    def k(x, v):
        "x[grid<1>()] = v;"

    x = zeros()
    special = k.specialize(x, 1.0)
    assert special.specialized and not k.specialized
    assert special.signatures == [(float32[::1], float64)]
    special[1, 4](x, 3)
    assert (x == 3).all() and k.specialize(zeros(), 2.0) is special
    with pytest.raises(RuntimeError, match="already specialized"):
        special.specialize(x, 1.0)
    with pytest.raises(TypeError):
        special[1, 4](zeros(dtype="f8"), 3)


def test_compile_by_hand():
    @cuda.jit
    def k(x):
        "x[grid<1>()] = 1;"

    compiled = k.compile("void(float32[::1])")
    count = compile_count()
    k[1, 4](zeros())
    assert compile_count() == count and k.overloads == {(float32[::1],): compiled}
    assert k.compile((float32[::1],)) is compiled
    with pytest.raises(RuntimeError, match="compiles no more"):
        several.compile("void(int16[:], int16)")
    with pytest.raises(TypeError, match="void"):
        k.compile("int32(float32[:])")


def test_the_same_kernel_from_several_threads():
    @cuda.jit
    def k(x, v):
        "x[grid<1>()] = v * 3;"

    arrays, problems = [zeros() for _ in range(8)], []

    def work(x, v):
        try:
            k[1, 4](x, v)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(x, v)) for v, x in enumerate(arrays)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and len(k.overloads) == 1
    assert [x[0] for x in arrays] == [v * 3 for v in range(8)]


# --- inspection -------------------------------------------------------------------------------------------------


def test_inspect_source():
    x = zeros()
    lazy[1, 4](x, 1)
    sources = lazy.inspect_source()
    assert 'extern "C" __global__ void nl_lazy(' in sources[float32[::1], types.int64]
    assert lazy.inspect_source((float32[::1], types.int64)) == sources[float32[::1], types.int64]
    with pytest.raises(KeyError):
        lazy.inspect_source((int32,))
    typed = cuda.jit("void(int32[:])")(_nothing)
    assert "nl__nothing" in typed.inspect_source()
    unit = cuda.jit(source=SOURCE, name="one")
    assert "void one(float* y)" in unit.inspect_source()


def _nothing(x):
    ""


def test_attributes_of_a_compiled_kernel():
    @cuda.jit("void(float32[:])")
    def k(x):
        "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = s[1];"

    assert k.get_shared_mem_per_block() == 256
    assert k.get_max_threads_per_block() >= 256 and k.get_regs_per_thread() >= 0
    assert k.get_local_mem_per_thread() >= 0 and k.get_const_mem_size() >= 0
    (compiled,) = k.overloads.values()
    assert compiled.shared_mem_per_block == 256 and compiled.entry_name
    assert k.occupancy(128) >= 1 and k.occupancy((16, 8), 1024) >= 1
    assert k.max_cooperative_grid_blocks(128) >= k.occupancy(128)
    assert compiled.max_cooperative_grid_blocks((16, 8)) >= 1
    lazy[1, 4](zeros(), 1)
    assert lazy.get_regs_per_thread((float32[::1], types.int64)) >= 0
    assert set(lazy.get_regs_per_thread()) == set(lazy.signatures)
    unit = cuda.jit(source=SOURCE, name="one")
    assert unit.get_max_threads_per_block() >= 256


def test_inspect_asm():
    pytest.importorskip("cuda.pathfinder")
    try:
        text = several.inspect_asm("void(float32[:], float32)")
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")
    assert ".entry nl_several" in text
    assert len(several.inspect_asm()) == 3


def test_inspect_sass():
    from numbalite.inspection import find_tool

    try:
        several.inspect_asm()
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")
    if find_tool("nvdisasm") is None and find_tool("cuobjdump") is None:
        with pytest.raises(errors.CudaSupportError, match="nvdisasm"):
            several.inspect_sass((float32[:], float32))
    else:
        assert "EXIT" in several.inspect_sass((float32[:], float32))


def test_inspect_types(capsys):
    several.inspect_types()
    assert "x: array<float, 1>" in capsys.readouterr().out
    with pytest.raises(NotImplementedError):
        several.inspect_llvm()


def test_repr():
    assert repr(lazy) == "<CUDA kernel lazy(x, v)>"
    assert repr(twins).startswith("<CUDA kernel twins: void(float32[:], float32, float64), void(")


@pytest.mark.parametrize("kind", ["lazy", "typed", "unit", "closure"])
def test_pickling(kind):
    bias = 5

    @cuda.jit(device=True)
    def biased(v):
        "return v + bias + SCALE;"

    @cuda.jit
    def closure(x, v):
        "x[grid<1>()] = biased(v);"

    text = "__global__ void unit(float* x, float v) { x[threadIdx.x] = v; }"
    kernel = {"lazy": lazy, "typed": cuda.jit("void(float32[:], float32)")(lazy.py_func),
              "unit": cuda.jit(text), "closure": closure}[kind]  # fmt: skip
    again = pickle.loads(pickle.dumps(kernel))
    x = zeros()
    again[1, 4](x, 3)
    assert (x == (3 + bias + SCALE if kind == "closure" else 3)).all()
    assert repr(again) == repr(kernel) and copy.copy(kernel) is kernel
    assert copy.deepcopy([kernel])[0] is kernel


def test_pickled_kernels_in_a_new_process(run_python, tmp_path):
    path = tmp_path / "kernel.pickle"
    path.write_bytes(pickle.dumps(several))
    done = run_python(
        "import pickle, sys, numpy as np, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "k = pickle.load(open(sys.argv[1], 'rb'))\n"
        "x = np.zeros(2, 'f4'); k[1, 2](x, 4); print(x)",
        path,
    )
    assert done.stdout.strip() == "[8. 8.]"


# --- cooperative launches ---------------------------------------------------------------------------------------


def test_cooperative_launch():
    @cuda.jit("void(int32[:], int32[:])")
    def k(x, y):
        """
        int i = grid<1>();
        x[i] = i + 1;
        cooperative_groups::this_grid().sync();
        y[i] = x[x.size() - 1 - i];
        """

    x, y = zeros(8, "i4"), zeros(8, "i4")
    k[4, 2](x, y)
    assert y.tolist() == list(range(8, 0, -1))


# --- debug=True -------------------------------------------------------------------------------------------------


def test_out_of_bounds():
    @cuda.jit(debug=True)
    def k(x, n):
        """
        int i = grid<1>();
        x[i] = n;   // HERE
        """

    x = zeros(10)
    k[1, 10](x, 1)
    with pytest.raises(errors.KernelError) as caught:
        k[2, 8](x, 1)
    problem = caught.value
    assert problem.kernel == "k" and problem.array == "x" and problem.index in range(10, 16)
    assert problem.block == (1, 0, 0) and problem.thread[0] in range(2, 8)
    assert problem.tid == problem.thread and "out of bounds" in str(problem)
    with open(__file__) as file:
        assert "// HERE" in file.readlines()[problem.line - 1]
    assert problem.file == __file__ and f"{__file__}({problem.line})" in str(problem)
    x[:] = 0
    k[1, 10](x, 2)
    assert (x == 2).all(), "the next launch works"


def test_assert():
    @cuda.jit(debug=True)
    def k(x):
        "int i = grid<1>(); assert(i < 3); x[i] = 1;"

    with pytest.raises(errors.KernelError, match="i < 3"):
        k[1, 4](zeros())


def test_debug_in_a_source():
    k = cuda.jit(source="__global__ void k(array<float> x) {\n  x[threadIdx.x] = 1;\n}", debug=True)
    with pytest.raises(errors.KernelError) as caught:
        k[1, 8](zeros())
    assert caught.value.kernel == "k" and caught.value.line


# --- compiling ahead of time --------------------------------------------------------------------------------------


@pytest.fixture
def nvrtc():
    try:
        cuda.compile("__global__ void k() {}", cc=(8, 0))
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")


def add(x, y):
    "return x + y;"


def test_compile_a_device_function(nvrtc):
    text, result = cuda.compile(add, "float32(float32, float32)", cc=(8, 0))
    assert result is float32 and ".func  (.param .b32" in text and "add(" in text
    assert "sm_80" in text
    text, _ = cuda.compile(add, (float32, float32), cc=(9, 0), abi_info={"abi_name": "plus"})
    assert "plus(" in text and "sm_90" in text


def test_compile_kernels(nvrtc):
    text, result = cuda.compile_ptx(_nothing, "void(float32[:])", cc=(8, 0))
    assert result is void and ".entry nl__nothing" in text
    code, _ = cuda.compile(SOURCE, cc=(8, 0), output="cubin", name="axpy<double>")
    assert code[:4] == b"\x7fELF"
    assert ".entry" in cuda.compile(several, "void(int32[:], int32)", cc=(7, 5))[0]


def test_compile_mistakes(nvrtc):
    with pytest.raises(errors.CompileError, match="undefined_x"):
        cuda.compile("__global__ void k() { undefined_x; }", cc=(8, 0))
    with pytest.raises(NotImplementedError):
        cuda.compile(add, (float32, float32), output="ltoir")
    with pytest.raises(TypeError, match="cc"):
        cuda.compile(add, (float32, float32), cc=90)
    with pytest.raises(TypeError, match="types"):
        cuda.compile(add)


# --- random numbers -----------------------------------------------------------------------------------------------


def test_random_states():
    from numbalite.cuda import random

    states = random.create_xoroshiro128p_states(100, seed=1)
    assert states.shape == (100,) and states.dtype == random.xoroshiro128p_dtype
    host = states.copy_to_host()
    assert host[0]["s0"] == host[0]["s1"] == 10451216379200822465, "numba's"
    later = random.create_xoroshiro128p_states(50, seed=1, subsequence_start=50).copy_to_host()
    np.testing.assert_array_equal(later, host[50:])

    @cuda.jit
    def draw(states, out):
        "int i = grid<1>(); if (i < out.size()) out[i] = xoroshiro128p_uniform_float32(states, i);"

    out = zeros(100)
    draw[1, 128](states, out)
    assert (0 <= out).all() and (out < 1).all() and len(set(out)) > 90
    assert (states.copy_to_host() != host).all()
    with pytest.raises(TypeError, match="kernels"):
        random.xoroshiro128p_uniform_float32(states, 0)
    with pytest.raises(TypeError):
        random.init_xoroshiro128p_states(out, 1)
    with pytest.raises(ValueError):
        random.create_xoroshiro128p_states(-1, 1)
    assert random.create_xoroshiro128p_states(0, 1).size == 0
