"""Finds lines in Python bodies that can be translated, but probably are mistakes.

Like cxx/slips.py, this module reports a comparison whose result is unused, `i == 3 or 4`, `i ^ 2`, and a
variable that only one branch sets. For a variable without a value, Python would raise UnboundLocalError; a
kernel reads an arbitrary number. A variable counts as set after a loop that sets it. A read under the
condition of the assignment is not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from numbalite.cxx.slip import Slip
from numbalite.python import tree
from numbalite.python.read import PythonFunction

_EXPONENTS = {2: "square", 3: "cube"}
_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)


def find_slips(function: PythonFunction) -> list[Slip]:
    """Returns the probable mistakes in a function's body."""
    if isinstance(function.node, ast.Lambda):
        return []
    found = []
    for kind, node, text in (
        *_unused_value_slips(function.body_nodes()),
        *_BranchAssignments(function).find_unset_reads(),
    ):
        place = function.place(node)
        shown = "\n".join(row[4:] for row in place.caret_lines().split("\n"))
        found.append(Slip(place.label, place.line, kind, text, shown))
    return sorted(dict.fromkeys(found), key=lambda slip: slip.line)


def _unused_value_slips(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.AST, str]]:
    for node in nodes:
        if isinstance(node, ast.Expr):
            text = _unused_value(node.value)
            if text:
                yield "unused", node.value, text
        elif isinstance(node, ast.BoolOp):
            equal = [
                v
                for v in node.values
                if isinstance(v, ast.Compare) and isinstance(v.ops[0], ast.Eq)
            ]
            for value in node.values if equal else ():  # n or 7 is a value
                if _is_number_not_flag(value):
                    made = ast.unparse(ast.Compare(equal[0].left, equal[0].ops, [value]))
                    yield (
                        "logical",
                        value,
                        f"{ast.unparse(value)} as a condition is true: write {made}",
                    )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitXor):
            exponent = getattr(node.right, "value", None)
            if exponent in _EXPONENTS and type(exponent) is int and not _is_bit_mask(nodes, node):
                power = ast.unparse(ast.BinOp(node.left, ast.Pow(), node.right))
                yield (
                    "power", node,
                    f"^ combines bits, {ast.unparse(node)} is no power: write {power} (or ^ 0b{exponent:b} for the bits)",
                )  # fmt: skip


def _is_bit_mask(nodes, node):
    """Returns whether a number is used as a bit mask: in binary notation, or next to other powers of two, as
    in exchanges between lanes."""
    if isinstance(node.left, ast.BinOp) and isinstance(
        node.left.op, (ast.BitXor, ast.BitOr, ast.BitAnd, ast.Mod)
    ):
        return True
    if node.right.end_col_offset - node.right.col_offset > 1:  # 0b10
        return True
    others = [n.right for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.BitXor)]
    return any(getattr(other, "value", None) in (1, 4, 8, 16, 32) for other in others)


def _unused_value(value):
    if isinstance(value, ast.Compare):
        text = f"{ast.unparse(value)} compares and drops the result"
        if isinstance(value.ops[0], ast.Eq) and len(value.ops) == 1:
            text += f": write {ast.unparse(value.left)} = {ast.unparse(value.comparators[0])}"
        return text
    if isinstance(value, ast.BinOp):
        text = f"{ast.unparse(value)} computes and drops the result"
        if isinstance(value.left, (ast.Name, ast.Subscript, ast.Attribute)):
            text += f": write {ast.unparse(value.left)} {_SIGNS.get(type(value.op), '')}= {ast.unparse(value.right)}"
        return text
    return None


def _is_number_not_flag(node):
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value not in (0, 1)


