"""Tests cuda.checks for barriers and collectives that not all threads reach, endless kernels, orders of
threads and blocks, division by zero, and NaN."""

import random
import re
import time

import numpy as np
import pytest
from kit.lines import line_numbers_of

from numbalite import cuda
from numbalite.compilers import host, hostbuild
from numbalite.errors import KernelError

pytestmark = pytest.mark.skipif(
    not cuda.is_simulated(), reason="only the simulator looks for these"
)

# All kernels are in one unit, because most of the compile time is the same for any number.
# The line of the report must contain the line of the kernel's mark.
SOURCE = r"""
__global__ void early_return(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t >= 50) return;
    s[t] = t;
    __syncthreads(); /* early_return */
    out[t] = s[49 - t];
}
__global__ void all_come(int* out) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 50) s[t] = t;
    __syncthreads();
    if (t < 50) out[t] = s[49 - t];
}
__global__ void absent_lanes(int* out) {
    int t = threadIdx.x, sum = t;
    if (t < 20)
        sum += __shfl_down_sync(0xffffffff, sum, 1); /* absent_lanes */
    out[t] = sum;
}
__global__ void exact_mask(int* out) {
    int t = threadIdx.x, sum = t;
    unsigned mask = __ballot_sync(0xffffffff, t < 20);
    if (t < 20) sum += __shfl_down_sync(mask, sum, 1);
    out[t] = sum;
}
__global__ void half_a_warp(int* out) {
    int t = threadIdx.x;
    out[t] = t;
    __syncwarp();
    out[t] += __any_sync(0xffffffff, t > 3);
}
__global__ void gone_before(int* out, int n) {
    int t = threadIdx.x;
    if (t >= n) return;
    out[t] = t;
    __syncwarp();
}
__global__ void never_meets(int* out) {
    __shared__ int s[32];
    int t = threadIdx.x;
    s[t] = t;
    if (t < 16) __syncwarp();
    __syncwarp(); /* never_meets */
    out[t] = s[31 - t];
}
__global__ void counts_for_ever(int* out) {
    while (atomicAdd(&out[0], 0) == 0) { /* counts_for_ever */
        out[1 + threadIdx.x] += 1; /* counts_for_ever */
    }
}
__global__ void plain_flag(int* out) {
    int t = threadIdx.x;
    if (t == 0) {
        int* volatile p = out;
        while (p[0] == 0) {}
        out[1] = 7;
    } else if (t == 32) {
        out[0] = 1;
    }
}
__global__ void lock_over_a_barrier(int* out) {
    while (atomicCAS(&out[0], 0, 1) != 0) {} /* lock_over_a_barrier */
    __syncthreads(); /* lock_over_a_barrier */
    atomicExch(&out[0], 0);
}
__global__ void order(int* out) {
    int at = atomicAdd(&out[0], 1);
    out[1 + at] = blockIdx.x * blockDim.x + threadIdx.x;
}
__global__ void order_after_a_barrier(int* out) {
    __syncthreads();
    int at = atomicAdd(&out[0], 1);
    out[1 + at] = blockIdx.x * blockDim.x + threadIdx.x;
}
__global__ void divides(int* out, int by) {
    int t = threadIdx.x;
    out[t] = 100 / (t - by); /* divides */
}
__global__ void remainder_of(unsigned* out, unsigned by) {
    unsigned t = threadIdx.x;
    out[t] = 100u % (t - by); /* remainder_of */
}
__global__ void least(int* out, int by) {
    int t = threadIdx.x;
    out[t] = (-2147483647 - 1 + t) / by; /* least */
}
__global__ void halves(float* out, float by) {
    int t = threadIdx.x;
    out[t] = 1.0f / (t - by); /* halves */
}
__global__ void logarithm(float* out, float of) {
    int t = threadIdx.x;
    out[t] = logf(of); /* logarithm */
}
__global__ void passes_on(float* out, float x) {
    int t = threadIdx.x;
    out[t] = x * t + 1;
}
"""
NAMES = re.findall(r"__global__ void (\w+)", SOURCE)


@pytest.fixture(scope="module")
def sync_module():
    return cuda.module(SOURCE, names=NAMES)


def launch_checked(
    module, name, *more, grid=1, block=64, dtype=np.int32, checks=("all",), **options
):
    out = cuda.to_device(np.zeros(1024, dtype))
    options.setdefault("limit", 20)
    with cuda.checks(*checks, **options):
        module[name][grid, block](out, *more)
        cuda.synchronize()
    return out.copy_to_host()


