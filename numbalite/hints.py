"""What can be added to a compiler's messages from what Python knows: the names that could not be
taken from the Python scope, and Python's habits in C++ text."""

from __future__ import annotations

import re

from .capture import ascii_name
from .cxx import brackets, broken_string, strip, tokenize
from .errors import CompileError
from .linemap import Text

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
    "no viable overloaded '=",
    'no operator "=',
    "no match for ‘operator=",
)
_HINTS = [
    (
        r"no (?:matching function for call to|instance of function template) ['\"‘](?:numbalite::)?grid",
        "the dimensions are a template argument: grid<1>(), auto [x, y] = grid<2>();",
    ),
    (
        r"numbalite::index[23]|requires an initializer|\(initializer required\)|has no initializer",
        "names for several values stand in brackets: auto [x, y] = grid<2>();",
    ),
    (
        r"bound function may only|non-static member function",
        "functions of arrays are called with parentheses: a.size()",
    ),
    (
        r"no (?:matching function for call to|instance of overloaded function) ['\"‘]atomic[A-Z]",
        "CUDA's atomics take addresses, &a[i], of few types; atomic_add(a, i, value) and its like take "
        "arrays of every type, int64 too",
    ),
    (
        r"operand.*[ ('‘](?:const )?(?:uint3|dim3)\b|(?:convert|from) ['\"‘](?:const )?uint3",
        "threadIdx, blockIdx, blockDim and gridDim have components: threadIdx.x",
    ),
    (
        r"variable length array|must have a constant value|variable-sized",
        "the size of an array is a constant, which may be a Python name; shared memory of another size "
        "is extern __shared__ float s[]; with kernel[grid, block, stream, bytes]",
    ),
    (
        r"with deduced return type cannot be used|cannot deduce the return type of|before deduction of",
        'a device function that calls itself needs a signature: @cuda.jit("int32(int32)", device=True)',
    ),
    (
        r"namespace \"std\" has no member|in namespace 'std'|is not a member of [‘']std",
        "CUDA's own functions go without std::, max(a, b), sqrt(x); std:: needs an #include in a source",
    ),
]
_SLIPS = [
    (r"\bfor\s+\w+(?:\s*,\s*\w+)*\s+in\b[^;\n]*", "C++ counts with for (int i = 0; i < n; ++i)"),
    (r"\b(?:if|while|elif)\b[^({;\n]*:(?!:)", "C++ writes if (x > 1) { ... }"),
    (r"\w\[[^\[\]();]*,[^\[\]();]*\]\s*(?!=?\s*(?:grid|make_))", "C++ writes a(i, j)"),
    (r"[\w)\]]\s*\*\*\s*[\w(]", "C++ writes pow(a, b)"),
]
_INTEGER_POWER = re.compile(r"Unresolved extern function '_Z\d+powi")
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


def explain(problem: CompileError, kernel: str, refused, parameters=(), text: Text | None = None):
    """The same error with hints; ``refused`` maps names of the Python scope to why they were not
    usable, ``parameters`` are (name, type as written) of the array parameters, ``text`` is what the
    user wrote."""
    log = f"{problem}\n{problem.log}"
    hints = []
    for name in undefined_names(log):
        if name in refused:
            hints.append(refused[name])
        elif name in _PYTHON:
            hints.append(f"{name} is Python: {_PYTHON[name]}")
    if parameters and any(words in log for words in _TOO_MANY_INDICES):
        listed = ", ".join(f"{name} is {t}" for name, t in parameters)
        hints.append(f"an array takes as many indices as its type has dimensions: {listed}")
    if _INTEGER_POWER.search(log):
        hints.append(
            "NVRTC 12.0 and 12.1 cannot link pow(x, n) with an integer n: write pow(x, (float)n), or "
            "install a newer NVRTC"
        )
    hints += [hint for words, hint in _HINTS if re.search(words, log)]
    hints += _slips(text)
    message = _at_users_lines(str(problem), text)
    for letter in sorted(set(text.value) if text else ()):
        if not letter.isascii():
            message = message.replace(ascii_name(letter), letter)
    lines = [f"{kernel} does not compile", message.rstrip(), *(f"hint: {hint}" for hint in hints)]
    message = "\n".join(lines)
    return CompileError(message, log=problem.log, source=problem.source)


def _slips(text: Text | None):
    """Mistakes that compilers report far from where they were made."""
    if text is None:
        return
    line = broken_string(text.value)
    if line is not None:
        yield (
            f"the text in quotes on line {text.lines[line]} does not end there: write the source as a "
            'raw string, r"""...""", so that Python leaves \\n alone'
        )
        return
    tokens = tokenize(text.value)
    partner = brackets(tokens)
    for i, token in enumerate(tokens):
        if token.kind == "sign" and token.text in "()[]{}" and i not in partner:
            yield f"the {token.text} on line {text.lines[token.line]} has no partner"
            return
    plain = strip(text.value)
    for slip, instead in _SLIPS:
        if found := re.search(slip, plain, re.MULTILINE):
            yield f"{found[0].strip()} is Python: {instead}"


_IN_HEADER = re.compile(r"^numbalite/\w+\.cuh\(\d+\): (error: .*)$")
_DETECTED = re.compile(r"at line (\d+) of (.+)$")


def _at_users_lines(message, text: Text | None):
    """Reports errors inside numbalite's headers at the user's line that led there."""
    if text is None:
        return message
    out, lines = [], message.split("\n")
    for at, line in enumerate(lines):
        header = _IN_HEADER.match(line)
        place = header and _leading_line(lines, at + 1, text)
        out.append(f"{text.label}({place}): {header[1]}" if place else line)
    return "\n".join(out)


def _leading_line(lines, at, text):
    """The user's line in the "detected during" part of NVRTC's message that starts before ``at``."""
    while at < len(lines) and lines[at][:1] in (" ", "\t"):
        found = _DETECTED.search(lines[at])
        if found and found[2].strip('"') == text.label:
            return found[1]
        at += 1
    return None
