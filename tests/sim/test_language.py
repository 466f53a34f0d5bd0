"""Tests CUDA C++ that the host compiler compiles and that runs thread by thread."""

from __future__ import annotations

import ctypes
import itertools
import math
import struct

import pytest


def pointer_to(array):
    return ctypes.c_void_p(ctypes.addressof(array))


def int_array(count):
    return (ctypes.c_int * count)()


def float_array(*values):
    return (ctypes.c_float * len(values))(*values)


INDEX = """
__global__ void where(unsigned* out, int step) {
    unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned* mine = out + (block * blockDim.x * blockDim.y * blockDim.z + rank) * step;
    mine[0] = threadIdx.x; mine[1] = threadIdx.y; mine[2] = threadIdx.z;
    mine[3] = blockIdx.x; mine[4] = blockIdx.y; mine[5] = blockIdx.z; mine[6] = warpSize;
}
"""


def test_kernel_body_runs_once_in_every_thread(load_alone):
    image, grid = load_alone(INDEX, "where"), (2, 1, 3)
    for block, single in itertools.product([(5,), (3, 4), (2, 3, 4), (1, 1, 7)], [False, True]):
        count = 6 * math.prod(block)
        out = (ctypes.c_uint * (7 * count))()
        image.run("where", grid, block, pointer_to(out), ctypes.c_int(7), single=single)
        rows = {tuple(out[7 * i : 7 * i + 7]) for i in range(count)}
        x, y, z = map(range, (*block, 1, 1)[:3])
        places = itertools.product(x, y, z, range(2), [0], range(3), [32])
        assert rows == set(places), (block, single)
    assert image.engine.calls == []


def test_run_block_starts_at_the_given_thread(load_alone):
    image = load_alone("__global__ void k(int* n) { n[threadIdx.x + 4 * threadIdx.y] = 1; }", "k")
    from_second_row = int_array(12)
    kernel = image.kernel("k")
    argument = pointer_to(from_second_row)
    launch_type = kernel.run_block._argtypes_[0]._type_
    dim = kernel.run_block._argtypes_[1]
    slots = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
    launch = launch_type(dim(1, 1, 1), dim(4, 3, 1), 0, 0, slots)
    kernel.run_block(ctypes.byref(launch), dim(0, 0, 0), 6)
    assert list(from_second_row) == [0] * 6 + [1] * 6


def test_kernel_parameters_are_passed(load_alone):
    source = """
    struct point { float x; double y; char c; };
    namespace n { template <class T, int N> __global__ void k(const T* a, point p, char c, T* out, bool b,
                                                              long long w, float3 v) {
        p.x += N;
        out[threadIdx.x] = a[0] + p.x + p.y + p.c + c + b + w + v.z;
    } }"""
    image = load_alone(source, "n::k<float, 3>")
    kernel = image.kernel("n::k<float, 3>")
    assert kernel.name == b"n::k<float, 3>"
    sizes = [(kernel.params[i].size, kernel.params[i].align) for i in range(kernel.param_count)]
    assert sizes == [(8, 8), (24, 8), (1, 1), (8, 8), (1, 1), (8, 8), (12, 4)]
    a, out = float_array(100), float_array(0, 0)
    point = ctypes.create_string_buffer(struct.pack("<f4xdc7x", 1.0, 20.0, b"\3"))
    vector = float_array(0, 0, 0.5)
    image.run("n::k<float, 3>", (1,), (2,), pointer_to(a), point, ctypes.c_char(2), pointer_to(out),
              ctypes.c_bool(True), ctypes.c_longlong(1000), vector)  # fmt: skip
    assert list(out) == [1130.5, 1130.5]


def test_kernel_attributes_and_linkage_are_accepted(load_alone):
    source = """
    extern "C" __global__ void plain(int* n) { n[0] += 1; }
    static __global__ __launch_bounds__(128) void quiet(int* n) { n[0] += 2; }
    __global__ void __launch_bounds__(128, 2) bounded(int* n) { n[0] += 4; }
    namespace { __global__ void hidden(int* __restrict__ const n) noexcept { n[0] += 8; } }
    template <int N> __global__ void templated(int* n) { n[0] += N; }
    template <> __global__ void templated<7>(int* n) { n[0] += 32; }
    __global__ void none() {}
    """
    names = ["plain", "quiet", "bounded", "hidden", "templated<16>", "templated<7>", "none"]
    image = load_alone(source, *names)
    n = int_array(1)
    for name in names[:-1]:
        image.run(name, (1,), (1,), pointer_to(n))
    image.run("none", (1,), (1,))
    assert n[0] == 63


