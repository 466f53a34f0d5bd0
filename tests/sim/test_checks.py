"""Tests checked kernels on the simulator: memory accesses. Each mistake is found, and its corrected twin
is not reported; reports name the kernel, the line, the thread and the element."""

import os
import pickle
import resource
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from kit.lines import line_numbers_of
from kit.needs import IS_X86

from numbalite import config, cuda, guvectorize, vectorize
from numbalite.errors import CudaSupportError, KernelError

if not cuda.is_simulated():
    pytest.skip("only the simulator looks for mistakes", allow_module_level=True)

SOURCE = """
struct record { float x; char tag; double y; };
__device__ int table[10];
__constant__ float weights[4];
__device__ int calls;

__global__ void offset(float *x, int k) { x[threadIdx.x + k] = 1; }
__global__ void misaligned(char *p, int k) { *(int *)(p + k) = 1; }
__global__ void vectors(const float *x, float *out, int k, int other) {
    float4 v = ((const float4 *)(x + k))[threadIdx.x];
    *(float4 *)(out + other) = v;
}
__global__ void copy(int *to, const int *from, int bytes) { memcpy(to, from, bytes); }
__global__ void add(int *to, const int *from) { to[threadIdx.x] = from[threadIdx.x] + 1; }
__global__ void atomics(int *x, int k) { atomicAdd(x + k, 1); }
__global__ void null(int *x, int k) { int *p = 0; if (threadIdx.x == k) *p = 1; x[threadIdx.x] = 1; }
__global__ void pointers(const unsigned long long *p, int k) { ((int *)p[threadIdx.x])[k] = 1; }
__global__ void records(record *p, int n) {
    int i = threadIdx.x;
    if (i < n) { record q; q.x = 1; q.tag = 2; q.y = i; p[i] = q; }
    __syncthreads();
    record r = p[i];
    r.x += 1;
    p[i] = r;
}
__global__ void variable(int k) { table[threadIdx.x + k] = 1; atomicAdd(&calls, 1); }
__global__ void constants(float *out) { out[threadIdx.x] = weights[threadIdx.x]; }
__global__ void local(int *out, int k) {
    int a[10];
    for (int i = 0; i < 10; i++) a[i] = i;
    a[k] = 3;
    out[threadIdx.x] = a[k];
}
__global__ void neighbours(float *x, int k) {
    __shared__ __align__(16) float first[32], second[32];
    int i = threadIdx.x;
    first[i] = i; second[i] = -i;
    __syncthreads();
    x[i] = first[i + k] + second[i];
}
__global__ void flat(int *x) {
    __shared__ int t[4][4];
    t[0][threadIdx.x] = threadIdx.x;
    __syncthreads();
    x[threadIdx.x] = t[0][15 - threadIdx.x];
}
__global__ void dynamic(float *x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void partly(float *x, int n) {
    __shared__ float s[32];
    if (threadIdx.x < n) s[threadIdx.x] = 1;
    __syncthreads();
    x[threadIdx.x] = s[31 - threadIdx.x];
}
template <int N> __global__ void sized(float *x) {
    __shared__ float s[N];
    auto at = [&](int i) -> float & { return s[i]; };
    at(threadIdx.x) = 2;
    __syncthreads();
    x[threadIdx.x] = at(N - 1 - threadIdx.x);
}
"""


NAMES = """
__constant__ float powers[4];
struct triple { float v[3]; };
#define AT(k) a[k]
inline __device__ float pick(const float (&q)[4], int k) { return q[k]; /* passed */ }
__global__ void table(float *x, int k) { x[0] = powers[k]; /* table */ }
__global__ void inner(float *x, int k) { float t[3][4] = {}; x[0] = t[1][k]; /* inner */ }
__global__ void outer(float *x, int k) { float t[3][4] = {}; x[0] = t[k][1]; /* outer */ }
__global__ void member(float *x, int k) { triple r = {}; x[0] = r.v[k]; /* member */ }
__global__ void view(float *x, int k) {
    float a[4] = {};
    numbalite::array<float> s{a, {4}, {4}};
    x[0] = s[k]; /* view */
}
__global__ void row(float *x, int k) {
    float a[8] = {};
    numbalite::array<float, 2> s{a, {2, 4}, {16, 4}};
    x[0] = s[1][k]; /* row */
}
__global__ void element(float *x, int k) {
    float a[8] = {};
    numbalite::array<float, 2> s{a, {2, 4}, {16, 4}};
    x[0] = s(1, k); /* element */
}
__global__ void passed(float *x, int k) { float a[4] = {}; x[0] = pick(a, k); }
__global__ void macro(float *x, int k) { float a[4] = {}; x[0] = AT(k); /* macro */ }
"""


