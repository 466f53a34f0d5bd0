"""Maps libdevice's functions to CUDA C++: most have the same name in CUDA C++, or a name with two leading
underscores."""

from __future__ import annotations

import re

from numbalite import types
from numbalite.python.arithmetic import convert_value
from numbalite.python.calls import Call, Rule
from numbalite.python.values import Value, is_integral
from numbalite.types.libdevice import SIGNATURES, Signature

_UNDERSCORES = re.compile(
    r"brev|clz|ffs|popc|byte_perm|u?sad|u?mul24|u?mulhi|u?mul64hi|u?r?hadd|saturatef|hiloint2double"
    r"|double2hiint|double2loint|\w+_as_\w+|\w+_r[dnuz]"
)
_UNSIGNED = re.compile(
    r"brev|byte_perm|u?sad|u(ll)?(max|min)|u(r?hadd|mul24|mulhi|mul64hi)|\w+2u(int|ll)_\w+"
)
_OTHER = {
    "finitef": "isfinite", "isfinited": "isfinite", "isinfd": "isinf", "isinff": "isinf", "isnand": "isnan",
    "isnanf": "isnan", "signbitd": "signbit", "signbitf": "signbit", "powi": "pow", "powif": "pow",
}  # fmt: skip
_TEXTS = {
    "float2half_rn": "__half_as_short(float16({0}))",
    "half2float": "float32(float16(__short_as_half({0})))",
}


def _cuda_name(name: str) -> str:
    """Returns the name in CUDA C++."""
    if name in _OTHER:
        return _OTHER[name]
    plain = name.removesuffix("ll") if name in ("brevll", "clzll", "ffsll", "popcll") else name
    if name.startswith("fast_"):
        return f"__{name.removeprefix('fast_')}"
    return f"__{name}" if _UNDERSCORES.fullmatch(plain) else name


def _call_text(name: str, args: list[str]) -> str:
    signature = SIGNATURES[name]
    if name in _TEXTS:
        return _TEXTS[name].format(*args)
    call = f"({', '.join(args)})"
    if len(signature.returns) > 1:
        is_float = signature.args[0] is types.float32
        return f"py::{name.removesuffix('f') if is_float else name}{call}"
    (result,) = signature.returns
    plain = name.removesuffix("ll") if name == "brevll" else name
    if is_integral(result) and (_UNSIGNED.fullmatch(plain) or name in _OTHER):
        return f"{result.name}({_cuda_name(name)}{call})"
    return _cuda_name(name) + call


def _libdevice_rule(name: str, signature: Signature) -> Rule:
    returns = signature.returns
    result = returns[0] if len(returns) == 1 else types.Tuple(returns)

    def translate_call(call: Call) -> Value:
        given = call.number_arguments(len(signature.args))
        texts = [convert_value(v, t).text for v, t in zip(given, signature.args, strict=True)]
        return call.result(result, _call_text(name, texts))

    return translate_call


WORDS: dict[str, Rule] = {
    f"libdevice.{name}": _libdevice_rule(name, signature) for name, signature in SIGNATURES.items()
}
