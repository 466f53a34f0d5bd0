"""Translates a Python function, for one list of argument types, to the body of a C++ function.

The statements are visited in rounds until the types of all variables are known (variables.py); the last round
writes the text. Each line of C++ stores the number of the Python line from which it was translated.
"""

from __future__ import annotations

import ast
from typing import Any, NamedTuple

from numbalite import types
from numbalite.cxx.reserved import is_reserved
from numbalite.kernels import fault
from numbalite.python import arithmetic, loops, rules, subscripts, tree
from numbalite.python.bindings import INDENT, Bindings, CppLine, mentions_name
from numbalite.python.branches import Decided, prune_branches
from numbalite.python.calls import string_literal, type_text
from numbalite.python.conditions import ends_control_flow
from numbalite.python.declarations import BlockTree
from numbalite.python.doubles import DoubleOperations
from numbalite.python.flow import DataFlow, free_names
from numbalite.python.problem import Problem
from numbalite.python.read import PythonFunction, lookup_name, refuse_variadic
from numbalite.python.unroll import literal_unroll, unroll_loops
from numbalite.python.values import (
    AND,
    PRIMARY,
    CompileTimeType,
    Sequence,
    Value,
    is_complex,
    is_integral,
    is_number,
)
from numbalite.python.variables import TypeUnknown, Variables, cxx_name

_MAX_ROUNDS = 40
_STATEMENTS = {
    "Try": ("try", "a test of the value before it is used: kernels have no exceptions to catch"),
    "TryStar": ("try", "a test of the value before it is used"),
    "With": ("with", "the calls themselves: kernels have no context managers"),
    "AsyncFor": ("async for", "for"),
    "AsyncWith": ("async with", "the calls themselves"),
    "ClassDef": ("a class", "a record (a NumPy structured dtype), or a named tuple"),
    "AsyncFunctionDef": ("async def", "a device function outside: @cuda.jit(device=True)"),
    "Import": ("import", "the import at the top of the file"),
    "ImportFrom": ("import", "the import at the top of the file"),
    "Global": ("global", "an array that is an argument: kernels cannot change Python's variables"),
    "Nonlocal": ("nonlocal", "an array that is an argument"),
    "Delete": ("del", "nothing: variables of a kernel need not be deleted"),
    "Match": ("match", "if and elif"),
    "TypeAlias": ("type", "the type itself"),
}


class Translation(NamedTuple):
    lines: list[CppLine]
    taken: dict[str, Any]
    """The values that the text uses from the Python scope."""
    result: types.Type
    parameters: tuple[str, ...]
    """Their names in C++."""


