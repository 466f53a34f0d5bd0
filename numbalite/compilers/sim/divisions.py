"""Inserts operators before divisors that may be zero, because g++ assumes that no division by zero happens.

``a / b`` becomes ``a / by->* b`` and ``a /= b`` becomes ``a /= by = b``, where cuda_src/sim/division.h
defines ``by`` and its operators. The inserted operator binds to the divisor alone. The precedence is unchanged,
and the operand types select the operator.

Divisions by nonzero literals, divisions in macros that #if uses, and all divisions of some translation units
remain unchanged. The operator could have another meaning in a translation unit with pointers to members, with
bit-fields, which are promoted by width, or with templates of the operators `/` and `%`, whose parameters would
deduce the divisor's type.
"""

from __future__ import annotations

import re

from numbalite.cxx import scanner

_DIVISION = re.compile(r"[/%](?![/*])")
_STRANGE = re.compile(
    r"(?:(?<![\d.])\.|->)\*(?!/)"
    r"|\btemplate\s*<[^;{}]*\boperator\s*[/%]"
    r"|\b(?!(?:case|goto|struct|class|enum)\b)\w+\s+\w+\s*:(?!:)\s*\w+\s*[;,]"
)
_MARK = re.compile(r" ::numbalite_sim::by(?: =|->\*) ")
_ZERO = re.compile(r"0[xXbB]?[0']*[uUlLzZ]*")
_BEFORE = frozenset(("operator", "(", ",", "[", "<", "...", "&", ""))
_UNARY = frozenset(("(", "+", "-", "!", "~", "*", "&", "::"))
_PRINTED = frozenset(("assert", "static_assert", "_Static_assert"))


def unmarked_macros(texts) -> frozenset | None:
    """Returns the macros of a unit (its source and headers) whose divisions are not marked. Returns None if
    no division of the unit is marked."""
    if not any(_DIVISION.search(text) for text in texts):
        return None
    asked: set[str] = set()
    uses: dict[str, set] = {}
    for text in texts:
        if _STRANGE.search(text) and _STRANGE.search(scanner.blank_comments(text)):
            return None
        if "#" not in text:
            continue
        for token in scanner.tokenize(text):
            if token.kind == "directive":
                word, own, names = scanner.directive_names(token.text)
                if word in ("if", "elif"):
                    asked.update(names)
                elif word == "define" and own:
                    uses.setdefault(own[0], set()).update(names)
    todo = list(asked)
    while todo:
        new = uses.get(todo.pop(), set()) - asked
        asked |= new
        todo += new
    return frozenset(asked)


def has_divisions(text: str) -> bool:
    """Returns whether a text may contain divisions to mark."""
    return _DIVISION.search(text) is not None


def division_edits(tokens, partner):
    """Yields (position, text to insert) for the tokens of a source or of a macro's body."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.text in _PRINTED and at + 1 in partner:  # it shows its text
            at = partner[at + 1]
        elif token.kind == "sign" and token.text in ("/", "%"):
            assigns = _is_followed_by(tokens, at, "=")
            if _may_divide_by_zero(tokens, at, at + 1 + assigns):
                yield (
                    token.start + 1 + assigns,
                    f" ::numbalite_sim::by{' =' if assigns else '->*'} ",
                )
        at += 1


def remove_division_marks(text: str) -> str:
    """Returns a text without its marks."""
    return _MARK.sub("", text)


def marker_line_without_marks(line: str, below: str) -> str:
    """Converts a compiler's marker line (~~^~~) for a source line with marks to the line without marks."""
    tokens = scanner.tokenize(line)
    for place, mark in division_edits(tokens, scanner.match_brackets(tokens)):
        below = below[:place] + below[place + len(mark) :]
    return below


def _is_followed_by(tokens, at, *signs):
    """Returns whether one of the given punctuators follows a token immediately."""
    after = tokens[at + 1] if at + 1 < len(tokens) else None
    return after is not None and after.start == tokens[at].start + 1 and after.text in signs


def _may_divide_by_zero(tokens, at, right):
    """Returns whether the divisor, which begins at token `right`, may be zero."""
    before = tokens[at - 1].text if at else ";"
    if before in _BEFORE or right >= len(tokens):
        return False
    if tokens[at].text == "%" and _is_followed_by(tokens, at, ">", ":"):  # digraphs
        return False
    divisor = tokens[right]
    if divisor.kind == "number":
        return _ZERO.fullmatch(divisor.text) is not None
    if divisor.kind in ("name", "char"):
        return divisor.text != "sizeof"
    return divisor.kind == "sign" and divisor.text in _UNARY
