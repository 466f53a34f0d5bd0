"""Tests cuda.checks("race"), which reports unsynchronized accesses of two threads, at least one of
which writes.

Each kernel has a wrong version, with parts of the expected report, and a right version.
"""

import functools
import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = pytest.mark.skipif(
    not cuda.is_simulated(), reason="only the simulator looks for races"
)
_sources = {}  # dict from the text of a source to the number of its namespace


def replace_placeholders(source, *places):
    """Returns one source for each dict, in which the names in capitals are replaced by the values of the
    dict.

    When the first kernel runs, all sources that this function has returned until then are compiled as one
    unit.
    """
    found = []
    for words in places or [{}]:
        text = source
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        _sources.setdefault(text, len(_sources))
        found.append(text)
    return found if places else found[0]


@functools.cache
def race_module():
    lines = ['#include "numbalite/groups.cuh"', "#include <cuda/atomic>"]
    for text, number in _sources.items():
        lines.append(f"namespace v{number} {{\n{text}\n}}")
    return cuda.module("\n".join(lines), names=[f"v{n}::k" for n in _sources.values()])


def run_without_report(
    source, grid=1, block=64, size=4096, dtype=np.int32, seed=None, cooperative=False
):
    """Launches k(data, out), both with `size` elements; returns `out`, or raises."""
    kernel = race_module()[f"v{_sources[source]}::k"]
    data = cuda.to_device(np.arange(size).astype(dtype))
    out = cuda.to_device(np.zeros(size, dtype))
    with cuda.checks("race", seed=seed, limit=60):
        kernel[grid, block](data, out)
        cuda.synchronize()
    return out.copy_to_host()


def race_report_of(source, *words, **options):
    """Returns the report of a kernel that has a race."""
    with pytest.raises(KernelError) as caught:
        run_without_report(source, **options)
    text = str(caught.value)
    for word in words:
        assert re.search(word, text), (word, text)
    return text


# Kernels for blocks of 64 threads; BETWEEN is replaced by the synchronization between the steps.
IN_SHARED = {
    "neighbour": """__global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = data[t];
        BETWEEN
        out[t] = s[63 - t];
    }""",
    "reduction": """__global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = data[t];
        __syncthreads();
        for (int n = 32; n > 0; n /= 2) {
            if (t < n) s[t] += s[t + n];
            BETWEEN
        }
        if (t == 0) out[0] = s[0];
    }""",
    "scan": """__global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        int t = threadIdx.x;
        s[t] = data[t];
        __syncthreads();
        for (int n = 1; n < 64; n *= 2) {
            int left = t >= n ? s[t - n] : 0;
            BETWEEN
            s[t] += left;
            __syncthreads();
        }
        out[t] = s[t];
    }""",
    "tile": """__global__ void k(const int* data, int* out) {
        __shared__ int tile[64];
        int t = threadIdx.x, sum = 0;
        for (int i = 0; i < 4; ++i) {
            tile[t] = data[64 * i + t];
            __syncthreads();
            for (int j = 0; j < 64; ++j) sum += tile[j];
            BETWEEN
        }
        out[t] = sum;
    }""",
    "dynamic": """__global__ void k(const int* data, int* out) {
        __shared__ float s[8][9];
        int x = threadIdx.x % 8, y = threadIdx.x / 8;
        s[y][x] = data[threadIdx.x];
        BETWEEN
        out[threadIdx.x] = s[x][y];
    }""",
    "first": """__global__ void k(const int* data, int* out) {
        __shared__ int mean;
        if (threadIdx.x == 0) mean = data[5];
        BETWEEN
        out[threadIdx.x] = data[threadIdx.x] - mean;
    }""",
}


IN_SHARED = {
    name: replace_placeholders(source, {"BETWEEN": ""}, {"BETWEEN": "__syncthreads();"})
    for name, source in IN_SHARED.items()
}


@pytest.mark.parametrize("name", IN_SHARED)
def test_shared_memory_race_without_a_barrier_is_reported(name):
    bad, good = IN_SHARED[name]
    text = race_report_of(bad, r"\bthread \(", r"(s|tile|mean)\b")
    assert "writes" in text
    run_without_report(good)
    run_without_report(good, seed=3, grid=3)


