"""Tests cuda.checks("race", exact=True) with kernels that are ordered by atomics: the launch is repeated
with other schedules."""

import functools
import re

import numpy as np
import pytest

from numbalite import config, cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.sim
BUDGET = 60.0  # seconds: these kernels have few schedules
KERNELS = r"""
#include <cuda/atomic>
__global__ void waits_for_the_flag(int* x, int* out) {
    if (threadIdx.x == 0) {
        x[0] = 5;
        __threadfence();
        atomicExch(&x[1], 1);
    }
    if (threadIdx.x == 32 && atomicAdd(&x[1], 0) == 1) {
        __threadfence();
        out[0] = x[0];
    }
}
__global__ void ignores_the_flag(int* x, int* out) {
    if (threadIdx.x == 0) {
        x[0] = 5;
        __threadfence();
        atomicExch(&x[1], 1);
    }
    if (threadIdx.x == 32) {
        out[1] = atomicAdd(&x[1], 0);
        __threadfence();
        out[0] = x[0];
    }
}
__global__ void ignores_the_flag_of_a_block(int* x, int* out) {
    if (blockIdx.x == 1) {
        x[0] = 5;
        __threadfence();
        atomicExch(&x[1], 1);
    }
    if (blockIdx.x == 3) {
        out[1] = atomicAdd(&x[1], 0);
        __threadfence();
        out[0] = x[0];
    }
}
__global__ void last_block_by_order(int* x, int* out) {
    /* right only if block 2 is the last to come */
    out[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    out[4 + blockIdx.x] = atomicAdd(&x[9], 1);
    __threadfence();
    if (blockIdx.x == 2) out[3] = out[0] + out[1];
}
__global__ void last_block(int* x, int* out) {
    out[blockIdx.x] = x[blockIdx.x];
    __threadfence();
    if (atomicAdd(&x[9], 1) == x[10] + gridDim.x - 1) {
        __threadfence();
        out[3] = out[0] + out[1];
    }
}
__global__ void lock(int* x, int* out) {
    if (threadIdx.x % 32) return;
    while (atomicCAS(&x[9], 0, 1)) {}
    __threadfence();
    out[0] += 1;
    __threadfence();
    atomicExch(&x[9], 0);
}
__global__ void two_steps(int* x, int* out) {
    /* thread 64 must come between the two steps of thread 0, and thread 96 after it: two switches */
    cuda::atomic_ref<int> a(x[20]), b(x[21]);
    if (threadIdx.x == 0) {
        a.store(1, cuda::memory_order_relaxed);
        a.store(2, cuda::memory_order_relaxed);
    }
    if (threadIdx.x == 64 && a.load(cuda::memory_order_relaxed) == 1)
        b.store(1, cuda::memory_order_relaxed);
    if (threadIdx.x == 32) {
        out[0] = 1;
        if (b.load(cuda::memory_order_relaxed) == 1) out[1] = 1;
    }
    if (threadIdx.x == 96) out[1] = 2;
}
__global__ void lock_tested_and_set_separately(int* x, int* out) {
    for (int k = 0; k < 20; ++k) {
        while (atomicAdd(&x[9], 0) != 0) {}
        atomicExch(&x[9], 1);
        __threadfence();
        out[0] += 5;
        __threadfence();
        atomicExch(&x[9], 0);
    }
}
__global__ void counts(int* x, int* out) {
    out[threadIdx.x] = atomicAdd(&x[9], 1);
    if (threadIdx.x == 0) printf("printed once\n");
}
__global__ void fails_in_another_order(int* x, int* out) {
    if (threadIdx.x == 0) atomicExch(&x[9], 1);
    if (threadIdx.x == 32 && atomicAdd(&x[9], 0) == 0) __trap();
}
"""
SHAPES = {
    "ignores_the_flag_of_a_block": (4, 1),
    "last_block_by_order": (3, 1),
    "last_block": (3, 1),
}
SHAPES.update({"two_steps": (1, 128), "counts": (1, 4), "lock_tested_and_set_separately": (3, 1)})
RACES_LATER = [
    "ignores_the_flag",
    "ignores_the_flag_of_a_block",
    "last_block_by_order",
    "two_steps",
]


