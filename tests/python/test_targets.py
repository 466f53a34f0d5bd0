"""Tests vectorize, guvectorize, cuda.reduce and jit with Python bodies, on every target."""

import linecache
import math
import pickle
import random
import re
import runpy
import sys

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import cuda, float32, guvectorize, jit, njit, prange, vectorize
from numbalite.errors import CompileError, TranslationError

TARGETS = ["cuda", "cpu", "parallel"]


@cuda.jit(device=True)
def clamp(x, low, high):
    return min(max(x, low), high)


@pytest.mark.parametrize("target", TARGETS)
def test_vectorize_accepts_python_bodies(target):
    @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target=target)
    def soft_threshold(x, y):
        "A doc."
        if x > y:
            return clamp(x - y, 0, 2)
        elif x < -y:
            return x + y
        return 0

    @vectorize(target=target)
    def double_n_times(x, n):
        s = x
        for _ in range(n):
            s *= 2
        return s

    x = np.linspace(-3, 3, 7)
    wanted = [-2, -1, 0, 0, 0, 1, 2]
    np.testing.assert_array_equal(soft_threshold(x, 1.0), wanted)
    found = soft_threshold(x.astype("f4"), np.float32(1))
    assert found.dtype == np.float32 and found.tolist() == wanted
    assert double_n_times(np.arange(3), 3).tolist() == [0, 8, 16]
    assert double_n_times(np.arange(3.0), np.array([1])).tolist() == [0, 2, 4]
    assert soft_threshold.__doc__.endswith("A doc.")


