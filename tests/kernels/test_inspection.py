"""Tests inspection of kernels, kernels in other processes, ahead-of-time compilation, and random
states."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from kit.arrays import zeros_array

from numbalite import cuda, errors, float32, float64, int32, njit, types, vectorize, void

# These tests pass host arrays for convenience; other tests check the warning.


SCALE = 3


@cuda.jit
def set_elements(x, v):
    "x[grid<1>()] = v;"


@cuda.jit(["void(int32[:], int32)", "void(float32[:], float32)", "void(float64[:], float64)"])
def set_to_double(x, v):
    "x[grid<1>()] = v * 2;"


SOURCE = r"""
template <typename T> __global__ void axpy(T a, const T* x, T* y, int n) {
    int i = grid<1>();
    if (i < n) y[i] += a * x[i];
}
__global__ void one(float* y) { y[threadIdx.x] = 1; }
"""


# --- inspection -------------------------------------------------------------------------------------------------


def test_inspect_source_returns_cpp_per_signature():
    x = zeros_array()
    set_elements[1, 4](x, 1)
    sources = set_elements.inspect_source()
    assert 'extern "C" __global__ void nl_set_elements(' in sources[float32[::1], types.int64]
    assert (
        set_elements.inspect_source((float32[::1], types.int64))
        == sources[float32[::1], types.int64]
    )
    with pytest.raises(KeyError):
        set_elements.inspect_source((int32,))
    typed = cuda.jit("void(int32[:])")(_empty_kernel)
    assert "nl__empty_kernel" in typed.inspect_source()[(int32[:],)]
    unit = cuda.jit(source=SOURCE, name="one")
    assert "void one(float* y)" in unit.inspect_source()[unit.signatures[0]]


def _empty_kernel(x):
    ""


def test_compiled_kernels_report_resource_usage():
    @cuda.jit("void(float32[:])")
    def copy_through_shared(x):
        "__shared__ float s[64]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); x[0] = s[1];"

    assert copy_through_shared.get_shared_mem_per_block() == 256
    assert (
        copy_through_shared.get_max_threads_per_block() >= 256
        and copy_through_shared.get_regs_per_thread() >= 0
    )
    assert (
        copy_through_shared.get_local_mem_per_thread() >= 0
        and copy_through_shared.get_const_mem_size() >= 0
    )
    (compiled,) = copy_through_shared.overloads.values()
    assert compiled.shared_mem_per_block == 256 and compiled.entry_name
    assert (
        copy_through_shared.occupancy(128) >= 1
        and copy_through_shared.occupancy((16, 8), 1024) >= 1
    )
    assert copy_through_shared.max_cooperative_grid_blocks(128) >= copy_through_shared.occupancy(
        128
    )
    assert compiled.max_cooperative_grid_blocks((16, 8)) >= 1
    set_elements[1, 4](zeros_array(), 1)
    assert set_elements.get_regs_per_thread((float32[::1], types.int64)) >= 0
    assert set(set_elements.get_regs_per_thread()) == set(set_elements.signatures)
    unit = cuda.jit(source=SOURCE, name="one")
    assert unit.get_max_threads_per_block() >= 256


def test_occupancy_query_supports_opt_in_shared_memory():
    """A launch with more than 48 KiB of shared memory opts in automatically; the query of the
    occupancy must do so, too."""

    @cuda.jit("void(float32[:])")
    def use_dynamic_shared(x):
        "extern __shared__ float s[]; int i = grid<1>(); s[threadIdx.x] = i; if (i < x.size()) x[i] = s[threadIdx.x];"

    device = cuda.get_current_device()
    most = device.MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    assert most > 48 * 1024
    assert (
        use_dynamic_shared.occupancy(64, most) == 1
        and use_dynamic_shared.occupancy(64, most // 4) >= 2
    )
    assert use_dynamic_shared.occupancy(64, most + 1) == 0
    use_dynamic_shared.forall(64, sharedmem=most)(zeros_array(64))


def test_failed_compilation_adds_no_overload():
    """A kernel that failed to compile for one list of types still reports those that it is compiled
    for."""

    @cuda.jit
    def increment_plane(a):
        "auto [x, y] = grid<2>(); a(x, y) += 1;"

    increment_plane[1, (2, 2)](zeros_array((2, 2)))
    for fail in (
        lambda: increment_plane[1, (2, 2)](zeros_array(4)),
        lambda: increment_plane.compile("void(float64[:])"),
    ):
        with pytest.raises(errors.CompileError):
            fail()
        assert len(increment_plane.signatures) == 1
        assert list(increment_plane.occupancy(64)) == increment_plane.signatures
        assert set(increment_plane.inspect_source()) == set(increment_plane.signatures)
    increment_plane[1, (2, 2)](zeros_array((2, 2)))


def test_inspect_asm_returns_ptx_per_signature():
    pytest.importorskip("cuda.pathfinder")
    try:
        text = set_to_double.inspect_asm("void(float32[:], float32)")
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")
    assert ".entry nl_set_to_double" in text
    assert len(set_to_double.inspect_asm()) == 3


def test_inspect_sass_needs_a_disassembler():
    from numbalite.compilers.disassembler import find_tool

    try:
        set_to_double.inspect_asm()
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")
    if find_tool("nvdisasm") is None and find_tool("cuobjdump") is None:
        with pytest.raises(errors.CudaSupportError, match="nvdisasm"):
            set_to_double.inspect_sass((float32[:], float32))
    else:
        assert "EXIT" in set_to_double.inspect_sass((float32[:], float32))


def test_inspect_methods_work_for_every_kind_of_kernel():
    """Without a signature, returns a dict indexed by argument types, as in numba, also for one
    overload."""
    typed = cuda.jit("void(float32[:], float32)")(store_value)
    unit = cuda.jit("__global__ void unit(float* x, float v) { x[threadIdx.x] = v; }")
    for kernel in typed, unit, cuda.jit(store_value).specialize(float32[:], float32):
        ((args, text),) = kernel.inspect_source().items()
        assert (args,) == tuple(kernel.signatures) and kernel.inspect_source(args) == text
        try:
            ((args, text),) = kernel.inspect_asm().items()
        except errors.CudaSupportError:
            continue
        assert kernel.inspect_asm(args) == text and ".entry" in text
    assert cuda.jit(store_value).inspect_source() == {}
    with pytest.raises(
        TypeError, match="a block is its number of threads, or a tuple of 1 to 3, not 'a'"
    ):
        typed.occupancy("a")
    with pytest.raises(TypeError, match="shared is bytes .*not 1.5"):
        typed.occupancy(32, 1.5)


def store_value(x, v):
    "x[threadIdx.x] = v;"


def test_py_func_is_the_function():
    kernel, device = cuda.jit(store_value), cuda.jit(device=True)(store_value)
    remedies = "launch it.*simulator", "call it in a kernel"
    for function, remedy in zip((kernel.py_func, device.py_func), remedies, strict=True):
        assert (
            function == store_value
            and function.__wrapped__ is store_value
            and function.__name__ == "store_value"
        )
        assert function.__code__ is store_value.__code__
        with pytest.raises(
            TypeError, match=r"store_value has a C\+\+ body, which Python cannot call.*" + remedy
        ):
            function(zeros_array(), 1)
        x = zeros_array()
        cuda.jit("void(float32[:], float32)")(function)[1, 4](x, 5)
        assert (x == 5).all()
    unit = cuda.jit("__global__ void unit(float* x, float v) { x[threadIdx.x] = v; }")
    for nothing in unit, pickle.loads(pickle.dumps(kernel)):
        assert not hasattr(nothing, "py_func")
        with pytest.raises(AttributeError, match="has no py_func: it comes from a source"):
            nothing.py_func


@pytest.mark.parametrize("make", [njit, vectorize(target="cuda")], ids=["njit", "vectorize"])
def test_py_func_of_functions_that_are_called(make):
    """A body that is a string without statements raises an error instead of returning None."""

    def string_function(x):
        "return 2 * x;"

    def python_function(x):
        return 2 * x

    function = make(string_function)
    assert function.py_func.__wrapped__ is string_function
    with pytest.raises(
        TypeError,
        match=r"string_function has a C\+\+ body, which Python cannot call.*: call string_function itself",
    ):
        function.py_func(3.0)
    assert make(python_function).py_func is python_function
    assert make(function.py_func)(3.0) == njit(njit(function.py_func).py_func)(3.0) == 6


def test_doc_argument_sets_the_docstring():
    text = "Fills x with v."
    kernel = cuda.jit(doc=text)(store_value)
    assert cuda.jit(store_value).__doc__ == store_value.__doc__ and kernel.__doc__ == text
    assert cuda.jit(device=True, doc=text)(store_value).__doc__ == text
    assert pickle.loads(pickle.dumps(kernel)).__doc__ == text
    unit = "__global__ void unit(float* x, float v) { x[threadIdx.x] = v; }"
    assert cuda.jit(unit, doc=text).__doc__ == text and cuda.jit(unit).__doc__ is None
    with pytest.raises(TypeError, match="doc is the text of __doc__, not 3"):
        cuda.jit(doc=3)


def record_call(seen, x, *what):
    seen.append((what, x.copy()))


def test_pre_launch_callbacks_are_called():
    """Each launcher has numba's pre_launch_callbacks, a list of functions f(kernel, launcher)."""
    for kernel in cuda.jit(store_value), cuda.jit("void(float32[:], float32)")(store_value):
        x, seen = zeros_array(), []
        configured = kernel[1, 4]
        configured.pre_launch_callbacks.append(partial(record_call, seen, x))
        configured(x, 3)
        configured(v=4, x=x)
        ((compiled, launcher), before), (_, then) = seen
        assert launcher is configured and compiled is next(iter(kernel.overloads.values()))
        assert not before.any() and (then == 3).all() and (x == 4).all()
        kernel[1, 4](x, 5)
        assert len(seen) == 2  # it was that launcher's
        configured.pre_launch_callbacks[:] = [lambda *what: 1 / 0]
        with pytest.raises(ZeroDivisionError):
            configured(x, 6)
        assert (x == 5).all()


