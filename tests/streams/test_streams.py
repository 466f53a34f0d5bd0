"""Tests streams and events: order, waiting, callbacks, attributes."""

import asyncio
import gc
import threading
import time
import warnings

import numpy as np
import pytest

from numbalite import cuda, errors

NAP = cuda.jit(
    "__global__ void nap(int ms, int* x) { for (int i = 0; i < ms; ++i) __nanosleep(1000000); x[0] += 1; }"
)
WAIT = cuda.jit("__global__ void wait(volatile int* go) { while (!*go) __nanosleep(1000); }")
ADD = cuda.jit("__global__ void add(int* x, int n) { x[0] = x[0] * 2 + n; }")


def launch_napping_kernel(stream, ms, x):
    """Runs a kernel for a given time; it may end earlier than requested, because the tests check only the
    order."""
    NAP[1, 1, stream](ms, x)


@pytest.fixture
def device_int():
    return cuda.to_device(np.zeros(1, "i4"))


def test_stream_work_runs_in_order(device_int):
    stream = cuda.stream()
    expected = 0
    for n in range(10):
        ADD[1, 1, stream](device_int, n)
        expected = expected * 2 + n
    stream.synchronize()
    assert device_int[0] == expected


def test_default_stream_waits_for_blocking_streams(device_int):
    stream = cuda.stream()
    launch_napping_kernel(stream, 30, device_int)
    ADD[1, 1](device_int, 5)  # the legacy default stream runs ADD after the sleeping kernel
    assert device_int.copy_to_host()[0] == 1 * 2 + 5


def test_an_event_orders_two_streams(device_int):
    one, two = cuda.stream(), cuda.stream()
    done = cuda.event()
    launch_napping_kernel(one, 30, device_int)
    done.record(one)
    done.wait(two)
    ADD[1, 1, two](device_int, 7)
    two.synchronize()
    assert device_int[0] == 9


def test_events_measure_elapsed_time(device_int):
    start, end = cuda.event(), cuda.event()
    stream = cuda.stream()
    start.record(stream)
    launch_napping_kernel(stream, 20, device_int)
    end.record(stream)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) > 0
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end)


def test_elapsed_time_of_an_event_without_timing_raises():
    start, end = cuda.event(timing=False), cuda.event(timing=False)
    start.record()
    end.record()
    end.synchronize()
    with pytest.raises(errors.CudaAPIError):
        start.elapsed_time(end)


def test_query_returns_whether_work_is_done():
    stream, end = cuda.stream(), cuda.event()
    go = cuda.mapped_array(1, np.int32)
    go[0] = 0
    WAIT[1, 1, stream](go)
    end.record(stream)
    try:
        assert not end.query() and not stream.query()
    finally:
        go[0] = 1
    end.synchronize()
    assert end.query()


@pytest.mark.parametrize("what", ["device", "default stream"])
def test_stream_synchronization_ignores_other_streams(what):
    """synchronize() waits only for earlier work, although another stream always has more work."""
    stream, steps = cuda.stream(), 200
    go = cuda.mapped_array(steps, np.int32)
    go[:] = 0
    WAIT[1, 1, stream](go[:1])
    wait = cuda.synchronize if what == "device" else cuda.default_stream().synchronize
    thread = threading.Thread(target=wait)
    thread.start()
    for n in range(1, steps):
        WAIT[1, 1, stream](go[n : n + 1])
        go[n - 1] = 1
        thread.join(0.02)
        if not thread.is_alive():
            break
    ended = not thread.is_alive()
    go[:] = 1
    thread.join()
    stream.synchronize()
    assert ended


def test_callbacks_come_in_order_after_the_work(device_int):
    stream = cuda.stream()
    seen = []
    launch_napping_kernel(stream, 20, device_int)
    for n in range(3):
        stream.add_callback(
            lambda s, status, arg: seen.append((s is stream or s == stream, status, arg)), n
        )
    stream.synchronize()
    deadline = time.monotonic() + 10
    while len(seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert [arg for _, _, arg in seen] == [0, 1, 2]
    assert all(status == 0 for _, status, _ in seen)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_callback_that_raises_is_reported_and_survived(device_int, monkeypatch):
    import sys

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: reported.append(info.exc_type))
    stream = cuda.stream()
    stream.add_callback(lambda *arguments: 1 / 0, None)
    stream.synchronize()
    deadline = time.monotonic() + 10
    while not reported and time.monotonic() < deadline:
        time.sleep(0.001)
    assert reported == [ZeroDivisionError]
    ADD[1, 1, stream](device_int, 3)
    stream.synchronize()
    assert device_int[0] == 3


