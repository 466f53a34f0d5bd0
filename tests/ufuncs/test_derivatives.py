"""Compares derivatives of ufuncs with central differences and with each other, and tests rejected
calls."""

import linecache
import math
import pickle

import numpy as np
import pytest
from kit.needs import needs_nvrtc
from kit.sample import random_generator

import numbalite
from numbalite import cuda, errors, vectorize
from numbalite.ufuncs import differentiation

TARGETS = ["cuda", "cpu", "parallel"]
STEP = 1e-6
DD, DDD = ["float64(float64)"], ["float64(float64, float64)"]


def finite_difference(f, inputs, direction):
    """Returns the central difference of f along a direction."""
    ahead = [x + STEP * d for x, d in zip(inputs, direction, strict=True)]
    behind = [x - STEP * d for x, d in zip(inputs, direction, strict=True)]
    return (f(*ahead) - f(*behind)) / (2 * STEP)


def to_host_array(value):
    return value.copy_to_host() if isinstance(value, cuda.DeviceNDArray) else np.asarray(value)


def assert_derivative(found, expected):
    np.testing.assert_allclose(to_host_array(found), expected, rtol=2e-5, atol=2e-6)


# ---- functions of C++

SMOOTH = (
    "sqrt rsqrt cbrt rcbrt sin cos tan sinpi cospi asin acos atan sinh cosh tanh asinh atanh exp exp2 "
    "exp10 expm1 log log2 log10 log1p erf erfc erfcx erfinv erfcinv normcdf normcdfinv lgamma tgamma fabs j0 j1 y0 y1 "
    "cyl_bessel_i0 cyl_bessel_i1"
).split()
ROUNDING = "floor ceil trunc round rint nearbyint".split()
FROM_ONE = ["acosh"]
OF_TWO = {
    "pow": "pow(x, y)", "atan2": "atan2(x, y)", "hypot": "hypot(x, y)", "fmod": "fmod(x, y)",
    "remainder": "remainder(x, y)", "fmax": "fmax(x, y)", "fmin": "fmin(x, y)", "fdim": "fdim(x, y)",
    "copysign": "copysign(x, -y)", "max": "max(x, y)", "min": "min(y, x)", "fma": "fma(x, y, x)",
    "ldexp": "ldexp(x * y, 3)", "power of a constant": "pow(x, 3) * pow(2.0, y)",
    "integer operands": "x * 3 - 2 / y + (1 - x) / 7", "rhypot": "rhypot(x, y)", "orders": "jn(2, x) * yn(3, y + 1) + jn(0, y)",
    "norms": "norm3d(x, y, 1.0) + rnorm3d(2, x, y)", "long norms": "norm4d(x, 1, y, x) * rnorm4d(y, x, 2.0, y)",
    "fast": "__expf(x) + __sinf(y) + __powf(x, y)",
}  # fmt: skip


def random_points(low=0.05, high=0.95, size=40):
    return random_generator().uniform(low, high, size)


def split_in_groups(names):
    names = list(names)
    return [names[i : i + 9] for i in range(0, len(names), 9)]


def ufunc_of_group(names, target):
    """Returns a ufunc with one result for each function."""
    calls = ", ".join(f"{name}(x)" for name in names)
    returned = ", ".join(["float64"] * len(names))
    return vectorize(
        [f"Tuple(({returned}))(float64)"], target=target,
        source=f"return make_tuple({calls});", args="x", name="group",
    )  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("names", split_in_groups(SMOOTH), ids=lambda names: names[0])
def test_derivatives_of_unary_functions_match_differences(names, target):
    f, x = ufunc_of_group(names, target), random_points()
    values, tangents = f.jvp((x,), (2.0,))
    second = f.derivative().derivative()(x)
    first = f.derivative()
    for i in range(len(names)):
        np.testing.assert_allclose(values[i], f(x)[i], rtol=1e-14)
        assert_derivative(tangents[i], finite_difference(lambda x, i=i: f(x)[i], [x], [2.0]))
        assert_derivative(second[i], finite_difference(lambda x, i=i: first(x)[i], [x], [1.0]))


@pytest.mark.parametrize("target", TARGETS)
def test_functions_that_round_have_the_derivative_0(target):
    f, x = ufunc_of_group(ROUNDING, target), random_generator().normal(size=50) * 3
    values, tangents = f.jvp((x,), (1.0,))
    for value, expected, tangent in zip(values, f(x), tangents, strict=True):
        np.testing.assert_array_equal(value, expected)
        assert not np.asarray(tangent).any()


