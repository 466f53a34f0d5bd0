"""Tests the headers that kernels may include on the simulator."""

from __future__ import annotations

import ctypes
import glob
import itertools
import os
import re

import numpy as np
import pytest
from kit.sample import draw_cases

from numbalite import cuda
from numbalite.compilers import headers, hostbuild, toolkit
from numbalite.compilers.sim import translation
from numbalite.compilers.source import Source
from numbalite.errors import CompileError

STANDARD = """algorithm array assert.h bit cassert cfloat cinttypes climits cmath complex concepts cstddef
    cstdint cstdio cstdlib cstring ctime float.h functional initializer_list inttypes.h iterator limits limits.h
    math.h new numeric optional ratio span stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h time.h tuple
    type_traits utility""".split()
CUDA = """cuda_runtime.h cuda_device_runtime_api.h cuda.h cuda_fp16.h cuda_bf16.h math_constants.h cooperative_groups.h
    cooperative_groups/reduce.h cuComplex.h curand_kernel.h vector_types.h device_launch_parameters.h
    cuda/atomic cuda/std/atomic cuda/std/cstdint cuda/std/limits cuda/std/type_traits cuda/std/tuple
    cuda/std/array cuda/std/complex
    cuda/std/utility""".split()


@pytest.mark.parametrize("names", [STANDARD, CUDA], ids=["standard", "cuda"])
def test_all_headers_compile_in_one_file(compile_image, compiler_name, names):
    """All headers, each included twice, compile in one file after numbalite's own header."""
    if compiler_name == "zig":  # zig's C++ library defines streams with these headers
        names = [name for name in names if name not in ("functional", "numeric", "span")]
    lines = [f"#include <{name}>" for name in [*names, *names]]
    source = (
        '#include "numbalite.cuh"\n'
        + "\n".join(lines)
        + "\n__global__ void k(float* x) { x[0] = sin(x[1]); }"
    )
    assert compile_image(Source(source, "user.cu", ("k",), std="c++20")).data


@pytest.mark.parametrize(
    "name", ["cstdint", "cmath", "limits", "type_traits", "cuda_fp16.h", "math_constants.h"]
)
def test_each_header_compiles_alone(compile_image, name):
    """Compiles as C++14, the oldest supported standard; the test of all headers together uses the newest
    standard."""
    source = f"#include <{name}>\n__global__ void k() {{}}"
    assert compile_image(Source(source, "user.cu", ("k",), std="c++14", describe=False)).data


@pytest.mark.parametrize("name", ["cuda/std/complex", "cuda/std/cmath", "cuda/std/algorithm"])
def test_libcu_headers_define_half_types(compile_image, name):
    """The headers with which NVRTC 13.5 completes the types."""
    source = f"""
    #include <{name}>
    __global__ void k(float* x) {{
        __half a = __float2half(x[0]); __nv_bfloat16 b = __float2bfloat16(x[1]);
        x[0] = __half2float(a) + __bfloat162float(b);
    }}"""
    assert compile_image(Source(source, "user.cu", ("k",))).data


SHARED = """#pragma once
#include "near.cuh"
#if __has_include("deep/plain.h")
#include "deep/plain.h"
#endif
extern __shared__ int memory[];
__device__ int total() { return memory[0] + NEAR + PLAIN; }
"""