def test_inspect_types_prints_parameter_types(capsys):
    set_to_double.inspect_types()
    assert "x: array<float, 1>" in capsys.readouterr().out
    with pytest.raises(NotImplementedError):
        set_to_double.inspect_llvm()


def test_repr_lists_name_and_signatures():
    assert repr(set_elements) == "<CUDA kernel set_elements(x, v)>"
    assert repr(set_to_double).startswith(
        "<CUDA kernel set_to_double: void(int32[:], int32), void(float32[:]"
    )


@pytest.mark.parametrize("kind", ["set_elements", "typed", "unit", "closure"])
def test_kernels_are_pickled(kind):
    bias = 5

    @cuda.jit(device=True)
    def add_bias(v):
        "return v + bias + SCALE;"

    @cuda.jit
    def call_add_bias(x, v):
        "x[grid<1>()] = add_bias(v);"

    text = "__global__ void unit(float* x, float v) { x[threadIdx.x] = v; }"
    kernel = {"set_elements": set_elements, "typed": cuda.jit("void(float32[:], float32)")(set_elements.py_func),
              "unit": cuda.jit(text), "closure": call_add_bias}[kind]  # fmt: skip
    again = pickle.loads(pickle.dumps(kernel))
    x = zeros_array()
    again[1, 4](x, 3)
    assert (x == (3 + bias + SCALE if kind == "closure" else 3)).all()
    assert repr(again) == repr(kernel) and copy.copy(kernel) is kernel
    assert copy.deepcopy([kernel])[0] is kernel


