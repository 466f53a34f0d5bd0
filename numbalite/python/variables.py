"""Determines the variables of a function: their types, which are inferred in rounds, and their C++ names.

Each assignment sets the type of its definition to that of the value; a use has the common type of the
definitions that reach it. Types only widen, so the number of rounds is finite.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from numbalite import types
from numbalite.cxx import reserved
from numbalite.cxx.capture import ascii_name
from numbalite.python import rules
from numbalite.python.arithmetic import convert_value
from numbalite.python.conditions import ValueRanges
from numbalite.python.declarations import BlockTree, DeclarationPlace
from numbalite.python.flow import DataFlow, Definition, DefinitionWeb
from numbalite.python.problem import Problem
from numbalite.python.values import (
    NOTHING,
    CompileTimeType,
    FixedArray,
    Range,
    Value,
    full_range,
    is_in_range,
    is_integral,
    is_number,
    union_of_ranges,
)

_ROUNDS_UNTIL_WIDENED = 2


class TypeUnknown(Exception):
    """Raised if the type of a variable or of a call's result has not been inferred yet."""

    def __init__(self, node: ast.AST) -> None:
        self.node = node
        self.place: Any = None


class Variable:
    """A C++ variable: one web, or several webs of the same name and type."""

    def __init__(self, name: str, web: DefinitionWeb, place: DeclarationPlace) -> None:
        self.name = name
        self.webs = [web]
        self.place = place
        self.cxx: types.Type | None = None
        """A narrower type that holds all its values."""
        self.is_declared = False


