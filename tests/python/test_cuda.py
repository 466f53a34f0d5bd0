"""Tests CUDA features in Python bodies: the grid, shared and local memory, barriers, atomics,
warps, random numbers."""

import math

import numpy as np
import pytest

from numbalite import cuda, float32, int32, int64
from numbalite.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

TPB = 16


@cuda.jit
def matmul(A, B, C):
    """Multiplies two matrices, as in numba.cuda's documentation."""
    sA = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    sB = cuda.shared.array(shape=(TPB, TPB), dtype=float32)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    bpg = cuda.gridDim.x
    tmp = float32(0.0)
    for i in range(bpg):
        sA[ty, tx] = 0
        sB[ty, tx] = 0
        if y < A.shape[0] and (tx + i * TPB) < A.shape[1]:
            sA[ty, tx] = A[y, tx + i * TPB]
        if x < B.shape[1] and (ty + i * TPB) < B.shape[0]:
            sB[ty, tx] = B[ty + i * TPB, x]
        cuda.syncthreads()
        for j in range(TPB):
            tmp += sA[ty, j] * sB[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = tmp


def test_tiled_matmul_matches_numpy():
    rng = np.random.default_rng(1)
    A, B = rng.random((40, 30), np.float32), rng.random((30, 50), np.float32)
    C = np.zeros((40, 50), np.float32)
    matmul[(4, 4), (16, 16)](A, B, C)
    np.testing.assert_allclose(C, A @ B, rtol=1e-4)


@cuda.jit
def write_indices(out):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    x, y, z = cuda.grid(3)
    gx, gy, gz = cuda.gridsize(3)
    n = cuda.gridsize(1)
    if i < n:
        out[i, 0] = x + y + z
        out[i, 1] = gx * gy * gz
        out[i, 2] = cuda.gridDim.x * cuda.blockDim.x
        out[i, 3] = cuda.laneid + cuda.warpsize
        out[i, -1] = cuda.threadIdx.x - cuda.blockIdx.x


def test_thread_index_attributes_match_the_grid():
    out = np.zeros((8, 5), np.int64)
    write_indices[2, 4](out)
    assert out[:, 0].tolist() == list(range(8))
    assert set(out[:, 1]) == set(out[:, 2]) == {8}
    assert out[:, 3].tolist() == [32, 33, 34, 35] * 2
    assert out[:, 4].tolist() == [0, 1, 2, 3, -1, 0, 1, 2]


@cuda.jit
def histogram(x, xmin, xmax, out):
    nbins = out.shape[0]
    bin_width = (xmax - xmin) / nbins
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        bin_number = int32((x[i] - xmin) / bin_width)
        if bin_number >= 0 and bin_number < out.shape[0]:
            cuda.atomic.add(out, bin_number, 1)


def test_shared_histogram_matches_numpy():
    x = np.random.default_rng(2).normal(size=500).astype(np.float32)
    out = np.zeros(10, np.int32)
    histogram[3, 32](x, np.float32(-4), np.float32(4), out)
    assert out.tolist() == np.histogram(x, bins=10, range=(-4, 4))[0].tolist()


@cuda.jit
def update_atomically(ints, floats, table, old):
    i = cuda.threadIdx.x
    cuda.atomic.add(ints, 0, i)
    cuda.atomic.sub(ints, 1, 1)
    cuda.atomic.max(ints, 2, i * 3)
    cuda.atomic.min(ints, 3, -i)
    cuda.atomic.and_(ints, 4, 6)
    cuda.atomic.or_(ints, 5, 1 << i)
    cuda.atomic.xor(ints, 6, i)
    cuda.atomic.inc(ints, 7, 100)
    cuda.atomic.exch(ints, -1, 9)
    cuda.atomic.add(floats, 0, 0.5)
    cuda.atomic.max(floats, 1, i)
    cuda.atomic.add(table, (1, -1), 1)
    cuda.atomic.cas(ints, 8, 0, 5)
    shared = cuda.shared.array(2, int64)
    if i == 0:
        shared[1] = 0
    cuda.syncthreads()
    was = cuda.atomic.add(shared, 1, 1)
    cuda.syncthreads()
    if was == 3:
        old[0] = shared[-1]


def test_atomics_update_and_return_old_values():
    ints = np.zeros(10, np.uint32).astype(np.int32)
    ints[4] = 7
    ints = ints.astype(np.uint32)
    floats, table, old = np.zeros(2, np.float32), np.zeros((2, 3)), np.zeros(1, np.int64)
    update_atomically[1, 8](ints.view(np.int32) if False else ints, floats, table, old)
    assert ints[:3].view(np.int32).tolist() == [28, -8, 21]
    assert ints[4:].tolist() == [6, 255, 0, 8, 5, 9]
    assert floats.tolist() == [4, 7] and table[1].tolist() == [0, 0, 8] and old[0] == 8


@cuda.jit
def return_old_values(a, value, old):
    old[0] = cuda.atomic.add(a, 0, value)
    old[1] = cuda.atomic.sub(a, 1, value)
    old[2] = cuda.atomic.max(a, 2, value)
    old[3] = cuda.atomic.min(a, 3, value)
    old[4] = cuda.atomic.exch(a, 4, value)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64, np.float32, float])
