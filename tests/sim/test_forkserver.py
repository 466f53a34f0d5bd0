"""Compilers of which each run is a fork: what comes out is what starting them gives."""

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from numbalite.compilers import cache, forkserver, hostbuild

COMPILER = shutil.which("clang++") or shutil.which("g++")
pytestmark = pytest.mark.skipif(not COMPILER, reason="needs a compiler of C")


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory):
    """What is preloaded: made once."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBALITE_CACHE_DIR", str(folder))
        patch.setattr(forkserver, "_asked", {COMPILER: 99})
        path = forkserver._shared_object(COMPILER, hostbuild._start)
        assert path and path.startswith(str(folder))
        assert forkserver._shared_object(COMPILER, None) == path  # it is there
    return path


@pytest.fixture
def shell(preloaded):
    server = forkserver._start(shutil.which("sh"), preloaded, {})
    yield lambda text, stdin=b"", folder="/", **variables: server.run(
        ["sh", "-c", text], stdin, folder, {"PATH": os.defpath, **variables}
    )
    server.close()
    assert server.process.returncode is not None


def test_a_run_is_what_it_is_without(shell, tmp_path):
    result = shell('cat; pwd; echo "$A" >&2; exit 7', b"in\0put\n", str(tmp_path), A="b c=d")
    assert result.returncode == 7
    assert result.stdout.decode() == f"in\0put\n{tmp_path}\n" and result.stderr == b"b c=d\n"
    assert shell("env | grep -E 'LD_PRELOAD|NUMBALITE'").returncode == 1
    assert shell("kill -9 $$").returncode == -9
    assert shell("true", folder="/no/such/folder").returncode == 127
    assert shell("true", b"x" * (1 << 20)).returncode == 0
    assert shell("true " + "x" * (1 << 17)) is None  # has to be started


def test_nothing_stays_open(shell):
    shell("true")
    before = os.listdir("/proc/self/fd")
    for _ in range(20):
        shell("true")
    assert os.listdir("/proc/self/fd") == before


def test_runs_side_by_side(shell):
    results = {}

    def run(i):
        results[i] = shell(f"sleep 0.{i % 3}; exit {i}").returncode

    threads = [threading.Thread(target=run, args=(i,)) for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {i: i for i in range(20)}


def test_an_interrupt_ends_the_run_with_all_that_it_started(shell, tmp_path):
    def interrupt(*_):
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(KeyboardInterrupt):
            shell(f"sleep 600 & echo $! > {tmp_path}/pid; wait")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    deadline = time.monotonic() + 30
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "the run goes on"
        time.sleep(0.05)
    assert shell("exit 3").returncode == 3


def test_a_server_that_has_ended(preloaded):
    server = forkserver._start(shutil.which("sh"), preloaded, {})
    server.process.kill()
    server.process.wait()
    assert server.run(["sh", "-c", "true"], b"", "/", {}) is None
    server.close()


def test_a_process_that_was_forked_leaves_it_alone(preloaded):
    server = forkserver._start(shutil.which("sh"), preloaded, {})
    pid = os.fork()
    if pid == 0:
        server.close()
        os._exit(0)
    os.waitpid(pid, 0)
    assert server.run(["sh", "-c", "exit 3"], b"", "/", {}).returncode == 3
    server.close()


def test_programs_that_take_no_part(preloaded, tmp_path):
    (tmp_path / "script").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "script").chmod(0o700)
    static = tmp_path / "static"
    command = [COMPILER, "-static", "-x", "c", "-", "-o", static]
    program = b"int main() { return 0; }"
    made = subprocess.run(command, input=program, capture_output=True, check=False)
    for path in [static] * (made.returncode == 0):
        assert forkserver._start(str(path), preloaded, {}) is None
    assert forkserver._start(str(tmp_path / "script"), preloaded, {}) is None  # sh would take it
    assert forkserver._start(shutil.which("sh"), "/no/such/object.so", {}) is None


def test_it_ends_with_the_process(preloaded, tmp_path):
    program = f"""
import sys
from numbalite.compilers import forkserver
server = forkserver._start("/bin/sh", {preloaded!r}, {{}})
print(server.process.pid)
assert server.run(["sh", "-c", "true"], b"", "/", {{}}).returncode == 0
"""
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr
    assert not os.path.exists(f"/proc/{done.stdout.strip()}")


@pytest.mark.skipif(not shutil.which("clang++"), reason="needs clang++")
def test_kernels_are_compiled_by_it(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBALITE_CXX", "clang++")
    monkeypatch.setattr(cache, "_checked", {})
    for name in ("_servers", "_asked"):
        monkeypatch.setattr(forkserver, name, {})
    started = []
    start = hostbuild._start
    monkeypatch.setattr(
        hostbuild,
        "_start",
        lambda command, *rest: started.append(command[0]) or start(command, *rest),
    )
    from numbalite.compilers.source import Source

    images = []
    for _ in range(3):
        started.clear()
        unit = Source('extern "C" __global__ void k(int *x) { *x = 1 / *x; }', kernels=("k",))
        images.append(hostbuild.compile(unit).data)
    assert started == [shutil.which("ld")]  # the linker alone
    assert images[0] == images[2]  # the first was made by a compiler that was started
    for server in forkserver._servers.values():
        server.close()