def assert_sync_report(module, name, *words, more=(), **options):
    with pytest.raises(KernelError) as caught:
        launch_checked(module, name, *more, **options)
    text = str(caught.value)
    marks = line_numbers_of(f"/* {name} */", __file__)
    lines = {int(n) for found in re.findall(r"line (\d+)|:(\d+)", text) for n in found if n}
    assert not marks or lines & set(marks), text
    for word in words:
        assert re.search(word, text), (word, text)
    assert "block (0,0,0)" in text
    return text


def test_barrier_after_early_return_is_reported(sync_module):
    assert_sync_report(sync_module, "early_return", "__syncthreads", r"threads 50-63 never came")
    assert launch_checked(sync_module, "all_come")[:50].tolist() == list(range(49, -1, -1))
    # Not looked for unless asked: GPUs let it pass.
    assert launch_checked(sync_module, "early_return", checks=("memory",))[:50].tolist() == list(
        range(49, -1, -1)
    )


def test_mask_with_ended_lanes_is_reported(sync_module):
    assert_sync_report(
        sync_module,
        "absent_lanes",
        "__shfl_down_sync with mask 0xffffffff",
        "threads 20-31",
        block=32,
    )
    launch_checked(sync_module, "exact_mask", block=32)
    assert_sync_report(
        sync_module, "never_meets", "__syncwarp with mask 0xffffffff", "threads 16-31", block=32
    )


@pytest.mark.parametrize("call", ["arrive()", "arrive_and_wait()", "arrive_and_drop()"])
@pytest.mark.parametrize(
    "init, report",
    [
        (
            "if (threadIdx.x == 0) init(&b, blockDim.x);",
            r"thread \(0,0,0\) writes it .*line 4, .*__syncthreads",
        ),
        ("", "updates b, which nothing has written"),
    ],
    ids=["too_early", "never"],
)
def test_unfinished_barriers_are_reported_with_their_line(call, init, report):
    """Threads that wait for another thread may wait forever, depending on earlier contents of the
    memory."""
    kernel = cuda.jit(
        source=f"""#include <cuda/barrier>
        __global__ void k(int *x) {{
            __shared__ cuda::barrier<cuda::thread_scope_block> b;
            {init}
            b.{call};
        }}"""
    )
    with pytest.raises(KernelError, match=report) as caught:
        with cuda.checks(limit=2):
            kernel[1, 64](np.zeros(1, np.int32))
    assert caught.value.line == 5


@pytest.mark.parametrize(
    "call",
    ["shfl_up_sync({}, 1, 2)", "shfl_down_sync({}, 1, 2)", "shfl_xor_sync({}, 1, 2)", "shfl_sync({}, 1, 2)",
     "ballot_sync({}, 1)", "any_sync({}, 1)", "all_sync({}, 1)"],
)  # fmt: skip
def test_reports_name_the_collective_operation(call):
    source = (
        f"__global__ void k(int *x) {{ if (threadIdx.x < 8) x[0] = __{call.format('0xffff')}; }}"
    )
    with pytest.raises(KernelError, match=rf"calls __{call.partition('(')[0]} with mask"):
        with cuda.checks("sync"):
            cuda.jit(source=source)[1, 32](np.zeros(1, np.int32))


@pytest.mark.skipif(
    hostbuild.identify_compiler(host.find_compiler()).family == "gcc", reason="g++ tells no columns"
)
def test_two_barriers_on_one_line_are_distinguished():
    kernel = cuda.jit(
        source="""
#define BARRIER() __syncthreads()
__global__ void both(int *x, int n) {
    for (int i = 0; i < 2; ++i) { __syncthreads(); BARRIER(); BARRIER(); }
    if (threadIdx.x < n) { __syncthreads(); x[0] = 1; } else __syncthreads();
}"""
    )
    x = np.zeros(1, np.int32)
    kernel[1, 64](x, 0)
    kernel[1, 64](x, 64)
    with pytest.raises(KernelError, match="different barriers") as caught:
        kernel[1, 64](x, 16)
    assert re.search(
        r"threads 0-15 at \S+:(\d+):28 in __syncthreads; threads 16-63 at \S+:\1:62 in __sync",
        str(caught.value),
    )


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_masks_with_nonexistent_lanes_are_accepted(sync_module, seed):
    assert launch_checked(sync_module, "half_a_warp", block=16, seed=seed)[:16].tolist() == list(
        range(1, 17)
    )
    assert launch_checked(sync_module, "gone_before", 20, block=32, seed=seed)[
        :20
    ].tolist() == list(range(20))


