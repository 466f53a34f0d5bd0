"""Compares assignments and casts of device arrays with NumPy's, for any shapes, strides and dtypes
on both sides; each needs one copy or one kernel."""

import random

import numpy as np
import pytest
from kit.arrays import assert_same_as_host
from kit.calls import driver_calls_when_warm

from numbalite import _core, cuda
from numbalite.errors import KernelError
from numbalite.ndarray import batchcopy

DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
ComplexWarning = getattr(np, "exceptions", np).ComplexWarning
discards = pytest.mark.filterwarnings("ignore:Casting complex values")
# a conversion of an out-of-range float to unsigned is undefined in C,
# and NumPy's result depends on the CPU
VALUES = {"?": 2, "u1": 100, "u2": 100, "u4": 100, "u8": 100}


def array_of_values(shape, dtype):
    """Returns small numbers that every dtype can represent; floats have fractions."""
    count = int(np.prod(shape))
    x = np.arange(count) % VALUES.get(np.dtype(dtype).str[1:], 100)
    x = x.astype(dtype)
    if x.dtype.kind in "fc":
        x = x + x.dtype.type(0.5)
    if x.dtype.kind == "c":
        x = x * x.dtype.type(1 + 2j)
    return x.reshape(shape)


# ---- pairs of dtypes, each cast by its own kernel: every dtype to two dtypes and back, and every
# kind
# to every kind ----
@discards
@pytest.mark.parametrize("to", DTYPES)
def test_assignment_casts_the_dtype(to):
    at = DTYPES.index(to)
    for of in (DTYPES[at - 1], DTYPES[at - 5], *{"f2": ["f8"], "f4": ["c16"]}.get(to, [])):
        given = array_of_values((3, 4), of)
        for where in "host", "device":
            host = np.zeros((3, 4), to)
            device = cuda.to_device(host)
            host[...] = given
            device[...] = cuda.to_device(given) if where == "device" else given
            assert_same_as_host(device, host)
        assert_same_as_host(cuda.to_device(given).astype(to), given.astype(to))


def test_astype_keeps_the_requested_order():
    host = array_of_values((4, 6, 2), "f8")
    for key in (np.s_[...], np.s_[::2, ::-1], np.s_[:, 1], np.s_[1:1]):
        for axes in ((0, 1, 2), (2, 0, 1)):
            x = host.transpose(axes)[key]
            d = cuda.to_device(host).transpose(axes)[key]
            for order in "CFAK":
                for dtype in ("f4", "f8", "i2"):
                    expected, got = x.astype(dtype, order), d.astype(dtype, order)
                    assert_same_as_host(got, expected)
                    strides = [s for s, n in zip(expected.strides, x.shape, strict=True) if n > 1]
                    mine = [s for s, n in zip(got.strides, x.shape, strict=True) if n > 1]
                    assert strides == mine or not x.size
    d = cuda.to_device(host)
    assert d.astype("f8", copy=False) is d and d.astype("f8", "K", "no", True, False) is d
    assert d.astype("f8", order="F", copy=False) is not d
    assert d.T.astype("f8", order="F", copy=False).address == d.address
    assert d.astype("f8").address != d.address
    stream = cuda.stream()
    assert d.astype("f4", stream=stream).stream is stream
    assert_same_as_host(d.bind(stream).astype("i4"), host.astype("i4"))
    for casting, to in (("no", "f4"), ("equiv", "f4"), ("safe", "f4"), ("same_kind", "i4")):
        with pytest.raises(TypeError, match="cannot cast array data from"):
            d.astype(to, casting=casting)
    assert_same_as_host(d.astype("f4", casting="same_kind"), host.astype("f4"))
    with pytest.raises(ValueError, match="order must be"):
        d.astype("f4", order="X")
    with pytest.raises(TypeError):
        d.astype("O")