@pytest.fixture(scope="module")
def names_module():
    return cuda.module(NAMES)


@pytest.fixture(scope="module")
def kernels():
    return cuda.module(SOURCE, names=["sized<32>", "sized<64>"])


@pytest.fixture(autouse=True)
def enable_checks():
    with cuda.checks("memory", "unwritten"):
        yield


def line_in_source(text):
    """Returns the line of this file where SOURCE has the text."""
    return line_numbers_of(text, __file__)[0]


def report_of(launch, *args):
    """Returns the report of a launch that fails. The next launch works."""
    with pytest.raises(KernelError) as caught:
        launch(*args)
        cuda.synchronize()
    cuda.synchronize()
    return caught.value


def launch_without_report(launch, *args):
    launch(*args)
    cuda.synchronize()


def device_zeros(*shape, dtype=np.float32):
    return cuda.to_device(np.zeros(shape, dtype))


# --- reports


@cuda.jit("void(const float32[:], const float32[:], float32[:])")
def vadd(a, b, out):
    """
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out.data()[i] = a.data()[i] + b.data()[i];
    """


def test_a_report_has_thread_access_and_line():
    a = device_zeros(128)
    error = report_of(vadd[4, 32], a, a, device_zeros(100))
    line = line_in_source("out.data()[i] = a.data()[i]")
    assert str(error) == (
        f"vadd ({__file__}, line {line}): block (3,0,0), thread (4,0,0) writes out[100], "
        "but out has 100 elements (and 27 more, in 1 place)"
    )
    assert (error.kernel, error.file, error.line) == ("vadd", __file__, line)
    assert (error.block, error.thread) == ((3, 0, 0), (4, 0, 0))
    assert (error.kind, error.array, error.index, error.others) == ("memory", "out", 100, 27)
    assert (error.access, error.size) == ("writes", 4) and error.address
    assert error.other_thread is None
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)


def test_valid_elements_are_written_despite_an_error():
    a, out = cuda.to_device(np.arange(128, dtype=np.float32)), device_zeros(100)
    report_of(vadd[4, 32], a, a, out)
    np.testing.assert_array_equal(out.copy_to_host(), 2 * np.arange(100))


def test_repeated_launches_have_equal_reports():
    a = device_zeros(1 << 14)
    texts = {str(report_of(vadd[256, 64], a, a, device_zeros(100))) for _ in range(5)}
    assert len(texts) == 1
    assert "block (1,0,0), thread (36,0,0) writes out[100]" in texts.pop()


def test_threads_are_named_in_three_dimensions(kernels):
    @cuda.jit
    def cube(x):
        """
        x.data()[threadIdx.x + 2 * (threadIdx.y + 3 * threadIdx.z)] = 1;
        """

    error = report_of(cube[(1, 1), (2, 3, 4)], device_zeros(23))
    assert error.thread == (1, 2, 3)


# --- out of bounds


@pytest.mark.parametrize("k, good", [(0, True), (1, False), (-1, False), (1000, False)])
def test_pointer_accesses_are_checked_against_the_array(kernels, k, good):
    x = device_zeros(32)
    if good:
        launch_without_report(kernels.offset[1, 32], x, k)
    else:
        error = report_of(kernels.offset[1, 32], x, k)
        first = 32 if k == 1 else k % 2**32  # threadIdx.x is unsigned
        assert f"writes x[{first}], but x points to 32 elements" in str(error)
        assert error.line == line_in_source("void offset(")


def test_pointers_to_slices_are_checked_against_the_allocation(kernels):
    x = device_zeros(64)
    launch_without_report(kernels.offset[1, 32], x[16:48], 16)  # within the allocation
    assert "x[48], but x points to 48 elements" in str(
        report_of(kernels.offset[1, 32], x[16:48], 17)
    )


@cuda.jit
def add_corner(a, out):
    """
    int i = threadIdx.x;
    out(i, 0) = a[i][i + 1] + a(i, 2);
    """


def test_indices_are_checked_by_dimension():
    a, out = device_zeros(10, 10), device_zeros(8, 8)
    launch_without_report(add_corner[1, 8], a, out)
    error = report_of(add_corner[1, 9], a, out)
    assert "uses index 8 of out along axis 0, but out has shape (8, 8)" in str(error)
    assert (error.array, error.index, error.line) == (
        "out",
        8,
        line_in_source("out(i, 0) = a[i][i + 1]"),
    )
    error = report_of(add_corner[1, 8], a[:, ::3], out)  # 4 columns
    assert "uses index 4 of a along axis 1, but a has shape (10, 4)" in str(error)
    assert "along axis 0" in str(report_of(add_corner[1, 8], a, out[0:0]))
    launch_without_report(add_corner[1, 8], np.asfortranarray(np.zeros((9, 9), np.float32)), out)


