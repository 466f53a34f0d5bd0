"""Runs kernels of public projects with real inputs on one driver, and compares the results of two drivers.

    python tests/programs/real_inputs.py FOLDER --results sim.json [--checks] [--only softmax]
    python tests/programs/real_inputs.py --compare sim.json gpu.json

FOLDER contains the projects as for acceptance.py, one folder each, unmodified; `described` lists
the kernels and their arguments. Each file runs in a separate process. Results are a JSON file, and
an .npz with the arrays next to it. --checks runs each kernel once more under cuda.checks, and lists
its reports next to the expected ones. --exact runs it under cuda.checks("race") and
cuda.checks("race", exact=True), counts the verdicts, and lists races that only one of these checks
reports. Without a --results, only the table is printed. The driver is that of NUMBALITE_DRIVER.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

import acceptance
import described
import numpy as np

# some kernels rely on the includes of cuBLAS's header
_HEADERS = {"cublas_v2.h": "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"}


def run_unit(unit: described.KernelFile, folder: str, asked, keep: str | None) -> list:
    """Returns the results of the launches of one file."""
    from numbalite import cuda

    warnings.simplefilter("ignore")
    path = os.path.join(folder, unit.path)
    names = [case.kernel for case in unit.cases if "<" in case.kernel or "(" in case.kernel]
    includes = [f"-I{where}" for where in acceptance.include_folders(path)]
    try:
        module = cuda.module(
            source=Path(path), options=[*unit.options, *includes], names=names, headers=_HEADERS
        )
    except Exception as problem:
        return [
            {**_case_header(unit, case), "error": _format_problem(problem)} for case in unit.cases
        ]
    return [run_case(unit, case, module, asked, keep) for case in unit.cases]


def _case_header(unit, case):
    return {"unit": unit.name, "kernel": case.kernel, "index": case.index, "within": case.within}


def _format_problem(problem):
    return f"{type(problem).__name__}: {problem}"[:2000]


def run_case(unit, case, module, asked, keep) -> dict:
    """Runs one launch; returns its results and their difference from NumPy's."""
    from numbalite import cuda

    result = _case_header(unit, case)
    values, began = case.values(unit.name), time.perf_counter()
    try:
        kernel = module[case.kernel]
        _launch_case(kernel, case, values)
    except Exception as problem:
        said = _format_problem(problem)
        return {**result, "error": said, "known": bool(case.finds) and case.finds in said}
    result["seconds"] = round(time.perf_counter() - began, 3)
    arrays = [values[i] for i in case.written]
    result["hashes"] = [hashlib.sha256(a.tobytes()).hexdigest() for a in arrays]
    result["open"] = case.oracle is None
    result["wrong"] = difference_from_expected(
        case, case.read(case.values(unit.name)), case.read(values)
    )
    if keep:
        name = f"{keep}.{os.getpid()}.{case.index}.npz"
        np.savez(name, *arrays)
        result["arrays"] = name
    if asked.checks:
        result["found"] = _find_errors(kernel, case, case.values(unit.name))
    if asked.exact:
        result["races"] = _find_errors(kernel, case, case.values(unit.name), "race")
        search = cuda.checks("race", exact=True, budget=asked.budget)
        result["exact"] = _find_errors(kernel, case, case.values(unit.name), search=search)
        result["verdict"] = search.verdict.kind
    return result


def _launch_case(kernel, case, values):
    from numbalite import cuda

    shape = (case.grid, case.block, 0, case.shared) if case.shared else (case.grid, case.block)
    kernel[shape](*values)
    cuda.synchronize()


def _find_errors(kernel, case, values, *kinds, search=None):
    from numbalite import cuda
    from numbalite.errors import KernelError

    try:
        with search or cuda.checks(*kinds):
            _launch_case(kernel, case, values)
    except KernelError as problem:
        return str(problem)[:1500]
    except Exception as problem:
        return _format_problem(problem)
    return ""


def difference_from_expected(case: described.LaunchCase, before: list, after: list) -> str:
    """Returns the difference from the expected results, or an empty string."""
    if case.oracle is None:
        return "" if case.finds else "nothing is expected"
    arrays = [after[i] for i in case.written]
    inputs = [
        v for i, v in enumerate(before) if i not in case.written or _needs_initial_contents(case, i)
    ]
    expected = case.oracle(*inputs)
    expected = expected if isinstance(expected, tuple) else (expected,)
    if len(expected) != len(arrays):
        return f"{len(arrays)} arrays are written, {len(expected)} expected"
    for number, (got, right) in enumerate(zip(arrays, expected)):
        if right is not None and (said := describe_difference(got, np.asarray(right), case.within)):
            return f"out {number}: {said}"
    return ""


def _needs_initial_contents(case, index):
    """Returns whether the oracle needs the initial contents of an array that the kernel writes.
    Initial contents that are a single number are not passed."""
    values = case.arguments[index].values(np.random.default_rng(1))
    return values.size > 1 and (values != values.flat[0]).any()


