"""Tests checked kernels (debug=True, boundscheck=True): the message of a failed check, and that the context
survives.

All tests of this file run on the simulator and on a GPU. Kernels are compiled with both kinds of
checks if
the result could differ."""

import re

import numpy as np
import pytest
from kit.lines import line_numbers_of

from numbalite import cuda, guvectorize, vectorize
from numbalite.errors import KernelError

CHECKED = [{"debug": True}, {"boundscheck": True}]
both = pytest.mark.parametrize("checked", CHECKED, ids=["debug", "boundscheck"])


def line_with_mark(mark):
    """Returns the number of the line of this file that ends in `mark`."""
    (line,) = line_numbers_of(f"// {mark}\n", __file__)
    return line


def device_zeros(shape=4, dtype="f4"):
    return cuda.to_device(np.zeros(shape, dtype))


def kernel_error_of(launch, *args):
    with pytest.raises(KernelError) as caught:
        launch(*args)
    return caught.value


def assert_device_works():
    """Checks that the context is usable and no finding remains."""
    x = device_zeros(32, "i4")
    write_thread_index[1, 32](x)
    assert x.copy_to_host().tolist() == list(range(32))


@cuda.jit("void(int32[:])", debug=True)
def write_thread_index(x):
    "x[threadIdx.x] = threadIdx.x;"


# ---- indices ----------------------------------------------------------------------------------------


@pytest.mark.lines
@both
def test_kernel_error_has_all_attributes(checked):
    @cuda.jit("void(int32[:, :], int32[:], int32)", **checked)
    def write_at(table, other, at):
        """
        int i = grid<1>();
        if (i >= 40)
            table(2, at) = other[0];  // THE INDEX
        """

    table, other = device_zeros((3, 7), "i4"), device_zeros(1, "i4")
    problem = kernel_error_of(write_at[2, 32], table, other, 9)
    line = line_with_mark("THE INDEX")
    assert (problem.kernel, problem.array, problem.index) == ("write_at", "table", 9)
    assert problem.block == (1, 0, 0) and 8 <= problem.thread[0] < 32
    assert problem.others == 23, "24 threads, and this is one of them"
    assert (problem.file, problem.line) == (__file__, line)
    assert str(problem) == (
        f"{__file__}({line}): write_at: index 9 is out of bounds for axis 1 of 'table' with shape (3, 7) "
        f"[block (1, 0, 0), thread ({problem.thread[0]}, 0, 0); 23 more threads failed a check]"
    )
    write_at[2, 32](table, other, 6)
    assert_device_works()


@both
@pytest.mark.parametrize("at", [-1, -(2**62), 4, 2**40])
def test_out_of_bounds_index_is_reported(checked, at):
    @cuda.jit("void(int32[:], int64)", **checked)
    def write_at(x, at):
        "x[at] = 1;"

    problem = kernel_error_of(write_at[1, 1], device_zeros(4, "i4"), at)
    assert problem.index == at and problem.array == "x" and problem.others == 0
    assert_device_works()


@both
def test_chained_indexing_reports_the_axis(checked):
    @cuda.jit("void(float32[:, :, :], int32, int32, int32)", **checked)
    def write_at(x, i, j, k):
        "x[i][j][k] = 1;"

    x = device_zeros((2, 3, 4))
    write_at[1, 1](x, 1, 2, 3)
    problem = kernel_error_of(write_at[1, 1], x, 2, 0, 0)
    assert "axis 0 of 'x' with shape (2, 3, 4)" in str(problem)
    problem = kernel_error_of(write_at[1, 1], x, 1, 3, 0)
    assert "axis 0 of a part of 'x' with shape (3, 4)" in str(problem)
    problem = kernel_error_of(write_at[1, 1], x, 1, 2, -1)
    assert "index -1 is out of bounds for axis 0 of a part of 'x' with shape (4,)" in str(problem)
    assert x.copy_to_host().sum() == 1


