"""Translates ``for i in prange(n)``: parallel iterations, in functions of ``jit(parallel=True)``.

The loop over a part of the range becomes a lambda, which the C++ function py::prange calls for each part. If
the iterations add to an outer variable, each part of the range has its own variable, and these variables are
added at the end:

    float64 &total_all = total;
    py::prange(0, x.shape[0], [&](int64 first, int64 last) {
        float64 total = 0;
        for (int64 i = first; i < last; ++i) {
            total += x[i];
        }
        py::combine([&] { total_all += total; });
    });
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from numbalite import types
from numbalite.python import tree
from numbalite.python.arithmetic import type_text
from numbalite.python.values import Value, is_number

_OPERATORS: dict[type, tuple[str, str]] = {
    # update operation -> (initial value for a part of the range, how the results of the parts are combined)
    ast.Add: ("0", "+="),
    ast.Sub: ("0", "+="),
    ast.Mult: ("1", "*="),
    ast.Div: ("1", "*="),
    ast.BitAnd: ("-1", "&="),
    ast.BitOr: ("0", "|="),
    ast.BitXor: ("0", "^="),
}


class _Reduction(NamedTuple):
    name: str
    kind: str
    """The type in C++."""
    first: str
    """The initial value of a part; "": the value that the variable has before the loop."""
    combined: str
    """The statement that combines; {all} is the outer variable, {name} the part's."""


def translate_prange(of: Any, node: Any, over: Any) -> None:
    """Writes the loop of a prange."""
    start, stop, step = over.items
    if step.constant != 1:
        of.fail(node.iter, "the step of a prange is 1")
    if node.orelse:
        of.fail(node.orelse[0], "a loop over a prange has no else")
    _refuse_jumps(of, node.body)
    if not isinstance(node.target, ast.Name):
        of.fail(node.target, "the items of a prange are single numbers")
    item = Value(types.int64, node.target.id, range=(min(start.range[0], 0), 2**63 - 1))
    definition = of.variables.record_binding(node.target, item)
    if not of.is_final:
        of.emit_inner_block(node.body)
        return
    variable = of.variables.variable(definition)
    if variable.place.node is not node.target:
        of.fail(node.target, "the counter of a prange is the loop's own", "Give it another name.")
    variable.is_declared = True
    reductions = _find_reductions(of, node)
    outside, begins = {}, {}
    for found in reductions:
        outside[found.name] = of.unused_name(f"{found.name}_all")
        of.emit(f"{found.kind} &{outside[found.name]} = {found.name};")
        begins[found.name] = found.first or of.unused_name(f"{found.name}_first")
        if not found.first:
            of.emit(f"const {found.kind} {begins[found.name]} = {found.name};")
    first, last = of.unused_name("first"), of.unused_name("last")
    of.emit(f"py::prange({start.text}, {stop.text}, [&](int64 {first}, int64 {last}) {{")
    of.depth += 1
    for found in reductions:
        of.emit(f"{found.kind} {found.name} = {begins[found.name]};")
    name = variable.name
    of.emit(f"for (int64 {name} = {first}; {name} < {last}; ++{name}) {{")
    of.emit_inner_block(node.body)
    of.close_block(node.body[-1])
    for found in reductions:
        step_text = found.combined.format(all=outside[found.name], name=found.name)
        of.emit(f"py::combine([&] {{ {step_text} }});")
    of.depth -= 1
    of.close_block(node.body[-1], "});")


def _refuse_jumps(of, body):
    for statement in body:
        for part in tree.walk_nodes(statement):
            if isinstance(part, ast.Return):
                of.fail(part, "a loop over a prange cannot be left by return", "Write range.")
    _refuse_breaks(of, body)


def _refuse_breaks(of, body):
    for statement in body:
        if isinstance(statement, ast.Break):
            of.fail(statement, "a loop over a prange cannot be left by break", "Write range.")
        if isinstance(statement, ast.If):
            _refuse_breaks(of, statement.body + statement.orelse)


def _find_reductions(of, node):
    """Returns the list of outer variables that the body assigns."""
    found = {}
    body = ast.Module(node.body, [])
    inside = {of.blocks.paths[s][-1][0] for s in tree.walk_nodes(body) if isinstance(s, ast.stmt)}
    for statement in tree.walk_nodes(body):
        for target in _assigned_variables(statement):
            variable = of.variables.variable(of.flow.definition(target))
            if variable is None or variable.place.block[-1][0] in inside:
                continue
            made = _reduction_of(of, statement, target, variable)
            known = found.setdefault(variable.name, made)
            if known[2:] != made[2:]:
                of.fail(statement, f"{target.id} is combined in two ways in a prange")
    return list(found.values())


def _assigned_variables(statement):
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        return [statement.target]
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.For)):
        targets = getattr(statement, "targets", None) or [statement.target]
        return [
            n
            for t in targets
            for n in tree.walk_nodes(t)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
    return []


def _reduction_of(of, statement, target, variable):
    t = variable.cxx or of.variables.web_type(variable.webs[0])
    if is_number(t):
        kind = type_text(t)
        if isinstance(statement, ast.AugAssign) and type(statement.op) in _OPERATORS:
            first, symbol = _OPERATORS[type(statement.op)]
            return _Reduction(variable.name, kind, first, f"{{all}} {symbol} {{name}};")
        call = getattr(statement, "value", None)
        name = getattr(getattr(call, "func", None), "id", "")
        if name in ("min", "max") and any(getattr(a, "id", "") == target.id for a in call.args):
            return _Reduction(variable.name, kind, "", f"{{all}} = {name}({{all}}, {{name}});")
    of.fail(
        statement, f"{target.id} is assigned by iterations of a prange, which run side by side",
        f"Write {target.id} += ..., *=, min or max of it; or an array with an element for each iteration.",
    )  # fmt: skip
