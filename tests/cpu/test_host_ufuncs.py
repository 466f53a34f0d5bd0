"""The cpu and parallel targets of vectorize and guvectorize create NumPy ufuncs, which are compared
with NumPy's own."""

import gc
import pickle
import shutil
import threading

import numpy as np
import pytest
from kit.sample import draw_cases

import numbalite
from numbalite import _core, guvectorize, vectorize
from numbalite.errors import CompileError, KernelError, KernelWarning, SignatureError

TARGETS = ["cpu", "parallel"]
COMPILERS = [name for name in ("g++", "clang++") if shutil.which(name)]
pytestmark = pytest.mark.skipif(not COMPILERS, reason="no host compiler")

NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64", "complex64", "complex128"]  # fmt: skip
NUMBERS = NAMES[1:]


@pytest.fixture(scope="module", params=TARGETS)
def ufunc_target(request):
    return request.param


def make_ufunc(source, args, signatures=(), target="cpu", **options):
    return vectorize(list(signatures), target=target, source=source, args=args, **options)


@pytest.fixture(scope="module")
def add(ufunc_target):
    signatures = [f"{t}({t}, {t})" for t in NUMBERS]
    return make_ufunc("x + y", "x, y", signatures, ufunc_target, identity=0, name="add")


def random_values(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 50, shape).astype(dtype)
    found = rng.normal(size=shape)
    if dtype.kind == "c":
        found = found + 1j * rng.normal(size=shape)
    return found.astype(dtype)


def arrays_of_each_layout(rng, dtype, n):
    """Yields one-dimensional arrays of n elements, each with a different memory layout."""
    yield random_values(rng, dtype, n)
    yield random_values(rng, dtype, 3 * n)[::3]
    yield random_values(rng, dtype, n)[::-1]
    yield np.broadcast_to(random_values(rng, dtype, 1), (n,))
    raw = np.zeros(n * np.dtype(dtype).itemsize + 1, np.uint8)[1:].view(dtype)  # unaligned
    raw[...] = random_values(rng, dtype, n)
    yield raw
    yield random_values(rng, dtype, n).astype(np.dtype(dtype).newbyteorder())


# ---- what it is ---------------------------------------------------------------------------------------


def test_result_is_a_numpy_ufunc(add):
    assert isinstance(add, np.ufunc)
    assert (add.nin, add.nout, add.nargs, add.ntypes) == (2, 1, 3, len(NUMBERS))
    assert add.types[:2] == ["bb->b", "hh->h"]
    assert add.identity == 0 and add.signature is None and add.__name__ == "add"


def test_ufunc_has_the_functions_name_and_doc():
    @vectorize(["float64(float64)"])
    def twice(x):
        "return 2 * x;"

    assert twice.__name__ == "twice" and "return 2 * x;" in twice.__doc__
    assert repr(twice) == "<ufunc 'twice'>"


# ---- values ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("n", [0, 1, 7, 8, 255, 256, 257, 1000])
def test_sums_of_every_dtype_and_layout_match_numpy(add, dtype, n):
    rng = np.random.default_rng(n)
    for x in arrays_of_each_layout(rng, dtype, n):
        for y in arrays_of_each_layout(rng, dtype, n):
            got, expected = add(x, y), np.add(x, y)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    "types",
    draw_cases(4, [(a, b, c) for a in NAMES for b in NAMES for c in NAMES if b != "float16"]),
)
def test_loops_with_mixed_types_compile(types, ufunc_target):
    """The function returns a constant: the test only checks that the loops compile for types
    without conversions."""
    a, b, result = types
    f = make_ufunc(
        f"(void)x; (void)y; return {result}(1);", "x, y", [f"{result}({a}, {b})"], ufunc_target
    )
    for n in (3, 300):
        found = f(np.ones(n, a), np.ones(n, b))
        assert found.dtype == result and (found == 1).all()
    if a == result and np.can_cast(a, b):  # a reduction reads its own output
        assert f.reduce(np.ones(5, a)) == 1


def test_bool_loop_normalizes_bytes(ufunc_target):
    f = make_ufunc("x && !y", "x, y", ["bool(bool, bool)"], ufunc_target)
    x = np.array([0, 1, 2, 255, 0, 7, 1, 0, 3, 0], np.uint8).view(bool)  # any byte but 0 is true
    y = np.zeros(10, bool)
    np.testing.assert_array_equal(f(x, y).view(np.uint8), x.view(np.uint8) != 0)


def test_operands_broadcast_as_in_numpy(add):
    rng = np.random.default_rng(1)
    for a, b in [
        ((3, 4, 5), (4, 5)),
        ((4, 1), (4, 4)),
        ((5, 1, 7), (3, 1)),
        ((), (2, 3)),
        ((0, 3), (3,)),
    ]:
        x, y = rng.normal(size=a), rng.normal(size=b)
        for one, two in [(x, y), (x.T.copy().T, y), (x[..., ::-1] if x.ndim else x, y)]:
            np.testing.assert_array_equal(add(one, two), np.add(one, two))
    x = rng.normal(size=(20, 30)).T
    assert add(x, x).flags.f_contiguous
    assert add(x, x, order="C").flags.c_contiguous


