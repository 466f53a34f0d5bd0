"""Tests jit: string functions on the CPU, on scalars and arrays."""

import collections
import contextlib
import inspect
import math
import pickle
import threading
import time
import warnings

import numpy as np
import pytest
from kit.lines import line_numbers_of

import numbalite
from numbalite import (
    _core,
    cuda,
    errors,
    float32,
    float64,
    int32,
    int64,
    jit,
    njit,
    types,
    vectorize,
    void,
)

SCALE = 2.5
TABLE = np.array([10, 20, 30, 40], np.int32)


@jit("float64(float64, float64)")
def hypot(x, y):
    "return sqrt(x * x + y * y);"


@jit
def identity(x):
    "return x;"


@jit
def monte_carlo_pi(n):
    """
    int64 inside = 0;
    for (int64 i = 0; i < n; ++i) {
        double x = random_uniform(), y = random_uniform();
        inside += x * x + y * y < 1;
    }
    return 4.0 * inside / n;
    """


@jit
def total(x):
    """
    double sum = 0;
    for (int64 i = 0; i < x.size(); ++i) sum += x[i];
    return sum;
    """


@jit
def number_cells(a):
    """
    int64 n = 0;
    for (int64 i = 0; i < a.shape[0]; ++i)
        for (int64 j = 0; j < a.shape[1]; ++j) a(i, j) = ++n;
    return n;
    """


@jit
def split_number(x):
    "return make_tuple(x / 2, x > 3, 2.5f);"


@jit("void(float32[:], float32)")
def scale(x, factor):
    "for (int64 i = 0; i < x.size(); ++i) x[i] *= factor;"


@jit("int32(int32)")
def narrow_to_int32(n):
    "return n;"


# --- calls and results -------------------------------------------------------------------------------


def test_jit_with_signature_converts_arguments():
    result = hypot(3.0, 4.0)
    assert result == 5.0 and type(result) is float
    assert hypot(3, 4) == 5.0  # ints go into float64
    assert hypot(np.float32(3), np.int8(4)) == 5.0
    assert hypot(True, 0) == 1.0
    assert hypot(x=3.0, y=4.0) == hypot(3.0, y=4.0) == 5.0
    assert hypot.signatures == [(float64, float64)]


@pytest.mark.parametrize(
    "value",
    [0, -7, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, -0.0, math.inf, True, False, 1 + 2j],
    ids=repr,
)
def test_python_scalars_are_returned_unchanged(value):
    result = identity(value)
    assert result == value and type(result) is type(value)


@pytest.mark.parametrize(
    "dtype",
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128".split(),
)
def test_numpy_scalars_are_accepted(dtype):
    value = np.dtype(dtype).type(1)
    result = identity(value)
    assert result == 1 and type(result) is type(value.item())
    assert (types.scalar(dtype),) in identity.overloads


def test_nan_is_passed_unchanged():
    assert math.isnan(identity(math.nan))


def test_return_values_become_python_objects():
    assert split_number(5.0) == (2.5, True, 2.5)
    assert [type(item) for item in split_number(4)] == [int, bool, float]
    assert scale(np.ones(1, np.float32), 2) is None


def test_a_declared_result_is_converted():
    @jit(["float32(float64)", "int64(int64)"])
    def third(x):
        "return x / 3.0;"

    assert third(1.0) == float(np.float32(1 / 3))
    result = third(7)
    assert result == 2 and type(result) is int


def test_declared_tuple_is_returned():
    @jit("Tuple((int32, float64))(float64)")
    def int_and_float(x):
        "return {(int)x, x};"

    assert int_and_float(2.5) == (2, 2.5)


