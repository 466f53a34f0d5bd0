"""Tests cuda.jit: its forms, the types of arguments, several signatures, and launches."""

import contextlib
import copy
import gc
import inspect
import pickle
import threading

import numpy as np
import pytest
from kit.arrays import zeros_array

import numbalite
from numbalite import _core, cuda, errors, float32, float64, types, void
from numbalite.compilers import compile_count

# These tests pass host arrays for convenience; other tests check the warning.


def disable_checks():
    return cuda.checks("none") if cuda.is_simulated() else contextlib.nullcontext()


# --- forms ---------------------------------------------------------------------------------------------


def test_jit_without_arguments_compiles_lazily():
    @cuda.jit
    def fill(x, v):
        "x[grid<1>()] = v;"

    x = zeros_array()
    fill[1, 4](x, 2.5)
    assert (x == 2.5).all()
    assert fill.__name__ == "fill" and fill.__doc__ == "x[grid<1>()] = v;"
    assert list(inspect.signature(fill).parameters) == ["x", "v"]


@pytest.mark.parametrize(
    "signature",
    ["void(float32[:], float32)", "(f4[:], f4)", void(float32[:], float32), (float32[:], float32),
     ["void(float32[:], float32)"], [(float32[:], float32)]],
    ids=str,
)  # fmt: skip
def test_signatures_of_every_form_are_accepted(signature):
    @cuda.jit(signature)
    def fill(x, v):
        "x[grid<1>()] = v;"

    assert fill.signatures == [(float32[:], float32)] and fill.specialized
    x = zeros_array()
    fill[2, 2](x, 3)
    assert (x == 3).all()


def test_jit_with_empty_parentheses_compiles_lazily():
    @cuda.jit()
    def fill(x):
        "x[grid<1>()] = 1;"

    x = zeros_array()
    fill[1, 4](x)
    assert x.all() and fill.signatures == [(float32[::1],)]


def test_jit_is_callable_with_signature_and_function():
    def fill(x):
        "x[grid<1>()] = 1;"

    kernel = cuda.jit("void(int32[:])")(fill)
    x = zeros_array(dtype="i4")
    kernel[1, 4](x)
    assert x.all() and kernel.py_func.__wrapped__ is fill
    x[:] = 0
    cuda.jit(fill)[1, 4](x)
    assert x.all()


SOURCE = r"""
template <typename T> __global__ void axpy(T a, const T* x, T* y, int n) {
    int i = grid<1>();
    if (i < n) y[i] += a * x[i];
}
__global__ void one(float* y) { y[threadIdx.x] = 1; }
"""


def test_jit_compiles_a_cpp_source():
    axpy = cuda.jit(source=SOURCE, name="axpy<float>")
    x, y = np.arange(4, dtype="f4"), zeros_array()
    axpy[1, 32](2.0, x, y, 4)
    np.testing.assert_array_equal(y, 2 * x)
    assert repr(axpy) == "<CUDA kernel axpy<float>(a, x, y, n)>"


def test_jit_accepts_a_source_as_first_argument():
    kernel = cuda.jit("__global__ void only(float* y) { y[threadIdx.x] = 7; }")
    y = zeros_array()
    kernel[1, 4](y)
    assert (y == 7).all() and kernel.__name__ == "only"


def test_jit_accepts_a_source_file(tmp_path):
    (tmp_path / "values.h").write_text("#define VALUE 9\n")
    path = tmp_path / "kernel.cu"
    path.write_text('#include "values.h"\n__global__ void k(int* y) { y[0] = VALUE; }\n')
    y = zeros_array(1, "i4")
    cuda.jit(source=path)[1, 1](y)
    assert y[0] == 9


def test_ambiguous_kernel_of_a_source_raises():
    with pytest.raises(TypeError, match=r"several kernels.*axpy, one"):
        cuda.jit(source=SOURCE)
    with pytest.raises(TypeError, match=r"axpy is a template.*axpy<float>"):
        cuda.jit(source=SOURCE.partition("__global__ void one")[0])
    with pytest.raises(errors.CompileError, match="no kernel"):
        cuda.jit(source="int x;")
    with pytest.raises(TypeError, match="name= requires source="):
        cuda.jit("void(int32)", name="x")


