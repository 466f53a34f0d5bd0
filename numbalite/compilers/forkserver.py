"""Runs a compiler as a fork of a process that has loaded it and stopped before main(). clang++ uses shared
libraries of 100 MB. Loading clang++ takes 30 ms of processor time in each of the two runs that a kernel
needs, more than a third of the compilation. A fork takes 3 ms. cuda_src/host/forkserver.c is preloaded: it
stops the compiler before main(), forks on request, and reports the exit status.

The server lives as long as this process and uses 12 MB of memory. If no server is possible (a statically
linked compiler, a script, no cache directory for the shared object), `run_compiler` returns None, and the caller
starts the compiler as usual.
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
from numbalite.compilers.process import PERIOD, STOPPED

_NUMBER = struct.Struct("q")
_FILE = "forkserver.so"
_LONGEST, _MAX_WORDS = 1 << 17, 4000  # bytes of a request
_PATIENCE = 2  # compiler runs before the shared object is built, because a program with one kernel gains nothing

_lock = allocate_lock()
_servers: dict[
    tuple, Server | None
] = {}  # (program, its size and date) -> Server, or None if no server is possible
_asked: dict[str, int] = {}  # program -> number of runs, while there is no shared object


def _replace_lock_after_fork():
    """Replaces the lock in a forked child: the thread that held the lock does not exist in the child. The
    parent's compiler servers also serve the forked child."""
    global _lock
    _lock = allocate_lock()


os.register_at_fork(after_in_child=_replace_lock_after_fork)


def run_compiler(command, stdin, folder, environment, plainly):
    """Runs a compiler in a folder. Returns a CompletedProcess, or None if the caller must start the compiler
    itself.

    environment: the compiler's environment variables. plainly(command): runs a program without the server.
    """
    try:
        server = _server_for(command[0], environment, plainly)
    except OSError:
        return None
    result = server and server.run_compiler(command, stdin, folder, environment)
    # The server was killed by a signal: the compiler's files may have been changed or truncated.
    return None if result and result.returncode < 0 else result


def _server_for(program, environment, plainly):
    status = os.stat(program)
    # A new version of the compiler may be installed while the server runs
    key = program, status.st_size, status.st_mtime_ns
    with _lock:
        if key not in _servers:
            shared_object = _preloaded_object(program, plainly)
            if shared_object is None:
                if _asked.get(program, 0) > _PATIENCE:
                    _servers[key] = None
                return None
            _servers[key] = _start_server(program, shared_object, environment)
        return _servers[key]


def _preloaded_object(program, plainly):
    """Returns the path of the shared object to preload, built once with the compiler itself and cached."""
    root = cache.usable_directory()
    if root is None or set(root) & set(
        " :"
    ):  # a space or colon would end the file name in LD_PRELOAD
        return None
    source = os.path.join(headers.cuda_src(), "host", "forkserver.c")
    stamps = [(s.st_size, s.st_mtime_ns) for s in (os.stat(source), os.stat(program))]
    folder = os.path.join(
        root, f"{cache.PRELUDE}{cache.hash_values(source, program, stamps).hex()}"
    )
    found = folders.find_folder(folder, _FILE)
    if found is None:
        _asked[program] = _asked.get(program, 0) + 1
        if _asked[program] <= _PATIENCE:
            return None

        def build_shared_object(working):
            path = os.path.join(working, _FILE)
            flags = ["-O1", "-shared", "-fPIC", "-x", "c", source, "-o", path, "-ldl"]
            return plainly([program, *flags]).returncode == 0

        folders.create_folder(folder, build_shared_object)
        found = folders.find_folder(folder, _FILE)
    return found and os.path.join(found, _FILE)


def _start_server(program, shared_object, environment):
    """Returns a Server, or None if the compiler is a script, whose process is the script's interpreter."""
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
        ours.close()  # without a server, the process ends by itself
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
    """A compiler's process, and the socket on which it waits for requests."""

    def __init__(self, process, requests):
        self.process, self.requests = process, requests
        self.owner = os.getpid()

    def is_ready(self):
        """Returns whether the compiler's process stopped before main(). A statically linked compiler does not
        stop, but runs to its end."""
        self.requests.settimeout(10)
        try:
            ready = self.requests.recv(1) == b"\0"
        except OSError:
            return False
        self.requests.settimeout(None)
        return ready

    def run_compiler(self, command, stdin, folder, environment):
        """Returns what subprocess.run returns, or None if the server did not answer."""
        variables = (f"{name}={value}" for name, value in environment.items())
        words = [str(len(command)), folder, *command, *variables]
        message = b"".join(os.fsencode(word) + b"\0" for word in words)
        if len(message) > _LONGEST or len(words) > _MAX_WORDS:
            return None
        with TemporaryFile() as given, TemporaryFile() as output, TemporaryFile() as errors:
            given.write(stdin)
            given.seek(0)
            files = [file.fileno() for file in (given, output, errors)]
            status = self._run_status(message, files)
            if _has_last_message(files[2]):
                # Exit status 1: the compiler reported errors, even if the process was then killed
                status = 1 << 8
            if status is None:
                return None
            outputs = map(_read_all, files[1:])
            return subprocess.CompletedProcess(command, os.waitstatus_to_exitcode(status), *outputs)

    def _run_status(self, words, files):
        """Returns the exit status of a compiler run, or None without an answer, or if the run was ended.

        The server ends a run when this process closes its end of `answer`. To interrupt a run, this process
        therefore only closes `answer`.
        """
        answer, theirs = socket.socketpair()
        with answer:
            try:
                with theirs:
                    self._send_request(words, [*files, theirs.fileno()])
                return _receive_number(answer, files[2])
            except OSError:
                return None  # the server has ended
            except BaseException:
                theirs.close()
                # shutdown(), because a forked process may hold a copy of the socket, so closing is not enough
                answer.shutdown(socket.SHUT_WR)
                _receive_number(answer)  # the server no longer exists
                raise

    def _send_request(self, words, files):
        # socket.send_fds has no parameter for MSG_NOSIGNAL, which prevents a SIGPIPE.
        rights = socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", files)
        self.requests.sendmsg([words], [rights], socket.MSG_NOSIGNAL)

    def close(self):
        """Ends the server; in a forked process, only closes the socket."""
        self.requests.close()
        if self.owner == os.getpid():
            self.process.kill()
            self.process.wait()


def _read_all(file):
    return os.pread(file, os.fstat(file).st_size, 0)


def _has_last_message(errors):
    """Returns whether clang has written its last message, or None if the other end of the pipe is closed."""
    return STOPPED in _read_all(errors)


def _receive_number(answer, errors=None):
    """Returns the number that the server sends, or None if the other end of the socket is closed. Ends the
    compiler run when its errors are complete."""
    answer.settimeout(PERIOD)
    while True:
        try:
            data = answer.recv(_NUMBER.size)
            break
        except TimeoutError:
            if errors is not None and _has_last_message(errors):
                answer.shutdown(socket.SHUT_WR)
                errors = None
    return _NUMBER.unpack(data)[0] if len(data) == _NUMBER.size else None
