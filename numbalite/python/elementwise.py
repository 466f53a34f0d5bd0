"""Translates NumPy's element-wise functions with an output array in kernels, such as ``np.add(x, 1, out)``.
A kernel thread that calls the function computes all elements."""

from __future__ import annotations

import numpy as np

from numbalite import types
from numbalite.python import subscripts
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Call, Rule, type_text
from numbalite.python.rules import describe_type
from numbalite.python.values import Value, is_complex, is_number

_NAMES = ("v", "w", "u")


def is_array(value: Value) -> bool:
    return isinstance(value.type, types.Array) and value.type.ndim > 0


def apply_ufunc(call: Call, ufunc: np.ufunc, rule: Rule) -> Value:
    """Returns the Value of a call of a ufunc that has an element rule."""
    inputs, outputs = call.args[: ufunc.nin], call.args[ufunc.nin :]
    outputs += [value for name, value in call.keywords.items() if name == "out"]
    if len(inputs) < ufunc.nin or len(outputs) != 1 or not is_array(outputs[0]):
        call.fail(
            "of arrays, the result would be a new array",
            f"Give it one for the result, np.{ufunc.__name__}(..., out); or compute one element in each thread.",
        )
    (out,) = outputs
    if not is_number(out.type.dtype):
        call.fail(f"the array for the result has numbers, not {describe_type(out.type.dtype)}")
    if out.type.readonly:
        call.fail("the array for the result is read-only in this kernel")
    names = dict(zip(_NAMES, inputs, strict=False))
    elements = [Value(v.type.dtype, n) if is_array(v) else v for n, v in names.items()]
    value = rule(Call(call.of, call.node, call.name, elements))
    if is_complex(value.type) != is_complex(out.type.dtype):
        value = convert_value(value, out.type.dtype)
    result = value.text
    arrays = {n: v for n, v in names.items() if is_array(v)}
    if not arrays:
        return call.result(types.void, f"py::fill({_array_view(out)}, {result})", calls=True)
    heads = ", ".join(f"{type_text(v.type.dtype)} {n}" for n, v in arrays.items())
    given = ", ".join(map(_array_view, arrays.values()))
    text = f"py::map_elements({_array_view(out)}, [&]({heads}) {{ return {result}; }}, {given})"
    return call.result(types.void, text, calls=True)


def _array_view(value):
    return subscripts.as_view(value).text
