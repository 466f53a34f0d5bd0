"""Tests inline PTX: the results of instructions, on either driver."""

import contextlib

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import CompileError

SOURCE = r"""
#include <cuda_fp16.h>
__device__ __forceinline__ unsigned lane() {
    unsigned ret;
    asm volatile("mov.u32 %0, %laneid;" : "=r"(ret));
    return ret;
}
#define LOAD(op, to, at) asm volatile("ld." #op ".u32 %0, [%1];" : "=r"(to) : "l"(at))
__global__ void scalars(unsigned* o, const float* f) {
    unsigned a = 0xdeadbeef, r, lo, hi;
    unsigned long long p;
    float x;
    int s;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(8), "n"(8));
    *o++ = r;
    asm("bfe.s32 %0, %1, 8, 8;" : "=r"(s) : "r"(a));
    *o++ = s;
    asm("bfi.b32 %0, %1, %2, 4, 8;" : "=r"(r) : "r"(0xffu), "r"(0x12345678u));
    *o++ = r;
    asm("fma.rn.f32 %0, %1, 0f40000000, %2;" : "=f"(x) : "f"(f[0]), "f"(1.0f));
    *o++ = x;
    asm("mul.wide.u32 %0, %1, %2;" : "=l"(p) : "r"(0xffffffffu), "r"(2u));
    *o++ = p >> 32;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(lo), "=r"(hi) : "l"(p));
    *o++ = lo;
    asm("{\n\t.reg .b32 t;\n\tmov.b64 {_, t}, %1; // the upper half\n\tadd.u32 %0, t, t;\n}" : "=r"(r) : "l"(p));
    *o++ = r;
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %4, %5;"
        : "=r"(lo), "=r"(hi) : "r"(~0u), "r"(2), "r"(1), "r"(1));
    *o++ = hi;
    asm("{ .reg .u32 i; .reg .pred q; mov.u32 i, 0; mov.u32 %0, 0;\nL1: add.u32 %0, %0, i; add.u32 i, i, 1;"
        "setp.lt.u32 q, i, 5; @q bra L1; }" : "=r"(r));
    *o++ = r;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r) : "r"(1u), "r"(3u), "r"(7u));
    *o++ = r;
    asm("cvt.rzi.s32.f32 \
        %0, %1;" : "=r"(s) : "f"(-3.7f));
    *o++ = s;
    asm("cvt.rni.u32.f32 %0, %1;" : "=r"(r) : "f"(-1.0f));
    *o++ = r;
    asm("shl.b32 %0, %1, 32;" : "=r"(r) : "r"(a));
    *o++ = r;
    asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r) : "r"(0x11112222u), "r"(0x33334444u));
    *o++ = r;
    asm("{ .reg .pred p; setp.ne.u32 p, %1, 0; selp.u32 %0, 7, 9, p; }" : "=r"(r) : "r"(0));
    *o++ = r;
    asm("{ .reg .pred p, q; setp.gt.f32 p|q, %1, 2.5; @p mov.u32 %0, 1; @!p mov.u32 %0, 2; }" : "=r"(r) : "f"(f[0]));
    *o++ = r;
    asm("{fma.rn.f16x2 %0, %1, %2, %3;}" : "=r"(r) : "r"(0x3c004000u), "r"(0x40004000u), "r"(0x3c003c00u));
    *o++ = r;
    unsigned short h = 0x4200;
    asm("{cvt.f32.f16 %0, %1;}" : "=f"(x) : "h"(h));
    *o++ = x;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(s) : "r"(0x01ff0203), "r"(0x01010101), "r"(10));
    *o++ = s;
    asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(s) : "r"(0xffff0002), "r"(0x05030101), "r"(10));
    *o++ = s;
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(r) : "r"(0x01ff0305), "r"(0x03010000), "r"(100));
    *o++ = r;
    asm("vadd2.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(r) : "r"(0x7fff8000), "r"(0x00020001), "r"(0));
    *o++ = r;
    asm("vset4.u32.u32.gt %0, %1, %2, %3;" : "=r"(r) : "r"(0x01ff0305), "r"(0x03010005), "r"(0));
    *o++ = r;
    asm("{ .reg .pred p; setp.lt.s32 p|_, %1, 0; selp.u32 %0, 7, 9, p; }" : "=r"(r) : "r"(-1));
    *o++ = r;
    asm("{ .reg .pred p; setp.lt.s32 _|p, %1, 0; selp.u32 %0, 7, 9, p; }" : "=r"(r) : "r"(-1));
    *o++ = r;
}
__global__ void memory(unsigned* o) {
    unsigned r, lo, hi;
    unsigned long long old;
    LOAD(global.nc, r, o + 1);
    o[8] = r;
    asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2+8];" : "=r"(lo), "=r"(hi) : "l"(o) : "memory");
    o[9] = lo * 100 + hi;
    asm volatile("st.volatile.global.v2.b32 [%0], {%1, %2};" :: "l"(o + 10), "r"(5), "r"(6));
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1;" :: "l"(o + 12), "r"(2));
    asm volatile("atom.add.u64 %0, [%1], 3;" : "=l"(old) : "l"(o + 14));
    o[13] = old;
    __shared__ __align__(16) unsigned s[4];
    extern __shared__ unsigned d[];
    unsigned at = (unsigned)__cvta_generic_to_shared(s), dynamic = (unsigned)__cvta_generic_to_shared(d);
    asm volatile("st.shared.u32 [%0+4], 77;\n st.shared.u32 [%1], 78;" :: "r"(at), "r"(dynamic));
    asm volatile("bar.sync 0; membar.gl; fence.acq_rel.gpu;");
    o[16] = s[1] * 100 + d[0];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 4;\n cp.async.commit_group; cp.async.wait_group 0;"
                 :: "r"(at), "l"(o + 1));
    o[17] = s[0];
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v2.u32 {%0, %1}, [%2], %3;"
                 : "=r"(lo), "=r"(hi) : "l"(o + 4), "l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2; cp.async.wait_all;"
                 :: "r"(at), "l"(o + 4), "l"(policy) : "memory");
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" :: "l"(o + 18), "r"(lo * 100 + s[3]), "l"(policy));
}
__global__ void warps(unsigned* o) {
    unsigned r, me = lane(), mask = 0xffffffff;
    asm volatile("{ .reg .s32 r0; .reg .pred p; shfl.sync.up.b32 r0|p, %1, %2, %3, %4; @p add.s32 r0, r0, %1;"
                 "mov.s32 %0, r0; }" : "=r"(r) : "r"(me), "r"(1), "r"(0), "r"(mask));
    o[me] = r;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
                 : "=r"(r) : "r"(me & 1), "r"(mask));
    o[32 + me] = r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 0x1f, -1;" : "=r"(r) : "r"(me));
    o[64 + me] = r;
    asm volatile("match.any.sync.b32 %0, %1, %2; " : "=r"(r) : "r"(me / 16), "r"(mask));
    o[96 + me] = r;
    asm volatile("redux.sync.max.u32 %0, %1, %2;" : "=r"(r) : "r"(me), "r"(mask));
    o[128 + me] = r;
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(r));
    o[160 + me] = r;
    if (me == 3) asm volatile("exit;");
    o[192 + me] = 1;
}
"""


