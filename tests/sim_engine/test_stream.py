"""Tests streams and events: concurrency and order."""

import ctypes
import threading
import time

u64 = ctypes.c_uint64
size_t = ctypes.c_size_t
LONG = 30_000_000  # ns
HOST = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def counter_address(counter):
    return ctypes.addressof(counter)


def test_launch_returns_at_once(sim_driver, shared_counter, running_kernel):
    for turn in range(1, 4):
        with running_kernel():
            assert sim_driver.code("cuStreamQuery", None) == 600
            assert shared_counter.value == turn - 1
        assert shared_counter.value == turn
        assert sim_driver.code("cuStreamQuery", None) == 0


def test_queued_work_runs_without_a_wait(sim_driver, engine_kernels, shared_counter, make_stream):
    engine_kernels.spin_ns(1, 1, counter_address(shared_counter), 1000, stream=make_stream())
    end = time.monotonic() + 10
    while shared_counter.value == 0 and time.monotonic() < end:
        time.sleep(0.001)
    assert shared_counter.value == 1


def test_work_of_a_stream_runs_in_order(sim_driver, engine_kernels, shared_counter, make_stream):
    stream = make_stream(1)
    data = sim_driver.upload([0])
    for i in range(50):
        engine_kernels.write_at(1, 1, data, 0, i, stream=stream)
        sim_driver.cuMemcpyDtoHAsync(
            ctypes.c_void_p(counter_address(shared_counter) + 4 * (i % 10)),
            u64(data),
            size_t(4),
            stream,
        )
    sim_driver.cuStreamSynchronize(stream)
    assert list((ctypes.c_int * 10).from_address(counter_address(shared_counter))) == list(
        range(40, 50)
    )
    sim_driver.free(data)


def test_default_stream_is_ordered_with_blocking_streams(
    sim_driver, engine_kernels, shared_counter, make_stream
):
    stream, seen = make_stream(0), u64()
    engine_kernels.spin_ns(1, 1, counter_address(shared_counter), LONG, stream=stream)
    sim_driver.cuMemcpyDtoHAsync(
        ctypes.byref(seen), u64(counter_address(shared_counter)), size_t(4), None
    )
    assert seen.value == 1
    engine_kernels.spin_ns(1, 1, counter_address(shared_counter), LONG)
    sim_driver.cuMemcpyDtoHAsync(
        ctypes.byref(seen), u64(counter_address(shared_counter)), size_t(4), stream
    )
    assert seen.value == 2


def test_default_stream_is_not_ordered_with_non_blocking_streams(
    sim_driver, shared_counter, make_stream, running_kernel
):
    stream, seen = make_stream(1), u64(9)
    with running_kernel(stream):
        sim_driver.cuMemcpyDtoHAsync(
            ctypes.byref(seen), u64(counter_address(shared_counter)), size_t(4), None
        )
        assert seen.value == 0
    with running_kernel():
        sim_driver.cuMemcpyDtoHAsync(
            ctypes.byref(seen), u64(counter_address(shared_counter)), size_t(4), stream
        )
        assert seen.value == 1


def test_default_stream_synchronization_waits_for_blocking_streams(
    sim_driver, engine_kernels, shared_counter, make_stream
):
    engine_kernels.spin_ns(1, 1, counter_address(shared_counter), LONG, stream=make_stream())
    sim_driver.cuStreamSynchronize(None)
    assert shared_counter.value == 1


def test_each_thread_has_its_default_stream(sim_driver, shared_counter, running_kernel):
    mine = ctypes.c_void_p(2)
    results = []

    def query_default_streams():
        sim_driver.retain(0)
        results.append(sim_driver.code("cuStreamQuery", mine))
        sim_driver.cuDevicePrimaryCtxRelease(0)

    thread = threading.Thread(target=query_default_streams)
    with running_kernel(mine):
        assert sim_driver.code("cuStreamQuery", mine) == 600
        thread.start()
        thread.join()
    assert results == [0]
    assert shared_counter.value == 1


def test_events_order_streams(
    sim_driver, engine_kernels, shared_counter, make_stream, running_kernel
):
    first, second = make_stream(1), make_stream(1)
    event = sim_driver.event(2)
    assert sim_driver.code("cuEventQuery", event) == 0  # never recorded
    with running_kernel(first):
        sim_driver.cuEventRecord(event, first)
        assert sim_driver.code("cuEventQuery", event) == 600
        sim_driver.cuStreamWaitEvent(second, event, 0)
        engine_kernels.spin_ns(1, 1, counter_address(shared_counter), 0, stream=second)
        sim_driver.cuEventDestroy(event)  # still waited for
        assert shared_counter.value == 0
    sim_driver.cuStreamSynchronize(second)
    assert shared_counter.value == 2


