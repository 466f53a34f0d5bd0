"""Compares the simulator's reports about the pairs' mistakes with those of compute-sanitizer and of
a GPU without tools.

    python sanitizer.py gpu --out gpu.json             # on a machine with a GPU; --jobs, --tool-path
    python sanitizer.py simulator --out simulator.json
    python sanitizer.py table gpu.json simulator.json  # markdown, as in docs/mistakes.md

Kernels that destroy the context or never end run in a separate process each, with a time limit.
Arrays are allocated by cuMemAlloc one by one: in memory of a pool, the tools could not detect the
end of an array.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import ctypes
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

TOOLS = {  # the tool of compute-sanitizer for each kind of mistake
    "memory": "memcheck", "unwritten": "initcheck", "race": "racecheck", "sync": "synccheck",
    "hang": None, "divide": None, "overflow": None, "nan": None, "stack": "memcheck",
}  # fmt: skip
KIND_TITLES = {
    "memory": "out of bounds, freed, misaligned",
    "unwritten": "read, but never written",
    "race": "race",
    "sync": "barrier or collective not reached by all",
    "hang": "never ends",
    "divide": "integer division by zero",
    "overflow": "an index that does not fit into its type",
    "nan": "NaN or infinity",
    "stack": "stack overflow",
}


# --- one launch, in this process ---------------------------------------------------------------------------


def use_exact_memory():
    """Allocates every array by cuMemAlloc with its exact size, and frees it immediately."""
    from numbalite import cuda

    driver = ctypes.CDLL("libcuda.so.1")

    class ExactMemoryManager(cuda.HostOnlyCUDAMemoryManager):
        def memalloc(self, size):
            address = ctypes.c_uint64()
            assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size or 1)) == 0
            value = ctypes.c_uint64(address.value)
            return cuda.MemoryPointer(
                self.context, address.value, size, finalizer=lambda: driver.cuMemFree_v2(value)
            )

        def get_memory_info(self):
            return cuda.MemoryInfo(1 << 30, 1 << 30)

        @property
        def interface_version(self):
            return 1

    cuda.set_memory_manager(ExactMemoryManager)


def run_in_this_process(names, right):
    """Launches the kernels of these pairs in this process. For each kernel, prints a line with a keyword for
    the outcome and the message."""
    from pairs.themes import PAIRS

    use_exact_memory()
    for name in names:
        try:
            result = PAIRS[name].run(right, lineinfo=True)
            PAIRS[name].check(result)
            outcome = "right"
        except (AssertionError, ValueError):
            outcome = "wrong"
        except Exception as problem:
            outcome = "error: " + f"{type(problem).__name__}: {problem}".splitlines()[0]
        print(f"outcome of {name}: {outcome}", flush=True)


# --- all of them, on a GPU ---------------------------------------------------------------------------------

LONELY = {"memory", "sync", "hang", "stack"}  # these kernels may destroy the context, or never end


class SanitizerJob(NamedTuple):
    """Kernels that one process launches, under a tool or, with None, without a tool."""

    pairs: list
    right: bool
    tool: str | None


def jobs_for(pairs, tools):
    """Returns the kernels to run, the slowest first."""
    lonely = [pair for pair in pairs if pair.kind in LONELY]
    social = [pair for pair in pairs if pair.kind not in LONELY]
    jobs = [SanitizerJob(social, False, None)]
    if tools:
        for tool in dict.fromkeys(filter(None, TOOLS.values())):
            fitting = [pair for pair in pairs if TOOLS[pair.kind] == tool]
            jobs.append(SanitizerJob(fitting, True, tool))
            jobs.append(SanitizerJob([pair for pair in fitting if pair in social], False, tool))
        jobs += [
            SanitizerJob([pair], False, TOOLS[pair.kind]) for pair in lonely if TOOLS[pair.kind]
        ]
    jobs += [SanitizerJob([pair], False, None) for pair in lonely]
    return [job for job in jobs if job.pairs]


def run_job(job, sanitizer, limit):
    """Returns the text that a job prints."""
    command = [
        sys.executable,
        str(HERE / "sanitizer.py"),
        "here",
        "right" if job.right else "wrong",
    ]
    command += [pair.name for pair in job.pairs]
    if job.tool:
        command = [sanitizer, "--tool", job.tool, "--print-limit", "1000", *command]
    # Runs in a new session, so that a process that does not end is killed with all its children.
    # Through output goes to a file, because a child could keep a pipe open forever.
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            process.wait(limit if len(job.pairs) == 1 else 5 * limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return output.read().decode(errors="replace")


def sanitizer_outcome_of(text, pair):
    match = re.search(rf"^outcome of {pair.name}: (.*)$", text, re.M)
    return match[1] if match else "hangs"


def findings_of_pair(text, pair):
    """Returns the lines of a tool's output that contain the pair's kernel."""
    name = re.search(r"__global__ void (\w+)", pair.text)
    name = name[1] if name else f"nl_{pair.name}"
    lines = [re.sub(r"^=+\s*", "", line) for line in text.splitlines() if line.startswith("===")]
    return [line for line in lines if re.search(rf"\b{name}\b", line)]


def names_the_line(lines, pair):
    """Returns whether one of these lines of a tool contains a line number of the mistake."""
    file = re.escape(os.path.basename(pair.file))
    found = re.findall(rf"{file}[:(](\d+)", "\n".join(lines))
    return any(int(number) in pair.lines for number in found)


def on_gpu(arguments):
    from kit.needs import compute_sanitizer
    from pairs.themes import PAIRS

    sanitizer = arguments.tool_path or compute_sanitizer()
    chosen = [pair for pair in PAIRS.values() if re.search(arguments.only, pair.name)]
    table = {
        pair.name: {"kind": pair.kind, "theme": pair.theme, "tool": TOOLS[pair.kind]}
        for pair in chosen
    }
    os.environ.setdefault("NUMBALITE_CACHE_DIR", tempfile.mkdtemp(prefix="numbalite-pairs-"))
    texts = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        started = {
            pool.submit(run_job, job, sanitizer, arguments.limit): job
            for job in jobs_for(chosen, sanitizer)
        }
        for done in concurrent.futures.as_completed(started):
            job, text = started[done], done.result()
            which = "right" if job.right else "wrong"
            for pair in job.pairs:
                row, said = table[pair.name], findings_of_pair(text, pair)
                row[f"{which} {'under the tool' if job.tool else 'alone'}"] = sanitizer_outcome_of(
                    text, pair
                )
                if job.tool:
                    row[f"{which} found"] = len(said)
                    row[f"{which} says"] = said[0][:200] if said else ""
                    row[f"{which} line"] = names_the_line(said, pair)
            names = " ".join(pair.name for pair in job.pairs)
            texts.append(f"##### {job.tool} {which}: {names}\n{text[:200000]}\n")
            # Writes immediately, because the run may be interrupted.
            pathlib.Path(arguments.out).write_text(json.dumps(table, indent=1))
            if arguments.texts:
                pathlib.Path(arguments.texts).write_text("".join(texts))
    print(f"{len(table)} pairs, {len(started)} processes")


# --- all kernels, on the simulator -------------------------------------------------------------------------


def on_simulator(arguments):
    os.environ["NUMBALITE_DRIVER"] = "sim"
    from pairs.form import PairsUnit
    from pairs.themes import PAIRS

    from numbalite import cuda, errors

    table = {}
    themes = itertools.groupby(PAIRS.values(), lambda pair: pair.theme)
    units = {theme: PairsUnit(pairs) for theme, pairs in themes}
    for pair in PAIRS.values():
        if not re.search(arguments.only, pair.name):
            continue
        row = table[pair.name] = {"kind": pair.kind, "theme": pair.theme}
        for which in ("wrong", "right"):
            found = None
            try:
                with cuda.checks("all", *(["nan"] if pair.theme == "arithmetic" else []), limit=2):
                    pair.run(which == "right", units[pair.theme].kernel(pair, which == "right"))
            except errors.KernelError as problem:
                found = problem
            row[f"{which} found"] = int(found is not None)
            row[f"{which} says"] = str(found or "").splitlines()[0] if found else ""
            row[f"{which} line"] = found is not None and found.line in pair.lines
            row[f"{which} kind"] = found and found.kind
    pathlib.Path(arguments.out).write_text(json.dumps(table, indent=1))
    return False


# --- the table ---------------------------------------------------------------------------------------------


def _share_of_rows(rows, key):
    count = sum(bool(row.get(key)) for row in rows)
    return f"{count} of {len(rows)}"


def _results_without_checks(rows):
    """Returns the results of these mistakes on a GPU without checks, as "5 wrong numbers, 2
    errors"."""
    words = {"right": "right by luck", "wrong": "wrong numbers", "error": "error", "hangs": "hang"}
    count = collections.Counter(row["wrong alone"].partition(":")[0] for row in rows)
    return ", ".join(f"{count[k]} {word}" for k, word in words.items() if count[k]) or "-"


