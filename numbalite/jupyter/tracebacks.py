"""Formats numbalite's errors for IPython.

A CompileError shows the compiler's messages with the user's lines, and only the user's Python frames. A
KernelError shows the usual traceback, which ends at the user's line that launched or waited. `%xmode Verbose`
shows complete tracebacks.
"""

from __future__ import annotations

import linecache
import os
import re
import traceback

from numbalite.compilers.hostlog import texts_by_line
from numbalite.cxx import linemap
from numbalite.errors import users_frames
from numbalite.jupyter import session

_PLACE = re.compile(
    r"^(?P<file>\S.*?)\((?P<line>\d+)\): (?P<kind>(?:fatal )?error|warning): (?P<text>.*)$"
)
_CARET = re.compile(r"^\s*[\^~][\^~ |]*$")
_OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# Colors that are readable on light and dark pages, on which errors have a pink or dark red background.
_BOLD, _BLUE, _PLAIN = "\x1b[1m", "\x1b[34m", "\x1b[0m"


def compile_error_traceback(problem) -> list:
    """Returns the lines of text that IPython shows for a CompileError, or for a KernelWarning that a filter
    turned into an error."""
    shell = session.shell()
    if _has_verbose_mode(shell):
        return _default_traceback(shell, problem, problem.__traceback__)
    colored = str(getattr(shell, "colors", "")).lower() not in ("nocolor", "")
    paint = _color_text if colored else lambda text, color: text
    head, *rest = str(problem).split("\n")
    lines = [f"{paint(type(problem).__name__, _BOLD)}: {head}"]
    lines += _colored_lines(rest, getattr(problem, "source", ""), paint)
    lines += _caller_texts(problem.__traceback__, paint)
    return lines


def kernel_error_traceback(problem) -> list:
    """Returns the lines of text that IPython shows for a KernelError: the usual traceback, up to the user's last
    frame."""
    shell = session.shell()
    trace = problem.__traceback__
    return _default_traceback(
        shell, problem, trace if _has_verbose_mode(shell) else users_frames(trace)
    )


def _has_verbose_mode(shell):
    return getattr(getattr(shell, "InteractiveTB", None), "mode", "") == "Verbose"


def _default_traceback(shell, problem, trace):
    if shell is None:
        return traceback.format_exception(type(problem), problem, trace)
    return shell.InteractiveTB.structured_traceback(type(problem), problem, trace)


def _color_text(text, color):
    return f"{color}{text}{_PLAIN}"


def _colored_lines(lines, source, paint):
    """Yields the lines of the message in colours. Adds the source line to an error message without a source
    line."""
    line_texts = None
    for at, line in enumerate(lines):
        found = _PLACE.match(line)
        if found is None:
            hint = line.startswith("hint: ")
            yield paint(line, _BOLD) if hint or _CARET.match(line) else line
            continue
        yield (
            f"{paint(found['file'], _BLUE)}, line {paint(found['line'], _BLUE)}: "
            f"{paint(found['kind'], _BOLD)}: {found['text']}"
        )
        if not lines[at + 1 : at + 2] or not lines[at + 1].startswith(" "):
            line_texts = texts_by_line(source) if line_texts is None else line_texts
            text = line_texts.get((found["file"], int(found["line"])), "")
            if text.strip():
                yield f"  {text}"


def _caller_texts(trace, paint):
    """Yields texts for the user's own lines that led to the compilation, outermost first."""
    for frame, line in traceback.walk_tb(trace):
        path = frame.f_code.co_filename
        label = linemap.file_label(path)
        # In a notebook, the user's frames are in cells and in the user's files; skip IPython's frames.
        if path.startswith(_OURS) or "IPython" in frame.f_globals.get("__name__", ""):
            continue
        if frame.f_globals.get("__name__", "").partition(".")[0] in ("ipykernel", "decorator"):
            continue
        text = linecache.getline(path, line).strip()
        if text.startswith("get_ipython().run_cell_magic"):
            continue
        yield f"in {paint(label, _BLUE)}, line {paint(str(line), _BLUE)}: {text}"
