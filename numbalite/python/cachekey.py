"""Computes the cache key of a translated Python function: a tuple of all values that the C++ text depends on.

The key contains the body's lines, the types of the arguments, and the present values of all names that the
body reads from its scope: numbers, arrays, types, attributes of modules, and the functions that it calls,
with their own bodies and values. A value whose contents cannot be listed, such as a device array, raises
Uncacheable. A function that uses such an uncacheable value is translated again in each process. For a
function of NumPy, numbalite or Python's standard library, the key contains only its name, because the key of
the file contains their versions (kernels/translations.py).
"""

from __future__ import annotations

import ast
import linecache
import sys
import types as python_types
from enum import Enum, EnumMeta
from typing import Any

import numpy as np

from numbalite import types
from numbalite.cxx import capture
from numbalite.errors import PerformanceWarning, TranslationError, warn
from numbalite.kernels import targets
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.python import tree, ufuncs
from numbalite.python.context import is_host_function, undecorated_function, warned
from numbalite.python.read import PythonFunction, has_python_body, lookup_name
from numbalite.types.inkernel import KernelName

_STABLE_MODULES = frozenset(
    ("builtins", "math", "cmath", "operator", "_operator", "numpy", "ml_dtypes", "numbalite")
)
"""Top-level packages whose functions and classes are identified by their names."""
_CONSTANTS = (type(None), bool, int, complex, str, bytes, type(Ellipsis))
_NUMBERS_OF_OPTIONS = ("-D", "--define-macro")


class Uncacheable(Exception):
    """Raised for a value whose contents cannot be listed in the key."""