def test_static_shared_variables_are_per_block(load_alone):
    source = """
    struct with_constructor { int v; __device__ with_constructor() {} };
    __shared__ int wide;
    template <class T> __global__ void k(T* out) {
        static __shared__ T s[4];
        __shared__ __align__(64) unsigned char raw[64];
        volatile __shared__ int v;
        __shared__ with_constructor c[2];
        s[0] = 1; raw[3] = 2; v = 3; c[1].v = 4; wide = 5;
        out[0] = s[0] + raw[3] + v + c[1].v + wide;
        out[1] = (T)((size_t)raw % 64);
    }"""
    image = load_alone(source, "k<int>")
    out = int_array(2)
    image.run("k<int>", (1,), (1,), pointer_to(out))
    assert list(out) == [15, 0]


def test_dynamic_shared_memory_works_in_templates_and_functions(load_alone):
    source = """
    extern __shared__ float wide[];
    __device__ float* from_namespace() { return wide; }
    template <class T> __global__ void k(int* out) {
        extern __shared__ T s[];
        extern __shared__ __align__(16) char raw[];
        s[threadIdx.x] = T(threadIdx.x + 1);
        out[threadIdx.x] = (int)s[threadIdx.x];
        if (threadIdx.x == 3)
            out[4] = (void*)raw == (void*)s && (void*)from_namespace() == (void*)s;
    }"""
    image = load_alone(source, "k<double>", "k<short>")
    for name in ("k<double>", "k<short>"):
        out = int_array(5)
        image.run(name, (1,), (4,), pointer_to(out), shared=64)
        assert list(out) == [1, 2, 3, 4, 1]


def test_constant_and_device_variables_are_accessible(load_alone):
    source = """
    __constant__ float table[4] = {1, 2, 3, 4};
    __device__ int counter;
    namespace n { static __device__ double3 triple; }
    __global__ void k(float* out) { out[0] = table[1] + counter; n::triple.z = 9; counter = 0; }
    """
    image = load_alone(source, "k", variables=("table", "counter", "n::triple"))
    table, counter, triple = (image.variable(n) for n in ("table", "counter", "n::triple"))
    assert (table.size, counter.size, triple.size) == (16, 4, 24)
    (ctypes.c_float * 4).from_address(table.address)[1] = 50
    ctypes.c_int.from_address(counter.address).value = 7
    out = float_array(0)
    image.run("k", (1,), (1,), pointer_to(out))
    assert out[0] == 57
    assert ctypes.c_int.from_address(counter.address).value == 0
    assert (ctypes.c_double * 3).from_address(triple.address)[2] == 9


def test_printf_malloc_and_new_call_the_engine(load_alone):
    source = """
    __global__ void k(int* out) {
        out[0] = printf("%d\\n", 3);
        int* heap = (int*)malloc(8);
        int* other = new int[2]{5, 6};
        heap[1] = other[1];
        out[1] = heap[1];
        free(heap);
        delete[] other;
        int before = clock();
        out[2] = clock64() > before;
        out[3] = __syncthreads_or(1);
        __nanosleep(10);
        memset(out + 4, 1, 4);
        memcpy(out + 5, out + 4, 4);
        alignas(int) char place[4];
        out[6] = *new (place) int(8);
    }
    __global__ void fails(int x) { assert(x == 1); assert(x == 2 && "really"); }
    __global__ void traps() {
        __trap();
    }
    """
    image = load_alone(source, "k", "fails", "traps")
    out = int_array(7)
    image.run("k", (1,), (1,), pointer_to(out))
    assert list(out) == [1, 6, 1, 0, 0x01010101, 0x01010101, 8]
    names = [call[0] for call in image.engine.calls]
    assert names == ["vprintf", "barrier", "yield"]
    assert image.engine.calls[0][1] == b"%d\n"
    assert image.engine.calls[1] == ("barrier", 3, 1, 0, (b"user.py", 12))


