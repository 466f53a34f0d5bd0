"""cuda.profile() on the simulator: counters of accesses, compared with arithmetic on addresses in NumPy."""

import gc
import json
import os
import random
import re
import subprocess
import sys
import weakref

import numpy as np
import pytest
from kit.needs import needs_nvrtc
from kit.sample import VARIABLE

from numbalite import cuda, float32, vectorize
from numbalite.compilers import disassembler, host, hostbuild
from numbalite.errors import KernelError
from numbalite.profiler import caches

pytestmark = pytest.mark.sim

WARP = 32


@pytest.fixture(autouse=True)
def disable_disassembler(monkeypatch):
    """Disables the correction of counters by machine code, which test_reconcile.py tests."""
    monkeypatch.setattr(disassembler, "find_tool", lambda name: None)


needs_ir = pytest.mark.skipif(
    hostbuild.identify_compiler(host.find_compiler()).family == "gcc",
    reason="g++ has no LLVM IR, in which loops and copies of structs are marked",
)


def seeded_generator(name):
    """Returns a random generator for this session and test; NUMBALITE_TEST_SEED repeats them."""
    seed = os.environ.get(VARIABLE, "all")
    return np.random.default_rng(random.Random(f"{seed} {name}").randrange(2**32))


# --- The oracle computes with the addresses of all threads; -1 marks inactive threads.


def active_rows(addresses):
    """Returns the rows of 32 lanes in which any lane is active."""
    flat = np.asarray(addresses, np.int64).reshape(-1, WARP)
    return [row[row >= 0] for row in flat if (row >= 0).any()]


