"""Translates elements, rows and slices of arrays, and items of tuples.

A negative index counts from the end. C++ code for negative indices is written only if the index may be
negative. An index from ``range`` and a thread index cannot be negative.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from numbalite import types
from numbalite.python import arithmetic, remedies
from numbalite.python.problem import Problem
from numbalite.python.rules import describe_type
from numbalite.python.values import (
    PRIMARY,
    UNARY,
    CompileTimeType,
    FixedArray,
    Value,
    is_complex,
    is_integral,
    is_number,
    number,
    tuple_of,
)


class SliceValues(NamedTuple):
    """``start:stop:step``; a missing start, stop or step is None."""

    start: Value | None
    stop: Value | None
    step: Value | None


def subscript_items(of: Any, node: ast.AST) -> list:
    """Returns the list of items in brackets: The items are Values, Slices and ``...``; tuples are
    unpacked."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    found: list = []
    for item in nodes:
        if isinstance(item, ast.Slice):
            parts = (item.lower, item.upper, item.step)
            found.append(SliceValues(*(None if part is None else of.value(part) for part in parts)))
        elif isinstance(item, ast.Constant) and item.value is Ellipsis:
            found.append(Ellipsis)
        else:
            value = of.value(item)
            if isinstance(value.type, types.Tuple) and len(nodes) == 1:
                found += of.items(item, value)
            else:
                found.append(value)
    return found


def extent_text(base: Value, axis: int) -> Value:
    """``a.shape[axis]``"""
    if isinstance(base.type, FixedArray) and base.type.space != "dynamic":
        return number(int(base.type.shape[axis]))
    return Value(types.int64, f"{_view_value(base)}.shape[{axis}]", range=(0, 2**63 - 1))


def stride_text(base: Value, axis: int) -> Value:
    if isinstance(base.type, FixedArray) and base.type.space != "dynamic":
        step = base.type.dtype.size
        for n in base.type.shape[axis + 1 :]:
            step *= n
        return number(step)
    return Value(types.int64, f"{_view_value(base)}.strides[{axis}]")


def size_text(base: Value) -> Value:
    if isinstance(base.type, FixedArray) and base.type.space != "dynamic":
        count = 1
        for n in base.type.shape:
            count *= n
        return number(int(count))
    return Value(types.int64, f"{_view_value(base)}.size()", range=(0, 2**63 - 1))


def is_cpp_array(t: Any) -> bool:
    """Returns whether the type is that of a C++ array, not of a view."""
    return isinstance(t, FixedArray) and t.space in ("shared", "local", "record", "dynamic")


def as_view(value: Value) -> Value:
    """Returns an array as array<...> and a grid index as a tuple, which are the types that functions accept
    and variables store."""
    if value.items is not None and value.text.startswith("grid"):
        return tuple_of(value.items)
    if not isinstance(value.type, FixedArray):
        return value
    text = f"py::as_array({value.text})" if is_cpp_array(value.type) else value.text
    return value.replace(type=value.type.view, cxx=value.type.view, text=text)


def scalar_element(value: Value) -> Value:
    """Returns the element of a 0-d array of numbers; returns other values unchanged."""
    t = value.type
    if not isinstance(t, types.Array) or t.ndim or not is_number(t.dtype):
        return value
    return value.replace(type=t.dtype, cxx=t.dtype, range=None, loads=not value.is_constant)


def constant_element(value: Value) -> Value:
    """Returns the number in a constant 0-d array; returns other values unchanged."""
    return scalar_element(value) if value.is_constant else value


def _view_value(base):
    return as_view(base).text_at(PRIMARY) if is_cpp_array(base.type) else base.text_at(PRIMARY)


def complex_parts(base: Value, which: int) -> Value:
    """Translates ``a.real`` and ``a.imag``: a view of one half of each complex element."""
    t = base.type
    if not is_complex(t.dtype):
        if which:
            raise Problem(
                None, "a kernel cannot create the array of imaginary parts of a real array"
            )
        return base
    base = as_view(base)
    made = types.Array(t.dtype.underlying_float, t.ndim, "A", t.readonly)
    return Value(made, f"py::complex_parts({base.text}, {which})", loads=base.loads)


def translate_reshape(base: Value, shape: list[Value]) -> Value:
    """``a.reshape(n, -1)`` for a contiguous array."""
    base = as_view(base)
    t = types.Array(base.type.dtype, len(shape), "C", base.type.readonly)
    return Value(t, f"py::reshaped({base.text}, {extents_text(shape)})", loads=base.loads)


def extents_text(shape: list[Value]) -> str:
    """Returns the C++ text of the extents of a shape, as int64."""
    return ", ".join(
        f"int64({item.text})" if item.cxx is types.uint64 else item.text for item in shape
    )


def translate_view(base: Value, dtype: types.Scalar, spelling: str) -> Value:
    """Translates ``a.view(dtype)``: the same bytes as elements of another type."""
    base = as_view(base)
    t = types.Array(dtype, base.type.ndim, base.type.layout, base.type.readonly)
    return Value(t, f"py::viewed<{spelling}>({base.text})", loads=base.loads)


