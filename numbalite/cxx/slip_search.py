"""Contains the search state for the rules of cxx/slips.py: the tokens of a source, the user's lines,
operands, and declarations."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from typing import NamedTuple

from numbalite.cxx import linemap, scanner
from numbalite.cxx.scanner import TYPE_WORDS
from numbalite.cxx.slip import LineRange, Slip
from numbalite.cxx.statements import TokenizedCode
from numbalite.types.keywords import KEYWORDS

ASSIGNMENTS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="))
COMPARISONS = frozenset(("==", "!=", "<", ">", "<=", ">="))
FLOAT_TYPES = frozenset(("float", "double", "float32", "float64"))
INTEGER_TYPES = frozenset(
    """int long short unsigned char int8 int16 int32 int64 uint8 uint16 uint32 uint64 int32_t int64_t uint32_t
    uint64_t size_t""".split()
)
_BEGIN = frozenset((",", ";", "&&", "||", "?", ":", "return", "{", "}", "(", "[", *ASSIGNMENTS))
_END = frozenset((",", ";", "&&", "||", "?", ":", ")", "]", "}", "{", *ASSIGNMENTS))
_FAR = 400  # operands and operators
INTEGER = re.compile(r"(0|[1-9][\d']*)")
LITERAL = re.compile(r"(?P<value>0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)(?P<suffix>[uUlLzZ]*)")


class WrongIndexCount(NamedTuple):
    """A finding that is an error instead of a warning: a wrong number of indices."""

    file: str
    line: int
    text: str
    shown: str


class MistakeSearch:
    """The tokens of a source, and the probable mistakes found in them."""

    def __init__(self, text, users, std):
        tokens = scanner.tokenize(text)
        self.code = TokenizedCode(tokens)
        self.std = std
        self.text = text
        self.lines = text.split("\n")
        self.starts = list(itertools.accumulate((len(line) + 1 for line in self.lines), initial=0))
        self.places = linemap.line_positions(text)
        conditional = _conditional_lines(tokens, len(self.lines))
        spans: dict[str, list[LineRange]] = {}
        for span in users:
            spans.setdefault(span.file, []).append(span)
        self.searched = [
            not skipped and any(span.contains_line(*place) for span in spans.get(place[0], ()))
            for place, skipped in zip(self.places, conditional, strict=True)
        ]
        self.conditional = conditional
        self.slips: list[Slip] = []  # of whole lines
        self.refused: list[WrongIndexCount] = []
        self._added: dict[
            Slip, set
        ] = {}  # the warnings found in tokens -> the source lines of each
        self.values = _constants(self.code)
        self._declared: dict[int, dict] = {}
        self.exchanging: dict[int, bool] = {}
        self.targets = {b.text for a, b in itertools.pairwise(self.code.tokens) if a.text == "goto"}
        self.function_bodies = list(self.code.function_bodies())
        self._starts = [body.block.first for body in self.function_bodies if not body.is_lambda]
        self._outer = [body for body in self.function_bodies if not body.is_lambda]

    def line_of(self, at):
        return self.places[self.code.tokens[at].line]

    def is_user_code(self, at):
        if not 0 <= at < len(self.code.tokens):
            return False
        return self.searched[self.code.tokens[at].line]

    def source_line_with_caret(self, at):
        token = self.code.tokens[at]
        return line_with_caret(self.lines[token.line], token.start - self.starts[token.line])

    def add(self, kind, at, text):
        file, line = self.line_of(at)
        slip = Slip(file, line, kind, text, self.source_line_with_caret(at))
        self._added.setdefault(slip, set()).add(self.code.tokens[at].line)

    def sorted_warnings(self):
        """Returns the list of warnings; each message occurs once per line. A function's lines occur once for
        each signature. A warning that does not apply to all signatures is dropped, because the line is right
        for some types."""
        found: dict[tuple, Slip] = {}
        if self._added:
            copies = linemap.count_copies(self.text)
            for slip, lines in self._added.items():
                if len(lines) >= copies[(slip.file, slip.line), self.lines[min(lines)]]:
                    found.setdefault(slip[:4], slip)
        return sorted([*found.values(), *self.slips], key=lambda slip: (slip.file, slip.line))

    def add_line(self, kind, line, text):
        """Adds a slip of a whole line."""
        self.slips.append(Slip(*self.places[line], kind, text, self.lines[line].strip()))

    def body_of(self, at):
        """Returns the Body of the function that contains a token."""
        found = bisect_right(self._starts, at) - 1
        if found < 0 or self._outer[found].block.last <= at:
            return None
        return self._outer[found]

    def operand_start(self, at):
        """Returns the index of the first token of the operand that ends at `at`."""
        code = self.code
        while at >= 0:
            token = code.tokens[at]
            if token.text in (")", "]") and at in code.partner:
                at = code.partner[at] - 1
                if at >= 0 and (
                    (code.tokens[at].kind == "name" and code.text(at) not in KEYWORDS)
                    or code.text(at) in (")", "]")
                ):
                    continue
                return at + 1
            if token.kind in ("name", "number", "char"):
                if code.text(at - 1) in (".", "->", "::"):
                    at -= 2
                    continue
                return at
            return at + 1
        return 0

    def operand_end(self, at):
        """Returns the token index after the operand that begins at `at`."""
        code = self.code
        while code.text(at) in ("-", "+", "!", "~", "*", "&"):
            at += 1
        if code.text(at) == "(":
            at = code.index_after(at)
            if at < len(code.tokens) and code.tokens[at].kind in ("name", "number"):
                return self.operand_end(at)  # a cast
        else:
            at += 1
        while code.text(at) in ("[", "(", ".", "->", "::", "++", "--"):
            at = (
                code.index_after(at)
                if code.text(at) in ("[", "(")
                else at + 1 + (code.text(at) in (".", "->", "::"))
            )
        return at

    def arguments(self, at):
        """Returns a list with the token range (first, last) of each argument of the call whose bracket is at `at`."""
        code, closing = self.code, self.code.partner.get(at, 0)
        if closing <= at + 1:
            return []
        commas = [i for i in code.top_level_tokens(at + 1, closing) if code.text(i) == ","]
        return list(zip([at + 1, *(i + 1 for i in commas)], [*commas, closing]))

    def segment_around(self, at):
        """Returns (first, last) of the tokens around a token, delimited by a comma, semicolon, bracket,
        assignment, && or ||. Both indices are `at` if the delimiter is far away, as in generated text."""
        code = self.code
        first, count = at, 0
        while first > 0 and code.text(first - 1) not in _BEGIN:
            before = first - 1
            is_closing = code.text(before) in (")", "]") and before in code.partner
            first = code.partner[before] if is_closing else before
            count += 1
            if count > _FAR:
                return at, at
        last = at
        while last < len(code.tokens) and code.text(last) not in _END:
            last = code.index_after(last)
            count += 1
            if count > _FAR:
                return at, at
        return first, last

    def declarations(self, body):
        """Returns {name: indices of the tokens that may declare it}, for a body and its parameters. A token may
        declare a name if the token before it may be a type."""
        found = self._declared.get(body.block.first)
        if found is None:
            code, found = self.code, {}
            for at in (*range(*body.parameters), *range(body.block.first, body.block.last)):
                token, before = code.tokens[at], code.tokens[at - 1]
                is_type = before.text in TYPE_WORDS or before.text not in KEYWORDS
                if token.kind == before.kind == "name" and is_type and token.text not in KEYWORDS:
                    found.setdefault(token.text, []).append(at)
            self._declared[body.block.first] = found
        return found

    def is_integer(self, at):
        """Returns whether a name is declared once in its function, as an integer."""
        body = self.body_of(at)
        found = self.declarations(body).get(self.code.text(at), ()) if body else ()
        return len(found) == 1 and self.code.text(found[0] - 1) in INTEGER_TYPES

    def is_local(self, at):
        """Returns whether a name is declared in its function's block. Parameters do not count, because a
        ufunc's parameter has another type in each signature."""
        body = self.body_of(at)
        found = self.declarations(body).get(self.code.text(at), ()) if body else ()
        return bool(found) and all(place >= body.block.first for place in found)

    def is_operand(self, at):
        token = self.code.tokens[at]
        return (token.kind == "name" and token.text not in KEYWORDS) or token.text in (")", "]")

    def is_local_array(self, body, name):
        return any(
            self.code.text(at + 1) == "[" and self.code.text(at + 2) != "]"
            for at in self.declarations(body).get(name, ())
            if at >= body.block.first
        )

    def length(self, body, name):
        """Returns the length of a local array that is declared once, with a number as its length; otherwise
        None."""
        found = self.declarations(body).get(name, ())
        if len(found) != 1 or found[0] < body.block.first:
            return None
        is_one = self.code.text(found[0] + 1) == "[" and self.code.text(found[0] + 3) == "]"
        return self.number(found[0] + 2) if is_one else None

    def number(self, at):
        literal = LITERAL.fullmatch(self.code.text(at))
        return value_of(literal) if literal else self.values.get(self.code.text(at))

    def kind_of(self, at):
        """Returns "array" or "memory" if a name is a parameter or a variable whose elements begin at index
        0; otherwise None."""
        code, name = self.code, self.code.text(at)
        if code.text(at - 1) in (".", "->", "::"):
            return None
        body = self.body_of(at)
        if body is None:
            return None
        first, last = body.parameters
        for i in range(first, last):
            if code.text(i) == name and code.text(i + 1) in (",", ")", "=", "["):
                kind = self.declared_kind(body, first, i)
                if kind == "memory" and self.is_pointer_modified(body, name):
                    return None
                return kind
        return "memory" if self.is_local_array(body, name) else None

    def declared_kind(self, body, first, at):
        code = self.code
        start = at
        while start > first and code.text(start - 1) != ",":
            start -= 1
            if code.text(start) == ">":  # array<float, 1>
                depth = 1
                while start > first and depth:
                    start -= 1
                    depth += (code.text(start) == ">") - (code.text(start) == "<")
        words = [code.text(i) for i in range(start, at)]
        if "array" in words and "<" in words and "*" not in words:
            return "array"
        is_kernel = any(code.text(i) == "__global__" for i in range(body.start, body.block.first))
        if is_kernel and words.count("*") == 1:
            return "memory"
        if words == [f"{code.text(at)}_type"]:
            return "generic"
        return None

    def dimensions(self, at):
        """Returns the number of dimensions of a parameter of type array<type, number, ...>, or None if the
        number is unknown."""
        code, body = self.code, self.body_of(at)
        first, last = body.parameters
        start = first
        for i in range(first, last):
            if code.text(i) == "array" and code.text(i + 1) == "<":
                start = i
            if code.text(i) == code.text(at) and code.text(start) == "array":
                numbers = [code.text(k) for k in range(start, i) if code.tokens[k].kind == "number"]
                return int(numbers[0]) if numbers and INTEGER.fullmatch(numbers[0]) else None
        return None

    def is_pointer_modified(self, body, name):
        """Is a pointer modified?"""
        code = self.code
        for i in range(body.block.first, body.block.last):
            if code.text(i) == name:
                if code.text(i + 1) in ASSIGNMENTS or code.text(i + 1) in ("++", "--"):
                    return True
                if code.text(i - 1) in ("++", "--", "&"):
                    return True
        return False

    def is_first_on_line(self, token):
        """Returns whether a token is the first token of its line."""
        return not self.lines[token.line][: token.start - self.starts[token.line]].strip()

    def column(self, token):
        line = self.lines[token.line].expandtabs()
        return len(line) - len(line.lstrip())


