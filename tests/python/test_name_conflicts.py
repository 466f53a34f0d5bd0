"""Tests user functions with the names of CUDA functions: calls of the user's function and of the
CUDA function are not confused."""

import importlib.util
import linecache
import math
import os
import random

import numpy as np
import pytest
from kit.needs import needs_nvrtc
from kit.sample import VARIABLE, draw_cases

from numbalite import cuda, guvectorize, jit, njit, types, vectorize
from numbalite.cxx.freenames import free_names
from numbalite.cxx.reserved import is_reserved
from numbalite.errors import TranslationError
from numbalite.python import builtins, context
from numbalite.python.definition import PythonDefinition, definition_of
from numbalite.python.problem import Problem

# Maps the name in CUDA C++ to the name in NumPy or math, and the interval of its arguments.
UNARY = {
    "acos": ("np.arccos", -0.9, 0.9), "acosh": ("np.arccosh", 1.1, 9), "asin": ("np.arcsin", -0.9, 0.9),
    "asinh": ("np.arcsinh", -3, 3), "atan": ("np.arctan", -3, 3), "atanh": ("np.arctanh", -0.9, 0.9),
    "cbrt": ("np.cbrt", -3, 3), "ceil": ("np.ceil", -9, 9), "cos": ("np.cos", -3, 3),
    "cosh": ("np.cosh", -3, 3), "erf": ("math.erf", -3, 3), "erfc": ("math.erfc", -3, 3),
    "exp": ("np.exp", -3, 3), "exp2": ("np.exp2", -3, 3), "expm1": ("np.expm1", -3, 3),
    "fabs": ("np.fabs", -3, 3), "floor": ("np.floor", -9, 9), "lgamma": ("math.lgamma", 0.5, 9),
    "log": ("np.log", 0.1, 9), "log10": ("np.log10", 0.1, 9), "log1p": ("np.log1p", 0.1, 9),
    "log2": ("np.log2", 0.1, 9), "rint": ("np.rint", -9, 9), "sin": ("np.sin", -3, 3),
    "sinh": ("np.sinh", -3, 3), "sqrt": ("np.sqrt", 0, 9), "tan": ("np.tan", -1, 1),
    "tanh": ("np.tanh", -3, 3), "tgamma": ("math.gamma", 0.5, 9), "trunc": ("np.trunc", -9, 9),
    "abs": ("np.abs", -3, 3), "round": ("np.round", -9, 9),
}  # fmt: skip
BINARY = {
    "atan2": "np.arctan2", "copysign": "np.copysign", "fmod": "np.fmod", "hypot": "np.hypot",
    "nextafter": "np.nextafter", "pow": "np.power", "fmax": "np.fmax", "fmin": "np.fmin",
}  # fmt: skip
HEAD = "import math\nimport numpy as np\nfrom numbalite import *\n"


def import_text(tmp_path, text):
    """Returns the module of a text, which is written to a file, so that its source can be read."""
    path = tmp_path / f"m{len(list(tmp_path.iterdir()))}.py"
    path.write_text(text)
    linecache.checkcache()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions_source(decorator, body):
    """Returns the source of all functions; each has the same name as the builtin that it calls."""
    lines = [HEAD]
    for name, (python, _, _) in UNARY.items():
        lines.append(f"{decorator}\ndef {name}(x): {body(name, python, 'x')}\n")
    for name, python in BINARY.items():
        lines.append(f"{decorator}\ndef {name}(x, y): {body(name, python, 'x, y')}\n")
    return "\n".join(lines)


def python_body(name, python, args):
    return f"return {python}({args})"


def string_body(name, python, args):
    return f"'return {name}({args});'"


def random_inputs(rng):
    unary = {name: rng.uniform(low, high) for name, (_, low, high) in UNARY.items()}
    return unary, {name: (rng.uniform(0.1, 5), rng.uniform(0.1, 5)) for name in BINARY}


