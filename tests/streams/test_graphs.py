"""Tests CUDA graphs: captured and refused operations, repeated launches, new arguments,
lifetime."""

import gc
import threading
import weakref

import numpy as np
import pytest

from numbalite import _core, cuda, errors, guvectorize, vectorize

ADD = cuda.jit("__global__ void add(int* x, int n) { x[0] = x[0] * 2 + n; }")
SCALE = cuda.jit(
    "__global__ void scale(const float* x, float* y, float a, int n)"
    " { int i = grid<1>(); if (i < n) y[i] = a * x[i]; }"
)


@cuda.jit("void(const float32[:,:], float32[:,:])")
def diffusion_step(u, v):
    """
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 || j == 0 || i + 1 >= u.shape[0] || j + 1 >= u.shape[1]) return;
    v(i, j) = u(i, j) + 0.1f * (u(i + 1, j) + u(i - 1, j) + u(i, j + 1) + u(i, j - 1) - 4 * u(i, j));
    """


@vectorize(["float32(float32, float32)"], target="cuda")
def plus(x, y):
    "return x + y;"


@guvectorize(["void(float32[:], float32[:])"], "(n)->()", target="cuda")
def total(x, out):
    "float s = 0; for (int i = 0; i < x.size(); ++i) s += x[i]; out[0] = s;"


@pytest.fixture(params=[False, True], ids=["blocking", "non_blocking"])
def capture_stream(request):
    return cuda.stream(non_blocking=request.param)


@pytest.fixture
def device_int():
    return cuda.to_device(np.zeros(1, "i4"))


def device_floats(n=8, first=1):
    return cuda.to_device(np.arange(first, first + n, dtype="f4"))


def first_element(x, stream):
    stream.synchronize()
    return int(x.copy_to_host()[0])


def test_captured_work_runs_only_at_the_launch(capture_stream, device_int):
    with capture_stream.capture() as graph:
        assert capture_stream.is_capturing and graph.is_capturing
        ADD[1, 1, capture_stream](device_int, 1)
        ADD[1, 1, capture_stream](device_int, 5)
    assert not capture_stream.is_capturing and not graph.is_capturing
    assert first_element(device_int, capture_stream) == 0
    graph.launch(capture_stream)
    assert first_element(device_int, capture_stream) == 7
    graph.launch(stream=capture_stream)
    assert first_element(device_int, capture_stream) == (7 * 2 + 1) * 2 + 5
    assert repr(graph) == "<CUDA graph of 2 launches>"


def test_graphs_launch_on_any_stream(device_int):
    stream = cuda.stream()
    with stream.capture() as graph:
        ADD[1, 1, stream](device_int, 1)
    expected = 0
    for where in (0, stream, cuda.stream(), cuda.stream(non_blocking=True), None):
        cuda.synchronize()
        graph.launch(where)
        expected = expected * 2 + 1
        cuda.synchronize()
        assert device_int.copy_to_host()[0] == expected
    graph.launch()
    assert device_int.copy_to_host()[0] == expected * 2 + 1


def test_graph_launches_on_different_streams_are_ordered(device_int):
    one, two = cuda.stream(), cuda.stream(non_blocking=True)
    with one.capture() as graph:
        ADD[1, 1, one](device_int, 1)
    for _ in range(10):
        graph.launch(one)
        graph.launch(two)
    cuda.synchronize()
    assert device_int.copy_to_host()[0] == 2**20 - 1


def test_diffusion_graph_matches_a_launch_loop():
    start = np.random.default_rng(1).random((32, 32), dtype="f4")
    stream = cuda.stream()
    a, b, c, d = (cuda.to_device(start) for _ in range(4))
    blocks, threads = (4, 4), (8, 8)
    for _ in range(5000):
        diffusion_step[blocks, threads, stream](a, b)
        diffusion_step[blocks, threads, stream](b, a)
    with stream.capture() as graph:
        diffusion_step[blocks, threads, stream](c, d)
        diffusion_step[blocks, threads, stream](d, c)
    for _ in range(5000):
        graph.launch(stream)
    stream.synchronize()
    assert (a.copy_to_host() == c.copy_to_host()).all()
    assert not (a.copy_to_host() == start).all()


