"""Implements ``carray(pointer, shape)`` and ``farray``, which return the memory at a pointer as an array, in
kernels and on the host. In kernels, also translates cffi's ``from_buffer(array)``, which returns a pointer to
an array's elements."""

from __future__ import annotations

import ast
import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numbalite import types
from numbalite.python import memory, rules, subscripts
from numbalite.python.values import PRIMARY, Value, is_integral, is_number


def carray(ptr: Any, shape: int | tuple[int, ...], dtype: Any = None) -> np.ndarray:
    """Returns the memory at ``ptr`` as an array in C order, without a copy. The caller must keep the memory
    alive.

    ``ptr`` is a ctypes pointer, or an address (int or ctypes.c_void_p) with a ``dtype``. In a kernel, ``ptr``
    is an argument of the type CPointer. ``shape`` is an int or a tuple. Raises TypeError for an address without
    a dtype, and for a dtype that differs from the pointer's element type.

    Example: ``carray(ctypes.pointer(ctypes.c_float(3)), 1)[0]``
    """
    return _array_at_pointer(ptr, shape, dtype, "C")


def farray(ptr: Any, shape: int | tuple[int, ...], dtype: Any = None) -> np.ndarray:
    """Like carray, but returns an array in Fortran order."""
    return _array_at_pointer(ptr, shape, dtype, "F")


def _array_at_pointer(ptr, shape, dtype, order):
    if isinstance(dtype, types.Type):
        dtype = dtype.dtype
    wanted = np.dtype(dtype) if dtype is not None else None
    if isinstance(ptr, int):
        address = ptr
    else:
        address = ctypes.cast(ptr, ctypes.c_void_p).value or 0
        own = getattr(ptr, "_type_", "P")
        if not isinstance(own, str):
            own = np.dtype(own)
            if wanted is not None and wanted != own:
                raise TypeError(f"the pointer is one to {own}, the dtype is {wanted}")
            wanted = own
    if wanted is None:
        raise TypeError("an address without a type needs a dtype, such as dtype=np.float32")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    memory_there = (ctypes.c_char * (wanted.itemsize * math.prod(shape))).from_address(address)
    return np.ndarray(shape, wanted, memory_there, order=order)


def array_rule(order: str) -> Callable:
    """Returns the translator's rule for carray ("C") or farray ("F")."""

    def translate_call(call):
        pointer, shape, dtype = call.bind_arguments("ptr", "shape", "dtype", optional=1)
        t = pointer.type
        if not isinstance(t, types.Pointer) or not is_number(t.dtype):
            call.fail("takes a pointer to numbers: types.CPointer(float32) in the signature")
        if dtype is not None and memory.element_type(call, dtype) != t.dtype:
            call.fail(f"the pointer is one to {t.dtype}, not to {dtype.type.value}")
        is_tuple = isinstance(shape.type, types.Tuple)
        extents = list(call.of.items(call.node, shape)) if is_tuple else [shape]
        if not all(is_integral(extent.type) for extent in extents):
            call.fail("a shape is made of integers")
        found = types.Array(t.dtype, len(extents), "C", False)
        if order == "F":
            extents.reverse()
        text = f"py::array_at({pointer.text}, {subscripts.extents_text(extents)})"
        value = Value(found, text, PRIMARY, loads=True)
        return value if order == "C" else subscripts.translate_transpose(value)

    return translate_call


def from_buffer_rule(call: Any) -> Value:
    """Returns the rule for the method from_buffer of a cffi.FFI."""
    (array,) = call.bind_arguments("array")
    array = subscripts.as_view(array)
    t = array.type
    if not isinstance(t, types.Array) or not _is_contiguous(call, t):
        call.fail(
            f"takes an array whose elements lie one behind the other, not {rules.describe_type(t)}"
        )
    pointer = types.Pointer(t.dtype, t.readonly)
    return Value(pointer, f"{array.text_at(PRIMARY)}.data()", loads=True)


def _is_contiguous(call, t):
    if t.layout != "A":
        return True
    # x[i:] of a contiguous x is contiguous, but its type does not express this
    given = call.node.args[0]
    is_part = isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice)
    if not is_part or given.slice.step is not None:
        return False
    whole = call.of.value(given.value).type
    return isinstance(whole, types.Array) and whole.ndim == 1 and whole.layout == "C"
