"""NVRTC and the simulator's compilers accept the same sources, and reject the same sources."""

import pytest

from numbalite.compilers import nvrtc
from numbalite.cxx import linemap
from numbalite.errors import CompileError
from numbalite.kernels import options
from numbalite.kernels.module import Module

# Some of the sources contain mistakes with warnings, such as chained comparisons.
pytestmark = pytest.mark.filterwarnings("ignore::numbalite.errors.KernelWarning")


@pytest.fixture(scope="module")
def error_of_source(target_of_each):
    """Returns a function error_of_source(source), which returns a compiler's error, or "" if the source
    compiles."""

    def compile_module(source, **more):
        given = options.parse_options(more, "cuda.module")
        try:
            Module(linemap.consecutive_text(source, "user.cu"), given)._images.image(target_of_each)
        except CompileError as problem:
            return str(problem)
        return ""

    return compile_module


@pytest.mark.parametrize("header", ["stdint.h", "cfloat", "limits.h", "climits", "limits"])
def test_included_headers_keep_library_names_usable(error_of_source, header):
    source = f"""
    #include <{header}>
    __global__ void k(double* x) {{
        x[0] = INT_MAX + FLT_MAX + INT64_MAX + CHAR_BIT + DBL_EPSILON + SIZE_MAX;
    }}"""
    assert error_of_source(source) == ""


def test_simulator_defines_no_host_macros(error_of_source):
    """A source sees no macro of the host compiler or the operating system."""
    source = """
    #if defined(__clang__) || defined(__GNUC__) || defined(__linux__) || defined(__unix__)
    #error the host
    #endif
    #include <cuda/std/type_traits>
    __global__ void k(int* x) { x[0] = cuda::std::is_same<int, int>::value; }"""
    assert error_of_source(source) == ""


def test_headers_in_other_encodings_compile(error_of_source):
    headers = {"umlaut.h": b"// f\xfcnf\nconst int five = 5;".decode("utf-8", "surrogateescape")}
    source = '#include "umlaut.h"\n__global__ void k(int* x) { x[0] = five; }'
    assert error_of_source(source, headers=headers) == ""


TAKEN = """
#include <bit>
#include <utility>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda/std/bit>
namespace cg = cooperative_groups;
const float NAN = 3.0f;
const float table[2] = {1.0f / 3, sizeof(float4)};
__device__ float cell;
__device__ float *place = &cell;
const float4 quad = {1, 2, 3, 4};
__device__ float square(float v) { return v * v; }
__device__ bool chained(int a) { return 3 > 2 > a; }
__device__ int last_of(int n, ...) {
    va_list list, copy;
    va_start(list, n);
    va_copy(copy, list);
    va_arg(list, int);
    int found = va_arg(list, int);
    va_end(copy);
    va_end(list);
    return found;
}
__constant__ float (*functions[1])(float) = {square};
struct point { int a; static const int three = 3; };
__global__ void jumps(float *x, int n) {
    static int calls = 3;
    switch (n) {
    case 0: int i = 3; x[i] = 1; break;
    case 1: const float f = x[1], g = f; x[0] = f + g; break;
    case 2: auto later = x[2]; float *p = x; *p = later; break;
    default: x[3] = calls + point::three;
    }
    if (n > 3) goto end;
    unsigned u = 3u, *q;
    q = &u;
    x[*q] = NAN + quad.x + table[0] + place[0] + functions[0](2.0f);
end:
    x[1] = 2;
}
__global__ void orders(int *p, float *x) {
    int old, one = 1, two = 2;
    __nv_atomic_load(p, &old, __NV_ATOMIC_ACQUIRE);
    __nv_atomic_store_n(p, old, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
    __nv_atomic_exchange(p, &one, &old, __NV_ATOMIC_ACQ_REL);
    __nv_atomic_compare_exchange(p, &old, &two, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED);
    __nv_atomic_fetch_min(p, 1, __NV_ATOMIC_RELAXED);
    __nv_atomic_add(x, 1.0f, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
}
__global__ void library(float *x, cudaStream_t, cudaMemcpyKind) {
    std::pair<int, float> p, q(1, 2.5f), r = std::pair<short, double>(2, 3.0);
    auto [first, second] = p < q ? q : r;
    p.swap(q);
    x[0] = first + second + (p == r) + std::popcount(7u) + cuda::std::bit_cast<float>(1);
    __nv_bfloat16 wide = x[1];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    x[1] = cg::reduce(warp, wide, cg::plus<__nv_bfloat16>());
    cudaError_t status = cudaSuccess;
    __stcs((float4 *)x, __ldcg((const float4 *)x));
    x[4] = last_of(1, 2, 3);
    cg::invoke_one(warp, [&](float v) { x[2] = v; }, 2.0f + status);
    cuda::atomic_ref<float, decltype(warp)::thread_scope> cell(x[4]);
    cell.store(cg::thread_group::thread_scope);
    x[3] = cg::invoke_one_broadcast(cg::coalesced_threads(), [&] { return atomicAdd(x, 2.0f); });
}
"""


