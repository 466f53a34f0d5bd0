"""Tests objects after a device was closed or reset: with queued work, running threads, and other
libraries in the process."""

import pytest

STORM = r"""
import gc, random, sys, threading, warnings
import numpy as np
from numbalite import _core, cuda, errors, vectorize

warnings.simplefilter("ignore")
rounds, threads = int(sys.argv[1]), int(sys.argv[2])

@cuda.jit("void(float64[:], float64)")
def add(x, v):
    "int i = grid<1>(); for (int k = 0; k < 200; ++k) if (i < x.size()) x[i] += v;"

@vectorize(["float64(float64, float64)"], target="cuda")
def plus(x, y):
    "x + y"

total, kept, stop = cuda.reduce("a + b"), [], False

def work(rng, n):
    mine = []
    for _ in range(n):
        try:
            s = cuda.stream(non_blocking=rng.random() < 0.5)
            a, b = cuda.to_device(np.arange(1000.0)), cuda.device_array(1000)
            add[8, 128, s](a, 1.0); add[8, 128](b, 1.0)
            mine.append(plus(a, b) if rng.random() < 0.5 else plus(np.arange(5.0), 1.0))
            if rng.random() < 0.5:
                s.add_callback(lambda *x: None, a)
            if rng.random() < 0.3:
                with s.capture() as g:
                    add[8, 128, s](a, 1.0)
                g.launch(s)
                mine.append(g)
            p = cuda.pinned_array(1000)
            a.copy_to_host(p, stream=s)
            e = cuda.event()
            e.record(s)
            mine += [total(b), s, a, b, e, p, b.copy_to_host(), cuda.mapped_array(100), cuda.ipc_array(100)]
            if rng.random() < 0.2:
                mine.append(cuda.module('extern "C" __global__ void k(double* x) { x[0] = 1; }').k)
        except (errors.NumbaliteError, RuntimeError):
            if not threads:
                raise
        if rng.random() < 0.3:
            mine = mine[len(mine) // 2:]
    kept.append(mine)
    while len(kept) > 4:
        kept.pop(rng.randrange(len(kept)))

def forever(seed):
    rng = random.Random(seed)
    while not stop:
        work(rng, 3)

others = [threading.Thread(target=forever, args=(i,), daemon=True) for i in range(threads)]
for thread in others:
    thread.start()
rng = random.Random(rounds)
for i in range(rounds):
    work(rng, rng.randrange(6))
    (cuda.close, cuda.current_context().reset, cuda.get_current_device().reset)[rng.randrange(3)]()
    if rng.random() < 0.3:
        gc.collect()
    if rng.random() < 0.3:
        kept.clear()
stop = True
for thread in others:
    thread.join()
kept.clear()
cuda.close()
x = cuda.to_device(np.zeros(128))
add[1, 128](x, 1.0)
assert (x.copy_to_host() == 200).all()
print("good")
"""


@pytest.mark.parametrize(("rounds", "threads"), [(15, 0), (20, 2)])
@pytest.mark.sim
def test_device_reset_with_pending_work_is_safe(run_python, rounds, threads):
    """Resets the device during pending work, with live arrays, callbacks and graphs, and while
    other threads use it."""
    assert "good" in run_python(STORM, rounds, threads).stdout


def test_close_frees_arrays_and_streams(run_python):
    """A closed object is invalid, and frees its memory."""
    run_python("""
import numpy as np, pytest
from numbalite import _core, cuda
x, s = cuda.to_device(np.ones(1 << 20)), cuda.stream()
assert cuda.memory_pool().used >= 8 << 20
cuda.close()
assert cuda.memory_pool().used == 0
with pytest.raises(RuntimeError, match="was reset"):
    x.copy_to_host()
with pytest.raises(RuntimeError, match="was reset"):
    s.synchronize()
cuda.close()                                # nothing is open
assert cuda.to_device(np.ones(3)).copy_to_host().tolist() == [1, 1, 1]
""")