def test_launchers_made_before_a_capture_are_captured(capture_stream, device_int):
    bound = ADD[1, 1, capture_stream]
    bound(device_int, 1)
    with capture_stream.capture() as graph:
        bound(device_int, 1)
    bound(device_int, 1)
    graph.launch(capture_stream)
    assert first_element(device_int, capture_stream) == 7


def test_ufuncs_are_captured(capture_stream):
    x, y, z = device_floats(), device_floats(), device_floats()
    with capture_stream.capture() as graph:
        plus(x, y, out=z, stream=capture_stream)
        w = plus(z, y, stream=capture_stream)
        s = total(
            cuda.device_array((1, 1), "f4") if w is None else w.reshape(2, 4), stream=capture_stream
        )
    assert graph.launches == ()
    x.copy_to_device(np.full(8, 10, "f4"))
    cuda.synchronize()
    graph.launch(capture_stream)
    capture_stream.synchronize()
    host = np.arange(1, 9, dtype="f4")
    assert (z.copy_to_host() == 10 + host).all()
    assert (w.copy_to_host() == 10 + 2 * host).all()
    assert (s.copy_to_host() == (10 + 2 * host).reshape(2, 4).sum(1)).all()


def test_captured_casts_have_separate_temporary_memory(capture_stream):
    x = cuda.to_device(np.arange(8, dtype="i2"))
    y, out = device_floats(), device_floats()
    with capture_stream.capture() as graph:
        plus(x[::2], y[::2], out=out[::2], stream=capture_stream)
    gc.collect()
    for n in range(3):
        x.copy_to_device(np.full(8, n, "i2"))
        cuda.synchronize()
        graph.launch(capture_stream)
        capture_stream.synchronize()
        assert (out.copy_to_host()[::2] == n + np.arange(1, 9, 2)).all()


def test_copies_and_fills_are_captured(capture_stream):
    a, b = device_floats(), device_floats()
    into = np.zeros(8, "f4")
    source = np.ones(8, "f4")
    with capture_stream.capture() as graph:
        a.copy_to_device(source, stream=capture_stream)
        b.copy_to_device(a, stream=capture_stream)
        SCALE[1, 32, capture_stream](a, b, np.float32(3), 4)
        b.copy_to_host(into, stream=capture_stream)
    for n in (1, 5):
        source[:] = n
        graph.launch(capture_stream)
        capture_stream.synchronize()
        assert list(into) == [3 * n] * 4 + [n] * 4


def test_graphs_keep_host_arrays_of_copies_alive(capture_stream):
    a = device_floats()
    source = np.full(8, 4, "f4")
    gone = weakref.ref(source)
    with capture_stream.capture() as graph:
        a.copy_to_device(source, stream=capture_stream)
    del source
    gc.collect()
    assert gone() is not None
    graph.launch(capture_stream)
    del graph
    gc.collect()
    assert gone() is None
    capture_stream.synchronize()
    assert (a.copy_to_host() == 4).all()


def test_graphs_keep_device_arrays_alive(capture_stream):
    a, b = device_floats(), device_floats()
    with capture_stream.capture() as graph:
        SCALE[1, 32, capture_stream](a, b, 2.0, 8)
        plus(b, b, out=b, stream=capture_stream)
    gc.collect()  # what earlier tests have left
    before = _core.live()["buffers"]
    host = a.copy_to_host()
    del a
    gc.collect()
    assert _core.live()["buffers"] == before
    others = [device_floats(first=50) for _ in range(20)]
    graph.launch(capture_stream)
    capture_stream.synchronize()
    assert (b.copy_to_host() == 4 * host).all()
    del graph, others
    gc.collect()
    assert _core.live()["buffers"] == before - 1


