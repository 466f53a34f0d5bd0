"""Compilers run as forks of a process that has loaded the compiler, with the same output as in a
new process."""

import gc
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from numbalite.compilers import cache, forkserver, hostbuild, process

COMPILER = shutil.which("clang++") or shutil.which("g++")
pytestmark = pytest.mark.skipif(not COMPILER, reason="needs a compiler of C")


@pytest.fixture(scope="module")
def preloaded_server(tmp_path_factory):
    """Returns the path of the library that is preloaded, created once."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBALITE_CACHE_DIR", str(folder))
        patch.setattr(forkserver, "_asked", {COMPILER: 99})
        path = forkserver._preloaded_object(COMPILER, hostbuild._run_program)
        assert path and path.startswith(str(folder))
        assert forkserver._preloaded_object(COMPILER, None) == path  # it is there
    return path


@pytest.fixture
def run_shell(preloaded_server):
    server = forkserver._start_server(shutil.which("sh"), preloaded_server, {})
    yield lambda text, stdin=b"", folder="/", **variables: server.run_compiler(
        ["sh", "-c", text], stdin, folder, {"PATH": os.defpath, **variables}
    )
    server.close()
    assert server.process.returncode is not None


def test_a_forked_compiler_gives_the_same_output(run_shell, tmp_path):
    result = run_shell('cat; pwd; echo "$A" >&2; exit 7', b"in\0put\n", str(tmp_path), A="b c=d")
    assert result.returncode == 7
    assert result.stdout.decode() == f"in\0put\n{tmp_path}\n" and result.stderr == b"b c=d\n"
    assert run_shell("env | grep -E 'LD_PRELOAD|NUMBALITE'").returncode == 1
    assert run_shell("kill -9 $$").returncode == -9
    assert run_shell("true", folder="/no/such/folder").returncode == 127
    assert run_shell("true", b"x" * (1 << 20)).returncode == 0
    assert run_shell("true " + "x" * (1 << 17)) is None  # has to be started


def test_commands_leave_no_open_file_descriptor(run_shell):
    run_shell("true")
    gc.collect()
    before = os.listdir("/proc/self/fd")
    for _ in range(20):
        run_shell("true")
    assert os.listdir("/proc/self/fd") == before


def test_fork_server_works_with_few_open_files(preloaded_server):
    """Some systems allow a process only 256 open files, fewer than the possible number of
    concurrent runs."""
    server = forkserver._start_server(shutil.which("sh"), preloaded_server, {})
    try:
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (20, 20))
        environment = {"PATH": os.defpath}
        assert server.run_compiler(["sh", "-c", "exit 3"], b"", "/", environment).returncode == 3
    finally:
        server.close()


def test_fork_server_runs_commands_concurrently(run_shell):
    results = {}

    def run_in_thread(i):
        results[i] = run_shell(f"sleep 0.{i % 3}; exit {i}").returncode

    threads = [threading.Thread(target=run_in_thread, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: i for i in range(20)}


def test_an_interrupt_ends_the_run_with_all_that_it_started(run_shell, tmp_path):
    def raise_interrupt(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            run_shell(f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert_ended((tmp_path / "pid").read_text().strip())
    assert run_shell("exit 3").returncode == 3


def wait_until(happens):
    """Waits until the condition is true, with a limit for busy machines."""
    deadline = time.monotonic() + 30
    while not happens():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def has_ended(pid):
    """Returns whether the process has ended: without a waiting parent, an ended process stays a
    zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def assert_ended(pid):
    assert wait_until(lambda: has_ended(pid)), "the run goes on"


def interrupt_run_at(at, run):
    """Calls a function with a KeyboardInterrupt before step `at` of the module that starts programs; returns
    whether the interrupt was raised."""
    files = {process.__file__, forkserver.__file__}
    steps = itertools.count()

    def trace_opcodes(frame, event, _):
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(steps) == at:
            raise KeyboardInterrupt
        return trace_opcodes

    sys._getframe().f_trace_opcodes = (
        True  # without this line, CPython 3.12 traces no opcodes in any frame
    )
    sys.settrace(trace_opcodes)
    try:
        run()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning"
)  # warnings about sockets that are not yet closed
@pytest.mark.parametrize("start", ["process", "server"])
def test_an_interrupt_at_any_step_leaves_nothing_running(run_shell, tmp_path, start):
    """A program that was being started at the time of the interrupt does not remain either."""
    text = f"echo $$ >> {tmp_path}/pids; exec sleep 0.03"
    runs = {
        "process": lambda: process.run_program(["sh", "-c", text]),
        "server": lambda: run_shell(text),
    }
    gc.collect()  # file descriptors that earlier tests left open
    files = os.listdir("/proc/self/fd")
    at = 0
    while interrupt_run_at(at, runs[start]):
        at += 1
    gc.collect()
    assert at > 50
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) > 5
    # A thread that is starting a program may end after the interrupted call has returned.
    assert wait_until(lambda: os.listdir("/proc/self/fd") == files)
    for pid in pids:
        assert wait_until(lambda pid=pid: not os.path.exists(f"/proc/{pid}")), "the run goes on"
    assert runs[start]().returncode == 0