def test_atomics_update_each_type(dtype):
    """An atomic calls CUDA's own function if the type has one, without a header; the value is converted."""
    before = np.arange(10, 15, dtype=dtype)
    a, old = before.copy(), np.zeros(5, dtype)
    return_old_values[1, 1](a, 3.7, old)
    value = dtype(3.7)
    assert a.tolist() == [10 + value, 11 - value, 12, value, value]
    assert (old == before).all()
    (text,) = (
        return_old_values.inspect_source(s)
        for s in return_old_values.signatures
        if s[0].dtype.dtype == dtype
    )
    is_native = dtype in (np.int32, np.uint32, np.uint64, np.float32)
    assert ("atomicAdd(&a[0], " if is_native else "atomic_add(&a[0], ") in text


FULL = 0xFFFFFFFF


@cuda.jit
def warp_operations(x, out):
    i = cuda.threadIdx.x
    value = x[i]
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(FULL, value, offset)
        offset //= 2
    if i == 0:
        out[0] = value
    ballot = cuda.ballot_sync(FULL, i % 2 == 0)
    out[1] = cuda.popc(ballot)
    out[2] = cuda.all_sync(FULL, i < 32)
    out[3] = cuda.any_sync(FULL, i == 40)
    out[4] = cuda.shfl_sync(FULL, i, 5)
    mask, same = cuda.match_all_sync(FULL, 7)
    out[5] = same
    out[6] = cuda.clz(1) + cuda.ffs(8) + cuda.popc(int32(255))
    out[7] = cuda.selp(i >= 0, 3, 4)
    out[8] = cuda.fma(2.0, 3.0, 1.0) + cuda.cbrt(27.0)
    out[9] = cuda.syncthreads_count(i < 10)
    cuda.syncwarp()
    cuda.threadfence()


def test_warp_functions_return_expected_values():
    x, out = np.arange(32, dtype=np.float32), np.zeros(10)
    warp_operations[1, 32](x, out)
    assert out.tolist() == [496, 16, 1, 0, 5, 1, 63 + 4 + 8, 3, 10, 10]


@cuda.jit
def memory_operations(x, out):
    buffer = cuda.shared.array(0, float32)
    local = cuda.local.array((2, 3), np.int64, alignment=64)
    i = cuda.threadIdx.x
    buffer[i] = x[i]
    for j in range(2):
        for k in range(3):
            local[j, k] = j * 10 + k
    cuda.syncthreads()
    row = local[1]
    out[i] = buffer[cuda.blockDim.x - 1 - i] + local[-1, -1] + row[0] + local.shape[1]


