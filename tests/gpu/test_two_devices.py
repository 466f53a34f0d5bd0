"""Uses two devices in one process and in two processes: two GPUs, or on the simulator two simulated
devices. Each test has a process of its own."""

import pytest

from numbalite import cuda

START = """
import gc, threading, time
import numpy as np
import pytest
from numbalite import cuda, vectorize, guvectorize, _core
assert len(cuda.gpus) >= 2
SIM = cuda.is_simulated()

@cuda.jit("void(float64[:], int64)")
def slow_add(x, rounds):
    '''
    for (long long i = grid<1>(); i < x.size(); i += gridsize<1>()) {
        double value = x[i], noise = value;
        for (long long n = 0; n < rounds; ++n) noise = noise * 0.999 + 0.5;
        x[i] = value + 1 + (noise > 1e30);
    }
    '''
ROUNDS = 20 if SIM else 20000

def add(array, stream=0):
    with cuda.gpus[array.device]:
        slow_add[4, 64, stream](array, ROUNDS)

def assert_device_array(device, host, number):
    assert device.device == number, device
    assert (device.shape, device.dtype) == (host.shape, host.dtype)
    np.testing.assert_array_equal(device.copy_to_host(), host)

class StreamGate:
    '''Holds a stream up until it is opened; says whether somebody waited for it in vain.'''
    def __init__(self, stream, number):
        self.opened, self.late = threading.Event(), False
        with cuda.gpus[number]:
            (stream or cuda.default_stream()).add_callback(self._wait)
    def _wait(self, stream, status, arg):
        self.late = not self.opened.wait(20)
    def open(self):
        self.opened.set()
        for gpu in cuda.gpus.lst[:2]:
            with gpu:
                cuda.synchronize()
        assert not self.late, "a call waited for the stream"

def make_streams(number):
    with cuda.gpus[number]:
        return {"default": 0, "blocking": cuda.stream(), "non-blocking": cuda.stream(non_blocking=True)}
for gpu in cuda.gpus.lst[:2]:
    with gpu:  # the simulator keeps no freed memory otherwise, and freeing may wait
        cuda.memory_pool().cache_limit = 1 << 28
zero, one = cuda.to_device(np.zeros(1000)), cuda.to_device(np.zeros(1000), device=1)
add(zero), add(one)
one[...] = zero
zero[...] = one
for dtype in "f8", "f4":                   # the first launch of a kernel loads it, which may wait
    for a, b in (zero, one), (one, zero):
        a, b = a.astype(dtype), b.astype(dtype)
        b[...] = a.astype("f4")
        b[::-1] = a[::-1]
        b[1::2] = a[::2]
        b.fill(1.5)
cuda.synchronize()
"""


@pytest.fixture
def two_device_runner(run_python, driver_kind):
    if driver_kind == "cuda" and len(cuda.gpus) < 2:
        pytest.skip("needs two GPUs")

    def run_on_two_devices(code, *arguments, **environment):
        environment = {"NUMBALITE_DRIVER": driver_kind, "NUMBALITE_SIM_DEVICES": "2", **environment}
        return run_python(START + code, *arguments, **environment)

    return run_on_two_devices


# ---- copies
def test_copies_between_devices_keep_all_layouts_and_dtypes(two_device_runner):
    two_device_runner("""
large = np.arange(3 << 20, dtype="f4")
hosts = [
    np.arange(1000.0), np.array(7, "i2"), np.zeros((0, 3)), large, large.reshape(1024, -1).T, np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    np.array([(1, 2.5), (3, 4.5)], [("n", "i4"), ("x", "f8")]), np.arange(5).astype("M8[s]"), np.arange(7) % 2 == 0, np.arange(9) * (1 + 2j),
    np.frombuffer(b"abcdefgh" * 3, "S3"),
]
for host in hosts:
    first = cuda.to_device(host)
    second = cuda.to_device(first, device=1)
    assert_device_array(second, host, 1)
    assert second.strides == first.strides
    assert_device_array(cuda.to_device(second, device=0), host, 0)
    back = cuda.device_array_like(first)
    back.copy_to_device(second)
    assert_device_array(back, host, 0)
rows = large.reshape(1024, -1)
first, second = cuda.to_device(rows), cuda.to_device(np.zeros_like(rows), device=1)
for key in (np.s_[::2], np.s_[:, 5:500], np.s_[::-1, ::3], np.s_[3:9, 4:5], np.s_[100]):
    expected = second.copy_to_host()
    second[key] = first[key]
    expected[key] = rows[key]
    assert_device_array(second, expected, 1)
    assert_device_array(cuda.to_device(first[key], device=1), rows[key], 1)
second[...] = first[7]                    # broadcast
assert_device_array(second, np.broadcast_to(rows[7], rows.shape), 1)
whole = cuda.device_array(rows.shape, "i8")
whole[...] = second.astype("f8")          # converted
assert_device_array(whole, second.copy_to_host().astype("i8"), 0)
assert cuda.get_current_device().id == 0
""")


