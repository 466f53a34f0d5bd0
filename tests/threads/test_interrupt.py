"""Tests Ctrl-C while a kernel never ends: the wait ends with the positions of the threads, and the program
continues."""

import os
import re
import signal
import textwrap
import threading

import numpy as np
import pytest

from numbalite import cuda
from numbalite.compilers import host, hostbuild

pytestmark = pytest.mark.sim

# ThreadSanitizer keeps signals until the thread calls an intercepted function; kernels call none.
# Only kernels that spin on volatile memory test the stop flag themselves.
TSAN = os.environ.get("NUMBALITE_SANITIZED") == "thread"

SETUP = r'''
import os, signal, sys, threading, time
import numpy as np
from numbalite import cuda
from numbalite.errors import KernelError

signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
LATEST = 20  # seconds: on a busy machine all is raise_timeout, and these kernels never end

SOURCE = """
__global__ void spins(volatile int *x) {
    while (x[0] == 0) { }
    x[1] = 1;
}
__global__ void computes(int *x) {
    float s = x[0];
    for (unsigned i = 0; s < 1e30f; i += 2) s = sinf(s + i);
    x[0] = s;
}
__global__ void meets(int *x) {
    for (int i = 0; i < 1; i += x[threadIdx.x]) {
        __syncthreads();
    }
}
__global__ void prints(int *x) {
    for (int i = 0; i < 1; i += x[threadIdx.x]) printf("");
}
__global__ void ends(int *x) { x[threadIdx.x] = 7; }
"""
m = cuda.module(SOURCE, name="lesson.cu")
x, host = cuda.to_device(np.zeros(64, "i4")), np.zeros(64, "i4")
m.ends[1, 64](x)
x[:] = 0

def interrupt_soon(seconds=0.2):
    threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)).start()

def interrupted(work):
    """How long work took until it was, and what the exception says."""
    start = time.perf_counter()
    for work in (work, cuda.synchronize):
        interrupt_soon()
        try:
            work()
        except KeyboardInterrupt as exception:
            if str(exception):
                return time.perf_counter() - start, str(exception)
        # Without words it came after the launch, but before the wait: the kernel is still there.
    raise AssertionError("not interrupted")
'''


@pytest.fixture
def run_program(run_python):
    """Returns run_program(code, **how), which runs code after SETUP and returns its output; an exception in the
    code fails the test."""

    def run_with_setup(code, **how):
        return run_python(SETUP + textwrap.dedent(code), timeout=60, **how)

    return run_with_setup


def test_interrupt_ends_each_kind_of_wait(run_program):
    """Ctrl-C ends a wait for any kernel in any call, and the device works afterwards."""
    code = r"""
    def wait_for_event():
        m.meets[2, 64](x)
        event = cuda.event()
        event.record()
        for _ in range(3):
            m.spins[1, 1](x)  # never begun
        event.synchronize()

    def copy_to_device():
        m.spins[1, 1](x)
        cuda.to_device(np.zeros(1 << 20))

    def launch_under_checks():
        with cuda.checks():
            m.spins[2, 32](x)
            cuda.synchronize()

    x[:] = 1
    m.spins[1, 32](x)  # compiled, so that the kernel has begun when it is interrupted
    with cuda.checks():
        m.spins[1, 32](x)
        cuda.synchronize()
    x[:] = 0
    works = {
        "synchronize": lambda: (m.spins[2, 32](x), cuda.synchronize()),
        "launch": lambda: m.spins[2, 32](host),
        "copy_to_host": lambda: (m.computes[2, 32](x), x.copy_to_host()),
        "event": wait_for_event,
        "stream": lambda: (m.prints[2, 32](x), cuda.default_stream().synchronize()),
        "to_device": copy_to_device,
        "checks": launch_under_checks,
        "reset": lambda: (m.spins[2, 32](x), cuda.gpus[0].reset()),
        "close": lambda: (m.spins[2, 32](x), cuda.close()),
    }
    for name, work in works.items():
        seconds, text = interrupted(work)
        print(f"{name}: {text}")
        assert seconds < LATEST, (name, seconds)
        if name in ("close", "reset"):
            m = cuda.module(SOURCE)
            x = cuda.to_device(host)
        try:  # launches that were queued may have been dropped, which is said once
            cuda.synchronize()
        except KernelError as problem:
            assert name == "event" and "was cancelled" in str(problem), name
        m.ends[1, 64](x)
        assert (x.copy_to_host() == 7).all()
        x[:] = 0
    """
    if TSAN:
        code = re.sub(r"m\.(computes|meets|prints)\b", "m.spins", code)
    reports = dict(line.split(": ", 1) for line in run_program(code).stdout.splitlines())
    assert len(reports) == 9
    for name, text in reports.items():
        assert re.search(r"kernel \w+(, block \(\d,0,0\))?: interrupted after \d+\.\d s", text), (
            name
        )
    if (
        hostbuild.identify_compiler(host.find_compiler()).family == "clang"
    ):  # only irpatch sees volatile accesses
        # Any thread of the kernel may be running, or all threads may wait for other threads of their warp.
        where = r"threads? [\d, -]+ (spinning on volatile memory|in a volatile access)"
        assert re.search(where, reports["synchronize"]), reports["synchronize"]
    # In rare cases, the last thread has just reached the barrier, so that all threads run again.
    where = r"lesson\.cu>?:1\d in __syncthreads|running at .*lesson\.cu>?:13"
    assert TSAN or re.search(where, reports["event"]), reports["event"]
    assert re.search(r"lesson\.cu>?:[34], after an access of x", reports["checks"])