def test_scalar_promotion_follows_nep50(add):
    x = np.arange(3, dtype=np.float32)
    assert add(x, 2.0).dtype == np.float32
    assert add(np.int8(3), 4).dtype == np.int8
    assert add(1, 2) == 3 and add(1.5, 2) == 3.5 and add(1j, 2) == 2 + 1j
    assert type(add(1, 2)) is np.int64
    with pytest.raises(OverflowError):
        add(np.int8(1), 1000)


def test_out_where_dtype_and_casting_match_numpy(add):
    x, y = np.arange(10.0), np.arange(10.0)[::-1]
    out = np.full(10, -1.0)
    assert add(x, y, out=out, where=x > 4) is out
    np.testing.assert_array_equal(out, np.where(x > 4, 9, -1))
    assert add(np.arange(3), 1, dtype="f4").dtype == np.float32
    assert add(np.arange(3), 1, signature="dd->d").dtype == np.float64
    np.testing.assert_array_equal(add(x, y, out=np.zeros(10, np.float32)), x + y)
    with pytest.raises(TypeError, match="same_kind"):
        add(x, y, out=np.zeros(10, int))
    locked = np.zeros(10)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        add(x, y, out=locked)
    with pytest.raises(ValueError, match="broadcast"):
        add(np.zeros(3), np.zeros(4))
    with pytest.raises(TypeError, match="add"):
        add("a", 1)


@pytest.mark.parametrize("n", [5, 100, 5000])
def test_overlapping_operands_match_numpy(add, n):
    for mine, theirs in [(add, np.add)]:
        for cut in [lambda a: (a[1:], a[:-1], a[1:]), lambda a: (a[:-1], a[1:], a[1:]),
                    lambda a: (a, a, a), lambda a: (a, a[::-1], a), lambda a: (a[::2], a[::2], a[: len(a[::2])])]:  # fmt: skip
            a, b = np.arange(float(n)), np.arange(float(n))
            x, y, out = cut(a)
            mine(x, y, out=out)
            x, y, out = cut(b)
            theirs(x, y, out=out)
            np.testing.assert_array_equal(a, b)


def test_ufunc_methods_match_numpy(add):
    rng = np.random.default_rng(5)
    for shape in [(1000,), (30, 40), (40, 30, 5), (0, 4), (100001,)]:
        x = rng.integers(0, 100, shape).astype(float)  # integers: exact in any order
        for axis in range(len(shape)):
            np.testing.assert_array_equal(add.reduce(x, axis), np.add.reduce(x, axis))
            np.testing.assert_array_equal(add.accumulate(x, axis), np.add.accumulate(x, axis))
        np.testing.assert_array_equal(add.reduce(x, None), x.sum())
        np.testing.assert_array_equal(
            add.reduce(x, -1, keepdims=True, initial=5),
            np.add.reduce(x, -1, keepdims=True, initial=5),
        )
        where = rng.integers(0, 2, shape).astype(bool)
        np.testing.assert_array_equal(
            add.reduce(x, 0, where=where), np.add.reduce(x, 0, where=where)
        )
    np.testing.assert_array_equal(
        add.reduceat(np.arange(10), [0, 5, 1]), np.add.reduceat(np.arange(10), [0, 5, 1])
    )
    np.testing.assert_array_equal(add.outer([1, 2], [3, 4, 5]), np.add.outer([1, 2], [3, 4, 5]))
    a, b = np.zeros(5), np.zeros(5)
    add.at(a, [0, 0, 3], [1, 2, 3])
    np.add.at(b, [0, 0, 3], [1, 2, 3])
    np.testing.assert_array_equal(a, b)
    assert add.reduce(np.zeros(0)) == 0


@pytest.mark.parametrize("ufunc_target", ["cpu", "cuda"])
@pytest.mark.parametrize("signatures", [(), ["int8(int8, int8)", "int64(int64, int64)"]])
def test_reductions_do_not_depend_on_the_ufuncs_name(ufunc_target, signatures):
    """NumPy's `add` and `multiply` reduce small integers in a wider type."""
    x = np.full(100, 3, np.int8)
    folded = {}
    for name in ("add", "plus") if signatures else ("multiply", "plus"):
        f = make_ufunc("x + y", "x, y", signatures, ufunc_target, name=name)
        folded[name] = (
            f.reduce(x),
            f.accumulate(x),
            f.reduceat(x, [0, 50]),
            f.reduce(x, dtype=np.int64),
        )
        assert f.__name__ == name
    wanted = np.int8 if signatures else np.int32  # C++ adds int8 numbers as int
    assert [r.dtype for r in folded["plus"]] == [wanted] * 3 + [np.int64]
    assert folded["plus"][0] == wanted(300 - 256 if signatures else 300)
    for results in folded.values():
        for one, other in zip(results, folded["plus"], strict=True):
            assert one.dtype == other.dtype and (one == other).all()


