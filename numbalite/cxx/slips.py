"""Slips: C++ that compiles and probably is not what its author intended, found in the tokens of a source.

Compilers report some slips; each compiler reports other ones, and NVRTC the fewest: `1/2 * x`, `i^2` and
`x[-1]` are valid C++. So the tokens are searched here, in the same way for every target. Slips that depend on
types of expressions (printf's arguments, an unsigned difference compared with zero) are found by compilers:
`numbalite/compilers/slipwarnings.py` reads their warnings and replaces the texts.

Only the lines of the user's files are searched, outside of #if, because code in a false branch is not compiled.
A doubtful case is not reported; the rules (slip_operators.py, slip_statements.py, slip_values.py) list these
cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite.cxx import slip_operators, slip_statements, slip_values
from numbalite.cxx.advice import advice

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numbalite.cxx.slip import Lines, Slip
    from numbalite.cxx.slip_search import Refused


LONGEST = 500_000
"""Maximum length of a source that is searched: longer ones are generated."""


def find(text: str, users: Iterable[Lines], std: str = "c++17") -> tuple[list[Slip], list[Refused]]:
    """Returns the slips in the user's C++ lines of a source, and errors."""
    users = [lines for lines in users if not lines.is_python]
    if not users or len(text) > LONGEST:
        return [], []
    try:
        found = _Finder(text, users, std)
        found.search()
    except RecursionError:  # deeply nested statements: generated code
        return [], []
    return found.found(), found.refused


class _Finder(slip_operators.Operators, slip_statements.Statements, slip_values.Values):
    def search(self):
        for at, token in enumerate(self.code.tokens):
            if token.kind == "number" and token.text[0] == "0" and self.is_users(at):
                self.octal(at)
            elif token.kind == "sign":
                rule = slip_operators.RULES.get(token.text)
                if rule is not None and self.is_users(at):
                    rule(self, at)
                for other in slip_values.RULES.get(token.text, ()):
                    if self.is_users(at):
                        other(self, at)
        for body in self.bodies:
            for statement in body.block.walk():
                rule = slip_statements.RULES.get(statement.kind)
                if rule is not None and self.is_users(statement.first):
                    rule(self, statement)
                for other in slip_values.STATEMENTS.get(statement.kind, ()):
                    if self.is_users(statement.first):
                        other(self, statement)
            self.unset(body)
        for line, sentence in advice(self.text):
            if self.searched[line]:
                self.add_line("advice", line, sentence)
