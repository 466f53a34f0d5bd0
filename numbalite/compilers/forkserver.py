"""A compiler that starts once: what it runs later are forks of the first process, taken before its main().

clang++ is linked with libraries of a hundred megabytes, and to load them takes 30 ms of processor time, at
each of the two runs that a kernel needs: more than a third of all. A fork takes 3 ms. cuda_src/host/
forkserver.c, preloaded, stops the compiler before main(), forks when it is asked to, and tells how it ended.

The server lives as long as this process, and has 12 MB of memory for itself. Where there is none (a compiler
that is linked statically or is a script, no cache to keep the shared object in), `run` gives None, and the
compiler is started as usual.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import struct
import subprocess
from _thread import allocate_lock
from tempfile import TemporaryFile

from numbalite.compilers import cache, folders, headers

_NUMBER = struct.Struct("q")
_FILE = "forkserver.so"
_LONGEST, _MOST_WORDS = 1 << 17, 4000  # of a request
_PATIENCE = (
    2  # runs before the shared object is made: a program with one kernel does not wait for it
)

_lock = allocate_lock()
_servers = {}  # program -> Server, or None where it does not work
_asked = {}  # program -> how often, while there is no shared object


def run(command, stdin, folder, environment, plainly):
    """Runs a compiler in a folder: a CompletedProcess, or None where it has to be started.

    environment: its variables. plainly(command): runs a program as usual.
    """
    server = _server(command[0], environment, plainly)
    return server and server.run(command, stdin, folder or os.getcwd(), environment)


def _server(program, environment, plainly):
    with _lock:
        if program not in _servers:
            shared_object = _shared_object(program, plainly)
            if shared_object is None:
                return None
            _servers[program] = _start(program, shared_object, environment)
        return _servers[program]


def _shared_object(program, plainly):
    """What to preload: made by the compiler itself, once in a cache."""
    root = cache.directory()
    if root is None or set(root) & set(" :"):  # which would end its name in LD_PRELOAD
        return None
    source = os.path.join(headers.cuda_src(), "host", "forkserver.c")
    stamps = [(s.st_size, s.st_mtime_ns) for s in (os.stat(source), os.stat(program))]
    folder = os.path.join(root, f"{cache.PRELUDE}{cache.digest(source, program, stamps).hex()}")
    if not folders.is_ours(folder, _FILE):
        _asked[program] = _asked.get(program, 0) + 1
        if _asked[program] <= _PATIENCE:
            return None

        def fill(working):
            path = os.path.join(working, _FILE)
            flags = ["-O1", "-shared", "-fPIC", "-x", "c", source, "-o", path, "-ldl"]
            return plainly([program, *flags]).returncode == 0

        folders.make(folder, fill)
        if not folders.is_ours(folder, _FILE):
            _servers[program] = None
            return None
    return os.path.join(folder, _FILE)


def _start(program, shared_object, environment):
    """A Server, or None: a script is its interpreter's."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    preload = ":".join(filter(None, (shared_object, environment.get("LD_PRELOAD"))))
    own = {"LD_PRELOAD": preload, "NUMBALITE_FORKSERVER": str(theirs.fileno())}
    with theirs:
        process = subprocess.Popen(
            [program],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**environment, **own},
            cwd="/",
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    server = Server(process, ours)
    atexit.register(server.close)
    return server if server.is_ready() else None


class Server:
    """A compiler's process, and the socket that it listens to."""

    def __init__(self, process, requests):
        self.process, self.requests = process, requests
        self.owner = os.getpid()

    def is_ready(self):
        """Has it got as far as to its main()? A program that is linked statically has just run."""
        self.requests.settimeout(10)
        try:
            ready = self.requests.recv(1) == b"\0"
        except OSError:
            ready = False
        self.requests.settimeout(None)
        if not ready:
            self.close()
        return ready

    def run(self, command, stdin, folder, environment):
        """What subprocess.run gives; None if the server has not answered."""
        variables = (f"{name}={value}" for name, value in environment.items())
        words = [str(len(command)), folder, *command, *variables]
        message = b"".join(os.fsencode(word) + b"\0" for word in words)
        if len(message) > _LONGEST or len(words) > _MOST_WORDS:
            return None
        with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
            given.write(stdin)
            given.seek(0)
            files = [file.fileno() for file in (given, output, errors)]
            status = self._ask(message, files)
            if status is None:
                return None
            told = (os.pread(file, os.fstat(file).st_size, 0) for file in files[1:])
            return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), *told)

    def _ask(self, words, files):
        """The status with which a run ends; it ends with us where we are interrupted."""
        answer, theirs = os.pipe()
        pid = None
        try:
            try:
                socket.send_fds(self.requests, [words], [*files, theirs])
            except OSError:
                return None  # the server has ended
            finally:
                os.close(theirs)
            pid = _number(answer)
            return None if pid is None else _number(answer)
        except BaseException:
            pid = _number(answer) if pid is None else pid
            if pid is not None:
                os.killpg(pid, signal.SIGKILL)
            raise
        finally:
            os.close(answer)

    def close(self):
        """Ends it; a process that was forked from this one only lets go of it."""
        self.requests.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()


def _number(file):
    data = os.read(file, _NUMBER.size)
    return _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else None
