"""Counts races found, missed and falsely reported in Indigo's kernels: ``python tests/programs/indigo_suite.py FOLDER``

FOLDER holds sources of the Indigo benchmark suite (burtscher/IndigoSuite), for example the 590 of HiRace's artifact
(JohnJacobsonIII/HiRace-Artifact-SC24, indigo/indigo_sources). The name of a file states its bugs:
atomicBug, guardBug, syncBug and raceBug are races; boundsBug is no race. Each kernel runs on the
simulator under
``cuda.checks("race", exact=True)``, on a random graph of a few nodes whose arrays are longer than the graph, so that
boundsBug stays inside of them. The program downloads nothing, and the host code of the sources does not run.
--each N runs each Nth source, --jobs N runs N processes, --json FILE writes the verdict and the
time of each source, --default uses the checks without exact=True, --budget S spends S seconds on
more schedules of a kernel.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RACES = ("atomicBug", "guardBug", "syncBug", "raceBug")
TOGETHER = 25  # sources of one unit
NODES, EDGES, THREADS = 24, 120, 64
LIMIT = 900
BUDGET = 0.3  # maximum seconds for further schedules of a kernel
_HOST = re.compile(r"^\s*void serial_code\(", re.M)
_INCLUDE = re.compile(r"^\s*#\s*include.*$", re.M)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--default", action="store_true")
    parser.add_argument("--budget", type=float, default=BUDGET)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return run_child(given.folder, given.child, not given.default, given.budget)
    paths = sorted(given.folder.rglob("*.cu"))
    names = [str(p.relative_to(given.folder)) for p in paths if is_source(p)][:: given.each]
    if not names:
        parser.error(f"{given.folder} holds no source of Indigo")
    units = [names[i : i + TOGETHER] for i in range(0, len(names), TOGETHER)]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        for done in pool.map(lambda unit: run_unit(given, unit), units):
            results.update(done)
            print(f"{len(results)} of {len(names)}", file=sys.stderr, flush=True)
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    return print_report(results)


def is_source(path):
    return "void test_kernel(int* nindex" in path.read_text(errors="replace")


def is_racy(name):
    return any(f"_{bug}" in pathlib.Path(name).stem for bug in RACES)


def run_unit(given, names):
    """Returns {name: {"verdict": kind, "text": sentence, "seconds": s}} for a unit, which runs in a separate
    process."""
    command = [sys.executable, __file__, str(given.folder), "--budget", str(given.budget)]
    command += ["--default"] if given.default else []
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBALITE_DRIVER": "sim"}
    done = {}
    try:
        process = subprocess.run([*command, "--child", *names], capture_output=True, text=True,
                                 env=environment, timeout=LIMIT)  # fmt: skip
        out, problem = process.stdout, process.stderr[-2000:]
    except subprocess.TimeoutExpired as late:
        out, problem = (late.stdout or b"").decode(), f"stopped after {LIMIT} seconds"
    for line in out.split("\n"):
        if line.startswith("\x1e"):
            done.update(json.loads(line[1:]))
    failed = {"verdict": "failed", "text": problem, "seconds": 0}
    return {name: done.get(name, failed) for name in names}


def run_child(folder, names, exact, budget):
    import numpy as np

    from numbalite import cuda
    from numbalite.errors import KernelError

    module = cuda.module(
        combined_unit(folder, names), names=[f"v{i}::test_kernel" for i in range(len(names))], opt=1
    )
    for i, name in enumerate(names):
        arguments = [cuda.to_device(a) for a in random_graph(np)]
        begin = time.perf_counter()
        text, checks = "", cuda.checks("race", exact=exact, budget=budget)
        try:
            with checks:
                module[f"v{i}::test_kernel"][NODES, THREADS](*arguments, NODES)
        except KernelError as found:
            text = str(found)
        if exact:
            kind = checks.verdict.kind
        else:
            kind = "races" if text else "nothing found"
        text = text or (str(checks.verdict) if exact else "")
        seconds = round(time.perf_counter() - begin, 3)
        print(
            "\x1e" + json.dumps({name: {"verdict": kind, "text": text, "seconds": seconds}}),
            flush=True,
        )


def combined_unit(folder, names):
    """Returns the kernels of the sources, each in a namespace, with lines as in its file."""
    parts = []
    for i, name in enumerate(names):
        path = folder / name
        text = path.read_text(errors="replace")
        text = _INCLUDE.sub("", text[: _HOST.search(text).start()])
        parts.append(f'namespace v{i} {{\n#line 1 "{path.name}"\n{text}\n}}')
    return "\n".join(parts)


def random_graph(np):
    """Returns (nindex, nlist, data1, data2): each node has edges to some other nodes; nodes past the end have
    no edges."""
    rng = np.random.default_rng(1)
    longest = NODES * THREADS + THREADS + 2
    begins = np.sort(rng.integers(0, EDGES, NODES - 1))
    nindex = np.full(longest, EDGES, np.int32)
    nindex[:NODES] = [0, *begins]
    nlist = np.zeros(longest, np.int32)
    nlist[:EDGES] = rng.integers(0, NODES, EDGES)
    data1, data2 = np.zeros(longest, np.int32), np.zeros(longest, np.int32)
    data1[1:NODES] = rng.integers(0, NODES, NODES - 1)
    data2[1:EDGES] = rng.integers(0, EDGES, EDGES - 1)
    return nindex, nlist, data1, data2


def print_report(results):
    counts = collections.defaultdict(collections.Counter)
    for name, result in results.items():
        bugs = [bug for bug in (*RACES, "boundsBug") if f"_{bug}" in pathlib.Path(name).stem]
        counts[" + ".join(bugs) or "none"][result["verdict"]] += 1
    kinds = sorted({kind for one in counts.values() for kind in one})
    print("| bugs | sources |", " | ".join(kinds), "|")
    print("|---|---|" + "---|" * len(kinds))
    for bugs, one in sorted(counts.items()):
        print(f"| {bugs} | {one.total()} |", " | ".join(str(one[kind]) for kind in kinds), "|")
    racy = {name: r for name, r in results.items() if is_racy(name)}
    found = sum(r["verdict"] == "races" for r in racy.values())
    false = [n for n, r in results.items() if n not in racy and r["verdict"] == "races"]
    missed = [n for n, r in racy.items() if r["verdict"] != "races"]
    print(
        f"racy: {found} of {len(racy)} found; correct: {len(false)} of {len(results) - len(racy)} reported"
    )
    for title, names in (("missed", missed), ("falsely reported", false)):
        for name in names:
            print(f"{title}: {name}: {results[name]['text'][:300]}")
    undecided = [n for n, r in results.items() if r["verdict"] in ("undecided", "failed")]
    for name in undecided:
        print(f"not decided: {name}: {results[name]['text'][:600]}")
    return 1 if missed or false or undecided else 0


if __name__ == "__main__":
    sys.exit(main())