def test_a_failed_assert_names_its_line(load_alone, run_python):
    image = load_alone("__global__ void k(int x) {\n  assert(x == 1);\n}", "k")
    image.run("k", (1,), (1,), ctypes.c_int(1))
    assert image.engine.calls == []
    # the stand-in for fault() must not return
    code = """
import ctypes, os, sys
library = ctypes.CDLL(sys.argv[1])
class Site(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("line", ctypes.c_int)]
FAULT = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint, Site)
def fault(status, message, thread, site):
    print(status, message.decode(), thread, site.file.decode(), site.line, flush=True)
    os._exit(0)
keep = FAULT(fault)
table = (ctypes.c_void_p * 16)()
table[7] = ctypes.cast(keep, ctypes.c_void_p).value
library.nl_sim_image_init(table)
class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
class Launch(ctypes.Structure):
    _fields_ = [("grid", Dim), ("block", Dim), ("shared", ctypes.c_uint), ("coop", ctypes.c_uint),
                ("args", ctypes.c_void_p)]
x = ctypes.c_int(5)
slots = (ctypes.c_void_p * 1)(ctypes.addressof(x))
launch = Launch(Dim(1, 1, 1), Dim(8, 1, 1), 0, 0, ctypes.addressof(slots))
RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, Dim, ctypes.c_uint)
kernel = ctypes.addressof(ctypes.c_char.in_dll(library, "nl_sim_kernel_0"))
run = RUN(ctypes.c_void_p.from_address(kernel + 24).value)
run(ctypes.addressof(launch), Dim(0, 0, 0), 6)
"""
    result = run_python(code, image.loaded._name)
    assert result.stdout.split("\n")[0] == "710 Assertion `x == 1` failed. 6 user.py 2"


def test_vector_types_have_cuda_size_and_alignment(load_alone):
    checks = {
        "sizeof(char4)": 4, "alignof(char4)": 4, "alignof(char3)": 1, "alignof(short2)": 4,
        "sizeof(int3)": 12, "alignof(int3)": 4, "alignof(int2)": 8, "alignof(int4)": 16,
        "sizeof(float3)": 12, "alignof(float4)": 16, "alignof(double2)": 16, "alignof(double3)": 8,
        "sizeof(double4)": 32, "alignof(double4)": 16, "alignof(longlong2)": 16, "alignof(ulonglong4)": 16,
        "alignof(double4_32a)": 32, "sizeof(dim3)": 12, "sizeof(long)": 8, "sizeof(wchar_t)": 4,
        "sizeof(int64_t)": 8, "sizeof(uint8_t)": 1, "sizeof(size_t)": 8, "(char)-1 < 0": 1,
        "dim3(7).y": 1, "make_uchar4(1, 2, 3, 250).w": 250, "make_int2(3, 4).y": 4, "__CUDA_ARCH__": 900,
        "sizeof(threadIdx)": 12, "dim3(make_uint3(4, 5, 6)).z": 6,
        "__is_same_type(int64_t, long long)": 1,
    }  # fmt: skip
    lines = "".join(f"out[{i}] = (int)({e});\n" for i, e in enumerate(checks))
    head = """template <class A, class B> struct same { static constexpr int value = 0; };
    template <class A> struct same<A, A> { static constexpr int value = 1; };
    #define __is_same_type(A, B) same<A, B>::value
    """
    image = load_alone(head + "__global__ void k(int* out) {" + lines + "}", "k")
    out = int_array(len(checks))
    image.run("k", (1,), (1,), pointer_to(out))
    assert dict(zip(checks, out, strict=True)) == checks


ATOMICS = [
    # cases: expression, value before, returned value, value after
    ("int", "atomicAdd(p, -3)", 10, 10, 7),
    ("int", "atomicSub(p, 3)", 10, 10, 7),
    ("int", "atomicExch(p, 3)", 10, 10, 3),
    ("int", "atomicMin(p, 3)", 10, 10, 3),
    ("int", "atomicMin(p, 30)", 10, 10, 10),
    ("int", "atomicMax(p, -3)", -10, -10, -3),
    ("int", "atomicAnd(p, 6)", 10, 10, 2),
    ("int", "atomicOr(p, 5)", 10, 10, 15),
    ("int", "atomicXor(p, 6)", 10, 10, 12),
    ("int", "atomicCAS(p, 10, 4)", 10, 10, 4),
    ("int", "atomicCAS(p, 11, 4)", 10, 10, 10),
    ("int", "atomicAdd_block(p, 1)", 10, 10, 11),
    ("int", "atomicMax_system(p, 11)", 10, 10, 11),
    ("unsigned", "atomicInc(p, 5u)", 4, 4, 5),
    ("unsigned", "atomicInc(p, 5u)", 5, 5, 0),
    ("unsigned", "atomicInc(p, 5u)", 7, 7, 0),
    ("unsigned", "atomicDec(p, 9u)", 0, 0, 9),
    ("unsigned", "atomicDec(p, 9u)", 12, 12, 9),
    ("unsigned", "atomicDec(p, 9u)", 3, 3, 2),
    ("unsigned", "atomicMax(p, 0x80000000u)", 1, 1, 0x80000000),
    ("long long", "atomicMin(p, -5ll)", 3, 3, -5),
    ("long long", "atomicMax(p, 1ll << 40)", 3, 3, 1 << 40),
    ("unsigned long long", "atomicAdd(p, 1ull << 40)", 3, 3, (1 << 40) + 3),
    ("unsigned long long", "atomicCAS(p, 3ull, 9ull)", 3, 3, 9),
    ("unsigned long long", "atomicExch(p, 8ull)", 3, 3, 8),
    ("unsigned long long", "atomicAnd(p, 2ull)", 3, 3, 2),
    ("unsigned short", "atomicCAS(p, (unsigned short)3, (unsigned short)9)", 3, 3, 9),
    ("float", "atomicAdd(p, 0.5f)", 3, 3, 3.5),
    ("float", "atomicExch(p, 0.5f)", 3, 3, 0.5),
    ("double", "atomicAdd(p, -0.5)", 3, 3, 2.5),
]


