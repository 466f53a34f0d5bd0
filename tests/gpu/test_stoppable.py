"""Tests interrupts on a GPU: every type of endless kernel stops, no data is lost, and threads
that wait for other kernels continue."""

import pathlib
import re
import subprocess
import sys

import pytest
from kit import endless

pytestmark = pytest.mark.gpu

NAMES = list(endless.CASES)
GROUPS = [NAMES[i::8] for i in range(8)]
LATEST = 100  # milliseconds after the signal; the waiting thread polls for signals every 50 ms


def run_stoppable_program(arguments, timeout=100):
    """Returns the output of a process; if its kernel does not stop, the process is ended."""
    folder = pathlib.Path(endless.__file__).parent
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("names", GROUPS, ids=lambda names: names[0])
def test_endless_kernels_stop_and_the_next_launch_is_right(names):
    lines = run_stoppable_program(["endless.py", *names]).splitlines()
    assert len(lines) == len(names)
    late = []
    for line in lines:
        name, milliseconds, text = line.split(" ", 2)
        assert re.search(r"kernel \w+, block \(\d+,0,0\), thread \(\d+,0,0\)", text), line
        if float(milliseconds) > LATEST:
            late.append(line)
    assert len(late) <= 1, late  # another process may use the GPU at this time


RANDOM = r"""
import gc, random, signal, sys, time
import numpy as np
from numbalite import _core, cuda, vectorize, float32
signal.signal(signal.SIGALRM, signal.default_int_handler)
m = cuda.module('''
__global__ void steps(float *x, int n) { for (int k = 0; k < n; k++) for (int i = threadIdx.x; i < 4096; i += blockDim.x) x[i] += 1; }
__global__ void waits(volatile int *x) { while (x[0] == 0) { } }
''', stoppable=True)
@vectorize([float32(float32, float32)], target="cuda", stoppable=True)
def add(a, b):
    "return a + b;"
kept = cuda.to_device(np.arange(4096, dtype=np.float32))
stream = cuda.stream()
def launch_and_copy(i):
    x = cuda.to_device(np.zeros(4096, np.float32))
    host = np.ones(4096, np.float32)
    m.steps[1, 256](x, 100)
    m.steps[1, 256](host, 10)
    y = add(x, kept)
    y.sum(), float((kept * 2).max())
    big = cuda.to_device(np.zeros(1 << 22, np.float32))
    big.copy_to_host()
    m.steps[1, 256, stream](x, 10)
    stream.synchronize()
    if i % 4 == 0:
        m.waits[2, 64](cuda.to_device(np.zeros(1, np.int32)))
        cuda.synchronize()
    assert (x.copy_to_host() == 110).all()
def collect_and_synchronize():
    gc.collect()
    cuda.synchronize()
    gc.collect()
    return _core.live()
for i in (1, 2, 3, 4):
    signal.setitimer(signal.ITIMER_REAL, 2 if i == 4 else 0)
    try:
        launch_and_copy(i)
    except KeyboardInterrupt:
        pass
before = collect_and_synchronize()
r, count = random.Random(int(sys.argv[1])), 0
while count < 200:
    signal.setitimer(signal.ITIMER_REAL, r.uniform(0.001, 0.03))
    try:
        for i in range(1, 1000000):
            launch_and_copy(i)
    except KeyboardInterrupt:
        count += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    if count % 20 == 0:
        launch_and_copy(1)
        assert (kept.copy_to_host() == np.arange(4096)).all()
try:
    time.sleep(0.1)
except KeyboardInterrupt:
    pass
after = collect_and_synchronize()
assert after == before, (before, after)
print("interrupted", count)
"""


def test_interrupts_at_random_moments_lose_and_leak_nothing(tmp_path):
    program = tmp_path / "moments.py"
    program.write_text(RANDOM)
    assert "interrupted 200" in run_stoppable_program([program, 7])


def test_a_limit_stops_a_kernel():
    code = """
import numpy as np
from numbalite import cuda, errors
m = cuda.module("__global__ void waits(volatile int *x) { while (x[0] == 0) { } } __global__ void good(int *x) { x[0] = 3; }", stoppable=True)
x = cuda.to_device(np.zeros(1, np.int32))
try:
    with cuda.limit(0.5):
        m.waits[2, 32](x)
except errors.KernelTimeout as problem:
    print(problem)
m.good[1, 1](x)
print(x[0])
"""
    lines = run_stoppable_program(["-c", code]).splitlines()
    assert "kernel waits, block" in lines[0] and lines[1] == "3"


