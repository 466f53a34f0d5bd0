"""Computes reaching definitions: which assignments reach which uses of a variable.

A Python variable may have several unrelated values in sequence. Assignments that reach a common use share one
C++ variable. Other assignments of the name may have another type, and use another C++ variable. The groups of
assignments are the webs of def-use chains, found by one walk over the syntax tree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from numbalite.python import tree

State = dict[str, frozenset["Definition | LoopHead"]]


class LoopHead:
    """A pseudo-definition at the head of a loop, for uses that read the value of the previous iteration."""

    def __init__(self, loop: ast.AST) -> None:
        self.loop = loop
        self.inside: set[Definition | LoopHead] = set()
        """The definitions in the loop that come back to its head."""


class Definition:
    """A binding of a variable: a parameter, or a target of an assignment or a loop."""

    def __init__(self, name: str, node: ast.AST) -> None:
        self.name = name
        self.node = node
        self.web: DefinitionWeb


class DefinitionWeb:
    """The definitions of a variable that reach common uses."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.definitions: list[Definition] = []
        self.uses: list[ast.AST] = []
        self.carried: set[ast.AST] = set()
        """Loops whose iterations leave a value to the next one."""


class DataFlow:
    """The reaching definitions in the body of a function."""

    def __init__(self, parameters: Iterable[ast.arg], body: list[ast.stmt]) -> None:
        self._reaching: dict[ast.AST, frozenset[Definition | LoopHead]] = {}
        self._definitions: dict[ast.AST, Definition] = {}
        self._names: dict[ast.AST, ast.Name] = {}
        self.assigned: set[str] = set()
        """Every name that is bound somewhere: the function's local variables."""
        self.maybe_unbound: set[ast.AST] = set()
        """Uses that a path without an assignment reaches."""
        self.reached: set[ast.stmt] = set()
        """The statements that are not behind an endless loop, or a return on each way."""
        self._heads: dict[ast.AST, LoopHead] = {}
        self._parts: dict[ast.AST, list] = {}
        self._bound: dict[ast.AST, frozenset[str]] = {}
        self._loops: list[tuple[list[State], list[State]]] = []
        self.parameters = {}
        parameters = list(parameters)
        self.assigned = {p.arg for p in parameters} | set(_bound_names(body))
        state: State = {}
        for parameter in parameters:
            self.parameters[parameter.arg] = self._new_definition(parameter.arg, parameter)
            state[parameter.arg] = frozenset([self.parameters[parameter.arg]])
        self.ends_without_return = self._state_after(body, state) is not None
        self.webs = self._make_webs()

    def is_bound_once(self, name: str) -> bool:
        return sum(d.name == name for d in self._definitions.values()) == 1

    def definition(self, node: ast.AST) -> Definition:
        """Returns the definition of a target."""
        return self._definitions[node]

    def reaching(self, node: ast.AST) -> frozenset[Definition]:
        """Returns the list of definitions that reach a use; an unreachable use has an empty list."""
        found = self._reaching.get(node, frozenset())
        return frozenset(d for d in found if isinstance(d, Definition))

    # --- webs

    def _make_webs(self):
        parent = {d: d for d in self._definitions.values()}

        def find_root(d):
            while parent[d] is not d:
                parent[d] = parent[parent[d]]
                d = parent[d]
            return d

        for use in self._reaching:
            first, *others = self.reaching(use) or [None]
            for other in others:
                parent[find_root(other)] = find_root(first)
        webs: dict[Definition, DefinitionWeb] = {}
        for d in self._definitions.values():
            d.web = webs.setdefault(find_root(d), DefinitionWeb(d.name))
            d.web.definitions.append(d)
        for use, reaching in self._reaching.items():
            seen = self.reaching(use)
            if not seen:
                continue
            web = next(iter(seen)).web
            web.uses.append(use)
            heads = (head for head in reaching if isinstance(head, LoopHead))
            web.carried.update(head.loop for head in heads if head.inside & seen)
        return list(webs.values())

    # Each method below returns the reaching definitions after a node, or None for unreachable code.

    def _new_definition(self, name, node):
        return self._definitions.setdefault(node, Definition(name, node))

    def _bind_target(self, target, state):
        if isinstance(target, ast.Name):
            return {**state, target.id: frozenset([self._new_definition(target.id, target)])}
        if isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                state = self._bind_target(item, state)
            return state
        if isinstance(target, ast.Starred):
            return self._bind_target(target.value, state)
        return self._record_uses(target, state)

    def _record_uses(self, node, state):
        """Records the variables that an expression reads, and returns the state after the expression (``:=``
        binds)."""
        if node is None:
            return state
        for part in self._variable_nodes(node):
            if isinstance(part, ast.NamedExpr):
                state = self._bind_target(part.target, state)
            else:
                self._record_use(part, state)
        return state

    def _variable_nodes(self, node):
        """Returns a list of the nodes of the variables that an expression reads, and of its ``:=``
        expressions, roughly in evaluation order."""
        found = self._parts.get(node)
        if found is None:
            found = self._parts[node] = [
                part
                for part in _append_variables(node, [])
                if isinstance(part, ast.NamedExpr)
                or (
                    isinstance(part, ast.Name)
                    and isinstance(part.ctx, ast.Load)
                    and part.id in self.assigned
                )
            ]
        return found

    def bound_names(self, loop: ast.AST) -> frozenset[str]:
        """Returns the set of names that a loop binds."""
        found = self._bound.get(loop)
        if found is None:
            found = self._bound[loop] = frozenset(_bound_names([loop]))
        return found

    def _record_use(self, node, state):
        found = state.get(node.id, frozenset())
        if not any(isinstance(d, Definition) for d in found):
            self.maybe_unbound.add(node)
        self._reaching[node] = self._reaching.get(node, frozenset()) | found

    def _state_after(self, statements, state):
        for statement in statements:
            if state is None:
                return None
            self.reached.add(statement)
            state = self._statement(statement, state)
        return state

    def _statement(self, node, state):
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is not None:
            return method(node, state)
        for child in tree.child_nodes(node):
            state = self._record_uses(child, state)
        return state

    def _assign(self, node, state):
        state = self._record_uses(node.value, state)
        for target in node.targets:
            state = self._bind_target(target, state)
        return state

    def _annassign(self, node, state):
        if node.value is None:
            return state
        return self._bind_target(node.target, self._record_uses(node.value, state))

    def _augassign(self, node, state):
        state = self._record_uses(node.value, state)
        if isinstance(node.target, ast.Name):
            self._record_use(node.target, state)
        return self._bind_target(node.target, state)

    def _return(self, node, state):
        self._record_uses(node.value, state)

    def _raise(self, node, state):
        self._record_uses(node.exc, state)

    def _if(self, node, state):
        state = self._record_uses(node.test, state)
        return _merge_states(
            self._state_after(node.body, state), self._state_after(node.orelse, state)
        )

    def _while(self, node, state):
        endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self._state_after_loop(
            node, state, lambda s: self._record_uses(node.test, s), endless
        )

    def _for(self, node, state):
        state = self._record_uses(node.iter, state)
        return self._state_after_loop(
            node, state, lambda s: s, False, lambda s: self._bind_target(node.target, s)
        )

    def _state_after_loop(self, node, state, test, endless, enter=lambda s: s):
        here = self._heads.setdefault(node, LoopHead(node))
        mark = frozenset([here])
        bound = self.bound_names(node)
        before = state
        head = {**state, **{name: state.get(name, frozenset()) | mark for name in bound}}
        while True:
            breaks: list[State] = []
            continues: list[State] = []
            self._loops.append((breaks, continues))
            tested = test(head)
            end = self._state_after(node.body, enter(tested))
            self._loops.pop()
            again = head
            for other in (end, *continues):
                again = _merge_states(again, other)
            if again == head:
                break
            head = again
        for name in bound:
            here.inside |= head[name] - before.get(name, frozenset()) - mark
        done = None if endless else self._state_after(node.orelse, tested)
        for other in breaks:
            done = _merge_states(done, other)
        return done

    def _break(self, node, state):
        if self._loops:
            self._loops[-1][0].append(state)

    def _continue(self, node, state):
        if self._loops:
            self._loops[-1][1].append(state)

    def _pass(self, node, state):
        return state

    def _functiondef(self, node, state):
        state = self._record_uses(node, state)
        return {**state, node.name: frozenset([self._new_definition(node.name, node)])}


