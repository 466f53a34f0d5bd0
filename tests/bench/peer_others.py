"""Measures benchmark rows with CuPy, cuda.core, torch and Triton."""

import importlib.util
import pathlib
import tempfile
import time

import numpy as np
import peer_course
from peer_measure import (
    LARGE,
    SMALL,
    TEXT,
    angle_ramp,
    arguments_of_powers,
    assert_result,
    element_rows,
    event_times,
    expected_powers,
    expected_sincos,
    import_time,
    large_copies,
    median,
    periodic_integers,
    process_time,
    run_row,
    small_matrices,
    time_row,
)

HOST = np.arange(1000, dtype=np.float32)
SPARSE, MANY = (100, 1 << 17) if SMALL else (10_000, 1 << 28)
ONE = np.ones(1, np.float32)


def library_rows(to_device, get, sync, fft, matmul, from_rows, random):
    """Measures the rows F, G3, G4, V and N."""
    z = np.exp(1j * np.arange(1 << 18, dtype=np.float32)).astype("F")
    line, square = to_device(z[:1024]), to_device(z.reshape(512, 512))
    waiting = lambda call, n: lambda: ([call() for _ in range(n)], sync())[0][-1]

    def time_with_wait(name, call, want, n):
        @run_row(name)
        def time_library_call():
            got = get(call())
            np.testing.assert_allclose(got, want, atol=1e-3 * abs(want).max())
            return median(waiting(call, n)) / n

    time_with_wait("F1", lambda: fft.fft(line), np.fft.fft(z[:1024]), 1000)
    time_with_wait("F2", lambda: fft.fft2(square), np.fft.fft2(z.reshape(512, 512)), 300)
    for name, n in (("G3", 64), ("G4", 512)):
        host = np.random.default_rng(2).random((n, n), np.float32)
        a, out = to_device(host), to_device(np.zeros_like(host))
        call = lambda a=a, out=out: matmul(a, a, out=out)
        time_with_wait(name, call, host @ host, 1000 if n < 100 else 300)

    generator = np.random.default_rng(3)
    indices = generator.integers(0, SPARSE // 10, (SPARSE, 10)) + np.arange(10) * SPARSE // 10
    indices = np.sort(indices).ravel().astype("i4")
    data, host = (generator.random(n, np.float32) for n in (10 * SPARSE, SPARSE))
    x = to_device(host)

    @run_row("V1")
    def time_sparse_product():
        product = from_rows(data, indices, np.arange(0, 10 * SPARSE + 1, 10, dtype="i4"))
        want = (data * host[indices]).reshape(-1, 10).sum(1)
        np.testing.assert_allclose(get(product(x)), want, rtol=1e-4)
        return median(waiting(lambda: product(x), 1000)) / 1000

    run_row("N1")(lambda: median(lambda: random(1000), 500, sync))
    run_row("N2")(lambda: median(waiting(lambda: random(MANY), 4)) / 4)


def array_rows(to_device, get, time, sync, *, add_at, dot_rows, sort):
    """Measures the A rows, whose functions have the same name in both libraries. ``time(call)`` gives
    microseconds on the device."""
    whole = lambda shape, most=3: np.random.default_rng(5).integers(0, most, shape)
    single = lambda shape: to_device(whole(shape).astype("f"))
    many, rows, side = (1 << 17, 1000, 256) if SMALL else (1 << 27, 1_000_000, 8192)

    @run_row("A1")
    def time_scatter_add():
        host = whole(10 * rows, 256)
        call = add_at(to_device(host), to_device(np.zeros(256, "i4")))
        assert_result(get(call()), np.bincount(host, minlength=256))
        return median(lambda: (call(), sync()), 3)

    @run_row("A2")
    def time_strided_assignment():
        e, d = single(many // 4), to_device(np.zeros(many // 2, "f"))

        def assign_strided():
            d[::2] = e

        assign_strided()
        assert_result(get(d[:1000:2]), get(e[:500]))
        return time(assign_strided)

    def time_function_on_device(name, x, call, want):
        @run_row(name)
        def time_on_device():
            array = x()
            assert_result(get(call(array)[:100]), want(get(array)))
            return time(lambda: call(array))

    time_function_on_device(
        "A3", lambda: single(many), lambda x: x.cumsum(0), lambda x: np.cumsum(x[:100])
    )
    short, keys = single(1000), to_device(np.random.default_rng(6).random(1000, np.float32))
    time_row("A4", lambda: short.cumsum(0), np.cumsum(whole(1000)), 500, sync, read=get)
    for name, shape, axis in (("A5", (rows, 16), 0), ("A6", (rows, 16), 1), ("A7", (16, rows), 0)):
        time_function_on_device(
            name,
            lambda s=shape: single(s),
            lambda x, a=axis: x.sum(a),
            lambda x, a=axis: x.sum(a)[:100],
        )

    @run_row("A8")
    def time_transposed_assignment():
        x, out = single((side, side)), single((side, side))

        def assign_transposed():
            out[...] = x.T

        assign_transposed()
        assert_result(get(out), get(x).T)
        return time(assign_transposed)

    for name in ("A9", "A13"):
        time_function_on_device(
            name,
            lambda: single((2, rows // 10, 1000)),
            lambda x: dot_rows(x[0], x[1]),
            lambda x: (x[0, :100] * x[1, :100]).sum(1),
        )
    time_function_on_device(
        "A14",
        lambda: single((rows, 64)),
        lambda x: x.cumsum(1),
        lambda x: x[:100].cumsum(1),
    )
    time_function_on_device(
        "A15",
        lambda: single((2, rows // 5, 8, 8)),
        lambda x: x[0] @ x[1],
        lambda x: x[0, :100] @ x[1, :100],
    )

    @run_row("A10")
    def time_sort():
        x = to_device(np.random.default_rng(6).random(2 * many, np.float32))
        got = get(sort(x))
        assert (got[1:] >= got[:-1]).all()
        return time(lambda: sort(x))

    time_row("A11", lambda: sort(keys), np.sort(get(keys)), 500, sync, read=get)


# ---- CuPy ------------------------------------------------------------------------------------------------
class CupyAdapter:
    """What element_rows wants."""

    def __init__(self, cupy):
        self.cupy, self.add = cupy, cupy.add

    def numbers(self, shape, dtype):
        return periodic_integers(self.cupy.arange, shape).astype(dtype)

    def sum(self, x, axis):
        return self.cupy.sum(x, axis, dtype=x.dtype)

    def host(self, x):
        return x.get()


def measure_cupy_rows():
    import cupy

    sync, asarray = cupy.cuda.Device().synchronize, cupy.asarray
    get = lambda d: d.get()
    kernel, n = cupy.RawKernel(TEXT, "k"), np.int32(1000)
    x, y = asarray(HOST), cupy.zeros(1000, np.float32)
    launch = lambda: kernel((4,), (256,), (x, x, y, n))
    for key in ("L1", "L2"):
        time_row(key, launch, 2 * HOST, 1000, sync, read=lambda _: y.get())
    time_row("M1", lambda: cupy.empty(1 << 18, np.float32), [1 << 18], 1000, read=lambda d: d.shape)
    time_row("M2", lambda: x[10:100], HOST[10:100], 500, read=get)
    large_copies(lambda a: (asarray(a), sync())[0], get)
    time_row("T3a", lambda: (asarray(HOST), sync())[0], HOST, 50, read=get)
    time_row("T3b", lambda: x.get(), HOST, 50)

    one, out = cupy.ones(1, np.float32), cupy.zeros(1, np.float32)
    time_row("U1", lambda: cupy.add(one, one, out=out), [2], 1000, sync, read=get)
    time_row("U2", lambda: cupy.add(asarray(ONE), asarray(ONE)).get(), [2], 200)
    angles, values, m = angle_ramp(), arguments_of_powers(), small_matrices()
    sincos = cupy.ElementwiseKernel("float64 x, float64 y", "float64 z", "z = sin(x) * cos(y)")
    call = lambda: sincos(asarray(angles), asarray(angles)).get()
    time_row("U4", call, lambda: expected_sincos(angles, angles), 10)
    powers = cupy.ElementwiseKernel(
        "float32 p, float32 q, float32 r, float32 s",
        "float32 z",
        "z = sqrt(p * p + q * q * q + r * r * r * r + s * s * s * s * s)",
    )
    time_row("U5", lambda: powers(*map(asarray, values)).get(), lambda: expected_powers(*values), 5)

    total = cupy.zeros((), np.float32)
    time_row("U7", lambda: x.sum(out=total), HOST.sum(), 200, sync, read=get)

    @run_row("U6")
    def time_large_sum():
        big = cupy.ones(LARGE, np.float32)
        assert_result(big.sum().get(), LARGE)
        return median(lambda: (big.sum(), sync()), 5)

    peer_course.measure_cupy_rows(cupy, sync)
    on_device = asarray(m)
    product = lambda: (cupy.matmul(on_device, on_device), sync())[0]
    time_row("G1", product, lambda: m @ m, 3, read=get)

    def from_rows(data, indices, indptr):
        import cupyx.scipy.sparse

        parts = asarray(data), asarray(indices), asarray(indptr)
        return cupyx.scipy.sparse.csr_matrix(parts, (SPARSE, SPARSE)).dot

    random = cupy.random.default_rng(1)
    library_rows(
        asarray, get, sync, cupy.fft, cupy.matmul, from_rows, lambda n: random.random(n, np.float32)
    )

    @run_row("C1")
    def time_compilation():
        times = []
        for number in range(3):
            factor = time.time_ns() % 1000003 + number
            source = TEXT.replace("a[i] +", f"a[i] * {factor} +")
            start = time.perf_counter()
            cupy.RawKernel(source, "k")((4,), (256,), (x, x, y, n))
            sync()
            times.append((time.perf_counter() - start) * 1e6)
            assert_result(y.get(), HOST * (factor + 1))
        return min(times)

    program = (
        f"import numpy as np, cupy\nk = cupy.RawKernel({TEXT!r}, 'k')\n"
        "x = cupy.asarray(np.ones(100, np.float32))\n"
        "k((4,), (32,), (x, x, x, np.int32(100)))\nassert x.get()[5] == 2"
    )
    run_row("C3")(lambda: process_time(program))

    def record_event():
        event = cupy.cuda.Event()
        event.record()
        return event

    elapsed = cupy.cuda.get_elapsed_time
    on_device = lambda call: event_times(call, record_event, sync, elapsed)
    element_rows(CupyAdapter(cupy), on_device)
    array_rows(
        asarray, get, on_device, sync,
        add_at=lambda indices, bins: lambda: (cupy.add.at(bins, indices, 1), bins)[1],
        dot_rows=lambda x, y: cupy.einsum("ij,ij->i", x, y), sort=cupy.sort,
    )  # fmt: skip


# ---- cuda.core -------------------------------------------------------------------------------------------
def cuda_core():
    from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

    device = Device()
    device.set_current()
    stream = device.create_stream()
    major, minor = device.compute_capability
    options = ProgramOptions(std="c++17", arch=f"sm_{major}{minor}")
    kernel = Program(TEXT, "c++", options).compile("cubin").get_kernel("k")
    x, y = (device.allocate(4000, stream=stream) for _ in "12")
    a, b, n = int(x.handle), int(y.handle), np.int32(1000)
    config = LaunchConfig(grid=4, block=256)
    host = np.empty_like(HOST)
    copy = make_copy(stream)
    copy(a, HOST.ctypes.data, HOST.nbytes)

    def copy_to_host(_):
        copy(host.ctypes.data, b, host.nbytes)
        return host

    call = lambda: launch(stream, config, kernel, a, a, b, n)
    time_row("L1", call, 2 * HOST, 1000, stream.sync, read=copy_to_host)


def make_copy(stream):
    """copy_bytes(to, from, bytes) calls the driver's copy for the address spaces, and waits."""
    import ctypes

    function = ctypes.CDLL("libcuda.so.1").cuMemcpy
    function.argtypes = [ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t]

    def copy_bytes(to, source, size):
        stream.sync()
        status = function(to, source, size)
        assert status == 0, f"cuMemcpy: {status}"

    return copy_bytes


# ---- torch and Triton ------------------------------------------------------------------------------------
class TorchAdapter:
    """What element_rows wants."""

    def __init__(self, torch):
        self.torch, self.add = torch, torch.add

    def numbers(self, shape, dtype):
        arange = lambda n: self.torch.arange(n, device="cuda")
        return periodic_integers(arange, shape).to(getattr(self.torch, dtype))

    def sum(self, x, axis):
        total = self.torch.sum
        return total(x, dtype=x.dtype) if axis is None else total(x, axis, dtype=x.dtype)

    def host(self, x):
        return x.cpu().numpy()


def torch_time(torch):
    def record_event():
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    elapsed = lambda start, end: start.elapsed_time(end)
    return lambda call: event_times(call, record_event, torch.cuda.synchronize, elapsed)


def measure_torch_rows():
    import torch

    sync, get = torch.cuda.synchronize, lambda d: d.cpu().numpy()
    host, small = torch.from_numpy(HOST), torch.ones(1)
    x = host.cuda()
    new = lambda: torch.empty(1 << 18, device="cuda")
    time_row("M1", new, [1 << 18], 1000, read=lambda d: d.shape)
    time_row("M2", lambda: x[10:100], HOST[10:100], 500, read=get)
    time_row("T3a", lambda: (host.cuda(), sync())[0], HOST, 50, read=get)
    time_row("T3b", lambda: x.cpu(), HOST, 50)
    large_copies(lambda y: (torch.from_numpy(y).cuda(), sync())[0], lambda d: d.cpu())
    time_row("U2", lambda: torch.add(small.cuda(), small.cuda()).cpu(), [2], 200)
    angles, m = angle_ramp(), small_matrices()
    y, on_device = torch.from_numpy(angles), torch.from_numpy(m).cuda()
    call = lambda: (torch.sin(y.cuda()) * torch.cos(y.cuda())).cpu()
    time_row("U4", call, lambda: expected_sincos(angles, angles), 10)
    # torch's default for float32, without TF32
    product = lambda: (torch.bmm(on_device, on_device), sync())[0]
    time_row("G1", product, lambda: m @ m, 3, read=get)
    one, out = torch.ones(1, device="cuda"), torch.zeros(1, device="cuda")
    time_row("U1", lambda: torch.add(one, one, out=out), [2], 1000, sync, read=get)

    total = torch.zeros((), device="cuda")
    time_row("U7", lambda: torch.sum(x, 0, out=total), HOST.sum(), 500, sync, read=get)

    @run_row("U6")
    def time_large_sum():
        big = torch.ones(LARGE, device="cuda")
        assert_result(big.sum().item(), LARGE)
        return median(lambda: (big.sum(), sync()), 5)

    def from_rows(data, indices, indptr):
        parts = (torch.from_numpy(part).cuda() for part in (indptr, indices, data))
        matrix = torch.sparse_csr_tensor(*parts, (SPARSE, SPARSE))
        return lambda x: matrix @ x

    to_device = lambda a: torch.from_numpy(a).cuda()
    random = lambda n: torch.rand(n, device="cuda")
    library_rows(to_device, get, sync, torch.fft, torch.matmul, from_rows, random)
    element_rows(TorchAdapter(torch), torch_time(torch))
    array_rows(
        to_device, get, torch_time(torch), sync,
        add_at=lambda indices, bins: lambda: torch.add(
            bins, torch.bincount(indices, minlength=256), out=bins
        ),
        dot_rows=torch.linalg.vecdot, sort=lambda x: torch.sort(x).values,
    )  # fmt: skip


def torch_cpu():
    import torch

    angles = angle_ramp()
    x = torch.from_numpy(angles)
    time_row("P1b", lambda: torch.sin(x) * torch.cos(x), lambda: expected_sincos(angles, angles), 5)
    run_row("C4")(lambda: import_time("import torch"))


def measure_triton_rows():
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
        x = torch.from_numpy(HOST).cuda()
        y, grid, sync = torch.zeros_like(x), (4,), torch.cuda.synchronize
        call = lambda: module.add[grid](x, x, y, 1000, B=256)
        time_row("L1", call, 2 * HOST, 1000, sync, read=lambda _: y.cpu())

        @run_row("U3")
        def time_large_add():
            xp = TorchAdapter(torch)
            p, q = (xp.numbers((LARGE,), "float32") for _ in "12")
            r, add, many = torch.zeros_like(p), module.add, (LARGE // 1024,)
            call = lambda: add[many](p, q, r, LARGE, B=1024)
            call()
            assert_result(xp.host(r[-99:]), xp.host(p[-99:]) + xp.host(q[-99:]))
            return torch_time(torch)(call)