def describe_difference(got, right, within: float) -> str:
    """Returns the difference of two arrays, if larger than `within`, or an empty string."""
    right = np.broadcast_to(right.reshape(-1) if right.ndim else right, got.size).astype("f8")
    got = got.reshape(-1).astype("f8")
    if not within:
        wrong = ~((got == right) | (np.isnan(got) & np.isnan(right)))
    else:
        wrong = ~(np.abs(got - right) <= within * np.maximum(1, np.abs(right)))
        wrong &= ~((got == right) | (np.isnan(got) & np.isnan(right)))
    if not wrong.any():
        return ""
    first = int(np.argmax(wrong))
    return f"{wrong.sum()} of {got.size} differ, [{first}] is {got[first]}, not {right[first]}"


def compare_drivers(one: str, other: str) -> int:
    """Prints the results of two drivers side by side; returns the number of different results."""
    results = []
    for path in (one, other):
        with open(path, encoding="utf-8") as file:
            found = {(r["unit"], r["index"]): r for r in json.load(file)}
        results.append((found, np.load(_arrays_path(path))))
    (left, mine), (right, theirs) = results
    same = close = apart = 0
    for key in left.keys() & right.keys():
        a, b = left[key], right[key]
        if "error" in a or "error" in b:
            if ("error" in a) != ("error" in b) and not (a.get("known") or b.get("known")):
                apart += 1
                print(
                    f"{key[0]} {a['kernel']}: {a.get('error', 'runs')} | {b.get('error', 'runs')}"
                )
            continue
        if a["hashes"] == b["hashes"]:
            same += 1
            continue
        if a.get("open") or b.get("open"):
            print(f"{key[0]} {a['kernel']}: other numbers, as its mistake allows")
            continue
        pairs = ((mine[n], theirs[n]) for n in _result_names(a))
        said = [said for x, y in pairs if (said := describe_difference(x, y, a["within"]))]
        close += not said
        if said:
            apart += 1
            print(f"{key[0]} {a['kernel']}: {'; '.join(said)}")
    exact = sum(not left[k]["within"] for k in left.keys() & right.keys())
    print(f"{same} the same bits ({exact} must be), {close} within what is allowed, {apart} apart")
    return apart


def _result_names(result):
    return [f"{result['unit']} {result['index']} {i}" for i in range(len(result["hashes"]))]


def _arrays_path(path):
    return os.path.splitext(path)[0] + ".npz"


def print_report(results: list, expected: dict, checks: bool) -> None:
    """Prints errors, the reports of the checks, and the counts."""
    for r in results:
        if not r.get("known") and (said := r.get("error") or r["wrong"]):
            print(f"{r['unit']} {r['kernel']}: {said}")
    right = sum("error" not in r and not r["wrong"] for r in results)
    known = unknown = 0
    for r in results if checks else ():
        case = expected[r["unit"], r["index"]]
        found = r.get("found", r["error"] if r.get("known") else "")
        if found and case.finds and case.finds in found:
            known += 1
        elif found or case.finds:
            unknown += 1
            print(f"{r['unit']} {r['kernel']}: expected {case.finds!r}, checks say: {found}")
    print(f"{len(results)} launches of {len({(r['unit'], r['kernel']) for r in results})} kernels")
    print(f"{right} right")
    if checks:
        print(f"{known} reports that are known, {unknown} others")


def report_verdicts(results: list) -> None:
    """Prints the number of each verdict, and the kernels for which only one of the searches reports
    a race."""
    decided = [r for r in results if "verdict" in r]
    for kind, count in collections.Counter(r["verdict"] for r in decided).most_common():
        print(f"{count} {kind}")
    for r in decided:
        if r["verdict"] != "undecided" and bool(r["races"]) != (r["verdict"] == "races"):
            print(f"{r['unit']} {r['kernel']}: {r['verdict']}: {r['exact'] or r['races']}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--results", help="a JSON file to write")
    parser.add_argument("--only", default="", help="units whose path has this in it")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--budget", type=float, default=0.5, help="of an exact search, in seconds")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--compare", nargs=2, metavar="JSON")
    asked = parser.parse_args()
    if asked.compare:
        return min(compare_drivers(*asked.compare), 1)
    units = {u.name: u for u in described.described_units() if asked.only in u.name}
    keep = os.path.abspath(os.path.splitext(asked.results)[0]) if asked.results else None
    results = []

    def run_unit_by_name(name):
        return run_unit(units[name], asked.folder, asked, keep)

    for name, done in acceptance.run_in_parallel(list(units), run_unit_by_name, asked.jobs):
        if isinstance(done, str):
            done = [{**_case_header(units[name], c), "error": done} for c in units[name].cases]
        results += done
    if keep:
        write_results(asked.results, results)
    print_report(
        results, {(u.name, c.index): c for u in units.values() for c in u.cases}, asked.checks
    )
    report_verdicts(results)
    return 0


def write_results(path: str, results: list) -> None:
    """Writes a JSON file, and the arrays of all results to an .npz file in the same folder."""
    arrays = {}
    for result in results:
        if piece := result.pop("arrays", None):
            with np.load(piece) as made:
                arrays.update(zip(_result_names(result), made.values()))
            os.unlink(piece)
    np.savez_compressed(_arrays_path(path), **arrays)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)


if __name__ == "__main__":
    sys.exit(main())
