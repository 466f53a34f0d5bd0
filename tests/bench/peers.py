"""What the others need for the same rows: `python peers.py NAME [ROW ...]` prints {row: value} as JSON.

Each peer runs in a process of its own, because they are slow to import and do not always get along. A row
that fails is left out, with the reason on stderr.
"""

import json
import statistics
import subprocess
import sys
import time

import numpy as np

RESULTS = {}
TEXT = """extern "C" __global__ void k(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}"""


def median(function, inner=1, sync=lambda: None, rounds=7):
    """Microseconds of one call."""
    function()
    sync()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(inner):
            function()
        times.append((time.perf_counter() - start) / inner * 1e6)
        sync()
    return statistics.median(times)


WANTED = set(sys.argv[2:])


def row(name):
    def run(function):
        if WANTED and name not in WANTED:
            return function
        try:
            RESULTS[name] = function()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return function

    return run


def import_time(code):
    """Microseconds that `code` takes in a fresh process that has imported NumPy."""
    program = f"import time, numpy\nt = time.perf_counter()\n{code}\nprint(time.perf_counter() - t)"
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
        times.append(float(done.stdout))
    return min(times) * 1e6


def process_time(program):
    times = []
    for _ in range(4):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


LARGE = 1 << 28
SIDE = 1 << 14


def large_copies(to_device, to_host):
    """T1 and T2: a gibibyte of ordinary memory to the device, and back into a new array."""
    host = np.ones(1 << 28, np.float32)
    kept = []
    row("T1")(lambda: median(lambda: kept.__setitem__(slice(None), [to_device(host)]), rounds=3))
    row("T2")(lambda: median(lambda: to_host(kept[0]), rounds=3))


