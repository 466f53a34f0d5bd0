"""Walks syntax trees like ast.walk, but without the context and operator nodes (Load, Add), which are half of
all nodes."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

# Lists that contain nodes and None
_MIXED = frozenset({"keys", "kw_defaults", "kwd_attrs", "names"})
_NO_NODES = frozenset({"arg", "attr", "ctx", "id", "kind", "name", "op", "ops", "type_comment"})


@cache
def _node_fields(kind: Any) -> tuple[str, ...]:
    """Returns the fields of a node class that may contain nodes."""
    if kind is ast.Constant:
        return ()
    return tuple(name for name in kind._fields if name not in _NO_NODES)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Returns the parameters of a function in order, including *a."""
    rest = [] if arguments.vararg is None else [arguments.vararg]
    return [*arguments.posonlyargs, *arguments.args, *rest, *arguments.kwonlyargs]


def child_nodes(node: ast.AST) -> list[ast.AST]:
    """Returns the child nodes, in source order."""
    found: list[ast.AST] = []
    for name in _node_fields(type(node)):  # type: ignore[arg-type]
        value = getattr(node, name, None)
        if value.__class__ is list:
            mixed = name in _MIXED
            found += [item for item in value if isinstance(item, ast.AST)] if mixed else value
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk_nodes(node: ast.AST) -> list[ast.AST]:
    """Returns the node and all nodes below it."""
    found = [node]
    for part in found:  # which grows during the loop
        if _node_fields(type(part)):  # type: ignore[arg-type]
            found += child_nodes(part)
    return found