# Cases: body of the kernel, blocks, threads, and text of the report.
REMEDIES = {
    "a histogram": ("out[data[i] % 3] += 1;", 1, 64, "needs an atomic .*if they take turns"),
    "of a warp": ("out[data[i] % 3] += 1;", 1, 32, "needs an atomic"),
    "of blocks": ("out[data[i] % 3] += 1;", 8, 1, "nothing that orders the blocks: .*an atomic"),
    "a maximum": ("if (data[i] > out[0]) out[0] = data[i];", 1, 64, "needs an atomic"),
    "fields": ("out[0] += i; out[1] -= i; out[2] += 2 * i;", 1, 64, "needs an atomic"),
    "a reduction": (
        "for (int w = n / 2; w; w /= 2) if (t < w) data[t] += data[t + w];",
        1,
        128,
        r"no barrier between: __syncthreads\(\)",
    ),
    "of one warp": (
        "for (int w = n / 2; w; w /= 2) if (t < w) data[t] += data[t + w];",
        1,
        32,
        r"no __syncwarp\(\) between",
    ),
    "a counter": (
        "atomicAdd(out, 1); data[t] = out[0];",
        1,
        64,
        r"no barrier between: __syncthreads\(\)",
    ),
    "of the only warp": ("atomicAdd(out, 1); data[t] = out[0];", 1, 32, r"no __syncwarp\(\)"),
    "neighbours": (
        "int s = 0; for (int d = 0; d < 3; d++) s += data[t + d]; data[t + 1] = s;",
        1,
        64,
        r"no barrier between: __syncthreads\(\)",
    ),
    "read, then written after a shuffle": (
        "__shared__ int s[2]; int v = data[i]; if (t % 32 == 0) s[t / 32] = v; __syncthreads();"
        "int first = s[0] + s[1]; v = __shfl_xor_sync(~0u, v + first, 1);"
        "if (t % 32 == 0) s[t / 32] = v; __syncthreads(); out[i] = s[0];",
        1,
        64,
        r"no barrier between: __syncthreads\(\)",
    ),
    "another block's": (
        "out[i] = i; data[i] = out[(i + n) % 256];",
        4,
        64,
        "orders the blocks$| \\(",
    ),
}
REMEDIES = {
    name: (
        replace_placeholders(
            f"""__global__ void k(int* data, int* out) {{
            int t = threadIdx.x, n = blockDim.x, i = blockIdx.x * n + t;
            {body}
        }}"""
        ),
        *rest,
    )
    for name, (body, *rest) in REMEDIES.items()
}


@pytest.mark.parametrize("name", REMEDIES)
def test_race_report_suggests_the_fitting_remedy(name):
    source, grid, block, words = REMEDIES[name]
    text = race_report_of(source, words, grid=grid, block=block)
    assert ("needs an atomic" in text) == ("an atomic" in words)


BOTH_SIDES = replace_placeholders(
    """__global__ void k(const int* data, int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = 7 * threadIdx.x;

    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}"""
)


def test_both_accesses_are_reported():
    text = race_report_of(BOTH_SIDES)
    first = re.search(r"line (\d+)\): block", text)
    other = re.search(r"at .*, line (\d+), with no", text)
    assert abs(int(first[1]) - int(other[1])) == 2, text
    assert "tile[" in text and "::k (" in text and "block (0,0,0)" in text


LAST_WARP = """__global__ void k(const int* data, int* out) {
    __shared__ int s[64];
    KIND int* v = s;
    int t = threadIdx.x;
    v[t] = data[t];
    __syncthreads();
    if (t < 32) {
        int x = v[t] + v[t + 32]; BETWEEN v[t] = x; BETWEEN
        for (int n = 16; n > 0; n /= 2) {
            if (t < n) x += v[t + n];
            BETWEEN
            if (t < n) v[t] = x;
            BETWEEN
        }
        if (t == 0) out[0] = x;
    }
}"""


LAST_WARP = {
    kind: replace_placeholders(
        LAST_WARP, {"KIND": kind, "BETWEEN": ""}, {"KIND": kind, "BETWEEN": "__syncwarp();"}
    )
    for kind in ("", "volatile")
}


@pytest.mark.parametrize("kind", LAST_WARP)
def test_races_within_a_warp_are_reported(kind):
    bad, good = LAST_WARP[kind]
    race_report_of(bad, r"\[")
    out = run_without_report(good)
    assert out[0] == sum(range(64))