def test_identity_is_passed_to_the_ufunc():
    sum_, largest, any_order = (
        make_ufunc(text, "x, y", ["float64(float64, float64)"], identity=identity)
        for text, identity in (("x + y", 0), ("max(x, y)", -np.inf), ("x + y", "reorderable"))
    )
    none = make_ufunc("x - y", "x, y", ["float64(float64, float64)"])
    assert sum_.identity == 0 and largest.identity == -np.inf and none.identity is None
    assert largest.reduce(np.zeros(0)) == -np.inf
    x = np.arange(6.0).reshape(2, 3)
    assert any_order.reduce(x, axis=None) == 15
    with pytest.raises(ValueError, match="reorderable"):
        none.reduce(x, axis=None)
    with pytest.raises(ValueError, match="identity"):
        none.reduce(np.zeros(0))


def test_tuple_results_become_outputs(ufunc_target):
    f = make_ufunc("return make_tuple(x + y, x * y);", "x, y",
             ["Tuple((float32, int64))(float32, int64)"], ufunc_target)  # fmt: skip
    rng = np.random.default_rng(2)
    for n in (3, 1000, 70001):
        x, y = rng.normal(size=n).astype("f4"), rng.integers(0, 9, 2 * n)[::2]
        total, product = f(x, y)
        assert total.dtype == np.float32 and product.dtype == np.int64
        np.testing.assert_array_equal(total, x + y.astype("f4"))
        np.testing.assert_array_equal(product, (x * y.astype("f4")).astype("i8"))
    x = np.arange(100, dtype="f4")  # the first result overwrites an input
    y = np.arange(100)
    expected = x * y
    _, product = f(x, y, out=(x, None))
    np.testing.assert_array_equal(product, expected.astype("i8"))
    np.testing.assert_array_equal(x, np.arange(100) * 2)


# ---- lazily typed ---------------------------------------------------------------------------------------


def test_loops_are_compiled_for_new_dtypes(ufunc_target):
    @vectorize(target=ufunc_target, identity=0)
    def plus(a, b):
        "return a + b;"

    assert isinstance(plus, np.ufunc) and plus.ntypes == 0
    assert plus(np.arange(3), 1).tolist() == [1, 2, 3] and plus.types == ["ll->l"]
    assert plus(np.arange(3, dtype="f4"), 2).dtype == np.float32
    assert plus(np.arange(3, dtype="i4"), 2.5).dtype == np.float64
    assert plus(np.float32(1), np.float64(2)).dtype == np.float64
    assert plus(1, 2) == 3 and type(plus(1j, 2)) is np.complex128
    assert plus(np.float16(1), np.float16(2)).dtype == np.float16
    assert plus.reduce(np.arange(5, dtype="u4")) == 10
    assert plus.accumulate(np.arange(4.0)).tolist() == [0, 1, 3, 6]
    assert plus(np.arange(3), 1, dtype="f8").dtype == np.float64
    assert plus(np.arange(3), 1, signature="ff->f", casting="unsafe").dtype == np.float32
    assert plus(np.arange(2, dtype="c8"), 1, signature="FF->F").dtype == np.complex64
    count = plus.ntypes
    assert plus(np.arange(3), 5).tolist() == [5, 6, 7] and plus.ntypes == count
    with pytest.raises(TypeError):
        plus("a", "b")
    with pytest.raises(TypeError):
        plus(np.zeros(2, object), 1)


