"""What can be added to a compiler's messages from what Python knows: the names that could not be
taken from the Python scope, and Python's habits in C++ text."""

from __future__ import annotations

import re

from .errors import CompileError

_UNDEFINED = re.compile(
    r"""identifier\ "(?P<nvrtc>\w+)"\ is\ undefined
      | use\ of\ undeclared\ identifier\ '(?P<clang>\w+)'
      | ['‘](?P<gcc>\w+)['’]\ was\ not\ declared\ in\ this\ scope
      | ['‘](?P<template>\w+)['’]\ is\ not\ a\ class
      | name\ followed\ by\ "::"\ must\ be\ a\ class\ or\ namespace\ name""",
    re.VERBOSE,
)
_TOO_MANY_INDICES = (
    "expression must have pointer-to-object",
    "invalid types",
    "subscripted value is not an array",
    "takes one index for each dimension",
)
_PYTHON = {
    "True": "C++ writes true",
    "False": "C++ writes false",
    "None": "C++ writes nullptr",
    "elif": "C++ writes else if",
    "pass": "C++ needs no pass: {} is an empty block",
    "lambda": "C++ writes [&](float x) { return ...; }",
    "range": "C++ counts with for (int i = 0; i < n; ++i)",
    "len": "C++ asks a.size() or a.shape[0]",
    "print": "C++ writes printf",
    "float": "C++ types are float and double",
}


def undefined_names(log: str) -> list[str]:
    """The names that the compiler does not know, each once."""
    found = {}
    for match in _UNDEFINED.finditer(log):
        for name in match.groupdict().values():
            if name:
                found[name] = True
    return list(found)


def explain(problem: CompileError, kernel: str, refused, parameters=(), text: str = ""):
    """The same error with hints; ``refused`` maps names of the Python scope to why they were not
    usable, ``parameters`` are (name, type as written) of the array parameters."""
    log = problem.log or str(problem)
    hints = []
    for name in undefined_names(log):
        if name in refused:
            hints.append(refused[name])
        elif name in _PYTHON:
            hints.append(f"{name} is Python: {_PYTHON[name]}")
    if parameters and any(words in log for words in _TOO_MANY_INDICES):
        listed = ", ".join(f"{name} is {t}" for name, t in parameters)
        hints.append(f"an array takes as many indices as its type has dimensions: {listed}")
    if text and _broken(text):
        hints.append(
            'a text in quotes does not end on its line: write the source as a raw string, r"""...""", '
            "so that Python leaves \\n alone"
        )
    message = str(problem)
    if not message.startswith(kernel):
        message = f"{kernel} does not compile\n{message}"
    message = "\n".join([message.rstrip(), *(f"hint: {hint}" for hint in hints)])
    return CompileError(message, log=problem.log, source=problem.source)


def _broken(text):
    from .cxx import broken_string

    return broken_string(text) is not None
