"""Defines Slip: a finding about a line that compiles but probably is a mistake (cxx/slips.py), and the lines
that are searched."""

from __future__ import annotations

from typing import NamedTuple


class Slip(NamedTuple):
    """One finding."""

    file: str
    line: int
    kind: str
    """The name of the rule; a slip of a line is reported once, whether a rule or a compiler finds it."""
    text: str
    """The mistake, and what to write."""
    shown: str
    """The source line, with a line below it that marks the column."""


class LineRange(NamedTuple):
    """The lines of a user's file in a source."""

    file: str
    first: int
    last: int
    is_python: bool = False
    """Whether the lines are a Python body, from which the source was translated."""

    def contains_line(self, file: str, line: int) -> bool:
        return file == self.file and self.first <= line <= self.last
