"""Local arrays stay in registers or are stored in memory, as described in docs/programs.md: PTX
then has a .local variable."""

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda, float32

SIGNATURE = "void(float32[::1], int32)"
FILL = "#pragma unroll\nfor (int k = 0; k < 19; ++k) p[k] = x[k] * 2;"
SUM = "float s = 0;\n#pragma unroll\nfor (int k = 0; k < 19; ++k) s += p[k] * x[n - k];\nx[0] = s;"
BODIES = {
    "constant indices": (f"float p[19];\n{FILL}\n{SUM}", False),
    "a variable end": (
        f"float p[19];\n{FILL}\nfloat s = 0;\nfor (int k = 0; k < n; ++k) s += p[k] * x[n - k];\nx[0] = s;",
        True,
    ),
    "an index from data": (f"float p[19];\n{FILL}\nx[0] = p[n];", True),
    "a table that is an argument": (
        f"float p[19];\n{FILL}\n{SUM}\n#pragma unroll\nfor (int k = 0; k < 19; ++k) x[k] = p[(int)x[k]];",
        True,
    ),
    "a table of the Python scope": (
        f"float p[19];\n{FILL}\n{SUM}\n#pragma unroll\nfor (int k = 0; k < 19; ++k) x[k] = p[TABLE[k]];",
        False,
    ),
    "a constant table": (
        f"constexpr int t[3] = {{2, 0, 1}};\nfloat p[19];\n{FILL}\n{SUM}\n"
        "#pragma unroll\nfor (int k = 0; k < 3; ++k) x[k] = p[t[k]];",
        False,
    ),
}
TABLE = np.arange(19)[::-1].astype(np.int32)


def has_local_array(kernel, signature=SIGNATURE):
    ptx, _ = cuda.compile(kernel, signature, output="ptx", cc=(9, 0))
    return ".local" in ptx


@needs_nvrtc
@pytest.mark.parametrize("name", BODIES)
def test_local_array_memory_depends_on_constant_indices(name):
    text, is_local = BODIES[name]
    space = {"TABLE": TABLE}
    exec(f"def kernel(x, n):\n    {text!r}", space)
    assert has_local_array(space["kernel"]) == is_local


@needs_nvrtc
def test_local_arrays_with_escaping_addresses_use_local_memory():
    source = """__device__ {} float far(const float *p) {{
        float s = 0;
        for (int k = 0; k < 19; ++k) s += p[k];
        return s;
    }}
    extern "C" __global__ void kernel(float *x) {{
        float p[19];
        for (int k = 0; k < 19; ++k) p[k] = x[k] * 2;
        x[0] = far(p);
    }}"""
    for attribute, is_local in (("__noinline__", True), ("__forceinline__", False)):
        ptx, _ = cuda.compile(source.format(attribute), output="ptx", cc=(9, 0))
        assert (".local" in ptx) == is_local


@needs_nvrtc
def test_local_arrays_of_python_bodies_use_the_same_memory():
    def constant_bound(x, n):
        p = cuda.local.array(19, float32)
        for k in range(19):
            p[k] = x[k] * float32(2)
        s = float32(0)
        for k in range(19):
            s += p[k] * x[n - k]
        x[0] = s

    def variable_bound(x, n):
        p = cuda.local.array(19, float32)
        for k in range(n):
            p[k] = x[k] * float32(2)
        s = float32(0)
        for k in range(n):
            s += p[k] * x[n - k]
        x[0] = s

    assert not has_local_array(constant_bound)
    assert has_local_array(variable_bound)
