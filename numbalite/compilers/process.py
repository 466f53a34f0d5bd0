"""Runs a program to its end. If this process is interrupted, ends the program and its child processes.

Signals interrupt Python code of the main thread between any two bytecodes. A signal that arrives after
subprocess.Popen has started a program, but before Popen returns, would leave the program running. Programs
are therefore started by a separate thread, which signals do not interrupt.
"""

from __future__ import annotations

import os
import signal
import subprocess
from _thread import allocate_lock, start_new_thread

STOPPED = b"too many errors emitted, stopping now"
"""clang's last message. It still parses the rest of the source, which can take minutes: the run is ended."""
PERIOD = 0.1
"""Maximum delay of an interrupt in seconds: Python handles a signal that arrives just before a wait only after
the wait."""


def run_program(command, stdin=b"", folder=None, environment=None) -> subprocess.CompletedProcess:
    """Returns the program's output as bytes. Raises OSError if the program cannot be started."""
    started = _ProgramRun(command, stdin, folder, environment)
    try:
        try:
            start_new_thread(started, ())
        except (
            RuntimeError
        ):  # the thread cannot start: too many threads, or the interpreter is ending
            started()
        while not started.done.acquire(timeout=PERIOD):
            pass
        return started.completed_process()
    except BaseException:
        started.terminate()
        raise


class _ProgramRun:
    """A program and its results; the thread that runs the program calls this object."""

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
                with os.fdopen(os.memfd_create("input"), "wb", buffering=0) as given:
                    given.write(self.stdin)
                    given.seek(0)
                    self.process = subprocess.Popen(
                        self.command,
                        stdin=given,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        env=self.environment,
                        cwd=self.folder,
                        start_new_session=True,  # a process group of its own: Ctrl-C reaches only this process
                    )
            with self.process:
                self.output, self.errors = _collect_output(self.process)
        except BaseException as problem:
            self.problem = problem
        finally:
            self.done.release()

    def terminate(self):
        """Ends the program if it was started, and waits until the program has ended."""
        self.is_wanted = False
        with self.starting:
            process = self.process
        if process is not None:
            if process.poll() is None:
                _kill_group(process)
            process.wait()

    def completed_process(self):
        if self.problem is not None:
            raise self.problem
        return subprocess.CompletedProcess(
            self.command, self.process.returncode, self.output, self.errors
        )


def _collect_output(process):
    """Returns the program's standard output and errors; ends the program after its last message."""
    while True:
        try:
            return process.communicate(timeout=PERIOD)
        except subprocess.TimeoutExpired as late:
            if STOPPED in (late.stderr or b""):
                _kill_group(process)


def _kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
