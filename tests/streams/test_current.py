"""In `with stream:`, and for arrays bound to an unordered stream, functions do all of their work on
that stream."""

import contextlib
import threading

import numpy as np
import pytest

from numbalite import _core, cuda, vectorize
from numbalite.cuda.libs import cufft


def order_is_checked():
    """Returns a context in which the simulator reports conflicting work on streams that are not
    ordered."""
    return cuda.checks("stream") if cuda.is_simulated() else contextlib.nullcontext()


X = np.random.default_rng(3).random((16, 16)).astype(np.float32)
TIMES = 4  # the first calls run in Python, later calls are replayed

CALLS = {
    "operators": lambda d: (d + d) @ d * 2,
    "ufuncs": lambda d: np.divmod(np.sqrt(d), np.float32(0.3))[0],
    "methods of ufuncs": lambda d: np.add.reduce(d, axis=1) + np.add.accumulate(d)[-1],
    "scatter": lambda d: np.add.at(d, [1, 1], np.float32(1)) or d,
    "reductions": lambda d: np.sum(d) + np.mean(d) + d.max() + np.std(d) + np.median(d),
    "choosing": lambda d: np.argmax(d) + np.nonzero(d)[0] + np.unique(d).size,
    "sort": lambda d: np.sort(d, axis=0) + np.argsort(d),
    "places": lambda d: np.take(d, [1, 2], axis=0) + d[np.array([1, 2])],
    "masks": lambda d: np.where(d > 0.5, d, 0) + d[d > 0.5].sum(),
    "shapes": lambda d: np.pad(np.concatenate([d, d.T]), 1).astype(np.float64),
    "assignments": lambda d: d.__setitem__(0, 1) or d.__setitem__(1, d[2]) or d,
    "elements": lambda d: d[0] * d[1, 2] + d[2, 2].item(),
    "solving": lambda d: np.linalg.inv(d) + np.linalg.norm(d) + np.einsum("ij,jk->ik", d, d),
    "transforms": lambda d: np.fft.irfft2(np.fft.rfft2(d)) + np.fft.fft(d).real,
    "counting": lambda d: np.histogram(d, 4, (0, 1))[0],
    "copies": lambda d: d[::2].copy() + np.ascontiguousarray(d.T)[::2],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls_on_a_bound_array_run_on_its_stream(call):
    """The call does not wait for the array's producer; the array's stream is not ordered with the default
    stream."""
    stream, e = cuda.stream(non_blocking=True), cuda.to_device(X)
    expected = call(X.copy())
    for _ in range(TIMES):
        with order_is_checked():
            with stream:
                d = e * 1
            assert d.stream is stream
            made = call(d)
            found = made.copy_to_host() if hasattr(made, "copy_to_host") else made
        np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_results_are_bound_to_the_current_stream(call):
    """Arrays without a stream are computed on the current stream, which is another stream in each call."""
    e = cuda.to_device(X)
    for _ in range(TIMES):
        with order_is_checked(), cuda.stream(non_blocking=True) as stream:
            made = call(e * 1)
            if hasattr(made, "stream"):
                assert made.stream is stream
            found = made.copy_to_host() if hasattr(made, "copy_to_host") else made
        np.testing.assert_allclose(found, call(X.copy()), rtol=2e-3, atol=1e-3)


def test_launches_and_events_use_the_current_stream():
    @cuda.jit
    def double(x):
        "x[threadIdx.x] *= 2;"

    @vectorize("float32(float32)", target="cuda")
    def halved(x):
        "x / 2"

    stream = cuda.stream(non_blocking=True)
    with order_is_checked(), stream:
        d = cuda.to_device(X[0])
        double[1, 16](d)
        event = cuda.event()
        event.record()
        double[1, 16, stream](d)
        e = halved(d)
        total = cuda.reduce(lambda a, b: a + b)(d)
        e[0] = d[1]
        f = cuda.device_array_like(e)
        f.copy_to_device(e)
    expected = 2 * X[0]
    expected[0] = 4 * X[0, 1]
    np.testing.assert_allclose(f.copy_to_host(stream=stream), expected)
    np.testing.assert_allclose(total, 4 * X[0].sum(), rtol=1e-5)
    assert event.query()


def test_random_arrays_are_bound_to_the_current_stream():
    with cuda.stream(non_blocking=True) as stream, order_is_checked():
        made = cuda.random.default_rng(1).normal(size=100) * 1
    assert made.stream is stream
    expected = cuda.random.default_rng(1).normal(size=100).copy_to_host()
    np.testing.assert_array_equal(made.copy_to_host(), expected)


def test_sparse_results_are_bound_to_the_current_stream():
    """A matrix product is bound to the stream on which it was computed."""
    host = np.eye(16, k=2, dtype=np.float32) + np.eye(16, dtype=np.float32)
    stream, sparse = cuda.stream(non_blocking=True), cuda.sparse.csr_array(cuda.to_device(host))
    for _ in range(TIMES):
        with stream:
            d = cuda.to_device(X) * 1
        for made, expected in (
            (sparse @ d, host @ X),
            (sparse @ d[0], host @ X[0]),
            (d @ sparse, X @ host),
        ):
            assert made.stream is stream
            np.testing.assert_allclose(made.copy_to_host(), expected, rtol=1e-5)


def get_current_stream():
    return _core.current_stream()


def test_with_blocks_restore_the_previous_stream():
    a, b = cuda.stream(), cuda.stream()
    with a:
        with b, pytest.raises(ZeroDivisionError), a:
            assert get_current_stream() is a
            raise ZeroDivisionError
        with b:
            assert get_current_stream() is b
            with cuda.default_stream():
                assert cuda.device_array(2).stream == 0
        assert get_current_stream() is a
        seen = []
        thread = threading.Thread(target=lambda: seen.append(get_current_stream()))
        thread.start()
        thread.join()
    assert (get_current_stream(), seen) == (0, [0])


def test_explicit_stream_overrides_the_current_stream():
    a, b = cuda.stream(), cuda.stream()
    with a:
        d = cuda.device_array(4, np.float32, stream=b)
        assert d.stream is b
        assert cuda.to_device(X, stream=b).stream in (b, 0)
        assert cufft.fftconvolve(d, d).stream in (a, b)


OTHER_DEVICES = """
import numpy as np
from numbalite import cuda

x = np.arange(8.0)
with cuda.stream(non_blocking=True) as stream:
    with cuda.gpus[1]:
        d = cuda.to_device(x) + 1
        assert (d.stream, d.device) == (0, 1)
        assert (d.copy_to_host() == x + 1).all()
    d.fill(2)  # an array there
    e = cuda.to_device(x) * 1
    assert (e.stream, e.device) == (stream, 0)
    d.copy_to_device(e)
    assert (e.copy_to_host() == x).all()
cuda.synchronize()
assert (d.copy_to_host() == x).all()
"""


def test_with_block_affects_only_the_streams_device(run_python):
    """The `with` block affects only work on the stream's device."""
    if cuda.is_simulated():
        run_python(OTHER_DEVICES, NUMBALITE_SIM_DEVICES="2")
    elif len(cuda.gpus) > 1:
        run_python(OTHER_DEVICES)


def test_capture_in_a_stream_block_records_its_work():
    stream, d = cuda.stream(), cuda.to_device(X)
    made = cuda.device_array_like(X)
    np.sum(d + 1)
    cuda.synchronize()
    with cuda.stream(), stream.capture() as graph:
        made[...] = d + 1
    graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(made.copy_to_host(), X + 1)


RESET = """
import numpy as np
from numbalite import cuda, errors
x = np.arange(16, dtype=np.float32)
try:
    with cuda.stream():
        cuda.current_context().reset()
        cuda.to_device(x) + 1
except errors.CudaDriverError as e:
    assert "was reset" in str(e), e
else:
    raise AssertionError("the stream is gone")
assert ((cuda.to_device(x) + 1).copy_to_host() == x + 1).all()
"""


def test_device_may_be_reset_in_a_stream_block(run_python):
    """The test runs in a process of its own, in which no other library holds the context."""
    run_python(RESET)


def test_self_containing_lists_raise():
    values = [cuda.to_device(X)]
    values.append(values)
    with pytest.raises((TypeError, ValueError, RecursionError)):
        np.concatenate(values)


def test_invalid_streams_raise():
    with pytest.raises(TypeError, match="stream must be"):
        _core.swap_stream(3)
