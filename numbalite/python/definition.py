"""Defines PythonDefinition: a Definition with a Python body, which is translated to C++ for each list of
argument types."""

from __future__ import annotations

import ast
import linecache
from types import ModuleType
from typing import Any

from numbalite import types
from numbalite.cxx import capture
from numbalite.cxx.definition import Definition
from numbalite.cxx.linemap import Text
from numbalite.python import rules, tree
from numbalite.python.cachekey import KeyContents, Uncacheable
from numbalite.python.context import CompilationContext, Instance
from numbalite.python.problem import Problem, translation_error
from numbalite.python.read import PythonFunction, read_function, rebuild_function, refuse_variadic


class PythonDefinition(Definition):
    """A function with a Python body, before type inference. ``text`` is the Python source."""

    is_python = True
    is_unit = False
    doc = None

    def __init__(
        self,
        function: PythonFunction,
        *,
        qualname: str | None = None,
        module: str | None = None,
        doc: str | None = None,
    ) -> None:
        self.function = function
        self.name = function.name
        self.parameters = function.parameters
        self.defaults = function.defaults
        self.rest = function.rest
        self.qualname = qualname or self.name
        self.module = module or "__main__"
        self.names = _used_names(function)
        self.doc = doc
        first, last = function.first_line, function.node.end_lineno
        lines = [linecache.getline(function.file, n).rstrip("\n") for n in range(first, last + 1)]
        self.text = Text("\n".join(lines), function.label, tuple(range(first, last + 1)))

    @property
    def scope(self) -> Any:
        return self.function.scope

    @property
    def includes(self) -> list:
        return []

    @property
    def members(self) -> list:
        return []

    @property
    def expression(self) -> str:
        only = self.function.body[0]
        if len(self.function.body) > 1 or not isinstance(only, ast.Return) or only.value is None:
            return ""
        return ast.unparse(only.value)

    @property
    def waits_for_grid(self) -> bool:
        nodes = tree.walk_nodes(self.function.node)
        return any(isinstance(n, ast.Attribute) and n.attr == "this_grid" for n in nodes)

    def typed_definition(self, args: Any, debug: Any = False) -> Definition:
        """Returns the C++ text of the kernel's body for a list of argument types."""
        session = CompilationContext(definition_of, PythonDefinition, debug, is_kernel=True)
        return session.definition(self, args, types.void)

    def kernel_contents(self, args: Any, options: Any) -> tuple | None:
        found = KeyContents(definition_of)
        try:
            return found.kernel_key(self.function, args, options), found
        except Uncacheable:
            return None

    def device_function_contents(
        self, function: Any, lists: Any, options: Any, caller: str
    ) -> tuple | None:
        found = KeyContents(definition_of)
        try:
            return found.device_key(function, lists, options, caller), found
        except Uncacheable:
            return None

    def instances(self, function: Any) -> list:
        """Returns the DeviceFunction of the Python body, with one C++ text for each signature."""
        return CompilationContext(definition_of, PythonDefinition).instances(function)

    def array_results(self, functions: Any, args: Any) -> tuple | None:
        """Returns the description of a CPU function's array results, in the form of Instance.array_results.
        ``functions`` are device functions; the one that was compiled from this CPU function is used."""
        wanted = tuple(map(rules.stored_type, args))
        for instance in functions:
            if isinstance(instance, Instance) and instance.function is self.function:
                if instance.args == wanted:
                    try:
                        return instance.array_results()
                    except Problem as problem:
                        translation_error(problem, self.name)
        return None

    def capture(self) -> Any:
        """Returns the captured values of the Python scope, including the device functions that the body may
        call."""
        return capture.capture_values(self.names, self.scope)

    def frozen_copy(self) -> PythonDefinition:
        scope = self.scope
        found = {name: scope.get(name) for name in self.names if scope.find(name)[0]}
        function = rebuild_function(self.text.value, self.name, self.text.label, self.function.file,
                          self.function.first_line, found, self.defaults)  # fmt: skip
        return PythonDefinition(function, qualname=self.qualname, module=self.module, doc=self.doc)

    def with_names(self, values: dict) -> PythonDefinition:
        function = self.function.with_names(values)
        return PythonDefinition(function, qualname=self.qualname, module=self.module, doc=self.doc)

    def __reduce__(self) -> Any:
        values = {}
        for name, value in self.frozen_copy().scope.locals.items():
            values[name] = (
                _PickledModule(value.__name__) if isinstance(value, ModuleType) else value
            )
        origin = (self.text.value, self.name, self.text.label, self.function.file)
        return _unpickle, (*origin, self.function.first_line, values, self.defaults, self.qualname,
                           self.module, self.doc)  # fmt: skip


def _used_names(function):
    """Returns {name that a Function reads from the Python scope: how the name is used}."""
    found = {}
    for node in tree.walk_nodes(function.node):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            if node.id not in function.parameters:
                found[node.id] = {"call"}
    return found


class _PickledModule:
    """The picklable form of a module of the Python scope."""

    def __init__(self, name):
        self.name = name

    def found(self):
        import importlib

        return importlib.import_module(self.name)


def _unpickle(text, name, label, file, first, values, defaults, qualname, module, doc):
    values = {n: v.found() if isinstance(v, _PickledModule) else v for n, v in values.items()}
    function = rebuild_function(text, name, label, file, first, values, defaults)
    return PythonDefinition(function, qualname=qualname, module=module, doc=doc)


def definition_of(function: Any, is_fixed: bool = False) -> PythonDefinition:
    """Returns the PythonDefinition of a Python function.

    ``is_fixed``: the function must have a fixed number of arguments, because not only kernels call it.
    """
    try:
        found = read_function(function)
        if is_fixed:
            refuse_variadic(found, "vararg")
        return PythonDefinition(
            found, qualname=function.__qualname__, module=function.__module__,
            doc=function.__doc__,
        )  # fmt: skip
    except Problem as problem:
        translation_error(problem, function.__name__)
