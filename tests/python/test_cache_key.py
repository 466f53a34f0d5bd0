"""Tests the cache key of a translated Python body: it depends on all inputs of the translation, and
on nothing else.

The tests compile no kernel: they compare the sources that compilers would get.
"""

import collections
import enum
import linecache
import math
import os
import random
import types
import warnings

import numpy as np
import pytest
from kit.sample import VARIABLE

from numbalite import cuda, errors, jit
from numbalite.kernels import exported, options, translations
from numbalite.python import definition
from numbalite.types import signatures

pytestmark = [
    pytest.mark.usefixtures("own_cache"),
    pytest.mark.filterwarnings("ignore::numbalite.errors.PerformanceWarning"),
]
FILE = "<kernels of test_cache_key>"
BODY = """
def make(cell):
    def kernel(out, x):
        def square(v):
            return v * v
        i = cuda.grid(1)
        if i < x.shape[0]:
            v = {function}(square(x[i])) + scale + cell + pair[1] + table[1] + row[0]["a"]
            v += module.inner.k + holder.n + Color.red.value + helper(x[i])
            out[i] = cast(v{more})
    return kernel
"""
HELPER = "def helper(v, by={by}):\n    return v * by + inner(v)\n"
INNER = "def inner(v):\n    return v + offset{more}\n"
Pair = collections.namedtuple("Pair", "a b")
Other = collections.namedtuple("Other", "a c")


class ClassWithAttribute:
    n = 1


def function_of_text(text, values, name):
    """Returns a function of a text whose file has the same name in all cases."""
    file = f"{FILE} {name}"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), values)
    return values[name]


def make_enum(red, base=enum.Enum):
    return base("Color", {"red": red, "blue": 7})


def make_modules(k):
    outer, inner = types.ModuleType("outer"), types.ModuleType("inner")
    outer.inner, inner.k = inner, k
    return outer


def make_record(a, dtype="i4", other="f4"):
    return np.array([(a, 1)], [("a", dtype), ("b", other)])


def make_inner(offset, more="", decorate=lambda f: f):
    return decorate(function_of_text(INNER.format(more=more), {"offset": offset}, "inner"))


def make_helper(by=2, inside=None, decorate=lambda f: f):
    return decorate(
        function_of_text(HELPER.format(by=by), {"inner": inside or make_inner(1)}, "helper")
    )


def cxx_helper(number, result="float32"):
    @cuda.jit(f"{result}(float32)", device=True)
    def cxx_number_helper(v):
        "return v + number;"

    return cxx_number_helper


device = cuda.jit(device=True)
# Maps each name to functions that create values, which have different cache keys.
VALUES = {
    "function": [lambda name=name: name for name in ("math.sin", "math.cos", "np.sin", "np.sqrt", "abs")],
    "more": [lambda text=text: text for text in ("", " * 2", " - np.float32(math.pi)", " - math.e")],
    "scale": [
        lambda: 2, lambda: 3, lambda: 2.0, lambda: 0.0, lambda: -0.0, lambda: math.nan, lambda: True,
        lambda: np.float32(2), lambda: np.float64(2), lambda: np.int8(2),
    ],
    "cell": [lambda: 1, lambda: 2, lambda: np.int16(1)],
    "pair": [
        lambda: (1, 2), lambda: (1, 3), lambda: (1, 2.0), lambda: (1, np.float32(2)), lambda: Pair(1, 2),
        lambda: Other(1, 2), lambda: (1, 2, 3),
    ],
    "table": [
        lambda: np.array([1, 2]), lambda: np.array([1, 3]), lambda: np.array([1, 2], "f4"),
        lambda: np.array([1, 2], ">i8"), lambda: np.array([1, 2, 0]), lambda: np.array([[1], [2]])[:, 0] + 5,
    ],
    "row": [lambda: make_record(1), lambda: make_record(2), lambda: make_record(1, "i8"), lambda: make_record(1, other="f8")],
    "module": [lambda: make_modules(1), lambda: make_modules(2), lambda: make_modules(1.0)],
    "holder": [
        lambda: ClassWithAttribute, lambda: ClassWithAttribute(), lambda: types.SimpleNamespace(n=1),
        lambda: types.SimpleNamespace(n=2),
    ],
    "Color": [
        lambda: make_enum(1), lambda: make_enum(2), lambda: make_enum(2.0),
        lambda: make_enum(1, enum.IntEnum),
    ],
    "helper": [
        make_helper, lambda: make_helper(3), lambda: make_helper(inside=make_inner(2)), lambda: make_helper(inside=make_inner(1, " + v")),
        lambda: make_helper(decorate=device), lambda: make_helper(decorate=cuda.jit("float32(float32, int64)", device=True)),
        lambda: make_helper(inside=make_inner(1, decorate=device)), lambda: cxx_helper(1), lambda: cxx_helper(2),
        lambda: cxx_helper(1, "float64"),
    ],
    "cast": [lambda: np.float32, lambda: np.float64, lambda: cuda.float32, lambda: int, lambda: float],
    "options": [
        dict, lambda: {"debug": True, "opt": False}, lambda: {"fastmath": True}, lambda: {"max_registers": 32},
        lambda: {"lineinfo": True}, lambda: {"options": ["-DN=1"]}, lambda: {"options": ["-DN=2"]},
    ],
    "types": [
        lambda t=t: t for t in ("float32[:], float32[::1]", "float32[:], float32[:]", "float64[:], float32[:]")
    ],
}  # fmt: skip


