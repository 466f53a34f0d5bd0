"""Tests concurrent threads, forked children, and processes that exit during device work.

The tests check results and counts; run them under ThreadSanitizer with `make sanitize SAN=thread`.
"""

import gc
import threading
import time

import numpy as np
import pytest

from numbalite import cuda, vectorize

COUNT = 6


@cuda.jit("void(const float32[:], float32, float32[:])")
def scale_by(x, factor, y):
    "int i = grid<1>(); if (i < y.size()) y[i] = x[i] * factor;"


@vectorize(["float64(float64, float64)"], target="cuda")
def doubled(x, y):
    "x * 2 + y"


@pytest.fixture(scope="module", autouse=True)
def _load_kernel():
    """Loads the kernel's module once; it stays loaded, so it does not count as a leak of a test."""
    x = cuda.to_device(np.ones(4, "f4"))
    scale_by[1, 4](x, 1.0, x)
    doubled(np.ones(2), np.ones(2))


@pytest.mark.leaks
def test_kernel_is_launched_from_many_threads(run_in_threads):
    x = np.arange(1000, dtype="f4")

    def launch_scale(factor):
        stream = cuda.stream()
        d_x = cuda.to_device(x, stream=stream)
        d_y = cuda.device_array_like(d_x, stream=stream)
        for _ in range(50):
            scale_by[8, 128, stream](d_x, factor, d_y)
        got = d_y.copy_to_host(stream=stream)
        stream.synchronize()
        np.testing.assert_array_equal(got, x * np.float32(factor))

    run_in_threads(*(lambda f=f: launch_scale(float(f)) for f in range(COUNT)))


@pytest.mark.leaks
def test_concurrent_launch_configurations_are_cached_safely(run_in_threads):
    """`kernel[grid, block]` caches launch configurations. Threads create, use and evict cached
    configurations concurrently."""
    x = cuda.to_device(np.ones(64, "f4"))

    def launch_configurations(seed):
        y = cuda.device_array(64, np.float32)
        for block in range(32, 32 + 40):
            scale_by[2 + seed % 3, block](x, float(block), y)
        assert y.copy_to_host().tolist() == [71.0] * 64

    run_in_threads(*(lambda s=s: launch_configurations(s) for s in range(COUNT)))


@pytest.mark.leaks
def test_arrays_are_created_and_freed_in_threads(run_in_threads):
    def allocate_arrays():
        kept = []
        for size in range(1, 200):
            array = cuda.device_array(size * 16, np.float32)
            array.fill(size)
            kept.append(array[::3])
            if len(kept) > 5:
                assert kept.pop(0)[1] > 0

    run_in_threads(*[allocate_arrays] * COUNT)


def test_arrays_are_used_and_freed_in_other_threads():
    """Objects are created in one thread, used in a second thread and dropped in a third thread."""
    made, used = [], []
    for _ in range(20):
        for body in (
            lambda: made.append(cuda.to_device(np.arange(32, dtype="f4"))),
            lambda: used.append(made.pop()[4:8].copy_to_host()),
        ):
            thread = threading.Thread(target=body)
            thread.start()
            thread.join()
    assert not made and all(a.tolist() == [4, 5, 6, 7] for a in used)


def test_first_call_compiles_once(run_in_threads):
    """A lazily typed kernel, first called from many threads at once: one compilation, all results right."""
    from numbalite.compilers import compile_count

    @cuda.jit
    def triple_plus_one(x):
        "int i = grid<1>(); if (i < x.size()) x[i] = x[i] * 3 + 1;"

    before = compile_count()
    results = []

    def launch_lazily():
        d = cuda.to_device(np.arange(10, dtype="i4"))
        triple_plus_one[1, 32](d)
        results.append(d.copy_to_host().tolist())

    run_in_threads(*[launch_lazily] * COUNT)
    assert results == [[3 * i + 1 for i in range(10)]] * COUNT
    assert compile_count() == before + 1


@pytest.mark.slow
def test_threads_compile_different_kernels(run_in_threads):
    def compile_kernel(n):
        kernel = cuda.jit(f"__global__ void k(int* out) {{ out[0] = {n} * 1000 + 7; }}")
        out = cuda.device_array(1, np.int32)
        kernel[1, 1](out)
        assert out[0] == n * 1000 + 7

    run_in_threads(*(lambda n=n: compile_kernel(n) for n in range(4)))


def test_shared_array_kernel_and_stream_lose_no_update(run_in_threads):
    """All threads share the same objects: the order is not fixed, but no result is lost or wrong."""
    total = cuda.to_device(np.zeros(1, "i4"))
    stream = cuda.stream()
    add = cuda.jit("__global__ void add(int* total) { atomicAdd(total, 1); }")
    add[1, 1, stream](total)

    def launch_add():
        for _ in range(30):
            add[1, 32, stream](total)

    run_in_threads(*[launch_add] * COUNT)
    stream.synchronize()
    assert total.copy_to_host()[0] == 1 + COUNT * 30 * 32


