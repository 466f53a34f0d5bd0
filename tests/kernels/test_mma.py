"""Tests PTX's mma, ldmatrix, stmatrix and movmatrix, with matrices in a warp's registers in the
layout of the PTX manual."""

import contextlib
import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.compilers import nvrtc
from numbalite.compilers.source import Source
from numbalite.errors import CompileError, CudaSupportError, KernelError

# name: shape, types of d, a, b, c, and the other qualifiers of the instruction
PRODUCTS = {
    "half8": ("m16n8k8", "f32 f16 f16 f32", ""),
    "half16": ("m16n8k16", "f32 f16 f16 f32", ""),
    "half16_half": ("m16n8k16", "f16 f16 f16 f16", ""),
    "bfloat8": ("m16n8k8", "f32 bf16 bf16 f32", ""),
    "bfloat16": ("m16n8k16", "f32 bf16 bf16 f32", ""),
    "tf4": ("m16n8k4", "f32 tf32 tf32 f32", ""),
    "tf8": ("m16n8k8", "f32 tf32 tf32 f32", ""),
    "double_square": ("m8n8k4", "f64 f64 f64 f64", ""),
    "double4": ("m16n8k4", "f64 f64 f64 f64", ""),
    "double8": ("m16n8k8", "f64 f64 f64 f64", ""),
    "double16": ("m16n8k16", "f64 f64 f64 f64", ""),
    "bytes8": ("m8n8k16", "s32 s8 u8 s32", ""),
    "bytes16": ("m16n8k16", "s32 u8 s8 s32", ""),
    "bytes32": ("m16n8k32", "s32 s8 s8 s32", ".satfinite"),
    "halves8": ("m8n8k32", "s32 s4 s4 s32", ""),
    "halves32": ("m16n8k32", "s32 u4 s4 s32", ""),
    "halves64": ("m16n8k64", "s32 s4 u4 s32", ".satfinite"),
    "bits8": ("m8n8k128", "s32 b1 b1 s32", ".xor.popc"),
    "bits128": ("m16n8k128", "s32 b1 b1 s32", ".and.popc"),
    "bits256": ("m16n8k256", "s32 b1 b1 s32", ".xor.popc"),
    "e4m3_32": ("m16n8k32", "f32 e4m3 e5m2 f32", ""),
    "e5m2_32": ("m16n8k32", "f16 e5m2 e5m2 f16", ""),
}
ON_ADA = frozenset(("e4m3_32", "e5m2_32"))
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "s32": 32, "f64": 64, "s8": 8, "u8": 8, "s4": 4, "u4": 4,
        "b1": 1, "e4m3": 8, "e5m2": 8}  # fmt: skip


def matrix_extents(shape):
    return [int(part) for part in shape[1:].replace("n", " ").replace("k", " ").split()]


