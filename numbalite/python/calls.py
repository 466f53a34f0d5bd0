"""Defines Call, the argument of the rules of functions and attributes, and rules that many functions share.

A rule receives a Call and returns a Value: the type, by numba's rules, and the C++ text.
"""

from __future__ import annotations

import ast
import cmath
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from numbalite import types
from numbalite.python import arithmetic, rules
from numbalite.python.arithmetic import convert_value
from numbalite.python.problem import Problem
from numbalite.python.values import (
    PRIMARY,
    Value,
    is_complex,
    is_integral,
    is_number,
    number,
)


class Call:
    """The argument of a translation rule: the syntax node of a call or attribute, and its operands."""

    def __init__(
        self, of: Any, node: ast.AST, name: str, args: Iterable[Value], keywords: Any = None
    ) -> None:
        self.of: Any = of
        """The Expressions that it is in."""
        self.node = node
        self.name = name
        self.args: list[Value] = list(args)
        self.keywords: dict[str, Value] = dict(keywords or {})

    def fail(self, message: str, remedy: str = "") -> NoReturn:
        raise Problem(self.node, f"{self.function_text}: {message}", remedy)

    @property
    def function_text(self) -> str:
        """The function's name in the user's program."""
        return function_text(self.node, self.name)

    def bind_arguments(self, *names: str, optional: int = 0) -> list[Value | None]:
        """Returns the arguments, passed by position or name, in the order of the parameters. A missing
        argument is None; only the last ``optional`` arguments may be missing."""
        found: list[Value | None] = [*self.args]
        if len(found) > len(names):
            self.fail(f"takes {len(names)} argument{'s' * (len(names) != 1)}, not {len(found)}")
        found += [self.keywords.get(name) for name in names[len(found) :]]
        for name, value in zip(names[: len(names) - optional], found, strict=False):
            if value is None:
                self.fail(f"the argument {name!r} is missing")
        for name in self.keywords:
            if name not in names:
                self.fail(f"there is no argument {name!r}")
        return found

    def number_arguments(self, count: int) -> list[Value]:
        """Checks the number of arguments, and that all are numbers."""
        if self.keywords or len(self.args) != count:
            self.fail(f"takes {count} argument{'s' * (count != 1)}, not {len(self.args)}")
        for value in self.args:
            if not is_number(value.type):
                self.fail(f"takes numbers, not {rules.describe_type(value.type)}")
        return self.args

    def check_real(self, t: Any) -> None:
        """Raises an error for an argument of this type if the type is complex."""
        if is_complex(t):
            is_in_cmath = hasattr(cmath, self.name)
            remedy = f"cmath.{self.name} takes complex ones." if is_in_cmath else ""
            self.fail(f"takes real numbers, not {t}", remedy)

    def integer_arguments(self, count: int) -> list[Value]:
        """Like numbers, for integers."""
        for value in self.number_arguments(count):
            if not is_integral(value.type):
                self.fail(f"takes integers, not {value.type}")
        return self.args

    def result(self, t: Any, text: str, precedence: int = PRIMARY, **more: Any) -> Value:
        """Returns the Value of the call's result, which has side effects if an argument has side effects."""
        given = [*self.args, *self.keywords.values()]
        more.setdefault("calls", any(value.calls for value in given))
        more.setdefault("loads", any(value.loads for value in given))
        return Value(t, text, precedence, **more)


def function_text(node: ast.AST, name: str) -> str:
    """Returns the function's name as the user wrote it; returns `name` if the node is not a call, or is
    long."""
    text = ast.unparse(node.func) if isinstance(node, ast.Call) else name
    return text if len(text) <= 60 else name


Rule = Callable[[Call], Value]


def type_text(t: Any) -> str:
    """Returns a type's spelling in generated C++."""
    t = rules.stored_type(t)
    if isinstance(t, types.Scalar):
        return arithmetic.type_text(t)
    if isinstance(t, types.Array) and t.ndim > 0:
        element = ("const " if t.readonly else "") + type_text(t.dtype)
        layout = "" if t.layout == "A" else f", {types.LAYOUTS[t.layout]}"
        return f"array<{element}, {t.ndim}{layout}>"
    if isinstance(t, types.Tuple) and not isinstance(t, types.NamedTuple):
        return f"tuple<{', '.join(map(type_text, t.types))}>"
    return t.cxx


# --- rules ---------------------------------------------------------------------------------------------


def float_rule(name: str, count: int = 1, complex_too: bool = False) -> Rule:
    """Returns the rule for a function of floats: integers are converted to float64."""

    def translate_call(call):
        args = call.number_arguments(count)
        t = args[0].type
        for value in args[1:]:
            t = rules.common_type(t, value.type)
        if is_integral(t):
            t = types.float64
        if not complex_too:
            call.check_real(t)
        return call.result(t, f"{name}({', '.join(convert_value(a, t).text for a in args)})")

    return translate_call