def test_only_the_main_thread_is_interrupted(run_program):
    """Another thread's wait neither handles the signal nor delays it for the main thread."""
    code = r"""
    def other():
        try:
            m.spins[1, 32](x)
            cuda.synchronize()
        except KernelError as problem:
            print("other:", problem)

    thread = threading.Thread(target=other)
    thread.start()
    time.sleep(0.1)
    interrupt_soon()
    start = time.perf_counter()
    try:
        time.sleep(60)  # Python's own wait
    except KeyboardInterrupt:
        assert thread.is_alive() and time.perf_counter() - start < LATEST
    seconds, text = interrupted(lambda: (m.spins[1, 32](x), cuda.synchronize()))
    assert seconds < LATEST and "interrupted" in text
    thread.join(LATEST)
    assert not thread.is_alive()
    """
    run_program(code)


def test_signal_handlers_run_during_waits(run_program):
    """If the handler does not raise, the kernel continues; if it does, the call raises its
    exception."""
    code = r"""
    calls = []
    def record_signal(number, frame):
        calls.append(x.is_c_contiguous())
        signal.setitimer(signal.ITIMER_REAL, 0.2)
    signal.signal(signal.SIGUSR1, record_signal)
    def raise_timeout(number, frame):
        raise TimeoutError("too slow")
    signal.signal(signal.SIGALRM, raise_timeout)
    m.spins[1, 32](x)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    try:
        cuda.synchronize()
    except TimeoutError as problem:
        notes = getattr(problem, "__notes__", ["interrupted"])
        assert str(problem) == "too slow" and "interrupted" in notes[0], notes
    else:
        raise AssertionError("not interrupted")
    assert calls == [True]
    """
    run_program(code)


def test_interrupt_at_interpreter_exit_ends_the_process(run_python):
    """A process waits for its kernels before it ends; if a kernel does not end, Ctrl-C ends the wait."""
    ends = "import atexit\nm.spins[1, 32](x)\natexit.register(interrupt_soon)\n"
    assert "KeyboardInterrupt: kernel spins" in run_python(SETUP + ends, timeout=60).stderr


def test_compiler_keeps_endless_loops(run_program):
    """The compiler does not remove loops that C++ assumes to end, nor run the code after them."""
    run_program(r"""
    from numbalite import jit
    halves = jit("int64(float64[:])", source="int64 halves(array<double> x) {"
                 "    while (x[0] == 0) x[0] *= 0.5;  return 7; }")
    stays = cuda.module("__global__ void stays(int *x) { while (true) x[1] += 1; }").stays
    assert halves(np.ones(1)) == 7
    thread = threading.Thread(target=halves, args=(np.zeros(1),), daemon=True)
    thread.start()
    if not os.environ.get("NUMBALITE_SANITIZED"):
        seconds, _ = interrupted(lambda: stays[1, 1](host))
        assert seconds < LATEST
    thread.join(0.2)
    assert thread.is_alive()
    os._exit(0)
    """)


LOOPS = {
    "volatile": "volatile int *v = x; int n = 0;\nwhile (v[0] == 0) n++;  // here\nx[1] = n;",
    "atomic": "int n = 0;\nwhile (atomicAdd(&x[0], 0) == 0) n++;  // here\nx[1] = n;",
    "alone": "int n = 1;\nwhile (n) n = n * 5 + x[n & 1] | 1;  // here\nx[1] = n;",
    "barrier": "\nfor (;;) { __syncthreads(); x[2] = 1; }  // here",
}
"""Each loop is one line: an interrupt may come at its jump, which belongs to the line of `for`."""


@pytest.mark.skipif(TSAN, reason="ThreadSanitizer delivers signals raise_timeout")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LOOPS)
def test_an_interrupt_reports_the_users_line(optimized_host_code, name, threads):
    """Without checks, too, the report has the user's line, if the kernel was compiled with line
    information."""
    text = f'#line 1 "loop.cu"\n__global__ void k(int *x) {{\n{LOOPS[name]}\n}}'
    line = 1 + next(i for i, one in enumerate(text.split("\n")[1:]) if "// here" in one)
    kernel = cuda.jit(source=text, name="k", lineinfo=True)
    x = cuda.to_device(np.zeros(4, np.int32))
    kernel.get_regs_per_thread()  # compiles it
    for _ in range(4):
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        place = rf"(running|spinning) at loop.cu:{line}\b"
        with pytest.raises(KeyboardInterrupt, match=place) as caught:
            kernel[1, threads](x)
            cuda.synchronize()
        timer.join()
        assert not re.search("(running|spinning)(;|$)", str(caught.value))


@pytest.mark.skipif(TSAN, reason="ThreadSanitizer delivers signals raise_timeout")
def test_an_interrupt_without_line_information_recommends_it():
    kernel = cuda.jit(source=f"__global__ void k(int *x) {{ {LOOPS['alone']} }}", name="k")
    kernel.get_regs_per_thread()
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt, match="; lineinfo=True shows the line;"):
        kernel[1, 1](cuda.to_device(np.zeros(4, np.int32)))
        cuda.synchronize()
    timer.join()
