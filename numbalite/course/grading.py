"""Runs and judges one learner's file in a separate process.

Whatever the file does ends with that process: it may change the judge, break the GPU's context, or never end.
The processes that it has started end with it (supervisor.py). A third process, the referee (referee.py), draws the data
and compares results; an answer passes if the referee has seen right results at each size, too.
If a cell ends the process, the next process runs the file without this cell, and the other answers are judged.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection

from numbalite import config
from numbalite.course import supervisor, timeouts

from .catalogue import find, load
from .mistakes import ENDLESS

JUDGING_LIMIT = 600.0
"""Seconds for all calls of an answer; each call has a limit of its own."""
MESSAGE_LIMIT = 1 << 20
"""Bytes of a message of the process."""
TEXT_LIMIT = 20_000
"""Characters of a verdict."""
FILE_LIMIT = 256 * 10**6
"""Bytes of a file that a learner's program writes: RLIMIT_FSIZE."""
DISK_LIMIT = 1000 * 10**6
"""Bytes that it may write in all."""

# A learner's file may have the name of a module, so numbalite's modules must not be imported from its folder.
_CHILD = "import sys; sys.path[:] = filter(None, sys.path); from numbalite.course.{} import serve; serve()"
_FORGED = (
    "The process that ran the answer reports that it passed; the process that compares results has not seen right "
    "results at all sizes."
)


class Result:
    """The result of an answer: ``passed``, ``text`` (of the verdict, or the reason why there is none),
    ``missing`` if the file has no answer, ``seconds`` and ``reference_seconds`` if it was timed."""

    def __init__(self, passed, text, missing=False, seconds=None, reference_seconds=None):
        self.passed = passed
        self.text = text
        self.missing = missing
        self.seconds = seconds
        self.reference_seconds = reference_seconds


