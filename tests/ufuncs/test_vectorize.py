"""Tests vectorize(target="cuda") as users call it: forms of the decorator, loops, types, and kernels for
every kind of operand."""

import pickle
import random

import numpy as np
import pytest

import numbalite
from numbalite import cuda, errors, float32, float64, vectorize
from numbalite.ufuncs.cudaufunc import cast

SCALE = 3
TABLE = np.array([10.0, 20.0, 30.0])


@cuda.jit(device=True)
def square(x):
    "return x * x;"


@vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
def hypotenuse(x, y):
    "return sqrt(square(x) + y * y);"


# --- forms -------------------------------------------------------------------------------------------


def test_ufunc_has_numpys_attributes():
    f = hypotenuse
    assert (f.nin, f.nout, f.nargs, f.ntypes) == (2, 1, 3, 2)
    assert f.types == ["ff->f", "dd->d"] and f.identity is None and f.signature is None
    assert f.__name__ == "hypotenuse" and f.__module__ == __name__
    assert "square" in f.__doc__ and "hypotenuse" in repr(f)
    assert f.signatures == [float32(float32, float32), float64(float64, float64)]


FORMS = {
    "a body": lambda: vectorize("f8(f8, f8)", target="cuda")(_sum_body),
    "types": lambda: vectorize([float64(float64, float64)], target="cuda")(_sum_body),
    "cuda.vectorize": lambda: cuda.vectorize(["f8(f8, f8)"])(_sum_body),
    "deduced result": lambda: vectorize(["(f8, f8)"], target="cuda")(_sum_body),
    "no signature": lambda: vectorize(target="cuda")(_sum_body),
    "bare": lambda: cuda.vectorize(_sum_body),
    "expression": lambda: vectorize(target="cuda", source="x + y", args="x, y"),
    "body with args": lambda: vectorize(
        "f8(f8, f8)", target="cuda", source="double s = x; return s + y;", args=["x", "y"]
    ),
    "template": lambda: vectorize(
        target="cuda", source="template <class T> __device__ T f(T x, T y) { return x + y; }"
    ),
    "without __device__": lambda: vectorize(
        ["f8(f8, f8)"], target="cuda", source="double f(double x, double y) { return x + y; }"
    ),
    "overloads": lambda: vectorize(
        target="cuda", name="f",
        source="float f(float x, float y) { return 0; } double f(double x, double y)"
        " { return x + y; } double g(double x) { return x; }",
    ),
    "an instance": lambda: cuda.vectorize(
        source="template <class T> T f(T x, T y) { return x + y; }", name="f<double>"
    ),
    "a source first": lambda: cuda.vectorize("double f(double x, double y) { return x + y; }"),
}  # fmt: skip


def _sum_body(x, y):
    "return x + y;"


@pytest.mark.parametrize("form", FORMS)
def test_vectorize_accepts_each_form(form):
    f = FORMS[form]()
    x = np.arange(10.0)
    result = f(x, 2 * x)
    assert result.dtype == np.float64 and isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, 3 * x)
    assert f.nin == 2 and f.nout == 1 and f.types == ["dd->d"]


def test_vectorize_captures_names_of_the_scope():
    local = 0.5

    @vectorize(["f8(f8, i4)"], target="cuda")
    def use_captured_names(x, i):
        "return SCALE * x + local + TABLE[i];"

    np.testing.assert_array_equal(use_captured_names(np.ones(3), [0, 1, 2]), 3.5 + TABLE)
    g = vectorize(["f8(f8)"], target="cuda", source="SCALE * x + local", args="x")
    assert g(1.0) == 3.5


@pytest.mark.parametrize("name", ["double", "new", "größe"])
def test_ufunc_names_that_are_not_cpp_identifiers_work(name):
    scope = {}
    exec(f'def {name}(x):\n    "return 2 * x;"', scope)
    f = vectorize(["f8(f8)"], target="cuda")(scope[name])
    assert f(3.0) == 6.0 and f.__name__ == name
    assert vectorize(target="cuda")(scope[name])(3) == 6


def raises_with_texts(error, *texts):
    return pytest.raises(error, match="(?s)" + ".*".join(texts))