def test_pickled_kernels_in_a_new_process(run_python, tmp_path):
    path = tmp_path / "kernel.pickle"
    path.write_bytes(pickle.dumps(set_to_double))
    done = run_python(
        "import pickle, sys, numpy as np, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "k = pickle.load(open(sys.argv[1], 'rb'))\n"
        "x = np.zeros(2, 'f4'); k[1, 2](x, 4); print(x)",
        path,
    )
    assert done.stdout.strip() == "[8. 8.]"


# --- compiling ahead of time --------------------------------------------------------------------------------------


@pytest.fixture
def skip_without_nvrtc():
    try:
        cuda.compile("__global__ void k() {}", cc=(8, 0))
    except errors.CudaSupportError:
        pytest.skip("no NVRTC")


def add(x, y):
    "return x + y;"


def test_compile_returns_device_function_code(skip_without_nvrtc):
    text, result = cuda.compile(add, "float32(float32, float32)", cc=(8, 0))
    assert result is float32 and ".func  (.param .b32" in text and "add(" in text
    assert "sm_80" in text
    text, _ = cuda.compile(add, (float32, float32), cc=(9, 0), abi_info={"abi_name": "plus"})
    assert "plus(" in text and "sm_90" in text


def test_compile_returns_ptx_and_cubin(skip_without_nvrtc):
    text, result = cuda.compile_ptx(_empty_kernel, "void(float32[:])", cc=(8, 0))
    assert cuda.compile_all(_empty_kernel, "void(float32[:])", device=False, cc=(8, 0)) == (
        [text],
        result,
    )
    assert result is void and ".entry nl__empty_kernel" in text
    code, _ = cuda.compile(SOURCE, cc=(8, 0), output="cubin", name="axpy<double>")
    assert code[:4] == b"\x7fELF"
    assert ".entry" in cuda.compile(set_to_double, "void(int32[:], int32)", cc=(7, 5))[0]