def test_atomics_return_old_and_store_new_value(load_alone):
    source = "template <class T> struct slot { T before, returned; };\n__global__ void k(double* out) {\n"
    for i, (type_, expression, before, _, _) in enumerate(ATOMICS):
        source += f"""    {{ __shared__ {type_} v; v = ({type_}){before}; {type_}* p = &v;
        {type_} r = {expression}; out[{2 * i}] = r; out[{2 * i + 1}] = v; }}\n"""
    image = load_alone(source + "}", "k")
    out = (ctypes.c_double * (2 * len(ATOMICS)))()
    image.run("k", (1,), (1,), pointer_to(out))
    found = [(out[2 * i], out[2 * i + 1]) for i in range(len(ATOMICS))]
    assert found == [(row[3], row[4]) for row in ATOMICS]
    assert image.engine.calls == []


def test_a_spinning_thread_yields(load_alone):
    source = """__global__ void k(int* lock) {
    for (int i = 0; i < 1000; ++i) if (atomicCAS(lock, 0, 1) == 0) return;
}"""
    image = load_alone(source, "k")
    lock = int_array(1)
    lock[0] = 1
    calls = image.run("k", (1,), (1,), pointer_to(lock))
    assert {call[0] for call in calls} == {"yield"} and 1 < len(calls) < 20


def test_load_and_store_intrinsics_access_memory(load_alone):
    source = """__global__ void k(const float4* in, float4* out, volatile int* v) {
    float4 a = __ldg(in);
    __stcg(&out[0].x, __ldcg(&in[0].y));
    __stcs(&out[0].y, __ldcs(&in->z));
    __stwt(&out[0].z, 7);
    out[0].w = a.w + __ldcv((const int*)v) + __ldca((int*)v);
    __threadfence(); __threadfence_block(); __threadfence_system();
    __builtin_assume(a.x > 0);
}"""
    image = load_alone(source, "k")
    out = float_array(0, 0, 0, 0)
    values = int_array(1)
    values[0] = 5
    buffer = ctypes.create_string_buffer(64)
    at = (ctypes.addressof(buffer) + 15) & ~15
    ctypes.memmove(at, float_array(1, 2, 3, 4), 16)
    ctypes.memmove(at + 16, out, 16)
    image.run("k", (1,), (1,), ctypes.c_void_p(at), ctypes.c_void_p(at + 16), pointer_to(values))
    assert list((ctypes.c_float * 4).from_address(at + 16)) == [2, 3, 7, 14]


@pytest.mark.parametrize("how", ["option", "include"])
def test_asserts_can_be_switched_off(load_alone, how):
    head = "#define NDEBUG\n#include <cassert>\n" if how == "include" else ""
    options = ("-DNDEBUG",) if how == "option" else ()
    image = load_alone(head + "__global__ void k(int x) { assert(x == 1); }", "k", options=options)
    image.run("k", (1,), (1,), ctypes.c_int(5))
    assert image.engine.calls == []


def test_recursive_and_virtual_calls_work_in_kernels(load_alone):
    source = """
    __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    struct shape { virtual __device__ int area() const = 0; };
    struct square : shape { int side; __device__ square(int s) : side(s) {}
                            __device__ int area() const override { return side * side; } };
    __device__ int twice(int x) { return 2 * x; }
    __device__ __noinline__ int apply(int (*f)(int), int x) { return f(x); }
    template <class F> __device__ __forceinline__ int with(F f, int x) { return f(x); }
    template <class... T> __device__ int sum(T... x) { int total = 0; int all[] = {(total += x)...}; (void)all;
                                                       return total; }
    __global__ void k(int* out) {
        out[0] = fibonacci(10);
        square s(5);
        const shape& abstract = s;
        out[1] = abstract.area();
        out[2] = apply(twice, 21);
        out[3] = with([=] __device__(int x) { return x + out[2]; }, 8);
        out[4] = sum(1, 2, 3, 4);
        constexpr int table[] = {7, 8, 9};
        #pragma unroll
        for (int i = 0; i < 3; ++i) out[5] += table[i];
    }"""
    image = load_alone(source, "k")
    out = int_array(6)
    image.run("k", (1,), (1,), pointer_to(out))
    assert list(out) == [55, 25, 42, 50, 10, 24]


