"""Contains the context of one compilation: the functions that a Python body calls, each translated once per
list of argument types."""

from __future__ import annotations

import ast
import contextlib
import copy
import os
from typing import Any, NamedTuple

import numpy as np

from numbalite import _core, types
from numbalite.cxx import capture
from numbalite.cxx.definition import Definition
from numbalite.errors import PerformanceWarning, warn
from numbalite.kernels import conversions, fault, results, targets
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.python import arithmetic, remedies, rules, slips, subscripts, ufuncs
from numbalite.python.calls import function_text
from numbalite.python.printing import commented_text
from numbalite.python.problem import Problem, translation_error
from numbalite.python.read import PythonFunction, has_python_body
from numbalite.python.readonly import read_only_parameters
from numbalite.python.translate import Translator
from numbalite.python.values import CompileTimeType, Value, is_integral, is_number, number, tuple_of
from numbalite.python.variables import TypeUnknown
from numbalite.types import parameters

_MAX_INSTANCES = 30
"""Maximum depth of nested calls."""


class Instance(DeviceFunction):
    """A Python function for one list of arguments, as a device function.

    An argument is a type, or a compile-time Value, or a Value whose number is needed at compile time. A Value
    has no parameter in C++.
    """

    def __init__(self, function: PythonFunction, args: Any, given: DeviceFunction | None) -> None:
        self.function = function
        self.args = tuple(args)
        self.given = given
        self.translator: Translator | None = None
        self.is_running = False
        self.is_finished = False

    @property
    def result(self) -> Any:
        """The function's return type, or None before it has been inferred."""
        return self.translator and self.translator.result

    def array_results(self) -> tuple | None:
        """Describes a result that contains arrays as a tuple (is_tuple, sources, types); None for numbers.

        ``sources`` has one entry for each item of the result: -1 for a number, the index of the parameter that
        is returned, or (dtype, ndim, is_writable) for a part of an argument. ``types`` are the items' types."""
        is_tuple = isinstance(self.result, types.Tuple)
        items = self.result.types if is_tuple else (self.result,)
        if not any(isinstance(t, types.Array) for t in items):
            return None
        found: set[tuple[int, ...]] = set()
        for node in self.function.body_nodes():
            if not isinstance(node, ast.Return) or node.value is None:
                continue
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            parts = parts if len(parts) == len(items) else [node.value] * len(items)
            found.add(tuple(map(self._parameter_index, parts)))
        chosen = tuple(
            -1 if not isinstance(t, types.Array)
            else column.pop() if len(column) == 1 and None not in column
            else (_element_dtype(t), t.ndim, not t.readonly)
            for t, column in zip(items, map(set, zip(*found, strict=True)), strict=True)
        )  # fmt: skip
        return is_tuple, chosen, tuple(items)

    def _parameter_index(self, node):
        """Returns the index of the parameter that the expression reads, if the body never assigns the
        parameter; otherwise None."""
        names = self.function.parameters
        if not isinstance(node, ast.Name) or node.id not in names:
            return None
        is_bound = any(
            isinstance(n, ast.Name) and n.id == node.id and not isinstance(n.ctx, ast.Load)
            for n in self.function.body_nodes()
        )
        return None if is_bound else names.index(node.id)

    def finish(self, definition: Any) -> None:
        """Creates a device function from it."""
        passed = (t for t in self.args if not isinstance(t, Value))
        signature = types.Signature(self.result, map(parameters.parameter_kind, passed))
        options = self.given.options if self.given else None
        py_func = self.given._py_func if self.given else None
        super().__init__(definition, (signature,), options, py_func)
        self.is_finished = True


def _element_dtype(array):
    return np.dtype(array.dtype.dtype)


class Closure(NamedTuple):
    """A nested function, with the variables of the outer function that it reads."""

    function: DeviceFunction
    outer: PythonFunction
    free: tuple[ast.Name, ...]