def summary_table(gpu, simulator):
    """Returns rows of a Markdown table, one for each kind of mistake."""
    lines = [
        "| mistake | pairs | simulator: found | with its line | compute-sanitizer | found "
        "| with its line | the GPU alone |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, title in KIND_TITLES.items():
        names = [name for name, row in simulator.items() if row["kind"] == kind]
        ours = [simulator[name] for name in names]
        theirs = [gpu[name] for name in names]
        lines.append(
            f"| {title} | {len(names)} | {_share_of_rows(ours, 'wrong found')} | {_share_of_rows(ours, 'wrong line')} "
            f"| {TOOLS[kind] or '-'} | {_share_of_rows(theirs, 'wrong found')} | {_share_of_rows(theirs, 'wrong line')} "
            f"| {_results_without_checks(theirs)} |"
        )
    every, everyone = list(simulator.values()), list(gpu.values())
    lines.append(
        f"| all | {len(every)} | {_share_of_rows(every, 'wrong found')} | {_share_of_rows(every, 'wrong line')} "
        f"| | {_share_of_rows(everyone, 'wrong found')} | {_share_of_rows(everyone, 'wrong line')} "
        f"| {_results_without_checks(everyone)} |"
    )
    lines.append(
        f"| corrected twins reported | {len(every)} | {_share_of_rows(every, 'right found')} | "
        f"| | {_share_of_rows(everyone, 'right found')} | | |"
    )
    return lines


def table_of_pairs(gpu, simulator):
    """Returns rows of a Markdown table, one for each pair."""
    lines = ["| pair | simulator | compute-sanitizer | the GPU alone |", "|---|---|---|---|"]
    for theme in dict.fromkeys(row["theme"] for row in simulator.values()):
        lines.append(f"| **{theme.replace('_', ' ')}** | | | |")
        for name, ours in simulator.items():
            if ours["theme"] == theme:
                theirs = gpu[name]
                lines.append(
                    f"| {name.replace('_', ' ')} | {_format_verdict(ours, ours['kind'])} "
                    f"| {_format_verdict(theirs, theirs['tool'])} | {theirs['wrong alone'].partition(':')[0]} |"
                )
    return lines


def _format_verdict(row, what):
    if row.get("wrong found"):
        verdict = what if row["wrong line"] else f"{what}, no line"
    else:
        verdict = "hangs" if row.get("wrong under the tool") == "hangs" else "-"
    return verdict + (", false alarm" if row.get("right found") else "")


def print_table(arguments):
    gpu, simulator = (json.loads(pathlib.Path(p).read_text()) for p in arguments.results)
    print("\n".join([*summary_table(gpu, simulator), "", *table_of_pairs(gpu, simulator)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("here")
    command.add_argument("which", choices=["wrong", "right"])
    command.add_argument("names", nargs="+")
    command.set_defaults(do=lambda given: run_in_this_process(given.names, given.which == "right"))
    command = commands.add_parser("gpu")
    command.add_argument("--out", default="gpu.json")
    command.add_argument("--texts", help="a file for what the tools say")
    command.add_argument("--jobs", type=int, default=os.cpu_count())
    command.add_argument("--limit", type=float, default=15, help="seconds for one launch")
    command.add_argument("--only", default="", help="a pattern for the names of the pairs")
    command.add_argument("--tool-path", help="compute-sanitizer, if it is not on PATH")
    command.set_defaults(do=on_gpu)
    command = commands.add_parser("simulator")
    command.add_argument("--out", default="simulator.json")
    command.add_argument("--only", default="", help="a pattern for the names of the pairs")
    command.set_defaults(do=on_simulator)
    command = commands.add_parser("table")
    command.add_argument("results", nargs=2)
    command.set_defaults(do=print_table)
    given = parser.parse_args()
    sys.exit(given.do(given))


if __name__ == "__main__":
    main()