def test_assignment_between_host_only_dtypes_matches_numpy():
    """NumPy converts strings, times and arrays of the other byte order on the host."""
    for of, to in [("f4", "S6"), ("S3", "i4"), ("M8[s]", "M8[ms]"), ("i4", "m8[s]"), (">f4", "i2"), ("f4", ">i4")]:  # fmt: skip
        given = np.arange(6).astype(of if of[0] not in "SU" else "i4").astype(of).reshape(2, 3)
        host = np.zeros((2, 3), to)
        expected = given.astype(to)
        for value in (given, cuda.to_device(given)):
            device = cuda.to_device(host)
            device[...] = value
            assert_same_as_host(device, expected)
            device[:, ::2] = value[:, :1]
            expected2 = expected.copy()
            expected2[:, ::2] = expected[:, :1]
            assert_same_as_host(device, expected2)
        assert_same_as_host(cuda.to_device(given).astype(to), expected)


def test_lossy_assignments_warn():
    device = cuda.to_device(np.zeros(3))
    for value in (np.ones(3, "c8"), cuda.to_device(np.ones(3, "c8"))):
        with pytest.warns(ComplexWarning, match="discards the imaginary part"):
            device[:] = value
    with pytest.warns(ComplexWarning):
        cuda.to_device(np.ones(3, "c8")).astype("f4")


# ---- random shapes, strides and dtypes ----
def random_case(rng):
    """Returns (host base, key, shape of a value that fits)"""
    shape = tuple(rng.choice([1, 2, 3, 5, 8]) for _ in range(rng.randint(1, 4)))
    # element sizes of 2 and 16 bytes; test_assignment_casts_the_dtype tests all other sizes
    base = array_of_values(shape, rng.choice(["i2", "c16"]))
    items = []
    for n in shape:
        items.append(
            rng.choice([slice(None), slice(None), slice(None, None, -1), slice(None, None, 2),
                        slice(1, None), slice(None, 0), rng.randrange(n), np.int64(-1)])
        )  # fmt: skip
    if rng.random() < 0.3:
        items[rng.randrange(len(items))] = Ellipsis
    if rng.random() < 0.3:
        items.insert(rng.randrange(len(items) + 1), None)
    key = tuple(items)
    wanted = np.shape(base[key])
    given = tuple(1 if rng.random() < 0.2 else n for n in wanted)[rng.randint(0, len(wanted)) :]
    if rng.random() < 0.2:
        given = (1, *given)
    return base, key, given


@discards
@pytest.mark.parametrize("seed", range(10))
def test_random_assignments_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(30):
        host, key, shape = random_case(rng)
        value = array_of_values(shape, rng.choice([host.dtype, "f4"]))
        if value.ndim and rng.random() < 0.5:
            turned = np.asfortranarray(value[..., ::-1])
            value = turned[..., ::-1]
        device = cuda.to_device(host)
        other = cuda.to_device(value) if rng.random() < 0.5 else value
        if not isinstance(host[key], np.ndarray) and value.ndim:
            continue  # as [1] to an element: NumPy raises an error whose text depends on the release
        if not host[key].size and value.size > 1:
            continue
        host[key] = value
        device[key] = other
        assert_same_as_host(device, host)


@pytest.mark.parametrize("seed", range(4))
def test_copies_of_random_views_match_numpy(seed):
    """Tests every combination of strides for copy(), copy_to_device and copy_to_host."""
    rng = random.Random(seed)
    for _ in range(40):
        host, key, _ = random_case(rng)
        device = cuda.to_device(host)
        part = host[key]
        if not isinstance(part, np.ndarray):
            continue
        for order in "CFAK":
            made = device[key].copy(order)
            assert_same_as_host(made, part.copy(order))
            assert not part.size or made.address != device[key].address
        target = cuda.to_device(np.zeros((*part.shape, 2), part.dtype))
        target[..., 1].copy_to_device(device[key])
        assert_same_as_host(target[..., 1], part)
        assert not target[..., 0].copy_to_host().any()
        back = np.zeros((*part.shape, 2), part.dtype)
        device[key].copy_to_host(back[..., 0])
        np.testing.assert_array_equal(back[..., 0], part)


