"""The supervisor is a process between the grader and a learner's program, which ends all processes that the
program has started.

Processes that outlive their parent become children of the supervisor (PR_SET_CHILD_SUBREAPER), also processes
that called setsid, and children of children. When the program ends, or the grader sends SIGTERM, the
supervisor stops all of these processes, and then kills them. The supervisor also kills the processes if they
write too much. A file has a maximum size (RLIMIT_FSIZE). The supervisor adds up the bytes that the processes
write to disks (/proc/PID/io), and the growth of two folders: the program's own folder and its scratch folder
(TMPDIR). Of the processes' output, the supervisor keeps the last 64 KiB. This module is run as a file, and
uses only the standard library.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time

KEPT = 1 << 16
"""Bytes of the output that are kept."""
MAX_FILES = 20_000
"""Files of a folder, above which its size is not measured."""
EXIT_STATUS = 3
"""How a process ends that cannot go on; the last line that it prints is the reason."""
MARK = "NUMBALITE_GRADED"
"""A variable of the environment of all processes of one program."""

_SUBREAPER, _PARENT_DIED = 36, 1  # of prctl


def parent_processes() -> dict:
    """{process: its parent}, of all."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    # The name of the program may contain spaces and parentheses.
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":
                    found[int(name)] = int(parent)
    return found


def descendants(root) -> set:
    """Returns the ids of the processes that a process has started, directly or indirectly."""
    parents, found = parent_processes(), {root}
    while True:
        more = {child for child, parent in parents.items() if parent in found} - found
        if not more:
            return found - {root}
        found |= more


def processes_with_mark(mark) -> set:
    """Returns the ids of the processes whose environment has MARK=mark."""
    found, wanted = set(), f"{MARK}={mark}".encode()
    for process in parent_processes():
        with contextlib.suppress(OSError):
            with open(f"/proc/{process}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.add(process)
    return found


def kill_processes(find, seconds=5.0):
    """Kills the processes that ``find()`` returns until it returns no more, for at most this many seconds.
    All processes are stopped first, because a running process could start others meanwhile."""
    until = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < until:
        stopped = set()
        while found - stopped and time.monotonic() < until:
            _signal_processes(found - stopped, signal.SIGSTOP)
            stopped |= found
            found = find()
        _signal_processes(stopped, signal.SIGKILL)
        _reap_children()


def _signal_processes(found, number):
    for process in found:
        with contextlib.suppress(OSError):
            os.kill(process, number)


def _reap_children():
    """Returns {process: status} of the children that have ended."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            ended[child[0]] = child[1]
    return ended


class _OutputTail:
    """Reads from a pipe and keeps the last KEPT bytes."""

    def __init__(self):
        self.end, self.writers = os.pipe()
        os.set_blocking(self.end, False)
        self.text = b""

    def read(self):
        """Reads the available bytes, at most a few times the capacity of the pipe."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(64):
                more = os.read(self.end, KEPT)
                if not more:
                    return
                self.text = (self.text + more)[-KEPT:]


def size_of(folder) -> int:
    """Returns the total size on disk of a folder's files in bytes, or 0 if it has too many."""
    total = count = 0
    for at, _, names in os.walk(folder):
        count += len(names)
        if count > MAX_FILES:
            return 0
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(at, name)).st_blocks * 512
    return total


def written_bytes(found) -> int:
    """Returns the number of bytes that processes have written to disks; bytes of ended children count for
    their parents."""
    total = 0
    for process in found:
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{process}/io", "rb") as file:
                numbers = dict(line.split(b": ") for line in file.read().splitlines())
            total += int(numbers.get(b"write_bytes", 0))
    return total


class _DiskUsage:
    """The bytes that the program has written so far, measured at intervals."""

    def __init__(self, limit, *folders):
        self.limit, self.folders, self.next = limit, folders, 0.0
        self.before = self.measure_usage()

    def measure_usage(self):
        found = {os.getpid()} | descendants(os.getpid())
        return written_bytes(found), *map(size_of, self.folders)

    def is_full(self):
        began = time.monotonic()
        if began < self.next:
            return False
        more = [now - then for now, then in zip(self.measure_usage(), self.before)]
        now = time.monotonic()
        self.next = now + max(0.3, 20 * (now - began))
        return more[0] > self.limit or sum(more[1:]) > self.limit


def main():
    """Implements ``supervisor.py FD,FD SCRATCH FILE_LIMIT DISK_LIMIT PROGRAM ...``: runs the program, which
    inherits the descriptors, and exits with its exit status. The limits are in bytes: the limit of one file,
    and the limit of all files."""
    libc = ctypes.CDLL(None)
    libc.prctl(_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PARENT_DIED, signal.SIGTERM, 0, 0, 0)
    asked = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    inherited, output = list(map(int, sys.argv[1].split(","))), _OutputTail()
    scratch, file_limit, disk_limit = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    disk = _DiskUsage(disk_limit, os.getcwd(), scratch)
    child = subprocess.Popen(
        sys.argv[5:], stdin=subprocess.DEVNULL, stdout=output.writers, stderr=output.writers,
        pass_fds=inherited, start_new_session=True,
    ).pid  # fmt: skip
    for descriptor in inherited:
        os.close(descriptor)
    os.close(output.writers)
    status, is_full = None, False
    while status is None and not asked and not is_full:
        output.read()
        status = _reap_children().get(child)
        if status is None:
            time.sleep(0.002)
            is_full = disk.is_full()
    kill_processes(lambda: descendants(os.getpid()))
    output.read()
    os.write(1, output.text)
    if is_full:
        os.write(
            1, b"\nIt wrote more than %d MB to files, and was ended.\n" % (disk_limit // 10**6)
        )
        os._exit(EXIT_STATUS)
    if status is None:
        os._exit(1)
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        libc.prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE: the supervisor writes no core dump
        signal.signal(-code, signal.SIG_DFL) if -code not in (9, 19) else None
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