def test_callbacks_run_during_launches(run_in_threads):
    done = []
    stream = cuda.stream()
    x = cuda.to_device(np.ones(8, "f4"))

    def launch_with_callback(tag):
        for _ in range(10):
            scale_by[1, 32, stream](x, 1.0, x)
            stream.add_callback(lambda s, status, arg: done.append(arg), tag)

    run_in_threads(*(lambda t=t: launch_with_callback(t) for t in range(3)))
    stream.synchronize()
    deadline = time.monotonic() + 20
    while len(done) < 30 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(done) == sorted([0, 1, 2] * 10)


def test_waits_release_the_interpreter_lock():
    """Python runs in other threads while one thread waits for the device."""
    wait = cuda.jit(
        "__global__ void wait(volatile int* go, int* seen) {"
        " long long start = clock64(); while (!*go && clock64() - start < 60000000000) __nanosleep(1000);"
        " *seen = *go; }"
    )
    go, seen = cuda.mapped_array(1, np.int32), cuda.to_device(np.zeros(1, np.int32))
    go[:] = 0
    wait[1, 1](go, seen)
    waits = threading.Event()

    def open_gate():
        waits.wait()
        time.sleep(0.02)  # after this time, the other thread waits in synchronize()
        go[0] = 1

    thread = threading.Thread(target=open_gate)
    thread.start()
    waits.set()
    cuda.synchronize()
    thread.join()
    assert seen[0] == 1


# ---- processes ------------------------------------------------------------------------------------------
def test_a_forked_child_raises(run_python):
    """CUDA does not work in a forked child: its use raises an error with this reason, and does not
    hang."""
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda, errors
a = cuda.to_device(np.arange(4))
child = os.fork()
if child == 0:
    try:
        cuda.to_device(np.arange(3))
    except errors.CudaDriverError as error:
        os._exit(10 if str(error).startswith("CUDA initialized before forking") else 11)
    except BaseException as error:
        print(type(error), error, file=sys.stderr)
        os._exit(13)
    os._exit(14)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert a.copy_to_host().tolist() == [0, 1, 2, 3]
print(status)
"""
    assert run_python(code).stdout.split() == ["10"]


def test_a_forked_child_may_delete_inherited_objects(run_python):
    code = """
import os, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda
a, s, e = cuda.to_device(np.arange(4)), cuda.stream(), cuda.event()
child = os.fork()
if child == 0:
    del a, s, e
    import gc; gc.collect()
    raise SystemExit(0)     # an orderly end: destructors and atexit run
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert a.copy_to_host().tolist() == [0, 1, 2, 3]
"""
    run_python(code, timeout=60)


def test_fork_before_the_first_use_is_safe(run_python):
    code = """
import os, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda
child = os.fork()
assert cuda.to_device(np.arange(4)).copy_to_host().tolist() == [0, 1, 2, 3]
if child == 0:
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    run_python(code)


BUSY = """
import threading
import numpy as np
from numbalite import cuda
nap = cuda.jit("__global__ void nap(int* x) { for (int i = 0; i < 20; ++i) __nanosleep(1000000); x[0] += 1; }")
x = cuda.to_device(np.zeros(1, np.int32))
s = cuda.stream()
for _ in range(5):
    nap[1, 1, s](x)
"""


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "raise SystemExit(0)",
        "del x, s, nap",
        "s.add_callback(lambda *a: None, None)",
        "threading.Thread(target=lambda: [nap[1, 1, s](x) for _ in range(50)], daemon=True).start()",
        "import sys; sys.modules['numbalite']._keep = (x, s, nap)",
        "c = [x, s]; c.append(c); del c, x, s",
    ],
)
def test_a_process_may_end_with_work_in_flight(ending, run_python):
    result = run_python(BUSY + ending, timeout=60)
    assert result.returncode == 0
    assert "Traceback" not in result.stderr and "Error" not in result.stderr


def test_an_interrupted_wait_ends_the_process(run_python):
    code = BUSY + "raise KeyError('mine')"
    result = run_python(code, check=False)
    assert result.returncode == 1 and "KeyError: 'mine'" in result.stderr


# ---- memory


@pytest.fixture
def _use_code_paths_of_a_gpu():
    """Uses the code paths of a GPU: freed memory is kept, and several threads make large copies."""
    from numbalite import _core

    pool = cuda.memory_pool()
    pool.cache_limit = 32 << 20
    _core.copy_settings(always=True, least=1 << 18)
    yield pool
    _core.copy_settings(always=False, least=1 << 20)
    pool.cache_limit = 0