def test_async_done_waits_for_the_stream(device_int):
    async def wait_for_stream():
        stream = cuda.stream()
        launch_napping_kernel(stream, 10, device_int)
        await stream.async_done()
        return device_int.copy_to_host()[0]

    assert asyncio.run(wait_for_stream()) == 1


def test_auto_synchronize_waits_at_block_end(device_int):
    stream = cuda.stream()
    with stream.auto_synchronize() as same:
        assert same is stream
        launch_napping_kernel(stream, 20, device_int)
    assert stream.query() if hasattr(stream, "query") else True


def test_repr_names_the_kind_of_stream():
    assert repr(cuda.default_stream()) == "<Default CUDA stream>"
    assert repr(cuda.legacy_default_stream()) == "<Legacy default CUDA stream>"
    assert repr(cuda.per_thread_default_stream()) == "<Per-thread default CUDA stream>"
    assert "CUDA stream" in repr(cuda.stream())
    assert int(cuda.legacy_default_stream()) == 1 or cuda.legacy_default_stream().handle == 1


def test_external_stream_uses_the_given_handle(device_int):
    inner = cuda.stream()
    outer = cuda.external_stream(int(inner.handle))
    assert "External" in repr(outer)
    ADD[1, 1, outer](device_int, 4)
    outer.synchronize()
    assert device_int[0] == 4
    del outer
    gc.collect()
    inner.synchronize()  # not destroyed with it
    with pytest.raises(TypeError):
        cuda.external_stream("0")


def test_foreign_streams_are_stream_arguments(device_int):
    """Any object with __cuda_stream__ is a valid stream argument."""

    class ObjectWithStream:
        def __init__(self, stream):
            self.stream = stream

        def __cuda_stream__(self):
            return 0, int(self.stream.handle)

    stream = cuda.stream()
    ADD[1, 1, ObjectWithStream(stream)](device_int, 6)
    stream.synchronize()
    assert device_int[0] == 6


@pytest.mark.parametrize("answer", [None, 5, (0,), (0, "x"), (1, 0, 0), ("0", 0)], ids=repr)
def test_invalid_foreign_streams_raise(answer, device_int):
    class ObjectWithBrokenStream:
        def __cuda_stream__(self):
            return answer

    with pytest.raises((TypeError, ValueError)):
        ADD[1, 1, ObjectWithBrokenStream()](device_int, 6)


def test_streams_and_events_are_destroyed_without_references(count_live):
    def use_streams_and_events():
        x = cuda.to_device(np.zeros(20, "i4"))
        for i in range(20):
            stream, event = cuda.stream(), cuda.event()
            ADD[1, 1, stream](x[i:], 1)
            event.record(stream)

    use_streams_and_events()  # loads the kernel, if no other test has loaded it
    before = count_live()
    use_streams_and_events()
    assert count_live() == before


@pytest.mark.leaks
def test_arrays_may_be_deleted_while_a_kernel_uses_them():
    """Memory is freed in stream order, so a running kernel can still use it."""
    out = cuda.to_device(np.zeros(1, "i4"))
    copy = cuda.jit(
        "__global__ void copy(int ms, const int* x, int* y) { for (int i = 0; i < ms; ++i) __nanosleep(1000000); y[0] = x[0]; }"
    )
    stream = cuda.stream()
    for n in range(5):
        temporary = cuda.to_device(np.full(1, n + 1, "i4"))
        copy[1, 1, stream](5, temporary, out)
        del temporary
        cuda.to_device(np.full(1, -1, "i4"))  # wants the same memory
    stream.synchronize()
    assert out[0] == 5
    del out


def test_copies_on_a_stream_complete_after_synchronize(device_int):
    stream = cuda.stream()
    host = np.arange(1000, dtype="f4")
    d = cuda.to_device(host, stream=stream)
    back = np.empty_like(host)
    d.copy_to_host(back, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(back, host)


def test_host_arrays_on_a_stream_are_back_on_return():
    """A launch on a stream with host arrays returns when the results are complete."""
    stream = cuda.stream()
    out = np.zeros(1, "i4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        NAP[1, 1, stream](20, out)
    assert out[0] == 1
