"""Tests waits on a GPU, which the driver cannot end: an interrupt or a limit ends each wait; the kernel
continues or is stopped.

The simulator's own waits can be ended without an extra thread. `_core.adapt_waits` wraps the simulator's
driver table like that of a GPU, so these tests run the code that a GPU runs. A kernel runs until the test
writes `gate`, page-locked memory of the host, or, if the kernel can be stopped, until the host sets the flag
in `nl_stop`.
"""

import textwrap

import pytest
from kit.sample import draw_cases

pytestmark = pytest.mark.sim

SETUP = r'''
import os, signal, sys, threading, time
import numpy as np
from numbalite import _core, cuda
from numbalite.errors import KernelTimeout

_core.adapt_waits()
signal.signal(signal.SIGALRM, signal.default_int_handler)
LATEST = 20  # seconds

SOURCE = """
struct stop_record { unsigned flag, claimed, site, block[3], thread[3]; };
extern "C" { __device__ stop_record nl_stop; }
__global__ void spins(volatile int *gate, int *x) {
    while (gate[0] == 0) { }
    x[threadIdx.x] = 7;
}
__global__ void stops(int *x) {
    while (*(volatile unsigned *)&nl_stop.flag == 0) { }
    if (atomicCAS(&nl_stop.claimed, 0u, 1u) == 0) {
        nl_stop.site = 1;
        nl_stop.block[0] = blockIdx.x;
        nl_stop.thread[0] = threadIdx.x;
    }
}
__global__ void fills(int *x) { x[threadIdx.x] = 5; }
"""
m = cuda.module(SOURCE, name="lesson.cu")
gate = cuda.mapped_array(1, np.int32)
gate[:] = 1
n = 1 << 18
x, host, small = cuda.to_device(np.zeros(n, "i4")), np.zeros(n, "i4"), np.zeros(64, "i4")
locked = cuda.pinned_array(n, np.int32)
other = cuda.to_device(np.zeros(n, "i4"))
m.spins[1, 64](gate, x), m.spins[1, 64](gate, small), m.fills[1, 64](x)
cuda.synchronize()
float(x.sum()), repr(x)  # compiled
small[:] = 0

def interrupted(work):
    """The text of the KeyboardInterrupt that ends work. One that came before work waited has no text."""
    for _ in range(40):
        gate[:] = 0
        signal.setitimer(signal.ITIMER_REAL, 0.12)
        start = time.perf_counter()
        try:
            work()
            time.sleep(LATEST)  # the interrupt is late
        except KeyboardInterrupt as exception:
            assert time.perf_counter() - start < LATEST
            if str(exception):
                return str(exception)
        gate[:] = 1
        cuda.synchronize()
    raise AssertionError("not interrupted")
'''


@pytest.fixture
def run_program(run_python):
    def run_with_setup(code, arguments=(), **how):
        return run_python(SETUP + textwrap.dedent(code), *arguments, timeout=60, **how)

    return run_with_setup


WAITS = """synchronize,unordered,stream,event,copy_to_host,part,strided,locked,on_stream,element,asarray,print,sum,to_device,large launch,small
launch,reset""".replace("\n", " ").split(",")