def make_body_source(case, shuffle=lambda names: names):
    """Returns the BodySource of the kernel of a case, name -> index in VALUES, and the types of its
    arguments. Every call creates new functions and values."""
    values = {name: VALUES[name][index]() for name, index in case.items()}
    text = BODY.format(function=values.pop("function"), more=values.pop("more"))
    options, args = values.pop("options"), values.pop("types")
    names = {"cuda": cuda, "np": np, "math": math, **values}
    names = {name: names[name] for name in shuffle(list(names))}
    kernel = cuda.jit(**options)(function_of_text(text, names, "make")(values["cell"]))
    return kernel._source, signatures.signature(f"void({args})").args


def compute_cache_key(source, args):
    return translations.cache_key(source.definition.kernel_contents(args, source.options))


def assert_source_and_key(source, args):
    """Asserts that the kernel's source is that of a translation at this moment; returns the key."""
    assert source.kernel(args).images.source.text == source._translate_body(args)[2].source.text
    return compute_cache_key(source, args)


def test_changed_captured_values_change_the_key():
    """Returns cases that differ in one to three values. A repeated case has the same key, whatever the
    order of the dicts, even if all its objects are new."""
    draw = random.Random(f"{os.environ[VARIABLE]} cache keys")
    keys = {}
    case = dict.fromkeys(VALUES, 0)
    cases = [case, *({**case, name: i} for name in VALUES for i in range(len(VALUES[name])))]
    for _ in range(25):
        changed = draw.sample(list(VALUES), draw.randint(1, 3))
        case = {**case, **{name: draw.randrange(len(VALUES[name])) for name in changed}}
        cases.append(case)
    for case in cases:
        key = assert_source_and_key(
            *make_body_source(case, lambda names: draw.sample(names, len(names)))
        )
        assert key is not None
        assert keys.setdefault(tuple(case.items()), key) == key, case
    assert len(set(keys.values())) == len(keys)


def make_text_kernel(text, **names):
    return cuda.jit(function_of_text(text, {"cuda": cuda, "np": np, **names}, "kernel"))._source


ARGS = signatures.signature("void(float32[:])").args


@pytest.fixture
def cached_text(monkeypatch):
    """cached_text(source) returns the text of a kernel from the cache, and fails if the kernel is
    translated."""

    def text_without_translation(source):
        with monkeypatch.context() as patch:
            patch.setattr(type(source.definition), "typed_definition", None)
            return source.kernel(ARGS).images.source.text

    return text_without_translation


def test_a_cached_kernel_is_not_translated(cached_text):
    text = "def kernel(x):\n    x[0] = table[1] + 3\n"
    first = make_text_kernel(text, table=np.array([1, 2])).kernel(ARGS)
    second = make_text_kernel(text, table=np.array([1, 2]))
    assert cached_text(second) == first.images.source.text
    again = second.kernel(ARGS)
    for name in ("expression", "labels", "is_python", "exceptions", "variables", "signature"):
        assert getattr(again, name) == getattr(first, name)
    assert again.images.source == first.images.source
    with pytest.raises(TypeError, match="not callable"):
        cached_text(make_text_kernel(text, table=np.array([1, 4])))


def test_changed_attribute_values_change_the_key():
    table, constants = np.array([1, 2]), make_modules(1)
    source = make_text_kernel(
        "def kernel(x):\n    x[0] = table[1] + m.inner.k\n", table=table, m=constants
    )
    keys = [assert_source_and_key(source, ARGS)]
    table[1] = 5
    keys.append(assert_source_and_key(source, ARGS))
    constants.inner.k = 2
    keys.append(assert_source_and_key(source, ARGS))
    constants.inner.k, table[1] = 1, 2
    assert assert_source_and_key(source, ARGS) == keys[0] and len(set(keys)) == 3

    def make_kernel():
        cell = 1

        def change_cell(value):
            nonlocal cell
            cell = value

        @cuda.jit
        def store_cell(x):
            x[0] = cell

        return store_cell._source, change_cell

    source, change = make_kernel()
    before = assert_source_and_key(source, ARGS)
    change(2)
    assert assert_source_and_key(source, ARGS) != before


