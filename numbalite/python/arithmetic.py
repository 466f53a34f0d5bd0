"""Translates operators: determines their types by numba's rules, and writes C++ that computes in those types.

The translator tracks the range of each integer. If C++ would compute in a narrower type than numba, an
operand is converted only if the result could overflow that type: For example, ``tx + 1`` is written
unchanged, and ``blockIdx.x * blockDim.x`` as ``int64(blockIdx.x) * blockDim.x``.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python import rules
from numbalite.python.problem import Problem
from numbalite.python.values import (
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    EQUAL,
    NOTHING,
    ORDER,
    PRIMARY,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    Value,
    full_range,
    is_complex,
    is_in_range,
    is_integral,
    is_number,
    is_real,
)

SYMBOLS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==",
    ast.NotEq: "!=",
}  # fmt: skip
COMPARE: dict[type, Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
_FOLD: dict[type, Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}  # fmt: skip


_LITERAL = re.compile(r"\d+\.\d+(e[+-]?\d+)?")
_WHOLE = re.compile(r"-?\d+")
_SUFFIXES = {types.float32: ".0f", types.float64: ".0", types.int64: "LL"}
"""Converts an integer's literal to a literal of this type."""


def type_text(t: Any) -> str:
    """Returns the C++ name of a number type in generated code."""
    if t is types.boolean:
        return "bool"
    return "int64" if isinstance(t, types.Time) else t.name


def convert_value(value: Value, t: Any) -> Value:
    """Returns the value, converted to this number type in C++ if necessary."""
    if value.cxx == t:
        return value.replace(type=t)
    if is_complex(value.type) and is_number(t) and not is_complex(t):
        raise Problem(None, f"{value.type} does not fit into {t}", "z.real is its real part.")
    if _WHOLE.fullmatch(value.text) and t in _SUFFIXES:
        kept = value.range if is_integral(t) else None
        return value.replace(type=t, cxx=t, text=value.text + _SUFFIXES[t], range=kept)
    if t is types.float32 and value.type is types.float64 and _LITERAL.fullmatch(value.text):
        return value.replace(type=t, cxx=t, text=value.text + "f")
    kept = (
        value.range
        if is_integral(t) and is_integral(value.type) and is_in_range(value.range, t)
        else None
    )
    return value.replace(
        type=t, cxx=t, text=f"{type_text(t)}({value.text})", precedence=PRIMARY, range=kept
    )


def _converted_operand(value: Value, t: Any) -> Value:
    """Returns an operand of an integer operation with result type t, converted to the type that the operand
    has in this operation: in an int64 operation, a uint64 operand may be negative."""
    if is_integral(t) and is_integral(value.type) and not is_in_range(value.range, t):
        return convert_value(value, t)
    return value


def convert_branches(a: Value, b: Value, t: Any) -> Any:
    """Returns (a, b, their C++ type) for the two branches of a conditional expression of type t."""
    if is_integral(t) and is_integral(a.cxx) and is_integral(b.cxx):
        c = rules.promoted_type(a.cxx, b.cxx)
        if a.cxx == b.cxx:
            c = a.cxx
        if is_in_range(a.range, c) and is_in_range(b.range, c):
            return a, b, c
    if is_real(t) and t in (a.cxx, b.cxx) and all(_is_widened_by_cpp(x.cxx, t) for x in (a, b)):
        return a, b, t
    return convert_value(a, t), convert_value(b, t), t


def _is_widened_by_cpp(cxx, t):
    """Returns whether C++ converts the operand to t if the other operand is a t."""
    return is_integral(cxx) or (is_real(cxx) and cxx.size <= t.size and cxx is not types.float16)


def _merge_side_effects(a: Value, b: Value):
    return {"calls": a.calls or b.calls, "loads": a.loads or b.loads}


def binary(op: type, a: Value, b: Value) -> Value | None:
    """Returns the Value of ``a op b``, or None if the operation does not exist for these types."""
    rule = _RULES.get(op)
    if rule is None or not is_number(a.type) or not is_number(b.type):
        return None
    folded = _evaluate_constants(op, a, b)
    found = rule(a, b)
    if found is not None and folded is not NOTHING and is_integral(found.type):
        limits = (int(folded), int(folded))
        if is_in_range(limits, found.type):
            cxx = found.cxx if is_in_range(limits, found.cxx) else found.type
            return found.replace(constant=folded, range=limits, cxx=cxx)
    return found