def test_tuples_are_accepted_as_arguments():
    Scaled = collections.namedtuple("Scaled", "factor values")

    @jit
    def total(scaled, more):
        """
        double sum = get<0>(more) + get<0>(get<1>(more));
        for (int64 i = 0; i < scaled.values.size(); ++i)
            sum += scaled.factor * scaled.values[i];
        scaled.values[0] = 7;
        return sum;
        """

    x = np.arange(8.0)
    assert total(Scaled(2, x[::2]), (0.5, (100, True))) == 24 + 100.5
    assert x[0] == 7

    class ObjectWithFloat:
        """Converting this argument to a float replaces the array's memory, so arrays are read after
        the conversion."""

        def __float__(self):
            y.resize(100000, refcheck=False)
            return 3.0

    @jit("float64(Tuple((float64[:], float64)))")
    def product(t):
        "return get<0>(t)[0] * get<1>(t);"

    y = np.full(2, 5.0)
    assert product((y, ObjectWithFloat())) == 15


def test_lists_are_accepted_for_tuple_parameters():
    @jit("float64(UniTuple(float64, 3))")
    def sum3(t):
        "return get<0>(t) + get<1>(t) + get<2>(t);"

    class ObjectWithFloat:
        def __float__(self):
            values.clear()
            return 3.0

    assert sum3([1, 2, 3.5]) == 6.5
    values = [1, ObjectWithFloat(), 5.0]  # changed while it is read
    with contextlib.suppress(TypeError):
        assert sum3(values) == 9
    for wrong in [1, 2], [1, 2, "a"], [1, 2, [3]], {1, 2, 3}:
        with pytest.raises(TypeError, match=r"parameter 1 't"):
            sum3(wrong)


def test_body_may_be_an_expression_without_arguments():
    @jit("int64()")
    def forty_two():
        "42"

    assert forty_two() == 42
    with pytest.raises(
        TypeError, match=r"forty_two\(\) takes 0 positional arguments but 1 was given"
    ):
        forty_two(1)


def test_each_argument_type_compiles_an_overload():
    @jit
    def twice(x):
        "return x + x;"

    assert twice.signatures == []
    assert type(twice(2)) is int and type(twice(2.0)) is float
    assert twice(2.5) == 5.0 and twice(3) == 6
    assert twice.signatures == [(int64,), (float64,)]
    assert set(twice.inspect_source()) == {(int64,), (float64,)}
    assert [str(s) for s in twice.nopython_signatures]
    twice.compile("(float32,)")
    assert (float32,) in twice.overloads


def test_best_matching_signature_is_called():
    @jit(["float32(float32)", "float64(float64)", "int64(int64)"])
    def size_of_argument(x):
        "return sizeof(x);"

    assert (
        size_of_argument(np.float32(1)) == 4.0
        and size_of_argument(1.0) == 8.0
        and size_of_argument(1) == 8
    )
    assert (
        type(size_of_argument(np.int16(1))) is int
    )  # int16 is passed as int64 without a change of kind
    assert type(size_of_argument(np.float16(1))) is float and size_of_argument(np.float16(1)) == 4.0
    with pytest.raises(
        TypeError,
        match=r"no signature of size_of_argument takes size_of_argument\(complex128\); it has",
    ):
        size_of_argument(1j)
    with pytest.raises(RuntimeError, match="accepts no new signature"):
        size_of_argument.compile("int8(int8)")


# --- arrays ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.zeros((3, 4)),
        lambda: np.zeros((3, 4), order="F"),
        lambda: np.zeros((6, 8))[::2, ::2],
        lambda: np.zeros((3, 4))[::-1, ::-1],
        lambda: np.zeros((4, 3)).T[:, 1:],
        lambda: np.zeros((3, 4), np.float32),
        lambda: np.zeros((3, 4), np.int16),
        lambda: np.zeros((0, 4)),
        lambda: np.zeros((3, 0)),
    ],
    ids=[
        "C",
        "F",
        "strided",
        "negative",
        "transposed",
        "float32",
        "int16",
        "no-rows",
        "no-columns",
    ],
)
def test_arrays_are_modified_in_place(make):
    a = make()
    expected = np.arange(1, a.size + 1).reshape(a.shape)
    assert number_cells(a) == a.size
    np.testing.assert_array_equal(a, expected)


