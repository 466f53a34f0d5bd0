"""Runs and judges one learner's file in a separate process.

The effects of the file end with that process: the file may change the judge, break the GPU's context, or
never end. The processes that the file has started also end (judge/process.py). A third process, the referee
(referee.py), draws the data and compares results. An answer passes only if the referee has also received
correct results at each size. If a cell ends the process, the next process runs the file without this cell and
judges the other answers.
"""

from __future__ import annotations

import multiprocessing
import os
import pathlib
import subprocess
import sys
from multiprocessing.connection import Connection

from numbalite import config
from numbalite.course import timeouts
from numbalite.judge.messages import receive, send
from numbalite.judge.process import ProcessEnded, ServingProcess, module_search_path
from numbalite.judge.verdict import ENDLESS

from .catalogue import find_exercise, load_exercises

JUDGING_LIMIT = 600.0
"""Seconds for all calls of an answer; each call has a limit of its own."""
TEXT_LIMIT = 20_000
"""Characters of a verdict."""

_REFEREE = "import sys; sys.path[:] = filter(None, sys.path); from numbalite.course.referee import serve; serve()"
_FORGED = (
    "The process that ran the answer reports that it passed; the process that compares results has not seen right "
    "results at all sizes."
)


class Result:
    """The result of an answer: ``passed``, ``text`` (the text of the verdict, or the reason why there is no
    verdict), ``missing`` if the file has no answer, ``seconds`` and ``reference_seconds`` if the answer was
    timed."""

    def __init__(self, passed, text, missing=False, seconds=None, reference_seconds=None):
        self.passed = passed
        self.text = text
        self.missing = missing
        self.seconds = seconds
        self.reference_seconds = reference_seconds


class Grader:
    """Judges the answers in a file (see `Learner`), which runs in its own folder. ``modules`` contain
    teachers' own exercises. Without a file, only the reference solutions are judged."""

    def __init__(self, path, modules=(), speed=True):
        is_file = path is not None
        path = pathlib.Path(path or "none.py").resolve()
        modules = [os.path.abspath(m) if m.endswith(".py") else m for m in modules]
        self._folder = path.parent
        self._task = {"file": path.name if is_file else None, "modules": modules, "speed": speed}
        self._skipped = {}  # number of a section of the file -> the reason why the section is not run again
        self._child = None

    def result(self, name) -> Result:
        """Returns the Result of one exercise."""
        try:
            self._start_process()
            is_reference = isinstance(name, list)
            exercise = name[0] if is_reference else name
            return Result(**self._child.judge_answer(exercise, is_reference, self._task["speed"]))
        except ProcessEnded as ended:
            self.close()
            return Result(False, f"{name}: not passed\n  {ended}")

    def reference(self, name) -> Result:
        """Returns the Result of the reference solution of an exercise, without its time."""
        return self.result([name])

    def close(self):
        """Ends the process, even if it is busy."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _start_process(self):
        """A process that has run the file. A section of the file that ends the process is skipped in the next
        process."""
        if self._child is not None and self._child.is_running():
            return
        while True:
            self.close()
            self._child = child = _FileChild({**self._task, "skipped": self._skipped}, self._folder)
            piece = None
            try:
                limit = timeouts.CELL_LIMIT + 4 * timeouts.GRACE
                while (said := child.receive(limit)[0]) != "done":
                    piece = said
                return
            except ProcessEnded as ended:
                if piece is None:
                    raise
                self._skipped[piece] = str(ended)


class _FileChild(ServingProcess):
    """The process of a file, and its referee."""

    def __init__(self, task, folder):
        self.referee, referees = multiprocessing.Pipe()
        asking, asked = multiprocessing.Pipe()
        ends = asked.fileno(), referees.fileno()
        self.referee_process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", _REFEREE, *map(str, ends)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=ends, start_new_session=True, env={**os.environ, **module_search_path()},
        )  # fmt: skip
        super().__init__(__name__, os.environ, [asking], folder=folder)
        for pipe in (referees, asking, asked):
            pipe.close()
        send(self.referee, task["modules"])
        self.send(task)

    def judge_answer(self, name, is_reference, speed):
        """Returns the arguments of Result. Raises ProcessEnded if a process has ended."""
        has_referee = self._query_referee({"begin": name})
        self.send({"name": name, "reference": is_reference, "has_referee": has_referee})
        said, _ = self.receive(JUDGING_LIMIT)
        speed = speed and not is_reference
        if said["passed"] and has_referee and not self._query_referee({"passed": speed}):
            said = {"passed": False, "text": f"{name}: not passed\n  {_FORGED}"}
        return said

    def _query_referee(self, question):
        try:
            send(self.referee, question)
            return receive(self.referee)[0]
        except (EOFError, OSError):
            raise ProcessEnded("The process that compares results has ended.") from None

    def close(self):
        self.referee.close()
        self.referee_process.kill()
        self.referee_process.wait()
        super().close()


# --- in that process -------------------------------------------------------------------------------------


def serve():
    """Reads the first task, runs the file in this task, then judges the requested exercises."""
    from .referee import RemoteReferee

    pipe, referee = Connection(int(sys.argv[1])), RemoteReferee(Connection(int(sys.argv[2])))
    task, _ = receive(pipe)
    timeouts.unattended = True
    if config.is_default("STOPPABLE"):  # limits stop kernels on a GPU
        config.STOPPABLE = True
    for module in task["modules"]:
        load_exercises(module)

    from .learner import Learner

    skipped = {int(piece): why for piece, why in task["skipped"].items()}
    learner = None
    if task["file"] is not None:
        learner = Learner(task["file"], skipped, begins=lambda piece: send(pipe, piece))
        learner.run()
    send(pipe, "done")
    while True:
        try:
            asked, _ = receive(pipe)
        except EOFError:
            return
        name, answers, speed = asked["name"], learner, task["speed"]
        if asked["reference"]:
            answers, speed = _ReferenceAnswers(), False
        answer, is_usable = _judge_in_process(
            answers, name, speed, referee if asked["has_referee"] else None
        )
        send(pipe, answer)
        if not is_usable:
            os._exit(0)  # a normal end of the process would wait for a running kernel


def _judge_in_process(learner, name, speed, referee):
    """Returns (arguments of Result, whether the process can judge another answer)"""
    from .judging import judge
    from .learner import MissingAnswer

    try:
        verdict = judge(name, learner.answer(name), speed, referee)
    except MissingAnswer as problem:
        return {"passed": False, "text": str(problem), "missing": True}, True
    except KeyError as problem:
        return {"passed": False, "text": problem.args[0], "missing": True}, True
    said = {
        "passed": verdict.passed, "text": str(verdict)[:TEXT_LIMIT],
        "seconds": verdict.seconds, "reference_seconds": verdict.reference_seconds,
    }  # fmt: skip
    return said, verdict.passed or verdict.simulated or _is_gpu_usable(verdict)


class _ReferenceAnswers:
    """Returns the reference solution of each exercise as the answer."""

    def answer(self, name):
        return find_exercise(name).reference()


def _is_gpu_usable(verdict):
    """Returns whether the GPU still works for this process."""
    from numbalite import cuda, errors

    if ENDLESS in verdict.reason:
        return False
    try:
        cuda.synchronize()
    except errors.CudaAPIError:
        return False
    return True
