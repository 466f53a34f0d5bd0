"""Translates loops: Translates ``while`` loops, and ``for`` loops over ranges, arrays, tuples, enumerate and
zip.

A loop over a range becomes a C++ loop if that is equivalent: the body does not assign to the counter, the
counter is not read after the loop, and the bounds do not change. If it is not equivalent, the C++ loop has a
separate counter.
"""

from __future__ import annotations

import ast
import functools
from typing import Any, NamedTuple

from numbalite import types
from numbalite.python import arithmetic, parallel, rules, subscripts, tree
from numbalite.python.calls import type_text
from numbalite.python.values import (
    FixedArray,
    Sequence,
    Value,
    is_in_range,
    is_integral,
    is_number,
    number,
    tuple_of,
    union_of_ranges,
)


class LoopState(NamedTuple):
    flag: str
    """The variable that stores whether ``break`` left the loop, or "" for a loop without such a variable."""


def translate_while(of: Any, node: Any) -> None:
    of.value_ranges.forget_ranges(of.flow.bound_names(node))
    flag = _else_flag(of, node)
    test = of.condition_value(node.test)
    if test.is_constant and not test.constant:
        of.emit_block(node.orelse)
        return
    of.emit(f"while ({'true' if test.is_constant else test.text}) {{")
    _emit_body(of, node, flag, test=node.test)


def translate_for(of: Any, node: Any) -> None:
    of.value_ranges.forget_ranges(of.flow.bound_names(node))
    over = of.value(node.iter)
    if isinstance(over.type, Sequence) and over.type.kind == "range":
        _range_loop(of, node, over)
    elif isinstance(over.type, Sequence) and over.type.kind == "prange":
        parallel.translate_prange(of, node, over)
    else:
        _items_loop(of, node, over)


def _else_flag(of, node):
    if not node.orelse or not _has_break(node.body):
        return ""
    flag = of.unused_name("broken")
    of.emit(f"bool {flag} = false;")
    return flag


def _has_break(body):
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, (ast.For, ast.While)):
            if _has_break(statement.orelse):
                return True
            continue
        for field in ("body", "orelse"):
            if _has_break(getattr(statement, field, [])):
                return True
    return False


def _emit_body(of, node, flag, first=(), test=None):
    """Writes the body of a loop, its closing brace and its ``else`` block."""
    of.loops.append(LoopState(flag))
    of.depth += 1
    before = of.value_ranges.save_state()
    if test is not None:
        of.value_ranges.add_ranges(of, test, True)
    for bind in first:
        bind()
    of.block(node.body)
    of.value_ranges.restore_state(before)
    of.depth -= 1
    of.loops.pop()
    of.close_block(node.body[-1])
    if not flag:
        of.emit_block(node.orelse)
        return
    of.at = node.orelse[0]
    of.emit(f"if (!{flag}) {{")
    of.emit_inner_block(node.orelse)
    of.close_block(node.orelse[-1])


def _range_loop(of, node, over):
    start, stop, step = over.items
    t = over.type.item
    flag = _else_flag(of, node)
    if step.is_constant and step.constant == 0:
        of.fail(node.iter, "the step of a range is not zero")
    up, down = step.is_nonnegative, step.range[1] <= 0
    item = Value(t, "", range=_counter_range(start, stop, t, up, down))
    if not isinstance(node.target, ast.Name):
        of.fail(node.target, "the items of a range are single numbers")
    definition = of.variables.record_binding(node.target, item)
    if not of.is_final:
        _emit_body(of, node, flag)
        return
    variable = of.variables.variable(definition)
    bound = of.flow.bound_names(node)
    is_counter = variable.place.node is node.target and of.variables.is_only_assignment(definition)
    if is_counter:
        name, cxx = variable.name, variable.cxx or t
        variable.is_declared = True
    else:
        name, cxx = of.unused_name(variable.name), t
    stop = _unchanging_value(of, node, stop, "stop", bound)
    step = _unchanging_value(of, node, step, "step", bound)
    counter = Value(t, name, cxx=cxx, range=item.range)
    if up or down:
        test = arithmetic.compare(ast.Lt if up else ast.Gt, counter, stop).text
    else:
        forth = arithmetic.compare(ast.Lt, counter, stop).text
        back = arithmetic.compare(ast.Gt, counter, stop).text
        test = f"{step.text} > 0 ? {forth} : {back}"
    kind = "int" if cxx is types.int32 and t is types.int64 else type_text(cxx)
    of.emit(f"for ({kind} {name} = {start.text}; {test}; {_advance_text(name, step)}) {{")
    first = [] if is_counter else [lambda: of.bind_target(node.target, counter)]
    _emit_body(of, node, flag, first)


