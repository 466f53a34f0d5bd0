"""Represents the statements of functions in CUDA C++ as a tree over the tokens of a source.

`cxx/slips.py` and `cxx/uninitialized.py` use the tree for mistakes that not all compilers report: to which
statement an `else` belongs, an `if` without a body, a variable that one branch sets. The tree contains only
the structure, not types, names or macros. If the structure is unclear (a macro that opens a block), a
statement ends at its closing bracket, and the rules report no mistake in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numbalite.cxx.scanner import Token, directive_names, keep_first_branches, match_brackets
from numbalite.types.keywords import KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Longest operators first. `>` is always a separate token, because `>>` may close two templates.
_SIGNS = (
    ("<<=", "->*", "<=>"),
    ("==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--", "<<"),
)  # fmt: skip
_ALTERNATIVES = {
    "and": "&&", "or": "||", "not": "!", "not_eq": "!=", "bitand": "&", "bitor": "|", "xor": "^", "compl": "~",
    "and_eq": "&=", "or_eq": "|=", "xor_eq": "^=",
}  # fmt: skip
"""The keywords of C++ for operators."""
_HEADS = frozenset(("if", "for", "while", "switch"))
_BEFORE_BODY = frozenset(
    ("const", "noexcept", "mutable", "override", "final", "&", "&&", "constexpr")
)


class Statement:
    """A statement: tokens[first:last] of the TokenizedCode.

    kind: "block", "if", "for", "while", "switch", "do", "label", "empty", or "plain" for all other
    statements. `head` is the (first, last) of the text between the parentheses; `parts` are the contained
    statements; an `if` has one or two.
    """

    __slots__ = ("first", "head", "kind", "last", "parts")

    def __init__(self, kind: str, first: int, last: int, head=None, parts=()):
        self.kind, self.first, self.last = kind, first, last
        self.head: tuple[int, int] | None = head
        self.parts: list[Statement] = list(parts)

    def walk_statements(self) -> Iterator[Statement]:
        """Yields the statement and all statements inside it."""
        yield self
        for part in self.parts:
            yield from part.walk_statements()


class FunctionBody(NamedTuple):
    """The body of a function or of a lambda."""

    parameters: tuple[int, int]
    """(first, last) between the parentheses; both 0 without parentheses."""
    start: int
    """The first token of the declaration."""
    block: Statement
    is_lambda: bool


class TokenizedCode:
    """The tokens of a source, with multi-character operators as one token each, and the bodies in the
    source."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = _join_operators(keep_first_branches(tokens))
        line = self.tokens[-1].line if self.tokens else 0
        # Padding, because the rules look at a few tokens before and after an operator.
        self.tokens += [Token("end", "", 0, line)] * 6
        self.partner = match_brackets(self.tokens)
        self.in_macros = frozenset(_names_in_macros(tokens))
        """The names in the bodies of the source's macros."""
        self.constants = frozenset(self._collect_constants())
        """The names that are declared constexpr or in an enum."""

    def _collect_constants(self):
        for at, token in enumerate(self.tokens):
            if token.text in ("constexpr", "enum"):
                for following in range(at + 1, min(at + 12, len(self.tokens) - 1)):
                    if self.text(following + 1) in ("=", "{", "["):
                        yield self.text(following)
                        break

    def text(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def index_after(self, at: int) -> int:
        """Returns the index after a token, or after the bracket pair that the token opens."""
        partner = self.partner.get(at, at)
        return max(partner, at) + 1

    def top_level_tokens(self, first: int, last: int) -> Iterator[int]:
        """Yields the indices of tokens[first:last], without the contents of brackets."""
        at = first
        while at < last:
            yield at
            at = self.index_after(at)

    def range_text(self, first: int, last: int) -> str:
        """Returns the text of tokens[first:last], with blanks between tokens that have space between them in
        the source."""
        tokens, out = self.tokens, []
        for at in range(first, min(last, len(tokens))):
            before = tokens[at - 1]
            if at > first and before.start + len(before.text) != tokens[at].start:
                out.append(" ")
            out.append(tokens[at].text)
        return "".join(out)

    def function_bodies(self) -> Iterator[FunctionBody]:
        """Yields the bodies of functions, in source order. Statements of lambdas follow the
        function that contains them."""
        at, start = 0, 0
        while at < len(self.tokens):
            text = self.text(at)
            if text == "{":
                head = self._parameter_range(at)
                if head is not None and self.partner.get(at, 0) > at:
                    yield from self._read_body(head, start, at)
                    at = self.partner[at]
                start = at + 1
            elif text in (";", "}"):
                start = at + 1
            elif text == "(":
                at = self.index_after(at) - 1
            at += 1

    def _read_body(self, head, start, at):
        block = self._read_statement(at, self.partner[at] + 1)
        yield FunctionBody(head, start, block, False)
        inner = at + 1
        while inner < self.partner[at]:
            if self.text(inner) == "{" and self.partner.get(inner, 0) > inner:
                given = self._lambda_parameters(inner)
                if given is not None:
                    yield FunctionBody(
                        given, inner, self._read_statement(inner, self.partner[inner] + 1), True
                    )
            inner += 1

    def _parameter_range(self, at):
        """Returns the token range (first, last) of a function's parameters, if the brace at `at` opens its body."""
        before = at - 1
        while before >= 0 and self.text(before) not in (")", ";", "{", "}"):
            token = self.tokens[before]
            if token.text == "=" or token.text in ("class", "struct", "union", "enum", "namespace"):
                return None
            before -= 1
        if self.text(before) != ")" or before not in self.partner:
            return None
        while True:  # the initialisers of a constructor's members
            opening = self.partner[before]
            name = self.text(opening - 1)
            if name == "noexcept" or name.startswith("__"):
                before = opening - 2
                if self.text(before) != ")" or before not in self.partner:
                    return None
                continue
            if self.text(opening - 2) in (",", ":") and self.text(opening - 3) in (")", "}"):
                return None  # a constructor, whose body is not read
            is_name = self.tokens[opening - 1].kind == "name" and name not in _HEADS
            return (opening + 1, before) if is_name or name in (")", "]") else None

    def _lambda_parameters(self, at):
        """Returns the token range (first, last) of a lambda's parameters, if the brace at `at` opens its body."""
        before = at - 1
        while before > 0 and self.text(before) in _BEFORE_BODY:
            before -= 1
        if self.text(before) == "]" and before in self.partner:
            return (0, 0) if self._begins_lambda(self.partner[before]) else None
        if self.text(before) != ")" or before not in self.partner:
            return None
        opening = self.partner[before]
        if self.text(opening - 1) != "]" or opening - 1 not in self.partner:
            return None
        return (opening + 1, before) if self._begins_lambda(self.partner[opening - 1]) else None

    def _begins_lambda(self, at):
        """Returns whether this `[` begins a lambda rather than a subscript."""
        before = self.tokens[at - 1] if at else None
        if before is None or before.text in (")", "]"):
            return False
        return before.kind == "sign" or (before.kind == "name" and before.text in KEYWORDS)

    # --- statements

    def _read_statement(self, at: int, end: int) -> Statement:
        text = self.text(at)
        if text == "{":
            return self._read_block(at, end)
        if text == ";":
            return Statement("empty", at, at + 1)
        if text in _HEADS:
            return self._read_head_statement(text, at, end)
        if text == "do":
            body = self._read_statement(at + 1, end)
            last = body.last
            head = None
            if self.text(last) == "while" and self.text(last + 1) == "(":
                head = (last + 2, self.index_after(last + 1) - 1)
                last = self.index_after(last + 1)
            return Statement("do", at, last + (self.text(last) == ";"), head, [body])
        if self._begins_label(at):
            return self._read_label(at, end)
        return Statement("plain", at, self._plain_statement_end(at, end))

    def _read_block(self, at, end):
        last = min(self.partner.get(at, end - 1), end - 1)
        block = Statement("block", at, last + 1)
        inner = at + 1
        while inner < last:
            part = self._read_statement(inner, last)
            block.parts.append(part)
            inner = max(part.last, inner + 1)
        return block

    def _read_head_statement(self, kind, at, end):
        opening = at + 1
        if self.text(opening) == "constexpr":
            opening += 1
        if self.text(opening) != "(" or opening not in self.partner:
            return Statement("plain", at, self._plain_statement_end(at, end))
        closing = self.partner[opening]
        made = Statement(kind, at, closing + 1, (opening + 1, closing))
        if closing + 1 < end:
            made.parts.append(self._read_statement(closing + 1, end))
            made.last = made.parts[0].last
        if kind == "if" and self.text(made.last) == "else" and made.last < end:
            other = self._read_statement(made.last + 1, end)
            made.parts.append(other)
            made.last = other.last
        return made

    def _begins_label(self, at):
        text = self.text(at)
        if text in ("case", "default"):
            return True
        is_name = self.tokens[at].kind == "name" and text not in KEYWORDS
        return is_name and self.text(at + 1) == ":" and self.text(at + 2) != ":"

    def _read_label(self, at, end):
        colon = at
        while colon < end and self.text(colon) != ":":
            colon = self.index_after(colon)
        label = Statement("label", at, min(colon + 1, end))
        if colon + 1 < end and not self._begins_label(colon + 1):
            label.parts.append(self._read_statement(colon + 1, end))
            label.last = label.parts[0].last
        return label

    def _plain_statement_end(self, at, end):
        """Returns the token index after a plain statement."""
        first = at
        while at < end:
            text = self.text(at)
            if text == ";":
                return at + 1
            if (
                text == "{"
                and at > first
                and self.text(at - 1) == ")"
                and self._lambda_parameters(at) is None
            ):
                if "=" not in (self.text(i) for i in self.top_level_tokens(first, at)):
                    return self.index_after(at)  # a macro's block, a local function's
            at = self.index_after(at)
        return end


def _names_in_macros(tokens):
    for token in tokens:
        if token.kind == "directive" and "define" in token.text:
            word, _, names = directive_names(token.text)
            if word == "define":
                yield from names


def _join_operators(tokens):
    """Returns the list of tokens without directives; the characters of one operator are joined, and keywords
    for operators are replaced by operators."""
    out: list[Token] = []
    at, count = 0, len(tokens)
    while at < count:
        token = tokens[at]
        if token.kind == "directive":
            at += 1
            continue
        if token.kind == "name" and token.text in _ALTERNATIVES:
            out.append(token._replace(kind="sign", text=_ALTERNATIVES[token.text]))
            at += 1
            continue
        if token.kind == "sign" and token.text in "<>=!&|+-*/%^":
            text, last = token.text, at
            while last + 1 < count and last - at < 2:
                following = tokens[last + 1]
                if following.kind != "sign" or following.start != tokens[last].start + len(
                    tokens[last].text
                ):
                    break
                text += following.text
                last += 1
            for length, signs in ((3, _SIGNS[0]), (2, _SIGNS[1])):
                if len(text) >= length and text[:length] in signs:
                    out.append(token._replace(text=text[:length]))
                    at += length
                    break
            else:
                out.append(token)
                at += 1
            continue
        out.append(token)
        at += 1
    return out
