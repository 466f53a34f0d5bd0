"""Converts between types and kernel parameters, which are rows of describe.py's Parameter."""

from __future__ import annotations

from numbalite.types import (
    Array,
    Empty,
    Opaque,
    Pointer,
    Record,
    Scalar,
    Time,
    Tuple,
    Type,
    Void,
    scalar,
    void,
)
from numbalite.types.describe import Parameter


def type_of_row(row: Parameter) -> Type:
    """Returns the type for a Parameter row that was read from compiled code."""
    if not row.dtype or (row.kind == "pointer" and row.ctype.count("*") > 1):
        if row.ctype in ("void*", "const void*"):
            return Pointer(void, row.const)
        return Opaque(row.ctype)
    t = scalar(row.dtype)
    if row.kind == "array":
        return Array(t, row.ndim, row.layout, row.const)
    return Pointer(t, row.const) if row.kind == "pointer" else t


def parameter_kind(t: Type) -> Type:
    """Returns the kind of a kernel's parameter of this type; a record is passed by reference, like an
    array."""
    if isinstance(t, Tuple):
        return t.of(map(parameter_kind, t.types))
    return Array(t, 0) if isinstance(t, Record) else t


def _dtype_name(t):
    """Returns NumPy's name of the C++ value, or "" if the value is not a number."""
    if isinstance(t, Time):
        return "int64"
    return t.dtype.name if isinstance(t, Scalar) else ""


def parameter_row(t: Type, name: str) -> Parameter:
    """Returns the Parameter row for a parameter of this type, by which the launcher converts arguments."""
    if isinstance(t, Scalar):
        dtype = _dtype_name(t)
        return Parameter(name, "scalar", t.cxx, dtype, t.size, t.size, t.align, 0, "", False)
    if isinstance(t, Empty):
        dtype = t.dtype.dtype.name if t.dtype else ""
        ctype = "None" if t.dtype is None else f"the dtype {t.dtype}"
        return Parameter(name, "empty", ctype, dtype, t.size, t.size, t.align, 0, "", False)
    if isinstance(t, Tuple):
        parts = tuple(
            parameter_row(item, name + field)._replace(offset=offset)
            for item, field, offset in zip(t.types, t.fields, t.offsets, strict=True)
        )
        return Parameter(
            name, "tuple", t.ctype, "", t.size, t.size, t.align, 0, "", False, parts=parts
        )
    if isinstance(t, Record):
        return Parameter(name, "struct", t.cxx, "", t.size, t.size, t.align, 0, "", False)
    if isinstance(t, Array):
        dtype = _dtype_name(t.dtype)
        item = t.dtype.size
        return Parameter(
            name, "array", t.ctype, dtype, item, t.size, 8, t.ndim, t.layout, t.readonly
        )
    if isinstance(t, Pointer):
        item = 1 if isinstance(t.dtype, Void) else t.dtype.size
        dtype = _dtype_name(t.dtype)
        return Parameter(name, "pointer", t.cxx, dtype, item, 8, 8, 0, "", t.readonly)
    raise TypeError(f"parameter {name!r}: a kernel takes no {t}")