def _advance_text(name, step):
    if step.is_constant and abs(step.constant) == 1:
        return f"{'++' if step.constant == 1 else '--'}{name}"
    if step.is_constant and step.constant < 0 and step.text.startswith("-"):
        return f"{name} -= {-step.constant}"
    return f"{name} += {step.text}"


def _counter_range(start, stop, t, up, down):
    """Returns the range (lowest, highest) of the counter in the body, or None if the counter may exceed its
    type."""
    if up:
        found = (start.range[0], max(stop.range[1] - 1, start.range[0]))
    elif down:
        found = (min(stop.range[0] + 1, start.range[1]), start.range[1])
    else:
        found = (min(start.range[0], stop.range[0] + 1), max(start.range[1], stop.range[1] - 1))
    return found if is_in_range(found, t) else None


def _unchanging_value(of, node, value, name, bound):
    """Returns the Value, or a variable with a copy of it if the loop can change the Value."""
    used = {n.id for n in tree.walk_nodes(node.iter) if isinstance(n, ast.Name)}
    if not value.calls and not value.loads and not used & bound:
        return value
    if value.is_constant:
        return number(value.constant)
    free = of.unused_name(name)
    of.emit(f"const {type_text(value.cxx)} {free} = {value.text};")
    return value.replace(text=free, precedence=100, calls=False, loads=False)


# --- items of arrays and tuples ---------------------------------------------------------------------------


def _items_loop(of, node, over):
    flag = _else_flag(of, node)
    if isinstance(node.target, ast.Name):
        element = _common_item_type(over)
        if isinstance(over.type, types.Array) and over.type.ndim == 1:
            _elements_loop(of, node, Value(over.type.dtype, "", loads=True), over.text, flag)
            return
        if element is not None:
            texts = ", ".join(_initializer_text(item, element) for item in over.items)
            name = of.unused_name("items")
            of.emit(f"const {type_text(element)} {name}[] = {{{texts}}};")
            ranges = [item.range for item in over.items]
            found = functools.reduce(union_of_ranges, ranges) if is_integral(element) else None
            _elements_loop(of, node, Value(element, "", range=found), name, flag)
            return
    index = of.unused_name("k")
    counter = Value(types.int64, index, range=(0, 2**62))
    bound = of.flow.bound_names(node)
    over = _evaluate_iterable(of, node, over, bound)
    count, item = _items_by_index(of, node.iter, over, counter)
    limit = _unchanging_value(of, node, count, "count", bound)
    of.emit(f"for (int64 {index} = 0; {index} < {limit.text}; ++{index}) {{")
    _emit_body(of, node, flag, [lambda: of.bind_target(node.target, item)])


def _elements_loop(of, node, item, text, flag):
    """Writes the head of a loop over the elements: ``for (float32 v : text) {``."""
    element = item.type
    definition = of.variables.record_binding(node.target, item)
    if not of.is_final:
        _emit_body(of, node, flag)
        return
    variable = of.variables.variable(definition)
    is_own = variable.place.node is node.target and of.variables.web_type(definition.web) == element
    name = variable.name if is_own else of.unused_name(variable.name)
    if is_own:
        variable.is_declared = True
    kind = f"{element.cxx} &" if isinstance(element, types.Record) else f"{type_text(element)} "
    of.emit(f"for ({kind}{name} : {text}) {{")
    first = [] if is_own else [lambda: of.bind_target(node.target, Value(element, name))]
    _emit_body(of, node, flag, first)