def test_each_layout_compiles_an_overload():
    base = np.zeros((4, 6))
    for a in (base, base.T, base[::2], np.zeros((4, 6))[:, :1]):
        number_cells(a)
    layouts = {args[0].layout for args in number_cells.signatures if args[0].dtype is float64}
    assert layouts == {"C", "F", "A"}


@pytest.mark.parametrize("dtype", ["float16", "complex64", "complex128", "bool", "uint8", "int64"])
def test_arrays_of_every_dtype_are_copied(dtype):
    @jit
    def copy(x, y):
        "for (int64 i = 0; i < x.size(); ++i) y[i] = x[i];"

    x = np.array([0, 1, 1, 0, 1], dtype)
    y = np.empty_like(x)
    copy(x, y)
    np.testing.assert_array_equal(x, y)


def test_structured_arrays_are_accepted_as_arguments():
    dtype = np.dtype([("n", "i4"), ("x", "f8")])

    @jit
    def increment_fields(r):
        "for (int64 i = 0; i < r.size(); ++i) { r[i].n += 1; r[i].x *= 2; }"

    r = np.array([(1, 2.0), (3, 4.0)], dtype)
    increment_fields(r)
    assert r.tolist() == [(2, 4.0), (4, 8.0)]


def test_zero_dimensional_arrays_are_passed_as_scalars():
    assert identity(np.array(2.5)) == 2.5
    assert total(np.float32([1, 2, 3.5])) == 6.5
    assert total(np.zeros(0)) == 0


def test_dates_and_times_are_int64():
    dates = np.array(["2020-01-01", "2020-03-01"], "M8[D]")
    later = jit(
        source="for (int64 i = 0; i < x.size(); ++i) x[i] += by; return x[0];", args="x, by"
    )
    assert later(dates, np.timedelta64(2, "D")) == 18264
    assert dates[0] == np.datetime64("2020-01-03")
    assert later.nopython_signatures[0].args[1] == numbalite.types.NPTimedelta("D")


def test_read_only_arrays_are_accepted_for_const_parameters():
    fixed = np.arange(4.0)
    fixed.flags.writeable = False
    assert total(fixed) == 6.0
    assert any(args[0].readonly for args in total.signatures)
    assert total(np.broadcast_to(np.float64(2.0), 5)) == 10.0
    with pytest.raises(errors.CompileError, match="hint: a cannot be written: the array given is"):
        number_cells(np.broadcast_to(1.0, (2, 2)))

    with pytest.raises(
        ValueError, match=r"scale\(\): parameter 1 'x'.*read-only: pass a copy, or d"
    ):
        scale(np.broadcast_to(np.float32(1), 3), 2)

    @jit("float64(const float64[:])")
    def first_element(x):
        "return x[0];"

    assert first_element(fixed) == 0.0 and first_element(np.ones(1)) == 1.0


def test_pointer_and_record_parameters_accept_arrays():
    @jit("float64(CPointer(float64), int64)")
    def last_element(p, n):
        "return p[n - 1];"

    assert last_element(np.arange(6.0).reshape(2, 3), 6) == 5
    with pytest.raises(TypeError, match="not C-contiguous"):
        last_element(np.arange(6.0)[::2], 3)

    @jit
    def norm(r):
        "return r.n + r.x;"

    dtype = np.dtype([("n", "i4"), ("x", "f8")])
    assert norm(np.array((1, 2.5), dtype)[()]) == 3.5
    assert norm(np.array([(1, 2.5)], dtype)[0]) == 3.5


def test_ndarray_subclasses_are_accepted():
    class ArraySubclass(np.ndarray):
        pass

    assert total(np.arange(3.0).view(ArraySubclass)) == 3.0


# --- what is around the function ---------------------------------------------------------------------


def test_constants_and_arrays_are_captured():
    offset = np.float32(0.5)

    @jit
    def use_captured_values(i):
        "return SCALE * TABLE[i] + offset;"

    assert use_captured_values(2) == 75.5


