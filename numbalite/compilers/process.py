"""Running a program to its end, or to ours: where we are interrupted it is ended, with all that it started.

Signals interrupt Python code of the main thread, between any two of its steps. One that arrived while
subprocess.Popen has started a program, but not told of it yet, would leave that program to itself. So
programs are started in a thread of their own, which no signal interrupts.
"""

from __future__ import annotations

import os
import signal
import subprocess
from _thread import allocate_lock, start_new_thread

PERIOD = 0.1
"""Seconds that who waits may be late for an interrupt: Python sees one that comes just before a wait begins
only after it."""


def run(command, stdin=b"", folder=None, environment=None) -> subprocess.CompletedProcess:
    """What the program gives, as bytes. OSError if it cannot be started."""
    started = _Run(command, stdin, folder, environment)
    try:
        try:
            start_new_thread(started, ())
        except RuntimeError:  # there are too many threads, or the interpreter is ending
            started()
        while not started.done.acquire(timeout=PERIOD):
            pass
        return started.result()
    except BaseException:
        started.end()
        raise


class _Run:
    """A program, and what the thread that runs it has got from it; the thread calls this."""

    def __init__(self, command, stdin, folder, environment):
        self.command, self.stdin, self.folder = command, stdin, folder
        self.environment = environment
        self.process = self.output = self.errors = self.problem = None
        self.is_wanted = True
        self.starting, self.done = allocate_lock(), allocate_lock()
        self.done.acquire()

    def __call__(self):
        try:
            with self.starting:
                if not self.is_wanted:
                    return
                self.process = subprocess.Popen(
                    self.command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self.environment,
                    cwd=self.folder,
                    start_new_session=True,  # a group of its own, and Ctrl-C reaches us alone
                )
            with self.process:
                self.output, self.errors = self.process.communicate(self.stdin)
        except BaseException as problem:
            self.problem = problem
        finally:
            self.done.release()

    def end(self):
        """Ends the program, if it has been started, and waits until it has."""
        self.is_wanted = False
        with self.starting:
            process = self.process
        if process is not None:
            if process.poll() is None:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            process.wait()

    def result(self):
        if self.problem is not None:
            raise self.problem
        return subprocess.CompletedProcess(
            self.command, self.process.returncode, self.output, self.errors
        )
