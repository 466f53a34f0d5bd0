"""Gives advice on sources that compile but do not do what their authors expect: a `main` that is never
called, two `extern __shared__` arrays that share memory.

Compilers do not warn of these mistakes. The source is read as tokens, because a compiler does not report the
scope of a declaration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from numbalite.cxx import scanner

_MAIN = re.compile(r"\b(?:int|void|auto)\s+main\s*\([^(){};]*\)\s*(?:->\s*int\s*)?\{")


def find_advice(text: str) -> Iterator[tuple[int, str]]:
    """Yields (index of a line, a sentence about it) for a source."""
    if "main" in text and (found := _MAIN.search(scanner.blank_comments(text))):
        yield (
            text.count("\n", 0, found.start()),
            "main is not called: Python launches the kernels of a source, kernel[blocks, threads](...); "
            "cuda.to_device and copy_to_host make and read their arrays",
        )
    if text.count("__shared__") > 1:
        yield from map(_advise_aliases, _overlapping_shared_arrays(text))


def _advise_aliases(names):
    first, (second, (kind, line)) = names
    return line, (
        f"{first} and {second} are the same memory: every extern __shared__ array begins at the first byte of the "
        f"dynamic shared memory. Let one begin where the other ends: {kind}* {second} = ({kind}*)({first} + n)"
    )


def _overlapping_shared_arrays(text):
    """Yields (name, (other name, (type, line))) for each pair of dynamic shared arrays of one function, which
    share memory."""
    tokens = scanner.tokenize(text)
    scopes, outside, depth = {}, {}, []
    for i, token in enumerate(tokens):
        if token.text == "{":
            depth.append(i)
        elif token.text == "}" and depth:
            depth.pop()
        elif token.text == "extern":
            found = _dynamic_shared_array(tokens, i)
            if found:
                is_function = depth and tokens[depth[-1] - 1].text not in _NAMESPACES
                (scopes.setdefault(depth[-1], {}) if is_function else outside).update([found])
    groups = list(scopes.values())
    if len(outside) > 1:
        groups += [
            {name: kind for name, kind in outside.items() if name in names}
            for names in scanner.functions(text).values()
        ]
    for group in groups:
        if len(group) > 1:
            first, second = list(group.items())[:2]
            yield first[0], second


_NAMESPACES = frozenset(('"C"', '"C++"', "namespace"))


def _dynamic_shared_array(tokens, at):
    """Returns (name, (type, index of the line)) of a declaration `extern __shared__ T name[];`, or None."""
    end = at
    while end < len(tokens) and tokens[end].text not in (";", "{", "}", "="):
        end += 1
    words = [token.text for token in tokens[at:end]]
    if "__shared__" not in words or words[-2:] != ["[", "]"] or len(words) < 6:
        return None
    kind = [
        word
        for word in words[1:-3]
        if word not in ("__shared__", "volatile", "const") and word.isidentifier()
    ]
    kind = [word for word in kind if word not in ("__align__", "alignas", "unsigned", "signed")]
    sign = "unsigned " if "unsigned" in words else ""
    return words[-3], (sign + " ".join(kind[-1:] or ["int"]), tokens[at].line)