def test_derivative_of_acosh_matches_formula():
    f = vectorize(DD, target="cpu", source="return acosh(x);", args="x", name="f")
    x = random_points(1.1, 4)
    assert_derivative(f.derivative()(x), 1 / np.sqrt(x * x - 1))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("text", OF_TWO.values(), ids=str)
def test_derivatives_of_binary_functions_match_differences(text, target):
    f = vectorize(DDD, target=target, source=f"return {text};", args="x, y", name="f")
    x, y, dx, dy = random_points(), random_points(), random_points(), random_points()
    value, tangent = f.jvp((x, y), (dx, dy))
    if "__" not in text:
        np.testing.assert_allclose(value, f(x, y), rtol=1e-14)
        assert_derivative(tangent, finite_difference(f, [x, y], [dx, dy]))
    else:
        exact = np.exp(x) * dx + np.cos(y) * dy + x**y * (y / x * dx + np.log(x) * dy)
        np.testing.assert_allclose(tangent, exact, rtol=1e-4)
    gx, gy = f.vjp((x, y), 1.0)
    rtol = 1e-4 if "__" in text else 1e-9
    np.testing.assert_allclose(gx * dx + gy * dy, tangent, rtol=rtol, atol=1e-12)


WITHOUT_RULE = {"nextafter", "spacing"}


def ufuncs_of_numpy():
    """Returns NumPy's ufuncs of float64 numbers that are defined at the points of these tests."""
    found = {ufunc for ufunc in vars(np).values() if isinstance(ufunc, np.ufunc)} - {np.arccosh}
    of_numbers = [u for u in found if u.signature is None and "d" * u.nin + "->d" in u.types]
    return sorted(of_numbers, key=lambda ufunc: ufunc.__name__)


@pytest.mark.parametrize("ufunc", ufuncs_of_numpy(), ids=lambda u: u.__name__)
def test_derivatives_of_numpy_ufuncs_are_correct_or_raise(ufunc):
    inputs, direction = [random_points(), random_points()][: ufunc.nin], [1.0, 2.0][: ufunc.nin]
    fused = numbalite.fuse(lambda *args: ufunc(*args))
    given = [cuda.to_device(x) for x in inputs]
    if ufunc.__name__ in WITHOUT_RULE:
        with pytest.raises(errors.CompileError, match="hint: a derivative"):
            fused.jvp(given, direction)
        return
    value, tangent = fused.jvp(given, direction)
    np.testing.assert_allclose(value.copy_to_host(), ufunc(*inputs), rtol=1e-12)
    if ufunc.__name__ in ("floor", "ceil", "trunc", "rint", "floor_divide"):
        assert not tangent.copy_to_host().any()
    else:
        expected = finite_difference(ufunc, inputs, direction)
        near = np.isclose(tangent.copy_to_host(), expected, rtol=2e-5, atol=2e-6)
        assert near.mean() > 0.9  # a finite difference may straddle a jump


# ---- random texts


def random_expression(random, depth, names):
    """Returns a random expression in C++, which is also Python."""
    if depth == 0 or random.random() < 0.15:
        return random.choice(
            [*names, f"({random.uniform(-2, 2):.3f})", str(random.randrange(1, 4))]
        )
    a, b = random_expression(random, depth - 1, names), random_expression(random, depth - 1, names)
    return random.choice([
        f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / (1.5 + {b} * {b}))", f"(0 - {a})",
        f"sin({a})", f"exp(-{a} * {a})", f"tanh({a})", f"sqrt(1 + {a} * {a})", f"log(2 + {a} * {a})",
        f"atan2({a}, 1 + {b} * {b})", f"cos({a} * {b})", f"pow(1 + {a} * {a}, 0.3)",
    ])  # fmt: skip


def generate_body(random):
    """Returns a random body with variables, loops and branches that exist in C++ and in Python."""
    names, lines = ["x", "y"], []
    for i in range(random.randrange(1, 4)):
        text = random_expression(random, 2, names)
        lines.append(("set", f"v{i}", text))
        names.append(f"v{i}")
    lines.append(("loop", names[-1], random_expression(random, 2, names)))
    lines.append(
        (
            "branch",
            names[-1],
            random_expression(random, 1, names),
            random_expression(random, 2, names),
        )
    )
    return lines, random_expression(random, 2, names)