def test_functions_on_one_line_have_different_keys():
    pair = [cuda.jit(device=True)(f) for f in (lambda v: v + 1, lambda v: v * 2)]
    text = "def kernel(x):\n    x[0] = f(x[1])\n"
    assert len({assert_source_and_key(make_text_kernel(text, f=f), ARGS) for f in pair}) == 2


def test_recursive_functions_have_a_cache_key():
    text = (
        "def kernel(x):\n    x[0] = down(3)\n\n"
        "def down(n):\n    if n <= 0:\n        return 0\n    return up(n - 1) + step\n\n"
        "def up(n):\n    return down(n) + 1\n"
    )
    source = make_text_kernel(text, step=1)
    assert (
        assert_source_and_key(source, ARGS)
        == assert_source_and_key(make_text_kernel(text, step=1), ARGS)
        is not None
    )
    assert assert_source_and_key(make_text_kernel(text, step=2), ARGS) != assert_source_and_key(
        source, ARGS
    )


def test_unsupported_values_have_no_cache_key():
    """Bodies without a cache key are translated at each kernel's first call."""
    array = cuda.to_device(np.zeros(2, "f4"))
    source = make_text_kernel("def kernel(x):\n    x[0] = a[0]\n", a=array)
    assert assert_source_and_key(source, ARGS) is None
    unused = make_text_kernel(
        "def kernel(x):\n    if x.ndim == 2:\n        f(x)\n    x[0] = 1\n", f=[1]
    )
    assert compute_cache_key(unused, ARGS) is None


def test_newly_defined_names_change_the_key():
    names = {"cuda": cuda}
    text = "def kernel(x):\n    x[0] = abs(x[0])\n"
    source = cuda.jit(function_of_text(text, names, "kernel"))._source
    before = assert_source_and_key(source, ARGS)
    names["abs"] = math.sqrt
    assert assert_source_and_key(source, ARGS) != before


def test_cached_kernels_repeat_their_warnings():
    text = "def kernel(x):\n    x[0] = x[0] * 0.5\n"
    with pytest.warns(errors.PerformanceWarning, match=r"0\.5 is a float64") as first:
        make_text_kernel(text).kernel(ARGS)
    source = make_text_kernel(text)
    with pytest.warns(errors.PerformanceWarning, match=r"0\.5 is a float64") as second:
        source.kernel(ARGS)
    assert [str(w.message) for w in second] == [str(w.message) for w in first]
    with warnings.catch_warnings():
        warnings.simplefilter("error", errors.PerformanceWarning)
        source.kernel(ARGS)  # once for a function


def test_damaged_cached_translations_are_replaced(own_cache):
    text = "def kernel(x):\n    x[0] = 7\n"
    expected = make_text_kernel(text).kernel(ARGS).images.source.text
    (path,) = own_cache.glob("*.body")
    for damaged in (b"", path.read_bytes()[:-1], path.read_bytes()[::-1]):
        path.write_bytes(damaged)
        assert make_text_kernel(text).kernel(ARGS).images.source.text == expected
        assert path.read_bytes() != damaged


def test_cached_kernels_repeat_their_compile_errors():
    """Hints for the compiler's messages are the same for a cached source as after a translation."""

    @cuda.jit("float32(float32)", device=True)
    def undefined_name(v):
        "return v + missing_name;"

    messages = []
    for _ in range(2):
        kernel = cuda.jit(
            function_of_text(
                "def kernel(x):\n    x[0] = broken(x[0])\n",
                {"broken": undefined_name},
                "kernel",
            )
        )
        with pytest.raises(errors.CompileError) as problem:
            kernel.compile("void(float32[:])")
        messages.append(str(problem.value))
    assert messages[0] == messages[1] and "missing_name" in messages[0]


# --- tests of CPU functions and exported device functions

CPU = "def f(x, n):\n    return x[n] * table[1] + helper(n)\n"
CPU_ARGS = signatures.signature("void(float64[:], int64)").args


def make_cpu_function(
    text=CPU, options=None, helper_text="def helper(n):\n    return n + 1\n", **names
):
    helper = function_of_text(helper_text, {}, "helper")
    names = {"np": np, "table": np.array([1, 2]), "helper": helper, **names}
    return jit(**(options or {}))(function_of_text(text, names, "f"))