def test_rebound_globals_are_read_at_recompilation():
    namespace = {"jit": jit, "K": 1}
    code = '@jit\ndef f(x):\n    "return x + K;"\n'
    exec(compile(code, "<k>", "exec"), namespace)
    f = namespace["f"]
    assert f(1) == 2
    namespace["K"] = 10
    assert f(1) == 2
    f.recompile()
    assert f(1) == 11


@jit
def fibonacci(n):
    """
    if (n < 2) return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
    """


def test_recursive_functions_are_compiled_and_pickled():
    assert fibonacci(20) == 6765
    assert pickle.loads(pickle.dumps(fibonacci))(10) == 55


def test_host_functions_call_device_functions_and_each_other():
    @cuda.jit(device=True)
    def square(x):
        "return x * x;"

    @jit
    def plus_square(x, y):
        "return x + square(y);"

    @jit("float64(float64)")
    def sum_of_calls(x):
        "return hypot(3.0, 4.0) + plus_square(x, 2.0);"

    assert sum_of_calls(1.0) == 10.0


def test_kernels_call_host_functions():
    @cuda.jit
    def hypot_kernel(x):
        """
        int i = grid<1>();
        if (i < x.size()) x[i] = hypot(x[i], 0.0) + identity(1);
        """

    x = cuda.to_device(np.arange(4.0))
    hypot_kernel[1, 4](x)
    np.testing.assert_array_equal(x.copy_to_host(), [1, 2, 3, 4])


@pytest.mark.parametrize("target", ["cpu", "parallel", "cuda"])
def test_ufuncs_call_host_functions(target):
    @vectorize(["float64(float64, float64)"], target=target)
    def distance(x, y):
        "return hypot(x, y) + identity(y);"

    np.testing.assert_array_equal(distance(np.array([3.0, 0.0]), 4.0), [9.0, 8.0])
    assert vectorize(target=target)(identity)(np.float32(2)) == 2


def test_ufuncs_draw_seeded_random_numbers():
    @vectorize(["float64(float64)"])
    def add_noise(x):
        "return x + random_uniform();"

    numbalite.seed(1)
    first = add_noise(np.zeros(10))
    numbalite.seed(1)
    np.testing.assert_array_equal(add_noise(np.zeros(10)), first)
    assert len(set(first)) == 10


def test_jit_compiles_device_functions_for_the_cpu():
    @cuda.jit(device=True)
    def square(x):
        "return x * x;"

    assert jit(square)(3) == 9


def test_jit_compiles_cpp_sources():
    f = jit(source="template <class T> T add(T x, T y) { return x + y; }")
    assert f(1, 2) == 3 and f(1.5, 2.0) == 3.5 and f.__name__ == "add"
    assert jit("int twice(int x) { return 2 * x; }")(4) == 8
    g = jit(
        source="""
        static int helper(int x) { return x * 2; }
        int doubled(int x) { return helper(x); }
        float doubled(float x) { return x * 2; }
        int unused(int x) { return x; }
        """,
        name="doubled",
    )
    assert type(g(np.float32(1.5))) is float and g(np.int32(3)) == 6
    h = jit("float64(int64)", source="double half(double x) { return x / 2; }")
    assert h(3) == 1.5
    e = jit(source="x * y + SCALE", args="x, y")
    assert e(2, 3) == 8.5
    assert inspect.signature(e).parameters.keys() == {"x", "y"}
    with pytest.raises(TypeError, match=r"half\(\): parameter 1 'x'"):
        h("x")


def test_library_types_and_functions_work_on_the_cpu():
    @jit
    def half_and_complex(x):
        """
        float16 h = 1.5f;
        complex<double> z(x, 1.0);
        auto [a, b] = make_tuple(x, 2.0);
        int64 big = INT64_MAX;
        return (double)h + abs(z * conj(z)) + a + b + M_PI + (big > 0) + min(x, 1.0);
        """

    assert half_and_complex(2.0) == pytest.approx(1.5 + 5 + 2 + 2 + math.pi + 1 + 1)


# --- random numbers ------------------------------------------------------------------------------------


def test_monte_carlo_estimates_pi():
    assert monte_carlo_pi(1_000_000) == pytest.approx(math.pi, abs=0.02)


