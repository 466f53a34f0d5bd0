"""cuda.checks("race"): two threads, one of them writing, and nothing that orders them.

Each kernel stands twice: as it must not be, with the words of its report, and as it must be.
"""

import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import KernelError

pytestmark = [
    pytest.mark.skipif(not cuda.is_simulated(), reason="only the simulator looks for races"),
    pytest.mark.filterwarnings("ignore::numbalite.errors.PerformanceWarning"),
]
LOCAL = '#include "numbalite/groups.cuh"\n'


def run(source, grid=1, block=64, size=4096, dtype=np.int32, seed=None, name="k", **options):
    """Launches k(data, out) with both of `size` elements; gives `out`, or raises."""
    kernel = cuda.jit(source=source, name=name, **options)
    data = cuda.to_device(np.arange(size).astype(dtype))
    out = cuda.to_device(np.zeros(size, dtype))
    with cuda.checks("race", seed=seed, limit=20):
        kernel[grid, block](data, out)
        cuda.synchronize()
    return out.copy_to_host()


def race(source, *words, **options):
    """The report of a kernel that has a race."""
    with pytest.raises(KernelError) as caught:
        run(source, **options)
    text = str(caught.value)
    for word in words:
        assert re.search(word, text), (word, text)
    return text


# Blocks of 64 threads; what must come between the steps is BETWEEN.
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


@pytest.mark.parametrize("name", IN_SHARED)
def test_shared_memory_without_a_barrier(name):
    text = race(IN_SHARED[name].replace("BETWEEN", ""), r"\bthread \(", r"(s|tile|mean)\b")
    assert "writes" in text
    run(IN_SHARED[name].replace("BETWEEN", "__syncthreads();"))
    run(IN_SHARED[name].replace("BETWEEN", "__syncthreads();"), seed=3, grid=3)


def test_both_sides_are_told():
    text = race(
        """__global__ void k(const int* data, int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = 7 * threadIdx.x;

    out[threadIdx.x] = tile[threadIdx.x ^ 1];
}"""
    )
    first = re.search(r"line (\d+)\): block", text)
    other = re.search(r"at .*, line (\d+), with no", text)
    assert abs(int(first[1]) - int(other[1])) == 2, text
    assert "tile[" in text and text.startswith("k (") and "block (0,0,0)" in text


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


@pytest.mark.parametrize("kind", ["", "volatile"])
def test_a_warp_is_not_in_lockstep(kind):
    source = LAST_WARP.replace("KIND", kind)
    race(source.replace("BETWEEN", ""), r"\[")
    out = run(source.replace("BETWEEN", "__syncwarp();"))
    assert out[0] == sum(range(64))


def test_part_of_a_warp_that_waits_orders_only_that_part():
    source = """__global__ void k(const int* data, int* out) {
        __shared__ int s[32];
        int t = threadIdx.x;
        s[t] = data[t];
        if (t < 16) __syncwarp(0xffff);
        out[t] = s[FROM];
    }"""
    race(source.replace("FROM", "t ^ 16"), "s\\[", block=32)
    race(source.replace("FROM", "t ^ 1"), "s\\[", block=32)  # the upper half
    run(source.replace("FROM", "t < 16 ? t ^ 1 : t"), block=32)


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


@pytest.mark.parametrize("name", GLOBAL)
@pytest.mark.parametrize("seed", [None, 1])
def test_global_memory(name, seed):
    bad, good = GLOBAL[name]
    race(bad, r"(out|data)\[\d+\]", grid=3, seed=seed)
    run(good, grid=3, seed=seed)


def test_blocks_that_do_not_know_of_one_another():
    source = """__global__ void k(const int* data, int* out) {
        if (threadIdx.x == 0) out[blockIdx.x] = data[blockIdx.x];
        __syncthreads();
        out[64 + blockIdx.x * blockDim.x + threadIdx.x] = out[BLOCK];
    }"""
    text = race(source.replace("BLOCK", "(blockIdx.x + 1) % gridDim.x"), "block \\(", grid=2)
    assert "block (0,0,0)" in text and "block (1,0,0)" in text
    run(source.replace("BLOCK", "blockIdx.x"), grid=2)


def test_values_that_do_not_change_are_no_race():
    run("""__global__ void k(const int* data, int* out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (data[i] % 2) out[0] = 1;
    }""", grid=2)  # fmt: skip


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_neighbours_of_any_size_are_not_confused(dtype):
    size = np.dtype(dtype).itemsize
    type_ = {1: "char", 2: "short", 4: "int", 8: "long long"}[size]
    source = f"""__global__ void k({type_}* data, {type_}* out) {{
        __shared__ {type_} s[128];
        int t = threadIdx.x;
        s[t] = data[t];
        s[t] += 1;
        out[SHIFT + t] = s[t];
    }}"""
    run(source.replace("SHIFT", "1"), block=128, dtype=dtype)
    bad = source.replace("SHIFT + t", "t / 2")
    race(bad, r"out\[\d+\]", block=128, dtype=dtype)


def test_overlapping_accesses_of_different_sizes():
    source = """__global__ void k(char* data, int* out) {
        int t = threadIdx.x;
        if (t == 0) *(int*)data = 5;
        if (t == 33) out[0] = data[FROM];
    }"""
    source = source.replace("(char* data, int* out)", "(int* ints, int* out)")
    source = source.replace("int t =", "char* data = (char*)ints; int t =")
    race(source.replace("FROM", "3"), "ints")
    run(source.replace("FROM", "4"))