@pytest.fixture(scope="module")
def ptx_kernels():
    return cuda.module(SOURCE)


def test_inline_ptx_arithmetic_matches_expected(ptx_kernels):
    out = np.zeros(25, np.uint32)
    ptx_kernels.scalars[1, 1](out, np.array([3], np.float32))
    assert out.tolist() == [
        0xBE, 0xFFFFFFBE, 0x12345FF8, 7, 1, 0xFFFFFFFE, 2, 3, 10, 5, 2**32 - 3, 0, 0, 0x44442222, 9, 1,
        0x42004500, 3, 15, 11, 364, 0x7FFF8001, 0x00010100, 7, 9,
    ]  # fmt: skip


def test_inline_ptx_loads_and_stores_memory(ptx_kernels):
    out = np.arange(19, dtype=np.uint32)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        ptx_kernels.memory[1, 1, 0, 16](out)
    assert out.tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 1, 203, 5, 6, 14, 14, 17, 15, 7778, 1, 407]


def test_inline_ptx_warp_operations_match_expected(ptx_kernels):
    out = np.zeros((7, 32), np.uint32)
    ptx_kernels.warps[1, 32](out.reshape(-1))
    lanes = np.arange(32)
    assert out[0].tolist() == [0, *range(1, 63, 2)]
    assert np.all(out[1] == 0xAAAAAAAA) and np.array_equal(out[2], lanes ^ 1)
    assert np.array_equal(out[3], np.where(lanes < 16, 0xFFFF, 0xFFFF0000)) and np.all(out[4] == 31)
    assert np.array_equal(out[5], 2**lanes - 1) and np.array_equal(out[6], lanes != 3)