PART_OF_A_WARP = replace_placeholders(
    """__global__ void k(const int* data, int* out) {
        __shared__ int s[32];
        int t = threadIdx.x;
        s[t] = data[t];
        if (t < 16) __syncwarp(0xffff);
        out[t] = s[FROM];
    }""",
    {"FROM": "t ^ 16"},
    {"FROM": "t ^ 1"},
    {"FROM": "t < 16 ? t ^ 1 : t"},
)


def test_partial_syncwarp_orders_only_its_lanes():
    across, upper, lower = PART_OF_A_WARP
    race_report_of(across, "s\\[", block=32)
    race_report_of(upper, "s\\[", block=32)
    run_without_report(lower, block=32)


GLOBAL = {
    "histogram": (
        """__global__ void k(const int* data, int* out) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            out[data[i] % 7] += 1;
        }""",
        """__global__ void k(const int* data, int* out) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            atomicAdd(&out[data[i] % 7], 1);
        }""",
    ),
    "stencil in place": (
        """__global__ void k(int* data, int* out) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            data[i] = data[i] + data[i + 1];
        }""",
        """__global__ void k(const int* data, int* out) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            out[i] = data[i] + data[i + 1];
        }""",
    ),
    "one result for all": (
        """__global__ void k(const int* data, int* out) {
            out[0] = blockIdx.x * blockDim.x + threadIdx.x;
        }""",
        """__global__ void k(const int* data, int* out) {
            atomicMax(&out[0], blockIdx.x * blockDim.x + threadIdx.x);
        }""",
    ),
    "a plain read of what others add to": (
        """__global__ void k(const int* data, int* out) {
            atomicAdd(&out[0], 1);
            out[1 + blockIdx.x * blockDim.x + threadIdx.x] = out[0];
        }""",
        """__global__ void k(const int* data, int* out) {
            out[1 + blockIdx.x * blockDim.x + threadIdx.x] = atomicAdd(&out[0], 1);
        }""",
    ),
}


for both in GLOBAL.values():
    for source in both:
        replace_placeholders(source)


@pytest.mark.parametrize("name", GLOBAL)
@pytest.mark.parametrize("seed", [None, 1])
def test_races_in_global_memory_are_reported(name, seed):
    bad, good = GLOBAL[name]
    race_report_of(bad, r"(out|data)\[\d+\]", grid=3, seed=seed)
    run_without_report(good, grid=3, seed=seed)


BLOCKS = replace_placeholders(
    """__global__ void k(const int* data, int* out) {
        if (threadIdx.x == 0) out[blockIdx.x] = data[blockIdx.x];
        __syncthreads();
        out[64 + blockIdx.x * blockDim.x + threadIdx.x] = out[BLOCK];
    }""",
    {"BLOCK": "(blockIdx.x + 1) % gridDim.x"},
    {"BLOCK": "blockIdx.x"},
)


def test_races_between_independent_blocks_are_reported():
    bad, good = BLOCKS
    text = race_report_of(bad, "block \\(", grid=2)
    assert "block (0,0,0)" in text and "block (1,0,0)" in text
    run_without_report(good, grid=2)


# Atomics with block scope, in the notation of each interface.
NARROW = {
    name: replace_placeholders(
        """__global__ void k(int* data, int* out) {
            int* at = &out[0];
            int old = 0;
            STATEMENT
        }""".replace("STATEMENT", statement),
        {"WHOM": narrow},
        {"WHOM": wide},
    )
    for name, statement, narrow, wide in (
        ("add", "cuda::atomic_ref<int, cuda::thread_scope_WHOM>(*at).fetch_add(1);", "block", "device"),
        ("exchange", "cuda::atomic_ref<int, cuda::thread_scope_WHOM>(*at).exchange(blockIdx.x);", "block", "system"),
        ("swap", "cuda::atomic_ref<int, cuda::thread_scope_WHOM>(*at).compare_exchange_strong(old, 1);", "thread", "device"),
        ("store", "cuda::atomic_ref<int, cuda::thread_scope_WHOM>(*at).store(blockIdx.x);", "block", "device"),
        ("object", "(*(cuda::atomic<int, cuda::thread_scope_WHOM>*)at)++;", "block", "device"),
        ("nv", "old = __nv_atomic_fetch_add(at, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_WHOM);", "BLOCK", "DEVICE"),
        ("nv store", "__nv_atomic_store_n(at, blockIdx.x, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_WHOM);", "BLOCK", "SYSTEM"),
        ("ptx", 'asm volatile("atom.relaxed.WHOM.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(at) : "memory");', "cta", "gpu"),
        ("ptx store", 'asm volatile("st.relaxed.WHOM.s32 [%0], %1;" :: "l"(at), "r"(blockIdx.x) : "memory");', "cta", "gpu"),
        ("function", "atomicAddWHOM(at, 1);", "_block", ""),
    )
}  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
def test_block_scope_atomics_between_blocks_race(name):
    bad, good = NARROW[name]
    text = race_report_of(bad, "atomics of block scope are for the threads of one block", grid=2)
    assert re.search(r"k \(.*, line \d+\): .* at .*, line \d+, with nothing", text), text
    run_without_report(bad, grid=1)
    run_without_report(good, grid=2)