class CompilationContext:
    def __init__(
        self, definition_of: Any, definition: Any, debug: Any = False, is_kernel: bool = False
    ) -> None:
        self._definition_of = definition_of
        """Returns the definition of a function without a decorator."""
        self._definition = definition
        """The same, of a Function."""
        self.debug = debug
        """Whether the compilation is for a kernel with debug=True."""
        self.is_kernel = is_kernel
        self.exceptions: dict[str, fault.RaisedException] = {}
        """The exceptions that the code may raise, by the texts that identify them."""
        self._inner: dict[ast.AST, DeviceFunction | Closure] = {}
        self._devices: dict[PythonFunction, DeviceFunction] = {}
        self._ufuncs: dict[Any, DeviceFunction | None] = {}
        """The generated functions of ufuncs and of their methods."""
        self._instances: dict[tuple, Instance] = {}
        self._results: dict[tuple, types.Type] = {}
        self._depth = 0
        self._on_literals: set[tuple] = set()
        """Functions that need the values of numbers among their arguments, with the arguments' types."""
        self._doubles: dict[PythonFunction, ast.AST] = {}
        self.warnings: list[tuple[PythonFunction, str]] = []
        """The warnings of this translation, whether or not an earlier one has issued them."""

    # --- translating

    def definition(self, python: Any, args: Any, result: Any = None) -> Definition:
        """Returns the C++ Definition of a PythonDefinition for a list of argument types."""
        function = python.function
        try:
            translator = Translator(function, args, self, result)
            return self._translated_definition(python, translator)
        except Problem as problem:
            translation_error(problem, python.name)
        except TypeUnknown as unknown:
            translation_error(_runaway_recursion(unknown), python.name)

    def _translated_definition(self, python, translator):
        function = translator.function
        made = translator.run()
        text = commented_text(made.lines, function.label, function.file, function.first_line)
        self._warn_of_slips(function, translator)
        definition = Definition(
            python.name, made.parameters, text, capture.Scope(made.taken),
            qualname=python.qualname, module=python.module,
        )  # fmt: skip
        definition.members = []  # the C++ text contains the values of enum members
        definition.read_only = read_only_parameters(translator.arguments, function.body)
        definition.exceptions = self.exceptions
        definition.warnings = self.warnings
        definition.variables = translator.variables.types_by_name()
        definition.is_translated = True
        definition.slips = tuple(slips.find_slips(function))
        return definition

    def instance(self, python: Any, args: Any, result: Any = None, given: Any = None) -> Instance:
        """Returns the device function of a Python function for a list of types and Values."""
        args = tuple(a if isinstance(a, Value) else rules.stored_type(a) for a in args)
        key = python, tuple((a.type, a.constant) if isinstance(a, Value) else a for a in args)
        instance = self._instances.get(key)
        if instance is None:
            instance = self._instances[key] = Instance(python.function, args, given)
        if not instance.is_finished and not instance.is_running:
            self._translate(python, instance, result)
        return instance

    def _translate(self, python, instance, result):
        """Translates an instance. If an instance calls another instance whose result type has not been
        inferred yet, it is translated again at the next request."""
        known = instance.result
        instance.translator = Translator(python.function, instance.args, self, result)
        instance.translator.result = instance.translator.result or known
        instance.is_running = True
        self._depth += 1
        if self._depth > _MAX_INSTANCES:
            raise Problem(
                python.function.node,
                f"Return type of recursive function does not converge: {python.name} calls itself with "
                "ever new types of arguments",
                "Pass arguments of the same types in each recursive call.",
            ).store_positions(python.function.place)
        try:
            instance.finish(self._translated_definition(python, instance.translator))
        except TypeUnknown:
            if instance.result is None:
                raise
        finally:
            instance.is_running = False
            self._depth -= 1

    def instances(self, function: DeviceFunction) -> list[Instance]:
        """Translates a device function with a Python body for each of its signatures, for callers in C++."""
        if not function.signatures:
            raise TypeError(
                f"the device function {function.name} has a Python body and is called from C++, so it needs "
                'signatures, such as cuda.jit("float32(float32)", device=True)'
            )
        try:
            return [
                self.instance(function.definition, s.args, s.return_type, function)
                for s in function.signatures
            ]
        except Problem as problem:
            translation_error(problem, function.name)
        except TypeUnknown as unknown:
            translation_error(_runaway_recursion(unknown), function.name)

    # --- nested functions

    def nested_function(
        self, node: Any, outer: PythonFunction, free: tuple[ast.Name, ...], name: str | None
    ) -> Any:
        """Returns a nested function: a DeviceFunction, or a Closure if the nested function reads variables of
        the outer function, which are listed in ``free``. ``name`` is the variable to which a lambda is
        assigned."""
        if node not in self._inner:
            function = PythonFunction(
                _with_parameters(node, free),
                outer.label,
                outer.file,
                lambda: outer.scope,
                defaults=_literal_defaults(node.args),
            )
            function.name = name or function.name
            device = self.device_function(function)
            self._inner[node] = Closure(device, outer, free) if free else device
        return self._inner[node]

    def device_function(self, function: PythonFunction) -> DeviceFunction:
        if function not in self._devices:
            self._devices[function] = DeviceFunction(self._definition(function))
        return self._devices[function]

    # --- calls

    def call(self, of: Any, node: ast.AST, value: Any, args: list[Value], keywords: Any) -> Value:
        """Returns the Value of a call of a function of the Python scope, which occurs in the Expressions ``of``."""
        if isinstance(value, Closure):
            if value.outer is not of.function:
                of.fail(
                    node, f"{value.function.name} reads variables of {value.outer.name}, and is called elsewhere",
                    "Pass it what it needs as arguments.",
                )  # fmt: skip
            keywords = {**keywords, **{name.id: of.value(name) for name in value.free}}
            value = value.function
        function = self._device_function(of, node, value, [*args, *keywords.values()])
        args = self._ordered_arguments(of, node, function, args, keywords)
        if function.definition.is_python:
            return self._call_python(of, node, function, args)
        return self._call_string(of, node, function, args)

    def _check_reduce_call(self, of, node, args):
        """Raises an error unless a ufunc's reduce method is called with a 1-D array."""
        if len(args) != 1 or getattr(args[0].type, "ndim", 0) != 1:
            given = ", ".join(rules.describe_type(value.type) for value in args)
            of.fail(
                node,
                f"{function_text(node, 'reduce')}: an array with one dimension is required, not {given or 'nothing'}",
                "Write the loop over the others."
                if any(getattr(value.type, "ndim", 0) > 1 for value in args)
                else "",
            )

    def _device_function(self, of, node, value, args=()):
        found = capture.device_function(value)
        if isinstance(found, DeviceFunction):
            return found
        if isinstance(value, (np.ufunc, _core.Ufunc)):
            if value not in self._ufuncs:
                self._ufuncs[value] = ufuncs.device_function(value)
            if self._ufuncs[value] is not None:
                return self._ufuncs[value]
        reduction = ufuncs.reduce_function(value)
        if reduction is not None:
            self._check_reduce_call(of, node, args)
            if value not in self._ufuncs:
                self._ufuncs[value] = DeviceFunction(self._definition_of(reduction))
            return self._ufuncs[value]
        if has_python_body(value) and not is_host_function(value, of.function.file):
            return undecorated_function(value, self._definition_of)
        name = function_text(node, getattr(value, "__name__", type(value).__name__))
        if getattr(type(value), "source_role", None) == "kernel":
            return self._as_device_function(of, node, value)
        of.fail(node, f"{name} has no meaning in a kernel", remedies.function_remedy(value, node))

    def _as_device_function(self, of, node, kernel):
        """Returns the DeviceFunction of a kernel with a Python body, which can be called like a device function, as in
        numba."""
        definition = getattr(kernel._source, "definition", None)
        if definition is None or not definition.is_python:
            of.fail(
                node,
                f"{kernel.__name__} is a kernel, and cannot be called from one",
                "Make it a device function.",
            )
        if definition.function not in self._devices:
            self._devices[definition.function] = DeviceFunction(definition)
        return self._devices[definition.function]

    def _ordered_arguments(self, of, node, function, args, keywords):
        names = function.definition.parameters
        if not names and (function.definition.is_python and (args or keywords)):
            name = function_text(node, function.name)
            of.fail(node, f"{name} has no parameters")
        if not names:
            return [*args, *keywords.values()]
        args, keywords = list(args), dict(keywords)
        defaults, rest = function.definition.defaults, function.definition.rest
        most = names.index(rest) if rest else len(names)
        args, more = args[:most], args[most:]
        if more and not rest:
            name = function_text(node, function.name)
            of.fail(node, f"{name} has {_parameters(len(names))}, not {most + len(more)}")
        for name in names[len(args) :]:
            if name == rest:
                args.append(tuple_of(more))
            elif name in keywords:
                args.append(keywords.pop(name))
            elif name in defaults:
                args.append(_default_argument(of, node, f"{function.name}_{name}", defaults[name]))
            else:
                called = function_text(node, function.name)
                of.fail(node, f"{called}: the argument {name!r} is missing")
        if keywords:
            called = function_text(node, function.name)
            of.fail(node, f"{called} has no parameter {next(iter(keywords))!r}")
        return args

    def _call_python(self, of, node, function, args):
        wanted, result = _declared_types(
            of, node, function, [rules.stored_type(a.type) for a in args]
        )
        if not function.signatures:
            wanted = [
                a if isinstance(a.type, CompileTimeType) else t
                for a, t in zip(args, wanted, strict=True)
            ]
        try:
            instance = self._instance_for(function, args, wanted, result)
        except Problem as problem:
            if problem.place is not None and len(problem.notes) < 3:
                problem.notes.append((of.function.place(node), f"{function.name} is called here"))
            raise
        if instance.result is None:
            raise TypeUnknown(node)
        passed = [a for a, t in zip(args, instance.args, strict=True) if not isinstance(t, Value)]
        wanted = [t for t in instance.args if not isinstance(t, Value)]
        return self._called_value(of, node, function, instance, passed, wanted, instance.result)

    def _instance_for(self, function, args, wanted, result):
        """Returns the Instance for a call. Integer literals are passed as variables if possible. If the
        function needs the values of literals (the shape of a shared array), each list of values has its own
        instance."""
        literal = [_as_literal(a) or t for a, t in zip(args, wanted, strict=True)]
        key = function.definition, tuple(a.type for a in args)
        if function.signatures or literal == wanted or key not in self._on_literals:
            try:
                return self.instance(function.definition, wanted, result, function)
            except Problem:
                if function.signatures or literal == wanted:
                    raise
                self._on_literals.add(key)
        return self.instance(function.definition, literal, result, function)

    def _call_string(self, of, node, function, args):
        given = [rules.stored_type(a.type) for a in args]
        wanted, result = _declared_types(of, node, function, given)
        if result is None:
            result = self._result_of_string(of, node, function, wanted)
        return self._called_value(of, node, function, function, args, wanted, result)

    def _result_of_string(self, of, node, function, args):
        """Returns the result type of a C++ function, which the compiler determines."""
        key = function, tuple(args)
        known = self._results.get(key)
        if known is None:
            target = targets.target_of(targets.current_device())
            found = results.result_types(function, args, target)
            known = found[0] if len(found) == 1 else types.Tuple(found) if found else types.void
            self._results[key] = known
        return known

    def _called_value(self, of, node, function, taken, args, wanted, result):
        texts = []
        for value, t in zip(args, wanted, strict=True):
            if is_number(t) and is_number(value.type):
                texts.append(arithmetic.convert_value(value, t).text)
            else:
                texts.append(subscripts.as_view(value).text)
        name = of.define_name(_name_without_template(function.name), taken)
        return Value(result, f"{name}({', '.join(texts)})", calls=True)

    # --- warnings

    def note_double(self, function: PythonFunction, node: ast.AST) -> None:
        self._doubles.setdefault(function, node)

    def _warn_of_slips(self, function, translator):
        if any(map(_has_double, translator.arguments.values())):
            return
        node = self._doubles.get(function)
        if node is not None:
            what, reason = "computes", f"{node.value!r} is a float64"
            advice = f"float32({node.value!r})"
        else:
            cause = translator.doubles.cause() if self.is_kernel else None
            if cause is None:
                return
            node, reason, advice = cause
            what = "computes a loop"
        place = function.place(node)
        message = (
            f"{place}: {function.name} {what} in float64, because {reason}: write {advice} for float32 "
            f"arithmetic, which is much faster on most GPUs\n{place.caret_lines()}"
        )
        self.warnings.append((function, message))
        if function not in warned:
            warned.add(function)
            warn(message, PerformanceWarning)


