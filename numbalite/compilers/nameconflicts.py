"""Names that both a source and numbalite have: the source's own are meant.

``using namespace numbalite;`` makes the use of such a name ambiguous. Which names these are only the
compiler knows, since headers and macros may bring them. So it says so: where a source fails because
names are ambiguous, it is compiled once more, and in place of the directive stand declarations of all
the other names.
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
# A name that is declared where the source declares it, too.
_DECLARED = re.compile(
    r"error: ([^\n]*(?:conflict|redefinition|redeclar|already been declared|different kind)[^\n]*)"
)
_ROUNDS = 8  # compilers stop after so many errors

# What parts have beside the names that they are included for.
_BESIDE = {
    "complex": "abs arg conj imag norm polar real isfinite isinf isnan".split(),
    "half": "abs fma isinf isnan".split(),
    "tuple": ["get"],
}
_OPERATORS = "+ - * / == != < <= > >=".split()  # of half: it is no class of ours
_NAMESPACES = ("cg", "groups")


def compile(source, run, texts):
    """run(source), with names of ours taken away as long as they stand in the way.

    ``texts()`` gives what the source includes of the user's.
    """
    hidden, first = set(), None
    for _ in range(_ROUNDS):
        try:
            return run(_without(source, hidden, texts) if hidden else source)
        except CompileError as problem:
            first, last = first or problem, problem
        found = _namesakes(last.log, hidden) - hidden
        if not found or _DIRECTIVE not in source.text:
            break
        hidden |= found
    told = " ".join(re.findall(r"error: ([^\n]*)", str(last)))
    raise first if any(re.search(rf"\b{name}\b", told) for name in hidden) else last


def _namesakes(log, hidden):
    """The names of ours that a compiler calls ambiguous; later on, also those that it finds declared twice."""
    found = {name for match in _AMBIGUOUS.finditer(log) for name in match.groups() if name}
    if hidden:
        for match in _DECLARED.finditer(log):
            found.update(re.findall(r"\w+", match[1]))
    return found & devicelib.LIBRARY_NAMES


def _without(source, hidden, texts):
    """The source with declarations of names of ours in place of the directive; lines stay where they are."""
    words = set(re.findall(r"[^\W\d]\w*", "\n".join([source.text, *texts()])))
    names = sorted((_available(source.text) & words) - hidden)
    lines = [
        f"namespace {name} = numbalite::{name};"
        if name in _NAMESPACES
        else f"using numbalite::{name};"
        for name in names
    ]
    if devicelib.header("half") in source.text:
        lines += [f"using numbalite::operator{sign};" for sign in _OPERATORS]
    return source.replace(text=source.text.replace(_DIRECTIVE, " ".join(lines), 1))


def _available(text):
    """The names that are in namespace numbalite when the directive is read."""
    included = set(re.findall(r'#include "numbalite/(\w+)\.cuh"', text))
    found = {
        name for name, part in devicelib.PARTS.items() if part in included - devicelib.OF_MACROS
    }
    found |= set(re.findall(r"NUMBALITE_MATH_\w+\((\w+)", text))
    found.update(name for part in included for name in _BESIDE.get(part, ()))
    found -= {"half", "half2", "__half", "__half2", "cooperative_groups"}
    return found | devicelib.HEAD_NAMES | (devicelib.LAYOUTS if "layout" in included else set())