LOCK = """__device__ int lock;
    __global__ void k(const int* data, int* out) {
        if (threadIdx.x == 0) {
            while (TAKE) {}
            FENCE
            UPDATE
            FENCE
            atomicExch(&lock, 0);
        }
    }"""
LOCKS = {
    (take, update): replace_placeholders(
        LOCK.replace("UPDATE", update).replace("TAKE", take),
        {"FENCE": ""},
        {"FENCE": "__threadfence();"},
    )
    for take in ("atomicCAS(&lock, 0, 1) != 0", "atomicExch(&lock, 1)")
    for update in ("out[0] = out[0] + 1;", "out[1] = blockIdx.x;", "out[out[2] + 3] += data[1];")
}


@pytest.mark.parametrize(("take", "update"), LOCKS)
def test_lock_without_fences_is_reported(take, update):
    bad, good = LOCKS[take, update]
    text = race_report_of(
        bad, r"with __threadfence\(\) after it is taken and before it is released", grid=3
    )
    assert "atomicAdd" not in text
    run_without_report(good, grid=3)


AFTER_A_SWAP = replace_placeholders("""__global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        int t = threadIdx.x;
        SWAP
        s[t] = data[t];
        out[t] = s[63 - t];
    }""", *({"SWAP": swap} for swap in (
        "",  # the previous launch executed fences
        "atomicCAS(&out[100 + t], 0, 7);",
        "atomicExch(&out[100 + t], 1); atomicExch(&out[100 + t], 0);",
        "if (atomicExch(&out[100 + t], 1) == 0) { __threadfence(); atomicExch(&out[100 + t], 0); }",
        "atomicCAS(&out[100 + t], 0, 1); __syncthreads();",
    )))  # fmt: skip


@pytest.mark.parametrize("source", AFTER_A_SWAP)
def test_race_outside_of_locks_has_no_fence_advice(source):
    """The report mentions no fence, even if a thread has changed other memory with an earlier atomic
    operation."""
    with pytest.raises(KernelError):
        run_without_report(LOCKS["atomicCAS(&lock, 0, 1) != 0", "out[1] = blockIdx.x;"][0], grid=3)
    text = race_report_of(source, r"with no (barrier|__syncwarp\(\)) between")
    assert "fence" not in text


# Each block has 64 threads; each update compares and writes, or reads and writes, one element.
COMPARED = {
    update: replace_placeholders(
        f"""__global__ void k(const int* data, int* out) {{
        MEMORY
        int i = threadIdx.x + SHIFT;
        {update.replace("best", "NAME")}
    }}""",
        {"MEMORY": "", "NAME": "out", "SHIFT": "blockIdx.x * blockDim.x"},
        {"MEMORY": "__shared__ int s[4]; if (threadIdx.x < 4) s[threadIdx.x] = 0; __syncthreads();",
         "NAME": "s", "SHIFT": "0"},
    )
    for update in (
        "if (data[i] > best[0]) best[0] = data[i];",
        "best[0] = data[i] > best[0] ? data[i] : best[0];",
        "best[0] = max(best[0], data[i]);",
        "int old = best[1]; if (i % 3 == 0 && old < i) { best[2 * (i > 9999)] = 0; best[1] = i; }",
        "if (best[i % 2] == 0) best[i % 2] = i;",
    )
}  # fmt: skip


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("update", COMPARED)
def test_check_then_write_race_suggests_an_atomic(update, seed):
    of_grid, of_block = COMPARED[update]
    race_report_of(of_grid, "needs an atomic", grid=3, seed=seed)
    race_report_of(of_grid, "needs an atomic", grid=1, seed=seed)
    race_report_of(of_block, "needs an atomic", grid=1, seed=seed)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("grid", [1, 2, 3])
