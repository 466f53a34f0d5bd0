"""A finding about a line that compiles and probably does not mean what was meant (cxx/slips.py), and the lines that are
searched."""

from __future__ import annotations

from typing import NamedTuple


class Slip(NamedTuple):
    """One finding."""

    file: str
    line: int
    kind: str
    """A name of the rule; the same slip is reported once, by whichever finds it."""
    text: str
    """What is wrong, and what to write."""
    shown: str
    """The line of the source, with a line below it that marks the column."""


class Lines(NamedTuple):
    """Lines of a user's file that a source has."""

    file: str
    first: int
    last: int
    is_python: bool = False
    """Are they a Python body, from which the source was translated?"""

    def has(self, file: str, line: int) -> bool:
        return file == self.file and self.first <= line <= self.last
