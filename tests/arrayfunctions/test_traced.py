"""Tests calls of NumPy's functions on device arrays that are replayed without Python code
(_core.Traced)."""

import functools
import gc
import itertools
import warnings
import weakref

import numpy as np
import pytest
from kit.frames import numbalite_functions_in
from kit.sample import draw_cases

from numbalite import _core, cuda
from numbalite.runtime.traced import traced

TIMES = 4
"""The first call leaves its key, the second or third is recorded, the next are repeated."""


def assert_equal_arrays(got, expected):
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(got.copy_to_host(), expected)


CALLS = {
    "take": lambda x, y, i: np.take(x, i, axis=1),
    "indices": lambda x, y, i: x[i],
    "pairs of indices": lambda x, y, i: x[i, i],
    "repeat": lambda x, y, i: np.repeat(x, 3, axis=0),
    "repeats": lambda x, y, i: np.repeat(x, [1, 0, 2], axis=0),
    "tile": lambda x, y, i: np.tile(x, (2, 1)),
    "roll": lambda x, y, i: np.roll(x, (1, -1), (0, 1)),
    "concatenate": lambda x, y, i: np.concatenate([x, y, x], axis=1),
    "stack": lambda x, y, i: np.stack((x, y)),
    "parts that lie apart": lambda x, y, i: np.concatenate([x[::-1, ::2], y[:, 1:4]], axis=1),
    "views": lambda x, y, i: x.reshape(5, -1).T.swapaxes(0, 1)[:, None].squeeze().view("u8"),
    "power": lambda x, y, i: x**2,
    "pad": lambda x, y, i: np.pad(x, 2, "reflect"),
    "searchsorted": lambda x, y, i: np.searchsorted(x[0], y),
    "sort": lambda x, y, i: np.sort(x, axis=0),
    "argsort": lambda x, y, i: np.argsort(x),
    "sum": lambda x, y, i: np.sum(x, axis=1, keepdims=True),
    "std": lambda x, y, i: np.std(x, 0, ddof=1),
    "argmax": lambda x, y, i: np.argmax(x, axis=0),
    "round": lambda x, y, i: np.round(x, 1),
    "where": lambda x, y, i: np.where(x > 2, y, -1.5),
    "diff": lambda x, y, i: np.diff(x),
    "histogram": lambda x, y, i: np.histogram(x, 4, (0.0, 9.0))[0],
    "dot": lambda x, y, i: np.dot(x[:, :3], y),
    "outer": lambda x, y, i: np.outer(x, y),
    "split": lambda x, y, i: np.split(x, 3)[1],
    "copy": lambda x, y, i: x[:, ::2].copy(),
    "astype": lambda x, y, i: x.astype(np.int32),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_trace_serves_other_arrays_of_equal_layout(call):
    random = np.random.default_rng(7)
    for _ in range(TIMES):
        x, y = (np.sort(random.integers(0, 9, (3, 5)), axis=1) + 0.25 for _ in range(2))
        i = random.integers(0, 3, 2)
        d, e, j = map(cuda.to_device, (x, y, i))
        np.testing.assert_allclose(call(d, e, j).copy_to_host(), call(x, y, i))


@pytest.mark.parametrize("count, shape", [(100, (3,)), (40, (5, 2, 3)), (130, (2, 2)), (9, (100,))])
def test_traced_concatenate_of_many_arrays_matches_numpy(request, count, shape):
    """A launch makes up to 32 copies, or copies up to a maximum number of bytes, also if the copies
    are not adjacent in the trace; more than 128 copies are not traced."""
    if shape == (100,):
        before = _core.copy_limit("max_batch_bytes", 2000)
        request.addfinalizer(lambda: _core.copy_limit("max_batch_bytes", before))
    rng = np.random.default_rng(3)
    one = cuda.to_device(rng.integers(0, 99, shape))
    for several in ([one] * count, [one, one[::-1]] * 3, [one[::-1], one, one]):
        for _ in range(4):
            assert_equal_arrays(
                np.concatenate(several), np.concatenate([x.copy_to_host() for x in several])
            )
    for step in 1, 2:
        for _ in range(4):
            hosts = [
                rng.integers(0, 99, shape[:-1] + (step * shape[-1],))[..., ::step]
                for _ in range(count)
            ]
            arrays = [cuda.to_device(np.repeat(x, step, -1))[..., ::step] for x in hosts]
            assert_equal_arrays(np.concatenate(arrays, -1), np.concatenate(hosts, -1))
        assert_equal_arrays(np.stack(arrays[:7]), np.stack(hosts[:7]))


@pytest.mark.parametrize("name", ["take", "indices", "tile", "concatenate", "pad", "dot", "copy"])
def test_replayed_calls_run_no_python(name):
    d, e, j = map(cuda.to_device, (np.ones((3, 5)), np.ones((3, 5)), np.array([1, 0])))
    for _ in range(TIMES):
        CALLS[name](d, e, j)
    assert numbalite_functions_in(lambda: CALLS[name](d, e, j)) == []


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_traces_are_replayed_on_the_stream_of_the_arrays(call):
    """A trace recorded on one stream is replayed on the stream of the arrays, without a wait."""
    streams, random = [cuda.stream() for _ in range(2)], np.random.default_rng(7)
    for n in range(2 * TIMES):
        stream = streams[n % 2]
        x, y = (np.sort(random.integers(0, 9, (3, 5)), axis=1) + 0.25 for _ in range(2))
        i = random.integers(0, 3, 2)
        d, e, j = (cuda.to_device(host, stream).bind(stream) for host in (x, y, i))
        np.testing.assert_allclose(call(d, e, j).copy_to_host(stream=stream), call(x, y, i))
        again = functools.partial(call, d, e, j)
        assert n < TIMES or call is CALLS["split"] or not numbalite_functions_in(again)


def test_a_bound_array_keeps_no_stream():
    d, stream = cuda.to_device(np.arange(3)), cuda.stream()
    for _ in range(TIMES):
        np.take(d.bind(stream), d)
    gone = weakref.ref(stream)
    del stream
    gc.collect()
    assert gone() is None


OTHER_DEVICES = """
import numpy as np
from numbalite import cuda

d = cuda.to_device(np.arange(3))
for _ in range(6):
    assert (cuda.zeros(3).device, cuda.zeros(3, device=1).device) == (0, 1)
    assert (cuda.arange(3).device, cuda.zeros_like(d, device=1).device) == (0, 1)
    with cuda.gpus[1]:
        assert (cuda.arange(3).device, np.tile(d, 2).device) == (1, 0)
        assert (np.ones_like(d).device, cuda.ones(3, device=0).device) == (0, 0)
"""


def test_traces_depend_on_the_current_device(run_python):
    """Replays on streams of another device, also if no array is bound to the stream."""
    if cuda.is_simulated():
        run_python(OTHER_DEVICES, NUMBALITE_SIM_DEVICES="2")
    elif len(cuda.gpus) > 1:
        run_python(OTHER_DEVICES)


def test_traced_creation_functions_return_new_arrays():
    """Calls without an array, too."""
    for _ in range(TIMES):
        assert_equal_arrays(cuda.arange(2, 9, 3), np.arange(2, 9, 3))
        assert_equal_arrays(cuda.arange(4.0), np.arange(4.0))
        assert_equal_arrays(cuda.linspace(0, 1, 5), np.linspace(0, 1, 5))
        assert_equal_arrays(cuda.eye(3, k=1), np.eye(3, k=1))
        made = cuda.ones((2, 3), np.int8)
        assert_equal_arrays(made, np.ones((2, 3), np.int8))
        made.fill(7)
    for call in (lambda: cuda.arange(4.0), lambda: cuda.zeros((2, 3))):
        call(), call(), call()
        assert numbalite_functions_in(call) == []


def test_arrays_of_two_streams_are_not_replayed_together():
    """Each call checks the streams of its arrays, whether or not an earlier call was traced."""
    x = np.arange(3.0)
    d, a, b = cuda.to_device(x), cuda.stream(), cuda.stream()
    for _ in range(TIMES):
        for one, other in ((d.bind(a), d.bind(b)), (d, d.bind(b)), (d.bind(b), d)):
            assert_equal_arrays(np.concatenate([one, other]), np.concatenate([x, x]))
            cuda.synchronize()


def test_trace_steps_are_replayed():
    """A step that a function adds by trace_step() is replayed for other arrays and streams."""
    done = []

    def recorded_multiply(stream, source, target, factor):
        done.append(stream)
        np.multiply(source, factor, out=target)

    @traced
    def doubled(a):
        made = np.empty_like(a)
        _core.trace_step(recorded_multiply, a.stream, a, made, 2)
        return made

    stream = cuda.stream()
    for n in range(TIMES):
        d = cuda.to_device(np.arange(3.0) + n)
        assert_equal_arrays(doubled(d), 2 * (np.arange(3.0) + n))
        doubled(d.bind(stream))
    assert done == [0, stream] * TIMES
    assert {type(one).__name__ for one in doubled._traces.values()} == {"Trace"}


def test_traced_calls_with_overlapping_arrays_match_numpy():
    x = np.arange(40.0)
    d = cuda.to_device(x)
    for begin in (1, 2, 3, 30):
        for _ in range(TIMES):
            d[begin : begin + 8] = d[:8]
            x[begin : begin + 8] = x[:8].copy()
            assert_equal_arrays(
                np.concatenate([d[:8], d[begin : begin + 8]]),
                np.concatenate([x[:8], x[begin : begin + 8]]),
            )
    assert_equal_arrays(d, x)


def test_a_trace_serves_views_at_other_offsets():
    x = np.arange(64, dtype=np.uint8)
    d = cuda.to_device(x)
    for begin in range(20):
        assert_equal_arrays(np.roll(d[begin : begin + 16], 3), np.roll(x[begin : begin + 16], 3))
        assert_equal_arrays(
            np.tile(d[begin : begin + 32 : 2], 2), np.tile(x[begin : begin + 32 : 2], 2)
        )


def test_traces_distinguish_equal_numbers_of_different_types():
    d = cuda.to_device(np.arange(3.0))
    for _ in range(TIMES):
        for number in (1, True, 1.0, np.float32(1), 0.0, -0.0):
            made = np.full_like(d, number, dtype=None if number else np.float32)
            expected = np.full_like(np.arange(3.0), number, dtype=None if number else np.float32)
            assert_equal_arrays(made, expected)
            np.testing.assert_array_equal(np.signbit(made.copy_to_host()), np.signbit(expected))
        assert np.add(np.tile(d.astype(np.int8), 2), 1).dtype == np.int8


def test_replayed_calls_return_separate_arrays():
    d = cuda.to_device(np.arange(3))
    kept = [np.tile(d, 2) for _ in range(TIMES + 1)]
    kept[-1].fill(9)
    assert_equal_arrays(kept[-2], np.array([0, 1, 2, 0, 1, 2]))
    out = cuda.device_array(3, np.int64)
    for _ in range(TIMES):
        assert np.take(d, cuda.to_device(np.array([2, 0, 1])), out=out) is out
    assert_equal_arrays(out, np.array([2, 0, 1]))


def test_device_values_are_read_in_each_traced_call():
    for n in range(1, 3 * TIMES):
        x = np.arange(12) % n
        d = cuda.to_device(x)
        assert_equal_arrays(np.unique(d), np.unique(x))
        assert_equal_arrays(np.nonzero(d)[0], np.nonzero(x)[0])
        assert_equal_arrays(np.bincount(d), np.bincount(x))
        assert np.array_equal(d, x) is True


def test_errors_and_warnings_are_repeated_in_each_call():
    d, z = cuda.to_device(np.arange(3.0)), cuda.to_device(np.ones(3, complex))
    for _ in range(2 * TIMES):
        with pytest.raises(IndexError, match="out of bounds"):
            np.take(d, 3)
        with pytest.raises(ValueError, match="dimensions"):
            np.concatenate([d, cuda.to_device(np.ones((2, 2)))])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            d[...] = z
        assert [one.category for one in caught] == [np.exceptions.ComplexWarning]


def test_a_function_may_reject_a_trace():
    calls = []

    @traced
    def twice(a, times):
        calls.append(times)
        if times > 2:
            _core.invalidate_trace()
        return np.tile(a, times)

    d = cuda.to_device(np.arange(2))
    for times in (2, 3):
        for _ in range(2 * TIMES):
            assert_equal_arrays(twice(d, times), np.tile(np.arange(2), times))
    assert calls.count(2) < TIMES
    assert calls.count(3) == 2 * TIMES
    assert (twice.__name__, twice.__wrapped__.__name__) == ("twice", "twice")


def test_traced_calls_work_on_streams_and_in_captures():
    x = np.arange(6.0)
    d, stream = cuda.to_device(x), cuda.stream()
    made = cuda.device_array(12)
    for _ in range(TIMES):
        np.tile(d, 2)
        assert_equal_arrays(np.tile(d.bind(stream), 2), np.tile(x, 2))
        stream.synchronize()
        made[...] = np.tile(d, 2)
    cuda.synchronize()
    with stream.capture() as graph:
        made[...] = np.tile(d, 2)
    d[...] = x + 1
    cuda.synchronize()
    graph.launch(stream)
    stream.synchronize()
    assert_equal_arrays(made, np.tile(x + 1, 2))


def test_traces_keep_no_arrays_alive(count_live):
    before = count_live()["buffers"]
    for n in range(1, 9):
        d = cuda.to_device(np.ones(n))
        for _ in range(TIMES):
            np.round(np.tile(d, 2), 1)
    del d
    cuda.synchronize()
    assert _core.live()["buffers"] == before


@pytest.fixture
def little_memory():
    before = _core.limit_traces(1 << 14)
    yield
    _core.limit_traces(before)


def test_repeated_calls_stay_in_the_trace_cache(little_memory):
    @traced
    def diag_traced(a, n):
        return np.diag(a, n)

    d = cuda.to_device(np.ones(3))
    for _ in range(TIMES):
        diag_traced(d, -1)
    most = 0
    for n in range(600):
        diag_traced(d, n)
        diag_traced(d, -1)
        most = max(most, len(diag_traced._traces))
    assert 4 < most < 100 and most // 2 < len(diag_traced._traces)
    assert numbalite_functions_in(lambda: diag_traced(d, -1)) == []


def test_unrepeated_calls_are_evicted_from_the_trace_cache(little_memory):
    @traced
    def diag_traced(a, n):
        return np.diag(a, n)

    d = cuda.to_device(np.ones(3))
    for n in range(200):
        for _ in range(TIMES):
            diag_traced(d, n)
    assert 4 < len(diag_traced._traces) < 100
    assert (
        numbalite_functions_in(lambda: diag_traced(d, 199))
        == []
        != numbalite_functions_in(lambda: diag_traced(d, 0))
    )
    diag_traced._traces.clear()
    for n in range(200):
        assert_equal_arrays(diag_traced(d, n), np.diag(np.ones(3), n))


def test_large_array_edges_are_copied_as_slabs():
    x = np.arange(1 << 19, dtype=np.float32).reshape(256, -1)
    d = cuda.to_device(x)
    widths = (3, ((0, 2), (5, 0)), ((300, 1), (1, 1)))
    for mode, width in draw_cases(
        3, itertools.product(("edge", "reflect", "symmetric", "wrap"), widths)
    ):
        assert_equal_arrays(np.pad(d, width, mode), np.pad(x, width, mode))
