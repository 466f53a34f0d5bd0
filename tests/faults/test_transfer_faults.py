"""Strided copies when the n-th driver call or allocation fails: an exception, no leak, no element
outside the view changed, and the same copy works afterwards."""

import gc

import numpy as np
import pytest

from numbalite import _core, cuda, errors

CLEAN = (errors.CudaAPIError, errors.KernelError, MemoryError)
HOST = np.arange(64 * 48, dtype="f4").reshape(64, 48)


def transfer_cases(there):
    yield "strided device", there[:, ::3], np.ascontiguousarray(HOST[:, ::3])
    yield "strided host", there, np.asfortranarray(HOST)
    yield "both", there[::2, 1::2], HOST[::2, 1::2]
    yield "reversed host", there[:, :20], HOST[:, 19::-1]


def live_objects():
    gc.collect()
    return _core.live()


def fail_each_step(operation, check, arm, limit=60):
    """Fails step 1, 2, 3... until the operation has fewer steps."""
    operation()
    before = live_objects()
    for step in range(1, limit):
        arm(step)
        try:
            operation()
        except CLEAN as error:
            assert str(error) or isinstance(error, MemoryError)
        finally:
            reached = arm(0)
        check()
        if reached < step:
            return step - 1
        assert live_objects() == before, f"step {step}"
        operation()
        assert live_objects() == before, f"after step {step}"
    raise AssertionError("this never succeeds")


FAULTS = {
    "call": lambda n: _core.fail_call_at(n, 1),
    "memory": lambda n: _core.fail_call_at(n, 2),
    "host memory": _core.fail_alloc_at,
}


@pytest.mark.sim
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("direction", ["write", "read", "fill"])
def test_transfers_survive_a_failure_at_each_step(fault, case, direction):
    there = cuda.to_device(np.full_like(HOST, -1))
    _name, view, host = list(transfer_cases(there))[case]
    mask = np.ones(HOST.shape, bool)
    mask[{0: np.s_[:, ::3], 1: np.s_[:], 2: np.s_[::2, 1::2], 3: np.s_[:, :20]}[case]] = False
    into = np.empty_like(host)
    operations = {
        "write": lambda: _core.DeviceArray._write(view, host, 0),
        "read": lambda: _core.DeviceArray._read(view, into, 0),
        "fill": lambda: _core.DeviceArray._fill(view, np.array(2.5, "f4"), 0),
    }

    def assert_outside_unwritten():
        assert (there.copy_to_host()[mask] == -1).all(), "an element outside the view was written"

    assert (
        fail_each_step(operations[direction], assert_outside_unwritten, FAULTS[fault])
        or fault == "host memory"
    )
    if direction == "write":
        back = np.empty(view.shape, "f4")
        view._read(back, 0)
        assert np.array_equal(back, host)


@pytest.mark.sim
@pytest.mark.parametrize("fault", FAULTS)
def test_streams_and_events_survive_a_failure_at_each_step(fault):
    stream, event = _core.Stream(), _core.Event()

    def use_stream_and_event():
        own, mark = _core.Stream(non_blocking=True), _core.Event(timing=False)
        mark.record(own)
        own.wait_event(mark)
        event.record(stream)
        mark.wait(stream)
        mark.query(), own.query()
        wrapped = _core.Stream.wrap(own.handle, own)
        array = _core.device_empty(100, "f4")
        array._fill(np.array(1, "f4"), wrapped)
        own.synchronize()
        _core.memory_info()

    assert fail_each_step(use_stream_and_event, lambda: None, FAULTS[fault])