def _evaluate_constants(op, a, b):
    if op not in _FOLD or not (a.is_constant and b.is_constant):
        return NOTHING
    if not is_integral(a.type) or not is_integral(b.type):
        return NOTHING
    if op in (ast.FloorDiv, ast.Mod) and not b.constant:
        return NOTHING
    if op in (ast.LShift, ast.RShift) and not 0 <= b.constant < 64:
        return NOTHING
    return _FOLD[op](int(a.constant), int(b.constant))


def _convert_operands(a: Value, b: Value, t, exact):
    """Returns the operands and the C++ type of an operation whose result is a t. `exact` is the range of the
    exact result."""
    if is_complex(t):  # C++ has no conversion of a half to a complex number
        a, b = (convert_value(x, t) if x.cxx is types.float16 else x for x in (a, b))
    c = rules.promoted_type(a.cxx, b.cxx)
    if c == t and (not is_integral(t) or _keeps_values(a, b, t)):
        return a, b, t
    if is_integral(t):
        if (
            c is not None
            and is_in_range(exact, t)
            and all(is_in_range(r, c) for r in (exact, a.range, b.range))
        ):
            return a, b, c
        if b.cxx == t and is_in_range(a.range, t):
            return a, b, t
        if is_in_range(b.range, t) and rules.promoted_type(t, b.cxx) == t:
            return convert_value(a, t), b, t
        return convert_value(a, t), convert_value(b, t), t
    for x, y, swap in ((a, b, False), (b, a, True)):
        if x.cxx != t and rules.promoted_type(t, y.cxx) == t and _is_converted_by_cpp(y, t):
            x = convert_value(x, t)
            return (y, x, t) if swap else (x, y, t)
    return convert_value(a, t), convert_value(b, t), t


def _keeps_values(a, b, t):
    """Returns whether converting the operands to t keeps their values."""
    return all(is_in_range(x.range, t) or x.cxx == t for x in (a, b))


def _is_converted_by_cpp(value, t):
    """Returns whether C++ converts this operand to t, instead of converting the other operand to this
    operand's type."""
    return value.cxx == t or is_integral(value.cxx) or value.cxx.size <= t.size


def _sum_rule(symbol, compute):
    def translate_operation(a, b):
        t = rules.common_type(a.type, b.type)
        if t is None:
            return None
        a, b = _converted_operand(a, t), _converted_operand(b, t)
        exact = compute(a.range, b.range) if is_integral(t) else None
        x, y, cxx = _convert_operands(a, b, t, exact)
        level = PRODUCT if symbol == "*" else SUM
        text = f"{x.text_at(level)} {symbol} {y.text_at(level + 1)}"
        limits = None
        if is_integral(t):
            limits = exact if is_in_range(exact, t) else _range_of_result(symbol, a, b, exact, t)
        return Value(t, text, level, cxx, limits, **_merge_side_effects(a, b))

    return translate_operation


def _range_of_result(symbol, a, b, exact, t):
    """Returns the range (lowest, highest) of a result that might overflow its type. Sums and doublings of
    signed numbers are assumed not to overflow, as in C++. Products may overflow, because hashes are computed
    from products."""
    is_doubling = any(
        x.is_constant and x.constant > 0 and not x.constant & (x.constant - 1) for x in (a, b)
    )
    if t is not types.int64 or (symbol == "*" and not is_doubling):
        return full_range(t)
    low, high = full_range(t)
    return max(exact[0], low), min(exact[1], high)


def _product_rule(a, b):
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _true_division(a, b):
    t = rules.quotient_type(a.type, b.type)
    if t is None:
        return None
    x, y, cxx = _convert_operands(a, b, t, None)
    if cxx != t or is_integral(rules.promoted_type(x.cxx, y.cxx) or t):
        x, cxx = convert_value(x, t), t
    return Value(
        t,
        f"{x.text_at(PRODUCT)} / {y.text_at(PRODUCT + 1)}",
        PRODUCT,
        cxx,
        **_merge_side_effects(a, b),
    )