NOT_STOPPABLE = """
import signal, sys, time
import numpy as np
from numbalite import cuda
signal.signal(signal.SIGALRM, signal.default_int_handler)
waits = cuda.jit("__global__ void waits(volatile int *x) { while (x[0] == 0) { } }", stoppable=False)
waits[1, 1](cuda.to_device(np.ones(1, np.int32)))
x, host = cuda.to_device(np.zeros(1 << 22, np.int32)), np.zeros(1 << 22, np.int32)
small, locked = np.zeros(16, np.int32), cuda.pinned_array(1 << 22, np.int32)
stream, other = cuda.stream(), cuda.stream(non_blocking=True)
x.sum(), np.asarray(x), x[0]
waits[1, 1, other if sys.argv[1] == "unordered" else stream if "stream" in sys.argv[1] else 0](x) if "launch" not in sys.argv[1] else None
work = {
    "synchronize": cuda.synchronize, "unordered": cuda.synchronize, "stream": stream.synchronize,
    "copy": lambda: x.copy_to_host(host), "locked": lambda: x.copy_to_host(locked), "array": lambda: np.asarray(x),
    "small": lambda: x[:16].copy_to_host(small), "stream copy": lambda: (x.copy_to_host(host, stream=stream), stream.synchronize()),
    "upload": lambda: x.copy_to_device(host), "element": lambda: x[0], "sum": lambda: float(x.sum()), "print": lambda: repr(x),
    "launch": lambda: waits[1, 1](host), "small launch": lambda: waits[1, 1](small),
    "reset": cuda.get_current_device().reset, "queue launch": lambda: [waits[1, 1](x) for _ in range(5000)],
}[sys.argv[1]]
signal.setitimer(signal.ITIMER_REAL, 0.3)
begin = time.time()
try:
    work()
    time.sleep(20)
except KeyboardInterrupt as problem:
    print(time.time() - begin - 0.3, problem, flush=True)
ended = time.time()
print(ended, flush=True)
"""
WAITS = """synchronize unordered stream copy locked array small stream_copy upload element sum print launch small_launch reset
queue_launch""".split()


@pytest.mark.parametrize("wait", WAITS)
def test_interrupted_waits_and_the_process_end_while_a_kernel_runs(wait):
    import time

    lines = run_stoppable_program(
        ["-c", NOT_STOPPABLE, wait.replace("_", " ")], timeout=40
    ).splitlines()
    assert "the kernel runs on" in lines[0] and float(lines[0].split()[0]) < 1, lines
    assert time.time() - float(lines[1]) < 2


ASSERTS = """
import numpy as np
from numbalite import cuda, errors, vectorize, float32
m = cuda.module('''
__global__ void positive(const int *x, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(x[i] >= 0 && "no negative numbers");
    out[i] = x[i];
}
__global__ void good(int *x) { x[threadIdx.x] = 42; }
''', name="lesson.cu")
kept = cuda.to_device(np.arange(64, dtype=np.int32))
x, out = np.ones(64, np.int32), np.zeros(64, np.int32)
x[37] = -1
device = cuda.to_device(x)
stream = cuda.stream()
def reported_error(work):
    try:
        work()
    except errors.KernelError as problem:
        assert (problem.kind, problem.block, problem.thread) == ("assert", (1, 0, 0), (5, 0, 0)), vars(problem)
        assert problem.line == 4, problem.line
        return str(problem)
    raise AssertionError("no error")
for work in (
    lambda: (m.positive[2, 32](device, kept), cuda.synchronize()),
    lambda: (m.positive[2, 32](device, kept), kept.copy_to_host()),
    lambda: (m.positive[2, 32, stream](device, kept), stream.synchronize()),
    lambda: m.positive[2, 32](x, out),
):
    text = reported_error(work)
    assert "no negative numbers" in text, text
    assert not out.any()
    m.good[1, 64](kept)
    assert (kept.copy_to_host() == 42).all()
@vectorize([float32(float32)], target="cuda")
def root(a):
    "assert(a >= 0); return sqrtf(a);"
try:
    root(cuda.to_device(np.array([1, -1], np.float32)))
    cuda.synchronize()
except errors.KernelError as problem:
    print(problem)
assert root(np.array([4], np.float32))[0] == 2
print(text)
"""


@pytest.mark.parametrize("is_stoppable", ["0", "1"])
def test_a_failed_assert_keeps_the_context(is_stoppable, monkeypatch):
    monkeypatch.setenv("NUMBALITE_STOPPABLE", is_stoppable)
    lines = run_stoppable_program(["-c", ASSERTS]).splitlines()
    assert "assertion `a >= 0` failed" in lines[0] and "lesson.cu>:4: assertion" in lines[1], lines
