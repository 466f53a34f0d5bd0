"""Tests reading descriptions: mangled names from NVRTC, and the output of g++ and clang++.

The texts are recorded outputs of the compilers; tests/sources/test_headers.py runs the installed
ones.
"""

import pytest

from numbalite.types import describe
from numbalite.types.demangle import demangle

PREFIX = "_ZN9numbalite11nl_describeINS_14nl_description9signatureIJ"


def parse_one_parameter(text):
    (parameter,) = describe.parameters(text)
    return parameter


def describe_as_compiler(fields, ctype, style):
    """Returns a description of one parameter as the compilers would print it."""
    numbers = ", ".join(map(str, fields))
    name = "numbalite::nl_description::"
    inner = f"{name}signature<{name}parameter<{numbers}, {ctype}>"
    if style == "g++":
        return f"const char* NLDESC() [with int index = 0; T = {inner} >]"
    return f"const char *NLDESC() [index = 0, T = {inner}>]"


@pytest.mark.cases(5)
@pytest.mark.parametrize("style", ["g++", "clang++"])
@pytest.mark.parametrize(
    ("fields", "ctypes", "expected"),
    [
        ((0, 4, 4, 11, 4, 0, 0, 0), "float", ("scalar", "float", "float32", 0, "A", False)),
        ((0, 1, 1, 1, 1, 0, 0, 0), "bool", ("scalar", "bool", "bool", 0, "A", False)),
        (
            (0, 8, 8, 9, 8, 0, 0, 0),
            {"g++": "long long unsigned int", "clang++": "unsigned long long"},
            ("scalar", "unsigned long long", "uint64", 0, "A", False),
        ),
        (
            (1, 8, 8, 11, 4, 0, 0, 1),
            {"g++": "const float*", "clang++": "const float *"},
            ("pointer", "const float*", "float32", 0, "A", True),
        ),
        (
            (1, 8, 8, 0, 8, 0, 0, 1),
            {"g++": "const float* const*", "clang++": "const float *const *"},
            ("pointer", "const float* const*", "uint64", 0, "A", True),
        ),
        (
            (2, 40, 8, 11, 4, 2, 1, 1),
            "numbalite::array<const float, 2, numbalite::layout::C>",
            ("array", "array<const float, 2, layout::C>", "float32", 2, "C", True),
        ),
        (
            (2, 24, 8, 0, 8, 1, 0, 0),
            {
                "g++": "numbalite::array<numbalite::complex<float>, 1, numbalite::layout::any>",
                "clang++": "numbalite::array<numbalite::complex<float>, 1, numbalite::layout::any>",
            },
            ("array", "array<complex<float>, 1>", "complex64", 1, "A", False),
        ),
        ((3, 16, 16, 0, 16, 0, 0, 0), "float4", ("struct", "float4", "", 0, "A", False)),
        ((3, 2, 2, 0, 2, 0, 0, 0), "__half", ("scalar", "__half", "float16", 0, "A", False)),
        (
            (3, 16, 16, 0, 16, 0, 0, 0),
            "cuda::std::__4::complex<double>",
            ("scalar", "cuda::std::__4::complex<double>", "complex128", 0, "A", False),
        ),
        (
            (3, 8, 4, 0, 8, 0, 0, 0),
            "mine::complex<float>",
            ("struct", "mine::complex<float>", "", 0, "A", False),
        ),
        (
            (3, 40, 8, 0, 40, 0, 0, 0),
            {
                "g++": "{anonymous}::t<(unsigned char)3, a::b>",
                "clang++": "(anonymous namespace)::t<3, a::b>",
            },
            None,
        ),
        ((0, 2, 2, 3, 2, 0, 0, 0), "colour", ("scalar", "colour", "int16", 0, "A", False)),
    ],
    ids=lambda v: str(v) if isinstance(v, str) else None,
)
def test_host_compiler_descriptions_are_parsed(style, fields, ctypes, expected):
    ctype = ctypes if isinstance(ctypes, str) else ctypes[style]
    found = parse_one_parameter(describe_as_compiler(fields, ctype, style))
    if expected:
        assert (
            found.kind,
            found.ctype,
            found.dtype,
            found.ndim,
            found.layout,
            found.const,
        ) == expected
    assert (found.size, found.align, found.itemsize) == (fields[1], fields[2], fields[4])
    assert found.name == ""


