"""Defines patterns and functions for the syntax of clang's LLVM IR: one instruction per line, with its debug
location at the end.

The modules that rewrite IR (irpatch.py, locals.py, indices.py, loops.py) import this module.
"""

from __future__ import annotations

import re

NAME = r'%(?:[\w.$-]+|"[^"\n]*")'
"""The name of a value, such as %x or %"a b"."""
VALUE = re.compile(NAME)
LABEL = re.compile(r'^([\w.$-]+|"[^"]+"):')
SYMBOL = r'[\w.$]+|"[^"]+"'
DEFINED = re.compile(rf"^define [^@\n]*@({SYMBOL})\((.*)", re.M)
"""The first line of a function: its symbol, and what follows the parenthesis."""
_DEBUG = re.compile(r", !dbg !\d+")
_GROUP = re.compile(r"\nattributes (#\d+) = \{([^\n]*)\}")
_GROUPS_OF = re.compile(r"#\d+")


def debug_location(text: str) -> str:
    """Returns the first debug location in a text, such as ", !dbg !12", or "" if there is none."""
    found = _DEBUG.search(text)
    return found[0] if found else ""


def without_debug_locations(text: str) -> str:
    return _DEBUG.sub("", text)


def split_functions(ir: str) -> tuple[str, list[str]]:
    """Returns (the text before the first function, a list with the text of each function up to the next)."""
    starts = [found.start() for found in re.finditer("\ndefine ", "\n" + ir)]
    texts = [ir[start:end] for start, end in zip(starts, [*starts[1:], None])]
    return ir[: starts[0]] if starts else ir, texts


def first_line(function: str) -> str:
    return function.partition("\n")[0]


def defined_symbols(ir: str) -> set[str]:
    """Returns the symbols of the functions that a module defines."""
    return {found[1] for found in DEFINED.finditer(ir)}


def sanitized_groups(ir: str) -> frozenset[str]:
    """Returns the attribute groups, such as "#0", with sanitize_thread: memory accesses in functions with
    such a group are instrumented."""
    return frozenset(
        group for group, words in _GROUP.findall("\n" + ir) if "sanitize_thread" in words.split()
    )


def has_attribute_group(function: str, groups: frozenset[str]) -> bool:
    """Returns whether the function has one of these attribute groups, or no attribute group at all."""
    own = _GROUPS_OF.findall(first_line(function))
    return not own or not groups.isdisjoint(own)


def split_list(text: str) -> list[str]:
    """Returns the comma-separated elements of a list, such as parameters or the types of a struct."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "([{<") - (sign in ")]}>")
        if sign == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]