def test_bounds_are_those_of_the_slice():
    """The check uses the bounds of the slice, which is part of a larger allocation."""

    @cuda.jit(debug=True)
    def write_at(x, y, i):
        "x[i] = 1; y[i] = 1;"

    whole = device_zeros(100)
    first, second = whole[10:20], whole[90:40:-5]
    write_at[1, 1](first, second, 9)
    problem = kernel_error_of(write_at[1, 1], first, second, 10)
    assert problem.array == "x" and "shape (10,)" in str(problem)
    problem = kernel_error_of(write_at[1, 1], whole, second, 10)
    assert problem.array == "y", "the second one, though the first has the same memory"
    columns = device_zeros((5, 8))[:, 2:4]
    assert kernel_error_of(write_at[1, 1], columns[:, 0], whole, 5).array == "x"


def test_bounds_are_checked_in_every_layout():
    @cuda.jit(boundscheck=True)
    def write_at(x, i, j):
        "x(i, j) = 1;"

    for x in (
        device_zeros((3, 4)),
        device_zeros((4, 3)).T,
        device_zeros((6, 8))[::2, ::2],
        device_zeros((3, 4))[::-1],
    ):
        write_at[1, 1](x, 2, 3)
        assert kernel_error_of(write_at[1, 1], x, 3, 0).array == "x"
        assert kernel_error_of(write_at[1, 1], x, 0, 4).index == 4


def test_empty_arrays_have_no_element():
    @cuda.jit(debug=True)
    def read_first(x, y):
        "y[0] = x[0];"

    assert "shape (0,)" in str(kernel_error_of(read_first[1, 1], device_zeros(0), device_zeros()))
    assert kernel_error_of(read_first[1, 1], device_zeros(), device_zeros(0)).index == 0


def test_bounds_of_host_arrays_are_checked():
    @cuda.jit(debug=True)
    def write_at(x, i):
        "x[i] = 1;"

    x = np.zeros(3, "f4")
    problem = kernel_error_of(write_at[1, 1], x, 3)
    assert problem.array == "x" and "shape (3,)" in str(problem)
    write_at[1, 1](x, 2)
    assert x.tolist() == [0, 0, 1]


@pytest.mark.lines
def test_out_of_bounds_index_in_a_device_function_is_reported():
    @cuda.jit(device=True)
    def element_after(x, i):
        """
        return x[i + 1];  // IN THE FUNCTION
        """

    @cuda.jit(debug=True)
    def read_past_end(x, out):
        "out[0] = element_after(x, x.size());"

    problem = kernel_error_of(read_past_end[1, 1], device_zeros(5), device_zeros())
    assert (problem.kernel, problem.array, problem.index) == ("read_past_end", "x", 6)
    assert (problem.file, problem.line) == (__file__, line_with_mark("IN THE FUNCTION"))


def test_bounds_of_atomics_are_checked():
    @cuda.jit(debug=True)
    def increment_element(x, i):
        "atomic_add(x, i, 1);"

    x = device_zeros(3, "i4")
    assert kernel_error_of(increment_element[4, 8], x, 3).others == 31
    increment_element[4, 8](x, 2)
    assert x.copy_to_host().tolist() == [0, 0, 32]


def test_atomics_with_several_indices_are_checked():
    @cuda.jit(debug=True)
    def increment_two_dimensional(x, i, j):
        """
        int k = 0;
        atomic_add(x, {i, j}, k + 1);    // THE ATOMIC
        """

    x = device_zeros((2, 3), "i4")
    problem = kernel_error_of(increment_two_dimensional[1, 1], x, 1, 3)
    assert (problem.array, problem.index, problem.line) == ("x", 3, line_with_mark("THE ATOMIC"))
    assert kernel_error_of(increment_two_dimensional[1, 1], x, 2, 0).index == 2
    increment_two_dimensional[4, 8](x, 1, 0)
    assert x.copy_to_host().tolist() == [[0, 0, 0], [32, 0, 0]]


