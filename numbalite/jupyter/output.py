"""Shows the output of kernels in the cell that ran them, in order with Python's output.

The driver (and the simulator) writes printf's text to file descriptor 1 of the process when the host waits
for the device. In a notebook, Python's print does not use file descriptor 1. ipykernel reads this file in a
thread, and shows its text at some later point. Therefore, numbalite replaces file descriptor 1 by a pipe. The pipe is
emptied before each write to sys.stdout; at other times, a thread empties it. At the end of a cell, numbalite
waits for the devices that have kernels with printf, so that their output is in the right cell.
"""

from __future__ import annotations

import codecs
import ctypes
import os
import select
import sys
import threading

from numbalite import _core
from numbalite.kernels import images

_pipe = None  # the OutputPipe to which file descriptor 1 is redirected, once it exists


class OutputPipe:
    """Redirects file descriptor 1 through a pipe to a stream of ipykernel.

    Each access to the stream holds the stream's lock, which this object wraps: acquiring the lock first
    empties the pipe. (Replacing the stream's `write` would not last: IPython itself replaces `write` for each
    cell, and restores the old method.)
    """

    def __init__(self, stream):
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._end, end = os.pipe()
        os.set_blocking(self._end, False)
        if hasattr(stream, "_original_stdstream_fd"):
            # ipykernel wakes its own reader through this file descriptor when it closes the stream.
            stream._original_stdstream_fd = os.dup(1)
        os.dup2(end, 1)
        os.close(end)
        self._lock, self._depth = stream._buffer_lock, 0
        stream._buffer_lock = self
        threading.Thread(target=self._copy_output, name="numbalite-printf", daemon=True).start()

    def acquire(self, *arguments):
        got = self._lock.acquire(*arguments)
        if got:
            self._depth += 1
            if self._depth == 1:
                self._drain_pipe()
        return got

    def release(self):
        self._depth -= 1
        self._lock.release()

    def __enter__(self):
        return self.acquire()

    def __exit__(self, *exception):
        self.release()

    def _drain_pipe(self):
        """Writes the contents of the pipe to the stream; the caller holds the lock."""
        pieces = []
        try:
            while piece := os.read(self._end, 1 << 16):
                pieces.append(piece)
        except BlockingIOError:
            pass
        if pieces and not self._stream.closed:
            type(self._stream).write(self._stream, self._decoder.decode(b"".join(pieces)))

    def _enter_cell(self):
        """Assigns the output of this thread to the running cell, not to the cell that started the thread."""
        cell = getattr(self._stream, "_parent_header", None)
        if hasattr(cell, "set") and hasattr(self._stream, "_parent_header_global"):
            cell.set(self._stream._parent_header_global)

    def _copy_output(self):
        waiting = select.poll()
        waiting.register(self._end, select.POLLIN)
        while not self._stream.closed:
            ((_, events),) = waiting.poll()
            self._enter_cell()
            with self:
                pass
            if events & select.POLLHUP:  # no process has the pipe open for writing any more
                return


def redirect_output() -> None:
    """Redirects file descriptor 1 through a pipe to ipykernel's stream, whether ipykernel captures the file
    or not. Does nothing without ipykernel."""
    global _pipe
    iostream = sys.modules.get("ipykernel.iostream")
    stream = sys.stdout
    if _pipe is not None or iostream is None or not isinstance(stream, iostream.OutStream):
        return
    if getattr(stream, "_original_stdstream_fd", 1) == 1 and hasattr(stream, "_buffer_lock"):
        _pipe = OutputPipe(stream)


def end_of_cell(result=None) -> None:
    """Waits for the devices whose kernels may have printed, and shows the output."""
    if not images.printing or not _core.is_open() or _core.capture_here():
        return
    for device in sorted(images.printing):
        try:
            _core.synchronize_device(device)
        except Exception as problem:  # an error of a kernel, which this wait detects
            print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
    libc = ctypes.CDLL(None)
    libc.fflush(ctypes.c_void_p.in_dll(libc, "stdout"))
    if _pipe is not None:
        sys.stdout.flush()