def test_invalid_vectorize_arguments_raise():
    with raises_with_texts(errors.SignatureError, "2 parameters", "has 1"):
        vectorize(["f4(f4)"], target="cuda")(_sum_body)
    with raises_with_texts(errors.SignatureError, "guvectorize"):
        vectorize(["f4(f4[:], f4)"], target="cuda")(_sum_body)
    with raises_with_texts(errors.SignatureError, "returns nothing"):
        vectorize(["void(f4, f4)"], target="cuda")(_sum_body)
    with raises_with_texts(errors.SignatureError, "different numbers"):
        vectorize(["f4(f4, f4)", "UniTuple(f8, 2)(f8, f8)"], target="cuda")(_sum_body)
    with raises_with_texts(errors.SignatureError, "twice"):
        vectorize(["f4(f4, f4)", "f8(f4, f4)"], target="cuda")(_sum_body)
    with raises_with_texts(ValueError, "cuda, cpu, parallel"):
        vectorize(target="gpu")
    with raises_with_texts(TypeError, "fastmth", "fastmath"):
        vectorize(target="cuda", fastmth=True)
    with raises_with_texts(ValueError, "reorderable"):
        vectorize(target="cuda", identity="zero")
    with raises_with_texts(TypeError, "source="):
        vectorize(target="cuda", args="x")
    with raises_with_texts(TypeError, "not both"):
        vectorize(_sum_body, source="x", args="x")
    with raises_with_texts(TypeError, "f-string", "vectorize"):

        @vectorize(target="cuda")
        def f_string_body(x):
            f"return {x} + 1;"  # noqa: B021

    with raises_with_texts(TypeError, "function whose body is a string"):
        vectorize(3)


def test_a_source_that_does_not_compile_names_ufunc_and_signature():
    def undefined_thing(x):
        "return x + undefined_thing;"

    with raises_with_texts(
        errors.CompileError, r"undefined_thing for float32\(float32\)", "undefined_thing"
    ):
        vectorize(["f4(f4)"], target="cuda")(undefined_thing)
    lazily = vectorize(target="cuda")(undefined_thing)
    with raises_with_texts(
        errors.CompileError, r"undefined_thing\(int64\)", r"test_vectorize.py\(\d+\)"
    ):
        lazily(np.arange(3))


LIST = [1, 2, 3]


@cuda.jit(device=True)
def uses_list(x):
    "return x + LIST;"


@pytest.mark.parametrize("given", [["f4(f4)"], ()])
def test_names_that_cannot_be_used_are_explained(given):
    with raises_with_texts(errors.CompileError, "hint: LIST is a list", "np.array"):
        vectorize(given, target="cuda", source="uses_list(x)", args="x")(np.float32(1))


def test_ufuncs_are_pickled():
    for f in (hypotenuse, vectorize(target="cuda")(_sum_body)):
        g = pickle.loads(pickle.dumps(f))
        assert g.__name__ == f.__name__ and g(3.0, 4.0) == f(3.0, 4.0)
    f = pickle.loads(pickle.dumps(vectorize(["f8(f8)"], "cuda", 1, source="SCALE * x", args="x")))
    assert f.identity == 1 and f(2.0) == 6.0


def test_inspect_source_returns_each_signature():
    text = hypotenuse.inspect_source("(f4, f4)")
    assert "numbalite/ufunc.cuh" in text and "square" in text
    assert set(hypotenuse.inspect_source()) == set(hypotenuse.signatures)
    assert float32(float32, float32) in hypotenuse.overloads
    with pytest.raises(KeyError):
        hypotenuse.inspect_source("(i4, i4)")


# --- loops -------------------------------------------------------------------------------------------


def test_result_dtypes_match_the_loops():
    i2, i4, f4 = np.ones(3, "i2"), np.ones(3, "i4"), np.ones(3, "f4")
    assert hypotenuse(i2, i2).dtype == np.float32
    assert hypotenuse(i4, i4).dtype == np.float64
    assert hypotenuse(f4, 2.0).dtype == np.float32
    assert hypotenuse(2, f4).dtype == np.float32
    assert hypotenuse(f4, np.float64(2)).dtype == np.float64
    assert hypotenuse(f4, f4, dtype="f8").dtype == np.float64
    assert hypotenuse(f4, f4, signature="dd->d").dtype == np.float64
    assert type(hypotenuse(3, 4)) is np.float64
    assert hypotenuse.resolve_dtypes((np.dtype("f4"), int, None)) == (np.dtype("f4"),) * 3