def test_same_seed_draws_equal_numbers():
    @jit
    def draw_uniform(out):
        "for (int64 i = 0; i < out.size(); ++i) out[i] = random_uniform();"

    a, b, c = np.zeros(100), np.zeros(100), np.zeros(100)
    numbalite.seed(7)
    draw_uniform(a)
    draw_uniform(c)
    numbalite.seed(7)
    draw_uniform(b)
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    assert (0 <= a).all() and (a < 1).all() and 0.35 < a.mean() < 0.65

    @jit
    def seeded_uniform(n):
        "random_seed(n); return random_uniform();"

    assert seeded_uniform(7) == a[0] == seeded_uniform(7)
    drawn = []

    def draw_in_another_thread():
        draw_uniform(c)
        drawn.append(c[0])

    thread = threading.Thread(target=draw_in_another_thread)
    thread.start()
    thread.join()
    assert drawn[0] not in a


def test_xoroshiro_draws_numbas_sequence():
    @jit
    def draw_two_of_a_state(seed):
        """
        xoroshiro128p_state state;
        init_xoroshiro128p_state(state, seed);
        double first = xoroshiro128p_uniform_float64(state);
        return make_tuple(first, xoroshiro128p_uniform_float64(state));
        """

    @jit
    def draw_two(seed):
        "random_seed(seed); double first = random_uniform(); return make_tuple(first, random_uniform());"

    assert draw_two_of_a_state(1) == draw_two(1)


def test_normal_and_uniform_have_expected_moments():
    @jit
    def moments(n):
        """
        double sum = 0, squares = 0, low = 1e9;
        for (int64 i = 0; i < n; ++i) {
            double x = random_normal(10, 2);
            sum += x, squares += x * x, low = min(low, random_uniform(5, 6));
        }
        return make_tuple(sum / n, squares / n, low);
        """

    numbalite.seed(3)
    mean, square, low = moments(200_000)
    assert mean == pytest.approx(10, abs=0.05)
    assert math.sqrt(square - mean**2) == pytest.approx(2, abs=0.05)
    assert 5 <= low < 5.01


def test_random_functions_in_kernels_raise_with_an_alternative():
    @cuda.jit
    def random_kernel(x):
        "x[0] = random_uniform();"

    with pytest.raises(errors.CompileError, match="random_uniform is for functions on the CPU"):
        random_kernel[1, 1](np.zeros(1))


# --- options ---------------------------------------------------------------------------------------------


def test_numbas_options_are_accepted():
    @njit(cache=True, nogil=True, fastmath=True, inline="always", error_model="numpy")
    def add_one(x):
        "return x + 1;"

    assert add_one(1) == 2
    assert add_one.targetoptions["fastmath"]
    assert jit(nopython=True)(add_one.py_func)(1) == 2
    assert njit is jit


def test_unknown_options_raise_with_a_suggestion():
    with pytest.raises(
        TypeError, match=r"jit\(\) has no option 'fastmaths'; did you mean fastmath="
    ):
        jit(fastmaths=True)
    with pytest.raises(TypeError, match="no object mode"):
        jit(forceobj=True)
    with pytest.raises(TypeError, match="has no option 'device'"):
        jit(device=True)
    with pytest.raises(TypeError, match="require source="):
        jit(name="f")
    with pytest.raises(ValueError, match="error_model"):
        jit(error_model="rust")


def test_fastmath_sum_is_accurate():
    fast = jit(fastmath=True)(total.py_func)
    x = np.random.default_rng(1).random(100_001)
    assert fast(x) == pytest.approx(x.sum(), rel=1e-12)


def test_parallel_for_computes_each_iteration():
    @jit(parallel=True)
    def squares(y):
        "parallel_for(y.size(), [&](int64 i) { y[i] = (double)i * i; });"

    y = np.zeros(10_000)
    squares(y)
    np.testing.assert_array_equal(y, np.arange(10_000.0) ** 2)
    squares(np.zeros(0))
    serial = jit(parallel=False)(squares.py_func)
    y[:] = 0
    serial(y)
    np.testing.assert_array_equal(y, np.arange(10_000.0) ** 2)


