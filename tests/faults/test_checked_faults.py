"""Checked launches on the simulator when memory is exhausted: every allocation, mapping and thread
creation of such a launch fails once. In each case the launch raises an error for the failed
request, or its usual report; nothing leaks, and the next launch reports correctly."""

import gc
import os

import numpy as np
import pytest

from numbalite import _core, cuda, errors

pytestmark = pytest.mark.sim
SOURCE = """
#include <cooperative_groups.h>
__device__ int total, lock, done;
__global__ void outside(int *x, int n) { x[grid<1>()] = 1; }
__global__ void unwritten(int *x, int n) {
    __shared__ int s[64];
    if (threadIdx.x) s[threadIdx.x] = 1;
    __syncthreads();
    x[grid<1>()] = s[threadIdx.x];
}
__global__ void lockless(int *x, int n) {
    extern __shared__ char bytes[];
    bytes[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] += bytes[threadIdx.x];
}
__global__ void handed_over(int *x, int n) {
    /* sums of blocks, the last of which adds them up, and a lock: clocks */
    x[grid<1>()] = 1;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&total, 1) % gridDim.x == gridDim.x - 1) {
        __threadfence();
        for (int i = 1; i < n; ++i) x[0] += x[i];
    }
    __syncwarp();
    for (int lane = 0; lane < 2; ++lane)
        if (threadIdx.x == lane * 32) {
            while (atomicCAS(&lock, 0, 1)) {}
            __threadfence();
            done += 1;
            __threadfence();
            atomicExch(&lock, 0);
        }
    if (n < 0) x[0] = threadIdx.x;
}
__global__ void crossing(int *x, int n) {
    x[grid<1>()] = 2;
    cooperative_groups::this_grid().sync();
    x[(grid<1>() + 1) % n] += 1;
    x[grid<1>()] += n;
}
__global__ void left(int *x, int n) {
    if (threadIdx.x == 3) return;
    __syncthreads();
    x[threadIdx.x] = 1;
}
__global__ void endless(int *x, int n) { while (n) x[grid<1>()] += 1; }
__global__ void divides(int *x, int n) { x[grid<1>()] = n / (n - 128); }
__global__ void recursive(int *x, int n);
__device__ int deep(int *x, int n) { volatile int part[64]; part[n % 64] = n; return deep(x, n + 1) + part[n % 64]; }
__global__ void recursive(int *x, int n) { x[0] = deep(x, n); }
"""
KINDS = {
    "outside": "memory", "unwritten": "unwritten", "lockless": "race", "handed_over": None, "crossing": "race",
    "left": "sync", "endless": "hang", "divides": "divide", "recursive": "stack",
}  # fmt: skip
BLOCKS = 3
OUT_OF_MEMORY = (MemoryError, errors.KernelError, errors.CudaAPIError, errors.CudaSupportError)


def make_launch(kernel, name, seed, exact=False):
    """Returns a function that launches with checks and returns the kind of the report, or None."""
    x = cuda.to_device(np.zeros(128 if name == "outside" else 64 * BLOCKS, np.int32))
    configured = kernel[BLOCKS, 64, 0, 64]

    def launch_checked():
        try:
            limit = 0.05 if name == "endless" else 60
            with cuda.checks("all", seed=seed, limit=limit, exact=exact, budget=0.01):
                configured(x, 64 * BLOCKS if name != "divides" else 128)
                cuda.synchronize()
        except errors.KernelError as found:
            if found.kind is None:
                raise
            return found.kind
        return None

    return launch_checked


@pytest.fixture(scope="module")
def fault_kernels():
    module = cuda.module(SOURCE)
    made = {name: module[name] for name in KINDS}
    made["crossing"] = cuda.jit(source=SOURCE, name="crossing", cooperative=True)
    return made


def outcome_with_failure(launch, step):
    """Returns the outcome of a launch whose step-th request fails: (the kind or the error, whether a request
    failed)."""
    _core.fail_alloc_at(step)
    try:
        found = launch()
    except OUT_OF_MEMORY as error:
        found = error.with_traceback(None)
        found.__context__ = found.__cause__ = None
    return found, _core.fail_alloc_at(0) >= step


def is_clear(found, kind):
    """The error names the exhausted resource, or the report is the usual one."""
    if isinstance(found, MemoryError) or not isinstance(found, Exception):
        return isinstance(found, MemoryError) or found == kind
    return any(words in str(found) for words in ("memory", "thread"))


def cold_launch():
    """Returns the first launch of a process that has not used the simulator."""
    return make_launch(cuda.module(SOURCE)["lockless"], "lockless", None)


def walk_steps(launch, kind):
    """Runs all steps. Returns their number."""
    assert launch() == kind
    gc.collect()
    before = _core.live()
    for step in range(1, 2000):
        found, met = outcome_with_failure(launch, step)
        assert is_clear(found, kind), (step, found)
        del found
        assert _core.live() == before, step
        if not met:
            return step - 1
    raise AssertionError("this never ends")


@pytest.mark.parametrize("seed, exact", [(None, False), (5, False), (None, True)])
@pytest.mark.parametrize("name", KINDS)
def test_checked_launch_survives_failing_driver_calls(fault_kernels, name, seed, exact):
    launch = make_launch(fault_kernels[name], name, seed, exact)
    assert walk_steps(launch, KINDS[name]) >= 2
    assert launch() == KINDS[name]


COLD = """
import os, sys
sys.path.insert(0, sys.argv[1])
import test_checked_faults as here
import numbalite.runtime.checks, numbalite.kernels.module, numbalite.compilers.cache  # each child would
import numbalite.compilers.hostbuild, numbalite.types.describe, numbalite.ndarray.arrays
from numbalite import _core

step = 0
while not step or met:
    step += 1
    child = os.fork()
    if not child:
        launch = here.cold_launch()
        found, met = here.outcome_with_failure(launch, step)
        again = launch()  # the next one works
        good = again == "race" and here.is_clear(found, "race")
        if not good:
            print(step, repr(found), again, flush=True)
        os._exit(2 * met + (not good))
    status = os.waitpid(child, 0)[1]
    met = os.waitstatus_to_exitcode(status) & 2
    assert os.waitstatus_to_exitcode(status) in (0, 2), (step, status)
print(step)
"""


def test_first_checked_launch_survives_failing_allocations(run_python):
    """Workers, their stacks and threads, the shadow memory and the checked image are created once
    in a process."""
    made = run_python(COLD, os.path.dirname(__file__), timeout=100)
    assert 20 < int(made.stdout) < 300, made.stdout
