"""Translates NumPy's reductions over all elements of an array in kernels, such as ``np.sum(a)``, ``a.max()``.
A kernel thread that calls the reduction reduces all elements, in C order."""

from __future__ import annotations

from typing import Any

import numpy as np

from numbalite import types
from numbalite.python import rules, subscripts
from numbalite.python.calls import Call, Rule, type_text
from numbalite.python.values import Value, is_complex, is_integral, is_number


def _sum_type(t: Any) -> Any:
    """Returns the result type of a sum: a 64-bit integer for integers, otherwise the element type."""
    return rules.widened_integer(t) if is_integral(t) else t


def _average_type(t: Any) -> Any:
    return types.float64 if is_integral(t) else t


def _double_type(t: Any) -> Any:
    """Returns the type of numba's variances, and of its averages that ignore NaN, which accumulate in double
    precision."""
    return types.complex128 if is_complex(t) else types.float64


def _same_type(t: Any) -> Any:
    return t


# Name -> (the result type, whether it is a template parameter, whether complex numbers are supported)
_REDUCTIONS: dict[str, tuple] = {
    **dict.fromkeys(("sum", "prod", "nansum", "nanprod"), (_sum_type, True, True)),
    "mean": (_average_type, True, True),
    "nanmean": (_double_type, True, True),
    **dict.fromkeys(("var", "std", "nanvar", "nanstd"), (_double_type, True, False)),
    **dict.fromkeys(("min", "max", "nanmin", "nanmax"), (_same_type, False, False)),
    **{name: (lambda t: types.int64, False, False) for name in ("argmin", "argmax")},
    "count_nonzero": (lambda t: types.int64, False, True),
    **{name: (lambda t: types.boolean, False, True) for name in ("all", "any")},
}
_EMPTY = "zero-size array to reduction operation not possible"


def _reduction_rule(name: str) -> Rule:
    result, is_template, complex_too = _REDUCTIONS[name]

    def translate_call(call: Call) -> Value:
        if len(call.args) != 1 or call.keywords:
            call.fail(
                "takes an array, and nothing else",
                "Along an axis the result would be a new array: write the loop.",
            )
        (array,) = call.args
        is_one = is_number(
            array.type
        )  # whether the argument is a number, or an array without dimensions
        dtype = array.type if is_one else getattr(array.type, "dtype", None)
        if not is_one and not (isinstance(array.type, types.Array) and is_number(dtype)):
            call.fail(f"takes an array of numbers, not {rules.describe_type(array.type)}")
        if is_complex(dtype) and not complex_too:
            call.fail(f"takes real numbers, not {dtype}")
        if name.removeprefix("nan").removeprefix("arg") in ("min", "max"):
            call.of.may_raise(ValueError, (_EMPTY,))
        t = result(dtype)
        of = f"<{type_text(t)}>" if is_template else ""
        text = f"py::of_one({array.text})" if is_one else subscripts.as_view(array).text
        return call.result(t, f"np_{name}{of}({text})", loads=True)

    return translate_call


def translate_sum(call: Call, array: Value, start: Any) -> Value:
    """Translates Python's sum of an array, with a start value of this type."""
    dtype = getattr(array.type, "dtype", None)
    if not isinstance(array.type, types.Array) or array.type.ndim != 1 or not is_number(dtype):
        call.fail(
            f"takes a tuple, or an array of numbers with one dimension, not {rules.describe_type(array.type)}"
        )
    t = rules.common_type(start, dtype)
    text = f"np_sum<{type_text(t)}>({subscripts.as_view(array).text})"
    return call.result(t, text, loads=True)


FUNCTIONS: dict[Any, Rule] = {getattr(np, name): _reduction_rule(name) for name in _REDUCTIONS}


def _ufunc_reduction_rule(name: str) -> Rule:
    """Translates np.add.reduce etc. for 1-D arrays."""
    reduction = _reduction_rule(name)

    def translate_call(call: Call) -> Value:
        if len(call.args) == 1 and getattr(call.args[0].type, "ndim", 1) != 1:
            call.fail("takes an array with one dimension", "Write the loop over the others.")
        return reduction(call)

    return translate_call


FUNCTIONS.update(
    {
        np.add.reduce: _ufunc_reduction_rule("sum"),
        np.multiply.reduce: _ufunc_reduction_rule("prod"),
        np.maximum.reduce: _ufunc_reduction_rule("max"),
        np.minimum.reduce: _ufunc_reduction_rule("min"),
        np.logical_and.reduce: _ufunc_reduction_rule("all"),
        np.logical_or.reduce: _ufunc_reduction_rule("any"),
    }
)
METHODS: dict[str, Rule] = {
    name: _reduction_rule(name)
    for name in "sum prod mean var std min max argmin argmax all any".split()
}  # fmt: skip
