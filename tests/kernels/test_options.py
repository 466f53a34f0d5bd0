"""Tests the options of cuda.jit, and debug=True."""

import os
import pickle
from operator import methodcaller

import pytest
from kit.arrays import zeros_array
from kit.lines import line_numbers_of

import numbalite
from numbalite import cuda, errors

# These tests pass host arrays for convenience; other tests check the warning.


# --- options ------------------------------------------------------------------------------------------------


def test_unknown_jit_options_raise_with_suggestions():
    with pytest.raises(TypeError, match="no option 'fast_math'; did you mean fastmath="):
        cuda.jit(fast_math=True)
    with pytest.raises(TypeError, match="max_registers"):
        cuda.jit(maxrregcount=32)
    with pytest.raises(TypeError, match="it has .*fastmath"):
        cuda.jit(qqqqqq=1)
    with pytest.raises(errors.DeprecationError):
        cuda.jit(argtypes=[])


@pytest.mark.parametrize(
    "option",
    [{"launch_bounds": "x"}, {"launch_bounds": 0}, {"launch_bounds": (1, 2, 3, 4)},
     {"shared_memory_carveout": 101}, {"shared_memory_carveout": "most"}, {"max_registers": 0},
     {"max_registers": True}, {"shared_memory_carveout": 1.5}, {"options": "-DX"},
     {"options": [3]}, {"std": "fortran"}, {"headers": ["x"]}, {"headers": {"": "x"}},
     {"headers": {"/mine.h": ""}}, {"headers": {"../mine.h": ""}}, {"headers": {"a/../../b": ""}},
     {"headers": {".": ""}}, {"headers": {"folder/": ""}}, {"headers": {"a\0b": ""}}, {"cluster": (1, 2, 3, 4)},
     {"cluster": 0}, {"opt": 4}, {"fastmath": "yes"}, {"debug": "yes"}, {"inline": "maybe"},
     {"extensions": [3]}, {"device": True, "launch_bounds": 32}],
    ids=str,
)  # fmt: skip
def test_invalid_jit_options_raise(option):
    with pytest.raises((TypeError, ValueError)):
        cuda.jit(**option)


@pytest.mark.parametrize(
    "option",
    [{"fastmath": True}, {"debug": True}, {"lineinfo": True}, {"opt": False}, {"opt": 1},
     {"max_registers": 32}, {"launch_bounds": 128}, {"launch_bounds": (128, 2)}, {"cache": True},
     {"lto": True}, {"inline": "always"}, {"shared_memory_carveout": "MaxL1"},
     {"shared_memory_carveout": 50}, {"std": "c++20"}, {"std": 14}, {"fastmath": {"nsz"}},
     {"debug": False, "opt": True}, {"link": []}, {"boundscheck": True}],
    ids=str,
)  # fmt: skip
def test_each_jit_option_compiles(option):
    @cuda.jit("void(float32[:])", **option)
    def store_three(x):
        "x[grid<1>()] = 3;"

    x = zeros_array()
    store_three[1, 4](x)
    assert (x == 3).all()


def test_jit_passes_compiler_options_and_headers():
    @cuda.jit(options=["-DVALUE=4", "-DOTHER"], headers={"mine.h": "#define MINE 5\n"})
    def use_options_and_header(x):
        """
        #include "mine.h"
        #ifdef OTHER
        x[0] = VALUE + MINE;
        #endif
        """

    x = zeros_array(1)
    use_options_and_header[1, 1](x)
    assert x[0] == 9


def test_contradicting_options_warn():
    with pytest.warns(numbalite.NumbaInvalidConfigWarning, match="lineinfo"):
        cuda.jit(debug=True, lineinfo=True)
    with pytest.warns(numbalite.NumbaInvalidConfigWarning, match="opt"):
        cuda.jit(debug=True, opt=True)


def test_linked_sources_are_compiled(tmp_path):
    path = tmp_path / "helper.cu"
    path.write_text('extern "C" __device__ float helper(float x) { return x + 1; }\n')

    class CUSource:
        data, name = "__device__ float other(float x) { return 2 * x; }", "other.cu"

    @cuda.jit(link=[str(path), CUSource()])
    def call_linked(x):
        "x[0] = helper(other(3));"

    x = zeros_array(1)
    call_linked[1, 1](x)
    assert x[0] == 7
    for name in ("a.ptx", "a.cu"):
        with pytest.raises(FileNotFoundError):
            cuda.jit(link=[name])
    with pytest.raises(ValueError, match=r"what\.zip.*\.cu, .*\.ptx"):
        cuda.jit(link="what.zip")
    with pytest.raises(TypeError, match="not Other"):
        cuda.jit(link=[type("Other", (), {"data": ""})()])


@pytest.mark.parametrize("name", ["pipe.cu", "pipe.ptx"])
def test_named_pipes_are_rejected_as_linked_files(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="a named pipe, not a file"):
        cuda.jit(link=[tmp_path / name])
    with pytest.raises(ValueError, match="a named pipe, not a file"):
        cuda.LinkableCode.from_path(tmp_path / name)


