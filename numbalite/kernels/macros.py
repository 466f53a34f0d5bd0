"""Handles macros of the user's headers with the names of numbalite's types.

A header with ``#define array 3`` would change ``array<float> x`` in the generated text after the header.
cuda_src/numbalite therefore defines an alternative name for each type, such as nl_array. Generated text uses
it if a header defines a macro with the type's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAMES = ("array", "layout", "complex", "float16", "tuple", "type_of", "none_type", "constant_array")
"""Names in generated text that have a second name; ``numbalite`` itself has one, too."""

_OURS = re.compile(rf'"[^"\n]*"|\b(?:{"|".join(NAMES)}|numbalite(?=::|;))\b')  # or a string literal
_DEFINED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_OPTION = re.compile(r"(?:-D[ ]?|--define-macro=)(\w+)")


def defined_macros(texts: Iterable[str], options: Iterable[str] = ()) -> set[str]:
    """Returns the names of the macros that user texts and compiler options define."""
    found = {name for text in texts for name in _DEFINED.findall(text)}
    return found | {match[1] for match in map(_OPTION.match, options) if match}


def avoid_macros(text: str, macros: set[str]) -> str:
    """Returns generated text with alternative names in place of names that macros redefine."""
    return _OURS.sub(lambda m: f"nl_{m[0]}" if m[0] in macros else m[0], text) if macros else text