def test_arrays_created_in_a_capture_belong_to_the_graph(capture_stream):
    a = device_floats()
    with capture_stream.capture() as graph:
        b = cuda.device_array(8, "f4")
        gone = cuda.device_array(100, "f4")
        del gone
        SCALE[1, 32, capture_stream](a, b, 2.0, 8)
        c = cuda.device_array_like(a)
        SCALE[1, 32, capture_stream](b, c, 2.0, 8)
    graph.launch(capture_stream)
    capture_stream.synchronize()
    assert (c.copy_to_host() == 4 * a.copy_to_host()).all()


def normalize(x, y):
    x += 1
    x[2:4] = y[:2]
    return np.where(x > 3, (x - x.mean()) / x.std(), np.sort(y)) * 2


NAMELESS = {
    "operators": lambda x, y: x * 2 + y,
    "reduction": lambda x, y: np.add.reduce(x * y),
    "functions": normalize,
    "indices": lambda x, y: np.concatenate([x[[3, 1]], np.cumsum(y)]),
    "new array": lambda x, y: np.full_like(x, 3) + np.median(y),
}


@pytest.mark.parametrize("which", NAMELESS)
def test_work_without_a_stream_is_captured(capture_stream, which):
    """Operators and NumPy's functions have no stream=: they are recorded by the capture of the current
    thread."""
    f = NAMELESS[which]
    hosts = [np.array([5, 2, 7, 3, 1, 0, 4, 6], "f4"), np.arange(8, 0, -1).astype("f4")]
    x, y = map(cuda.to_device, hosts)
    f(x.copy(), y)  # compiled before
    cuda.synchronize()
    with capture_stream.capture() as graph:
        result = f(x, y)
    assert (x.copy_to_host() == hosts[0]).all()  # nothing has run
    for _ in range(2):
        graph.launch(capture_stream)
        capture_stream.synchronize()
        np.testing.assert_allclose(result.copy_to_host(), f(*hosts), rtol=1e-6)
        hosts[1][:] = hosts[1][::-1] * 3
        y.copy_to_device(hosts[1])


def test_default_stream_launchers_are_captured(capture_stream, device_int):
    launcher = ADD[1, 1]
    with capture_stream.capture() as graph:
        launcher(device_int, 1)
    launcher(device_int, 10)
    graph.launch(capture_stream)
    assert first_element(device_int, capture_stream) == 21


# ---- forks --------------------------------------------------------------------------------------------
def test_forked_streams_join_the_capture(device_int):
    one, two = cuda.stream(), cuda.stream()
    y = cuda.to_device(np.zeros(1, "i4"))
    fork, join = cuda.event(), cuda.event()
    with one.capture() as graph:
        ADD[1, 1, one](device_int, 1)
        fork.record(one)
        fork.wait(two)
        assert two.is_capturing
        ADD[1, 1, two](y, 3)
        ADD[1, 1, one](device_int, 1)
        join.record(two)
        join.wait(one)
        ADD[1, 1, one](y, 1)
    assert not two.is_capturing
    assert [launch.args[1] for launch in graph.launches] == [1, 3, 1, 1]
    for _ in range(2):
        graph.launch(one)
    one.synchronize()
    assert device_int.copy_to_host()[0] == 15
    assert y.copy_to_host()[0] == (7 * 2 + 3) * 2 + 1


def test_unjoined_streams_raise_at_the_end_of_the_capture(device_int):
    one, two = cuda.stream(), cuda.stream()
    fork = cuda.event()
    with pytest.raises(errors.CudaAPIError, match="904.*does not wait for its end"):
        with one.capture():
            fork.record(one)
            fork.wait(two)
            ADD[1, 1, two](device_int, 3)
    assert not two.is_capturing
    ADD[1, 1, two](device_int, 1)
    assert first_element(device_int, two) == 1


def test_wait_for_an_event_outside_the_capture_fails(device_int):
    one, two = cuda.stream(), cuda.stream()
    outside = cuda.event()
    ADD[1, 1, two](device_int, 1)
    outside.record(two)
    with pytest.raises(errors.CudaAPIError, match="905"):
        with one.capture():
            outside.wait(one)
    assert not one.is_capturing


