"""bfloat16: cuda.bf16 of numba.cuda. bfloat16 numbers exist only in kernels, as CUDA's __nv_bfloat16."""

from __future__ import annotations

import ast
import math
from typing import Any

from numbalite import types
from numbalite.python.arithmetic import COMPARE, SYMBOLS, convert_value, type_text
from numbalite.python.calls import Call, Rule
from numbalite.python.rules import describe_type
from numbalite.python.values import (
    EQUAL,
    PRIMARY,
    PRODUCT,
    SUM,
    UNARY,
    Value,
    is_integral,
    is_number,
    is_real,
)

BFLOAT16 = types.Opaque("__nv_bfloat16")
HEADER = "cuda_bf16.h"
_LEVELS: dict[type, int] = {ast.Add: SUM, ast.Sub: SUM, ast.Mult: PRODUCT, ast.Div: PRODUCT}
_INTEGERS = {
    "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int",
    "uint32": "uint", "int64": "ll", "uint64": "ull",
}  # fmt: skip


def is_bfloat(value: Value) -> bool:
    return value.type == BFLOAT16


def make_bfloat(call: Call, value: Value) -> Value:
    """``bfloat16(x)``"""
    if is_bfloat(value):
        return value
    if not is_number(value.type) or not (is_integral(value.type) or is_real(value.type)):
        call.fail(f"a real number is wanted, not {describe_type(value.type)}")
    t = value.type
    if t is types.float16:
        t = types.float32
    elif t.size < 4:
        t = types.int32
    call.of.headers.add(HEADER)
    return call.result(BFLOAT16, f"__nv_bfloat16({convert_value(value, t).text})")


def bfloat_as_number(value: Value, t: Any) -> Value:
    """Converts a bfloat16 to another number type."""
    text = f"__bfloat162float({value.text})"
    if t is not types.float32:
        text = f"{type_text(t)}({text})"
    return value.replace(type=t, cxx=t, text=text, precedence=PRIMARY)


def binary(op: type, a: Value, b: Value) -> Value | None:
    if op not in _LEVELS or not (is_bfloat(a) and is_bfloat(b)):
        return None
    level = _LEVELS[op]
    text = f"{a.text_at(level)} {SYMBOLS[op]} {b.text_at(level + 1)}"
    return Value(BFLOAT16, text, level, calls=a.calls or b.calls, loads=a.loads or b.loads)


def unary(op: type, a: Value) -> Value | None:
    if op is ast.UAdd:
        return a
    return a.replace(text=f"-{a.text_at(PRIMARY)}", precedence=UNARY) if op is ast.USub else None


def compare(op: type, a: Value, b: Value) -> Value | None:
    if op not in COMPARE or not (is_bfloat(a) and is_bfloat(b)):
        return None
    text = f"{a.text_at(EQUAL + 1)} {SYMBOLS[op]} {b.text_at(EQUAL + 1)}"
    return Value(types.boolean, text, EQUAL, calls=a.calls or b.calls, loads=a.loads or b.loads)


def _arithmetic_rule(name: str, result: Any, *parameters: Any) -> Rule:
    def translate_call(call: Call) -> Value:
        if call.keywords or len(call.args) != len(parameters):
            call.fail(f"takes {len(parameters)} argument{'s' * (len(parameters) != 1)}")
        given = [_argument_text(call, a, t) for a, t in zip(call.args, parameters, strict=True)]
        call.of.headers.add(HEADER)
        return call.result(result, f"{name}({', '.join(given)})")

    return translate_call


def _argument_text(call, value, t):
    if t == BFLOAT16:
        return make_bfloat(call, value).text
    if is_bfloat(value):
        return bfloat_as_number(value, t).text
    if not is_number(value.type):
        call.fail(f"takes numbers, not {describe_type(value.type)}")
    return convert_value(value, t).text


def _bfloat_argument(call: Any) -> Value:
    return make_bfloat(call, *call.bind_arguments("x"))


def _bfloat_rules() -> dict[str, Rule]:
    """Returns {name: Rule} of the functions of cuda.bf16, also under their older names."""
    b = BFLOAT16
    counts = {
        1: "hneg habs", 2: "hadd hsub hmul hdiv hmax hmin hmax_nan hmin_nan hadd_rn hsub_rn hmul_rn "
        "hadd_sat hsub_sat hmul_sat", 3: "hfma hfma_sat hfma_relu",
    }  # fmt: skip
    found = {
        name: _arithmetic_rule(f"__{name}", b, *[b] * n)
        for n, of in counts.items()
        for name in of.split()
    }
    for name in "heq hne hge hgt hle hlt".split():
        found[name] = _arithmetic_rule(f"__{name}", types.boolean, b, b)
    found["hisnan"] = _arithmetic_rule("__hisnan", types.boolean, b)
    found["hisinf"] = _arithmetic_rule("__hisinf", types.int32, b)
    for name in (
        "htrunc hceil hfloor hrint hsqrt hrsqrt hrcp hlog hlog2 hlog10 hcos hsin hexp hexp2 hexp10 htanh "
        "htanh_approx"
    ).split():
        found[name] = _arithmetic_rule(name, b, b)
    for of, c in _INTEGERS.items():
        t: Any = types.NAMES[of]
        for way in ("rz",) if t.size == 1 else ("rn", "rz", "rd", "ru"):
            found[f"bfloat16_to_{of}_{way}"] = _arithmetic_rule(f"__bfloat162{c}_{way}", t, b)
            if t.size > 1:
                found[f"{of}_to_bfloat16_{way}"] = _arithmetic_rule(f"__{c}2bfloat16_{way}", b, t)
    for of in ("int16", "uint16"):
        found[f"bfloat16_as_{of}"] = _arithmetic_rule(
            f"__bfloat16_as_{_INTEGERS[of]}", types.NAMES[of], b
        )
        found[f"{of}_as_bfloat16"] = _arithmetic_rule(
            f"__{_INTEGERS[of]}_as_bfloat16", b, types.NAMES[of]
        )
    found["bfloat16_to_float32"] = _arithmetic_rule("__bfloat162float", types.float32, b)
    found["float32_to_bfloat16"] = _arithmetic_rule("__float2bfloat16", b, types.float32)
    found["float64_to_bfloat16"] = _arithmetic_rule("__double2bfloat16", b, types.float64)
    for way in ("rn", "rz", "rd", "ru"):
        found[f"float32_to_bfloat16_{way}"] = _arithmetic_rule(
            f"__float2bfloat16_{way}", b, types.float32
        )
    found["bfloat16"] = _bfloat_argument
    found["nv_bfloat16"] = found["bfloat16"]
    return found


WORDS: dict[str, Rule] = {f"bf16.{name}": rule for name, rule in _bfloat_rules().items()}
WORDS["bfloat16"] = WORDS["bf16.bfloat16"]
TYPES = frozenset(("bfloat16", "bf16.bfloat16", "bf16.nv_bfloat16"))
"""The intrinsics that name the type itself."""
MATH: dict[Any, Rule] = {
    getattr(math, name): WORDS[f"bf16.h{name}"]
    for name in "trunc ceil floor sqrt log log2 log10 cos sin tanh exp exp2".split()
    if hasattr(math, name)
}
"""Functions of the module math for a bfloat16."""
