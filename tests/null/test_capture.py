"""Tests the names that a source uses from the Python scope, and the C++ text of their values."""

import enum
import math
from enum import IntEnum
from types import ModuleType

import numpy as np
import pytest

from numbalite import types
from numbalite.cxx.capture import (
    CONSTANT_MEMORY,
    CapturedValues,
    Scope,
    add_members,
    ascii_name,
    capture_values,
    check_parameters,
    constant_array,
    constant_definition,
    literal_text,
    module_members,
    scope_of,
)
from numbalite.cxx.freenames import free_names


def capture_names(source, parameters=(), **values):
    return capture_values(free_names(source, parameters), Scope({}, values))


@pytest.mark.parametrize(
    "value, ctype, text",
    [
        (True, "bool", "true"),
        (16, "int", "16"),
        (-1, "int", "-1"),
        (2**31 - 1, "int", "2147483647"),
        (-(2**31), "int", "(-2147483647 - 1)"),
        (2**31, "long long", "2147483648LL"),
        (-(2**63), "long long", "(-9223372036854775807LL - 1)"),
        (2**63, "unsigned long long", "9223372036854775808ULL"),
        (0.25, "double", "0.25"),
        (1e300, "double", "1e+300"),
        (5.0, "double", "5.0"),
        (math.inf, "double", "__builtin_bit_cast(double, 0x7ff0000000000000ull)"),
        (1 + 2j, "complex<double>", "complex<double>(1.0, 2.0)"),
        (np.float32(0.1), "float", "0.1f"),
        (np.float32(1e20), "float", "1e+20f"),
        (np.float32("nan"), "float", "__builtin_bit_cast(float, 0x7fc00000u)"),
        (np.float64(0.1), "double", "0.1"),
        (np.int8(-3), "signed char", "-3"),
        (np.uint8(3), "unsigned char", "3"),
        (np.int64(3), "long long", "3"),
        (np.bool_(False), "bool", "false"),
        (np.complex64(1j), "complex<float>", "complex<float>(0.0f, 1.0f)"),
        (np.float16(1.5), "float16", "float16(__half_raw{0x3e00})"),
    ],
)
def test_literals_are_written_in_cpp(value, ctype, text):
    assert literal_text(value) == (ctype, text)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-45, 3.4e38, 16777217.0, -0.0])
def test_float32_constants_are_exact(value):
    value = np.float32(value)
    text = literal_text(value)[1]
    assert np.float32(text.rstrip("f")).view("u4") == value.view("u4")


def test_captured_values_are_grouped_by_kind():
    class Colour(IntEnum):
        red = 2

    real = np.dtype("f4")
    table = np.arange(6.0).reshape(2, 3)
    found = capture_names(
        "N + x + flag + z + c + table(1, 2); real t; T u;",
        N=16, x=0.5, flag=True, z=1j, c=Colour.red, table=table, real=real, T=types.int32,
    )  # fmt: skip
    assert found.constants == {"N": 16, "x": 0.5, "flag": True, "z": 1j, "c": 2}
    assert list(found.arrays) == ["table"] and found.array_bytes == 48
    assert found.types == {"real": types.float32, "T": types.int32}
    assert constant_definition("c", Colour.red) == "constexpr int c = 2;\n"
    table[1, 2] = -1
    assert found.arrays["table"][1, 2] == 5, "a snapshot"


def test_unsupported_names_are_not_captured():
    found = capture_names(
        "for (int i = 0; i < a.n; ++i) y[i] = std::N + threadIdx.x; sin(x); grid<1>();",
        ["y"],
        i=1, a=object, n=3, N=4, y=5, sin=math.sin, grid=64, threadIdx=7, x=2,
    )  # fmt: skip
    assert found.constants == {"x": 2}


@pytest.mark.parametrize(
    "pragma", ["#pragma unroll N", "#pragma unroll(N)", "# pragma  unroll ( N )"]
)
def test_unroll_pragma_captures_its_count(pragma):
    found = capture_names(
        f"{pragma}\nfor (int i = 0; i < 4; i++) x[i] = 1;", ["x"], N=4, unroll=1, pragma=2
    )
    assert found.constants == {"N": 4}
    assert not capture_names("#pragma unroll 4\n#pragma once\nx[0] = 1;", ["x"], once=1).names()