def test_parallel_without_a_parallel_loop_warns():
    with pytest.warns(errors.PerformanceWarning, match="write parallel_for"):

        @jit("int64(int64)", parallel=True)
        def identity_parallel(x):
            "return x;"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert identity_parallel(1) == 1


def test_out_of_bounds_index_raises():
    @jit(debug=True)
    def element_at(table, i):
        """
        // the line below
        return table[i];    // HERE checked
        """

    table = np.arange(10)
    assert element_at(table, 9) == 9
    for kind in (IndexError, errors.KernelError):
        with pytest.raises(kind, match="element_at: table: index 10 is out of bounds") as caught:
            element_at(table, 10)
    found = caught.value
    assert (found.kind, found.array, found.index) == ("memory", "table", 10)
    assert (
        caught.value.line in line_numbers_of("// HERE checked", __file__)
        and caught.value.kernel == "element_at"
    )
    with pytest.raises(IndexError, match="index -1"):
        element_at(table, -1)
    assert element_at(table, 0) == 0
    checked = jit(boundscheck=True)(element_at.py_func)
    assert checked(table, 3) == 3 and checked.targetoptions["boundscheck"]
    with pytest.raises(errors.BoundsError, match="index 10"):
        checked(table, 10)


def test_out_of_bounds_index_in_parallel_for_raises():
    @jit(debug=True, parallel=True)
    def write_past_end(y):
        "parallel_for(y.size() + 1, [&](int64 i) { y[i] = 1; });"

    with pytest.raises(IndexError, match="index 50 is out of bounds"):
        write_past_end(np.zeros(50))


def test_failed_assert_raises():
    @jit("int64(int64)")
    def require_positive(n):
        "assert(n > 0); return n;"

    assert require_positive(1) == 1
    with pytest.raises(
        errors.KernelError, match=r"require_positive: Assertion `n > 0` failed"
    ) as caught:
        require_positive(0)
    assert not isinstance(caught.value, IndexError)
    assert require_positive(2) == 2


# --- objects ------------------------------------------------------------------------------------------------


def test_jit_function_has_the_functions_attributes():
    assert hypot.__name__ == "hypot" and hypot.__module__ == __name__
    assert "sqrt" in hypot.__doc__ and hypot.py_func.__name__ == "hypot"
    assert list(inspect.signature(hypot).parameters) == ["x", "y"]
    assert "hypot" in repr(hypot) and "float64" in repr(hypot)
    text = hypot.inspect_source("(float64, float64)")
    assert 'test_cpu_jit.py"' in text and hypot.inspect_source() == {(float64, float64): text}
    assert [str(s) for s in hypot.nopython_signatures] == ["float64(float64, float64)"]
    split_number(1)
    assert "Tuple" in str(split_number.overloads[(int64,)].signature)
    scale(np.ones(1, np.float32), 1)
    assert scale.nopython_signatures[0].return_type is void
    with pytest.raises(NotImplementedError):
        hypot.inspect_llvm()
    with pytest.raises(KeyError):
        identity.inspect_source("(int8[:],)")


def test_types_tuples_and_lists_are_signatures():
    @jit(float64(float32, int32))
    def add_with_types(x, y):
        "return x + y;"

    @jit((float32, int32))
    def add_with_tuple(x, y):
        "return x + y;"

    @jit([void(float32[:]), void(float64[:])])
    def store_with_list(x):
        "x[0] = 1;"

    assert add_with_types(1, 2) == add_with_tuple(1, 2) == 3.0
    x = np.zeros(1, np.float32)
    store_with_list(x)
    assert x[0] == 1


