"""Judges a submission: starts its process, sends it the arguments of each case, compares what comes back."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pickle
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from numbalite.course import supervisor
from numbalite.course.compare import Mismatch, mismatch, number
from numbalite.cxx import scanner
from numbalite.judge import cases, refusal

if TYPE_CHECKING:
    from numbalite.judge.taskfile import Task

_MARGIN = 1024  # elements before and after each array
_LIMIT = 10.0  # seconds of a launch
_PATIENCE = 60.0  # seconds of a reply, with compilation
_CHECKED = 1 << 14  # elements of a case that runs under cuda.checks
_CHECKED_CASES = 3
_FILES, _DISK = 256 * 10**6, 10**9
_MEMORY = 16 << 30  # resident bytes of the processes
# Before NumPy starts threads: CLONE_NEWNET, or with CLONE_NEWUSER for users other than root.
_CHILD = """
import ctypes, sys
sys.path[:] = filter(None, sys.path)
libc = ctypes.CDLL(None)
sys.argv.append(str(int(libc.unshare(0x40000000) == 0 or libc.unshare(0x50000000) == 0)))
from numbalite.judge.runner import serve
serve()
"""
_KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
_KEPT_BEGINNINGS = ("NUMBALITE_", "CUDA", "NVIDIA_")


class Verdict:
    """The verdict on a submission. ``correct``, ``reason`` and ``case`` (the smallest one that fails), ``findings`` of
    the simulator's checks, ``hacks``: why the source was refused, ``times``."""

    def __init__(self, task: str, path: str) -> None:
        self.task, self.path = task, path
        self.correct = False
        self.reason = ""
        self.case: dict = {}
        self.findings: list[str] = []
        self.hacks: list[str] = []
        self.notes: list[str] = []
        self.times: dict = {}
        self.cases = 0
        self.seconds = 0.0

    def as_dict(self) -> dict:
        """All of it, for JSON."""
        return dict(vars(self))

    def __str__(self) -> str:
        lines = [f"{self.path}: {'correct' if self.correct else 'not correct'} ({self.task})"]
        lines += [f"  {self.reason}"] if self.reason else []
        lines += [f"    {name} = {value}" for name, value in self.case.items()]
        lines += [f"  {text}" for text in (*self.hacks, *self.findings, *self.notes)]
        lines += [f"  {name}: {value}" for name, value in self.times.items()]
        return "\n".join(lines)


class Wrong(Exception):
    """A submission fails: the reason, and the case."""

    def __init__(self, reason: str, case: dict | None = None) -> None:
        super().__init__(reason)
        self.case = case or {}


def judge(
    task: Task, path: str, *, kind: str = "", speed: bool = True, gpu: str | None = None
) -> Verdict:
    """The Verdict on the file of a submission. ``kind``: "source", "body" or "py"; by default by its text."""
    began = time.monotonic()
    verdict = Verdict(task.name, path)
    try:
        _judge(verdict, task, path, kind, speed, gpu)
        verdict.correct = True
    except Wrong as wrong:
        verdict.reason, verdict.case = str(wrong), wrong.case
    verdict.seconds = round(time.monotonic() - began, 2)
    return verdict


def _judge(verdict, task, path, kind, speed, gpu):
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    kind = kind or ("source" if scanner.has_kernel(text) else "body")
    submission = {
        "kind": kind, "text": text, "path": os.path.abspath(path), "name": task.name,
        "parameters": [p.name for p in task.parameters], "signature": task.signature,
    }  # fmt: skip
    if kind == "py":
        verdict.notes.append("a Python file: it runs in the judged process, which is less strict")
    else:
        verdict.hacks = refusal.reasons(text)
        if verdict.hacks:
            raise Wrong("The file is not only device code.")
    rng = np.random.default_rng(secrets.randbits(128))
    with Runner(submission) as runner:
        verdict.notes += [f"a line that is probably wrong: {slip}" for slip in runner.slips]
        if not runner.isolated:
            verdict.notes.append(
                "the process has the network of this machine: the system permits no other"
            )
        _check(verdict, task, runner, rng)
        for size, data in cases.plan(task):
            case = cases.draw(task, size, data, rng)
            if case is not None:
                _compare(task, case, runner.call(task, case, _LIMIT))
                verdict.cases += 1
        if speed:
            _time(verdict, task, runner, rng, gpu)
    allowed = next(iter(case.allowed.values())) if case else None
    if allowed is not None:
        verdict.notes.append(f"tolerance at {case}: {cases.stated(allowed)}")