@pytest.mark.parametrize("target", TARGETS)
def test_guvectorize_accepts_python_bodies(target):
    @guvectorize(["void(float64[:], float64, float64[:])"], "(n),()->(n)", target=target)
    def add_all(x, s, out):
        for i in range(x.shape[0]):
            out[i] = x[i] + s

    @guvectorize(
        ["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target=target
    )
    def matmul(a, b, c):
        m, n = a.shape
        n, p = b.shape
        for i in range(m):
            for j in range(p):
                c[i, j] = 0
                for k in range(n):
                    c[i, j] += a[i, k] * b[k, j]

    @guvectorize("(n)->()", target=target)
    def last_element(x, out):
        out[0] = x[-1]

    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(add_all(x, [10, 20]), x + [[10], [20]])
    a = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    np.testing.assert_array_equal(matmul(a, a[0].T), a @ a[0].T)
    if target == "cuda":
        assert last_element(x).tolist() == [2, 5]


def test_reduce_accepts_python_functions():
    total = cuda.reduce(lambda a, b: a + b)

    @cuda.reduce
    def larger_of_two(a, b):
        if a > b:
            return a
        return b

    x = np.random.default_rng(3).integers(-100, 100, 300)
    assert total(x) == x.sum() and larger_of_two(x) == x.max()
    assert total(x.reshape(3, 100), axis=1).tolist() == x.reshape(3, 100).sum(1).tolist()
    assert total._loops.commutes(x.dtype) and not larger_of_two._loops.commutes(x.dtype)
    assert total(x[:0]) == 0
    with pytest.raises(ValueError, match=r"zero-size array .* larger_of_two .*: pass init="):
        larger_of_two(x[:0])


def test_jit_accepts_python_bodies():
    @jit
    def hypot(x, y):
        return math.sqrt(x * x + y * y)

    @njit("float64(float64[:])")
    def norm(x):
        total = 0.0
        for v in x:
            total = hypot(total, v)
        return total

    @jit(nopython=True)
    def floor_and_true_quotient(n):
        return n // 2, n / 2

    assert hypot(3, 4.0) == 5.0 and isinstance(hypot(3, 4), float)
    assert norm(np.array([3.0, 4.0])) == 5.0
    assert floor_and_true_quotient(7) == (3, 3.5) and floor_and_true_quotient.py_func(7) == (3, 3.5)

    @cuda.jit
    def call_hypot(out):
        out[0] = hypot(3, 4)

    out = np.zeros(1, np.float32)
    call_hypot[1, 1](out)
    assert out[0] == 5


def root_of_new_array(x):
    return np.sqrt(x)


def test_returning_a_new_array_on_the_cpu_raises():
    """The error contains the line, and the hint that such a function may stay in Python."""
    words = "the result would be a new array.*leave jit out"
    with pytest.raises(TranslationError, match=f"(?s){words}") as caught:
        jit(root_of_new_array)(np.ones(3))
    assert caught.value.line == root_of_new_array.__code__.co_firstlineno + 1


def test_returned_arguments_are_the_same_objects():
    """Returned arrays are the argument objects themselves, also in a tuple with numbers."""

    @njit
    def sort(x):
        for i in range(x.size):
            for j in range(i):
                if x[i] < x[j]:
                    x[i], x[j] = x[j], x[i]
        return x

    @njit
    def running_sums(x, n, out):
        total = 0.0
        for i in range(n):
            total += x[i]
            out[i] = total
        return out, total, x, n

    @jit("float64[:](float64[:], float64)")
    def scale_in_place(x, by):
        if by == 1:
            return x
        for i in range(x.size):
            x[i] *= by
        return x

    @njit
    def smallest_element(x):
        return sort(x)[0]

    x = random_generator().permutation(20).astype(float)
    out = np.zeros(20)
    wanted = np.sort(x)
    assert sort(x) is x
    np.testing.assert_array_equal(x, wanted)
    found = running_sums(x, 20, out)
    assert found[0] is out and found[2] is x and found[1] == x.sum() == out[-1] and found[3] == 20
    assert scale_in_place(x, 2.0) is x and scale_in_place(x, 1.0) is x and x[1] == 2 * wanted[1]
    assert smallest_element(x) == 0
    again = pickle.loads(pickle.dumps(sort))
    assert again(x) is x and sort(x[::2]).base is x
    before = sys.getrefcount(x)
    for _ in range(100):
        sort(x)
        running_sums(x, 20, out)
    assert sys.getrefcount(x) == before

    @njit
    def select_argument(x, y):
        if x[0] > 0:
            return x
        return y

    @njit
    def rebind_parameter(x, y):
        x = y
        return x

    assert select_argument(x + 1, out) is not x and select_argument(-x - 1, out) is out
    assert rebind_parameter(x, out) is out


def test_python_ufuncs_compute_float32_on_device_arrays():
    @vectorize([float32(float32)], target="cuda")
    def twice(x):
        return x * float32(2)

    x = cuda.to_device(np.arange(4, dtype=np.float32))
    assert twice(x).copy_to_host().tolist() == [0, 2, 4, 6]


@pytest.mark.parametrize("parallel", [True, False])
def test_prange_reductions_match_serial(parallel):
    @njit(parallel=parallel)
    def reduce_in_parallel(x, out):
        total = 0.0
        product = 1
        least = x[0]
        for i in prange(x.shape[0]):
            square = x[i] * x[i]
            out[i] = square
            if i == 3:
                continue
            total += square
            product *= 1 + (i == 5)
            least = min(least, x[i])
        return total, product, least

    x, out = np.arange(1000.0)[::-1].copy(), np.zeros(1000)
    total, product, least = reduce_in_parallel(x, out)
    assert total == (x * x).sum() - x[3] ** 2 and product == 2 and least == 0
    np.testing.assert_array_equal(out, x * x)
    assert ("parallel" in reduce_in_parallel.targetoptions) and reduce_in_parallel.py_func(x, out)[
        1:
    ] == (2, 0)


def test_invalid_uses_of_prange_raise():
    @njit(parallel=True)
    def last_of_prange(x):
        y = 0.0
        for i in prange(x.shape[0]):
            y = x[i]
        return y

    with pytest.raises(TranslationError, match="assigned by iterations of a prange"):
        last_of_prange(np.zeros(3))


@njit
def draw_random_numbers(n, sides=6, *, scale=1.0):
    random.seed(n)
    total, inside = 0.0, 0
    for _ in range(n):
        total += np.random.randint(sides) + random.randint(1, 3) + np.random.normal(0, 0.5)
        inside += random.random() ** 2 + np.random.uniform(0, 1) ** 2 < 1
    return total / n * scale, 4 * inside / n


def test_cpu_functions_support_random_numbers_and_defaults():
    """numba's first example, and calls with keyword arguments and with omitted arguments."""
    mean, pi = draw_random_numbers(40_000)
    assert abs(mean - 4.5) < 0.1 and abs(pi - math.pi) < 0.1
    assert draw_random_numbers(40_000) == (mean, pi) == draw_random_numbers(n=40_000, sides=6)
    assert abs(draw_random_numbers(40_000, scale=2.0, sides=2)[0] - 5) < 0.1
    with pytest.raises(TypeError, match="missing required argument 'n'"):
        draw_random_numbers()
    with pytest.raises(TypeError, match="takes 3 positional arguments but 4 were given"):
        draw_random_numbers(1, 2, 3.0, 4)
    with pytest.raises(TypeError, match="unexpected keyword argument 'side'"):
        draw_random_numbers(1, side=2)

    @njit
    def random_array(n):
        return np.random.rand(n)

    with pytest.raises(TranslationError, match="rand: takes 0 arguments, not 1"):
        random_array(3)


def test_signature_without_parentheses_is_a_parameter_list():
    """A list of types without parentheses is a list of parameters, as in numba."""

    @cuda.jit("int32,", device=True)
    def doubled(x):
        return x * 2

    @cuda.jit("int32[:], float32[:]")
    def store_doubled(x, out):
        out[0] = doubled(x[0])

    @guvectorize(["int32[:], float32[:]"], "(n)->(n)", target="cuda")
    def copy_first_gufunc(x, out):
        out[0] = x[0]

    @jit("int32, float32")
    def add_on_cpu(x, y):
        return x + y

    @vectorize(["int32, float32"])
    def add_ufunc(x, y):
        return x + y

    @cuda.jit("float32[:], int32[:]")
    def string_body(x, out):
        "out[0] = x[0] + 1;"

    x, out = np.array([3], np.int32), np.zeros(1, np.float32)
    store_doubled[1, 1](x, out)
    assert out[0] == 6
    back = np.zeros(1, np.int32)
    string_body[1, 1](out, back)
    assert back[0] == 7
    assert copy_first_gufunc(x)[0] == 3
    assert add_on_cpu(1, 2.5) == add_ufunc(np.int32(1), np.float32(2.5)) == 3.5


NOT_FOR_KERNELS = [
    "return os.getpid()",
    "return np.fft.fft(x)",
    "return [q for q in 'abc']",
    "return x.foo",
    "a = np.zeros(int(x)); return a[0]",
    "yield x",
    "d = {}; return x",
    "return x @ x",
    "raise ValueError(x)",
    "import os; return x",
    "return eval('x')",
    "global G; G = 1; return x",
]


@pytest.mark.parametrize("target", ["cpu", "parallel"])
@pytest.mark.parametrize("body", NOT_FOR_KERNELS)
def test_cpu_ufunc_messages_do_not_mention_kernels(tmp_path, body, target):
    """Messages about CPU functions do not mention kernels, threads or launches."""
    made = (
        "from numbalite import guvectorize, njit, vectorize\n@vectorize(['float64(float64)'], target=%r)\n",
        "from numbalite import guvectorize, njit, vectorize\n@vectorize(target=%r)\n",
        "from numbalite import guvectorize, njit, vectorize\n"
        "@guvectorize(['void(float64, float64[:])'], '()->()', target=%r)\n",
    )
    for number, head in enumerate(made):
        parameters = "x, out" if "guv" in head.splitlines()[-1] else "x"
        path = tmp_path / f"made{number}.py"
        path.write_text(
            f"import os\nimport numpy as np\n{head % target}def f({parameters}):\n    {body}\n"
        )
        with pytest.raises(TranslationError) as refused:
            runpy.run_path(str(path))["f"](1.0)
        assert not re.search(r"kernel|thread|launch|cuda\.", str(refused.value)), refused.value


def test_conditionally_returned_arguments_are_the_same_objects():
    """The function returns the argument object that its body selects, also in tuples."""

    @njit
    def select_by_condition(a, b, c):
        if c:
            return a
        return b

    @njit
    def return_several_arrays(a, b, c):
        best = a if c else b
        return c, best, b if c else a, a

    x, y = np.arange(3.0), np.arange(6.0)[::-2]
    for a, b in (x, y), (y, x), (x.reshape(1, 3), y.reshape(1, 3)), (x, x[:]):
        assert (
            select_by_condition(a, b, True) is a and select_by_condition(a, b, False) is b
        ) or np.may_share_memory(a, b)
        got = return_several_arrays(a, b, True)
        assert got[0] is True and got[1] is a and got[3] is a
        got = return_several_arrays(a, b, False)
        assert got[2] is a and np.array_equal(got[1], b)
    (signature,) = select_by_condition.nopython_signatures[:1]
    assert signature.return_type.ndim == 1


def test_swapped_arguments_are_returned():
    """A function that swaps its two array variables in each iteration returns the array that a variable
    refers to at the end."""

    @njit
    def swap_each_step(now, after, n):
        for _ in range(n):
            for i in range(now.size):
                after[i] = now[i] + 1
            now, after = after, now
        return now

    rng = random.Random(random.random())
    for _ in range(20):
        n, size = rng.randrange(7), rng.randrange(1, 5)
        x, y = np.zeros(size), np.zeros(size)
        got = swap_each_step(x, y, n)
        assert got is (y if n % 2 else x) and (got == n).all()


# View expressions of an array with two axes, and of an array with one axis.
VIEWS_2 = """a a.T a[0] a[-1] a[1:] a[:,1] a[:,::2] a[::-1] a[::-1,::-1] a[0,1:] a[...,0] a[1:,1:] a[k] a[k:] a[:,k:].T a[2:1]
    a[:0]""".split()
VIEWS_1 = "a a[1:] a[::2] a[::-1] a[k:] a[:k] a[1:-1] a[3:1] a[-2:] a.T".split()
DTYPES = ["f8", "f4", "i8", "u1", "?", "c16", "c8", "i2", "f2", "M8[s]"]


def arrays_in_several_layouts(array, rng):
    """Returns arrays with the same shape and dtype, in several layouts; some arrays are read-only."""
    spread = np.empty([2 * n for n in array.shape], array.dtype)[
        tuple([slice(None, None, 2)] * array.ndim)
    ]
    spread[...] = array
    for one in (array, np.asfortranarray(array), spread, array[::-1]):
        if rng.random() < 0.2:
            one.flags.writeable = False
        yield one


@pytest.mark.parametrize("ndim, expression", [(2, e) for e in VIEWS_2] + [(1, e) for e in VIEWS_1])
def test_views_are_returned_as_numpy_returns_them(ndim, expression, monkeypatch):
    """A view shares the memory of the argument, has NumPy's shape, strides and flags, and keeps the argument alive."""
    file, scope = f"<view {expression}>", {}
    text = f"def view(a, k):\n    return {expression}\n"
    monkeypatch.setitem(linecache.cache, file, (len(text), None, text.splitlines(True), file))
    exec(compile(text, file, "exec"), scope)
    plain = scope["view"]
    compiled = njit(plain)
    rng = random.Random(random.random())
    for dtype in rng.sample(DTYPES, 3):
        shape = [rng.randrange(2, 5) for _ in range(ndim)]
        numbers = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
        for a in arrays_in_several_layouts(numbers, rng):
            k = rng.randrange(2)
            wanted, got = plain(a, k), compiled(a, k)
            assert type(got) is np.ndarray and got.dtype == wanted.dtype
            assert got.shape == wanted.shape and np.array_equal(got, wanted)
            assert got.flags.writeable == wanted.flags.writeable
            assert wanted is not a or got is a
            if got.size > 1:
                assert got.strides == wanted.strides
            if got.size:
                assert got.ctypes.data == wanted.ctypes.data and np.shares_memory(got, a)
                copied = got.copy()
                del a
                assert np.array_equal(got, copied)


def test_views_are_returned_in_tuples():
    @njit
    def change_views(a, b, n):
        first = a[:n]
        for i in range(first.size):
            first[i] = -1
        last = b if n > 1 else a[n:]
        return first, n, last, a[0], b[::-1]

    for n in (1, 2):
        a, b = np.arange(4.0), np.arange(10.0, 14.0)
        first, count, last, number, reverse = change_views(a, b, n)
        assert count == n and number == -1.0
        assert first.base is a and first.size == n and (a[:n] == -1).all()
        assert last is b if n > 1 else last.base is a
        assert reverse.base is b and reverse[0] == 13


def test_views_of_another_dtype_and_of_fields_are_returned():
    @njit
    def view_as_integers(a):
        return a.view(np.int64)

    @njit
    def field_view(a):
        return a["y"]

    @njit
    def reshaped_view(a):
        return a.reshape(3, 2)

    x = np.arange(6.0)
    assert view_as_integers(x).base is x and view_as_integers(x)[1] == np.float64(1).view(np.int64)
    records = np.zeros(3, [("x", "i4"), ("y", "f4", (2,)), ("z", "f8")])
    records["y"] = np.arange(6).reshape(3, 2)
    assert np.array_equal(reshaped_view(x), x.reshape(3, 2)) and np.shares_memory(
        reshaped_view(x), x
    )
    if records.dtype["z"].isbuiltin:
        simple = np.zeros(3, [("x", "i4"), ("y", "f8")])
        got = field_view(simple)
        got[1] = 5
        assert simple["y"][1] == 5


def test_views_are_returned_with_declared_types():
    @njit("float64[:](float64[:, ::1], int64)")
    def column_view(a, k):
        return a[:, k]

    x = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(column_view(x, 1), x[:, 1]) and np.shares_memory(column_view(x, 1), x)
    with pytest.raises(TypeError):
        column_view(np.arange(3), 1)


TABLE = np.arange(4.0)


def test_returning_captured_arrays_raises():
    @njit
    def captured_table(a):
        return TABLE

    with pytest.raises(
        TypeError, match=r"captured_table\(\) returns an array that is not a part of its arg"
    ):
        captured_table(np.zeros(3))


def test_views_are_pickled_with_their_function():
    twice = pickle.loads(pickle.dumps(njit(_second_row)))
    x = np.arange(6).reshape(2, 3)
    assert np.shares_memory(twice(x), x) and twice(x).tolist() == [3, 4, 5]


def _second_row(a):
    return a[1]


@pytest.mark.parametrize("dtype", ["f2", "c8", "c16", "?", "u8", "M8[s]"])
def test_cpu_functions_return_read_only_views(dtype):
    """The C++ of an array of `const` elements includes the header of their type."""

    @njit
    def last_element_view(a):
        return a[a.size - 1 :]

    @njit
    def element_count(a):
        return a.size

    x = np.arange(3).astype(dtype) if dtype != "?" else np.array([True, False, True])
    x.flags.writeable = False
    assert (
        element_count(x) == 3
        and np.array_equal(last_element_view(x), x[2:])
        and not last_element_view(x).flags.writeable
    )


@cuda.jit(device=True)
def fails_to_compile(x):
    "return name_that_is_not_there(x);"


def shared_memory_in_ufunc(x):
    b = cuda.shared.array(3, 'float64')  # fmt: skip
    return b[0] + x


def shared_memory_in_gufunc(x, out):
    b = cuda.shared.array(3, 'float64')  # fmt: skip
    out[0] = b[0] + x[0]


def shared_memory_in_jit(x):
    b = cuda.shared.array(3, 'float64')  # fmt: skip
    return fails_to_compile(x) + b[0]


@pytest.mark.parametrize(
    "decorator, function",
    [
        (vectorize(["float64(float64)"]), shared_memory_in_ufunc),
        (guvectorize(["void(float64[:], float64[:])"], "(n)->()"), shared_memory_in_gufunc),
        (cuda.vectorize(["float64(float64)"]), shared_memory_in_jit),
        (jit(["float64(float64)"]), shared_memory_in_ufunc),
    ],
    ids=["vectorize", "guvectorize", "cuda", "jit"],
)
def test_errors_of_the_compiler_have_no_hints_about_the_python_text(decorator, function):
    """Quotes and # comments in the source are correct Python, so no hint may mention them."""
    with pytest.raises(CompileError) as caught:
        decorator(function)
    assert "hint:" not in str(caught.value)
