"""Defines kernels that never end, for test_stoppable.py: CASES maps each name to the function that
starts the kernel on an array of zeros.

`python endless.py NAME...` starts and interrupts each named kernel, and prints the name, the milliseconds
from the signal to the exception, and the exception's text. The text must name the kernel, and the next launch
must have the right result.
"""

import signal
import sys
import threading
import time

import numpy as np

from numbalite import cuda, float32, guvectorize, int32, vectorize

CASES = {}
SECONDS = 0.25  # until the interrupt

HEAD = """
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
namespace cg = cooperative_groups;
"""

# Maps a name to the body of `__global__ void name(int *x)`,
# and to grid and block if the kernel needs certain sizes.
BODIES = {
    "for_ever": "unsigned n = 1; for (;;) { n = n * 1664525u + 1013904223u; if (n == 77777u && x[0] == 12345) break; } x[1] = n;",
    "while_volatile": "int n = 0; while (*(volatile int *)x == 0) n++; x[1] = n;",
    "do_while": "int n = 0; do { n += 3; x[2] = n; } while (n != 1); x[1] = n;",
    "with_goto": "again: x[2] += 1; if (*(volatile int *)x == 0) goto again; x[1] = 1;",
    "with_continue": "for (int i = 0; i < 10; i++) { if (*(volatile int *)x == 0) { i--; continue; } x[1] = i; }",
    "nested": "for (int i = 0; i < 2; i += *(volatile int *)x) for (int j = 0; j < 5; j++) for (int k = 0; k < 3; k++) x[j + k] = 0;",
    "inner_endless": "for (int i = 0; i < 5; i++) for (int j = 0; j < 7; j += *(volatile int *)x) x[10 + i] = j;",
    "with_switch": "unsigned s = threadIdx.x; for (;;) switch (s % 7) { case 0: s = s * 5 + 1; x[2] = s; break; case 1: s += 3; x[3] = s; break; case 2: s ^= 77; x[4] = s; break; case 3: s = s * 9; x[5] = s; break; case 4: s -= 11; x[6] = s; break; case 5: s = s >> 1; x[7] = s; break; case 6: s += x[8] + 2; }",
    "long_counter": "long long n = 0; while (n >= 0) { n += 1 - *(volatile int *)x; if (n < 0) x[1] = 1; if (n > 1LL << 40) n = 0; }",
    "doubles": "double s = 1; while (s < 1e300) s = sqrt(s + 1) ; x[1] = s;",
    "sleeps": "while (*(volatile int *)x == 0) __nanosleep(1000);",
    "clocks": "long long begin = clock64(); while (clock64() - begin < 1LL << 60) { }",
    "barriers": "do { __syncthreads(); } while (*(volatile int *)x == 0);",
    "waits_at_barrier": "if (threadIdx.x == 0) while (*(volatile int *)x == 0) { } __syncthreads(); x[1] = 1;",
    "warps": "int n = threadIdx.x; do { __syncwarp(); n = __shfl_xor_sync(~0u, n, 1); } while (__any_sync(~0u, *(volatile int *)x == 0)); x[1] = n;",
    "divergent": "int n = threadIdx.x; while (*(volatile int *)x == 0) { for (int i = 0; i < n % 5; i++) n = n * 3 + 1; __syncwarp(); } x[1] = n;",
    "lock": "while (atomicCAS(&x[0], 0, 1) != 0) { } x[1] += 1; __threadfence();",
    "fences": "while (atomicAdd(&x[0], 0) == 0) __threadfence_system();",
    "static_shared": "__shared__ int s[128]; s[threadIdx.x] = 0; __syncthreads(); while (((volatile int *)s)[(threadIdx.x + 1) % blockDim.x] == 0) { } x[1] = 1;",
    "dynamic_shared": "extern __shared__ int d[]; d[threadIdx.x] = 0; __syncthreads(); while (((volatile int *)d)[threadIdx.x] == 0) { __syncwarp(); } x[1] = 1;",
    "local_array": "int a[64]; for (int i = 0; i < 64; i++) a[i] = x[i]; int k = 0; while (a[k & 63] == 0) { k += 7; a[k & 63] = *(volatile int *)x; } x[1] = a[3];",
    "look_back": "if (blockIdx.x == 0) return; while (*(volatile int *)(x + blockIdx.x % 64) == 0) { } x[100] = 1;",
    "ptx_label": 'asm volatile("{\\n.reg .pred p; .reg .u32 r;\\nLAB: ld.volatile.global.u32 r, [%0];\\nsetp.eq.u32 p, r, 0;\\n@p bra LAB;\\n}" :: "l"(x) : "memory");',
    "ptx_line": 'asm volatile("{ .reg .pred p; .reg .u32 r; LAB: ld.volatile.global.u32 r, [%0]; setp.ne.u32 p, r, 0; @!p bra.uni LAB; }" :: "l"(x) : "memory");',
    "ptx_twice": 'asm volatile("{ .reg .u32 r; L: mov.u32 r, 0; bra M; M: }"); asm volatile("{ .reg .pred p; .reg .u32 r; L: { M: ld.volatile.global.u32 r, [%0]; setp.eq.u32 p, r, 0; @p bra M; } @p bra L; }" :: "l"(x) : "memory");',
    "grid_barrier": ("if (blockIdx.x == 0) while (*(volatile int *)x == 0) { } cg::this_grid().sync(); x[1] = 1;", {"cooperative": True}),
    "grid_barriers": ("do { cg::this_grid().sync(); } while (*(volatile int *)x == 0);", {"cooperative": True}),
    "cluster_barrier": ("if (blockIdx.x % 2 == 0) while (*(volatile int *)x == 0) { } cg::this_cluster().sync(); x[1] = 1;", {"cluster": 2}),
    "cluster_barriers": ("do { cg::this_cluster().sync(); } while (*(volatile int *)x == 0);", {"cluster": 2}),
    "cuda_barrier": "__shared__ cuda::barrier<cuda::thread_scope_block> b; if (threadIdx.x == 0) init(&b, blockDim.x + 1); __syncthreads(); b.arrive_and_wait(); x[1] = 1;",
    "cuda_atomic": "cuda::atomic_ref<int, cuda::thread_scope_device> a(*x); while (a.load(cuda::memory_order_acquire) == 0) { } x[1] = 1;",
    "cuda_atomic_wait": "cuda::atomic_ref<int, cuda::thread_scope_device> a(*x); a.wait(0); x[1] = 1;",
    "in_function": "x[1] = spin(x);",
    "recursion": "x[1] = deep(12, x);",
    "pointers": "x[1] = table[*(volatile int *)x + 1](12, x);",
    "lambda": "auto f = [&](int k) { while (*(volatile int *)x == 0) k++; return k; }; x[1] = f(3);",
    "many_loops": "for (int i = 0; i < 100; i++) { for (int j = 0; j < 3; j++) x[j] = 0; for (int j = 0; j < 2; j++) x[j] = 0; if (*(volatile int *)x == 0) i = 0; }",
}  # fmt: skip

