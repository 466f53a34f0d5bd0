"""Expressions of integer literals. Python's compiler evaluates constant expressions without overflow: for
numba, ``2**63`` is a number that fits uint64."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from numbalite.python import tree

_MAX_BITS = 128  # for results that CPython folds
_UNARY: dict[type, Callable] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
_BINARY: dict[type, Callable] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
}  # fmt: skip


def evaluate_constant(node: ast.expr) -> int | float | None:
    """Returns the value of a constant expression if C++ would compute another value, or would need a call;
    otherwise None."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        base, exponent = _integer_value(node.left), _integer_value(node.right)
        if base and exponent is not None and -_MAX_BITS <= exponent < 0:
            return base**exponent
    value = _integer_value(node)
    if value is None:
        return None
    parts = [part for part in tree.walk_nodes(node) if isinstance(part, ast.BinOp)]
    return (
        value
        if any(
            isinstance(part.op, ast.Pow) or _exceeds_int64(_integer_value(part)) for part in parts
        )
        else None
    )


def _exceeds_int64(value):
    return not -(2**63) <= value < 2**63


def _integer_value(node: Any) -> int | None:
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        operand = _integer_value(node.operand)
        return None if operand is None else _UNARY[type(node.op)](operand)
    if not isinstance(node, ast.BinOp) or type(node.op) not in _BINARY:
        return None
    left, right = _integer_value(node.left), _integer_value(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, (ast.Pow, ast.LShift)):
        bits = max(left.bit_length(), 1) * right if isinstance(node.op, ast.Pow) else right
        if not 0 <= bits <= _MAX_BITS:
            return None
    try:
        return _BINARY[type(node.op)](left, right)
    except (ArithmeticError, ValueError):  # reported at the operation itself
        return None
