"""Parses the text of inline PTX: its instructions, their types and their operands."""

from __future__ import annotations

PTX = "::numbalite_sim::ptx::"
"""The namespace of cuda_src/sim/ptx.h."""

TYPES = {
    "pred": "bool", "u8": "unsigned char", "s8": "signed char", "b8": "unsigned char",
    "u16": "unsigned short", "s16": "short", "b16": "unsigned short", "f16": "unsigned short",
    "bf16": "unsigned short", "f16x2": "unsigned", "bf16x2": "unsigned",
    "u32": "unsigned", "s32": "int", "b32": "unsigned", "f32": "float", "u64": "unsigned long long",
    "s64": "long long", "b64": "unsigned long long", "f64": "double", "b128": "unsigned __int128",
    "f32x2": "unsigned long long",
}  # fmt: skip
_SIZES = {"8": 1, "16": 2, "32": 4, "64": 8, "16x2": 4, "32x2": 8, "128": 16}


class UnknownInstruction(Exception):
    """Raised for an instruction without a C++ equivalent; the argument is the instruction's text."""


def split_operands(text):
    """Returns the list of comma-separated operands; an operand in braces or brackets may contain commas."""
    parts, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "{[(") - (sign in "}])")
        if sign == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def split_template(text):
    """Yields the instructions of an inline assembly template, and the braces of its blocks, as texts."""
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


def registers_of(operand):
    """Returns the list of registers of an operand, which contains several registers if it is in braces."""
    return split_operands(operand[1:-1]) if operand.startswith("{") else [operand]


def instruction_type(modifiers):
    """Returns the type of an instruction: the last type among its modifiers."""
    return next(m for m in reversed(modifiers) if m in TYPES)


def type_size(kind):
    """Returns the size of a type in bytes."""
    return _SIZES[kind.lstrip("busfpred")]