FUNCTIONS = """
__device__ __noinline__ int spin(int *x) { int n = 0; while (*(volatile int *)x == 0) n++; return n; }
__device__ __noinline__ int deep(int n, volatile int *x) { int s = x[0]; for (int i = 0; i < 8 && n > 0; i++) s += deep(n - 1, x); return s; }
__device__ __noinline__ int twice(int n, volatile int *x) { return n + x[0]; }
typedef int (*function)(int, volatile int *);
__device__ function table[2] = {twice, deep};
"""


def _case_of_kernel(name, how):
    def start_case(x):
        kernel = cuda.jit(source=kernel_source_of(name), name=name, stoppable=True, **how)
        shared = 4096 if name == "dynamic_shared" else 0
        kernel[64, 128, 0, shared](x)
        return cuda.synchronize

    return start_case


def kernel_source_of(name):
    body = BODIES[name]
    body = body if isinstance(body, str) else body[0]
    head = HEAD if "cg::" in body or "cuda::" in body else ""
    return f"{head}{FUNCTIONS}__global__ void {name}(int *x) {{ {body} }}\n"


for _name, _body in BODIES.items():
    CASES[_name] = _case_of_kernel(_name, {} if isinstance(_body, str) else _body[1])


def register_case(start):
    CASES[start.__name__] = start
    return start


def _make_spin_kernel(**options):
    text = "__global__ void spin_kernel(int *x) { while (*(volatile int *)x == 0) { } x[1] = 1; }"
    return cuda.jit(source=text, stoppable=options.pop("stoppable", True), **options)


@register_case
def one_thread_kernel(x):
    _make_spin_kernel()[1, 1](x)
    return cuda.synchronize


@register_case
def many_block_kernel(x):
    _make_spin_kernel()[20000, 256](x)
    return cuda.synchronize


