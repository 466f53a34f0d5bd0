"""Streams and events: concurrency and order."""

import ctypes
import threading
import time

u64 = ctypes.c_uint64
size_t = ctypes.c_size_t
LONG = 30_000_000  # ns
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def counter_address(counter):
    return ctypes.addressof(counter)


def test_launch_returns_at_once(driver, counter, running_kernel):
    for turn in range(1, 4):
        with running_kernel():
            assert driver.code("cuStreamQuery", None) == 600
            assert counter.value == turn - 1
        assert counter.value == turn
        assert driver.code("cuStreamQuery", None) == 0


def test_queued_work_runs_without_a_wait(driver, kernels, counter, streams):
    kernels.spin_ns(1, 1, counter_address(counter), 1000, stream=streams())
    end = time.monotonic() + 10
    while counter.value == 0 and time.monotonic() < end:
        time.sleep(0.001)
    assert counter.value == 1


def test_work_of_a_stream_runs_in_order(driver, kernels, counter, streams):
    stream = streams(1)
    data = driver.upload([0])
    for i in range(50):
        kernels.write_at(1, 1, data, 0, i, stream=stream)
        driver.cuMemcpyDtoHAsync(
            ctypes.c_void_p(counter_address(counter) + 4 * (i % 10)), u64(data), size_t(4), stream
        )
    driver.cuStreamSynchronize(stream)
    assert list((ctypes.c_int * 10).from_address(counter_address(counter))) == list(range(40, 50))
    driver.free(data)


def test_default_stream_is_ordered_with_blocking_streams(driver, kernels, counter, streams):
    stream, seen = streams(0), u64()
    kernels.spin_ns(1, 1, counter_address(counter), LONG, stream=stream)
    driver.cuMemcpyDtoHAsync(ctypes.byref(seen), u64(counter_address(counter)), size_t(4), None)
    assert seen.value == 1
    kernels.spin_ns(1, 1, counter_address(counter), LONG)
    driver.cuMemcpyDtoHAsync(ctypes.byref(seen), u64(counter_address(counter)), size_t(4), stream)
    assert seen.value == 2


def test_default_stream_is_not_ordered_with_non_blocking_streams(
    driver, counter, streams, running_kernel
):
    stream, seen = streams(1), u64(9)
    with running_kernel(stream):
        driver.cuMemcpyDtoHAsync(ctypes.byref(seen), u64(counter_address(counter)), size_t(4), None)
        assert seen.value == 0
    with running_kernel():
        driver.cuMemcpyDtoHAsync(
            ctypes.byref(seen), u64(counter_address(counter)), size_t(4), stream
        )
        assert seen.value == 1


def test_default_stream_synchronization_waits_for_blocking_streams(
    driver, kernels, counter, streams
):
    kernels.spin_ns(1, 1, counter_address(counter), LONG, stream=streams())
    driver.cuStreamSynchronize(None)
    assert counter.value == 1


def test_each_thread_has_its_default_stream(driver, counter, running_kernel):
    mine = ctypes.c_void_p(2)
    results = []

    def other():
        driver.retain(0)
        results.append(driver.code("cuStreamQuery", mine))
        driver.cuDevicePrimaryCtxRelease(0)

    thread = threading.Thread(target=other)
    with running_kernel(mine):
        assert driver.code("cuStreamQuery", mine) == 600
        thread.start()
        thread.join()
    assert results == [0]
    assert counter.value == 1


def test_events_order_streams(driver, kernels, counter, streams, running_kernel):
    first, second = streams(1), streams(1)
    event = driver.event(2)
    assert driver.code("cuEventQuery", event) == 0  # never recorded
    with running_kernel(first):
        driver.cuEventRecord(event, first)
        assert driver.code("cuEventQuery", event) == 600
        driver.cuStreamWaitEvent(second, event, 0)
        kernels.spin_ns(1, 1, counter_address(counter), 0, stream=second)
        driver.cuEventDestroy(event)  # still waited for
        assert counter.value == 0
    driver.cuStreamSynchronize(second)
    assert counter.value == 2


