"""Tests functions that copy several arrays to a new one (concatenate, roll, tile), for any layout,
and the planning of these copies in C."""

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import _core, cuda

DTYPES = "u1", "i2", "f4", "f8", "c16", "V3", "S5"


def draw_arrays(rng, shape, dtype):
    """Returns (host array, device array) of one random layout."""
    order = rng.permutation(len(shape))
    padded = [shape[i] + int(rng.integers(0, 3)) for i in order]
    size = int(np.prod(padded)) * np.dtype(dtype).itemsize
    memory = rng.integers(0, 255, size, np.uint8).view(dtype).reshape(padded)
    device = cuda.to_device(memory)
    parts = tuple(slice(-shape[i], None) for i in order)
    back = np.argsort(order)
    host, device = memory[parts].transpose(back), device[parts].transpose(back)
    if rng.random() < 0.3:
        host, device = host[::-1], device[::-1]
    return host, device


@pytest.mark.parametrize("dtype", DTYPES)
def test_concatenate_accepts_any_layout(dtype):
    rng = np.random.default_rng(12)
    for _ in range(25):
        shape = [int(n) for n in rng.integers(1, 6, rng.integers(1, 4))]
        axis, pairs = int(rng.integers(len(shape))), []
        for _ in range(rng.integers(1, 5)):
            length = int(rng.integers(1, 5))
            pairs.append(
                draw_arrays(rng, [length if i == axis else n for i, n in enumerate(shape)], dtype)
            )
        hosts, devices = zip(*pairs, strict=True)
        found = np.concatenate(devices, axis).copy_to_host()
        np.testing.assert_array_equal(found, np.concatenate(hosts, axis))
        host, device = pairs[0]
        steps = tuple(int(n) for n in rng.integers(-4, 5, host.ndim))
        axes = tuple(range(host.ndim))
        np.testing.assert_array_equal(
            np.roll(device, steps, axes).copy_to_host(), np.roll(host, steps, axes)
        )
        reps = tuple(int(n) for n in rng.integers(1, 4, host.ndim))
        np.testing.assert_array_equal(np.tile(device, reps).copy_to_host(), np.tile(host, reps))


@pytest.mark.parametrize("dtype", DTYPES)
def test_concatenate_of_many_arrays_matches_numpy(dtype):
    """For more arrays than a launch can have as parameters, a table of the arrays is copied to the device."""
    rng = random_generator()
    for contiguous in (True, True, True, False):
        shape = [int(n) for n in rng.integers(0, 6, rng.integers(1, 4))]
        axis, count = int(rng.integers(-len(shape), len(shape))), int(rng.integers(33, 120))
        hosts = []
        for _ in range(count):
            shape[axis] = int(rng.integers(0, 9))
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            hosts.append(rng.integers(0, 255, size, np.uint8).view(dtype).reshape(shape))
        devices = [cuda.to_device(host) for host in hosts]
        if not contiguous:
            hosts[7], devices[7] = hosts[7][::-1], devices[7][::-1]
        found = np.concatenate(devices, axis)
        np.testing.assert_array_equal(found.copy_to_host(), np.concatenate(hosts, axis))
        assert found.dtype == dtype
        axis, same = int(rng.integers(-len(shape) - 1, len(shape) + 1)), [hosts[0]] * count
        found = np.stack([devices[0]] * count, axis).copy_to_host()
        np.testing.assert_array_equal(found, np.stack(same, axis))
    devices = [devices[0]] * 40 + [cuda.to_device(np.zeros((1,) * (len(shape) + 1), dtype))]
    with pytest.raises(ValueError, match="must have same number of dimensions"):
        np.concatenate(devices)
    with pytest.raises(ValueError, match="must have the same shape"):
        np.stack(devices)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_between_random_layouts_match_numpy(dtype):
    rng = np.random.default_rng(14)
    for _ in range(40):
        shape = [int(n) for n in rng.integers(1, 7, rng.integers(1, 5))]
        (host, device), (other, target) = (draw_arrays(rng, shape, dtype) for _ in range(2))
        np.testing.assert_array_equal(device.copy().copy_to_host(), host)
        words = _core.copy_words(device, target)
        if words is not None:
            assert words[0].shape == words[1].shape and words[0].dtype == words[1].dtype
            assert words[0].nbytes == device.nbytes and words[0].itemsize in (1, 2, 4, 8, 16)
        target[...] = device
        np.testing.assert_array_equal(target.copy_to_host(), host)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gather_of_random_layouts_matches_numpy(dtype):
    """Tests one index array along the first axis, or several index arrays with slices between them."""
    rng = np.random.default_rng(15)
    for _ in range(12):
        shape = [int(n) for n in rng.integers(1, 7, rng.integers(1, 5))]
        host, device = draw_arrays(rng, shape, dtype)
        given = [int(n) for n in rng.integers(1, 5, rng.integers(0, 3))]
        hosts, devices = [], []
        for n in shape[: int(rng.integers(1, len(shape) + 1))]:
            index = rng.integers(-n, n, given).astype(rng.choice(["i4", "i8"]))
            is_slice = bool(hosts) and rng.random() < 0.3
            hosts.append(slice(None) if is_slice else index.T)
            devices.append(slice(None) if is_slice else cuda.to_device(index).T)
        found, want = device[tuple(devices)], host[tuple(hosts)]
        np.testing.assert_array_equal(found.copy_to_host(), want)
        if len(hosts) == 1:
            np.testing.assert_array_equal(device[devices[0]].copy_to_host(), want)
            np.testing.assert_array_equal(np.take(device, devices[0], 0).copy_to_host(), want)