def test_copies_between_devices_support_every_memory_kind(two_device_runner):
    """Tests pooled, plain, mapped, managed and foreign memory as source and as destination."""
    two_device_runner("""
host = np.arange(5000.0)
def managed_view():
    return cuda.as_cuda_array(cuda.managed_array(5000))
def mapped():
    return cuda.as_cuda_array(cuda.mapped_array(5000))
makers = [lambda: cuda.device_array(5000), lambda: cuda.ipc_array(5000), mapped, managed_view]
for make in makers:
    for take in makers:
        first = make()
        first.copy_to_device(host)
        with cuda.gpus[1]:
            second = take()
        second[...] = -1
        cuda.synchronize()
        second.copy_to_device(first)
        np.testing.assert_array_equal(second.copy_to_host(), host)
        with cuda.gpus[1]:
            second += 1
        first[::2] = second[::2]
        cuda.synchronize()
        np.testing.assert_array_equal(first.copy_to_host()[::2], host[::2] + 1)
        cuda.synchronize()
        with cuda.gpus[1]:
            cuda.synchronize()
class ForeignArray:
    def __init__(self, array):
        self.array = array
        self.__cuda_array_interface__ = array.__cuda_array_interface__
with cuda.gpus[1]:
    there = cuda.to_device(host)
    foreign = ForeignArray(there)
assert_device_array(cuda.to_device(foreign, device=0), host, 0)
mine = cuda.device_array(5000)
mine[...] = foreign
assert_device_array(mine, host, 0)
assert cuda.as_cuda_array(foreign).device == 1
assert_device_array(cuda.from_dlpack(there, device=0), host, 0)
""")


@pytest.mark.parametrize("part", ["...", "np.s_[1::2]"], ids=["dense", "strided"])
def test_copies_between_devices_run_in_stream_order(two_device_runner, part):
    """The copy runs after the work that writes the source and reads the destination, and before
    work that overwrites the source and reads the destination, without a wait on the host."""
    two_device_runner(
        f"PART = {part}"
        + """
for number in 0, 1:                        # the device that the copy's stream is of
    for name, stream in make_streams(number).items():
        for pause in 0, 1:                 # which side is busy
            a, b = cuda.to_device(np.zeros(1000)), cuda.to_device(np.full(1000, 10.0), device=1)
            seen = cuda.to_device(np.zeros(1000), device=1)
            on = [0, 0]                    # what each device uses besides the copy
            if name == "non-blocking":
                on[number] = stream
            cuda.synchronize()
            with cuda.gpus[1]:
                cuda.synchronize()
            gate = None
            if name != "non-blocking" or pause == number:
                gate = StreamGate(on[pause], pause)
            add(a, on[0]) if name != "non-blocking" or number == 0 else None
            seen.copy_to_device(b, on[1]) if name != "non-blocking" or number == 1 else None
            b[PART].copy_to_device(a[PART], stream)
            if name == "non-blocking" and number == 1:
                add(b, stream)
            if name != "non-blocking" or number == 0:
                a.fill(-5, on[0])
            if name != "non-blocking":
                add(b)
            if gate:
                gate.open()
            cuda.synchronize()
            with cuda.gpus[1]:
                cuda.synchronize()
            added = (name != "non-blocking" or number == 0) + (name != "non-blocking" or number == 1)
            case = name, number, pause
            got = b.copy_to_host()
            assert (got[PART] == added).all(), (case, got[:4])
            assert (a.copy_to_host() == (-5 if name != "non-blocking" or number == 0 else 0)).all(), case
            if name != "non-blocking" or number == 1:
                assert (seen.copy_to_host() == 10).all(), case
"""
    )


