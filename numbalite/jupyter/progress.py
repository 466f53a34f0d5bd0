"""A line in the notebook while the compiler takes long, gone when it is done.

Compiling gives up the interpreter's lock, so a thread can count the seconds. The thread runs in a copy of
the caller's context, by which ipykernel knows the cell that its output belongs to.
"""

from __future__ import annotations

import contextlib
import contextvars
import html
import threading
import time

from numbalite.jupyter import session

DELAY = 1.0
"""Seconds of silence."""
STEP = 1.0


def place(target) -> str:
    """What a source is compiled for, in words."""
    if target[0] == "cuda":
        return f"sm_{target[1]}{target[2]}"
    return "the simulator" if target[0] == "sim" else "the CPU"


@contextlib.contextmanager
def watch(source, target):
    """Around one compilation: shows the line after a second, in a notebook only."""
    if not session.in_notebook():
        yield
        return
    name = source.name.rpartition("/")[2].removesuffix(".cu")
    done = threading.Event()
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=context.run,
        args=(_tell, session.shell(), f"compiling {name} for {place(target)}", done),
        daemon=True,
    )
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _tell(shell, text, done):
    start = time.monotonic()
    if done.wait(DELAY):
        return
    line = Line(shell, id(done))
    try:
        while True:
            line.show(f"{text} … {time.monotonic() - start:.0f} s")
            if done.wait(STEP):
                break
    finally:
        line.hide()


class Line:
    """One line of output that can be changed."""

    def __init__(self, shell, identity):
        self._publish = shell.display_pub.publish
        self._transient = {"display_id": f"numbalite-{identity:x}"}
        self._is_there = False

    def show(self, text):
        styled = f'<span style="opacity: 0.65">{html.escape(text)}</span>'
        self._send({"text/plain": text, "text/html": styled})

    def hide(self):
        self._send({})

    def _send(self, data):
        self._publish(data, {}, transient=self._transient, update=self._is_there)
        self._is_there = True
