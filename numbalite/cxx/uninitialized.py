"""Finds local C++ variables that are read uninitialized: never set, or set on one branch only.

The compilers' own analyses differ: NVRTC ignores branches, g++ assumes a value for an uninitialized
variable, and clang++ also reports uses on paths that may never be executed. This module reports variables of
number or pointer type that are never set before they are read. A variable that one branch of an `if` sets is
reported if every run that takes the other branch reads the variable: the read follows the `if`
unconditionally in the same block. Loops are assumed to run at least once. A variable is ignored as soon as
its address is used, a function or a lambda receives it, or inline assembly contains it. Functions with `goto`
are ignored.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numbalite.cxx.scanner import TYPE_WORDS
from numbalite.types.keywords import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numbalite.cxx.statements import FunctionBody, Statement, TokenizedCode

_NUMBERS = frozenset(
    """bool char short int long signed unsigned float double int8 int16 int32 int64 uint8 uint16 uint32 uint64
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t float32 float64 uint""".split()
)
_QUALIFIERS = frozenset(("const", "volatile", "register", "std", "::"))
_ADDS = frozenset(("+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", "++", "--"))
_GIVEN_UP = frozenset(("goto", "asm", "__asm__", "__asm", "setjmp", "try"))
_MAX_VARIABLES = 100
"""Maximum number of variables per function: a function with more is generated."""
_LEAVING = frozenset(("return", "break", "continue", "throw", "exit"))
_ENDING = re.compile(r"abort|unreachable|trap|fatal|panic|terminate|throw|fail|unsupported", re.I)
_ASSERTING = re.compile(r"assert|check|require", re.I)
_UNEVALUATED = frozenset(("sizeof", "decltype", "alignof", "typeof", "noexcept"))


class UninitializedRead(NamedTuple):
    """A read of an uninitialized variable."""

    at: int
    """The index of the token that reads it."""
    name: str
    branch: Statement | None
    """The `if` of which only one branch sets it; None: nothing sets it before."""


def find_uninitialized_reads(
    code: TokenizedCode, body: FunctionBody
) -> Iterator[UninitializedRead]:
    """Yields the first uninitialized read of each variable of a body."""
    words = {code.text(at) for at in range(body.block.first, body.block.last)}
    if words & _GIVEN_UP:
        return
    count = 0
    for block in body.block.walk_statements():
        if block.kind != "block":
            continue
        for position, part in enumerate(block.parts):
            for name in _declared_without_value(code, part):
                count += 1
                if name in code.in_macros or count > _MAX_VARIABLES:
                    continue
                found = _VariableState(code, name).find_read(block.parts[position + 1 :])
                if found is not None:
                    yield found


def _declared_without_value(code, statement):
    """Yields the names that a statement declares without a value, of number and pointer types."""
    if statement.kind != "plain":
        return
    at, last = statement.first, statement.last - 1
    is_number = False
    while at < last and (code.text(at) in _NUMBERS or code.text(at) in _QUALIFIERS):
        is_number |= code.text(at) in _NUMBERS
        at += 1
    if not is_number or code.text(last) != ";":
        return
    while at < last:
        while code.text(at) in ("*", "const", "__restrict__"):
            at += 1
        token = code.tokens[at]
        if token.kind != "name" or token.text in KEYWORDS:
            return
        after = code.text(at + 1)
        if token.text in _NUMBERS:
            return
        if after in (",", ";"):
            yield token.text
        at += 1
        while at < last and code.text(at) != ",":
            if code.text(at) == "<":
                return  # the next comma may belong to a template
            at = code.index_after(at)
        at += 1


class _StopFollowing(Exception):
    """Raised if the variable may have a value from this point on, so that the analysis ends."""


class _VariableState:
    """Follows one variable through the statements: unset, set, or set in one branch (of the stored `if`)."""

    def __init__(self, code, name):
        self.code, self.name = code, name
        self.branch = None
        self.found = None
        self.loops = self.conditions = 0  # enclosing loops

    def find_read(self, statements):
        """Returns the first UninitializedRead, or None."""
        try:
            self._follow_statements(statements)
        except _StopFollowing:
            pass
        return self.found

    def _mentions_variable(self, first, last):
        return any(self.code.text(at) == self.name for at in range(first, last))

    def _follow_statements(self, statements) -> bool:
        """Follows statements. Returns True if the variable is set after the statements, or if the code after
        them is unreachable."""
        for statement in statements:
            if self._follow_statement(statement):
                return True
        return False

    def _follow_statement(self, statement) -> bool:
        code, kind = self.code, statement.kind
        if not self._mentions_variable(statement.first, statement.last):
            if self.branch is not None and any(
                map(_is_leaving_jump(code), statement.walk_statements())
            ):
                raise _StopFollowing  # the loop's body may not run: the variable may be unset
            return _always_leaves(code, statement)
        if kind == "block":
            if any(self.name in _declared_names(code, part) for part in statement.parts):
                raise _StopFollowing  # another variable of this name
            return self._follow_statements(statement.parts)
        if kind == "if":
            return self._follow_if(statement)
        if kind in ("for", "while"):
            return self._follow_loop(statement)
        if kind == "do":
            return self._follow_statements(statement.parts) or self._follow_expression(
                *(statement.head or (0, 0))
            )
        if kind in ("switch", "label"):
            raise _StopFollowing
        return self._follow_expression(statement.first, statement.last) or _always_leaves(
            code, statement
        )

    def _follow_if(self, statement):
        if self._follow_expression(*statement.head):
            return True
        before = self.branch
        sides, is_partly = [], False
        for part in statement.parts:
            self.branch = before
            sides.append(self._follow_branch(part))
            is_partly |= self.branch is not before
        if len(sides) == 2 and all(sides):
            return True
        self.branch = before
        if any(sides) or is_partly:
            if self._may_be_constant(statement):
                raise _StopFollowing
            self.branch = statement
        return False

    def _follow_branch(self, part):
        """Follows a branch that may not be executed. Stops without a report if this branch uses a variable
        that an earlier branch sets, because both branches may have the same condition."""
        if self.branch is not None and self._mentions_variable(part.first, part.last):
            raise _StopFollowing
        self.conditions += 1
        is_set = self._follow_statement(part)
        self.conditions -= 1
        return is_set

    def _may_be_constant(self, statement):
        """Returns whether the condition may be a constant: a template parameter, a macro, a number of the
        Python scope."""
        first, last = statement.head
        if self.code.text(first - 2) == "constexpr" or last - first == 1:
            return True
        names = {t.text for t in self.code.tokens[first:last] if t.kind == "name"}
        return all(name.isupper() or name in self.code.constants for name in names)

    def _follow_loop(self, statement):
        first, last = statement.head
        if statement.kind == "while":
            if self._follow_expression(first, last):
                return True
        else:
            stops = [
                at for at in self.code.top_level_tokens(first, last) if self.code.text(at) == ";"
            ]
            if len(stops) != 2:
                raise _StopFollowing  # over the elements of something
            if any(
                self._follow_expression(a, b) for a, b in ((first, stops[0]), (stops[0], stops[1]))
            ):
                return True
        if self.branch is not None:
            raise _StopFollowing
        self.loops += 1
        is_set = self._follow_statements(statement.parts)
        self.loops -= 1
        if is_set:
            return True
        if self.branch is not None:
            raise _StopFollowing  # another iteration may set it
        return False

    def _follow_expression(self, first, last) -> bool:
        """Follows an expression or a declaration. Returns True if the expression or declaration sets the
        variable."""
        code = self.code
        uses = [at for at in range(first, last) if code.text(at) == self.name]
        uses = [at for at in uses if code.text(at - 1) not in (".", "->", "::")]
        for at in uses:
            before, after = code.text(at - 1), code.text(at + 1)
            if after == "=" and not self._is_under_condition(first, at):
                # The right side is evaluated first, as in s = s + 1
                inside = range(at + 2, self._end_of_right_side(at + 2, last))
                right = [use for use in uses if use in inside]
                if right and not any(self._may_be_set_by_use(at, use) for use in right):
                    self._report_read(right[0])
                return True
            if after == "=":
                raise _StopFollowing
            if (
                after in ("<<", "(", ".", "->")
                or (code.text(at - 2) == before == ">")
                or (before in ("&", "&&") and not self._is_operand(at - 2))
            ):
                raise _StopFollowing
            if self._may_be_set_by_use(first, at) or self._is_under_condition(first, at):
                raise _StopFollowing
            self._report_read(at)
        return False

    def _end_of_right_side(self, at, last):
        """Returns the token index after the right side of an assignment that begins at `at`."""
        while at < last and self.code.text(at) not in (",", ";", ")", "]", "}", "="):
            at = self.code.index_after(at)
        return at

    def _is_operand(self, at):
        """Returns whether an operand ends at this token, so that a following `&` is a binary operator."""
        token = self.code.tokens[at]
        return (
            token.kind in ("name", "number", "char") and token.text not in KEYWORDS
        ) or token.text in (")", "]")

    def _may_be_set_by_use(self, first, at):
        """Returns whether the use is in the arguments of a call, in braces, in a lambda, or unevaluated. A
        call may set a variable that is passed by reference."""
        code, depth = self.code, at
        while depth > first:
            depth -= 1
            if depth in code.partner and code.partner[depth] < depth:
                depth = code.partner[depth]
                continue
            text = code.text(depth)
            if text == "{":
                return True
            if text == "(" and code.partner.get(depth, 0) > at:
                name = code.tokens[depth - 1]
                if name.text in _UNEVALUATED or name.text == ">":
                    return True
                if (
                    name.kind == "name"
                    and name.text not in KEYWORDS
                    and name.text not in TYPE_WORDS
                ):
                    return True
                if name.text == "]":
                    return True  # a lambda's parameter
        return code.text(at - 1) == "sizeof"

    def _is_under_condition(self, first, at):
        """Returns whether an earlier part of the expression decides whether the use is evaluated."""
        code = self.code
        return any(code.text(i) in ("&&", "||", "?") for i in range(first, at))

    def _report_read(self, at):
        """Reports a read, unless an earlier iteration of a loop may have set the variable: a read under a
        condition, or in an inner loop, may belong to a later iteration."""
        adds = self.code.text(at + 1) in _ADDS or self.code.text(at - 1) in ("++", "--")
        if self.loops and (self.conditions or self.branch or (self.loops > 1 and not adds)):
            raise _StopFollowing
        self.found = UninitializedRead(at, self.name, self.branch)
        raise _StopFollowing


def _is_leaving_jump(code):
    return lambda statement: (
        statement.kind == "plain"
        and (code.text(statement.first) in _LEAVING or ends_thread(code, statement.first))
    )


def ends_thread(code, at):
    """Returns whether a call ends the thread, by its name or as a failed assertion: std::abort(),
    assert(false)."""
    while code.text(at + 1) == "::" or code.text(at) == "::":
        at += 1 if code.text(at) == "::" else 2
    name = code.tokens[at]
    if name.kind != "name" or code.text(at + 1) != "(":
        return False
    if _ENDING.search(name.text):
        return True
    is_false = code.text(at + 2) in ("false", "0") and code.text(at + 3) in (")", ",", "&&")
    is_text = code.text(at + 2) == "!" and code.tokens[at + 3].kind == "string"
    return (is_false or is_text) and _ASSERTING.search(name.text) is not None


def _always_leaves(code, statement):
    """Returns whether the code after a statement is unreachable."""
    if statement.kind == "block":
        return any(_always_leaves(code, part) for part in statement.parts)
    if statement.kind == "if":
        return len(statement.parts) == 2 and all(
            _always_leaves(code, part) for part in statement.parts
        )
    return _is_leaving_jump(code)(statement)


def _declared_names(code, statement):
    """Returns the names that a plain statement may declare, with or without a value."""
    if statement.kind != "plain" or statement.last - statement.first < 3:
        return ()
    first, second = code.tokens[statement.first], code.tokens[statement.first + 1]
    if first.kind != "name" or (second.kind != "name" and second.text not in ("*", "&", "::", "<")):
        return ()
    if first.text in ("return", "throw", "delete", "case"):
        return ()
    names = set()
    for at in code.top_level_tokens(statement.first, statement.last):
        token = code.tokens[at]
        if token.kind == "name" and code.text(at + 1) in ("=", ";", ",", "[", "(", "{"):
            names.add(token.text)
    return names
