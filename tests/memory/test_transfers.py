"""Compares copies between arrays of any strides with NumPy: bytes between elements are
unchanged."""

import random

import numpy as np
import pytest
from kit.calls import traced_calls
from numpy.lib.stride_tricks import as_strided

from numbalite import _core, cuda

DTYPES = ["u1", "i2", "f4", "f8", "c16", "V3", "V20"]


def random_values(rng, shape, dtype):
    array = np.empty(shape, dtype)
    array.reshape(-1).view("u1")[:] = np.frombuffer(rng.randbytes(array.nbytes), "u1")
    return array


def random_view(rng, shape, dtype):
    """Returns (base, index, axes): base is contiguous, base[index].transpose(axes) has the
    shape."""
    axes = list(range(len(shape)))
    rng.shuffle(axes)
    extents, index = [0] * len(shape), [None] * len(shape)
    for place, axis in enumerate(axes):
        n, step = shape[axis], rng.choice([1, 1, 2, 3])
        start, spare = rng.choice([0, 0, 1]), rng.choice([0, 0, 1])
        stop = start + max(n - 1, 0) * step + 1
        extents[place] = stop + spare
        forward = slice(start, start + n * step, step)
        backward = slice(stop - 1, start - 1 if start else None, -step)
        index[place] = backward if n and rng.random() < 0.25 else forward
    inverse = [axes.index(axis) for axis in range(len(shape))]
    return random_values(rng, extents, dtype), tuple(index), inverse


def view_of(base, index, axes):
    view = base[index] if index else base
    return view.transpose(axes) if axes else view


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("streamed", [False, True], ids=["waiting", "streamed"])
def test_transfers_of_random_strides_match_numpy(seed, streamed):
    rng = random.Random(seed)
    stream = cuda.stream() if streamed else 0
    for _ in range(25):
        shape = [
            rng.choice([0, 1, 1, 2, 3, 4, 7]) or rng.choice([0, 1]) for _ in range(rng.randrange(5))
        ]
        dtype = rng.choice(DTYPES)
        host, device = random_view(rng, shape, dtype), random_view(rng, shape, dtype)
        there = cuda.to_device(device[0])
        view = view_of(there, *device[1:])

        _core.DeviceArray._write(view, view_of(*host), stream)  # host to device
        expected = device[0].copy()
        view_of(expected, *device[1:])[...] = view_of(*host)
        if streamed:
            stream.synchronize()
        assert there.copy_to_host().tobytes() == expected.tobytes()

        target = random_view(rng, shape, dtype)
        wanted = target[0].copy()
        view_of(wanted, *target[1:])[...] = view_of(*host)
        _core.DeviceArray._read(view, view_of(*target), stream)  # device to host
        if streamed:
            stream.synchronize()
        assert target[0].tobytes() == wanted.tobytes()

        other = random_view(rng, shape, dtype)
        source = cuda.to_device(other[0])
        _core.DeviceArray._copy(view_of(source, *other[1:]), view, stream)  # on the device
        wanted = other[0].copy()
        view_of(wanted, *other[1:])[...] = view_of(*host)
        if streamed:
            stream.synchronize()
        assert source.copy_to_host().tobytes() == wanted.tobytes()

        element = random_values(rng, (), dtype) if rng.random() < 0.7 else np.zeros((), dtype)
        _core.DeviceArray._fill(view, element, stream)
        view_of(expected, *device[1:])[...] = element
        if streamed:
            stream.synchronize()
        assert there.copy_to_host().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
def test_transfers_of_broadcast_and_overlapping_sources(dtype):
    rng = random.Random(1)
    line = random_values(rng, 12, dtype)
    sources = [
        np.broadcast_to(line, (5, 12)),
        np.broadcast_to(line[:, None], (12, 4)),
        as_strided(line, (8, 5), (line.itemsize, line.itemsize)),  # windows
        line[::-1],
    ]
    for source in sources:
        target = _core.device_empty(source.shape, dtype)
        target._write(source, 0)
        back = np.empty(source.shape, dtype)
        target._read(back, 0)
        assert back.tobytes() == np.ascontiguousarray(source).tobytes()