def test_a_signature_of_a_source_is_checked():
    text = "__global__ void k(float* y, int n) { y[0] = n; }"
    y = zeros_array(1)
    cuda.jit("void(float32[:], int32)", source=text)[1, 1](y, 3)
    assert y[0] == 3
    with pytest.raises(errors.SignatureError, match=r"float\* y, int n"):
        cuda.jit("void(float64[:], int32)", source=text)
    with pytest.raises(errors.SignatureError):
        cuda.jit("void(float32[:])", source=text)


@pytest.mark.parametrize("what", [3, 3.5, {}, object()])
def test_invalid_arguments_of_jit_raise(what):
    with pytest.raises(TypeError):
        cuda.jit(what)


def test_jit_rejects_a_type_as_signature():
    with pytest.raises(errors.SignatureError, match="void\\(float32\\)"):
        cuda.jit(float32)(lambda x: x)


def test_jit_rejects_a_body_as_signature():
    with pytest.raises(errors.SignatureError, match="stands in a function"):
        cuda.jit("int i = grid<1>();")


def test_jit_rejects_invalid_bodies():
    with pytest.raises(
        TypeError,
        match=r"(?s)f_string_body: the body of a kernel.*f-string.*@cuda.jit\n    def f_string_body",
    ):

        @cuda.jit
        def f_string_body(x):
            f"x[0] = {x};"  # noqa: B021


def test_kernel_with_a_return_type_raises():
    with pytest.raises(TypeError, match=r"CUDA kernel must have void return type\."):

        @cuda.jit("int32(int32[:])")
        def kernel_with_result(x):
            ""

    with pytest.raises(TypeError, match=r"CUDA kernel must have void return type\."):
        cuda.jit("__global__ int k() { return 1; }")


def test_parameters_and_signature_must_agree():
    with pytest.raises(errors.SignatureError, match="2 parameters .x, n.*has 1"):

        @cuda.jit("void(int32[:])")
        def missing_parameter_type(x, n):
            ""


@pytest.mark.parametrize("header", ["x, *rest", "x, **rest", "x, n=3", "new"])
def test_jit_rejects_unsupported_parameter_kinds(header):
    with pytest.raises(TypeError, match="k: "):
        names = {"cuda": cuda}
        exec(f"@cuda.jit\ndef k({header}):\n    'x[0] = 1;'\n", names)


def test_jit_of_a_kernel_raises():
    @cuda.jit
    def empty_kernel(x):
        ""

    with pytest.raises(TypeError, match="compiled already"):
        cuda.jit(empty_kernel)


# --- types of the arguments ----------------------------------------------------------------------------


@cuda.jit
def set_elements(x, v):
    "x[grid<1>()] = v;"


def test_kernel_is_compiled_once_for_each_list_of_types():
    x = zeros_array()
    set_elements[1, 4](x, 1)
    count = compile_count()
    set_elements[2, 2](x, 2)
    set_elements[1, 4](cuda.to_device(x), 3)
    assert compile_count() == count
    set_elements[1, 4](x, 1.5)
    assert (x == 1.5).all() and set(set_elements.signatures) >= {
        (float32[::1], types.int64), (float32[::1], float64)
    }  # fmt: skip


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
def test_kernels_copy_every_dtype(dtype):
    @cuda.jit
    def copy_elements(x, y):
        "int i = grid<1>(); if (i < y.size()) y[i] = x[i];"

    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    y = np.zeros_like(x)
    copy_elements[1, 8](x, y)
    np.testing.assert_array_equal(x, y)


def test_kernels_index_arrays_of_every_layout():
    @cuda.jit
    def add(a):
        "auto [i, j] = grid<2>(); if (i < a.shape[0] && j < a.shape[1]) a(i, j) += i * 10 + j;"

    expected = np.add.outer(np.arange(3) * 10, np.arange(4)).astype("f4")
    for a in (np.zeros((3, 4), "f4"), np.zeros((4, 3), "f4").T, np.zeros((6, 4), "f4")[::2]):
        add[1, (4, 4)](a)
        np.testing.assert_array_equal(a, expected)
    layouts = {args[0].layout for args in add.signatures}
    assert {"C", "F"} <= layouts