def test_calls_without_a_matching_loop_raise():
    x = np.ones(3)
    with raises_with_texts(TypeError, "hypotenuse", "not supported", "complex128", "float64"):
        hypotenuse(x, 1j * x)
    with raises_with_texts(
        TypeError, "Cannot cast ufunc 'hypotenuse' output", "int32", "same_kind"
    ):
        hypotenuse(x, x, out=np.zeros(3, "i4"))
    with raises_with_texts(TypeError, "Cannot cast ufunc 'hypotenuse' input 1", "'safe'"):
        hypotenuse(np.float32([1, 1, 1]), x, signature="ff->f", casting="safe")
    with raises_with_texts(TypeError, "No loop matching the specified signature"):
        hypotenuse(x, x, dtype="i4")
    with raises_with_texts(TypeError, "dtype"):
        hypotenuse(x, x, dtype="f4", signature="ff->f")


def test_single_loop_accepts_same_kind_casts():
    f = vectorize(["f4(f4)"], target="cuda", source="x", args="x")
    assert f(np.ones(3)).dtype == np.float32
    with raises_with_texts(TypeError, "not supported"):
        f(np.ones(3), casting="safe")
    with raises_with_texts(TypeError, "not supported"):
        f(np.ones(3) * 1j)


def test_loops_are_compiled_for_new_dtypes():
    f = vectorize(target="cuda")(_sum_body)
    assert f.types == [] and f.ntypes == 0
    for a, b in (("i1", "i1"), ("f4", "f4"), ("i4", "f8"), ("c8", "f4"), ("f2", "f2"), ("?", "u2")):
        x, y = np.arange(5).astype(a), np.ones(5, b)
        result = f(x, y)
        np.testing.assert_array_equal(result, x + y)
    assert "ff->f" in f.types and "id->d" in f.types
    assert f(np.float32([1, 2]), 2.5).dtype == np.float32
    assert f(np.int16([1, 2]), 1).dtype == np.int32  # short + short is int in C++
    assert f(np.float32([1]), np.float32([1]), dtype="f8").dtype == np.float64
    with raises_with_texts(OverflowError, "300"):
        f(np.uint8([1]), 300)
    count = f.ntypes
    f.add("c16(c16, c16)")
    assert f.ntypes == count + 1 and "DD->D" in f.types


def test_add_appends_a_loop():
    f = vectorize(["f4(f4, f4)"], target="cuda")(_sum_body)
    assert f(np.ones(2), 1.0).dtype == np.float32
    f.add("f8(f8, f8)")
    assert f.types == ["ff->f", "dd->d"] and f(np.ones(2), 1.0).dtype == np.float64
    with pytest.raises(errors.SignatureError):
        f.add("f8(f8)")


CODES = "?bhilBHILefdFD"


@pytest.mark.parametrize("code", CODES)
def test_ufuncs_compute_every_dtype(code):
    t = np.dtype(code)
    f = vectorize([f"{t.name}({t.name}, {t.name})"], target="cuda")(_sum_body)
    x, y = np.arange(37).astype(t), np.ones(37, t)
    for step in (1, 2):
        a, b = x[::step], y[::step]
        np.testing.assert_array_equal(f(a, b), a + b)
        np.testing.assert_array_equal(f(cuda.to_device(a), b).copy_to_host(), a + b)
        np.testing.assert_array_equal(f(a, t.type(1)), a + b)
    assert f(x, y).dtype == t