def diffusion(cuda):
    """K1 by numba's threads."""
    from numba import float32

    @cuda.jit
    def step(u, l):
        s = cuda.shared.array((10, 10), float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if tx == 0 and x > 0:
            s[0, ty + 1] = u[x - 1, y]
        if ty == 0 and y > 0:
            s[tx + 1, 0] = u[x, y - 1]
        if tx == 7 and x < u.shape[0] - 1:
            s[9, ty + 1] = u[x + 1, y]
        if ty == 7 and y < u.shape[1] - 1:
            s[tx + 1, 9] = u[x, y + 1]
        s[tx + 1, ty + 1] = u[x, y]
        v = float32(4) * s[tx + 1, ty + 1]
        cuda.syncthreads()
        if x > 0:
            v -= s[tx, ty + 1]
        if y > 0:
            v -= s[tx + 1, ty]
        if x < u.shape[0] - 1:
            v -= s[tx + 2, ty + 1]
        if y < u.shape[1] - 1:
            v -= s[tx + 1, ty + 2]
        if x < u.shape[0] and y < u.shape[1]:
            l[x, y] = v
            u[x, y] -= v * float32(0.25)

    n = 2000
    u = cuda.to_device(np.random.default_rng(0).random((n, n), np.float32))
    l, stream = cuda.device_array_like(u), cuda.stream()
    bound = step[(n // 8, n // 8), (8, 8), stream]

    def run():
        for _ in range(200):
            bound(u, l)
        stream.synchronize()

    return median(run, rounds=3) / 200


def on_device(xp, time):
    """E and R rows for a library like NumPy: ``time(function)`` gives microseconds on the device."""
    n = LARGE

    def measured(key, make):
        @row(key)
        def _():
            function = make()
            result = time(function)
            del function
            return result

    def adder(a, b, view=lambda x: x, first=lambda x: x, out=None):
        def make():
            x, y = xp.ones(*a), xp.ones(*b)
            x, y = first(x), view(y)
            z = xp.add(x, y)
            return lambda: xp.add(x, y, out=z)

        return make

    def summer(dtype, axis):
        def make():
            x = xp.ones((SIDE // (2 if dtype == "float64" else 1), SIDE), getattr(xp, dtype))
            return lambda: (
                xp.sum(x, dtype=x.dtype) if axis is None else xp.sum(x, axis, dtype=x.dtype)
            )

        return make

    square = (SIDE, SIDE), xp.float32
    measured("E1", adder((n, xp.int8), (n, xp.int8)))
    measured("E2", adder((n, xp.int16), (n, xp.int16)))
    measured("E3", adder((n // 2, xp.float64), (n // 2, xp.float64)))
    measured("E4", adder((n // 2, xp.float32), (n // 2, xp.float64)))
    measured("E6", adder(square, (SIDE, xp.float32)))
    measured("E7", adder(square, (SIDE, xp.float32), lambda x: x.reshape(SIDE, 1)))
    measured("E8", adder(square, square, lambda x: x.T))
    measured("E9", adder((n, xp.float32), (n // 2, xp.float32), first=lambda x: x[::2]))
    measured(
        "E10", adder((n // 2, xp.float32), (n // 2, xp.float32), lambda y: y[:-1], lambda x: x[1:])
    )
    for number, dtype in enumerate(("float32", "float64", "int8"), 1):
        for letter, axis in (("a", None), ("b", 1), ("c", 0)):
            measured(f"R{number}{letter}", summer(dtype, axis))


def numba_ufuncs(cuda):
    import math

    from numba import guvectorize, vectorize

    two = ["float32(float32, float32)", "float64(float64, float64)"]
    sync = cuda.synchronize

    @vectorize(two, target="cuda")
    def add(x, y):
        return x + y

    def sincos(x, y):
        return math.sin(x) * math.cos(y)

    def powers(p, q, r, s):
        return math.sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s)

    one = np.ones(1, np.float32)
    a, b, c = cuda.to_device(one), cuda.to_device(one), cuda.to_device(one)
    row("U1")(lambda: median(lambda: add(a, b, out=c), 200, sync))
    row("U2")(lambda: median(lambda: add(one, one), 50))
    x, y = np.linspace(0, np.pi, 1_000_000), np.linspace(0, np.pi, 1_000_000)
    on_gpu = vectorize(two, target="cuda")(sincos)
    row("U4")(lambda: median(lambda: on_gpu(x, y), 5))
    four = np.random.default_rng(7).random((4, 5_000_000), np.float32)
    f4 = ["float32(float32, float32, float32, float32)"]
    powers_gpu = vectorize(f4, target="cuda")(powers)
    row("U5")(lambda: median(lambda: powers_gpu(*four), 3))

    @row("U3")
    def _():
        big = cuda.device_array(LARGE, np.float32)
        other, out = cuda.device_array(LARGE, np.float32), cuda.device_array(LARGE, np.float32)
        return median(lambda: (add(big, other, out=out), sync()), 3)

    @row("U6")
    def _():
        total = cuda.reduce(lambda p, q: p + q)
        big, res = cuda.device_array(LARGE, np.float32), cuda.device_array(1, np.float32)
        return median(lambda: (total(big, res=res), sync()), 2, rounds=3)

    @guvectorize(
        ["void(float32[:,:], float32[:,:], float32[:,:])"], "(m,n),(n,p)->(m,p)", target="cuda"
    )
    def product(a, b, c):
        for i in range(c.shape[0]):
            for j in range(c.shape[1]):
                t = 0.0
                for k in range(a.shape[1]):
                    t += a[i, k] * b[k, j]
                c[i, j] = t

    m = np.random.default_rng(7).random((4_000_000, 2, 2), np.float32)
    c, d, e = cuda.to_device(m), cuda.to_device(m), cuda.to_device(m)
    row("G1")(lambda: median(lambda: (product(c, d, out=e), sync()), 5))
    n = m.copy()
    row("G2")(lambda: median(lambda: product(m, n), 2, rounds=3))


def numba_cpu():
    """What needs no GPU."""
    import math

    from numba import vectorize

    def sincos(x, y):
        return math.sin(x) * math.cos(y)

    x = np.linspace(0, np.pi, 1_000_000)
    cpu = vectorize(["float64(float64, float64)"], target="cpu")(sincos)
    row("P1a")(lambda: median(lambda: cpu(x, x), 5))
    parallel = vectorize(["float64(float64, float64)"], target="parallel")(sincos)
    row("P1b")(lambda: median(lambda: parallel(x, x), 5))
    row("C4")(lambda: import_time("import numba.cuda"))


def numba_simulator():
    """Nanoseconds of a thread on numba's own simulator."""
    global cuda  # where the simulator puts what stands for it in a kernel
    np.row_stack = np.vstack  # what some releases still ask NumPy for
    from numba import cuda, float32

    @cuda.jit
    def vadd(a, b, c):
        i = cuda.grid(1)
        if i < c.size:
            c[i] = a[i] + b[i]

    @cuda.jit
    def reverse(x):
        s = cuda.shared.array(128, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        s[t] = x[i]
        cuda.syncthreads()
        x[i] = s[127 - t]

    a = cuda.to_device(np.ones(128, np.float32))
    row("S1a")(lambda: median(lambda: vadd[1, 128](a, a, a), 1, rounds=3) * 1000 / 128)
    row("S1b")(lambda: median(lambda: reverse[1, 128](a), 1, rounds=3) * 1000 / 128)


def numba():
    np.row_stack = np.vstack  # what some releases still ask NumPy for
    from numba import cuda

    @cuda.jit
    def add(a, b, c, n):
        i = cuda.grid(1)
        if i < n:
            c[i] = a[i] + b[i]

    x = np.arange(1000, dtype=np.float32)
    a, b, c = cuda.to_device(x), cuda.to_device(x), cuda.to_device(x)
    bound = add[4, 256]
    sync = cuda.synchronize
    row("L1")(lambda: median(lambda: bound(a, b, c, 1000), 1000, sync))
    row("L3")(lambda: median(lambda: add[4, 256](a, b, c, 1000), 1000, sync))

    @row("L2")
    def _():
        import cupy

        p = cupy.asarray(x)
        return median(lambda: bound(p, p, p, 1000), 300, sync)

    big = cuda.device_array(1 << 18, np.float32)
    row("M1")(lambda: median(lambda: cuda.device_array(1 << 18, np.float32), 200))
    row("M2")(lambda: median(lambda: big[10:100], 500))
    row("T3a")(lambda: median(lambda: (cuda.to_device(x), sync()), 50))
    row("T3b")(lambda: median(lambda: a.copy_to_host(), 50))
    large_copies(lambda y: (cuda.to_device(y), sync())[0], lambda d: d.copy_to_host())

    @row("K1")
    def _():
        return diffusion(cuda)

    @row("C1")
    def _():
        times = []
        for number in range(3):
            names = {"cuda": cuda}
            exec(
                f"def k(a, b, c):\n i = cuda.grid(1)\n if i < c.size: c[i] = a[i] * {number + 3} + b[i]",
                names,
            )
            start = time.perf_counter()
            cuda.jit(names["k"])[1, 32](a, b, c)
            sync()
            times.append((time.perf_counter() - start) * 1e6)
        return min(times)

    numba_ufuncs(cuda)
    program = (
        "import numpy as np; np.row_stack = np.vstack\nfrom numba import cuda\n"
        "import numba\n@cuda.jit\ndef k(a):\n i = cuda.grid(1)\n if i < a.size: a[i] += 1\n"
        "x = np.zeros(32, np.float32); k[1, 32](x); assert x[5] == 1"
    )
    row("C3")(lambda: process_time(program))


def cupy_import():
    row("C4")(lambda: import_time("import cupy"))


def cupy():
    import cupy

    kernel = cupy.RawKernel(TEXT, "k")
    x = cupy.arange(1000, dtype=cupy.float32)
    n = np.int32(1000)
    sync = cupy.cuda.Device().synchronize
    row("L1")(lambda: median(lambda: kernel((4,), (256,), (x, x, x, n)), 1000, sync))
    row("L2")(lambda: median(lambda: kernel((4,), (256,), (x, x, x, n)), 1000, sync))
    big = cupy.empty(1 << 18, np.float32)
    row("M1")(lambda: median(lambda: cupy.empty(1 << 18, np.float32), 1000))
    row("M2")(lambda: median(lambda: big[10:100], 500))
    large_copies(lambda y: (cupy.asarray(y), sync())[0], lambda d: d.get())
    host = np.ones(1000, np.float32)
    row("T3a")(lambda: median(lambda: (cupy.asarray(host), sync()), 50))
    row("T3b")(lambda: median(lambda: x.get(), 50))

    one = cupy.ones(1, np.float32)
    out = cupy.ones(1, np.float32)
    row("U1")(lambda: median(lambda: cupy.add(one, one, out=out), 1000, sync))
    small = np.ones(1, np.float32)
    row("U2")(lambda: median(lambda: cupy.add(cupy.asarray(small), cupy.asarray(small)).get(), 200))

    @row("U3")
    def _():
        x, y, z = (cupy.ones(LARGE, np.float32) for _ in range(3))
        return median(lambda: (cupy.add(x, y, out=z), sync()), 5)

    @row("U4")
    def _():
        y = np.linspace(0, np.pi, 1_000_000)
        sincos = cupy.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = sin(x) * cos(y)")
        return median(lambda: sincos(cupy.asarray(y), cupy.asarray(y)).get(), 10)

    @row("U5")
    def _():
        four = np.random.default_rng(7).random((4, 5_000_000), np.float32)
        powers = cupy.ElementwiseKernel(
            "float32 p, float32 q, float32 r, float32 s",
            "float32 z",
            "z = sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s)",
        )
        return median(lambda: powers(*map(cupy.asarray, four)).get(), 5)

    @row("U6")
    def _():
        y = cupy.ones(LARGE, np.float32)
        return median(lambda: (y.sum(), sync()), 5)

    @row("G1")
    def _():
        y = cupy.ones((4_000_000, 2, 2), np.float32)
        return median(lambda: (cupy.matmul(y, y), sync()), 3)

    @row("C1")
    def _():
        times = []
        for number in range(3):
            source = TEXT.replace("a[i] +", f"a[i] * {time.time_ns() % 1000003 + number} +")
            start = time.perf_counter()
            cupy.RawKernel(source, "k")((4,), (256,), (x, x, x, n))
            sync()
            times.append((time.perf_counter() - start) * 1e6)
        return min(times)

    program = (
        f"import numpy as np, cupy\nk = cupy.RawKernel({TEXT!r}, 'k')\n"
        "x = cupy.asarray(np.ones(100, np.float32))\n"
        "k((4,), (32,), (x, x, x, np.int32(100)))\nassert x.get()[5] == 2"
    )
    row("C3")(lambda: process_time(program))

    def time_on_device(function, inner=5, rounds=5):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        function()
        times = []
        for _ in range(rounds):
            sync()
            start.record()
            for _ in range(inner):
                function()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end) / inner * 1e3)
        return statistics.median(times)

    on_device(cupy, time_on_device)


def cuda_core():
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    major, minor = device.compute_capability
    options = ProgramOptions(std="c++17", arch=f"sm_{major}{minor}")
    kernel = Program(TEXT, "c++", options).compile("cubin").get_kernel("k")
    memory = device.allocate(4096, stream=stream)
    pointer, n = int(memory.handle), np.int32(1000)
    config = LaunchConfig(grid=4, block=256)
    row("L1")(
        lambda: median(
            lambda: launch(stream, config, kernel, pointer, pointer, pointer, n), 1000, stream.sync
        )
    )


def cuda_core_import():
    row("C4")(lambda: import_time("import cuda.core"))


def torch_cpu():
    import torch

    x = torch.linspace(0, np.pi, 1_000_000, dtype=torch.float64)
    row("P1b")(lambda: median(lambda: torch.sin(x) * torch.cos(x), 5))
    row("C4")(lambda: import_time("import torch"))


def torch():
    import torch

    sync = torch.cuda.synchronize
    host = torch.ones(1000)
    x = host.cuda()
    row("M1")(lambda: median(lambda: torch.empty(1 << 18, device="cuda"), 1000))
    row("M2")(lambda: median(lambda: x[10:100], 500))
    row("T3a")(lambda: median(lambda: (host.cuda(), sync()), 50))
    row("T3b")(lambda: median(lambda: x.cpu(), 50))
    large_copies(lambda y: (torch.from_numpy(y).cuda(), sync())[0], lambda d: d.cpu())
    small = torch.ones(1)
    row("U2")(lambda: median(lambda: torch.add(small.cuda(), small.cuda()).cpu(), 200))

    @row("U4")
    def _():
        y = torch.linspace(0, np.pi, 1_000_000, dtype=torch.float64)
        return median(lambda: (torch.sin(y.cuda()) * torch.cos(y.cuda())).cpu(), 10)

    @row("G1")
    def _():
        y = torch.ones((4_000_000, 2, 2), device="cuda")
        return median(lambda: (torch.bmm(y, y), sync()), 3)

    one, out = torch.ones(1, device="cuda"), torch.ones(1, device="cuda")
    row("U1")(lambda: median(lambda: torch.add(one, one, out=out), 1000, sync))

    @row("U3")
    def _():
        x, y, z = (torch.ones(LARGE, device="cuda") for _ in range(3))
        return median(lambda: (torch.add(x, y, out=z), sync()), 5)

    @row("U6")
    def _():
        y = torch.ones(LARGE, device="cuda")
        return median(lambda: (y.sum(), sync()), 5)

    on_device(Torch(), torch_time(torch))


class Torch:
    """torch by NumPy's names, as far as on_device needs them."""

    def __getattr__(self, name):
        import torch

        return getattr(torch, name)

    def ones(self, shape, dtype):
        import torch

        return torch.ones(shape, dtype=dtype, device="cuda")

    def sum(self, x, axis=None, dtype=None):
        import torch

        return torch.sum(x, dtype=dtype) if axis is None else torch.sum(x, axis, dtype=dtype)


def torch_time(torch):
    def time_on_device(function, inner=5, rounds=5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        function()
        times = []
        for _ in range(rounds):
            torch.cuda.synchronize()
            start.record()
            for _ in range(inner):
                function()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / inner * 1e3)
        return statistics.median(times)

    return time_on_device


def triton():
    import importlib.util
    import pathlib
    import tempfile

    import torch

    text = (
        "import triton\nimport triton.language as tl\n@triton.jit\n"
        "def add(a, b, c, n, B: tl.constexpr):\n"
        "    o = tl.program_id(0) * B + tl.arange(0, B)\n"
        "    tl.store(c + o, tl.load(a + o, mask=o < n) + tl.load(b + o, mask=o < n), mask=o < n)\n"
    )
    with tempfile.TemporaryDirectory() as folder:  # triton reads its kernels from files
        path = pathlib.Path(folder, "kernels.py")
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("kernels", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        x, grid = torch.ones(1000, device="cuda"), (4,)
        sync = torch.cuda.synchronize
        row("L1")(lambda: median(lambda: module.add[grid](x, x, x, 1000, B=256), 1000, sync))

        @row("U3")
        def _():
            p, q, r = (torch.ones(LARGE, device="cuda") for _ in range(3))
            add, many = module.add, (LARGE // 1024,)
            return torch_time(torch)(lambda: add[many](p, q, r, LARGE, B=1024))


# By name, and for some the part: "numba/cpu" is what numba needs for the rows of the processor.
PEERS = {
    "numba": numba,
    "cupy": cupy,
    "cuda.core": cuda_core,
    "torch": torch,
    "triton": triton,
    "numba/cpu": numba_cpu,
    "numba/simulator": numba_simulator,
    "cupy/cpu": cupy_import,
    "cuda.core/cpu": cuda_core_import,
    "torch/cpu": torch_cpu,
}

if __name__ == "__main__":
    try:
        PEERS[sys.argv[1]]()
    except ImportError as error:
        print(f"not installed: {error}", file=sys.stderr)
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    print(json.dumps(RESULTS))