def test_inline_ptx_narrow_atomics_work_next_to_preprocessor_branches():
    m = cuda.module(r"""
    __global__ void k(unsigned short *x, unsigned *y) {
        asm volatile("atom.add.noftz.bf16 %0, [%1], %2;" : "=h"(x[1]) : "l"(x), "h"((unsigned short)0x3f80));
        asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(y[1]) : "l"(y), "r"(0x3c003c00));
        asm volatile("red.global.add.noftz.f16x2 [%0], %1;" :: "l"(y), "r"(0x3c004000) : "memory");
        asm volatile("{.reg .u32 a;\n"
    #if __CUDA_ARCH__ < 750
                     " nothing.of.this;"
    #elif defined(NOBODY)
                     " mov.u32 a, 6;"
    #else
                     " mov.u32 a, 5;"
    #endif
                     " add.u32 %0, a, 2;}" : "=r"(y[2]));
    }""")
    x, y = np.array([0x4000, 0], np.uint16), np.zeros(3, np.uint32)
    m.k[1, 1](x, y)
    assert x.tolist() == [0x4040, 0x4000] and y.tolist() == [0x40004200, 0, 7]


NARROW = """
#include <cuda_fp16.h>
__global__ void k(unsigned* o, const unsigned* shifts) {
    unsigned short h;
    unsigned r, at = 13;
    asm("tanh.approx.f16 %0, %1;" : "=h"(h) : "h"((unsigned short)0));
    o[0] = h;
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(r) : "r"(0x7c00fc00u));
    o[1] = r;
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(r) : "r"(0x40004200u));
    o[2] = r;
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(0x3c003c00u), "r"(0xc0004000u), "r"(0u));
    o[3] = r;
    asm("max.NaN.f16 %0, %1, %2;" : "=h"(h) : "h"((unsigned short)0x7e01), "h"((unsigned short)0x3c00));
    o[4] = h;
    asm("add.sat.f16 %0, %1, %2;" : "=h"(h) : "h"((unsigned short)0x3c00), "h"((unsigned short)0x3c00));
    o[5] = h;
    asm("add.u32 %0, %1, %2;" : "=r"(r) : "r"((at >> shifts[0]) << 2), "r"(at << 1 >> 1));
    o[6] = r;
    asm("vadd.s32.s32.s32 %0, %1.h1, %2.b0;" : "=r"(r) : "r"(0xfffe0003u), "r"(0x000000ffu));
    o[7] = r;
    asm("vsub.s32.u32.u32 %0, %1.b3, %2.h0;" : "=r"(r) : "r"(0x05000000u), "r"(7u));
    o[8] = r;
    asm("vmad.u32.u32.u32 %0, %1.b1, %2, %3;" : "=r"(r) : "r"(0x0300u), "r"(5u), "r"(4u));
    o[9] = r;
    asm("vadd.u32.u32.u32.sat %0, %1, %2;" : "=r"(r) : "r"(~0u), "r"(5u));
    o[10] = r;
    asm("vsub.u32.u32.u32.max %0, %1.b2, %2, %3;" : "=r"(r) : "r"(0x090000u), "r"(2u), "r"(8u));
    o[12] = r;
#define ADDRESS "l"
    asm volatile("red.add.u32 [%0], %1;" :: ADDRESS(o + 11), "r"(3u) : "memory");
}
"""


def test_inline_ptx_accepts_16_bit_operands_and_shifts():
    out = np.zeros(13, np.uint32)
    cuda.module(NARROW).k[1, 1](out, np.array([2], np.uint32))
    expected = [0, 0x3C00BC00, 0x44004800, 0x4000, 0x7FFF, 0x3C00, (13 >> 2 << 2) + 13]
    expected += [2**32 - 3, 2**32 - 2, 19, 2**32 - 1, 3, 8]
    if (
        not cuda.is_simulated()
    ):  # an H200 returns 4, the sum without .sat, unlike PTX's documentation
        expected[10] = out[10]
    assert [hex(x) for x in out] == [hex(x) for x in expected]


