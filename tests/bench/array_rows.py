"""Measures benchmark rows of NumPy's functions on device arrays, and of functions that are used
next to kernels.

The floor of a function that moves memory is the time of a large copy on the device of as many
bytes, in the same run. Results are checked before they are timed.
"""

import numpy as np
from measure import (
    SMALL,
    RowSkipped,
    close,
    device_calls,
    device_median,
    make_call_measure,
    median_in_turn,
    register_row,
)
from ufunc_rows import make_ufuncs

MANY = 1 << 17 if SMALL else 1 << 27
ROWS = 1000 if SMALL else 1_000_000
SIDE = 256 if SMALL else 8192


def small_integers(shape, dtype=np.float32, most=3):
    """Returns small integers, whose sums are exact."""
    return np.random.default_rng(5).integers(0, most, shape).astype(dtype)


@register_row("A1", "np.add.at, 1e7 int64 indices into 256 int32", "us", "60", gpu=True)
def measure_add_at(floor):
    from numbalite import cuda

    host = small_integers(100 * ROWS // 10, np.int64, 256)
    indices, bins = cuda.to_device(host), cuda.zeros(256, np.int32)
    np.add.at(bins, indices, 1)
    close(bins.copy_to_host(), np.bincount(host, minlength=256))
    ours = median_in_turn(
        make_call_measure(lambda: np.add.at(bins, indices, 1), cuda.synchronize), count=20
    )[0]
    return ours, floor.memory_time(host.nbytes), 60


@register_row("A2", "d[::2] = e, 2^25 float32", "us", "1.1 x bytes", gpu=True)
def strided_assignment(floor):
    from numbalite import cuda

    host = small_integers(MANY // 4)
    e, d = cuda.to_device(host), cuda.zeros(MANY // 2, np.float32)
    d[::2] = e
    close(d.copy_to_host()[::2], host)

    def assign_strided():
        d[::2] = e

    least = floor.memory_time(5 * e.nbytes)  # the device reads and writes whole sectors
    return device_median(assign_strided), least, 1.1 * least


@register_row("A3", "np.cumsum of 2^27 float32, out=", "us", "1.1 x copy", gpu=True)
def long_scan(floor):
    from numbalite import cuda

    host = small_integers(MANY, most=2)
    x = cuda.to_device(host)
    out = np.cumsum(x)
    part = slice(0, 1 << 22)  # sums are exact up to 2^24
    close(out[part].copy_to_host(), np.cumsum(host[part]))
    scan, copy = (
        device_calls(lambda: np.cumsum(x, out=out)),
        device_calls(lambda: out.copy_to_device(x)),
    )
    ours, least = median_in_turn(scan, copy, count=5, rounds=9, warm=0)
    return ours, least, 1.1 * least


@register_row("A4", "np.cumsum of 1000 float32", "us", "2 x launch", gpu=True)
def short_scan(floor):
    from numbalite import cuda

    host = small_integers(1000)
    x = cuda.to_device(host)
    close(np.cumsum(x).copy_to_host(), np.cumsum(host))
    ours = make_call_measure(lambda: np.cumsum(x), cuda.synchronize)
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=500)
    return ours, least, 2 * least


def sum_row(key, shape, axis):
    rows, columns = shape

    @register_row(
        key, f"sum over axis {axis} of {shape} float32, 64 MB", "us", "4/3 of bytes", gpu=True
    )
    def measure_row_sum(floor):
        from numbalite import cuda

        host = small_integers((rows, columns))
        x = cuda.to_device(host)
        out = np.sum(x, axis)
        close(out.copy_to_host(), host.sum(axis))
        least = floor.memory_time(host.nbytes)
        return device_median(lambda: np.sum(x, axis, out=out)), least, 4 / 3 * least


sum_row("A5", (ROWS, 16), 0)
sum_row("A6", (ROWS, 16), 1)
sum_row("A7", (16, ROWS), 0)


@register_row("A8", "copy of a transposed 8192 x 8192 float32", "us", "1.1 x copy", gpu=True)
def transposed_copy(floor):
    from numbalite import cuda

    host = small_integers((SIDE, SIDE))
    x = cuda.to_device(host)
    out = x.T.copy()
    close(out.copy_to_host(), host.T)
    least = floor.memory_time(2 * host.nbytes)
    return device_median(lambda: out.copy_to_device(x.T)), least, 1.1 * least


@register_row("A9", "np.vecdot of 100 000 rows of 1000 float32", "us", "1.1 x bytes", gpu=True)
def row_products(floor):
    from numbalite import cuda

    if not hasattr(np, "vecdot"):
        raise RowSkipped("NumPy 2.0 and later have vecdot")
    host = small_integers((ROWS // 10, 1000))
    x, y = cuda.to_device(host), cuda.to_device(host)
    close(np.vecdot(x, y).copy_to_host(), (host * host).sum(1))
    least = floor.memory_time(2 * host.nbytes)
    return device_median(lambda: np.vecdot(x, y), 5), least, 1.1 * least


@register_row("A10", "np.sort of 2^28 float32", "us", "CuPy's", gpu=True)
def long_sort(floor):
    from numbalite import cuda

    host = np.random.default_rng(6).random(2 * MANY, np.float32)
    x = cuda.to_device(host)
    got = np.sort(x).copy_to_host()
    assert (got[1:] >= got[:-1]).all()
    close(got.sum(dtype="f8"), host.sum(dtype="f8"), 1e-12)
    return device_median(lambda: np.sort(x), 2, 5), None, floor.peer_time("cupy", "A10")


@register_row("A11", "np.sort of 1000 float32", "us", "12", gpu=True)
def short_sort(floor):
    from numbalite import cuda

    host = np.random.default_rng(6).random(1000, np.float32)
    x = cuda.to_device(host)
    close(np.sort(x).copy_to_host(), np.sort(host))
    return (
        median_in_turn(make_call_measure(lambda: np.sort(x), cuda.synchronize), count=500)[0],
        None,
        12,
    )


@register_row("A12", "launch with 3 torch tensors + int, prebound", "us", "launch + 1", gpu=True)
def launch_torch(floor):
    try:
        import torch
    except ImportError:
        raise RowSkipped("torch is not installed") from None
    from numbalite import cuda

    if not torch.cuda.is_available():
        raise RowSkipped("this torch has no GPU")
    kernel = cuda.jit("__global__ void k(array<const float> a, array<const float> b, array<float> c, int n) {"
                      " int i = grid<1>(); if (i < n) c[i] = a[i] + b[i]; }")  # fmt: skip
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    bound = kernel[4, 256]
    bound(x, x, y, 1000)
    assert (y == 2).all().item()
    ours = make_call_measure(lambda: bound(x, x, y, 1000), cuda.synchronize)
    ours, least = median_in_turn(ours, floor.driver_call("launch"), count=1000)
    return ours, least, least + 1


def make_gufuncs():
    """Returns the generalized ufuncs of rows A13 and A14."""
    from numbalite import guvectorize

    @guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->()", target="cuda")
    def dot(a, b, c):
        """
        float t = 0;
        for (int i = 0; i < a.size(); ++i) t += a[i] * b[i];
        c[0] = t;
        """

    @guvectorize(["void(float32[:], float32[:])"], "(n)->(n)", target="cuda")
    def running_sum(x, y):
        """
        float t = 0;
        for (int i = 0; i < x.size(); ++i) { t += x[i]; y[i] = t; }
        """

    return dot, running_sum


@register_row("A13", "gufunc: dot products of 100 000 rows of 1000", "us", "1.1 x bytes", gpu=True)
def gufunc_dot(floor):
    from numbalite import cuda

    dot, _ = make_gufuncs()
    host = small_integers((ROWS // 10, 1000))
    x, y = cuda.to_device(host), cuda.to_device(host)
    close(dot(x, y).copy_to_host(), (host * host).sum(1))
    least = floor.memory_time(2 * host.nbytes)
    return device_median(lambda: dot(x, y), 5), least, 1.1 * least


@register_row("A14", "gufunc: running sums of 1 000 000 rows of 64", "us", "1.5 x bytes", gpu=True)
def gufunc_running(floor):
    from numbalite import cuda

    _, running = make_gufuncs()
    host = small_integers((ROWS, 64))
    x = cuda.to_device(host)
    close(running(x).copy_to_host(), host.cumsum(1))
    least = floor.memory_time(2 * host.nbytes)
    return device_median(lambda: running(x), 5), least, 1.5 * least


@register_row("A15", "gufunc: 200 000 products of 8 x 8 matrices", "us", "torch's", gpu=True)
def gufunc_products(floor):
    from numbalite import cuda

    product = make_ufuncs()["product"]
    host = small_integers((ROWS // 5, 8, 8))
    x, y = cuda.to_device(host), cuda.to_device(host)
    close(product(x, y).copy_to_host(), host @ host)
    least = floor.memory_time(3 * host.nbytes)
    return device_median(lambda: product(x, y), 5), least, floor.peer_time("torch", "A15")
