"""Translates ``for x in literal_unroll(items)``: repeats the body for each item of a tuple, whose types may
differ."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from numbalite.python import tree
from numbalite.python.problem import Problem

Count = Callable[[ast.expr], "int | None"]


def literal_unroll(container: Any) -> Any:
    """Marks the container of an unrolled loop in a kernel: ``for x in literal_unroll(t)``. Outside of
    kernels, literal_unroll returns the container itself."""
    return container


def unroll_loops(body: list, is_marker: Callable[[ast.expr], bool], count: Count) -> list:
    """Returns a body (a list of statements) with the loops over literal_unroll unrolled.

    ``is_marker`` returns whether an expression is literal_unroll itself, ``count`` returns the number of
    items of a tuple.
    """
    marked = [
        n
        for s in body
        for n in tree.walk_nodes(s)
        if isinstance(n, ast.For) and _is_marked_loop(n, is_marker)
    ]
    return _LoopUnroller(is_marker, count).visit_statements(copy.deepcopy(body)) if marked else body


def _is_marked_loop(node, is_marker):
    return isinstance(node.iter, ast.Call) and is_marker(node.iter.func)


class _LoopUnroller(ast.NodeTransformer):
    def __init__(self, is_marker, count):
        self.is_marker = is_marker
        self.count = count

    def visit_statements(self, statements):
        found: list = []
        for statement in statements:
            new = self.visit(statement)
            found += new if isinstance(new, list) else [new]
        return found

    def visit_For(self, node):
        if not _is_marked_loop(node, self.is_marker):
            return self.generic_visit(node)
        of = node.iter.args[0] if node.iter.args else node.iter
        n = self.count(of)
        if n is None:
            raise Problem(
                of, "literal_unroll takes a tuple", "Loops over arrays need no literal_unroll."
            )
        for part in tree.walk_nodes(ast.Module(node.body, [])):
            if isinstance(part, (ast.Break, ast.Continue)):
                word = type(part).__name__.lower()
                raise Problem(part, f"{word} is not supported in a loop over literal_unroll")
        found: list = []
        for k in range(n):
            item = ast.Subscript(copy.deepcopy(of), ast.Constant(k), ast.Load())
            bound = ast.Assign([copy.deepcopy(node.target)], item)
            ast.copy_location(item.slice, of)
            found += [
                ast.copy_location(bound, node),
                *self.visit_statements(copy.deepcopy(node.body)),
            ]
            ast.copy_location(item, of)
        return found + self.visit_statements(node.orelse)