def _check(verdict, task, runner, rng):
    """Launches under cuda.checks, on the simulator also next to a GPU."""
    with contextlib.ExitStack() as stack:
        if not runner.simulated:
            runner = stack.enter_context(Runner(runner.submission, simulated=True))
        chosen = [s for s in cases.sizes(task) if 0 < prod(s) <= _CHECKED]
        step = max(1, len(chosen) // _CHECKED_CASES)
        for size in chosen[::-step][:_CHECKED_CASES][::-1]:
            case = cases.draw(task, size, "normal", rng)
            if case is None:
                continue
            try:
                runner.call(task, case, 3 * _LIMIT, checks=True, margin=0)
            except Wrong as wrong:
                verdict.findings.append(str(wrong))
                raise Wrong(f"cuda.checks finds a mistake, with {case}.") from None
            verdict.cases += 1


def _time(verdict, task, runner, rng, gpu):
    size = max(task.sizes, key=prod)
    if runner.simulated:  # a launch is counted access by access
        fitting = [s for s in cases.sizes(task) if prod(s) <= _CHECKED]
        size = max(fitting, key=prod, default=size)
    case = cases.draw(task, size, "normal", rng)
    if case is None:
        return
    moved = sum(a.nbytes for a in case.arguments if isinstance(a, np.ndarray))
    times, returned = runner.time(task, case, gpu)
    _compare(task, case, returned)  # what was timed is right, too
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
        with Runner(reference) as other:
            theirs, _ = other.time(task, case, gpu)
        verdict.times["reference_ms"] = theirs["cold_ms"]
        verdict.times["ratio"] = round(times["cold_ms"] / theirs["cold_ms"], 3)


# --- comparing


def _compare(task, case, wholes):
    """Wrong for elements, margins or inputs that are not as they should be."""
    waiting = iter(wholes)
    for p, value in zip(task.parameters, case.arguments, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        whole, margin = next(waiting)
        got = whole[margin : margin + value.size].reshape(value.shape)
        edges = np.concatenate([whole[:margin], whole[margin + value.size :]])
        if edges.tobytes() != _edge(p.dtype, 2 * margin).tobytes():
            raise Wrong(f"It writes outside of {p.name}.", {"case": str(case)})
        if not p.is_output:
            if got.tobytes() != np.ascontiguousarray(value).tobytes():
                raise Wrong(f"It changes the input {p.name}.", {"case": str(case)})
            continue
        found = _mismatch(case, p.name, got)
        if found is not None:
            raise Wrong(f"{found.wrong:,} of {found.total:,} elements of {p.name} are wrong.",
                        _described(task, case, p, found, value))  # fmt: skip


def _mismatch(case, name, got):
    want, allowed = case.expected[name], case.allowed[name]
    if want.dtype.kind in "fc" and want.size:
        got, want = got.copy(), want.copy()
        ignored = case.undecided[name] | (~np.isfinite(want) & ~np.isfinite(got))
        got[ignored] = want[ignored] = 0
    return mismatch(got, want, allowed)


def _described(task, case, p, found: Mismatch, before):
    rows = {"case": str(case)}
    for other, value in zip(task.parameters, case.arguments, strict=True):
        if not isinstance(value, np.ndarray):
            rows[other.name] = number(value)
        elif value.size <= 8 and not other.is_output:
            rows[other.name] = np.array2string(value, threshold=16).replace("\n", "")
    at = ", ".join(map(str, found.place))
    rows[f"{p.name}[{at}], expected"] = number(found.expected)
    unwritten = "   (nothing was written there)" if before[found.place] == found.got else ""
    rows[f"{p.name}[{at}], got"] = number(found.got) + unwritten
    return rows


def _edge(dtype, count):
    """The contents of margins."""
    return np.full(count, 77, np.uint8).astype(dtype) if dtype.kind != "b" else np.ones(count, bool)


# --- the process


class Runner:
    """The process of one submission, under a supervisor; `Wrong` is raised if it fails."""

    def __init__(self, submission: dict, simulated: bool = False) -> None:
        self.submission = submission
        self._pipe, theirs = multiprocessing.Pipe()
        self._scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._words = tempfile.TemporaryFile()
        self._mark = secrets.token_hex(16)
        environment = {
            name: value for name, value in os.environ.items()
            if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
        }  # fmt: skip
        environment |= {
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            "NUMBALITE_CACHE_DIR": os.path.join(self._scratch.name, "cache"),
            "TMPDIR": self._scratch.name, supervisor.MARK: self._mark,
        }  # fmt: skip
        environment.pop("NUMBALITE_COVERAGE", None)
        if simulated:
            environment["NUMBALITE_DRIVER"] = "sim"
        end = str(theirs.fileno())
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-E", supervisor.__file__, end),
                *(self._scratch.name, str(_FILES), str(_DISK)),
                *(sys.executable, "-W", "ignore", "-c", _CHILD, end),
            ],
            stdin=subprocess.DEVNULL, stdout=self._words, stderr=self._words, pass_fds=[theirs.fileno()],
            start_new_session=True, cwd=self._scratch.name, env=environment,
        )  # fmt: skip
        theirs.close()
        try:
            header, _ = self._received()
            self.simulated: bool = header["simulated"]
            self.device: str = header["device"]
            self.isolated: bool = header["isolated"]
            header, _ = self._asked("open", submission)
            self.slips: list = header.get("slips", [])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process, and all that it has started."""
        self._pipe.close()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._process.kill()
        self._process.wait()
        supervisor.end(lambda: supervisor.marked(self._mark))
        self._words.close()
        self._scratch.cleanup()

    def call(
        self, task: Task, case: Any, limit: float, checks: bool = False, margin: int = _MARGIN
    ) -> list:
        """[(the whole array, its margin)] after a launch with the case's arguments."""
        given = self._given(task, case, margin, limit)
        if not _launches(given["launch"]):
            return [(whole, margin) for whole, margin, _ in filter(_is_array, given["arguments"])]
        _, arrays = self._asked("call", {**given, "checks": checks}, case)
        return self._returned(given, arrays)

    def time(self, task: Task, case: Any, gpu: str | None) -> tuple[dict, list]:
        """(times, as `call`)"""
        given = self._given(task, case, _MARGIN, 3 * _LIMIT)
        header, arrays = self._asked(
            "time", {**given, "simulated": self.simulated, "gpu": gpu}, case
        )
        names = ("predicted", "gpu", "bound", "cold_ms", "warm_ms")
        return {name: header[name] for name in names if name in header}, self._returned(
            given, arrays
        )

    def _given(self, task, case, margin, limit):
        arguments = []
        for p, value in zip(task.parameters, case.arguments, strict=True):
            if isinstance(value, np.ndarray):
                whole = _edge(p.dtype, value.size + 2 * margin)
                whole[margin : margin + value.size] = value.reshape(-1)
                value = whole, margin, value.shape
            arguments.append(value)
        return {"arguments": arguments, "launch": task.launch(*case.arguments), "limit": limit}

    def _returned(self, given, arrays):
        sent = list(filter(_is_array, given["arguments"]))
        if [len(data) for data in arrays] != [whole.nbytes for whole, _, _ in sent]:
            raise Wrong("The process of the submission returns other arrays than it was sent.")
        pairs = zip(sent, arrays, strict=True)
        return [(np.frombuffer(data, whole.dtype), margin) for (whole, margin, _), data in pairs]

    def _asked(self, what, given, case=None):
        with contextlib.suppress(BrokenPipeError):  # _received says why
            self._pipe.send_bytes(pickle.dumps((what, given)))
        return self._received(case)

    def _received(self, case=None):
        where = {"case": str(case)} if case is not None else {}
        until = time.monotonic() + _PATIENCE
        while not self._pipe.poll(0.3):
            if time.monotonic() > until:
                raise Wrong(f"It did not end after {_PATIENCE:g} seconds.", where)
            if _resident(self._process.pid) > _MEMORY:
                raise Wrong(f"It uses more than {_MEMORY >> 30} GiB of memory.", where)
        try:
            header = json.loads(self._pipe.recv_bytes(1 << 20))
            arrays = [self._pipe.recv_bytes() for _ in range(int(header["arrays"]))]
        except (EOFError, OSError, ValueError, KeyError, TypeError):
            raise Wrong(f"It ended its process{self._why()}", where) from None
        if header.get("error"):
            raise Wrong(str(header["error"]), where)
        return header, arrays

    def _why(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(5)
            if status < 0:
                return f", by {signal.Signals(-status).name}."
        self._words.seek(0)
        last = self._words.read().decode(errors="replace").strip().rpartition("\n")[2]
        return f": {last}" if last else "."


def _resident(root):
    """The resident bytes of the processes that a process has started."""
    total = 0
    for process in supervisor.descendants(root):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{process}/statm", "rb") as file:
                total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total


def _is_array(argument):
    return isinstance(argument, tuple)


def _launches(launch):
    grid = launch[0] if isinstance(launch[0], tuple) else (launch[0],)
    return all(n > 0 for n in grid)
