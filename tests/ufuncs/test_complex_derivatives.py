"""Compares derivatives of complex ufuncs with finite differences, and gradients with directional
derivatives."""

import cmath

import numpy as np
import pytest
from kit.needs import needs_nvrtc
from kit.sample import random_generator

import numbalite
from numbalite import cuda, errors, vectorize

TARGETS = ["cuda", "cpu", "parallel"]
STEP = 1e-6
FUNCTIONS = (
    "exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
    "atanh conj"
).split()
C = "complex128"


def complex_numbers(size=30):
    """Returns random complex numbers, some of which are on the real or the imaginary axis."""
    rng = random_generator()
    found = rng.uniform(-1.5, 1.5, size) + 1j * rng.uniform(-1.5, 1.5, size)
    found[:4].imag = 0
    found[4:8].real = 0
    return found


def points_near_cut(name, z):
    """Returns the points on a branch cut, or next to one."""
    x, y = z.real, z.imag
    cuts = {
        **dict.fromkeys(("log", "log2", "log10", "sqrt"), (y == 0) & (x < 0)),
        **dict.fromkeys(("asin", "acos", "atanh"), (y == 0) & (abs(x) >= 1)),
        **dict.fromkeys(("asinh", "atan"), (x == 0) & (abs(y) >= 1)),
        "log1p": (y == 0) & (x <= -1),
        "acosh": (y == 0) & (x <= 1),
    }
    return cuts.get(name, np.zeros(len(z), bool))


def make_ufunc(signature, source, args, target):
    return vectorize([signature], target=target, source=source, args=args, name="f")