def test_large_ragged_copies_are_split():
    """Tests arrays of several dense blocks whose rows no driver copy supports on either side."""
    host = np.arange(2 * 3000 * 2000, dtype="i4").reshape(2000, 3000, 2)
    there = cuda.to_device(np.zeros((2000, 3000, 3), "i4"))
    there[:, :, ::2]._write(host, 0)
    back = there.copy_to_host()
    assert np.array_equal(back[:, :, ::2], host) and not back[:, :, 1].any()
    again = np.zeros((3000, 2000, 2), "i4")
    there[:, :, ::2]._read(again.transpose(1, 0, 2), 0)
    assert np.array_equal(again, host.transpose(1, 0, 2))


def driver_calls_of(operation):
    """Returns the driver calls that move or set memory."""
    return [name for name in traced_calls(operation) if name.startswith("cuMem")]


def test_transfers_make_the_minimum_of_driver_calls():
    """Copies make the documented minimum of calls: one for arrays that are contiguous on both
    sides, or for a box of long rows."""
    # Larger arrays are copied in chunks, through page-locked memory
    host = np.zeros((10, 20, 300), "f4")
    there = cuda.to_device(host)
    assert driver_calls_of(lambda: there._write(host, 0)) == ["cuMemcpyHtoD"]
    # Downloads of a few bytes use a page-locked block if that is faster.
    # The block is allocated once.
    there._read(host, 0)
    assert driver_calls_of(lambda: there._read(host, 0)) in (
        ["cuMemcpyDtoH"],
        ["cuMemcpyDtoHAsync"],
    )
    assert driver_calls_of(lambda: there[3:9]._write(host[3:9], 0)) == ["cuMemcpyHtoD"]
    assert driver_calls_of(lambda: there[::2, :12]._write(host[::2, :12], 0)) == ["cuMemcpy3DAsync"]
    columns = driver_calls_of(lambda: there.T._write(np.zeros_like(host.T, order="C"), 0))
    assert columns == ["cuMemcpyHtoD"]  # the array is first packed into the device's order
    assert driver_calls_of(lambda: there[0:0]._write(host[0:0], 0)) == []
    assert driver_calls_of(lambda: there._fill(np.array(0, "f4"), 0)) == ["cuMemsetD8Async"]
    assert driver_calls_of(lambda: there._fill(np.array(1, "f4"), 0)) == ["cuMemsetD32Async"]


def test_copied_bytes_are_counted():
    """Recorded calls include the bytes that they copy between host and device."""
    from numbalite import _core

    x = np.arange(1000, dtype=np.float32)
    _core.trace(True)
    try:
        d = cuda.to_device(x)
        first = _core.copied()
        copy = d.copy()
        copy[:10].copy_to_host()
        second = _core.copied()
    finally:
        _core.trace(False)
    assert (first, second) == ((4000, 0), (4000, 40))
    d.copy_to_host()
    assert _core.copied() == second
    _core.trace(True)
    _core.trace(False)
    assert _core.copied() == (0, 0)


FIRST_UNORDERED = """
import sys
import numpy as np
from numbalite import _core, cuda

@cuda.jit("void(int32[:])")
def count(x):
    "x[threadIdx.x] += 1;"

numbers = np.arange(4, dtype=np.int32)
x, y = cuda.to_device(numbers), cuda.to_device(numbers)
count[1, 4](x)
count[1, 4, cuda.stream()](y)
cuda.synchronize()
for action in sys.argv[1].split():
    if action == "again":
        x.copy_to_device(numbers)
    elif action == "part":
        x[1:3].copy_to_device(numbers[:2])
    elif action == "new":
        x = cuda.to_device(numbers)
    elif action == "ordered":
        count[1, 4, cuda.stream()](y)
stream = cuda.stream(non_blocking=True)
_core.trace(True)
count[1, 4, stream](x)
print(*_core.traced())
"""


@pytest.mark.parametrize("seed", range(8))
def test_first_non_blocking_stream_waits_for_uploads(run_python, seed):
    """A copy of pageable memory to the device may end after its call. The call waits for the copy
    only if a stream exists that is not ordered with the default stream."""
    drawn = random.Random(seed)
    actions = [drawn.choice(["again", "part", "new"]), *drawn.choices(["ordered", "none"], k=3)]
    drawn.shuffle(actions)
    calls = run_python(FIRST_UNORDERED, " ".join(actions)).stdout.split()
    launch = next(i for i, name in enumerate(calls) if name.startswith("cuLaunchKernel"))
    waits = {"cuStreamWaitEvent", "cuEventSynchronize", "cuStreamSynchronize"}
    assert waits & set(calls[:launch]), (actions, calls)
