"""The text of inline PTX: its instructions and their operands."""

from __future__ import annotations


class Unknown(Exception):
    """The statement cannot be said in C++: an instruction, as text."""


def split(text):
    """The operands between commas; those in braces and brackets are one."""
    parts, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "{[(") - (sign in "}])")
        if sign == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def pieces(text):
    """The instructions of a template, and the braces of its blocks."""
    start, depth = 0, 0
    for i, sign in enumerate(text):
        at_start = not text[start:i].strip()
        if sign == "{" and (at_start or depth):
            if at_start and not depth:
                yield "{"
                start = i + 1
            else:
                depth += 1
        elif sign == "{":
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
        elif sign == "}":
            if not at_start:
                yield text[start:i]
            yield "}"
            start = i + 1
        elif sign == ";" and not depth:
            yield text[start:i]
            start = i + 1
    if text[start:].strip():
        yield text[start:]


def listed(operand):
    """The registers of an operand: several stand in braces."""
    return split(operand[1:-1]) if operand.startswith("{") else [operand]
