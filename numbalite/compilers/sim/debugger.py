"""Runs kernels in a debugger: ``python -m numbalite gdb lesson.py``.

A kernel on the simulator is a function of a shared object, compiled for debug=True without optimization and
with debug information that names the user's files and lines. Text that is not in a file (the cell of a
notebook, a generated string) is written to a file where gdb finds it: in the compilation folder of the debug
information.
"""

from __future__ import annotations

import os
import re
import sys

from numbalite.compilers import cache, folders, headers
from numbalite.cxx import linemap

_temporary = None
_LINE = re.compile(r'^#line (\d+) "((?:[^"\\]|\\.)*)"$')


def script_path() -> str:
    """Returns the path of the file with gdb's commands."""
    return os.path.join(headers.cuda_src(), "sim", "debug.gdb")


def run_gdb(arguments) -> int:
    """Replaces the process by gdb, running this Python with `arguments`; returns 2 on failure."""
    import shutil

    gdb = shutil.which("gdb")
    if gdb is None:
        print("gdb is not installed (apt install gdb, dnf install gdb)", file=sys.stderr)
        return 2
    options = []
    while arguments and arguments[0].startswith("-"):
        options.append(arguments.pop(0))
        if options[-1] in ("-ex", "-x", "-iex", "-ix", "-cd") and arguments:
            options.append(arguments.pop(0))
    # One worker thread, so that blocks run one after another.
    # No checks, because gdb would step into the calls of checks.
    defaults = {
        "NUMBALITE_DRIVER": "sim",
        "NUMBALITE_CUDA_DEBUGINFO": "1",
        "NUMBALITE_NUM_THREADS": "1",
        "NUMBALITE_SIM_CHECKS": "none",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)
    sys.stdout.flush()
    os.execv(gdb, [gdb, "-q", "-x", script_path(), *options, "--args", sys.executable, *arguments])


# --- texts that are not in a file, such as a notebook's cell
# -------------------------------------------------------------------------


def texts_by_label(source: str) -> dict:
    """Returns {label: {line: text}} of the texts from other origins in a generated source, by its #line
    directives."""
    found: dict[str, dict[int, str]] = {}
    lines, number = None, 0
    for text in source.split("\n"):
        directive = _LINE.match(text)
        if directive:
            label = re.sub(r"\\(.)", r"\1", directive[2])
            lines, number = found.setdefault(label, {}), int(directive[1])
        elif lines is not None:
            lines[number] = text
            number += 1
    return found


def write_texts(source: str) -> str | None:
    """Writes the texts that are not in a file to a folder, and returns the folder, or None if there are no such
    texts."""
    texts = {
        label: lines for label, lines in texts_by_label(source).items() if _is_text_label(label)
    }
    if not texts:
        return None
    folder = _texts_folder(source)
    try:
        if not os.path.isdir(folder):
            os.mkdir(folder, 0o700)
            folders.mark_folder(folder)
        elif not folders.is_trusted(folder):
            return None
        for label, lines in texts.items():
            with open(os.path.join(folder, label), "w", encoding="utf-8", errors="replace") as file:
                file.write(_complete_text(label, lines))
    except OSError:
        return None  # without the folder, the debugger shows line numbers without text
    return folder


def _is_text_label(label):
    if not label or "/" in label or label in (".", ".."):
        return False
    return not os.path.exists(label) and len(label) < 200 and not label.endswith(".cu")


def _texts_folder(source):
    """Returns the path of the folder for the texts of a source. The path is the same for the same source,
    because cached images refer to it."""
    global _temporary
    root = cache.usable_directory()
    if (
        root is None
    ):  # a temporary folder suffices: without a cache directory, no cached image refers to it
        if _temporary is None:
            _temporary = folders.WorkingFolder()
        root = _temporary.name
    return os.path.join(root, cache.TEXTS + cache.hash_values(source).hex())


def _complete_text(label, lines):
    """Returns the complete text of the notebook's cell if it is available; otherwise the available
    lines at their line numbers."""
    linecache = sys.modules.get("linecache")
    for name in list(getattr(linecache, "cache", ())):
        if name.startswith("<") or "ipykernel" in name:
            if linemap.file_label(name) == label:
                whole = linecache.getlines(name)
                if len(whole) >= max(lines):
                    return "".join(whole)
    return "\n".join(lines.get(number, "") for number in range(1, max(lines, default=0) + 1)) + "\n"
