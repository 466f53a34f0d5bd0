"""Tests cuda.module: kernels, instances of templates, variables, and their lifetimes."""

import contextlib
import functools
import pickle

import numpy as np
import pytest

import numbalite
from numbalite import cuda, errors
from numbalite.compilers import compile_count, toolkit

# These tests pass host arrays for convenience; other tests check the warning.


SOURCE = r"""
#include "mine.h"
namespace physics {
__constant__ float gravity[3] = {1, 2, 3};
__global__ void fall(float* v) { v[threadIdx.x] += gravity[threadIdx.x % 3]; }
}
__constant__ float coefficients[2][2];
__device__ int counter;
__device__ double total = 0.5;
struct Params { float scale; int offset; };
__constant__ Params params = {2.0f, 1};

extern "C" __global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * params.scale + coefficients[0][1] + FROM_HEADER;
    atomicAdd(&counter, 1);
}
template <typename T, int N = 1> __global__ void fill(T* x, T v) { x[threadIdx.x] = v * N; }
__global__ void by_value(Params p, float* x) { x[0] = p.scale + p.offset; }
"""
HEADERS = {"mine.h": "#define FROM_HEADER 10\n"}
PLAIN = "template <class T> __global__ void fill(T* x, T v) { x[threadIdx.x] = v; }"


def compiles_for_gpus(module):
    """The module also compiles for a GPU, if NVRTC is installed."""
    if toolkit.libraries():
        module._images.image(("cuda", 9, 0))


@pytest.fixture
def physics_module():
    return cuda.module(SOURCE, headers=HEADERS, options=["-DUNUSED"])


def test_kernels_are_attributes_of_the_module(physics_module):
    x = np.zeros(4, "f4")
    physics_module.scale[1, 4](x, 4)
    assert (x == 10).all()
    physics_module.fall[1, 4](x)
    assert x.tolist() == [11, 12, 13, 11]
    assert physics_module.scale is physics_module.scale is physics_module["scale"]
    assert physics_module.fall is physics_module["physics::fall"]


def test_signatures_are_read_from_the_source(physics_module):
    types = numbalite.types
    assert physics_module.scale.signatures == [(types.CPointer(types.float32), types.int32)]
    assert (
        str(physics_module.by_value.signatures[0][0]) == "Params"
        and physics_module.scale.specialized
    )
    assert physics_module.get_function("scale") is physics_module.scale


def test_kernels_are_compiled_together(physics_module):
    count = compile_count()
    x = np.zeros(4, "f4")
    physics_module.scale[1, 4](x, 4)
    physics_module.fall[1, 4](x)
    assert compile_count() == count


def test_module_dir_and_repr_list_kernels(physics_module):
    assert {"scale", "fall", "by_value", "get_global"} <= set(dir(physics_module))
    assert "fill" not in dir(physics_module) and "coefficients" not in dir(physics_module)
    assert repr(physics_module) == (
        "<CUDA module module: physics::fall, scale, fill<...>, by_value>"
    )
    assert "scale" in physics_module and "nothing" not in physics_module
    assert list(physics_module) == ["physics::fall", "scale", "by_value"]
    assert "void scale(float* x, int n)" in physics_module.inspect_source()


def test_missing_kernel_names_raise_with_suggestions(physics_module):
    with pytest.raises(AttributeError, match=r"no kernel 'nothing'; it has physics::fall, scale"):
        physics_module.nothing
    with pytest.raises(AttributeError, match=r"template.*module\['fill<float>'\]"):
        physics_module.fill
    with pytest.raises(KeyError, match="template"):
        physics_module["fill"]
    with pytest.raises(KeyError, match="no kernel"):
        physics_module["nothing"]
    with pytest.raises(AttributeError, match="get_global"):
        physics_module.counter
    with pytest.raises(TypeError, match="by its name"):
        physics_module[1]
    with pytest.raises(KeyError, match=r"no variable 'nothing'.*counter"):
        physics_module.get_global("nothing")
    assert not hasattr(physics_module, "__wrapped__")


