"""Translates shared, local and constant arrays, and the fields of named tuples."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python.values import CompileTimeType, FixedArray, Value, is_integral


def array_rule(space: str) -> Any:
    """Returns the rule for cuda.shared.array or cuda.local.array. The text of the array's Value is the
    declaration, with the extents as written by the user."""

    def translate_call(call):
        if len(call.args) < 2 and "dtype" not in call.keywords:
            call.fail(
                "the argument 'dtype' is missing", f"Write {call.function_text}(shape, float32)."
            )
        shape, dtype, alignment = call.bind_arguments("shape", "dtype", "alignment", optional=1)
        items = call.of.items(call.node, shape) if isinstance(shape.type, types.Tuple) else (shape,)
        for item in items:
            if not item.is_constant or not is_integral(item.type):
                call.fail(
                    f"the shape of an array in {space} memory must be known when compiling",
                    "Write numbers, or names of the Python scope that are numbers.",
                )
        extents = tuple(int(item.constant) for item in items)
        t = element_type(call, dtype)
        aligned = _alignment_argument(call, alignment)
        if space == "shared" and extents == (0,):
            made = Value(FixedArray(t, (0,), "dynamic", alignment=aligned), "[]", calls=True)
            return call.of.allocate_array(call.node, made)
        if any(n <= 0 for n in extents):
            call.fail(f"the shape {extents} has no elements")
        text = "".join(f"[{_extent_text(call.of, item)}]" for item in items)
        made = Value(FixedArray(t, extents, space, alignment=aligned), text, calls=True)
        return call.of.allocate_array(call.node, made)

    return translate_call


def _alignment_argument(call, value):
    """Returns the value of ``alignment=`` in bytes, or 0 for the alignment of an element."""
    if value is None or isinstance(value.type, types.Empty):
        return 0
    if not value.is_constant or not is_integral(value.type):
        call.fail("RequireLiteralValue: alignment must be a constant integer")
    n = int(value.constant)
    if n < 1 or n & (n - 1) or n % 8:
        call.fail(f"Alignment must be a power of two, of 8 bytes or more, not {n}")
    return n


def _extent_text(of, item):
    """Returns the C++ text of an extent as written by the user. Variables are replaced by their values,
    because C++ requires constant extents."""
    words = set(re.findall(r"[^\W\d]\w*", item.text))
    return int(item.constant) if any(map(of.is_used_name, words)) else item.text


def element_type(call: Any, dtype: Any) -> Any:
    """Returns the types.Type for an argument ``dtype``."""
    value: Any = (
        dtype.type.value
        if isinstance(dtype.type, CompileTimeType)
        else getattr(dtype.type, "dtype", None)
    )
    try:
        if isinstance(value, str):
            value = np.dtype(value)
        return types.as_type({bool: np.bool_, int: np.int64, float: np.float64}.get(value, value))
    except TypeError:
        if isinstance(value, str):
            call.fail(f"Invalid NumPy dtype specified: {value!r}")
        call.fail("the dtype is a type such as float32 or np.float32")


def translate_array_like(call: Any) -> Any:
    """Translates cuda.const.array_like(x) to x, because arrays of the Python scope are in constant memory
    already."""
    (value,) = call.bind_arguments("ndarray")
    if not isinstance(value.type, FixedArray) or value.type.space != "captured":
        call.fail("takes a NumPy array of the Python scope, by its name")
    return value


def named_tuple_field(call: Any, name: str) -> Any:
    """Returns the Value of a field of a named tuple."""
    (value,) = call.args
    at = value.type.instance_class._fields.index(name)
    if value.items is not None:
        return value.items[at]
    return Value(value.type.types[at], f"{value.text_at(100)}.{name}", loads=value.loads)