def test_copies_between_devices_order_both_arrays_streams(two_device_runner):
    """A copy without a stream runs after the earlier work of the source's stream, and before later
    work of the destination's."""
    two_device_runner("""
for kinds in [(a, b) for a in make_streams(0) for b in make_streams(1)]:
    here, there = make_streams(0)[kinds[0]], make_streams(1)[kinds[1]]
    a = cuda.to_device(np.zeros(1000)).bind(here)
    b = cuda.to_device(np.zeros(1000), device=1).bind(there)
    cuda.synchronize()
    with cuda.gpus[1]:
        cuda.synchronize()
    for part in (..., np.s_[::2]):
        gate = StreamGate(here, 0)
        add(a, here)
        b[part] = a[part]
        a.fill(7)
        add(b, there)
        c = a.astype("f4")
        d = cuda.to_device(c, device=1)
        gate.open()
        assert (b.copy_to_host()[part] == (2 if part is ... else 9)).all(), (kinds, part, b.copy_to_host()[:4])
        assert (d.copy_to_host() == 7).all(), (kinds, part, d.copy_to_host()[:4])
""")


def test_alternating_copies_between_devices_are_ordered(two_device_runner):
    """Two devices increment one element alternately; the element counts the steps."""
    two_device_runner("""
turns = 25 if SIM else 300
for name in make_streams(0):
    for part in (..., np.s_[::-1], np.s_[1::2]):
        here, there = make_streams(0)[name], make_streams(1)[name]
        a, b = cuda.to_device(np.zeros(1000)), cuda.to_device(np.zeros(1000), device=1)
        cuda.synchronize()
        with cuda.gpus[1]:
            cuda.synchronize()
        if name == "non-blocking":
            a, b = a.bind(here), b.bind(there)
        for _ in range(turns):
            add(a, here)
            b[part] = a[part]
            add(b, there)
            a[part] = b[part]
        with cuda.gpus[1]:
            cuda.synchronize()
        cuda.synchronize()
        assert (a.copy_to_host()[part] == 2 * turns).all(), (name, part, a.copy_to_host()[:4])
""")


def test_temporary_memory_is_not_reused_before_its_copy_ends(two_device_runner):
    """Memory of sources and destinations that are deleted while their copy still waits is not reused too
    early."""
    two_device_runner("""
for number in 0, 1:
    for name, stream in make_streams(number).items():
        for part in (..., np.s_[1::2]):
            sources = [cuda.to_device(np.full(1000, i, "f8")) for i in range(20)]
            kept = []
            cuda.synchronize()
            gate = StreamGate(stream, number)
            for i in range(20):
                a = sources.pop(0)
                with cuda.gpus[1]:
                    b = cuda.device_array(1000)
                    if name == "non-blocking" and number == 1:
                        c = cuda.device_array(1000).bind(stream)
                    else:
                        c = cuda.device_array(1000)
                b[part].copy_to_device(a[part], stream)
                del a
                other = cuda.device_array(1000)  # may take its memory, but not before the copy is done
                if name != "non-blocking":
                    other.fill(-1)
                    c.copy_to_device(b)
                    del b
                    with cuda.gpus[1]:
                        cuda.device_array(1000).fill(-2)
                    kept.append(c)
                else:
                    kept.append(b)
            gate.open()
            for i, c in enumerate(kept):
                assert (c.copy_to_host()[part] == i).all(), (number, name, part, i, c.copy_to_host()[:3])
""")


def test_streams_of_another_device_raise(two_device_runner):
    two_device_runner("""
from numbalite import errors
with cuda.gpus[1]:
    stream = cuda.stream()
with pytest.raises(errors.CudaAPIError, match="belongs to another device"):
    slow_add[1, 32, stream](zero, 1)
assert_device_array(zero, zero.copy_to_host(stream=stream), 0)   # copies may be in any device's stream
host = cuda.pinned_array(1000)
host[:] = 3
zero.copy_to_device(host, stream)
stream.synchronize()
assert (zero.copy_to_host() == 3).all()
class ForeignStream:
    def __cuda_stream__(self):
        return 0, stream.handle
one.copy_to_device(zero, ForeignStream())
stream.synchronize()
assert (one.copy_to_host() == 3).all()
if len(cuda.gpus) > 2:
    with cuda.gpus[2]:
        third = cuda.stream()
    with pytest.raises(ValueError, match="neither of the devices"):
        one.copy_to_device(zero, third)
event = cuda.event()
with cuda.gpus[1]:
    late = cuda.stream()
add(zero)
event.record()
event.wait(late)
one.copy_to_device(zero, late)
late.synchronize()
assert (one.copy_to_host() == 4).all()
worker = make_streams(0)["non-blocking"]
late = make_streams(1)["non-blocking"]
for part in (..., np.s_[::-1]):
    gate = StreamGate(worker, 0)
    add(zero, worker)
    event.record(worker)
    event.wait(late)                        # what makes the source is known to this stream alone
    one[part].copy_to_device(zero[part], late)
    gate.open()
    np.testing.assert_array_equal(one.copy_to_host(), zero.copy_to_host())
""")


