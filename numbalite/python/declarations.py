"""Selects the position of a variable's declaration in C++: in the innermost block that contains all its uses.
The declaration is at the variable's first assignment if this assignment precedes all uses, otherwise before
the statement with the first use."""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from numbalite.python import tree

Path = tuple[tuple[int, int], ...]
"""Blocks from the outermost to the innermost, with a statement number in each."""
PARAMETER: Path = ((0, -1),)


class DeclarationPlace(NamedTuple):
    """The position of a declaration."""

    block: tuple
    """The path of the block."""
    statement: int
    """The number of the statement in the block; -1 in the head of the function or loop."""
    node: ast.AST | None
    """The target that declares the variable, or None if a separate declaration precedes the statement."""


class BlockTree:
    """The tree of blocks of a function's body, with the positions of all names."""

    def __init__(self, body: Any) -> None:
        self.paths: dict[ast.AST, Path] = {}
        """The depth of the statements and of the names in them."""
        self._in_expressions: set[ast.AST] = set()
        """Targets of :=, which declare nothing."""
        self._count = 0
        self._enter_block(body, ())

    def _enter_block(self, body, outer):
        block = self._count
        self._count += 1
        for number, statement in enumerate(body):
            path = (*outer, (block, number))
            self.paths[statement] = path
            for field in ("body", "orelse"):
                inner = getattr(statement, field, None)
                if isinstance(inner, list) and inner and isinstance(inner[0], ast.stmt):
                    first = self._count
                    self._enter_block(inner, path)
                    if field == "body" and isinstance(statement, ast.For):
                        self._record_positions(statement.target, (*path, (first, -1)))
            for child in tree.child_nodes(statement):
                if not isinstance(child, ast.stmt) and child is not getattr(
                    statement, "target", None
                ):
                    self._record_positions(child, path)
            if not isinstance(statement, ast.For) and hasattr(statement, "target"):
                self._record_positions(statement.target, path)

    def _record_positions(self, node, path):
        for part in tree.walk_nodes(node):
            if isinstance(part, ast.Name):
                self.paths[part] = path
            elif isinstance(part, ast.NamedExpr):
                self._in_expressions.add(part.target)

    def declaration_position(self, definitions: Any, uses: Any, loops: Any) -> DeclarationPlace:
        """Selects the position of a variable's declaration from the nodes of its definitions and uses.
        ``loops`` carry the variable's value from one iteration to the next."""
        nodes = [*definitions, *uses]
        paths = [self.paths.get(node, PARAMETER) for node in nodes]
        paths += [self.paths[loop] for loop in loops]
        depth = 0
        while all(len(p) > depth for p in paths) and len({p[depth][0] for p in paths}) == 1:
            depth += 1
            if len({p[depth - 1][1] for p in paths}) > 1:
                break
        statement = min(p[depth - 1][1] for p in paths)
        block = (*(paths[0][: depth - 1]), (paths[0][depth - 1][0],))
        here = [n for n, p in zip(nodes, paths, strict=False) if p[depth - 1][1] == statement]
        is_simple = (
            len(here) == 1
            and here[0] in definitions
            and here[0] not in uses
            and here[0] not in self._in_expressions
        )
        if is_simple and len(self.paths.get(here[0], PARAMETER)) == depth:
            return DeclarationPlace(block, statement, here[0])
        return DeclarationPlace(block, statement, None)

    def block_of(self, node: ast.AST) -> tuple:
        """Returns (the block of a statement, as in DeclarationPlace; the index of the statement in this block)."""
        path = self.paths[node]
        return (*path[:-1], (path[-1][0],)), path[-1][1]
