"""What a condition says of the variables in it: behind ``if i > 0 and ...:`` is i at least 1, so that ``a[i - 1]``
does not count from the end.

Comparisons of names with names and numbers are looked at.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import Any

from numbalite.python.values import Range, Value, full_range, is_whole

_NOT: dict[type, type] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}  # fmt: skip
_MIRRORED: dict[type, type] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}  # fmt: skip
_EXITS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


class Told:
    """What is known of variables at a place: a range of each, until something is assigned to it."""

    def __init__(self) -> None:
        self._known: list[tuple[str, Range]] = []

    def add(self, of: Any, test: ast.expr, holds: bool) -> None:
        """Here the test holds, or does not."""
        self._known += _ranges(of, test, holds)

    def mark(self) -> int:
        return len(self._known)

    def back(self, mark: int) -> None:
        """What was added since is no longer known."""
        del self._known[mark:]

    def forget(self, names: Container[str]) -> None:
        """These variables have other values from here on."""
        self._known = [("" if n in names else n, limits) for n, limits in self._known]

    def narrowed(self, value: Value, name: str) -> Value:
        """The value of a variable, with all that is known of it."""
        if not self._known or not is_whole(value.type) or value.is_known:
            return value
        low, high = value.range or full_range(value.type)
        for other, limits in self._known:
            if other == name:
                low, high = max(low, limits[0]), min(high, limits[1])
        return value.replace(range=(low, high)) if low <= high else value


def leaves(statement: ast.stmt) -> bool:
    """Is what follows reached only where the test of this ``if`` does not hold?"""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and isinstance(statement.body[-1], _EXITS)
    )


def _ranges(of, test, holds) -> Iterator[tuple[str, Range]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _ranges(of, test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        for part in test.values:
            yield from _ranges(of, part, holds)
    elif isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
        left = test.left
        for op, right in zip(map(type, test.ops), test.comparators, strict=True):
            if op in _NOT:
                op = op if holds else _NOT[op]
                yield from _of_one(of, left, op, right)
                yield from _of_one(of, right, _MIRRORED[op], left)
            left = right


def _of_one(of, name, op, other):
    if not isinstance(name, ast.Name) or not of.is_local(name.id):
        return
    limits, own = _range_of(of, other), _range_of(of, name)
    if limits is None or own is None:
        return
    low, high = limits
    if op in (ast.Lt, ast.LtE):
        yield name.id, (own[0], high - (op is ast.Lt))
    elif op in (ast.Gt, ast.GtE):
        yield name.id, (low + (op is ast.Gt), own[1])
    elif op is ast.Eq:
        yield name.id, limits
    elif low == high and low in own:
        yield name.id, (own[0] + (low == own[0]), own[1] - (low == own[1]))


def _range_of(of, node):
    """The range of a name or a number; None of everything else."""
    plain = node.operand if isinstance(node, ast.UnaryOp) else node
    if not isinstance(plain, (ast.Name, ast.Constant)):
        return None
    value = of.value_if_known(node)
    return value.range if value is not None and is_whole(value.type) else None
