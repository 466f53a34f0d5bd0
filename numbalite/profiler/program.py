"""Implements `numbalite profile [--gpu NAME] [--json] [--html PAGE] FILE ...`: runs a program on the
simulator and prints its counters."""

from __future__ import annotations

import json
import os
import runpy
import sys

from numbalite.profiler.session import profile

USAGE = """usage: numbalite profile [--gpu NAME] [--json] [--html PAGE] FILE ...

Runs a Python program on the simulator and prints the counters of its kernels, by line. --gpu: the GPU for which
registers, occupancy and times are computed (H100); --json: as JSON, and the program's own output on stderr;
--html: also writes a page with tables and pictures to the file PAGE.
"""


def main(arguments) -> int:
    """Runs the command and returns the exit status."""
    gpu, as_json, page = None, False, None
    arguments = list(arguments)
    while arguments and arguments[0].startswith("-"):
        option = arguments.pop(0)
        if option == "--json":
            as_json = True
        elif option == "--gpu" and arguments:
            gpu = arguments.pop(0)
        elif option == "--html" and arguments and arguments[0].endswith(".html"):
            page = os.path.abspath(arguments.pop(0))
        elif option.startswith("--gpu="):
            gpu = option.partition("=")[2]
        else:
            is_asked = option in ("-h", "--help")
            print(USAGE, end="", file=sys.stdout if is_asked else sys.stderr)
            return 0 if is_asked else 2
    if not arguments:
        print(USAGE, end="", file=sys.stderr)
        return 2
    os.environ.update(NUMBALITE_DRIVER="sim")
    try:
        session = profile(gpu)
    except ValueError as problem:
        print(f"numbalite profile: {problem}", file=sys.stderr)
        return 2
    sys.argv = arguments
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    shown, status = sys.stdout, 0
    if as_json:
        sys.stdout = sys.stderr
    try:
        with session:
            try:
                runpy.run_path(arguments[0], run_name="__main__")
            except SystemExit as end:
                status = _exit_status(end)
    finally:
        sys.stdout = shown
    if page:
        session.save(page)
    if as_json:
        json.dump(session.as_dict(), sys.stdout, indent=2)
        print()
    else:
        print(session)
    return status


def _exit_status(end):
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1
