"""Reads the coverage of each file from a folder of data files. All processes share one data file for each
image."""

from __future__ import annotations

import glob
import json
import os
import re

FOLDER = ".numbalite_coverage"
"""The default folder, in the working directory."""
_NO_STATEMENT = re.compile(r"""\s*("{3}|'{3}|else\s*:)\s*(#.*)?""")
"""Rows of a Python file that the compiler has for lines of a kernel: the closing quotes, where the closing brace of the
function would be, and `else:`, where the block before ends."""


class FileCoverage:
    """The lines and branches of the kernels in one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.lines: dict[int, bool] = {}
        """Line -> has it run?"""
        self._branches: dict[tuple, list[bool]] = {}

    @property
    def executed_lines(self) -> list[int]:
        return sorted(line for line, has_run in self.lines.items() if has_run)

    @property
    def missing_lines(self) -> list[int]:
        return sorted(line for line, has_run in self.lines.items() if not has_run)

    @property
    def branches(self) -> dict[int, list[bool]]:
        """Maps a line to a list with one bool for each of its branches, in the order of the source: whether
        the branch was taken."""
        found: dict[int, list[bool]] = {}
        for key in sorted(self._branches):
            found.setdefault(key[0], []).extend(self._branches[key])
        return found

    def partial_lines(self) -> list[int]:
        """Returns the numbers of the lines that have run but have a branch that was never taken."""
        return [line for line, ways in self.branches.items()
                if self.lines.get(line) and not all(ways)]  # fmt: skip

    def add_line(self, line: int, has_run: bool) -> None:
        self.lines[line] = self.lines.get(line, False) or has_run

    def add_branch(self, key: tuple, ways: list[bool]) -> None:
        key = *key, len(ways)
        before = self._branches.get(key, [False] * len(ways))
        self._branches[key] = [a or b for a, b in zip(before, ways, strict=True)]

    def source(self) -> list[str]:
        """Returns the lines of the file, or [] if the file cannot be read."""
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                return file.read().splitlines()
        except OSError:
            return []

    def forget_non_statements(self) -> None:
        """Removes the lines of a Python file that are not statements."""
        text = self.source() if self.path.endswith(".py") else []
        for line in list(self.lines):
            if line <= len(text) and _NO_STATEMENT.fullmatch(text[line - 1]):
                del self.lines[line]


def read_coverage(folder: str) -> dict[str, FileCoverage]:
    """Path -> coverage. Data files that cannot be read are ignored, because a process may be writing them."""
    found: dict[str, FileCoverage] = {}
    for path in glob.glob(os.path.join(glob.escape(folder), "*.cov")):
        try:
            size = int(os.path.basename(path).split(".")[1])
            with open(path, "rb") as file:
                data = file.read()
            table = json.loads(data[size:])
        except (OSError, ValueError, IndexError):
            continue
        _add_table(found, table, data[:size])
    for one in found.values():
        one.forget_non_statements()
    return dict(sorted(found.items()))


def _add_table(found, table, flags):
    files = [found.setdefault(path, FileCoverage(path)) for path in table["files"]]
    for file, line, flag in table["lines"]:
        files[file].add_line(line, bool(flags[flag]))
    for file, *key, ways in table["branches"]:
        files[file].add_branch(tuple(key), [bool(flags[flag]) for flag in ways])


def remove_data_files(folder: str) -> None:
    """Removes the data files of a folder."""
    for path in glob.glob(os.path.join(glob.escape(folder), "*.cov")):
        os.unlink(path)