def test_tuple_results_become_outputs():
    @vectorize(["Tuple((f8, i4, b1))(f8, f8)"], target="cuda")
    def quotients_and_order(x, y):
        """
        if (y == 0) return make_tuple(0.0, -1, false);
        return make_tuple(x / y, (int)(x / y), x > y);
        """

    x, y = np.arange(20.0), np.arange(20.0)[::-1] % 4
    quotient, whole, larger = quotients_and_order(x, y)
    assert (quotient.dtype, whole.dtype, larger.dtype) == (
        "f8",
        "i4",
        "?",
    ) and quotients_and_order.nout == 3
    good = y != 0
    np.testing.assert_array_equal(quotient[good], x[good] / y[good])
    np.testing.assert_array_equal(
        whole, np.where(good, (x / np.where(good, y, 1)).astype("i4"), -1)
    )
    np.testing.assert_array_equal(larger, good & (x > y))
    assert quotients_and_order(7.0, 2.0) == (3.5, 3, True)

    @cuda.vectorize
    def two_results_per_element(x):
        "return make_tuple(x + 1, 2.5f * x);"

    a, b = two_results_per_element(np.int32([1, 2]))
    assert two_results_per_element.nout == 2 and a.dtype == np.int32 and b.dtype == np.float32
    brace = vectorize(["Tuple((f4, f4))(f4)"], target="cuda", source="return {x, 2 * x};", args="x")
    assert brace(np.float32(2)) == (2, 4)


def test_float16_with_python_numbers_stays_float16():
    f = vectorize(target="cuda", source="2 * x + 1", args="x")
    x = np.arange(9).astype(np.float16)
    np.testing.assert_array_equal(f(x), 2 * x + 1)
    assert f(x).dtype == np.float16


def test_each_element_is_computed_once(capfd):
    f = vectorize(
        ["i1(i1)"], target="cuda", source=r'printf("<%d>\n", (int)x); return x;', args="x"
    )
    f(np.arange(19).astype("i1"))
    cuda.synchronize()
    printed = [line for line in capfd.readouterr().out.splitlines() if line[:1] == "<"]
    assert sorted(printed) == sorted(f"<{i}>" for i in range(19))


# --- operands ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 15, 16, 17, 255, 1023, 1024, 1025, 5000])
def test_ufuncs_of_each_size_match_numpy(n):
    for code in "fdF":
        x = np.arange(n).astype(code)
        y = np.ones(n, code)
        f = _add_ufunc(code)
        np.testing.assert_array_equal(f(x, y), x + y)
        np.testing.assert_array_equal(f(cuda.to_device(x), y).copy_to_host(), x + y)


_adders = {}


def _add_ufunc(code):
    if code not in _adders:
        name = np.dtype(code).name
        _adders[code] = vectorize([f"{name}({name}, {name})"], target="cuda")(_sum_body)
    return _adders[code]


def test_ufuncs_of_one_byte_elements_match_numpy():
    f = vectorize(["u1(u1, u1)"], target="cuda", source="x ^ y", args="x, y")
    for n in (1, 15, 16, 17, 100):
        x, y = np.arange(n).astype("u1"), np.full(n, 5, "u1")
        np.testing.assert_array_equal(f(x, y), x ^ y)


def random_view(rng, shape):
    """Returns a float64 array of the shape, with a random layout."""
    order = list(range(len(shape)))
    if rng.random() < 0.4:
        rng.shuffle(order)
    steps = [rng.choice((1, 1, 1, 2, -1)) for _ in shape]
    sizes = [shape[i] * abs(steps[i]) + rng.choice((0, 1)) for i in order]
    big = np.arange(float(np.prod(sizes))).reshape(sizes) % 97
    view = big.transpose(np.argsort(order))
    slices = [slice(None, n * abs(s)) for n, s in zip(shape, steps, strict=True)]
    return view[tuple(slices)][tuple(slice(None, None, s) for s in steps)]