def test_concurrent_calls_compile_lazy_loops():
    f = make_ufunc("x + 1", "x")
    dtypes = ["i4", "i8", "f4", "f8", "c8", "u2"] * 2
    found, start = [None] * len(dtypes), threading.Barrier(len(dtypes))

    def call_ufunc(i):
        start.wait()
        found[i] = f(np.ones(100, dtypes[i])).sum()

    threads = [threading.Thread(target=call_ufunc, args=(i,)) for i in range(len(dtypes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * len(dtypes)
    assert f.ntypes == len(set(dtypes))


def test_first_call_of_a_lazy_ufunc_accepts_signature():
    half = make_ufunc("x / 2", "x")
    assert half(np.arange(3.0), signature="d->d").tolist() == [0, 0.5, 1]


def test_compile_errors_of_lazy_ufuncs_name_the_dtype():
    f = make_ufunc("x.nonsense", "x")
    with pytest.raises(CompileError, match="float64"):
        f(1.0)
    pointer = make_ufunc("&x", "x")
    with pytest.raises((TypeError, CompileError, KernelWarning)):
        pointer(1.0)


def test_overloads_of_a_source_become_loops():
    f = vectorize(
        source="""
        __device__ float half_of(float x) { return x / 2; }
        __device__ double half_of(double x) { return x / 2; }
    """
    )
    assert f(np.float32(3)).dtype == np.float32 and f(3.0) == 1.5


def test_ufuncs_capture_constants_and_device_functions():
    scale = 2.5

    @numbalite.cuda.jit(device=True)
    def to_cartesian(r, phi):
        "return make_tuple(r * cos(phi), r * sin(phi));"

    @vectorize(["float64(float64, float64)"])
    def scaled_height(r, phi):
        "auto [x, y] = to_cartesian(r, phi); return scale * y;"

    r = np.linspace(0, 2, 1000)
    np.testing.assert_allclose(scaled_height(r, r), 2.5 * r * np.sin(r), rtol=1e-14)


# ---- the value that the compilers produce
# ------------------------------------------------------------------

UNARY = {
    "sin": (-20, 20), "cos": (-20, 20), "tan": (-1.5, 1.5), "asin": (-1, 1), "acos": (-1, 1), "atan": (-9, 9),
    "sinh": (-5, 5), "cosh": (-5, 5), "tanh": (-5, 5), "asinh": (-9, 9), "acosh": (1, 9),
    "atanh": (-0.99, 0.99), "exp": (-80, 80), "exp2": (-100, 100), "expm1": (-2, 2), "log": (1e-30, 1e30),
    "log2": (1e-30, 1e30), "log10": (1e-30, 1e30), "log1p": (-0.9, 9), "cbrt": (-9, 9),
}  # fmt: skip
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh"}  # fmt: skip


@pytest.fixture(scope="module", params=COMPILERS)
def host_compiler(request, monkeypatch_module):
    monkeypatch_module.setenv("NUMBALITE_CXX", request.param)
    return request.param


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


SPECIAL = ["sin", "exp", "log", "tanh", "cbrt"]


@pytest.fixture(scope="module")
def several_ufuncs(host_compiler):
    """Tests several math functions in one ufunc, in both precisions, so that only one ufunc is
    compiled."""
    return make_several(SPECIAL)


def make_several(names):
    """Returns a ufunc that returns the results of several functions, each applied to one
    argument."""
    count = len(names)
    call = ", ".join(f"{name}(a{i})" for i, name in enumerate(names))
    signatures = [
        f"Tuple(({', '.join([dtype] * count)}))({', '.join([dtype] * count)})"
        for dtype in ("float32", "float64")
    ]
    args = ", ".join(f"a{i}" for i in range(count))
    return make_ufunc(f"return make_tuple({call});", args, signatures)


def ulp_distance(got, exact):
    spacing = np.spacing(np.abs(exact).astype(got.dtype)).astype(np.longdouble)
    return np.max(np.abs(got.astype(np.longdouble) - exact) / spacing)


def test_vector_math_is_within_4_ulp(host_compiler):
    parts = list(UNARY)
    rng = np.random.default_rng(9)
    for start in range(0, len(parts), 7):
        names = parts[start : start + 7]
        f = make_several(names)
        for dtype in ("float32", "float64"):
            xs = [rng.uniform(*UNARY[name], 5001).astype(dtype) for name in names]
            for name, x, got in zip(names, xs, f(*xs), strict=True):
                exact = getattr(np, NUMPY.get(name, name))(x.astype(np.longdouble))
                assert got.dtype == dtype and ulp_distance(got, exact) <= 4, (name, dtype)


@pytest.mark.parametrize("seed", range(20))
def test_vector_math_of_narrow_arguments_matches_numpy(host_compiler, seed):
    """Compilers choose the number of elements in a vector by the narrowest type of a loop."""
    rng = np.random.default_rng(seed)
    narrow = rng.choice(["int8", "int16", "int32", "uint8", "float32"])
    function = str(rng.choice(["pow", "atan2", "hypot"]))
    names = [str(rng.choice(list(UNARY))) for _ in range(2)]
    calls = f"{function}(a, (double)n), {names[0]}(b), {names[1]}((double)n)"
    f = make_ufunc(f"return make_tuple({calls});", "a, b, n",
             [f"Tuple((float64, float64, float64))(float64, float64, {narrow})"])  # fmt: skip
    low, high = (max(UNARY[names[1]][0], 0), max(UNARY[names[1]][1], 1))
    a, b = rng.uniform(1, 2, 501), rng.uniform(*UNARY[names[0]], 501)
    n = rng.uniform(low, min(high, 20), 501).astype(narrow)
    n[n == 0] = 1
    n64 = n.astype(np.longdouble)
    unary = [getattr(np, NUMPY.get(name, name)) for name in names]
    binary = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot}[function]
    with np.errstate(all="ignore"):
        exact = [
            binary(a.astype(np.longdouble), n64),
            unary[0](b.astype(np.longdouble)),
            unary[1](n64),
        ]
    for got, value in zip(f(a, b, n), exact, strict=True):
        good = np.isfinite(value) & (value != 0)
        assert not good.any() or ulp_distance(got[good], value[good]) <= 4, (calls, narrow)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_and_nan_match_numpy(several_ufuncs, dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, -tiny, 1, -1, 1e30, -1e30, 88.0, 800.0, -800.0]
    )
    x = np.tile(special.astype(dtype), 20)
    for name, got in zip(SPECIAL, several_ufuncs(*[x] * len(SPECIAL)), strict=True):
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x.astype(np.longdouble)).astype(dtype)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), err_msg=name)
        np.testing.assert_array_equal(np.isinf(got), np.isinf(expected), err_msg=name)
        np.testing.assert_allclose(got, expected, rtol=1e-6, err_msg=name)
        good = ~np.isnan(expected)
        np.testing.assert_array_equal(
            np.signbit(got)[good], np.signbit(expected)[good], err_msg=name
        )