def test_bounds_of_shared_and_local_arrays_are_checked():
    @cuda.jit(debug=True)
    def index_shared_and_local(out, where, i):
        """
        __shared__ float tile[32];
        float own[4] = {1, 2, 3, 4};
        array<float> s{tile, {32}, {4}};
        array<float, 2, layout::C> l{own, {2, 2}, {8, 4}};
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = where ? s[threadIdx.x + i] : l(i, 1);
        """

    out = device_zeros(32)
    index_shared_and_local[1, 32](out, 1, 0)
    assert out.copy_to_host().tolist() == list(range(32))
    index_shared_and_local[1, 32](out, 0, 1)
    assert set(out.copy_to_host().tolist()) == {4.0}
    problem = kernel_error_of(index_shared_and_local[1, 32], out, 1, 1)
    assert (problem.index, problem.thread, problem.others) == (32, (31, 0, 0), 0)
    assert "of an array with shape (32,)" in str(problem)
    problem = kernel_error_of(index_shared_and_local[1, 32], out, 0, 2)
    assert "axis 0 of an array with shape (2, 2)" in str(problem) and problem.others == 31


def test_bounds_in_a_cpp_source_are_checked():
    """Reports also contain the names of parameters, and an array over a pointer has the pointer's name."""
    source = """
    template <class T> __global__ void fill(array<T, 2> field, T value, int j) {
        field(threadIdx.x, j) = value;
    }
    __global__ void wrap(float *buffer, int n, int i) {
        array<float> x{buffer, {n}, {4}};
        x[i] = 1;
    }
    """
    module = cuda.module(source, names=["fill<float>"], debug=True)
    x = device_zeros((4, 4))
    problem = kernel_error_of(module["fill<float>"][1, 4], x, 1.0, 4)
    assert (problem.kernel, problem.array, problem.others) == ("fill<float>", "field", 3)
    problem = kernel_error_of(module.wrap[1, 1], x, 16, 16)
    assert (problem.kernel, problem.array, problem.index) == ("wrap", "buffer", 16)
    module.wrap[1, 1](x, 16, 15)
    assert x.copy_to_host()[3, 3] == 1


# ---- asserts and traps --------------------------------------------------------------------------------


@both
def test_failed_assert_reports_thread_and_line(checked):
    @cuda.jit(**checked)
    def assert_below_limit(x, limit):
        """
        int i = grid<1>();
        assert(i < limit && "a, b");  // THE ASSERT
        x[i] = 1;
        """

    x = device_zeros(64)
    problem = kernel_error_of(assert_below_limit[2, 32], x, 50)
    assert (problem.kernel, problem.block, problem.others) == ("assert_below_limit", (1, 0, 0), 13)
    assert problem.thread[0] >= 18
    assert (problem.file, problem.line) == (__file__, line_with_mark("THE ASSERT"))
    assert 'assertion `i < limit && "a, b"` failed' in str(problem)
    assert x.copy_to_host().sum() == 50, "the others went on"
    assert_device_works()


def test_asserts_with_cassert_are_reported():
    k = cuda.jit("#include <cassert>\n__global__ void k(int n) { assert(n == 1); }", debug=True)
    k[1, 1](1)
    assert "assertion `n == 1` failed" in str(kernel_error_of(k[1, 1], 2))
    assert_device_works()


def test_ndebug_disables_asserts():
    k = cuda.jit("__global__ void k(int n) { assert(n == 1); }", debug=True, options=["-DNDEBUG"])
    k[1, 1](2)


@pytest.mark.lines
@both
def test_trap_and_abort_are_reported(checked):
    calls = {"trap": "__trap()", "stop": "abort()", "std_stop": "std::abort()"}
    kernels = (
        f"__global__ void {name}(int n) {{ if (threadIdx.x < n) {call}; }}\n"
        for name, call in calls.items()
    )
    module = cuda.module("#include <cstdlib>\n" + "".join(kernels), **checked)
    for line, (name, call) in enumerate(calls.items(), 2):
        module[name][1, 8](0)
        problem = kernel_error_of(module[name][1, 8], 3)
        assert f"{call.removeprefix('std::')} was called" in str(problem)
        assert problem.others == 2 and problem.line == line
        assert_device_works()


# ---- threads that leave ---------------------------------------------------------------------------------


@both
def test_barriers_do_not_wait_for_threads_that_failed(checked):
    @cuda.jit(**checked)
    def fault_before_barrier(x, out):
        """
        __shared__ int seen[64];
        int i = threadIdx.x;
        seen[i] = 0;
        __syncthreads();
        seen[i] = x[i];
        __syncthreads();
        int count = __syncthreads_count(seen[i] == 1);
        __syncwarp();
        out[i] = count;
        """

    x = cuda.to_device(np.ones(40, "i4"))
    out = device_zeros(64, "i4")
    problem = kernel_error_of(fault_before_barrier[1, 64], x, out)
    assert problem.array == "x" and problem.others == 23
    assert out.copy_to_host()[:40].tolist() == [40] * 40
    assert_device_works()


