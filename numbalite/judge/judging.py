"""Judges a submission: starts its process, sends it the arguments of each case, and compares the
results."""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
import time
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from numbalite.compilers import cache
from numbalite.cxx import scanner
from numbalite.judge import cases, refusal, verdict
from numbalite.judge.compare import failure_rows, find_mismatch
from numbalite.judge.guarded import MARGIN, GuardedArray, unwritten_elements
from numbalite.judge.process import ProcessEnded, ServingProcess
from numbalite.judge.refusal import RefusedSubmission
from numbalite.judge.verdict import Failed

if TYPE_CHECKING:
    from numbalite.judge.taskfile import Task

_LIMIT = 10.0  # seconds of a launch
_PATIENCE = 60.0  # seconds of a reply, with compilation
_CHECKED = 1 << 14  # maximum number of elements of a case that runs under cuda.checks
_CHECKED_CASES = 3  # cases that are checked, however long they take
_CHECKED_SECONDS = 2.0  # the other small cases are checked, in random order, for this time
_UNRESTRICTED = {
    "network": "the process has the network of this machine: the system permits no other",
    "files": "the process may change files of this machine: the system has no Landlock",
}
_MANY_THREADS = 1 << 17  # a launch with more threads runs once for each kind of data
_SHORTEST = 5e-7  # seconds; an empty launch between two events takes longer on each GPU
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
_KEPT_BEGINNINGS = ("NUMBALITE_", "CUDA", "NVIDIA_")


class Verdict(verdict.Verdict):
    """The verdict on a submission. ``passed``, ``reason`` and ``case`` (the smallest case that fails),
    ``findings`` of the simulator's checks, ``hacks`` (the reasons why the source was rejected), and
    ``times``."""

    def __init__(self, task: str, path: str) -> None:
        super().__init__(task, False, "")
        self.path = path
        self.case: dict = {}
        self.findings: list[str] = []
        self.hacks: list[str] = []
        self.times: dict = {}
        self.cases = 0
        self.seconds = 0.0

    def as_dict(self) -> dict:
        """Returns all fields as a dict, for JSON."""
        names = "path reason case findings hacks notes times cases seconds".split()
        return {"task": self.name, "correct": self.passed} | {n: getattr(self, n) for n in names}

    @property
    def headline(self) -> str:
        return f"{self.path}: {'correct' if self.passed else 'not correct'} ({self.name})"


def judge(
    task: Task, path: str, *, kind: str = "", speed: bool = True, gpu: str | None = None
) -> Verdict:
    """Returns the Verdict on the file of a submission. ``kind`` is "source", "body" or "py"; the default
    depends on the file's text."""
    began = time.monotonic()
    verdict = Verdict(task.name, path)
    try:
        _judge_file(verdict, task, path, kind, speed, gpu)
        verdict.passed = True
    except Failed as failed:
        verdict.reason, verdict.case = failed.reason, failed.case or {}
        verdict.hacks = getattr(failed, "hacks", [])
    verdict.warnings = (*verdict.hacks, *verdict.findings)
    verdict.seconds = round(time.monotonic() - began, 2)
    return verdict


def _judge_file(verdict, task, path, kind, speed, gpu):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    kind = kind or ("source" if scanner.has_kernel(text) else "body")
    submission = {
        "kind": kind, "text": text, "path": os.path.abspath(path), "name": task.name,
        "parameters": [p.name for p in task.parameters], "signature": task.signature,
    }  # fmt: skip
    if kind == "py":
        verdict.notes += ("a Python file: it runs in the judged process, which is less strict",)
    else:
        hacks = refusal.refusal_reasons(text)
        if hacks:
            raise RefusedSubmission(hacks)
    rng = np.random.default_rng(secrets.randbits(128))
    with SubmissionProcess(submission) as runner:
        verdict.notes += tuple(f"a line that is probably wrong: {slip}" for slip in runner.slips)
        verdict.notes += tuple(_UNRESTRICTED[name] for name in runner.unrestricted)
        _run_checks(verdict, task, runner, rng)
        case, done = None, set()
        for size, data in cases.case_plan(task, rng):
            if (size, data) in done and _thread_count(task, case) > _MANY_THREADS:
                continue
            case = cases.draw_case(task, size, data, rng)
            if case is not None:
                _compare_results(task, case, runner.run_case(task, case, _LIMIT))
                verdict.cases += 1
            done.add((size, data))
        if speed:
            _measure_times(verdict, task, runner, rng, gpu)
    if case is not None:
        allowed = next(iter(case.allowed.values()))
        verdict.notes += (f"tolerance at {case}: {cases.tolerance_text(allowed)}",)
    verdict.notes += tuple(f"{name}: {value}" for name, value in verdict.times.items())