def test_ufuncs_raise_no_spurious_floating_point_warnings(host_compiler):
    f = make_ufunc("x < 0 ? 0.0 : sqrt(x) / x", "x", ["float64(float64)"])
    x = np.tile([-1.0, 0.0, 4.0], 100)
    with np.errstate(all="raise"):
        got = f(x)
    np.testing.assert_array_equal(got[2::3], 0.5)
    assert np.isnan(got[1]) and got[0] == 0
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.divide(np.ones(1), np.zeros(1))  # NumPy's own still tell


def test_integer_division_never_traps(host_compiler):
    quotient = make_ufunc("x / y", "x, y", ["int32(int32, int32)", "int64(int64, int64)"])
    remainder = make_ufunc("x % y", "x, y", ["int32(int32, int32)", "uint8(uint8, uint8)"])
    low = np.int32(-(2**31))
    x = np.array([7, -7, low, 0] * 10, np.int32)
    assert quotient(x, 0).tolist()[:4] == [-1, -1, -1, -1]
    assert quotient(x, -1).tolist()[:4] == [-7, 7, low, 0]
    assert remainder(x, np.int32(-1)).tolist()[:4] == [0, 0, 0, 0]
    assert remainder(x, np.int32(0)).tolist()[:4] == x.tolist()[:4]
    assert quotient(np.int64(5), np.int64(0)) == -1
    flag = make_ufunc("x / (y != 0)", "x, y", ["int32(int32, int32)"])
    remainder = make_ufunc("y == 0 ? x / y : x % (y > 0)", "x, y", ["int32(int32, int32)"])
    assert flag(x, np.int32(0)).tolist()[:4] == [-1, -1, -1, -1]
    assert flag(x, np.int32(9)).tolist()[:4] == x.tolist()[:4]
    assert remainder(x, np.int32(0)).tolist()[:4] == [-1, -1, -1, -1]
    assert remainder(x, np.int32(-1)).tolist()[:4] == x.tolist()[:4]


def test_integer_division_works_with_another_sigfpe_handler(run_python):
    """Divisions are handled even if another SIGFPE handler is installed later."""
    code = """
import faulthandler, sys
import numpy as np
from numbalite import vectorize
f = vectorize(["int32(int32, int32)"], source="x / y", args="x, y")
one, zero = np.int32(1), np.int32(0)
assert f(one, zero) == -1
faulthandler.enable()
g = vectorize(["int32(int32, int32)"], source="x % y", args="x, y")
assert g(one, zero) == 1 and f(one, zero) == -1
if len(sys.argv) > 1:
    import ctypes, signal
    signal.raise_signal(signal.SIGFPE)
"""
    run_python(code, NUMBALITE_CXX=COMPILERS[0])
    result = run_python(code, "raise", check=False, NUMBALITE_CXX=COMPILERS[0])
    assert result.returncode == -8 and "Fatal Python error" in result.stderr


def test_small_integer_powers_compile_to_multiplications(host_compiler):
    f = make_ufunc("sqrt(pow(p, 2) + pow(q, 3) + pow(r, 4) + pow(s, 5))", "p, q, r, s",
             ["float32(float32, float32, float32, float32)"])  # fmt: skip
    p, q, r, s = np.random.default_rng(3).uniform(size=(4, 10001)).astype("f4")
    exact = np.sqrt(
        p.astype("f8") ** 2 + q.astype("f8") ** 3 + r.astype("f8") ** 4 + s.astype("f8") ** 5
    )
    np.testing.assert_allclose(f(p, q, r, s), exact, rtol=5e-7)


def test_float16_and_complex_loops_match_numpy(ufunc_target):
    f = make_ufunc(
        "x * y + x",
        "x, y",
        ["complex64(complex64, complex64)", "complex128(complex128, complex128)"],
        ufunc_target,
    )
    rng = np.random.default_rng(4)
    for dtype in ("c8", "c16"):
        x, y = random_values(rng, dtype, 3001), random_values(rng, dtype, 3001)
        np.testing.assert_allclose(f(x, y), x * y + x, rtol=1e-5)
    g = make_ufunc("sqrt(x)", "x", ["float16(float16)"], ufunc_target)
    x = np.arange(2000, dtype="f2")
    np.testing.assert_array_equal(g(x), np.sqrt(x))


# ---- what goes wrong ------------------------------------------------------------------------------------


def test_invalid_signature_is_named_in_the_error():
    with pytest.raises(CompileError, match=r"complex64") as caught:
        make_ufunc("x % 3", "x", ["int32(int32)", "complex64(complex64)", "int64(int64)"])
    # the user's text with all three lines follows the first line
    assert "int64(int64)" not in str(caught.value).partition("\n")[0]


