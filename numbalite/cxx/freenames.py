"""Finds free names: the names that a C++ text uses without declaring them, which are looked up in Python's
scope.

Declarations are recognized by their form (``float x =``, ``T* p = ...``, ``auto [a, b]``, further declarators
after a comma). Each declaration hides its name until the end of its block, or of the loop or lambda in whose
parentheses the declaration is. A name that is used outside of the ranges of its declarations is free. A wrong
guess costs little: an unnecessary constant is harmless, and a missing constant causes a compile error with
its name.

Scopes matter although a local variable hides a constant of its name anyway: notebooks contain many names such
as i, x and total. Each constant is part of the source, so a kernel with local variables of these names would be
compiled again whenever their values change (measured: three compilations instead of one for a cell that is run
three times), and arrays that the kernel does not use would occupy constant memory (32 kB of arrays double the
compile time) or exceed it.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from itertools import accumulate

from numbalite.cxx.scanner import (
    TYPE_WORDS,
    directive_names,
    match_brackets,
    pause_garbage_collector,
    tokenize,
)
from numbalite.types.keywords import KEYWORDS

_INTRODUCERS = frozenset(
    "class struct union enum typename namespace using concept".split()
)  # the next name is a type or a namespace
_STATEMENTS = frozenset("for while if switch".split())
_BUILTIN = frozenset(
    """threadIdx blockIdx blockDim gridDim warpSize defined override final NULL nullptr printf
    assert __FILE__ __LINE__ __func__""".split()
)

_NEVER_FREE = KEYWORDS | _BUILTIN
_QUALIFYING = frozenset((".", "->", "::", "goto"))


class FreeNames(dict):
    """Maps a free name to its uses: a set of "value", "call", "template" (a call with types or numbers in
    angle brackets) and "directive" (in #if)."""

    defined: set  # names of macros that the source defines


def free_names(text: str, parameters=()) -> FreeNames:
    """Returns the free names of a body, or of a complete source, in order of appearance."""
    found = _find_names_in_text(text)
    names = FreeNames({name: set(uses) for name, uses in found.items()})
    names.defined = set(found.defined)
    for name in (*parameters, *names.defined):
        names.pop(name, None)
    return names


@lru_cache(maxsize=8)
def _find_names_in_text(text):
    """Returns the free names of a text without parameters, with the names of macros that the text defines."""
    with pause_garbage_collector(text):
        return _find_free_names(tokenize(text))


def _find_free_names(everything):
    tokens = [t for t in everything if t.kind != "directive"]
    names = FreeNames()
    names.defined = set()
    hidden = _hidden_ranges(tokens)
    for token in everything:
        if token.kind == "directive":
            word, own, used = directive_names(token.text)
            if word == "define" and own:
                names.defined.add(own[0])
            for name in used:
                _add_use(names, name, "value" if word in ("define", "pragma") else "directive")
    for i, (kind, text, _, _) in enumerate(tokens):
        if kind != "name" or text in _NEVER_FREE or not _is_unqualified(tokens, i):
            continue
        if not _is_hidden(hidden, text, i):
            _add_use(names, text, _kind_of_use(tokens, i))
    return names


def dotted_names(text: str) -> list:
    """Returns the free names that are followed by a member: [(start, ends, parts, uses)], with
    positions in the text; ``ends`` and ``uses`` have one item per part. For example, ``math.pi`` is (i, [i +
    4, i + 7], ["math", "pi"], ["value", "value"])."""
    tokens = [t for t in tokenize(text) if t.kind != "directive"]
    found = []
    hidden = None
    for i, token in enumerate(tokens):
        if (
            token.kind != "name"
            or _token_text(tokens, i + 1) != "."
            or not _is_unqualified(tokens, i)
        ):
            continue
        hidden = _hidden_ranges(tokens) if hidden is None else hidden
        if _is_hidden(hidden, token.text, i):
            continue
        last = i
        while _token_text(tokens, last + 1) == "." and last + 2 < len(tokens):
            if tokens[last + 2].kind != "name":
                break
            last += 2
        parts = tokens[i : last + 1 : 2]
        uses = [_kind_of_use(tokens, k) for k in range(i, last + 1, 2)]
        ends = [t.start + len(t.text) for t in parts]
        found.append((token.start, ends, [t.text for t in parts], uses))
    return found


def _add_use(names, name, how):
    if name not in _NEVER_FREE and not name.startswith("__"):
        names.setdefault(name, set()).add(how)


def _token_text(tokens, i):
    return tokens[i].text if 0 <= i < len(tokens) else ""


def _is_unqualified(tokens, i):
    """Returns whether the name is neither a member, nor part of a qualified name, nor a label."""
    if i > 0 and tokens[i - 1].text in _QUALIFYING:
        return False
    return i + 1 >= len(tokens) or tokens[i + 1].text != "::"


def _kind_of_use(tokens, i):
    """Returns how a name is used: "call" (``f(``), "template" (a call ``f<1, T>(``) or "value"."""
    if not _is_call(tokens, i):
        return "value"
    return "call" if _token_text(tokens, i + 1) == "(" else "template"


def _is_call(tokens, i):
    i += 1
    if _token_text(tokens, i) == "<":
        depth, limit = 0, i + 24
        while i < min(limit, len(tokens)):
            text = tokens[i].text
            depth += (text == "<") - (text == ">")
            if depth == 0:
                break
            if text in (";", "{", "&", "|", "="):
                return False
            i += 1
        i += 1
    return _token_text(tokens, i) == "("


def _hidden_ranges(tokens):
    """Returns {name: (firsts, ends)}: the ranges of tokens in which a local declaration hides the name,
    ordered by their beginnings; each range has the largest end so far."""
    partner = match_brackets(tokens)
    hidden = {}
    opened = []  # indices of the brackets around the token
    declaring = None  # bracket depth of a declaration that may have more declarators
    for i, (kind, text, _, _) in enumerate(tokens):
        if kind == "sign":
            if text in "([{" and i in partner:
                opened.append(i)
            elif text in ")]}" and i in partner:
                opened.pop()
                if declaring is not None and len(opened) < declaring:
                    declaring = None
            elif text == ";" and declaring == len(opened):
                declaring = None
            if text == "[" and _is_binding(tokens, i):
                for k in range(i + 1, partner.get(i, i)):
                    if tokens[k].kind == "name":
                        _add_hidden_range(hidden, tokens, partner, opened[:-1], k, partner[i] + 1)
            continue
        if kind != "name" or text in KEYWORDS or not _is_unqualified(tokens, i):
            continue
        more = (
            declaring == len(opened)
            and _is_after_comma(tokens, i)
            and _token_text(tokens, i + 1) in _ENDS
        )
        if more or _is_declaration(tokens, i, partner):
            _add_hidden_range(hidden, tokens, partner, opened, i, i)
            if _token_text(tokens, i - 1) not in _INTRODUCERS:
                declaring = len(opened)
    for name, ranges in hidden.items():
        firsts, ends = zip(*sorted(ranges), strict=True)
        hidden[name] = firsts, list(accumulate(ends, max))
    return hidden


def _is_hidden(hidden, name, i):
    firsts, ends = hidden.get(name, ((), ()))
    at = bisect_right(firsts, i)
    return at > 0 and i < ends[at - 1]


def _add_hidden_range(hidden, tokens, partner, opened, i, start):
    hidden.setdefault(tokens[i].text, []).append(
        (min(i, start), _scope_end(tokens, partner, opened))
    )


def _scope_end(tokens, partner, opened):
    """Returns the token index of the end of the scope of a declaration inside these brackets."""
    for open_at in reversed(opened):
        if tokens[open_at].text == "{":
            return partner[open_at]
        if tokens[open_at].text == "(":
            # for (int i = ...) statement, [](float x) { ... }, f(int a) { ... }
            at = partner[open_at] + 1
            while _token_text(tokens, at) in (
                "mutable",
                "constexpr",
                "const",
                "noexcept",
                "->",
            ) or (_token_text(tokens, at - 1) == "->"):
                at += 1
            return _statement_end(tokens, partner, at)
    return len(tokens)


def _statement_end(tokens, partner, at):
    """Returns the token index after the statement that starts at ``at``."""
    while at < len(tokens):
        text = tokens[at].text
        if text == "{":
            at = partner.get(at, len(tokens)) + 1
        elif text in _STATEMENTS:
            at += 1
            if _token_text(tokens, at) == "constexpr":
                at += 1
            at = _statement_end(tokens, partner, partner.get(at, at) + 1)
        elif text == "else":
            at = _statement_end(tokens, partner, at + 1)
        else:
            while at < len(tokens) and tokens[at].text not in (";", "}"):
                at = partner.get(at, at) + 1 if tokens[at].text in "([{" else at + 1
            at += 1
        if _token_text(tokens, at) != "else":
            return at
    return at


def _is_binding(tokens, i):
    """Returns whether this bracket belongs to ``auto [a, b]`` or ``auto& [a, b]``."""
    while _token_text(tokens, i - 1) == "&":
        i -= 1
    return _token_text(tokens, i - 1) == "auto"


def _is_after_comma(tokens, i):
    i -= 1
    while _token_text(tokens, i) in ("*", "&", "const", "__restrict__"):
        i -= 1
    return _token_text(tokens, i) == ","


_ENDS = frozenset("= ; , ) [ { ( :".split())
_STARTS = frozenset(["", ";", "{", "}", "(", ",", ")", "<", "const", "static", "constexpr",
                     "__shared__", "__restrict__", "typedef", "else", "volatile"])  # fmt: skip


def _is_declaration(tokens, i, partner):
    """Returns whether the form of the text at ``i`` indicates a declaration of the name."""
    before, behind = tokens[i - 1] if i else None, _token_text(tokens, i + 1)
    if before is None:
        return False
    if before.text in _INTRODUCERS:
        return True
    if behind not in _ENDS and not (behind == ">" or behind == "..."):
        return False
    if behind == "=" and _token_text(tokens, i + 2) == "=" and (
        tokens[i + 1].start + 1 == tokens[i + 2].start
    ):  # fmt: skip
        return False
    if before.kind == "name":
        if before.text in KEYWORDS:
            return before.text in TYPE_WORDS
        return _token_text(tokens, i - 2) not in ("#",)
    if behind in (">", "..."):
        return False
    if before.text == ">":
        return _is_type_end(tokens, i - 1)
    if before.text in ("*", "&"):
        return _is_declarator(tokens, i, behind)
    if before.text == ")":
        start = partner.get(i - 1)
        return start is not None and _token_text(tokens, start - 1) in ("decltype", "__typeof__")
    return before.text == "..."


def _is_type_end(tokens, i):
    """Returns whether the ``>`` at ``i`` ends a type, as in ``array<float, 2> x``."""
    depth = 0
    while i >= 0:
        token = tokens[i]
        depth += (token.text == ">") - (token.text == "<")
        if depth == 0:
            break
        doubled = token.text == "&" and _token_text(tokens, i - 1) == "&"
        if doubled or (
            token.kind == "sign" and token.text not in ("<", ">", ",", "::", "*", "&", "(", ")")
        ):
            return False
        i -= 1
    return i > 0 and tokens[i - 1].kind == "name" and _is_name_start(tokens, i - 1)


def _is_name_start(tokens, i):
    """Returns whether the (qualified) name that ends at ``i`` is the beginning of a statement or
    parameter."""
    while _token_text(tokens, i - 1) == "::":
        i -= 2 if i >= 2 and tokens[i - 2].kind == "name" else 1
    return _token_text(tokens, i - 1) in _STARTS


def _is_declarator(tokens, i, behind):
    """Returns whether the operator is a pointer or reference declarator, as in ``float* p`` or ``T&
    r``, not an operator as in ``a * b``."""
    i -= 1
    while _token_text(tokens, i) in ("*", "&", "const", "__restrict__"):
        if _token_text(tokens, i) == "const":
            return True
        i -= 1
    if _token_text(tokens, i) in TYPE_WORDS:
        return True
    if _token_text(tokens, i) == ">":
        return _is_type_end(tokens, i)
    if i < 0 or tokens[i].kind != "name" or tokens[i].text in KEYWORDS:
        return False
    before = i
    while _token_text(tokens, before - 1) == "::":
        before -= 2
    if _token_text(tokens, before - 1) in ("const", "static", "constexpr", "__shared__"):
        return True
    # "(a * b)" and "f(a, b * c)" multiply; "T* p = q;" and "for (T& r : v)" declare
    if _token_text(tokens, before - 1) in ("(", ",", ")", "<"):
        return behind == ":" or (behind == "=" and _token_text(tokens, before - 1) == "(")
    return _token_text(tokens, before - 1) in _STARTS and behind in (
        "=",
        ";",
        ":",
        ",",
        "[",
        "{",
        "(",
    )
