"""Formats the generated C++ of a Python kernel for readers, without text that only the compiler needs: #line
directives, the namespace of each function, ``extern "C"``, guards, assertions and instantiations."""

from __future__ import annotations

import re

_OPENING = re.compile(r"namespace (?:k|f\d+)_\w+ \{")
_CLOSING = re.compile(r"\} // namespace (?:k|f\d+)_\w+")
_USING = re.compile(r"using f\d+_\w+::\w+;")
_CONSTANT = re.compile(r"(?:constexpr|__constant__|static) .*?(\w+)(?:\[\w*\])* = .*")
_QUALIFIED = re.compile(r"\bf\d+_\w+::\w")
_FOR_COMPILERS = re.compile(
    r"static_assert\(sizeof\(\w+\) == \d+, .*\);|namespace numbalite \{ NUMBALITE_MATH_\w+\(.*\) \}"
)
_GUARD = re.compile(r"#ifndef (NUMBALITE_\w+)\n#define \1\n(.*?)#endif\n", re.DOTALL)
_GETTER = re.compile(
    r"template <int I> __device__ constexpr (?:const )?auto &get\(.*?\n\}\n", re.DOTALL
)
_STRUCT = re.compile(r"namespace numbalite \{\n(struct \w+ \{\n(?:    .*\n)*\};\n)\}\n")
_BLANKS = re.compile(r"\n{3,}")


def readable_source(source: str, kernel: str = "") -> str:
    """Returns the readable source of the kernel of this name."""
    lines = [line for line in source.split("\n") if not line.startswith("#line ")]
    lines = _without_namespaces(lines) or lines
    lines = [line for line in lines if not _FOR_COMPILERS.fullmatch(line)]
    text = _remove_doubled_braces("\n".join(lines)).replace('extern "C" ', "")
    text = _GUARD.sub(r"\2", text)
    if "get<" not in text:
        text = _STRUCT.sub(r"\1", _GETTER.sub("", text))
    text = re.sub(r"^inline (?=__device__)", "", text, flags=re.MULTILINE)
    if kernel:
        text = text.replace("__global__", "\n__global__", 1).replace(
            f" nl_{kernel}(", f" {kernel}(", 1
        )
    return _BLANKS.sub("\n\n", text).strip("\n") + "\n"


def _without_namespaces(lines) -> list[str] | None:
    """Returns the lines without namespaces, or None if names would be ambiguous without namespaces."""
    kept: list[str] = []
    known: dict[str, str] = {}
    for line in lines:
        if _OPENING.fullmatch(line) or _CLOSING.fullmatch(line) or _USING.fullmatch(line):
            continue
        if _QUALIFIED.search(line):
            return None
        constant = _CONSTANT.fullmatch(line)
        if constant:
            name = constant[1]
            if known.setdefault(name, line) != line:
                return None
            if line in kept:
                if line.endswith(";"):
                    continue
                return None
        kept.append(line)
    return kept


def _remove_doubled_braces(text):
    """Replaces the doubled braces around a body with single braces. The generated source has two pairs of
    braces because the body's variables may have the names of parameters."""
    return text.replace(" {\n{\n", " {\n").replace("\n} }\n", "\n}\n")