def test_called_names_are_not_captured_as_numbers():
    """``grid`` is a common variable name for a number of blocks."""
    assert capture_names("int i = grid<1>();", grid=128).constants == {}
    assert capture_names("int i = grid * 2;", grid=128).constants == {"grid": 128}
    points = np.linspace(0, 1, 3)  # or of what is plotted
    assert capture_names("int i = grid<1>();", grid=points).arrays == {}
    assert list(capture_names("y = grid(1);", grid=points).arrays) == ["grid"]


def test_preprocessor_numbers_become_macros():
    found = capture_names("#if TILE == 16\nx = TILE + N;\n#endif", TILE=16, N=3)
    assert found.macros == {"TILE": 16} and found.constants == {"N": 3}


def test_zero_dimensional_arrays_are_captured_as_numbers():
    assert capture_names("x = k;", k=np.array(2.5, "f4")).constants == {"k": np.float32(2.5)}


def test_members_of_modules_and_enumerations_are_captured():
    colour = enum.Enum("colour", {"RED": 3, "NAME": "red"})
    module = ModuleType("lib")
    module.inner, module.table, module.nothing = math, np.arange(3), object()
    source = """
        y = math.pi + lib.inner.e + lib.table[1] + colour.RED + colour.RED.value;
        lib.nothing; colour.NAME; math.sin(1); r.math.tau; p.x; lib.absent; lib.inner;
        { float math; math.inf = 1; }"""
    names, scope = (
        free_names(source, ["p"]),
        Scope({}, {"math": math, "lib": module, "colour": colour, "p": math}),
    )
    used = module_members(source, names, scope)
    assert [m.dotted for m in used] == [
        "math.pi",
        "lib.inner.e",
        "lib.table",
        "colour.RED",
        "colour.RED.value",
    ]
    assert [m.name for m in used][:2] == ["math_pi", "lib_inner_e"]
    assert [source[m.start : m.end] for m in used] == [m.dotted for m in used]
    found = CapturedValues()
    add_members(found, used)
    assert found.constants["colour_RED"] == found.constants["colour_RED_value"] == 3
    assert found.arrays.keys() == {"lib_table"}
    frozen = scope.frozen_copy(names)
    assert not frozen.locals
    frozen.locals["math.pi"] = 3
    assert frozen.module_member(["math", "pi", "x"]) == (3, 2)


@pytest.mark.parametrize(
    "value, text",
    [
        ((1, 2.5), "__device__ constexpr tuple<int, double> k = {1, 2.5};\n"),
        (((1,), ()), "__device__ constexpr tuple<tuple<int>, tuple<>> k = {{1}, {}};\n"),
        (np.datetime64(5, "s"), "constexpr long long k = 5;\n"),
        (np.timedelta64("NaT", "s"), "constexpr long long k = (-9223372036854775807LL - 1);\n"),
    ],
)
def test_tuples_and_times_become_constants(value, text):
    assert capture_names("x = k;", k=value).constants == {"k": value} or value != value
    assert constant_definition("k", value) == text


@pytest.mark.parametrize(
    "value, why",
    [
        ([1, 2], "k is a list .*np.array"),
        ((16, "a"), "k is a tuple .*tuples of numbers"),
        ((1, 2**70), "k is a tuple"),
        (["a"], "k is a list .*numbalite takes int, float"),
        ("text", "k is a str in the Python scope"),
        (None, "k is None"),
        (math, "k is a Python module.*k.pi"),
        (2**70, "64 bits"),
        (len, "device functions"),
        (lambda x: x, "a Python function .*device=True"),
        ({}, "k is a dict"),
        (np.zeros(CONSTANT_MEMORY + 1, "u1"), "65537 bytes.*argument"),
        (np.zeros(3, "U2"), "kernels cannot use"),
        (np.ma.masked_array([1, 2]), "masked"),
        (int, "k is a type"),
    ],
)
def test_unusable_names_are_explained(value, why):
    import re

    found = capture_names("x = k;", k=value)
    assert not found.constants and not found.arrays
    assert re.search(why, found.refused["k"])


