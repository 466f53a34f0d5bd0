"""Tests functions that copy several arrays to a new one (concatenate, roll, tile), for any layout,
and the planning of these copies in C."""

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import _core, cuda
from numbalite.ndarray import batchcopy

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
        target[...] = device
        np.testing.assert_array_equal(target.copy_to_host(), host)
        order = str(rng.choice(list("CFAK")))
        copy = device.copy(order)
        np.testing.assert_array_equal(copy.copy_to_host(), host)
        assert copy.is_c_contiguous() or copy.is_f_contiguous() or order == "K"
        times, axis = int(rng.integers(0, 4)), int(rng.integers(-host.ndim, host.ndim))
        np.testing.assert_array_equal(
            np.repeat(device, times, axis).copy_to_host(), np.repeat(host, times, axis)
        )


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
    index, floats = cuda.to_device(np.zeros(3, int)), cuda.to_device(np.zeros(3))

    def gather(source, of, target, to, shape, indices):
        return _core.gather(source, of, target, to, shape, indices, 0, False, None)

    for call, error in (
        (lambda: _core.copy_elements(a, b, None, True), ValueError),
        (lambda: _core.copy_elements(a, np.zeros((3, 4)), None, True), TypeError),
        (lambda: _core.arrays_overlap(a, 3, True), TypeError),
        (lambda: _core.copy_limit("max_bytes", 3), ValueError),
        (lambda: gather(a, (8,), b, (8, 8), (3,), [(index, (8,), 1, 8)]), ValueError),
        (lambda: gather(a, (8,), b, (8,), (3,), []), TypeError),
        (lambda: gather(a, (8,), b, (8,), (3,), [index]), TypeError),
        (lambda: gather(a, (8,), b, (8,), (3,), [(floats, (8,), 1, 8)]), TypeError),
        (lambda: gather(a, (8,), b, (8,), (3,), [(index, (0, 0), 1, 8)]), ValueError),
        (lambda: gather(a, (8,), b, (8,), (300,), [(index, (0,), 1, 8)]), ValueError),
        (lambda: gather(a, (8,), 3, (8,), (3,), [(index, (0,), 1, 8)]), TypeError),
    ):
        with pytest.raises(error):
            call()


def test_concatenate_copies_with_the_widest_accesses(monkeypatch):
    found = []
    real = batchcopy.join_kernel
    monkeypatch.setattr(batchcopy, "join_kernel", lambda *key: found.append(key) or real(*key))
    host = np.arange(128, dtype="u1").reshape(8, 16)
    a = cuda.to_device(host)
    for part in (np.s_[:], np.s_[:, 8:16], np.s_[:, 4:12], np.s_[:, :6], np.s_[:, :3]):
        _core.copy_kernels.clear()
        made = np.concatenate((a[part], a[part]), 1)
        np.testing.assert_array_equal(made.copy_to_host(), np.concatenate((host[part],) * 2, 1))
    assert found == [(size, 2, 2) for size in (16, 8, 4, 2, 1)]
    found.clear()
    _core.copy_kernels.clear()
    np.testing.assert_array_equal(np.concatenate((a[:3], a[3:])).copy_to_host(), host)
    assert found == [(16, 1, 2)]


def test_joins_of_many_dimensions_match_numpy():
    """A launch copies up to 32 arrays, or up to 16 arrays of 4 dimensions; arrays of more dimensions are copied one
    after another."""
    host = np.arange(2 * 3 * 4 * 5 * 6, dtype="i2").reshape(2, 3, 4, 5, 6)
    device = cuda.to_device(host)
    for part in (np.s_[:, :2, ::2, :3, ::2], np.s_[0, :2, ::2, :3, ::2]):
        for count in (2, 20):
            made = np.stack([device[part]] * count, 1)
            np.testing.assert_array_equal(made.copy_to_host(), np.stack([host[part]] * count, 1))