def test_memory_pool_is_thread_safe(_use_code_paths_of_a_gpu, run_in_threads):
    """All threads create, use and drop arrays of the same sizes: no array contains the values of another
    array."""

    def use_pool(number):
        stream = [0, cuda.stream(), cuda.stream(non_blocking=True)][number % 3]
        ones = cuda.to_device(np.ones(3000, "f4"), stream=stream)
        for turn in range(60):
            y = cuda.device_array(3000, np.float32)
            scale_by[3, 1024, stream](ones, float(number * 100 + turn), y)
            assert (y.copy_to_host(stream=stream) == number * 100 + turn).all()
            if turn % 20 == 0:
                _use_code_paths_of_a_gpu.trim()

    gc.collect()
    used = _use_code_paths_of_a_gpu.used
    run_in_threads(*(lambda n=n: use_pool(n) for n in range(COUNT)))
    assert _use_code_paths_of_a_gpu.used == used


def test_large_copies_from_many_threads_are_correct(_use_code_paths_of_a_gpu, run_in_threads):
    """One of several concurrent copies uses the copying threads; the other copies run without them."""

    def copy_large_array(number):
        x = np.full(150_000, float(number))
        stream = cuda.stream() if number % 2 else 0
        for _ in range(10):
            d = cuda.to_device(x, stream=stream)
            got = d.copy_to_host(stream=stream)
            assert (got == number).all()
            d.copy_to_host(got)
            assert (got == number).all()
            d.copy_to_device(got[::-1], stream=stream)

    gc.collect()
    used = cuda.host_memory_pool().used
    run_in_threads(*(lambda n=n: copy_large_array(n) for n in range(COUNT)))
    assert cuda.host_memory_pool().used == used


def test_large_host_operands_from_many_threads_are_correct(
    _use_code_paths_of_a_gpu, run_in_threads
):
    """Of several concurrent calls with host arrays, one uses the copying threads and the other calls run
    without them; each call returns its own results, and so do smaller calls between them."""

    def add_large_operands(number):
        stream = [0, cuda.stream(), cuda.stream(non_blocking=True)][number % 3]
        for n in (60_000, 100, 9_000, 60_001, 30_000, 100_000):
            x, y = np.full(n, float(number)), np.arange(float(n))
            assert (doubled(x, y, stream=stream) == 2 * number + y).all()
            z = np.zeros(n, "f4")
            scale_by[n // 128 + 1, 128, stream](y.astype("f4"), float(number), z)
            assert (z == y.astype("f4") * np.float32(number)).all()

    gc.collect()
    used = cuda.host_memory_pool().used
    run_in_threads(*(lambda n=n: add_large_operands(n) for n in range(COUNT)))
    assert cuda.host_memory_pool().used == used


def test_pool_limits_may_change_during_allocations(_use_code_paths_of_a_gpu, run_in_threads):
    stop = threading.Event()

    def change_limits():
        host = cuda.host_memory_pool()
        limit = host.limit
        for turn in range(50):
            _use_code_paths_of_a_gpu.cache_limit = (turn % 4) << 20
            host.limit = (turn % 3) << 20
            host.trim()
        _use_code_paths_of_a_gpu.cache_limit, host.limit = 32 << 20, limit
        stop.set()

    def copy_until_stopped():
        while not stop.is_set():
            d = cuda.to_device(np.ones(70_000))
            assert d.copy_to_host().sum() == 70_000

    run_in_threads(change_limits, *[copy_until_stopped] * 3)


def test_forked_child_works_without_copying_threads(run_python):
    """A forked child has no copying threads; it may read results, and the parent continues."""
    run_python(
        """
import os, numpy as np
from numbalite import _core, cuda, vectorize
_core.copy_settings(always=True, least=1 << 18)
cuda.memory_pool().cache_limit = 1 << 26
doubled = vectorize("f8(f8, f8)", target="cuda", source="x * 2 + y", args="x, y")
x = np.arange(200_000.0)
d = cuda.to_device(x)
assert (doubled(x, x) == 3 * x).all()
results = [d.copy_to_host() for _ in range(3)]
del results[0]
results.append(d.copy_to_host())
pinned = cuda.pinned_array(1000)
pinned[:] = 1
pid = os.fork()
if pid == 0:
    ok = all((r == x).all() for r in results) and (pinned == 1).all()
    for use in (d.copy_to_host, lambda: doubled(x, x), lambda: cuda.to_device(x)):
        try:
            use()
            ok = False
        except RuntimeError as error:
            ok = ok and "fork" in str(error)
    results.clear()
    del d, pinned
    os._exit(0 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert (cuda.to_device(x).copy_to_host() == x).all()
assert (doubled(x, x + 1) == 3 * x + 1).all()
"""
    )


@pytest.mark.parametrize("seconds", [0, 0.02])
def test_process_exits_while_threads_copy(run_python, seconds):
    """The process exits while daemon threads make large copies."""
    run_python(
        """
import sys, threading, time, numpy as np
from numbalite import _core, cuda
_core.copy_settings(always=True, least=1 << 18)
cuda.memory_pool().cache_limit = 1 << 26
x = np.arange(300_000.0)
def work():
    stream = cuda.stream()
    while True:
        cuda.to_device(x, stream=stream).copy_to_host(stream=stream)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1 + float(sys.argv[1]))
""",
        seconds,
        timeout=60,
    )