def expected_results(unary, binary):
    scope = {"np": np, "math": math}
    found = [eval(UNARY[name][0], scope)(x) for name, x in unary.items()]
    return found + [eval(BINARY[name], scope)(*xy) for name, xy in binary.items()]


@pytest.fixture
def seeded_random():
    return random.Random(f"{os.environ.get(VARIABLE)}")


BODIES = pytest.mark.parametrize("body", [python_body, string_body])


def caller_source(unary, binary):
    calls = [f"{name}(x[{i}])" for i, name in enumerate(unary)]
    calls += [
        f"{name}(x[{i}], x[{i + 1}])"
        for i, name in zip(range(len(unary), 9999, 2), binary, strict=False)
    ]
    return calls


@BODIES
@pytest.mark.parametrize("calling", ["python", "string"])
def test_device_functions_may_have_names_of_builtins(tmp_path, seeded_random, body, calling):
    unary, binary = random_inputs(seeded_random)
    decorator = "@cuda.jit(device=True)"
    if body is python_body and calling == "string":
        decorator = None
    text = functions_source(decorator or "SIGNED", body)
    if decorator is None:  # C++ calls a Python body by its signature
        parts = text.split("SIGNED\n")
        text = parts[0] + "".join(
            f"@cuda.jit('float64({', '.join(['float64'] * (1 + (', y)' in p)))})', device=True)\n{p}"
            for p in parts[1:]
        )
    calls = caller_source(unary, binary)
    if calling == "python":
        lines = "\n".join(f"    out[{i}] = {call}" for i, call in enumerate(calls))
    else:
        lines = (
            "    '''\n"
            + "\n".join(f"    out[{i}] = {c};" for i, c in enumerate(calls))
            + "\n    '''"
        )
    module = import_text(tmp_path, f"{text}\n@cuda.jit\ndef kernel(x, out):\n{lines}\n")
    x = np.array([*unary.values(), *np.ravel(list(binary.values()))])
    out = np.zeros(len(calls))
    module.kernel[1, 1](x, out)
    np.testing.assert_allclose(out, expected_results(unary, binary), rtol=1e-12, atol=1e-14)


@BODIES
def test_cpu_functions_may_have_names_of_builtins(tmp_path, seeded_random, body):
    unary, binary = random_inputs(seeded_random)
    text = functions_source("@njit", body)
    calls = caller_source(unary, binary)
    lines = "\n".join(f"    out[{i}] = {call}" for i, call in enumerate(calls))
    module = import_text(tmp_path, f"{text}\n@njit\ndef all_of_them(x, out):\n{lines}\n")
    x = np.array([*unary.values(), *np.ravel(list(binary.values()))])
    out = np.zeros(len(calls))
    module.all_of_them(x, out)
    np.testing.assert_allclose(out, expected_results(unary, binary), rtol=1e-12, atol=1e-14)
    for name in draw_cases(3, UNARY, "called by Python"):
        np.testing.assert_allclose(
            getattr(module, name)(unary[name]),
            eval(UNARY[name][0])(unary[name]),
            rtol=1e-12,
            atol=1e-14,
        )


@BODIES
@pytest.mark.parametrize("target", ["cpu", "parallel", "cuda"])
def test_ufuncs_may_have_names_of_builtins(tmp_path, seeded_random, body, target):
    for name in draw_cases(2, UNARY, target):
        python, low, high = UNARY[name]
        text = f"{HEAD}def {name}(x): {body(name, python, 'x')}\n"
        function = getattr(import_text(tmp_path, text), name)
        x = np.array([seeded_random.uniform(low, high) for _ in range(50)])
        made = vectorize(["float64(float64)"], target=target)(function)
        reference = [eval(python)(v) for v in x]
        np.testing.assert_allclose(made(x), reference, rtol=1e-12, atol=1e-14)
        if target == "cuda":
            np.testing.assert_allclose(
                vectorize(target=target)(function)(x), reference, rtol=1e-12, atol=1e-14
            )


