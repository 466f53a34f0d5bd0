"""The referee draws the data of an exercise, computes the expected results, and compares results with them.

When files are graded, the referee is a separate process (`serve`): the learner's process receives data and
sends results, and never receives the expected results. The grader asks the referee whether it received
correct results at all sizes. Messages from the learner's process are JSON, and arrays in NumPy's format
without pickles.
"""

from __future__ import annotations

import collections
import contextlib
import multiprocessing.connection
import os
import pickle
import sys
import warnings
from typing import NamedTuple

import numpy as np

from numbalite.judge.compare import failure_rows, find_mismatch
from numbalite.judge.guarded import is_unwritten
from numbalite.judge.messages import receive, send
from numbalite.judge.verdict import Failed, aligned_rows

from .arguments import Arguments
from .catalogue import find_exercise, load_exercises
from .mistakes import exception_message

MAX_DRAWN = 4
"""Data that can be compared: the last ones that were drawn."""


class DrawnArguments(NamedTuple):
    """Arguments of size ``n``: ``data`` is the pickle of the arguments, ``key`` is their number in the
    referee."""

    key: int
    n: int
    data: bytes


class Referee:
    """The referee of one exercise, in this process."""

    def __init__(self, exercise):
        self.exercise = exercise
        self.right = collections.Counter()  # size -> comparisons without a difference
        self._rng = np.random.default_rng()
        self._drawn = {}
        self._count = 0
        self._reference = None

    def draw(self, n) -> DrawnArguments:
        """Fresh arguments of size n."""
        exercise = self.exercise
        largest = max(*exercise.sizes, *exercise.checked, exercise.counted, *(exercise.large or ()))
        if not 0 <= n <= largest:
            raise ValueError(f"{n} is not a size of this exercise")
        self._count += 1
        drawn = DrawnArguments(self._count, n, pickle.dumps(tuple(exercise.make(self._rng, n))))
        self._drawn[drawn.key] = drawn
        while len(self._drawn) > MAX_DRAWN:
            del self._drawn[min(self._drawn)]
        return drawn

    def compare(self, key, got, by_reference=False):
        """Raises Failed if these results of a call, NumPy arrays, differ from the expected results.
        ``by_reference`` is for sizes at which `expected` is not exact enough: then the reference solution
        computes the expected results, unless results are random."""
        drawn = self._drawn[key]
        exercise, given = self.exercise, pickle.loads(drawn.data)
        if by_reference and exercise.expected(*exercise.make(self._rng, 1)) is not None:
            expected = self._reference_results(drawn)
        else:
            expected = exercise.expected(*given)
        if expected is None:
            problem = exercise.wrong(pickle.loads(drawn.data), got)
            if problem:
                raise Failed(problem)
        else:
            expected = expected if isinstance(expected, tuple) else (expected,)
            names = exercise.outputs or _result_names(len(expected))
            if len(got) != len(expected):
                raise Failed(f"It returns {len(got)} results; {len(expected)} are wanted.")
            for name, have, want in zip(names, got, expected):
                self._compare_arrays(name, have, np.asarray(want), drawn)
        self.right[drawn.n] += 1

    def is_passed(self, speed) -> bool:
        """Returns whether results were correct at each size, for two draws of data. With ``speed``, the
        result includes the size that is timed."""
        exercise = self.exercise
        if any(self.right[n] < 2 for n in exercise.sizes) or not self.right[exercise.counted]:
            return False
        return not speed or exercise.large is None or any(self.right[n] > 1 for n in exercise.large)

    def _reference_results(self, drawn):
        if self._reference is None:
            self._reference = self.exercise.reference()
        arguments = Arguments(self.exercise, drawn.data, 0)
        return tuple(arguments.results(self.exercise.call(self._reference, *arguments.passed)))

    def _compare_arrays(self, name, got, want, drawn):
        size = self.exercise.said(drawn.n)
        if got.shape != want.shape:
            raise Failed(
                f"With {size}, {name} has the shape {got.shape}; it should be {want.shape}."
            )
        if got.dtype != want.dtype:
            raise Failed(f"With {size}, {name} is {got.dtype}; it should be {want.dtype}.")
        found = find_mismatch(got, want, self.exercise.allowed(got.dtype))
        if found is None:
            return
        count = f"{found.wrong:,} of {found.total:,} elements are"
        if found.total == 1:
            reason = f"With {size}, {name} is wrong."
        else:
            reason = (
                f"With {size}, {'1 element is' if found.wrong == 1 else count} wrong in {name}."
            )
        arguments = [
            (parameter, value)
            for parameter, value in zip(self.exercise.parameters, pickle.loads(drawn.data))
            if parameter not in self.exercise.outputs or not is_unwritten(value)
        ]
        failed = Failed(reason, aligned_rows(failure_rows(name, got, want, found, arguments)))
        failed.wrong_results = True
        raise failed


def _result_names(count):
    return ("the result",) if count == 1 else tuple(f"result {i + 1}" for i in range(count))


# --- in a process of its own -----------------------------------------------------------------------------


class RemoteReferee:
    """Calls the referee in another process through a pipe, from the learner's process."""

    def __init__(self, pipe):
        self._pipe = pipe

    def draw(self, n) -> DrawnArguments:
        key = self._request({"draw": n})
        return DrawnArguments(key, n, self._pipe.recv_bytes())

    def compare(self, key, got, by_reference=False):
        failed = self._request({"compare": key, "by_reference": by_reference}, got)
        if failed is not None:
            raised = Failed(failed["reason"], failed["case"])
            raised.wrong_results = failed["wrong_results"]
            raise raised

    def _request(self, message, arrays=()):
        try:
            send(self._pipe, message, arrays)
            return receive(self._pipe)[0]
        except (EOFError, OSError):
            raise Failed("The process that compares results has ended.") from None


def serve():
    """``... LEARNER GRADER``, which are file descriptors of pipes. The grader first sends modules of
    exercises, then the requests {"begin": name} (whether the exercise exists) and {"passed": speed}; the
    learner's process requests draws and comparisons."""
    learner, grader = (multiprocessing.connection.Connection(int(end)) for end in sys.argv[1:3])
    warnings.simplefilter("ignore")
    for module in receive(grader)[0]:
        load_exercises(module)
    referee, waited = None, [learner, grader]
    while True:
        for pipe in multiprocessing.connection.wait(waited):
            try:
                message, arrays = receive(pipe)
                if pipe is learner:
                    _answer_message(pipe, referee, message, arrays)
                elif "begin" in message:
                    referee = None
                    with contextlib.suppress(KeyError):
                        referee = Referee(find_exercise(message["begin"]))
                    send(pipe, referee is not None)
                else:
                    send(pipe, referee is not None and referee.is_passed(message["passed"]))
            except (
                Exception
            ):  # the pipe is closed, or the learner's process has sent an invalid message
                if pipe is grader:
                    os._exit(0)
                waited.remove(pipe)
                pipe.close()


def _answer_message(pipe, referee, message, got):
    """Answers the learner's process. Messages from the learner's process may have any content."""
    if "draw" in message:
        drawn = referee.draw(message["draw"])
        send(pipe, drawn.key)
        pipe.send_bytes(drawn.data)
        return
    try:
        referee.compare(message["compare"], got, message["by_reference"])
    except Exception as error:
        failed = exception_message(error)
        said = {"reason": failed.reason, "case": failed.case, "wrong_results": failed.wrong_results}
        send(pipe, said)
    else:
        send(pipe, None)