def test_cooperative_kernel_ends_after_a_finding():
    @cuda.jit(debug=True)
    def fault_in_cooperative_grid(x, out, bad):
        """
        auto g = cg::this_grid();
        int i = grid<1>();
        if (blockIdx.x == bad) x[x.size() + threadIdx.x] = 1;
        g.sync();
        out[i] = 1;
        g.sync();
        out[i] += 1;
        """

    out = device_zeros(128, "i4")
    problem = kernel_error_of(fault_in_cooperative_grid[4, 32], device_zeros(), out, 2)
    assert problem.block == (2, 0, 0) and problem.others == 31
    assert out.copy_to_host().sum() == 0, "no thread passes a barrier that not all have reached"
    fault_in_cooperative_grid[4, 32](device_zeros(), out, -1)
    assert out.copy_to_host().tolist() == [2] * 128
    assert_device_works()


# ---- streams, graphs, devices, threads -------------------------------------------------------------------


@pytest.mark.parametrize("non_blocking", [False, True])
def test_error_is_raised_on_the_launch_stream(non_blocking):
    @cuda.jit("void(int32[:], int32)", debug=True)
    def store_seven(x, i):
        "x[i] = 7;"

    stream, other = (cuda.stream(non_blocking=non_blocking) for _ in range(2))
    x = device_zeros(2, "i4")
    cuda.synchronize()
    store_seven[1, 1, other](x, 0)
    problem = kernel_error_of(store_seven[1, 1, stream], x, 2)
    assert problem.array == "x"
    store_seven[1, 1, other](x, 1)
    store_seven[1, 1, stream](x, 1)
    stream.synchronize()
    other.synchronize()
    assert x.copy_to_host().tolist() == [7, 7]


def test_checked_kernels_run_in_graphs():
    @cuda.jit("void(int32[:], int32)", debug=True)
    def store_seven(x, i):
        "x[i] = 7;"

    @cuda.jit("void(int32[:], int32)", boundscheck=True)
    def add(y, i):
        "y[i] += 1;"

    stream = cuda.stream()
    x, y = device_zeros(2, "i4"), device_zeros(3, "i4")
    cuda.synchronize()
    with stream.capture() as graph:
        store_seven[1, 1, stream](x, 0)
        add[1, 1, stream](y, 0)
        add[1, 1, stream](y, 1)
    graph.launch(stream)
    graph.launches[2].update(y, -4)
    problem = kernel_error_of(graph.launch, stream)
    assert (problem.kernel, problem.array, problem.index) == ("add", "y", -4)
    graph.launches[2].update(y, 1)
    graph.launches[0].update(x, 2)
    problem = kernel_error_of(graph.launch, stream)
    assert (problem.kernel, problem.array, problem.index) == ("store_seven", "x", 2)
    graph.launches[0].update(x, 1)
    graph.launch(stream)
    stream.synchronize()
    assert x.copy_to_host().tolist() == [7, 7] and y.copy_to_host().tolist() == [4, 3, 0]


@pytest.mark.lines
def test_graph_kernels_of_one_module_are_both_named():
    """The launches share the record, so the report contains both names."""
    module = cuda.module(
        """
        __global__ void one(array<int> x) { x[0] = 1; }
        __global__ void two(array<int> y) { y[1] = 2; }  // IN TWO
        """,
        debug=True,
    )
    stream = cuda.stream()
    x = device_zeros(1, "i4")
    module.one[1, 1, stream](x)
    kernel_error_of(module.two[1, 1, stream], x)
    with stream.capture() as graph:
        module.one[1, 1, stream](x)
        module.two[1, 1, stream](x)
    problem = kernel_error_of(graph.launch, stream)
    assert problem.kernel == "one or two" and problem.index == 1
    assert problem.line == line_with_mark("IN TWO")


