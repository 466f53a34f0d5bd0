"""Kernels that the tests of the extension share, compiled once: one for each scalar type, and
others for each kind of parameter. Tests call the kernels through dispatchers of the extension, not of
the package."""

from numbalite import _core, compilers, cuda
from numbalite.types import describe

from .arrays import SCALARS

# With extern "C" the symbols have the kernels' names.
SOURCE = "\n".join(
    [
        '#include "numbalite.cuh"',
        '#include "numbalite/complex.cuh"',
        "using namespace numbalite;",
        "struct pair { int n; float x; };",
        # a 16-bit integer has the size of a half, and cuda_fp16.h is long to compile
        'extern "C" __global__ void f16(unsigned short value, unsigned short* out) { *out = value; }',
        *(
            f'extern "C" __global__ void {name}({ctype} value, {ctype}* out) {{ *out = value; }}'
            for name, (ctype, _) in SCALARS.items()
            if name != "f16"
        ),
        'extern "C" __global__ void saxpy(float a, const float* x, float* y, int n)'
        "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] += a * x[i]; }",
        'extern "C" __global__ void any2(array<const float, 2> x, array<float, 2> y)'
        "{ for (int i = 0; i < x.shape[0]; ++i) for (int j = 0; j < x.shape[1]; ++j) y(i, j) = x(i, j); }",
        'extern "C" __global__ void rows(array<float, 2, layout::C> x) { x(0, 1) = 7; }',
        'extern "C" __global__ void columns(array<float, 2, layout::F> x) { x(1, 0) = 7; }',
        'extern "C" __global__ void record(pair p, pair* out) { *out = p; }',
        'extern "C" __global__ void pairs(float2 v, float2* out) { *out = v; }',
        'extern "C" __global__ void bytes(const void* p, long long* out) { *out = (long long)p; }',
        'extern "C" __global__ void both(float* a, float* b) { a[0] += 1; b[0] *= 10; }',
        'extern "C" __global__ void many('
        + ", ".join(f"double p{i}" for i in range(70))
        + ", double* out)"
        "{ *out = " + " + ".join(f"p{i} * {i + 1}" for i in range(70)) + "; }",
        "struct big { double v[200]; };",
        'extern "C" __global__ void large(big b, double* out) { *out = b.v[0] + b.v[199]; }',
        'extern "C" __global__ void shared(int* out)'
        "{ extern __shared__ int s[]; s[threadIdx.x] = threadIdx.x; __syncthreads(); out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x]; }",
        'extern "C" __global__ void where(unsigned* out)'
        "{ out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z; out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z; }",
        'extern "C" __global__ void nothing() {}',
        'extern "C" { __device__ int fault_record[64]; __constant__ float table[6]; }',
        'extern "C" __global__ void faulty(int* out, int value) { if (value) { fault_record[0] = value; fault_record[5] = 42; } *out = value; }',
        'extern "C" __global__ void look_up(float* out) { for (int i = 0; i < 6; ++i) out[i] = table[i]; }',
    ]
)
NAMES = [*SCALARS, "saxpy", "any2", "rows", "columns", "record", "pairs", "bytes", "both", "many", "large",
         "shared", "where", "nothing", "faulty", "look_up"]  # fmt: skip
ARGUMENTS = {
    "saxpy": "a x y n", "any2": "x y", "rows": "x", "columns": "x", "record": "p out", "pairs": "v out",
    "bytes": "p out", "both": "a b", "many": " ".join(f"p{i}" for i in range(70)) + " out",
    "large": "b out", "shared": "out", "where": "out", "nothing": "", "faulty": "out value",
    "look_up": "out",
}  # fmt: skip


class CoreKernelSet:
    """core_kernels(name) is a typed dispatcher with that kernel on device 0."""

    def __init__(self, image):
        self.image = image
        self.module = _core.Module(image.data)
        self._dispatchers = {}
        self._kernels = {}

    def rows(self, name):
        """Returns the descriptions of its parameters."""
        names = ARGUMENTS.get(name, "value out").split()
        rows = describe.parameters(self.image.descriptions[name])
        if name == "f16":
            rows = [row._replace(dtype="float16", ctype="float16") for row in rows]
        return [row._replace(name=n) for row, n in zip(rows, names, strict=True)]

    def of(self, name):
        """Returns the Kernel."""
        if name not in self._kernels:
            lowered = self.image.lowered[name]
            self._kernels[name] = self.module.function(lowered, name, self.rows(name))
        return self._kernels[name]

    def __call__(self, name, **options):
        key = name, *options
        if key not in self._dispatchers:
            names = [row.name for row in self.rows(name)]
            made = _core.Dispatcher(name, names, typed=True, **options)
            made._only(0, self.of(name))
            self._dispatchers[key] = made
        return self._dispatchers[key]


def compile_core_kernels():
    unit = compilers.Source(text=SOURCE, name="kernels.cu", kernels=tuple(NAMES),
                          variables=("fault_record", "table"), describe=True)  # fmt: skip
    if cuda.is_simulated():
        target = ("sim",)
    else:
        target = ("cuda", *cuda.get_current_device().compute_capability)
    return CoreKernelSet(compilers.compile_source(unit, target))
