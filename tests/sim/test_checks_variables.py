"""Tests checked kernels on the simulator: uninitialized local variables."""

import re

import numpy as np
import pytest
from kit.lines import line_numbers_of

from numbalite import cuda
from numbalite.compilers import host, hostbuild
from numbalite.errors import KernelError

if not cuda.is_simulated():
    pytest.skip("only the simulator looks for mistakes", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore::numbalite.errors.KernelWarning")

SOURCE = """
struct point { float x, y; __device__ point() {} };
struct bits { unsigned a : 3, b : 5; };
__device__ float first(float a, float, int n) { return n ? a : 0; }
__device__ float search(bool &found) { float at; found = threadIdx.x == 3; if (found) at = 7; return at; }
__device__ void fill(float (&v)[4]) { for (auto &x : v) x = 1; }
__global__ void handed_on(const float *x, float *out) {
    int i = threadIdx.x;
    float given, other, sum = 0;
    if (i < 4) given = x[i];
    sum += first(1, other, i) + first(given, other, i < 4);
    float lane = __shfl_sync(0xffffffff, given, 3);
    bool found;
    float at = search(found);
    if (found) sum += at;
    auto set = [&](float to) { other = to; };
    set(lane);
    sum += other;
    point p, q;
    p.x = 1, q = p;
    sum += q.x;
    bits b;
    b.a = 1, b.b = 2;
    float v[4], w[4], t[8];
    fill(v);
    *reinterpret_cast<float4 *>(w) = make_float4(v[0], v[1], v[2], v[3]);
    memcpy(t, w, sizeof w);
    for (float *to = t + 4; to < t + 8; ++to) *to = 2;
    switch (i) { float one; case 0: one = 1; sum += one; break; default: one = 2; sum += one; }
    for (int k = 0; k < 8; ++k) { float u; if (k % 2) u = t[k]; if (k % 2) sum += u; }
    out[i] = sum + b.a + b.b + w[i % 4] + t[i % 8];
}
__global__ void unset(float *out, int k) {
    float m[2][3], s;
    point p;
    if (k == 0) m[0][0] = 1, *out += m[threadIdx.x][2];  /* an array */
    if (k == 1) p.x = 1, s = p.y;  /* handed on */
    for (int i = 0; i < 2; ++i) { float u; if (i == 0 || k != 2) u = 1; s = u + 1; /* in a loop */ }
    if (k == 3) *out += fminf(s, *out), s = m[1][1] + 1;  /* the second time */
    int *to;
    if (k == 4) *to = 1;  /* a pointer */
    complex64 c;
    if (k == 5) c += complex64(1, 2), *out = c.real();  /* a number of two */
    out[threadIdx.x] = s;
}
"""


@pytest.fixture(scope="module")
def variable_kernels():
    return cuda.module(SOURCE)


needs_clang = pytest.mark.skipif(
    hostbuild.identify_compiler(host.find_compiler()).family == "gcc",
    reason="g++ tells nothing of local variables",
)


@needs_clang
def test_local_variables_begin_unwritten(variable_kernels):
    with cuda.checks("unwritten"):
        variable_kernels.unset[1, 2](cuda.to_device(np.zeros(2, "f4")), 9)
    for k, words, text in (
        (0, "reads m[0][2], which nothing has written", "an array"),
        (2, "reads u, which nothing has written", "in a loop"),
        (3, "reads m[1][1], which nothing has written", "the second time"),
        (4, "reads to, which nothing has written", "a pointer"),
        (5, "reads c, which nothing has written", "a number of two"),
    ):
        with pytest.raises(KernelError, match=re.escape(words)) as caught:
            with cuda.checks("unwritten"):
                variable_kernels.unset[1, 2](cuda.to_device(np.zeros(2, "f4")), k)
        assert caught.value.line == line_numbers_of(f"/* {text} */", __file__)[0]


def test_copying_uninitialized_locals_is_not_reported(variable_kernels):
    """The state of a variable is copied without a check when it is passed to functions, returned, or part of
    a copied object."""
    out = cuda.to_device(np.zeros(32, "f4"))
    with cuda.checks():
        variable_kernels.handed_on[1, 32](cuda.to_device(np.zeros(32, "f4")), out)
    assert out.copy_to_host()[[0, 3, 4]].tolist() == [13, 22, 16]


def test_assumed_alignment_is_checked():
    @cuda.jit("void(float32*, int32)")
    def store_assumed_aligned(x, n):
        """
        float *p = (float *)__builtin_assume_aligned(x, 16);
        if (threadIdx.x < n) p[threadIdx.x] = 1;
        """

    x = cuda.to_device(np.zeros(33, np.float32))
    with cuda.checks():
        store_assumed_aligned[1, 32](x, 32)
    assert x.sum() == 32
    with (
        pytest.raises(KernelError, match=r"(?s)assume_aligned.*\(x\[0\]\) is no multiple of 16"),
        cuda.checks(),
    ):
        store_assumed_aligned[1, 32](x[1:], 31)
