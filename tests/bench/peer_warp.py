"""Measures benchmark rows with NVIDIA Warp, whose kernels have Python bodies with annotated
parameters."""

import tempfile
import time

import numpy as np
import warp as wp
from peer_measure import (
    LARGE,
    assert_result,
    event_times,
    import_time,
    large_copies,
    median,
    run_row,
    time_row,
)

HOST = np.arange(1000, dtype=np.float32)


@wp.kernel(module="unique")
def add(a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), n: int):
    i = wp.tid()
    if i < n:
        c[i] = a[i] + b[i]


def make_scaling_kernel(factor):
    """Returns a kernel that has not been compiled before."""

    @wp.kernel(module="unique")
    def scale_kernel(
        a: wp.array(dtype=float), b: wp.array(dtype=float), c: wp.array(dtype=float), n: int
    ):
        i = wp.tid()
        if i < n:
            c[i] = a[i] * wp.static(float(factor)) + b[i]

    return scale_kernel


def measure_warp_rows(device="cuda"):
    wp.config.enable_backward = False  # the others compile no derivatives
    with tempfile.TemporaryDirectory() as folder:
        wp.config.kernel_cache_dir = folder
        wp.init()
        with wp.ScopedDevice(device):
            measure_launches()
            measure_memory()
            measure_bandwidth()
            measure_compilation()


def measure_launches():
    x, y = wp.array(HOST, dtype=float), wp.zeros(1000, dtype=float)
    call = lambda: wp.launch(add, dim=1024, inputs=[x, x, y, 1000])
    time_row("L3", call, 2 * HOST, 1000, wp.synchronize, read=lambda _: y.numpy())
    recorded = wp.launch(add, dim=1024, inputs=[x, x, y, 1000], record_cmd=True)
    time_row("L1", recorded.launch, 2 * HOST, 1000, wp.synchronize, read=lambda _: y.numpy())


def measure_memory():
    get = lambda d: d.numpy()
    x = wp.array(HOST, dtype=float)
    time_row("M1", lambda: wp.empty(1 << 18, dtype=float), [1 << 18], 1000, read=lambda d: d.shape)
    time_row("M2", lambda: x[10:100], HOST[10:100], 500, read=get)
    large_copies(lambda a: (wp.array(a), wp.synchronize())[0], get)
    time_row("T3a", lambda: (wp.array(HOST), wp.synchronize())[0], HOST, 50, read=get)
    time_row("T3b", x.numpy, HOST, 50)


def measure_bandwidth():
    def record_event():
        event = wp.Event(enable_timing=True)
        wp.record_event(event)
        return event

    @run_row("U3")
    def time_large_add():
        host = np.arange(LARGE, dtype=np.float32)
        a, b, c = wp.array(host), wp.array(host), wp.zeros(LARGE, dtype=float)
        call = lambda: wp.launch(add, dim=LARGE, inputs=[a, b, c, LARGE])
        call()
        assert_result(c[-99:].numpy(), 2 * host[-99:])
        return event_times(call, record_event, wp.synchronize, wp.get_event_elapsed_time)

    @run_row("U6")
    def time_large_sum():
        total, ones = wp.utils.array_sum, wp.full(LARGE, 1.0, dtype=float)
        assert_result(total(ones), LARGE)
        return median(lambda: total(ones), 5)


def measure_compilation():
    x, y = wp.array(HOST, dtype=float), wp.zeros(1000, dtype=float)

    @run_row("C1")
    def time_compilation():
        seconds = []
        for number in range(3):
            factor = time.time_ns() % 10007 + number
            start = time.perf_counter()
            wp.launch(make_scaling_kernel(factor), dim=1024, inputs=[x, x, y, 1000])
            wp.synchronize()
            seconds.append(time.perf_counter() - start)
            assert_result(y.numpy(), HOST * (factor + 1))
        return min(seconds) * 1e6

    run_row("C4")(lambda: import_time("import warp"))
