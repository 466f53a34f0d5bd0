"""How long the judge waits for an answer that may never come."""

from __future__ import annotations

import contextlib
import threading

from .mistakes import ENDLESS, Failed

LIMIT = 20.0
"""Seconds for the kernels of a call; on a GPU, for the whole call."""


def watched(simulated):
    """A block in which the simulator stops a kernel after LIMIT seconds. A GPU cannot."""
    from numbalite import cuda

    return cuda.checks("hang", limit=LIMIT) if simulated else contextlib.nullcontext()


def apart(question):
    """What question() gives, or raises, in a thread that is left alone after LIMIT seconds.

    For a GPU: its kernel goes on, and the thread waits for it until the process ends.
    """
    from numbalite import _core

    outcome = []

    def run():
        try:
            outcome.append((question(), None))
        except BaseException as problem:  # KeyboardInterrupt is the learner's
            outcome.append((None, problem))

    thread = threading.Thread(target=run, name="numbalite-judge", daemon=True)
    thread.start()
    thread.join(LIMIT)
    if not outcome:
        _core.give_up()
        raise Failed(
            f"{ENDLESS} (It was not done after {LIMIT:g} seconds.) A GPU cannot stop a kernel: restart the "
            "notebook's kernel."
        )
    result, problem = outcome[0]
    if problem is not None:
        raise problem
    return result