def test_struct_variables_accept_records():
    module = cuda.module(
        "struct pair { float x; int n; };\n__constant__ pair pairs[2];\n"
        "__global__ void multiply(float *out) { pair p = pairs[threadIdx.x]; out[threadIdx.x] = p.x * p.n; }"
    )
    pairs, records = module.get_global("pairs"), np.array([(1.5, 2), (2.5, 4)], "f4,i4")
    for put in (pairs.copy_to_device, functools.partial(pairs.__setitem__, ...)):
        records["f1"] += 1
        put(records)
        out = np.zeros(2, "f4")
        module.multiply[1, 2](out)
        np.testing.assert_array_equal(out, records["f0"] * records["f1"])
    back = np.zeros_like(records)
    assert pairs.copy_to_host(back) is back
    np.testing.assert_array_equal(back, records)
    with pytest.raises(TypeError, match="incompatible dtype"):
        pairs.copy_to_device(np.zeros(2, [("x", "f4")]))


def test_get_global_returns_device_variables(physics_module):
    physics_module.get_global("coefficients")[:] = np.array([[0, 5], [0, 0]], "f4")
    x = np.zeros(4, "f4")
    physics_module.scale[1, 4](x, 4)
    assert (x == 15).all()
    counter = physics_module.get_global("counter")
    assert counter.shape == () and counter.dtype == np.int32
    assert counter.copy_to_host() == 4
    assert physics_module.get_global("total").copy_to_host() == 0.5
    gravity = physics_module.get_global("physics::gravity")
    assert gravity.shape == (3,) and physics_module.get_global(
        "gravity"
    ).copy_to_host().tolist() == [
        1,
        2,
        3,
    ]
    assert physics_module.get_global("coefficients").shape == (2, 2)


def test_class_type_variables_need_a_dtype(physics_module):
    dtype = np.dtype([("scale", "f4"), ("offset", "i4")])
    params = physics_module.get_global("params", dtype)
    assert params.copy_to_host()["scale"] == 2
    assert physics_module.get_global("params").dtype == np.dtype("V8")
    with pytest.raises(TypeError, match="8 bytes"):
        physics_module.get_global("params", np.float32)
    x = np.zeros(1, "f4")
    physics_module.by_value[1, 1](np.array((3, 4), dtype)[()], x)
    assert x[0] == 7


def test_module_variables_keep_the_module_alive():
    variable = cuda.module("__device__ int v = 7; __global__ void k() {}").get_global("v")
    assert variable.copy_to_host() == 7


def test_template_instances_are_items_of_the_module():
    module = cuda.module(PLAIN)
    x, y = np.zeros(4, "f4"), np.zeros(4, "i8")
    module["fill<float>"][1, 4](x, 1.5)
    module["fill<long long>"][1, 4](y, 2**40)
    assert (x == 1.5).all() and (y == 2**40).all()
    assert module["fill<float>"] is module["fill< float >"]
    assert module["fill<float>"].__name__ == "fill<float>"
    assert [p.ctype for p in module["fill<double>"]._source.rows] == ["double*", "double"]


@pytest.mark.usefixtures("disabled_checks")
def test_names_argument_compiles_instances():
    module = cuda.module(PLAIN, names=["fill<float>", "fill<int>"])
    count = compile_count()
    for dtype, name in (("f4", "fill<float>"), ("i4", "fill<int>")):
        x = np.zeros(2, dtype)
        module[name][1, 2](x, 3)
        assert (x == 3).all()
    assert compile_count() == count
    assert cuda.module(PLAIN, names="fill<float>")["fill<float>"] is not None


def test_instances_before_the_first_launch_share_the_variables(physics_module):
    first, second = physics_module["fill<float>"], physics_module["fill<float, 3>"]
    x = np.zeros(4, "f4")
    first[1, 4](x, 1)
    second[1, 4](x, 1)
    assert (x == 3).all()
    physics_module.scale[1, 4](x, 4)
    assert physics_module.get_global("counter").copy_to_host() == 4