@pytest.mark.parametrize("dtype", ["u1", "i2", "S3", "f4", "S6", "f8", "S12", "c16", "S24", "M8[s]",
                                   [("a", "i1"), ("b", "f4"), ("c", "f8", (2,))]], ids=str)  # fmt: skip
def test_assignment_supports_any_element_size(dtype):
    dtype = np.dtype(dtype)
    host = (np.arange(5 * 6 * dtype.itemsize) % 7 + 48).astype("u1").view(dtype).reshape(5, 6)
    if dtype.kind == "M":
        host = np.arange(30).reshape(5, 6).astype(dtype)
    device = cuda.to_device(host)
    assert_same_as_host(device.T.copy(), host.T)
    assert_same_as_host(device[::-1, ::2].copy(), host[::-1, ::2])
    device[::-2, :3] = device[:3, 3:].copy()
    host[::-2, :3] = host[:3, 3:].copy()
    assert_same_as_host(device, host)
    device[:] = device[2].copy()
    host[:] = host[2].copy()
    assert_same_as_host(device, host)
    device[:, 1:] = host[:, :1]
    host[:, 1:] = host[:, :1].copy()
    assert_same_as_host(device, host)


def test_assignment_with_many_dimensions_matches_numpy():
    host = np.arange(2**16, dtype="f4").reshape((2,) * 16)
    device = cuda.to_device(host)
    assert_same_as_host(device.T.copy(), host.T)
    device[...] = device.T
    assert_same_as_host(device, host.T.copy())
    deep = cuda.to_device(host[..., :1].reshape((2,) * 15 + (1,) * 17))
    assert_same_as_host(deep.T.copy(), deep.copy_to_host().T)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_overlapping_assignment_copies_first(dtype):
    """The result is as if the right-hand side had been copied before the assignment, also for another
    dtype."""
    for key, source in [(np.s_[1:], np.s_[:-1]), (np.s_[:-1], np.s_[1:]), (np.s_[::-1], np.s_[:]), (np.s_[:50], np.s_[::2])]:  # fmt: skip
        host = np.arange(100).astype(dtype)
        device = cuda.to_device(host)
        host[key] = host[source].copy()
        device[key] = device[source]
        assert_same_as_host(device, host)
    host = np.arange(36.0).reshape(6, 6)
    device = cuda.to_device(host)
    device[...] = device.T
    assert_same_as_host(device, host.T.copy())
    bits = np.arange(20, dtype="f4")
    device = cuda.to_device(bits)
    device[:10] = device.view("i4")[5:15]
    bits[:10] = bits.view("i4")[5:15].copy()
    assert_same_as_host(device, bits)


# ---- Python values ----
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f2", "f4", "c8"])
@pytest.mark.parametrize("value", [0, 1, 7, True, 2.75, np.float32(3), np.int8(3), np.array(5), [1], [1, 2, 3], [[1], [2], [3]], -0.0, "12"], ids=repr)  # fmt: skip
def test_assignment_of_python_values_matches_numpy(dtype, value):
    for key in (np.s_[...], np.s_[::-1, ::-1], np.s_[1], np.s_[0, 2]):
        if isinstance(value, list) and key == (0, 2):
            continue
        host = np.zeros((3, 3), dtype)
        device = cuda.to_device(host)
        try:
            host[key] = value
        except (TypeError, ValueError) as error:
            with pytest.raises((TypeError, ValueError)):
                device[key] = value
            assert error is not None
        else:
            device[key] = value
        assert_same_as_host(device, host)


def test_fill_of_views_matches_numpy():
    host = np.zeros((4, 6), "i2")
    device = cuda.to_device(host)
    for key, value in [
        (np.s_[...], 3),
        (np.s_[::2, ::-3], 7.9),
        (np.s_[:, 1:2], np.int64(5)),
        (np.s_[0:0], 1),
    ]:
        host[key].fill(value)
        device[key].fill(value)
        assert_same_as_host(device, host)
    stream = cuda.stream()
    device.fill(9, stream=stream)
    stream.synchronize()
    assert (device.copy_to_host() == 9).all()
    with pytest.raises(OverflowError):
        device.fill(1 << 20)
    with pytest.raises(ValueError, match=r"use d\[...\] = array"):
        device.fill(np.zeros(6, "i2"))
    with pytest.raises((TypeError, ValueError)):
        device.fill("text")