def _run_checks(verdict, task, runner, rng):
    """Runs launches under cuda.checks, on the simulator, also on a machine with a GPU."""
    with contextlib.ExitStack() as stack:
        if not runner.simulated:
            runner = stack.enter_context(SubmissionProcess(runner.submission, simulated=True))
        chosen = _checked_sizes(task, rng)
        until = time.monotonic() + _CHECKED_SECONDS
        for count, size in enumerate(chosen):
            if count >= _CHECKED_CASES and time.monotonic() > until:
                break
            case = cases.draw_case(task, size, "normal", rng)
            if case is None:
                continue
            try:
                runner.run_case(task, case, 3 * _LIMIT, checks=True, margin=0)
            except RefusedSubmission:
                raise
            except Failed as failed:
                verdict.findings.append(failed.reason)
                raise Failed(f"cuda.checks finds a mistake, with {case}.") from None
            verdict.cases += 1


def _checked_sizes(task, rng):
    """Returns the sizes to check: small, medium and large sizes first, then the others in random order."""
    sizes = sorted({*cases.sizes(task), *cases.random_sizes(task, rng)}, key=prod)
    small = [s for s in sizes if 0 < prod(s) <= _CHECKED] or sizes[:1]
    step = max(1, len(small) // _CHECKED_CASES)
    first = small[::-step][:_CHECKED_CASES][::-1]
    others = [s for s in small if s not in first]
    return first + [others[i] for i in rng.permutation(len(others))]


def _measure_times(verdict, task, runner, rng, gpu):
    size = max(task.benchmarks or task.sizes, key=prod)
    if runner.simulated:  # the profiler counts each access of a launch
        fitting = [s for s in cases.sizes(task) if prod(s) <= _CHECKED]
        size = max(fitting, key=prod, default=min(task.sizes, key=prod))
    case = cases.draw_case(task, size, "normal", rng)
    if case is None:
        return
    moved = sum(a.nbytes for a in case.arguments if isinstance(a, np.ndarray))
    times, returned = runner.time_case(task, case, gpu, rng)
    _compare_results(task, case, returned)  # checks that the timed call's result is correct, too
    _check_reported_times(times)
    verdict.times = {"size": "x".join(map(str, size)), **times}
    if runner.simulated:
        verdict.times["note"] = (
            "a time that the GPU cannot be faster than, predicted by the profiler: not measured"
        )
        return
    verdict.times["GB/s"] = round(moved / times["cold_ms"] / 1e6, 1)
    if task.operations:
        verdict.times["Gflop/s"] = round(task.operations(*size) / times["cold_ms"] / 1e6, 1)
    if task.reference:
        reference = {**runner.submission, "kind": "source" if scanner.has_kernel(task.reference) else "body",
                     "text": task.reference, "path": "reference.cu"}  # fmt: skip
        with SubmissionProcess(reference) as other:
            theirs, _ = other.time_case(task, case, gpu, rng)
        verdict.times["reference_ms"] = theirs["cold_ms"]
        verdict.times["ratio"] = round(times["cold_ms"] / theirs["cold_ms"], 3)


def _check_reported_times(times):
    """Raises Failed for times that no launch can have. The submission's own process measures the times, and could
    forge them."""
    seconds = {name: value / 1e3 for name, value in times.items() if name.endswith("_ms")}
    seconds |= {name: value for name, value in times.items() if name == "predicted"}
    for name, value in seconds.items():
        if not isinstance(value, float) or not value >= _SHORTEST:
            raise Failed(f"Its time, {name} = {times[name]}, is impossible: it was not measured.")


# --- comparing


def _compare_results(task, case, returned):
    """Raises Failed for wrong elements, changed margins or changed inputs."""
    waiting = iter(returned)
    for p, value in zip(task.parameters, case.arguments, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        guarded, whole = next(waiting)
        problem = guarded.out_of_bounds_write(p.name, whole, not p.is_output)
        if problem:
            raise Failed(problem[0].upper() + problem[1:], {"case": str(case)})
        if not p.is_output:
            continue
        got = guarded.view_of_array(whole)
        found = _output_mismatch(case, p.name, got)
        if found is not None:
            arguments = [
                (other.name, given)
                for other, given in zip(task.parameters, case.arguments, strict=True)
                if not other.is_output or other.name in task.inout
            ]
            raise Failed(
                f"{found.wrong:,} of {found.total:,} elements of {p.name} are wrong.",
                {"case": str(case), **failure_rows(p.name, got, case.expected[p.name], found, arguments)},
            )  # fmt: skip


def _output_mismatch(case, name, got):
    want, allowed = case.expected[name], case.allowed[name]
    if want.dtype.kind in "fc" and want.size:
        ignored = case.undecided[name] | (~np.isfinite(want) & ~np.isfinite(got))
        ignored &= ~unwritten_elements(got)
        got, want = np.where(ignored, 0, got), np.where(ignored, 0, want)
    return find_mismatch(got, want, allowed)


# --- the process


class SubmissionProcess(ServingProcess):
    """The process of one submission; `Failed` is raised if the process fails."""

    def __init__(self, submission: dict, simulated: bool = False) -> None:
        self.submission = submission
        environment = {
            name: value for name, value in os.environ.items()
            if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
        }  # fmt: skip
        environment.pop("NUMBALITE_COVERAGE", None)
        environment.pop("NUMBALITE_CACHE_DIR", None)
        # Python code could store other kernels in the disk cache, so it has a cache of its own.
        if submission["kind"] != "py" and (folder := cache.usable_directory()):
            environment["NUMBALITE_CACHE_DIR"] = folder
        if simulated:
            environment["NUMBALITE_DRIVER"] = "sim"
        super().__init__("numbalite.judge.runner", environment, isolated=True)
        try:
            header, _ = self._receive_arrays()
            self.simulated: bool = header["simulated"]
            self.unrestricted: list = header["unrestricted"]
            header, _ = self._request_arrays("open", submission)
            self.slips: list = header.get("slips", [])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SubmissionProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def run_case(
        self, task: Task, case: Any, limit: float, checks: bool = False, margin: int = MARGIN
    ) -> list:
        """Returns [(GuardedArray, the whole array)] after a launch with the case's arguments."""
        given = self._guard_arguments(task, case, margin, limit)
        if not _has_nonempty_grid(given["launch"]):
            return [(guarded, guarded.whole) for guarded in given["arrays"]]
        return self._request_arrays("call", {**given, "checks": checks}, case)[1]

    def time_case(self, task: Task, case: Any, gpu: str | None, rng: Any) -> tuple[dict, list]:
        """Returns (times, as `run_case`)"""
        given = self._guard_arguments(task, case, MARGIN, 3 * _LIMIT)
        if not self.simulated:
            others = cases.draw_arguments(task, case.size, case.kind, rng)
            given["others"] = _guard_arrays(others, MARGIN)
        header, returned = self._request_arrays(
            "time", {**given, "simulated": self.simulated, "gpu": gpu}, case
        )
        names = ("predicted", "gpu", "bound", "cold_ms", "warm_ms")
        return {name: header[name] for name in names if name in header}, returned

    def _guard_arguments(self, task, case, margin, limit):
        arguments = _guard_arrays(case.arguments, margin)
        arrays = [value for value in arguments if isinstance(value, GuardedArray)]
        launch = task.launch(*case.arguments)
        return {"arguments": arguments, "arrays": arrays, "launch": launch, "limit": limit}

    def _request_arrays(self, what, given, case=None):
        with contextlib.suppress(BrokenPipeError):  # _receive_arrays reports the reason
            self.pipe.send_bytes(pickle.dumps((what, given)))
        return self._receive_arrays(given.get("arrays", []), case)

    def _receive_arrays(self, sent=(), case=None):
        where = {"case": str(case)} if case is not None else {}
        try:
            header, arrays = self.receive(_PATIENCE, max((g.whole.nbytes for g in sent), default=0))
        except ProcessEnded as ended:
            raise Failed(str(ended), where) from None
        if isinstance(header, dict) and header.get("hacks"):
            raise RefusedSubmission(list(map(str, header["hacks"])))
        if not isinstance(header, dict) or header.get("error"):
            raise Failed(str(header["error"] if isinstance(header, dict) else header), where)
        wanted = [(guarded.whole.dtype, guarded.whole.shape) for guarded in sent]
        if [(array.dtype, array.shape) for array in arrays] != wanted:
            raise Failed("The process of the submission returns other arrays than it was sent.")
        return header, list(zip(sent, arrays, strict=True))


def _guard_arrays(arguments, margin):
    return [
        GuardedArray(value, key, margin) if isinstance(value, np.ndarray) else value
        for key, value in enumerate(arguments)
    ]


def _has_nonempty_grid(launch):
    return all(n > 0 for n in np.atleast_1d(launch[0]))


def _thread_count(task, case):
    """Returns the number of threads of the launch of a case, or 0."""
    grid, block, *_ = ((0,), (0,)) if case is None else task.launch(*case.arguments)
    return int(np.prod(grid, dtype=np.float64) * np.prod(block))
