"""Tests warnings about sources that compile but contain frequent mistakes."""

import warnings

import numpy as np
import pytest

from numbalite import cuda
from numbalite.cxx.advice import find_advice
from numbalite.errors import KernelWarning

KERNEL = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n"
MAINS = [
    "int main() { return 0; }",
    "int main(int argc, char** argv) { twice(nullptr); return 0; }",
    "auto main() -> int { return 0; }",
    "void main(void) {}",
]
OTHERS = [
    "// int main() { return 0; }",
    '__device__ const char* text = "int main() {";',
    "__device__ int main(int i);",
    "__device__ int domain() { return 0; }",
]


@pytest.mark.parametrize("main", MAINS)
def test_main_function_in_a_source_warns(main):
    ((_, sentence),) = find_advice(KERNEL + main)
    assert sentence.startswith("main is not called: Python launches the kernels")


@pytest.mark.parametrize("text", OTHERS)
def test_functions_with_other_names_do_not_warn(text):
    assert not list(find_advice(KERNEL + text))


def test_main_function_warning_has_the_programs_line():
    with pytest.warns(KernelWarning, match="main is not called") as caught:
        module = cuda.module(KERNEL + MAINS[0])
    assert [one.filename for one in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error", KernelWarning)
        x = np.ones(4, np.float32)
        module["twice"][1, 4](x)
    assert x.tolist() == [2] * 4


SAME = [
    "__global__ void k(int n) { extern __shared__ float a[]; extern __shared__ float b[]; a[n] = b[n]; }",
    "__global__ void k(int n) { extern __shared__ __align__(16) unsigned char a[]; if (n) n = 1;\n"
    "  extern volatile __shared__ unsigned b[]; b[n] = a[n]; }",
    "extern __shared__ float a[]; extern __shared__ float b[];\n__global__ void k(int n) { a[n] = b[n]; }",
    'extern "C" { __global__ void k(int n) { extern __shared__ int a[], c; extern __shared__ double a[];\n'
    "extern __shared__ int b[]; } }",
]
APART = [
    "__global__ void k(int n) { extern __shared__ float a[]; __shared__ float b[4]; float* c = a + n; }",
    "__global__ void k(int n) { extern __shared__ float a[]; }\n__global__ void m(int n) { extern __shared__ int b[]; }",
    "extern __shared__ float a[]; extern __shared__ int b[];\n"
    "__global__ void k(int n) { a[n] = 1; }\n__global__ void m(int n) { b[n] = 1; }",
    "template <class T> struct memory { __device__ T* get() { extern __shared__ T a[]; return a; } };\n"
    "template <> struct memory<int> { __device__ int* get() { extern __shared__ int b[]; return b; } };",
    "__global__ void k(int n) { if (n) { extern __shared__ float a[]; } else { extern __shared__ int b[]; } }",
]


@pytest.mark.parametrize("text", SAME)
def test_two_dynamic_shared_arrays_of_a_kernel_warn(text):
    ((_, sentence),) = find_advice(text)
    assert sentence.startswith("a and b are the same memory: every extern __shared__ array begins")


@pytest.mark.parametrize("text", APART)
def test_dynamic_shared_arrays_of_several_kernels_do_not_warn(text):
    assert not list(find_advice(text))


def test_two_dynamic_shared_arrays_of_a_body_warn():
    @cuda.jit
    def two_dynamic_arrays(x):
        """
        extern __shared__ float a[];
        extern __shared__ float b[];
        a[threadIdx.x] = x[threadIdx.x];
        b[threadIdx.x] = 2 * x[threadIdx.x];
        x[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
        """

    x = np.ones(4, np.float32)
    with pytest.warns(
        KernelWarning, match=r"a and b are the same memory.*float\* b = \(float\*\)\(a \+ n\)"
    ):
        two_dynamic_arrays[1, 4, 0, 64](x)
    if (
        cuda.is_simulated()
    ):  # NVRTC may keep a[threadIdx.x] in a register, as if the arrays did not overlap
        assert x.tolist() == [4] * 4
