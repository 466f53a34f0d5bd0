"""Tests device functions in Python and in CUDA C++ that call each other and are called by kernels
with Python bodies."""

import pickle
import re
from collections import namedtuple

import numpy as np
import pytest
from kit.needs import needs_nvrtc
from kit.sample import random_generator

from numbalite import cuda, float32, int32, jit, types
from numbalite.errors import TranslationError
from numbalite.python.unroll import literal_unroll


@cuda.jit(device=True)
def to_polar(x, y):
    r = (x * x + y * y) ** 0.5
    return r, x / r


@cuda.jit(device=True)
def axpy_string(a, x, y):
    "return a * x + y;"


@cuda.jit("float32(float32, float32)", device=True)
def typed_string(a, b):
    "return a - b;"


@cuda.jit(device=True)
def scale_and_add(x, by=2, *, plus=1):
    return x * by + plus


@cuda.jit(device=True)
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


@cuda.jit(device=True)
def is_even(n):
    return True if n == 0 else is_odd(n - 1)


@cuda.jit(device=True)
def is_odd(n):
    return False if n == 0 else is_even(n - 1)


@cuda.jit("int32(float32, float32)", device=True)
def declared_sum(a, b):
    return a + b


@cuda.jit(device=True)
def store_element(out, i, value):
    out[i] = value


@cuda.jit(device=True)
def total_of(values):
    total = values[0]
    for i in range(1, values.size):
        total += values[i]
    return total


def plus_100(x):
    return x + 100


square = lambda x: x * x


def test_python_and_cpp_functions_are_called():
    def make_adder(offset):
        def add_offset(x):
            return x + offset

        return add_offset

    shifted = make_adder(7)

    @cuda.jit
    def call_device_functions(x, y, out):
        r, cosine = to_polar(x, y)
        out[0] = r
        out[1] = cosine
        both = to_polar(y, x)
        out[2] = both[0] + both[1]
        out[3] = axpy_string(2, x, y)
        out[4] = typed_string(x, 1)
        out[5] = scale_and_add(x)
        out[6] = scale_and_add(x, 3)
        out[7] = scale_and_add(3, plus=5, by=2)
        out[8] = factorial(10)
        out[9] = declared_sum(1.75, 2)
        store_element(out, 10, 42)
        out[11] = plus_100(1) + plus_100(0.5)
        out[12] = square(x)
        out[13] = shifted(1)
        local = cuda.local.array(4, int32)
        for i in range(4):
            local[i] = i
        out[14] = total_of(local)
        out[15] = total_of(out[:3])

    x, y = 3.0, 4.0
    out = np.zeros(16)
    call_device_functions[1, 1](x, y, out)
    wanted = [5, 0.6, 5.8, 10, 2, 7, 10, 11, 3628800, 3, 42, 201.5, 9, 8, 6, 11.4]
    np.testing.assert_allclose(out, wanted, rtol=1e-14)


@cuda.jit(device=True)
def exchange_through_shared(x, out, n, dtype, convert, combine, is_reversed):
    i = cuda.threadIdx.x
    both = cuda.shared.array(n, dtype)
    both[i] = convert(x[i])
    cuda.syncthreads()
    if is_reversed:
        combine(out, i, both[n - 1 - i])
    else:
        combine(out, i, both[i])


@cuda.jit(device=True)
def corner_of_local(shape, out, at):
    tile = cuda.local.array(shape, int32)
    tile[shape[0] - 1, -1] = 7
    out[at] = tile[1, 2] * 10 + len(shape)


def half(x):
    return x / 2


def test_constant_arguments_are_compile_time_constants():
    """Types, functions and numbers may be arguments of a device function, which is compiled for each of
    them."""

    @cuda.jit
    def pass_constants(x, out):
        exchange_through_shared(x, out[0], 4, int32, half, cuda.atomic.add, False)
        exchange_through_shared(x, out[1], 4, float32, half, cuda.atomic.sub, True)
        exchange_through_shared(x, out[2], 4, np.float64, square, cuda.atomic.max, False)
        rows = 2
        corner_of_local((rows, 3), out[3], cuda.threadIdx.x)
        at = cuda.grid(2)
        here = at if cuda.threadIdx.x < 9 else (0, 0)
        out[4, 0] = here[1]

    x, out = np.array([1.0, 2, 3, 5]), np.zeros((5, 4))
    pass_constants[1, 4](x, out)
    wanted = [[0, 1, 1, 2], [-2.5, -1.5, -1, -0.5], [1, 4, 9, 25], [72] * 4, [0] * 4]
    np.testing.assert_array_equal(out, wanted)
    source = pass_constants.inspect_source(pass_constants.signatures[0])
    assert "__shared__ float32 both[4];" in source
    assert "exchange_through_shared(x, out[0]);" in source
    assert "is_reversed =" not in source