class Variables:
    def __init__(self, flow: DataFlow, blocks: BlockTree, value_ranges: ValueRanges) -> None:
        self.flow = flow
        self.value_ranges = value_ranges
        self.blocks = blocks
        self.types: dict[Definition, types.Type] = {}
        self.ranges: dict[Definition, Range | None] = {}
        self.constants: dict[Definition, object] = {}
        self.changed = False
        self.round = 0
        self._of: dict[DefinitionWeb, Variable] = {}
        self._hoisted: dict[tuple, list[Variable]] = {}
        """The variables that are declared before a statement: (block, number of the statement) -> they."""
        self._reaching: dict[ast.AST, list[Definition]] = {}
        self.names: set[str] = set()

    # --- types

    def record_binding(self, node: ast.AST, value: Value) -> Definition:
        """Records that a target is bound to a value."""
        definition = self.flow.definition(node)
        self.value_ranges.forget_ranges((definition.name,))
        old, new = self.types.get(definition), value.type
        if len(definition.web.definitions) > 1:
            new = rules.stored_type(new)
        if old is not None and old != new:
            new = rules.unified_type(rules.stored_type(old), rules.stored_type(new))
            if new is None:
                raise Problem(
                    node,
                    f"{definition.name} is {rules.describe_type(old)} and {rules.describe_type(value.type)}",
                )
        if old != new:
            self.types[definition] = new
            self.changed = True
        self._record_constant(definition, value.constant)
        self._record_range(definition, value.range if is_integral(new) else None, new)
        return definition

    def _record_constant(self, definition, found):
        """Records a variable with one assignment as a constant if the assigned value is constant."""
        if definition not in self.constants:
            self.constants[definition] = found if len(definition.web.definitions) == 1 else NOTHING
        elif not _is_same_constant(self.constants[definition], found):
            self.changed = self.changed or self.constants[definition] is not NOTHING
            self.constants[definition] = NOTHING

    def _record_range(self, definition, found, t):
        if definition in self.ranges:
            old = self.ranges[definition]
            found = union_of_ranges(old, found)
            if found == old:
                return
            if self.round > _ROUNDS_UNTIL_WIDENED and found is not None:
                low, high = full_range(t)
                found = (
                    old[0] if found[0] == old[0] else min(0, found[0]) and low,
                    old[1] if found[1] == old[1] else high,
                )
        self.ranges[definition] = found
        self.changed = True

    def web_type(self, web: DefinitionWeb) -> types.Type:
        """Returns the common type of the values of a web whose types have been inferred."""
        return self._common_type(web.definitions)

    def _common_type(self, definitions, at=None):
        result, first = None, None
        for definition in definitions:
            t = self.types.get(definition)
            if t is None:
                continue
            if result is None:
                result, first = t, definition
                continue
            joined = rules.unified_type(result, t)
            if joined is None:
                raise Problem(
                    definition.node,
                    f"{definition.name} is {rules.describe_type(t)} here, and {rules.describe_type(result)} "
                    "elsewhere: the two types have no common type",
                    "Use another name for one of the variables.",
                    [(first.node, f"{first.name} is {rules.describe_type(self.types[first])}")],
                )
            result = joined
        return result

    def types_by_name(self) -> dict[str, types.Type]:
        """Returns the type of each variable; if a variable has several types, the first type."""
        found: dict[str, types.Type] = {}
        for definition, t in self.types.items():
            found.setdefault(definition.name, t)
        return found

    def read_variable(self, node: ast.Name) -> Value:
        """Returns the Value of a variable that is read."""
        reaching = self._reaching.get(node)
        if reaching is None:
            reaching = self._reaching[node] = sorted(
                self.flow.reaching(node), key=_definition_order
            )
        known = [d for d in reaching if d in self.types]
        if not reaching:
            raise Problem(node, f"{node.id} is used before it is assigned")
        if not known:
            raise TypeUnknown(node)
        web = known[0].web
        t = self.types[known[0]] if len(known) == 1 else self._common_type(known)
        if isinstance(t, CompileTimeType):
            return Value(t, constant=t.value)
        stored = t if len(web.definitions) == 1 else self.web_type(web)
        variable = self._of.get(web)
        name = variable.name if variable else node.id
        limits: Range | None = None
        if is_integral(t):
            limits = self.ranges.get(known[0])
            for d in known[1:]:
                limits = union_of_ranges(limits, self.ranges.get(d))
        constant = self.constants.get(known[0], NOTHING) if len(web.definitions) == 1 else NOTHING
        cxx = (variable and variable.cxx) or stored
        if is_number(t) and not is_integral(t) and constant is not NOTHING:
            constant = NOTHING
        if is_number(t) and t != stored:
            value = convert_value(Value(stored, name), t)
            return value.replace(range=limits)
        return Value(t, name, cxx=cxx, range=limits, constant=constant)

    # --- names and declarations

    def select_variables(self) -> None:
        """Combines webs to C++ variables after type inference, and selects each variable's name and the
        position of its declaration."""
        by_name: dict[str, list[DefinitionWeb]] = {}
        for web in sorted(self.flow.webs, key=lambda w: min(map(_definition_order, w.definitions))):
            if self.web_type(web) is not None and not isinstance(
                self.web_type(web), CompileTimeType
            ):
                by_name.setdefault(web.name, []).append(web)
        for name, webs in by_name.items():
            self._select_webs(name, webs)
        self.names = {v.name for v in self._of.values()}
        self._hoisted = {}
        for variable in dict.fromkeys(self._of.values()):
            if variable.place.node is None:
                where = variable.place.block, variable.place.statement
                self._hoisted.setdefault(where, []).append(variable)

    def request_round(self) -> None:
        """Records that another round of type inference is needed."""
        self._of, self.names = {}, set()

    def _select_webs(self, name, webs):
        made: list[Variable] = []
        for web in webs:
            place = self._select_position([web])
            for other in made:
                if not _do_blocks_overlap(other.place.block, place.block):
                    continue
                if self._can_share_variable(other, web):
                    other.webs.append(web)
                    other.place = self._select_position(other.webs)
                    self._of[web] = other
                    break
            else:
                taken = {v.name for v in made if _do_blocks_overlap(v.place.block, place.block)}
                variable = Variable(self._unused_name(name, taken), web, place)
                made.append(variable)
                self._of[web] = variable

    def _can_share_variable(self, variable, web):
        ours, theirs = self.web_type(variable.webs[0]), self.web_type(web)
        is_reference = isinstance(ours, (FixedArray, types.Record)) or getattr(ours, "ndim", 1) == 0
        return ours == theirs and not is_reference

    def _unused_name(self, name, taken):
        plain = cxx_name(name)
        free, count = plain, 1
        while free in taken:
            count += 1
            free = f"{plain}_{count}"
        return free

    def _select_position(self, webs):
        nodes = [d.node for web in webs for d in web.definitions]
        uses = [u for web in webs for u in web.uses]
        loops = set().union(*(web.carried for web in webs))
        return self.blocks.declaration_position(nodes, uses, loops)

    def variable(self, definition: Definition) -> Variable | None:
        return self._of.get(definition.web)

    def runtime_variable(self, definition: Definition) -> Variable:
        """Returns the C++ variable of a definition whose value exists at run time."""
        return self._of[definition.web]

    def is_only_assignment(self, definition: Definition) -> bool:
        """Returns whether this is the variable's only assignment."""
        variable = self._of.get(definition.web)
        webs = variable.webs if variable else [definition.web]
        return sum(len(web.definitions) for web in webs) == 1

    def is_only_array(self, variable: Variable) -> bool:
        """Returns whether the variable has only one assignment, of an array in its own memory."""
        definitions = [d for web in variable.webs for d in web.definitions]
        return len(definitions) == 1 and isinstance(self.types.get(definitions[0]), FixedArray)

    def narrow_type(self, definition: Definition, t: Any) -> bool:
        """Returns whether a narrower type can represent all values of the definition."""
        return is_in_range(self.ranges.get(definition), t)

    def hoisted_variables(self, block: Any, statement: Any) -> list[Variable]:
        """Returns variables to declare before a statement."""
        return [v for v in self._hoisted.get((block, statement), ()) if not v.is_declared]

    def has_name_clash(self, block: Any) -> bool:
        """Returns whether the block declares a variable whose name another block also uses."""
        of_names: dict[str, set[tuple]] = {}
        for variable in self._of.values():
            of_names.setdefault(variable.name, set()).add(variable.place.block)
        return any(block in blocks and len(blocks) > 1 for blocks in of_names.values())


def cxx_name(name: str) -> str:
    """Returns the name of a Python variable in C++."""
    return reserved.avoid_reserved(ascii_name(name))


def _is_same_constant(a, b):
    plain = (int, float, complex, str, tuple, np.generic)
    return a is b or (type(a) is type(b) and isinstance(a, plain) and a == b)


def _definition_order(definition):
    node = definition.node
    return (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))


def _do_blocks_overlap(a, b):
    """Returns whether one of the blocks contains the other."""
    return a[-1][0] in {part[0] for part in b} or b[-1][0] in {part[0] for part in a}