@pytest.mark.parametrize("checks", ["all", "hang"])
def test_endless_kernel_is_reported(sync_module, checks):
    started = time.monotonic()
    with pytest.raises(KernelError) as caught:
        launch_checked(sync_module, "counts_for_ever", checks=(checks,), limit=0.5)
    assert time.monotonic() - started < 60
    assert "not done after 0.5 s, the limit" in str(caught.value)
    if checks == "all":
        assert "threads 0-63" in str(caught.value) or "running at" in str(caught.value)
    assert (launch_checked(sync_module, "order", checks=("none",))[0]) == 64  # the device goes on


def test_the_last_access_of_an_endless_kernel_is_reported():
    kernel = cuda.jit(
        source="""__global__ void waits(int *flag, int *x) {
            while (flag[2] == 0) {} // here
            x[0] = 1;
        }"""
    )
    flag = cuda.to_device(np.zeros(3, np.int32))
    with pytest.raises(KernelError) as caught, cuda.checks(limit=0.3):
        kernel[1, 32](flag, flag)
        cuda.synchronize()
    assert "running at" in str(caught.value) and "after an access of flag[2]" in str(caught.value)
    assert caught.value.line in line_numbers_of("// here\n", __file__)


@pytest.mark.usefixtures("disabled_checks")
def test_environment_variable_limits_every_kernel(sync_module):
    from numbalite import config
    from numbalite.runtime import checks

    config.SIM_LIMIT = 0.5
    try:
        checks.on_open()
        out = cuda.to_device(np.zeros(1024, np.int32))
        sync_module["counts_for_ever"][2, 64](out)
        with pytest.raises(KernelError, match="after 0.5 s, the limit"):
            cuda.synchronize()
    finally:
        del config.SIM_LIMIT
        checks.on_open()
    assert launch_checked(sync_module, "order", checks=("none",))[0] == 64


def test_spinning_on_plain_memory_makes_progress(sync_module):
    assert launch_checked(sync_module, "plain_flag", checks=("hang", "memory"))[:2].tolist() == [
        1,
        7,
    ]


def test_lock_held_at_a_barrier_is_reported(sync_module):
    assert_sync_report(
        sync_module, "lock_over_a_barrier", "not done", "threads? .*ing at", limit=0.5
    )


def block_order(module, name, seed, checks=("sync",)):
    out = launch_checked(module, name, grid=4, block=64, seed=seed, checks=checks)
    return out[1:257].tolist()