@pytest.mark.parametrize("name", ["stencil in place", *list(COMPARED)[:3]])
def test_a_race_of_two_blocks_names_both(name, grid, seed):
    source = COMPARED[name][0] if name in COMPARED else GLOBAL[name][0]
    text = race_report_of(source, grid=grid, seed=seed)
    assert ("orders the blocks" in text) == ("of block (" in text), text


SAME_VALUE = replace_placeholders("""__global__ void k(const int* data, int* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (data[i] % 2) out[0] = 1;
    }""")  # fmt: skip


def test_writes_of_equal_values_are_not_reported():
    run_without_report(SAME_VALUE, grid=2)


NEIGHBOURS = {
    dtype: replace_placeholders(
        """__global__ void k(TYPE* data, TYPE* out) {
            __shared__ TYPE s[128];
            int t = threadIdx.x;
            s[t] = data[t];
            s[t] += 1;
            out[INDEX] = s[t];
        }""",
        {"TYPE": type_, "INDEX": "t / 2"},
        {"TYPE": type_, "INDEX": "1 + t"},
    )
    for dtype, type_ in {"i1": "signed char", "i2": "short", "i4": "int", "i8": "long long"}.items()
}


@pytest.mark.parametrize("dtype", NEIGHBOURS)
def test_adjacent_accesses_of_any_size_are_distinguished(dtype):
    bad, good = NEIGHBOURS[dtype]
    race_report_of(bad, r"out\[\d+\]", block=128, dtype=dtype)
    run_without_report(good, block=128, dtype=dtype)


SIZES = replace_placeholders(
    """__global__ void k(int* ints, int* out) {
        char* data = (char*)ints;
        int t = threadIdx.x;
        if (t == 0) *(int*)data = 5;
        if (t == 33) out[0] = data[FROM];
    }""",
    {"FROM": "3"},
    {"FROM": "4"},
)


def test_overlapping_accesses_of_different_sizes_race():
    bad, good = SIZES
    race_report_of(bad, "ints")
    run_without_report(good)


OWN_ATOMIC = replace_placeholders(
    """__device__ float atomic_max(float* address, float value) {
        int* place = (int*)address;
        int old = *place, assumed;
        do {
            assumed = old;
            if (__int_as_float(assumed) >= value) break;
            old = atomicCAS(place, assumed, __float_as_int(value));
        } while (assumed != old);
        return __int_as_float(old);
    }
    __global__ void k(const float* data, float* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        atomic_max(&out[i % 2], data[i]);
    }""",
)


def test_compare_and_swap_loops_are_race_free():
    for seed in (None, 1, 2):
        out = run_without_report(OWN_ATOMIC, grid=4, block=32, dtype=np.float32, seed=seed)
        assert out[:2].tolist() == [126, 127]


LAST_BLOCK = """__device__ unsigned count;
__global__ void k(const int* data, int* out) {
    __shared__ bool last;
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = data[blockIdx.x * 64 + t];
    __syncthreads();
    for (int n = 32; n > 0; n /= 2) {
        if (t < n) s[t] += s[t + n];
        __syncthreads();
    }
    if (t == 0) {
        out[1 + blockIdx.x] = s[0];
        FENCE
        last = atomicAdd(&count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int sum = 0;
        for (int i = t; i < gridDim.x; i += 64) sum += out[1 + i];
        atomicAdd(&out[0], sum);
        if (t == 0) count = 0;
    }
}"""


FENCE = {"FENCE": ""}, {"FENCE": "__threadfence();"}
LAST_BLOCK = replace_placeholders(LAST_BLOCK, *FENCE)


@pytest.mark.parametrize("seed", [None, 5])
def test_race_without_a_fence_before_the_last_block_is_reported(seed):
    bad, good = LAST_BLOCK
    race_report_of(bad, r"out\[", grid=9, seed=seed)
    out = run_without_report(good, grid=9, seed=seed)
    assert out[0] == sum(range(9 * 64))


