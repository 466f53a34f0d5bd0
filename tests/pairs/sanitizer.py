"""What compute-sanitizer, and a GPU alone, say about the planted mistakes of the pairs, beside the simulator.

    python sanitizer.py gpu --out gpu.json             # on a machine with a GPU; --jobs, --tool-path
    python sanitizer.py simulator --out simulator.json
    python sanitizer.py table gpu.json simulator.json  # markdown, as in docs/mistakes.md

Every launch has a process of its own, because a mistake takes the context with it, and a time limit,
because some never end. Arrays come from cuMemAlloc one by one: in memory that a pool has cut up, the
tools could not tell where an array ends.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import ctypes
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

TOOLS = {  # the tool that looks for this kind of mistake
    "memory": "memcheck", "unwritten": "initcheck", "race": "racecheck", "sync": "synccheck",
    "hang": "memcheck", "divide": "memcheck", "nan": "memcheck", "stack": "memcheck",
}  # fmt: skip
KIND_TITLES = {
    "memory": "out of bounds, freed, misaligned",
    "unwritten": "read, but never written",
    "race": "race",
    "sync": "barrier or collective not reached by all",
    "hang": "never ends",
    "divide": "integer division by zero",
    "nan": "NaN or infinity",
    "stack": "stack overflow",
}


# --- one launch, in this process ---------------------------------------------------------------------------


def use_exact_memory():
    """Every array its own cuMemAlloc of exactly its size, given back at once."""
    from numbalite import cuda

    driver = ctypes.CDLL("libcuda.so.1")

    class Exact(cuda.HostOnlyCUDAMemoryManager):
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

    cuda.set_memory_manager(Exact)


def one(name, right):
    """Prints what became of a launch, as a word and a text."""
    from pairs.themes import PAIRS

    use_exact_memory()
    try:
        result = PAIRS[name].run(right, lineinfo=True)
    except Exception as problem:
        print("outcome: error:", f"{type(problem).__name__}: {problem}".splitlines()[0])
        return
    try:
        PAIRS[name].check(result)
        print("outcome: right")
    except (AssertionError, ValueError):
        print("outcome: wrong")


# --- all of them, on a GPU ---------------------------------------------------------------------------------


class Runner:
    def __init__(self, sanitizer, limit):
        self.sanitizer, self.limit = sanitizer, limit

    def __call__(self, job):
        """(outcome, text) of (pair, right, tool)."""
        pair, right, tool = job
        command = [sys.executable, str(HERE / "sanitizer.py"), "one", pair.name]
        command += ["right"] if right else ["wrong"]
        if tool:
            extra = ["--check-exit-code", "no"]
            command = [self.sanitizer, "--tool", tool, *extra, *command]
        # In a session of its own: what does not end is ended with all its children.
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            text = process.communicate(timeout=self.limit)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            text = process.communicate()[0].decode(errors="replace")
            return "hangs", text
        match = re.search(r"^outcome: (.*)$", text, re.M)
        return (match[1] if match else f"ended with {process.returncode}"), text


def findings(text):
    """How many findings compute-sanitizer counts, or None if it did not come to count."""
    counts = re.findall(r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+) (?:error|hazard)", text)
    return int(counts[-1]) if counts else None


def first_finding(text):
    """The line with which the tool's first finding begins, without its prefix."""
    for line in text.splitlines():
        line = re.sub(r"^=+\s*", "", line)
        if line and not line.startswith(
            ("COMPUTE-SANITIZER", "outcome", "ERROR SUMM", "RACECHECK S")
        ):
            return line[:160]
    return ""


def named_lines(text, pair):
    """Does the tool's text name a line of the mistake?"""
    name = re.escape(os.path.basename(pair.file))
    return any(int(n) in pair.lines for n in re.findall(rf"{name}[:(](\d+)", text))


def on_gpu(arguments):
    from pairs.themes import PAIRS

    sanitizer = arguments.tool_path or shutil.which("compute-sanitizer")
    if sanitizer is None:
        toolkits = sorted(pathlib.Path("/usr/local").glob("cuda*/bin/compute-sanitizer"))
        sanitizer = str(toolkits[-1]) if toolkits else None
    run = Runner(sanitizer, arguments.limit)
    chosen = [pair for pair in PAIRS.values() if re.search(arguments.only, pair.name)]
    # Without tools first: that fills the cache of compiled kernels.
    jobs = [(pair, right, None) for right in (True, False) for pair in chosen]
    if sanitizer:
        jobs += [(pair, right, TOOLS[pair.kind]) for right in (False, True) for pair in chosen]
    os.environ.setdefault("NUMBALITE_CACHE_DIR", tempfile.mkdtemp(prefix="numbalite-pairs-"))
    table = {pair.name: {"kind": pair.kind, "theme": pair.theme} for pair in chosen}
    texts = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for (pair, right, tool), (outcome, text) in zip(jobs, pool.map(run, jobs)):
            row, which = table[pair.name], "right" if right else "wrong"
            if tool is None:
                row[which] = outcome
            else:
                row["tool"] = tool
                row[f"{which} found"] = findings(text)
                row[f"{which} outcome"] = outcome
                row[f"{which} says"] = first_finding(text)
                row[f"{which} line"] = named_lines(text, pair)
            texts.append(f"##### {pair.name} {which} {tool}: {outcome}\n{text[-3000:]}\n")
    pathlib.Path(arguments.out).write_text(json.dumps(table, indent=1))
    if arguments.texts:
        pathlib.Path(arguments.texts).write_text("".join(texts))
    failed = [name for name, row in table.items() if row["right"] != "right"]
    print(len(table), "pairs; corrected kernels that are not right on this GPU:", failed)
    return bool(failed)