def test_copies_between_devices_cannot_be_captured(two_device_runner):
    two_device_runner("""
stream = cuda.stream()
with pytest.raises(RuntimeError, match="a copy between devices cannot be captured"):
    with stream.capture():
        one.copy_to_device(zero, stream)
with pytest.raises(RuntimeError, match="capture"):
    with stream.capture():
        one.copy_to_device(zero)
one.copy_to_device(zero, stream)
with cuda.gpus[1]:
    there = cuda.stream()
    with there.capture() as graph:
        slow_add[1, 64, there](one, 1)
for gpu in cuda.gpus.lst[:2]:
    graph.launch(there)
there.synchronize()
assert (one.copy_to_host() == zero.copy_to_host() + 2).all()
""")


# ---- arrays on the wrong device
def test_kernels_reject_arrays_of_another_device(two_device_runner):
    two_device_runner("""
@vectorize(["float64(float64, float64)"], target="cuda")
def plus(x, y):
    "x + y"
@guvectorize(["void(float64[:], float64[:])"], "(n)->()", target="cuda")
def total(x, out):
    "double t = 0; for (int i = 0; i < x.size(); ++i) t += x[i]; out[0] = t;"
class ForeignArray:
    def __init__(self, array):
        self.__cuda_array_interface__ = array.__cuda_array_interface__
reduction = cuda.reduce("a + b")
before = one.copy_to_host()
calls = [
    lambda: slow_add[1, 32](one, 1), lambda: plus(zero, one), lambda: plus(zero, 1, out=one), lambda: zero + one,
    lambda: slow_add[1, 32](ForeignArray(one), 1),
]
for call in calls:
    with pytest.raises(ValueError, match=r"on device \\d, but the .* on device \\d"):
        call()
np.testing.assert_array_equal(one.copy_to_host(), before)
assert_device_array(plus(one, 1), before + 1, 1)          # functions run where all their arrays are
assert_device_array(plus(ForeignArray(one), 1), before + 1, 1)
assert_device_array(np.sqrt(one), np.sqrt(before), 1)
assert total(one).device == 1
with cuda.gpus[1]:
    slow_add[4, 64](one, 1)
    assert_device_array(plus(one, 1), before + 2, 1)
    assert plus.reduce(one) == (before + 1).sum() and total(one).device == 1
    with pytest.raises(ValueError, match=r"on device 0, but the .* on device 1"):
        slow_add[1, 32](zero, 1)
one[3] = 5                                 # methods go where the array is
assert one[3] == 5 and reduction(one) == one.copy_to_host().sum() == plus.reduce(one).copy_to_host()
plus.at(one, [0, 0], 1)
assert one[0] == before[0] + 3
assert cuda.get_current_device().id == 0
""")


def test_one_kernel_runs_on_both_devices(two_device_runner):
    """Each device has its own constants, dynamic shared memory and module variables."""
    two_device_runner("""
table = np.arange(4.0)
@cuda.jit("void(float64[:])")
def read_shared_and_constant(x):
    '''
    extern __shared__ double s[];
    int i = threadIdx.x;
    s[i] = table(i % 4);
    __syncthreads();
    x[i] = s[63 - i];
    '''
module = cuda.module('__device__ int counter; extern "C" __global__ void count() { atomicAdd(&counter, 1); }')
for number in (0, 1, 0, 1, 1):
    with cuda.gpus[number]:
        x = cuda.device_array(64)
        read_shared_and_constant[1, 64, 0, 60000](x)
        assert_device_array(x, np.tile(table, 16)[::-1], number)
        module.count[2, 32]()
for number, launches in (0, 2), (1, 3):
    with cuda.gpus[number]:
        assert module.get_global("counter")[()] == launches * 64
""")


