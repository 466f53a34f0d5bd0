"""Tests constructs of programs for numba: each computes the same as Python."""

import linecache
import os
import random
from operator import floordiv, mod

import numpy as np
import pytest
from kit.sample import VARIABLE, draw_cases

from numbalite import cuda, jit, njit, vectorize
from numbalite.errors import TranslationError


@pytest.fixture
def seeded_random():
    return random.Random(f"{os.environ.get(VARIABLE)}")


def test_finfo_and_iinfo_match_numpy():
    @njit
    def float_and_int_limits(x, n):
        f, i = np.finfo(np.float32), np.iinfo(np.int16)
        return f.eps, f.max, f.tiny, i.min, i.max, np.finfo(x).eps, np.iinfo(n).max

    assert float_and_int_limits(1.0, 1) == float_and_int_limits.py_func(np.float64(1), np.int64(1))

    @cuda.jit
    def store_limits(x):
        x[0] = np.finfo(x.dtype).eps
        x[1] = np.finfo(np.float64).max if x.dtype == np.float64 else 1

    for dtype in (np.float32, np.float64, np.float16):
        x = np.zeros(2, dtype)
        store_limits[1, 1](x)
        assert x[0] == np.finfo(dtype).eps
    with pytest.raises(TranslationError, match="finfo"):
        njit(lambda: np.finfo(np.int32).eps)()


def test_any_all_and_len_match_python(seeded_random):
    @njit
    def any_and_all_of_values(a, b, c, x):
        return any((a > 0, b, c != 2)), all((a, b > 0, c)), any(()), all(()), any(x), all(x)

    for _ in range(30):
        a, b, c = (seeded_random.randrange(-1, 3) for _ in range(3))
        x = np.array([seeded_random.randrange(2) for _ in range(2)])
        assert any_and_all_of_values(a, b, c, x) == any_and_all_of_values.py_func(a, b, c, x)

    @njit
    def range_lengths(a, b, c):
        return len(range(a)), len(range(a, b)), len(range(a, b, c)), len(range(5))

    for _ in range(30):
        a, b = seeded_random.randrange(-9, 9), seeded_random.randrange(-9, 9)
        c = seeded_random.choice([-3, -2, -1, 1, 2, 3])
        assert range_lengths(a, b, c) == range_lengths.py_func(a, b, c)


@pytest.mark.parametrize("dtype", [np.int32, np.float32, np.float64, np.complex64])
def test_a_tuple_is_stored_into_a_slice(assert_as_python, seeded_random, dtype):
    @cuda.jit
    def store_tuples(a, x, y):
        a[:] = (x, 2, y)
        a[::-2] = (y, x)
        a[1:2] = (5,)

    assert_as_python(
        store_tuples, np.zeros(3, dtype), seeded_random.randrange(9), seeded_random.randrange(9)
    )

    @cuda.jit(debug=True)
    def store_wrong_length(a):
        a[:] = (1, 2)

    with pytest.raises(ValueError, match="different size"):
        store_wrong_length[1, 1](np.zeros(3))


DTYPES = "?bBhHiIlLefdFD"


@pytest.mark.parametrize("target", DTYPES)
def test_arrays_of_every_dtype_are_stored_into_a_slice(assert_as_python, seeded_random, target):
    @cuda.jit
    def store_array(a, b):
        a[:] = b

    a = np.zeros(3, target)
    for source in draw_cases(3, DTYPES, of=f"stored {target}"):
        b = np.array([seeded_random.randrange(2), seeded_random.randrange(99), 5]).astype(source)
        if b.dtype.kind == "c" and a.dtype.kind != "c":
            with pytest.raises(TranslationError, match=f"{b.dtype} do not fit into .* {a.dtype}"):
                store_array[1, 1](a, b)
        else:
            assert_as_python(store_array, a, b)


def test_lambdas_on_one_line_are_distinguished():
    def lambdas_on_one_line(a):
        return (
            (lambda x: x * a),
            (lambda x: x + a),
            (lambda x: x * a),
            lambda x: (lambda y: y - 1)(x),
        )

    f, g = (lambda x: 3 * x), (lambda x: 3 * x)
    assert njit(f)(2) == njit(g)(2) == 6
    assert [njit(h)(7) for h in lambdas_on_one_line(5)] == [35, 12, 35, 6]


def test_redefined_functions_call_their_predecessors():
    def plus_one(x):
        return x + 1

    inner = plus_one

    def double_of_inner(x):
        return 2 * inner(x)

    middle = cuda.jit(device=True)(double_of_inner)

    def sum_of_previous(x):
        return middle(x) + inner(x)

    assert njit(sum_of_previous)(10) == 33
    outer = cuda.jit(device=True)(sum_of_previous)

    @cuda.jit
    def call_previous_functions(x):
        x[0] = outer(x[0]) + inner(x[0])

    x = np.array([10])
    call_previous_functions[1, 1](x)
    assert x[0] == 44


