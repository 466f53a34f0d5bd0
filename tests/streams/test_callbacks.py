"""Tests stream callbacks: allowed operations, objects that they release, and the end of the
program."""

import gc
import threading

import numpy as np
import pytest

from numbalite import _core, cuda


def test_device_calls_in_a_callback_raise():
    """The stream waits for its callback, so a call in the callback that waits for the stream would never
    return."""
    stream, problems = _core.Stream(), []

    def use_device_in_callback():
        for operation in (
            cuda.synchronize,
            _core.Stream,
            stream.synchronize,
            stream.query,
            lambda: cuda.to_device(np.arange(3)),
            lambda: stream.add_callback(print),
            cuda.close,
            cuda.gpus[0].reset,
            context.reset,
        ):
            try:
                operation()
            except RuntimeError as error:
                problems.append(str(error))

    context = cuda.current_context()
    stream.add_callback(use_device_in_callback)
    stream.synchronize()
    assert len(problems) == 9, problems
    assert all("stream callback must not use the device" in text for text in problems)
    cuda.synchronize()  # elsewhere nothing has changed


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_callback_may_drop_arrays(non_blocking):
    """The callback also drops objects that can only be freed after a wait for the device: the next wait
    frees them."""
    stream = _core.Stream(non_blocking=non_blocking)
    gc.collect()
    before = _core.live()
    held = [_core.device_empty(1000, "f4")]
    held[0]._fill(np.array(1, "f4"), stream)
    stream.add_callback(held.clear)
    for _ in range(20):  # the next callbacks run while the array of the first callback is freed
        stream.add_callback(lambda: None)
    stream.synchronize()
    assert not held
    _core.synchronize()
    assert _core.live() == before


def test_a_callback_keeps_its_stream():
    gc.collect()  # what earlier tests have left
    before = _core.live()
    done = threading.Event()
    stream = _core.Stream()
    stream.add_callback(lambda: done.wait(60))
    del stream
    assert _core.live()["streams"] == before["streams"] + 1
    done.set()
    cuda.synchronize()
    for _ in range(100):
        if _core.live() == before:
            break
        threading.Event().wait(0.05)
    assert _core.live() == before


def test_callbacks_run_in_stream_order():
    streams, order = [_core.Stream() for _ in range(3)], []

    def add_callbacks(number):
        for step in range(100):
            streams[number].add_callback(lambda step=step: order.append((number, step)))

    threads = [threading.Thread(target=add_callbacks, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cuda.synchronize()
    for number in range(3):
        assert [step for n, step in order if n == number] == list(range(100))


def test_pending_callbacks_run_at_exit(run_python):
    code = """
import time
from numbalite import _core, cuda
stream = _core.Stream()
stream.add_callback(lambda: time.sleep(0.2))
for n in range(5):
    stream.add_callback(lambda n=n: print("callback", n, flush=True))
"""
    result = run_python(code)
    assert result.stdout.split("\n")[:5] == [f"callback {n}" for n in range(5)]
    assert result.stderr == ""


def test_failed_callback_registration_leaks_nothing(driver_kind):
    stream = _core.Stream()
    stream.add_callback(lambda: None)
    cuda.synchronize()
    before = _core.live()
    # With several devices, the first driver call sets the current device.
    _core.fail_call_at(1 if _core.device_count() == 1 else 2, 719)
    try:
        with pytest.raises(Exception, match="cuLaunchHostFunc"):
            stream.add_callback(lambda: None)
    finally:
        _core.fail_call_at(0)
    _core.fail_alloc_at(1)
    try:
        with pytest.raises(MemoryError):
            stream.add_callback(lambda: None)
    finally:
        _core.fail_alloc_at(0)
    assert _core.live() == before


def test_add_callback_rejects_non_callables():
    with pytest.raises(TypeError, match="must be callable, not int"):
        _core.Stream().add_callback(3)
