"""Translates datetime64 and timedelta64, which are counts of units; the smallest integer is NaT.

Operands of different units are converted to the finer unit, as in NumPy. Operations between units whose
conversion depends on the calendar are not supported.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python.values import UNARY, Value, is_integral, is_number, is_real

_COMPARISONS = {
    # comparison operator -> (C++ function, whether the operands are swapped, whether the result is negated)
    ast.Lt: ("time_less", False, False),
    ast.Gt: ("time_less", True, False),
    ast.LtE: ("time_less_equal", False, False),
    ast.GtE: ("time_less_equal", True, False),
    ast.Eq: ("time_equal", False, False),
    ast.NotEq: ("time_equal", False, True),
}


def is_time(t: types.Type) -> bool:
    return isinstance(t, types.Time)


def _is_delta(t):
    return is_time(t) and t.dtype.kind == "m"


def _delta_dtype(t):
    """Returns the timedelta64 dtype with a time's unit."""
    return np.dtype(t.dtype.str.replace("M8", "m8"))


def _common_unit(a, b):
    """Returns the finer of two units, as a timedelta64 type, or None if the conversion depends on the
    calendar."""
    try:
        found = np.promote_types(_delta_dtype(a), _delta_dtype(b))
    except TypeError:
        return None
    return found if all(_conversion_factor(t, found) for t in (a, b)) else None


def _conversion_factor(t, unit):
    """Returns the conversion factor between two units of time, or 0 if the factor is not an integer or
    depends on the calendar."""
    if np.datetime_data(t.dtype)[0] == "generic":
        return 1
    try:
        ratio = np.timedelta64(1, np.datetime_data(t.dtype)) / np.timedelta64(
            1, np.datetime_data(unit)
        )
    except TypeError:
        return 0
    return int(ratio) if ratio == int(ratio) else 0


def convert_unit(value: Value, t: Any) -> Value | None:
    """Converts a time or duration to another unit; returns None if the result is not an integer."""
    if value.type == t:
        return value
    if not is_time(t) or value.type.dtype.kind != t.dtype.kind:
        return None
    factor = _conversion_factor(value.type, t.dtype)
    if not factor:
        return None
    text = value.text if factor == 1 else f"py::time_times({value.text}, {factor})"
    return value.replace(
        type=t, cxx=t, text=text, precedence=value.precedence if factor == 1 else 100
    )


def _convert_pair(a, b):
    """Converts two times to a common unit: returns (a, b, unit), or None if there is no common unit."""
    unit = _common_unit(a.type, b.type)
    if unit is None:
        return None
    of = {"m": unit, "M": np.dtype(unit.str.replace("m8", "M8"))}
    pair = [convert_unit(v, types.Time(of[v.type.dtype.kind])) for v in (a, b)]
    return None if None in pair else (*pair, of)


def binary(op: type, a: Value, b: Value) -> Value | None:
    """Returns the Value of ``a op b``, where one operand is a time, or None if the operation does not
    exist."""
    if not (is_time(a.type) and is_time(b.type)):
        return _scale_duration(op, a, b)
    pair = _convert_pair(a, b)
    if pair is None:
        return None
    x, y, of = pair
    kinds = a.type.dtype.kind + b.type.dtype.kind
    if op is ast.Add and kinds in ("mm", "mM", "Mm"):
        return _call_text("time_sum", types.Time(of["m" if kinds == "mm" else "M"]), x, y)
    if op is ast.Sub and kinds in ("mm", "MM", "Mm"):
        return _call_text("time_difference", types.Time(of["M" if kinds == "Mm" else "m"]), x, y)
    if kinds != "mm":
        return None
    if op is ast.Div:
        return _call_text("time_ratio", types.float64, x, y)
    if op is ast.FloorDiv:
        return _call_text("time_floor_div", types.int64, x, y)
    return _call_text("time_floor_mod", types.Time(of["m"]), x, y) if op is ast.Mod else None


def _scale_duration(op, a, b):
    """Returns the Value of a duration multiplied or divided by a number."""
    if op is ast.Mult and is_number(a.type):
        a, b = b, a
    if not _is_delta(a.type) or not (is_integral(b.type) or is_real(b.type)):
        return None
    if op is ast.Mult:
        return _call_text("time_times", a.type, a, b)
    if op is ast.Div:
        return _call_text("time_over", a.type, a, b)
    return (
        _call_text("time_floor_div", a.type, a, b)
        if op is ast.FloorDiv and is_integral(b.type)
        else None
    )


def _call_text(name, t, a, b):
    return Value(
        t, f"py::{name}({a.text}, {b.text})", calls=a.calls or b.calls, loads=a.loads or b.loads
    )


def unary(op: type, a: Value) -> Value | None:
    """``-a``, ``+a`` of a duration: NaT stays NaT."""
    if not _is_delta(a.type) or op is ast.Invert:
        return None
    return a if op is ast.UAdd else a.replace(text=f"-{a.text_at(100)}", precedence=UNARY)


def compare(op: type, a: Value, b: Value) -> Value | None:
    """Translates ``a < b`` of times, which is false if an operand is NaT."""
    if not is_time(a.type) or not is_time(b.type):
        return None
    pair = _convert_pair(a, b) if a.type.dtype.kind == b.type.dtype.kind else None
    if pair is None or op not in _COMPARISONS:
        return None
    x, y, _ = pair
    name, swap, negated = _COMPARISONS[op]
    made = _call_text(name, types.boolean, *((y, x) if swap else (x, y)))
    return made.replace(text=f"!{made.text}", precedence=UNARY) if negated else made