def translate_transpose(base: Value) -> Value:
    base = as_view(base)
    if base.type.ndim < 2:
        return base
    layout = {"C": "F", "F": "C", "A": "A"}[base.type.layout]
    t = types.Array(base.type.dtype, base.type.ndim, layout, base.type.readonly)
    return Value(t, f"py::transposed({base.text})", loads=base.loads)


def load_item(of: Any, node: ast.AST, base: Value, items: list) -> Value:
    """``base[items]``"""
    t = base.type
    if isinstance(t, types.Tuple):
        return _tuple_item(of, node, base, items)
    if isinstance(t, (types.Record, types.Array)) and len(items) == 1:
        named = getattr(items[0], "type", None)
        if isinstance(named, CompileTimeType) and isinstance(named.value, str):
            if isinstance(t, types.Record) or t.ndim == 0:
                return field_value(of, node, base, named.value)
            if has_fields(t, named.value):
                return fields_view(base, named.value)
            of.fail(node, f"{describe_type(t)} has no field {named.value!r}")
    if isinstance(t, types.Record) and len(items) == 1 and _is_field_number(t, items[0]):
        names: Any = t.dtype.names
        return field_value(of, node, base, names[items[0].constant])
    if isinstance(t, types.Array) and t.ndim == 0 and items in ([], [Ellipsis]):
        return scalar_element(base) if is_number(t.dtype) else Value(t.dtype, base.text, loads=True)
    if isinstance(t, types.Pointer) and is_number(t.dtype):
        return _pointer_element(of, node, base, items)
    if not isinstance(t, types.Array):
        remedy = remedies.subscript_remedy(t.value) if isinstance(t, CompileTimeType) else ""
        of.fail(node, f"{describe_type(t)} has no elements", remedy)
    if Ellipsis in items:
        at = items.index(Ellipsis)
        missing = t.ndim - len(items) + 1
        items = items[:at] + [SliceValues(None, None, None)] * missing + items[at + 1 :]
    if len(items) > t.ndim:
        of.fail(
            node, f"{len(items)} indices for an array of {t.ndim} dimension{'s' * (t.ndim != 1)}",
            f"Write {t.ndim}, separated by commas." if t.ndim > 1 else "Write one.",
        )  # fmt: skip
    if any(isinstance(item, SliceValues) for item in items):
        return _sliced_view(of, node, base, items)
    return _indexed_element(
        of, node, base, [_index_text(of, node, base, k, item) for k, item in enumerate(items)]
    )


def _pointer_element(of, node, base, items):
    """Translates ``p[i]``: a pointer has no length, so a negative index refers to an element before it."""
    (item,) = items if len(items) == 1 else (None,)
    if not isinstance(item, Value) or not is_integral(item.type):
        of.fail(node, "an element of a pointer is asked for by one integer")
    return Value(base.type.dtype, f"{base.text_at(PRIMARY)}[{item.text}]", loads=True)


def _index_text(of, node, base, axis, item: Value) -> str:
    """Returns the C++ text of an index; negative indices are counted from the end."""
    if isinstance(item.type, types.Array) and item.type.ndim == 0:
        item = item.replace(type=item.type.dtype, cxx=item.type.dtype)
    if not is_integral(item.type):
        of.fail(
            node,
            f"{describe_type(item.type)} is not a valid index: an index is an integer",
            _integer_hint(node, item),
        )
    if item.is_nonnegative:
        return item.text
    n = extent_text(base, axis)
    if item.is_constant:
        return str(n.constant + item.constant) if n.is_constant else f"{n.text} - {-item.constant}"
    return f"py::wrap({item.text}, {n.text})"


def _integer_hint(node, item):
    """Returns a hint that explains how to convert an object to an integer, or "" if there is no hint."""
    if isinstance(item.type, CompileTimeType) and str(item.type.value).startswith("<cuda."):
        return f"{describe_type(item.type)}.x is one."
    if isinstance(item.type, types.Tuple):
        names = ", ".join("ijklmn"[: len(item.type)])
        return f"A tuple is unpacked first: {names} = ..."
    divides = any(isinstance(part, ast.Div) for part in ast.walk(getattr(node, "slice", node)))
    if not isinstance(item.type, types.Scalar):
        return ""
    return "int(x) makes one." + " // divides integers." * divides


def _indexed_element(of, node, base, texts):
    t = base.type
    if is_cpp_array(t):
        text = base.text_at(PRIMARY) + "".join(f"[{i}]" for i in texts)
        if len(texts) == t.ndim:
            return Value(t.dtype, text, loads=True)
        return Value(FixedArray(t.dtype, t.shape[len(texts) :], t.space, t.readonly), text)
    if len(texts) == t.ndim:
        text = f"[{texts[0]}]" if t.ndim == 1 else f"({', '.join(texts)})"
        return Value(t.dtype, base.text_at(PRIMARY) + text, loads=True)
    text = base.text_at(PRIMARY) + "".join(f"[{i}]" for i in texts)
    layout = "C" if t.layout == "C" else "A"
    return Value(types.Array(t.dtype, t.ndim - len(texts), layout, t.readonly), text)