def test_a_kernel_may_be_called_like_a_library_function(load_alone):
    names = ["add", "index", "copy", "reduce", "scale", "gamma", "sum", "rand", "read", "remove"]
    source = "".join(
        f'extern "C" __global__ void {name}(int* x) {{ *x += 1; }}\n' for name in names
    )
    image = load_alone(source, *names)
    out = int_array(1)
    for name in names:
        image.run(name, (1,), (1,), pointer_to(out))
    assert out[0] == len(names)


DIVISION = r"""
#define OVER(a, b) ((a) / (b))
#define HALF (SIZE / PART)
#define SIZE 8
#define PART 4
#if HALF == 2
#define GOOD 1
#endif
enum small { SEVEN = 7 };
struct money { int v; };
__device__ money operator/(money a, int b) { return {a.v / (b + 1)}; }
namespace own {
__device__ float2 operator/(float2 a, float b) { return {a.x / b, a.y / b}; }
__device__ float2 share(float2 a, int n) { return a / n; }
}
constexpr int tile = 4, part = 64 / tile;
template <int N, int M> struct box { float v[N / M]; };
template <class T> __device__ T each(T a, T b) { return a / b; }
template <class... T> __device__ int fold(T... t) { return (t / ...); }

__global__ void k(int* out, long long* l, float* f, int y, int zero) {
    bool b = zero != 0;
    unsigned char c = zero;
    short s = 100;
    *out++ = y / (zero != 0);
    *out++ = y % b;
    *out++ = s / c;
    *out++ = OVER(y, zero);
    if (zero == 0) *out++ = y / zero; else *out++ = 1;
    *out = y, *out++ /= zero;
    *out = y, *out++ %= zero;
    *out++ = (-2147483647 - 1) / (zero - 1);
    *out++ = (-2147483647 - 1) % (zero - 1);
    *out++ = 7u / unsigned(zero) == 0xffffffffu;
    *out++ = each(y, zero);

    *out++ = SEVEN / small(zero + 1) + (money{12} / (zero + 2)).v;
    *out++ = HALF + GOOD + part + int(sizeof(box<tile * 2, tile>));
    *out++ = each<short>(6, 4 + zero) + fold(64, 4, 2);
    __shared__ int sh[64 / tile];
    sh[0] = 4;
    *out++ = 9 / sh[0] / 2 * 3 % 5;
    volatile int v = 9;
    v /= sh[0];
    int* p = &y;
    *out++ = v + 100/ *p + 100 / -y / !zero;

    l[0] = (long long)y / zero;
    l[1] = 5ll % (long long)zero;
    l[2] = 5, l[2] /= zero;
    f[0] = 1.f / zero;
    f[1] = 7, f[1] /= y;
    f[2] = own::share(make_float2(1, 3), y).y;
}
"""
FIELDS = """
struct fields { int w : 5; unsigned u : 4; };
__global__ void k(int* out, int two) {
    fields p{-7, 3};
    p.w /= two;
    out[0] = p.w, out[1] = -7 / p.u, out[2] = p.u / -two;
}
"""


def test_integer_division_matches_a_gpu(load_alone):
    """Division by zero has a GPU's result, also for constants; all other divisions follow C++."""
    out, long, real = int_array(16), (ctypes.c_longlong * 3)(), float_array(0, 0, 0)
    arrays = [pointer_to(a) for a in (out, long, real)]
    load_alone(DIVISION, "k").run("k", (1,), (1,), *arrays, ctypes.c_int(5), ctypes.c_int(0))
    low = -(2**31)
    assert out[:11] == [-1, 5, -1, -1, -1, -1, 5, low, 0, 1, -1]
    assert out[11:] == [11, 27, 33, 3, 2]
    assert long[:] == [-1, 5, -1]
    assert real[:] == float_array(float("inf"), 1.4, 0.6)[:]
    load_alone(FIELDS, "k").run("k", (1,), (1,), pointer_to(out), ctypes.c_int(2))
    assert out[:3] == [-3, -2, -1]
