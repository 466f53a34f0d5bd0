"""Launches on a stream with page-locked host arrays return before their copies are complete."""

import gc
import random
import time
import weakref

import numpy as np
import pytest
from kit import calls
from kit.gates import KernelGate, gate_in

from numbalite import cuda


@cuda.jit
def axpy(a, x, y, n):
    i = cuda.grid(1)
    if i < n:
        y[i] += np.float32(a) * x[i]


def pinned_array_of(values):
    array = cuda.pinned_array_like(values)
    array[:] = values
    return array


def return_unchanged(array):
    return array


def test_launches_with_page_locked_arguments_are_asynchronous():
    stream = cuda.stream()
    x, y = pinned_array_of(np.arange(1000, dtype="f4")), pinned_array_of(np.ones(1000, "f4"))
    axpy[8, 128, stream](0, x, y, 1000)  # CUDA waits for the whole device while it loads a kernel
    stream.synchronize()
    gate, passed = gate_in(stream)
    axpy[8, 128, stream](2, x, y, 1000)
    assert (y == 1).all() and not passed.is_set()
    gate.set()
    stream.synchronize()
    assert (y == 1 + 2 * x).all()


@pytest.mark.parametrize("size", [5000, 1 << 20])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_streams_do_not_wait_for_each_other(size, non_blocking):
    """The host waits neither for the allocation of the arrays' memory nor for its release."""
    held, free = cuda.stream(non_blocking=non_blocking), cuda.stream(non_blocking=non_blocking)
    arrays = [pinned_array_of(np.ones(size, "f4")) for _ in range(4)]
    blocks = size // 128 + 1
    for stream in held, free:  # CUDA waits for the whole device while it loads a kernel
        KernelGate(stream).open()
        axpy[blocks, 128, stream](0, arrays[0], arrays[1], size)
        stream.synchronize()
    with KernelGate(held) as gate:
        axpy[blocks, 128, held](2, arrays[0], arrays[1], size)
        for _ in range(3):
            axpy[blocks, 128, free](1, arrays[2], arrays[3], size)
        free.synchronize()
        assert not gate.was_passed() and (arrays[1] == 1).all() and (arrays[3] == 4).all()
    held.synchronize()
    assert gate.was_passed() and (arrays[1] == 3).all()


def test_page_locked_arrays_are_kept_until_the_stream_ends(count_live):
    axpy[1, 128](2, np.ones(1, "f4"), np.ones(1, "f4"), 1)  # compiles
    before = count_live()
    stream = cuda.stream()
    x, y = pinned_array_of(np.ones(5000, "f4")), pinned_array_of(np.zeros(5000, "f4"))
    memory = [weakref.ref(array.base) for array in (x, y)]
    gate, _ = gate_in(stream)
    axpy[40, 128, stream](2, cuda.In(x), y, 5000)
    del x, y
    gc.collect()
    assert all(block() is not None for block in memory)
    gate.set()
    stream.synchronize()
    for _ in range(100):
        cuda.to_device(np.zeros(3))  # releases the objects that the stream no longer needs
        if not any(block() for block in memory):
            break
        time.sleep(0.01)
    del stream
    assert count_live() == before


@pytest.mark.parametrize("wrap", [cuda.Out, cuda.InOut, return_unchanged])
def test_page_locked_launches_make_no_waiting_driver_call(wrap):
    stream = cuda.stream()
    x, y = pinned_array_of(np.ones(5000, "f4")), pinned_array_of(np.zeros(5000, "f4"))
    names = calls.driver_calls_when_warm(lambda: axpy[40, 128, stream](2, x, wrap(y), 5000))
    assert not any("Synchronize" in name for name in names), names
    assert names.count("cuLaunchKernel") == 1


@pytest.mark.parametrize("seed", range(30))
def test_host_arguments_of_every_kind_keep_results_on_streams(seed):
    """Tests page-locked and ordinary arrays and their slices, with copies to the device only, and with copies
    in both directions."""
    draw = random.Random(seed)
    streams = [cuda.stream(), cuda.stream(non_blocking=True), cuda.stream(priority=-1)]
    results = []
    for _ in range(12):
        stream = draw.choice([0, *streams])
        n = draw.choice([1, 100, 5000, 70_000, 300_000])
        x, y = (draw_array(draw, n) for _ in range(2))
        expected = y + np.float32(3) * x
        read, written = (
            draw.choice([cuda.In, return_unchanged]),
            draw.choice([cuda.InOut, return_unchanged]),
        )
        axpy[n // 128 + 1, 128, stream](3, read(x), written(y), n)
        results.append((y, expected))
        if draw.random() < 0.2:
            draw.choice(streams).synchronize()
    for stream in streams:
        stream.synchronize()
    for y, expected in results:
        assert np.array_equal(y, expected)


def draw_array(draw, n):
    step = draw.choice([1, 1, 2])
    values = np.frombuffer(draw.randbytes(n * step), np.uint8).astype("f4")
    return (pinned_array_of(values) if draw.random() < 0.7 else values)[::step]


def test_an_ordinary_output_is_waited_for():
    stream = cuda.stream()
    x, y = pinned_array_of(np.ones(100, "f4")), np.zeros(100, "f4")
    axpy[1, 128, stream](2, x, y, 100)
    assert (y == 2).all()


def test_the_default_stream_is_waited_for():
    x, y = pinned_array_of(np.ones(100, "f4")), pinned_array_of(np.zeros(100, "f4"))
    axpy[1, 128](2, x, y, 100)
    assert (y == 2).all()
