"""Translates assignments to targets: binds a variable, unpacks a tuple, or stores an element."""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from numbalite import types
from numbalite.python import arithmetic, bfloat, remedies, rules, subscripts, times, tree
from numbalite.python.calls import type_text
from numbalite.python.doubles import DoubleOperations
from numbalite.python.expressions import Expressions
from numbalite.python.flow import DataFlow
from numbalite.python.problem import Problem
from numbalite.python.values import (
    CompileTimeType,
    FixedArray,
    Value,
    is_complex,
    is_number,
    is_real,
    number,
    tuple_of,
)
from numbalite.python.variables import Variables

INDENT = "    "
_SIZES = "cannot assign slice from input of different size"


class CppLine(NamedTuple):
    """A line of C++."""

    text: str
    number: int
    """The Python line from which it is generated. A line without one has the negative number of the previous
    line."""


class Bindings(Expressions):
    """The bindings of a function that is being translated (translate.py)."""

    lines: list[CppLine]
    depth: int
    at: Any
    """Adds a statement."""
    flow: DataFlow
    variables: Variables
    is_final: bool
    """Whether the current round is the last one, which writes the text."""
    doubles: DoubleOperations

    # --- methods of the derived class

    def emit(self, text: str, node: ast.AST | None = None) -> None:
        raise NotImplementedError

    def unused_name(self, base: str) -> str:
        """Returns a name that is not used in the function yet."""
        raise NotImplementedError

    def may_raise(self, kind: type, args: tuple) -> str:
        raise NotImplementedError

    # --- variables

    def bind_target(self, target: ast.expr, value: Value) -> None:
        """``target = value``"""
        if isinstance(target, ast.Name):
            self._bind_name(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack_tuple(target, value)
        elif isinstance(target, ast.Subscript):
            self._store_item(target, value)
        elif isinstance(target, ast.Attribute):
            self._refuse_vector(target)
            self._store_element(target, self.value(target), value)
        else:
            self.fail(target, f"{type(target).__name__} cannot be assigned to in a kernel")

    def _refuse_vector(self, target):
        """Vectors are immutable values in Python, so a change must not affect another variable with the same
        vector."""
        t = self.value(target.value).type
        if isinstance(t, types.Vector):
            self.fail(
                target,
                f"the numbers of a {t} cannot be assigned to",
                f"Make another one: {t}(...).",
            )

    def _bind_name(self, target, value):
        if value.type is types.void:
            self.fail(target, f"{target.id} would be the result of a call that has none")
        definition = self.variables.record_binding(target, value)
        if self.is_final and not isinstance(value.type, CompileTimeType):
            self.doubles.note_variable(
                self.at, target, value.type, self._assigned_types(definition)
            )
            self.emit(self._write_binding(definition, target, value))

    def _assigned_types(self, definition):
        """Returns the set of types of the values that are assigned to a definition's variable."""
        return {self.variables.types.get(other) for other in definition.web.definitions}

    def _write_binding(self, definition, target, value) -> str:
        variable = self.variables.runtime_variable(definition)
        declares = variable.place.node is target and not variable.is_declared
        if isinstance(value.type, FixedArray) and value.text.startswith("["):
            return self._array_declaration(variable, value, declares)
        stored = self.variables.web_type(definition.web)
        if isinstance(stored, FixedArray) and stored.space in (
            "captured",
            "record",
            "shared",
            "local",
        ):
            if declares:
                return f"auto &{variable.name} = {value.text};"
            stored = stored.view
        text = self.initializer_text(value, stored)
        if not declares:
            return f"{variable.name} = {text};"
        kind = f"{type_text(variable.cxx or stored)} "
        if isinstance(stored, types.Record):
            kind = f"{stored.cxx} &"
        elif isinstance(stored, types.Array) and stored.ndim == 0:
            kind = f"{'const ' * value.is_constant}{type_text(stored.dtype)} &"
        elif (
            value.is_constant
            and is_number(stored)
            and self.variables.is_only_assignment(definition)
        ):
            kind = f"const {kind}"
        return f"{kind}{variable.name} = {text};"

    def allocate_array(self, node: ast.AST, value: Value) -> Value:
        """Returns the Value of a shared or local array that an expression creates. An array that is not
        simply assigned to a variable gets a generated name."""
        if node in _assigned_expressions(self.at):
            return value
        name = self.unused_name(f"{value.type.space}_array")
        self.emit(f"{_declarator(value.type)} {name}{value.text};")
        return Value(value.type, name)

    def _array_declaration(self, variable, value, declares):
        declarator = _declarator(value.type)
        if declares and self.variables.is_only_array(variable):
            return f"{declarator} {variable.name}{value.text};"
        name = self.unused_name(variable.name)
        self.emit(f"{declarator} {name}{value.text};")
        kind = f"{type_text(value.type.view)} " if declares else ""
        return f"{kind}{variable.name} = py::as_array({name});"

    def initializer_text(self, value: Value, t: Any) -> str:
        """Returns the C++ text of a value that initializes a variable of a type."""
        value = subscripts.as_view(value)
        if times.is_time(t) and times.is_time(value.type):
            found = times.convert_unit(value, t)
            if found is None:
                raise Problem(self.at, f"{value.type} does not fit into {t}")
            return found.text
        if is_number(t) and is_number(value.type):
            if is_complex(value.type) and not is_complex(t):
                raise Problem(
                    self.at, f"{value.type} does not fit into {t}", "z.real is its real part."
                )
            if is_real(t) and value.text.isdigit():
                return arithmetic.convert_value(value, t).text
            if is_complex(t) and not is_complex(value.type):
                return f"{type_text(t)}({value.text})"
        if (
            isinstance(t, types.Tuple)
            and value.items is not None
            and value.text.startswith("make_tuple(")
        ):
            items = [
                self.initializer_text(i, of) for i, of in zip(value.items, t.types, strict=True)
            ]
            return f"{{{', '.join(items)}}}" if len(items) <= 8 else value.text
        return value.text

    def write_declaration(self, variable: Any) -> None:
        """Writes a declaration before the statement that first assigns the variable."""
        t = variable.cxx or self.variables.web_type(variable.webs[0])
        if isinstance(t, FixedArray):
            t = t.view
        if isinstance(t, types.Record) or getattr(t, "ndim", 1) == 0:
            self.fail(
                variable.webs[0].definitions[0].node,
                f"{variable.name} refers to several records, one after the other",
                "Give each its own variable, in the block where it is used.",
            )
        text = f"{INDENT * self.depth}{type_text(t)} {variable.name};"
        self.lines.append(CppLine(text, -(self.at.lineno - 1)))
        variable.is_declared = True

    # --- unpacking

    def _unpack_tuple(self, target, value):
        if isinstance(value.type, types.Array) and value.type.ndim >= 1:
            count = len(target.elts)
            items = tuple(
                subscripts.load_item(self, target, value, [number(i)]) for i in range(count)
            )
        elif self._is_structured_binding(target, value):
            items = self._bind_structured(target, value)
            if items is None:
                return
        else:
            items = self.items(target, value)
        targets = self._assign_items(target, items)
        waiting = self._replace_by_temporaries(targets)
        for one, item in waiting:
            self.bind_target(one, item)

    def _is_structured_binding(self, target, value):
        """Returns whether the value is the result of a call that ``auto [x, y]`` can unpack."""
        if not isinstance(value.type, types.Tuple) or value.text.startswith("make_tuple("):
            return False
        if value.items is None:
            return value.calls
        pairs = zip(target.elts, value.items, strict=False)
        return self.is_final and all(self._are_new_variables(t, v) for t, v in pairs)

    def _assign_items(self, target, items):
        starred = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Starred)]
        if starred:
            at = starred[0]
            behind = len(target.elts) - at - 1
            if len(items) < len(target.elts) - 1:
                self.fail(
                    target,
                    f"{count_with_noun(items, 'value')} for {count_with_noun(target.elts, 'target')}",
                )
            middle = tuple_of(items[at : len(items) - behind])
            items = (*items[:at], middle, *items[len(items) - behind :])
            names = [t.value if isinstance(t, ast.Starred) else t for t in target.elts]
            return list(zip(names, items, strict=True))
        if len(items) != len(target.elts):
            self.fail(
                target,
                f"{count_with_noun(items, 'value')} for {count_with_noun(target.elts, 'target')}",
            )
        return list(zip(target.elts, items, strict=True))

    def _replace_by_temporaries(self, pairs):
        """Returns the list of (target, value) pairs, in which a temporary variable replaces each value that an earlier
        assignment would change."""
        kept, bound, stores = [], set(), False
        for target, value in pairs:
            hazard = (stores and value.loads) or mentions_name(value.text, bound)
            if hazard:
                name = self.unused_name("old")
                t = rules.stored_type(value.type)
                if self.is_final:
                    kind = "auto" if not is_number(t) else type_text(t)
                    self.emit(f"const {kind} {name} = {value.text};")
                value = Value(value.type, name, range=value.range)
            kept.append((target, value))
            bound |= self._cxx_names([target])
            stores = stores or not isinstance(target, ast.Name)
        return kept

    def _cxx_names(self, targets):
        """Returns the set of C++ names of the variables that targets bind."""
        names = (
            n for target in targets for n in tree.walk_nodes(target) if isinstance(n, ast.Name)
        )
        return {self._target_text(n) for n in names if isinstance(n.ctx, ast.Store)}

    def _target_text(self, target):
        variable = self.variables.variable(self.flow.definition(target))
        return variable.name if variable else target.id

    def _bind_structured(self, target, value):
        """Writes ``auto [x, y] = f();`` and returns None, or returns the items of a variable that contains
        the tuple."""
        items = value.items or [Value(t, "") for t in value.type.types]
        pairs = list(zip(target.elts, items, strict=False))
        if len(target.elts) != len(value.type):
            self.fail(
                target,
                f"{count_with_noun(value.type, 'value')} for {count_with_noun(target.elts, 'target')}",
            )
        if self.is_final and all(self._are_new_variables(t, v) for t, v in pairs):
            names = []
            for t, v in pairs:
                names.append(self.variables.variable(self.variables.record_binding(t, v)).name)
            self.emit(f"auto [{', '.join(names)}] = {value.text};")
            return None
        name = self.unused_name("items")
        if self.is_final:
            self.emit(f"const auto {name} = {value.text};")
        held = Value(value.type, name)
        return self.items(target, held)

    def _are_new_variables(self, target, value):
        if not isinstance(target, ast.Name):
            return False
        definition = self.flow.definition(target)
        variable = self.variables.variable(definition)
        return (
            variable is not None
            and variable.place.node is target
            and self.variables.web_type(definition.web) == value.type
            and variable.cxx is None
        )

    # --- stores

    def _store_item(self, target, value):
        base = self.value(target.value)
        element = subscripts.load_item(
            self, target, base, subscripts.subscript_items(self, target.slice)
        )
        if getattr(base.type, "readonly", False):
            self.fail(target, "the array is read-only in this kernel")
        if isinstance(base.type, types.Tuple):
            self.fail(target, "the items of a tuple cannot be assigned to")
        self._store_element(target, element, value)

    def _store_element(self, target, element: Value, value: Value):
        if isinstance(element.type, types.Array):
            self._store_elements(target, element, value)
            return
        t = element.type
        if bfloat.is_bfloat(value) and is_number(t):
            value = bfloat.bfloat_as_number(value, t)
        if isinstance(t, (types.Record, types.Vector)):
            if value.type != t:
                self.fail(
                    target, f"{rules.describe_type(value.type)} is no {rules.describe_type(t)}"
                )
        elif isinstance(t, CompileTimeType):
            self.fail(target, f"{rules.describe_type(t)} cannot be assigned to")
        elif not _is_stored_as_number(value.type):
            stored, element_type = rules.describe_type(value.type), rules.describe_type(t)
            remedy = remedies.storage_remedy(value.type)
            self.fail(target, f"{stored} cannot be stored into {element_type}", remedy)
        self.emit(f"{element.text} = {self.initializer_text(value, t)};")

    def _can_be_elements(self, array, items):
        """Returns whether the items of a tuple can be the elements of an array."""
        return array.ndim == 1 and is_number(array.dtype) and all(map(is_number, items.types))

    def _store_elements(self, target, view, value):
        view = subscripts.as_view(view)
        if isinstance(value.type, types.Array):
            self._check_shapes(target, view.type, value.type)
            self.emit(f"py::assign({view.text}, {subscripts.as_view(value).text});")
        elif is_number(value.type) and is_number(view.type.dtype):
            if is_complex(value.type) or is_complex(view.type.dtype):
                value = arithmetic.convert_value(value, view.type.dtype)
            self.emit(f"py::fill({view.text}, {value.text});")
        elif isinstance(value.type, types.Tuple) and self._can_be_elements(view.type, value.type):
            self.may_raise(ValueError, (_SIZES,))
            texts = [self.initializer_text(i, view.type.dtype) for i in self.items(target, value)]
            self.emit(f"py::assign_items({', '.join([view.text, *texts])});")
        else:
            self.fail(target, f"{rules.describe_type(value.type)} cannot be stored into an array")

    def _check_shapes(self, target, view, stored):
        """Checks the element type and the number of dimensions of an array that is stored into a view of
        another array."""
        if stored.ndim > view.ndim:
            self.fail(
                target,
                f"an array of {stored.ndim} dimensions cannot be stored into one of {view.ndim}",
                "Index the array that is stored.",
            )
        if is_number(stored.dtype) != is_number(view.dtype) or (
            not is_number(view.dtype) and stored.dtype != view.dtype
        ):
            elements = rules.describe_type(stored.dtype), rules.describe_type(view.dtype)
            self.fail(target, "{} cannot be stored into {}".format(*elements))
        if is_complex(stored.dtype) and not is_complex(view.dtype):
            self.fail(
                target,
                f"elements of type {stored.dtype} do not fit into elements of type {view.dtype}",
                "x.real of an array x is its real part.",
            )


def _is_stored_as_number(t):
    """Returns whether the value is a number, an enum member, a time, or a 0-d array of numbers."""
    if isinstance(t, types.Array) and t.ndim:
        return False
    return isinstance(t, types.Scalar) or is_number(getattr(t, "dtype", None))


def _assigned_expressions(statement):
    """Returns the expressions that a statement assigns, one for each target, or () for any other statement."""
    if isinstance(statement, ast.AnnAssign):
        return (statement.value,)
    if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
        return ()
    target, value = statement.targets[0], statement.value
    both_tuples = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
    return value.elts if both_tuples else (value,)


def count_with_noun(items: Any, noun: str) -> str:
    return f"{len(items)} {noun}{'s' * (len(items) != 1)}"


def mentions_name(text: str, names: Any) -> bool:
    """Returns whether a C++ text contains one of these names."""
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names)


def _declarator(t):
    """Returns the C++ text before the variable's name in the declaration of a shared or local array, such as
    "__shared__ float"."""
    space = {"shared": "__shared__ ", "dynamic": "extern __shared__ "}.get(t.space, "")
    if t.alignment:
        space += f"__align__({t.alignment}) "
    return f"{space}{type_text(t.dtype)}"