@register_case
def debug_kernel(x):
    kernel = _make_spin_kernel(stoppable=None, debug=True)
    kernel[1, 32](cuda.to_device(np.ones(1024, np.int32)))
    return lambda: kernel[4, 64](x)


@register_case
def unoptimized_kernel(x):
    _make_spin_kernel(opt=0)[4, 64](x)
    return cuda.synchronize


@register_case
def few_register_kernel(x):
    _make_spin_kernel(max_registers=24)[4, 64](x)
    return cuda.synchronize


@register_case
def python_body(x):
    @cuda.jit(stoppable=True)
    def wait_while_zero(x):
        n = 0
        while x[0] == 0:
            n += 1
            x[2] = n
        x[1] = n

    wait_while_zero[2, 32](x)
    return cuda.synchronize


@register_case
def nested_python_loops(x):
    @cuda.jit(stoppable=True)
    def loop_nested(x):
        for i in range(1 << 30):
            for j in range(1 << 30):
                x[3] = i + j
                cuda.threadfence()

    loop_nested[2, 32](x)
    return cuda.synchronize


@register_case
def lazy_ufunc(x):
    @vectorize([int32(int32)], target="cuda", stoppable=True)
    def endless_ufunc(a):
        "while (a < 1000) a = a * 3 % 7; return a;"

    return lambda: (endless_ufunc(x), cuda.synchronize())


@register_case
def eager_gufunc(x):
    @guvectorize([(float32[:], float32[:])], "(n)->(n)", target="cuda", stoppable=True)
    def endless_gufunc(a, out):
        "for (long long i = 0; i < 10; ) { out[0] = a[0] + i; if (out[0] > 1e30f) i++; }"

    rows = cuda.to_device(np.zeros((4, 8), np.float32))
    return lambda: (endless_gufunc(rows), cuda.synchronize())


_ENDLESS = "while (a + b == 0) a = a * 3; return a + b;"  # for elements that are 0


@register_case
def reduction(x):
    total = cuda.reduce(_ENDLESS, stoppable=True)
    total(cuda.to_device(np.ones(1024, np.int32)))
    return lambda: total(x)


@register_case
def scan(x):
    sums = cuda.scan(_ENDLESS, stoppable=True)
    many = cuda.to_device(np.zeros(1 << 20, np.int32))
    sums(cuda.to_device(np.ones(1 << 20, np.int32)))
    return lambda: (sums(many), cuda.synchronize())


@register_case
def cub_scan(x):
    """Each block waits for the previous block; the first block waits for the flag."""
    kernel = cuda.jit(
        source="""
#include <cub/block/block_scan.cuh>
__global__ void scans(int *x) {
    __shared__ cub::BlockScan<int, 128>::TempStorage storage;
    int n = x[threadIdx.x];
    cub::BlockScan<int, 128>(storage).InclusiveSum(n, n);
    if (threadIdx.x == 0 && blockIdx.x > 0)
        while (((volatile int *)x)[200 + blockIdx.x] == 0) { }
    __syncthreads();
    if (threadIdx.x == 0) {
        while (blockIdx.x == 0 && ((volatile int *)x)[0] == 0) { }
        ((volatile int *)x)[201 + blockIdx.x] = n;
    }
}
""",
        stoppable=True,
    )
    kernel[64, 128](x)
    return cuda.synchronize


@register_case
def dynamic_parallelism(x):
    """The waiting kernel is launched by another kernel."""
    module = cuda.module(
        """
__global__ void child(int *x) { while (*(volatile int *)x == 0) { } x[1] = 1; }
__global__ void parent(int *x) { child<<<2, 32>>>(x); }
""",
        stoppable=True,
    )
    module.parent[1, 1](x)
    return cuda.synchronize


@register_case
def kernels_on_two_devices(x):
    """Launches a kernel on each device; the host waits for the first kernel. With one device, both
    arrays are
    on that device."""
    kernel = _make_spin_kernel()
    arrays = {}
    for device in {0, len(cuda.gpus) - 1}:
        with cuda.gpus[device]:
            arrays[device] = cuda.to_device(np.zeros(1024, np.int32))
            kernel[1, 32](cuda.to_device(np.ones(2, np.int32)))
            cuda.synchronize()
    for device, array in arrays.items():
        with cuda.gpus[device]:
            kernel[4, 32](array)
    return cuda.synchronize


