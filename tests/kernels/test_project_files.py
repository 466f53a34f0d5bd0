"""Compiles unchanged files of CUDA projects: host code is removed, also from the project's
headers."""

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.errors import CompileError

PROGRAM = r"""
#include <cstdio>
#include <iostream>
#include <vector>
#include <cublas_v2.h>
#include <not/there.hpp>
#include "common.h"
#include "../shared/helpers.cuh"
using namespace std;

#define BLOCK 32
std::vector<float> table;
cublasHandle_t handle;

struct Config { std::string name; int n; };
struct Params { float scale; int offset; };
typedef unsigned char byte;
enum Mode { ADD = 3, MUL };

static float on_the_host(std::vector<float>& v) { return v[0]; }
float reference(const float* x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
constexpr int twice(int n) { return 2 * n; }

template <class T> __device__ T square(T x) { return x * x; }

/** scales */
__global__ void scale(float* x, Params p, uint n) {
    uint i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = square(x[i]) * p.scale + p.offset + helper(1) + twice(1) + ADD;
}

template <int N> __global__ void fill(byte* x) { x[threadIdx.x] = N; }

void check(cudaError_t e) { if (e != cudaSuccess) exit(1); }

void launch(float* x, int n) {
    scale<<<n / BLOCK, BLOCK>>>(x, Params{1, 2}, n);
    check(cudaDeviceSynchronize());
}

__global__ void broken(int* x) { x[0] = EXTRA; }

int main(int argc, char** argv) {
    launch(nullptr, 0);
    fill<7><<<1, 32>>>(nullptr);
    std::cout << reference(nullptr, 0) << std::endl;
}
"""
COMMON = """#pragma once
#include <string>
#include "deeper.h"
#define CHECK(call) check(call)
inline void log(const std::string& s) { printf("%s", s.c_str()); }
"""
DEEPER = "#pragma once\n__device__ inline int five() { return 5; }\n#include <map>\n"
HELPERS = """__device__ int helper(int x) { return x + five(); }
void host_helper() {
    cudaMalloc(0, 1);
    #pragma omp parallel for
    for (int i = 0; i < 3; ++i)
        #pragma unroll
        for (int j = 0; j < 3; ++j)
            #pragma GCC unroll 4
            for (int k = 0; k < 3; ++k);
}
"""