ALL_FENCE = replace_placeholders(
    """__device__ unsigned count;
    __global__ void k(const int* data, int* out) {
        __shared__ unsigned before;
        int i = blockIdx.x * 64 + threadIdx.x;
        out[1 + i] = data[i];
        FENCE
        __syncthreads();
        if (threadIdx.x == 0) before = atomicAdd(&count, 1u);
        __syncthreads();
        if (before == gridDim.x - 1 && threadIdx.x == 0) {
            int sum = 0;
            for (int j = 0; j < gridDim.x * 64; ++j) sum += out[1 + j];
            out[0] = sum;
            count = 0;
        }
    }""",
    *FENCE,
)


def test_fence_before_barrier_orders_a_flag_of_one_thread():
    bad, good = ALL_FENCE
    race_report_of(bad, r"out\[", grid=5)
    assert run_without_report(good, grid=5)[0] == sum(range(5 * 64))


LOCK = """__device__ int mutex;
__global__ void k(const int* data, int* out) {
    if (threadIdx.x % 32 == 0) {
        TAKE
        out[0] += data[blockIdx.x];
        GIVE
    }
}"""


LOCK = replace_placeholders(
    LOCK,
    {"TAKE": "", "GIVE": ""},
    {
        "TAKE": "while (atomicCAS(&mutex, 0, 1) != 0) {} __threadfence();",
        "GIVE": "__threadfence(); atomicExch(&mutex, 0);",
    },
)


@pytest.mark.parametrize("seed", [None, 11])
def test_race_without_a_lock_is_reported(seed):
    bad, good = LOCK
    race_report_of(bad, r"out\[0\]", grid=5, seed=seed)
    out = run_without_report(good, grid=5, seed=seed)
    assert out[0] == 2 * sum(range(5))


LOCK_OF_LANES = replace_placeholders(
    """__device__ int mutex;
    __global__ void k(const int* data, int* out) {
        bool done = false;
        while (!done) {
            if (atomicCAS(&mutex, 0, 1) == 0) {
                __threadfence();
                out[0] += data[threadIdx.x];
                __threadfence();
                atomicExch(&mutex, 0);
                done = true;
            }
        }
    }""",
)


def test_per_lane_locks_are_race_free():
    for seed in (None, 1, 2):
        assert run_without_report(LOCK_OF_LANES, grid=3, seed=seed)[0] == 3 * sum(range(64))


PRODUCER = """__global__ void k(const int* data, int* out) {
    __shared__ int box;
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 32) {
        box = data[17];
        FENCE
        ready = 1;
    }
    if (threadIdx.x == 0) {
        while (!ready) {}
        __threadfence_block();
        out[0] = box;
    }
}"""


PRODUCER = replace_placeholders(PRODUCER, {"FENCE": ""}, {"FENCE": "__threadfence_block();"})


@pytest.mark.parametrize("seed", [None, 4])
def test_producer_consumer_race_in_a_block_is_reported(seed):
    bad, good = PRODUCER
    race_report_of(bad, "box", seed=seed)
    assert run_without_report(good, seed=seed)[0] == 17


TWO_BLOCKS = replace_placeholders(
    """__device__ volatile int ready;
    __global__ void k(const int* data, int* out) {
        if (threadIdx.x) return;
        if (blockIdx.x == CONSUMER) {
            while (!ready) {}
            __threadfence();
            out[0] = out[1];
            ready = 0;
        } else {
            out[1] = data[17];
            FENCE
            ready = 1;
        }
    }""",
    {"FENCE": "", "CONSUMER": "1"},
    {"FENCE": "__threadfence();", "CONSUMER": "0"},
    {"FENCE": "__threadfence();", "CONSUMER": "1"},
)


def test_producer_consumer_race_between_blocks_is_reported():
    bad, *good = TWO_BLOCKS
    for source in good:
        assert run_without_report(source, grid=2)[0] == 17
        assert run_without_report(source, grid=2, seed=9)[0] == 17
    race_report_of(bad, r"out\[1\]", grid=2)


