"""Tests the device functions of _core: queries, selection, reset, opening, fork."""

import threading

import numpy as np
import pytest

from numbalite import _core, cuda


def test_device_attributes_have_valid_values():
    cuda.synchronize()
    assert _core.is_open() and _core.driver_kind() in ("cuda", "sim")
    assert _core.open() == _core.driver_kind()
    for name in ("checks", "host_code", "host_memory"):
        assert _core.driver_has(name) == cuda.is_simulated()
    with pytest.raises(ValueError, match="'colour'"):
        _core.driver_has("colour")
    assert _core.driver_version() >= 11040
    assert _core.device_count() >= 1
    assert _core.device_name(0)
    assert len(_core.device_uuid(0)) == 16
    assert _core.device_total_memory(0) > 1 << 20
    assert _core.device_pci_bus_id(0).count(":") == 2
    assert _core.device_attribute(0, 10) == 32  # the warp size
    free, total = _core.memory_info()
    assert 0 < free <= total


@pytest.mark.parametrize("number", [-1, 64, 1 << 40])
def test_invalid_device_numbers_raise(number):
    for ask in _core.device_name, _core.device_uuid, _core.select_device, _core.synchronize_device:
        with pytest.raises(IndexError, match="there is no device"):
            ask(number)


@pytest.mark.parametrize("number", ["0", 0.0, None])
def test_device_number_must_be_an_integer(number):
    for ask in _core.device_name, _core.select_device, _core.reset_device:
        with pytest.raises(TypeError):
            ask(number)


def test_context_limit_is_set_and_rejects_negative_sizes():
    before = _core.context_limit(0)  # the stack
    try:
        assert _core.context_limit(0, 8192) >= 8192
    finally:
        _core.context_limit(0, before)
    with pytest.raises(ValueError):
        _core.context_limit(0, -1)


def test_the_driver_is_chosen_before_it_opens():
    cuda.synchronize()
    other = "cuda" if _core.driver_kind() == "sim" else "sim"
    with pytest.raises(RuntimeError, match="before the first use"):
        _core.configure(other, 1)
    _core.configure(_core.driver_kind(), 1)
    with pytest.raises(ValueError, match='"auto", "cuda" or "sim"'):
        _core.configure("metal", 1)
    with pytest.raises(ValueError, match="1 to 64"):
        _core.configure("sim", 0)


def test_each_thread_has_its_own_device(run_python):
    code = """
import threading
from numbalite import _core, cuda
assert _core.device_count() == 2 and _core.current_device() == 0
seen = []
def record_device():
    seen.append(_core.current_device())
    _core.select_device(1)
    seen.append((_core.current_device(), _core.Stream().device, _core.device_empty(3, "f4").device))
thread = threading.Thread(target=record_device)
thread.start(); thread.join()
assert seen == [0, (1, 1, 1)], seen
assert _core.current_device() == 0 and _core.Stream().device == 0
assert _core.can_access_peer(0, 1) in (True, False)
"""
    run_python(code, NUMBALITE_DRIVER="sim", NUMBALITE_SIM_DEVICES="2")


def test_device_reset_invalidates_objects(run_python):
    """Objects that were created before a reset raise an error when they are used, and are freed
    without a driver call."""
    code = """
import numpy as np
from numbalite import _core, cuda
stream, event, array = _core.Stream(), _core.Event(), cuda.to_device(np.arange(5))
kernel = cuda.jit("__global__ void k(long long* x) { x[0] = 7; }")
kernel[1, 1](array)
_core.reset_device(0)
for use in (stream.synchronize, stream.query, event.query, event.record, lambda: stream.add_callback(print),
            array.copy_to_host, lambda: event.record(stream)):
    try:
        use()
    except RuntimeError as error:
        assert "was reset" in str(error), error
    else:
        raise SystemExit(f"{use} did not notice")
del stream, event, array
again = cuda.to_device(np.arange(5))
fresh = cuda.jit("__global__ void k(long long* x) { x[0] = 7; }")
fresh[1, 1](again)
assert again.copy_to_host()[0] == 7
_core.Stream().synchronize()
"""
    run_python(code)


def test_a_forked_child_raises(run_python):
    code = """
import os, sys, warnings
import numpy as np
from numbalite import _core, cuda
warnings.simplefilter("ignore")
array, stream = cuda.to_device(np.arange(5)), _core.Stream()
child = os.fork()
if child == 0:
    failures = 0
    for use in cuda.synchronize, _core.Stream, array.copy_to_host, stream.synchronize, stream.query:
        try:
            use()
        except RuntimeError as error:
            failures += "spawn" in str(error)
    del array, stream
    sys.stdout.flush()
    os._exit(0 if failures == 5 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert array.copy_to_host().sum() == 10
"""
    run_python(code)


def test_a_forked_child_may_use_cuda_if_its_parent_did_not(run_python):
    code = """
import os, warnings
import numpy as np
from numbalite import cuda
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    os._exit(0 if cuda.to_device(np.arange(5)).copy_to_host().sum() == 10 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
    run_python(code)


def test_opening_hook_is_called_and_its_errors_propagate(run_python):
    """The hook is called before and after the reset; its exception is raised to the user."""
    code = """
from numbalite import _core
calls = []
def record_hook_call(kind):
    calls.append(kind)
    if len(calls) == 1:
        raise LookupError("not yet")
    if kind is None:
        _core.configure("sim", 3)
_core.set_open_hook(record_hook_call)
try:
    _core.Stream()
except LookupError as error:
    assert str(error) == "not yet"
assert not _core.is_open() and _core.driver_kind() is None
assert _core.device_count() == 3 and calls == [None, None, "sim"], calls
"""
    run_python(code)


def test_auto_warns_with_the_reason_for_the_simulator(run_python):
    code = """
from numbalite import _core
_core.set_open_hook(None)
reason = _core.probe()
assert not _core.is_open()
_core.configure("auto", 1)
kind = _core.open()
assert (kind == "sim") == (reason is not None), (kind, reason)
assert _core.fallback_reason() == reason
"""
    run_python(code)


def test_threads_initialize_the_driver_together(run_python):
    code = """
import threading
from numbalite import _core, cuda
failures = []
def synchronize_streams():
    try:
        for _ in range(20):
            _core.Stream().synchronize()
            _core.device_empty(10, "f4")
    except BaseException as error:
        failures.append(error)
threads = [threading.Thread(target=synchronize_streams) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
assert not failures, failures
live = _core.live()
assert live["streams"] == live["buffers"] == 0, live
"""
    run_python(code)


def test_waiting_for_a_device_releases_the_interpreter_lock():
    """A callback needs the interpreter lock, so no waiting call may hold it."""
    for wait in (
        lambda s: s.synchronize(),
        lambda s: _core.synchronize(),
        lambda s: _core.synchronize_device(s.device),
        lambda s: cuda.to_device(np.arange(3), stream=0),
    ):
        stream, ran = _core.Stream(), threading.Event()
        stream.add_callback(ran.set)
        wait(stream)
        assert ran.wait(10)
