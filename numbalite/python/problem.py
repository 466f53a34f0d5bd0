"""Creates error messages for Python code that cannot be translated: the file, the line, the construct with a
caret under it, and what to write instead."""

from __future__ import annotations

import ast
import contextlib
import linecache
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple, NoReturn

from numbalite.errors import TranslationError
from numbalite.python import remedies


class SourcePlace(NamedTuple):
    """A range of the user's source."""

    label: str
    """The file's name in messages."""
    file: str
    """The file's name in linecache."""
    line: int
    column: int
    end: int
    """The column after the last one, in the same line."""

    def __str__(self) -> str:
        return f"{self.label}({self.line})"

    def caret_lines(self, note: str = "") -> str:
        """Returns the source line, and a line with a caret under each character of the construct."""
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return ""
        indent = len(text) - len(text.lstrip())
        first = max(self.column, indent)
        end = max(min(self.end, len(text)), first + 1)
        carets = " " * (first - indent) + "^" * (end - first)
        return f"    {text.strip()}\n    {carets}{f' {note}' if note else ''}"


class Problem(Exception):
    """Raised inside the translator at a node of the syntax tree. ``translation_error`` converts this exception to the
    user's exception."""

    def __init__(
        self, node: ast.AST | None, message: str, remedy: str = "", others: Any = ()
    ) -> None:
        super().__init__(None, message, remedy)  # the arguments that a pickle contains
        self.node = node
        self.message = message
        self.remedy = remedy
        self.others = tuple(others)
        """(node, note): further places that belong to it."""
        self.place: SourcePlace | None = None
        self.notes: list[tuple[SourcePlace, str]] = []

    def __str__(self) -> str:
        return self.message

    def store_positions(self, place_of: Any) -> Problem:
        """Stores the positions of the syntax nodes before their tree is released."""
        if self.place is None and self.node is not None:
            self.place = place_of(self.node)
            self.notes = [(place_of(node), note) for node, note in self.others]
        return self


_is_on_cpu: ContextVar[bool] = ContextVar("_is_on_cpu", default=False)


@contextlib.contextmanager
def messages_for_cpu() -> Iterator[None]:
    """A context manager in which error messages refer to functions on the CPU, not to kernels."""
    token = _is_on_cpu.set(True)
    try:
        yield
    finally:
        _is_on_cpu.reset(token)


def translation_error(problem: Problem, name: str) -> NoReturn:
    """Returns the TranslationError that is raised for the user."""
    if _is_on_cpu.get():
        problem.message = remedies.cpu_message(problem.message)
        problem.remedy = remedies.cpu_message(problem.remedy)
    place = problem.place
    lines = [f"{place}: {name}: {problem.message}" if place else f"{name}: {problem.message}"]
    if place is not None:
        lines.append(place.caret_lines())
    for other, note in problem.notes:
        lines += [f"{other}: {note}", other.caret_lines()]
    if problem.remedy:
        lines.append(problem.remedy)
    text = "\n".join(filter(None, lines))
    raise TranslationError(text, file=place and place.label, line=place and place.line) from None