def test_duplicate_input_signatures_raise():
    with pytest.raises(SignatureError, match="same dtypes|twice"):
        make_ufunc("x", "x", ["int32(int32)", "int64(int32)"])


@pytest.mark.parametrize("body", ["return threadIdx.x;", "__syncthreads(); return x;",
                                  "__shared__ float s[2]; return s[0];", "return grid<1>();",
                                  "return laneid();", "extern __shared__ float s[]; return s[0];"])  # fmt: skip
def test_functions_that_need_a_grid_raise(body):
    with pytest.raises(CompileError, match="grid of threads"):
        make_ufunc(body, "x", ["float32(float32)"])


def test_failed_assert_in_a_ufunc_raises(ufunc_target):
    f = make_ufunc("assert(x < 5); return x;", "x", ["float64(float64)"], ufunc_target)
    assert f(np.zeros(10000)).sum() == 0
    for n in (6, 1000, 100000):
        with pytest.raises(KernelError, match="x < 5") as caught:
            f(np.arange(float(n)))
        assert caught.value.kind == "assert" and caught.value.index is None
    with pytest.raises(KernelError, match="x < 5"):
        f(9.0)
    assert f(3.0) == 3.0


@pytest.mark.filterwarnings("ignore:x ends at:numbalite.errors.KernelWarning")
def test_out_of_bounds_index_in_a_gufunc_raises():
    @guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", debug=True)
    def read_past_end(x, y):
        "for (int i = 0; i <= x.size(); ++i) y[i] = x[i];"

    with pytest.raises(KernelError, match="index 3 is out of bounds") as caught:
        read_past_end(np.zeros(3))
    found = caught.value
    assert isinstance(found, IndexError) and (found.kind, found.index) == ("memory", 3)
    assert found.file == __file__


def test_printf_writes_to_stdout(capfd):
    f = make_ufunc(r'printf("%g\n", x); return x;', "x", ["float64(float64)"])
    f(np.array([1.5, 2.5]))
    assert capfd.readouterr().out == "1.5\n2.5\n"


# ---- generalized ----------------------------------------------------------------------------------------

MATMUL = """
    for (int i = 0; i < c.shape[0]; ++i)
        for (int j = 0; j < c.shape[1]; ++j) {
            float t = 0;
            for (int k = 0; k < a.shape[1]; ++k) t += a(i, k) * b(k, j);
            c(i, j) = t;
        }
"""


def make_gufunc(source, args, signatures, layout, target="cpu", **options):
    return guvectorize(signatures, layout, target=target, source=source, args=args, **options)


@pytest.mark.parametrize("kind", ["[:,:]", "[:,::1]", "[::1,:]"])
def test_gufunc_with_matrix_cores_matches_matmul(ufunc_target, kind):
    one = f"float32{kind}"
    f = make_gufunc(
        MATMUL, "a, b, c", [f"void({one}, {one}, {one})"], "(m,n),(n,p)->(m,p)", ufunc_target
    )
    assert isinstance(f, np.ufunc) and f.signature == "(m,n),(n,p)->(m,p)" and f.types == ["ff->f"]
    rng = np.random.default_rng(6)
    for outer_a, outer_b in [((), ()), ((7,), (7,)), ((5, 1), (3,)), ((0,), ()), ((1001,), ())]:
        a = rng.integers(-5, 5, (*outer_a, 3, 4)).astype("f4")
        b = rng.integers(-5, 5, (*outer_b, 4, 2)).astype("f4")
        for x, y in [(a, b), (np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2), b[..., ::-1]),
                     (a.repeat(2, -1)[..., ::2], b)]:  # fmt: skip
            np.testing.assert_array_equal(f(x, y), x @ y)
    out = np.zeros((7, 2, 3), "f4")
    a, b = rng.integers(-5, 5, (7, 3, 4)).astype("f4"), rng.integers(-5, 5, (4, 2)).astype("f4")
    f(a, b, out=out.transpose(0, 2, 1))
    np.testing.assert_array_equal(out.transpose(0, 2, 1), a @ b)
    with pytest.raises(ValueError, match="mismatch"):
        f(np.zeros((2, 3), "f4"), np.zeros((2, 3), "f4"))
    np.testing.assert_array_equal(
        f(a.T, b, axes=[(1, 0), (0, 1), (1, 2)]), a.transpose(0, 1, 2) @ b
    )


def test_gufunc_accepts_scalar_parameters(ufunc_target):
    body = "double t = 0; for (int i = 0; i < x.size(); ++i) t += pow(abs(x[i]), p); out[0] = pow(t, 1 / p);"
    f = make_gufunc(
        body, "x, p, out", ["void(float64[:], float64, float64[:])"], "(n),()->()", ufunc_target
    )
    x = np.random.default_rng(7).normal(size=(500, 6))
    np.testing.assert_allclose(f(x, 2.0), np.linalg.norm(x, axis=1))
    np.testing.assert_allclose(f(x, 3.0, axis=0), (np.abs(x) ** 3).sum(0) ** (1 / 3))
    with pytest.raises(TypeError, match="keepdims"):  # as in NumPy, not with a () input
        f(x, 2.0, keepdims=True)
    g = make_gufunc(
        "out[0] = a[0] + b;",
        "a, b, out",
        ["void(int64[:], int64, int64[:])"],
        "(),()->()",
        ufunc_target,
    )
    np.testing.assert_array_equal(g(np.arange(5000), 3), np.arange(3, 5003))