@pytest.mark.parametrize("start", ["{folder}/inc", "../inc", "inc/../inc"])
def test_the_users_headers_are_translated_in_copies(load_alone, tmp_path, start):
    """The headers may be in any folder and include any files; the files are not changed."""
    texts = {
        "shared.cuh": SHARED,
        "near.cuh": '#pragma once\n#include "../inc/shared.cuh"\n#define NEAR 100\n',
        "deep/plain.h": "#pragma once\n#define PLAIN 1000\n",
    }
    (tmp_path / "inc/deep").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    for name, text in texts.items():
        (tmp_path / "inc" / name).write_text(text)
    start = start.format(folder=tmp_path)
    source = f"""
    #include "{start}/shared.cuh"
    %: /* as well as */ include "{start}/near.cuh" // once more
    #include "in/memory.h"
    __global__ void k(int* x) {{
        extern __shared__ int mine[];
        mine[0] = 7;
        x[0] = total() + MEMORY;
    }}"""
    memory = "#include <shared.cuh>\n#define MEMORY 10000\n"
    name = "inc/.." if start.startswith("inc") else "src"
    image = load_alone(
        source, "k", name=f"{tmp_path}/{name}/user.cu",
        headers=(("in/memory.h", memory),), options=(f"-I{tmp_path}/inc",),
    )  # fmt: skip
    out = (ctypes.c_int * 1)()
    image.run("k", (1,), (1,), ctypes.c_void_p(ctypes.addressof(out)))
    assert out[0] == 11107
    found = [path for path in (tmp_path / "inc").rglob("*") if path.is_file()]
    assert {str(path.relative_to(tmp_path / "inc")): path.read_text() for path in found} == texts


def test_errors_in_copied_headers_have_the_users_lines(compile_image, tmp_path):
    path = tmp_path / "mine.cuh"
    path.write_text("extern __shared__ int m[];\n__device__ int f() { return unknown; }\n")
    source = f'#include "{path}"\n__global__ void k() {{}}'
    with pytest.raises(CompileError) as caught:
        compile_image(Source(source, "user.cu", ("k",), describe=False))
    assert f"{path}(2): error: " in str(caught.value) and "unknown" in str(caught.value)


@pytest.mark.parametrize("name", ["/mine.h", "../mine.h", "a/../../mine.h"])
def test_headers_in_memory_stay_in_their_folder(tmp_path, name):
    """cuda.jit rejects such header names, and so does compile_source."""
    path = tmp_path / "mine.h"
    path.write_text("mine")
    name = name if name.startswith("..") else str(path)
    with pytest.raises(ValueError, match="is outside of the folder"):
        hostbuild.compile(Source("", "user.cu", headers=((name, "#define MINE"),), describe=False))
    assert path.read_text() == "mine"


def test_standard_library_names_work_in_kernels(load_alone):
    source = """
    #include <cstdint>
    #include <cmath>
    #include <limits>
    #include <type_traits>
    #include <tuple>
    #include <array>
    #include <algorithm>
    #include <climits>
    #include <cuda/std/limits>
    #include <math_constants.h>
    __global__ void k(double* out) {
        std::array<int, 4> a{4, 2, 3, 1}; // turned round: 1 3 2 4
        std::reverse(a.begin(), a.end());
        auto [x, y] = std::make_tuple(1.5, uint64_t(7));
        out[0] = a[0] + 10 * a[3];
        out[1] = x + y;
        out[2] = std::numeric_limits<float>::max() == cuda::std::numeric_limits<float>::max();
        out[3] = std::is_same<std::uint64_t, unsigned long long>::value && std::is_same_v<int64_t, long long>;
        out[4] = std::sqrt(16.0f) + std::fmax(1.0, 2.0) + std::abs(-3) + std::min(5, 6);
        out[5] = INT_MAX;
        out[6] = std::isnan(NAN) && std::isinf(INFINITY) && CUDART_INF_F > 1e38f && CUDART_PI_F > 3.14f;
    }"""
    image = load_alone(source, "k")
    out = (ctypes.c_double * 7)()
    image.run("k", (1,), (1,), ctypes.c_void_p(ctypes.addressof(out)))
    assert list(out) == [41, 8.5, 1, 1, 14, 2**31 - 1, 1]


def test_new_honors_alignas(load_alone):
    source = """
    #include <new>
    struct alignas(64) wide { int value; };
    __global__ void k(double* out) {
        wide *one = new wide{3};
        wide *many = new (std::nothrow) wide[5];
        many[4].value = 4;
        out[0] = one->value + many[4].value;
        out[1] = reinterpret_cast<size_t>(one) % 64 + reinterpret_cast<size_t>(many) % 64;
        delete one;
        delete[] many;
        out[2] = 1;
    }"""
    image = load_alone(source, "k")
    out = (ctypes.c_double * 3)()
    image.run("k", (1,), (1,), ctypes.c_void_p(ctypes.addressof(out)))
    assert list(out) == [7, 0, 1]