def test_constant_memory_is_shared():
    half = np.zeros(CONSTANT_MEMORY // 2 + 1, "u1")
    found = capture_names("a[0] + b[0];", a=half, b=half)
    assert list(found.arrays) == ["a"] and "65536 bytes in all" in found.refused["b"]


def test_captured_arrays_become_contiguous_native_arrays():
    big_endian = np.arange(4, dtype=">i4")[::-1]
    found = capture_names("w[0];", w=big_endian)
    assert found.arrays["w"].dtype == np.dtype("i4") and found.arrays["w"].flags.c_contiguous
    assert constant_array("w", found.arrays["w"]) == (
        "__constant__ const constant_array<int, 4> w = {{\n    3, 2, 1, 0,\n}};\n"
    )


def test_record_arrays_are_written_as_initializers():
    dtype = np.dtype([("a", "i1"), ("x", "f4", (2,))], align=True)
    text = constant_array("r", np.array([(1, (2, 3))], dtype))
    assert "{1, {}, {2.0f, 3.0f}}" in text


def test_initializers_of_long_arrays_are_wrapped():
    text = constant_array("w", np.random.default_rng(1).random(200))
    assert max(map(len, text.splitlines())) <= 101


def test_non_ascii_names_are_encoded():
    assert ascii_name("x1") == "x1" and ascii_name("σ_x") == "u03c3__x"
    assert ascii_name("double") == "double_", "a C++ keyword"
    assert ascii_name("M_PI") == "M_PI_" and ascii_name("INT_MAX") == "INT_MAX_", "macros"


def test_parameters_named_as_cpp_keywords_raise():
    check_parameters("k", ["x", "y"])
    with pytest.raises(TypeError, match="k: the parameter 'new'"):
        check_parameters("k", ["x", "new"])


# --- scopes: the functions around a kernel --------------------------------------------------------------

LEVEL = "module"
ONLY_GLOBAL = 1


def scope_values(function, *names):
    """Captures the values as a decorator does."""
    scope = scope_of(function, names)
    return [scope.get(name) for name in names]


def test_locals_of_the_enclosing_functions_come_first():
    LEVEL = "outer"
    outer_only = 2

    def define_in_function():
        LEVEL = "inner"
        inner_only = 3

        def text_kernel():
            "text"

        assert inner_only
        return scope_values(
            text_kernel, "LEVEL", "inner_only", "outer_only", "ONLY_GLOBAL", "missing"
        )

    assert define_in_function() == ["inner", 3, 2, 1, None] and LEVEL and outer_only


def test_class_bodies_are_not_enclosing_scopes():
    LEVEL = "function"

    class KernelHolder:
        LEVEL = "class"

        def kernel(self):
            "text"

        found = scope_values(kernel, "LEVEL")

    assert KernelHolder.found == [LEVEL]


def test_functions_use_the_scope_of_their_module():
    def make_kernel():
        LEVEL = "maker"

        def text_kernel():
            "text"

        return text_kernel, LEVEL

    kernel, _ = make_kernel()
    LEVEL = "caller"
    assert scope_values(kernel, "LEVEL") == ["module"] and LEVEL


def test_scope_keeps_only_names_of_the_source():
    N, big = 3, np.zeros(1000)

    def text_kernel():
        "text"

    assert scope_of(text_kernel, ["N"]).locals == {"N": 3} and N and big.size


def test_scope_uses_current_values_of_loop_variables():
    found = []
    for n in range(3):  # noqa: B007

        def text_kernel():
            "text"

        found += scope_values(text_kernel, "n")
    assert found == [0, 1, 2] and n == 2


def test_freeze_copies_the_values():
    values = {"N": 3, "M": 4}
    frozen = Scope({}, values).frozen_copy(["N", "missing"])
    values["N"] = 5
    assert frozen.find("N") == (True, 3) and frozen.find("M") == (False, None)