def _literal_defaults(args):
    """Returns the default arguments of a nested function, if they are literal numbers."""
    named = [*args.posonlyargs, *args.args]
    given = dict(
        zip([a.arg for a in named[len(named) - len(args.defaults) :]], args.defaults, strict=True)
    )
    given.update(zip([a.arg for a in args.kwonlyargs], args.kw_defaults, strict=True))
    found = {}
    for name, node in given.items():
        with contextlib.suppress(ValueError, TypeError):
            found[name] = ast.literal_eval(node)
    return found


def is_host_function(function: Any, caller: str) -> bool:
    """Returns whether a function is a Python function of NumPy or numbalite that is written for the host.
    Host functions of numbalite are allowed in numbalite's own kernels."""
    file = os.path.abspath(function.__code__.co_filename)
    return file.startswith(_NUMPY) or (
        file.startswith(_OWN) and not os.path.abspath(caller).startswith(_OWN)
    )


_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep


def _parameters(count):
    return f"{count} parameter{'s' * (count != 1)}"


def _default_argument(of, node, name, value):
    if type(value) in (bool, int, float) and capture.constant_type(value) is not None:
        return number(value)
    return of.captured(node, name, value)


def _with_parameters(node, names):
    """Returns a copy of a function's syntax tree with other parameter names."""
    if not names:
        return node
    found, found.args = copy.copy(node), copy.copy(node.args)
    more = [ast.copy_location(ast.arg(name.id), name) for name in names]
    found.args.kwonlyargs = [*found.args.kwonlyargs, *more]
    return found