def test_description_without_parameters_is_parsed():
    assert describe.parameters("const char* f() [with T = numbalite::signature<>]") == []
    assert describe.parameters(PREFIX + "EEEEE") == []


def test_mangled_description_is_decoded():
    found = parse_one_parameter(PREFIX + "NS1_9parameterILi0ELi4ELi4ELi11ELi4ELi0ELi0ELi0EfEEEEEEE")
    assert found == describe.Parameter("", "scalar", "float", "float32", 4, 4, 4, 0, "A", False)


def test_mangled_descriptions_with_back_references_are_decoded():
    text = (
        "_ZN9numbalite8describeINS_9signatureIJNS_9parameterILi1ELi8ELi8ELi11ELi4ELi0ELi0ELi0EPfEENS2_ILi1ELi8E"
        "Li8ELi11ELi4ELi0ELi0ELi1EPKfEES4_S7_NS2_ILi1ELi8ELi8ELi0ELi8ELi0ELi0ELi1EPKS6_EENS2_ILi1ELi8ELi8ELi0E"
        "Li16ELi0ELi0ELi1EPK1SEEEEEEE"
    )
    ctypes = [p.ctype for p in describe.parameters(text)]
    assert ctypes == [
        "float*",
        "const float*",
        "float*",
        "const float*",
        "const float* const*",
        "const S*",
    ]


def test_undecodable_types_keep_their_sizes():
    # Tests a template argument that is an expression.
    text = PREFIX + (
        "NS1_9parameterILi3ELi16ELi8ELi0ELi16ELi0ELi0ELi0E1tIXszT_EEEE"
        "NS1_9parameterILi0ELi4ELi4ELi11ELi4ELi0ELi0ELi0EfEEEEEEE"
    )
    struct, scalar = describe.parameters(text)
    assert (struct.kind, struct.size, struct.ctype) == ("struct", 16, "?")
    assert (scalar.kind, scalar.dtype, scalar.ctype) == ("scalar", "float32", "float32")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("_ZN9numbalite8describeINS_8variableILi11ELi4EfJEEEEE", ("float32", ())),
        ("_ZN9numbalite8describeINS_8variableILi4ELi4EiJLx2ELx3EEEEEE", ("int32", (2, 3))),
        ("f() [with T = numbalite::variable<12, 8, double, 5>]", ("float64", (5,))),
        ("f() [T = numbalite::variable<0, 12, rgb, 5LL, 2LL>]", ("V12", (5, 2))),
        ("f() [T = numbalite::variable<0, 8, numbalite::complex<float>, 3>]", ("complex64", (3,))),
    ],
)
def test_types_of_variables_are_decoded(text, expected):
    assert describe.variable(text) == expected


@pytest.mark.parametrize(
    "text", ["", "_Z", "saxpy", "_Z4nonevi", "_ZN9numbalite8describeINS_9signat"]
)
def test_invalid_descriptions_raise(text):
    with pytest.raises(ValueError):
        describe.parameters(text)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("_Z1fIPKfEvv", "f<const float*>"),
        ("_ZN2ns1fILin3ELb1EJiPhEEEvv", "ns::f<-3, true, int, unsigned char*>"),
        ("_Z1fIA3_A4_iEvv", "f<int [3][4]>"),
        ("_Z1fIPA3_KiEvv", "f<const int (*)[3]>"),
        ("_Z1fIPFvidEEvv", "f<void (*)(int, double)>"),
        ("_Z1fIN12_GLOBAL__N_11sEEvv", "f<(anonymous namespace)::s>"),
        ("_Z1fIN1n1tI1sLj4EEEEvv", "f<n::t<s, 4>>"),
        ("_Z1fIN1n1tI1sLNS0_1eE2EEEEvv", "f<n::t<s, (n::e)2>>"),
        ("_Z1fIPVKjEvv", "f<const volatile unsigned int*>"),
        ("_Z1fIDF16bDhEvv", "f<std::bfloat16_t, _Float16>"),
        ("_Z1vIM1SiE", "v<int S::*>"),
    ],
)
def test_demangled_names_are_cpp(name, expected):
    assert demangle(name) == expected


def test_expressions_name_the_kernel_and_the_variable():
    assert "decltype(&saxpy<float, 3>)" in describe.kernel_expression("&saxpy<float, 3>")
    assert "decltype(ns::table)" in describe.variable_expression("ns::table")
