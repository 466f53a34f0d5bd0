"""Finds arrays that a kernel only reads. Parameters for read-only arrays are const: the arrays are not copied
back to the host, and may share memory with each other."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from numbalite import types
from numbalite.python import tree
from numbalite.python.flow import free_names

_ASKED = frozenset({"shape", "size", "ndim", "strides", "dtype", "itemsize", "nbytes"})


def read_only_parameters(
    arguments: Mapping[str, types.Type], body: list[ast.stmt]
) -> frozenset[str]:
    """Returns the names of the array parameters of which the body only reads elements and the shape. An array
    with another use (a view, a call) is not included, because that code may write to it."""
    arrays: dict[str, types.Array | None] = {
        name: t
        for name, t in arguments.items()
        if isinstance(t, types.Array) and t.ndim and isinstance(t.dtype, types.Scalar)
    }
    harmless, seen = set(), []
    for statement in body:
        for node in tree.walk_nodes(statement):
            if isinstance(node, (ast.FunctionDef, ast.Lambda)):  # these become its arguments
                arrays |= {n.id: None for n in free_names(node) if n.id in arrays}
            if isinstance(node, ast.Name) and node.id in arrays:
                seen.append(node)
            elif isinstance(node, ast.arg) and node.arg in arrays:  # of a nested function
                arrays[node.arg] = None
            elif (found := _read_array(node, arrays)) is not None:
                harmless.add(found)
    written = {name.id for name in seen if name not in harmless}
    return frozenset(n for n, t in arrays.items() if t is not None and n not in written)


def _read_array(node, arrays):
    """Returns the ast.Name of the array whose elements or shape an expression or a loop reads, None for other
    nodes."""
    if isinstance(node, ast.For):
        t = arrays.get(node.iter.id) if isinstance(node.iter, ast.Name) else None
        return node.iter if t is not None and t.ndim == 1 else None
    if isinstance(node, ast.Attribute):
        return node.value if node.attr in _ASKED else None
    if isinstance(node, ast.Call):
        is_len = isinstance(node.func, ast.Name) and node.func.id == "len"
        return node.args[0] if is_len and len(node.args) == 1 else None
    count = 0
    while isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(
            isinstance(i, (ast.Slice, ast.Starred, ast.Constant)) and not _is_number(i)
            for i in indices
        ):
            return None
        count += len(indices)
        node = node.value
    t = arrays.get(node.id) if isinstance(node, ast.Name) else None
    return node if t is not None and count == t.ndim else None


def _is_number(index):
    return isinstance(index, ast.Constant) and type(index.value) is int
