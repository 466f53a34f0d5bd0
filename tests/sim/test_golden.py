"""Several thousand expressions (golden.py) have the same results on the simulator as on a GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import math
import os
import struct

import pytest

_HERE = os.path.dirname(os.path.abspath(__file__))
_spec = importlib.util.spec_from_file_location("golden", os.path.join(_HERE, "golden.py"))
golden = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(golden)
with open(os.path.join(_HERE, "golden.json"), encoding="utf-8") as _file:
    ANSWERS = json.load(_file)

# Expressions whose result on a GPU is accidental: its compiler folds x / x to 1,
# and 64-bit division by zero uses the code path for small numbers.
_ACCIDENTS = {"I(0) / I(0)", "U(0u) / U(0u)", "L(0ll) / L(0ll)", "UL(0ull) / UL(0ull)", "I(-1) >> I(-1)",
              "L(5ll) / L(0ll)", "L(5ll) % L(0ll)", "UL(3ull) / UL(0ull)", "UL(3ull) % UL(0ull)"}  # fmt: skip
# Undefined shifts whose result g++ leaves to the CPU: see the head of cuda_src/sim/prelude.h.
_UNDEFINED = (" << ", " >> ")


def _decode_number(kind, bits):
    if kind == 5:
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def _ulp_distance(kind, a, b):
    """Returns the number of representable values between a and b."""
    if math.isnan(a) or math.isnan(b):
        return 0 if math.isnan(a) and math.isnan(b) else math.inf
    size, whole = ("<f", "<i") if kind == 5 else ("<d", "<q")
    ordered = []
    for value in (a, b):
        (i,) = struct.unpack(whole, struct.pack(size, value))
        ordered.append(i if i >= 0 else -(i & (2**31 - 1 if kind == 5 else 2**63 - 1)))
    return abs(ordered[0] - ordered[1])


def _agrees_with_expected(group, expression, expected, found):
    kind, bits = expected
    if kind != found[0]:
        return False
    if bits == found[1]:
        return True
    if kind < 5:
        return False
    a, b = _decode_number(*expected), _decode_number(*found)
    if math.isnan(a) and math.isnan(b):
        return True
    if group != "mathematics":
        return False
    if expression.startswith("__"):
        return math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6)
    if expression[:2] in ("j0", "j1", "jn", "y0", "y1", "yn"):
        return abs(a - b) < (1e-6 if kind == 5 else 1e-12)
    limit = 16 if expression.startswith(("lgamma", "tgamma", "erfc", "normcdf", "cyl")) else 4
    return _ulp_distance(kind, a, b) <= limit or abs(a - b) < 1e-15


def _is_unspecified(compiler, expression):
    """Returns whether an expression has an undefined result that g++ leaves to the CPU."""
    cast = expression.startswith("(") and not expression.startswith(("(bool)", "(long long)l"))
    return compiler == "g++" and (cast or any(sign in expression for sign in _UNDEFINED))


@pytest.mark.parametrize("group", list(golden.GROUPS))
def test_expressions_agree_with_a_gpu(load_alone, compiler_name, group):
    both = zip(golden.GROUPS[group], ANSWERS[group], strict=True)
    pairs = [
        (e, a) for e, a in both if e not in _ACCIDENTS and not _is_unspecified(compiler_name, e)
    ]
    image = load_alone(
        golden.evaluation_source([expression for expression, _ in pairs]), "evaluate"
    )
    found = (ctypes.c_ulonglong * (2 * len(pairs)))()
    pointer = ctypes.c_void_p(ctypes.addressof(found))
    image.run("evaluate", (1,), (1,), pointer, ctypes.c_int(0), ctypes.c_float(1))
    wrong = []
    for at, (expression, answer) in enumerate(pairs):
        kind, bits = answer.split(":")
        expected, got = (int(kind), int(bits, 16)), (found[2 * at], found[2 * at + 1])
        if not _agrees_with_expected(group, expression, expected, got):
            shown = [(k, hex(v), _decode_number(k, v) if k >= 5 else v) for k, v in (expected, got)]
            wrong.append((expression, *shown))
    assert not wrong, f"{len(wrong)} differ from the GPU:\n" + "\n".join(map(str, wrong[:200]))