def complex_rule(name: str) -> Rule:
    def translate_call(call):
        (value,) = call.number_arguments(1)
        t = value.type if is_complex(value.type) else types.complex128
        if value.type is types.float32:
            t = types.complex64
        return call.result(t, f"{name}({convert_value(value, t).text})")

    return translate_call


def predicate_rule(name: str) -> Rule:
    """Returns the rule for a predicate of a float."""

    def translate_call(call):
        (value,) = call.number_arguments(1)
        if is_integral(value.type):
            return number(name == "isfinite")
        if value.type is types.float16:  # a half has several C++ functions with this name
            value = convert_value(value, types.float32)
        return call.result(types.boolean, f"{name}({value.text})")

    return translate_call


def float_predicate_rule(name: str) -> Rule:
    """Returns the rule for a predicate of a real number; integers are converted to floats."""

    def translate_call(call):
        (value,) = call.number_arguments(1)
        call.check_real(value.type)
        t = types.float64 if is_integral(value.type) else value.type
        return call.result(types.boolean, f"{name}({convert_value(value, t).text})")

    return translate_call


def same_type_rule(name: str, count: int) -> Rule:
    """Returns the rule for a function whose result has the common type of its arguments."""

    def translate_call(call):
        first, *others = call.number_arguments(count)
        t = first.type
        for value in others:
            t = rules.unified_type(t, value.type)
        return call.result(t, f"{name}({', '.join(convert_value(v, t).text for v in call.args)})")

    return translate_call


def integral_rule(name: str) -> Rule:
    """Returns the rule for math.floor etc.: in kernels the result is a float of the argument's type, as in
    numba.cuda; on the CPU it is an integer, as in Python."""
    in_kernels = float_rule(name)

    def translate_call(call):
        if call.of.session.is_kernel:
            return in_kernels(call)
        (value,) = call.number_arguments(1)
        if is_integral(value.type):
            return value
        return call.result(types.int64, f"int64({name}({value.text}))")

    return translate_call


def rule_of_several_results(name: str, *results: types.Type | None) -> Rule:
    """Returns the rule for a function of a float with several results. A result type of None stands for the
    argument's type."""

    def translate_call(call):
        (value,) = call.number_arguments(1)
        call.check_real(value.type)
        t = types.float64 if is_integral(value.type) else value.type
        made = types.Tuple([result or t for result in results])
        return call.result(made, f"{name}({convert_value(value, t).text})")

    return translate_call


def select_rule(*names: str) -> Rule:
    """Translates a selection between two values, both of which are computed."""

    def translate_call(call):
        test, a, b = call.bind_arguments(*names)
        test = call.of.value_as_condition(call.node, test)
        return call.of.choice(call.node, test, a, b, computes_both=True)

    return translate_call


def operation_rule(op: type) -> Rule:
    """Returns the rule for a function equivalent to an operator: operator.add, np.add."""

    def translate_call(call):
        if issubclass(op, ast.unaryop):
            found = arithmetic.unary(op, *call.bind_arguments("x"))
            if found is None:
                call.fail(f"has no meaning for {rules.describe_type(call.args[0].type)}")
            return found
        a, b = call.bind_arguments("a", "b")
        if op in arithmetic.COMPARE:
            return call.of.compare(call.node, op, a, b)
        return call.of.binary(call.node, op, a, b)

    return translate_call


def intrinsic_rule(
    text: str,
    result: Any = types.void,
    *parameters: Any,
    limits: Any = None,
    effect: bool = True,
    cxx: Any = None,
) -> Rule:
    """Returns the rule for a call of a CUDA C++ function.

    ``text`` has the placeholders {0}, {1} for the arguments, which are converted to the types of
    ``parameters``; None keeps a type.
    """

    def translate_call(call):
        if len(call.args) != len(parameters):
            call.fail(f"takes {len(parameters)} argument{'s' * (len(parameters) != 1)}")
        given = []
        for value, t in zip(call.args, parameters, strict=True):
            if not is_number(value.type):
                call.fail(f"takes numbers, not {rules.describe_type(value.type)}")
            if t is None or (is_integral(t) and not is_complex(value.type)):
                given.append(value.text)
            else:
                given.append(convert_value(value, t).text)
        t = result if isinstance(result, types.Type) else result(*(a.type for a in call.args))
        of_c = t if cxx is None else cxx
        return call.result(t, text.format(*given), cxx=of_c, range=limits, calls=effect)

    return translate_call


def constant_value(value: Value) -> Rule:
    return lambda call: number(value)


def string_literal(text: str) -> str:
    """Returns a string as a C++ literal."""
    for plain, escaped in (
        ("\\", "\\\\"),
        ('"', '\\"'),
        ("\n", "\\n"),
        ("\t", "\\t"),
        ("\r", "\\r"),
    ):
        text = text.replace(plain, escaped)
    return f'"{text}"'
