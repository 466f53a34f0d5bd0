"""Runs a correct program under compute-sanitizer: no driver call fails, and no device memory is
leaked at exit."""

import re

import pytest
from kit.needs import compute_sanitizer

PROGRAM = """
import sys, threading, warnings
import numpy as np
from numbalite import _core, cuda, guvectorize, vectorize
warnings.simplefilter("ignore")
cuda.memory_pool().cache_limit = 1 << 28
_core.report_at_exit()
_core.trace(True)

@cuda.jit
def twice(x, y):
    "int i = grid<1>(); if (i < y.size()) y[i] = 2 * x[i];"

@vectorize(["float32(float32, float32)"], target="cuda")
def plus(x, y):
    "x + y"

@guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->(n)", target="cuda")
def gplus(x, y, z):
    "for (int i = 0; i < z.size(); ++i) z[i] = x[i] + y[i];"

total = cuda.reduce("a + b")
module = cuda.module('''
    __constant__ float c[4];
    __global__ void k(float a, const float* x, float* y) { y[0] = a * x[0] + c[0]; }
''')
host = np.ones(1000, "f4")
d, e = cuda.to_device(host), cuda.device_array(1000, "f4")
stream, free = cuda.stream(), cuda.stream(non_blocking=True)
for where in 0, stream, free:
    twice[8, 128, where](d, e)
twice[8, 128](host, np.zeros(1000, "f4"))
twice.forall(1000)(d, e)
module.k[1, 1](2.0, d, e)
module.get_global("c")[:] = 1
plus(d, e), plus(host, 1), gplus(d, e), gplus(host, host), total(e), total(host)
e[::2] = d[::2]
e[3] = 4
e.astype("f8"), e.copy(), d.reshape(10, 100)[:, 3].copy_to_host()
cuda.to_device(np.ones(1 << 20)).copy_to_host()
e.copy_to_host(cuda.pinned_array(1000, "f4"), stream=stream)
event = cuda.event()
event.record()
event.query(), stream.query(), event.synchronize()
mapped, managed = cuda.mapped_array(100), cuda.managed_array(100)
with stream.capture() as graph:
    twice[8, 128, stream](d, e)
graph.launch(stream)
stream.add_callback(lambda *a: None, None)
shared = cuda.ipc_array(100)
other = cuda.as_cuda_array(d)
raw = None if cuda.is_simulated() else np.from_dlpack(d, device="cpu") if np.__version__ >= "2.1" else None
exported = d.__dlpack__()
lent = np.from_dlpack(d) if cuda.is_simulated() else None
cuda.synchronize()
assert _core.failed() == [], _core.failed()

# what is alive at the end, in the ways in which things stay alive
class SelfReferencingObject: pass
keeps = SelfReferencingObject()
keeps.me, keeps.array = keeps, cuda.to_device(host)
keeps.view = keeps.array[2:]
sys.kept = cuda.to_device(host)
local = threading.local()
local.array = cuda.to_device(host)
twice[8, 128, free](d, e)
temporary = cuda.device_array(1000, "f4")
twice[8, 128, free](d, temporary)
del temporary
"""


def test_everyday_program_passes_and_leaks_nothing(run_python):
    report = run_python(PROGRAM).stderr
    found = re.fullmatch(
        r"at exit: (\d+) buffers, \d+ blocks kept, (\d+) locked, (\d+) bytes of the pool used\n",
        report,
    )
    assert found and found.groups() == ("0", "0", "0"), report


@pytest.mark.gpu
@pytest.mark.skipif(
    compute_sanitizer() is None,
    reason="no compute-sanitizer: it is part of the CUDA toolkit, not of pip's packages",
)
def test_compute_sanitizer_finds_nothing(run_python):
    # Disables backtraces, because the tool would keep Python's frames
    # and their objects alive beyond the end.
    options = ["--leak-check", "full", "--show-backtrace", "no"]
    report = run_python(PROGRAM, under=[compute_sanitizer(), *options]).stdout
    assert "LEAK SUMMARY: 0 bytes leaked in 0 allocations" in report, report
    assert "ERROR SUMMARY: 0 errors" in report, report