class _BranchAssignments:
    """Finds variables that only one branch of an `if` sets, and that are read after the `if`."""

    def __init__(self, function: PythonFunction) -> None:
        self.function = function
        self.found: dict[str, tuple[str, ast.AST, str]] = {}

    def find_unset_reads(self) -> Iterator[tuple[str, ast.AST, str]]:
        self._visit_block(self.function.body, set(self.function.parameters), {})
        yield from self.found.values()

    def _visit_block(self, body, assigned, partly) -> bool:
        """Follows statements: `assigned` contains the variables that are set. `partly` maps each variable
        that only one branch sets to its `if`. Returns True if control does not reach the code after the
        statements."""
        for statement in body:
            if isinstance(statement, ast.If):
                if self._visit_if(statement, assigned, partly):
                    return True
                continue
            if isinstance(statement, (ast.For, ast.While)):
                self._check_reads(
                    statement.iter if isinstance(statement, ast.For) else statement.test, partly
                )
                inside = _assigned_names([statement])
                for name in _used_names([statement]):
                    partly.pop(name, None)
                assigned |= inside
                continue
            if isinstance(statement, _LEAVING):
                self._check_reads(statement, partly)
                return True
            if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)):
                for name in _used_names([statement]):
                    partly.pop(name, None)
                assigned |= _assigned_names([statement])
                continue
            self._check_reads(statement, partly)
            for name in _assigned_names([statement]):
                partly.pop(name, None)
                assigned.add(name)
        return False

    def _visit_if(self, statement, assigned, partly):
        self._check_reads(statement.test, partly)
        sides, gone = [], []
        for body in (statement.body, statement.orelse):
            for name in _used_names(body):
                partly.pop(name, None)  # perhaps under the same condition
            inside, unsure = set(assigned), {}
            gone.append(self._visit_block(body, inside, unsure))
            sides.append((inside, unsure))
        if any(isinstance(node, _LEAVING) for node in tree.walk_nodes(statement)):
            partly.clear()  # the body of a loop may be executed zero times: its variables may be unset
        if all(gone):
            return True
        if any(gone):
            inside, unsure = sides[gone.index(False)]
            assigned |= inside
            partly.update(unsure)
            return False
        (first, first_unsure), (second, second_unsure) = sides
        for name in (first ^ second) - assigned:
            if self._is_variable_condition(statement.test):
                partly[name] = statement
        for name in (*first_unsure, *second_unsure):
            assigned.discard(name)
            partly[name] = statement
        assigned |= first & second
        return False

    def _is_variable_condition(self, test):
        """Returns whether a condition can be both true and false. Global names of the module count as
        constants."""
        names = [node.id for node in tree.walk_nodes(test) if isinstance(node, ast.Name)]
        return any(name in self._local_names() for name in names)

    def _local_names(self):
        return _assigned_names(self.function.body) | set(self.function.parameters)

    def _check_reads(self, node, partly):
        for part in _always_evaluated(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in partly:
                self._record_read(part, partly.pop(part.id))
            if isinstance(part, ast.AugAssign) and getattr(part.target, "id", None) in partly:
                self._record_read(part.target, partly.pop(part.target.id))

    def _record_read(self, node, branch):
        text = (
            f"{node.id} has no value where the if of line {branch.lineno} does not set it: set it before the if, "
            f"{node.id} = 0, or in both branches"
        )
        self.found.setdefault(node.id, ("unset", node, text))


def _always_evaluated(node) -> list[Any]:
    """Returns the list of descendant nodes that are always evaluated if this node is."""
    found = []
    waiting = [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ast.BoolOp):
            waiting.append(node.values[0])
        elif isinstance(node, ast.IfExp):
            waiting.append(node.test)
        elif not isinstance(
            node, (ast.Lambda, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
        ):
            waiting += ast.iter_child_nodes(node)
    return found


def _assigned_names(body) -> set[str]:
    """Returns the names of the variables that statements assign."""
    found = set()
    for statement in body:
        for node in tree.walk_nodes(statement):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.add(node.name)
    return found


def _used_names(body) -> set[str]:
    """Returns the names of the variables that statements read or assign."""
    return {
        node.id
        for statement in body
        for node in tree.walk_nodes(statement)
        if isinstance(node, ast.Name)
    }
