"""ufunc.at with indices on the device uses atomics if the order does not matter, and otherwise
applies the operands in order."""

import contextlib

import numpy as np
import pytest
from kit.calls import driver_calls_when_warm
from kit.sample import random_generator

from numbalite import cuda
from numbalite.errors import KernelError
from numbalite.ufuncs import scatter


def assert_at_matches(ufunc, dtype, length, count, b=None):
    rng = np.random.default_rng(length + count)
    host = rng.integers(0, 5, length).astype(dtype)
    indices = rng.integers(-length, length, count)
    operand = rng.integers(0, 3, count).astype(dtype) if b is None else b
    device = cuda.to_device(host)
    ufunc.at(device, cuda.to_device(indices), operand if b is not None else cuda.to_device(operand))
    ufunc.at(host, indices, operand)
    if (
        ufunc is np.power and not cuda.is_simulated()
    ):  # a GPU's pow is off by one or two of the last bits
        np.testing.assert_allclose(device.copy_to_host(), host, rtol=1e-15)
    else:
        np.testing.assert_array_equal(device.copy_to_host(), host)


@pytest.mark.parametrize(
    ("name", "dtype", "length", "count"),
    [
        ("add", "i4", 16, 1000),  # few places: in shared memory
        ("add", "f4", 16, 1000),
        ("add", "c8", 16, 100),
        ("add", "i4", 2000, 100),  # many: one by one
        ("add", "f2", 2000, 100),
        ("subtract", "i8", 16, 100),
        ("maximum", "f4", 16, 200),
        ("multiply", "u1", 16, 100),
        ("power", "f8", 10, 30),  # in order
        ("logical_and", "?", 10, 30),
    ],
)
def test_ufunc_at_operations_match_numpy(name, dtype, length, count):
    with cuda.checks() if cuda.is_simulated() else contextlib.nullcontext():
        assert_at_matches(getattr(np, name), dtype, length, count)


def test_ufunc_at_accepts_a_scalar_operand_and_other_index_types():
    assert_at_matches(np.add, "i4", 16, 1000, 1)
    device = cuda.to_device(np.zeros(4, "i4"))
    for dtype in ("i1", "u2", "u8"):
        np.add.at(device, cuda.to_device(np.array([[1, 1], [3, 0]], dtype)[:, ::-1]), 2)
    np.testing.assert_array_equal(device.copy_to_host(), [6, 12, 0, 6])


def test_assignment_with_several_index_arrays_matches_numpy():
    rng = np.random.default_rng(2)
    i, j = rng.integers(-4, 4, 30), rng.integers(0, 5, (30, 1))
    host = np.zeros((4, 5, 2), "f4")
    device = cuda.to_device(host)
    on_device = cuda.to_device(i)
    for theirs, ours in (
        ((i, j), (on_device, j)),
        ((i, 2), (on_device, 2)),
        (i, on_device),
        ((i, 1, -1), (on_device, 1, -1)),
        ((slice(None), i), (slice(None), on_device)),
    ):
        np.add.at(host, theirs, 1)
        np.add.at(device, ours, 1)
        np.testing.assert_array_equal(device.copy_to_host(), host)


@pytest.mark.parametrize("repeats", [1, 20])
@pytest.mark.parametrize("indices", [[0, 4, 9], [0, -5]])
def test_out_of_bounds_scatter_indices_change_nothing(indices, repeats):
    indices = np.array(indices * repeats)
    host = np.zeros(4, "i4")
    for ufunc in (np.add, np.maximum, np.power):
        device = cuda.to_device(host)
        with pytest.raises(IndexError) as ours:
            ufunc.at(device, cuda.to_device(indices), 1)
        with pytest.raises(IndexError) as theirs:
            ufunc.at(host, indices, 1)
        assert str(ours.value) == str(theirs.value)
        np.testing.assert_array_equal(device.copy_to_host(), host)
    table = cuda.to_device(np.zeros((2, 2)))
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 2"):
        np.add.at(table, (cuda.to_device(np.array([0, 7])), 0), 1)
    with pytest.raises(IndexError, match="could not be broadcast together"):
        np.add.at(table, (cuda.to_device(np.array([0, 1])), np.array([0, 1, 1])), 1)


def test_scatter_is_captured_in_a_graph():
    device, indices = cuda.to_device(np.zeros(4)), cuda.to_device(np.array([1, 1, 3, 0, 1]))
    stream = cuda.stream()
    ours = cuda.vectorize(source="a + b", args="a, b")
    ours.at(device.copy(), indices, 1)
    with stream.capture() as graph:
        ours.at(device, indices, 1.0, stream=stream)
    graph.launch(stream)
    graph.launch(stream)
    stream.synchronize()
    np.testing.assert_array_equal(device.copy_to_host(), [2, 6, 0, 2])
    if cuda.is_simulated():  # on a GPU the device must be reset after this error
        indices[0] = 4
        with pytest.raises(KernelError, match="out of bounds"):
            graph.launch(stream)
            stream.synchronize()
        np.testing.assert_array_equal(device.copy_to_host(), [2, 6, 0, 2])


def test_repeated_calls_check_indices():
    """Each call with an index out of bounds raises IndexError and writes no element, also if the same call
    was made before."""
    host = np.zeros(20, np.int32)
    d = cuda.to_device(host)
    for last in (3, 19, 20, -20, -21, 5, 20):
        places = np.array([1, 1, last])
        given = cuda.to_device(places)
        if -20 <= last < 20:
            np.add.at(host, places, 2)
            np.add.at(d, given, 2)
        else:
            with pytest.raises(IndexError, match=f"index {last} is out of bounds for axis 0"):
                np.add.at(d, given, 2)
        np.testing.assert_array_equal(d.copy_to_host(), host)


def test_unsigned_indices_that_always_fit_are_not_checked():
    for length, is_looked_at in ((256, False), (255, True)):
        d = cuda.to_device(np.zeros(length))
        places = cuda.to_device(np.array([7, 200, 7], np.uint8))
        found = scatter.flat_indices(d.shape, places, 0)
        assert (found.unchecked is not None) is is_looked_at
        np.add.at(d, places, 1)
        assert d.copy_to_host()[[7, 200]].tolist() == [2, 1]


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_scatter_indices_are_not_converted(dtype):
    """One kernel checks the indices and adds the values."""
    counts, indices = (
        cuda.to_device(np.zeros(9, np.int32)),
        cuda.to_device(np.arange(50).astype(dtype) % 9 - 4),
    )
    assert (
        driver_calls_when_warm(lambda: np.add.at(counts, indices, 1)).count("cuLaunchKernel") == 1
    )
    np.testing.assert_array_equal(counts, 2 * np.bincount((np.arange(50) % 9 - 4) % 9))


TRUTHS = (
    "equal not_equal less less_equal greater greater_equal isnan isinf isfinite logical_not logical_and "
    "logical_or logical_xor"
).split()


@pytest.mark.parametrize("name", TRUTHS)
def test_at_of_comparison_ufuncs_matches_numpy(name):
    random, ufunc = random_generator(), getattr(np, name)
    for dtype in random.choice("f4 f8 i4 i8 u1 ? c8".split(), 3, replace=False):
        x, i = random.integers(-2, 3, 6).astype(dtype), random.integers(0, 6, 12)
        for operand in (random.integers(-2, 3, 12).astype(dtype), 1, random.normal(size=12)):
            operands = [operand] if ufunc.nin == 2 else []
            d, expected = cuda.to_device(x), x.copy()
            ufunc.at(expected, i, *operands)
            ufunc.at(d, i, *operands)
            np.testing.assert_array_equal(d.copy_to_host(), expected)
