"""Implements numba's type rules for numbers: the result types of operations, and common types.

The rules are those of numba/core/typing/builtins.py: integer arithmetic has at least 64 bits, and is signed
if one operand is; a variable that is bound to int64 and uint64 is float64; true division of integers is
float64; a float32 stays a float32 with float32 and with integers that fit in an int16.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python.values import (
    CompileTimeType,
    FixedArray,
    Sequence,
    is_complex,
    is_integral,
    is_number,
    is_real,
)
from numbalite.types.inkernel import KernelName

_SIGNED, _UNSIGNED = types.int64, types.uint64


def widened_integer(t: Any) -> Any:
    """Returns the result type of arithmetic on this integer type."""
    return _UNSIGNED if t.dtype.kind == "u" and t.size == 8 else _signed_or_unsigned(t)


def _signed_or_unsigned(t):
    return _UNSIGNED if t.dtype.kind == "u" else _SIGNED


def common_type(a: Any, b: Any) -> Any:
    """Returns the result type of arithmetic on two types, or None if there is none."""
    if not is_number(a) or not is_number(b):
        return None
    if is_integral(a) and is_integral(b):
        return _UNSIGNED if a.dtype.kind == b.dtype.kind == "u" else _SIGNED
    return types.scalar(np.promote_types(_float_operand_dtype(a, b), _float_operand_dtype(b, a)))


def _float_operand_dtype(t, other):
    """Returns the floating-point dtype to which an operand is converted in an operation with a float. For
    example, int16 is converted to float32, and int8 to float16."""
    if not is_integral(t):
        return t.dtype
    bits = 8 * t.size + (t.dtype.kind == "u")  # a signed type that contains it
    if other is types.float16 and bits <= 8:
        return np.dtype("f2")
    return np.dtype("f4" if bits <= 16 else "f8")


def quotient_type(a: Any, b: Any) -> Any:
    """Returns the type of ``a / b``."""
    found = common_type(a, b)
    return types.float64 if found is not None and is_integral(found) else found


def power_type(a: Any, b: Any) -> Any:
    """Returns the type of ``a ** b``: a float keeps its type with an integer, except that float16
    becomes float32. In numba, a boolean to the power of an int32 is also a float32."""
    found = a if is_real(a) and is_integral(b) else common_type(a, b)
    if found is types.float16 or (a is types.boolean and b is types.int32):
        return types.float32
    return found


def bitwise_type(a: Any, b: Any) -> Any:
    """Returns the type of ``a & b``."""
    if a is types.boolean and b is types.boolean:
        return a
    if not is_integral(a) or not is_integral(b):
        return None
    return common_type(a, b)


def shift_type(a: Any, b: Any) -> Any:
    """Returns the type of ``a << b``, which is the type of the first operand."""
    return _signed_or_unsigned(a) if is_integral(a) and is_integral(b) else None


def unified_type(a: Any, b: Any) -> Any:
    """Returns the type of a variable that is assigned values of two types, or None if there is no common
    type."""
    if a == b:
        return a
    if is_number(a) and is_number(b):
        return types.scalar(np.promote_types(a.dtype, b.dtype))
    if isinstance(a, types.Array) and isinstance(b, types.Array):
        return _unified_arrays(a, b)
    if isinstance(a, types.Tuple) and isinstance(b, types.Tuple) and len(a) == len(b):
        items = [unified_type(x, y) for x, y in zip(a.types, b.types, strict=True)]
        if isinstance(a, types.NamedTuple) and not isinstance(b, type(a)):
            return None
        return None if None in items else a.of(items)
    return None


def _unified_arrays(a, b):
    if (a.dtype, a.ndim) != (b.dtype, b.ndim):
        return None
    readonly = a.readonly or b.readonly
    return types.Array(a.dtype, a.ndim, a.layout if a.layout == b.layout else "A", readonly)


def stored_type(t: Any) -> Any:
    """Returns the type of a variable that is assigned a value of this type: for a shared or local array, the
    type of a view of the array."""
    return t.view if isinstance(t, FixedArray) else t


def describe_type(t: Any) -> str:
    """Returns a description of a type, for messages."""
    if isinstance(t, CompileTimeType):
        return _described_object(t.value)
    if isinstance(t, Sequence):
        return f"{t.kind}(...)"
    if isinstance(t, types.Empty) and t.dtype is None:
        return "None"
    if t is types.void:
        return "a call that returns nothing"
    if isinstance(t, types.Opaque) and t.name.startswith("cg::"):
        return "a group of threads"
    return str(t)


def _described_object(value):
    """Returns a description of a Python object that is not a value in a kernel."""
    if isinstance(value, KernelName):
        return f"cuda.{value.path}"
    if isinstance(value, type(math)):
        return f"the module {value.__name__}"
    name = getattr(value, "__name__", "")
    kind = type(value).__name__
    if isinstance(value, type):
        return f"the class {name}"
    if name:
        return f"the {'ufunc' if isinstance(value, np.ufunc) else 'function'} {name}"
    text = repr(value)
    if type(value).__repr__ is object.__repr__ or len(text) > 60:
        return f"an object of the class {kind}"
    return f"{kind} {text}"


# The types in which C++ computes operations on operands of these types.


def promoted_type(a: Any, b: Any) -> Any:
    """Returns the type of an operation on these two numbers by C++'s arithmetic conversions."""
    if is_complex(a) or is_complex(b):
        return (
            types.scalar(np.promote_types(a.dtype, b.dtype)) if not _is_any_integer(a, b) else None
        )
    for real in (types.float64, types.float32, types.float16):
        if real in (a, b):
            return real
    a, b = (types.int32 if t.size < 4 else t for t in (a, b))
    if a == b:
        return a
    if a.size == b.size:
        return a if a.dtype.kind == "u" else b
    return a if a.size > b.size else b


def _is_any_integer(a, b):
    return is_integral(a) or is_integral(b)
