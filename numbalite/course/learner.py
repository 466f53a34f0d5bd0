"""Reads a learner's file, a notebook or a program, and finds its exercises and answers.

The file is run once, from top to bottom. A call ``assess(name, answer)`` in the file is an answer to an
exercise. Without such a call, an object with the name of an exercise is the answer. After a cell that raises
an exception or does not end, the next cells still run; the definitions of the failed cell are missing, and
the reason is reported.
"""

from __future__ import annotations

import ast
import itertools
import json
import linecache
import os
import pathlib
import re
import sys
from typing import NamedTuple

from numbalite.cxx import linemap

from .catalogue import exercises, find_exercise


class Section(NamedTuple):
    """A part of the file that runs separately: a cell, or the lines between two ``# %%`` lines."""

    text: str
    place: str
    """Its name in tracebacks."""


class MissingAnswer(Exception):
    """Raised if the file has no answer to an exercise; the message is the reason."""


class Learner:
    """The answers of one file (a notebook, or a Python program). Raises ValueError if the file cannot be read
    as a notebook or a program.

    ``skipped`` maps the numbers of sections that are not run to the reason; ``begins`` is called
    with the number of each section that is run.
    """

    def __init__(self, path, skipped=None, begins=None):
        self.path = pathlib.Path(path)
        self.pieces = (
            _notebook_cells(self.path) if self.path.suffix == ".ipynb" else _split_file(self.path)
        )
        self._skipped = skipped or {}
        self._begins = begins
        self._answers = None
        self._problems = []

    def names(self) -> list:
        """Returns the exercises that the file answers, in the order of the course, without running the file.
        Other names that the file passes to `assess` follow: unknown exercises, or exercises that the file
        defines. Nothing is run for that."""
        defined, assessed = set(), {}
        for piece in self.pieces:
            names, handed_in = _defined_and_assessed(piece.text)
            defined |= names
            assessed.update(dict.fromkeys(handed_in))
        known = exercises()
        return [name for name in known if name in defined or name in assessed] + [
            name for name in assessed if name not in known
        ]

    def answer(self, name):
        """Returns the file's answer to an exercise; runs the file at the first call. Missing:
        nothing."""
        self.run()
        if name in self._answers:
            return self._answers[name]
        find_exercise(name)
        because = "".join(f"\n{problem}" for problem in self._problems)
        raise MissingAnswer(f"{self.path.name} has no {name}.{because}")

    def run(self):
        """Runs the file, once."""
        if self._answers is None:
            self._answers = self._run()

    def _run(self):
        from numbalite.course import judging, timeouts

        os.environ.setdefault("MPLBACKEND", "Agg")  # plots are not displayed
        answers, names = {}, {"__name__": "__main__", "__file__": str(self.path)}
        run = (
            _ipython_runner(names)
            if any(map(_uses_ipython_magic, self.pieces))
            else _python_runner(names)
        )
        judging.collector = answers.__setitem__
        timeouts.unattended = True
        sys.path.insert(0, str(self.path.parent.resolve()))
        try:
            for number, piece in enumerate(self.pieces):
                if number in self._skipped:
                    self._problems.append(f"{_section_title(piece)}\n    {self._skipped[number]}")
                    continue
                if self._begins is not None:
                    self._begins(number)
                error = _exception_of(run, piece)
                if error is not None:
                    self._problems.append(_error_message(piece, error))
        finally:
            judging.collector = None
            sys.path.remove(str(self.path.parent.resolve()))
        for name in exercises():
            if name in names:
                answers.setdefault(name, names[name])
        return answers


# --- reading ---------------------------------------------------------------------------------------------


def _notebook_cells(path):
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = [
            (str(cell.get("id", number)), "".join(cell["source"]))
            for number, cell in enumerate(cells, 1)
            if cell["cell_type"] == "code"
        ]
    except (ValueError, KeyError, TypeError) as problem:
        raise ValueError(f"{path}: not a notebook ({type(problem).__name__}: {problem})") from None
    return [Section(text, f"<{path.name}, cell {identity}>") for identity, text in code]


def _split_file(path):
    """Each section begins with one empty line for each line before the section, so that its line numbers are
    those of the file."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    starts = [0, *(i for i, line in enumerate(lines) if line.startswith("# %%")), len(lines)]
    return [
        Section("\n" * start + "".join(lines[start:end]), str(path))
        for start, end in itertools.pairwise(starts)
        if "".join(lines[start:end]).strip()
    ]


def _defined_and_assessed(text):
    """Returns the names that a section defines at its top level, and the exercises that the section passes to
    assess, in order."""
    try:
        tree = linemap.parse_source(_comment_out_magic(text))
    except SyntaxError:
        return set(), re.findall(r'\bassess\(\s*["\'](\w+)["\']', text)
    assessed = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = getattr(node.func, "id", getattr(node.func, "attr", None))
            if called == "assess" and isinstance(node.args[0].value, str):
                assessed.append(node.args[0].value)
    defined = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return defined, assessed


# --- running ---------------------------------------------------------------------------------------------


def _comment_out_magic(text):
    """Turns IPython's magic commands into comments; the lines keep their numbers."""
    return re.sub(r"^(\s*)(?=[%!])", r"\1pass  # ", text, flags=re.M)


def _uses_ipython_magic(piece):
    return re.search(r"^\s*(%%|%load_ext)", piece.text, re.M) is not None


def _exception_of(run, piece):
    """Returns the exception with which a section ends, or None."""
    from numbalite.course import timeouts

    try:
        with timeouts.time_limit(timeouts.CELL_LIMIT, _section_title(piece)):
            return run(piece)
    except timeouts.TimeLimitExceeded as error:
        return error


def _section_title(piece):
    """Returns the title of a cell; for a program, the file and the line at which the section begins."""
    if piece.place.startswith("<"):
        return piece.place.strip("<>")
    return f"{os.path.basename(piece.place)}, from line {len(piece.text) - len(piece.text.lstrip()) + 1}"


def _python_runner(names):
    def run(piece):
        text = _comment_out_magic(piece.text)
        if piece.place.startswith("<"):
            lines = text.splitlines(keepends=True)
            linecache.cache[piece.place] = (len(text), None, lines, piece.place)
        try:
            exec(compile(text, piece.place, "exec"), names)
        except (Exception, SystemExit) as error:
            return error
        return None

    return run


def _ipython_runner(names):
    """IPython runs cells with magic commands, if it is installed."""
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        return _python_runner(names)
    shell = InteractiveShell.instance()
    shell.user_ns.update(names)

    def run(piece):
        result = shell.run_cell(piece.text)
        names.update({k: v for k, v in shell.user_ns.items() if not k.startswith("_")})
        return result.error_before_exec or result.error_in_exec

    return run


def _error_message(piece, error):
    from .mistakes import line_of

    where = line_of(error) or _section_title(piece)
    return f"{type(error).__name__} at {where}\n    {error}"
