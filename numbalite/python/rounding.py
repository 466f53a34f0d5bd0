"""Translates round and np.round, with and without a number of digits."""

from __future__ import annotations

from numbalite import types
from numbalite.python import rules
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Call
from numbalite.python.values import Value, is_complex, is_integral, is_number


def _number_to_round(call, name, digits_name):
    """Returns (the number to round, the number of digits or None)."""
    value, digits = call.bind_arguments(name, digits_name, optional=1)
    if not is_number(value.type):
        call.fail(f"takes a number, not {rules.describe_type(value.type)}")
    if digits is not None and not is_integral(digits.type):
        call.fail(f"{digits_name} is an integer, not {rules.describe_type(digits.type)}")
    if value.type is types.boolean:
        value = convert_value(value, types.int64)
    return value, digits


def translate_round(call: Call) -> Value:
    value, digits = _number_to_round(call, "number", "ndigits")
    if is_complex(value.type):
        call.fail(f"takes a real number, not {rules.describe_type(value.type)}")
    if digits is not None:
        value = convert_value(value, value.type)
        return call.result(value.type, f"py::round_to({value.text}, {digits.text})")
    if is_integral(value.type):
        return value if value.type is types.int64 else convert_value(value, types.int64)
    return call.result(types.int64, f"int64(rint({value.text}))")


def translate_numpy_round(call: Call) -> Value:
    value, digits = _number_to_round(call, "a", "decimals")
    if digits is not None:
        value = convert_value(value, value.type)
        return call.result(value.type, f"py::numpy_round({value.text}, {digits.text})")
    if is_integral(value.type):
        return value
    function = "py::numpy_round" if is_complex(value.type) else "rint"
    return call.result(value.type, f"{function}({value.text})")