def test_an_interrupt_ends_each_kind_of_wait_and_the_kernel_runs_on(run_program):
    code = r"""
    stream, unordered = cuda.stream(), cuda.stream(non_blocking=True)
    event = cuda.event()

    def launch_on_stream():
        m.spins[1, 64, stream](gate, x)
        return stream

    works = {
        "synchronize": lambda: (m.spins[1, 64](gate, x), cuda.synchronize()),
        "unordered": lambda: (m.spins[1, 64, unordered](gate, x), cuda.synchronize()),
        "stream": lambda: launch_on_stream().synchronize(),
        "event": lambda: (launch_on_stream(), event.record(stream), event.synchronize()),
        "copy_to_host": lambda: (m.spins[1, 64](gate, x), x.copy_to_host(host)),
        "part": lambda: (m.spins[1, 64](gate, x), x[:64].copy_to_host(host[:64])),
        "strided": lambda: (m.spins[1, 64](gate, x), x[::3].copy_to_host(host[::3])),
        "locked": lambda: (m.spins[1, 64](gate, x), x.copy_to_host(locked)),
        "on_stream": lambda: (launch_on_stream(), x.copy_to_host(host, stream=stream), stream.synchronize()),
        "element": lambda: (m.spins[1, 64](gate, x), x[3]),
        "asarray": lambda: (m.spins[1, 64](gate, x), np.asarray(x)),
        "print": lambda: (m.spins[1, 64](gate, x), repr(x)),
        "sum": lambda: (m.spins[1, 64](gate, x), float(x.sum())),
        "to_device": lambda: (m.spins[1, 64](gate, x), x.copy_to_device(np.zeros(n, "i4"))),
        "large launch": lambda: m.spins[1, 64](gate, host),
        "small launch": lambda: m.spins[1, 64](gate, small),
        "reset": lambda: (m.spins[1, 64](gate, x), cuda.gpus[0].reset()),
    }
    for name in sys.argv[1].split(",") if sys.argv[1:] else works:
        work = works[name]
        text = interrupted(work)
        assert "the kernel runs on" in text and "stoppable=True" in text, (name, text)
        gate[:] = 1  # the kernel ends
        cuda.synchronize()
        assert (x.copy_to_host()[:64] == 7).all() or "launch" in name or name == "to_device", name
        assert not small.any(), name  # nothing is copied back
        host[:] = 0
        m.fills[1, 64](x)
        m.fills[1, 64](small)
        assert (small == 5).all() and x[3] == 5, name
        small[:] = 0
        print(name)
    assert (x.copy_to_host()[:64] == 5).all()
    """
    names = draw_cases(7, WAITS)
    done = run_program(code, arguments=[",".join(names)])
    assert done.stdout.splitlines() == names


def test_memory_that_a_kernel_may_still_write_is_not_given_to_others(run_program):
    """The page-locked block of a launch with a host array is not reused before the kernel has
    ended."""
    code = r"""
    _core.copy_settings(always=True)  # small host arrays share page-locked blocks, as on a GPU
    m.fills[1, 64](small)
    interrupted(lambda: m.spins[1, 64](gate, small))
    outputs = [np.zeros(64, "i4") for _ in range(3)]
    stream = cuda.stream()
    gate[:] = 1
    cuda.synchronize()
    for output in outputs:
        m.fills[1, 64](output)
        assert (output == 5).all()
    before = _core.live()
    for _ in range(3):
        small[:] = 1
        interrupted(lambda: m.spins[1, 64](gate, small))
        gate[:] = 1
        cuda.synchronize()
        assert (small == 1).all()
    assert _core.live() == before, (before, _core.live())
    """
    run_program(code)


def test_an_interrupt_stops_kernels_that_test_the_flag(run_program):
    """The message names kernel, thread, line and arrays; queued work ends, too, and the next launch works."""
    code = r"""
    from numbalite.kernels import images
    real = _core.Module
    sites = b"first\tlesson.cu:1\0stops\tlesson.cu:9\0"
    m2 = cuda.module(SOURCE, name="lesson.cu")
    def load(data):
        image = next(iter(m2._images.compiled.values()))
        return real(data, stop=(next(iter(image.lowered[name] for name in image.lowered if "nl_stop" in name)), "", sites))

    _core.Module = load
    m2.get_global("nl_stop")
    m2.fills[1, 64](x)
    _core.Module = real
    stream = cuda.stream()
    for work in (
        lambda: (m2.stops[2, 32](x), cuda.synchronize()),
        lambda: (m2.stops[2, 32](x), x.copy_to_host()),
        lambda: (m2.stops[2, 32, stream](x), m2.stops[2, 32, stream](x), stream.synchronize()),
        lambda: m2.stops[2, 32](small),
    ):
        small[:] = 3
        text = interrupted(work)
        assert "kernel stops, block (" in text and "thread (" in text and "lesson.cu:9" in text, text
        assert "interrupted after" in text and "undefined contents: x" in text, text
        assert (small == 3).all()
        cuda.synchronize()
        m2.fills[1, 64](x)
        assert (x.copy_to_host()[:64] == 5).all()
    _core.set_wait_limit(0.3)
    m2.stops[1, 32](x)
    try:
        cuda.synchronize()
    except KernelTimeout as problem:
        assert "kernel stops" in str(problem) and "time limit" in str(problem), problem
        assert isinstance(problem, TimeoutError)
    else:
        raise AssertionError("no limit")
    m2.fills[1, 64](x)
    assert x[5] == 5
    del m2
    """
    run_program(code)


