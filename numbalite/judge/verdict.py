"""Defines a verdict: passed or not, the reason, the smallest case that fails. The exception `Failed` contains
the reason and the case.

``show`` displays a verdict: in a notebook as a box, otherwise as text. If the verdict is also the value of a
cell's last expression, a notebook would display the verdict twice: the first display after ``show`` is therefore omitted.
"""

from __future__ import annotations

import html
import re
import sys
from typing import Any

_LINE_LIMIT = 2000  # characters
# Characters of a submission's messages that could change the display of the lines around them: control characters of
# terminals, line ends of Unicode, and directions of text.
_CONTROLS = re.compile(
    r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)

ENDLESS = "It never ends: look at the condition of each loop."


class Failed(Exception):
    """Raised to end the judging, with a message and the failing case: text, or {label: text}."""

    wrong_results = False
    """Has everything run, and something else come out?"""
    found = False
    """Is it what cuda.checks tells?"""

    def __init__(self, reason: str, case: Any = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.case = case

    @property
    def is_endless(self) -> bool:
        return ENDLESS in self.reason


class Verdict:
    """The outcome for one answer or submission. `numbalite.course.Verdict` documents the attributes."""

    def __init__(self, name, passed, reason, *, case="", notes=(), warnings=()):
        self.name = name
        self.passed = bool(passed)
        self.reason = reason
        self.case = case
        self.notes = tuple(notes)
        self.warnings = tuple(warnings)
        self._shown = False

    def __bool__(self):
        return self.passed

    @property
    def headline(self) -> str:
        return f"{self.name}: {'passed' if self.passed else 'not passed'}"

    def __str__(self):
        lines = [
            printable_text(self.headline),
            *(_indented_lines(self.reason) if self.reason else []),
        ]
        if self.case:
            lines += ["", *_indented_lines(aligned_rows(self.case), "    "), ""]
        for warning in self.warnings:
            lines += _indented_lines(warning)
        for note in self.notes:
            lines += _indented_lines(note)
        return "\n".join(lines).rstrip()

    def __repr__(self):
        return f"<{self.headline}>"

    def _repr_html_(self):
        colour = "#2e7d32" if self.passed else "#c62828"
        parts = [
            f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em">',
            f'<b style="color: {colour}">{html.escape(printable_text(self.headline))}</b>',
            f'<div style="white-space: pre-wrap">{html.escape(printable_text(self.reason))}</div>',
        ]
        if self.case:
            parts.append(f"<pre>{html.escape(printable_text(aligned_rows(self.case)))}</pre>")
        parts += [f"<pre>{html.escape(printable_text(warning))}</pre>" for warning in self.warnings]
        if self.notes:
            notes = "".join(f"<li>{html.escape(printable_text(note))}</li>" for note in self.notes)
            parts.append(f'<ul style="margin: 0.3em 0">{notes}</ul>')
        return "".join(parts) + "</div>"

    def show(self):
        """Shows the verdict in the program's output, and returns it."""
        display = _notebook_display()
        if display is None:
            print(self)
        else:
            display({"text/plain": str(self), "text/html": self._repr_html_()}, raw=True)
        self._shown = True
        return self

    def _ipython_display_(self):
        if self._shown:
            self._shown = (
                False  # assess has just shown the verdict; only the next display is suppressed
            )
        else:
            self.show()
            self._shown = False


def aligned_rows(case: str | dict) -> str:
    """Returns a case as text: rows "label = text", with the labels in a column."""
    if isinstance(case, str):
        return case
    width = max(map(len, case))
    return "\n".join(f"{label.ljust(width)} = {text}" for label, text in case.items())


def printable_text(text: str) -> str:
    """Returns a text for display: control characters as escapes, and long lines shortened."""
    text = _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if len(line) > _LINE_LIMIT:
            lines[i] = f"{line[:_LINE_LIMIT]}... ({len(line) - _LINE_LIMIT:,} more characters)"
    return "\n".join(lines)


def _indented_lines(text, by="  "):
    return [(by + line).rstrip() for line in printable_text(text).split("\n")]


def _notebook_display():
    """Returns IPython's display function in a notebook, otherwise None."""
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display