def cpp_body_text(lines, result, kind):
    text = ""
    for what, name, *rest in lines:
        if what == "set":
            text += f"{kind} {name} = {rest[0]};\n"
        elif what == "loop":
            text += (
                f"for (int i = 0; i < 3; ++i)\n    {name} = 0.5 * {name} + 0.1 * i * {rest[0]};\n"
            )
        else:
            text += f"if ({rest[0]} > 0.25)\n    {name} += {rest[1]};\n"
    return f"{text}return {result};"


def python_body_text(lines, result):
    text = "def f(x, y):\n"
    for what, name, *rest in lines:
        if what == "set":
            text += f"    {name} = {rest[0]}\n"
        elif what == "loop":
            text += f"    for i in range(3):\n        {name} = 0.5 * {name} + 0.1 * i * {rest[0]}\n"
        else:
            text += f"    if {rest[0]} > 0.25:\n        {name} += {rest[1]}\n"
    scope = {name: getattr(math, name) for name in "sin cos exp tanh sqrt log atan2 pow".split()}
    text, file = f"{text}    return {result}\n", f"<body {hash(text)}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), scope)
    return scope["f"]


@pytest.fixture(params=range(40))
def random_body(request, tmp_path):
    import random

    return generate_body(random.Random(request.param))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", ["double", "float64", "auto"])
def test_derivatives_of_random_cpp_bodies_match_differences(random_body, target, kind):
    lines, result = random_body
    if kind == "auto":  # a variable without a declared type has the type of its first value
        lines = [
            (w, n, f"0 * x + {r[0]}", *r[1:]) if w == "set" else (w, n, *r) for w, n, *r in lines
        ]
    source = cpp_body_text(lines, result, kind)
    f = vectorize(DDD, target=target, source=f"{source}", args="x, y", name="f")
    check_all(f)


