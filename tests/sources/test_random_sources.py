"""The kernels of cuda.random compile for every GPU generation."""

import pytest

FILLS = [
    f"nl_random_fill<numbalite::nl_random::{name}>"
    for name in (
        "uniform<float>, float",
        "normal<double>, double, const double *, double",
        "lognormal<float>, __half, float, float",
        "integers<numbalite::uint64>, bool, const long long *, const unsigned long long *",
        "geometric, long long, double",
    )
]
DRAWS = [
    f"nl_random_draw<numbalite::nl_random::{name}>"
    for name in (
        "noncentral_f, float, double, double, double",
        "binomial, long long, const long long *, double",
        "hypergeometric, long long, long long, long long, long long",
        "vonmises, double, double, double",
    )
]
TEXT = """
#include <cuda_fp16.h>
#include "numbalite/random_draw.cuh"
#include "numbalite/permute.cuh"
"""


@pytest.mark.parametrize("arch", [75, 90, 100])
def test_random_kernels_compile(compile_with_nvrtc, toolkit_options, arch):
    if arch not in compile_with_nvrtc.architectures:
        pytest.skip(f"this NVRTC does not compile for sm_{arch}")
    names = [*FILLS, *DRAWS, "nl_random_take<uint4>"]
    result = compile_with_nvrtc(TEXT, arch, toolkit_options, names)
    assert (result.status, result.log) == (0, "")
    assert set(result.lowered) == set(names)