def run_on(image, name, *arrays, block=1):
    image.run(name, (1,), (block,), *(ctypes.c_void_p(a.ctypes.data) for a in arrays))


def equal_bits(a, b):
    """Returns bits for a comparison in which all NaNs are equal."""
    nan = np.isnan(a.view(np.float16).astype(np.float32)) & np.isnan(
        b.view(np.float16).astype(np.float32)
    )
    return ((a.view(np.uint16) == b.view(np.uint16)) | nan).all()


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # on Arm
def test_half_conversions_match_numpy(load_alone):
    source = """
    #include <cuda_fp16.h>
    __global__ void widen(const __half* in, float* out) {
        for (int i = 0; i < 65536; ++i) out[i] = __half2float(in[i]);
    }
    __global__ void narrow(const float* in, __half* out, __half* zero, __half* up, __half* down, int n) {
        for (int i = 0; i < n; ++i) {
            out[i] = __float2half(in[i]);
            zero[i] = __float2half_rz(in[i]);
            up[i] = __float2half_ru(in[i]);
            down[i] = __float2half_rd(in[i]);
        }
    }
    __global__ void exact(const double* in, __half* out, int n) {
        for (int i = 0; i < n; ++i) out[i] = __double2half(in[i]);
    }
    __global__ void arithmetic(const half* a, const half* b, half* out, int n) {
        for (int i = 0; i < n; ++i) {
            half* o = out + 8 * i;
            o[0] = a[i] + b[i]; o[1] = a[i] - b[i]; o[2] = a[i] * b[i]; o[3] = a[i] / b[i];
            o[4] = -a[i]; o[5] = __habs(b[i]); o[6] = hsqrt(a[i]); o[7] = __hfma(a[i], b[i], a[i]);
        }
    }"""
    image = load_alone(source, "widen", "narrow", "exact", "arithmetic")
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    wide = np.zeros(65536, np.float32)
    run_on(image, "widen", every, wide)
    expected = every.astype(np.float32)
    assert ((wide == expected) | (np.isnan(wide) & np.isnan(expected))).all()

    rng = np.random.default_rng(1)
    between = (expected[:-1][np.isfinite(expected[:-1])]).astype(np.float64)
    between = between[np.abs(between) < 65504]
    ties = (
        between + np.nextafter(between.astype(np.float16), np.float16(np.inf)).astype(np.float64)
    ) / 2
    given = np.concatenate([rng.integers(0, 2**32, 20000, dtype=np.uint32).view(np.float32),
                            (rng.normal(size=20000) * 10.0 ** rng.integers(-9, 6, 20000)).astype(np.float32),
                            ties.astype(np.float32), np.float32([65519.9, 65520, -65520, 1e-8, 0, -0.0])])  # fmt: skip
    n = ctypes.c_int(len(given))
    results = [np.zeros(len(given), np.float16) for _ in range(4)]
    image.run("narrow", (1,), (1,), *(ctypes.c_void_p(a.ctypes.data) for a in [given, *results]), n)
    with np.errstate(all="ignore"):
        assert equal_bits(results[0], given.astype(np.float16))
    finite = np.isfinite(results[0]) & np.isfinite(given)
    zero, up, down = (r[finite].astype(np.float64) for r in results[1:])
    real = given[finite].astype(np.float64)
    assert (np.abs(zero) <= np.abs(real)).all() and (up >= real).all() and (down <= real).all()
    exact = results[0][finite].astype(np.float64) == real
    assert ((up == down) == exact).all()

    doubles = np.concatenate([ties, ties * (1 + 2.0**-40), ties * (1 - 2.0**-40)])
    halves = np.zeros(len(doubles), np.float16)
    image.run("exact", (1,), (1,), ctypes.c_void_p(doubles.ctypes.data), ctypes.c_void_p(halves.ctypes.data),
              ctypes.c_int(len(doubles)))  # fmt: skip
    with np.errstate(all="ignore"):
        assert equal_bits(halves, doubles.astype(np.float16))

    a, b = (rng.integers(0, 65536, 4000, dtype=np.uint16).view(np.float16) for _ in range(2))
    out = np.zeros((4000, 8), np.float16)
    image.run(
        "arithmetic",
        (1,),
        (1,),
        *(ctypes.c_void_p(x.ctypes.data) for x in (a, b, out)),
        ctypes.c_int(4000),
    )
    with np.errstate(all="ignore"):
        fused = (
            a.astype(np.longdouble) * b.astype(np.longdouble) + a.astype(np.longdouble)
        ).astype(np.float16)
        expected = np.stack([a + b, a - b, a * b, a / b, -a, np.abs(b), np.sqrt(a), fused], axis=1)
    for column in range(8):
        assert equal_bits(out[:, column].copy(), expected[:, column].copy()), column


