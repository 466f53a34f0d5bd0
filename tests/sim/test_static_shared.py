"""Tests static shared memory: the simulator rejects a kernel if and only if ptxas does."""

import random

import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import host, hostbuild
from numbalite.errors import CompileError

LIMIT = 48 * 1024
# Scopes of a variable: declared outside of the kernel, or in the kernel. `use` reads and writes it.
FORMS = {
    "the kernel": ("", "__shared__ float vN[SIZE]; use(vN, x);"),
    "a scope": ("", "if (x[N] > 0) { __shared__ float v[SIZE]; use(v, x); } else x[N] = 1;"),
    "a function": ("__device__ void fN(float* x) { __shared__ float v[SIZE]; use(v, x); }", "fN(x);"),
    "a function's function": (
        "__device__ void fN(float* x) { __shared__ float v[SIZE]; use(v, x); }\n"
        "__device__ void gN(float* x) { fN(x); fN(x + 1); }", "gN(x);"),
    "the file": ("__shared__ float vN[SIZE];", "use(vN, x);"),
    "a namespace": ("namespace nN { __shared__ float v[SIZE]; }", "use(nN::v, x);"),
    "a template": (
        "template <int n> __device__ void fN(float* x) { __shared__ float v[n]; use(v, x); }", "fN<SIZE>(x);"),
    "a struct": ("", "__shared__ struct { float v[SIZE]; } sN; use(sN.v, x);"),
    "a member": (
        "struct S_N { __device__ void f(float* x) { __shared__ float v[SIZE]; use(v, x); } };", "S_N().f(x);"),
    "another kernel": ("__global__ void otherN(float* x) { __shared__ float v[SIZE]; use(v, x); }", ""),
    "nothing": ("__device__ void fN(float* x) { __shared__ float v[SIZE]; use(v, x); }", ""),
    "the launch": ("extern __shared__ float dynamic[];", "use(dynamic, x);"),
}  # fmt: skip
USE = """template <class T> __device__ void use(T* v, float* x) {
    v[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = v[31 - threadIdx.x];
    __syncthreads();
}
"""


def shared_memory_source(forms, total):
    """Returns a kernel with variables of these forms, which together have `total` bytes (except for the last
    three forms)."""
    count = sum(form in list(FORMS)[:-3] for form in forms)
    part = total // 4 // max(count, 1)
    sizes = [part] * count
    if count:
        sizes[0] += total // 4 - sum(sizes)
    outside, inside = [USE], []
    for number, form in enumerate(forms):
        size = sizes.pop() if form in list(FORMS)[:-3] else LIMIT // 4
        for to, text in zip((outside, inside), FORMS[form], strict=True):
            to.append(text.replace("SIZE", str(size)).replace("N", str(number)))
    return "\n".join([*outside, "__global__ void k(float* x) {", *inside, "}"])


def is_compile_error(compile):
    try:
        compile()
    except CompileError as problem:
        assert "shared" in str(problem)
        return True
    return False


@pytest.mark.sim
@needs_nvrtc
@pytest.mark.parametrize("seed", range(40))
def test_too_much_static_shared_memory_raises(seed):
    if hostbuild.identify_compiler(host.find_compiler()).family == "gcc":
        pytest.skip("g++ tells of no calls: what each function has is looked at")
    drawn = random.Random(seed)
    forms = drawn.sample(list(FORMS), drawn.randrange(1, 5))
    text = shared_memory_source(forms, LIMIT + drawn.choice([-4096, 0, 4, 4096]))
    wanted = is_compile_error(lambda: cuda.compile(text, cc=(9, 0), output="cubin"))
    assert is_compile_error(lambda: cuda.module(text)["k"]) == wanted, forms
    with cuda.checks():
        assert is_compile_error(lambda: cuda.module(text, lineinfo=True)["k"]) == wanted, forms


@pytest.mark.sim
@pytest.mark.parametrize("form", [form for form in FORMS if form != "a scope"])
def test_static_shared_memory_up_to_the_limit_is_usable(form):
    text = shared_memory_source([form], LIMIT)
    x = cuda.to_device([float(i) for i in range(64)])
    cuda.module(text)["k"][1, 32, 0, 128](x.astype("float32"))
    cuda.synchronize()