# ---- threads
def test_threads_use_both_devices(two_device_runner):
    two_device_runner("""
problems = []
def use_device(number):
    rng = np.random.default_rng(number)
    try:
        cuda.select_device(number % 2)
        stream = cuda.stream(non_blocking=number > 3)
        mine = cuda.to_device(np.zeros(1000))
        other = cuda.device_array(1000) if number % 3 else cuda.to_device(np.zeros(1000), device=1 - number % 2)
        count = 0
        for i in range(15 if SIM else 200):
            for _ in range(rng.integers(3)):
                slow_add[4, 64](mine, 50)
                count += 1
            part = (..., np.s_[::-1])[rng.integers(2)]
            other[part] = mine[part]
            moved = cuda.to_device(other, device=int(rng.integers(2)))
            if rng.integers(2):
                assert (moved.copy_to_host() == count).all(), (number, i, moved.copy_to_host()[:3], count)
            mine[...] = moved
            if rng.integers(4) == 0:
                with cuda.gpus[1 - number % 2]:
                    cuda.device_array(1000).fill(-1)
                    cuda.synchronize()
        assert (mine.copy_to_host() == count).all()
        assert cuda.get_current_device().id == number % 2
    except BaseException as problem:
        problems.append(problem)
threads = [threading.Thread(target=use_device, args=(i,)) for i in range(6)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not problems, problems
assert cuda.get_current_device().id == 0
""")


# ---- processes
OPEN = """
import pickle, sys
handle = pickle.loads(bytes.fromhex(sys.argv[1]))
"""


def test_ipc_handles_open_on_either_device(two_device_runner, run_python, driver_kind):
    """One process allocates memory on each device; another process opens both arrays on each of its
    devices."""
    code = (
        OPEN
        + """
handles = handle
for number in 0, 1:
    for at, ipc in enumerate(handles):
        cuda.select_device(number)
        with ipc as a:
            assert float(a.copy_to_host().sum()) == 1000 * (at + 1), (number, at)
            if a.device == number:
                add(a)
                cuda.synchronize()
                a -= 1
            b = cuda.to_device(a, device=1 - number)
            assert_device_array(b, a.copy_to_host(), 1 - number)
            cuda.synchronize()
        staged = ipc._ipc_handle.open_staged(cuda.current_context())
        assert staged.size == 8000
        del a, b, staged
        ipc.close()
gc.collect()
assert _core.live()["ipc"] == 0
print("good")
"""
    )
    maker = """
import pickle, sys, subprocess, os
arrays = [cuda.to_device(np.ones(1000)), cuda.to_device(np.full(1000, 2.0), device=1)]
handles = []
for number, array in enumerate(arrays):
    with cuda.gpus[number]:
        handles.append(array.get_ipc_handle())
result = subprocess.run([sys.executable, "-c", sys.argv[1], pickle.dumps(handles).hex()], capture_output=True, text=True)
print(result.stdout, result.stderr)
assert result.returncode == 0 and "good" in result.stdout, result.stdout + result.stderr
"""
    assert "good" in two_device_runner(maker, START + code).stdout


def test_processes_write_to_the_memory_of_other_devices(two_device_runner):
    """Each device has a worker, which adds to the memory of all devices."""
    worker = (
        OPEN
        + """
number, handles = handle
cuda.select_device(number)
for ipc in handles:
    with ipc as a:
        with cuda.gpus[a.device]:
            slow_add[4, 64](a, 10)
            cuda.synchronize()
print("good")
"""
    )
    two_device_runner(
        """
import pickle, sys, subprocess
arrays = [cuda.ipc_array(1000) for _ in range(2)]
with cuda.gpus[1]:
    arrays.append(cuda.ipc_array(1000))
for array in arrays:
    array[...] = 0
handles = []
for array in arrays:
    with cuda.gpus[array.device]:
        handles.append(array.get_ipc_handle())
        cuda.synchronize()
for round in range(2):
    for number in 0, 1:
        result = subprocess.run([sys.executable, "-c", sys.argv[1], pickle.dumps((number, handles)).hex()], capture_output=True, text=True)
        assert result.returncode == 0 and "good" in result.stdout, result.stdout + result.stderr
for array in arrays:
    assert (array.copy_to_host() == 4).all(), array.copy_to_host()[:3]
""",
        START + worker,
    )