def _common_item_type(over):
    """Returns the element type of the array for the items of a tuple display, or None."""
    if not isinstance(over.type, types.Tuple) or not over.items:
        return None
    t = over.items[0].type
    for item in over.items[1:]:
        t = rules.unified_type(t, item.type)
        if t is None:
            return None
    return t if isinstance(t, (types.Scalar, types.Vector)) else None


def _initializer_text(item, t):
    """Returns the C++ text of an item in the initializer of an array of ``t``."""
    is_literal = item.is_constant and is_integral(item.type) and is_integral(t)
    return arithmetic.convert_value(item, t).text if is_number(t) and not is_literal else item.text


def _evaluate_iterable(of, node, over, bound):
    """Returns the Value of the iterated object at the beginning of the loop. Stores a tuple display in an
    array, so that the loop can index it."""
    t = _common_item_type(over)
    if t is not None:
        name = of.unused_name("items")
        texts = ", ".join(_initializer_text(item, t) for item in over.items)
        of.emit(f"const {type_text(t)} {name}[] = {{{texts}}};")
        return Value(FixedArray(t, (len(over.items),), "local", True), name)
    if isinstance(over.type, Sequence):
        return over.replace(
            items=tuple(_evaluate_iterable(of, node, part, bound) for part in over.items)
        )
    if is_number(over.type):
        return _unchanging_value(of, node, over, "bound", bound)
    if isinstance(over.type, types.Array) and not isinstance(over.type, FixedArray):
        is_made = not over.text.isidentifier()  # a view
        return _unchanging_value(of, node, over.replace(loads=is_made), "items", bound)
    return over


def _items_by_index(of, node, over, k):
    """Returns (number of items, function that returns item k)"""
    t = over.type
    if isinstance(t, Sequence) and t.kind == "range":
        start, stop, step = over.items
        if not step.is_constant or step.constant != 1:
            return _range_element(node, start, stop, step, k)
        count = arithmetic.binary(ast.Sub, stop, start) if start.constant != 0 else stop
        return count, arithmetic.binary(ast.Add, start, k) if start.constant != 0 else k
    if isinstance(t, Sequence) and t.kind == "enumerate":
        inner, start = over.items
        count, item = _items_by_index(of, node, inner, k)
        at = k if start.constant == 0 else arithmetic.binary(ast.Add, k, start)
        return count, tuple_of((at, item))
    if isinstance(t, Sequence):
        pairs = [_items_by_index(of, node, part, k) for part in over.items]
        count = pairs[0][0]
        for other, _ in pairs[1:]:
            count = _minimum_value(count, other)
        return count, tuple_of(item for _, item in pairs)
    if isinstance(t, types.Array) and t.ndim > 0:
        return subscripts.extent_text(over, 0), subscripts.load_item(of, node, over, [k])
    if isinstance(t, types.Tuple) and len(set(t.types)) == 1:
        return number(len(t)), subscripts.load_item(of, node, over, [k])
    remedy = "Loops go over range(n), arrays and tuples."
    if isinstance(t, types.Tuple) and t.types:
        remedy = "Its items are of several types: for x in literal_unroll(t) (from numba) writes the body once for each."
    of.fail(node, f"there is no loop over {rules.describe_type(t)}", remedy)


def _range_element(node, start, stop, step, k):
    texts = [arithmetic.convert_value(part, types.int64).text for part in (start, stop, step)]
    count = Value(types.int64, f"py::range_size({', '.join(texts)})", range=(0, 2**63 - 1))
    steps = arithmetic.binary(ast.Mult, k, step)
    return count, arithmetic.binary(ast.Add, start, steps)


def _minimum_value(a, b):
    if a.is_constant and b.is_constant:
        return number(min(a.constant, b.constant))
    return Value(types.int64, f"min({arithmetic.convert_value(a, types.int64).text}, "
                 f"{arithmetic.convert_value(b, types.int64).text})")  # fmt: skip


__all__ = ["is_integral", "translate_for", "translate_while"]