def test_kernels_access_record_fields():
    particle = np.dtype([("x", "f4"), ("v", "f8"), ("n", "i2", (2,))], align=True)

    @cuda.jit
    def move_particles(p, t):
        "auto& q = p[grid<1>()]; q.x += q.v * t; q.n[1] = q.n[0] + 1;"

    p = np.zeros(3, particle)
    p["v"] = [1, 2, 3]
    move_particles[1, 3](p, 2.0)
    assert p["x"].tolist() == [2, 4, 6] and p["n"][:, 1].tolist() == [1, 1, 1]

    @cuda.jit("void(particle[:], particle)")
    def fill(p, value):
        "particle q = value; p[grid<1>()] = q;"

    fill[1, 3](p, np.array((1, 2, (3, 4)), particle)[()])
    assert p["n"].tolist() == [[3, 4]] * 3


def test_kernels_access_packed_records():
    packed = np.dtype([("a", "i1"), ("x", "f8")])

    @cuda.jit
    def set_fields(p):
        "int i = grid<1>(); p[i].a = i; p[i].x = i + 0.5;"

    p = np.zeros(3, packed)
    set_fields[1, 3](p)
    assert p["x"].tolist() == [0.5, 1.5, 2.5] and p["a"].tolist() == [0, 1, 2]


def test_const_array_parameters_accept_read_only_arrays():
    @cuda.jit("void(const float32[:], float32[:])")
    def copy_elements(x, y):
        "y[grid<1>()] = x[grid<1>()];"

    x, y = np.arange(4, dtype="f4"), zeros_array()
    x.flags.writeable = False
    copy_elements[1, 4](x, y)
    np.testing.assert_array_equal(x, y)
    with pytest.raises(errors.CompileError):

        @cuda.jit("void(const float32[:])")
        def write_const(x):
            "x[0] = 1;"


def test_signatures_accept_pointer_types():
    @cuda.jit("void(const float32*, float32*)")
    def copy_pointers(x, y):
        "y[threadIdx.x] = x[threadIdx.x];"

    x, y = np.arange(4, dtype="f4"), zeros_array()
    copy_pointers[1, 4](x, y)
    np.testing.assert_array_equal(x, y)


# --- several signatures -----------------------------------------------------------------------------------


@cuda.jit(["void(int32[:], int32)", "void(float32[:], float32)", "void(float64[:], float64)"])
def set_to_double(x, v):
    "x[grid<1>()] = v * 2;"


@pytest.mark.parametrize("dtype, value", [("i4", 3), ("f4", 1.5), ("f8", 1.5), ("f8", 3)])
def test_matching_signature_is_launched(dtype, value):
    x = zeros_array(dtype=dtype)
    set_to_double[1, 4](x, value)
    assert (x == value * 2).all()
    assert len(set_to_double.overloads) == 3 and not set_to_double.specialized


def test_arguments_without_a_matching_signature_raise():
    with pytest.raises(
        TypeError, match=r"(?s)no signature of set_to_double takes.*int16.*void\(int32"
    ):
        set_to_double[1, 4](zeros_array(dtype="i2"), 1)
    with pytest.raises(TypeError):
        set_to_double[1, 4](zeros_array(dtype="i4"), 1.5)
    with pytest.raises(TypeError):
        set_to_double[1, 4](zeros_array())


@cuda.jit(["void(float32[:], float32, float64)", "void(float32[:], float64, float32)"])
def add_two_arguments(x, a, b):
    "x[0] = a + b;"


def test_ambiguous_overloads_raise():
    x = zeros_array(1)
    add_two_arguments[1, 1](x, np.float32(1), np.float64(2))
    assert x[0] == 3
    with pytest.raises(TypeError, match="(?s)ambiguous.*float64, float32"):
        add_two_arguments[1, 1](x, np.float32(1), np.float32(2))