def test_device_function_with_the_least_conversion_is_called():
    def sum_of_types(x, y):
        return x + y

    reals = cuda.jit(["(float32, float32)", "(float64, float64)"], device=True)(sum_of_types)
    mixed = cuda.jit(["(int64, int64)", "(float64, float64)"], device=True)(sum_of_types)
    only = cuda.jit("(int64, int64)", device=True)(sum_of_types)

    @cuda.jit
    def call_overloads(x, y, n, out):
        out[0] = reals(x, x)
        out[1] = reals(y, 2.0**-25)
        out[2] = mixed(n, y)
        out[3] = only(y + 0.5, 2.5)

    out = np.zeros(4)
    call_overloads[1, 1](np.float32(1), 1.0, np.int32(1), out)
    assert out.tolist() == [2, 1.0000000298023224, 2, 3]

    @cuda.jit
    def complex_call(z, out):
        out[0] = mixed(z, z)

    with pytest.raises(
        TypeError,
        match=r"Invalid use of type\(sum_of_types\) with parameters \(complex128, complex128",
    ):
        complex_call[1, 1](1j, out)


def test_mutually_recursive_functions_compile():
    @cuda.jit
    def store_is_even(out):
        i = cuda.threadIdx.x
        out[i] = is_even(i)

    out = np.zeros(6, np.int32)
    store_is_even[1, 6](out)
    assert out.tolist() == [1, 0, 1, 0, 1, 0]


@cuda.jit([int32(int32, int32), float32(float32, float32)], device=True)
def larger_of_two(a, b):
    if a > b:
        return a
    return b


def test_cpp_bodies_call_python_device_functions():
    @cuda.jit
    def call_larger_of_two(n, out):
        """
        out[0] = larger_of_two(n, 3);
        out[1] = larger_of_two(2.5f, 1.5f);
        """

    out = np.zeros(2, np.float32)
    call_larger_of_two[1, 1](np.int32(7), out)
    assert out.tolist() == [7, 2.5]


def test_cpp_bodies_need_signatures_of_python_functions():
    @cuda.jit
    def call_without_signature(out):
        "out[0] = scale_and_add(1);"

    with pytest.raises(TypeError, match=r"scale_and_add has a Python body.* needs signatures"):
        call_without_signature[1, 1](np.zeros(2))


def test_py_func_and_doc_are_the_functions():
    assert to_polar.py_func(3.0, 4.0) == (5.0, 0.6)

    @cuda.jit
    def documented_kernel(out):
        "A doc."
        out[0] = plus_100(len(out))

    assert (
        documented_kernel.__doc__ == "A doc."
        and documented_kernel.py_func.__name__ == "documented_kernel"
    )
    out = np.zeros(3)
    documented_kernel.py_func(out)
    assert out[0] == 103


@cuda.jit
def scale_and_offset(x, out):
    out[0] = scale_and_add(x, 4) + np.float64(OFFSET)


OFFSET = 5