LATE = r"""
__constant__ float c[3];
__device__ int counter;
#define CONSTANT(i) c[i]
__device__ float get(int i) { return CONSTANT(i); }
template <class T> __global__ void line(T* x, int n) {
    int i = grid<1>();
    if (i < n) { x[i] = get(0) + get(1) * x[i]; atomicAdd(&counter, 1); }
}
template <class T> __global__ void twice(T* x) { x[threadIdx.x] *= 2; }
__global__ void last(float* x) { x[0] = c[2]; atomicAdd(&counter, 100); }
"""


def test_late_instances_share_the_variables():
    module = cuda.module(LATE)
    module.get_global("c")[:] = np.array([1, 2, 3], "f4")
    x, y = np.arange(4.0), np.arange(4, dtype="f4")
    launcher = module["line<double>"][1, 32]
    launcher(x, 4)
    module["line<float>"][1, 32](y, 4)
    assert x.tolist() == y.tolist() == [1, 3, 5, 7]
    module.get_global("c")[1:] = np.array([1, 9], "f4")
    launcher(x, 4)
    module.last[1, 1](y)
    assert x.tolist() == [2, 4, 6, 8] and y[0] == 9
    assert module.get_global("counter").copy_to_host() == 112


def test_late_instance_raises_while_arrays_or_graphs_use_variables():
    module = cuda.module(LATE)
    x = np.ones(2)
    part = module.get_global("c")[1:]
    module["twice<double>"][1, 2](x)  # which uses no variable
    assert x.tolist() == [2, 2]
    with pytest.raises(
        RuntimeError, match=r"line<int> may use .*c, counter.*names=\['line<int>'\]"
    ):
        module["line<int>"]
    del part
    stream, y = cuda.stream(), cuda.to_device(np.zeros(1, "f4"))
    with stream.capture() as graph:
        module.last[1, 1, stream](y)
    with pytest.raises(RuntimeError, match="graphs"):
        module["line<int>"]
    graph.launch(stream)
    stream.synchronize()
    del graph
    module["line<int>"]
    assert module.get_global("counter").copy_to_host() == 100


def test_invalid_instance_name_leaves_the_module_unchanged():
    module = cuda.module(PLAIN)
    with pytest.raises(errors.CompileError):
        module["fill<nothing>"]
    x = np.zeros(2, "f4")
    module["fill<float>"][1, 2](x, 3)
    assert (x == 3).all()


def test_template_instances_are_found_by_unqualified_name():
    module = cuda.module("namespace q { template <class T> __global__ void k(T* x) { x[0] = 3; } }")
    x = np.zeros(1, "f4")
    module["k<float>"][1, 1](x)
    assert x[0] == 3 and module["k<float>"] is module["q::k<float>"]


def test_missing_kernel_name_raises():
    with pytest.raises(TypeError, match="no kernel 'b'; it has a"):
        cuda.jit(source="__global__ void a() {}", name="b")
    with pytest.raises(TypeError, match="a is a template"):
        cuda.jit(source="template <class T> __global__ void a(T* x) {}", name="a")


def test_module_compiles_its_source_immediately():
    with pytest.raises(errors.CompileError, match="undefined_x"):
        cuda.module("__global__ void k() { undefined_x; }")
    with pytest.raises(TypeError, match="one source"):
        cuda.module()
    with pytest.raises(TypeError, match="one source"):
        cuda.module(PLAIN, source=PLAIN)
    with pytest.raises(TypeError, match="string"):
        cuda.module(3)
    with pytest.raises(
        TypeError, match=r"cuda.module\(\) has no option 'optoins'; did you mean options"
    ):
        cuda.module(PLAIN, optoins=[])
    with pytest.raises(TypeError):
        cuda.module(PLAIN, device=True)