def _floor_rule(symbol, name):
    def translate_operation(a, b):
        t = rules.common_type(a.type, b.type)
        if t is None or is_complex(t):
            return None
        if t is types.float16:  # computed as in NumPy
            a, b = (convert_value(x, types.float32) for x in (a, b))
            text = f"float16({name}({a.text}, {b.text}))"
            return Value(t, text, PRIMARY, t, **_merge_side_effects(a, b))
        limits = None
        a, b = _converted_operand(a, t), _converted_operand(b, t)
        if is_integral(t):
            limits = _range_of_floor_division(symbol, a, b, t)
            if a.is_nonnegative and b.is_nonnegative:
                x, y, cxx = _convert_operands(a, b, t, limits)
                text = f"{x.text_at(PRODUCT)} {symbol} {y.text_at(PRODUCT + 1)}"
                return Value(t, text, PRODUCT, cxx, limits, **_merge_side_effects(a, b))
            if b.is_constant and b.constant > 0 and b.constant & (b.constant - 1) == 0:
                return _divide_by_power_of_two(symbol, convert_value(a, t), b.constant, limits)
        text = f"{name}({convert_value(a, t).text}, {b.text})"
        return Value(t, text, PRIMARY, t, limits, **_merge_side_effects(a, b))

    return translate_operation


def _divide_by_power_of_two(symbol, a, b, limits):
    """Translates ``a // b`` and ``a % b`` for an integer that may be negative and a power of two, by a shift
    and a mask, which round down."""
    more = _merge_side_effects(a, a)
    if symbol == "%":
        text, level = f"{a.text_at(BIT_AND)} & {b - 1}", BIT_AND
    elif b == 1:
        return a.replace(range=limits)
    else:
        text, level = f"{a.text_at(SHIFT)} >> {b.bit_length() - 1}", SHIFT
    return Value(a.type, text, level, a.type, limits, **more)