def test_captured_event_cannot_be_synchronized(device_int):
    stream = cuda.stream()
    inside = cuda.event()
    with pytest.raises(errors.CudaAPIError, match="907"):
        with stream.capture():
            ADD[1, 1, stream](device_int, 1)
            inside.record(stream)
            inside.synchronize()
    assert not stream.is_capturing


# ---- what cannot be captured -------------------------------------------------------------------------------
def test_an_invalidated_capture_raises(device_int):
    """An operation that the driver refuses invalidates the capture, even if the program
    continues."""
    stream, inside = cuda.stream(), cuda.event()
    with pytest.raises(errors.CudaAPIError, match="901.*invalidated"):
        with stream.capture():
            inside.record(stream)
            with pytest.raises(errors.CudaAPIError, match="907"):
                inside.synchronize()
    ADD[1, 1, stream](device_int, 1)
    assert first_element(device_int, stream) == 1


def test_a_wait_in_another_thread_keeps_the_capture_valid(capture_stream, device_int):
    refused = []

    def expect_capture_error():
        with pytest.raises(RuntimeError, match="a stream of this device is being captured"):
            cuda.synchronize()
        refused.append(True)

    with capture_stream.capture() as graph:
        thread = threading.Thread(target=expect_capture_error)
        thread.start()
        thread.join()
        ADD[1, 1, capture_stream](device_int, 1)
    graph.launch(capture_stream)
    assert refused and first_element(device_int, capture_stream) == 1


def test_the_default_stream_cannot_be_captured():
    for stream in (cuda.default_stream(), cuda.legacy_default_stream()):
        assert not stream.is_capturing
        with pytest.raises(ValueError, match="default stream cannot be captured"):
            with stream.capture():
                pass


def test_captures_cannot_be_nested(capture_stream, device_int):
    with capture_stream.capture() as graph:
        with pytest.raises(RuntimeError, match="already"):
            with capture_stream.capture():
                pass
        ADD[1, 1, capture_stream](device_int, 1)
        with pytest.raises(RuntimeError, match="capture is still active"):
            graph.launch(0 if capture_stream.non_blocking else cuda.stream())
    graph.launch(capture_stream)
    assert first_element(device_int, capture_stream) == 1
    other = cuda.stream(non_blocking=True)
    with other.capture():
        with pytest.raises(RuntimeError, match="inside a capture"):
            graph.launch(other)


def test_two_captures_may_be_nested_on_different_streams(device_int):
    one, two = cuda.stream(), cuda.stream()
    with one.capture() as first, two.capture() as second:
        ADD[1, 1, one](device_int, 1)
        ADD[1, 1, two](device_int, 2)
    first.launch(one)
    second.launch(one)
    assert first_element(device_int, one) == 4


def refused_operations(stream, d, host):
    yield lambda: ADD[1, 1, stream](np.zeros(1, "i4"), 1), "host arrays"
    default = cuda.default_stream()
    yield lambda: ADD[1, 1, default](cuda.device_array(1, "i4"), 1), "default stream"
    yield lambda: plus(d, host, stream=stream), "host arrays"
    yield lambda: plus(d, d, stream=default), "default stream"
    yield lambda: total(host, stream=stream), "host arrays"
    yield lambda: d.copy_to_host(), "needs the array"
    yield lambda: d.copy_to_host(host, stream=default), "default stream"
    yield lambda: d.copy_to_device(host, stream=default), "default stream"
    yield lambda: d.copy_to_device(d[:], stream=default), "default stream"
    yield lambda: cuda.to_device(host, stream=default), "default stream"
    yield lambda: d[0], "reading an element while the stream is being captured"
    yield lambda: bool((d > 0).all()), "recorded then and does not run"
    yield lambda: d[d > 2], "how many a mask chooses"
    yield lambda: stream.add_callback(lambda *_: None), "Python function"
    yield lambda: cuda.reduce("a + b")(d, stream=stream), "needs the array"
    yield (
        stream.synchronize,
        r"^synchronize\(\) while the stream is being captured: .* Do it before",
    )
    yield stream.query, r"^query\(\) while the stream is being captured"
    yield cuda.synchronize, r"^synchronize\(\) while a stream of this device is being captured"
    yield cuda.current_context().synchronize, "a stream of this device is being captured"


