"""Derives value ranges from conditions: after ``if i > 0 and ...:``, i is at least 1, so ``a[i - 1]`` needs
no code for a negative index.

Only comparisons of names with names and numbers are used.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import Any

from numbalite.python.values import Range, Value, full_range, is_integral

_NOT: dict[type, type] = {
    ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}  # fmt: skip
_MIRRORED: dict[type, type] = {
    ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
}  # fmt: skip
_EXITS = (ast.Return, ast.Break, ast.Continue, ast.Raise)


class ValueRanges:
    """The value range of each variable at the current statement, valid until the variable is assigned."""

    def __init__(self) -> None:
        self._known: list[tuple[str, Range]] = []

    def add_ranges(self, of: Any, test: ast.expr, holds: bool) -> None:
        """Adds the value ranges that follow from a test, for its true or its false branch."""
        self._known += _ranges_by_condition(of, test, holds)

    def save_state(self) -> int:
        return len(self._known)

    def restore_state(self, mark: int) -> None:
        """Removes the value ranges that were added after a saved state."""
        del self._known[mark:]

    def forget_ranges(self, names: Container[str]) -> None:
        """Removes the value ranges of variables that are assigned."""
        self._known = [("" if n in names else n, limits) for n, limits in self._known]

    def narrow_range(self, value: Value, name: str) -> Value:
        """Returns a variable's Value, with its range narrowed by the enclosing conditions."""
        if not self._known or not is_integral(value.type) or value.is_constant:
            return value
        low, high = value.range or full_range(value.type)
        for other, limits in self._known:
            if other == name:
                low, high = max(low, limits[0]), min(high, limits[1])
        return value.replace(range=(low, high)) if low <= high else value


def ends_control_flow(statement: ast.stmt) -> bool:
    """Returns whether the code after this ``if`` is reached only if its test is false."""
    return (
        isinstance(statement, ast.If)
        and not statement.orelse
        and isinstance(statement.body[-1], _EXITS)
    )


def _ranges_by_condition(of, test, holds) -> Iterator[tuple[str, Range]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _ranges_by_condition(of, test.operand, not holds)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is holds:
        for part in test.values:
            yield from _ranges_by_condition(of, part, holds)
    elif isinstance(test, ast.Compare) and (holds or len(test.ops) == 1):
        left = test.left
        for op, right in zip(map(type, test.ops), test.comparators, strict=True):
            if op in _NOT:
                op = op if holds else _NOT[op]
                yield from _range_by_comparison(of, left, op, right)
                yield from _range_by_comparison(of, right, _MIRRORED[op], left)
            left = right


def _range_by_comparison(of, name, op, other):
    if not isinstance(name, ast.Name) or not of.is_local(name.id):
        return
    limits, own = _range_of_operand(of, other), _range_of_operand(of, name)
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


def _range_of_operand(of, node):
    """Returns the range (lowest, highest) of a name or a number, or None for any other expression."""
    plain = node.operand if isinstance(node, ast.UnaryOp) else node
    if not isinstance(plain, (ast.Name, ast.Constant)):
        return None
    value = of.value_or_none(node)
    return value.range if value is not None and is_integral(value.type) else None
