"""Signed products and sums of an index are checked, also if unsigned numbers are added to them."""

import random

import numpy as np
import pytest

from numbalite import cuda
from numbalite.compilers import host, hostbuild
from numbalite.errors import KernelError

pytestmark = [
    pytest.mark.sim,
    pytest.mark.skipif(
        hostbuild.identify_compiler(host.find_compiler()).family == "gcc",
        reason="g++ has no check of overflow",
    ),
]
TERMS = ["threadIdx.x", "blockIdx.x * blockDim.x", "2u", "(unsigned)one", "one"]
INDEX = """
__global__ void mark(float *x, int n, int one) {{
    {type} at = {index};
    x[at] = 1;
}}"""


def random_index(product):
    """Returns an index: a product and random terms in random order, mixed signed and unsigned."""
    terms = random.sample(TERMS, random.randrange(1, len(TERMS)))
    terms.insert(random.randrange(len(terms) + 1), product)
    return " + ".join(terms)


@pytest.mark.parametrize("type", ["int", "unsigned", "long long"])
def test_overflow_of_products_in_unsigned_index_sums_is_reported(type):
    index = random_index("n * n")
    x = np.zeros(64, np.float32)
    mark = cuda.jit(source=INDEX.format(type=type, index=index))
    with cuda.checks():
        mark[1, 8](x, 5, 1)
    match = r"computes an index by 65536 \* 65536, which does not fit into int: it wraps to 0"
    with pytest.raises(KernelError, match=match) as caught, cuda.checks("overflow"):
        mark[1, 8](x, 65536, 1)
    assert caught.value.kind == "overflow" and caught.value.line == 3, index


def test_unsigned_products_and_masked_hashes_may_wrap():
    x = np.zeros(64, np.float32)
    index = random.choice(["(unsigned)n * n + threadIdx.x", "(n * 31 + threadIdx.x) & 63"])
    with cuda.checks():
        cuda.jit(source=INDEX.format(type="int", index=index))[1, 8](x, 1 << 27 | 1 << 16, 1)