def test_events_measure_elapsed_time(driver, kernels, counter, streams, running_kernel):
    stream = streams(1)
    start, end, untimed = driver.event(), driver.event(), driver.event(2)
    took = ctypes.c_float()
    assert driver.code("cuEventElapsedTime", ctypes.byref(took), start, end) == 400
    driver.cuEventRecord(start, stream)
    with running_kernel(stream):
        kernels.spin_ns(1, 1, counter_address(counter), LONG, stream=stream)
        driver.cuEventRecord(end, stream)
        driver.cuEventRecord(untimed, stream)
        assert driver.code("cuEventElapsedTime", ctypes.byref(took), start, end) == 600
    driver.cuEventSynchronize(end)
    driver.cuEventElapsedTime(ctypes.byref(took), start, end)
    assert LONG / 1e6 <= took.value < 1000 * LONG / 1e6
    assert driver.code("cuEventElapsedTime", ctypes.byref(took), start, untimed) == 400
    for event in (start, end, untimed):
        driver.cuEventDestroy(event)
        assert driver.code("cuEventQuery", event) == 400


def test_host_functions_run_in_stream_order(driver, kernels, counter, streams, running_kernel):
    stream = streams(1)
    seen = []
    callback = HOST(lambda data: seen.append((data, counter.value, threading.get_ident())))
    with running_kernel(stream):
        driver.cuLaunchHostFunc(stream, callback, ctypes.c_void_p(5))
        kernels.spin_ns(1, 1, counter_address(counter), 0, stream=stream)
        assert seen == []
    assert [s[:2] for s in seen] == [(5, 1)]
    assert seen[0][2] != threading.get_ident()
    assert counter.value == 2


def test_host_functions_may_wait_for_another_stream(driver, kernels, counter, streams):
    first, second = streams(1), streams(1)
    gate = threading.Event()
    wait = HOST(lambda data: gate.wait(60) and None)
    go = HOST(lambda data: gate.set())
    driver.cuLaunchHostFunc(first, wait, None)
    driver.cuLaunchHostFunc(second, go, None)
    driver.cuStreamSynchronize(first)
    assert gate.is_set()


def test_pageable_memory_may_change_after_the_call(driver, kernels, counter, streams):
    stream = streams(1)
    sizes = [100, 1_000_000]
    pointers = [driver.alloc(size) for size in sizes]
    kernels.spin_ns(1, 1, counter_address(counter), LONG, stream=stream)
    for pointer, size in zip(pointers, sizes):
        buffer = ctypes.create_string_buffer(b"\1" * size, size)
        driver.cuMemcpyHtoDAsync(u64(pointer), buffer, size_t(size), stream)
        ctypes.memset(buffer, 2, size)
    driver.cuStreamSynchronize(stream)
    for pointer, size in zip(pointers, sizes):
        assert driver.download(pointer, size, "B") == [1] * size
        driver.free(pointer)


def test_destroyed_handles_are_rejected(driver, kernels):
    stream = driver.stream()
    driver.cuStreamDestroy(stream)
    assert driver.code("cuStreamSynchronize", stream) == 400
    assert driver.code("cuStreamDestroy", stream) == 400
    assert driver.code("cuStreamQuery", ctypes.c_void_p(0x1234)) == 400
    assert driver.launch_code(kernels.handle("vadd"), 1, 1, stream=stream) == 400
    assert driver.launch_code(ctypes.c_void_p(0x1230), 1, 1) == 400


def test_stream_flags_and_capture_status_are_returned(driver, streams):
    value = ctypes.c_uint()
    driver.cuStreamGetFlags(streams(1), ctypes.byref(value))
    assert value.value == 1
    status = ctypes.c_int(9)
    driver.cuStreamIsCapturing(streams(), ctypes.byref(status))
    assert status.value == 0


def test_threads_launch_on_their_own_streams(driver, image, kernels):
    """Each thread has its own stream and array; all threads launch the same kernels."""
    errors = []

    def work(seed):
        try:
            driver.retain(0)
            stream = driver.stream(seed % 2)
            data = driver.upload([0] * 256)
            for _ in range(100):
                kernels.reverse(2, 128, data, stream=stream)
                kernels.lonely(1, 128, data, 5, stream=stream)
            driver.cuStreamSynchronize(stream)
            assert sum(driver.download(data, 256)) == 128 * 100
            driver.free(data)
            driver.cuStreamDestroy(stream)
            driver.cuDevicePrimaryCtxRelease(0)
        except Exception as error:
            errors.append(error)

    kernels.reverse, kernels.lonely
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
