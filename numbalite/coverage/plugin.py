"""A plug-in of coverage.py that reports the lines and branches of kernels in the reports of the Python code
around them.

`plugins = ["numbalite.coverage"]` in coverage.py's configuration loads the plug-in. While coverage.py measures,
kernels write coverage data as under `numbalite coverage run`. When coverage.py reports, the reporters of this
module add the kernels' data to those of the Python code. The interface is documented in coverage.py's
"Plug-in classes"; the Python lines of a file are those of coverage.py's PythonFileReporter.
"""

from __future__ import annotations

import glob
import os
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from coverage import CoveragePlugin, FileReporter, FileTracer
from coverage.python import PythonFileReporter

from numbalite import config
from numbalite.coverage import data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SUFFIXES = (".cu", ".cuh")
_LANGUAGE = b"numbalite"  # a Python file without this token defines no kernel


class KernelPlugin(CoveragePlugin):
    """Registers for the Python files that may define kernels, and for the `.cu` files of the measured
    folders."""

    def __init__(self) -> None:
        self._configuration: Any = None
        self._has_new_data = False
        self._data: dict[str, data.FileCoverage] | None = None

    def configure(self, configuration: Any) -> None:
        """coverage.py calls this method at its start. Only coverage.py's tracer in C calls plug-ins."""
        self._configuration = configuration
        self._has_new_data = self._is_run_without_append() or not self._has_coverage_data()
        if configuration.get_option("run:core") is None:
            configuration.set_option("run:core", "ctrace")

    def file_tracer(self, filename: str) -> FileTracer | None:
        """coverage.py calls this method before the first line of a file is measured, when the program is
        about to run."""
        self._enable_recording()
        try:
            with open(filename, "rb") as file:
                return KernelTracer(filename) if _LANGUAGE in file.read() else None
        except OSError:
            return None

    def _enable_recording(self) -> None:
        """Enables the coverage of kernels, for this process and its children."""
        if config.COVERAGE:
            return
        config.COVERAGE = self._folder()
        os.environ.update(NUMBALITE_COVERAGE=config.COVERAGE)
        if self._has_new_data:
            data.remove_data_files(config.COVERAGE)

    def _has_coverage_data(self):
        """Returns whether data of coverage.py itself exist. pytest-cov erases the data before a run,
        unless it appends."""
        return bool(glob.glob(glob.escape(self._configuration.get_option("run:data_file")) + "*"))

    def _is_run_without_append(self):
        """Returns whether `coverage run` will erase its old data. The first new data triggers the erasure,
        which is too late for `_has_coverage_data`."""
        is_run = "coverage" in sys.argv[0] and sys.argv[1:2] == ["run"]
        keeps = {"-a", "--append"} & set(sys.argv) or self._configuration.get_option("run:parallel")
        return is_run and not keeps

    def _folder(self):
        """Returns the path of the data folder, which is next to coverage.py's own data file."""
        theirs = os.path.abspath(self._configuration.get_option("run:data_file"))
        return config.COVERAGE or os.path.join(os.path.dirname(theirs), data.FOLDER)

    def file_reporter(self, filename: str) -> FileReporter:
        found = self._kernel_coverage().get(os.path.realpath(filename)) or data.FileCoverage(
            filename
        )
        if filename.endswith(_SUFFIXES):
            return SourceReporter(found)
        return ModuleReporter(found, self._configuration)

    def find_executable_files(self, src_dir: str) -> Iterator[str]:
        folder = os.path.join(os.path.realpath(src_dir), "")
        for path, found in self._kernel_coverage().items():
            if path.startswith(folder) and path.endswith(_SUFFIXES):
                yield found.path

    def _kernel_coverage(self) -> dict[str, data.FileCoverage]:
        """Returns {path without symbolic links: coverage of the file's kernels}; call after the run."""
        if self._data is None:
            found = data.read_coverage(self._folder())
            self._data = {os.path.realpath(path): one for path, one in found.items()}
        return self._data


