"""Derivatives of ufuncs by forward-mode automatic differentiation.

The function's C++ source is compiled a second time, with dual numbers (cuda_src/numbalite/dual.cuh)
in place of float and double. Generated code around the source sets the derivatives of the inputs and returns
the derivatives of the results:

    derivative(i)   df/dx_i                           inputs as of f
    jvp             f, and sum_i df/dx_i * t_i        inputs x..., t... (t for each differentiable input)
    vjp             sum_o g_o * df_o/dx_i for each i  inputs x..., g... (g for each result)

A derivative is a ufunc, so derivatives have derivatives, too: these use nested dual numbers.

A complex number z = x + iy is a pair of real numbers with two directions, so functions need not be holomorphic. As in
JAX, the gradient for the cotangent g is Re(g df/dx) - i Re(g df/dy), which is g f'(z) for a holomorphic function.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from numbalite import types
from numbalite.cxx import capture, linemap, scanner
from numbalite.cxx.definition import Definition
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.results import result_types
from numbalite.kernels.targets import current_device, target_of

from ..errors import SignatureError
from . import element

FLOATING = (types.float32, types.float64)
_PARTS = {types.complex64: types.float32, types.complex128: types.float64}
"""The type of the parts of complex numbers."""
_BITS = frozenset(("reinterpret_cast", "memcpy", "union", "asm"))
"""Names of C++ that read the bits of a number: a dual has others."""
_INNER = "nl_f"


class DerivativeOrder(NamedTuple):
    """The kind and the arguments of a derivative."""

    inputs: tuple = ()
    """The numbers of the inputs by which it is derived."""
    last: str = ""
    """"jvp" or "vjp" of this derivative, or "" for itself."""


def is_floating(t: Any) -> bool:
    return t in FLOATING


def has_tangent(t: Any) -> bool:
    """Returns whether this is a type of real or complex numbers."""
    return is_floating(t) or is_complex(t)


def is_complex(t: Any) -> bool:
    return t in _PARTS


def _directions(t: Any) -> int:
    return 2 if is_complex(t) else 1


class Derivative(DeviceFunction):
    """A derivative of a function. The text of a derivative depends on the types of the arguments: see
    `with_signature`. `with_signature`."""

    def __init__(self, function: DeviceFunction, order: DerivativeOrder):
        names = list(element.parameter_names(function))
        count = element.parameter_count(function)
        if count is None:
            raise TypeError(
                f"{function.name}: the overloads in its source have different numbers of parameters: "
                "a derivative requires a single function"
            )
        names = names or [f"x{i + 1}" for i in range(count)]
        text = linemap.consecutive_text("", function.definition.text.label)
        name = f"{element.plain_name(function)}_{order.last or 'derivative'}"
        definition = Definition(name, names, text, capture.Scope(), module=function.__module__)
        super().__init__(definition, (), function.options)
        self.function, self.order = function, order

    def primal_types(self, args: tuple) -> tuple:
        """Returns the first argument types of the derivative, which are those of the function."""
        return args[: element.parameter_count(self.function)]

    def with_signature(self, signature: types.Signature) -> DeviceFunction:
        text = _DerivativeText(self, signature)
        return text.function()

    def of(self, *lists: tuple) -> DeviceFunction:
        (args,) = lists
        return self.with_signature(self.signature_for(args, _compile_target()))

    def signature_for(self, args: tuple, target: tuple) -> types.Signature:
        """Returns the derivative's signature for arguments of these types. The compiler deduces the result's type."""
        primal = self.primal_types(args)
        results = result_types(self.function, primal, target)
        return self.signature_of(
            types.Signature(_one_or_tuple(results), primal), args[len(primal) :]
        )

    def signature_of(self, signature: types.Signature, more: tuple = ()) -> types.Signature:
        """Returns the signature of the derivative that belongs to a signature of the function. ``more`` are the types
        of the tangents."""
        args, results = signature.args, element.returned_types(signature)
        inputs = tuple(t for t in args if has_tangent(t))
        check_differentiable(self.function.name, signature)
        if self.order.last == "jvp":
            return types.Signature(types.Tuple((*results, *results)), (*args, *(more or inputs)))
        if self.order.last == "vjp":
            return types.Signature(_one_or_tuple(inputs), (*args, *(more or results)))
        for i in self.order.inputs:
            if is_complex(args[i]):
                raise SignatureError(
                    f"{self.function.name}: input {i} of {signature} is {args[i]}: the derivative by a complex "
                    "number depends on the direction: use jvp or vjp"
                )
            if not is_floating(args[i]):
                raise SignatureError(
                    f"{self.function.name}: input {i} of {signature} is {args[i]}: derivatives exist "
                    "only for float32 and float64 inputs"
                )
        return signature

    def __reduce__(self) -> tuple:
        return Derivative, (self.function, self.order)


def _compile_target():
    return target_of(current_device())


def _one_or_tuple(found):
    return found[0] if len(found) == 1 else types.Tuple(found)


def is_differentiable(signature: types.Signature) -> bool:
    """Returns whether the results and at least one input of this signature are real or complex numbers."""
    return any(map(has_tangent, signature.args)) and all(
        map(has_tangent, element.returned_types(signature))
    )


def check_differentiable(name: str, signature: types.Signature) -> None:
    if not is_differentiable(signature):
        raise SignatureError(
            f"{name}: {signature} has no derivative: at least one input and all results must be float32, "
            "float64, complex64 or complex128"
        )


def check_source_text(function: DeviceFunction) -> None:
    """Raises TypeError for source text that loses derivatives: text that reads the bits of numbers, or has
    variables of type long double."""
    definition = function.definition
    if definition.is_python:
        return
    tokens = [token.text for token in scanner.tokenize(definition.text.value)]
    given = f"{element.plain_name(function)}.defvjp(...)"
    found = sorted(_BITS.intersection(tokens))
    if found:
        raise TypeError(
            f"{function.name}: its text uses {', '.join(found)}, so its derivative cannot be computed: define the derivative by {given}"
        )
    if {("long", "double"), ("double", "long")}.intersection(itertools.pairwise(tokens)):
        raise TypeError(
            f"{function.name}: its text uses long double, which has no derivative: write double (on a GPU, long "
            f"double is double, too) or auto t = 0 * x, or give the derivative by {given}"
        )
    for inner in definition.capture().functions.values():
        check_source_text(inner)


class _DerivativeText:
    """The C++ text of a derivative for one signature."""

    def __init__(self, derivative: Derivative, signature: types.Signature):
        self.derivative, self.signature = derivative, signature
        self.args = args = derivative.primal_types(signature.args)
        self.last = derivative.order.last
        self.varying = [i for i, t in enumerate(args) if has_tangent(t)]
        self.results = self._result_types()
        self.inputs = derivative.order.inputs
        function, self.more = derivative.function, ""
        typed = types.Signature(_one_or_tuple(self.results), args)
        if function.rules and self.inputs:
            # the user's rule is the first derivative; higher derivatives differentiate the rule's source
            (result,) = self.results
            function = function.rules[self.inputs[0]]
            typed = types.Signature(result, (*args, result))
            self.inputs, self.more = self.inputs[1:], f", ({result.cxx})1"
        self.levels = [1] * len(self.inputs)
        if self.last:
            count = sum(_directions(args[i]) for i in self.varying)
            self.levels.append(count if self.last == "vjp" else 1)
        self.uses_rules = bool(derivative.function.rules and not derivative.order.inputs)
        self.inner = element.typed_function(function, typed)

    def _result_types(self) -> tuple:
        """Returns a tuple of the function's result types."""
        results = element.returned_types(self.signature)
        if self.last == "jvp":
            return results[: len(results) // 2]
        if self.last == "vjp":
            return self.signature.args[len(self.args) :]
        return results

    def operand_type(self, name: str, levels: list) -> str:
        for count in levels:
            name = f"numbalite::nl_dual<{name}, {count}>"
        return name

    def dual_type(self, t: Any, levels: list) -> str:
        """Returns the C++ type of real or complex numbers with these dual numbers."""
        dual = self.operand_type(_PARTS.get(t, t).cxx, levels)
        return f"numbalite::complex<{dual}>" if is_complex(t) else dual

    def argument_text(self, i: int) -> str:
        """Returns the C++ expression for the i-th argument of the function, with its derivatives."""
        t, text = self.args[i], f"x{i}"
        if not has_tangent(t):
            return text
        for level, by in enumerate(self.inputs):
            dual = self.dual_type(t, self.levels[: level + 1])
            text = f"numbalite::nl_seed<{dual}>({text}, 0)" if by == i else f"{dual}({text})"
        number = self.varying.index(i)
        if self.last == "jvp":
            return self.with_tangent(t, text, f"t{number}")
        if self.last == "vjp":
            before = sum(_directions(self.args[k]) for k in self.varying[:number])
            dual = self.operand_type(_PARTS.get(t, t).cxx, self.levels)
            seed = "nl_complex_seed" if is_complex(t) else "nl_seed"
            return f"numbalite::{seed}<{dual}>({text}, {before})"
        return text

    def with_tangent(self, t, text, tangent):
        dual = self.operand_type(_PARTS.get(t, t).cxx, self.levels)
        if is_complex(t):
            return f"numbalite::nl_complex_tangent<{dual}>({text}, {tangent})"
        inner = self.operand_type(t.cxx, self.levels[:-1])
        return f"{dual}({text}, {inner}({tangent}))"

    def text(self) -> str:
        call = f"{_INNER}({', '.join(self.argument_text(i) for i in range(len(self.args)))}{self.more})"
        duals = [self.dual_type(t, self.levels) for t in self.results]
        rest = ".tangent[0]" * len(self.inputs)
        count = len(self.results)
        if count == 1:
            lines = [f"const {duals[0]} r0 = {call};"]
        else:
            lines = [f"const auto r = {call};"]
            lines += [
                f"const {dual} r{o} = numbalite::get<{o}>(r);" for o, dual in enumerate(duals)
            ]
        if self.last == "jvp":
            parts = (".value", ".tangent[0]")
            values = [
                self.result_expression(o, part + rest) for part in parts for o in range(count)
            ]
        elif self.last == "vjp":
            values, first = [], 0
            for i in self.varying:
                values.append(self.gradient_text(i, first, rest))
                first += _directions(self.args[i])
        else:
            values = [self.result_expression(o, rest) for o in range(count)]
        return "\n".join([*lines, f"return {_tuple_type(values)};"])

    def result_expression(self, o: int, part: str) -> str:
        """Returns the C++ expression for the value, or for one derivative, of the o-th result."""
        t = self.results[o]
        return f"{t.cxx}(r{o}.re{part}, r{o}.im{part})" if is_complex(t) else f"r{o}{part}"

    def gradient_text(self, i: int, direction: int, rest: str) -> str:
        """Returns the C++ expression for the gradient with respect to the i-th argument, whose first dual
        component is `direction`."""
        t, count = self.args[i], len(self.results)

        def sum_text(direction, sign=""):
            terms = (self.term_text(o, f".tangent[{direction}]{rest}") for o in range(count))
            return f"{sign}({' + '.join(terms)})"

        if is_complex(t):
            return f"{t.cxx}({sum_text(direction)}, {sum_text(direction + 1, '-')})"
        return sum_text(direction)

    def term_text(self, o, part):
        if is_complex(self.results[o]):
            return f"numbalite::nl_gradient(g{o}, {self.result_expression(o, part)})"
        return f"g{o} * r{o}{part}"

    def rules_text(self) -> str:
        """Returns the C++ text that defines the user's derivatives."""
        xs = ", ".join(f"x{i}" for i in range(len(self.args)))
        if self.last == "vjp":
            values = [f"nl_v{i}({xs}, g0)" for i in self.varying]
        else:
            one = f"({self.results[0].cxx})1"
            terms = (f"t{k} * nl_v{i}({xs}, {one})" for k, i in enumerate(self.varying))
            values = [f"{_INNER}({xs})", " + ".join(terms)]
        return f"return {_tuple_type(values)};"

    def function(self) -> DeviceFunction:
        derivative = self.derivative
        names = [f"x{i}" for i in range(len(self.args))]
        if self.last == "jvp":
            names += [f"t{k}" for k in range(len(self.varying))]
        elif self.last == "vjp":
            names += [f"g{o}" for o in range(len(self.results))]
        scope = {_INNER: self.inner}
        if self.uses_rules:
            if any(map(is_complex, (*self.args, *self.results))):
                raise SignatureError(
                    f"{derivative.function.name}: {self.signature}: the rules of defvjp are for real numbers"
                )
            result = self.results[0]
            rules = derivative.function.rules
            for i in self.varying:
                typed = types.Signature(self.args[i], (*self.args, result))
                scope[f"nl_v{i}"] = element.typed_function(rules[i], typed)
            text = self.rules_text()
        else:
            check_source_text(self.inner)
            if self.levels:
                scope[_INNER] = self.inner.with_numbers(self.operand_type("{}", self.levels))
            text = self.text()
        definition = Definition(
            derivative.name, names, linemap.consecutive_text(text, f"<{derivative.name}>"),
            capture.Scope(scope), module=derivative.__module__,
        )  # fmt: skip
        return DeviceFunction(definition, (self.signature,), derivative.options)


def _tuple_type(values):
    return values[0] if len(values) == 1 else f"make_tuple({', '.join(values)})"
