"""Tests link= with compiled code, run on a GPU."""

import numpy as np
import pytest

from numbalite import cuda, errors, int32, vectorize
from numbalite.compilers import toolkit

pytestmark = pytest.mark.gpu
DECLARED = cuda.CUSource('extern "C" __device__ int after(int);', name="after.cuh")


@pytest.fixture(autouse=True)
def needs_the_linker():
    try:
        toolkit.linker_library()
    except errors.CudaSupportError as problem:
        pytest.skip(str(problem))


@pytest.fixture
def linkable_code():
    """Returns the function after(x) = x + 1, compiled to PTX and to a cubin for this GPU."""

    @cuda.jit(device=True)
    def after(x):
        "return x + 1;"

    found = {
        kind(cuda.compile(after, int32(int32), output=output)[0], name=f"after.{output}")
        for kind, output in ((cuda.PTXSource, "ptx"), (cuda.Cubin, "cubin"))
    }
    return sorted(found, key=lambda code: code.name)


def test_linked_kernels_run(linkable_code):
    for code in linkable_code:

        @cuda.jit(link=[DECLARED, code])
        def store_after(x):
            "x[grid<1>()] = after(grid<1>());"

        unit = cuda.jit(
            'extern "C" __device__ int after(int); __constant__ int c = 5; '
            "__global__ void k(int* x) { x[threadIdx.x] = after(threadIdx.x) + c - 5; }",
            link=[code],
        )
        for kernel in (store_after, unit):
            x = cuda.to_device(np.zeros(4, "i4"))
            kernel[1, 4](x)
            assert x.copy_to_host().tolist() == [1, 2, 3, 4], code.name


def test_device_functions_link_their_code(linkable_code, tmp_path):
    path = tmp_path / "after.ptx"
    path.write_text(linkable_code[1].data)

    @cuda.jit(device=True, link=[DECLARED, path])
    def twice(x):
        "return after(after(x));"

    @cuda.jit
    def store_twice(x):
        "x[0] = twice(x[0]);"

    @vectorize(["int32(int32)"], target="cuda")
    def twice_ufunc(x):
        "return twice(x);"

    x = cuda.to_device(np.full(1, 5, "i4"))
    store_twice[1, 1](x)
    assert x.copy_to_host()[0] == 7 and twice_ufunc(x).copy_to_host()[0] == 9


def test_declared_functions_link_ptx_and_cubin():
    source = 'extern "C" __device__ int twice(long* out, long x) { *out = 2 * x; return 0; } __global__ void k() {}'
    for kind, output in ((cuda.PTXSource, "ptx"), (cuda.Cubin, "cubin")):
        code, _ = cuda.compile(source, options=["-rdc=true"], output=output)
        twice = cuda.declare_device("twice", "int64(int64)", link=kind(code, name=output))

        @cuda.jit
        def store_twice(x):
            "x[0] = twice(x[0]);"

        x = cuda.to_device(np.full(1, 5))
        store_twice[1, 1](x)
        assert x.copy_to_host()[0] == 10
