"""Translates Python expressions to typed C++ expressions.

There is one method per type of syntax node; builtins.py contains the supported functions. The derived class
resolves variables (``variable``) and calls of other functions.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import types as python_types
from enum import Enum, EnumMeta
from typing import Any, NoReturn

import numpy as np

from numbalite import types
from numbalite.cxx import capture, reserved
from numbalite.python import (
    arithmetic,
    bfloat,
    builtins,
    elementwise,
    literals,
    remedies,
    subscripts,
    times,
)
from numbalite.python.calls import Call, type_text
from numbalite.python.conditions import ValueRanges
from numbalite.python.problem import Problem
from numbalite.python.read import lookup_name
from numbalite.python.rules import describe_type, unified_type
from numbalite.python.values import (
    AND,
    CHOICE,
    NOTHING,
    OR,
    PRIMARY,
    UNARY,
    CompileTimeType,
    FixedArray,
    Value,
    is_complex,
    is_integral,
    is_number,
    number,
    tuple_of,
    union_of_ranges,
)
from numbalite.types.inkernel import KernelName

UNSUPPORTED = {
    "ListComp": ("a list comprehension", "a loop that stores into an array: cuda.local.array(n, dtype) holds a few numbers of each thread"),
    "SetComp": ("a set comprehension", "a loop"),
    "DictComp": ("a dict comprehension", "a loop, and arrays for keys and values"),
    "GeneratorExp": ("a generator expression", "a loop"),
    "List": ("a list", "a tuple, or cuda.local.array(n, dtype) for what changes"),
    "Dict": ("a dict", "arrays or a record"),
    "Set": ("a set", "a tuple: x in (1, 2, 3)"),
    "JoinedStr": ("an f-string", 'print("x =", x)'),
    "Await": ("await", "a plain call"),
    "Yield": ("yield", "a store into an array"),
    "YieldFrom": ("yield", "a loop"),
    "Starred": ("an unpacked argument", "each argument"),
}  # fmt: skip


class Expressions:
    """Base class of the translator (translate.py), which resolves variables."""

    scope: capture.Scope

    def __init__(self) -> None:
        self.taken: dict[str, Any] = {}
        """The names of the Python scope that the text uses: the name in C++ -> the value."""
        self.headers: set[str] = set()
        """Headers of the toolkit that the text needs."""
        self.value_ranges = ValueRanges()
        """Facts about variables that follow from enclosing conditions."""

    # --- methods of the derived class

    def is_local(self, name: str) -> bool:
        raise NotImplementedError

    def is_used_name(self, name: str) -> bool:
        """Returns whether the C++ text already uses the name."""
        raise NotImplementedError

    def unused_name(self, base: str) -> str:
        """Returns a C++ name that the text does not use yet."""
        raise NotImplementedError

    def variable(self, node: ast.Name) -> Value:
        raise NotImplementedError

    def value_or_none(self, node: ast.expr) -> Value | None:
        """Returns the Value of an expression whose variables may have no type yet."""
        raise NotImplementedError

    def call_function(
        self, node: ast.Call, function: Any, args: list[Value], keywords: dict[str, Value]
    ) -> Value:
        raise NotImplementedError

    # --- problems

    def fail(self, node: ast.AST, message: str, remedy: str = "", others: Any = ()) -> NoReturn:
        raise Problem(node, message, remedy, others)

    # --- expressions

    def value(self, node: ast.expr) -> Value:
        """Returns the Value of an expression."""
        method = getattr(self, _method_name(type(node)), None)  # type: ignore[arg-type]
        if method is not None:
            try:
                return method(node)
            except Problem as problem:
                problem.node = problem.node or node
                raise
        kind = type(node).__name__
        what, instead = UNSUPPORTED.get(kind, (f"{kind} in an expression", "something simpler"))
        self.fail(node, f"{what} is not possible in a kernel", f"Write {instead}.")

    def _constant(self, node):
        if node.value is None:
            return Value(types.Empty(), "none_type()", constant=None)
        if isinstance(node.value, (bool, int, float, complex)):
            return self._integer(node, node.value)
        return Value(CompileTimeType(node.value), constant=node.value)

    def _integer(self, node, value):
        try:
            return number(value)
        except OverflowError as problem:
            self.fail(node, str(problem))

    def _name(self, node):
        if self.is_local(node.id):
            return self.value_ranges.narrow_range(self.variable(node), node.id)
        found, value = lookup_name(self.scope, node.id)
        if not found:
            remedy = remedies.similar_name(node.id, [*self.scope.locals, *self.scope.globals])
            self.fail(node, f"the name {node.id!r} is not defined", remedy)
        return self.captured(node, node.id, value)

    def captured(self, node: ast.AST, name: str, value: Any) -> Value:
        """Returns the Value of a name of the Python scope, whose name in C++ is ``name``."""
        if isinstance(value, np.ndarray) and value.ndim > 0:
            return self._constant_memory_array(node, name, value)
        if hasattr(value, "__cuda_array_interface__") and not isinstance(value, type):
            return self._captured_device_array(node, name, value)
        if isinstance(value, Enum) and not isinstance(value, int):
            value = value.value
        semantic = capture.constant_type(value) and types.typeof(value)
        if semantic is None and _has_arrays(value):
            return tuple_of(
                self.captured(node, f"{name}_{k}", item) for k, item in enumerate(value)
            )
        if semantic is None:
            if value is None:
                return Value(types.Empty(), "none_type()", constant=None)
            return Value(CompileTimeType(value), constant=value)
        if isinstance(value, tuple):
            items = tuple(_literal_text(item) for item in value)
            made = tuple_of(items)
            return made.replace(type=semantic, text=self.define_name(name, value), constant=value)
        known_value = value[()] if isinstance(value, np.ndarray) else value
        text = self.define_name(name, known_value)
        cxx = capture.constant_type(known_value)
        limits = (int(known_value), int(known_value)) if is_integral(semantic) else None
        return Value(semantic, text, PRIMARY, cxx, limits, known_value)

    def _constant_memory_array(self, node, name, value):
        try:
            element = types.from_dtype(value.dtype)
        except TypeError as problem:
            self.fail(node, f"{name} is an array that kernels cannot use: {problem}")
        trial = capture.capture_values({name: {"value"}}, capture.Scope({name: value}))
        if trial.refused:
            self.fail(node, trial.refused[name])
        return Value(
            FixedArray(element, value.shape, "captured", True), self.define_name(name, value)
        )

    def _captured_device_array(self, node, name, value):
        try:
            t = types.typeof(value)
        except TypeError as problem:
            self.fail(node, f"{name} is an array that kernels cannot use: {problem}")
        text = self.define_name(name, value)
        return Value(t, text if t.ndim else f"{text}[0]", loads=True)

    def define_name(self, name: str, value: Any) -> str:
        """Returns the C++ name of a value of the Python scope, which the source builder defines."""
        wanted, count = reserved.avoid_reserved(capture.ascii_name(name)), 1
        free = wanted
        while (
            free in self.taken and not _is_same_value(self.taken[free], value)
        ) or self.is_used_name(free):
            count += 1
            free = f"{wanted}_{count}"
        self.taken[free] = value
        return free

    def _attribute(self, node):
        if node.attr == "value" and isinstance(node.value, ast.Attribute):
            owner = self.value(node.value.value)
            if isinstance(owner.type, CompileTimeType) and isinstance(owner.type.value, EnumMeta):
                return self._value_of_member(node, owner.type.value)
        base = self.value(node.value)
        if isinstance(base.type, CompileTimeType):
            return self._member_value(node, base.type.value)
        rule = builtins.attribute_rule(base.type, node.attr)
        if rule is not None:
            return rule(Call(self, node, node.attr, [subscripts.scalar_element(base)]))
        self.fail(
            node, f"{describe_type(base.type)} has no attribute {node.attr!r} in a kernel",
            remedies.similar_name(node.attr, builtins.attribute_names(base.type)) or remedies.method_remedy(node.attr, node.value),
        )  # fmt: skip

    def _member_value(self, node, owner):
        if isinstance(owner, types.Scalar) and node.attr == "type":
            return Value(CompileTimeType(owner), constant=owner)
        try:
            value = getattr(owner, node.attr)
        except AttributeError as problem:
            remedy = remedies.similar_name(node.attr, remedies.attribute_names(owner))
            self.fail(node, str(problem) or f"{owner!r} has no {node.attr!r}", remedy)
        rule = builtins.builtin_value_rule(value)
        if rule is not None:
            return rule(Call(self, node, node.attr, []))
        name = node.attr
        if isinstance(owner, python_types.ModuleType) or isinstance(node.value, ast.Name):
            name = f"{ast.unparse(node.value)}_{node.attr}".replace(".", "_")
        if (
            isinstance(value, (float, int))
            and not isinstance(value, Enum)
            and _is_constants_module(owner)
        ):
            return number(value)
        return self.captured(node, name, value)

    def _subscript(self, node):
        base = self.value(node.value)
        if isinstance(base.type, CompileTimeType) and isinstance(base.type.value, EnumMeta):
            return self._enum_member(node, base.type.value)
        return subscripts.load_item(self, node, base, subscripts.subscript_items(self, node.slice))

    def _enum_member(self, node, members):
        """``Color["red"]``"""
        name = self.value(node.slice).constant
        if not isinstance(name, str) or name not in members.__members__:
            self.fail(node, f"{members.__name__} has no such member")
        return self.captured(node, f"{members.__name__}_{name}", members[name])

    def _value_of_member(self, node, members):
        """``Color.red.value``"""
        name = node.value.attr
        if name not in members.__members__:
            self.fail(node, f"{members.__name__} has no such member")
        return self.captured(node, f"{members.__name__}_{name}_value", members[name].value)

    def _slice_expression(self, node):
        self.fail(node, "a slice stands in brackets behind an array")

    def _tuple(self, node):
        items: list[Value] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                items += self.items(item, self.value(item.value))
            else:
                items.append(subscripts.constant_element(self.value(item)))
        return tuple_of(items)

    def items(self, node: ast.AST, value: Value) -> tuple[Value, ...]:
        """Returns the items of a tuple, each as an expression."""
        if value.items is not None:
            return value.items
        if not isinstance(value.type, types.Tuple):
            self.fail(node, f"{describe_type(value.type)} is no tuple")
        if value.is_constant:
            return tuple(map(_literal_text, value.constant))
        return tuple(
            Value(t, f"get<{i}>({value.text})", cxx=t, calls=value.calls, loads=value.loads)
            for i, t in enumerate(value.type.types)
        )

    def _binop(self, node):
        value = literals.evaluate_constant(node)
        if value is not None:
            return self._integer(node, value)
        left, right = self.value(node.left), self.value(node.right)
        return self.binary(node, type(node.op), left, right)

    def binary(self, node: ast.AST, op: type, left: Value, right: Value) -> Value:
        if (
            op is ast.Add
            and isinstance(left.type, types.Tuple)
            and isinstance(right.type, types.Tuple)
        ):
            return tuple_of((*self.items(node, left), *self.items(node, right)))
        left, right = map(subscripts.scalar_element, (left, right))
        found = _operator_module(left, right).binary(op, left, right)
        if found is None:
            symbol = arithmetic.SYMBOLS.get(op, "@")
            self.fail(
                node, f"{describe_type(left.type)} {symbol} {describe_type(right.type)} has no meaning in a kernel",
                remedies.array_operation_remedy(left, right),
            )  # fmt: skip
        return found

    def _unaryop(self, node):
        if isinstance(node.op, ast.Not):
            operand = self.condition_value(node.operand)
            if operand.is_constant:
                return number(not operand.constant)
            return Value(types.boolean, f"!{operand.text_at(UNARY)}", UNARY, calls=operand.calls,
                         loads=operand.loads)  # fmt: skip
        value = literals.evaluate_constant(node)
        if value is not None:
            return self._integer(node, value)
        operand = subscripts.scalar_element(self.value(node.operand))
        found = _operator_module(operand).unary(type(node.op), operand)
        if found is None:
            self.fail(node, f"the operator has no meaning for {describe_type(operand.type)}")
        return found

    # --- truth values

    def condition_value(self, node: ast.expr) -> Value:
        """Returns the Value of an expression as a condition. Numbers need no conversion: Python and C++ agree
        on their truth values."""
        if isinstance(node, ast.BoolOp):
            return self.join_conditions(node, self._undecided_operands(node, self.condition_value))
        return self.value_as_condition(node, self.value(node))

    def value_as_condition(self, node: ast.AST, value: Value) -> Value:
        value = subscripts.scalar_element(value)
        if value.is_constant:
            return number(bool(value.constant))
        if is_complex(value.type):
            return value.replace(type=types.boolean, text=f"{value.text_at(41)} != 0", precedence=40,
                                 cxx=types.boolean, range=(0, 1))  # fmt: skip
        if is_number(value.type):
            return value.replace(type=types.boolean, range=(0, 1))
        if isinstance(value.type, types.Tuple):
            return number(len(value.type) > 0)
        self.fail(node, f"{describe_type(value.type)} is neither true nor false in a kernel",
                  remedies.array_operation_remedy(value))  # fmt: skip

    def _undecided_operands(self, node, value_of) -> list[Value]:
        """Returns the Values of the operands of ``and`` and ``or``, up to the first operand that is decided
        at compile time, as in ``x is None or x[0] > 1``."""
        values, is_and, before = [], isinstance(node.op, ast.And), self.value_ranges.save_state()
        for item in node.values:
            values.append(value_of(item))
            if values[-1].is_constant and bool(values[-1].constant) is not is_and:
                break
            self.value_ranges.add_ranges(self, item, is_and)
        self.value_ranges.restore_state(before)
        return values

    def value_under_condition(self, test: ast.expr, holds: bool, node: ast.expr) -> Value:
        """Returns the Value of an expression that is evaluated only for one outcome of a condition."""
        before = self.value_ranges.save_state()
        self.value_ranges.add_ranges(self, test, holds)
        value = self.value(node)
        self.value_ranges.restore_state(before)
        return value

    def join_conditions(self, node: Any, values: Any) -> Value:
        """``and`` and ``or`` of conditions."""
        is_and = isinstance(node.op, ast.And)
        parts = []
        for value in values:
            if value.is_constant:
                if bool(value.constant) is not is_and:
                    parts.append(value)
                    break
                continue
            parts.append(value)
        if not parts:
            return number(is_and)
        if len(parts) == 1:
            return parts[0]
        level, symbol = (AND, " && ") if is_and else (OR, " || ")
        # g++ warns without parentheses around && in ||.
        inner = AND if is_and else AND + 1
        text = symbol.join(part.text_at(inner if not is_and else AND) for part in parts)
        return Value(types.boolean, text, level, calls=any(p.calls for p in parts),
                     loads=any(p.loads for p in parts))  # fmt: skip

    def _boolop(self, node):
        values = self._undecided_operands(node, self.value)
        if all(value.type is types.boolean for value in values):
            return self.join_conditions(node, values)
        *front, result = values
        items = node.values[: len(front)]
        for value, item in zip(reversed(front), reversed(items), strict=True):
            result = self._store_if_call(
                value, functools.partial(self._decided_boolop, node, item, result)
            )
        return result

    def _decided_boolop(self, node, item, rest, value):
        """Translates ``value and rest`` or ``value or rest``."""
        first, second = (rest, value) if isinstance(node.op, ast.And) else (value, rest)
        return self.choice(node, self.value_as_condition(item, value), first, second)

    def _store_if_call(self, value, use) -> Value:
        """Calls `use` with a value whose C++ text is written more than once. A value whose text contains a
        call is stored in a variable."""
        if not value.calls:
            return use(value)
        name = self.unused_name("once")
        made = use(value.replace(text=name, precedence=PRIMARY, calls=False, loads=False))
        return made.replace(
            text=f"[&] {{ const auto {name} = {value.text}; return {made.text}; }}()",
            precedence=PRIMARY, calls=True, loads=made.loads or value.loads,
        )  # fmt: skip

    def _ifexp(self, node):
        test = self.condition_value(node.test)
        if test.is_constant:
            return self.value(node.body if test.constant else node.orelse)
        a, b = (
            self.value_under_condition(node.test, True, node.body),
            self.value_under_condition(node.test, False, node.orelse),
        )
        return self.choice(node, test, a, b)

    def choice(
        self, node: ast.AST, test: Value, a: Value, b: Value, computes_both: bool = False
    ) -> Value:
        if test.is_constant:
            return a if test.constant else b
        a, b = map(subscripts.scalar_element, (a, b))
        t = unified_type(a.type, b.type)
        if t is None:
            self.fail(
                node,
                f"the value is {describe_type(a.type)} or {describe_type(b.type)}, which are no one type",
            )
        limits = union_of_ranges(a.range, b.range) if is_integral(t) else None
        cxx = t
        if is_number(t):
            a, b, cxx = arithmetic.convert_branches(a, b, t)
        else:
            a, b = (
                x.replace(text=f"{type_text(t)}({x.text})", precedence=PRIMARY)
                if x.type != t or x.text.startswith("make_tuple(")
                else x
                for x in map(subscripts.as_view, (a, b))
            )
        text, level = (
            f"{test.text_at(CHOICE + 1)} ? {a.text_at(CHOICE)} : {b.text_at(CHOICE)}",
            CHOICE,
        )
        if computes_both and (a.calls or b.calls):
            text, level = f"py::pick({test.text}, {a.text}, {b.text})", PRIMARY
        return Value(t, text, level, cxx, limits, calls=test.calls or a.calls or b.calls,
                     loads=test.loads or a.loads or b.loads)  # fmt: skip

    # --- comparisons

    def _compare(self, node):
        first, rest = self.value(node.left), [self.value(one) for one in node.comparators]
        if len(rest) > 1 and any(value.calls for value in rest[:-1]):
            first = first.replace(calls=first.calls or first.loads)
            return self._store_if_call(
                first, lambda value: self._chained_comparison(node, node.ops, value, rest)
            )
        return self._chained_comparison(node, node.ops, first, rest)

    def _chained_comparison(self, node, ops, left, values) -> Value:
        """Translates ``left < values[0] < values[1]``: each value is computed once, and only if all previous
        comparisons are true."""
        if len(ops) == 1:
            return self.compare(node, type(ops[0]), left, values[0])

        def compare_rest(middle):
            first = self.compare(node, type(ops[0]), left, middle)
            rest = self._chained_comparison(node, ops[1:], middle, values[1:])
            return self.join_conditions(ast.BoolOp(ast.And(), [node, node]), [first, rest])

        return self._store_if_call(values[0], compare_rest)

    def compare(self, node: ast.AST, op: type, a: Value, b: Value) -> Value:
        if op in (ast.Is, ast.IsNot):
            return self._compare_identity(node, op is ast.Is, a, b)
        if op in (ast.In, ast.NotIn):
            return self._translate_in(node, op is ast.In, a, b)
        a, b = map(subscripts.scalar_element, (a, b))
        if a.is_constant and b.is_constant and not (is_number(a.type) and is_number(b.type)):
            with contextlib.suppress(TypeError, ValueError):
                return number(bool(arithmetic.COMPARE[op](a.constant, b.constant)))
        if isinstance(a.type, types.Tuple) and isinstance(b.type, types.Tuple):
            return self._compare_tuples(node, op, a, b)
        found = _operator_module(a, b).compare(op, a, b)
        if found is None:
            self.fail(
                node, f"{describe_type(a.type)} and {describe_type(b.type)} cannot be compared",
                remedies.array_operation_remedy(a, b),
            )  # fmt: skip
        return found

    def _compare_identity(self, node, wanted, a, b):
        empty = [isinstance(x.type, types.Empty) and x.type.dtype is None for x in (a, b)]
        if any(empty):
            return number(all(empty) is wanted)
        if isinstance(a.type, CompileTimeType) and isinstance(b.type, CompileTimeType):
            return number((a.type.value is b.type.value) is wanted)
        if is_number(a.type) and is_number(b.type):  # numba's rule for immutable values
            if a.type != b.type:
                return number(not wanted)
            return self.compare(node, ast.Eq if wanted else ast.NotEq, a, b)
        if isinstance(a.type, types.Tuple) and a.type == b.type:
            return self.compare(node, ast.Eq if wanted else ast.NotEq, a, b)
        self.fail(node, "'is' compares with None in a kernel", "Write == for values.")

    def _translate_in(self, node, wanted, a, b):
        parts = [self.compare(node, ast.Eq, a, item) for item in self.items(node, b)]
        if a.calls:
            self.fail(
                node, "the call would be made several times", "Assign it to a variable first."
            )
        found = self.join_conditions(ast.BoolOp(ast.Or(), []), parts)
        if wanted:
            return found
        if found.is_constant:
            return number(not found.constant)
        return found.replace(text=f"!{found.text_at(UNARY)}", precedence=UNARY)

    def _compare_tuples(self, node, op, a, b):
        if op not in (ast.Eq, ast.NotEq):
            return self._order_tuples(node, op, a, b)
        if len(a.type) != len(b.type):
            return number(op is ast.NotEq)
        pairs = zip(self.items(node, a), self.items(node, b), strict=True)
        parts = [self.compare(node, op, x, y) for x, y in pairs]
        return self.join_conditions(ast.BoolOp(ast.And() if op is ast.Eq else ast.Or(), []), parts)

    def _order_tuples(self, node, op, a, b):
        """Returns the Value of a comparison of tuples. The first pair of items that differ decides; if no
        items differ, the shorter tuple is smaller."""
        strict = ast.Lt if op in (ast.Lt, ast.LtE) else ast.Gt
        lengths = number(len(a.type)), number(len(b.type))
        result = self.compare(node, op, *lengths)
        pairs = [*zip(self.items(node, a), self.items(node, b), strict=False)]
        if any(x.calls or y.calls for x, y in pairs):
            self.fail(
                node, "the call would be made several times", "Assign it to a variable first."
            )
        for x, y in reversed(pairs):
            same = self.join_conditions(
                ast.BoolOp(ast.And(), []), [self.compare(node, ast.Eq, x, y), result]
            )
            decided = self.compare(node, strict, x, y)
            result = self.join_conditions(ast.BoolOp(ast.Or(), []), [decided, same])
        return result

    # --- calls

    def _call(self, node):
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if not isinstance(base.type, CompileTimeType):
                rule = builtins.method_rule(base.type, node.func.attr)
                if rule is None:
                    self.fail(
                        node, f"{describe_type(base.type)} has no method {node.func.attr!r} in a kernel",
                        remedies.method_remedy(node.func.attr, node.func.value),
                    )  # fmt: skip
                args = [base, *self._arguments(node)]
                return rule(Call(self, node, node.func.attr, map(subscripts.scalar_element, args)))
            function = self._member_value(node.func, base.type.value)
        else:
            function = self.value(node.func)
        if not isinstance(function.type, CompileTimeType):
            dtype = getattr(function.type, "dtype", None)
            if isinstance(function.type, types.Empty) and dtype is not None:
                return builtins.cast_argument(
                    Call(self, node, str(dtype), self._arguments(node)), dtype
                )
            self.fail(node.func, f"{describe_type(function.type)} cannot be called")
        return self._translate_builtin_call(node, function.type.value)

    def _arguments(self, node):
        found: list[Value] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                found += self.items(argument, self.value(argument.value))
            else:
                found.append(self.value(argument))
        return found

    def _translate_builtin_call(self, node, function):
        rule = builtins.function_rule(function)
        args = self._arguments(node)
        keywords = {k.arg: self.value(k.value) for k in node.keywords if k.arg is not None}
        is_computed = rule is not None and not isinstance(function, KernelName)
        args = list(
            map(subscripts.scalar_element if is_computed else subscripts.constant_element, args)
        )
        if any(map(bfloat.is_bfloat, args)):
            rule = bfloat.MATH.get(function, rule)
        if rule is not None:
            call = Call(self, node, builtins.function_name(function), args, keywords)
            if isinstance(function, np.ufunc) and any(
                map(elementwise.is_array, (*args, *keywords.values()))
            ):
                return elementwise.apply_ufunc(call, function, rule)
            return rule(call)
        return self.call_function(node, function, args, keywords)


@functools.cache
def _method_name(kind: type) -> str:
    """Returns the name of the method that translates a type of syntax node."""
    return f"_{kind.__name__.lower()}"


def _operator_module(*values: Value) -> Any:
    """Returns the module that implements the operators of these operands."""
    if any(map(bfloat.is_bfloat, values)):
        return bfloat
    return times if any(times.is_time(value.type) for value in values) else arithmetic


def _literal_text(value):
    return tuple_of(map(_literal_text, value)) if isinstance(value, tuple) else number(value)


def _has_arrays(value):
    """Returns whether the value is a tuple of arrays, possibly with numbers."""
    return isinstance(value, tuple) and any(
        isinstance(item, np.ndarray) or hasattr(item, "__cuda_array_interface__") for item in value
    )


def _is_constants_module(owner):
    """Returns whether the value is a module of constants, such as math; the numbers of such a module are
    written as literals."""
    return getattr(owner, "__name__", "") in ("math", "numpy", "cmath", "numbalite.cuda")


def _is_same_value(a, b):
    return a is b or (type(a) is type(b) and not isinstance(a, np.ndarray) and a == b)


__all__ = ["NOTHING", "Expressions"]