def test_exact_types_come_before_conversions():
    @cuda.jit(["void(float64[:], float64)", "void(float64[:], int64)", "void(float64[:], float32)"])
    def size_of_type(x, v):
        "x[0] = sizeof(v) * (v / 2 == 0.5 ? 1 : 10);"

    x = zeros_array(1, "f8")
    for value, result in ((1, 80), (1.0, 8), (np.float32(1), 4), (np.int16(1), 80)):
        size_of_type[1, 1](x, value)
        assert x[0] == result, value


def test_one_kernel_serves_c_and_f_order():
    @cuda.jit(["void(float32[:, ::1])", "void(float32[:, :])"])
    def has_c_strides(x):
        "x(0, 0) = sizeof(x) && decltype(x)(x).strides[1] == 4 ? 1 : 2;"

    for x in (np.zeros((2, 2), "f4"), np.zeros((2, 2), "f4").T):
        has_c_strides[1, 1](x)
        assert x[0, 0] in (1, 2)


# --- launching ------------------------------------------------------------------------------------------------


def test_launch_without_configuration_raises():
    with pytest.raises(ValueError, match="launch configuration"):
        set_elements(zeros_array(), 1)
    with pytest.raises(ValueError, match="must specify at least the griddim and blockdim"):
        set_elements[1]


def test_configure_accepts_keyword_arguments():
    x = zeros_array()
    set_elements.configure(1, 4)(x=x, v=2)
    assert (x == 2).all()
    set_elements.configure((2,), (2,), stream=0, sharedmem=0)(x, v=3)
    assert (x == 3).all()
    launcher = set_elements[(2, 1), 2, 0, 16]
    for again in (pickle.loads(pickle.dumps(launcher)), copy.deepcopy(launcher)):
        assert again.config == launcher.config == ((2, 1, 1), (2, 1, 1), 0, 16)
        again(x, 4)
        assert (x == 4).all()


@cuda.jit
def increment_below_n(x, n):
    "int i = grid<1>(); if (i < n) x[i] += 1;"


@pytest.mark.parametrize("n", [1, 100, 1025])
@pytest.mark.parametrize("tpb", [0, 32])
def test_forall_covers_n_elements(n, tpb):
    x = zeros_array(n)
    increment_below_n.forall(n, tpb)(x, n)
    assert (x == 1).all()
    increment_below_n.forall(n, tpb=tpb)(n=n, x=x)
    assert (x == 2).all()


def test_forall_of_zero_elements_launches_nothing():
    increment_below_n.forall(0)("anything")
    with pytest.raises(ValueError, match="Can't create ForAll with negative task count: -1"):
        increment_below_n.forall(-1)
    for options in ({"ntasks": 10.5}, {"ntasks": 1, "tpb": "a"}):
        (name, value), *_ = reversed(options.items())
        with pytest.raises(
            TypeError, match=f"increment_below_n.forall: {name} is an integer, not {value!r}"
        ):
            increment_below_n.forall(**options)
    with pytest.raises(ValueError, match="tpb is the number of threads per block, not -1"):
        increment_below_n.forall(1, tpb=-1)


def test_specialize_fixes_the_signature():
    @cuda.jit
    def store_value(x, v):
        "x[grid<1>()] = v;"

    x = zeros_array()
    special = store_value.specialize(x, 1.0)
    assert special.specialized and not store_value.specialized
    assert special.signatures == [(float32[::1], float64)]
    special[1, 4](x, 3)
    assert (x == 3).all() and store_value.specialize(zeros_array(), 2.0) is special
    with pytest.raises(RuntimeError, match="already specialized: store_value takes"):
        special.specialize(x, 1.0)
    with pytest.raises(TypeError):
        special[1, 4](zeros_array(dtype="f8"), 3)
    assert store_value.specialize(float32[::1], float64) is special  # types instead of arguments
    strided = store_value.specialize(float32[:], 1)
    assert strided.signatures == [(float32[:], types.int64)]
    strided[1, 4](zeros_array(8)[::2], 1)
    with pytest.raises(TypeError, match=r"store_value.specialize: 2 arguments .* \(x, v\), not 1"):
        store_value.specialize(x)
    with pytest.raises(TypeError, match="store_value.specialize: parameter 'v': .*a type such as"):
        store_value.specialize(x, object())