def check_all(f):
    x, y = random_points(size=30), random_points(size=30)
    dx, dy = random_points(size=30), random_points(size=30)
    value, tangent = f.jvp((x, y), (dx, dy))
    np.testing.assert_allclose(value, f(x, y), rtol=1e-12, atol=1e-13)
    # At a branch, a finite difference may straddle both sides.
    expected = finite_difference(f, [x, y], [dx, dy])
    near = np.abs(to_host_array(tangent) - expected) <= 2e-5 * np.abs(expected) + 2e-6
    assert near.mean() > 0.9, (tangent, expected)
    gx, gy = f.vjp((x, y), 1.0)
    np.testing.assert_allclose(gx * dx + gy * dy, tangent, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(f.derivative(0)(x, y), gx, rtol=1e-12, atol=1e-13)
    mixed, swapped = f.derivative(0).derivative(1)(x, y), f.derivative(1).derivative(0)(x, y)
    np.testing.assert_allclose(mixed, swapped, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_derivatives_of_random_python_bodies_match_differences(random_body, target):
    check_all(vectorize(DDD, target=target)(python_body_text(*random_body)))


# ---- shapes, types and calls


@pytest.mark.parametrize("target", TARGETS)
def test_gradients_have_the_shapes_and_types_of_their_arguments(target):
    f = vectorize(
        ["float32(float32, float32)", "float64(float64, float64)"], target=target,
        source="return x * y * y;", args="x, y", name="f",
    )  # fmt: skip
    random = random_generator()
    for x_shape, y_shape in [
        ((3, 4), (4,)),
        ((3, 1), (1, 4)),
        ((), (5,)),
        ((2, 1, 3), (4, 1)),
        ((0, 3), (3,)),
    ]:
        for dtype in ("f4", "f8"):
            x = random.random(x_shape).astype(dtype)
            y = random.random(y_shape).astype(dtype)
            shape = np.broadcast_shapes(x_shape, y_shape)
            g = random.random(shape).astype(dtype)
            gx, gy = f.vjp((x, y), g)
            for found, like, whole in [(gx, x, g * y * y), (gy, y, g * 2 * x * y)]:
                ahead = len(shape) - like.ndim
                axes = (*range(ahead), *(i + ahead for i, n in enumerate(like.shape) if n == 1))
                assert np.shape(found) == like.shape and found.dtype == dtype
                expected = whole.sum(axis=axes).reshape(like.shape)
                np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "f4" else 1e-12)


def test_derivatives_keep_arrays_on_the_device():
    f = vectorize(DDD, target="cuda", source="return sin(x) * y;", args="x, y", name="f")
    x, y = cuda.to_device(random_points()), cuda.to_device(random_points())
    for found in (f.derivative(1)(x, y), *f.jvp((x, y), (x, None)), *f.vjp((x, y), y)):
        assert isinstance(found, cuda.DeviceNDArray)


@pytest.mark.parametrize("target", TARGETS)
def test_lazy_ufuncs_have_derivatives(target):
    @vectorize(target=target)
    def power_ufunc(x, n):
        "return pow(x, n);"

    x = random_points()
    np.testing.assert_allclose(power_ufunc.derivative(0)(x, 3), 3 * x**2, rtol=1e-12)
    single = power_ufunc.derivative(0)(x.astype("f4"), np.float32(3))
    assert single.dtype == np.float32
    gx, gn = power_ufunc.vjp((x, np.int32(2)), np.ones(x.shape))
    np.testing.assert_allclose(gx, 2 * x, rtol=1e-12)
    assert gn is None
    with pytest.raises(TypeError, match="tangent is None"):
        power_ufunc.jvp((x, np.full(x.shape, 2, "i4")), (1.0, 1.0))


def test_integer_inputs_have_no_tangent():
    @vectorize(["float64(float64, int32)"], target="cpu")
    def integer_power(x, n):
        """
        double p = 1;
        for (int i = 0; i < n; ++i)
            p *= x;
        return p;
        """

    x, n = random_points(), np.arange(40, dtype="i4") % 5
    value, tangent = integer_power.jvp((x, n), (1.0, None))
    np.testing.assert_allclose(value, x**n)
    np.testing.assert_allclose(tangent, n * x ** (n - 1.0))
    with pytest.raises(errors.SignatureError, match="input 1 of .* is int32"):
        integer_power.derivative(1)


def test_device_functions_and_constants_are_derived_too():
    table, factor = np.array([1.0, 2.0, 3.0]), 2.5

    @cuda.jit("float64(float64)", device=True)
    def scaled_square(x):
        "return factor * x * x;"

    @cuda.jit(device=True)
    def square_plus_table(x):
        "return scaled_square(x) + table[(int)x];"

    @vectorize(DD, target="cuda")
    def call_captured(x):
        "double t = square_plus_table(x); return t * table[1];"

    x = random_points(0.1, 2.9)
    np.testing.assert_allclose(call_captured.derivative()(x), 2 * 2 * 2.5 * x, rtol=1e-12)


def test_fused_functions_have_derivatives():
    fused = numbalite.fuse(lambda a, b: np.where(a > b, np.exp(a) * b, a - b * 2.5))
    total = numbalite.fuse(lambda a, b: np.sum(np.sin(a) * b, axis=0))
    x, y = random_points(size=(6, 4)), random_points(size=4)
    a, b = cuda.to_device(x), cuda.to_device(y)
    ga, gb = fused.vjp((a, b), 1.0)
    np.testing.assert_allclose(to_host_array(ga), np.where(x > y, np.exp(x) * y, 1), rtol=1e-12)
    np.testing.assert_allclose(
        to_host_array(gb), np.where(x > y, np.exp(x), -2.5).sum(0), rtol=1e-12
    )
    g = random_points(size=4)
    ga, gb = total.vjp((a, b), cuda.to_device(g))
    np.testing.assert_allclose(to_host_array(ga), g * np.cos(x) * y, rtol=1e-12)
    np.testing.assert_allclose(to_host_array(gb), (g * np.sin(x)).sum(0), rtol=1e-12)
    value, tangent = total.jvp((a, b), (1.0, None))
    np.testing.assert_allclose(to_host_array(value), (np.sin(x) * y).sum(0), rtol=1e-12)
    np.testing.assert_allclose(to_host_array(tangent), (np.cos(x) * y).sum(0), rtol=1e-12)
    with pytest.raises(TypeError, match="other than a sum"):
        numbalite.fuse(lambda a: np.max(a)).vjp((a,), 1.0)


# ---- rules of the user


@pytest.mark.parametrize("target", TARGETS)
def test_user_defined_derivative_rules_are_used(target):
    f = vectorize(DDD, target=target, source="return x * y;", args="x, y", name="f")
    f = f.defvjp("g * y + 100 * g", "g * sin(x) / 3")
    x, y, g = random_points(), random_points(), random_points()
    gx, gy = f.vjp((x, y), g)
    np.testing.assert_allclose(gx, g * y + 100 * g, rtol=1e-12)
    np.testing.assert_allclose(gy, g * np.sin(x) / 3, rtol=1e-12)
    np.testing.assert_allclose(f.derivative(0)(x, y), y + 100, rtol=1e-12)
    np.testing.assert_allclose(f.derivative(1).derivative(0)(x, y), np.cos(x) / 3, rtol=1e-12)
    value, tangent = f.jvp((x, y), (2.0, None))
    np.testing.assert_allclose(value, x * y)
    np.testing.assert_allclose(tangent, 2 * (y + 100), rtol=1e-12)


def test_derivatives_are_pickled():
    f = vectorize(DD, target="cuda", source="return x * x;", args="x", name="f")
    d = f.derivative()
    again = pickle.loads(pickle.dumps(d))
    x = random_points()
    np.testing.assert_allclose(again(x), 2 * x)
    f.defvjp("7 * g")
    np.testing.assert_allclose(pickle.loads(pickle.dumps(f)).derivative()(x), 7.0 + 0 * x)


# ---- what is refused

REFUSED = {
    "a loss to an integer": ("int i = x; return i * x;", "hint: a derivative is compiled with dual numbers"),
    "a function without a rule": ("int e; return frexp(x, &e);", "frexp"),
    "bits": ("return __longlong_as_double(__double_as_longlong(x));", "__double_as_longlong"),
    "a cast of an address": ("return *(long long *)&x;", "hint: a derivative"),
    "a union": ("union { double d; long long i; } u; u.d = x; return u.d;", "its text uses union"),
    "reinterpret_cast": ("return reinterpret_cast<long long &>(x);", "its text uses reinterpret_cast"),
    "long double": ("long double t = x; return t;", "long double, which has no derivative: write double"),
    "memcpy": ("long long i; memcpy(&i, &x, 8); return i;", "its text uses memcpy"),
}  # fmt: skip


@pytest.mark.parametrize("text, message", REFUSED.values(), ids=REFUSED)
def test_functions_whose_derivative_would_be_lost_raise(text, message):
    f = vectorize(DD, target="cuda", source=text, args="x", name="f")
    with pytest.raises((errors.CompileError, TypeError), match=message):
        f.derivative()(random_points())


def test_invalid_derivative_arguments_raise():
    f = vectorize(DDD, target="cuda", source="return x * y;", args="x, y", name="f")
    for by in (2, -1, True, 0.5, None):
        with pytest.raises(ValueError, match="the index of an input is from 0 to 1"):
            f.derivative(by)
    with pytest.raises(TypeError, match="f has 2 inputs, not 1"):
        f.jvp((1.0,), (1.0,))
    with pytest.raises(TypeError, match="2 primals, 1 tangents"):
        f.jvp((1.0, 2.0), (1.0,))
    with pytest.raises(TypeError, match="1 results, 2 cotangents"):
        f.vjp((1.0, 2.0), (1.0, 1.0))
    with pytest.raises(TypeError, match="one rule for each of 2 inputs, not 1"):
        f.defvjp("g")
    integers = vectorize(["int32(int32)"], target="cuda", source="return x;", args="x", name="f")
    with pytest.raises(errors.SignatureError, match="has no derivative"):
        integers.derivative()
    with pytest.raises(TypeError, match="ufuncs made by vectorize"):
        differentiation.derivative(np.sin)


# ---- compilers


@needs_nvrtc
@pytest.mark.parametrize("capability", [(7, 5), (8, 0), (9, 0), (10, 0)])
@pytest.mark.parametrize("names", split_in_groups(SMOOTH), ids=lambda names: names[0])
def test_derivatives_compile_for_gpus(names, capability):
    f = ufunc_of_group(names, "cuda")
    for ufunc in (
        f.derivative(),
        vectorize(DD, target="cuda", source="return sin(exp(x));", args="x", name="f")
        .derivative()
        .derivative(),
    ):
        (signature,) = ufunc.signatures
        image = ufunc._overload(ufunc._inspected_plan(signature)).images.compile(
            ("cuda", *capability)
        )
        assert image.data
