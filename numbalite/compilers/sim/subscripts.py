"""Determines the line and column of names before an index, ``x[i]`` and ``w(i, j)``.

Instrumented images contain a table of these positions (cext/sim/debuginfo/names.h). A compiler reports the
source position of an access, and compilers differ in it: clang++ reports the first letter of the indexed
expression, g++ a bracket. The table contains both positions.
"""

from __future__ import annotations

import re

from numbalite.cxx import scanner

_LINE = re.compile(r'#\s*line\s+(\d+)(?:\s+"((?:[^"\\]|\\.)*)")?')
_MEMBER = frozenset((".", "->", "::"))
_DECLARED = re.compile(r"(?:>|\bauto)\s*&?\s*(\w+)\s*(?=[{=(;,)])")
_LONGEST = 63  # NL_SIM_NAME


def subscript_name_table(source: str) -> str:
    """Returns the table, in the simulator's format: "@file" and "line name indices column column
    ..."."""
    tokens = scanner.tokenize(source)
    partner = scanner.match_brackets(tokens)
    declared = set(_DECLARED.findall(source))
    starts = [0, *(match.end() for match in re.finditer("\n", source))]
    file, shift = "", 1
    # file -> {(line, column): (name, indices)}; a position of two names has None
    files: dict[str, dict] = {}
    for at, token in enumerate(tokens):
        directive = _LINE.match(token.text) if token.kind == "directive" else None
        if directive:
            shift = int(directive[1]) - token.line - 1
            if directive[2] is not None:
                file = re.sub(r"\\(.)", r"\1", directive[2])
        if not _is_indexed(tokens, partner, declared, at):
            continue
        places, indices = _subscript_brackets(tokens, partner, at + 1)
        checks = files.setdefault(file, {})
        for place in (_expression_start(tokens, partner, at), at, *places):
            line, start = tokens[place].line, tokens[place].start
            column = len(source[starts[line] : start].encode("utf-8", "replace")) + 1
            here, named = (line + shift, column), (token.text, indices)
            checks[here] = named if checks.get(here, named) == named else None
    return "".join(f"@{file}\n{_checks_by_line(checks)}" for file, checks in files.items())


def _checks_by_line(checks):
    rows = {}  # (line, name, indices) -> columns
    for (line, column), named in checks.items():
        if named:
            rows.setdefault((line, *named), []).append(column)
    return "".join(
        f"{line} {name} {indices} {' '.join(map(str, columns))}\n"
        for (line, name, indices), columns in rows.items()
    )


def _is_indexed(tokens, partner, declared, at):
    """Returns whether an index follows a name that is not a function's."""
    token, opening = tokens[at], at + 1
    if token.kind != "name" or token.text in scanner.KEYWORDS or len(token.text) > _LONGEST:
        return False
    if opening not in partner or tokens[opening].text not in "[(":
        return False
    return tokens[opening].text == "[" or token.text in declared


def string_literal(text: str) -> str:
    """Returns the text as a C++ literal, split into several literals for compilers that limit the length of
    one."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return " ".join(f'"{line}\\n"' for line in escaped.split("\n") if line) or '""'


def _subscript_brackets(tokens, partner, at):
    """Returns the token indices of all opening and closing brackets directly after a name, and the number of
    pairs of [], at least 1."""
    found, count = [], 0
    while at in partner and tokens[at].text in "[(":
        found += at, partner[at]
        count += tokens[at].text == "["
        at = partner[at] + 1
        if tokens[found[0]].text == "(":
            break
    return found, max(count, 1)


def _expression_start(tokens, partner, at):
    """Returns the index of the first token of an expression such as ``p->rows[i].name``, whose last token is
    at ``at``."""
    while at > 1:
        if tokens[at - 1].text not in _MEMBER:
            break
        at -= 2
        while at in partner and tokens[at].text in ")]" and at > 1:
            at = partner[at] - 1
    return max(at, 0)