def test_out_of_bounds_atomics_are_reported(kernels):
    x = device_zeros(32, dtype=np.int32)
    launch_without_report(kernels.atomics[1, 1], x, 31)
    assert "updates x[32]" in str(report_of(kernels.atomics[1, 1], x, 32))


def test_memcpy_in_a_kernel_is_checked(kernels):
    a, b = device_zeros(16, dtype=np.int32), device_zeros(32, dtype=np.int32)
    launch_without_report(kernels.copy[1, 1], b, a, 64)
    assert "reads from[16], but from points to 16" in str(report_of(kernels.copy[1, 1], b, a, 68))
    assert "writes to[16], but to points to 16" in str(report_of(kernels.copy[1, 1], a, b, 68))


def test_null_pointer_access_is_reported(kernels):
    x = device_zeros(16, dtype=np.int32)
    launch_without_report(kernels.null[1, 16], x, 99)
    error = report_of(kernels.null[1, 16], x, 3)
    assert "(a null pointer)" in str(error) and error.thread == (3, 0, 0)
    assert x.copy_to_host().sum() == 16  # thread 3 failed, the other threads wrote


def test_misaligned_access_is_reported(kernels):
    x = device_zeros(40, dtype=np.int8)
    launch_without_report(kernels.misaligned[1, 1], x, 4)
    assert "no multiple of 4" in str(report_of(kernels.misaligned[1, 1], x, 5))


def test_misaligned_struct_access_is_reported(kernels):
    """The error is the same if the compiler copies a struct member by member."""
    x, out = device_zeros(40), device_zeros(40)
    launch_without_report(kernels.vectors[1, 4], x, out, 4, 0)
    for k, other in [(1, 0), (0, 2)]:
        error = report_of(kernels.vectors[1, 4], x, out, k, other)
        assert "16 bytes at once at the misaligned address" in str(error)
        assert (error.kind, error.array) == ("memory", "out" if other else "x")
        assert error.line == line_in_source("*(float4 *)(out + other)") - (not other)


def test_an_access_outside_memory_is_always_reported(kernels):
    with cuda.checks("race"):
        error = report_of(kernels.offset[1, 32], device_zeros(32), 1)
        launch_without_report(kernels.misaligned[1, 1], device_zeros(40, dtype=np.int8), 5)
    assert (error.kind, error.array, error.index) == ("memory", "x", 32)


FAULTS = """
__device__ float *nowhere(float *x, int k) { return k ? x : nullptr; }
__global__ void null(float *x, int k) {
    if (threadIdx.x == 3)
        nowhere(x, k)[k] = 1; // of NULL
}
__global__ void misaligned(float *x) {
    *(float4 *)(x + 1) = float4{1, 2, 3, 4}; // in one piece
}
__global__ void beyond(float *x, int k) { x[k] = 1; }
"""


@pytest.mark.parametrize("lineinfo", [False, True])
def test_faults_without_checks_report_the_kernel(lineinfo):
    """lineinfo=True increases the compile time by a third, so it is used only on request."""
    kernels = cuda.module(FAULTS, lineinfo=lineinfo)
    x = device_zeros(32)
    advice = "; run it under `with cuda.checks():` to see the "
    launched = f"; launched at test_checks.py, line {line_in_source('    launch(*args)')}"
    end = f"{advice}array" if lineinfo else f"{advice}line and the array{launched}"
    with cuda.checks("none"):
        null = report_of(kernels.null[2, 4], x, 0)
        misaligned = report_of(kernels.misaligned[1, 1], x) if IS_X86 else None
        beyond = report_of(kernels.beyond[1, 1], x, 32)
    assert "illegal access to address 0x0 (a null pointer);" in str(null)
    for error, kernel, thread, comment in [
        (null, "null", (3, 0, 0), "// of NULL"),
        *([(misaligned, "misaligned", (0, 0, 0), "// in one piece")] if IS_X86 else []),
    ]:
        assert str(error).endswith(end)
        assert (error.kind, error.kernel, error.thread) == ("memory", kernel, thread)
        assert error.block in {(0, 0, 0), (1, 0, 0)} and error.others == 0
        assert error.line == (line_in_source(comment) if lineinfo else None)
        assert error.file == (__file__ if lineinfo else None)
    assert (beyond.kind, beyond.kernel, beyond.thread) == ("memory", "beyond", None)
    assert str(beyond).endswith(f", the memory of parameter 1{advice}thread and the line{launched}")


