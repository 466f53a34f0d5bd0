"""Resolves conflicts between names of a source and names of numbalite, in favour of the source.

``using namespace numbalite;`` makes the use of a name that both define ambiguous. Only the compiler knows the
conflicts, because headers and macros may declare names. If a source fails because of ambiguous names, it is
compiled once more, with using-declarations of all other names instead of the directive.
"""

from __future__ import annotations

import re

from numbalite.cxx import devicelib
from numbalite.errors import CompileError

_DIRECTIVE = "using namespace numbalite;"
_AMBIGUOUS = re.compile(
    r"""["'](?:numbalite::)?(?P<plain>\w+)(?:<[^"'\n]*>)?["']\ is\ ambiguous
      | more\ than\ one\ instance\ of\ [\w ]+\ "(?:numbalite::)?(?P<nvrtc>\w+)
      | call\ of\ overloaded\ '(?:numbalite::)?(?P<gcc>\w+)""",
    re.VERBOSE,
)
# Matches the error about a name that the source also declares at this position.
_DECLARED = re.compile(
    r"error: ([^\n]*(?:conflict|redefinition|redeclar|already been declared|different kind)[^\n]*)"
)
_ROUNDS = 8  # compilers stop after this number of errors

# header part -> additional names that the part declares
_BESIDE = {
    "complex": "abs arg conj imag norm polar real isfinite isinf isnan".split(),
    "half": "abs fma isinf isnan".split(),
    "tuple": ["get"],
}
# Functions of half, which is not a class of namespace numbalite
_OPERATORS = "+ - * / == != < <= > >=".split()
_NAMESPACES = ("cg", "groups")


def compile_without_conflicts(source, run, texts):
    """Calls run(source), and repeats it without numbalite's names that cause conflicts.

    ``texts()`` returns the contents of the user's headers that the source includes.
    """
    hidden, first = set(), None
    for _ in range(_ROUNDS):
        try:
            return run(_replace_directive(source, hidden, texts) if hidden else source)
        except CompileError as problem:
            first, last = first or problem, problem
        found = _ambiguous_names(last.log, hidden) - hidden
        if not found or _DIRECTIVE not in source.text:
            break
        hidden |= found
    messages = " ".join(re.findall(r"error: ([^\n]*)", str(last)))
    raise first if any(re.search(rf"\b{name}\b", messages) for name in hidden) else last


def _ambiguous_names(log, hidden):
    """Returns names of numbalite that a compiler reports as ambiguous; in later rounds also names reported as
    redeclared."""
    found = {name for match in _AMBIGUOUS.finditer(log) for name in match.groups() if name}
    if hidden:
        for match in _DECLARED.finditer(log):
            found.update(re.findall(r"\w+", match[1]))
    return found & devicelib.LIBRARY_NAMES


def _replace_directive(source, hidden, texts):
    """Replaces the directive of a source by declarations of numbalite's names; the line numbers stay."""
    words = set(re.findall(r"[^\W\d]\w*", "\n".join([source.text, *texts()])))
    names = sorted((_available_names(source.text) & words) - hidden)
    lines = [
        f"namespace {name} = numbalite::{name};"
        if name in _NAMESPACES
        else f"using numbalite::{name};"
        for name in names
    ]
    if devicelib.header_name("half") in source.text:
        lines += [f"using numbalite::operator{sign};" for sign in _OPERATORS]
    return source.replace(text=source.text.replace(_DIRECTIVE, " ".join(lines), 1))


def _available_names(text):
    """Returns the set of names that namespace numbalite contains at the position of the directive."""
    included = set(re.findall(r'#include "numbalite/(\w+)\.cuh"', text))
    found = {
        name for name, part in devicelib.PARTS.items() if part in included - devicelib.OF_MACROS
    }
    found |= set(re.findall(r"NUMBALITE_MATH_\w+\((\w+)", text))
    found.update(name for part in included for name in _BESIDE.get(part, ()))
    found -= {"half", "half2", "__half", "__half2", "cooperative_groups"}
    return found | devicelib.HEAD_NAMES | (devicelib.LAYOUTS if "layout" in included else set())