def test_shared_local_and_constant_arrays_work():
    x, out = np.arange(8, dtype=np.float32), np.zeros(8)
    memory_operations[1, 8, 0, 32](x, out)
    assert out.tolist() == [7 - i + 12 + 10 + 3 for i in range(8)]
    (text,) = memory_operations.inspect_source().values()
    assert "__align__(64) int64 local[2][3];" in text


@cuda.jit
def monte_carlo_pi(states, iterations, out):
    thread_id = cuda.grid(1)
    inside = 0
    for i in range(iterations):  # noqa: B007
        x = xoroshiro128p_uniform_float32(states, thread_id)
        y = xoroshiro128p_uniform_float32(states, thread_id)
        if x**2 + y**2 <= 1.0:
            inside += 1
    out[thread_id] = 4.0 * inside / iterations


def test_monte_carlo_estimates_pi():
    states = create_xoroshiro128p_states(64, seed=1)
    out = np.zeros(64, np.float32)
    monte_carlo_pi[2, 32](states, 200, out)
    assert abs(out.mean() - math.pi) < 0.1


@cuda.jit
def dynamic_shared_views(x, out):
    whole = cuda.shared.array(0, float32)
    front, back = whole[:2], whole[2:]
    i = cuda.threadIdx.x
    if i < 2:
        front[i] = i + 1
        back[i - 1] = x[i]
    cuda.syncthreads()
    if i < 2:
        whole[i - 2] += 10
    cuda.syncthreads()
    out[i] = whole[i]
    out[4] = whole.size + back.shape[0]


def test_dynamic_shared_memory_has_the_launch_size():
    out = np.zeros(5)
    dynamic_shared_views[1, 4, 0, 16](np.array([3.0, 4]), out)
    assert out.tolist() == [1, 2, 14, 13, 6]


def test_device_arrays_are_captured():
    table = cuda.to_device(np.arange(6.0).reshape(2, 3))

    @cuda.jit(device=True)
    def last_of_row(i):
        return table[i, -1]

    @cuda.jit
    def read_captured_table(out):
        out[0] = last_of_row(1) + table.shape[1]
        table[0, 1] = 7

    out = np.zeros(1)
    read_captured_table[1, 1](out)
    assert out[0] == 8
    assert table.copy_to_host().tolist() == [[0, 7, 2], [3, 4, 5]]


def test_print_matches_pythons_format(capfd):
    @cuda.jit
    def print_values(x):
        print("x\n", x, (1, (x, True), (2.5,)), "50%", '"\\"', cuda.threadIdx)
        print()

    print_values[1, 1](7)
    cuda.synchronize()
    assert capfd.readouterr().out == ('x\n 7 (1, (7, True), (2.500000,)) 50% "\\" (0, 0, 0)\n\n')


def filled_ascending(a, first):
    for i in range(a.size):
        a[i] = first + i
    return a


@cuda.jit
def dynamic_shared_halves(out):
    whole = cuda.shared.array(0, float32)
    behind = cuda.shared.array(0, int32)[1:]
    whole[0] = 3.5
    behind[0] = 7
    out[0] = whole[0] + behind[0]
    out[1] = filled_ascending(cuda.local.array(4, int32), 3)[3]
    row = cuda.local.array((2, 3), float32)[1]
    row[2] = 5
    out[2] = row[2] + row.size + len(cuda.local.array(6, int32))
    a = b = cuda.local.array(2, int32)
    a[0] = 4
    out[3] = b[0]
    pair = (cuda.shared.array(8, int32), 3)
    pair[0][1] = 6
    out[4] = pair[0][1] + pair[1]
    c, d = cuda.local.array(2, int32), cuda.local.array(3, float32)
    c[0] = 1
    d[2] = 2.5
    out[5] = c[0] + d[2]


def test_unnamed_array_expressions_can_be_indexed():
    """Tests views of shared and local arrays, and arrays that are passed directly to a function."""
    out = np.zeros(6)
    dynamic_shared_halves[1, 1, 0, 8](out)
    assert out.tolist() == [10.5, 6, 14, 4, 9, 3.5]