def test_access_to_freed_memory_is_reported(kernels):
    x, y = device_zeros(10, dtype=np.int32), device_zeros(10, dtype=np.int32)
    addresses = [a.device_ctypes_pointer.value for a in (x, y)]
    p = cuda.to_device(np.array(addresses, np.uint64))
    launch_without_report(kernels.pointers[1, 2], p, 9)
    assert "after the end of device memory of 40 bytes" in str(
        report_of(kernels.pointers[1, 2], p, 10)
    )
    del y
    error = report_of(kernels.pointers[1, 2], p, 3)
    assert "has been freed" in str(error) and error.thread == (1, 0, 0)


def test_out_of_bounds_local_array_access_is_reported(kernels):
    out = device_zeros(1, dtype=np.int32)
    launch_without_report(kernels.local[1, 1], out, 9)
    assert "uses a[10], but a has 10 elements" in str(report_of(kernels.local[1, 1], out, 10))
    error = report_of(kernels.local[1, 1], out, -1)
    assert "uses a[-1], but a has 10 elements" in str(error)
    assert (error.kind, error.array, error.index) == ("memory", "a", -1)


@pytest.mark.parametrize(
    "kernel, text",
    [
        ("table", "uses powers[5], but powers has 4 elements"),
        ("inner", "uses index 5 of t along axis 1, but t has 4 elements there"),
        ("outer", "uses index 5 of t along axis 0, but t has 3 elements there"),
        ("member", "uses v[5], but v has 3 elements"),
        ("view", "uses s[5], but s has 4 elements"),
        ("row", "uses index 5 of s along axis 1, but s has 4 elements there"),
        ("element", "uses index 5 of s along axis 1, but s has shape (2, 4)"),
        ("passed", "uses q[5], but q has 4 elements"),
        ("macro", "uses index 5 of an array of 4 elements"),
    ],
)
def test_subarrays_and_members_are_named_in_reports(names_module, kernel, text):
    """Names are found by the position of the index in the source, which code from a macro does not
    have."""
    launch_without_report(names_module[kernel][1, 1], device_zeros(8), 2)
    error = report_of(names_module[kernel][1, 1], device_zeros(8), 5)
    assert text in str(error) and error.kind == "memory" and error.index == 5
    array = None if kernel == "macro" else text.split("[")[0].split(" along")[0].split()[-1]
    assert error.array == array
    assert error.line == line_in_source(f"/* {kernel} */")


def test_gufunc_arrays_are_checked():
    @guvectorize(["void(float32[:], float32[:,:], float32[:])"], "(n),(m,n)->(n)", target="cuda")
    def shift_row(x, table, out):
        """
        for (int i = 0; i < x.size(); ++i) {
            if (x[i] == 1) out.data()[i] = x[i] + 1;  // IN THE CORE
            else if (x[i] == 2) out[i] = x[i + 1];
            else if (x[i] == 3) out[i] = table(1, i + 1);
            else if (x[i] == 4) out[i] += 1;
            else out[i] = x.data()[i + 4];
        }
        """

    table, line = device_zeros(2, 5), line_in_source("// IN THE CORE")
    for value, text, at in [
        (2, "uses x[5], but x has 5 elements", 1),
        (3, "uses index 5 of table along axis 1, but table has shape (2, 5)", 2),
        (4, "reads out[4], which nothing has written", 3),
        (5, "reads x[8], but x has 5 elements", 4),
    ]:
        values = np.ones((3, 5), np.float32)
        values[2, 4] = value
        error = report_of(lambda x=values: shift_row(cuda.to_device(x), table))
        assert text in str(error) and error.line == line + at and error.thread == (2, 0, 0)
    launch_without_report(lambda: shift_row(cuda.to_device(np.ones((3, 5), np.float32)), table))


# --- shared memory


def test_out_of_bounds_access_between_shared_variables_is_reported(kernels):
    x = device_zeros(32)
    launch_without_report(kernels.neighbours[4, 32], x, 0)
    error = report_of(kernels.neighbours[4, 32], x, 1)
    assert "reads first[32], but first has 32 elements" in str(error)
    assert "first[63]" in str(report_of(kernels.neighbours[4, 32], x, 32))