@pytest.fixture
def project_program(tmp_path):
    for name, text in (
        ("app/main.cu", PROGRAM),
        ("app/common.h", COMMON),
        ("include/deeper.h", DEEPER),
        ("shared/helpers.cuh", HELPERS),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path / "app" / "main.cu"


def test_complete_cuda_program_is_a_module(project_program):
    options = [f"-I{project_program.parent.parent / 'include'}", "-DEXTRA=40"]
    m = cuda.module(source=project_program, options=options, names=["fill<7>"])
    x = np.arange(4, dtype=np.float32)
    m.scale[1, 32](x, np.array([(2, 1)], "f4,i4")[0], 4)
    assert x.tolist() == [2 * i * i + 12 for i in range(4)]
    b = np.zeros(3, np.uint8)
    m["fill<7>"][1, 3](b)
    assert b.tolist() == [7, 7, 7]
    out = np.zeros(1, np.int32)
    m.broken[1, 1](out)
    assert out[0] == 40
    left_out = " ".join(m.left_out)
    for name in (
        "main (main.cu:43)",
        "launch",
        "check",
        "reference",
        "on_the_host",
        "log (common.h:5)",
        "host_helper",
    ):
        assert name in left_out
    for name in ("square", "Params", "twice", "five"):
        assert f"{name} (" not in left_out


def test_compile_errors_name_lines_of_the_project_file(project_program):
    with pytest.raises(CompileError, match=r"main\.cu\(41\): error: .*EXTRA"):
        cuda.module(
            source=project_program, options=[f"-I{project_program.parent.parent / 'include'}"]
        )


def test_device_only_files_are_unchanged(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(
        "#include <cstdint>\nint unused() { return 1; }\n__global__ void k(int32_t* x) { x[0] = 1; }\n"
    )
    m = cuda.module(source=path)
    assert m.left_out == () and "unused" in m.inspect_source()


def test_host_only_library_headers_are_skipped(tmp_path):
    path = tmp_path / "library.cu"
    path.write_text("""#include <thrust/complex.h>
#include <thrust/device_vector.h>
#include <curand_mtgp32_host.h>
__global__ void k(int *x) { x[0] = 7; }
int main() {
    thrust::device_vector<int> x(1);
    thrust::complex<float> z(1, 2);
    k<<<1, 1>>>(thrust::raw_pointer_cast(x.data()));
}
""")
    x = np.zeros(1, np.int32)
    cuda.module(source=path).k[1, 1](x)
    assert x[0] == 7


def test_nvccs_implicit_names_compile(tmp_path):
    """Code that nvcc accepts: names from nvcc's headers, a keyword of its host compiler, CUB in
    host code."""
    path = tmp_path / "k.cu"
    path.write_text("""
#include <cub/cub.cuh>
#define EXTENSION __extension__
using namespace cub;
struct Part { EXTENSION union { struct { short a, b; }; int both; }; };
__global__ void k(int *x) {
    cudaGridDependencySynchronize();
    Part part{};
    part.b = 1;
    x[0] = part.both + (std::numeric_limits<uint8_t>::max)();
    cudaTriggerProgrammaticLaunchCompletion();
}
""")
    x = np.zeros(1, np.int32)
    cuda.module(source=path).k[1, 1](x)
    assert x[0] == 65536 + 255


def test_types_of_missing_headers_are_declared(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(
        "#include <torch/extension.h>\n__global__ void k(half* x, __nv_bfloat16* y) { x[0] = 2; y[0] = 2; }\n"
    )
    m = cuda.module(source=path)
    x, y = np.zeros(1, np.float16), np.zeros(1, np.uint16)
    m.k[1, 1](x, y)
    assert x[0] == 2 and y[0] == 0x4000


FORMS = r"""
#include <vector>
#define LAUNCH(n) touch<<<1, n>>>(nullptr)
namespace host { struct Stream; void fill(Stream &); void use(Stream &s) { fill(s); LAUNCH(1); } }

typedef void (*Callback)(struct Box *box, int n);
struct Box { int width; Callback called; };
struct Box *open_box(Unknown *file);

template <class T> struct Range {
    T first, last;
    __host__ __device__ Range(T a, T b) : first(a), last(b) {}
    __host__ Range(const std::vector<T> &v) : first(v[0]), last{v[1]} {}
    __host__ int size() const { return checked(std::distance(first, last)); }
    __host__ constexpr T middle() const { return (first + last) / 2; }
};

#ifdef NEVER
__global__ void touch(int *x, int y) {
    if (y > 0) {
#else
__global__ void touch(int *x) {
    if (threadIdx.x == 0) {
#endif
        Range<int> r(2, 6);
        Box box{3, nullptr};
        x[0] = r.middle() + box.width;
    }
}
void run(std::vector<int> &v) { LAUNCH(32); }
"""


def test_compiler_dependent_attributes_compile(tmp_path):
    """A function that a macro marks as __device__ is compiled, even if only templates use it."""
    path = tmp_path / "folds.cu"
    path.write_text("""#include <vector>
#ifdef __CUDACC__
#define BOTH __host__ __device__
#else
#define BOTH
#endif
#define OPERATION(name, sign) \\
    struct name { \\
        template <class T> BOTH T operator()(T a, T b) const { return a sign b; } \\
    }
OPERATION(added, +);
template <class T, class Operation> BOTH T twice(T a, Operation f) { return f(a, a); }
template <class T> BOTH T doubled(T a) { return twice(a, added{}); }
__global__ void k(int *x) { x[0] = doubled(x[0]); }
int main() { std::vector<int> v; k<<<1, 1>>>(v.data()); }
""")
    x = np.array([21], np.int32)
    cuda.module(path).k[1, 1](x)
    assert x[0] == 42


def test_host_code_of_every_form_is_removed(tmp_path):
    """The file has a byte order mark, launches in macros, callback types, host members, and a function whose
    header depends on an #if."""
    path = tmp_path / "k.cu"
    path.write_text("\ufeff" + FORMS, encoding="utf-8")
    m = cuda.module(source=path)
    x = np.zeros(1, np.int32)
    m.touch[1, 32](x)
    assert x[0] == 7
    left_out = " ".join(m.left_out)
    assert "open_box" in left_out and "run (" in left_out and "Callback" not in left_out


CLASSES = r"""
#include <iostream>
#include <vector>
using namespace std;
#define HD __host__ __device__
template <class T> struct __align__(16) Pair {
    T a, b;
    HD Pair(T x, T y) : a(x), b(y) {}
    Pair(const std::vector<T> &v) : a(v[0]), b{v[1]} {}
    HD T operator()(int i) const { return i ? b : a; }
    HD bool operator<(const Pair &o) const { return a < o.a; }
    T larger() const { return a < b ? b : a; }
    template <class U> friend ostream &operator<<(ostream &o, const Pair<U> &p);
    friend HD T sum(const Pair &p) { return p.a + p.b; }
    void save(const char *name) { FILE *f = fopen(name, "w"); fprintf(f, "x"); }
    void all() { save("all"); }
};
template <class U> ostream &operator<<(ostream &o, const Pair<U> &p) { return o << p.a; }
struct Plain {
    void (*called)(int);
    float x, y;
    friend std::ostream &operator<<(std::ostream &o, const Plain &p) { return o << p.x; }
};
class Memory {
  public:
    explicit Memory(int n) : n_(n) { cudaMalloc(&p_, n * sizeof(float)); }
    ~Memory() { cudaFree(p_); }
    void fill(float v);
    __device__ float &operator[](int i) { return p_[i]; }
  private:
    float *p_;
    int n_;
};
__global__ void set(Memory m, float v) { m[threadIdx.x] = v; }
void Memory::fill(float v) { set<<<1, 32>>>(*this, v); }
__global__ void k(float *out, const Plain *p) {
    Pair<float> a(1, 2), b(3, 4);
    out[0] = a(0) + sum(b) + (a < b) + b.larger() + p[0].y;
}
"""


@pytest.mark.sim
def test_constants_of_all_files_share_64_kib(tmp_path):
    (tmp_path / "tables.h").write_text("namespace t { __constant__ double large[8000]; }\n")
    path = tmp_path / "k.cu"
    path.write_text("""#include <iostream>
#include "tables.h"
static __constant__ float small[600];
__global__ void k(double *x) { x[0] = t::large[7] + small[x[1] > 0]; }
int main() { std::cout << 1; }
""")
    with pytest.raises(
        CompileError, match='variables "t::large", "small" have 66400 bytes together'
    ):
        cuda.module(source=path)


def test_host_members_of_classes_are_removed(tmp_path):
    """Host code without __host__: operator<<, constructors from vectors and files, memory that its
    owner frees."""
    path = tmp_path / "classes.cu"
    path.write_text(CLASSES)
    m = cuda.module(source=path)
    out = np.zeros(1, np.float32)
    m.k[1, 1](out, np.array([(0, 1, 100)], "u8,f4,f4"))
    assert out[0] == 1 + 7 + 1 + 4 + 100
    left_out = " ".join(m.left_out)
    for name in ("operator<< (classes.cu:13)", "save", "all", "Memory (classes.cu:27)", "fill"):
        assert name in left_out
    assert "larger" not in left_out and "called" not in left_out


@needs_nvrtc
def test_compile_removes_host_code(tmp_path):
    """cuda.compile accepts the same files as cuda.module."""
    path = tmp_path / "program.cu"
    path.write_text(
        "#include <iostream>\n#include <vector>\n__global__ void k(float* x) { x[0] = 1; }\n"
        "int main() { std::vector<float> v(3); k<<<1, 1>>>(v.data()); std::cout << v[0]; }\n"
    )
    code, _ = cuda.compile(path, cc=(9, 0))
    assert ".entry" in code and "main" not in code