def test_kernels_are_checked_on_every_device():
    @cuda.jit("void(int32[:], int32)", debug=True)
    def store_seven(x, i):
        "x[i] = 7;"

    for device in range(len(cuda.gpus)):
        with cuda.gpus[device]:
            x = device_zeros(2, "i4")
            assert kernel_error_of(store_seven[1, 1], x, 2).array == "x"
            store_seven[1, 1](x, 1)
            assert x.copy_to_host().tolist() == [0, 7]


def test_concurrent_findings_are_reported_once():
    """Launches of one kernel at the same time: each finding is reported once, by the launch that finds it."""
    from concurrent.futures import ThreadPoolExecutor

    @cuda.jit("void(int32[:], int32)", debug=True)
    def store_seven(x, i):
        "x[i] = 7;"

    def launch_in_a_stream(seed):
        stream = cuda.stream(non_blocking=True)
        x = device_zeros(4, "i4")
        cuda.synchronize()
        found = 0
        for k in range(20):
            try:
                store_seven[1, 1, stream](x, 4 if (k + seed) % 4 == 0 else k % 4)
            except KernelError as problem:
                assert problem.index == 4 and problem.kernel == "store_seven"
                found += 1
        stream.synchronize()
        return found

    with ThreadPoolExecutor(4) as pool:
        found = sum(pool.map(launch_in_a_stream, range(4)))
    assert 5 <= found <= 20
    assert_device_works()


# ---- ufuncs ------------------------------------------------------------------------------------------------


@both
def test_failed_assert_in_a_ufunc_is_reported(checked):
    @vectorize(["float32(float32)"], target="cuda", **checked)
    def checked_sqrt(x):
        """
        assert(x >= 0);  // IN THE UFUNC
        return sqrt(x);
        """

    assert checked_sqrt(np.float32([4, 9])).tolist() == [2, 3]
    x = np.ones(1000, "f4")
    x[[100, 900]] = -1  # of different threads
    problem = kernel_error_of(checked_sqrt, x)
    assert problem.kernel == "checked_sqrt" and problem.others == 1
    assert (problem.file, problem.line) == (__file__, line_with_mark("IN THE UFUNC"))
    assert "assertion `x >= 0` failed" in str(problem)
    assert checked_sqrt(device_zeros(3)).copy_to_host().tolist() == [0, 0, 0]


@both
def test_out_of_bounds_index_in_a_gufunc_is_reported(checked):
    @guvectorize(["void(float32[:], int32, float32[:])"], "(n),()->()", target="cuda", **checked)
    def element_at(x, i, out):
        "out[0] = x[i];"

    x = np.arange(6, dtype="f4").reshape(2, 3)
    assert element_at(x, np.int32([0, 2])).tolist() == [0, 5]
    problem = kernel_error_of(element_at, x, np.int32([0, 3]))
    assert problem.kernel == "element_at" and problem.index == 3 and "shape (3,)" in str(problem)
    assert element_at(x, np.int32([1, 1])).tolist() == [1, 4]


# ---- what they cost ------------------------------------------------------------------------------------------


def test_boundscheck_keeps_optimization_enabled():
    """The kernel has the fault record and the checks, but is not a debug build."""
    text = "void(float32[:], float32[:])"

    def add(x, y):
        "int i = grid<1>(); if (i < x.size()) y[i] += x[i];"

    registers = {}
    for name, options in (("debug", CHECKED[0]), ("bounds", CHECKED[1]), ("plain", {})):
        kernel = cuda.jit(text, **options)(add)
        registers[name] = kernel.get_local_mem_per_thread()
        if not cuda.is_simulated():
            assert (".debug_info" in "".join(kernel.inspect_asm().values())) == (name == "debug")
    assert registers["plain"] <= registers["bounds"] <= registers["debug"]


def test_pickled_errors_keep_everything():
    import pickle

    @cuda.jit(debug=True)
    def write_past_end(x):
        "x[4] = 1;"

    problem = kernel_error_of(write_past_end[1, 2], device_zeros())
    again = pickle.loads(pickle.dumps(problem))
    assert str(again) == str(problem) and again.others == problem.others == 1
    assert re.search(r"1 more thread failed", str(again))