def test_rows_of_a_shared_array_are_adjacent(kernels):
    x = device_zeros(32, dtype=np.int32)
    launch_without_report(kernels.flat[1, 16], x)
    assert "writes t[4][0], but it is t[4][4]" in str(report_of(kernels.flat[1, 17], x))


def test_out_of_bounds_dynamic_shared_access_is_reported(kernels):
    x = device_zeros(33)
    launch_without_report(kernels.dynamic[2, 32, 0, 128], x)
    assert "s[32], but s has 32 elements" in str(report_of(kernels.dynamic[2, 33, 0, 128], x))


def test_shared_variables_of_templates_and_lambdas_are_checked(kernels):
    x = device_zeros(64)
    launch_without_report(kernels["sized<32>"][2, 32], x)
    launch_without_report(kernels["sized<64>"][2, 64], x)
    assert "writes s[32], but s has 32 elements" in str(report_of(kernels["sized<32>"][2, 64], x))


# --- what nothing has written


def test_uninitialized_reads_are_reported(kernels):
    to, new = device_zeros(16, dtype=np.int32), cuda.device_array(16, np.int32)
    error = report_of(kernels.add[1, 16], to, new)
    assert "reads from[0], which nothing has written (and 15 more, in 1 place)" in str(error)
    new[:8] = 1
    assert "reads from[8], which nothing" in str(report_of(kernels.add[1, 16], to, new))
    new.copy_to_device(np.zeros(16, np.int32))
    launch_without_report(kernels.add[1, 16], to, new)


def test_memory_written_by_a_kernel_is_initialized(kernels):
    a, b = device_zeros(16, dtype=np.int32), cuda.device_array(16, np.int32)
    launch_without_report(kernels.add[1, 16], b, a)
    launch_without_report(kernels.add[1, 16], a, b)


def test_copies_keep_the_initialization_state(kernels):
    to = device_zeros(16, dtype=np.int32)
    new, other = cuda.device_array(16, np.int32), cuda.device_array(16, np.int32)
    launch_without_report(kernels.copy[1, 1], other, new, 64)  # copying is not using
    assert "from[0], which nothing" in str(report_of(kernels.add[1, 16], to, other))
    other.copy_to_device(cuda.device_array(16, np.int32))
    assert "from[0], which nothing" in str(report_of(kernels.add[1, 16], to, other))
    other.copy_to_device(to)
    launch_without_report(kernels.add[1, 16], to, other)


def test_shared_memory_begins_unwritten(kernels):
    x = device_zeros(32)
    launch_without_report(kernels.partly[3, 32], x, 32)
    error = report_of(kernels.partly[1, 32], x, 16)  # although the last launch wrote the element
    assert "thread (0,0,0) reads s[31], which nothing has written" in str(error)


def test_uninitialized_padding_is_not_reported(kernels):
    dtype = np.dtype([("x", "f4"), ("tag", "i1"), ("y", "f8")], align=True)
    launch_without_report(kernels.records[1, 8], cuda.device_array(8, dtype), 8)
    error = report_of(kernels.records[1, 8], cuda.device_array(8, dtype), 7)
    assert "reads p[7], which nothing has written" in str(error)


def test_memory_allocated_before_the_checks_is_initialized(kernels):
    with cuda.checks("none"):
        new, used = cuda.device_array(16, np.int32), cuda.device_array(16, np.int32)
        kernels.add[1, 16](used, device_zeros(16, dtype=np.int32))
        later = cuda.device_array(16, np.int32)
        launch_without_report(kernels.add[1, 16], later, used)
    launch_without_report(
        kernels.add[1, 16], new, later
    )  # accesses of unchecked kernels are not recorded: no report


def test_managed_and_mapped_memory_is_initialized(kernels):
    launch_without_report(
        kernels.add[1, 16], device_zeros(16, dtype=np.int32), cuda.managed_array(16, np.int32)
    )
    launch_without_report(
        kernels.add[1, 16], device_zeros(16, dtype=np.int32), cuda.mapped_array(16, np.int32)
    )


# --- variables of the module


def test_variables_are_the_same_with_checks_and_without(kernels):
    table, calls = kernels.get_global("table"), kernels.get_global("calls")
    before = int(calls.copy_to_host())
    with cuda.checks("none"):
        launch_without_report(kernels.variable[1, 2], 0)
    launch_without_report(kernels.variable[1, 2], 4)
    assert int(calls.copy_to_host()) == before + 4
    assert list(table.copy_to_host()) == [1, 1, 0, 0, 1, 1, 0, 0, 0, 0]
    kernels.get_global("weights").copy_to_device(np.arange(4, dtype=np.float32))
    x = cuda.device_array(4, np.float32)
    launch_without_report(kernels.constants[1, 4], x)
    assert list(x.copy_to_host()) == [0, 1, 2, 3]
    kernels.get_global("weights").copy_to_device(np.full(4, 7, np.float32))
    launch_without_report(kernels.constants[1, 4], x)
    assert list(x.copy_to_host()) == [7, 7, 7, 7]