def _sliced_view(of, node, base, items):
    """Returns the Value of a view with fewer dimensions, or of a part of each dimension."""
    base = as_view(base)
    parts, kept = [], 0
    for k, item in enumerate(items):
        if not isinstance(item, SliceValues):
            parts.append(_index_text(of, node, base, k, item))
            continue
        kept += 1
        for part in item:
            if part is not None and not is_integral(part.type) and not _has_none_type(part):
                of.fail(node, f"the parts of a slice are integers, not {describe_type(part.type)}")
        texts = ["none_type()" if p is None or _has_none_type(p) else p.text for p in item]
        while texts and texts[-1] == "none_type()":
            texts.pop()
        parts.append(f"py::slice({', '.join(texts)})")
    kept += base.type.ndim - len(items)
    last = items[-1]
    is_run = kept == base.type.ndim - len(items) + 1 and isinstance(last, SliceValues)
    is_dense = (
        is_run and (last.step is None or _has_none_type(last.step)) and base.type.layout == "C"
    )
    t = types.Array(base.type.dtype, kept, "C" if is_dense else "A", base.type.readonly)
    return Value(t, f"py::view({base.text}, {', '.join(parts)})")


def _has_none_type(value):
    return isinstance(value.type, types.Empty)


def _tuple_item(of, node, base, items):
    (item,) = items if len(items) == 1 else [None]
    if isinstance(item, SliceValues):
        parts = [p.constant if p is not None else None for p in item]
        if any(p is not None and not p.is_constant for p in item):
            of.fail(node, "the parts of a slice of a tuple must be known when compiling")
        return tuple_of(of.items(node, base)[slice(*parts)])
    if not isinstance(item, Value) or not is_integral(item.type):
        of.fail(node, "an item of a tuple is asked for by one integer")
    count = len(base.type)
    if item.is_constant:
        if not -count <= item.constant < count:
            of.fail(node, f"the tuple has {count} items, not one with the index {item.constant}")
        return of.items(node, base)[item.constant]
    if len(set(base.type.types)) != 1:
        of.fail(
            node, "the index of a tuple with items of several types must be known when compiling",
            "Items of one type may be indexed by a variable.",
        )  # fmt: skip
    low, high = item.range or (-(2**63), 2**63)
    is_checked = of.session.debug and not -count <= low <= high < count
    if is_checked:
        of.may_raise(IndexError, ("tuple index out of range",))
        index = f"NUMBALITE_ITEM({item.text}, {count})"
    else:
        index = item.text if item.is_nonnegative else f"py::wrap({item.text}, {count})"
    t = base.type.types[0]
    if base.items is not None and base.text.startswith("make_tuple(") and is_number(t):
        base = tuple_of(arithmetic.convert_value(part, t) for part in base.items)
    return Value(t, f"{base.text_at(PRIMARY)}[{index}]", calls=is_checked, loads=base.loads)


__all__ = [
    "UNARY",
    "SliceValues",
    "as_view",
    "extent_text",
    "load_item",
    "size_text",
    "stride_text",
    "subscript_items",
]


def _is_field_number(record, item):
    """Returns whether the value is the number of a field."""
    names = record.dtype.names or ()
    return (
        isinstance(item, Value)
        and item.is_constant
        and is_integral(item.type)
        and -len(names) <= item.constant < len(names)
    )


def has_fields(t: Any, name: str) -> bool:
    """Returns whether the value is an array of records with a numeric field of this name."""
    if not isinstance(t.dtype, types.Record):
        return False
    dtype = t.dtype.dtype
    return name in (dtype.names or ()) and dtype[name].subdtype is None


def fields_view(base: Value, name: str) -> Value:
    """Translates ``a.x`` and ``a["x"]``: a view of one field of each record."""
    base = as_view(base)
    dtype, offset = base.type.dtype.dtype.fields[name][:2]
    t = types.from_dtype(dtype)
    made = types.Array(t, base.type.ndim, "A", base.type.readonly)
    return Value(made, f"py::fields<{t.cxx}>({base.text}, {offset})", loads=base.loads)


def field_value(of: Any, node: ast.AST, value: Value, name: str) -> Value:
    """``r.x``, ``r["x"]``"""
    record = value.type.dtype if isinstance(value.type, types.Array) else value.type
    if not isinstance(record, types.Record) or name not in (record.dtype.names or ()):
        of.fail(node, f"{describe_type(record)} has no field {name!r}")
    dtype = record.dtype[name]
    text = f"{value.text_at(PRIMARY)}.{name}"
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return Value(FixedArray(types.from_dtype(base), shape, "record"), text, loads=True)
    return Value(types.from_dtype(dtype), text, loads=True)
