"""Shortens long source lines in the logs of compilers, which show the whole line for each of up to 100 messages."""

from __future__ import annotations

import re

_MAX = 300  # maximum columns of a line that is shown with a caret
_BEFORE = 100  # columns before the caret
_MAX_ANY = 10_000  # maximum columns of a line without a caret
_CARET = re.compile(r"[ \t]*(?:\|[ \t]*)?[\^~][ \t^~]*$")
_MARK = re.compile(r"[\^~]")


def shorten_lines(text: str) -> str:
    """Returns a log in which long lines are shortened to the text around the caret."""
    if len(text) <= _MAX:
        return text
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if len(line) <= _MAX:
            continue
        below = lines[i + 1] if i + 1 < len(lines) and _CARET.match(lines[i + 1]) else ""
        if below:
            first = max(0, _MARK.search(below).start() - _BEFORE)  # type: ignore[union-attr]
            last = first + _MAX
            left, right = "..." if first else "", "..." if last < len(line) else ""
            lines[i] = left + line[first:last] + right
            lines[i + 1] = (" " * len(left) + below[first:last]).rstrip()
        elif len(line) > _MAX_ANY:
            lines[i] = line[:_MAX] + "..."
    return "\n".join(lines)