def check_complex_derivatives(f, args):
    """Compares the jvp with central differences, and the vjp with the jvp: Re(g * Jt) is the sum of
    Re(gradient * t)."""
    rng = random_generator()
    tangents = [
        complex_numbers(len(a)) if a.dtype.kind == "c" else rng.uniform(-1, 1, len(a)) for a in args
    ]
    value, tangent = f.jvp(tuple(args), tuple(tangents))
    ahead = f(*[a + STEP * t for a, t in zip(args, tangents, strict=True)])
    behind = f(*[a - STEP * t for a, t in zip(args, tangents, strict=True)])
    np.testing.assert_allclose(value, f(*args), rtol=1e-12, atol=1e-14)
    near = np.isclose(tangent, (ahead - behind) / (2 * STEP), rtol=3e-5, atol=1e-5)
    assert near.mean() > 0.9  # a finite difference may straddle a branch
    g = complex_numbers(len(value)) if value.dtype.kind == "c" else rng.uniform(-1, 1, len(value))
    gradients = f.vjp(tuple(args), g)
    assert [one.dtype for one in gradients] == [a.dtype for a in args]
    total = sum((gradient * t).real for gradient, t in zip(gradients, tangents, strict=True))
    np.testing.assert_allclose(total, (g * tangent).real, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("target", TARGETS)
def test_derivatives_of_complex_functions_match_differences(target):
    calls = ", ".join(f"{name}(z)" for name in FUNCTIONS)
    results = ", ".join([C] * len(FUNCTIONS))
    f = make_ufunc(f"Tuple(({results}))({C})", f"return make_tuple({calls});", "z", target)
    z, t = complex_numbers(), complex_numbers()
    _, tangents = f.jvp((z,), (t,))
    for name, tangent, a, b in zip(
        FUNCTIONS, tangents, f(z + STEP * t), f(z - STEP * t), strict=True
    ):
        inside = ~points_near_cut(name, z)
        expected = ((a - b) / (2 * STEP))[inside]
        np.testing.assert_allclose(tangent[inside], expected, rtol=1e-4, atol=1e-4, err_msg=name)


TEXTS = {
    "abs": (f"float64({C})", "return abs(z) + norm(z);", "z"),
    "arg": (f"float64({C})", "return arg(z) * z.real() - z.imag();", "z"),
    "polar": (f"{C}(float64, float64)", "return polar(x, y);", "x, y"),
    "parts": (
        f"{C}(float64, float64)",
        "complex<double> z(x, y); z *= z; z += 1; return exp(z);",
        "x, y",
    ),
    "mixed": (
        f"{C}({C}, float64)",
        "complex128 w = z * z + complex128(0, 1) * x; return w / (1.5 + norm(z)) * 2 + conj(w) * x;",
        "z, x",
    ),
    "powers": (
        f"{C}({C}, {C})",
        "return pow(z, w) + pow(2.5, w) + pow(z, 2.5) + pow(z, 3) + pow(complex128(0.5, 1), w);",
        "z, w",
    ),
    "branches": (
        f"{C}({C})",
        "auto w = z; for (int i = 0; i < 3; ++i) { if (norm(w) > 1) w = w / 2.0; else w = w * w + z; } return w;",
        "z",
    ),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TEXTS)
def test_derivatives_of_complex_cpp_bodies_match_differences(name, target):
    signature, source, args = TEXTS[name]
    f = make_ufunc(signature, source, args, target)
    real = random_generator().uniform(0.1, 1, 30)
    kinds = signature[signature.index("(") + 1 : -1].split(", ")
    check_complex_derivatives(f, [complex_numbers() + 0.1 if kind == C else real for kind in kinds])


@pytest.mark.parametrize("target", TARGETS)
def test_derivatives_of_complex_python_bodies_match_differences(target):
    @vectorize([f"{C}({C}, float64)"], target=target)
    def complex_function(z, x):
        w = z * z + 1j * x
        if abs(w) > 1:
            w = w / (1 + abs(w))
        return cmath.exp(w) * w.conjugate() * z + w.real

    check_complex_derivatives(
        complex_function, [complex_numbers(), random_generator().uniform(0.1, 1, 30)]
    )


def ufuncs_of_numpy():
    found = {u for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None}
    of_numbers = [u for u in found if {"D" * u.nin + "->D", "D" * u.nin + "->d"} & set(u.types)]
    return sorted(of_numbers, key=lambda u: u.__name__)


@pytest.mark.parametrize("ufunc", ufuncs_of_numpy(), ids=lambda u: u.__name__)
def test_derivatives_of_fused_complex_numpy_ufuncs_match_differences(ufunc):
    inputs, t = [complex_numbers() + 0.1 for _ in range(ufunc.nin)], complex_numbers()
    fused = numbalite.fuse(lambda *args: ufunc(*args))
    given = [cuda.to_device(x) for x in inputs]
    value, tangent = fused.jvp(given, [cuda.to_device(t)] * ufunc.nin)
    np.testing.assert_allclose(value.copy_to_host(), ufunc(*inputs), rtol=1e-12)
    ahead, behind = ([x + step * t for x in inputs] for step in (STEP, -STEP))
    expected = (ufunc(*ahead) - ufunc(*behind)) / (2 * STEP)
    near = np.isclose(tangent.copy_to_host(), expected, rtol=1e-4, atol=1e-4)
    assert near.mean() > 0.8  # a finite difference may straddle a cut or a jump


def test_gradient_of_a_holomorphic_function_is_the_cotangent_times_the_derivative():
    f = make_ufunc("complex64(complex64)", "return sin(z);", "z", "cuda")
    z, g = complex_numbers().astype("c8"), complex_numbers().astype("c8")
    (gradient,) = f.vjp((z,), g)
    assert gradient.dtype == np.complex64
    np.testing.assert_allclose(gradient, g * np.cos(z), rtol=1e-4)


def test_derivative_by_a_real_input_of_a_complex_function_is_correct():
    f = make_ufunc(f"{C}({C}, float64)", "return exp(z * x);", "z, x", "cuda")
    z, x = complex_numbers(), np.linspace(0.1, 1, 30)
    np.testing.assert_allclose(f.derivative(1)(z, x), z * np.exp(z * x), rtol=1e-12)
    np.testing.assert_allclose(
        f.derivative(1).derivative(1)(z, x), z * z * np.exp(z * x), rtol=1e-12
    )
    check_complex_derivatives(f.derivative(1), [z, x])
    # A real primal of a complex input has a real gradient, summed over its broadcast axes.
    gradient = f.vjp((0.5, x), np.ones(30))[0]
    np.testing.assert_allclose(gradient, (x * np.exp(0.5 * x)).sum(), rtol=1e-12)
    assert np.asarray(gradient).dtype == np.float64


def test_complex_derivatives_that_do_not_exist_raise():
    f = make_ufunc(f"{C}({C})", "return z * z;", "z", "cuda")
    with pytest.raises(errors.SignatureError, match="input 0 of .* depends on the direction"):
        f.derivative(0)
    with pytest.raises(errors.SignatureError, match="rules of defvjp are for real numbers"):
        make_ufunc(f"{C}({C})", "return z;", "z", "cuda").defvjp("g").vjp((1j,), 1.0)
    lost = make_ufunc(f"{C}({C})", "double r = 0; r += abs(z); return r * z;", "z", "cuda")
    lost.jvp((1j,), (1.0,))  # in this body `double` is a dual number: the derivative is not lost
    with pytest.raises(errors.CompileError):
        make_ufunc(f"{C}({C})", "float16 h = abs(z); return z * float(h);", "z", "cuda").jvp(
            (1j,), (1.0,)
        )


@needs_nvrtc
def test_complex_derivatives_compile_for_gpus():
    calls = ", ".join(f"{name}(z)" for name in FUNCTIONS)
    results = ", ".join([C] * len(FUNCTIONS))
    f = make_ufunc(f"Tuple(({results}))({C})", f"return make_tuple({calls});", "z", "cuda")
    power = make_ufunc(*TEXTS["powers"], "cuda")
    for ufunc in (f, power):
        (signature,) = ufunc.signatures
        made = numbalite.ufuncs.differentiation.DerivativeFamily.of(ufunc)
        gradients = made.gradients([np.dtype(C)] * ufunc.nin)
        (signature,) = gradients.signatures
        overload = gradients._overload(gradients._inspected_plan(signature))
        assert overload.images.compile(("cuda", 9, 0)).data