def test_out_of_bounds_access_to_a_variable_is_reported(kernels):
    assert "uses table[10], but table has 10 elements" in str(report_of(kernels.variable[1, 4], 8))


# --- other launches


def test_ufuncs_and_reductions_are_checked():
    @vectorize(["float32(float32)"], target="cuda")
    def twice(x):
        "return 2 * x;"

    total = cuda.reduce("a + b")
    x = cuda.to_device(np.arange(1000, dtype=np.float32))
    assert total(twice(x)) == 999000
    assert "nothing has written" in str(report_of(twice, cuda.device_array(10, np.float32)))
    assert "nothing has written" in str(report_of(total, cuda.device_array(10, np.float32)))


def test_graphs_keep_the_checks_of_their_capture(kernels):
    stream, x = cuda.stream(), device_zeros(32)
    with stream.capture() as good:
        kernels.offset[1, 32, stream](x, 0)
    with stream.capture() as bad:
        kernels.offset[1, 32, stream](x, 1)
    with cuda.checks("none"):
        good.launch(stream)
        stream.synchronize()
        for _ in range(2):
            bad.launch(stream)
            with pytest.raises(KernelError, match=r"writes x\[32\]"):
                stream.synchronize()


def test_grid_sync_orders_accesses():
    @cuda.jit(cooperative=True)
    def rotate_block(x, y):
        """
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i];
        numbalite::this_grid().sync();
        x[i] = y[(i + 1) % x.size()];
        """

    x = cuda.to_device(np.arange(32, dtype=np.float32))
    launch_without_report(rotate_block[2, 16], x, cuda.device_array(32, np.float32))
    np.testing.assert_array_equal(x.copy_to_host(), np.roll(np.arange(32), -1))
    assert "nothing has written" in str(
        report_of(rotate_block[2, 16], cuda.device_array_like(x), x)
    )


def test_debug_checks_one_kernel():
    @cuda.jit(debug=True)
    def copy_out_of_bounds(x, out):
        """
        out.data()[threadIdx.x] = x.data()[threadIdx.x];
        """

    x, out = device_zeros(16), device_zeros(16)
    with cuda.checks("race"):
        launch_without_report(copy_out_of_bounds[1, 16], x, out)
        assert "reads x[16]" in str(report_of(copy_out_of_bounds[1, 17], x, device_zeros(32)))
    with cuda.checks("none"):
        launch_without_report(copy_out_of_bounds[1, 16], x, out)


# --- how checks are enabled


@pytest.mark.usefixtures("disabled_checks")
def test_checks_apply_to_their_thread_and_block(kernels):
    x = device_zeros(32)
    seen = []

    def launch_in_another_thread():
        kernels.partly[1, 32](device_zeros(32), 16)
        cuda.synchronize()
        seen.append("not checked")

    thread = threading.Thread(target=launch_in_another_thread)
    thread.start()
    thread.join()
    assert seen == ["not checked"]
    with cuda.checks("memory"):
        launch_without_report(kernels.partly[1, 32], x, 16)
        with cuda.checks("unwritten"):
            report_of(kernels.partly[1, 32], x, 16)
        launch_without_report(kernels.partly[1, 32], x, 16)
    report_of(kernels.partly[1, 32], x, 16)


def test_checks_accept_names_and_all():
    assert cuda.checks().names == cuda.checks("all").names
    assert set(cuda.checks("all").names) == set(config.CHECKS) - {"nan"}
    assert cuda.checks("memory, nan").names == ("memory", "nan")
    assert cuda.checks("none").names == ()
    assert repr(cuda.checks("race")) == "cuda.checks('race')"
    with pytest.raises(ValueError, match="'races' is no check: expected all, none, or a list of"):
        cuda.checks("races")
    with pytest.raises(TypeError, match="names of checks are strings"):
        cuda.checks(3)
    with pytest.raises(ValueError, match="limit must be a number of seconds"):
        cuda.checks(limit=-1)


def test_checks_on_a_gpu_raise_with_alternatives(monkeypatch):
    from numbalite import _core

    monkeypatch.setattr(_core, "driver_has", lambda what: False)
    with pytest.raises(CudaSupportError, match=r"debug=True.*compute-sanitizer"):
        cuda.checks().__enter__()


