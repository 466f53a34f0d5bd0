"""Tests barriers and warps: images of each compiler run on the engine."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

from numbalite.errors import SimulatorWarning


def source_lane(mode, width, offset, lane):
    """Returns the source lane of a shuffle; was compared with an H200 for every width."""
    segment = 32 - width
    if mode == "":
        return (lane & segment) | (offset & 31 & ~segment)
    offset &= 31
    if mode == "_up":
        return lane - offset if lane >= (lane & segment) + offset else lane
    if mode == "_down":
        return lane + offset if lane + offset <= (lane | (width - 1)) else lane
    return lane ^ offset if lane ^ offset <= (lane | (width - 1)) else lane


def test_shuffles_with_a_width_match_expected(make_sim_module):
    source = "\n".join(
        f"""__global__ void k{mode}(int* out, int width, int offset) {{
            out[threadIdx.x] = __shfl{mode}_sync(0xffffffffu, (int)threadIdx.x + 100, offset, width);
        }}"""
        for mode in ("", "_up", "_down", "_xor")
    )
    m = make_sim_module(source)
    out = np.zeros(32, np.int32)
    for mode in ("", "_up", "_down", "_xor"):
        for width in (1, 2, 4, 8, 16, 32):
            for offset in (0, 1, 5, 16, 31, 32, 33, 40, -1):
                m[f"k{mode}"][1, 32](out, width, offset)
                expected = [100 + source_lane(mode, width, offset, lane) for lane in range(32)]
                assert out.tolist() == expected, (mode, width, offset)


def test_shuffles_of_every_type_match_expected(make_sim_module):
    types = [
        "int",
        "unsigned",
        "long",
        "unsigned long",
        "long long",
        "unsigned long long",
        "float",
        "double",
    ]
    body = "\n".join(
        f"{{ {t} v = ({t})(threadIdx.x * 3.5) + ({t})1; {t} r = __shfl_down_sync(~0u, v, 2);"
        f" ok[{i} * 32 + threadIdx.x] = threadIdx.x >= 30 ? r == v : r == ({t})((threadIdx.x + 2) * 3.5) + ({t})1; }}"
        for i, t in enumerate(types)
    )
    m = make_sim_module("__global__ void k(int* ok) {" + body + "}")
    ok = np.zeros(32 * len(types), np.int32)
    m.k[1, 32](ok)
    assert ok.all()


def test_warp_votes_and_reductions_match_expected(make_sim_module):
    m = make_sim_module("""__global__ void k(unsigned* out, const int* in) {
        unsigned t = threadIdx.x, all = 0xffffffffu;
        int v = in[t], p;
        unsigned* o = out + t;
        o[0] = __ballot_sync(all, v > 5); o[32] = __any_sync(all, v == 31); o[64] = __all_sync(all, v >= 0);
        o[96] = __uni_sync(all, v >= 0); o[128] = __uni_sync(all, v > 3);
        o[160] = __reduce_add_sync(all, v - 10); o[192] = __reduce_min_sync(all, v - 10);
        o[224] = __reduce_max_sync(all, v - 10); o[256] = __reduce_min_sync(all, (unsigned)(v - 10));
        o[288] = __reduce_max_sync(all, (unsigned)(v - 10)); o[320] = __reduce_and_sync(all, v | 64u);
        o[352] = __reduce_or_sync(all, 1u << v); o[384] = __reduce_xor_sync(all, (unsigned)v + 1);
        o[416] = __match_any_sync(all, v / 7); o[448] = __match_any_sync(all, (double)(v % 3));
        o[480] = __match_all_sync(all, 5, &p); o[512] = p; o[544] = __match_all_sync(all, v, &p); o[576] = p;
        __syncwarp();
        o[608] = __activemask();
    }""")
    v = np.arange(32, dtype=np.int32)
    out = np.zeros((20, 32), np.uint32)
    m.k[1, 32](out.reshape(-1), v)
    full = 2**32 - 1
    masks = [sum(1 << int(j) for j in v if j // 7 == i // 7) for i in v]
    thirds = [sum(1 << int(j) for j in v if j % 3 == i % 3) for i in v]
    same = [full ^ 63, 1, 1, 1, 0, sum(range(32)) - 320, full - 9, 21, 0, full, 64, full]
    xor = 0
    for i in v:
        xor ^= int(i) + 1
    for row, expected in zip(out, [*same, xor], strict=False):
        assert (row == np.uint32(expected)).all(), (row, expected)
    assert out[13].tolist() == masks
    assert out[14].tolist() == thirds
    assert [row[0] for row in out[15:20]] == [full, 1, 0, 0, full]


def test_partial_warp_collectives_match_expected(make_sim_module):
    m = make_sim_module("""__global__ void k(int* out) {
        int t = threadIdx.x;
        if (t < 8) out[t] = __shfl_xor_sync(0xffu, t, 1);
        else if (t & 1) out[t] = __popc(__ballot_sync(0xaaaaaa00u, 1));
        else out[t] = -1;
        out[32 + t] = __popc(__ballot_sync(0xffffffffu, out[t] > 0));
    }""")
    out = np.zeros(64, np.int32)
    m.k[1, 32](out)
    assert out[:8].tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
    assert out[8:32].tolist() == [-1, 12] * 12
    assert (out[32:] == 19).all()


def test_thread_index_survives_barriers(make_sim_module):
    m = make_sim_module("""__global__ void k(int* out, int* counts) {
        __shared__ int s[128];
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        s[t] = t;
        for (int step = 1; step < 4; ++step) {
            __syncthreads();
            int other = s[(t + step) % 128];
            __syncthreads();
            s[t] = other + 0 * threadIdx.x;
            int now = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
            if (now != t) s[t] = -1000;
        }
        out[blockIdx.x * 128 + t] = s[t];
        counts[t] = __syncthreads_count(t % 3 == 0);
        counts[128 + t] = __syncthreads_and(t >= 0) * 2 + __syncthreads_or(t == 77);
    }""")
    for block in (128,), (16, 8), (4, 4, 8):
        out, counts = np.zeros(256, np.int32), np.zeros(256, np.int32)
        m.k[2, block](out, counts)
        assert (out.reshape(2, 128) == (np.arange(128) + 6) % 128).all()
        assert (counts[:128] == 43).all() and (counts[128:] == 3).all()


def test_shared_memory_is_per_block(make_sim_module):
    m = make_sim_module("""
    template <class T> __global__ void reverse(T* data) {
        extern __shared__ __align__(16) unsigned char raw[];
        T* s = (T*)raw;
        int base = blockIdx.x * blockDim.x, t = threadIdx.x;
        s[t] = data[base + t];
        __syncthreads();
        data[base + t] = s[blockDim.x - 1 - t];
    }
    template __global__ void reverse<double>(double*);
    """)
    data = np.arange(64 * 50, dtype=np.float64)
    m["reverse<double>"][50, 64, 0, 512](data)
    assert (data.reshape(50, 64) == np.arange(64 * 50).reshape(50, 64)[:, ::-1]).all()


def test_early_returned_threads_do_not_block_barriers(make_sim_module):
    m = make_sim_module("""__global__ void k(int* out) {
        __shared__ int total;
        if (threadIdx.x == 0) total = 0;
        __syncthreads();
        if (threadIdx.x >= 40) return;
        atomicAdd(&total, 1);
        __syncthreads();
        out[threadIdx.x] = total;
    }""")
    out = np.zeros(64, np.int32)
    m.k[1, 64](out)
    assert (out[:40] == 40).all() and not out[40:].any()


def test_spin_lock_between_lanes_makes_progress(make_sim_module, compiler_name):
    m = make_sim_module("""__global__ void k(int* lock, int* value) {
        for (bool done = false; !done;)
            if (atomicCAS(lock, 0, 1) == 0) {
                *(volatile int*)value += 1;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
    }
    __global__ void held(int* lock, int* value) {
        if (threadIdx.x == 0) {
            lock[0] = 1;
            __syncwarp(1);
        }
        while (atomicCAS(lock, 0, 1)) {
            if (threadIdx.x == 5) atomicExch(lock, 0);
            __nanosleep(20);
        }
        value[0] += 1;
        atomicExch(lock, 0);
    }""")
    lock, value = np.zeros(1, np.int32), np.zeros(1, np.int32)
    m.k[4, 64](lock, value)
    assert value[0] == 256 and lock[0] == 0
    m.held[1, 32](lock, value)
    assert value[0] == 288


def test_spinning_on_a_volatile_makes_progress(make_sim_module, compiler_name):
    if compiler_name == "g++":
        pytest.skip("only irpatch makes a volatile load let other threads run")
    m = make_sim_module("""__global__ void k(int* flag, int* out) {
        if (threadIdx.x == 0) {
            while (*(volatile int*)flag == 0) {}
            out[0] = 7;
        } else if (threadIdx.x == 63)
            flag[0] = 1;
    }""")
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    m.k[1, 64](flag, out)
    assert out[0] == 7


LOCKSTEP = """template <int n> __device__ void reduce(volatile float* s, int t) {
        if (n >= 64) s[t] += s[t + 32];
        s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
    }
    __global__ void sum(const float* x, float* out) {
        __shared__ float s[128];
        int t = threadIdx.x;
        s[t] = x[t];
        __syncthreads();
        if (t < 64) s[t] += s[t + 64];
        __syncthreads();
        if (t < 32) reduce<64>(s, t);
        if (t == 0) out[0] = s[0];
    }
    __global__ void scan(int* x) {
        extern __shared__ int memory[];
        volatile int* s = memory;
        int t = threadIdx.x;
        s[t] = x[t];
        for (int d = 1; d < 32; d *= 2) {
            int left = 0;
            if (t >= d) left = s[t - d];
            s[t] += left;
        }
        x[t] = s[t];
    }
    __global__ void joins(int* out) {
        __shared__ volatile int s[32];
        int t = threadIdx.x;
        s[t] = 0;
        if (t >= 16)
            for (int i = 0; i < t; i++) s[t] += 1;
        out[t] = s[31 - t];
    }
    __global__ void hands_on(int* out) {  // who waits must not keep from running whom it waits for
        __shared__ volatile int turn;
        int t = threadIdx.x;
        if (t == 40) turn = 0;
        __syncthreads();
        while (turn != 63 - t) {}
        out[t] = turn++;
    }"""


def test_lanes_are_in_step_at_volatile_shared_memory(make_sim_module, compiler_name):
    """Warp programs that rely on lockstep execution: reductions, scans, branches that reconverge."""
    told = pytest.warns(SimulatorWarning) if compiler_name == "g++" else contextlib.nullcontext()
    with told:
        m = make_sim_module(LOCKSTEP)
    if compiler_name == "g++":
        return
    x, total = np.arange(128, dtype=np.float32), np.zeros(1, np.float32)
    m.sum[1, 128](x, total)
    assert total[0] == x.sum()
    numbers = np.arange(32, dtype=np.int32)
    m.scan[1, 32, 0, 128](numbers)
    assert numbers.tolist() == np.arange(32).cumsum().tolist()
    joined, turns = np.zeros(32, np.int32), np.zeros(64, np.int32)
    m.joins[1, 32](joined)
    assert joined.tolist() == [*range(31, 15, -1), *[0] * 16]
    m.hands_on[1, 64](turns)
    assert turns.tolist() == [*range(63, -1, -1)]


GLOBAL_LOCKSTEP = """__global__ void sum(volatile float* s, float* out) {
        int t = threadIdx.x, b = blockIdx.x;
        s += 64 * b;
        if (t < 32) {
            s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2];
            s[t] += s[t + 1];
            if (t == 0) out[b] = s[0];
        }
    }
    __global__ void scan(int* x) {
        volatile int* s = x + 32 * blockIdx.x;
        int t = threadIdx.x;
        for (int d = 1; d < 32; d *= 2) {
            int left = 0;
            if (t >= d) left = s[t - d];
            s[t] += left;
        }
    }
    __device__ volatile int rows[4][32];
    __global__ void reverse(int* x) {
        int t = threadIdx.x, b = blockIdx.x;
        rows[b][t] = x[32 * b + t];
        x[32 * b + t] = rows[b][31 - t];
    }
    __global__ void chain(volatile int* flag, volatile int* sum, int* out) {  // from block to block
        int b = blockIdx.x;
        if (threadIdx.x == 0) {
            int s = 0;
            if (b) { while (!flag[b - 1]) {} s = sum[b - 1]; }
            sum[b] = s + b;
            __threadfence();
            flag[b] = 1;
            out[b] = s + b;
        }
    }
    __global__ void hands_on(volatile int* turn, int* out) {
        int t = threadIdx.x;
        while (*turn != 63 - t) {}
        out[t] = *turn;
        *turn = *turn + 1;
    }"""


def test_lanes_are_in_step_at_volatile_global_memory(make_sim_module, compiler_name):
    if compiler_name == "g++":
        pytest.skip("g++ tells nothing of volatile accesses")
    m = make_sim_module(GLOBAL_LOCKSTEP)
    x, totals = np.arange(4 * 64, dtype=np.float32).reshape(4, 64), np.zeros(4, np.float32)
    m.sum[4, 64](x.copy(), totals)
    assert totals.tolist() == x.sum(1).tolist()
    numbers = np.arange(4 * 32, dtype=np.int32).reshape(4, 32)
    found = numbers.copy()
    m.scan[4, 32](found)
    assert (found == numbers.cumsum(1)).all()
    found = numbers.copy()
    m.reverse[4, 32](found)
    assert (found == numbers[:, ::-1]).all()
    flag, sums, out = (np.zeros(300, np.int32) for _ in range(3))
    m.chain[300, 64](flag, sums, out)
    assert (out == np.arange(300).cumsum()).all()
    turns = np.zeros(64, np.int32)
    m.hands_on[1, 64](np.zeros(1, np.int32), turns)
    assert turns.tolist() == [*range(63, -1, -1)]


def test_spinning_on_a_volatile_flag_gives_no_lockstep_warning(
    make_sim_module, compiler_name, recwarn
):
    """Another kernel of the file, whose accesses are not volatile, also ends."""
    m = make_sim_module("""__global__ void waits(volatile int* flag) { while (!flag[0]) {} }
    __global__ void smooth(const float* x, float* y, int n) {
        int i = threadIdx.x;
        if (i < n - 1) y[i] = x[i] + y[i + 1];
    }""")
    assert m and not [w for w in recwarn if w.category is SimulatorWarning]


def test_division_by_zero_matches_a_gpu(make_sim_module):
    m = make_sim_module("""__global__ void k(int* a, long long* b, unsigned* c) {
        int t = threadIdx.x;
        if (t) { a[t] = a[t] / a[0]; b[t] = b[t] % b[0]; c[t] = c[t] / c[0]; }
    }""")
    a = np.array([0, 5, -7], np.int32)
    b = np.array([0, 5, -7], np.int64)
    c = np.array([0, 5, 7], np.uint32)
    m.k[1, 3](a, b, c)
    assert a[1] == -1 and b[1] == 5
    assert c[1] == 2**32 - 1