def test_compile_adds_an_overload():
    @cuda.jit
    def store_one(x):
        "x[grid<1>()] = 1;"

    compiled = store_one.compile("void(float32[::1])")
    count = compile_count()
    with disable_checks():  # a checked launch compiles for itself
        store_one[1, 4](zeros_array())
    assert compile_count() == count and store_one.overloads == {(float32[::1],): compiled}
    assert store_one.compile((float32[::1],)) is compiled
    with pytest.raises(RuntimeError, match="accepts no new signature"):
        set_to_double.compile("void(int16[:], int16)")
    with pytest.raises(TypeError, match="void"):
        store_one.compile("int32(float32[:])")
    store_one.disable_compile()
    store_one[1, 4](zeros_array())
    with pytest.raises(
        TypeError, match=r"No matching definition.*float64.*: store_one compiles no more"
    ):
        store_one[1, 4](zeros_array(dtype="f8"))
    with pytest.raises(RuntimeError, match="compiles no more"):
        store_one.compile("void(float64[::1])")
    store_one.disable_compile(False)
    store_one[1, 4](zeros_array(dtype="f8"))


def test_kernel_is_compiled_once_by_several_threads():
    @cuda.jit
    def store_tripled(x, v):
        "x[grid<1>()] = v * 3;"

    arrays, problems = [zeros_array() for _ in range(8)], []

    def launch_and_record_error(x, v):
        try:
            store_tripled[1, 4](x, v)
        except Exception as problem:
            problems.append(problem)

    threads = [
        threading.Thread(target=launch_and_record_error, args=(x, v)) for v, x in enumerate(arrays)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and len(store_tripled.overloads) == 1
    assert [x[0] for x in arrays] == [v * 3 for v in range(8)]


# --- places to be in -------------------------------------------------------------------------------------------


def test_kernels_without_parameters_are_launched():
    @cuda.jit
    def empty_kernel():
        ""

    empty_kernel[1, 1]()
    empty_kernel[2, 2]()
    assert empty_kernel.signatures == [()]
    cuda.jit("void()")(empty_kernel.py_func)[1, 1]()
    with pytest.raises(TypeError):
        empty_kernel[1, 1](3)


def test_dynamic_shared_memory_size_is_configured():
    @cuda.jit
    def reverse(x):
        """
        extern __shared__ float s[];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        x[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
        """

    x = np.arange(4, dtype="f4")
    reverse[1, 4, 0, 16](x)
    assert x.tolist() == [3, 2, 1, 0]


class KernelHolder:
    @staticmethod
    @cuda.jit("void(float32[:])")
    def static_kernel(x):
        "x[0] = 42;"

    @cuda.jit
    def plain_kernel(x):
        "x[0] = 43;"


def test_kernels_work_as_class_attributes():
    x = zeros_array(1)
    KernelHolder.static_kernel[1, 1](x)
    assert x[0] == 42
    KernelHolder().plain_kernel[1, 1](x)
    assert x[0] == 43


PROGRAM = """
import warnings
import numpy as np
from numbalite import cuda
warnings.simplefilter("ignore")
N = 5
@cuda.jit
def body(x):
    "x[0] = N;"
m = cuda.module("__device__ int v = 5; __global__ void k(int* x, int d) { x[0] = v; v += d; }")
def results():
    x, y = np.zeros(1, "i4"), np.zeros(1, "i4")
    m.k[1, 1](x, 10 + cuda.get_current_device().id)
    body[1, 1](y)
    return x[0], y[0], m.get_global("v").copy_to_host()
for device in cuda.gpus:
    with device:
        print(*results())
"""


@pytest.mark.sim
def test_each_device_has_its_own_module(run_python):
    done = run_python(PROGRAM, NUMBALITE_SIM_DEVICES="2", NUMBALITE_DRIVER="sim")
    assert done.stdout.split("\n")[:2] == ["5 5 15", "5 5 16"]


@pytest.mark.sim
def test_kernels_are_reloaded_after_close(run_python):
    done = run_python(PROGRAM + "cuda.close()\nprint(*results())", NUMBALITE_SIM_DEVICES="1")
    assert done.stdout.split("\n")[:2] == ["5 5 15", "5 5 15"]


def test_string_bodies_work_without_docstrings(run_python, tmp_path):
    """python -OO removes docstrings, but the file still contains them."""
    (tmp_path / "program.py").write_text(PROGRAM)
    assert run_python("-m program", PYTHONOPTIMIZE="2").stdout.startswith("5 5 15")


def test_missing_body_without_source_raises(run_python):
    """A body without code raises an error, because a kernel must not silently do nothing."""
    code = "from numbalite import cuda\n@cuda.jit\ndef k(x):\n    'x[0] = 1;'\n"
    run_python(code)
    done = run_python(code, PYTHONOPTIMIZE="2", check=False)
    assert done.returncode and "TypeError: k: python -OO has removed the string" in done.stderr


# --- cooperative launches ---------------------------------------------------------------------------------------


def test_grid_sync_launches_cooperatively():
    @cuda.jit("void(int32[:], int32[:])")
    def sync_grid_and_reverse(x, y):
        """
        int i = grid<1>();
        x[i] = i + 1;
        cooperative_groups::this_grid().sync();
        y[i] = x[x.size() - 1 - i];
        """

    x, y = zeros_array(8, "i4"), zeros_array(8, "i4")
    sync_grid_and_reverse[4, 2](x, y)
    assert y.tolist() == list(range(8, 0, -1))


@pytest.mark.usefixtures("disabled_checks")  # compilations are counted
def test_unpickled_kernel_is_not_compiled_or_loaded(monkeypatch):
    """Unpickling a kernel compiles nothing, because the kernel may never be launched in the new process."""
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", "1")
    unit = "__constant__ int c = 1; template <class T> __global__ void k(T* x) { x[0] += c; }"

    @numbalite.guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def add_one_gufunc(x, y):
        "y(0) = x(0) + 1;"

    made = {
        "unit": cuda.jit(unit, name="k<float>"),
        "body": cuda.jit("void(float32[:])")(_adds_one),
        "ufunc": numbalite.vectorize(["float32(float32)"], target="cuda")(_plus_one),
        "generalized": add_one_gufunc,
        "host": numbalite.jit("float32(float32)")(_plus_one),
    }
    pickled = pickle.dumps(made)
    gc.collect()  # modules of earlier tests
    before = compile_count(), _core.live()["modules"]
    again = pickle.loads(pickled)
    assert (compile_count(), _core.live()["modules"]) == before
    for name in ("unit", "body"):
        x = cuda.to_device(np.ones(1, "f4"))
        again[name][1, 1](x)
        assert x.copy_to_host()[0] == 2
        with pytest.raises(TypeError, match="'x'"):
            again[name][1, 1]("not an array")
    for name in ("ufunc", "generalized", "host"):
        result = again[name](np.ones(1, "f4") if name != "host" else 1.0)
        assert np.ravel(result)[0] == 2
    assert repr(again["unit"]) == repr(made["unit"])


def test_pickles_with_former_class_names_load():
    unit = "template <class T> __global__ void k(T *x) { x[0] += 1; }"
    made = cuda.jit(unit, name="k<float>"), cuda.jit("void(float32[:])")(_adds_one)
    pickled = pickle.dumps(made, 2)
    for now, before in (
        (b"source\nBodySource", b"dispatcher\nBodyKernel"),
        (b"module\nModuleSource", b"module\nUnitKernel"),
        (b"numbalite.cxx.definition\nunpickle", b"numbalite.kernels.source\n_definition"),
    ):
        assert now in pickled
        pickled = pickled.replace(now, before)
    for kernel in pickle.loads(pickled):
        x = np.ones(1, "f4")
        kernel[1, 1](x)
        assert x[0] == 2


def _adds_one(x):
    "x[0] += 1;"


def _plus_one(x):
    "return x + 1;"