@BODIES
def test_reductions_and_gufuncs_may_have_names_of_builtins(tmp_path, seeded_random, body):
    text = f"{HEAD}def fmax(a, b): {body('fmax', 'max', 'a, b')}\n"
    function = import_text(tmp_path, text).fmax
    x = np.array([seeded_random.uniform(-1, 1) for _ in range(100)])
    assert cuda.reduce(function)(cuda.to_device(x), init=-2.0) == x.max()
    store = "out[0] = math.sqrt(x[0])" if body is python_body else "'out[0] = sqrt(x[0]);'"
    text = f"{HEAD}def sqrt(x, out): {store}\n"
    function = import_text(tmp_path, text).sqrt
    for target in ("cpu", "cuda"):
        made = guvectorize(["void(float64[:], float64[:])"], "(n)->(n)", target=target)(function)
        assert made(np.array([x[0] ** 2, 1]))[0] == abs(x[0])


@needs_nvrtc
@BODIES
@pytest.mark.parametrize("cc", [(7, 5), (9, 0)])
def test_nvrtc_compiles_names_of_builtins(tmp_path, seeded_random, body, cc):
    unary, binary = random_inputs(seeded_random)
    calls = caller_source(unary, binary)
    lines = "\n".join(f"    out[{i}] = {call}" for i, call in enumerate(calls))
    text = functions_source("@cuda.jit(device=True)", body)
    module = import_text(tmp_path, f"{text}\ndef kernel(x, out):\n{lines}\n")
    ptx, _ = cuda.compile(module.kernel, "void(float64[:], float64[:])", device=False, cc=cc)
    functions_of_cuda = [line for line in ptx.split("\n") if line.startswith(".func")]
    assert all(
        "__internal" in line for line in functions_of_cuda
    )  # the source contains no function of the user's


def test_cpp_bodies_resolve_builtin_or_user_functions():
    @cuda.jit("float64(float64)", device=True)
    def sqrt(x):
        return x + 100

    @cuda.jit(device=True)
    def conj(z):
        "return z * 2.0;"

    @cuda.jit
    def calls_users(x, z, out):
        "out[0] = sqrt(x); z[0] = conj(z[0]);"

    out, z = np.zeros(1), np.array([1 + 2j])
    calls_users[1, 1](9.0, z, out)
    assert out[0] == 109
    assert (
        z[0] == 2 + 4j
    )  # does not call numbalite's complex overload through argument-dependent lookup
    del sqrt, conj

    @cuda.jit
    def calls_cudas(x, z, out):
        "out[0] = sqrt(x); z[0] = conj(z[0]);"

    calls_cudas[1, 1](9.0, z, out)
    assert out[0] == 3
    assert z[0] == 2 - 4j


def test_user_function_and_builtin_work_in_one_kernel():
    exp = 2.0

    @cuda.jit(device=True)
    def sqrt(x):
        return math.sqrt(x) + 100

    @cuda.jit
    def use_builtin_names(x, out):
        log = x[0]
        ldexp = math.log(log) + math.ldexp(log, 3)
        out[0] = sqrt(log) + math.sqrt(log) + ldexp + exp * math.exp(log)

    out = np.zeros(1)
    use_builtin_names[1, 1](np.array([2.0]), out)
    wanted = 2 * math.sqrt(2) + 100 + math.log(2) + 16 + 2 * math.exp(2)
    assert out[0] == pytest.approx(wanted, rel=1e-14)
    (text,) = use_builtin_names.inspect_source().values()
    assert "double sqrt_(double x)" in text
    assert "sqrt_(log_) + sqrt(log_)" in text


def test_recursive_functions_may_have_names_of_builtins():
    @njit
    def pow(x, n):
        return 1 if n == 0 else x * pow(x, n - 1)

    @cuda.jit("int64(int64, int64)", device=True)
    def gcd(a, b):
        "return b == 0 ? a : gcd(b, a % b);"

    @cuda.jit
    def call_gcd(out):
        out[0] = gcd(84, 36)

    assert pow(3, 4) == 81
    out = np.zeros(1)
    call_gcd[1, 1](out)
    assert out[0] == 12