def test_half_functions_return_expected_values(load_alone):
    source = """
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    __global__ void k(float* out) {
        half2 v = __floats2half2_rn(1.5f, -2.0f), w = __half2half2(__float2half(3.0f));
        half2 s = __hfma2(v, w, v);
        out[0] = __low2float(s); out[1] = __high2float(s);
        __shared__ half h; h = 1.0f;
        __shared__ half2 h2; h2 = v;
        out[2] = __half2float(atomicAdd(&h, __float2half(0.5f))); out[3] = h;
        atomicAdd(&h2, v); out[4] = __low2float(h2);
        out[5] = __half2int_rn(__float2half(2.5f)) + __half2int_ru(__float2half(2.5f));
        out[6] = __hgt(v.x, v.y) + 2 * __hisnan(CUDART_NAN_FP16) + 4 * __heq(h, h) + 8 * __hbeq2(v, v);
        out[7] = (float)__int2half_rn(2049) + (float)__int2half_ru(2049);
        out[8] = __half_as_ushort(__float2half(1.0f));
        out[9] = (float)hexp(__float2half(0.0f)) + (float)__hmax(v.x, v.y) + int(half(7.9f));
        __nv_bfloat16 b = __float2bfloat16(1.00390625f) + __float2bfloat16(2.0f);
        out[10] = __bfloat162float(b);
        out[11] = __bfloat162float(__float2bfloat16(1.01f)) + __low2float(__floats2bfloat162_rn(3.0f, 4.0f));
        half x = 3; x += half(1); ++x; out[12] = x; out[13] = x > half(4) ? 1 : 0;
        double2 unused; (void)unused;
    }"""
    image = load_alone(source, "k")
    out = np.zeros(14, np.float32)
    run_on(image, "k", out)
    assert out.tolist() == [6, -8, 1, 1.5, 3, 5, 15, 4098, 0x3C00, 9.5, 3, 4.0078125, 5, 1]


# The results of cuRAND on an H200: generator, seed, subsequence, offset, then five words,
# a float and a double from 0 to 1, two normal floats, two normal doubles, a lognormal,
# a word after skipahead(3), and a word after skipahead_sequence(2).
RANDOM = [
    ("XORWOW", 1234, 7, 1000003, [3471185442, 2285108773, 1755120962, 1942409289, 3147686672, 0.663764596, 0.832748175, -0.555760086, -2.17777133, -0.325766098, 1.69756515, 1.41467142, 67257396, 2358579540]),
    ("Philox4_32_10", 1234, 7, 1000003, [1428886500, 514058494, 2710726983, 717074261, 1345501292, 0.298169762, 0.326956773, -1.01946652, -1.20552361, 1.53729182, -0.356509435, 1.97526407, 3709268149, 21603610]),
    ("XORWOW", 81985529216486895, 1099511627776, 1125899906842624, [2400625878, 3161055460, 3614268664, 1725389216, 1252232795, 0.160240412, 0.905938749, -0.0669903979, 0.367736042, 0.0209003319, 2.23167625, 1.23202682, 1346044785, 1027718325]),
    ("Philox4_32_10", 81985529216486895, 1099511627776, 1125899906842624, [375002147, 4233427292, 3739375228, 2515234436, 1054930468, 0.426748514, 0.862809195, -1.51277041, -0.642792284, 0.00476655499, 0.774187022, 1.64332688, 2968173420, 3865273379]),
    ("XORWOW", 0, 0, 0, [3179217846, 1883133293, 2220552389, 674260989, 306521119, 0.46250838, 0.329358563, 1.82006586, 0.749891341, -0.326156446, -1.06091145, 2.07293391, 4167391656, 3496953731]),
    ("Philox4_32_10", 0, 0, 0, [1713891541, 3781805453, 3159862348, 2600524760, 4175744164, 0.362091124, 0.693930919, 0.312897235, 2.54768348, -1.92527099, 0.460523627, 1.34638155, 4046415548, 3707229324]),
]  # fmt: skip


