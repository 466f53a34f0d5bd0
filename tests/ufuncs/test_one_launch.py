"""Tests reductions whose last block combines the partial results of all blocks: one launch and equal bits in every
run, on any stream."""

import numpy as np
import pytest
from kit.calls import driver_calls_when_warm

from numbalite import cuda

RNG = np.random.default_rng(8)
SHAPES = [((150_001,), 0), ((70_000, 3), 0), ((20_000, 16), 0), ((5, 40_000), 1)]


@pytest.fixture
def sum_reduction():
    return cuda.reduce("a + b")


def random_integers(shape):
    return RNG.integers(-9, 9, shape).astype(np.int32)


@pytest.mark.parametrize("shape, axis", SHAPES)
def test_consecutive_one_launch_reductions_match_numpy(shape, axis, sum_reduction):
    """A launch resets the counter of its finished blocks."""
    for _ in range(3):
        x = random_integers(shape)
        np.testing.assert_array_equal(
            sum_reduction(cuda.to_device(x), axis=axis), x.sum(axis, dtype="i4")
        )
    d = cuda.to_device(x)
    calls = driver_calls_when_warm(lambda: sum_reduction(d, axis=axis))
    assert calls.count("cuLaunchKernel") == 1
    assert not any(name.startswith("cuMemset") for name in calls)


def test_masked_and_noncommutative_reductions_match_numpy():
    """Reduces with a noncommutative operation, and with a mask that selects no element in most
    parts."""
    x = random_integers(150_001)
    last = cuda.reduce("b")
    assert int(last(cuda.to_device(x))) == x[-1]
    where = np.zeros(x.size, bool)
    where[100_000:100_009] = True
    d, mask = cuda.to_device(x), cuda.to_device(where)
    assert int(np.sum(d, where=mask, initial=7)) == x[where].sum() + 7
    assert int(np.max(d, where=mask, initial=-99)) == x[where].max()


def test_concurrent_streams_have_separate_counters(sum_reduction):
    """Each stream has its own counter of finished blocks."""
    d = [cuda.to_device(random_integers(150_001)) for _ in range(4)]
    streams = [cuda.stream() for _ in d] + [0]
    for _ in range(3):
        got = [sum_reduction(x, stream=stream) for stream in streams for x in d]
        cuda.synchronize()
        for i, result in enumerate(got):
            assert int(result) == d[i % len(d)].copy_to_host().sum()


def test_graph_has_separate_reduction_counters():
    """The counters of a graph are separate from those of other calls."""
    d, stream = cuda.to_device(random_integers(150_001)), cuda.stream()
    out, other = cuda.device_array((), "i8"), cuda.device_array((), "i8")
    np.sum(d, out=out)
    with stream.capture() as graph:
        np.sum(d, out=out)  # on the captured stream
        np.add.reduce(d, out=other)
    for _ in range(3):
        d.copy_to_device(random_integers(150_001))
        aside = np.sum(d)
        graph.launch(stream)
        stream.synchronize()
        expected = d.copy_to_host().sum()
        assert int(aside) == int(out.copy_to_host()) == int(other.copy_to_host()) == expected


def test_reductions_work_after_a_reset(sum_reduction):
    d = cuda.to_device(random_integers(150_001))
    sum_reduction(d)
    cuda.close()
    x = random_integers(150_001)
    assert int(sum_reduction(cuda.to_device(x))) == x.sum()


def test_traced_one_launch_reductions_match_numpy():
    """A call that is replayed in C uses the same counter as the other calls on its stream."""
    for _ in range(6):
        x = random_integers(150_001).astype(np.float64)
        np.testing.assert_allclose(np.std(cuda.to_device(x)).copy_to_host(), np.std(x))