def test_a_run_ends_with_the_server_and_the_server_with_its_process(preloaded_server, tmp_path):
    """Whichever is killed."""
    pid = tmp_path / "pid"
    program = f"""
from numbalite.compilers import forkserver
server = forkserver._start_server("/bin/sh", {preloaded_server!r}, {{}})
print(server.process.pid, flush=True)
server.run_compiler(["sh", "-c", "echo $$ > {pid}.half; mv {pid}.half {pid}; exec sleep 600"], b"", "/", {{"PATH": "{os.defpath}"}})
"""
    for kill_server in (True, False):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as user:
            server = user.stdout.readline().decode().strip()
            while not pid.exists():
                assert user.poll() is None
                time.sleep(0.01)
            os.kill(int(server) if kill_server else user.pid, signal.SIGKILL)
            assert_ended(pid.read_text().strip())
            assert user.wait(60) == (0 if kill_server else -9)
        assert_ended(server)
        pid.unlink()


def test_commands_run_with_the_given_environment_only(preloaded_server):
    server = forkserver._start_server(shutil.which("env"), preloaded_server, {})
    assert server.run_compiler(["env"], b"", "/", {"A": "1", "B": "2"}).stdout == b"A=1\nB=2\n"
    assert server.run_compiler(["env"], b"", "/", {}).stdout == b""
    server.close()


def test_ended_server_runs_no_command(preloaded_server):
    server = forkserver._start_server(shutil.which("sh"), preloaded_server, {})
    server.process.kill()
    server.process.wait()
    assert server.run_compiler(["sh", "-c", "true"], b"", "/", {}) is None
    server.close()


def test_close_in_a_forked_child_keeps_the_server_running(preloaded_server):
    server = forkserver._start_server(shutil.which("sh"), preloaded_server, {})
    pid = os.fork()
    if pid == 0:
        server.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert server.run_compiler(["sh", "-c", "exit 3"], b"", "/", {}).returncode == 3
    server.close()


def test_fork_server_rejects_unsupported_programs(preloaded_server, tmp_path):
    (tmp_path / "script").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "script").chmod(0o700)
    static = tmp_path / "static"
    command = [COMPILER, "-static", "-x", "c", "-", "-o", static]
    program = b"int main() { return 0; }"
    made = subprocess.run(command, input=program, capture_output=True, check=False)
    for path in [static] * (made.returncode == 0):
        assert forkserver._start_server(str(path), preloaded_server, {}) is None
    assert (
        forkserver._start_server(str(tmp_path / "script"), preloaded_server, {}) is None
    )  # sh would take it
    assert forkserver._start_server(shutil.which("sh"), "/no/such/object.so", {}) is None


def test_fork_server_ends_with_its_process(preloaded_server, tmp_path):
    program = f"""
import sys
from numbalite.compilers import forkserver
server = forkserver._start_server("/bin/sh", {preloaded_server!r}, {{}})
print(server.process.pid)
assert server.run_compiler(["sh", "-c", "true"], b"", "/", {{}}).returncode == 0
"""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr
    assert_ended(done.stdout.strip())


@pytest.mark.skipif(not shutil.which("clang++"), reason="needs clang++")
def test_kernels_are_compiled_by_the_fork_server(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBALITE_CXX", "clang++")
    monkeypatch.setattr(cache, "_checked", {})
    for name in ("_servers", "_asked"):
        monkeypatch.setattr(forkserver, name, {})
    started = []
    start = hostbuild._run_program
    monkeypatch.setattr(
        hostbuild,
        "_run_program",
        lambda command, *rest: started.append(command[0]) or start(command, *rest),
    )
    from numbalite.compilers.source import Source

    images = []
    for _ in range(3):
        started.clear()
        unit = Source('extern "C" __global__ void k(int *x) { *x = 1 / *x; }', kernels=("k",))
        images.append(hostbuild.compile(unit).data)
    assert started == [shutil.which("ld")]  # the linker alone
    assert images[0] == images[2]  # a newly started compiler produced the first result
    for server in forkserver._servers.values():
        server.close()
