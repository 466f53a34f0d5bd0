"""Implements `numbalite judge FILE --task TASK`, which prints the verdict on a submission."""

from __future__ import annotations

import argparse
import json
import sys

from numbalite.judge import judging, taskfile


def main(arguments: list[str]) -> int:
    """Runs the command; the status is 0 for a correct submission, 1 for an incorrect submission, 2 for a
    mistake in the command."""
    parser = argparse.ArgumentParser(
        prog="numbalite judge",
        description="Is a kernel right, safe and fast? FILE is CUDA C++: a source with __global__, or a body.",
    )
    parser.add_argument("file", metavar="FILE", nargs="?")
    parser.add_argument(
        "--task", help=f"a file or folder, or one of {', '.join(taskfile.task_names())}"
    )
    parser.add_argument(
        "--json", metavar="PATH", help="writes the verdict as JSON; - is the output"
    )
    parser.add_argument(
        "--submission",
        choices=("cu", "body", "py"),
        help="py: a Python file with a kernel; less strict",
    )
    parser.add_argument("--no-speed", action="store_true", help="leave the time out")
    parser.add_argument(
        "--launch",
        metavar="(GRID, BLOCK)",
        help="of a task in GPU MODE's or KernelBench's format: an expression of the kernel's parameters"
        " (a thread for each element of the result)",
    )
    parser.add_argument("--gpu", help="the GPU of the simulator's prediction (H100)")
    chosen = parser.parse_args(arguments)
    if not chosen.file or not chosen.task:
        parser.print_usage(sys.stderr)
        print("numbalite judge: FILE and --task are needed", file=sys.stderr)
        return 2
    kind = {"cu": "source", None: "py" if chosen.file.endswith(".py") else ""}.get(
        chosen.submission, chosen.submission
    )
    if kind == "py" and chosen.submission != "py":
        print(
            "numbalite judge: a Python file needs --submission py, which is less strict",
            file=sys.stderr,
        )
        return 2
    try:
        verdict = judging.judge(
            taskfile.load_task(chosen.task, chosen.launch),
            chosen.file,
            kind=kind,
            speed=not chosen.no_speed,
            gpu=chosen.gpu,
        )
    except (ImportError, OSError, TypeError, ValueError) as problem:
        print(f"numbalite judge: {problem}", file=sys.stderr)
        return 2
    if chosen.json:
        text = json.dumps(verdict.as_dict(), indent=2)
        if chosen.json == "-":
            print(text)
        else:
            with open(chosen.json, "w", encoding="utf-8") as file:
                file.write(text + "\n")
    if chosen.json != "-":
        print(verdict)
    return 0 if verdict.passed else 1