def test_device_functions_link_their_sources_once():
    """The attributes of the function are inlined once into all its callers."""
    three = cuda.CUSource("__device__ int three() { return 3; }", name="three.cu")

    @cuda.jit(device=True, link=[three])
    def multiply_by_three(x):
        "return three() * x;"

    @cuda.jit(device=True, link=three)
    def call_inner(x):
        "return multiply_by_three(x) + three();"

    @cuda.jit(link=[three])
    def call_outer(x):
        "x[0] = call_inner(x[0]) + three();"

    @numbalite.vectorize(["int32(int32)"], target="cuda")
    def outer_ufunc(x):
        "return call_inner(x);"

    x = zeros_array(1, "i4") + 2
    call_outer[1, 1](x)
    assert x[0] == 12 and outer_ufunc(x)[0] == 39


@pytest.mark.sim
def test_simulator_rejects_compiled_linked_code(tmp_path):
    """The error is raised when the kernel is compiled, for link= of the kernel and of its device
    functions."""
    (tmp_path / "three.ptx").write_text("// PTX")

    @cuda.jit(device=True, link=[tmp_path / "three.ptx"])
    def identity_with_link(x):
        "return x;"

    @cuda.jit
    def call_inner(x):
        "x[0] = identity_with_link(x[0]);"

    @cuda.jit(link=[cuda.LTOIR(b"", name="code.ltoir")])
    def store_one_with_link(x):
        "x[0] = 1;"

    for kernel, name in ((call_inner, "three.ptx"), (store_one_with_link, "code.ltoir")):
        with pytest.raises(NotImplementedError, match=rf"{name}.*simulator.*source"):
            kernel[1, 1](zeros_array())
    with pytest.raises(NotImplementedError, match="three.ptx"):

        @numbalite.vectorize(["int32(int32)"], target="cuda")
        def inner_ufunc(x):
            "return identity_with_link(x);"


def test_extension_prepares_arguments():
    class WrappedValue:
        def __init__(self, array):
            self.array = array

    class UnwrapExtension:
        def prepare_args(self, ty, val, stream, retr):
            if isinstance(val, WrappedValue):
                retr.append(lambda: log.append("after"))
                return ty, val.array
            return ty, val

    log = []

    @cuda.jit(extensions=[UnwrapExtension()])
    def store_value(x, v):
        "x[grid<1>()] = v;"

    x = zeros_array()
    store_value[1, 4](WrappedValue(x), 2)
    assert (x == 2).all() and log == ["after"]
    again = pickle.loads(pickle.dumps(cuda.jit(extensions=[DoublingExtension()])(fill)))
    again[1, 4](x, 3)
    assert (x == 6).all()


class DoublingExtension:
    def prepare_args(self, ty, val, stream, retr):
        return ty, 2 * val if isinstance(val, int) else val


def fill(x, v):
    "x[grid<1>()] = v;"


def test_extensions_can_be_added_after_compilation():
    """`extensions` is a list that can be changed at any time, as in numba, for every kind of
    kernel."""
    source = "__global__ void fill(float* x, float v) { x[threadIdx.x] = v; }"
    for kernel in cuda.jit(fill), cuda.jit("void(float32[:], int32)")(fill), cuda.jit(source):
        x = zeros_array()
        assert kernel.extensions == []
        for add in (
            methodcaller("append", DoublingExtension()),
            methodcaller("extend", [DoublingExtension()]),
            methodcaller("insert", 0, DoublingExtension()),
        ):
            add(kernel.extensions)
            kernel[1, 4](x, 3)
        assert (x == 24).all()
        with pytest.raises(TypeError, match="prepare_args"):
            kernel.extensions.append(3)
        if kernel.specialized:
            kernel.extensions.clear()
        else:
            special = kernel.specialize(x, 3)
            special[1, 4](x, 1)
            assert (x == 8).all()
            kernel.extensions[:] = []
        kernel[1, 4](x, 3)
        assert (x == 3).all()


# --- debug=True -------------------------------------------------------------------------------------------------


@pytest.mark.lines
def test_out_of_bounds_index_raises():
    @cuda.jit(debug=True)
    def store_unchecked(x, n):
        """
        int i = grid<1>();
        x[i] = n;   // HERE
        """

    x = zeros_array(10)
    store_unchecked[1, 10](x, 1)
    with pytest.raises(errors.KernelError) as caught:
        store_unchecked[2, 8](x, 1)
    problem = caught.value
    assert (
        problem.kernel == "store_unchecked"
        and problem.array == "x"
        and problem.index in range(10, 16)
    )
    assert problem.block == (1, 0, 0) and problem.thread[0] in range(2, 8)
    assert problem.tid == problem.thread and "out of bounds" in str(problem)
    assert problem.line in line_numbers_of("// HERE", __file__)
    assert problem.file == __file__ and f"{__file__}({problem.line})" in str(problem)
    x[:] = 0
    store_unchecked[1, 10](x, 2)
    assert (x == 2).all(), "the next launch works"


def test_failed_assert_raises():
    @cuda.jit(debug=True)
    def assert_below_three(x):
        "int i = grid<1>(); assert(i < 3); x[i] = 1;"

    with pytest.raises(errors.KernelError, match="i < 3"):
        assert_below_three[1, 4](zeros_array())


@pytest.mark.lines
def test_debug_option_checks_source_kernels():
    k = cuda.jit(source="__global__ void k(array<float> x) {\n  x[threadIdx.x] = 1;\n}", debug=True)
    with pytest.raises(errors.KernelError) as caught:
        k[1, 8](zeros_array())
    assert caught.value.kernel == "k" and caught.value.line