# ---- memory
def test_each_device_allocates_from_its_pool(two_device_runner):
    two_device_runner("""
pools = []
for gpu in cuda.gpus.lst[:2]:
    with gpu:
        pools.append(cuda.memory_pool())
used = [pool.used for pool in pools]
for pool in pools:
    pool.cache_limit = 0
big = cuda.device_array(1 << 22, "u1")
there = cuda.to_device(big, device=1)
assert [pool.used - before for pool, before in zip(pools, used)] == [1 << 22, 1 << 22]
pools[1].limit = pools[1].used
with pytest.raises(Exception, match="device 1"):
    cuda.to_device(big, device=1)
cuda.to_device(np.zeros(10))
pools[1].limit = None
del there
for pool in pools:
    pool.trim()
assert_device_array(cuda.to_device(zero, device=1), zero.copy_to_host(), 1)
""")


def test_copies_between_devices_survive_failing_driver_calls(two_device_runner):
    """Each driver call and each allocation of a copy between devices fails in turn."""
    two_device_runner("""
from numbalite import errors
from numbalite.runtime import traced
zero, one = zero[:8], one[:8]
streams_ = [0, make_streams(0)["non-blocking"], make_streams(1)["blocking"]]
gc.collect()
gc.freeze()
def live_objects():
    traced.drop_traces()
    gc.collect()
    for gpu in cuda.gpus.lst[:2]:
        with gpu:
            cuda.synchronize()
    return dict(_core.live())
for stream in streams_:
    for part in (..., np.s_[::-1]):
        def copy_part():
            one[part].copy_to_device(zero[part], stream)
        zero.fill(5)
        copy_part()
        before = live_objects()
        for arm in (_core.fail_call_at, _core.fail_alloc_at):
            for step in range(1, 200):
                one.fill(0)
                live_objects()
                arm(step)
                failed = False
                try:
                    copy_part()
                except (errors.CudaAPIError, MemoryError):
                    failed = True
                finally:
                    seen = arm(0)
                assert live_objects() == before, (step, part)
                if not failed:
                    assert (one.copy_to_host() == 5).all(), (step, part)
                    if seen < step:
                        break
            else:
                raise SystemExit("it never got through")
        copy_part()
        live_objects()
        assert (one.copy_to_host() == 5).all()
""")


def test_reset_of_one_device_keeps_the_other(two_device_runner):
    """A reset of one device does not affect memory of the other device."""
    two_device_runner("""
stream = make_streams(1)["non-blocking"]
one[::-1].copy_to_device(zero, stream)
zero[::-1].copy_to_device(one, stream)
stream.synchronize()
cuda.synchronize()
cuda.gpus[1].reset()
with pytest.raises(RuntimeError, match="was reset"):
    zero.copy_to_device(one)
with pytest.raises(RuntimeError, match="was reset"):
    one.copy_to_device(zero)
again = cuda.to_device(zero, device=1)
assert_device_array(again, zero.copy_to_host(), 1)
again[::-1].copy_to_device(zero, make_streams(1)["non-blocking"])
zero[::-1].copy_to_device(again, make_streams(0)["non-blocking"])
cuda.close()
again = cuda.to_device(np.zeros(10), device=1)
assert_device_array(cuda.to_device(again, device=0), np.zeros(10), 0)
""")


# ---- tests of launches on memory of the other device
def test_kernel_reads_another_devices_memory(two_device_runner):
    """The kernel reads the other device's results, and the memory is reused after the kernel."""
    two_device_runner("""
there = cuda.to_device(np.zeros(1000), device=1)
with pytest.raises(ValueError, match="but the kernel runs on device 0"):
    slow_add[4, 64](there, 1)
try:
    cuda.current_context(0).enable_peer_access(cuda.current_context(1))
except Exception as problem:
    assert not cuda.gpus[0].can_access_peer(1), problem
    raise SystemExit
@cuda.jit("void(const float64[:], float64[:])")
def copy_first_array(x, y):
    "int i = grid<1>(); if (i < x.size()) y[i] = x[i];"
for name, stream in make_streams(0).items():
    for number in range(5):
        there = cuda.to_device(np.full(20000, number, "f8"), device=1)
        add(there)                         # on its own device first, not waited for
        slow_add[16, 64, stream](there, ROUNDS)
        add(there)
        view = there[::2]
        del there
        slow_add[16, 64, stream](view, ROUNDS)
        assert_device_array(view, np.full(10000, number + 4.0), 1)
        del view                           # its memory goes to the next round's array
    host, there = np.zeros(100), cuda.to_device(np.arange(100.0), device=1)
    copy_first_array[1, 128, stream](there, host)      # a host array in the same call
    if stream:
        stream.synchronize()
    np.testing.assert_array_equal(host, np.arange(100))
""")