@pytest.mark.every_case
@pytest.mark.parametrize("which", range(19))
def test_errors_keep_the_capture_valid(capture_stream, device_int, which):
    d, host = device_floats(), np.ones(8, "f4")
    action, message = list(refused_operations(capture_stream, d, host))[which]
    with capture_stream.capture() as graph:
        with pytest.raises(RuntimeError, match=message):
            action()
        ADD[1, 1, capture_stream](device_int, 1)
    graph.launch(capture_stream)
    assert first_element(device_int, capture_stream) == 1


def test_an_exception_drops_the_capture(capture_stream, device_int):
    with pytest.raises(ZeroDivisionError):
        with capture_stream.capture() as graph:
            ADD[1, 1, capture_stream](device_int, 1)
            1 / 0
    assert not capture_stream.is_capturing
    with pytest.raises(RuntimeError, match="cannot be launched"):
        graph.launch(capture_stream)
    with pytest.raises(RuntimeError, match="cannot be launched"):
        graph.launches[0].update(device_int, 5)
    ADD[1, 1, capture_stream](device_int, 1)
    assert first_element(device_int, capture_stream) == 1


def test_an_abandoned_block_drops_the_capture(device_int):
    stream = cuda.stream()
    context = stream.capture()
    context.__enter__()
    ADD[1, 1, stream](device_int, 1)
    del context
    gc.collect()
    assert not stream.is_capturing


def test_reductions_with_device_results_are_captured(capture_stream):
    d, out = device_floats(), cuda.to_device(np.zeros(1, "f4"))
    add = cuda.reduce("a + b")
    add(d)
    with capture_stream.capture() as graph:
        add(d, res=out, stream=capture_stream)
    d.copy_to_device(np.full(8, 2, "f4"))
    cuda.synchronize()
    graph.launch(capture_stream)
    capture_stream.synchronize()
    assert out.copy_to_host()[0] == 16


def test_empty_graphs_can_be_launched(capture_stream):
    with capture_stream.capture() as graph:
        pass
    graph.upload(capture_stream)
    graph.launch(capture_stream)
    capture_stream.synchronize()
    assert graph.launches == () and graph.stream is capture_stream


# ---- new arguments ---------------------------------------------------------------------------------------
def test_graph_launches_can_be_updated(capture_stream):
    a, b, c = device_floats(), device_floats(), device_floats(first=100)
    with capture_stream.capture() as graph:
        SCALE[2, 16, capture_stream](a, b, 2.0, 8)
        SCALE[1, 32, capture_stream](b, b, 10.0, 8)
    first, second = graph.launches
    assert first.name == "scale" and first.griddim == (2, 1, 1) and first.blockdim == (16, 1, 1)
    assert first.args[0] is a and first.args[3] == 8 and first.sharedmem == 0
    assert repr(second) == "<captured launch of scale[(1, 1, 1), (32, 1, 1)]>"
    graph.launch(capture_stream)
    first.update(c, b, 3.0, 4)
    assert first.args == (c, b, 3.0, 4)
    second.update(b, b, -1, 8)
    graph.launch(capture_stream)
    capture_stream.synchronize()
    old, new = 20 * np.arange(1, 9, dtype="f4"), 3 * np.arange(100, 108, dtype="f4")
    assert list(b.copy_to_host()) == list(-np.concatenate([new[:4], old[4:]]))