class Translator(Bindings):
    """Translates a function for a list of arguments, which are types or compile-time Values.

    ``result``: the declared return type, or None.
    """

    def __init__(self, function: PythonFunction, args: Any, session: Any, result: Any) -> None:
        super().__init__()
        self.function = function
        self.session = session
        self.scope = function.scope
        self.declared_result = result
        self.result: types.Type | None = result
        self.given = given = dict(zip(function.parameters, args, strict=True))
        self.fixed = {name: v for name, v in given.items() if isinstance(v, Value)}
        """Arguments that are no parameters in C++."""
        self.arguments = {name: t for name, t in given.items() if name not in self.fixed}
        self.parameters = tuple(cxx_name(name) for name in self.arguments)
        self.decided: Decided = {}
        self._analyze_body(unroll_loops(function.body, self._is_unroll, self._tuple_length))
        self.lines: list[CppLine] = []
        self.depth = 1
        self.at: Any = None
        """The statement."""
        self.is_final = False
        self.loops: list[loops.LoopState] = []
        self._fresh: set[str] = set()

    def _analyze_body(self, body: list) -> None:
        """Finds the reaching definitions in the body."""
        self.body = body
        self.nodes = tree.walk_nodes(ast.Module(body, []))
        self.flow = DataFlow(tree.parameters(self.function.node.args), body)
        self.doubles = DoubleOperations(ast.Module(body, []), self.flow)
        self.blocks = BlockTree(body)
        self.variables = Variables(self.flow, self.blocks, self.value_ranges)
        self.names = (set(self.flow.assigned) - self._nested_functions()) | set(self.parameters)

    def _nested_functions(self):
        """Returns the set of names of nested functions, which are not variables in C++."""
        found = set()
        for node in self.nodes:
            if isinstance(node, ast.FunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                found.update(t.id for t in node.targets if isinstance(t, ast.Name))
        return set(filter(self.flow.is_bound_once, found))

    def _is_unroll(self, node: ast.expr) -> bool:
        """Is this literal_unroll?"""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = lookup_name(self.scope, node.value.id)[1]
            return getattr(module, node.attr, None) is literal_unroll
        return isinstance(node, ast.Name) and lookup_name(self.scope, node.id)[1] is literal_unroll

    def _tuple_length(self, node: ast.expr) -> int | None:
        """Returns the number of items of a tuple, which is an argument, a tuple of the Python scope, or a
        tuple display."""
        if isinstance(node, ast.Tuple):
            return len(node.elts)
        if not isinstance(node, ast.Name):
            return None
        t = self.given.get(node.id)
        if isinstance(t, types.Tuple):
            return len(t)
        value = lookup_name(self.scope, node.id)[1]
        return len(value) if isinstance(value, tuple) else None

    # --- rounds

    def run(self) -> Translation:
        """Raises Problem for an unsupported construct, or NotYet if a type depends only on itself."""
        refuse_variadic(self.function, "kwarg")
        try:
            return self._translate()
        except TypeUnknown as unknown:
            unknown.place = unknown.place or self.function.place(unknown.node)
            raise
        except Problem as problem:
            problem.store_positions(self.function.place)
            if self.decided:
                try:
                    return self._translate_pruned(self.decided)
                except Problem:
                    pass  # the first problem concerns the whole body
            raise problem from None

    def _translate_pruned(self, decided: Decided) -> Translation:
        """Removes branches that are never executed, so that their assignments do not affect the types."""
        self.decided = {}
        self.is_final = False
        self.result = self.declared_result
        self.loops, self.depth = [], 1
        self._analyze_body(prune_branches(self.body, decided))
        return self.run()

    def _translate(self) -> Translation:
        is_new = self._visit_body()
        if not is_new or not self._is_converged():
            self._find_types(is_new)
            self._emit_text()
        self._drop_unused_constants()
        if self.result is None:
            self.result = types.void
        self._check_final_return()
        first = -self.function.first_line  # a comment would show the decorator
        self.lines[:0] = [CppLine(f"#include <{name}>", first) for name in sorted(self.headers)]
        return Translation(self.lines, self.taken, self.result, self.parameters)

    def _find_types(self, is_new: bool) -> None:
        """Repeats rounds of type inference until no type changes."""
        for _ in range(_MAX_ROUNDS):
            if not is_new:
                return
            is_new = self._visit_body()
        raise Problem(self.function.node, "the types of the variables do not settle")

    def _emit_text(self) -> bool:
        """Runs the last round, which writes the text. Returns whether a type changed in the last round; such
        a change is an internal error."""
        self.variables.select_variables()
        self.is_final = True
        self._narrow_counters()
        return self._visit_body()

    def _is_converged(self) -> bool:
        """Returns whether one round of type inference was enough, so that this round's text can be used."""
        try:
            if not self._emit_text():
                return True
        except (Problem, TypeUnknown):
            pass  # types were missing, or a problem concerns the whole function
        self.variables.request_round()
        self.is_final = False
        self.loops, self.depth = [], 1
        return False

    def _visit_body(self) -> bool:
        """Visits the body. Returns whether a type changed."""
        self.lines = []
        self.taken = {}
        self.value_ranges.restore_state(0)
        self._fresh = set()
        before = self.result
        self.variables.changed = False
        self.variables.round += 1
        for name, t in self.arguments.items():
            self.variables.record_binding(self.flow.parameters[name].node, Value(t, name))
        for name, value in self.fixed.items():
            self.variables.record_binding(self.flow.parameters[name].node, value)
        if self.is_final:
            self._copy_parameters()
        self.block(self.body)
        return self.variables.changed or before != self.result

    def _copy_parameters(self):
        """Declares a variable for each parameter to which the body assigns a value of a different type, or that needs
        another name in C++."""
        for name, spelling in zip(self.arguments, self.parameters, strict=True):
            definition = self.flow.parameters[name]
            variable = self.variables.variable(definition)
            if variable is None:
                continue
            stored = self.variables.web_type(definition.web)
            if variable.name != spelling or stored != rules.stored_type(self.arguments[name]):
                if variable.name == spelling:
                    variable.name = self.unused_name(name)
                self.emit(f"{type_text(stored)} {variable.name} = {spelling};", self.function.node)
            variable.is_declared = True
        for name, value in self.fixed.items():
            definition = self.flow.parameters[name]
            if definition.web.uses and not isinstance(value.type, CompileTimeType):
                self.emit(
                    self._write_binding(definition, definition.node, value), self.function.node
                )

    def _drop_unused_constants(self):
        """Omits the constants of compile-time arguments that were used only to select statements."""
        for name in self.fixed:
            variable = self.variables.variable(self.flow.parameters[name])
            said = [
                line
                for line in self.lines
                if variable and mentions_name(line.text, [variable.name])
            ]
            if len(said) == 1 and said[0].number == self.function.node.lineno:
                self.lines.remove(said[0])

    def _narrow_counters(self):
        """Counters of loops with small constant bounds have type int, as in handwritten C++."""
        for definition in (self.flow.definition(n) for n in self._loop_counters()):
            variable = self.variables.variable(definition)
            if variable is not None and self.variables.is_only_assignment(definition):
                if self.variables.types[definition] is types.int64:
                    if self.variables.narrow_type(definition, types.int32):
                        variable.cxx = types.int32

    def _loop_counters(self):
        for node in self.nodes:
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                call = node.iter
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "range":
                    yield node.target

    def _check_final_return(self):
        if self.result is not types.void and self.flow.ends_without_return:
            if self.declared_result is None and not isinstance(self.result, types.Empty):
                raise Problem(
                    self.function.node,
                    f"{self.function.name} returns {rules.describe_type(self.result)} in one branch, and returns no value in another branch",
                    "Return a value at the end of the function, too.",
                )

    # --- text

    def emit(self, text: str, node: ast.AST | None = None) -> None:
        line = getattr(node or self.at, "lineno", self.function.node.lineno)
        self.lines.append(CppLine(INDENT * self.depth + text, line))

    def unused_name(self, base: str) -> str:
        """Returns a name that is not used yet; the result is the same in each round."""
        count, name = 1, base
        taken = (self.names, self.taken, self.variables.names, self._fresh)
        while is_reserved(name) or any(name in names for names in taken):
            count += 1
            name = f"{base}_{count}"
        self._fresh.add(name)
        return name

    def define_name(self, name: str, value: Any) -> str:
        """Overrides the method of Expressions. A called function with the name of this function gets another
        name."""
        own = cxx_name(self.function.name)
        if cxx_name(name) == own and getattr(value, "function", None) is not self.function:
            name = f"other_{name}"
        return super().define_name(name, value)

    def is_used_name(self, name: str) -> bool:
        return any(name in names for names in (self.names, self.variables.names, self._fresh))

    # --- variables

    def is_local(self, name: str) -> bool:
        return name in self.flow.assigned

    def variable(self, node: Any) -> Any:
        value = self.variables.read_variable(node)
        if isinstance(value.type, types.Empty) and value.type.dtype is None:
            return value.replace(constant=None)
        return value

    def value_or_none(self, node: ast.expr) -> Value | None:
        try:
            return self.value(node)
        except TypeUnknown:
            return None

    # --- statements

    def block(self, statements: Any) -> None:
        before = self.value_ranges.save_state()
        for statement in statements:
            if statement not in self.flow.reached:
                break
            self.statement(statement)
            if ends_control_flow(statement):
                self.value_ranges.add_ranges(self, statement.test, False)
        self.value_ranges.restore_state(before)

    def emit_inner_block(self, statements: Any) -> None:
        self.depth += 1
        self.block(statements)
        self.depth -= 1

    def emit_block(self, statements: Any) -> None:
        """Writes a block that is always executed. The block has braces only if a second block has variables
        of the same names."""
        if not (
            statements
            and self.is_final
            and self.variables.has_name_clash(self.blocks.block_of(statements[0])[0])
        ):
            self.block(statements)
            return
        self.at = statements[0]
        self.emit("{")
        self.emit_inner_block(statements)
        self.close_block(statements[-1])

    def statement(self, node: Any) -> None:
        self.at = node
        if self.is_final:
            for variable in self.variables.hoisted_variables(*self.blocks.block_of(node)):
                self.write_declaration(variable)
        kind = type(node).__name__
        method = getattr(self, f"_{kind.lower()}_statement", None)
        if method is None:
            what, instead = _STATEMENTS.get(kind, (kind, "something simpler"))
            self.fail(node, f"{what} is not possible in a kernel", f"Write {instead}.")
        before = self.value_ranges.save_state()
        try:
            method(node)
        except TypeUnknown:
            if self.is_final:
                raise
            self.value_ranges.restore_state(before)
        except Problem as problem:
            problem.node = problem.node or node
            raise

    def _pass_statement(self, node):
        pass

    def _expr_statement(self, node):
        if isinstance(node.value, ast.Constant):
            return
        value = self.value(node.value)
        if value.calls:
            self.emit(f"{value.text};")
        elif isinstance(value.type, CompileTimeType) and callable(value.type.value):
            name = ast.unparse(node.value)
            self.fail(node, f"{name} is not called here", f"Write {name}().")

    def _assign_statement(self, node):
        value = self.value(node.value)
        if isinstance(value.type, Sequence):
            self.fail(
                node.value,
                f"{rules.describe_type(value.type)} cannot be assigned in a kernel",
                f"Write it in a loop: for ... in {ast.unparse(node.value)}: ...",
            )
        if (
            len(node.targets) > 1
            and not value.is_constant
            and self._may_change(value, node.targets)
        ):
            name = self.unused_name("value")
            if self.is_final:
                self.emit(f"const auto {name} = {value.text};")
            value = Value(value.type, name, cxx=value.cxx, range=value.range)
        for target in node.targets:
            self.bind_target(target, value)

    def _may_change(self, value, targets):
        """Returns whether an assignment to the targets would change the value."""
        return value.calls or value.loads or mentions_name(value.text, self._cxx_names(targets))

    def _annassign_statement(self, node):
        if node.value is not None:
            self.bind_target(node.target, self.value(node.value))

    def _augassign_statement(self, node):
        right = self.value(node.value)
        if isinstance(node.target, ast.Name):
            left = self.variable(node.target)
            result = self.binary(node, type(node.op), left, right)
            definition = self.variables.record_binding(node.target, result)
            if self.is_final and not isinstance(result.type, CompileTimeType):
                self.doubles.note_variable(
                    node, node.target, result.type, self._assigned_types(definition)
                )
                short = self._augmented_operator(node.op, left, right, result)
                variable = self.variables.variable(definition)
                if short and variable.name == left.text:
                    self.emit(f"{left.text} {short} {right.text};")
                else:
                    self.emit(self._write_binding(definition, node.target, result))
            return
        left = self.value(_as_load(node.target))
        result = self.binary(node, type(node.op), left, right)
        short = self._augmented_operator(node.op, left, right, result)
        if short and not isinstance(left.type, types.Array):
            self._check_writable(node.target)
            self.emit(f"{left.text} {short} {right.text};")
        else:
            self.bind_target(node.target, result)

    def _check_writable(self, target):
        if isinstance(target, ast.Subscript):
            base = self.value(target.value)
            if getattr(base.type, "readonly", False):
                self.fail(target, "the array is read-only in this kernel")

    def _augmented_operator(self, op, left, right, result):
        """Returns the C++ operator (such as ``+=``) that is equivalent to an augmented assignment, or
        None."""
        symbol = arithmetic.SYMBOLS.get(type(op), "")
        if symbol not in ("+", "-", "*", "/", "&", "|", "^", "<<", ">>"):
            return None
        if not is_number(left.type) or left.cxx != left.type:
            return None
        if is_complex(right.type) and not is_complex(left.type):
            return None
        expected = arithmetic.operand_texts(left, symbol, right)
        if result.text not in expected and not (is_integral(left.type) and is_integral(right.type)):
            return None
        if symbol == "/" and is_integral(left.type):
            return None
        if symbol in ("<<", ">>") and left.type != result.type:
            return None
        return f"{symbol}="

    def _if_statement(self, node):
        test = self.condition_value(node.test)
        if test.is_constant:
            self.decided[node] = bool(test.constant)
            self.emit_block(node.body if test.constant else node.orelse)
            return
        self.decided.pop(node, None)
        self.emit(f"if ({test.text}) {{")
        before = self.value_ranges.save_state()
        self._emit_branch(node)
        while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            following = node.orelse[0]
            if self.is_final and self.variables.hoisted_variables(*self.blocks.block_of(following)):
                break
            test = self.condition_value(following.test)
            if test.is_constant:
                break
            node = following
            self.at = node
            self.emit(f"}} else if ({test.text}) {{")
            self._emit_branch(node)
        if node.orelse:
            self.emit("} else {", _previous_line(node.orelse[0]))
            self.emit_inner_block(node.orelse)
        self.value_ranges.restore_state(before)
        self.close_block((node.orelse or node.body)[-1])

    def _emit_branch(self, node):
        """Writes the body of an ``if``, and returns the value ranges for its ``else`` block."""
        before = self.value_ranges.save_state()
        self.value_ranges.add_ranges(self, node.test, True)
        self.emit_inner_block(node.body)
        self.value_ranges.restore_state(before)
        self.value_ranges.add_ranges(self, node.test, False)

    def close_block(self, last: Any, text: str = "}") -> None:
        """Writes the closing brace of a block with this last statement. The line number is 0, because no
        Python line corresponds to the closing brace."""
        self.lines.append(CppLine(INDENT * self.depth + text, -(last.end_lineno or last.lineno)))

    def _while_statement(self, node):
        loops.translate_while(self, node)

    def _for_statement(self, node):
        loops.translate_for(self, node)

    def _break_statement(self, node):
        loop = self.loops[-1]
        if loop.flag:
            self.emit(f"{loop.flag} = true;")
        self.emit("break;")

    def _continue_statement(self, node):
        self.emit("continue;")

    def _return_statement(self, node):
        value = Value(types.void) if node.value is None else self.value(node.value)
        value = subscripts.constant_element(value)
        if isinstance(value.type, types.Empty) and value.type.dtype is None:
            value = Value(types.void)
        t = rules.stored_type(value.type)
        if isinstance(t, CompileTimeType):
            self.fail(node, f"{rules.describe_type(t)} cannot be returned")
        if value.type is types.void and value.calls:
            self.emit(f"{value.text};")
        if self.declared_result is None and self.result is not None and self.result != t:
            joined = rules.unified_type(self.result, t)
            if joined is None:
                here, there = (
                    "None" if r is types.void else rules.describe_type(r) for r in (t, self.result)
                )
                self.fail(
                    node, f"{self.function.name} returns {here} here, and {there} elsewhere: the two have no "
                    "type in common",
                    "Return a number that stands for None, such as -1." if "None" in (here, there) else "",
                )  # fmt: skip
            t = joined
        if self.declared_result is None:
            self.result = t
        if self.result is types.void:
            if t is not types.void:
                self.fail(
                    node,
                    "a kernel returns nothing: it must have void return type",
                    "Store the value into an array.",
                )
            self.emit("return;")
        else:
            self.emit(f"return {self.initializer_text(value, self.result)};")

    def _assert_statement(self, node):
        test, args = self.condition_value(node.test), ()
        text = "false" if test.is_constant and not test.constant else test.text
        if node.msg is not None:
            args = self._exception_args([node.msg])
            text = f"{test.text_at(AND)} && {string_literal(str(args[0]))}"
        self.session.exceptions[text] = fault.RaisedException(
            self.function.name, AssertionError, args
        )
        self.emit(f"assert({text});")

    def _raise_statement(self, node):
        """Translates `raise`. The exception and its arguments are known at compile time; the host raises the
        exception (fault.py)."""
        given, args = node.exc, ()
        if isinstance(given, ast.Call):
            given, args = given.func, self._exception_args([*given.args, *given.keywords])
        exception = self.value(given).constant if given is not None else None
        if isinstance(exception, BaseException):
            exception, args = type(exception), exception.args
        if not isinstance(exception, type) or not issubclass(exception, BaseException):
            self.fail(
                node,
                "what a kernel raises is an exception by its name",
                'Write raise ValueError("text").',
            )
        self.emit(f"NUMBALITE_RAISE({string_literal(self.may_raise(exception, args))});")

    def may_raise(self, kind: type, args: tuple) -> str:
        """Returns the C++ text that identifies an exception; the host uses this text to raise the
        exception."""
        text = ": ".join([kind.__name__, *map(str, args[:1])])
        self.session.exceptions[text] = fault.RaisedException(self.function.name, kind, args)
        return text

    def _exception_args(self, nodes):
        values = [(node, self.value(node)) for node in nodes if not isinstance(node, ast.keyword)]
        for node in nodes:
            if isinstance(node, ast.keyword) or not self.value(node).is_constant:
                self.fail(
                    node, "the arguments of an exception must be known when compiling",
                    "Write a text; printf can print a number before.",
                )  # fmt: skip
        return tuple(value.constant for _, value in values)

    def _functiondef_statement(self, node):
        self.variables.record_binding(node, self._nested_function_value(node))

    # --- calls of other functions

    def _lambda(self, node):
        return self._nested_function_value(node)

    def _nested_function_value(self, node):
        """Returns the Value of a nested function. The outer variables that a nested function reads are passed
        in each call. Each outer variable has only one assignment, so the time of the read does not matter."""
        free = {part.id: part for part in free_names(node) if self.is_local(part.id)}
        for name, part in free.items():
            if not self.flow.is_bound_once(name):
                self.fail(
                    part, f"a function in a kernel cannot use {name}, which is assigned more than once",
                    "Pass it as an argument.",
                )  # fmt: skip
        name = self.at.targets[0] if isinstance(self.at, ast.Assign) else None
        is_named = isinstance(name, ast.Name) and self.at.value is node
        function = self.session.nested_function(
            node, self.function, tuple(free.values()), name.id if is_named else None
        )
        return Value(CompileTimeType(function), constant=function)

    def _namedexpr(self, node):
        value = self.value(node.value)
        definition = self.variables.record_binding(node.target, value)
        if isinstance(value.type, CompileTimeType) or not self.is_final:
            return value
        variable = self.variables.variable(definition)
        stored = self.variables.web_type(definition.web)
        text = f"({variable.name} = {self.initializer_text(value, stored)})"
        return Value(value.type, text, cxx=variable.cxx or stored, range=value.range, calls=True)

    def call_function(self, node: Any, function: Any, args: Any, keywords: Any) -> Any:
        return self.session.call(self, node, function, args, keywords)

    def _ifexp(self, node):
        """In a recursive function, first translates the branch without the recursive call."""
        test = self.condition_value(node.test)
        if test.is_constant or self.is_final:
            return super()._ifexp(node)
        branches, before = [], self.value_ranges.save_state()
        for branch in (node.body, node.orelse):
            try:
                branches.append(self.value_under_condition(node.test, branch is node.body, branch))
            except TypeUnknown as unknown:
                missing = unknown
                self.value_ranges.restore_state(before)
        if not branches:
            raise missing
        return self.choice(node, test, branches[0], branches[-1])

    def binary(self, node: Any, op: type, left: Value, right: Value) -> Value:
        if self.session.debug and op in (ast.Div, ast.FloorDiv, ast.Mod) and _may_be_zero(right):
            self.may_raise(ZeroDivisionError, ("division by zero",))
            right = right.replace(
                text=f"NUMBALITE_DIVISOR({right.text})", precedence=PRIMARY, calls=True
            )
        found = super().binary(node, op, left, right)
        if self.is_final and found.type is types.float64:
            self._note_double(node, left, right)
        return found

    def _note_double(self, node, left, right):
        operands = (getattr(node, "left", None), left), (getattr(node, "right", None), right)
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            self.doubles.note_operation(node, left, right)
        literal = [
            n for n, v in operands if isinstance(n, ast.Constant) and isinstance(n.value, float)
        ]
        if literal and types.float32 in (left.type, right.type):
            self.session.note_double(self.function, literal[0])


def _may_be_zero(value):
    if not is_number(value.type) or (value.is_constant and value.constant):
        return False
    return not is_integral(value.type) or value.range[0] <= 0 <= value.range[1]


def _as_load(target):
    """Returns a copy of an assignment target as an expression that reads the target."""
    kind = type(target)
    fields = {**{f: getattr(target, f) for f in target._fields}, "ctx": ast.Load()}
    return ast.copy_location(kind(**fields), target)


def _previous_line(node):
    return ast.Pass(lineno=max(node.lineno - 1, 1), col_offset=0)


__all__ = ["Translation", "Translator"]
