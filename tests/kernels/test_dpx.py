"""Compares DPX functions with NumPy: minimum and maximum of three numbers, of a sum, and with 0, on
32-bit words and on their 16-bit halves."""

import itertools

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import nvrtc
from numbalite.compilers.source import Source

LANES = {"s32": np.int32, "u32": np.uint32, "s16x2": np.int16, "u16x2": np.uint16}
OF_THREE = {
    "vimax3": lambda a, b, c: np.maximum(np.maximum(a, b), c),
    "vimin3": lambda a, b, c: np.minimum(np.minimum(a, b), c),
    "viaddmax": lambda a, b, c: np.maximum(a + b, c),  # sums of arrays wrap
    "viaddmin": lambda a, b, c: np.minimum(a + b, c),
}
OF_TWO = {"vimax": lambda a, b, _: np.maximum(a, b), "vimin": lambda a, b, _: np.minimum(a, b)}
WHICH = {"vibmax": np.greater_equal, "vibmin": np.less_equal}


def dpx_expressions():
    """{name: (expression, dtype of a lane, expected value)}"""
    result = {}
    for lanes, dtype in LANES.items():
        for name, meant in OF_THREE.items():
            result[f"{name}_{lanes}"] = f"__{name}_{lanes}(a, b, c)", dtype, meant
        if lanes in ("s32", "s16x2"):
            for name, meant in (OF_THREE | OF_TWO).items():
                more = ", c" if name in OF_THREE else ""
                whole = f"{name}_{lanes}_relu"
                result[whole] = f"__{whole}(a, b{more})", dtype, _or_zero(meant)
        for name in WHICH:
            places = "&high, &low" if "x2" in lanes else "&low"
            meant = OF_TWO[name.replace("b", "")]
            result[f"{name}_{lanes}"] = f"__{name}_{lanes}(a, b, {places})", dtype, meant
    return result


def _or_zero(meant):
    return lambda a, b, c: np.maximum(meant(a, b, c), 0)


EXPRESSIONS = dpx_expressions()
HEAD = """__global__ void every(const unsigned *x, const unsigned *y, const unsigned *z, unsigned *o, bool *p, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n)
        return;
    unsigned a = x[i], b = y[i], c = z[i];
    bool high = false, low = false;
"""


def dpx_source():
    lines = [
        f"    o[{at} * n + i] = {expression}; p[{2 * at} * n + i] = low; p[{2 * at + 1} * n + i] = high;"
        for at, (expression, _, _) in enumerate(EXPRESSIONS.values())
    ]
    return "\n".join([HEAD, *lines, "}"])


def triples_of_limits():
    """Returns three arrays of 32-bit words: all triples of 32-bit limits, and all triples of 16-bit
    limits in both halves."""
    edges = np.array([0, 1, -1, 2**31 - 1, -(2**31), -(2**31) + 1, 123456789])
    wide = np.array(list(itertools.product(edges, repeat=3))).astype(np.int32).view(np.uint32)
    edges = np.array([0, 1, -1, 2**15 - 1, -(2**15), -(2**15) + 1, 12345])
    halves = np.array(list(itertools.product(edges, repeat=3))).astype(np.int16)
    paired = np.stack([halves, np.random.default_rng(1).permutation(halves)], axis=2)
    return np.ascontiguousarray(np.concatenate([wide, paired.view(np.uint32)[:, :, 0]]).T)


def test_dpx_functions_match_the_manual():
    a, b, c = triples_of_limits()
    n = a.size
    out = np.zeros((len(EXPRESSIONS), n), np.uint32)
    predicates = np.zeros((len(EXPRESSIONS), 2, n), bool)
    cuda.module(dpx_source()).every[-(-n // 128), 128](a, b, c, out, predicates, n)
    for at, (name, (_, dtype, meant)) in enumerate(EXPRESSIONS.items()):
        x, y, z = (word.view(dtype) for word in (a, b, c))
        expected = meant(x, y, z).astype(dtype).view(np.uint32)
        np.testing.assert_array_equal(out[at], expected, name)
        if name.startswith("vib"):
            first = WHICH[name.split("_")[0]](x, y).reshape(n, -1)
            np.testing.assert_array_equal(predicates[at, : first.shape[1]], first.T, name)


@needs_nvrtc
@pytest.mark.parametrize("capability", [(8, 0), (9, 0)])
def test_nvrtc_compiles_the_dpx_source(capability):
    assert nvrtc.compile(
        Source(dpx_source(), "dpx.cu", ("every",), describe=False), capability
    ).data
