"""Finds loops over float32 data that compute in float64, for a PerformanceWarning.

An operation of a float32 and an integer, or of a float32 and a Python number, is a float64, by numba's rules.
A single float64 operation costs little; a variable that a loop computes from its own earlier value (a sum, an
iteration) makes the whole loop compute in float64. `cause` returns the operation that introduces float64.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from numbalite import types
from numbalite.python.values import Value, is_integral


class DoubleCause(NamedTuple):
    """The reason why a loop computes in float64."""

    node: ast.AST
    reason: str
    advice: str


class DoubleOperations:
    """The float64 operations and assignments in the loops of one function."""

    def __init__(self, function: ast.AST, flow: Any) -> None:
        self._flow = flow
        self._function = function
        self._loops = _innermost_loops(function)
        self._mixed: dict[ast.AST, DoubleCause] = {}
        """Loop -> its first operation of float32 and another type."""
        self._carried: set[ast.AST] = set()
        self._by_integer: dict[tuple[ast.AST, str], DoubleCause] = {}
        """(loop, variable) -> the first operation of the variable, a float64 by now, and an integer."""
        self._assigned: dict[str, set] = {}
        """Variable -> (the loop or None, the type) of its assignments so far."""

    def note_operation(self, node: Any, left: Value, right: Value) -> None:
        """Records an operation whose result is a float64."""
        loop = self._loops.get(node)
        if loop is None or loop in self._mixed:
            return
        is_binary = isinstance(node, ast.BinOp)
        first, second = (node.left, node.right) if is_binary else (node.target, node.value)
        for data, other, other_node in ((left, right, second), (right, left, first)):
            if data.type is types.float32 and other.type is not types.float32:
                cause = self._cause_of(node, other, other_node)
                if cause is not None:
                    self._mixed[loop] = cause
                return
            if isinstance(first, ast.Name) and is_integral(other.type):
                cause = self._cause_of(node, other, other_node)
                self._by_integer.setdefault((loop, first.id), cause)
            first, second = second, first

    def note_variable(self, statement: Any, target: ast.Name, t: Any, others: set) -> None:
        """Records an assignment of a value of type ``t`` to a variable whose values have the types
        ``others``."""
        loop = self._loops.get(target)
        before = {was for where, was in self._assigned.get(target.id, ()) if where is not loop}
        self._assigned.setdefault(target.id, set()).add((loop, t))
        if loop is None or t is not types.float64 or not _is_read(loop, target.id):
            return
        self._carried.add(loop)
        number = _first_constant(getattr(statement, "value", None))
        if types.float32 not in others:
            return
        if number is not None:
            self._mixed.setdefault(loop, _number_cause(statement.value, number))
        elif (loop, target.id) in self._by_integer and before == {types.float32}:
            self._mixed.setdefault(loop, self._by_integer[loop, target.id])

    def cause(self) -> DoubleCause | None:
        """Returns the DoubleCause for the first loop with a float64 variable that depends on the previous
        iteration."""
        for loop, cause in self._mixed.items():
            if loop in self._carried:
                return cause
        return None

    def _cause_of(self, node, other, other_node):
        text = ast.unparse(other_node)
        if is_integral(other.type):
            made = ast.unparse(node) if isinstance(node, ast.BinOp) else text
            return DoubleCause(
                node, f"{made} is of float32 and {other.type}, which gives a float64",
                f"float32({text})",
            )  # fmt: skip
        if other.type is not types.float64:
            return None
        number = _first_constant(other_node)
        if number is not None:
            return _number_cause(other_node, number)
        if not isinstance(other_node, ast.Name):
            return None
        first = _first_number(self._function, other_node.id)
        if first is not None:
            number = ast.unparse(first.value)
            return DoubleCause(
                first, f"{other_node.id} begins with {number}, which is no float32",
                f"{other_node.id} = float32({number})",
            )  # fmt: skip
        if not isinstance(node, ast.AugAssign) and not self._flow.reaching(other_node):
            return DoubleCause(node, f"{text} is a float64", f"float32({text})")
        return None


def _number_cause(node, number):
    text = ast.unparse(number)
    return DoubleCause(node, f"{text} is no float32", f"float32({text})")


def _first_constant(node):
    """Returns the node of the first literal number in the arithmetic of an expression, outside of calls and indices."""
    if isinstance(node, ast.Constant):
        return node if type(node.value) in (int, float) else None
    if isinstance(node, ast.BinOp):
        is_power = isinstance(node.op, ast.Pow)
        return _first_constant(node.left) or (None if is_power else _first_constant(node.right))
    return _first_constant(node.operand) if isinstance(node, ast.UnaryOp) else None


def _innermost_loops(function):
    found: dict[ast.AST, ast.AST] = {}

    def assign_loops(node, loop):
        for child in ast.iter_child_nodes(node):
            if loop is not None:
                found[child] = loop
            assign_loops(child, child if isinstance(child, (ast.For, ast.While)) else loop)

    assign_loops(function, None)
    return found


def _is_read(loop, name):
    """Returns whether the loop reads the variable; an augmented assignment counts as a read."""
    for node in ast.walk(loop):
        if isinstance(node, ast.AugAssign) and _is_name(node.target, name):
            return True
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id == name:
            return True
    return False


def _is_name(node, name):
    return isinstance(node, ast.Name) and node.id == name


def _first_number(function, name):
    """Returns the node that assigns a literal number to the variable, or None."""
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign)
            and any(_is_name(target, name) for target in node.targets)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, (int, float))
        ):
            return node
    return None