def test_gufunc_supports_optional_and_fixed_dimensions(ufunc_target):
    f = make_gufunc(MATMUL.replace("float", "double"), "a, b, c", ["void(float64[:,:], float64[:,:], float64[:,:])"],
              "(m?,n),(n,p?)->(m?,p?)", ufunc_target)  # fmt: skip
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for x, y in [(a, b), (a[0], b), (a, b[:, 0]), (a[0], b[:, 0])]:
        np.testing.assert_array_equal(f(x, y), x @ y)
    cross = make_gufunc(
        "c[0] = a[1] * b[2] - a[2] * b[1]; c[1] = a[2] * b[0] - a[0] * b[2]; c[2] = a[0] * b[1] - a[1] * b[0];",
        "a, b, c", ["void(float64[:], float64[:], float64[:])"], "(3),(3)->(3)", ufunc_target,
    )  # fmt: skip
    x, y = np.random.default_rng(1).normal(size=(2, 40, 3))
    np.testing.assert_allclose(cross(x, y), np.cross(x, y))
    with pytest.raises(ValueError, match="mismatch|size"):
        cross(np.zeros(4), np.zeros(4))


def test_gufunc_returns_two_outputs(ufunc_target):
    f = make_gufunc("low[0] = x[0]; high[0] = x[0]; for (int i = 1; i < x.size(); ++i) "
              "{ if (x[i] < low[0]) low[0] = x[i]; if (x[i] > high[0]) high[0] = x[i]; }",
              "x, low, high", ["void(int32[:], int32[:], int32[:])"], "(n)->(),()", ufunc_target)  # fmt: skip
    x = np.random.default_rng(2).integers(0, 1000, (3001, 5)).astype("i4")
    low, high = f(x)
    np.testing.assert_array_equal(low, x.min(1))
    np.testing.assert_array_equal(high, x.max(1))


def test_gufunc_loops_are_compiled_for_new_dtypes():
    f = make_gufunc(
        "out[0] = 0; for (int i = 0; i < x.size(); ++i) out[0] += x[i];", "x, out", [], "(n)->()"
    )
    assert f(np.arange(4)) == 6 and f(np.arange(4)).dtype == np.int64
    assert f(np.ones((3, 2), "f4")).tolist() == [2, 2, 2] and f.types == ["l->l", "f->f"]
    assert f(np.arange(4, dtype="i2"), dtype="f8").dtype == np.float64


def test_invalid_gufunc_signatures_raise():
    with pytest.raises(SignatureError, match="dimensions"):
        make_gufunc("b[0] = a[0];", "a, b", ["void(float32[:], float32[:])"], "(m,n)->(m)")
    with pytest.raises(SignatureError, match="output"):
        make_gufunc("b[0] = a[0];", "a, b", ["void(float32[:], float32)"], "(m)->()")
    with pytest.raises(SignatureError, match=r"\^"):
        make_gufunc("b[0] = a[0];", "a, b", ["void(float32[:], float32[:])"], "(m,->()")
    with pytest.raises(SignatureError, match="operands|parameters"):
        make_gufunc("b[0] = a[0];", "a, b", ["void(float32[:], float32[:])"], "(m),(m)->()")


# ---- threads --------------------------------------------------------------------------------------------


def test_set_num_threads_is_per_thread_and_bounded():
    most = numbalite.get_num_threads()
    assert most >= 1
    for wrong in (0, -1, most + 1):
        with pytest.raises(ValueError, match=f"between 1 and {most}"):
            numbalite.set_num_threads(wrong)
    with pytest.raises(TypeError):
        numbalite.set_num_threads(1.5)
    numbalite.set_num_threads(1)
    seen = []
    thread = threading.Thread(target=lambda: seen.append(numbalite.get_num_threads()))
    thread.start()
    thread.join()
    assert numbalite.get_num_threads() == 1 and seen == [most]
    numbalite.set_num_threads(most)