@pytest.mark.skipif(not cuda.is_simulated(), reason="GPUs have it from 10.0 on")
def test_f32x2_instructions_compute_pairs():
    m = cuda.module("""__global__ void k(unsigned long long* o, const unsigned long long* x) {
        asm("fma.rn.ftz.f32x2 %0, %1, %2, %3;" : "=l"(o[0]) : "l"(x[0]), "l"(x[1]), "l"(x[2]));
        asm("add.rn.f32x2 %0, %1, %2;" : "=l"(o[1]) : "l"(x[0]), "l"(x[1]));
    }""")
    x = np.array([1.5, -2, 3, 4, 0.25, 1], np.float32)
    out = np.zeros(2, np.uint64)
    m.k[1, 1](out, x.view(np.uint64))
    assert out.view(np.float32).tolist() == [4.75, -7, 4.5, 2]


NUMBERED = """
__global__ void pass_on(int* out, int rounds) {
    __shared__ int box[64];
    int t = threadIdx.x % 64;
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x < 64) { // makes
            asm volatile("bar.sync 2, 128;" ::: "memory");
            box[t] = 100 * i + t;
            asm volatile("bar.arrive %0, %1;" :: "r"(1), "n"(128) : "memory");
        } else { // takes
            asm volatile("barrier.cta.arrive.aligned 2, 128;" ::: "memory");
            asm volatile("bar.sync 1, 128;" ::: "memory");
            out[blockIdx.x * 64 + t] += box[63 - t];
            asm volatile("bar.sync 3, 64;" ::: "memory");
        }
    }
}
"""


def test_named_barriers_synchronize_half_blocks():
    """One half of a block produces data, the other half consumes it; each of two consecutive blocks
    starts with initialized barriers."""
    m = cuda.module(NUMBERED)
    out = np.zeros((3, 64), np.int32)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        m.pass_on[3, 128](out.reshape(-1), 3)
    assert (out == 300 + 3 * np.arange(64)[::-1]).all()


def test_redeclared_barrier_builtins_compile():
    m = cuda.module("""extern __device__ __device_builtin__ void __syncthreads(void);
    extern __device__ __device_builtin__ void __threadfence(void);
    __global__ void k(int* x) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        x[threadIdx.x] = s[63 - threadIdx.x];
        __threadfence();
    }""")
    x = np.zeros(64, np.int32)
    m.k[1, 64](x)
    assert (x == np.arange(64)[::-1]).all()


@pytest.mark.skipif(not cuda.is_simulated(), reason="a GPU has it")
def test_unsupported_ptx_in_a_header_is_reported_where_used(tmp_path):
    (tmp_path / "group.h").write_text("""#pragma once
    inline int group() {
        int x;
        asm("mov.u32 %0, %%envreg3;" : "=r"(x));
        return x;
    }
    """)
    source = '#include "group.h"\n__global__ void k(int* x) { x[0] = %s; }'
    x = np.zeros(1, np.int32)
    cuda.module(source % "3", options=[f"-I{tmp_path}"]).k[1, 1](x)
    assert x[0] == 3
    with pytest.raises(
        CompileError, match=r"group.h\(4\): error: inline PTX .* %%envreg3 cannot run"
    ):
        cuda.module(source % "group()", options=[f"-I{tmp_path}"]).k[1, 1](x)


@pytest.mark.sim
def test_unsupported_ptx_instruction_is_named():
    for text, name in (
        ("wgmma.fence.sync.aligned;", "wgmma.fence"),
        ("mov.u32 %0, %envreg3;", "%envreg3"),
        ("selp.u32 %0, 1, 2, %0;", "no predicate"),
        ("add.u32 %0, _, 1;", "the operand _"),
        ("{ .reg .b64 d; mov.b64 d, {_, %0}; }", "the operand _"),
        ("selp.u32 %0, 1, 2, _;", "the operand _"),
        ("{ .reg .pred p; setp.eq.u32 p, 1, 1; mov.u32 %0, p; }", "a predicate"),
        ("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;", "tcgen05.alloc"),
    ):
        with pytest.raises(
            CompileError, match=rf"\((2)\): error: inline PTX \(asm\) .*{name}.* cannot run"
        ):
            cuda.module(f'__global__ void k(int* x) {{\n asm volatile("{text}" : "=r"(x[0])); }}')