def test_argument_types_are_checked(physics_module):
    x = np.zeros(4, "f4")
    for args in ((x,), (x, 1.5), (x.astype("f8"), 1), (x[::2], 1), (x, 2**31)):
        with pytest.raises((TypeError, OverflowError, ValueError), match="scale"):
            physics_module.scale[1, 4](*args)
    assert not x.any()


def test_kernels_in_preprocessor_conditionals_are_found():
    module = cuda.module(
        "#ifdef X\n__global__ void k(int* x) { x[0] = 3; }\n#endif", options=["-DX"]
    )
    x = np.zeros(1, "i4")
    module.k[1, 1](x)
    assert x[0] == 3


def test_kernels_defined_by_macros_are_found():
    source = "#define K(n) __global__ void n(int* x) { x[0] = 3; }\nK(one)\nK(two)\n"
    module = cuda.module(source, names=["one"])
    x = np.zeros(1, "i4")
    for name in ("one", "two"):
        x[0] = 0
        module[name][1, 1](x)
        assert x[0] == 3


def test_explicit_template_instantiations_are_kernels():
    module = cuda.module(PLAIN + "\ntemplate __global__ void fill<short>(short*, short);")
    x = np.zeros(2, "i2")
    module["fill<short>"][1, 2](x, 3)
    assert (x == 3).all()


def test_module_options_apply_to_all_kernels():
    module = cuda.module("__global__ void k(float* x) { x[0] = VALUE; }", options=["-DVALUE=5"])
    x = np.zeros(1, "f4")
    module.k[1, 1](x)
    assert x[0] == 5


@pytest.mark.parametrize(
    "given",
    [
        ["-DN=2", "-DT=float", "-DTWICE(x)=((x)+(x))", "-DEMPTY=", "-DFLAG"],
        ["-D", "N=2", "-D T=float", "--define-macro=TWICE(x)=((x)+(x))", "--define-macro", "EMPTY="]
        + ["-DFLAG=1"],
    ],
    ids=["together", "apart"],
)
def test_macro_options_of_any_name_compile(given):
    """Also tests the names of template parameters in numbalite's headers."""
    source = "EMPTY __global__ void k(T* x) {\n#if FLAG\n  x[N] = TWICE(sinf(N)); KEPT;\n#endif\n}"
    module = cuda.module(source, name="mine.cu", options=[*given, "-DKEPT="])
    x = np.zeros(3, "f4")
    module.k[1, 1](x)
    np.testing.assert_allclose(x, [0, 0, 2 * np.sin(np.float32(2))], rtol=1e-6)
    with pytest.raises(errors.CompileError, match="KEPT"):
        cuda.module(source, name="mine.cu", options=given).k[1, 1](x)
    with pytest.raises(errors.CompileError, match="EMPTY|T"):
        cuda.module(source, name="mine.cu").k[1, 1](x)


def test_module_accepts_a_source_file(tmp_path):
    path = tmp_path / "lib.cu"
    path.write_text("__global__ void k(int* x) { x[0] = 3; }\n")
    x = np.zeros(1, "i4")
    cuda.module(path).k[1, 1](x)
    assert x[0] == 3


def test_array_parameters_accept_strided_arrays():
    module = cuda.module(
        "__global__ void k(array<const float, 2> a, array<float, 1, layout::C> b) {"
        " int i = grid<1>(); if (i < b.size()) b[i] = a(i, 0) + a[i][1]; }"
    )
    a, b = np.arange(8, dtype="f4").reshape(4, 2), np.zeros(4, "f4")
    module.k[1, 4](a, b)
    np.testing.assert_array_equal(b, a.sum(1))
    module.k[1, 4](np.asfortranarray(a), b)
    np.testing.assert_array_equal(b, a.sum(1))


