"""Tests numbalite/philox.cuh in kernels."""

import numpy as np
import pytest

from numbalite import cuda

SOURCE = r"""
#include <numbalite/philox.cuh>
__global__ void block(unsigned long long key, unsigned long long low, unsigned long long high, unsigned *out) {
    numbalite::philox4x32 rng(key, high, low);
    uint4 b = rng.block();
    out[0] = b.x, out[1] = b.y, out[2] = b.z, out[3] = b.w;
}
__global__ void draw(const unsigned *bits32, const unsigned long long *bits64, float *f, double *d, unsigned *u, int n) {
    using namespace numbalite;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        philox4x32 rng(1, 2);
        u[0] = rng(), u[1] = rng(), u[2] = rng();
        rng.skip(1);
        u[3] = rng();
        f[3 * n] = rng.uniform(), f[3 * n + 1] = rng.normal(), f[3 * n + 2] = rng.exponential();
        d[3 * n] = rng.uniform_double(), d[3 * n + 1] = rng.normal_double(), d[3 * n + 2] = rng.exponential_double();
        rng.normal_pair(f[3 * n + 3], f[3 * n + 4]);
        u[4] = 0;
        for (int k = 0; k < 300; ++k) u[4] |= 1u << rng.below(6);
        u[5] = rng.below(0);
    }
    if (i >= n) return;
    f[i] = nl_random::exponential_of<float>(bits32[i]);
    d[i] = nl_random::exponential_of<double>(bits64[i]);
    nl_random::real<float>::turn(bits32[i], f[n + i], f[2 * n + i]);
    nl_random::real<double>::turn(bits64[i], d[n + i], d[2 * n + i]);
}
"""
# Test vectors from Random123's file kat_vectors for philox4x32 with 10 rounds: counter, key, result.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def parse_words(text):
    return [int(word, 16) for word in text.split()]


@pytest.fixture(scope="module")
def philox_module():
    return cuda.module(SOURCE)


def test_philox_matches_reference_vectors(philox_module):
    for counter, key, result in KNOWN:
        c, k = parse_words(counter), parse_words(key)
        out = cuda.to_device(np.zeros(4, np.uint32))
        philox_module.block[1, 1](k[0] | k[1] << 32, c[0] | c[1] << 32, c[2] | c[3] << 32, out)
        assert out.copy_to_host().tolist() == parse_words(result)
        rng = cuda.random.Philox4x32(
            key=k[0] | k[1] << 32, counter=sum(word << 32 * i for i, word in enumerate(c))
        )
        made = cuda.random.default_rng(rng).integers(0, 2**32, 4, dtype=np.uint32)
        assert made.copy_to_host().tolist() == parse_words(result)


def test_uniform_numbers_by_stream_position_are_exact(philox_module):
    bits = np.random.default_rng(0).integers(0, 2**64, 4000, np.uint64)
    bits[:100] = np.arange(100)
    bits[100:200] = ~np.arange(100, dtype=np.uint64)
    bits[200:264] = np.uint64(1) << np.arange(64, dtype=np.uint64)
    n, narrow = bits.size, bits.astype(np.uint32)
    outputs = np.zeros(3 * n + 5, np.float32), np.zeros(3 * n + 5), np.zeros(6, np.uint32)
    arrays = [cuda.to_device(x) for x in (narrow, bits, *outputs)]
    philox_module.draw[-(-n // 256), 256](*arrays, n)
    f, d, u = (array.copy_to_host() for array in arrays[2:])
    for made, x, width in ((f, narrow, 32), (d, bits, 64)):
        middle = (x.astype(np.longdouble) + 0.5) / np.longdouble(2) ** width
        rest = ((~x).astype(np.longdouble) + 0.5) / np.longdouble(2) ** width
        below = -np.log(middle), -np.log1p(-np.minimum(rest, 0.5))
        exact = np.where(middle < 0.5, *below)
        eps = np.finfo(made.dtype).eps
        assert np.abs(made[:n] / exact - 1).max() < 1.6 * eps
        pi = np.longdouble("3.14159265358979323846264338328")
        low = (x << x.dtype.type(2)).view(f"i{width // 8}").astype(np.longdouble)
        angle = (low + 2) * pi / np.longdouble(2) ** (width + 1)
        parts = [np.sin(angle), np.where(x >> x.dtype.type(width - 1), -1, 1) * np.cos(angle)]
        is_exchanged = (x >> x.dtype.type(width - 2) & x.dtype.type(1)).astype(bool)
        assert np.abs(made[n : 2 * n] - np.where(is_exchanged, *parts[::-1])).max() < 0.7 * eps
        assert np.abs(made[2 * n : 3 * n] - np.where(is_exchanged, *parts)).max() < 0.7 * eps
        assert made[: 3 * n].all()  # never 0
    blocks = cuda.random.default_rng(cuda.random.Philox4x32(key=1, counter=2 << 64))
    block = blocks.integers(0, 2**32, 12, dtype=np.uint32).copy_to_host()
    assert u[:3].tolist() == block[:3].tolist() and u[3] == block[8]
    assert f[3 * n] == np.float32(int(block[9]) >> 8) / 2**24
    assert u[4] == 0b111111 and u[5] == 0
    assert np.isfinite(f[3 * n :]).all() and np.isfinite(d[3 * n : 3 * n + 3]).all()
