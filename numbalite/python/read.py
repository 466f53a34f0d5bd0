"""Reads a Python function for the translator: its syntax tree, its file, its parameters, and the scope in
which its names are looked up."""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import linecache
import textwrap
import types as python_types
from collections.abc import Callable
from typing import Any

from numbalite.cxx import linemap
from numbalite.cxx.capture import Scope
from numbalite.cxx.executed import source_name
from numbalite.python import tree
from numbalite.python.problem import Problem, SourcePlace


class PythonFunction:
    """A function with a Python body."""

    def __init__(
        self, node: Any, label: str, file: str, scope: Callable[[], Scope], defaults: Any,
        source: str | None = None,
    ) -> None:  # fmt: skip
        self.node = node
        self.label = label
        """The file as messages name it."""
        self.file = file
        """The file as linecache knows it."""
        self.name = "lambda_" if isinstance(node, ast.Lambda) else node.name
        self._scope = scope
        self.defaults = dict(defaults)
        self.first_line = min(
            [node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]
        )
        self.parameters = tuple(arg.arg for arg in tree.parameters(node.args))
        self.rest = node.args.vararg.arg if node.args.vararg else ""
        """The parameter that is a tuple of all arguments that no other one takes."""
        self.body = _body_statements(node)
        if source is None:
            source = "".join(linecache.getlines(file)[self.first_line - 1 : node.end_lineno])
        self.source = source
        """Its lines, from which the tree was parsed."""
        self.used: dict[str, set] | None = None
        """The names that it reads (cachekey.py), when they have been collected."""

    def with_names(self, values: dict[str, Any]) -> PythonFunction:
        """Returns a copy whose scope contains these values."""
        made = copy.copy(self)
        made._scope = lambda: self._scope().with_values(values)
        return made

    def place(self, node: ast.AST) -> SourcePlace:
        """Returns the position of a node."""
        line = getattr(node, "lineno", self.node.lineno)
        column = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", column) if _line_text(node) else 10**6
        return SourcePlace(self.label, self.file, line, column, end)

    def body_nodes(self) -> list[ast.AST]:
        """Returns the list of syntax nodes of the function's body, without the nodes of nested functions."""
        found: list[ast.AST] = []
        waiting: list[ast.AST] = list(self.body)
        while waiting:
            node = waiting.pop()
            found.append(node)
            if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
                waiting += ast.iter_child_nodes(node)
        return found

    @property
    def scope(self) -> Scope:
        """Its current closure and globals."""
        return self._scope()


def _scope_of(function):
    code, cells = function.__code__, function.__closure__ or ()

    def scope():
        local = {}
        for name, cell in zip(code.co_freevars, cells, strict=True):
            try:
                local[name] = cell.cell_contents
            except ValueError:
                pass  # not assigned yet
        return Scope(local, function.__globals__)

    return scope


def rebuild_function(
    text: str, name: str, label: str, file: str, first: int, values: Any, defaults: Any
) -> PythonFunction:
    """Returns a PythonFunction from the text of its lines and the values of its scope."""
    whole = linemap.parse_source(textwrap.dedent(text))
    ast.increment_lineno(whole, first - 1)
    nodes = (n for n in ast.walk(whole) if isinstance(n, (ast.FunctionDef, ast.Lambda)))
    node = next(n for n in nodes if getattr(n, "name", "lambda_") == name)
    scope = Scope(dict(values))
    return PythonFunction(node, label, file, lambda: scope, defaults, text)


def lookup_name(scope: Scope, name: str) -> tuple[bool, Any]:
    """Returns (True, value) for a name that is not a local variable, or (False, None)."""
    known, value = scope.find(name)
    if not known and hasattr(builtins, name):
        return True, getattr(builtins, name)
    return known, value


def read_function(function: Any) -> PythonFunction:
    """Returns the PythonFunction of a Python function. Raises Problem if the source of the Python function is not
    available."""
    node = linemap.function_node(function)
    if node is None:
        raise Problem(
            None,
            "the source of the function was not found",
            "A function with a Python body is translated from its source: define it in a file or a cell "
            "of a notebook, or store the source passed to exec in linecache.cache, under the file name passed to compile.",
        )
    file = source_name(function.__code__)
    label = linemap.file_label(file)
    return PythonFunction(node, label, file, _scope_of(function), _default_values(function))


def has_python_body(function: Any) -> bool:
    """Returns whether the function's body is Python, and not a single string of CUDA C++."""
    if not isinstance(function, python_types.FunctionType):
        return False
    return function.__code__.co_name == "<lambda>" or not linemap.is_string_function(function)


def _line_text(node):
    return getattr(node, "end_lineno", None) == getattr(node, "lineno", None)


def refuse_variadic(function: PythonFunction, *which: str) -> None:
    """Raises Problem if the function has a parameter of a kind: "vararg" (*a), "kwarg" (**a)."""
    for extra in (getattr(function.node.args, name) for name in which):
        if extra is not None:
            problem = Problem(
                extra,
                f"a parameter for any number of arguments, {extra.arg}, is not possible",
                "List the parameters; several values may be one tuple.",
            )
            raise problem.store_positions(function.place)


def _default_values(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _body_statements(node):
    if isinstance(node, ast.Lambda):
        returned = ast.Return(node.body)
        ast.copy_location(returned, node.body)
        return [returned]
    first = node.body[0]
    is_doc = isinstance(first, ast.Expr) and isinstance(getattr(first, "value", None), ast.Constant)
    if is_doc and isinstance(first.value.value, str) and len(node.body) > 1:
        return node.body[1:]
    return node.body
