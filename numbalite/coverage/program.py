"""Implements `numbalite coverage`, which runs a program whose kernels record their coverage, and shows the
coverage."""

from __future__ import annotations

import argparse
import fnmatch
import os
import runpy
import sys

from numbalite import config
from numbalite.coverage import data, report

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def main(arguments: list[str]) -> int:
    """Runs the command and returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="numbalite coverage",
        description="Line and branch coverage of kernels: C++ strings, Python bodies and .cu files. They run on the "
        "simulator.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a program: FILE ... or -m MODULE ...")
    run.add_argument("--append", action="store_true", help="keep the data of earlier runs")
    run.add_argument(
        "--numbalite", action="store_true",
        help="also record numbalite's own CUDA C++ files; report them with --include '*/cuda_src/*'",
    )  # fmt: skip
    run.add_argument("-m", dest="module", action="store_true", help="the program is a module")
    shown = [
        commands.add_parser("report", help="a table of files"),
        commands.add_parser("html", help="the source, with colours"),
        commands.add_parser("lcov", help="a tracefile of lcov"),
    ]
    commands.add_parser("erase", help="remove the data")
    for parser_of in commands.choices.values():
        parser_of.add_argument("--data", default=config.COVERAGE or data.FOLDER,
                               metavar="FOLDER", help="the folder of the data (%(default)s)")  # fmt: skip
    for parser_of in shown:
        parser_of.add_argument(
            "--include", action="append", metavar="PATTERN", help="only these files"
        )
        parser_of.add_argument("--omit", action="append", metavar="PATTERN", help="not these files")
    shown[0].add_argument(
        "--fail-under", type=float, metavar="PERCENT", help="status 2 if it is less"
    )
    shown[1].add_argument("-d", "--directory", default="htmlcov_kernels", help="(%(default)s)")
    shown[2].add_argument("-o", "--output", default="kernels.lcov", help="(%(default)s)")
    run.add_argument("program", nargs=argparse.REMAINDER, metavar="FILE ...")
    chosen = parser.parse_args(arguments)
    functions = {
        "run": _run_with_coverage,
        "report": _print_report,
        "html": _write_html_report,
        "lcov": _write_lcov_report,
        "erase": _erase_data,
    }
    return functions[chosen.command](chosen)


def _run_with_coverage(chosen):
    if not chosen.program:
        print("numbalite coverage run: which program? FILE ... or -m MODULE ...", file=sys.stderr)
        return 2
    folder = os.path.abspath(chosen.data)
    os.makedirs(folder, exist_ok=True)
    if not chosen.append:
        data.remove_data_files(folder)
    os.environ.update(NUMBALITE_DRIVER="sim", NUMBALITE_COVERAGE=folder)
    if chosen.numbalite:
        os.environ.update(NUMBALITE_COVERAGE_OF_NUMBALITE="1")
    name, *_ = sys.argv = chosen.program
    try:
        if chosen.module:
            sys.path.insert(0, os.getcwd())
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
            runpy.run_path(name, run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    return 0


def _requested_files(chosen):
    """Returns the requested files of the data; prints a message if there are none."""
    include, omit = chosen.include or ["*"], chosen.omit or []

    def matches_pattern(path, patterns):
        return any(
            fnmatch.fnmatch(name, p)
            for p in patterns
            for name in (path, report.relative_path(path))
        )

    found = [one for path, one in data.read_coverage(chosen.data).items()
             if (chosen.include or not path.startswith(_OWN)) and matches_pattern(path, include)
             and not matches_pattern(path, omit)]  # fmt: skip
    if not found:
        print(f"numbalite coverage: no data in {chosen.data}; run a program first", file=sys.stderr)
    return found


def _print_report(chosen):
    files = _requested_files(chosen)
    if not files:
        return 1
    print(report.report_table(files))
    return (
        2
        if chosen.fail_under is not None and report.covered_percentage(files) < chosen.fail_under
        else 0
    )


def _write_html_report(chosen):
    files = _requested_files(chosen)
    if files:
        print(report.write_html(files, chosen.directory))
    return 0 if files else 1


def _write_lcov_report(chosen):
    files = _requested_files(chosen)
    if files:
        with open(chosen.output, "w", encoding="utf-8") as out:
            out.write(report.lcov(files))
        print(chosen.output)
    return 0 if files else 1


def _erase_data(chosen):
    data.remove_data_files(chosen.data)
    return 0