def test_invalid_launch_updates_change_nothing(capture_stream):
    a, b = device_floats(), device_floats()
    with capture_stream.capture() as graph:
        SCALE[1, 32, capture_stream](a, b, 2.0, 8)
    (launch,) = graph.launches
    host = np.ones(8, "f4")
    for arguments, error, words in [
        ((a, b, 2.0), TypeError, "takes 4 arguments but 3 were given"),
        ((a, b, 2.0, 8.5), TypeError, "parameter 4 'n'"),
        ((a, host, 2.0, 8), TypeError, "host arrays cannot be arguments"),
        ((cuda.to_device(np.ones(8)), b, 2.0, 8), TypeError, "parameter 1 'x'"),
        ((a, b, 2.0, 2**31), OverflowError, "parameter 4"),
        ((a[::2], b, 2.0, 4), TypeError, "not C-contiguous"),
    ]:
        with pytest.raises(error, match=words):
            launch.update(*arguments)
    assert launch.args == (a, b, 2.0, 8)
    graph.launch(capture_stream)
    capture_stream.synchronize()
    assert (b.copy_to_host() == 2 * a.copy_to_host()).all()


def test_updated_launches_keep_only_the_new_arrays_alive(capture_stream):
    a, b = device_floats(), device_floats()
    with capture_stream.capture() as graph:
        SCALE[1, 32, capture_stream](a, b, 2.0, 8)
    (launch,) = graph.launches
    gc.collect()  # what earlier tests have left
    before = _core.live()["buffers"]
    for n in range(20):
        launch.update(device_floats(first=n), b, 1.0, 8)
        graph.launch(capture_stream)
    gc.collect()
    assert _core.live()["buffers"] == before + 1
    capture_stream.synchronize()
    assert list(b.copy_to_host()) == list(range(19, 27))


def test_a_launch_may_outlive_its_graph(capture_stream):
    a, b = device_floats(), device_floats()
    with capture_stream.capture() as graph:
        SCALE[1, 32, capture_stream](a, b, 2.0, 8)
    (launch,) = graph.launches
    del graph
    launch.update(b, a, 1.0, 8)
    assert launch.args[0] is b


# ---- faults, threads, lifetime --------------------------------------------------------------------------
def test_debug_kernel_faults_in_graphs_are_reported(device_int):
    @cuda.jit("void(int32[:], int32)", debug=True, opt=False)
    def store_seven(x, i):
        "x[i] = 7;"

    stream = cuda.stream()
    store_seven[1, 1, stream](device_int, 0)
    with stream.capture() as graph:
        store_seven[1, 1, stream](device_int, 0)
    graph.launch(stream)
    assert first_element(device_int, stream) == 7
    graph.launches[0].update(device_int, 5)
    with pytest.raises((errors.KernelError, IndexError)):
        graph.launch(stream)
        stream.synchronize()