def line_with_caret(line: str, column: int) -> str:
    """Returns a text line with a caret below a column."""
    if not line.strip():
        return ""
    indent = len(line) - len(line.lstrip())
    below = " " * max(column - indent, 0) + "^"
    return f"{line.strip()}\n{below}"


def value_of(literal):
    """Returns the integer value of a match of LITERAL."""
    digits = literal["value"].replace("'", "")
    if digits[1:2].isalpha():
        return int(digits, 0)
    try:
        return int(digits, 8 if digits[0] == "0" else 10)
    except ValueError:  # 08
        return 0


def _constants(code):
    """Returns {name: value} of the integers that are declared constexpr."""
    found = {}
    for at, token in enumerate(code.tokens):
        if token.text == "constexpr":
            end = at
            while end < len(code.tokens) and code.text(end) not in ("=", ";", "("):
                end += 1
            words = {code.text(i) for i in range(at, end)}
            if code.text(end) == "=" and code.text(end + 2) == ";" and not words & FLOAT_TYPES:
                value = INTEGER.fullmatch(code.text(end + 1))
                if value:
                    found[code.text(end - 1)] = int(value[0].replace("'", ""))
    return found


def _conditional_lines(tokens, count):
    """Returns a list with one bool per line: whether the line is inside #if."""
    found = [False] * count
    depth, start = 0, 0
    for token in tokens:
        if token.kind != "directive":
            continue
        word = scanner.directive_word(token.text)
        if word.startswith("if"):
            depth += 1
            start = token.line if depth == 1 else start
        elif word == "endif" and depth:
            depth -= 1
            if depth == 0:
                found[start : token.line + 1] = [True] * (token.line + 1 - start)
    return found