@register_case
def kernel_of_file(x):
    import pathlib
    import tempfile

    path = pathlib.Path(tempfile.mkdtemp()) / "lesson.cu"
    path.write_text("__global__ void forever(volatile int *x) {\n  while (x[0] == 0)\n    ;\n}\n")
    cuda.module(path, stoppable=True).forever[2, 32](x)
    return cuda.synchronize


@register_case
def captured_graph(x):
    kernel, stream = _make_spin_kernel(), cuda.stream()
    kernel[1, 32, stream](cuda.to_device(np.ones(1024, np.int32)))
    stream.synchronize()
    with stream.capture() as captured:
        kernel[4, 32, stream](x)
    captured.launch(stream)
    return stream.synchronize


@register_case
def kernels_on_two_streams(x):
    kernel, streams = _make_spin_kernel(), [cuda.stream(), cuda.stream(non_blocking=True)]
    for stream in streams:
        kernel[4, 32, stream](x)
    return streams[0].synchronize


@register_case
def queued_launches(x):
    kernel = _make_spin_kernel()
    for _ in range(500):
        kernel[4, 32](x)
    return cuda.synchronize


@register_case
def more_launches_than_the_queue(x):
    kernel = _make_spin_kernel()
    kernel[4, 32](x)

    def launch_3000_times():
        for _ in range(3000):
            kernel[4, 32](x)
        cuda.synchronize()

    return launch_3000_times


@register_case
def recorded_event(x):
    _make_spin_kernel()[4, 32](x)
    after = cuda.event()
    after.record()
    return after.synchronize


@register_case
def copy_to_host(x):
    _make_spin_kernel()[4, 32](x)
    return x.copy_to_host


@register_case
def large_copy(x):
    big = cuda.to_device(np.zeros(1 << 24, np.int32))
    _make_spin_kernel()[4, 32](big)
    return big.copy_to_host


@register_case
def copy_to_pinned(x):
    host = cuda.pinned_array(1024, np.int32)
    _make_spin_kernel()[4, 32](x)
    return lambda: x.copy_to_host(host)


@register_case
def large_upload(x):
    host = np.zeros(1 << 22, np.int32)
    big = cuda.to_device(host)
    _make_spin_kernel()[4, 32](big)
    return lambda: big.copy_to_device(host)


@register_case
def element_read(x):
    _make_spin_kernel()[4, 32](x)
    return lambda: x[3]


@register_case
def sum_of_array(x):
    x.sum().item() if hasattr(x.sum(), "item") else float(x.sum())
    _make_spin_kernel()[4, 32](x)
    return lambda: float(x.sum())


@register_case
def host_array(x):
    kernel = _make_spin_kernel()
    kernel[1, 32](np.ones(1024, np.int32))
    host = np.zeros(1024, np.int32)

    def launch_on_host_array():
        try:
            kernel[4, 32](host)
        finally:
            assert not host.any()

    return launch_on_host_array


@register_case
def large_host_array(x):
    kernel = _make_spin_kernel()
    host = np.zeros(1 << 22, np.int32)
    kernel[1, 32](np.ones(1024, np.int32))
    return lambda: kernel[4, 32](host)


@register_case
def kernel_of_other_thread(x):
    kernel = _make_spin_kernel()
    kernel[1, 1](cuda.to_device(np.ones(2, np.int32)))
    thread = threading.Thread(target=lambda: (kernel[4, 32](x),))
    thread.start()
    thread.join()
    return cuda.synchronize


@register_case
def device_reset(x):
    _make_spin_kernel()[4, 32](x)
    return cuda.get_current_device().reset


def interrupt_call(start):
    """Returns (milliseconds from the signal to the exception, its text). An interrupt during a
    compilation has no text."""
    for _ in range(5):
        x = cuda.to_device(np.zeros(1024, np.int32))
        wait = start(x)
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        begin = time.perf_counter()
        try:
            wait()
            time.sleep(30)
        except KeyboardInterrupt as problem:
            text = str(problem)
        milliseconds = (time.perf_counter() - begin - SECONDS) * 1e3
        if text:
            return milliseconds, text
    return milliseconds, text


def assert_next_launch_works():
    good = cuda.jit(source="__global__ void good(int *x) { x[threadIdx.x] = 42; }")
    x = cuda.to_device(np.zeros(64, np.int32))
    good[1, 64](x)
    assert (x.copy_to_host() == 42).all()


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    for name in sys.argv[1:] or CASES:
        print(name, end=" ", flush=True)
        milliseconds, text = interrupt_call(CASES[name])
        assert_next_launch_works()
        print(f"{milliseconds:.1f} {text}", flush=True)