def test_own_atomics_made_of_compare_and_swap():
    source = """__device__ float atomic_max(float* address, float value) {
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
    }"""
    for seed in (None, 1, 2):
        out = run(source, grid=4, block=32, dtype=np.float32, seed=seed)
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


@pytest.mark.parametrize("seed", [None, 5])
def test_the_last_block(seed):
    race(LAST_BLOCK.replace("FENCE", ""), r"out\[", grid=9, seed=seed)
    out = run(LAST_BLOCK.replace("FENCE", "__threadfence();"), grid=9, seed=seed)
    assert out[0] == sum(range(9 * 64))


def test_all_threads_make_the_fence_and_one_tells():
    source = """__device__ unsigned count;
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
        }
    }"""
    race(source.replace("FENCE", ""), r"out\[", grid=5)
    assert run(source.replace("FENCE", "__threadfence();"), grid=5)[0] == sum(range(5 * 64))


LOCK = """__device__ int mutex;
__global__ void k(const int* data, int* out) {
    if (threadIdx.x % 32 == 0) {
        TAKE
        out[0] += data[blockIdx.x];
        GIVE
    }
}"""


@pytest.mark.parametrize("seed", [None, 11])
def test_locks(seed):
    take = "while (atomicCAS(&mutex, 0, 1) != 0) {} __threadfence();"
    give = "__threadfence(); atomicExch(&mutex, 0);"
    race(LOCK.replace("TAKE", "").replace("GIVE", ""), r"out\[0\]", grid=5, seed=seed)
    out = run(LOCK.replace("TAKE", take).replace("GIVE", give), grid=5, seed=seed)
    assert out[0] == 2 * sum(range(5))


def test_a_lock_of_every_lane():
    source = """__device__ int mutex;
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
    }"""
    for seed in (None, 1, 2):
        assert run(source, grid=3, seed=seed)[0] == 3 * sum(range(64))


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


@pytest.mark.parametrize("seed", [None, 4])
def test_producer_and_consumer_in_a_block(seed):
    race(PRODUCER.replace("FENCE", ""), "box", seed=seed)
    assert run(PRODUCER.replace("FENCE", "__threadfence_block();"), seed=seed)[0] == 17


def test_producer_and_consumer_in_two_blocks():
    source = """__device__ volatile int ready;
    __global__ void k(const int* data, int* out) {
        if (threadIdx.x) return;
        if (blockIdx.x == CONSUMER) {
            while (!ready) {}
            __threadfence();
            out[0] = out[1];
        } else {
            out[1] = data[17];
            FENCE
            ready = 1;
        }
    }"""
    for consumer in "01":
        fine = source.replace("FENCE", "__threadfence();").replace("CONSUMER", consumer)
        assert run(fine, grid=2)[0] == 17
        assert run(fine, grid=2, seed=9)[0] == 17
    race(source.replace("FENCE", "").replace("CONSUMER", "1"), r"out\[1\]", grid=2)


def test_look_back_over_blocks():
    out = run("""__device__ volatile int flag[64];
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
    }""", grid=10, seed=2)  # fmt: skip
    assert (out[:640] == np.cumsum(np.arange(640))).all()


GRID = """#include "numbalite/groups.cuh"
extern "C" __global__ void k(int* data, int* out) {
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int step = 0; step < 3; ++step) {
        out[i] = data[(i + 1) % n];
        BETWEEN
        data[i] = out[(i + n / 2) % n] + 1;
        BETWEEN
    }
}"""


@pytest.mark.parametrize("seed", [None, 1])
def test_the_barrier_over_the_grid(seed):
    race(GRID.replace("BETWEEN", "__syncthreads();"), r"(out|data)\[", grid=2, seed=seed)
    run(GRID.replace("BETWEEN", "cg::this_grid().sync();"), grid=2, seed=seed)


def test_tiles():
    source = """#include "numbalite/groups.cuh"
    extern "C" __global__ void k(const int* data, int* out) {
        __shared__ int s[64];
        auto tile = cg::tiled_partition<8>(cg::this_thread_block());
        int t = threadIdx.x;
        s[t] = data[t];
        tile.sync();
        out[t] = s[t ^ FROM];
    }"""
    run(source.replace("FROM", "7"))
    race(source.replace("FROM", "8"), r"s\[")


def test_kernels_one_after_the_other_are_ordered():
    kernel = cuda.jit(
        source="""__global__ void k(int* data, int shift) {
            data[(threadIdx.x + shift) % 64] += threadIdx.x;
        }""",
        name="k",
    )
    data = cuda.to_device(np.zeros(64, np.int32))
    with cuda.checks("race"):
        for shift in range(4):
            kernel[1, 64](data, shift)
        cuda.synchronize()


def test_memory_of_the_heap_begins_anew():
    run("""__global__ void k(const int* data, int* out) {
        int* own = (int*)malloc(64);
        for (int i = 0; i < 16; ++i) own[i] = data[i] + threadIdx.x;
        out[threadIdx.x] = own[5];
        free(own);
    }""")  # fmt: skip


def test_other_places_are_counted():
    text = race("""__global__ void k(const int* data, int* out) {
        __shared__ int s[64], r[64];
        s[threadIdx.x] = data[threadIdx.x];
        r[threadIdx.x] = data[threadIdx.x];
        out[threadIdx.x] = s[threadIdx.x ^ 1] + r[threadIdx.x ^ 2];
    }""")  # fmt: skip
    assert "more" in text or "other" in text