HOSTS = """
static cudaArray *array = NULL;
cudaArray_t other;
cudaGraphExec_t graph;
struct settings {
    cudaChannelFormatDesc format;
    cudaTextureAddressMode address;
    cudaTextureFilterMode filter;
    cudaMemPool_t pool;
    const cudaDeviceProp *properties;
    cudaLaunchConfig_t launch;
    cudaLaunchAttribute *attributes;
    cudaDeviceAttr asked;
};
__device__ cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
__global__ void k(settings s, int *x) { x[0] = s.format.x + (s.address == cudaAddressModeClamp) + s.filter + s.launch.numAttrs; }
"""


@pytest.mark.parametrize("source", [TAKEN, HOSTS], ids=["all", "types of the host"])
def test_sources_accepted_by_all_compilers_compile(error_of_source, source):
    assert error_of_source(source) == ""


@pytest.mark.parametrize("order", ["before", "after", "none"])
def test_reductions_of_half_types_need_their_headers(error_of_source, target_of_each, order):
    """Up to CUDA 13.4 the headers of cooperative groups include these headers."""
    halves = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
    source = f"""
    {halves if order == "before" else ""}
    #include <cooperative_groups/reduce.h>
    #include <cooperative_groups/scan.h>
    {halves if order == "after" else ""}
    namespace cg = cooperative_groups;
    __global__ void k(float *x) {{
        auto warp = cg::tiled_partition<32>(cg::this_thread_block());
        __nv_bfloat16 wide = x[1];
        x[1] = cg::reduce(warp, wide, cg::plus<__nv_bfloat16>());
        x[2] = cg::inclusive_scan(warp, wide, cg::plus<__nv_bfloat16>());
    }}"""
    said = error_of_source(source)
    is_old = target_of_each[0] == "cuda" and nvrtc.open_library()[1] < (13, 5)
    if order == "none" and not (is_old and said == ""):
        assert "__nv_bfloat16 is not built in: #include <cuda_bf16.h>" in said
    else:
        assert said == ""


def kernel_source(body, before=""):
    return f"{before}\n__global__ void k(float *x) {{\n{body}\n}}"


GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
#define TILE(n) cg::tiled_partition<n>(cg::this_thread_block())"""
MATRICES = """#include <mma.h>
using namespace nvcuda;
namespace small = wmma::experimental::precision;"""
REFUSED = {
    "a header of the system": kernel_source("x[0] = 1;", "#include <sys/time.h>"),
    "a computed constant": kernel_source(
        "x[0] = c;", "__device__ float f(float v) { return v; }\nconst float c = f(1);"
    ),
    "a value of another variable": kernel_source(
        "x[0] = c;", "__device__ float d = 3;\n__device__ float c[2] = {1, d};"
    ),
    "a static variable's value": kernel_source("static float s = x[1];\nx[0] = s;"),
    "register": kernel_source("register int i = 3;\nx[i] = 1;"),
    "a jump past a struct": kernel_source(
        "if (x[0] > 1) goto end;\nfloat2 v = make_float2(1, 2);\nx[1] = v.x;\nend: x[0] = 1;"
    ),
    "a jump past an object": kernel_source(
        "if (x[0] > 1) goto end;\ndim3 d;\nx[1] = d.x;\nend: x[0] = 1;"
    ),
    "a load that is no instruction": kernel_source("float3 v = __ldg((float3 *)x);\nx[0] = v.x;"),
    "a store that is no instruction": kernel_source("__stcs((bool *)x, true);"),
    "a vote of several warps": kernel_source("x[0] = TILE(64).ballot(1);", GROUPS),
    "a shuffle of several warps by distance": kernel_source(
        "x[0] = TILE(64).shfl_down(1.0f, 1);", GROUPS
    ),
    "wide values of several warps": kernel_source("x[0] = TILE(64).shfl(float4{}, 1).x;", GROUPS),
    "a tile of 2048 threads": kernel_source("TILE(2048).sync();", GROUPS),
    "a tile as large as its parent": kernel_source(
        "cg::tiled_partition<64>(TILE(64)).sync();", GROUPS
    ),
    "a part of several warps": kernel_source(
        "x[0] = cg::binary_partition(TILE(64), true).size();", GROUPS
    ),
    "a label of floating point": kernel_source(
        "x[0] = cg::labeled_partition(TILE(32), x[1]).size();", GROUPS
    ),
    "a match of pointers": kernel_source("x[0] = TILE(32).match_any(x);", GROUPS),
    "a sum of another type": kernel_source(
        "x[0] = cg::reduce(TILE(32), 1.5f, cg::plus<int>());", GROUPS
    ),
    "a matrix of 4 bits by columns": kernel_source(
        "wmma::fragment<wmma::matrix_a, 8, 8, 32, small::s4, wmma::col_major> a;", MATRICES
    ),
    "a product of bits": kernel_source(
        "wmma::fragment<wmma::matrix_a, 8, 8, 128, small::b1, wmma::row_major> a;\n"
        "wmma::fragment<wmma::matrix_b, 8, 8, 128, small::b1, wmma::col_major> b;\n"
        "wmma::fragment<wmma::accumulator, 8, 8, 128, int> c;\nwmma::mma_sync(c, a, b, c);",
        MATRICES,
    ),
    "numbers of another type": kernel_source(
        "wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;\n"
        "wmma::load_matrix_sync(a, x, 16);",
        MATRICES,
    ),
    "all of CUB": kernel_source("x[0] = 1;", "#include <cub/cub.cuh>"),
}


@pytest.mark.cases(10)
@pytest.mark.parametrize("source", REFUSED.values(), ids=REFUSED)
def test_sources_rejected_by_all_compilers_raise(error_of_source, source):
    assert "error: " in error_of_source(source)


PROGRAM = """
#include <cuda_runtime.h>
__global__ void add(float *x) { x[threadIdx.x] += 1; }
int main(int argc, char **argv) {
    float *d;
    cudaError_t status = cudaMalloc((void **)&d, 128);
    add<<<1, 32>>>(d);
    cudaDeviceSynchronize();
}
"""


def test_complete_program_gets_one_hint(error_of_source):
    """One hint explains how to handle the host's part of a source, and no hint mistakes char **argv for
    Python's `**`."""
    hints = [line for line in error_of_source(PROGRAM).split("\n") if line.startswith("hint: ")]
    assert len(hints) == 1 and hints[0].startswith(
        "hint: a source must not contain main and other host code"
    )


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("#include <cub/cub.cuh>", "#include <cub/block/block_reduce.cuh>"),
        ("#include <vector>", "<cuda/std/...>"),
        ("#include <thrust/complex.h>", "instead of thrust::complex write cuda::std::complex"),
        ("#include <thrust/sort.h>", "instead of an algorithm with thrust::seq a loop, or CUB"),
    ],
)
def test_unsupported_header_gets_a_hint(error_of_source, line, hint):
    assert hint in error_of_source(kernel_source("x[0] = 1;", line))


def test_uninstantiated_template_errors_are_compiler_dependent(error_of_source):
    """Nobody looks into it; g++ does."""
    source = "template <class T> __global__ void j(T* x) { x[0] = nowhere; }\n__global__ void k(int* x) {}\n"
    assert error_of_source(source) == "" or "nowhere" in error_of_source(source)
    assert "nowhere" in error_of_source(source + "template __global__ void j<int>(int*);")