PARALLEL = """
import os, threading
import numpy as np
import numbalite
from numbalite import vectorize, guvectorize

f = vectorize(["float64(float64, float64)"], target="parallel", identity=0, args="x, y",
              source="double t = x; for (int i = 0; i < 40; ++i) t = sin(t) + 1; return x + y + 0 * t;")
rng = np.random.default_rng(0)
assert numbalite.get_num_threads() == 5

def check_seed(seed):
    rng = np.random.default_rng(seed)
    for n in (0, 1, 63, 255, 256, 257, 1000, 4097, 10007, 65537):
        x, y = rng.normal(size=n), rng.normal(size=2 * n)[::2]
        for a, b in ((x, y), (x[::-1], y), (x, 3.0)):
            np.testing.assert_array_equal(f(a, b), a + b)
        np.testing.assert_array_equal(f.accumulate(np.arange(float(n))), np.add.accumulate(np.arange(float(n))))
        assert f.reduce(np.arange(float(n))) == n * (n - 1) // 2

check_seed(1)
started = len(os.listdir("/proc/self/task"))
assert started >= 5, started
errors = []
def check_and_record(seed):
    try:
        check_seed(seed)
    except BaseException as e:
        errors.append(e)
threads = [threading.Thread(target=check_and_record, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not errors, errors

g = guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="parallel", args="x, out",
                source="double t = 0; for (int k = 0; k < 100; ++k) { t = 0; for (int i = 0; i < x.size(); ++i) t += x[i]; } out[0] = t;")
for n in (0, 1, 2, 5, 1001):
    x = rng.integers(0, 100, (n, 37)).astype(float)
    np.testing.assert_array_equal(g(x), x.sum(1))

child = os.fork()
if child == 0:
    ok = 1
    try:
        check_seed(7)
        ok = 0 if len(os.listdir("/proc/self/task")) >= 5 else 3
    finally:
        os._exit(ok)
assert os.waitpid(child, 0)[1] == 0
check_seed(3)
numbalite.set_num_threads(1)
check_seed(4)
"""


def test_parallel_ufuncs_work_with_threads_and_fork(run_python):
    run_python(PARALLEL, NUMBALITE_NUM_THREADS="5")


def test_numba_num_threads_variable_is_honoured(run_python):
    code = "import numbalite; print(numbalite.get_num_threads())"
    result = run_python(code, NUMBALITE_NUM_THREADS=None, NUMBA_NUM_THREADS="3")
    assert result.stdout.strip() == "3"


def test_ufunc_calls_release_the_interpreter_lock(ufunc_target):
    f = make_ufunc(
        "double t = x; for (int i = 0; i < 200000; ++i) t = sin(t); return t;",
        "x",
        ["float64(float64)"],
        ufunc_target,
    )
    ticks, done = [], threading.Event()

    def call_and_report():
        f(np.zeros(600))
        done.set()

    thread = threading.Thread(target=call_and_report)
    thread.start()
    while not done.wait(0.01) and len(ticks) < 5:
        ticks.append(1)
    assert len(ticks) >= 3
    thread.join()


# ---- pickling, lifetime ---------------------------------------------------------------------------------


def test_ufuncs_are_pickled(add, ufunc_target):
    copied = pickle.loads(pickle.dumps(add))
    assert copied is not add and copied.types == add.types and copied.identity == 0
    assert copied(2, 3) == 5
    assert pickle.loads(pickle.dumps(np.add)) is np.add
    k = 3.0

    @vectorize(target=ufunc_target)
    def times_k(x):
        "return k * x;"

    text = pickle.dumps(times_k)
    k = 5.0
    assert pickle.loads(text)(2.0) == 6.0
    f = make_gufunc(
        "out[0] = x[0];", "x, out", ["void(float64[:], float64[:])"], "(n)->()", ufunc_target
    )
    assert pickle.loads(pickle.dumps(f))(np.arange(3.0)) == 0


def test_ufunc_is_unpickled_in_another_process(run_python, tmp_path):
    path = tmp_path / "f.pickle"
    f = make_ufunc("x * 2", "x", ["float64(float64)"])
    path.write_bytes(pickle.dumps({"ours": f, "theirs": np.sin}))
    code = """
import pickle, sys, numpy as np
found = pickle.load(open(sys.argv[1], "rb"))
assert found["theirs"] is np.sin and found["ours"](4.0) == 8.0 and isinstance(found["ours"], np.ufunc)
"""
    run_python(code, path)


def test_ufuncs_work_with_cloudpickle():
    cloudpickle = pytest.importorskip("cloudpickle")
    f = make_ufunc("x * 2", "x", ["float64(float64)"])
    assert pickle.loads(cloudpickle.dumps(f))(4.0) == 8.0


def count_compiled_images():
    with open("/proc/self/maps", encoding="utf-8") as file:
        return len({line.split()[4] for line in file if "memfd:numbalite" in line})


def test_deleted_ufuncs_free_their_memory():
    def make_and_call_ufuncs():
        f = make_ufunc("x + 1", "x", ["float64(float64)", "int64(int64)"])
        f(np.arange(10))
        g = make_ufunc("x + 1", "x")
        g(1.0), g(1), g.types
        with pytest.raises(CompileError):
            make_ufunc("x +* 1", "x")(1.0)

    make_and_call_ufuncs()
    gc.collect()
    before, blocks = count_compiled_images(), _core.live()["blocks"]
    for _ in range(3):
        make_and_call_ufuncs()
        gc.collect()
    assert count_compiled_images() == before and _core.live()["blocks"] == blocks


def test_invalid_host_modules_raise():
    for data in (b"", b"x" * 100, b"\x7fELF" + bytes(200)):
        with pytest.raises(ImportError):
            _core.HostModule(data)