class KeyContents:
    """Builds the part of a cache key for the values that a function reads from its scope.
    ``definition_of`` creates the definition of a function that has no decorator."""

    def __init__(self, definition_of: Any) -> None:
        self._definition_of = definition_of
        self._file = ""
        """The file of the function whose names are looked up."""
        self.functions: list[PythonFunction] = []
        """The Python functions in the order in which they were reached."""
        self._seen: dict[Any, int] = {}
        """Functions -> their numbers; a recursive function is listed once."""
        self._needs_target = False
        """Whether the compiler of the target chooses the type of a result."""

    def kernel_key(self, function: PythonFunction, args: Any, options: Any) -> list:
        """Returns the cache key of a kernel's translation to C++."""
        found = [self.value(args), self._options_key(options), self.function(function)]
        return self._add_target(found)

    def device_key(self, function: DeviceFunction, lists: Any, options: Any, caller: str) -> list:
        """Returns the cache key of a device function's translation for lists of argument types.

        ``caller`` is the name of the calling code.
        """
        types_of_calls = [self.value(tuple(args)) for args in lists]
        found = [caller, types_of_calls, self._options_key(options), self.device_function(function)]
        return self._add_target(found)

    def _add_target(self, found):
        if self._needs_target:
            found.append(targets.target_of(targets.current_device()))
        return found

    def number_warnings(self, warnings: Any) -> tuple:
        """Returns the warnings of a translation in the form that `issue_warnings` accepts: (number of the function or
        None, message)."""
        numbers = {function: i for i, function in enumerate(self.functions)}
        return tuple((numbers.get(function), message) for function, message in warnings)

    def issue_warnings(self, warnings: Any) -> None:
        """Issues the warnings of the translation that this process has not issued yet: (number of the function
        or None, message)."""
        for number, message in warnings:
            function = None if number is None else self.functions[number]
            if function not in warned:
                if function is not None:
                    warned.add(function)
                warn(message, PerformanceWarning)

    # --- functions

    def function(self, function: PythonFunction) -> tuple:
        """Returns the key of a Python function: its lines, defaults and captured values."""
        if function in self._seen:
            return "function", self._seen[function]
        self._seen[function] = len(self._seen)
        self.functions.append(function)
        node = function.node
        lines = linecache.getlines(function.file)[function.first_line - 1 : node.end_lineno]
        scope, before = function.scope, self._file
        self._file = function.file
        captured = [
            (name, self._captured_key(scope, name, chains))
            for name, chains in sorted(_attribute_chains(function).items())
        ]
        self._file = before
        return (
            "function", self._seen[function], function.name, function.label, function.file,
            function.first_line, node.lineno, node.col_offset, node.end_lineno, node.end_col_offset,
            function.source, lines, function.parameters, function.rest,
            self._mapping_key(function.defaults), captured,
        )  # fmt: skip

    def _captured_key(self, scope, name, chains):
        found, value = lookup_name(scope, name)
        if not found:
            return ("missing",)
        return [(chain, self._attribute_key(value, chain)) for chain in sorted(chains)]

    def _attribute_key(self, value, chain):
        """Returns the key of ``value.first.second``, for the names of a chain. The key of the object itself
        suffices if it exists, because its contents determine its attributes."""
        for i, name in enumerate(chain):
            if isinstance(value, python_types.ModuleType):
                what: Any = ("module", value.__name__)
            else:
                try:
                    return self.value(value)
                except Uncacheable:
                    owner = value if isinstance(value, type) else type(value)
                    name_of = getattr(value, "__name__", "")
                    what = ("object", owner.__module__, owner.__qualname__, value is owner, name_of)
            try:
                value = getattr(value, name)
            except AttributeError:
                return what, chain[: i + 1], "missing"
            if len(chain) == i + 1:
                return what, self.value(value)
        return self.value(value)

    def device_function(self, function: DeviceFunction) -> tuple:
        """Returns the key of a device function: its text, signatures, options and captured values."""
        if function in self._seen:
            return "device function", self._seen[function]
        self._seen[function] = len(self._seen)
        definition = function.definition
        head = (
            "device function", self._seen[function], function.name, function.number_type,
            [(s.return_type and self.value(s.return_type), self.value(s.args)) for s in function.signatures],
            None if function.options is None else self._options_key(function.options),
        )  # fmt: skip
        if definition.is_python:
            return (*head, definition.name, self.function(definition.function))
        return (*head, self._definition_key(function, definition))

    def _definition_key(self, function, definition):
        """Returns the key of a definition in C++. The key does not cover files that the C++ text includes."""
        if definition.includes or "include" in definition.text.value:
            raise Uncacheable
        if not function.signatures or not all(s.return_type for s in function.signatures):
            self._needs_target = True
        scope = definition.scope
        members = [(m.dotted, m.name, m.use, self.value(m.value)) for m in definition.members]
        captured = []
        for name, uses in sorted(definition.names.items()):
            found, value = scope.find(name)
            if not found:
                captured.append((name, "missing", name in scope.later))
            elif isinstance(value, (python_types.ModuleType, EnumMeta)):
                captured.append((name, "members"))
            else:
                captured.append((name, sorted(uses), self.value(value)))
        return (
            tuple(definition.text), definition.parameters, definition.is_unit,
            self._mapping_key(definition.defaults), members, captured,
        )  # fmt: skip

    def _options_key(self, options):
        """Returns [(name, key of the value)] for all options except those that affect only the launch."""
        if any(not option.startswith(_NUMBERS_OF_OPTIONS) for option in options.options):
            raise Uncacheable  # they may name files
        if any("include" in text.value for text in options.link):
            raise Uncacheable
        without = options.replace(extensions=(), doc=None, lto=None)
        return [(name, self.value(value)) for name, value in without._asdict().items()]

    def _mapping_key(self, values):
        return sorted((name, self.value(value)) for name, value in values.items())

    # --- values

    def value(self, value: Any) -> Any:
        """Returns the key of a value, which consists of text, bytes, numbers and tuples."""
        kind = type(value)
        if kind in _CONSTANTS:
            return kind.__name__, repr(value)
        if kind is float:
            return "float", value.hex(), repr(value)
        if kind is tuple:
            return ("tuple", *map(self.value, value))
        if isinstance(value, (np.generic, np.ndarray)):
            return self._array_key(value)
        if isinstance(value, types.Type):
            return self._type_key(value)
        if isinstance(value, KernelName):
            return "builtin", value.path
        if isinstance(value, np.dtype):
            return _dtype_key(value)
        if isinstance(value, Enum):
            return "member", self._members_key(kind), value.name
        if isinstance(value, EnumMeta):
            return self._members_key(value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return "named tuple", _class_key(kind), list(map(self.value, value))
        if isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
            return (
                "named tuple class",
                _class_key(value),
                self._mapping_key(getattr(value, "_field_defaults", {})),
            )
        return self._function_key(value)

    def _type_key(self, t):
        try:
            parts = t.__reduce__()[1]
        except TypeError:
            raise Uncacheable from None
        return "type", type(t).__name__, t.name, [self._member_key(part) for part in parts]

    def _member_key(self, part):
        return _class_key(part) if isinstance(part, type) else self.value(part)

    def _members_key(self, members):
        listed = [(name, self.value(m._value_)) for name, m in members.__members__.items()]
        return "members", *_class_key(members), issubclass(members, int), listed

    def _array_key(self, value):
        if type(value) is not np.ndarray and not isinstance(value, np.generic):
            raise Uncacheable
        if value.dtype.hasobject or value.nbytes > capture.CONSTANT_MEMORY:
            raise Uncacheable
        return "array", type(value).__name__, _dtype_key(value.dtype), value.shape, value.tobytes()

    def _function_key(self, value):
        role = getattr(type(value), "source_role", None)
        if role == "kernel":
            definition = getattr(value._source, "definition", None)
            if definition is None or not definition.is_python:
                raise Uncacheable
            return "kernel", self.function(definition.function)
        device = capture.device_function_of(value)
        if device is None:
            device = ufuncs.device_function(value)
        if device is not None:
            return role, self.device_function(device)
        if has_python_body(value) and not is_host_function(value, self._file):
            try:
                plain = undecorated_function(value, self._definition_of)
            except TranslationError:
                raise Uncacheable from None
            return "plain", self.function(plain.definition.function)
        if isinstance(value, np.ufunc) and getattr(np, value.__name__, None) is value:
            return "ufunc", value.__name__
        return _key_by_name(value)


def _key_by_name(value):
    """Returns the key of a function or class of a stable module: its name."""
    if getattr(type(value), "is_numpys", False):
        return "NumPy's", value.__name__
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        raise Uncacheable
    if module.partition(".")[0] not in _STABLE_MODULES:
        raise Uncacheable
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        raise Uncacheable
    return "named", module, name


def _class_key(cls):
    return cls.__module__, cls.__qualname__, getattr(cls, "_fields", None)


def _dtype_key(dtype):
    kind = dtype.type
    head = (dtype.str, kind.__module__, kind.__name__, dtype.itemsize, dtype.alignment)
    if dtype.subdtype is not None:
        return *head, _dtype_key(dtype.subdtype[0]), dtype.subdtype[1]
    if dtype.names is None:
        return head
    fields = [
        (name, *dtype.fields[name][1:2], _dtype_key(dtype.fields[name][0])) for name in dtype.names
    ]
    return *head, dtype.isalignedstruct, fields


def _attribute_chains(function: PythonFunction) -> dict[str, set]:
    """Returns {name: attribute chains} of the names that the body reads: ("b", "c") for a.b.c, and
    () for the name alone."""
    if function.used is None:
        function.used = _find_used_names(function)
    return function.used


def _find_used_names(function):
    found: dict[str, set] = {}
    inner = set()
    stored = set(function.parameters)
    has_functions = False
    for node in tree.walk_nodes(ast.Module(function.body, [])):
        kind = type(node)
        if kind is ast.Name:
            if not isinstance(node.ctx, ast.Load):
                stored.add(node.id)
            elif id(node) not in inner:
                found.setdefault(node.id, set()).add(())
        elif kind is ast.Attribute and id(node) not in inner:
            chain = []
            while type(node) is ast.Attribute:
                chain.insert(0, node.attr)
                node = node.value
                inner.add(id(node))
            if type(node) is ast.Name:
                found.setdefault(node.id, set()).add(tuple(chain))
        elif kind in (ast.FunctionDef, ast.Lambda):
            has_functions = True
    local = set(function.parameters) if has_functions else stored
    return {name: chains for name, chains in found.items() if name not in local}