def test_compile_python_device_functions(skip_without_nvrtc):
    def twice(x):
        return x + x

    text, result = cuda.compile(twice, (float32,), cc=(8, 0))
    assert result is float32 and ".func  (.param .b32" in text and "twice(" in text
    assert cuda.compile(twice, int32(int32), cc=(8, 0), abi="numba")[1] is int32
    named = {"abi_name": "same"}
    assert " same(" in cuda.compile(lambda x: x, int32(int32), abi_info=named, cc=(9, 0, "a"))[0]
    assert ".target sm_90a" in cuda.compile(lambda x: x, (int32,), cc=(9, 0, "a"))[0]
    code, result = cuda.compile(twice, (float32,), cc=(9, 0), output="ltoir")
    assert code[:4] == b"\xedCN\x7f" and result is float32


def test_inspect_asm_returns_ptx_of_device_functions(skip_without_nvrtc):
    def multiply_add(x, y, z):
        return x * y + z

    types = (float64,) * 3
    fused = cuda.jit(types, device=True)(multiply_add)
    assert "fma.rn.f64" in fused.inspect_asm(types)
    assert fused.inspect_asm() == {types: fused.inspect_asm(types)}
    assert "fma.rn" not in cuda.jit(device=True, opt=False)(multiply_add).inspect_asm(types)
    forced = cuda.jit(device=True, inline="always")(multiply_add)

    @cuda.jit("void(float64[:])")
    def call_forced_inline(x):
        x[0] = forced(x[0], 2, x[1])

    assert "call." not in call_forced_inline.inspect_lto_ptx((float64[:],))
    with pytest.raises(RuntimeError, match="device function"):
        fused.inspect_sass(types)


def test_compile_rejects_invalid_arguments(skip_without_nvrtc):
    with pytest.raises(errors.CompileError, match="undefined_x"):
        cuda.compile("__global__ void k() { undefined_x; }", cc=(8, 0))
    with pytest.raises(
        NotImplementedError, match="Unsupported output type: elf: output is one of ptx,"
    ):
        cuda.compile(add, (float32, float32), output="elf")
    with pytest.raises(NotImplementedError, match="Unsupported ABI: fast"):
        cuda.compile(add, (float32, float32), abi="fast")
    with pytest.raises(NotImplementedError, match="C ABI is not supported for kernels"):
        cuda.compile(_empty_kernel, "void(float32[:])", device=False, abi="c")
    with pytest.raises(TypeError, match="cc"):
        cuda.compile(add, (float32, float32), cc=90)
    with pytest.raises(TypeError, match="types"):
        cuda.compile(add)


# --- random numbers -----------------------------------------------------------------------------------------------


def test_xoroshiro_states_match_numba():
    from numbalite.cuda import random

    states = random.create_xoroshiro128p_states(100, seed=1)
    assert states.shape == (100,) and states.dtype == random.xoroshiro128p_dtype
    host = states.copy_to_host()
    assert host[0]["s0"] == host[0]["s1"] == 10451216379200822465, "numba's"
    later = random.create_xoroshiro128p_states(50, seed=1, subsequence_start=50).copy_to_host()
    np.testing.assert_array_equal(later, host[50:])

    @cuda.jit((random.xoroshiro128p_type[:], float32[:]))
    def draw_uniform(states, out):
        "int i = grid<1>(); if (i < out.size()) out[i] = xoroshiro128p_uniform_float32(states, i);"

    out = zeros_array(100)
    draw_uniform[1, 128](states, out)
    assert (0 <= out).all() and (out < 1).all() and len(set(out)) > 90
    assert (states.copy_to_host() != host).all()
    with pytest.raises(TypeError, match="kernels"):
        random.xoroshiro128p_uniform_float32(states, 0)
    with pytest.raises(TypeError):
        random.init_xoroshiro128p_states(out, 1)
    with pytest.raises(ValueError):
        random.create_xoroshiro128p_states(-1, 1)
    assert random.create_xoroshiro128p_states(0, 1).size == 0


def test_shared_memory_of_called_functions_is_counted_per_kernel():
    """The module's kernels together use more shared memory than a block can have, but no kernel
    uses all of it."""
    functions = "".join(f"__global__ void k{i}(float* x) {{ turned<{i}>(x); }}\n" for i in range(8))
    m = cuda.module(
        """
        template <int n> __device__ void turned(float* x) {
            __shared__ float s[10000 + n];
            s[threadIdx.x] = x[threadIdx.x];
            __syncthreads();
            x[threadIdx.x] = s[31 - threadIdx.x] + n;
        }
        """
        + functions
    )
    x = np.arange(32, dtype=np.float32)
    m.k7[1, 32](x)
    assert np.array_equal(x, np.arange(31, -1, -1, dtype=np.float32) + 7)
