"""Every generator of the toolkit's cuRAND works in kernels. The simulator uses the toolkit's header
for generators that numbalite's header lacks."""

import contextlib
import ctypes

import numpy as np
import pytest

from numbalite import cuda, errors
from numbalite.compilers import cccl, toolkit

pytestmark = pytest.mark.skipif(
    cccl.root_of_toolkit("curand_kernel.h") is None,
    reason="cuRAND's headers are not installed: pip install nvidia-curand",
)
SOURCE = """
#include <curand_kernel.h>
#include <curand_mtgp32_kernel.h>
__device__ mtgp32_kernel_params_t parameters;
__global__ void twister(const unsigned *tables, curandStateMtgp32 *state, unsigned *out, float *real) {
    int t = threadIdx.x;
    if (t == 0) {
        parameters.pos_tbl[0] = 84;
        parameters.sh1_tbl[0] = 12;
        parameters.sh2_tbl[0] = 4;
        parameters.mask[0] = 0xfff80000;
        state->k = &parameters;
        state->offset = state->pIdx = 0;
        for (int i = 0; i < 16; ++i) {
            parameters.param_tbl[0][i] = tables[i];
            parameters.temper_tbl[0][i] = tables[16 + i];
        }
    }
    __syncthreads();
    for (int i = 0; i < 4; ++i)
        out[i * blockDim.x + t] = curand(state);
    real[t] = curand_uniform(state);
}
__global__ void others(unsigned *mrg, unsigned *sobol, const unsigned *vectors, unsigned *counts, unsigned *xorwow) {
    int t = threadIdx.x;
    curandStateMRG32k3a m;
    curand_init(0, 0, t, &m);
    mrg[t] = curand(&m);
    curandStateSobol32 s;
    curand_init(const_cast<unsigned *>(vectors), t, &s);
    sobol[t] = curand(&s);
    curandState x;
    curand_init(9, t, 5, &x);
    counts[t] = curand_poisson(&x, 4.0);
    xorwow[t] = curand(&x);
}
"""
OWN = """
#include <curand_kernel.h>
__global__ void one(unsigned *xorwow) {
    curandState x;
    curand_init(9, threadIdx.x, 5, &x);
    xorwow[threadIdx.x] = curand(&x);
}
"""


class MTGP32State(ctypes.Structure):
    """curandStateMtgp32"""

    _fields_ = [
        *(("s", ctypes.c_uint * 1024), ("offset", ctypes.c_int), ("index", ctypes.c_int)),
        ("parameters", ctypes.c_void_p),
    ]


@pytest.fixture(scope="module")
def curand_kernels():
    return cuda.module(SOURCE)


def mtgp32_numbers(start, tables, count):
    """Computes MTGP32 with the recursion and the tempering of Saito's paper."""
    x, out = [int(v) for v in start], []
    for i in range(count):
        a = (x[i] & 0xFFF80000) ^ x[i + 1]
        a ^= a << 12 & 0xFFFFFFFF
        y = a ^ x[i + 84] >> 4
        x.append(y ^ int(tables[y & 15]))
        t = x[i + 83]
        t ^= t >> 16
        t ^= t >> 8
        out.append(x[-1] ^ int(tables[16 + (t & 15)]))
    return np.array(out, np.uint32)


def test_mtgp32_matches_the_reference(curand_kernels):
    """Runs with checks, because the threads of a block write and read one shared state in turns."""
    rng = np.random.default_rng(1)
    tables = rng.integers(0, 2**32, 32, np.uint32)
    state = np.zeros(1, np.dtype(MTGP32State))
    state["s"][0, :351] = rng.integers(0, 2**32, 351, np.uint32)
    out, real = np.zeros(4 * 64, np.uint32), np.zeros(64, np.float32)
    expected = mtgp32_numbers(state["s"][0, :351], tables, 5 * 64)
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        curand_kernels.twister[1, 64](tables, cuda.to_device(state), out, real)
    np.testing.assert_array_equal(out, expected[:256])
    np.testing.assert_allclose(real, (expected[256:] + 0.5) / 2**32, rtol=1e-6)


def test_mrg_sobol_and_xorwow_match_references(curand_kernels):
    n = 256
    mrg, sobol, counts, xorwow, own = np.zeros((5, n), np.uint32)
    vectors = 1 << np.arange(31, -1, -1, dtype=np.uint32)  # of Sobol's first dimension
    curand_kernels.others[1, n](mrg, sobol, vectors, counts, xorwow)
    cuda.module(OWN).one[1, n](own)
    a, b = [12345] * 3, [12345] * 3
    for value in mrg:
        a = [a[1], a[2], (1403580 * a[1] - 810728 * a[0]) % 4294967087]
        b = [b[1], b[2], (527612 * b[2] - 1370589 * b[0]) % 4294944443]
        number = a[2] - b[2] + (4294967087 if a[2] <= b[2] else 0)
        assert abs(int(value) - number * 1.000000048662) <= 1
    gray = np.arange(n) ^ np.arange(n) >> 1
    reversed_bits = [int(f"{int(i):032b}"[::-1], 2) for i in gray]
    assert sobol.tolist() == reversed_bits
    assert 3.5 < counts.mean() < 4.5 and 3 < counts.var() < 5
    # The kernel draws exactly the number of values that it reports,
    # so the next number of the sequence differs.
    assert len(np.unique(own)) == n and (xorwow != own).any()


@pytest.mark.sim
def test_curand_headers_are_bundled(monkeypatch):
    monkeypatch.setattr(toolkit, "include_directories", lambda path=None: ())
    text = "#include <curand_kernel.h>\n__global__ void k() { curandStateSobol32 s; }"
    with pytest.raises(
        errors.CompileError, match="curandStateSobol32 needs .*: pip install nvidia-curand"
    ):
        cuda.module(text).k[1, 1]()