@pytest.mark.parametrize("seed", range(40))
def test_random_views_and_broadcasting_match_numpy(seed):
    rng = random.Random(seed)
    shape = [rng.choice((1, 2, 3, 5, 70)) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
    operands = []
    for _ in range(2):
        own = [1 if rng.random() < 0.2 else n for n in shape][rng.choice((0, 0, 0, 1)) :]
        operands.append(random_view(rng, own))
    wanted = operands[0] + operands[1]
    given = [
        x if rng.random() < 0.3 else cuda.to_device(x) if rng.random() < 0.5 else _device_view(x)
        for x in operands
    ]
    f = _add_ufunc("d")
    result = f(*given)
    np.testing.assert_array_equal(np.asarray(result), wanted)
    out = random_view(rng, wanted.shape)
    device = _device_view(out)
    assert f(*given, out=device) is device
    np.testing.assert_array_equal(np.asarray(device), wanted)
    mask = np.random.default_rng(seed).random(wanted.shape) < 0.5
    out = np.full(wanted.shape, -7.0)
    f(*given, out=out, where=mask)
    np.testing.assert_array_equal(out, np.where(mask, wanted, -7.0))


def _device_view(x):
    """Returns a device array with the same values and the same strides as a NumPy view."""
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    device = cuda.to_device(np.ascontiguousarray(base).reshape(-1))
    start = (x.__array_interface__["data"][0] - base.__array_interface__["data"][0]) // x.itemsize
    low = sum(min(0, (n - 1) * s) for n, s in zip(x.shape, x.strides, strict=True)) // x.itemsize
    if not base.flags.c_contiguous or x.size == 0 or start + low < 0:
        return cuda.to_device(x)
    interface = dict(device.__cuda_array_interface__)
    interface["data"] = (interface["data"][0] + start * x.itemsize, False)
    interface["shape"], interface["strides"] = x.shape, x.strides
    return cuda.from_cuda_array_interface(interface, owner=device)


def test_ufuncs_of_unaligned_operands_match_numpy():
    raw = cuda.to_device(np.zeros(8 * 20 + 3, "u1"))
    interface = dict(raw.__cuda_array_interface__)
    interface["data"] = (interface["data"][0] + 3, False)
    interface["shape"], interface["strides"], interface["typestr"] = (20,), None, "<f8"
    odd = cuda.from_cuda_array_interface(interface, owner=raw)
    f = _add_ufunc("d")
    f(np.arange(20.0), 1.0, out=odd)
    np.testing.assert_array_equal(f(odd, odd).copy_to_host(), 2 * (np.arange(20.0) + 1))


def test_ten_dimensions_match_numpy():
    x = np.arange(2**10).reshape((2,) * 10)[..., ::-1].transpose(3, 1, 4, 0, 5, 9, 2, 6, 8, 7)
    y = np.arange(2**10).reshape((2,) * 10)[::-1] * 0.5
    np.testing.assert_array_equal(_add_ufunc("d")(cuda.to_device(x.astype("d")), y), x + y)


def test_ufuncs_work_in_place_and_with_overlap():
    f = _add_ufunc("d")
    x = np.arange(100.0)
    d = cuda.to_device(x)
    f(d, d, out=d)
    np.testing.assert_array_equal(d.copy_to_host(), 2 * x)
    f(d[:-1], 1.0, out=d[1:])
    np.testing.assert_array_equal(d.copy_to_host()[1:], 2 * x[:-1] + 1)


def test_ufuncs_convert_operands_and_results():
    """The kernel converts operands of other dtypes, and results if out= has another dtype."""
    x = np.array([0.0, 1.0, 2.5, 100.0])
    f = _add_ufunc("d")
    for code in "?bBhilefd":
        np.testing.assert_array_equal(f(x.astype(code), 1.0), x.astype(code).astype("d") + 1)
        out = np.zeros(4, code)
        f(x, 1.0, out=out, casting="unsafe")
        np.testing.assert_array_equal(out, (x + 1).astype(code))
    g = _add_ufunc("D")
    out = np.zeros(4)
    with pytest.raises(TypeError):
        g(x, 2j, out=out)
    g(x, 2j, out=out, casting="unsafe")
    np.testing.assert_array_equal(out, x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", "?BiQefD")
def test_cast_ufunc_matches_astype(target):
    # Tests conversions of every kind to every kind, and of every width to one dtype of each kind.
    for source in "?bHiqefdFD" if target in "ief" else "?HqeD":
        x = np.array([0, 1, 3, 100.5]).astype(source)
        if np.dtype(source).kind in "if" and np.dtype(target).kind != "u":
            x[1] = -1
        result = cast(cuda.to_device(x), target)
        assert result.dtype == np.dtype(target)
        np.testing.assert_array_equal(result.copy_to_host(), x.astype(target))
    with pytest.raises(TypeError):
        cast(cuda.to_device(x), "S3")


def test_compile_options_are_applied():
    f = vectorize(
        ["f4(f4)"], target="cuda", source="EXTRA * x", args="x", fastmath=True, nopython=True,
        options=["-DEXTRA=3"], cache=True,
    )  # fmt: skip
    assert f(np.float32(2)) == 6


def test_vectorize_is_exported_twice():
    assert numbalite.vectorize is vectorize
    assert cuda.vectorize(_sum_body).nin == 2