class KernelTracer(FileTracer):
    """Measures a Python file as coverage.py itself does."""

    def __init__(self, filename: str) -> None:
        self._filename = filename

    def source_filename(self) -> str:
        return self._filename


class KernelArcs:
    """Returns the branches of kernels as coverage.py's arcs: pairs (line, end) with a negative end for each
    branch."""

    def __init__(self, found: data.FileCoverage) -> None:
        self.possible: set[tuple[int, int]] = set()
        self.taken: set[tuple[int, int]] = set()
        self.counts: dict[int, int] = {}
        for line, ways in found.branches.items():
            arcs = [(line, -1 - i) for i in range(len(ways))]
            self.possible.update(arcs)
            self.taken.update(arc for arc, taken in zip(arcs, ways, strict=True) if taken)
            self.counts[line] = len(ways)

    def description(self, line: int, end: int) -> str:
        return f"branch {-end} of {self.counts[line]} in line {line} of the kernel was not taken"


class SourceReporter(FileReporter):
    """Reports a `.cu` file."""

    def __init__(self, found: data.FileCoverage) -> None:
        super().__init__(found.path)
        self._found, self._arcs = found, KernelArcs(found)

    def lines(self) -> set[int]:
        return set(self._found.lines)

    def translate_lines(self, lines: Iterable[int]) -> set[int]:
        return set(self._found.executed_lines)

    def arcs(self) -> set[tuple[int, int]]:
        return self._arcs.possible

    def translate_arcs(self, arcs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        return self._arcs.taken

    def exit_counts(self) -> dict[int, int]:
        return self._arcs.counts

    def missing_arc_description(
        self, start: int, end: int, executed_arcs: Iterable[tuple[int, int]] | None = None
    ) -> str:
        return self._arcs.description(start, end)


class ModuleReporter(PythonFileReporter):
    """Reports a Python file: its Python statements, and the lines of its kernels.

    A line of a kernel with a Python body is a statement that Python never runs; its arcs are only those of
    the kernel.
    """

    def __init__(self, found: data.FileCoverage, configuration: Any) -> None:
        super().__init__(found.path, _reader_options(configuration))
        self._found, self._arcs = found, KernelArcs(found)

    def lines(self) -> set[int]:
        return super().lines() | (set(self._found.lines) - self.excluded_lines())

    def translate_lines(self, lines: Iterable[int]) -> set[int]:
        return super().translate_lines(lines) | set(self._found.executed_lines)

    def _python_arcs(self, arcs):
        return {arc for arc in arcs if abs(arc[0]) not in self._found.lines}

    def arcs(self) -> set[tuple[int, int]]:
        return self._python_arcs(super().arcs()) | self._arcs.possible

    def translate_arcs(self, arcs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
        # `arcs` contains the tracer's arcs, and arcs that an earlier call returned.
        own = {arc for arc in arcs if arc[0] not in self._found.lines}
        return self._python_arcs(super().translate_arcs(own)) | self._arcs.taken

    def exit_counts(self) -> dict[int, int]:
        counts = super().exit_counts()
        own = {line: n for line, n in counts.items() if line not in self._found.lines}
        return {**own, **self._arcs.counts}

    def missing_arc_description(
        self, start: int, end: int, executed_arcs: Iterable[tuple[int, int]] | None = None
    ) -> str:
        if (start, end) in self._arcs.possible:
            return self._arcs.description(start, end)
        return super().missing_arc_description(start, end, executed_arcs)


def _reader_options(configuration):
    """Returns the attributes of a Coverage object that PythonFileReporter reads, because a plug-in does not
    receive the object."""
    excluded = "|".join(f"(?:{one})" for one in configuration.get_option("report:exclude_lines"))
    return SimpleNamespace(
        _exclude_regex=lambda which: excluded,
        config=SimpleNamespace(
            relative_files=configuration.get_option("run:relative_files"),
            partial_list=configuration.get_option("report:partial_branches"),
            partial_always_list=configuration.get_option("report:partial_branches_always"),
        ),
    )