def test_user_types_shadow_numbalites_types():
    module = cuda.module("""
        template <class T> struct complex { T re, im, more; };
        struct array { float values[3]; };
        __global__ void k(float* x) {
            complex<float> z = {1, 2, 3}; array a = {{4, 5, 6}};
            auto [one, two] = make_tuple(1, 2.0f);
            atomic_max(&x[0], 1.0f);
            x[grid<1>()] = z.more + a.values[0] + one - 1;
        }""")
    x = np.zeros(1, "f4")
    module.k[1, 1](x)
    assert x[0] == 7


def test_kernel_has_its_module_and_variables():
    kernel = cuda.jit("__constant__ float c; __global__ void k(float* x) { x[0] = c; }")
    kernel.get_global("c")[...] = 2.5
    x = np.zeros(1, "f4")
    kernel[1, 1](x)
    assert x[0] == 2.5 and kernel.module.k is kernel

    @cuda.jit
    def empty_kernel(x):
        ""

    with pytest.raises(TypeError, match="body"):
        empty_kernel.get_global("c")


def test_modules_are_pickled(physics_module):
    again = pickle.loads(pickle.dumps(physics_module))
    x = np.zeros(4, "f4")
    again.scale[1, 4](x, 4)
    assert (x == 10).all() and repr(again) == repr(physics_module)
    assert physics_module.get_global("counter").copy_to_host() == 0, "a module of its own"


def test_only_kernels_that_wait_for_the_grid_are_launched_cooperatively():
    module = cuda.module("""
        __device__ void wait() { cooperative_groups::this_grid().sync(); }
        __global__ void both(int* x) { x[1] = 1; wait(); x[0] = x[1]; }
        __global__ void one(int* x) { x[0] = 2; }""")
    x = np.zeros(2, "i4")
    module.both[2, 2](x)
    assert x[0] == 1 and module.both.options.cooperative is None
    module.one[100000, 1](x)
    assert x[0] == 2
    rank = cuda.jit("""
        namespace cg = cooperative_groups;
        __global__ void rank(int* x) {
            auto block = cg::this_thread_block();
            block.sync();
            if (cg::this_grid().thread_rank() == 99999) x[0] = 99999;
        }""")
    rank[100000, 1](x)
    assert x[0] == 99999


def test_void_pointer_parameters_accept_arrays():
    module = cuda.module("""
        struct View { float* data; int n; };
        __global__ void k(void* p, unsigned long long bytes) { ((char*)p)[bytes - 1] = 1; }
        """)
    x = np.zeros(4, "u1")
    module.k[1, 1](x, 4)
    assert x.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("place", ["source", "header"])
def test_source_macros_of_any_name_compile(place):
    """Defines one-letter macros, as in teaching kernels, and macros with names that numbalite's headers
    use."""
    names = "A D E I N T array block count entry grid i index n params rows run type used value x y".split()
    defined = "".join(f"#define {name} {number}\n" for number, name in enumerate(names))
    before = defined if place == "source" else '#include "sizes.h"\n'
    module = cuda.module(
        f"{before}__global__ void k(int* out_) {{ out_[0] = {' + '.join(names)}; }}\n"
        "__constant__ float c_[4];",
        headers={"sizes.h": defined},
    )
    compiles_for_gpus(module)
    out = cuda.to_device(np.zeros(1, np.int32))
    module.k[1, 1](out)
    assert out.copy_to_host()[0] == sum(range(len(names)))
    assert module.get_global("c_").shape == (4,)


def test_editor_guard_macros_have_cuda_meaning():
    """Macros for editors have CUDA's meaning when a compiler reads them."""
    module = cuda.module("""
        #ifndef __CUDACC__
        #define __device__
        #define __global__
        #define __shared__
        #define __syncthreads()
        #endif
        #ifdef __JETBRAINS_IDE__
        #define __CUDACC__ 1
        #define __device__
        #endif
        #ifdef __INTELLISENSE__
        #define __launch_bounds__(...)
        #endif
        __device__ int v;
        __device__ float more(float x) { return x + 1; }
        __global__ void __launch_bounds__(64) k(float* x) {
            __shared__ float s;
            s = more(x[0]);
            __syncthreads();
            x[0] = s;
        }""")
    compiles_for_gpus(module)
    x = np.zeros(1, "f4")
    module.k[1, 1](x)
    assert x[0] == 1 and module.get_global("v").copy_to_host() == 0