def test_cpu_function_messages_do_not_mention_kernels():
    """Messages about jit functions mention neither kernels nor threads."""

    def make_zeros(n):
        return np.zeros(n)

    def list_of_successors(n):
        return [i + 1 for i in range(n)]

    def doubled(x):
        return x * 2

    def dot(x):
        return np.dot(x, x)

    def fill_attribute(x):
        x.fill(3)

    def open_file(x):
        return open(x)

    def make_dictionary(x):
        return {1: x}

    def try_except(x):
        try:
            return x
        except ValueError:
            return x

    def random_choice(x):
        return np.random.choice(x)

    def format_value(x):
        return f"{x}"

    def call_getcwd(x):
        return os.getcwd(x)

    for function in (
        make_zeros,
        list_of_successors,
        doubled,
        dot,
        fill_attribute,
        open_file,
        make_dictionary,
        try_except,
        random_choice,
        format_value,
        call_getcwd,
    ):
        with pytest.raises(TranslationError) as raised:
            jit(function)(np.ones(3))
        said = str(raised.value).lower()
        lines = [line for line in said.split("\n") if not line.startswith("    ")]
        assert not any(word in line for word in ("kernel", "thread", "cuda.") for line in lines), (
            said
        )


def test_division_by_powers_of_two_rounds_down(assert_as_python, seeded_random):
    """Division by a power of two becomes a shift, the remainder a mask: shift and mask round down as Python
    does."""
    powers = [1, 2, 4, 64, 2**31, 2**40, 2**62]
    lines = "".join(
        f"        out[i, {2 * k}], out[i, {2 * k + 1}] = a // {p}, a % {p}\n"
        for k, p in enumerate(powers)
    )
    text = f"def kernel(x, out):\n    for i in range(x.size):\n        a = x[i]\n{lines}"
    scope = {}
    name = "<powers of two>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)
    kernel = cuda.jit(scope["kernel"])
    for dtype in (np.int8, np.int16, np.int32, np.int64, np.uint8):
        limits = np.iinfo(dtype)
        x = [
            limits.min,
            limits.max,
            0,
            *(seeded_random.randint(int(limits.min), int(limits.max)) for _ in range(30)),
        ]
        out = np.zeros((len(x), 2 * len(powers)), np.int64)
        kernel[1, 1](np.array(x, dtype), out)
        np.testing.assert_array_equal(
            out, [[f(a, p) for p in powers for f in (floordiv, mod)] for a in x]
        )
        assert "floor" not in kernel.inspect_source()[kernel.signatures[-1]]


def test_functions_on_the_cpu_round_as_python_does(seeded_random):
    """No product is contracted with a sum, unless fastmath allows it."""

    def polynomial(x, y):
        return (x * y + y) * x - x * x * y

    compiled, ufunc = njit(polynomial), vectorize(["float64(float64, float64)"])(polynomial)
    x, y = (np.array([seeded_random.uniform(-1, 1) for _ in range(200)]) for _ in range(2))
    wanted = [polynomial(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert [compiled(a, b) for a, b in zip(x, y, strict=True)] == wanted
    assert ufunc(x, y).tolist() == wanted

    @njit
    def squares(x):
        total = 0.0
        for i in range(x.size):
            total += x[i] * x[i]
        return total

    assert squares(x) == squares.py_func(x)


def test_python_ufuncs_support_reductions(seeded_random):
    @vectorize(["float64(float64, float64)", "int64(int64, int64)"])
    def larger_of_two(a, b):
        return a if a > b else b

    @vectorize
    def plus_ufunc(a, b):
        return a + b

    @vectorize(["float64(float64, float64)"], target="cuda")
    def times_ufunc(a, b):
        "return a * b;"

    @njit
    def reduce_by_user_ufuncs(x):
        return (
            larger_of_two.reduce(x),
            plus_ufunc.reduce(x),
            times_ufunc.reduce(x),
            larger_of_two(x[0], x[1]),
            plus_ufunc(1, 2),
        )

    @njit
    def reduce_by_numpy_ufuncs(x):
        return np.add.reduce(x), np.multiply.reduce(x), np.maximum.reduce(x), np.minimum.reduce(x)

    for dtype in (np.int64, np.float64):
        x = np.array(
            [seeded_random.randrange(-5, 6) for _ in range(seeded_random.randrange(2, 9))], dtype
        )
        found = reduce_by_user_ufuncs(x)
        assert found == (x.max(), x.sum(), x.prod(), max(x[0], x[1]), 3)
        assert isinstance(found[0], int if dtype == np.int64 else float)
        assert isinstance(found[2], float)
        assert reduce_by_numpy_ufuncs(x) == (x.sum(), x.prod(), x.max(), x.min())

    @cuda.jit
    def reduce_in_kernel(x, out):
        out[0] = larger_of_two.reduce(x) + times_ufunc(x[0], x[1])

    out = np.zeros(1)
    reduce_in_kernel[1, 1](x, out)
    assert out[0] == x.max() + x[0] * x[1]
    for wrong in (
        lambda a: np.add.reduce(a),
        lambda a: plus_ufunc.reduce(a),
        lambda a: plus_ufunc.reduce(a, 1),
    ):
        with pytest.raises(TranslationError):
            njit(wrong)(np.ones((2, 2)))
