"""Slips: probable mistakes in C++ that compiles, found in the tokens of a source.

No compiler reports all of these mistakes, because `1/2 * x`, `i^2` and `x[-1]` are valid C++. The reported
mistakes differ between compilers; NVRTC reports the fewest. This module therefore searches the tokens,
independent of the compiler. Mistakes that depend on types of expressions (printf's arguments, an unsigned
difference compared with zero) are found by compilers: `numbalite/compilers/slipwarnings.py` reads their
warnings and replaces the texts.

Only the lines of the user's files are searched, outside of #if, because code in a false branch is not compiled.
Doubtful cases are not reported; the rules (slip_operators.py and similar modules) list these cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite.cxx import slip_loops, slip_operands, slip_operators, slip_statements, slip_values
from numbalite.cxx.advice import find_advice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numbalite.cxx.slip import LineRange, Slip
    from numbalite.cxx.slip_search import WrongIndexCount


LONGEST = 500_000
"""Maximum length of a source that is searched: longer ones are generated."""


def find_slips(
    text: str, users: Iterable[LineRange], std: str = "c++17"
) -> tuple[list[Slip], list[WrongIndexCount]]:
    """Returns the probable mistakes in the user's C++ lines of a source, and errors."""
    users = [lines for lines in users if not lines.is_python]
    if not users or len(text) > LONGEST:
        return [], []
    try:
        found = _MistakeFinder(text, users, std)
        found.find_mistakes()
    except RecursionError:  # deeply nested statements: generated code
        return [], []
    return found.sorted_warnings(), found.refused


_OPERATORS = (slip_values.RULES, slip_operands.RULES)
_ONE_STATEMENT = (slip_statements.RULES, slip_loops.RULES, slip_operands.STATEMENTS)


class _MistakeFinder(
    slip_operators.OperatorRules,
    slip_statements.StatementRules,
    slip_values.ValueRules,
    slip_loops.LoopRules,
    slip_operands.OperandRules,
):
    def find_mistakes(self):
        for at, token in enumerate(self.code.tokens):
            if token.kind == "number" and self.is_user_code(at):
                self.check_octal(at)
                self.check_literal(at)
            elif token.kind == "sign":
                rule = slip_operators.RULES.get(token.text)
                if rule is not None and self.is_user_code(at):
                    rule(self, at)
                for rules in _OPERATORS:
                    for other in rules.get(token.text, ()):
                        if self.is_user_code(at):
                            other(self, at)
        for body in self.function_bodies:
            for statement in body.block.walk_statements():
                if not self.is_user_code(statement.first):
                    continue
                for rules in _ONE_STATEMENT:
                    rule = rules.get(statement.kind)
                    if rule is not None:
                        rule(self, statement)
                for other in slip_values.STATEMENTS.get(statement.kind, ()):
                    other(self, statement)
            self.check_uninitialized(body)
            self.check_missing_return(body)
        self.check_macros()
        for line, sentence in find_advice(self.text):
            if self.searched[line]:
                self.add_line("advice", line, sentence)