def test_compound_assignment_operators_compile():
    module = cuda.module("""
        __device__ void operator+=(float2& a, float2 b) { a.x += b.x; a.y += b.y; }
        __constant__ float c[2] = {3, 4};
        inline __device__ bool operator<=(float2 a, float2 b) { return a.x <= b.x; }
        template <int N> __device__ auto pick() { return N >= 2; }
        struct Twice { __device__ float operator()(float x) const { return 2 * x; } };
        __global__ void k(float* x) { float2 a = {1, 2}; a += a; x[0] = Twice()(a.y) + c[1] + (a <= a); }""")
    compiles_for_gpus(module)
    x = np.zeros(1, "f4")
    module.k[1, 1](x)
    assert x[0] == 13 and module.get_global("c").shape == (2,)


OVERLOADED = """
namespace kinds { typedef float real; __global__ void g(real* x) { *x = 5; } }
__global__ void k(const float *__restrict__ a, float* x, unsigned int n = 3) { x[0] = a[0] + n; }
__global__ void k(double* x) { x[0] = 2; }
template <class T> __global__ void fill(T* x) { x[0] = 3; }
__global__ void __launch_bounds__(32) only(float* x);
__global__ void __launch_bounds__(32) only(float* x) { x[0] = 7; }
"""


def test_overloaded_kernels_are_selected_by_signature():
    module = cuda.module(OVERLOADED)
    compiles_for_gpus(module)
    x, y = np.ones(1, "f4"), np.ones(1)
    module["k(const float *, float*,unsigned int)"][1, 1](x, x, 4)
    module["k(double*)"][1, 1](y)
    assert (x[0], y[0]) == (5, 2)
    module.only[1, 1](x)
    assert x[0] == 7, "declared and defined is one kernel"
    module["fill<float>"][1, 1](x)
    module.g[1, 1](x)
    kernel = cuda.jit(source=OVERLOADED, name="k(double*)")
    kernel[1, 1](y)
    assert "k(double*)" in repr(kernel) and (x[0], y[0]) == (5, 2)
    with pytest.raises(AttributeError, match=r"k is overloaded.*module\['k\(const float\*"):
        module.k
    with pytest.raises(KeyError, match=r"k is overloaded.*k\(double\*\)"):
        module["k"]
    with pytest.raises(errors.CompileError, match=r"k\(short\*\)"):
        module["k(short*)"]
    again = pickle.loads(pickle.dumps(module))
    again["k(double*)"][1, 1](y)


def test_variables_in_conditionals_are_found():
    module = cuda.module("""
        #if __CUDACC__
        __device__ int there[2] = {4, 5};
        namespace q { __constant__ float inner = 3; }
        #else
        __device__ int missing;
        namespace q { namespace r { __constant__ float gone; } }
        #endif
        template <class T> __device__ T any_type[2];
        #if 1
        __global__ void k(int* x) { x[0] = there[0] + any_type<int>[1]; }
        #endif
        """)
    module.get_global("any_type<int>")[:] = np.array([0, 30], "i4")
    compiles_for_gpus(module)
    there, x = module.get_global("there"), np.zeros(1, "i4")
    assert (
        there.copy_to_host().tolist() == [4, 5] and module.get_global("inner").copy_to_host() == 3
    )
    for name in ("missing", "gone", "q::r::gone"):
        with pytest.raises(KeyError, match=f"no variable '{name}': the condition of its #if"):
            module.get_global(name)
    del there
    module.k[1, 1](x)
    assert x[0] == 34
    module.get_global("there").fill(1)
    module.k[1, 1](x)
    assert x[0] == 31
    with pytest.raises(KeyError, match="any_type is a template.*'any_type<float>'"):
        module.get_global("any_type")
    with pytest.raises(RuntimeError, match="after the first launch"):
        module.get_global("any_type<float>")
    again = pickle.loads(pickle.dumps(module))
    assert again.get_global("any_type<int>").copy_to_host().tolist() == [0, 0]


