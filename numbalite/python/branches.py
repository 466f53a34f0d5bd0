"""Removes branches that are never executed, if the types of the arguments decide the branch, such as ``if b
is None``."""

from __future__ import annotations

import ast
import copy
from typing import Any

from numbalite.python import tree

Decided = dict[ast.AST, bool]
"""``if`` statements -> the values of their conditions."""


def prune_branches(body: list, decided: Decided) -> list:
    """Returns a body (a list of statements) in which each decided ``if`` is replaced by the branch that is executed."""
    found: list = []
    for statement in body:
        if statement in decided:
            found += prune_branches(_statements_of_branch(statement, decided[statement]), decided)
            continue
        found.append(_prune_blocks(statement, decided))
    return found


def _statements_of_branch(node: Any, test: bool) -> list:
    return node.body if test else node.orelse


def _prune_blocks(statement, decided):
    """Returns a statement with pruned blocks; the same statement if types decide none of its branches."""
    if not any(node in decided for node in tree.walk_nodes(statement)):
        return statement
    new = copy.copy(statement)
    for field in ("body", "orelse"):
        inner = getattr(statement, field, None)
        if inner:
            empty = [ast.copy_location(ast.Pass(), inner[0])] if field == "body" else []
            setattr(new, field, prune_branches(inner, decided) or empty)
    return new