def test_kernels_with_python_functions_are_pickled():
    import subprocess
    import sys

    data = pickle.dumps(scale_and_offset)
    out = np.zeros(1)
    pickle.loads(data)[1, 1](2.0, out)
    assert out[0] == 14
    program = (
        "import pickle, sys, numpy as np\n"
        "k = pickle.loads(bytes.fromhex(sys.argv[1])); out = np.zeros(1)\n"
        "k[1, 1](2.0, out); assert out[0] == 14\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program, data.hex()], check=True)


def test_rebinding_does_not_change_what_is_compiled():
    global OFFSET
    out = np.zeros(1)
    scale_and_offset[1, 1](1.0, out)
    OFFSET = 6
    scale_and_offset[1, 1](1.0, out)
    assert out[0] == 10
    scale_and_offset.recompile()
    scale_and_offset[1, 1](1.0, out)
    assert out[0] == 11
    OFFSET = 5


N = 3
WEIGHTS = np.arange(4.0)


@cuda.jit(device=True)
def multiply_by_weight(v):
    return v * WEIGHTS[N]


@cuda.jit
def write_weighted(x, out):
    i = cuda.grid(1)
    if i < x.size and i <= N:
        out[i] = multiply_by_weight(x[i]) + N


def test_generated_source_is_readable():
    x, out = np.arange(5.0), np.zeros(5)
    write_weighted[1, 8](x, out)
    (text,) = write_weighted.inspect_source().values()
    assert (
        """
__device__ double multiply_by_weight(double v) {
    return v * WEIGHTS[N];  // return v * WEIGHTS[N]
}

__global__ void write_weighted(array<const double, 1, layout::C> x, array<double, 1, layout::C> out) {
    int64 i = grid<1>();                        // i = cuda.grid(1)
    if (i < x.size() && i <= N) {               // if i < x.size and i <= N:
        out[i] = multiply_by_weight(x[i]) + N;  // out[i] = multiply_by_weight(x[i]) + N
    }
}
"""
        in text
    )
    assert (
        not re.search(r"#line|namespace f|nl_|extern", text)
        and text.count("constexpr int N = 3;") == 1
    )
    assert text == write_weighted.inspect_source(write_weighted.signatures[0])
    again = np.zeros(5)
    cuda.module(text)["write_weighted"][1, 8](x, again)
    assert (again == out).all() and out.tolist() == [3, 6, 9, 12, 0]


Point = namedtuple("Point", "x y")
RECORD = np.dtype([("m", "f4"), ("pos", "f8", (3,))])


@cuda.jit(device=True)
def clamp_to_range(v, low=0, high=10):
    return low if v < low else high if v > high else v


@cuda.jit
def with_defaults(out):
    n = 3

    def scale_and_shift(a, b=2, *, c=-1):
        return a * b + c + n

    scaled = lambda a, b=2: a * b
    out[0] = scaled(4) + scaled(1, b=5)
    out[1] = scale_and_shift(2) + scale_and_shift(2, 3, c=1)


def test_nested_functions_use_default_arguments():
    out, expected = np.zeros(2), np.zeros(2)
    with_defaults[1, 1](out)
    with_defaults.py_func(expected)
    assert out.tolist() == expected.tolist() == [13, 16]


@cuda.jit
def kernel_with_defaults(out, low=1, *, high=2.5):
    out[0] = low
    out[1] = high


@cuda.jit(device=True)
def add_all(first, *others, by=1):
    for other in others:
        first += other * by
    return first


@cuda.jit(device=True)
def sum_of_items(*items):
    total = len(items) + 0.0
    for item in literal_unroll(items):
        total += item
    return total


def test_functions_accept_variable_arguments():
    @cuda.jit
    def call_with_many(out, n):
        last = lambda *items: items[-1]
        out[0] = add_all(n, by=3, *(2,))  # noqa: B026
        out[1] = add_all(n, 2, n, by=2)
        out[2] = sum_of_items(1, 0.5, n) + sum_of_items()
        out[3] = sum_of_items(*(1.5, n), n)
        out[4] = last(n, 8)
        out[5] = greatest_item(n, 7, 3)

    out = np.zeros(6)
    call_with_many[1, 1](out, 5)
    assert out.tolist() == [11, 19, 9.5, 14.5, 8, 7]
    with pytest.raises(TranslationError, match="any number of arguments, out"):
        cuda.jit(lambda *out: None)
    named = jit(lambda a, **named: a)  # programs may define such a function if they do not call it
    with pytest.raises(TranslationError, match="any number of arguments, named"):
        named(1)

    @cuda.jit
    def add_all_wrong_types(out):
        out[0] = add_all(0.5, 1, 2.5)

    with pytest.raises(TranslationError, match=r"for x in literal_unroll"):
        add_all_wrong_types[1, 1](out)


def greatest_item(*items):
    found = items[0]
    for item in items[1:]:
        found = max(found, item)
    return found


def test_kernels_accept_default_arguments():
    out = np.zeros(2)
    for launch in (kernel_with_defaults[1, 1], kernel_with_defaults.forall(1)):
        launch(out)
        assert out.tolist() == [1, 2.5]
        launch(out, high=7)
        assert out.tolist() == [1, 7]
        launch(low=3, out=out)
        assert out.tolist() == [3, 2.5]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'out'"):
        kernel_with_defaults[1, 1](low=3)
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        kernel_with_defaults[1, 1](out, 1, 2, 3)


@cuda.jit
def call_lambda_and_clamp(p, r, x):
    square = lambda v: v * v
    for step in (-1, 0, 1):
        x[clamp_to_range(step)] += square(p.x)
    x[1] = cuda.shfl_sync(0xFFFFFFFF, x[0], 0)
    r[0].pos[1] = p.y if p.x < 0 else p.x
    x[2:] = 5


def test_generated_source_has_no_superfluous_code():
    r, x = np.zeros(1, RECORD), np.zeros(4, np.float32)
    call_lambda_and_clamp[1, 1](Point(1.5, 2), r, x)
    assert x.tolist() == [4.5, 4.5, 5, 5] and r["pos"][0, 1] == 1.5
    (text,) = call_lambda_and_clamp.inspect_source().values()
    wanted = """
    const int64 items[] = {-1, 0, 1};  // for step in (-1, 0, 1):
    for (int64 step : items) {
        x[py::wrap(clamp_to_range(step, 0LL, 10LL), x.shape[0])] += square(p.x);
    }
    x[1] = shfl_sync(0xffffffff, x[0], 0);
    r[0].pos[1] = p.x < 0 ? p.y : p.x;
    py::fill(py::view(x, py::slice(2)), 5);
}"""
    plain = re.sub(r" +//.*", "", text)
    assert re.sub(r" +//.*", "", wanted) in plain
    assert not re.search(r"NUMBALITE|static_assert|template|namespace numbalite \{", text)


@cuda.jit
def store_if_positive(out, i, value):
    if value < 0:
        return
    out[i] = value


@cuda.jit(device=True)
def recurse_with_new_types(n, t):
    return recurse_with_new_types(n - 1, (t, n)) if n > 0 else n


def test_kernels_are_called_like_device_functions():
    @cuda.jit
    def call_kernel_as_function(out):
        store_if_positive(out, 0, 5)
        store_if_positive(out, 1, -5)
        store_if_positive(out, 2, 2.5)

    out = np.zeros(3)
    call_kernel_as_function[1, 1](out)
    store_if_positive[1, 1](out, 1, 1)
    assert out.tolist() == [5, 1, 2.5]


def test_recursion_with_ever_new_types_raises():
    with pytest.raises(TypeError, match="recurse_with_new_types calls itself with ever new types"):

        @cuda.jit("void(int64[:])")
        def call_recursion(out):
            out[0] = recurse_with_new_types(out[0], 1)


@jit
def escape_time(x, y, most):
    c, z = complex(x, y), 0j
    for i in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag > 4:
            return i
    return most


@jit
def doubled_string(x):
    "return 2 * x;"


@needs_nvrtc
def test_jit_functions_compile_for_a_gpu():
    assert (
        cuda.compile(escape_time, "int64(float64, float64, int64)", device=True)[1] == types.int64
    )


def test_jit_functions_become_kernels_and_device_functions():
    escape_gpu = cuda.jit(device=True)(escape_time)
    typed = cuda.jit("int64(float64, float64, int64)", device=True)(escape_time)
    of_source = cuda.jit(device=True)(jit(source="double f(double x) { return 3 * x; }"))
    of_string = cuda.jit(device=True)(doubled_string)
    assert escape_gpu.py_func is escape_time.py_func

    @cuda.jit
    def call_jit_functions(x, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            out[i, 0] = escape_gpu(x[i, 0], x[i, 1], 50)
            out[i, 1] = typed(x[i, 0], x[i, 1], 50)
            out[i, 2] = of_string(of_source(x[i, 0]))

    x = random_generator().uniform(-1, 1, (20, 2))
    out = np.zeros((20, 3))
    call_jit_functions[1, 32](x, out)
    wanted = [escape_time.py_func(a, b, 50) for a, b in x]
    np.testing.assert_array_equal(out[:, 0], wanted)
    np.testing.assert_array_equal(out[:, 1], wanted)
    np.testing.assert_allclose(out[:, 2], 6 * x[:, 0])

    @jit
    def fill(out):
        for i in range(out.size):
            out[i] = i

    out = np.zeros(3)
    cuda.jit(fill)[1, 1](out)
    np.testing.assert_array_equal(out, [0, 1, 2])
    with pytest.raises(TypeError, match="made of a source"):
        cuda.jit(jit(source="double f(double x) { return 3 * x; }"))
    with pytest.raises(TypeError, match=r"cuda\.jit"):
        jit(target="cuda")(fill.py_func)