def _range_of_floor_division(symbol, a, b, t):
    if symbol == "%":
        if b.range[0] > 0:
            return 0, min(b.range[1] - 1, a.range[1] if a.is_nonnegative else b.range[1] - 1)
    elif b.range[0] > 0:
        ends = [x // y for x in a.range for y in b.range]
        return min(ends), max(ends)
    if a.is_nonnegative and b.is_nonnegative:
        return 0, max(a.range[1], b.range[1] if symbol == "%" else 0)
    return full_range(t)


def _power_rule(a, b):
    t = rules.power_type(a.type, b.type)
    if t is None:
        return None
    if (
        is_integral(a.type) and b.is_constant and b.constant < 0
    ):  # the result is a float as in Python; numba returns the integer 0
        t = types.float64
    a = _converted_operand(a, t)
    if b.is_constant and is_integral(b.type) and not is_integral(t):
        if b.constant == 2 and not a.calls and a.precedence == PRIMARY and len(a.text) < 32:
            return binary(ast.Mult, convert_value(a, t), convert_value(a, t))
        text = f"py::power({convert_value(a, t).text}, {b.text})"
        return Value(t, text, PRIMARY, t, **_merge_side_effects(a, b))
    if is_integral(t):
        text = f"py::power({convert_value(a, t).text}, {b.text})"
        limits = (0, full_range(t)[1]) if a.is_nonnegative else None
        return Value(t, text, PRIMARY, t, limits, **_merge_side_effects(a, b))
    text = f"pow({convert_value(a, t).text}, {convert_value(b, t).text})"
    return Value(t, text, PRIMARY, t, **_merge_side_effects(a, b))


def _shift_rule(symbol):
    def translate_operation(a, b):
        t = rules.shift_type(a.type, b.type)
        if t is None:
            return None
        limits = full_range(t)
        if symbol == ">>":
            c = rules.promoted_type(a.cxx, a.cxx)
            x = a if is_in_range(a.range, c) and is_in_range(a.range, t) else convert_value(a, t)
            cxx = rules.promoted_type(x.cxx, x.cxx)
            if b.is_nonnegative:
                ends = [v >> s for v in a.range for s in (b.range[0], min(b.range[1], 64))]
                limits = min(ends), max(ends)
        else:
            x, cxx = a, t
            if a.is_nonnegative and b.is_nonnegative and b.range[1] < 64:
                limits = a.range[0] << b.range[0], a.range[1] << b.range[1]
            c = rules.promoted_type(a.cxx, a.cxx)
            if is_in_range(limits, c):
                cxx = c
            else:
                x = convert_value(a, t)
                limits = limits if is_in_range(limits, t) else full_range(t)
        return Value(t, f"{x.text_at(SHIFT + 1)} {symbol} {b.text_at(SHIFT + 1)}", SHIFT, cxx, limits,
                     **_merge_side_effects(a, b))  # fmt: skip

    return translate_operation


def _bitwise_rule(symbol, level):
    def translate_operation(a, b):
        t = rules.bitwise_type(a.type, b.type)
        if t is None:
            return None
        limits = _bitwise_range(symbol, a, b, t)
        if t is types.boolean:
            x, y, cxx = a, b, types.int32
        else:
            c = rules.promoted_type(a.cxx, b.cxx)
            signed = c is not None and c.dtype.kind == "i"
            natural = a.is_nonnegative and b.is_nonnegative and limits[0] >= 0
            if c == t or natural or (signed and _has_signed_result(a, b, c)):
                x, y, cxx = a, b, c
            else:
                x, y, cxx = convert_value(a, t), b if b.cxx == t else convert_value(b, t), t
        text = f"{x.text_at(level + (level < BIT_AND))} {symbol} {y.text_at(level + 1)}"
        return Value(t, text, level, cxx, limits, **_merge_side_effects(a, b))

    return translate_operation


def _has_signed_result(a, b, c):
    return is_in_range(a.range, c) and is_in_range(b.range, c)


def _bitwise_range(symbol, a, b, t):
    """Converts operands to the result type, in which a uint64 may be negative."""
    naturals = [x for x in (a, b) if x.is_nonnegative and is_in_range(x.range, t)]
    if symbol == "&" and naturals:
        return 0, min(x.range[1] for x in naturals)
    if len(naturals) == 2:
        return 0, (1 << max(a.range[1], b.range[1]).bit_length()) - 1
    return full_range(t)


_RULES: dict[type, Any] = {
    ast.Add: _sum_rule("+", lambda a, b: (a[0] + b[0], a[1] + b[1])),
    ast.Sub: _sum_rule("-", lambda a, b: (a[0] - b[1], a[1] - b[0])),
    ast.Mult: _sum_rule("*", _product_rule),
    ast.Div: _true_division,
    ast.FloorDiv: _floor_rule("/", "py::floor_div"),
    ast.Mod: _floor_rule("%", "py::floor_mod"),
    ast.Pow: _power_rule,
    ast.LShift: _shift_rule("<<"),
    ast.RShift: _shift_rule(">>"),
    ast.BitAnd: _bitwise_rule("&", BIT_AND),
    ast.BitOr: _bitwise_rule("|", BIT_OR),
    ast.BitXor: _bitwise_rule("^", BIT_XOR),
}


_UNARY: dict[type, Callable[[int], int]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}


SIGNS: dict[type, str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}


def operand_texts(left: Value, symbol: str, right: Value) -> tuple[str, str]:
    """Returns two C++ texts of ``left op right`` without conversions: unchanged, and with the right operand
    in parentheses."""
    return f"{left.text} {symbol} {right.text}", f"{left.text} {symbol} ({right.text})"


def unary(op: type, a: Value) -> Value | None:
    """Returns the Value of ``-a``, ``+a``, ``~a``, or None if the operation does not exist for this type."""
    if not is_number(a.type):
        return None
    t = a.type
    if op is ast.Invert:
        if t is types.boolean:
            return Value(t, f"!{a.text_at(UNARY)}", UNARY, calls=a.calls, loads=a.loads)
        if not is_integral(t):
            return None
    if t in (types.uint8, types.uint16, types.uint32) and op is not ast.UAdd:
        return _negate_unsigned(op, a)
    if is_integral(t):
        t = rules.widened_integer(t)
        low, high = a.range or full_range(t)
        ends = [_UNARY[op](low), _UNARY[op](high)]
        exact = min(ends), max(ends)
        c = rules.promoted_type(a.cxx, a.cxx)
        if not (is_in_range(exact, c) and is_in_range(exact, t) and is_in_range(a.range, c)):
            a = convert_value(a, t)
            c = t
        limits = exact if is_in_range(exact, t) else full_range(t)
        constant = ends[0] if a.is_constant and is_in_range(exact, t) else NOTHING
    else:
        c, limits = t, None
        constant = -a.constant if a.is_constant and op is ast.USub else NOTHING
    symbol = SIGNS[op]
    return Value(t, f"{symbol}{a.text_at(PRIMARY)}", UNARY, c, limits, constant, calls=a.calls,
                 loads=a.loads)  # fmt: skip


def _negate_unsigned(op, a):
    """-For unsigned numbers of less than 64 bits, a and ~a are computed first and widened afterwards."""
    limits = full_range(a.type)
    constant = _UNARY[op](int(a.constant)) % (limits[1] + 1) if a.is_constant else NOTHING
    text = f"{type_text(a.type)}({SIGNS[op]}{a.text_at(PRIMARY)})"
    return Value(rules.widened_integer(a.type), text, PRIMARY, a.type, limits, constant, calls=a.calls,
                 loads=a.loads)  # fmt: skip


def compare(op: type, a: Value, b: Value) -> Value | None:
    """Returns the Value of ``a < b`` etc. for numbers, or None if the types have no order."""
    if not is_number(a.type) or not is_number(b.type):
        return None
    if is_complex(a.type) or is_complex(b.type):
        if op not in (ast.Eq, ast.NotEq):
            return None
        t = rules.common_type(a.type, b.type)
        return _comparison_value(op, convert_value(a, t), convert_value(b, t))
    if a.is_constant and b.is_constant:
        constant = COMPARE[op](a.constant, b.constant)
        return _comparison_value(op, a, b).replace(constant=bool(constant))
    if is_integral(a.type) and is_integral(b.type):
        return _compare_integers(op, a, b)
    a, b = _as_float32_literal(a, b.type), _as_float32_literal(b, a.type)
    t = rules.common_type(a.type, b.type)
    if _is_exact_in(a, b.type) or _is_exact_in(b, a.type) or rules.promoted_type(a.cxx, b.cxx) == t:
        return _comparison_value(op, a, b)
    return _comparison_value(op, convert_value(a, t), convert_value(b, t))


def _as_float32_literal(value, t):
    """Returns a literal as a float32 in a comparison with a float32, if float32 represents the literal
    exactly. The result equals that of a comparison of doubles, which are slow on GPUs."""
    if t is types.float32 and value.is_constant and _LITERAL.fullmatch(value.text):
        with np.errstate(over="ignore"):
            if np.float32(value.constant) == value.constant:
                return convert_value(value, t)
    return value


def _is_exact_in(value, t):
    """Returns whether the value is an integer constant so small that the floating-point type represents it
    exactly."""
    return (
        is_integral(value.type) and value.is_constant and abs(value.constant) <= 2048 and is_real(t)
    )


def _compare_integers(op, a, b):
    c = rules.promoted_type(a.cxx, b.cxx)
    if is_in_range(a.range, c) and is_in_range(b.range, c):
        return _comparison_value(op, a, b)
    for t in (types.int64, types.uint64):
        if is_in_range(a.range, t) and is_in_range(b.range, t):
            x = a if a.cxx.size == 8 or a.cxx.dtype.kind == "i" else convert_value(a, t)
            y = b if b.cxx.size == 8 or b.cxx.dtype.kind == "i" else convert_value(b, t)
            if rules.promoted_type(x.cxx, y.cxx) != t:
                x, y = convert_value(x, t), convert_value(y, t)
            return _comparison_value(op, x, y)
    x, y = a.text, b.text
    either = _merge_side_effects(a, b)
    name, swap, negated = {
        ast.Lt: ("np_less", False, False), ast.Gt: ("np_less", True, False),
        ast.LtE: ("np_less_equal", False, False), ast.GtE: ("np_less_equal", True, False),
        ast.Eq: ("np_equal", False, False), ast.NotEq: ("np_equal", False, True),
    }[op]  # fmt: skip
    text = f"{name}({y}, {x})" if swap else f"{name}({x}, {y})"
    if negated:
        return Value(types.boolean, f"!{text}", UNARY, **either)
    return Value(types.boolean, text, **either)


def _comparison_value(op, a, b):
    level = EQUAL if op in (ast.Eq, ast.NotEq) else ORDER
    text = f"{a.text_at(level + 1)} {SYMBOLS[op]} {b.text_at(level + 1)}"
    return Value(types.boolean, text, level, **_merge_side_effects(a, b))
