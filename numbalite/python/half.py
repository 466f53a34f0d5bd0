"""Defines cuda.fp16: numba.cuda's names for the arithmetic of float16."""

from __future__ import annotations

from numbalite import types
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Call, Rule
from numbalite.python.values import Value

_ARITHMETIC = {
    "hneg": 1,
    "habs": 1,
    "hadd": 2,
    "hsub": 2,
    "hmul": 2,
    "hdiv": 2,
    "hmax": 2,
    "hmin": 2,
    "hfma": 3,
}
_COMPARISONS = "heq hne hge hgt hle hlt".split()
_FUNCTIONS = """hsin hcos hlog hlog10 hlog2 hexp hexp10 hexp2 hfloor hceil hsqrt hrsqrt hrcp hrint
    htrunc""".split()  # fmt: skip


def _float16_rule(name: str, count: int, result: types.Type) -> Rule:
    def translate_call(call: Call) -> Value:
        texts = [convert_value(value, types.float16).text for value in call.number_arguments(count)]
        return call.result(result, f"{name}({', '.join(texts)})")

    return translate_call


WORDS: dict[str, Rule] = {
    **{
        f"fp16.{name}": _float16_rule(f"__{name}", n, types.float16)
        for name, n in _ARITHMETIC.items()
    },
    **{f"fp16.{name}": _float16_rule(f"__{name}", 2, types.boolean) for name in _COMPARISONS},
    **{f"fp16.{name}": _float16_rule(name, 1, types.float16) for name in _FUNCTIONS},
}
