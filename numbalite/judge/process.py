"""Manages the process of a submission: the process and its descendants run under limits, and end with
`ServingProcess.close`."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import TYPE_CHECKING, Any

from numbalite.judge import isolation, messages, supervisor
from numbalite.judge.verdict import ENDLESS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection

FILE_LIMIT = 256 * 10**6
"""Bytes of a file that the process writes: RLIMIT_FSIZE."""
DISK_LIMIT = 1000 * 10**6
"""Bytes that it may write in all."""
MEMORY_LIMIT = 16 << 30
"""Resident bytes of its processes."""
_OUTPUT_TAIL = 4096  # bytes of the process's output in which its last line is searched
_DYING = 15.0  # seconds between the end of the pipe and the end of the process

# The submission's folder may contain a file with the name of a module, so it is not searched.
_START = "import sys; sys.path[:] = filter(None, sys.path)\n"
_ISOLATE = "import runpy; sys.argv.append(runpy.run_path({!r})['restrict_process']({!r}, {!r}))\n"


class ProcessEnded(Exception):
    """Raised if the process has ended, or was ended; the message is the reason."""


class ServingProcess:
    """A Python process that runs ``serve()`` of a module, under the supervisor, in a separate session.

    The arguments of the process are file descriptors of pipes: the pipe to this process, then ``others``. ``isolated``
    starts the process without a network, and with files that it cannot change except for those of the scratch folder
    and the disk cache; another argument lists what the system does not permit. The disk cache is then in the scratch
    folder, unless ``environment`` has NUMBALITE_CACHE_DIR. ``folder`` is the current folder, by default the scratch
    folder, which is removed at the end.
    """

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str],
        others: Sequence[Connection] = (),
        *,
        folder: Any = None,
        isolated: bool = False,
    ) -> None:
        self.pipe, theirs = multiprocessing.Pipe()
        self.last_words = tempfile.TemporaryFile()
        self._mark = secrets.token_hex(16)
        self._scratch = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        environment = {**environment, **module_search_path(), "TMPDIR": self._scratch.name}
        before = ""
        if isolated:
            folder_of_cache = os.path.join(self._scratch.name, "cache")
            folders = (
                self._scratch.name,
                environment.setdefault("NUMBALITE_CACHE_DIR", folder_of_cache),
            )
            before = _ISOLATE.format(isolation.__file__, *folders)
        code = f"{_START}{before}from {module} import serve; serve()"
        ends = [pipe.fileno() for pipe in (theirs, *others)]
        limits = self._scratch.name, str(FILE_LIMIT), str(DISK_LIMIT)
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-S", "-E", supervisor.__file__, ",".join(map(str, ends)), *limits),
                *(sys.executable, "-W", "ignore", "-c", code, *map(str, ends)),
            ],
            stdin=subprocess.DEVNULL, stdout=self.last_words, stderr=self.last_words, pass_fds=ends,
            start_new_session=True, cwd=folder or self._scratch.name,
            env={**environment, supervisor.MARK: self._mark},
        )  # fmt: skip
        theirs.close()

    def is_running(self) -> bool:
        return self.process.poll() is None

    def send(self, message: Any) -> None:
        """Sends a message. If the process has ended, the next `receive` returns the reason."""
        with contextlib.suppress(BrokenPipeError):
            messages.send(self.pipe, message)

    def receive(self, seconds: float, limit: int = messages.ARRAY_LIMIT) -> tuple[Any, list]:
        """Returns the next message of the process, as `messages.receive` does. Raises ProcessEnded if no message
        arrives within the limits."""
        until = time.monotonic() + seconds
        too_late = f"It was not done after {seconds:g} seconds, and was ended. {ENDLESS}"
        while not self.pipe.poll(min(0.3, seconds)):
            if time.monotonic() > until:
                raise ProcessEnded(too_late)
            if _resident_bytes(self.process.pid) > MEMORY_LIMIT:
                raise ProcessEnded(
                    f"It uses more than {MEMORY_LIMIT >> 30} GiB of memory, and was ended."
                )
        # The process may have sent only a part of a message.
        late = threading.Timer(max(until - time.monotonic(), 0.0), self._terminate)
        late.daemon = True
        late.start()
        try:
            return messages.receive(self.pipe, limit)
        except Exception:
            raise ProcessEnded(
                too_late if time.monotonic() > until else self._exit_reason()
            ) from None
        finally:
            late.cancel()

    def _exit_reason(self):
        try:
            status = self.process.wait(_DYING)
        except subprocess.TimeoutExpired:
            return "It closed the pipe to the judge, or wrote into it."
        if status < 0:
            return f"It ended the process, by {signal.Signals(-status).name}."
        size = self.last_words.seek(0, os.SEEK_END)
        self.last_words.seek(max(0, size - _OUTPUT_TAIL))
        last = self.last_words.read().decode(errors="replace").strip().rpartition("\n")[2]
        if status == supervisor.EXIT_STATUS:
            return last
        return f"It ended the process, with the exit status {status}{': ' if last else '.'}{last}"

    def _terminate(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.process.wait()
        supervisor.kill_processes(lambda: supervisor.processes_with_mark(self._mark))

    def close(self) -> None:
        """Ends the process and all its descendants, even if the process has ended the supervisor."""
        self.pipe.close()
        self._terminate()
        self.last_words.close()
        self._scratch.cleanup()


def module_search_path() -> dict[str, str]:
    """Returns {"PYTHONPATH": ...}, the environment variable with which a new process finds the modules of
    this process."""
    return {"PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}


def _resident_bytes(root):
    """Returns the total resident memory in bytes of the processes that a process has started."""
    total = 0
    for process in supervisor.descendants(root):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{process}/statm", "rb") as file:
                total += int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total