# --- all of them, on the simulator -------------------------------------------------------------------------


def on_simulator(arguments):
    os.environ["NUMBALITE_DRIVER"] = "sim"
    from pairs.themes import PAIRS

    from numbalite import cuda, errors

    table = {}
    for pair in PAIRS.values():
        row = table[pair.name] = {"kind": pair.kind, "theme": pair.theme}
        for which in ("wrong", "right"):
            found = None
            try:
                with cuda.checks("all", "nan"):
                    pair.run(which == "right")
            except errors.KernelError as problem:
                found = problem
            row[f"{which} found"] = int(found is not None)
            row[f"{which} says"] = str(found or "").splitlines()[0] if found else ""
            row[f"{which} line"] = found is not None and found.line in pair.lines
            row[f"{which} kind"] = found and found.kind
    pathlib.Path(arguments.out).write_text(json.dumps(table, indent=1))
    return False


# --- the table ---------------------------------------------------------------------------------------------


def _share(rows, key):
    count = sum(bool(row.get(key)) for row in rows)
    return f"{count} of {len(rows)}"


def _alone(rows):
    """What a GPU does with these mistakes when nobody watches, as "5 wrong numbers, 2 errors"."""
    words = {"right": "right by luck", "wrong": "wrong numbers", "error": "error", "hangs": "hang"}
    count = collections.Counter(row["wrong"].partition(":")[0] for row in rows)
    return ", ".join(f"{count[k]} {word}" for k, word in words.items() if count[k]) or "-"


def summary(gpu, simulator):
    """Rows of markdown, one for each kind of mistake."""
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
            f"| {title} | {len(names)} | {_share(ours, 'wrong found')} | {_share(ours, 'wrong line')} "
            f"| {TOOLS[kind]} | {_share(theirs, 'wrong found')} | {_share(theirs, 'wrong line')} "
            f"| {_alone(theirs)} |"
        )
    every, everyone = list(simulator.values()), list(gpu.values())
    lines.append(
        f"| all | {len(every)} | {_share(every, 'wrong found')} | {_share(every, 'wrong line')} "
        f"| | {_share(everyone, 'wrong found')} | {_share(everyone, 'wrong line')} "
        f"| {_alone(everyone)} |"
    )
    lines.append(
        f"| corrected twins reported | {len(every)} | {_share(every, 'right found')} | "
        f"| | {_share(everyone, 'right found')} | | |"
    )
    return lines


def each(gpu, simulator):
    """Rows of markdown, one for each pair."""
    lines = ["| pair | simulator | compute-sanitizer | the GPU alone |", "|---|---|---|---|"]
    for theme in dict.fromkeys(row["theme"] for row in simulator.values()):
        lines.append(f"| **{theme.replace('_', ' ')}** | | | |")
        for name, ours in simulator.items():
            if ours["theme"] == theme:
                theirs = gpu[name]
                lines.append(
                    f"| {name.replace('_', ' ')} | {_verdict(ours, ours['kind'])} "
                    f"| {_verdict(theirs, theirs['tool'])} | {theirs['wrong'].partition(':')[0]} |"
                )
    return lines


def _verdict(row, what):
    if row["wrong found"]:
        verdict = what if row["wrong line"] else f"{what}, no line"
    else:
        verdict = "hangs" if row.get("wrong outcome") == "hangs" else "-"
    return verdict + (", false alarm" if row["right found"] else "")


def print_table(arguments):
    gpu, simulator = (json.loads(pathlib.Path(p).read_text()) for p in arguments.results)
    print("\n".join([*summary(gpu, simulator), "", *each(gpu, simulator)]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("one")
    command.add_argument("name")
    command.add_argument("which", choices=["wrong", "right"])
    command.set_defaults(do=lambda given: one(given.name, given.which == "right"))
    command = commands.add_parser("gpu")
    command.add_argument("--out", default="gpu.json")
    command.add_argument("--texts", help="a file for what the tools say")
    command.add_argument("--jobs", type=int, default=os.cpu_count())
    command.add_argument("--limit", type=float, default=30, help="seconds for one launch")
    command.add_argument("--only", default="", help="a pattern for the names of the pairs")
    command.add_argument("--tool-path", help="compute-sanitizer, if it is not on PATH")
    command.set_defaults(do=on_gpu)
    command = commands.add_parser("simulator")
    command.add_argument("--out", default="simulator.json")
    command.set_defaults(do=on_simulator)
    command = commands.add_parser("table")
    command.add_argument("results", nargs=2)
    command.set_defaults(do=print_table)
    given = parser.parse_args()
    sys.exit(given.do(given))


if __name__ == "__main__":
    main()