def run_program(code, **environment):
    import os

    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "NUMBALITE_DRIVER": "sim", **environment},
    )


READ = """
    import numpy as np
    from numbalite import cuda
    copy = cuda.jit(source='''__global__ void copy(int *x, const int *y)
    { x[threadIdx.x] = y[threadIdx.x]; }''')
    copy[1, 16](np.zeros(16, np.int32), cuda.device_array(16, np.int32))
"""


@pytest.mark.parametrize("value, found", [("all", True), ("race,unwritten", True), ("none", False)])
def test_environment_variable_enables_checks(value, found):
    result = run_program(READ, NUMBALITE_SIM_CHECKS=value)
    assert ("which nothing has written" in result.stderr) == found, result.stderr
    assert (result.returncode != 0) == found


def test_invalid_checks_variable_raises():
    result = run_program(READ, NUMBALITE_SIM_CHECKS="memroy")
    assert "NUMBALITE_SIM_CHECKS='memroy': expected all, none, or a list of" in result.stderr


@pytest.mark.parametrize("compiler_name", ["clang++", "g++"])
def test_findings_are_equal_for_both_compilers(compiler_name):
    import shutil

    if not shutil.which(compiler_name):
        pytest.skip(f"there is no {compiler_name}")
    result = run_program(
        """
        import numpy as np
        from numbalite import cuda, KernelError
        def report(kernel, *args):
            try:
                kernel[1, 32](*args)
                cuda.synchronize()
            except KernelError as error:
                print(error.line, error.array, error.index, error.thread, error.others)
        m = cuda.module('''
        __global__ void a(float *x) { __shared__ float s[31]; s[threadIdx.x] = 0; x[threadIdx.x] = 1; }
        __global__ void b(float *x) {
            x[threadIdx.x] += 1;
        }
        ''')
        with cuda.checks("memory", "unwritten"):
            report(m.a, np.zeros(32, np.float32))
            report(m.b, cuda.device_array(32, np.float32))
            report(m.b, np.zeros(30, np.float32))
        """,
        NUMBALITE_CXX=compiler_name,
    )
    assert result.stdout.splitlines() == [
        "2 s 31 (31, 0, 0) 0",
        "4 x 0 (0, 0, 0) 31",
        "4 x 30 (30, 0, 0) 1",
    ], result.stderr


@pytest.mark.usefixtures("disabled_checks")
@pytest.mark.skipif("NUMBALITE_SANITIZED" in os.environ, reason="sanitizers need the addresses")
def test_checks_work_with_limited_address_space():
    result = run_program(
        """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (40 << 30, 40 << 30))
        import numpy as np
        from numbalite import cuda, KernelError
        one = cuda.jit(source="__global__ void one(int *x) { x[threadIdx.x] = 1; }")
        x = np.zeros(16, np.int32)
        try:
            with cuda.checks("memory"):
                one[1, 16](x)
        except KernelError as error:
            print(error)
        one[1, 16](x)
        print(x.sum())
        """
    )
    assert result.stdout.splitlines() == [
        "one(): kernels cannot be checked: no address space for the shadow memory (a limit of the "
        "process, or of the system)",
        "16",
    ], result.stderr


def test_a_stack_overflow_has_a_line():
    kernel = cuda.jit(
        source="""
        __device__ int deep(int n, int *x) {
            volatile int part[200];
            part[n % 200] = n;
            return n ? deep(n - 1, x) + part[n % 200] : x[0];
        }
        __global__ void stack(int *x, int n) { x[threadIdx.x] = deep(n, x); }
        """,
        name="stack",
    )
    x = device_zeros(1, dtype=np.int32)
    launch_without_report(kernel[1, 1], x, 10)
    error = report_of(kernel[1, 1], x, 10**6)
    assert "stack overflow" in str(error)
    assert error.file == __file__ and error.thread == (0, 0, 0)
    assert (
        line_in_source("__device__ int deep(") <= error.line <= line_in_source("return n ? deep(")
    )


def test_records_of_freed_memory_keep_resident_memory_bounded():
    """Addresses are not reused immediately, and each has its own shadow memory."""

    def resident_bytes():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    @cuda.jit("void(int32[:])")
    def fill(x):
        "x[threadIdx.x] = 1;"

    with cuda.checks("memory"):
        fill[1, 4](cuda.device_array(4, np.int32))
    before = resident_bytes()
    for _ in range(5000):
        cuda.pinned_array(100, np.int8)
    assert resident_bytes() - before < 8 << 20, "a page for each would be 20 MB"