@pytest.mark.parametrize("conditions", ["#if 1\nnamespace {", "namespace {\n#if 1"])
def test_conditional_variables_in_unnamed_namespaces_are_found(conditions):
    """Within the source, the name refers to the stand-in, too."""
    closing = ["#endif", "}"] if conditions.startswith("namespace") else ["}", "#endif"]
    source = "\n".join([
        conditions, "__device__ int v = 3;", *closing, "__global__ void k(int *x) { x[0] = v; }"
    ])  # fmt: skip
    assert cuda.module(source).get_global("v").copy_to_host() == 3
    x = np.zeros(1, np.int32)
    cuda.module(source).k[1, 1](x)
    assert x[0] == 3
    absent = cuda.module(source.replace("#if 1", "#if 0").replace("= v", "= 1"))
    with pytest.raises(KeyError, match="no variable 'v': the condition of its #if"):
        absent.get_global("v")


def test_managed_variables_are_shared_with_the_host():
    module = cuda.module("""
        __managed__ int t = 3;
        __device__ __managed__ float u[2];
        __global__ void k() { u[1] = t; t = 4; }""")
    compiles_for_gpus(module)
    module.k[1, 1]()
    assert module.get_global("t").copy_to_host() == 4
    assert module.get_global("u").copy_to_host().tolist() == [0, 3]


def test_short_names_of_unsigned_integers_compile():
    """As nvcc has them. A source may define them, too."""
    kernel = cuda.jit(source="__global__ void k(uint* x, ushort a, ulong b) { x[0] = a + b; }")
    again = cuda.jit(source="typedef unsigned int uint; __global__ void k(uint* x) { x[0] += 1; }")
    x = np.zeros(1, "u4")
    kernel[1, 1](x, 1, 2)
    again[1, 1](x)
    assert x[0] == 4


def test_shared_variables_are_aligned():
    text = """__global__ void k(float* x) {
        %s int offset; __shared__ char c; __shared__ alignas(16) float s[5]; alignas(16) __shared__ float t[4];
        c = 1; s[0] = t[0] = c; x[0] = s[0] + t[0]; x[1] = ((size_t)s + (size_t)t) %% 16; }"""
    x = np.zeros(2, "f4")
    kernel = cuda.jit(source=text % "")
    kernel[1, 1](x)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        kernel[1, 1](x)
    assert x.tolist() == [2, 0]
    for start in ("extern __shared__", "static __shared__", "__shared__ volatile"):
        wrong = text.replace("__shared__ alignas(16) float s[5]", f"{start} alignas(16) float s[]")
        with pytest.raises(errors.CompileError, match="appl(y|ies) (here|to any entity)"):
            cuda.jit(source=wrong % "")


@pytest.mark.parametrize(
    "file", ["k.cu", "src/kernels.cuh", "my kernels.cu", "C:\\k.cpp", "k.ptx\n"]
)
@pytest.mark.parametrize(
    "read", [cuda.module, cuda.compile, lambda f: cuda.jit(source=f), lambda f: numbalite.vectorize(source=f)]
)  # fmt: skip
def test_file_name_as_source_raises(read, file):
    with pytest.raises(ValueError, match=r"is a file name, not a source: pass pathlib.Path\("):
        read(file)


def test_source_ending_like_a_file_name_compiles():
    assert cuda.module('#include "mine.cu"\n', headers={"mine.cu": PLAIN})
    assert cuda.module("// k.cu\n" + PLAIN)
