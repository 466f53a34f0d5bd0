"""Reads the programs on the documentation's pages, and runs them.

A block of Python is a program; the programs of a page run in order, in one namespace. A block
without a language (or `text`) directly after it is its expected output, or the last lines of its
traceback. `...` matches any text, and a line end equals a space.

A comment before a block marks exceptions:

    <!-- not run: why -->         shown only; tests/docs/test_pages.py has their number for each page
    <!-- on the simulator -->     runs there only
    <!-- on a GPU -->            runs there only
"""

import contextlib
import doctest
import io
import linecache
import pathlib
import re
import traceback
from typing import NamedTuple

from numbalite import cuda

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))

_FENCE = re.compile(r"^(?P<fence>`{3,}|:{3,})(?P<info>[^`]*)$")
DRIVERS = {"on the simulator": "sim", "on a GPU": "cuda"}
_MARK = re.compile(r"<!--\s*(.*?)\s*-->$")
# The first block, thread and element in a report of the simulator are unspecified,
# and so is whether the report mentions further errors.
_PLACES = re.compile(r"\(\d+,\d+,\d+\)|\[\d+\]|\s\(and \d+ more, in \d+ places?\)")
# Lines that print memory use: they depend on tests that ran earlier in the process.
_MEMORY = re.compile(
    r"\d+ of \d+(?= bytes are free)|use \d+ and \d+(?= more are held)|(?<=limit is )\d+"
)


class PageBlock(NamedTuple):
    """A fenced block: its language or directive, text, first line, the comment before it, and its
    expected output, if any."""

    info: str
    text: str
    line: int
    mark: str
    output: str | None

    @property
    def is_program(self):
        return self.info == "python"

    @property
    def is_shown_only(self):
        return self.mark.startswith("not run")


def parse_blocks(path):
    """Returns the blocks of a page, in order; an output belongs to the program above it."""
    found, lines, at = [], path.read_text(encoding="utf-8").splitlines(), 0
    mark, last_end = "", None
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        if not fence:
            if lines[at].strip():
                comment = _MARK.match(lines[at].strip())
                mark = comment[1] if comment else ""
                last_end = None
            at += 1
            continue
        end = at + 1
        while lines[end].strip() != fence["fence"]:
            end += 1
        info, text = fence["info"].strip(), "\n".join(lines[at + 1 : end]) + "\n"
        if info in ("", "text") and last_end is not None and not mark:
            found[-1] = found[-1]._replace(output=text)
            last_end = None
        else:
            found.append(PageBlock(info, text, at + 2, mark, None))
            last_end = end if info == "python" else None
        mark, at = "", end + 1
    return found


_checker = doctest.OutputChecker()
_LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def assert_equal_texts(wanted, got):
    """Raises AssertionError with both texts where they differ.

    The pages show the simulator's output; on a GPU, the first reported thread and the memory sizes
    differ."""
    if not cuda.is_simulated():
        wanted, got = (re.sub(r"-?\d+", "#", text) for text in (wanted, got))
    if not _checker.check_output(wanted, got, _LOOSE):
        raise AssertionError(f"the page says\n{wanted}\nand what comes out is\n{got}")


def run_block(block, names, file="lesson.py"):
    """Runs a program, and compares its output and its exception with the page."""
    text = block.text
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    out, problem = io.StringIO(), None
    with contextlib.redirect_stdout(out):
        try:
            exec(compile(text, file, "exec"), names)
        except Exception as error:
            if block.output is None:
                raise
            problem = error
    if block.output is None:
        return
    got, wanted = out.getvalue(), block.output
    if problem is not None:
        got += "".join(traceback.format_exception_only(type(problem), problem))
        got, wanted = _PLACES.sub("", got), _PLACES.sub("", wanted)
    assert_equal_texts(_MEMORY.sub("", wanted), _MEMORY.sub("", got))