@pytest.mark.parametrize("name", ["order", "order_after_a_barrier"])
def test_schedule_seed_reproduces_the_order(sync_module, name):
    first, second = (block_order(sync_module, name, seed) for seed in (1, 2))
    for found in (first, second):
        assert sorted(found) == list(range(256)) and found != list(range(256))
    assert first != second
    assert (
        block_order(sync_module, name, 1) == first and block_order(sync_module, name, 2) == second
    )
    blocks = [i // 64 for i in first]
    assert blocks != sorted(blocks)
    assert block_order(sync_module, name, 1, ("none",)) == first  # an order is no check
    instrumented = block_order(sync_module, name, 1, ("all",))
    assert sorted(instrumented) == list(range(256))
    assert instrumented == block_order(sync_module, name, 1, ("all",))


def test_report_names_the_schedule_seed(sync_module):
    assert "seed=23" in assert_sync_report(sync_module, "early_return", seed=23)
    assert "seed=24" in assert_sync_report(sync_module, "lock_over_a_barrier", seed=24, limit=0.5)
    assert "seed" not in assert_sync_report(sync_module, "early_return")


def test_integer_division_by_zero_is_reported(sync_module):
    assert_sync_report(
        sync_module, "divides", "divides the integer 100 by zero", "thread \\(5,0,0\\)", more=(5,)
    )
    assert_sync_report(sync_module, "remainder_of", "by zero", more=(7,), dtype=np.uint32)
    assert_sync_report(sync_module, "least", "by -1, which overflows", more=(-1,))
    assert launch_checked(sync_module, "divides", 200)[0] == 0
    assert launch_checked(sync_module, "least", 2)[0] == -(1 << 30)
    # the result on a GPU; the check is not enabled by default
    assert launch_checked(sync_module, "divides", 5, checks=("memory",))[5] == -1


def test_floor_division_by_zero_is_reported():
    @cuda.jit
    def floor_divide(x, y):
        x[0] = x[0] // y[0]

    with pytest.raises(KernelError, match="divides the integer 7 by zero$"), cuda.checks():
        floor_divide[1, 1](np.full(1, 7), np.zeros(1, int))


def test_creation_of_nan_and_infinity_is_reported(sync_module):
    nan = {"checks": ("nan",), "dtype": np.float32}
    zero = r"makes infinity of (finite numbers: 1 / 0|a finite number, which it divides by zero)"
    assert_sync_report(sync_module, "halves", zero, more=(3.0,), **nan)
    assert_sync_report(
        sync_module, "logarithm", r"makes NaN of (a finite number|numbers \()", more=(-1.0,), **nan
    )
    launch_checked(sync_module, "halves", 0.5, **nan)
    launch_checked(sync_module, "logarithm", 2.0, **nan)
    assert np.isnan(launch_checked(sync_module, "passes_on", np.nan, **nan)[:64]).all()
    assert np.isinf(
        launch_checked(sync_module, "halves", 3.0, checks=("all",), dtype=np.float32)[3]
    )


SHIFT = """
__global__ void k(const {type} *x, {type} *out) {{
    __shared__ {type} s[32];
    int t = threadIdx.x;
    out[t] = s[t] = 0;
    __syncthreads();
    if (t < {lanes}) {{
        {type} got = __shfl_down_sync({mask}u, x[t], 2);
        {use}
    }}
    __syncthreads();
    out[t] += s[t];
}}"""


def _check_shift(use, type="int", lanes=16):
    kernel = cuda.jit(
        source=SHIFT.format(type=type, lanes=lanes, mask=hex((1 << lanes) - 1), use=use)
    )
    x = (np.arange(32) + 3).astype({"int": "i4", "float": "f4", "double": "f8"}[type])
    out = np.zeros_like(x)
    with cuda.checks():
        kernel[1, 32](x, out)
    return out


@pytest.mark.parametrize("type", ["int", "float", "double"])
@pytest.mark.parametrize("use", ["out[t] = got;", "s[t] = got;", "out[31 - t] = got;"])
def test_values_of_lanes_outside_of_the_mask_are_stored(use, type):
    match = (
        r"thread \(14,0,0\) calls __shfl_down_sync with mask 0x0000ffff and stores the value of "
        r"lane 16, which the mask does not name"
    )
    with pytest.raises(KernelError, match=match) as caught:
        _check_shift(use, type)
    assert caught.value.line == 8


@pytest.mark.parametrize("type", ["int", "float", "double"])
def test_shuffle_up_from_a_lane_outside_of_the_mask_is_reported_if_used(type):
    lowest, distance = random.randrange(2, 28), random.randrange(1, 8)
    mask, source = (1 << 32) - (1 << lowest), lowest - distance
    kernel = cuda.jit(
        source=f"""
__global__ void k(const {type} *x, {type} *all, {type} *some) {{
    int t = threadIdx.x;
    if (t >= {lowest}) {{
        {type} got = __shfl_up_sync({mask:#x}u, x[t], {distance});
        some[t] = t < {lowest + distance} ? 0 : got;
        if (all) all[t] = got;
    }}
}}"""
    )
    x = np.arange(3, 35).astype({"int": "i4", "float": "f4", "double": "f8"}[type])
    everything, some = np.zeros_like(x), np.zeros_like(x)
    with cuda.checks():
        kernel[1, 32](x, None, some)
    assert some.tolist() == [0] * (lowest + distance) + x[lowest : 32 - distance].tolist()
    if source < 0:
        return
    match = rf"calls __shfl_up_sync with mask {mask:#x} and stores the value of lane \d+"
    with pytest.raises(KernelError, match=match) as caught, cuda.checks():
        kernel[1, 32](x, everything, some)
    assert caught.value.line == 5 and lowest <= caught.value.thread[0] < lowest + distance


@pytest.mark.parametrize("type", ["int", "float", "double"])
@pytest.mark.parametrize(
    "use",
    [
        "out[t] = t < 14 ? got : 5;",
        "if (t >= 14) got = x[t + 2]; out[t] = got;",
        "if (t < 14) s[t] = got;",
        "{type} sum = x[t] + got; if (t == 0) out[0] = sum;",
        "out[t] = x[t] + 0 * (int)(t < 14 ? got : 0);",
    ],
)
def test_values_of_lanes_outside_of_the_mask_are_not_used(use, type):
    _check_shift(use.replace("{type}", type), type)
    assert _check_shift("out[t] = got;", type, 32)[:30].tolist() == list(range(5, 35))
