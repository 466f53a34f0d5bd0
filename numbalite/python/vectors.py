"""Translates vectors of two, three or four numbers, which are constructed from numbers and other vectors."""

from __future__ import annotations

from numbalite import types
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Call
from numbalite.python.rules import describe_type
from numbalite.python.values import PRIMARY, Value, is_number


def make_vector(call: Call, t: types.Vector) -> Value:
    """``float4(x, y, float2(z, w))``"""
    if call.keywords:
        call.fail("takes no names of arguments")
    parts = [part for value in call.args for part in _component_values(call, value)]
    if len(parts) != t.num_elements:
        call.fail(f"takes {t.num_elements} numbers, not {len(parts)}")
    texts = [convert_value(part, t.base_type).text for part in parts]
    return call.result(t, f"make_{t.cxx}({', '.join(texts)})")


def _component_values(call, value):
    if is_number(value.type):
        return [value]
    if not isinstance(value.type, types.Vector):
        call.fail(f"is made of numbers and vectors, not of {describe_type(value.type)}")
    if value.calls:
        call.fail(
            "the vector would be computed once for each of its numbers",
            "Assign it to a variable first.",
        )
    return [component_value(value, axis) for axis in value.type.axes]


def component_value(value: Value, axis: str) -> Value:
    """``v.x``"""
    return Value(
        value.type.base_type,
        f"{value.text_at(PRIMARY)}.{axis}",
        loads=value.loads,
        calls=value.calls,
    )