# ---- what does not go ----
def test_assignment_errors_have_numpys_messages():
    device = cuda.to_device(np.zeros((3, 4), "i1"))
    for value in (
        np.zeros(3),
        np.zeros((2, 4), "i1"),
        np.zeros((3, 1, 4)),
        np.zeros((2, 3, 4)),
        [1, 2, 3],
    ):
        for given in (value, cuda.to_device(np.asarray(value))):
            with pytest.raises(ValueError, match="could not broadcast input array from shape"):
                device[:] = given
    with pytest.raises(ValueError, match=r"from shape \(3,\) into shape \(3, ?4\)"):
        device[:] = np.zeros(3)
    with pytest.raises(OverflowError):
        device[0, 0] = 300
    with pytest.raises(ValueError, match="with a sequence"):
        device[0, 0] = [1, 2]
    with pytest.raises(ValueError):
        device[0] = [[1], [1, 2]]
    with pytest.raises(TypeError):
        device[0] = None
    with pytest.raises(IndexError):
        device[3] = 1
    with pytest.raises(TypeError):
        device[0] = object()
    with pytest.raises(TypeError):
        device[...] = np.array([object()] * 4)
    assert not device.copy_to_host().any()


@pytest.mark.sim
def test_assignment_to_repeated_elements_raises():
    """With equal indices NumPy stores the last value and a GPU any value; the simulator reports
    this."""
    d = cuda.to_device(np.arange(5.0))
    for put in (
        lambda: d.__setitem__([1, 1], cuda.to_device(np.array([5.0, 6.0]))),
        lambda: np.put(d, [1, 1], [5.0, 6.0]),
    ):
        with pytest.raises(KernelError, match=r"written several times.*np\.add\.at") as caught:
            put()
        assert caught.value.kind == "race"
    d[[1, 1]] = 7  # the same value
    assert d[1] == 7


def test_writes_to_read_only_arrays_raise():
    memory = cuda.to_device(np.zeros(4))
    interface = {**memory.__cuda_array_interface__, "data": (memory.address, True)}
    frozen = cuda.from_cuda_array_interface(interface, owner=memory)
    for wrong in (
        lambda: frozen.__setitem__(0, 1),
        lambda: frozen.__setitem__(..., np.ones(4, "f4")),
        lambda: frozen.__setitem__(..., memory),
        lambda: frozen.fill(1),
        lambda: frozen.copy_to_device(np.ones(4)),
        lambda: frozen.copy_to_device(memory[::-1]),
    ):
        with pytest.raises(ValueError, match="read-only"):
            wrong()
    assert_same_as_host(frozen.astype("f4"), np.zeros(4, "f4"))
    assert not frozen.flags.writeable and memory.flags.writeable


def test_assignment_to_self_overlapping_views_raises():
    device = cuda.to_device(np.arange(4.0))
    twice = device._view((2, 4), (0, 8), None)
    for value in (
        cuda.to_device(np.ones((2, 4))),
        np.ones((2, 4), "f4"),
        cuda.to_device(np.ones((2, 4), "i4")),
    ):
        with pytest.raises(ValueError, match="overlap|internal"):
            twice[...] = value


# ---- streams, and the number of driver calls ----
def test_assignments_run_on_the_given_stream():
    stream = cuda.stream()
    host = np.arange(1000, dtype="f4").reshape(20, 50)
    device = cuda.to_device(np.zeros((20, 50)), stream)
    device[::2] = host[::2]
    device.setitem(np.s_[1::2], cuda.to_device(host)[1::2], stream)
    device.setitem((0, 0), 5, stream)
    got = device.getitem(np.s_[:5], stream)
    assert got.stream is stream
    back = device.copy_to_host(stream=stream)
    stream.synchronize()
    host[0, 0] = 5
    np.testing.assert_array_equal(back, host)
    assert device.getitem((0, 1), stream) == 1
    assert_same_as_host(device.T.copy(stream=stream), host.T.astype("f8"))


