"""Implements ``python -m numbalite run``, which runs a program that imports numba with numbalite instead.

The program is run as Python itself runs a program: as `__main__`, with its own folder first in sys.path and
its own arguments in sys.argv. Processes that the program starts by multiprocessing's "spawn" or "forkserver"
run worker.py in place of its main module. Processes of a program run by `-m` import its
module by name instead, so this module must call install_as_numba().
"""

from __future__ import annotations

import io
import os
import runpy
import sys
import zipfile
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

from numbalite import config, numba
from numbalite.errors import NumbaliteError, users_frames

if TYPE_CHECKING:
    from collections.abc import Callable


_ALONE = frozenset("-b -bb -B -d -E -i -I -O -OO -P -q -s -S -u -v -x".split())
"""Options of Python without a value."""


def _split_options(arguments):
    """Returns (Python's own options at the beginning, all other arguments)"""
    at = 0
    while at < len(arguments):
        option = arguments[at]
        if option in ("-W", "-X") and at + 1 < len(arguments):
            at += 2
        elif option in _ALONE or (option[:2] in ("-W", "-X") and len(option) > 2):
            at += 1
        else:
            break
    return arguments[:at], arguments[at:]


def run(arguments: list[str]) -> int:
    """Runs ``FILE [args]``, a folder or an archive with a ``__main__.py``, ``-m MODULE [args]`` or
    ``-c CODE [args]``; options of Python, such as ``-W ignore``, may precede these."""
    options, arguments = _split_options(arguments)
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-m", "-c")):
        given = f"unknown option {arguments[0]}" if arguments else "what to run is missing"
        print(f"run: {given}", file=sys.stderr)
        return 2
    if options:  # Python reads these options only when it starts
        sys.stdout.flush()
        sys.stderr.flush()
        command = [sys.executable, *options, "-m", "numbalite", "run", *arguments]
        os.execv(sys.executable, command)
    numba.install()
    first, *rest = arguments
    if first in ("-m", "-c") and not rest:
        print(f"run {first}: what to run is missing", file=sys.stderr)
        return 2
    if first == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = rest
        return _run_program(lambda: runpy.run_module(rest[0], run_name="__main__", alter_sys=True))
    if first == "-c":
        sys.path.insert(0, "")
        sys.argv = ["-c", *rest[1:]]
        return _run_program(lambda: _execute_as_main(rest[0], "<string>"))
    if os.path.isdir(first) or zipfile.is_zipfile(first):
        sys.argv = arguments
        return _run_program(lambda: runpy.run_path(first, run_name="__main__"))
    try:
        with io.open_code(os.path.abspath(first)) as file:
            source = file.read()
    except OSError as problem:
        print(f"run: cannot read {first}: {problem.strerror}", file=sys.stderr)
        return 2
    sys.argv = arguments
    config.set_for_child_processes("PROGRAM", os.path.abspath(first))  # to worker.py
    sys.path.insert(0, os.path.dirname(os.path.abspath(first)))
    return _run_program(lambda: _execute_as_main(source, first, first))


def _execute_as_main(source, name, file=None):
    """Runs source code as `__main__`."""
    main = ModuleType("__main__")
    main.__builtins__ = __builtins__
    if file is not None:
        main.__file__ = file
        main.__spec__ = ModuleSpec("numbalite.numba.worker", None, origin=file)
    sys.modules["__main__"] = main
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)


def _run_program(program: Callable[[], object]) -> int:
    """Runs a program; returns the exit status of the process. A traceback begins at the program's lines, and
    the traceback of a numbalite error also ends at the program's lines."""
    try:
        program()
    except Exception as problem:
        trace, ours = problem.__traceback__, (__file__, runpy.__file__, "<frozen runpy>")
        while trace is not None and trace.tb_frame.f_code.co_filename in ours:
            trace = trace.tb_next
        if isinstance(problem, NumbaliteError):
            trace = users_frames(trace)
        sys.excepthook(type(problem), problem.with_traceback(trace), trace)
        return 1
    return 0