def test_jit_functions_are_pickled():
    local = np.float32(3)

    @jit("float32(float32)")
    def multiply_float32(x):
        "return x * local;"

    @jit(fastmath=True)
    def add_local(x):
        "return multiply_float32(x) + local;"

    again = pickle.loads(pickle.dumps(multiply_float32))
    assert again(2) == 6.0 and again.signatures == multiply_float32.signatures
    again = pickle.loads(pickle.dumps(add_local))
    assert again(2) == 9.0 and again.targetoptions["fastmath"]
    by_source = pickle.loads(pickle.dumps(jit(source="int f(int x) { return -x; }")))
    assert by_source(1) == -1


def test_pickled_for_another_process(run_python, tmp_path):
    path = tmp_path / "hypot.pickle"
    path.write_bytes(pickle.dumps(hypot))
    code = "import pickle, sys; print(pickle.load(open(sys.argv[1], 'rb'))(3.0, 4.0))"
    assert run_python(code, path).stdout.split() == ["5.0"]


def test_nogil_releases_the_interpreter_lock():
    @jit
    def wait_for_flag(flag):
        """
        volatile int64 *p = flag.data();
        for (int64 i = 0; i < 20000000000; ++i)
            if (*p) return true;
        return false;
        """

    flag = np.zeros(1, np.int64)
    wait_for_flag(np.ones(1, np.int64))  # compiled
    seen = []
    thread = threading.Thread(target=lambda: seen.append(wait_for_flag(flag)))
    thread.start()
    time.sleep(0.05)
    flag[0] = 1  # possible only while the other thread is in C++
    thread.join(30)
    assert seen == [True]


def test_nogil_false_keeps_the_interpreter_lock():
    kept = jit("float64(float64, float64)", nogil=False)(hypot.py_func)
    assert kept(3.0, 4.0) == 5.0 and not kept.targetoptions["nogil"]
    assert not pickle.loads(pickle.dumps(kept)).targetoptions["nogil"]

    def call_repeatedly():
        results.append([kept(3.0, 4.0) for _ in range(2000)])

    results = []
    threads = [threading.Thread(target=call_repeatedly) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[5.0] * 2000] * 4


def test_many_threads_compile_once_and_agree():
    @jit
    def cube(x):
        "return x * x * x;"

    results = []

    def call_with_three_types():
        for value in (2, 2.0, np.float32(2)):
            for _ in range(50):
                results.append(cube(value))

    threads = [threading.Thread(target=call_with_three_types) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8 * 150 and set(results) == {8}
    assert len(cube.signatures) == 3


def test_jit_functions_work_as_static_methods():
    class ClassWithStaticMethod:
        norm = staticmethod(hypot)

    assert ClassWithStaticMethod.norm(3.0, 4.0) == 5.0


@pytest.mark.leaks
def test_jit_functions_leak_nothing():
    @jit("float64(float64)")
    def unreferenced_identity(x):
        "return x;"

    assert unreferenced_identity(1.0) == 1.0
    with pytest.raises(TypeError):
        unreferenced_identity(None)


def test_failed_host_allocation_raises_memory_error():
    names = ", ".join(f"a{i}" for i in range(30))
    f = jit(source=" + ".join(f"a{i}(0, 0)" for i in range(30)), args=names)
    arrays = [np.ones((2, 2))] * 30
    assert f(*arrays) == 30
    result, n = None, 0
    while result is None and n < 200:
        f._clear()
        n += 1
        _core.fail_alloc_at(n)
        try:
            result = f(*arrays)
        except MemoryError:
            pass
        finally:
            _core.fail_alloc_at(0)
    assert result == 30 and n > 2
    assert f(*arrays) == 30


def test_more_than_64_parameters_raise():
    names = [f"p{i}" for i in range(64)]
    f = jit(source=" + ".join(names), args=", ".join(names))
    assert f(*range(64)) == sum(range(64))
    names.append("p64")
    with pytest.raises(TypeError, match="64 are possible"):
        jit(source="1", args=", ".join(names))


def test_twenty_array_arguments_are_accepted():
    names = [f"a{i}" for i in range(20)]
    f = jit(source=" + ".join(f"{n}(0, 0, 0)" for n in names), args=", ".join(names))
    arrays = [np.full((2, 2, 2), float(i)) for i in range(20)]
    assert f(*arrays) == sum(range(20))
