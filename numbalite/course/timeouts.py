"""Implements time limits of the judge for answers that may never end.

An alarm in the main thread stops a loop in Python and a simulated kernel. A kernel on a GPU is
stopped by `cuda.limit` if it was compiled with `stoppable=True`, as in notebooks and in the process that
grades files. Any other kernel on a GPU, and a compiled function on the CPU, cannot be stopped. If the call
runs in a separate thread, the judge abandons this thread. If the call runs in the main thread, the process
ends with a message.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time

from numbalite.course.mistakes import line_of
from numbalite.errors import KernelTimeout
from numbalite.judge.supervisor import EXIT_STATUS
from numbalite.judge.verdict import ENDLESS, Failed

LIMIT = 20.0
"""Seconds for the kernels of a call."""
CALL_LIMIT = 60.0
"""Seconds for a whole call on the simulator."""
CELL_LIMIT = 120.0
"""Seconds for a cell of a learner's file."""
GRACE = 5.0
"""Seconds that an alarm has to end what runs."""

unattended = False
"""Are files graded? Then a process that cannot go on ends."""

_RUNS_ON = " The kernel still runs on the GPU: restart the notebook's kernel."
_UNSTOPPABLE = (
    "{what} was not done after {seconds:g} seconds, and nothing can stop it: it is in compiled code, such as a "
    "function for the CPU, or catches every exception. {endless} {then}"
)


class TimeLimitExceeded(BaseException):
    """Raised to end a call that takes too long. This class is not derived from Exception, because programs
    catch Exception."""


def stop_kernels_after_limit(simulated):
    """Returns a context manager in which the simulator stops a kernel after LIMIT seconds; a GPU cannot be
    stopped in this way."""
    from numbalite import cuda

    return cuda.checks("hang", limit=LIMIT) if simulated else contextlib.nullcontext()


@contextlib.contextmanager
def time_limit(seconds, what):
    """Raises TimeLimitExceeded in the `with` block after this number of seconds; messages refer to the block as
    ``what``. Only the main thread receives signals, so other threads have no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_time_limit(number, frame):
        raise TimeLimitExceeded(f"{what} was not done after {seconds:g} seconds. {ENDLESS}")

    last = threading.Timer(seconds + GRACE, _error_if_unstoppable, (what, seconds))
    last.daemon = True
    before = signal.signal(signal.SIGALRM, raise_time_limit)
    began, (others, again) = time.monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    last.start()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        last.cancel()
        signal.signal(signal.SIGALRM, before)
        if others:  # the alarm belongs to the calling program
            left = max(others - (time.monotonic() - began), 1e-3)
            signal.setitimer(signal.ITIMER_REAL, left, again)


def write_to_terminal(message):
    """Writes to the user's terminal, even if the program has redirected its output."""
    print(message, file=sys.__stderr__, flush=True)


def _error_if_unstoppable(what, seconds):
    then = "The process ends." if unattended else "Restart the notebook's kernel."
    write_to_terminal(
        "\n" + _UNSTOPPABLE.format(what=what, seconds=seconds, endless=ENDLESS, then=then)
    )
    if unattended:
        os._exit(EXIT_STATUS)


def run_in_this_thread(question):
    """Returns the result of question(), or raises its exception, within CALL_LIMIT."""
    try:
        with time_limit(CALL_LIMIT, "The call"):
            return question()
    except TimeLimitExceeded as problem:
        raise _time_limit_failure(CALL_LIMIT, "", problem) from None


def run_in_thread(question):
    """Runs question() in a thread, for a GPU: its kernels are stopped after LIMIT seconds.

    The thread is abandoned GRACE seconds later: it may be in a loop in Python, or wait for a kernel that does
    not stop.
    """
    from numbalite import _core, cuda

    outcome = []

    def run_question():
        try:
            with cuda.limit(LIMIT):
                result = question()
            outcome.append((result, None))
        except BaseException as problem:  # KeyboardInterrupt is the learner's
            outcome.append((None, problem))

    thread = threading.Thread(target=run_question, name="numbalite-judge", daemon=True)
    thread.start()
    thread.join(LIMIT + GRACE)
    if not outcome:
        ended = ctypes.pythonapi.PyThreadState_SetAsyncExc
        ended(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TimeLimitExceeded)
        )  # stops a Python loop
        thread.join(0.5)
    if not outcome:
        _core.give_up()
        raise _time_limit_failure(LIMIT, _RUNS_ON)
    result, problem = outcome[0]
    if isinstance(problem, KernelTimeout) and "runs on" in str(problem):
        raise _time_limit_failure(LIMIT, _RUNS_ON)
    if isinstance(problem, TimeLimitExceeded):
        raise _time_limit_failure(LIMIT, "", problem)
    if problem is not None:
        raise problem
    return result


def _time_limit_failure(limit, remedy, problem=None):
    place = line_of(problem) if problem is not None else ""
    return Failed(f"{ENDLESS} (It was not done after {limit:g} seconds.){remedy}", place)