def _merge_states(a, b):
    if a is None or b is None:
        return b if a is None else a
    return {name: a.get(name, frozenset()) | b.get(name, frozenset()) for name in {**a, **b}}


def free_names(function: ast.FunctionDef | ast.Lambda) -> list[ast.Name]:
    """Returns the names that a function reads but does not bind itself."""
    own = {a.arg for a in tree.parameters(function.args)}
    own.add(getattr(function, "name", ""))
    body = function.body if isinstance(function.body, list) else [function.body]
    names = [n for part in body for n in tree.walk_nodes(part) if isinstance(n, ast.Name)]
    own.update(n.id for n in names if isinstance(n.ctx, ast.Store))
    return [n for n in names if n.id not in own]


def _append_variables(node, found: list[ast.AST]) -> list[ast.AST]:
    """Returns ``found``, followed by the variables in an expression, roughly in evaluation order; for a
    function, the outer names that it reads."""
    if isinstance(node, (ast.Lambda, ast.FunctionDef)):
        return found + free_names(node)
    if not isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp)):
        for child in tree.child_nodes(node):
            found = _append_variables(child, found)
        found.append(node)
    return found


def _bound_names(body: Iterable[ast.AST]) -> Iterator[str]:
    """Yields the names that statements bind."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id
        todo += tree.child_nodes(node)