def test_a_limit_ends_waits_in_every_thread_and_reports_that_the_kernel_runs_on(run_program):
    code = r"""
    gate[:] = 0
    found = []

    def work():
        _core.set_wait_limit(0.2)
        m.spins[1, 64](gate, x)
        try:
            cuda.synchronize()
        except KernelTimeout as problem:
            found.append(str(problem))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(LATEST)
    assert "runs on" in found[0], found
    gate[:] = 1
    cuda.synchronize()
    assert x[5] == 7
    """
    run_program(code)


def test_a_process_ends_while_a_kernel_runs_on(run_program):
    """The exit status and the output of the program do not change."""
    code = r"""
    import atexit
    print(interrupted(lambda: (m.spins[1, 64](gate, x), cuda.synchronize())))
    sys.exit(3)
    """
    done = run_program(code, check=False)
    assert done.returncode == 3 and "the kernel runs on" in done.stdout


def test_many_queued_launches_do_not_block_the_thread(run_program):
    """After some hundred launches behind a kernel that never ends, an interrupt ends the launch that waits
    for space in the queue."""
    code = r"""
    def work():
        m.spins[1, 64](gate, x)
        for _ in range(5000):
            m.fills[1, 64](x)

    text = interrupted(work)
    assert "runs on" in text, text
    gate[:] = 1
    cuda.synchronize()
    assert x[5] == 5
    """
    run_program(code)


def test_a_failed_assert_is_an_error_of_the_next_wait_and_the_context_lives_on(run_program):
    """The kernel writes the record in the format in which kernels on a GPU write it
    (numbalite/compilers/asserts.py)."""
    code = (
        r"""
    from numbalite.errors import KernelError
    text = """
        + '"""'
        + r"""
    struct failure_record { unsigned claimed, line, block[3], thread[3]; unsigned long long word; char text[128], file[256]; };
    extern "C" { __device__ failure_record nl_failure; }
    __global__ void fails(int *x) {
        if (threadIdx.x == 3 && atomicCAS(&nl_failure.claimed, 0u, 1u) == 0) {
            const char *text = "x[i] > 0", *file = "lesson.cu";
            for (int i = 0; i < 9; i++) nl_failure.text[i] = text[i];
            for (int i = 0; i < 10; i++) nl_failure.file[i] = file[i];
            nl_failure.line = 12;
            nl_failure.thread[0] = threadIdx.x;
            nl_failure.block[0] = blockIdx.x;
            *(volatile unsigned *)nl_failure.word = 1;
        }
        x[threadIdx.x] = 1;
    }
    """
        + '"""'
        + r"""
    real = _core.Module
    a = cuda.module(text, name="lesson.cu")

    def load(data):
        image = next(iter(a._images.compiled.values()))
        symbol = next(iter(image.lowered[name] for name in image.lowered if "nl_failure" in name))
        return real(data, stop=("", symbol, b""))

    _core.Module = load
    a.get_global("nl_failure")
    _core.Module = real

    def message(work):
        try:
            work()
        except KernelError as problem:
            assert (problem.line, problem.thread) == (12, (3, 0, 0)), vars(problem)
            return str(problem)
        raise AssertionError("no error")

    small[:] = 9
    for work in (
        lambda: (a.fails[1, 32](x), cuda.synchronize()),
        lambda: (a.fails[1, 32](x), x.copy_to_host()),
        lambda: a.fails[1, 32](small),
    ):
        reported = message(work)
        assert "kernel fails, block (0,0,0), thread (3,0,0), lesson.cu:12" in reported, reported
        assert "assertion `x[i] > 0` failed" in reported, reported
        cuda.synchronize()  # reported once
        m.fills[1, 64](x)
        assert x[5] == 5
    assert (small == 9).all()
    a.fails[1, 32](x)
    del a, work
    import gc
    gc.collect()
    message(cuda.synchronize)
    m.fills[1, 64](x)
    assert x[5] == 5
    """
    )
    run_program(code)
