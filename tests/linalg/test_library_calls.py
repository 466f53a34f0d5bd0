"""Tests the lowest level of calls of CUDA's libraries, with functions of the C library in place of
CUDA's."""

import gc
import os

import numpy as np
import pytest

from numbalite import _core, cuda
from numbalite.errors import CudaSupportError

C = "libc.so.6"


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


@pytest.fixture
def make_library_value():
    """Returns make_library_value(kept=None), which creates a LibraryValue for an open file; its destructor
    closes the file."""
    made = []

    def make_value(kept=None):
        made.append(os.open(os.devnull, os.O_RDONLY))
        return _core.LibraryValue(made[-1], _core.LibraryCall(C, "close"), kept), made[-1]

    yield make_value
    assert not any(map(is_open, made))


def test_library_value_is_destroyed_with_its_object(make_library_value):
    one, number = make_library_value()
    assert int(one) == number and is_open(number)
    del one
    assert not is_open(number)


def test_library_values_are_not_destroyed_during_a_capture(make_library_value):
    one, number = make_library_value()
    out = cuda.device_array(4)
    stream = cuda.stream()
    with stream.capture() as graph:
        del one
        gc.collect()
        out.bind(stream).fill(1)
        assert is_open(number)
    assert not is_open(number)
    del graph


def test_a_graph_keeps_the_arguments_of_a_captured_call(make_library_value):
    """The graph also keeps the workspace of the library call; launches of the graph use the workspace one
    after the other."""
    nothing = _core.LibraryCall(C, "sched_yield")
    array = cuda.to_device(np.ones(5))
    one, number = make_library_value((array,))
    stream = cuda.stream()
    with stream.capture() as graph:
        assert nothing(stream, one) == 0
    gc.collect()  # what earlier tests have left
    live = _core.live()["buffers"] if "buffers" in _core.live() else None
    del one, array
    gc.collect()
    assert is_open(number)
    if live is not None:
        assert _core.live()["buffers"] == live
    graph.launch(stream)
    stream.synchronize()
    del graph
    gc.collect()
    assert not is_open(number)


def test_library_values_are_not_destroyed_after_a_reset(run_python):
    """Objects of a library that were destroyed with the context are not destroyed again."""
    run_python(
        """
import os
from numbalite import _core, cuda
number = os.open(os.devnull, os.O_RDONLY)
value = _core.LibraryValue(number, _core.LibraryCall("libc.so.6", "close"))
cuda.gpus[0].reset()
del value
os.fstat(number)
"""
    )


def test_library_calls_run_on_the_arrays_device(run_python):
    """Each function is called twice: the second call uses the cached objects of the first."""
    run_python(
        """
import numpy as np
from numbalite import cuda
from numbalite.cuda import sparse
from numbalite.cuda.libs import cufft
host = np.eye(4) + 1
with cuda.gpus[1]:
    d, z = cuda.to_device(host), cuda.to_device(np.arange(8).astype("F"))
    s = sparse.csr_array(host)
for _ in range(2):
    made = np.linalg.solve(d, d), np.linalg.svd(d)[1], s @ d[0], np.fft.fft(z), np.fft.irfft(z), np.fft.ihfft(d), np.fft.hfft(z)
    assert [one.device for one in made] == [1] * 7
    assert np.allclose(made[3].copy_to_host(), np.fft.fft(np.arange(8)))
    twice = z.copy()
    cufft.fft_inplace(twice), cufft.ifft_inplace(twice)
    assert np.allclose(twice.copy_to_host(), 8 * np.arange(8), atol=1e-4)
with cuda.gpus[1]:
    assert np.fft.fft(z).device == 1
""",
        NUMBALITE_DRIVER="sim",
        NUMBALITE_SIM_DEVICES="2",
    )


def test_invalid_library_calls_raise():
    with pytest.raises(CudaSupportError, match="cannot be loaded .*libnothing.so.7"):
        _core.LibraryCall("libnothing.so.7", "nothing")
    with pytest.raises(CudaSupportError, match="libc.so.6 has no nothing_like_that"):
        _core.LibraryCall(C, "nothing_like_that")
    with pytest.raises(ValueError, match="CUDA library cudnn is unknown"):
        _core.LibraryCall(C, "close", "cudnn")
    nothing = _core.LibraryCall(C, "sched_yield")
    with pytest.raises(TypeError, match="sched_yield accepts ints, .*not str"):
        nothing(0, "text")
    with pytest.raises(TypeError, match="at most 24"):
        nothing(0, *range(25))
    assert _core.cudalib_status("cusparse", 10) == "NOT_SUPPORTED"
    assert _core.cudalib_status("cufft", 99) == "unknown status"