def test_messages_use_the_users_name_for_renamed_functions():
    @jit
    def sqrt(x):
        return [x]

    with pytest.raises(TranslationError, match="sqrt") as raised:
        sqrt(1.0)
    assert "sqrt_" not in str(raised.value)


# --- every name that the translator writes is reserved ---------------------------------------------------

ARGUMENTS = [
    (types.float64,), (types.int32,), (types.int64,), (types.complex128,), (types.float32,), (types.float16,),
    (types.float64, types.float64), (types.int64, types.int64), (types.complex128, types.complex128),
    (types.float64, types.int32), (types.float64,) * 3, (types.int32,) * 3,
    (types.Array(types.float64, 1, "C"),), (types.Array(types.int32, 1, "C"), types.int32, types.int32),
    (types.Array(types.int32, 1, "C"), types.int32), (types.Array(types.float64, 1, "C"),) * 2, (),
]  # fmt: skip
LETTERS = "abcdefgh"


def _source_of(rule_name, count):
    args = ", ".join(LETTERS[:count])
    return f"def nl_test({args}):\n    return {rule_name}({args})\n"


def _call_texts(target):
    """Yields the C++ names of a function's calls, for all types that it accepts."""
    for args in ARGUMENTS:
        name = f"<{target}-{len(args)}>"
        text = _source_of("nl_target", len(args))
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        scope = {"nl_target": target}
        exec(compile(text, name, "exec"), scope)
        python = definition_of(scope["nl_test"])
        try:
            made = context.CompilationContext(definition_of, PythonDefinition).instance(
                python, args
            )
        except (TranslationError, Problem):
            continue
        if made.is_finished:
            yield made.definition.text.value


def _call_targets():
    yield from (f for f in builtins.FUNCTIONS if callable(f))
    for path in builtins.WORDS:
        found = cuda
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is not None and "[" not in path:
            yield found


def test_every_name_in_generated_text_is_reserved():
    found, free = 0, set()
    for target in _call_targets():
        for text in _call_texts(target):
            code = "\n".join(line.partition("//")[0] for line in text.split("\n"))
            found += 1
            free |= set(free_names(code, tuple(LETTERS)))
    assert found > 500
    assert {name for name in free if not is_reserved(name)} <= {"layout", "any", "C", "F"}


@pytest.mark.parametrize("name", ["__popc", "__clz", "__ffs", "__brev"])
def test_device_functions_may_have_names_of_intrinsics(tmp_path, name):
    """All names with two leading underscores belong to CUDA; a Python function may have one."""
    text = f"""{HEAD}
@cuda.jit(device=True)
def {name}(x): return cuda.{name[2:]}(x)

@cuda.jit
def kernel(x, out):
    out[0] = {name}(x) + {name}(x)

@cuda.jit
def expected(x, out):
    out[0] = 2 * cuda.{name[2:]}(x)
"""
    module, value = import_text(tmp_path, text), np.int32(random.randrange(1, 1 << 20))
    out, want = np.zeros(1, np.int64), np.zeros(1, np.int64)
    module.kernel[1, 1](value, out)
    module.expected[1, 1](value, want)
    assert out[0] == want[0] != 0


@pytest.mark.parametrize("decimals", [None, 0, 2, -1])
def test_np_round_matches_numpy_next_to_a_builtin_round(tmp_path, decimals):
    given = "x" if decimals is None else f"x, {decimals}"
    text = f"{HEAD}\n@njit\ndef f(x): return np.round({given}), np.around({given})\n"
    f = import_text(tmp_path, text).f
    for x in (2.5, -0.5, random.uniform(-999, 999), np.float32(0.5), random.randrange(-999, 999)):
        wanted = np.round(x, decimals or 0)
        assert f(x) == (wanted, wanted) and type(f(x)[0]) in (type(wanted), type(wanted.item())), x
