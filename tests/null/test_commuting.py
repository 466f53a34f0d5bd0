"""Tests source texts of operations that are recognized as commutative, and texts that are not."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.ufuncs import element
from numbalite.ufuncs.commuting import is_commutative

I4, F4 = np.dtype("i4"), np.dtype("f4")


def element_function_of(source, args="a, b", **given):
    return element.element_function(source=source, args=args, what="reduction", **given)


@pytest.mark.parametrize(
    "source",
    ["a + b", "b+a", "a * b", "return a + b;", " return b * a ; // a sum", "/* + */ a + b"],
)
@pytest.mark.parametrize("code", "?bhiqBHIQefdFD")
def test_sums_and_products_commute(source, code):
    assert is_commutative(element_function_of(source), np.dtype(code))


@pytest.mark.parametrize(
    "source",
    [
        "a & b", "b | a", "a ^ b", "a && b", "b||a", "np_true(b) || np_true(a)", "min(a, b)",
        "return max(b, a);", "fmin(a, b)", "np_maximum(a,b)",
    ],
)  # fmt: skip
def test_bitwise_and_logical_operations_commute(source):
    assert is_commutative(element_function_of(source), I4)
    assert is_commutative(element_function_of(source), F4)


@pytest.mark.parametrize("sign", ["<", ">", "<=", ">="])
def test_minimum_and_maximum_commute_for_integers_only(sign):
    for source in (f"a {sign} b ? a : b", f"b {sign} a ? a : b", f"return a {sign} b ? b : a;"):
        assert is_commutative(element_function_of(source), I4)
        assert is_commutative(element_function_of(source), np.dtype("?"))
        assert not is_commutative(element_function_of(source), F4)


@pytest.mark.parametrize(
    "source",
    [
        "a", "b", "a - b", "a / b", "a + a", "b * b", "a + 2 * b", "a + b + 1", "(a + b)", "a << b",
        "a && a", "a & | b", "np_true(a) && b", "np_true(a) && np_true(a)", "a = b", "a < b", "a < b ? a : a", "a < a ? a : b", "a != b ? a : b", "-a + b",
        "a + -b", "min(a, a)", "min(a, -b)", "pow(a, b)", "least(a, b)", "min(a, b) + 1", "a + c",
        "return a; a + b;", "return a + b; return a;", "float c = a; return c + b;",
        "#define a b\na + b", "return a + b", "a + b;", "a.x + b.x", "a + b // \\\n + a",
    ],
)  # fmt: skip
def test_other_expressions_are_not_recognized(source):
    recognised = is_commutative(element_function_of(source), I4)
    # The source that begins with "a + b //" is a sum: the text after // is a comment.
    assert recognised == source.startswith("a + b //")


def test_redefined_names_are_not_recognized():
    @cuda.jit(device=True)
    def min(x, y):
        "return x;"

    @cuda.jit(device=True)
    def call_min(a, b):
        "return min(a, b);"

    assert not is_commutative(call_min, I4)
    assert is_commutative(element_function_of("max(a, b)"), I4)
    assert not is_commutative(cuda.reduce("max(a, b)", options=["-Dmax=first"]).function, I4)


def test_complete_sources_are_not_analysed():
    source = "__device__ int add(int a, int b) { return a + b; }"
    assert not is_commutative(element_function_of(source, args=None), I4)


def test_parameter_names_and_types_may_differ():
    assert is_commutative(element_function_of("left + right", "left, right"), I4)
    assert not is_commutative(element_function_of("a + b", "a, b, c"), I4)
    declared = cuda.jit("float32(float32, float32)", device=True)

    @declared
    def add(a, b):
        "return a + b;"

    assert is_commutative(add, I4)

    @cuda.jit("int32(float32, int8)", device=True)
    def add_mixed_types(a, b):
        "return a + b;"

    assert not is_commutative(add_mixed_types, I4)
    assert not is_commutative(
        cuda.jit("float32(float32, float32)", device=True)(_select_smaller), I4
    )  # its numbers are floats


def _select_smaller(a, b):
    "return a < b ? a : b;"