def test_events_measure_elapsed_time(
    sim_driver, engine_kernels, shared_counter, make_stream, running_kernel
):
    stream = make_stream(1)
    start, end, untimed = sim_driver.event(), sim_driver.event(), sim_driver.event(2)
    took = ctypes.c_float()
    assert sim_driver.code("cuEventElapsedTime", ctypes.byref(took), start, end) == 400
    sim_driver.cuEventRecord(start, stream)
    with running_kernel(stream):
        engine_kernels.spin_ns(1, 1, counter_address(shared_counter), LONG, stream=stream)
        sim_driver.cuEventRecord(end, stream)
        sim_driver.cuEventRecord(untimed, stream)
        assert sim_driver.code("cuEventElapsedTime", ctypes.byref(took), start, end) == 600
    sim_driver.cuEventSynchronize(end)
    sim_driver.cuEventElapsedTime(ctypes.byref(took), start, end)
    assert LONG / 1e6 <= took.value < 1000 * LONG / 1e6
    assert sim_driver.code("cuEventElapsedTime", ctypes.byref(took), start, untimed) == 400
    for event in (start, end, untimed):
        sim_driver.cuEventDestroy(event)
        assert sim_driver.code("cuEventQuery", event) == 400


def test_host_functions_run_in_stream_order(
    sim_driver, engine_kernels, shared_counter, make_stream, running_kernel
):
    stream = make_stream(1)
    seen = []
    callback = HOST(lambda data: seen.append((data, shared_counter.value, threading.get_ident())))
    with running_kernel(stream):
        sim_driver.cuLaunchHostFunc(stream, callback, ctypes.c_void_p(5))
        engine_kernels.spin_ns(1, 1, counter_address(shared_counter), 0, stream=stream)
        assert seen == []
    assert [s[:2] for s in seen] == [(5, 1)]
    assert seen[0][2] != threading.get_ident()
    assert shared_counter.value == 2


def test_host_functions_may_wait_for_another_stream(
    sim_driver, engine_kernels, shared_counter, make_stream
):
    first, second = make_stream(1), make_stream(1)
    gate = threading.Event()
    wait = HOST(lambda data: gate.wait(60) and None)
    go = HOST(lambda data: gate.set())
    sim_driver.cuLaunchHostFunc(first, wait, None)
    sim_driver.cuLaunchHostFunc(second, go, None)
    sim_driver.cuStreamSynchronize(first)
    assert gate.is_set()


def test_pageable_memory_may_change_after_the_call(
    sim_driver, engine_kernels, shared_counter, make_stream
):
    stream = make_stream(1)
    sizes = [100, 1_000_000]
    pointers = [sim_driver.alloc(size) for size in sizes]
    engine_kernels.spin_ns(1, 1, counter_address(shared_counter), LONG, stream=stream)
    for pointer, size in zip(pointers, sizes):
        buffer = ctypes.create_string_buffer(b"\1" * size, size)
        sim_driver.cuMemcpyHtoDAsync(u64(pointer), buffer, size_t(size), stream)
        ctypes.memset(buffer, 2, size)
    sim_driver.cuStreamSynchronize(stream)
    for pointer, size in zip(pointers, sizes):
        assert sim_driver.download(pointer, size, "B") == [1] * size
        sim_driver.free(pointer)


def test_destroyed_handles_are_rejected(sim_driver, engine_kernels):
    stream = sim_driver.stream()
    sim_driver.cuStreamDestroy(stream)
    assert sim_driver.code("cuStreamSynchronize", stream) == 400
    assert sim_driver.code("cuStreamDestroy", stream) == 400
    assert sim_driver.code("cuStreamQuery", ctypes.c_void_p(0x1234)) == 400
    assert sim_driver.launch_code(engine_kernels.handle("vadd"), 1, 1, stream=stream) == 400
    assert sim_driver.launch_code(ctypes.c_void_p(0x1230), 1, 1) == 400


def test_stream_flags_and_capture_status_are_returned(sim_driver, make_stream):
    value = ctypes.c_uint()
    sim_driver.cuStreamGetFlags(make_stream(1), ctypes.byref(value))
    assert value.value == 1
    status = ctypes.c_int(9)
    sim_driver.cuStreamIsCapturing(make_stream(), ctypes.byref(status))
    assert status.value == 0


def test_threads_launch_on_their_own_streams(sim_driver, kernel_image, engine_kernels):
    """Each thread has its own stream and array; all threads launch the same kernels."""
    errors = []

    def launch_on_own_stream(seed):
        try:
            sim_driver.retain(0)
            stream = sim_driver.stream(seed % 2)
            data = sim_driver.upload([0] * 256)
            for _ in range(100):
                engine_kernels.reverse(2, 128, data, stream=stream)
                engine_kernels.lonely(1, 128, data, 5, stream=stream)
            sim_driver.cuStreamSynchronize(stream)
            assert sum(sim_driver.download(data, 256)) == 128 * 100
            sim_driver.free(data)
            sim_driver.cuStreamDestroy(stream)
            sim_driver.cuDevicePrimaryCtxRelease(0)
        except Exception as error:
            errors.append(error)

    engine_kernels.reverse, engine_kernels.lonely
    threads = [threading.Thread(target=launch_on_own_stream, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
