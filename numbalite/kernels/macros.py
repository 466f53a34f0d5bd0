"""Macros of the user's headers with names of ours.

Generated text that stands behind such a header would be changed by them: ``array<float> x``, where it has
``#define array``. There our types go by second names, which cuda_src/numbalite gives them: nl_array.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

NAMES = ("array", "layout", "complex", "float16", "tuple", "type_of", "none_type", "constant_array")
"""Names in generated text that have a second one; so has ``numbalite`` itself."""

_OURS = re.compile(rf'"[^"\n]*"|\b(?:{"|".join(NAMES)}|numbalite(?=::|;))\b')  # or a text in quotes
_DEFINED = re.compile(r"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_OPTION = re.compile(r"(?:-D[ ]?|--define-macro=)(\w+)")


def defined(texts: Iterable[str], options: Iterable[str] = ()) -> set[str]:
    """The macros that texts of the user and compiler options define."""
    found = {name for text in texts for name in _DEFINED.findall(text)}
    return found | {match[1] for match in map(_OPTION.match, options) if match}


def avoided(text: str, macros: set[str]) -> str:
    """A generated text, with the second names of what these macros are called like."""
    return _OURS.sub(lambda m: f"nl_{m[0]}" if m[0] in macros else m[0], text) if macros else text