def test_addresses_and_handles_are_refused_after_close(run_python):
    """The driver may give the same address or handle to another object."""
    run_python("""
import gc
import numpy as np, pytest
from numbalite import cuda, sparse
array = cuda.to_device(np.arange(6.0).reshape(2, 3))
module = cuda.module("__device__ float g[4]; __global__ void k(float *x) { x[0] = g[0]; }")
arrays = {
    "array": array, "part": array[:, 1:], "transposed": array.T, "bytes": array.view(np.uint8),
    "wrapped": cuda.as_cuda_array(array), "records": cuda.device_array(3, "f4,i4"),
    "global": module.get_global("g"), "sparse": sparse.csr_array(np.eye(3)).data,
    "mapped": cuda.mapped_array((2, 3)), "part of mapped": cuda.mapped_array((2, 3))[1:],
}
context = cuda.current_context()
pointer, stream, event = context.memalloc(64), cuda.stream(), cuda.event()
reads = {"part of memory": pointer.view(8), "memory": pointer}
reads = {f"{name} {read}": lambda at=at, read=read: getattr(at, read)
         for name, at in reads.items() for read in ("address", "device_ctypes_pointer", "device_pointer_value")}
reads |= {f"{name} interface": lambda at=at: at.__cuda_array_interface__ for name, at in arrays.items()}
reads |= {f"{name} pointer": lambda at=at: at.device_ctypes_pointer for name, at in arrays.items()}
reads |= {f"{name} gpu_data": lambda at=at: at.gpu_data.device_ctypes_pointer for name, at in arrays.items()}
reads |= {f"{name} dlpack": lambda at=at: at.__dlpack__() for name, at in arrays.items()
          if "mapped" not in name and name != "records"}  # DLPack: as NumPy's arrays; it has no records
reads |= {"int(memory)": lambda: int(pointer), "stream": lambda: stream.handle, "int(stream)": lambda: int(stream),
          "protocol": lambda: stream.__cuda_stream__(), "event": lambda: event.handle,
          "IPC": lambda: array.get_ipc_handle()}
for name, read in reads.items():
    if name != "IPC":
        read()
gc.collect()
cuda.close()
for name, read in reads.items():
    with pytest.raises(RuntimeError, match="was reset"):
        print(name, read())
""")


def test_reset_raises_while_another_library_holds_the_context(run_python):
    """If another library holds the context, close() frees neither its memory nor numbalite's
    arrays, but frees pooled memory."""
    run_python("""
import numpy as np
from numbalite import _core, cuda
pool = cuda.memory_pool()
pool.cache_limit = 1 << 28
_core.hold_context(True)
x, stream = cuda.to_device(np.ones(1000)), cuda.stream()
called = []
stream.add_callback(lambda *a: called.append(1))
cuda.device_array(1 << 20)
assert pool.cached
used = pool.used
for _ in range(2):
    cuda.close()
    assert pool.cached == 0 and pool.used == used, pool
    stream.synchronize()
    assert x.copy_to_host().sum() == 1000 and called == [1]
_core.hold_context(False)
del x
cuda.close()
assert pool.used == 0
y = cuda.to_device(np.ones(3))
cuda.current_context().reset()
try:
    y.copy_to_host()
except RuntimeError as error:
    assert "was reset" in str(error)
else:
    raise SystemExit("it did not notice")
""")


def test_resetting_an_unused_device_does_nothing(run_python):
    """Closing does not open them."""
    code = """
from numbalite import _core, cuda
import numpy as np
x = cuda.to_device(np.ones(3))
_core.trace(True)
cuda.close()
_core.trace(False)
assert _core.traced().count("cuDevicePrimaryCtxRetain") == 0, _core.traced()
assert _core.traced().count("cuDevicePrimaryCtxRelease") == 1, _core.traced()
"""
    run_python(code, NUMBALITE_SIM_DEVICES="2")


@pytest.mark.sim
def test_device_reset_survives_failing_driver_calls(run_python):
    """close() and reset() with each driver call failing: an error or success, and the device works."""
    run_python("""
import gc
import numpy as np
from numbalite import _core, cuda, errors
for operation in cuda.close, cuda.get_current_device().reset, cuda.current_context().reset:
    for held in False, True:
        for status in 2, 1:
            for step in range(1, 100):
                cuda.synchronize()
                if held:
                    _core.hold_context(True)
                x = cuda.to_device(np.ones(3))
                _core.fail_call_at(step, status)
                try:
                    operation()
                except errors.CudaAPIError:
                    pass
                finally:
                    seen = _core.fail_call_at(0)
                try:
                    assert x.copy_to_host().tolist() == [1, 1, 1]
                except RuntimeError as error:
                    assert "was reset" in str(error)
                del x
                assert cuda.to_device(np.ones(5)).copy_to_host().sum() == 5
                if held:
                    _core.hold_context(False)
                if seen < step:
                    break
            else:
                raise SystemExit("it never got through")
""")