def test_random_numbers_match_curand(make_sim_module):
    """The generators also work in checked kernels; accesses of their tables are not checked."""
    from numbalite import cuda

    lines = []
    for name, seed, subsequence, offset, _ in RANDOM:
        lines.append(
            f"    one<curandState{name}_t>({seed}ull, {subsequence}ull, {offset}ull, o); o += 14;"
        )
    source = (
        """
    #include <curand_kernel.h>
    template <class S> __device__ void one(unsigned long long seed, unsigned long long subsequence,
                                           unsigned long long offset, double* o) {
        S s;
        curand_init(seed, subsequence, offset, &s);
        for (int i = 0; i < 5; i++) *o++ = curand(&s);
        *o++ = curand_uniform(&s); *o++ = curand_uniform_double(&s);
        *o++ = curand_normal(&s); *o++ = curand_normal(&s);
        *o++ = curand_normal_double(&s); *o++ = curand_normal_double(&s);
        *o++ = curand_log_normal(&s, 0.5f, 0.25f);
        skipahead(3ull, &s); *o++ = curand(&s);
        skipahead_sequence(2ull, &s); *o++ = curand(&s);
    }
    __global__ void k(double* o) {
    """
        + "\n".join(lines)
        + "}"
    )
    m = make_sim_module(source)
    out, checked = np.zeros((2, len(RANDOM), 14))
    m.k[1, 1](out)
    with cuda.checks():
        m.k[1, 1](checked)
    np.testing.assert_allclose(out, [row[4] for row in RANDOM], rtol=2e-6, atol=2e-6)
    np.testing.assert_allclose(out, checked, rtol=2e-6)


HEAP = '''
import numpy as np
from numbalite import cuda
m = cuda.module(r"""
#include <curand_kernel.h>
__global__ void start(unsigned* x) {
    curandState s;
    curand_init(1, blockIdx.x * blockDim.x + threadIdx.x, 0, &s);
    x[blockIdx.x * blockDim.x + threadIdx.x] = curand(&s);
}
__global__ void all(int* got) { got[0] = malloc(8 << 20) != 0; }
""")
x, got = cuda.device_array(512, np.uint32), cuda.to_device(np.zeros(1, np.int32))
m.start[16, 32](x)
with cuda.checks():
    m.start[16, 32](x)
    cuda.synchronize()
m.all[1, 1](got)
assert got[0] == 1
'''


def test_random_generators_use_no_constant_memory(run_python):
    """malloc can use the entire heap, even after random numbers were generated."""
    run_python(HEAP, NUMBALITE_DRIVER="sim")