def test_copy_planner_rejects_invalid_arguments():
    a, b = cuda.to_device(np.zeros((3, 4))), cuda.to_device(np.zeros((4, 3)))
    index = cuda.to_device(np.zeros(3, int))
    for call, error in (
        (lambda: _core.copy_words(a, b), ValueError),
        (lambda: _core.copy_words(a, np.zeros((3, 4))), TypeError),
        (lambda: _core.arrays_overlap(a, 3, True), TypeError),
        (lambda: _core.gather_plan(a, (8,), b, (8, 8), (3,), []), ValueError),
        (lambda: _core.gather_plan(a, (8,), b, (8,), (3,), [index]), TypeError),
        (lambda: _core.gather_plan(a, (8,), b, (8,), (3,), [(a, (0, 0), 1, 8)]), ValueError),
        (lambda: _core.gather_plan(a, (8,), b, (8,), (300,), [(index, (0,), 1, 8)]), ValueError),
        (lambda: _core.gather_plan(a, (8,), 3, (8,), (3,), [(index, (0,), 1, 8)]), TypeError),
    ):
        with pytest.raises(error):
            call()


def test_concatenate_copies_with_the_widest_accesses():
    a = cuda.to_device(np.zeros((8, 16), "u1"))
    target = cuda.to_device(np.zeros((8, 32), "u1"))

    def plan_batch_copy(columns, begin, at):
        part = a, (8, columns), (16, 1), (32, 1), begin, at
        size, ndim, blocks, given = _core.batch_copy_plan(target, [part])
        assert (ndim, blocks, len(given)) == (2, 1, 3)
        assert given[0].shape == given[1].shape == (8, columns // size)
        return size

    assert [plan_batch_copy(16, 0, 0), plan_batch_copy(8, 8, 16), plan_batch_copy(8, 4, 16), plan_batch_copy(6, 0, 16), plan_batch_copy(3, 0, 0)] == [
        16, 8, 4, 2, 1,
    ]  # fmt: skip
    whole = a, (8, 16), (16, 1), (16, 1), 0, 0
    size, ndim, blocks, (to, of, count) = _core.batch_copy_plan(target, [whole])
    assert (size, ndim, blocks, to.shape, count) == (16, 1, 1, (8,), 1)


def test_concatenate_planner_rejects_invalid_arguments():
    a = cuda.to_device(np.zeros((2, 2, 2, 2, 3), "u1"))
    gaps = a.transpose()
    assert _core.batch_copy_plan(a, [(gaps, gaps.shape, gaps.strides, a.strides, 0, 0)]) is None
    good = a, (4,), (1,), (1,), 0, 0
    for parts, error in (
        ([], TypeError),
        ((good,), TypeError),
        ([good] * 33, TypeError),
        ([3], TypeError),
        ([good[:5]], TypeError),
        ([(np.zeros(4), *good[1:])], TypeError),
        ([(a, (4, 1), (1,), (1,), 0, 0)], ValueError),
        ([(a, (0,), (1,), (1,), 0, 0)], ValueError),
        ([(a, (4,), (1,), (1,), -1, 0)], ValueError),
        ([(a, (1 << 20,), (1,), (1,), 0, 0)], ValueError),
    ):
        with pytest.raises(error):
            _core.batch_copy_plan(a, parts)


@pytest.mark.cases(6)
@pytest.mark.parametrize("text", ["U", "S", "U30", "S30"])
@pytest.mark.parametrize("name", ["concatenate", "stack", "vstack", "hstack"])
def test_concatenate_with_text_dtypes_matches_numpy(name, text):
    rng = random_generator()
    dtypes = rng.choice(["int8", "int64", "float32", "bool", "U3", "S5"], 3)
    hosts = [rng.integers(0, 9, (2, 3)).astype(one) for one in dtypes]
    join = getattr(np, name)
    given = join(list(map(cuda.to_device, hosts)), dtype=text, casting="unsafe")
    expected = join(hosts, dtype=text, casting="unsafe")
    assert given.dtype == expected.dtype
    np.testing.assert_array_equal(given.copy_to_host(), expected)


def test_concatenate_rejects_unsupported_dtypes():
    d = cuda.to_device(np.arange(3))
    with pytest.raises(TypeError, match=r"cannot cast from .* to \|V0"):
        np.concatenate([d, d], dtype="V")