@pytest.fixture
def forbid_translations(monkeypatch):
    """Lets each later translation for the CPU, and each later export, raise an error."""

    def forbid_translation():
        monkeypatch.setattr(definition.PythonDefinition, "instances", None)

    return forbid_translation


def test_a_cached_function_on_the_cpu_is_not_translated(forbid_translations):
    x = np.arange(4.0)
    first = make_cpu_function()
    assert first(x, 3) == 10
    forbid_translations()
    second = make_cpu_function()
    assert second(x, 3) == 10
    assert second.inspect_source() == first.inspect_source()
    assert second.nopython_signatures == first.nopython_signatures
    changes = [
        {"table": np.array([1, 3])}, {"helper_text": "def helper(n):\n    return n + 2\n"},
        {"options": {"fastmath": True}}, {"options": {"boundscheck": True}}, {"options": {"parallel": True}},
        {"text": CPU.replace("+", "-")},
    ]  # fmt: skip
    for change in changes:
        with pytest.raises(TypeError, match="not callable"):
            make_cpu_function(**change)(x, 3)
    for args in ((x.astype("f4"), 3), (x, np.int32(3)), (x[::2], 1)):
        with pytest.raises(TypeError, match="not callable"):
            second(*args)


def test_cpu_function_key_contains_signatures(forbid_translations):
    text = "def f(x):\n    return x + 1\n"
    listed = ["float32(float64)", "int64(int64)"]
    assert [jit(listed)(function_of_text(text, {}, "f"))(v) for v in (1.5, 2)] == [2.5, 3]
    forbid_translations()
    assert [jit(listed)(function_of_text(text, {}, "f"))(v) for v in (1.5, 2)] == [2.5, 3]
    for other in (listed[:1], listed[::-1], ["float64(float64)", "int64(int64)"]):
        with pytest.raises(TypeError, match="not callable"):
            jit(other)(function_of_text(text, {}, "f"))


def test_cached_cpu_functions_return_views_of_arguments(forbid_translations):
    text = "def f(x):\n    return x, x[1:], x[0], x.T\n"
    x = np.arange(6.0).reshape(2, 3)
    first = jit()(function_of_text(text, {}, "f"))(x)
    forbid_translations()
    again = jit()(function_of_text(text, {}, "f"))(x)
    for ours, expected in zip((*first, *again), (x, x[1:], x[0], x.T) * 2, strict=True):
        assert np.shares_memory(ours, x)
        np.testing.assert_array_equal(ours, expected)


def test_recursion_on_the_cpu_is_cached(forbid_translations):
    text = "def f(n):\n    return 1 if n < 2 else n * f(n - 1)\n"

    def make_recursive_function():
        names = {}
        names["f"] = jit()(function_of_text(text, names, "f"))
        return names["f"]

    assert make_recursive_function()(10) == math.factorial(10)
    forbid_translations()
    assert make_recursive_function()(10) == math.factorial(10)


def test_cached_cpu_functions_repeat_warnings_and_errors():
    text = "def f(n):\n    return n + 1\n"
    for _ in range(2):
        with pytest.warns(errors.PerformanceWarning, match="prange"):
            assert jit(parallel=True)(function_of_text(text, {}, "f"))(1) == 2

    @cuda.jit("float64(float64)", device=True)
    def undefined_name(v):
        "return v + missing_name;"

    messages = []
    for _ in range(2):
        function = jit()(
            function_of_text("def f(x):\n    return broken(x)\n", {"broken": undefined_name}, "f")
        )
        with pytest.raises(errors.CompileError) as problem:
            function(1.0)
        messages.append(str(problem.value))
    assert messages[0] == messages[1] and "missing_name" in messages[0]


def test_an_exported_device_function_is_not_translated_again(forbid_translations):
    text = "def f(x):\n    return x * scale\n"

    def exported_text(scale, signature="float32(float32)", name="f"):
        function = cuda.jit(device=True)(function_of_text(text, {"scale": scale}, "f"))
        parsed = signatures.signature(signature)
        source, result, _ = exported.exported_source(
            function, parsed, name, options.Options(device=True)
        )
        return source, result

    first = exported_text(2)
    assert str(first[1]) == "float32"
    forbid_translations()
    assert exported_text(2) == first
    for other in (
        (3,),
        (2, "float64(float32)"),
        (2, "float32(float64)"),
        (2, "float32(float32)", "g"),
    ):
        with pytest.raises(TypeError, match="not callable"):
            exported_text(*other)