def test_graphs_work_in_several_threads(device_int):
    """Each thread has its own stream and graph; during the captures other threads allocate and free
    memory."""
    wrong = []

    def capture_in_thread(seed):
        try:
            stream = cuda.stream(non_blocking=True)
            mine = cuda.to_device(np.zeros(1, "i4"))
            cuda.synchronize()
            for _ in range(5):
                with stream.capture() as graph:
                    temporary = cuda.device_array(1, "i4")
                    temporary.fill(0, stream)
                    ADD[1, 1, stream](temporary, 0)
                    ADD[1, 1, stream](mine, seed)
                    del temporary
                for _ in range(3):
                    graph.launch(stream)
            stream.synchronize()
            into = np.zeros(1, "i4")
            mine.copy_to_host(into, stream=stream)
            expected = 0
            for _ in range(15):
                expected = expected * 2 + seed
            if into[0] != expected:
                wrong.append((seed, into[0], expected))
        except Exception as error:
            wrong.append(error)

    barrier = cuda.stream(non_blocking=True)
    ADD[1, 1, barrier](device_int, 1)
    threads = [threading.Thread(target=capture_in_thread, args=(seed,)) for seed in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # CUDA forbids cuda.synchronize() of one thread during a capture of another thread,
    # so numbalite raises an exception.
    refused = [getattr(w, "code", 0) in (900, 901) or "being captured" in str(w) for w in wrong]
    assert all(refused), wrong


def test_graphs_leak_nothing():
    gc.collect()
    before = _core.live()
    for _ in range(20):
        stream = cuda.stream()
        a, b = device_floats(), device_floats()
        with stream.capture() as graph:
            SCALE[1, 32, stream](a, b, 2.0, 8)
            plus(a, b, stream=stream)
            b.copy_to_host(np.empty(8, "f4"), stream=stream)
        graph.launch(stream)
        graph.launches[0].update(b, a, 1.0, 8)
        graph.launch(stream)
        with pytest.raises(KeyError):
            with stream.capture():
                plus(a, b, stream=stream)
                raise KeyError
    del stream, a, b, graph
    gc.collect()
    cuda.synchronize()
    after = _core.live()
    for what in ("buffers", "streams", "events", "graphs"):
        assert after[what] == before[what], what


def test_owners_of_array_memory_are_kept_alive():
    """Graphs keep arrays over memory with another owner: managed memory, memory of other libraries."""

    class ForeignArray:
        def __init__(self, host):
            self.memory = cuda.to_device(host)
            self.__cuda_array_interface__ = self.memory.__cuda_array_interface__

    managed = cuda.managed_array(8, "f4")
    managed[:] = np.arange(8)
    foreign = ForeignArray(np.arange(8, dtype="f4"))
    gone = [weakref.ref(foreign)]
    stream = cuda.stream()
    first, second = cuda.to_device(np.zeros(8, "f4")), cuda.device_array(8, "f4")
    third = cuda.device_array(8, "f4")
    plus(first, 1, out=first)  # compiled before
    cuda.synchronize()
    with stream.capture() as graph:
        plus(cuda.as_cuda_array(managed), 1, out=first, stream=stream)
        plus(foreign, 2, out=second, stream=stream)
        third.copy_to_device(cuda.as_cuda_array(foreign, sync=False), stream)
    del managed, foreign
    gc.collect()
    assert gone[0]() is not None
    for _ in range(2):
        graph.launch(stream)
        assert first.copy_to_host(stream=stream).tolist() == list(range(1, 9))
        assert second.copy_to_host(stream=stream).tolist() == list(range(2, 10))
        assert third.copy_to_host(stream=stream).tolist() == list(range(8))
    del graph
    gc.collect()
    assert gone[0]() is None


def test_ipc_export_does_not_move_memory_of_a_graph():
    """Exporting a handle moves an array's memory if it has no other reference."""
    stream = cuda.stream()
    # Small memory may be reused from an earlier capture:
    # it does not belong to the pool, and need not move.
    first, other = cuda.to_device(np.ones(50_000, "i4")), cuda.to_device(np.ones(50_000, "i4"))
    with stream.capture() as graph:
        ADD[1, 1, stream](first, 1)
    graph.launches[0].update(other, 2)
    for array in first, other:
        with pytest.raises(RuntimeError, match="graphs"):
            array.get_ipc_handle()
    graph.launch(stream)
    stream.synchronize()
    assert other.copy_to_host()[:8].tolist() == [4] + [1] * 7


def test_graph_launch_arguments_can_be_updated_by_name(capture_stream):
    x = cuda.to_device(np.zeros(8))
    with capture_stream.capture() as graph:
        add_value[1, 8, capture_stream](x, 1)
    launch = graph.launches[0]
    launch.update(value=5, x=x)
    graph.launch(capture_stream)
    launch.update(x, value=2)
    graph.launch(capture_stream)
    assert x.copy_to_host(stream=capture_stream).tolist() == [7] * 8
    for args, kwargs, text in (
        ((x,), {"x": x}, "multiple values for argument 'x'"),
        ((x,), {"other": 1}, "unexpected keyword argument 'other'"),
        ((), {"x": x}, "takes 2 arguments but 1 was given"),
        ((x, 1), {"value": 1}, "takes 2 arguments but 3 were given"),
    ):
        with pytest.raises(TypeError, match=text):
            launch.update(*args, **kwargs)


@cuda.jit("void(float64[:], float64)")
def add_value(x, value):
    "int i = grid<1>(); if (i < x.size()) x[i] += value;"