@pytest.mark.parametrize("name", ["concatenate", "stack", "roll", "tile", "repeat", "pad", "take"])
def test_direct_functions_leave_other_arguments_to_python(name):
    """The functions in C accept device arrays, ints and tuples; Python code handles other arguments."""
    host = np.arange(12.0, dtype="f4").reshape(3, 4)
    a = cuda.to_device(host)
    records = cuda.to_device(np.zeros(3, [("x", "i2"), ("y", "f4")]))
    index = cuda.to_device(np.zeros(3, int))
    calls = {
        "concatenate": [
            (), ([],), (3,), ([3],), ([a, host],), ([a, a[:, :2]],), ([a, a[0]],), ([a], 2), ([a], 1.0),
            ([a, a.astype("f8")],), ([records],), ([a] * 33,), ([a], 0, a),
        ],
        "stack": [([a, a[:2]],), ([a], 3), ([a], None), ([a] * 33,), (a,)],
        "roll": [(a,), (host, 1), (a, 1.0), (a, (1, 2)), (a, 1, (0, 1)), (a, (1, 1), (0, 2)), (a.T, 1)],
        "tile": [(a, -1), (a, 1), (a, (1, 1)), (a, 2.0), (host, 2), (a, [a]), (a, (2,) * 40)],
        "repeat": [(a, -1), (a, [2, 1, 0], 0), (a, 2, 2), (host, 2), (a.T, 2), (a, 2, 0.0)],
        "pad": [
            (a,), (host, 1), (a, -1), (a, (1, -1)), (a, 1.0), (a, (1, 2, 3)), (a, ((1, 2),)), (a, ((1, 2), 3)),
            (a, 1, "edge"), (a, 1, 0), (records, 1),
        ],
        "take": [
            (a, [0]), (a, index, 2), (a, index.astype("u4")), (a.T, index), (a[:0], index, 0),
            (a, index, None, a), (a, index, 0, None, "other"),
        ],
    }  # fmt: skip
    function = getattr(_core, name)
    for args in calls[name]:
        assert function(*args) is NotImplemented, args
    assert function(a, other=3) is NotImplemented


def assert_equal_pads(device, host, width):
    found, want = np.pad(device, width), np.pad(host, width)
    np.testing.assert_array_equal(found.copy_to_host(), want)
    assert found.is_f_contiguous() == want.flags.f_contiguous


@pytest.mark.parametrize("dtype", DTYPES)
def test_rolls_and_tiles_of_random_arguments_match_numpy(dtype):
    rng = random_generator()
    for _ in range(20):
        shape = [int(n) for n in rng.integers(0, 6, rng.integers(0, 5))]
        host, device = draw_arrays(rng, shape, dtype) if shape else (np.zeros((), dtype),) * 2
        device = device if shape else cuda.to_device(host)
        shift = int(rng.integers(-99, 99)) * int(rng.choice([1, 1, 1 << 70]))
        np.testing.assert_array_equal(np.roll(device, shift).copy_to_host(), np.roll(host, shift))
        if host.dtype.kind in "iufc":
            widths = [[int(n) for n in rng.integers(0, 4, 2)] for _ in shape]
            for width in (widths, 2, (1, 3), tuple(map(tuple, widths))):
                if width:
                    assert_equal_pads(device, host, width)
        reps = tuple(int(n) for n in rng.integers(0, 4, rng.integers(0, 6)))
        np.testing.assert_array_equal(np.tile(device, reps).copy_to_host(), np.tile(host, reps))
        if not shape:
            continue
        axes = tuple(int(n) for n in rng.integers(-len(shape), len(shape), rng.integers(0, 4)))
        shifts = tuple(int(n) for n in rng.integers(-9, 9, len(axes)))
        np.testing.assert_array_equal(
            np.roll(device, shifts, axes).copy_to_host(), np.roll(host, shifts, axes)
        )
        np.testing.assert_array_equal(
            np.roll(device, 2, axes).copy_to_host(), np.roll(host, 2, axes)
        )
    host = np.arange(1 << 11).reshape((2,) * 11)
    made = np.roll(cuda.to_device(host), 1, tuple(range(11))).copy_to_host()
    np.testing.assert_array_equal(made, np.roll(host, 1, tuple(range(11))))


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