@pytest.mark.parametrize(
    "key, value",
    [
        (np.s_[:], np.arange(1000, dtype="f4")),  # broadcast
        (np.s_[:], np.arange(64, dtype="i2").reshape(64, 1)),
        (np.s_[::-1], np.ones((64, 1000), "f4")),
        (np.s_[:, ::2], np.ones((64, 500), "f8")),
        (np.s_[...], np.ones((1000, 64), "f4").T),
    ],
    ids=["row", "column", "reversed", "strided", "transposed"],
)
def test_device_assignment_launches_one_kernel(key, value):
    device = cuda.to_device(np.zeros((64, 1000), "f4"))
    other = cuda.to_device(value)
    names = [
        name
        for name in driver_calls_when_warm(lambda: device.__setitem__(key, other))
        if "Ctx" not in name
    ]
    assert names == ["cuLaunchKernel"], names
    names = driver_calls_when_warm(lambda: device.__setitem__(key, value))
    assert sum("Launch" in name for name in names) <= 1, names
    assert sum("Memcpy" in name for name in names) <= 2, names


def test_contiguous_assignment_is_one_memcpy():
    device, other = cuda.to_device(np.zeros((64, 100))), cuda.to_device(np.ones((64, 100)))
    for use in (
        lambda: device.__setitem__(..., other),
        lambda: device.T.copy_to_device(other.T),
        lambda: device[3:9].copy_to_device(other[3:9]),
        lambda: device[:, 3:9].copy_to_device(other[:, 3:9]),
    ):
        names = driver_calls_when_warm(use)
        assert sum("Memcpy" in name for name in names) == 1, names
        assert not any("Launch" in name for name in names)
    names = driver_calls_when_warm(lambda: device.astype("f4"))
    assert sum("Launch" in name for name in names) == 1 and not any("Memcpy" in n for n in names)


# ---- copies between arrays that are contiguous along different axes, and between parts of the
# arrays ----
@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "c16"])
def test_transposed_copies_use_tiles(dtype, request, monkeypatch):
    """Copies are made by tiles, incomplete at the edges, for contiguous elements and for elements
    with gaps."""
    before = _core.copy_limit("min_tiled_bytes", 0)
    request.addfinalizer(lambda: _core.copy_limit("min_tiled_bytes", before))
    found, kernels = [], []
    real = batchcopy.transpose_kernel
    monkeypatch.setattr(
        batchcopy, "transpose_kernel", lambda *key: kernels.append(key) or real(*key)
    )
    _core.copy_kernels.clear()

    def note_stack(of, to):
        found.append(_core.matrix_stack(of.shape, of.strides, to.strides, of.itemsize))

    def copy_columns(view):
        made = view.swapaxes(-1, -2).copy()
        note_stack(view.swapaxes(-1, -2), made)
        return made

    for shape in ((130, 71), (64, 128), (3, 50, 40), (2, 2, 64, 33)):
        host = array_of_values(shape, dtype)
        d = cuda.to_device(host)
        assert_same_as_host(copy_columns(d), host.swapaxes(-1, -2))
        part = host[..., 1:]
        assert_same_as_host(copy_columns(d[..., 1:]), part.swapaxes(-1, -2))
        assert_same_as_host(copy_columns(d[..., ::3]), host[..., ::3].swapaxes(-1, -2))
        wide = cuda.to_device(np.zeros((*host.shape[:-1], 2 * host.shape[-1]), dtype))
        columns = cuda.to_device(host.swapaxes(-1, -2).copy())
        wide[..., ::2].swapaxes(-1, -2)[...] = columns
        note_stack(columns, wide[..., ::2].swapaxes(-1, -2))
        assert_same_as_host(wide[..., ::2], host)
        assert_same_as_host(wide[..., 1::2], np.zeros_like(host))
        target = cuda.device_array(host.swapaxes(-1, -2).shape, dtype)
        stream = cuda.stream()
        target.swapaxes(-1, -2).copy_to_device(d, stream)
        note_stack(d, target.swapaxes(-1, -2))
        stream.synchronize()
        assert_same_as_host(target, host.swapaxes(-1, -2))
    assert sum(one is not None for one in found) >= 15
    assert {key[0] for key in kernels} == {np.dtype(dtype).itemsize}