def touched_sectors(addresses, size):
    return sum(
        len({a // 32 for a in row} | {(a + size - 1) // 32 for a in row})
        for row in active_rows(addresses)
    )


def count_bank_passes(addresses, size, is_store=False):
    """Returns (passes over the banks, passes without conflicts)."""
    total = least = 0
    for warp in np.asarray(addresses, np.int64).reshape(-1, WARP):
        lanes = WARP if size <= 4 else 128 // size
        if lanes < WARP and not is_store and pairs_are_equal(warp):
            lanes *= 2
        for row in warp.reshape(-1, lanes):
            words = np.unique([(a + k) // 4 for a in row[row >= 0] for k in range(0, size, 4)])
            if words.size:
                total += int(np.bincount(words % 32).max())
                least += 1
    return total, least


def pairs_are_equal(warp):
    """Returns whether all lanes whose numbers differ in the lowest bit, or in the second lowest bit, have the
    same address."""
    lane = np.arange(WARP)
    others = (warp[lane ^ bit] for bit in (1, 2))
    return any(np.all((warp == other) | (warp < 0) | (other < 0)) for other in others)


def shared_memory_passes(addresses):
    return sum(int(np.unique(row, return_counts=True)[1].max()) for row in active_rows(addresses))


def sectors_and_passes(addresses):
    """Returns (sectors that atomics touch, the passes of their atomic units)"""
    sectors = total = 0
    for row in active_rows(addresses):
        for sector in np.unique(row // 32):
            sectors += 1
            total += int(np.unique(row[row // 32 == sector], return_counts=True)[1].max())
    return sectors, total


def device_address(array):
    return array.__cuda_array_interface__["data"][0]


def line_with_mark(profiled, mark):
    """Returns the line whose source contains the mark."""
    (line,) = [line for line in profiled.lines if mark in line.text]
    return line


# --- random patterns of access

INDICES = {
    "stride": lambda r, n: np.arange(n) * int(r.integers(1, 40)) + int(r.integers(0, 9)),
    "scattered": lambda r, n: r.integers(0, 4 * n, n),
    "same": lambda r, n: np.repeat(r.integers(0, n, n // WARP + 1), WARP)[:n],
    "reversed": lambda r, n: np.arange(n)[::-1] + int(r.integers(0, 9)),
    "masked": lambda r, n: np.where(r.random(n) < 0.6, r.integers(0, n, n), -1),
    "banks": lambda r, n: (np.arange(n) % WARP) * int(r.integers(1, 34)),
}
TYPES = {"char": np.int8, "short": np.int16, "float": np.float32, "double": np.float64}

GATHER = r"""
template <class T> __global__ void gather(const T *x, const int *index, T *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = index[i];
    if (k < 0)
        return;
    T value = x[k]; // load
    out[k] = value; // store
}
template <class T> __global__ void stage(const int *index, T *out) {
    __shared__ T tile[1200];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int k = index[i];
    if (k >= 0)
        tile[k] = T(k); // put
    __syncthreads();
    if (k >= 0)
        out[i] = tile[k]; // take
}
"""
gathers = cuda.module(source=GATHER)


@cuda.jit
def gather_in_python(x, index, out):
    i = cuda.grid(1)
    k = index[i]
    if k >= 0:
        value = x[k]  # load
        out[k] = value  # store


@pytest.mark.parametrize("pattern", INDICES)
@pytest.mark.parametrize("written", ["C++", "Python"])
@pytest.mark.parametrize("ctype", TYPES)
def test_global_accesses_touch_the_sectors_of_their_addresses(pattern, written, ctype):
    r = seeded_generator((pattern, written, ctype))
    threads = int(r.integers(1, 5)) * WARP
    index = INDICES[pattern](r, 2 * threads).astype(np.int32)
    dtype = np.dtype(TYPES[ctype])
    first = int(r.integers(0, 4))
    whole = cuda.to_device(np.zeros(first + int(index.max()) + 1, dtype))
    x, out = whole[first:], cuda.to_device(np.zeros(len(whole), dtype))
    kernel = gather_in_python if written == "Python" else gathers[f"gather<{ctype}>"]
    with cuda.profile() as p:
        kernel[2, threads](x, cuda.to_device(index), out)
    (launch,) = p.launches
    offsets = index.astype(np.int64) * dtype.itemsize
    loaded = np.where(index >= 0, device_address(x) + offsets, -1)
    stored = np.where(index >= 0, device_address(out) + offsets, -1)
    load = line_with_mark(launch, "# load" if written == "Python" else "// load")
    store = line_with_mark(launch, "# store" if written == "Python" else "// store")
    lanes, count = int((index >= 0).sum()), len(active_rows(loaded))
    assert load.global_load_requests == count
    assert load.global_load_sectors == touched_sectors(loaded, dtype.itemsize)
    assert load.global_load_bytes == lanes * dtype.itemsize
    assert load.active_lanes == pytest.approx(lanes / count)
    assert store.global_store_requests == count
    assert store.global_store_sectors == touched_sectors(stored, dtype.itemsize)
    assert load.shared_load_requests == store.global_load_requests == 0


@pytest.mark.parametrize("pattern", ["banks", "same", "reversed", "masked"])
@pytest.mark.parametrize("ctype", TYPES)
def test_shared_accesses_need_a_pass_for_each_word_of_a_bank(pattern, ctype):
    r = seeded_generator((pattern, ctype))
    threads = int(r.integers(1, 5)) * WARP
    index = INDICES[pattern](r, threads).astype(np.int32)
    dtype = np.dtype(TYPES[ctype])
    out = cuda.to_device(np.zeros(threads, dtype))
    with cuda.profile() as p:
        gathers[f"stage<{ctype}>"][1, threads](cuda.to_device(index), out)
    addresses = np.where(index >= 0, index * dtype.itemsize, -1)
    expected, least = count_bank_passes(addresses, dtype.itemsize)
    take, put = (line_with_mark(p.launches[0], mark) for mark in ("// take", "// put"))
    assert take.shared_load_requests == len(active_rows(addresses))
    assert take.shared_load_wavefronts == expected
    assert take.bank_conflicts == expected - least
    expected, least = count_bank_passes(addresses, dtype.itemsize, is_store=True)
    assert put.bank_conflicts == expected - least
    assert put.shared_store_wavefronts == expected
    assert line_with_mark(p.launches[0], "__syncthreads").barrier_waits == threads // WARP


VECTORS = r"""
__global__ void copy4(const float4 *x, float4 *out) {
    out[threadIdx.x] = x[threadIdx.x]; // four
}
struct Three { float a, b, c; };
__global__ void copy3(const Three *x, Three *out) {
    out[threadIdx.x] = x[threadIdx.x]; // three
}
__global__ void copy2(const double2 *x, double2 *out) {
    double2 v = x[threadIdx.x]; // load
    out[threadIdx.x] = make_double2(v.y, v.x);
}
"""
vectors = cuda.module(source=VECTORS)


@needs_ir
def test_struct_loads_are_split_by_alignment():
    three = np.dtype([(name, np.float32) for name in "abc"])
    x, out = (cuda.to_device(np.zeros(384, np.float32)) for _ in range(2))
    with cuda.profile() as p:
        vectors.copy4[1, 32](x.reshape(-1, 4), out.reshape(-1, 4))
        vectors.copy3[1, 32](x.view(three), out.view(three))
        vectors.copy2[1, 32](*(a.view(np.float64).reshape(-1, 2) for a in (x, out)))
    four, three = p.copy4.lines[0], p.copy3.lines[0]
    assert (four.global_load_requests, four.global_load_sectors) == (1, 16)
    assert (four.global_store_requests, four.global_store_sectors) == (1, 16)
    assert (three.global_load_requests, three.global_load_sectors) == (3, 3 * 12)
    assert (three.global_store_requests, three.global_load_bytes) == (3, 3 * 128)
    load = line_with_mark(p.copy2, "// load")
    assert (load.global_load_requests, load.global_load_sectors) == (1, 16)


# --- atomics

COUNT = r"""
__global__ void count(const int *index, int *bins, float *sums, double *most) {
    int k = index[blockIdx.x * blockDim.x + threadIdx.x];
    if (k < 0)
        return;
    atomicAdd(&bins[k], 1); // integers
    atomicAdd(&sums[k], 0.5f); // floats
    atomicMax(&bins[k], 3); // largest
}
__global__ void local(const int *index, int *bins) {
    __shared__ int own[64];
    if (threadIdx.x < 64) own[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&own[index[blockIdx.x * blockDim.x + threadIdx.x] % 64], 1); // block
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]); // grid
}
"""
counts = cuda.module(source=COUNT)


@cuda.jit
def count_in_python(index, bins):
    k = index[cuda.grid(1)]
    if k >= 0:
        cuda.atomic.add(bins, k, 1)  # integers


@pytest.mark.parametrize("pattern", INDICES)
def test_atomics_of_one_address_are_serialised(pattern):
    r = seeded_generator(pattern)
    index = INDICES[pattern](r, 256).astype(np.int32)
    bins = cuda.to_device(np.zeros(int(index.max()) + 1, np.int32))
    sums = cuda.to_device(np.zeros(len(bins), np.float32))
    most = cuda.to_device(np.zeros(len(bins)))
    with cuda.profile() as p:
        counts.count[2, 128](cuda.to_device(index), bins, sums, most)
        count_in_python[2, 128](cuda.to_device(index), bins)
    expected, count = shared_memory_passes(index), len(active_rows(index))
    lines = [line_with_mark(p.count, mark) for mark in ("// integers", "// floats", "// largest")]
    lines.append(line_with_mark(p.count_in_python, "# integers"))
    arrays = [bins, sums, bins, bins]
    for line, array in zip(lines, arrays, strict=True):
        addresses = np.where(index >= 0, device_address(array) + 4 * index.astype(np.int64), -1)
        found = line.global_atomic_sectors, line.global_atomic_passes
        assert found == sectors_and_passes(addresses)
        assert (line.global_atomic_requests, line.atomic_passes) == (count, expected)
        assert line.atomic_serialisation == pytest.approx(expected / count)
        assert line.global_load_requests == line.global_store_requests == 0


def test_a_histogram_in_shared_memory_has_few_global_atomics():
    index = seeded_generator("histogram").integers(0, 64, 1024).astype(np.int32)
    bins = cuda.to_device(np.zeros(64, np.int32))
    with cuda.profile() as p:
        counts.local[4, 256](cuda.to_device(index), bins)
    block, grid = line_with_mark(p.local, "// block"), line_with_mark(p.local, "// grid")
    assert (block.shared_atomic_requests, block.atomic_passes) == (32, shared_memory_passes(index))
    assert (grid.global_atomic_requests, grid.atomic_serialisation) == (8, 1)
    assert np.array_equal(bins.copy_to_host(), np.bincount(index, minlength=64))


# --- divergence

LOOPS = r"""
__global__ void rows(const int *lengths, const int *columns, float *out, int n) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < n; row += gridDim.x * blockDim.x) {
        float sum = 0;
        for (int j = 0; j < lengths[row]; ++j) // length
            sum += columns[row * 8 + j]; // element
        out[row] = sum; // result
    }
}
"""
loops = cuda.module(source=LOOPS)


@cuda.jit
def rows_in_python(lengths, columns, out, n):
    for row in range(cuda.grid(1), n, cuda.gridsize(1)):
        total = float32(0)
        for j in range(lengths[row]):
            total += float32(columns[row * 8 + j])  # element
        out[row] = total  # result


@needs_ir
@pytest.mark.parametrize("written", ["C++", "Python"])
def test_threads_meet_again_after_loops_of_different_lengths(written):
    r = seeded_generator(written)
    threads, n = 64, int(r.integers(65, 400))
    lengths = r.integers(0, 8, n).astype(np.int32)
    columns, out = cuda.to_device(np.ones(8 * n, np.int32)), cuda.to_device(np.zeros(n, np.float32))
    kernel = rows_in_python if written == "Python" else loops.rows
    mark = "# " if written == "Python" else "// "
    with cuda.profile() as p:
        kernel[1, threads](cuda.to_device(lengths), columns, out, n)
    padded = np.full(-(-n // threads) * threads, -1)
    padded[:n] = lengths
    turns = padded.reshape(-1, WARP)
    elements = sum(max(turn.max(), 0) for turn in turns)
    results = sum((turn >= 0).any() for turn in turns)
    element, result = (
        line_with_mark(p.launches[0], mark + "element"),
        line_with_mark(p.launches[0], mark + "result"),
    )
    assert element.global_load_requests == elements
    assert element.lanes == lengths.sum()
    assert result.global_store_requests == results
    assert result.lanes == n
    expected = 0
    for turn, rows in zip(turns, np.arange(padded.size).reshape(-1, WARP), strict=True):
        for j in range(max(turn.max(), 0)):
            expected += touched_sectors(
                _warp_row(device_address(columns) + 4 * (8 * rows[turn > j] + j)), 4
            )
    assert element.global_load_sectors == expected


def _warp_row(addresses):
    return np.pad(addresses, (0, WARP - len(addresses)), constant_values=-1)


def test_requests_above_the_tracking_limit_are_counted_exactly():
    source = """
    __global__ void many(const float *x, float *out, int n) {
        float sum = 0;
        for (int i = 0; i < n; ++i)
            sum += x[i * 32 + threadIdx.x]; // element
        out[threadIdx.x] = sum;
    }"""
    many = cuda.module(source=source).many
    n = 9000
    x, out = cuda.to_device(np.ones(32 * n, np.float32)), cuda.to_device(np.zeros(32, np.float32))
    with cuda.profile() as p:
        many[1, 32](x, out, n)
    element = line_with_mark(p.many, "// element")
    assert (element.global_load_requests, element.global_load_sectors) == (n, 4 * n)
    assert element.active_lanes == 32
    assert np.array_equal(out.copy_to_host(), np.full(32, n))


# --- kernels of textbooks

TRANSPOSE = r"""
__global__ void naive(const float *x, float *out, int n) {
    int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 32 + threadIdx.y;
    out[i * n + j] = x[j * n + i];
}
template <int pad> __global__ void tiled(const float *x, float *out, int n) {
    __shared__ float tile[32][32 + pad];
    int i = blockIdx.x * 32 + threadIdx.x, j = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = x[j * n + i]; // in
    __syncthreads();
    i = blockIdx.y * 32 + threadIdx.x, j = blockIdx.x * 32 + threadIdx.y;
    out[j * n + i] = tile[threadIdx.x][threadIdx.y]; // back
}
template <int step> __global__ void reduce(const float *x, float *out) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    for (int s = 1; s < 256; s *= 2) {
        int width = step ? 128 / s : s;
        if (step ? t < width : t % (2 * s) == 0)
            part[t] += part[t + width]; // add
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
"""
textbook = cuda.module(source=TRANSPOSE)


def test_a_naive_transpose_stores_32_sectors_a_request_and_a_tiled_one_4():
    n = 64
    x, out = (cuda.to_device(np.zeros((n, n), np.float32)) for _ in range(2))
    grid, requests = (n // 32, n // 32), n * n // 32
    with cuda.profile(gpu="H200") as p:
        textbook.naive[grid, (32, 32)](x, out, n)
        textbook["tiled<0>"][grid, (32, 32)](x, out, n)
        textbook["tiled<1>"][grid, (32, 32)](x, out, n)
    naive, tiled, padded = p.launches
    assert naive.load_sectors_per_request == 4
    assert naive.store_sectors_per_request == 32
    assert naive.global_store_requests == naive.global_load_requests == requests
    assert [tiled.sectors_per_request, padded.sectors_per_request] == [4, 4]
    back = line_with_mark(tiled, "// back")
    assert (back.shared_load_requests, back.shared_load_wavefronts) == (requests, 32 * requests)
    assert tiled.bank_conflicts == 31 * requests
    assert padded.bank_conflicts == 0
    assert any("32 sectors a store request; 4 if" in text for text in naive.advice)
    assert any("pad the rows" in text for text in tiled.advice)
    assert not any("wavefronts" in text for text in padded.advice)


@cuda.jit
def row_sums(starts, values, sums):
    """
    int row = grid<1>();
    float sum = 0;
    for (int j = starts[row]; j < starts[row + 1]; ++j)
        sum += values[j];
    sums[row] = sum;
    """


@needs_ir
@pytest.mark.parametrize("is_sorted", [False, True])
def test_rows_of_different_lengths_are_worth_sorting(is_sorted):
    """The advice names the loop, and no access in it."""
    lengths = np.repeat([40, 40, 8, 4], 32) if is_sorted else np.tile([40, 4, 8, 4], 32)
    starts = np.append(0, np.cumsum(lengths)).astype(np.int32)
    with cuda.profile(gpu="H200") as p:
        row_sums[1, 128](starts, np.ones(starts[-1], np.float32), np.zeros(128, np.float32))
    mean = lengths.sum() / (40 + 40 + 8 + 4) if is_sorted else lengths.sum() / (4 * 40)
    advice = [text for text in p.row_sums.advice if "of 32 threads" in text]
    if is_sorted:
        assert mean == 32 and not advice
        return
    (only,) = advice
    loop = next(line for line in p.row_sums.lines if line.loop_iterations)
    assert loop.text.strip().startswith("for") and only.startswith(f"{loop.place}: {mean:.1f} of")
    assert only.endswith("sort or group the rows by length")


@pytest.mark.parametrize("step", [0, 1])
def test_a_reduction_counts_the_threads_of_each_step(step):
    x, out = cuda.to_device(np.ones(512, np.float32)), cuda.to_device(np.zeros(2, np.float32))
    with cuda.profile() as p:
        textbook[f"reduce<{step}>"][2, 256](x, out)
    t, loads, lanes = np.arange(256), 0, 0
    expected = 0
    for s in 2 ** np.arange(8):
        width = 128 // s if step else s
        active = t < width if step else t % (2 * s) == 0
        for index in (t, t + width):
            addresses = np.where(active, 4 * index, -1)
            loads += len(active_rows(addresses))
            expected += count_bank_passes(addresses, 4)[0]
        lanes += int(active.sum())
    add = line_with_mark(p.launches[0], "// add")
    assert (add.shared_load_requests, add.shared_load_wavefronts) == (2 * loads, 2 * expected)
    assert add.lanes == 2 * 3 * lanes
    waits = sum(line.barrier_waits for line in p.lines)
    assert waits == 2 * 8 * 9
    assert out.copy_to_host().tolist() == [256, 256]


# --- the counted and uncounted accesses


@vectorize([float32(float32, float32)], target="cuda")
def plus(x, y):
    "return x + y;"


def test_profiled_ufuncs_and_reductions_run_gpu_kernels():
    n = 4096
    x = cuda.to_device(np.ones(n, np.float32))
    earlier = np.sum(x)
    with cuda.profile() as p:
        y = plus(x, x)
        total = np.sum(y)
        rows = np.sum(x.reshape(64, 64), axis=1)
    assert total.item() == 2 * n
    assert earlier.item() == n
    assert rows.copy_to_host().tolist() == [64] * 64
    elementwise, *sums = p.launches
    assert (elementwise.global_load_bytes, elementwise.global_store_bytes) == (8 * n, 4 * n)
    assert elementwise.sectors_per_request * WARP == pytest.approx(
        (8 * n + 4 * n) / (elementwise.global_load_requests + elementwise.global_store_requests)
    )
    assert sums[0].threads > 1
    assert sums[0].global_load_bytes >= 4 * n
    assert sums[0].active_lanes > 16


SCALE = """
__constant__ float weights[4];
__global__ void scale(float *x, float a) { x[threadIdx.x] = weights[threadIdx.x % 4] * a; }
"""


def test_variables_of_the_module_and_parameters_are_no_global_accesses():
    limits = np.arange(4, dtype=np.float32)

    @cuda.jit("void(float32[::1], float32)")
    def clip(x, a):
        """
        int i = threadIdx.x;
        x[i] = limits[i % 4] * a + x.size();
        """

    x = cuda.to_device(np.zeros(32, np.float32))
    with cuda.profile() as p:
        cuda.module(source=SCALE).scale[1, 32](x, 2)
        clip[1, 32](x, 2)
    assert (p.scale.global_load_requests, p.scale.global_store_requests) == (0, 1)
    assert p.scale.variable_load_requests == 1
    assert (p.clip.global_load_requests, p.clip.global_store_requests) == (0, 1)


@cuda.jit("void(int32[::1])")
def increment(x):
    "x[threadIdx.x] += 1;"


def test_only_launches_of_the_block_and_of_its_thread_are_counted():
    import threading

    x = cuda.to_device(np.zeros(32, np.int32))
    increment[1, 32](x)
    with cuda.profile() as p:
        increment[1, 32](x)
        other = threading.Thread(target=lambda: increment[1, 32](x))
        other.start()
        other.join()
        assert len(p.launches) == 1
        with cuda.checks():
            increment[1, 32](x)
        with cuda.profile() as inner:
            increment[1, 32](x)
            increment[2, 32](x)
        increment[1, 32](x)
    increment[1, 32](x)
    assert (len(p.launches), len(inner.launches)) == (2, 2)
    assert x.copy_to_host().tolist() == [9] * 32
    assert p.increment.global_load_requests == 2
    assert len(p.increment.launches) == 2


def test_a_graph_that_was_captured_in_the_block_can_run_after_it():
    x = cuda.to_device(np.zeros(32, np.int32))
    stream = cuda.stream()
    with cuda.profile() as p:
        with stream.capture() as graph:
            increment[1, 32, stream](x)
        graph.launch(stream)
        stream.synchronize()
        assert len(p.launches) == 1
    graph.launch(stream)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [2] * 32
    assert len(p.launches) == 1


def test_one_launch_is_profiled_by_the_kernel_itself():
    x = cuda.to_device(np.zeros(32, np.int32))
    launch = increment.profile(1, 32, x, gpu="A100")
    assert launch.gpu.name == "A100"
    assert (launch.global_load_sectors, launch.global_store_sectors) == (4, 4)
    assert x.copy_to_host().tolist() == [1] * 32


def test_counters_are_equal_in_every_run():
    index = seeded_generator("again").integers(0, 4096, 4096).astype(np.int32)
    out = cuda.to_device(np.zeros(4096, np.float32))
    found = []
    for _ in range(3):
        with cuda.profile() as p:
            gathers["gather<float>"][32, 128](out, cuda.to_device(index), out)
        found.append(json.dumps(p.as_dict()))
    assert found[0] == found[1] == found[2]


def test_a_record_outlives_its_kernel():
    source = """
    __global__ void temporary(int *x) {
        __shared__ int s[64];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = s[63 - threadIdx.x];
    }
    """
    kernel = cuda.jit(source=source, name="temporary")
    memory = weakref.ref(kernel)
    with cuda.profile() as profile:
        kernel[1, 64](cuda.to_device(np.zeros(64, np.int32)))
        cuda.synchronize()
        del kernel
        gc.collect()
    assert memory() is None
    (launch,) = profile.launches
    assert {line.file for line in launch.lines} == {__file__}
    assert launch.barrier_waits == 2


def test_failed_launch_is_marked_as_incomplete():
    @cuda.jit("void(int32[::1])")
    def trap_after_store(x):
        """
        x[threadIdx.x] = 1;
        __trap();
        """

    p = cuda.profile()
    with pytest.raises(Exception, match="trap_after_store"), p:
        trap_after_store[1, 32](np.zeros(32, np.int32))
    assert all(not launch.is_complete for launch in p.launches)


def test_a_program_error_leaves_the_block_and_ends_the_profile():
    x = cuda.to_device(np.zeros(32, np.int32))
    with pytest.raises(ZeroDivisionError), cuda.profile() as p:
        increment[1, 32](x)
        cuda.synchronize()
        1 / 0
    assert len(p.launches) == 1
    with pytest.raises(KernelError), cuda.checks():
        increment[1, 64](x)


def test_unknown_names_and_lines_raise_with_the_existing_ones():
    x = cuda.to_device(np.zeros(32, np.int32))
    with cuda.profile() as p:
        increment[1, 32](x)
    with pytest.raises(AttributeError, match="no kernel 'other'.* launched were: increment"):
        _ = p.other
    with pytest.raises(KeyError, match="increment"):
        _ = p["other"]
    with pytest.raises(LookupError, match="no memory access.*lines with counters: test_profile.py"):
        p.increment.line(1)
    with pytest.raises(ValueError, match="no data for the GPU 'V100'; there are for A100"):
        cuda.profile(gpu="V100")
    with pytest.raises(TypeError, match="name of a GPU"):
        cuda.profile(gpu=3)
    assert "increment" in dir(p)


def test_a_profile_is_shown_as_a_table_of_the_source():
    x = cuda.to_device(np.zeros(32, np.int32))
    with cuda.profile(gpu="T4") as p:
        assert "no kernel was launched" in repr(p)
        increment[1, 32](x)
    text, html = repr(p), p._repr_html_()
    assert "increment: 1 launch" in text
    assert '"x[threadIdx.x] += 1;"' in text
    assert "1 block for the 40 multiprocessors of the T4" in text
    assert "as written" in text
    assert "<table>" in html
    assert "x[threadIdx.x] += 1;" in html
    assert "rgba" in html


def test_a_profile_of_several_kernels_ends_with_those_that_take_longest():
    n = 1 << 15
    x, out = (cuda.to_device(np.zeros(n, np.float32)) for _ in range(2))
    index = cuda.to_device(np.arange(n, dtype=np.int32) * 32 % n)
    with cuda.profile(gpu="T4") as p:
        increment[1, 32](cuda.to_device(np.zeros(32, np.int32)))
        for _ in range(3):
            gathers["gather<float>"][n // 128, 128](x, index, out)
    *_, title, first, second = repr(p).split("\n")
    assert title == "Kernels by predicted time on the T4, with the first advice for each:"
    assert re.match(r"\d+%  .* us  gather<float> .*: 32 sectors a load request; 4 if", first)
    assert re.match(r" *\d+%  .* us  increment .*1 block for the 40 multiprocessors", second)
    assert "sect/req: sectors of 32 bytes" in repr(p)
    page = p._repr_html_()
    assert page.index(title) < page.index("gather&lt;float&gt;") < page.index("increment")
    shades = [float(shade) for shade in re.findall(r"rgba\(230, 80, 40, ([\d.]+)\)", page)]
    assert max(shades) == 0.45  # counters of the most expensive line of all kernels
    assert min(shades) < 0.01
    shares = [int(row.split("%")[0]) for row in (first, second)]
    assert shares[0] > shares[1] and sum(shares) in (99, 100, 101)


def test_dram_bytes_lie_between_what_is_touched_and_what_is_requested():
    n = 1024
    x, out = (cuda.to_device(np.zeros(n, np.float32)) for _ in range(2))
    index = cuda.to_device(np.arange(n, dtype=np.int32) % 64)
    with cuda.profile() as p:
        gathers["gather<float>"][n // 128, 128](x, index, out)
    low, high = p.launches[0].dram_bytes
    assert (low, high) == (4 * n + 256, 4 * n + 512)
    assert p.launches[0].bound == "launch"


PROGRAM = """
import sys
import numpy as np
from numbalite import cuda

@cuda.jit
def columns(a, out):
    i = cuda.grid(1)
    total = 0.0
    for j in range(a.shape[1]):
        total += a[i, j]
    out[i] = total

print("begins", *sys.argv[1:])
columns[2, 32](np.ones((64, 64), np.float32), np.zeros(64, np.float32))
sys.exit(3)
"""


def test_profile_command_prints_a_program_profile(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)

    def run_profile_command(*options):
        return subprocess.run(
            [sys.executable, "-m", "numbalite", "profile", *options, str(path), "argument"],
            capture_output=True,
            text=True,
            check=False,
        )

    plain, as_json = run_profile_command(), run_profile_command("--json", "--gpu", "rtx-4090")
    assert (plain.returncode, as_json.returncode) == (3, 3)
    assert plain.stdout.startswith("begins argument\n")
    assert (
        "program.py:11: 32 sectors a load request; 4 if neighbouring threads read" in plain.stdout
    )
    assert as_json.stderr.startswith("begins argument\n")
    found = json.loads(as_json.stdout)
    assert found["gpu"] == "RTX 4090"
    (kernel,) = found["kernels"]
    lines = {line["line"]: line for line in kernel["lines"]}
    assert lines[11]["load_sectors_per_request"] == 32
    assert run_profile_command("--gpu", "V100").returncode == 2
    assert run_profile_command("--other").returncode == 2


# --- caches

REPEATED = r"""
__global__ void chase(const int *index, const float *x, float *out, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i)
        sum += x[index[i * 32 + threadIdx.x]];
    out[threadIdx.x] = sum;
}
"""
repeated = cuda.module(source=REPEATED)


def reuse_distances(rows):
    """Sector loads as (distance in lines, or None if the sector was not loaded) of one warp, by a list of lines."""
    newest, loaded = [], set()
    for addresses in rows:
        for line in dict.fromkeys(a // 128 for a in addresses):
            sectors = {a // 32 for a in addresses if a // 128 == line}
            distance = newest[::-1].index(line) if line in newest else None
            for sector in sectors:
                yield distance if sector in loaded else None
            loaded |= sectors
            if line in newest:
                newest.remove(line)
            newest.append(line)


@needs_ir
@pytest.mark.parametrize("size", [100, 3000])
def test_l1_hits_match_a_least_recently_used_cache(size):
    n = 200
    index = seeded_generator(("caches", size)).integers(0, size, (n, 32)).astype(np.int32)
    x, out = cuda.to_device(np.ones(size, np.float32)), cuda.to_device(np.zeros(32, np.float32))
    device_index = cuda.to_device(index)
    with cuda.profile(gpu="T4") as p:
        repeated.chase[1, 32](device_index, x, out, n)
    (launch,) = p.launches
    rows = []
    for i in range(n):
        rows.append(device_address(device_index) + 4 * (32 * i + np.arange(32)))
        rows.append(device_address(x) + 4 * index[i].astype(np.int64))
    expected = list(reuse_distances([row.tolist() for row in rows]))
    assert launch.reuse[0] == expected.count(None)
    for entry in range(1, 15):
        low, high = caches.min_reuse_distance(entry), caches.min_reuse_distance(entry + 1)
        within = sum(d is not None and low <= d < high for d in expected)
        assert launch.reuse[entry] == within
    rate = launch.l1_hit_rate
    assert rate.low <= sum(d is not None for d in expected) / len(expected) + 1e-9
    assert rate.high <= sum(d is not None for d in expected) / len(expected) + 1e-9
    assert rate.high > 0.4
    assert sum(launch.reuse) == launch.global_load_sectors


def test_data_that_fit_into_the_l2_cache_are_loaded_once():
    n = 64
    x, out = (cuda.to_device(np.zeros((n, n), np.float32)) for _ in range(2))
    with cuda.profile(gpu="H200") as p:
        textbook.naive[(n // 32, n // 32), (32, 32)](x, out, n)
    (launch,) = p.launches
    assert launch.dram_bytes.low == 4 * n * n
    assert launch.dram_bytes.high == 8 * n * n
    assert launch.l1_hit_rate == (0, 0)
    stores, loads = 32 * n * n // 32, 4 * n * n // 32
    assert launch.l2_hit_rate.high == pytest.approx(stores / (stores + loads))


@needs_nvrtc
def test_kernels_that_differ_in_options_for_the_gpu_have_their_own_registers():
    def make_busy_kernel(**options):
        @cuda.jit("void(const float32[::1], float32[::1])", **options)
        def busy_kernel(x, out):
            """
            float v[40];
            for (int k = 0; k < 40; ++k) v[k] = x[threadIdx.x + 32 * k];
            for (int j = 0; j < 100; ++j)
                for (int k = 0; k < 40; ++k) v[k] = v[k] * v[(k + 7) % 40] + x[j];
            float sum = 0;
            for (int k = 0; k < 40; ++k) sum += v[k];
            out[threadIdx.x] = sum;
            """

        return busy_kernel

    x, out = cuda.to_device(np.zeros(2000, np.float32)), cuda.to_device(np.zeros(32, np.float32))
    kernels = [make_busy_kernel(), make_busy_kernel(max_registers=24)]
    free, limited = (kernel.profile(1, 32, x, out) for kernel in kernels)
    assert free.registers > 32
    assert limited.registers <= 24
    assert limited.local_bytes > 0
