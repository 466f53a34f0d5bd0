"""A compiler that is loaded once. Each later run is a fork of the first process, taken before main().

clang++ is linked with libraries of a hundred megabytes. Loading them takes 30 ms of processor time in each of the
two runs that a kernel needs, more than a third of the whole. A fork takes 3 ms. cuda_src/host/
forkserver.c, preloaded, stops the compiler before main(), forks when it is asked to, and tells how it ended.

The server lives as long as this process, and has 12 MB of memory for itself. Where there is none (a compiler
that is linked statically or is a script, no cache to keep the shared object in), `run` gives None, and the
compiler is started as usual.
"""

from __future__ import annotations

import atexit
import os
import socket
import struct
import subprocess
from _thread import allocate_lock
from array import array
from tempfile import TemporaryFile

from numbalite.compilers import cache, folders, headers
from numbalite.compilers.process import PERIOD

_NUMBER = struct.Struct("q")
_FILE = "forkserver.so"
_LONGEST, _MAX_WORDS = 1 << 17, 4000  # of a request
_PATIENCE = (
    2  # runs before the shared object is made: a program with one kernel does not wait for it
)

_lock = allocate_lock()
_servers: dict[
    tuple, Server | None
] = {}  # (program, its size and date) -> Server, or None where it does not work
_asked: dict[str, int] = {}  # program -> how often, while there is no shared object


def _forget_lock():
    """In a forked child: a thread that holds it is not here. The parent's servers serve the child too."""
    global _lock
    _lock = allocate_lock()


os.register_at_fork(after_in_child=_forget_lock)


def run(command, stdin, folder, environment, plainly):
    """Runs a compiler in a folder: a CompletedProcess, or None where it has to be started.

    environment: its variables. plainly(command): runs a program as usual.
    """
    try:
        server = _server(command[0], environment, plainly)
    except OSError:
        return None
    result = server and server.run(command, stdin, folder, environment)
    # A signal: its files may have been changed or truncated under it.
    return None if result and result.returncode < 0 else result


def _server(program, environment, plainly):
    status = os.stat(program)
    key = program, status.st_size, status.st_mtime_ns  # another one may be installed while we run
    with _lock:
        if key not in _servers:
            shared_object = _shared_object(program, plainly)
            if shared_object is None:
                if _asked.get(program, 0) > _PATIENCE:
                    _servers[key] = None
                return None
            _servers[key] = _start(program, shared_object, environment)
        return _servers[key]


def _shared_object(program, plainly):
    """What to preload: made by the compiler itself, once in a cache."""
    root = cache.directory()
    if root is None or set(root) & set(" :"):  # which would end its name in LD_PRELOAD
        return None
    source = os.path.join(headers.cuda_src(), "host", "forkserver.c")
    stamps = [(s.st_size, s.st_mtime_ns) for s in (os.stat(source), os.stat(program))]
    folder = os.path.join(root, f"{cache.PRELUDE}{cache.digest(source, program, stamps).hex()}")
    found = folders.find(folder, _FILE)
    if found is None:
        _asked[program] = _asked.get(program, 0) + 1
        if _asked[program] <= _PATIENCE:
            return None

        def fill(working):
            path = os.path.join(working, _FILE)
            flags = ["-O1", "-shared", "-fPIC", "-x", "c", source, "-o", path, "-ldl"]
            return plainly([program, *flags]).returncode == 0

        folders.make(folder, fill)
        found = folders.find(folder, _FILE)
    return found and os.path.join(found, _FILE)


def _start(program, shared_object, environment):
    """A Server, or None: a script is its interpreter's."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    preload = ":".join(filter(None, (shared_object, environment.get("LD_PRELOAD"))))
    own = {"LD_PRELOAD": preload, "NUMBALITE_FORKSERVER": str(theirs.fileno())}
    try:
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
    except BaseException:
        ours.close()  # it ends by itself then
        raise
    server = Server(process, ours)
    try:
        if not server.is_ready():
            server.close()
            return None
    except BaseException:
        server.close()
        raise
    atexit.register(server.close)
    return server


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
            return False
        self.requests.settimeout(None)
        return ready

    def run(self, command, stdin, folder, environment):
        """What subprocess.run gives; None if the server has not answered."""
        variables = (f"{name}={value}" for name, value in environment.items())
        words = [str(len(command)), folder, *command, *variables]
        message = b"".join(os.fsencode(word) + b"\0" for word in words)
        if len(message) > _LONGEST or len(words) > _MAX_WORDS:
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
        """The status with which a run ends; None without an answer.

        The server ends a run when we let go of our end of `answer`: whenever an interrupt comes, nothing has
        to be known of the run.
        """
        answer, theirs = socket.socketpair()
        with answer:
            try:
                with theirs:
                    self._send(words, [*files, theirs.fileno()])
                return _number(answer)
            except OSError:
                return None  # the server has ended
            except BaseException:
                theirs.close()
                answer.shutdown(socket.SHUT_WR)  # closing it is not enough where a fork has it, too
                _number(answer)  # now it has ended
                raise

    def _send(self, words, files):
        # socket.send_fds takes no flags: SIGPIPE may not be ignored in this process.
        rights = socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", files)
        self.requests.sendmsg([words], [rights], socket.MSG_NOSIGNAL)

    def close(self):
        """Ends it; a process that was forked from this one only lets go of it."""
        self.requests.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()


def _number(answer):
    answer.settimeout(PERIOD)
    while True:
        try:
            data = answer.recv(_NUMBER.size)
            break
        except TimeoutError:
            pass
    return _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else None
