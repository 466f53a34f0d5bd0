"""Tests the results of the device library's atomics: every type, addresses, and arrays with one or several
indices."""

import math

import numpy as np
import pytest
from kit.launch import run_on_copies

from numbalite import cuda

ATOMICS = r"""
template <class T> __global__ void count(T *cells) {
    T one = 1;
    atomic_add(&cells[0], one); atomic_sub(&cells[1], one);
    atomic_max(&cells[2], T(threadIdx.x)); atomic_min(&cells[3], T(threadIdx.x));
    atomic_nanmax(&cells[4], T(threadIdx.x)); atomic_nanmin(&cells[5], T(threadIdx.x));
    T old = cells[6];
    for (;;) { T seen = atomic_cas(&cells[6], old, T(old + 1)); if (seen == old) break; old = seen; }
    if (threadIdx.x == 3 && blockIdx.x == 0) { cells[7] = 1; T was = atomic_exch(&cells[7], T(5)); cells[8] = was; }
}
template <class T> __global__ void bits(T *cells) {
    atomic_or(&cells[0], T(1 << (threadIdx.x & 3))); atomic_and(&cells[1], T(~(1 << (threadIdx.x & 3))));
    atomic_xor(&cells[2], T(1)); atomic_inc(&cells[3], T(9)); atomic_dec(&cells[4], T(9));
}
__global__ void through_arrays(array<float> a, array<long long> b, array<complex64> c) {
    atomic_max(a, 1, threadIdx.x); atomic_add(a, 0, 0.5); atomic_cas(b, 0, 0, 7); atomic_add(b, 1, 2);
    atomic_add(&c[0], complex64(1, 2)); atomic_add(c, 1, 1);
}
__global__ void not_a_number(double *d, double nan) {
    atomic_max(&d[0], 1.0); atomic_max(&d[1], nan); atomic_nanmax(&d[2], 1.0); atomic_nanmax(&d[3], nan);
    atomic_nanmin(&d[4], 1.0); atomic_min(&d[5], -3.0);
}
"""


NUMBERS = {
    "int8": np.int8,
    "uint8": np.uint8,
    "int16": np.int16,
    "uint16": np.uint16,
    "int32": np.int32,
    "uint32": np.uint32,
    "int64": np.int64,
    "uint64": np.uint64,
    "float": np.float32,
    "double": np.float64,
}


INTEGERS = [name for name in NUMBERS if "int" in name]


@pytest.fixture(scope="module")
def atomics_module():
    names = [f"count<{name}>" for name in NUMBERS] + [f"bits<{name}>" for name in INTEGERS]
    return cuda.module(ATOMICS, names=names)  # compiled at once


@pytest.mark.parametrize("name", NUMBERS)
def test_atomics_update_every_number_type(atomics_module, name):
    dtype = NUMBERS[name]
    # A neighbour with an odd value on both sides shows
    # whether an atomic on a narrow type changes the rest of the word.
    start = np.array([0, 120, 5, 5, 5, 5, 0, 0, 0, 77], dtype)
    (out,) = run_on_copies(atomics_module[f"count<{name}>"], 2, 40, start)
    assert out.tolist() == [80, 40, 39, 0, 39, 0, 80, 5, 1, 77]


@pytest.mark.parametrize("name", INTEGERS)
def test_bitwise_atomics_update_every_integer_type(atomics_module, name):
    start = np.array([0, 127, 0, 0, 0, 99], NUMBERS[name])
    (out,) = run_on_copies(atomics_module[f"bits<{name}>"], 1, 33, start)
    assert out.tolist() == [15, 112, 1, 3, 7, 99]


def test_atomics_accept_an_array_and_an_index(atomics_module):
    a, b, c = run_on_copies(
        atomics_module.through_arrays,
        1,
        32,
        np.zeros(2, np.float32),
        np.zeros(2, np.int64),
        np.zeros(2, "c8"),
    )
    assert a.tolist() == [16, 31]
    assert b.tolist() == [7, 64]
    assert c.tolist() == [32 + 64j, 32]


@cuda.jit
def add_at(a, rows, columns, values):
    """
    auto k = grid<1>();
    if (k < values.size()) atomic_add(a, {rows[k], columns[k]}, values[k]);
    """


@pytest.mark.parametrize(
    "dtype, layout",
    [("float32", "C"), ("float32", "F"), ("float32", "strided"), ("int64", "C"), ("uint8", "F"),
     ("complex64", "strided")],
)  # fmt: skip
def test_atomics_accept_several_indices(dtype, layout):
    random = np.random.default_rng(7)
    a = np.zeros((5, 7), dtype, "F" if layout == "F" else "C")
    rows, columns = random.integers(0, 5, 300), random.integers(0, 7, 300).astype(np.uint16)
    values = random.integers(0, 2, 300).astype(dtype)
    expected = a.copy()
    np.add.at(expected, (rows, columns), values)
    if layout == "strided":
        wide = cuda.to_device(np.zeros((5, 14), dtype))
        a = wide[:, ::2]
    device = cuda.to_device(a) if isinstance(a, np.ndarray) else a
    add_at[10, 32](device, *map(cuda.to_device, (rows, columns, values)))
    assert np.array_equal(device.copy_to_host(), expected)


SEVERAL = r"""
__global__ void k(array<int, 2> a, array<int, 3> b, array<int, 4, layout::F> c, int *old) {
    int i = threadIdx.x, j = 1; size_t k = 2;
    old[0] = atomic_sub(a, {i, j}, 2);
    old[1] = atomic_max(b, {i, j, k}, 50);
    old[2] = atomic_min(c, {i, 0, 0, 1}, -7);
    old[3] = atomic_cas(c, {0, 0, 0, 0}, 5, 6);
    old[4] = atomic_exch(a, {i, j}, 3); old[5] = atomic_add(a[i], {j}, 4); old[6] = atomic_inc(a[i], j, 100);
}
"""


def test_atomics_accept_up_to_four_indices():
    a, b = np.full((1, 2), 9, np.int32), np.arange(6, dtype=np.int32).reshape(1, 2, 3)
    c = np.asfortranarray(np.full((1, 1, 1, 2), 5, np.int32))
    a, b, c, old = run_on_copies(cuda.jit(source=SEVERAL), 1, 1, a, b, c, np.zeros(7, np.int32))
    assert old.tolist() == [9, 5, 5, 5, 7, 3, 7]
    assert a.tolist() == [[9, 8]] and b.tolist() == [[[0, 1, 2], [3, 4, 50]]]
    assert c.tolist() == [[[[6, -7]]]]


def test_atomic_max_and_min_handle_nan(atomics_module):
    nan = math.nan
    (out,) = run_on_copies(
        atomics_module.not_a_number, 1, 1, np.array([nan, 2, nan, 2, nan, 5.0]), nan
    )
    assert np.array_equal(out, [nan, 2, 1, 2, 1, -3], equal_nan=True)