LOOK_BACK = replace_placeholders("""__device__ volatile int flag[64];
    __device__ volatile int sums[64];
    __device__ unsigned ticket;
    __global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        __shared__ unsigned mine;
        int t = threadIdx.x;
        if (t == 0) mine = atomicAdd(&ticket, 1u);
        __syncthreads();
        unsigned b = mine;
        s[t] = data[b * 64 + t];
        __syncthreads();
        if (t == 0) {
            int sum = 0;
            for (int i = 0; i < 64; ++i) { sum += s[i]; s[i] = sum; }
            int before = 0;
            if (b > 0) {
                while (!flag[b - 1]) {}
                __threadfence();
                before = sums[b - 1];
            }
            sums[b] = before + sum;
            __threadfence();
            flag[b] = 1;
            for (int i = 0; i < 64; ++i) s[i] += before;
        }
        __syncthreads();
        out[b * 64 + t] = s[t];
    }""")  # fmt: skip


def test_decoupled_look_back_is_race_free():
    out = run_without_report(LOOK_BACK, grid=10, seed=2)
    assert (out[:640] == np.cumsum(np.arange(640))).all()


GRID = """__global__ void k(int* data, int* out) {
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < 3; ++step) {
        out[i] = data[(i + 1) % n];
        BETWEEN
        data[i] = out[(i + n / 2) % n] + 1;
        BETWEEN
    }
}"""


GRID = replace_placeholders(
    GRID, {"BETWEEN": "__syncthreads();"}, {"BETWEEN": "cg::this_grid().sync();"}
)


@pytest.mark.parametrize("seed", [None, 1])
def test_grid_barrier_orders_accesses(seed):
    bad, good = GRID
    race_report_of(bad, r"(out|data)\[", grid=2, seed=seed)
    run_without_report(good, grid=2, seed=seed)


TILES = replace_placeholders(
    """    __global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        auto tile = cg::tiled_partition<8>(cg::this_thread_block());
        int t = threadIdx.x;
        s[t] = data[t];
        tile.sync();
        out[t] = s[t ^ FROM];
    }""",
    {"FROM": "8"},
    {"FROM": "7"},
)


def test_race_in_a_shared_tile_is_reported():
    bad, good = TILES
    race_report_of(bad, r"s\[")
    run_without_report(good)


ADDS = replace_placeholders("""__global__ void k(int* data, int* out) {
    data[63 - threadIdx.x] += threadIdx.x;
    data[64 + threadIdx.x] = data[63 - threadIdx.x];
}""")  # fmt: skip


def test_kernels_one_after_the_other_are_ordered():
    kernel = race_module()[f"v{_sources[ADDS]}::k"]
    data = cuda.to_device(np.zeros(128, np.int32))
    with cuda.checks("race"):
        for _ in range(3):
            kernel[1, 64](data, data)
            kernel[1, 64](data[::1], data)
        cuda.synchronize()
    assert data.copy_to_host()[:64].tolist() == [6 * (63 - i) for i in range(64)]


HEAP = replace_placeholders("""__global__ void k(const int* data, int* out) {
        int* own = (int*)malloc(64);
        for (int i = 0; i < 16; ++i) own[i] = data[i] + threadIdx.x;
        out[threadIdx.x] = own[5];
        free(own);
    }""")  # fmt: skip


def test_reused_heap_memory_is_race_free():
    run_without_report(HEAP)


PLACES = replace_placeholders("""__global__ void k(const int* data, int* out) {
        __shared__ int s[64], r[64];
        s[threadIdx.x] = data[threadIdx.x];
        r[threadIdx.x] = data[threadIdx.x];
        out[threadIdx.x] = s[threadIdx.x ^ 1] + r[threadIdx.x ^ 2];
    }""")  # fmt: skip


def test_further_races_are_counted_by_line():
    text = race_report_of(PLACES)
    assert "more" in text or "other" in text


ROUNDED = replace_placeholders("""
__global__ void k(const int *data, int *out) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    double tenth = data[i] * 0.0 - 0.1;
    out[i] = __dadd_rz(tenth, 2 * tenth) == -0.3 && __dadd_rn(tenth, 2 * tenth) < -0.3;
}""")


def test_rounding_directions_of_threads_are_independent():
    """Each thread has its own rounding direction, although threads share a processor."""
    assert run_without_report(ROUNDED, 4, 64, size=256).all()