class Grader:
    """Judges the answers in a file (see `Learner`), which runs in its own folder. ``modules`` contain
    teachers' own exercises. Without a file, it judges the references alone."""

    def __init__(self, path, modules=(), speed=True):
        is_file = path is not None
        path = pathlib.Path(path or "none.py").resolve()
        modules = [os.path.abspath(m) if m.endswith(".py") else m for m in modules]
        self._folder = path.parent
        self._task = {"file": path.name if is_file else None, "modules": modules, "speed": speed}
        self._skipped = {}  # number of a piece -> why it is not run again
        self._child = None

    def result(self, name) -> Result:
        """The Result of one exercise."""
        try:
            self._start()
            is_reference = isinstance(name, list)
            exercise = name[0] if is_reference else name
            return Result(**self._child.judged(exercise, is_reference, self._task["speed"]))
        except _Ended as ended:
            self.close()
            return Result(False, f"{name}: not passed\n  {ended}")

    def reference(self, name) -> Result:
        """The Result of the judge's own solution of an exercise, without its time."""
        return self.result([name])

    def close(self):
        """Ends the process, whatever it does."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def _start(self):
        """A process that has run the file. Each piece that ends it is left out in the next."""
        if self._child is not None and self._child.is_there():
            return
        while True:
            self.close()
            self._child = child = _Child({**self._task, "skipped": self._skipped}, self._folder)
            piece = None
            try:
                while (said := child.receive(timeouts.CELL_LIMIT + 4 * timeouts.GRACE)) != "done":
                    piece = said
                return
            except _Ended as ended:
                if piece is None:
                    raise
                self._skipped[piece] = str(ended)


class _Ended(Exception):
    """The process has ended, or was ended: the message is the reason."""


class _Child:
    """A process and the pipe to it, with messages in JSON; and its referee."""

    def __init__(self, task, folder):
        self.pipe, theirs = multiprocessing.Pipe()
        self.referee, referees = multiprocessing.Pipe()
        asking, asked = multiprocessing.Pipe()
        self.last_words = tempfile.TemporaryFile()
        self.mark = secrets.token_hex(16)
        self.scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        limits = self.scratch.name, str(FILE_LIMIT), str(DISK_LIMIT)
        ends = [str(pipe.fileno()) for pipe in (theirs, asking)]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
        }
        python = (sys.executable, "-W", "ignore", "-c")
        self.referee_process = subprocess.Popen(
            [*python, _CHILD.format("referee"), str(asked.fileno()), str(referees.fileno())],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.last_words,
            pass_fds=[asked.fileno(), referees.fileno()], start_new_session=True, env=environment,
        )  # fmt: skip
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-E", supervisor.__file__, ",".join(ends), *limits),
                *(*python, _CHILD.format("grading"), *ends),
            ],
            stdin=subprocess.DEVNULL, stdout=self.last_words, stderr=self.last_words,
            pass_fds=[theirs.fileno(), asking.fileno()], start_new_session=True, cwd=folder,
            env={**environment, supervisor.MARK: self.mark, "TMPDIR": self.scratch.name},
        )  # fmt: skip
        for pipe in (theirs, referees, asking, asked):
            pipe.close()
        _send(self.referee, task["modules"])
        self.send(task)

    def judged(self, name, is_reference, speed):
        """The arguments of Result. Raises _Ended if a process has ended."""
        has_referee = self._refereed({"begin": name})
        self.send({"name": name, "reference": is_reference, "has_referee": has_referee})
        said = self.receive(JUDGING_LIMIT)
        speed = speed and not is_reference
        if said["passed"] and has_referee and not self._refereed({"passed": speed}):
            said = {"passed": False, "text": f"{name}: not passed\n  {_FORGED}"}
        return said

    def _refereed(self, question):
        try:
            _send(self.referee, question)
            return json.loads(self.referee.recv_bytes())
        except (EOFError, OSError):
            raise _Ended("The process that compares results has ended.") from None

    def is_there(self):
        return self.process.poll() is None

    def send(self, message):
        with contextlib.suppress(BrokenPipeError):  # receive() returns the reason
            _send(self.pipe, message)

    def receive(self, seconds):
        """Its next message. _Ended: there is none."""
        if not self.pipe.poll(seconds):
            raise _Ended(f"It was not done after {seconds:g} seconds, and was ended. {ENDLESS}")
        try:
            return json.loads(self.pipe.recv_bytes(MESSAGE_LIMIT))
        except (EOFError, OSError):
            raise _Ended(self._why()) from None

    def _why(self):
        status = self.process.wait()
        if status < 0:
            return f"It ended the process, by {signal.Signals(-status).name}."
        self.last_words.seek(0)
        said = self.last_words.read().decode(errors="replace").strip()
        last = said.rpartition("\n")[2]
        if status == timeouts.EXIT_STATUS:
            return last
        return f"It ended the process, with the exit status {status}{': ' if last else '.'}{last}"

    def kill(self):
        """Ends the process and all its descendants, even if it has ended the supervisor."""
        self.pipe.close()
        self.referee.close()
        self.referee_process.kill()
        self.referee_process.wait()
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        supervisor.end(lambda: supervisor.marked(self.mark))
        self.last_words.close()
        self.scratch.cleanup()


def _send(pipe, message):
    pipe.send_bytes(json.dumps(message).encode())


# --- in that process -------------------------------------------------------------------------------------


def serve():
    """Reads the first task, runs its file, then judges the requested exercises."""
    from .referee import RemoteReferee

    pipe, referee = Connection(int(sys.argv[1])), RemoteReferee(Connection(int(sys.argv[2])))
    task = json.loads(pipe.recv_bytes())
    timeouts.unattended = True
    if config.is_default("STOPPABLE"):  # limits stop kernels on a GPU
        config.STOPPABLE = True
    for module in task["modules"]:
        load(module)

    from .learner import Learner

    skipped = {int(piece): why for piece, why in task["skipped"].items()}
    learner = None
    if task["file"] is not None:
        learner = Learner(task["file"], skipped, begins=lambda piece: _send(pipe, piece))
        learner.run()
    _send(pipe, "done")
    while True:
        try:
            asked = json.loads(pipe.recv_bytes())
        except EOFError:
            return
        name, answers, speed = asked["name"], learner, task["speed"]
        if asked["reference"]:
            answers, speed = _References(), False
        answer, is_usable = _result(answers, name, speed, referee if asked["has_referee"] else None)
        _send(pipe, answer)
        if not is_usable:
            os._exit(0)  # the end of the process would wait for a running kernel


def _result(learner, name, speed, referee):
    """(arguments of Result, can the process judge another answer?)"""
    from .judging import judge
    from .learner import Missing

    try:
        verdict = judge(name, learner.answer(name), speed, referee)
    except Missing as problem:
        return {"passed": False, "text": str(problem), "missing": True}, True
    except KeyError as problem:
        return {"passed": False, "text": problem.args[0], "missing": True}, True
    said = {
        "passed": verdict.passed, "text": str(verdict)[:TEXT_LIMIT],
        "seconds": verdict.seconds, "reference_seconds": verdict.reference_seconds,
    }  # fmt: skip
    return said, verdict.passed or verdict.simulated or _is_whole(verdict)


class _References:
    """Answers every exercise by the judge's own solution."""

    def answer(self, name):
        return find(name).reference()


def _is_whole(verdict):
    """Does the GPU still work for this process?"""
    from numbalite import cuda, errors

    if ENDLESS in verdict.reason:
        return False
    try:
        cuda.synchronize()
    except errors.CudaAPIError:
        return False
    return True
