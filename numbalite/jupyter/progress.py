"""Shows a line in the notebook while the compiler or a long kernel runs; the line is removed afterwards.

Compiling and waiting for kernels release the interpreter's lock, so a thread can count the seconds. The
thread runs in a copy of the caller's context, by which ipykernel assigns its output to the cell.
While a cell runs, one thread shows the progress of its kernels. On the simulator, the line shows how many
blocks have ended. A GPU does not report its finished blocks: the line shows only the time.
"""

from __future__ import annotations

import contextlib
import contextvars
import html
import threading
import time

from numbalite import _core, config
from numbalite.jupyter import session

DELAY = 1.0
"""Seconds before the progress line of a compilation appears."""
STEP = 1.0
KERNEL_DELAY = 2.0
"""Seconds before the progress line of a kernel appears."""


def describe_target(target) -> str:
    """Returns a text for the target of a compilation, such as "sm_90"."""
    if target[0] == "cuda":
        return f"sm_{target[1]}{target[2]}"
    return "the simulator" if target[0] == "sim" else "the CPU"


@contextlib.contextmanager
def show_compilation(source, target):
    """A context manager for one compilation: shows the line after a second, in a notebook only."""
    if not session.in_notebook():
        yield
        return
    name = source.name.rpartition("/")[2].removesuffix(".cu")
    done = threading.Event()
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run,
        args=(
            _update_line,
            session.shell(),
            f"compiling {name} for {describe_target(target)}",
            done,
        ),
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


_cell: tuple[threading.Thread, threading.Event] | None = None
"""The thread that watches the kernels of the running cell."""


def watch_cells(shell) -> None:
    """Shows a line if kernels run long, in this cell and the following cells; in a notebook only."""
    if session.in_notebook() and config.NOTEBOOK_PROGRESS:
        shell.events.register("pre_run_cell", _begin_cell)
        shell.events.register("post_run_cell", _end_cell)
        _begin_cell()


def _begin_cell(info=None):
    global _cell
    _end_cell()
    done = threading.Event()
    thread = threading.Thread(
        target=contextvars.copy_context().run,
        args=(_show_kernels, session.shell(), done),
        name="numbalite-progress",
        daemon=True,
    )
    _cell = thread, done
    thread.start()


def _end_cell(result=None):
    global _cell
    if _cell is not None:
        thread, done = _cell
        _cell = None
        done.set()
        thread.join()


def _show_kernels(shell, done):
    begun = None  # the time at which running work was first detected
    line = None
    try:
        while not done.wait(STEP):
            found = _core.progress()
            if found is None:
                begun = None
                if line is not None:
                    line.hide()
                    line = None
                continue
            now = time.monotonic()
            begun = now - STEP if begun is None else begun
            seconds = found[3] or now - begun
            if seconds >= KERNEL_DELAY:
                line = line or OutputLine(shell, id(done))
                line.show(progress_text(*found[:3], seconds))
    finally:
        if line is not None:
            line.hide()


def progress_text(kernel: str, done: int, blocks: int, seconds: float) -> str:
    """Returns the progress line about a running kernel; without a name, about a GPU that is busy."""
    if not kernel:
        return f"the GPU is at work … {seconds:.0f} s"
    return f"{kernel} on the simulator: {done:,} of {blocks:,} blocks … {seconds:.0f} s"


def _update_line(shell, text, done):
    start = time.monotonic()
    if done.wait(DELAY):
        return
    line = OutputLine(shell, id(done))
    try:
        while True:
            line.show(f"{text} … {time.monotonic() - start:.0f} s")
            if done.wait(STEP):
                break
    finally:
        line.hide()


class OutputLine:
    """One line of output that can be changed."""

    def __init__(self, shell, identity):
        self._publish = shell.display_pub.publish
        self._transient = {"display_id": f"numbalite-{identity:x}"}
        self._is_there = False

    def show(self, text):
        styled = f'<span style="opacity: 0.65">{html.escape(text)}</span>'
        self._publish_line({"text/plain": text, "text/html": styled})

    def hide(self):
        self._publish_line({})

    def _publish_line(self, data):
        self._publish(data, {}, transient=self._transient, update=self._is_there)
        self._is_there = True
