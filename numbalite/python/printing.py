"""Writes the text of a translation: Writes C++ lines, each followed by its Python line as a comment."""

from __future__ import annotations

import linecache
from typing import Any

from numbalite.cxx.linemap import Text

_COLUMN = 60
"""Maximum column at which comments are aligned."""


def commented_text(lines: Any, label: str, file: str, first: int) -> Text:
    """Returns the Text of the lines of a function that begins at line ``first`` of the file."""
    if not lines:
        return Text("", label, (first,))
    width = max((len(line.text) for line in lines if len(line.text) < _COLUMN), default=0) + 2
    out, numbers, printed, last = [], [], set(), first
    for line in lines:
        if line.number > 0:
            comment = "" if line.number in printed else _line_comment(file, line.number)
            printed.add(line.number)
            code = f"{line.text:<{width}}" if len(line.text) < width - 1 else f"{line.text}  "
            out.append(f"{code}// {comment}" if comment else line.text)
            last = line.number
        else:
            out.append(line.text)
            last = max(last, -line.number) + 1
        numbers.append(last)
    return Text("\n".join(out), label, tuple(numbers))


def _line_comment(file, number):
    """Returns the Python line as the text of a C++ comment, without a final backslash, which would join the
    comment with the next line."""
    return linecache.getline(file, number).strip().rstrip("\\").strip()