def test_copies_of_uninitialized_memory_to_the_host_are_reported():
    @cuda.jit
    def store_first_n(out, n):
        "if (threadIdx.x < n) out[threadIdx.x] = 1;"

    def partly_written(n):
        out = cuda.device_array(64, np.float32)
        store_first_n[1, 64](out, n)
        return out

    with cuda.checks():
        assert partly_written(64).copy_to_host().sum() == 64
        assert partly_written(40)[:40].copy_to_host().sum() == 40
        with pytest.raises(KernelError, match="96 bytes, from byte 160 .* copied memory") as caught:
            partly_written(40).copy_to_host()
        assert caught.value.kind == "unwritten"
        with pytest.raises(KernelError, match="which nothing has written"):
            cuda.device_array((), np.int32).copy_to_host()
    with cuda.checks("race"):
        partly_written(40).copy_to_host()


def test_gufunc_reading_its_new_output_is_reported_for_host_arrays():
    @guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
    def accumulate_into_output(x, out):
        "for (int i = 0; i < x.size(); ++i) out[0] += x[i];"

    for size in (4, 1 << 16):
        with cuda.checks(), pytest.raises(KernelError, match="reads out.*nothing has written"):
            accumulate_into_output(np.ones((size, 2), np.float32))


@pytest.fixture(scope="module")
def add():
    """Returns a kernel add[grid, block](x, k), which accesses an element past the end of x if k = 1."""

    @cuda.jit("void(int32[::1], int32)")
    def add(x, k):
        "x.data()[threadIdx.x + k] += 1;"

    return add


def test_leaving_the_checks_block_raises_pending_errors(add):
    for stream in 0, cuda.stream(), cuda.stream(non_blocking=True):
        x = cuda.to_device(np.zeros(4, "i4"))
        cuda.synchronize()
        with pytest.raises(KernelError, match="x has 4 elements"), cuda.checks():
            add[1, 4, stream](x, 1)
        cuda.synchronize()  # nothing is left
        with cuda.checks():
            add[1, 4, stream](x, 0)
        add[1, 4, stream](x, 0)


def test_errors_are_raised_by_the_inner_checks_block(add):
    x = cuda.to_device(np.zeros(4, "i4"))
    with cuda.checks("race"):
        with pytest.raises(KernelError, match="x has 4 elements"), cuda.checks("memory"):
            add[1, 4](x, 1)
        add[1, 4](x, 0)
    assert x.copy_to_host()[0] == 1


def test_pending_errors_are_noted_on_other_exceptions(add):
    x = cuda.to_device(np.zeros(4, "i4"))
    with pytest.raises(ZeroDivisionError) as caught, cuda.checks():
        add[1, 4](x, 1)
        raise ZeroDivisionError("mine")
    if sys.version_info >= (3, 11):
        (note,) = caught.value.__notes__
        assert "x has 4 elements" in note
    cuda.synchronize()
    with pytest.raises(KernelError) as caught, cuda.checks():
        add[1, 4](x, 1)
        cuda.synchronize()
    assert not hasattr(caught.value, "__notes__")


def test_checks_block_can_end_inside_a_capture(add):
    x, stream = cuda.to_device(np.zeros(4, "i4")), cuda.stream()
    with stream.capture() as graph, cuda.checks():
        add[1, 4, stream](x, 0)
    graph.launch(stream)
    assert x.copy_to_host(stream=stream).tolist() == [1, 1, 1, 1]


def test_checks_block_waits_for_all_devices(run_python):
    run_python(
        """
import numpy as np, pytest
from numbalite import cuda
from numbalite.errors import KernelError
@cuda.jit("void(int32[::1], int32)")
def add(x, k):
    "x.data()[threadIdx.x + k] += 1;"
with pytest.raises(KernelError, match="4 elements"), cuda.checks():
    with cuda.gpus[1]:
        add[1, 4](cuda.to_device(np.zeros(4, "i4")), 1)
for device in cuda.gpus:
    device.synchronize()
""",
        NUMBALITE_SIM_DEVICES="2",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 1.5}, "seed must be an integer, not 1.5"),
        ({"seed": "a"}, "seed must be an integer, not 'a'"),
        ({"limit": "1"}, "limit must be a number of seconds, not '1'"),
        ({"limit": True}, "limit must be a number of seconds, not True"),
    ],
)
def test_invalid_check_options_raise(options, message):
    with pytest.raises(TypeError, match=f"cuda.checks: {message}"):
        cuda.checks(**options)
    with pytest.raises(ValueError, match="limit must be a number of seconds"):
        cuda.checks(limit=float("nan"))