def words_per_lane(kind, count):
    return max(1, count * BITS[kind] // 32 // (2 if kind == "f64" else 1))


def mma_kernel_source(name):
    shape, kinds, more = PRODUCTS[name]
    m, n, k = matrix_extents(shape)
    kinds = kinds.split()
    counts = [
        words_per_lane(t, x // 32) for t, x in zip(kinds, (m * n, m * k, n * k, m * n), strict=True)
    ]
    letter, cxx = ("d", "double") if "f64" in kinds else ("r", "unsigned")
    lists, at = [], 0
    for count in counts:
        lists.append("{" + ", ".join(f"%{at + i}" for i in range(count)) + "}")
        at += count
    middle = ".satfinite" if more == ".satfinite" else ""
    end = "" if middle else more
    of = [f"{x}[{count} * threadIdx.x + {{}}]" for x, count in zip("dabc", counts, strict=True)]
    out = ", ".join(f'"={letter}"({of[0].format(i)})' for i in range(counts[0]))
    given = ", ".join(f'"{letter}"({of[j].format(i)})' for j in (1, 2, 3) for i in range(counts[j]))
    return f"""
__global__ void {name}(const {cxx} *a, const {cxx} *b, const {cxx} *c, {cxx} *d) {{
    asm volatile("mma.sync.aligned.{shape}.row.col{middle}.{".".join(kinds)}{end} {", ".join(lists)};"
                 : {out} : {given});
}}
"""


SOURCE = "".join(map(mma_kernel_source, (name for name in PRODUCTS if name not in ON_ADA)))
NEWER = "".join(map(mma_kernel_source, ON_ADA))


def element_positions(rows, k, kind):
    """Returns (row, column) of each element of each lane of a, with shape (32, elements); for b with 8 rows,
    (column, row)."""
    lane, packed = np.arange(32)[:, None], max(1, 32 // BITS[kind])
    i = np.arange(rows * k // 32)[None]
    register, group, turn = i // packed, lane // 4, lane % 4
    if rows == 16:
        return (
            group + 8 * (register % 2),
            packed * turn + i % packed + 4 * packed * (register // 2),
        )
    return group + 0 * i, packed * turn + i % packed + 4 * packed * register


def places_of_result(m):
    lane, i = np.arange(32)[:, None], np.arange(m // 4)[None]
    return lane // 4 + 8 * (i // 2), 2 * (lane % 4) + i % 2


def random_matrix(rng, kind, shape):
    low, high = {"u8": (0, 9), "s4": (-8, 8), "u4": (0, 16), "b1": (0, 2)}.get(kind, (-8, 8))
    if kind in ("e4m3", "e5m2"):
        return rng.choice([-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3], shape)
    return rng.integers(low, high, shape).astype(np.float64)


def element_codes(values, kind):
    """Returns the bits of numbers."""
    if kind == "f64":
        return values.view("u8")
    if kind in ("f16", "f32", "tf32", "bf16"):
        width = "f2" if kind == "f16" else "f4"
        return values.astype(width).view(width.replace("f", "u")).astype("u8") >> (
            16 * (kind == "bf16")
        )
    if kind in ("e4m3", "e5m2"):  # a half whose fraction is truncated after a power of two
        half = (values * (2.0**-8 if kind == "e4m3" else 1)).astype("f2").view("u2").astype("u8")
        return (half >> 8 & 0x80) | (half >> (7 if kind == "e4m3" else 8) & 0x7F)
    return values.astype("i8").view("u8") & (2 ** BITS[kind] - 1)


def fragment_registers(values, kind, where):
    bits = element_codes(np.ascontiguousarray(values), kind)[where]
    packed = max(1, 32 // BITS[kind])
    parts = bits.reshape(32, -1, packed) << (
        BITS[kind] * np.arange(packed, dtype="u8") % np.uint64(64)
    )
    whole = np.bitwise_or.reduce(parts, axis=2)
    return whole.view("f8") if kind == "f64" else whole.astype("u4")


def fragment_values(words, kind, where, shape):
    out = np.zeros(shape)
    parts = words.view({"f16": "f2", "f32": "f4", "s32": "i4", "f64": "f8"}[kind])
    out[where] = parts.reshape(32, -1)
    return out


@pytest.fixture(scope="module")
def mma_module():
    if not cuda.is_simulated() and cuda.get_current_device().compute_capability < (8, 9):
        pytest.skip("the tensor cores of this GPU are older")
    return cuda.module(SOURCE + NEWER)


@pytest.mark.parametrize("name", PRODUCTS)
def test_mma_ptx_matches_numpy(mma_module, name):
    shape, kinds, more = PRODUCTS[name]
    m, n, k = matrix_extents(shape)
    kind_d, kind_a, kind_b, kind_c = kinds.split()
    rng = np.random.default_rng(0)
    a, b = random_matrix(rng, kind_a, (m, k)), random_matrix(rng, kind_b, (k, n))
    c = random_matrix(rng, kind_c, (m, n))
    if more == ".satfinite":
        c += np.where(c < 0, -(2.0**31) + 8, 2.0**31 - 9)
    in_d = places_of_result(m)
    d = np.zeros((32, words_per_lane(kind_d, m * n // 32)), "f8" if kind_d == "f64" else "u4")
    given = [
        fragment_registers(a, kind_a, element_positions(m, k, kind_a)),
        fragment_registers(b.T, kind_b, element_positions(8, k, kind_b)),
        fragment_registers(c, kind_c, in_d),
    ]
    getattr(mma_module, name)[1, 32](*(x.reshape(-1) for x in given), d.reshape(-1))
    if more == ".xor.popc":
        expected = (a[:, :, None] != b[None]).sum(1) + c
    else:
        expected = a @ b + c
    if more == ".satfinite":
        expected = np.clip(expected, -(2.0**31), 2.0**31 - 1)
    np.testing.assert_array_equal(fragment_values(d, kind_d, in_d, (m, n)), expected)


MOVING = r"""
#include <cuda_fp16.h>
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void moves(const unsigned short *x, unsigned *out, unsigned short *back) {
    __shared__ __align__(16) unsigned short rows[32][8], turned[32][8];
    unsigned me = threadIdx.x, r[4], s[2], t, u;
    for (int i = 0; i < 8; i++)
        rows[me][i] = x[8 * me + i];
    __syncwarp();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(rows[me])));
    asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared::cta.b16 {%0, %1}, [%2 + 256];"
                 : "=r"(s[0]), "=r"(s[1]) : "r"(at(rows[me % 16])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.b16 {%0}, [%1];" : "=r"(t) : "l"(rows[me % 8]));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(u) : "r"(t));
    for (int i = 0; i < 4; i++)
        out[8 * me + i] = r[i];
    out[8 * me + 4] = s[0];
    out[8 * me + 5] = s[1];
    out[8 * me + 6] = t;
    out[8 * me + 7] = u;
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 :: "r"(at(turned[me])), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(at(turned[me % 8])), "r"(t) : "memory");
    __syncwarp();
    for (int i = 0; i < 8; i++)
        back[8 * me + i] = turned[me][i];
#endif
}
"""


def test_ldmatrix_and_stmatrix_move_rows_of_shared_memory():
    x = np.arange(256, dtype="u2").reshape(4, 8, 8)
    out, back = np.zeros((32, 8), "u4"), np.zeros((4, 8, 8), "u2")
    kernel = cuda.module(MOVING).moves
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        kernel[1, 32](x.reshape(-1), out.reshape(-1), back.reshape(-1))
    pairs = x.view("u4").reshape(4, 32)
    turned = np.ascontiguousarray(x.transpose(0, 2, 1))
    np.testing.assert_array_equal(out[:, :4].T, pairs)
    np.testing.assert_array_equal(out[:, 4:6].T, turned.view("u4").reshape(4, 32)[2:])
    np.testing.assert_array_equal(out[:, 6], pairs[0])
    np.testing.assert_array_equal(out[:, 7], turned[0].view("u4").reshape(32))
    if back.any():
        np.testing.assert_array_equal(back[1:], turned[1:])
        np.testing.assert_array_equal(back[0], x[0])


QUADS = r"""
__global__ void wide(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d) {
    unsigned t = threadIdx.x;
    a += 2 * t, b += 2 * t, c += 8 * t, d += 8 * t;
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0, %1, %2, %3, %4, %5, %6, %7}, {%8, %9}, {%10, %11}, "
                 "{%12, %13, %14, %15, %16, %17, %18, %19};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]),
                   "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "r"(c[5]), "r"(c[6]), "r"(c[7]));
}
__global__ void half(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d) {
    unsigned t = threadIdx.x;
    a += 2 * t, b += 2 * t, c += 4 * t, d += 4 * t;
    asm volatile("mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%6, %7}, {%8, %9, %10, %11};"
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
}
"""


def test_mma_m8n8k4_computes_four_products():
    """Tests m8n8k4 of half: four products, each computed by eight lanes."""
    module = cuda.module(QUADS)
    rng = np.random.default_rng(2)
    a, b, c = (rng.integers(-8, 8, (4, *s)).astype("f4") for s in ((8, 4), (4, 8), (8, 8)))
    lane, i = np.arange(32)[:, None], np.arange(8)[None]
    quad, low, upper, four = lane % 16 // 4, lane % 4, lane // 16 * 4, i[:, :4]
    row = (lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)
    d = np.zeros((32, 8), "f4")
    given = [a[quad, low + upper, four].astype("f2"), b[quad, four, low + upper].astype("f2")]
    given = [x.reshape(-1).view("u4") for x in given]
    module.wide[1, 32](*given, c[(quad, *row)].reshape(-1).view("u4"), d.reshape(-1).view("u4"))
    np.testing.assert_array_equal(d, (a @ b + c)[(quad, *row)])
    d = np.zeros((32, 8), "f2")
    given = [a[quad, four + upper, low], b[quad, low, four + upper], c[quad, low + upper, i]]
    given = [x.astype("f2").reshape(-1).view("u4") for x in given]
    module.half[1, 32](*given, d.reshape(-1).view("u4"))
    np.testing.assert_array_equal(d, (a @ b + c)[quad, low + upper, i])


MISTAKES = r"""
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
#define LOAD asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r) : "r"(p))
__global__ void unwritten(unsigned *out) {
    __shared__ __align__(16) unsigned rows[32];
    unsigned r, p = at(rows + threadIdx.x % 8 * 4);
    if (threadIdx.x < 28)
        rows[threadIdx.x] = 1;
    __syncthreads();
    LOAD;
    out[threadIdx.x] = r;
}
__global__ void race(unsigned *out) {
    __shared__ __align__(16) unsigned rows[64];
    unsigned r, p = at(rows + threadIdx.x % 8 * 4);
    rows[threadIdx.x] = 1;
    LOAD;
    out[threadIdx.x] = r;
}
__global__ void outside(unsigned *out) {
    extern __shared__ __align__(16) unsigned rows[];
    unsigned r, p = at(rows + threadIdx.x % 8 * 4);
    rows[threadIdx.x] = 1;
    __syncthreads();
    p += 64;
    LOAD;
    out[threadIdx.x] = r;
}
__global__ void odd(unsigned *out) {
    __shared__ __align__(16) unsigned rows[64];
    unsigned r, p = at(rows + threadIdx.x % 8 * 4 + 1);
    LOAD;
    out[threadIdx.x] = r;
}
__global__ void halves(unsigned *out) {
    unsigned r = threadIdx.x;
    if (threadIdx.x < 16)
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(r));
    out[threadIdx.x] = r;
}
"""


@pytest.fixture(scope="module")
def mistakes_module():
    return cuda.module(MISTAKES)


@pytest.mark.sim
@pytest.mark.parametrize(
    ("name", "threads", "said"),
    [
        ("unwritten", 32, r"reads rows\[28\], which nothing has written"),
        ("race", 64, r"writes rows\[4\], and thread \(1,0,0\) reads it"),
        ("outside", 32, r"reads rows\[32\], but rows has 32 elements"),
        ("odd", 32, "no multiple of 16"),
        ("halves", 32, "matrices.* includes threads 16-31: ended"),
    ],
)
def test_mma_mistakes_are_reported(optimized_host_code, mistakes_module, name, threads, said):
    out = cuda.device_array(64, "u4")
    with pytest.raises(KernelError, match=said), cuda.checks():
        getattr(mistakes_module, name)[1, threads, 0, 128 * (name == "outside")](out)


@pytest.mark.sim
@pytest.mark.parametrize(
    "instruction",
    [
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {%0}, {%0}, {%0}, {%0};",
        "mma.sync.aligned.m16n8k8.col.row.f32.tf32.tf32.f32 {%0}, {%0}, {%0}, {%0};",
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32 {%0}, {%0}, {%0}, {%0};",
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0}, {%0}, {%0}, {%0};",
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0}, [%0];",
        "wgmma.fence.sync.aligned;",
    ],
)
def test_invalid_instructions_raise(instruction):
    with pytest.raises(
        CompileError,
        match=rf"\(2\): error: inline PTX \(asm\) .*{instruction.partition('.')[0]}",
    ):
        cuda.module(
            f'__global__ void k(unsigned *x) {{\n asm volatile("{instruction}" : "+r"(x[0])); }}'
        )


def test_nvrtc_compiles_the_mma_source():
    try:
        nvrtc.open_library()
    except CudaSupportError:
        pytest.skip("there is no NVRTC")
    for text in (SOURCE + NEWER, MOVING, QUADS, MISTAKES):
        kernels = tuple(re.findall(r"__global__ void (\w+)", text))
        assert nvrtc.compile(Source(text, "mma.cu", kernels, describe=False), (9, 0)).data