@functools.cache
def schedule_module():
    return cuda.module(KERNELS, opt=1)


def launch_checked(name, budget=BUDGET):
    """Returns the checks, the KernelError, and x and out after the launch."""
    x, out = (cuda.to_device(np.zeros(64, np.int32)) for _ in range(2))
    checks, error = cuda.checks("race", exact=True, budget=budget), None
    try:
        with checks:
            schedule_module()[name][SHAPES.get(name, (1, 64))](x, out)
    except KernelError as problem:
        error = problem
    return checks, error, x.copy_to_host(), out.copy_to_host()


@pytest.mark.parametrize("name", RACES_LATER)
def test_a_race_in_another_schedule_is_found_and_replayed(name, monkeypatch):
    checks, error, *_ = launch_checked(name, budget=0)
    assert error is None and checks.verdict.kind == "depends on atomics"
    assert checks.verdict.schedules == 1
    checks, error, *_ = launch_checked(name)
    assert checks.verdict.kind == "races" and error.kind == "race", checks.verdict
    assert re.fullmatch(rf"{name}@\d+:\d+\.\d+(,\d+:\d+\.\d+)*", error.schedule)
    assert f"NUMBALITE_SIM_SCHEDULE={error.schedule} gives this order again" in str(error)
    monkeypatch.setattr(config, "SIM_SCHEDULE", error.schedule)
    for _ in range(2):
        again, replayed, *_ = launch_checked(name, budget=0)
        assert again.verdict.kind == "races" and again.verdict.schedules == 1
        assert (replayed.line, replayed.other_line) == (error.line, error.other_line)
    monkeypatch.setattr(config, "SIM_SCHEDULE", f"another{error.schedule}")
    assert launch_checked(name, budget=0)[1] is None


@pytest.mark.parametrize("name", ["waits_for_the_flag", "last_block", "counts"])
def test_correct_kernels_run_in_several_schedules(name):
    checks, error, *_ = launch_checked(name)
    assert error is None and checks.verdict.kind == "depends on atomics", error
    assert checks.verdict.schedules > 1
    assert str(checks.verdict) == f"depends on atomics: {checks.verdict.schedules} schedules tried"
    again = launch_checked(name)[0]
    assert again.verdict == checks.verdict


def test_schedule_search_ends_with_its_budget():
    """A launch in which a thread waits for a lock has too many schedules to run all of them."""
    checks, error, _, out = launch_checked("lock", budget=2.0)
    assert error is None and checks.verdict.kind == "depends on atomics", error
    assert checks.verdict.schedules > 1 and out[0] == 2


def test_schedule_search_keeps_results_of_the_first_run(capfd):
    checks, error, x, out = launch_checked("counts")
    assert error is None and checks.verdict.schedules > 1
    assert x[9] == 4 and list(out[:4]) == [0, 1, 2, 3]
    assert capfd.readouterr().out.count("printed once") == 1
    *_, out = launch_checked("last_block")
    assert list(out[:4]) == [0, 0, 0, 0]


def test_a_failure_in_another_schedule_is_reported_with_it():
    checks, error, *_ = launch_checked("fails_in_another_order")
    assert checks.verdict.kind == "undecided"
    assert error.schedule.startswith("fails_in_another_order@")


def test_a_race_of_two_switches_is_found_soon():
    """The search finds the race although each iteration of the kernel's loop adds schedules with one switch.
    Two searches try the same schedules."""
    found = [launch_checked("lock_tested_and_set_separately") for _ in range(2)]
    assert all(checks.verdict.kind == "races" for checks, *_ in found)
    tried = {(checks.verdict.schedules, error.schedule) for checks, error, *_ in found}
    assert len(tried) == 1 and 1 < tried.pop()[0] <= 30


def test_invalid_schedule_options_raise(monkeypatch):
    for text in ("5:0.3", "k@", "k@5", "k@5:0.3,", "k@5:0"):
        with pytest.raises(ValueError, match="schedule"):
            monkeypatch.setattr(config, "SIM_SCHEDULE", text)
    with pytest.raises(ValueError, match="budget"):
        cuda.checks("race", exact=True, budget=-1)