def _runaway_recursion(unknown):
    if isinstance(unknown.node, ast.Call):
        message = (
            "cannot type infer runaway recursion: the result's type depends only on the call itself"
        )
        remedy = "A recursive function needs a return without a call, which ends it."
    else:
        message = f"the type of {unknown.node.id} cannot be determined"
        remedy = "It is only computed from itself."
    problem = Problem(unknown.node, message, remedy)
    problem.place = unknown.place
    return problem


def _as_literal(value: Value) -> Value | None:
    """Returns the Value of an argument that numba treats as a literal, else None. Literals are integer
    constants, and tuples of integer constants."""
    if not value.is_constant:
        return None
    if isinstance(value.type, types.Tuple) and all(map(is_integral, value.type.types)):
        return tuple_of(map(number, value.constant)).replace(type=value.type)
    return number(value.constant).replace(type=value.type) if is_integral(value.type) else None


_plain_functions: dict = {}
warned: set[PythonFunction] = set()
"""Functions whose warning this process has issued."""


def undecorated_function(function: Any, definition_of: Any) -> DeviceFunction:
    """Returns the device function of an undecorated Python function."""
    found = _plain_functions.get(function)
    if found is None:
        found = _plain_functions[function] = DeviceFunction(
            definition_of(function), (), None, function
        )
    return found


def _has_double(t):
    if isinstance(t, types.Array):
        t = t.dtype
    return t in (types.float64, types.complex128)


def _name_without_template(name):
    return name.partition("<")[0].rpartition("::")[2].strip()


def _declared_types(of, node, function, given):
    """Returns (argument types, return type) of the declared signature that matches the argument types.
    Without declared signatures, returns the argument types."""
    if not function.signatures:
        return given, None
    for signature in function.signatures:
        if list(signature.args) == given:
            return signature.args, signature.return_type
    found = conversions.closest_signature(given, function.signatures)
    if found is None and len(function.signatures) == 1:
        (found,) = function.signatures  # the compiler reports the mismatch
    if found is None:
        of.fail(
            node,
            f"Invalid use of type({function.name}) with parameters ({', '.join(map(rules.describe_type, given))})",
            f"It has the signatures {', '.join(map(str, function.signatures))}.",
        )
    return found.args, found.return_type