def test_transposed_layouts_are_detected_as_stacks():
    stack_of = _core.matrix_stack
    assert stack_of((64, 32), (4, 256), (128, 4), 4) == ((1, 32, 64), (0, 256, 4), (0, 4, 128))
    stacked = stack_of((5, 2, 32, 64), (16384, 8192, 4, 128), (16384, 8192, 256, 4), 4)
    assert stacked == ((10, 64, 32), (8192, 128, 4), (8192, 4, 256))
    assert stack_of((64, 32), (8, 512), (128, 4), 4) == ((1, 32, 64), (0, 512, 8), (0, 4, 128))
    assert stack_of((64, 32), (20, 1280), (128, 4), 4) is None  # too far apart
    assert stack_of((64, 32), (128, 4), (128, 4), 4) is None  # equal layouts
    assert stack_of((64, 31), (4, 256), (124, 4), 4) is None  # short
    assert stack_of((64, 32), (-4, 256), (128, 4), 4) is None
    assert (
        stack_of((3, 64, 2, 32), (1 << 20, 4, 1 << 16, 256), (1 << 16, 128, 1 << 20, 4), 4) is None
    )


def test_copies_within_an_array_read_the_source_first():
    """The result is as if the source had been read first; even and odd elements do not overlap."""
    for target, source in (
        (np.s_[::2], np.s_[1::2]),
        (np.s_[:], np.s_[::-1]),
        (np.s_[:4000:2], np.s_[1000:3000]),
    ):
        host = np.arange(6000.0)
        d = cuda.to_device(host)
        d[target] = d[source]
        host[target] = host[source].copy()
        assert_same_as_host(d, host)
    host = np.arange(10000.0).reshape(100, 100)
    d = cuda.to_device(host)
    assert not _core.arrays_overlap(d[:, ::2], d[:, 1::2], True)
    assert _core.arrays_overlap(d[:, ::2], d[1::2], True)
    d[...] = d.T
    assert_same_as_host(d, host.T)


def test_broadcast_views_reject_assignment():
    host = np.arange(3.0)

    def broadcast_views(x):
        spread = np.broadcast_to(x, (2, 3))
        whole = np.broadcast_to(x, (3,))
        return spread, whole, spread[0], spread.T, spread.reshape(2, 3, 1)[:, 1:], spread.real

    def add(x):
        x += 1

    calls = (
        lambda x: x.__setitem__(..., 1),
        lambda x: x.__setitem__(0, 1),
        lambda x: x.__setitem__(np.zeros(1, int), 1),
        lambda x: x.fill(1),
        lambda x: np.copyto(x, 1),
        lambda x: np.add(x, 1, out=x),
        lambda x: x.sort(),
        add,
    )
    for _ in range(4):  # also where calls are repeated
        device = cuda.to_device(host)
        for ours, theirs in zip(broadcast_views(device), broadcast_views(host), strict=True):
            assert not ours.flags.writeable and not theirs.flags.writeable
            assert ours.copy().flags.writeable
            for call in calls:
                for one in ours, theirs:
                    with pytest.raises(ValueError, match="read-only"):
                        call(one)
        assert device.flags.writeable
        np.testing.assert_array_equal(device.copy_to_host(), host)

    @cuda.jit
    def set_first(x):
        "x[0] = 7;"

    set_first[1, 1](np.broadcast_to(device, (3,)))
    set_first[1, 1](np.broadcast_to(device[1:2], (3,)))
    assert device.copy_to_host().tolist() == [7, 7, 2]