def test_standard_bit_and_comparison_functions_return_expected_values(load_alone):
    source = """
    #include <bit>
    __global__ void bits(int* o, unsigned x, unsigned char c) {
        *o++ = std::popcount(x); *o++ = std::countl_zero(c); *o++ = std::countl_one(c);
        *o++ = std::countr_zero(x); *o++ = std::countr_one(x); *o++ = std::has_single_bit(x);
        *o++ = std::bit_width(x); *o++ = std::bit_floor(x); *o++ = std::bit_ceil(x);
        *o++ = std::rotl(c, 9); *o++ = std::rotr(c, 1); *o++ = std::countl_zero(0ull) + std::bit_width(0u);
    }
    __global__ void jumps(int* o, int n) {
        switch (n) {
        case 0: int i = 7, *p = o; *p = i; break;
        case 1: const int j = 8; o[0] = j; [[fallthrough]];
        default: o[1] = 9;
        }
        if (n > 1) goto end;
        auto k = o[0]; o[2] = k + 1;
    end: o[3] = n;
    }
    __global__ void orders(int* p, float* f, short* s) {
        int old = 5, two = 2;
        __nv_atomic_store_n(p, 40, __NV_ATOMIC_RELEASE);
        p[1] = __nv_atomic_fetch_add(p, 2.9, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
        p[2] = __nv_atomic_compare_exchange(p, &old, &two, false, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED);
        p[3] = old;
        p[4] = __nv_atomic_compare_exchange_n(p, &old, 3, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_SEQ_CST);
        __nv_atomic_max(p, -1, __NV_ATOMIC_RELAXED);
        __nv_atomic_exchange(p, &two, &old, __NV_ATOMIC_ACQUIRE);
        p[5] = old + __nv_atomic_load_n(p, __NV_ATOMIC_ACQUIRE);
        __nv_atomic_sub(f, 0.5f, __NV_ATOMIC_RELAXED);
        __nv_atomic_store_n(s, -3, __NV_ATOMIC_RELAXED);
    }"""
    image = load_alone(source, "bits", "jumps", "orders")
    out = np.zeros(12, np.int32)
    image.run(
        "bits", (1,), (1,), ctypes.c_void_p(out.ctypes.data), ctypes.c_uint(44), ctypes.c_ubyte(193)
    )
    assert out.tolist() == [3, 0, 2, 2, 0, 0, 6, 32, 64, 131, 224, 64]
    for n, expected in enumerate(([7, 0, 8, 0], [8, 9, 9, 1], [0, 9, 0, 2])):
        out = np.zeros(4, np.int32)
        image.run("jumps", (1,), (1,), ctypes.c_void_p(out.ctypes.data), ctypes.c_int(n))
        assert out.tolist() == expected
    out, real, short = np.zeros(6, np.int32), np.ones(1, np.float32), np.zeros(1, np.int16)
    run_on(image, "orders", out, real, short)
    assert out.tolist() == [2, 40, 0, 42, 1, 5] and real[0] == 0.5 and short[0] == -3


def test_move_and_forward_need_no_header(load_alone):
    """NVRTC has them built in."""
    source = """extern "C" __global__ void k(int* out) {
        int x = 5;
        out[0] = std::move(x) + std::forward<int>(x);
    }"""
    out = (ctypes.c_int * 1)()
    load_alone(source, "k").run("k", (1,), (1,), ctypes.c_void_p(ctypes.addressof(out)))
    assert out[0] == 10


def system_headers():
    """Returns names of headers that the host's compilers find by themselves."""
    names = set()
    for folder in translation._system_folders():
        inside = itertools.chain(glob.glob(f"{folder}/*"), glob.glob(f"{folder}/*/*.h"))
        names |= {os.path.relpath(path, folder) for path in inside if os.path.isfile(path)}
    return sorted(name for name in names if re.fullmatch(r"[\w./+-]+", name))


@pytest.mark.sim
@pytest.mark.parametrize("name", draw_cases(6, system_headers(), "system headers"))
def test_headers_found_by_the_simulator_are_found_by_nvrtc(name):
    """NVRTC finds each header that the simulator's compiler finds."""
    toolkits = headers.find_header(name, toolkit.include_directories()) is not None
    has_it = toolkits or name in headers.memory_headers() or bool(toolkit.packages_for(name))
    sim = os.path.join(headers.cuda_src(), "sim", "include", name)
    assert translation.is_host_header(name) == (not has_it and not os.path.isfile(sim))
    if not has_it and not os.path.isfile(sim):
        with pytest.raises(CompileError, match=f"#include <{re.escape(name)}>"):
            cuda.module(f"#include <{name}>\n__global__ void k(float* x) {{}}")["k"]
