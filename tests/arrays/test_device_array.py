"""Compares indexing of the extension's device arrays with NumPy's."""

import collections
import enum
import gc
import itertools
import random
import weakref

import numpy as np
import pytest
from kit.arrays import ForeignArray, to_device

from numbalite import _core, cuda, errors


@pytest.fixture(scope="module", autouse=True)
def assert_nothing_leaks():
    """Runs once for the file, because a garbage collection after each test takes longer than the tests."""
    gc.collect()
    before = _core.live()
    yield
    gc.collect()
    cuda.synchronize()
    after = _core.live()
    assert {**after, "blocks": 0} == {**before, "blocks": 0}
    assert after["blocks"] <= before["blocks"] + 50  # caches may grow once


pytestmark = pytest.mark.every_case
RECORD = np.dtype([("x", "f4"), ("n", "i2"), ("m", "f8", (2, 3))])
DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]", "S5", ">f4", RECORD]


def make_host_array(shape, dtype="f4"):
    """Returns a host array in which neighbouring elements differ."""
    size = int(np.prod(shape))
    dtype = np.dtype(dtype)
    raw = np.arange(size * dtype.itemsize, dtype="i8") * 7 + 3
    return (raw % 125).astype("u1").view(dtype).reshape(shape) if size else np.empty(shape, dtype)


def copy_to_host_array(device):
    host = np.zeros(device.shape, device.dtype)
    device._read(host)
    return host


def assert_same_array(device, host):
    assert device.shape == host.shape and device.dtype == host.dtype and device.ndim == host.ndim
    assert device.size == host.size and device.nbytes == host.nbytes
    assert device.itemsize == host.itemsize
    got = copy_to_host_array(device)
    assert got.tobytes() == np.ascontiguousarray(host).tobytes()
    assert device.is_c_contiguous() == host.flags.c_contiguous
    assert device.is_f_contiguous() == host.flags.f_contiguous


# ---- making ----
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "shape", [(), (1,), (7,), (0,), (3, 0, 2), (4, 5), (2, 3, 1, 4, 2)], ids=str
)
def test_copy_to_device_and_back_is_exact(shape, dtype):
    host = make_host_array(shape, dtype)
    assert_same_array(to_device(host), host)


@pytest.mark.parametrize("order", "CF")
def test_new_arrays_have_numpys_strides(order):
    for shape in [(), (3,), (2, 3, 4), (1, 5, 1), (2,) * 10]:
        device = _core.device_empty(shape, "f8", order)
        assert device.strides == np.empty(shape, "f8", order).strides
        assert device.is_c_contiguous() if order == "C" else device.is_f_contiguous()
    device = _core.device_empty((2, 3), "i4", strides=(24, -8))
    assert device.strides == (24, -8) and device.base_nbytes == 24 + 16 + 4
    host = make_host_array((2, 3), "i4")
    device._write(host)
    assert copy_to_host_array(device).tolist() == host.tolist()


def test_invalid_shapes_raise():
    assert _core.device_empty(5, "i4").shape == (5,)
    assert _core.device_empty(np.int64(5), "i4").shape == (5,)
    assert _core.device_empty([2, np.int8(3)], "i4").shape == (2, 3)
    for wrong in (1.5, "4", None, (1.5,), ("2",), (True,), {3}, object()):
        with pytest.raises(TypeError):
            _core.device_empty(wrong, "i4")
    for wrong in (-1, (2, -3), (1,) * 33, 2**64, (2**40, 2**40), (0, 2**40, 2**40), 2**61):
        with pytest.raises(ValueError):
            _core.device_empty(wrong, "f8")
    for strides in ((8,), (8, 8, 8), (2**62, 1), (-(2**63), 8)):
        with pytest.raises(ValueError):
            _core.device_empty((3, 3), "f8", strides=strides)
    for strides in ("88", 8.0, (8, 8.0), (8, None)):
        with pytest.raises(TypeError):
            _core.device_empty((3, 3), "f8", strides=strides)
    with pytest.raises(ValueError):
        _core.device_empty(3, "f8", "K")
    with pytest.raises(errors.CudaAPIError):
        _core.device_empty(2**58, "f4")


@pytest.mark.parametrize(
    "dtype",
    ["O", [("a", "i4"), ("b", "O")], "no dtype", pytest.param(object(), id="object"), ("f4", (2,))],
    ids=str,
)
def test_unsupported_dtypes_raise(dtype):
    with pytest.raises(TypeError):
        _core.device_empty(3, dtype)


def test_device_array_type_cannot_be_instantiated():
    with pytest.raises(TypeError):
        _core.DeviceArray()
    with pytest.raises(TypeError):
        object.__new__(_core.DeviceArray)
    with pytest.raises(TypeError):
        _core.register_array_class(int)
    with pytest.raises(TypeError):
        _core.register_array_class(3)


# ---- indexing ----
def random_index(rng, shape):
    """Returns an index for an array of that shape: integers, slices, None and maybe one
    Ellipsis."""
    taken = rng.randint(0, len(shape))
    items = []
    ellipsis = rng.random() < 0.4
    dims = list(range(taken))
    if ellipsis:
        tail = rng.randint(0, taken)
        dims = list(range(taken - tail)) + [None] + list(range(len(shape) - tail, len(shape)))
    for dim in dims:
        if dim is None:
            items.append(Ellipsis)
            continue
        n = shape[dim]
        kind = rng.random()
        if kind < 0.35 and n:
            items.append(rng.choice([int, np.int64])(rng.randint(-n, n - 1)))
        else:
            bound = [None, *range(-n - 2, n + 3)]
            step = rng.choice([None, 1, 2, 3, -1, -2, -7, 2**62, -(2**62)])
            items.append(slice(rng.choice(bound), rng.choice(bound), step))
        if rng.random() < 0.15:
            items.append(None)
    return tuple(items)


@pytest.mark.parametrize("seed", range(6))
def test_random_basic_indices_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(60):
        shape = tuple(rng.randint(0, 5) for _ in range(rng.randint(0, 6)))
        host = make_host_array(shape, rng.choice(["f4", "i2", "c16"]))
        device = to_device(host)
        for _ in range(4):
            index = random_index(rng, host.shape)
            expected = host[index]
            got = device[index]
            if isinstance(expected, np.generic):
                assert type(got) is type(expected) and got.tobytes() == expected.tobytes()
                break
            assert isinstance(got, _core.DeviceArray)
            assert_same_array(got, expected)
            host, device = expected, got


@pytest.mark.parametrize("seed", range(4))
def test_views_read_and_write_the_viewed_elements(seed):
    rng = random.Random(100 + seed)
    for _ in range(25):
        shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 4)))
        host = make_host_array(shape, "i4")
        device = to_device(host)
        index = (*random_index(rng, shape), None)
        if Ellipsis not in index:
            index = (*index, Ellipsis)
        values = np.asarray(make_host_array(host[index].shape, "i4") + 1)
        host[index] = values
        device[index]._write(values[::-1][::-1])
        assert_same_array(device, host)


def test_single_index_matches_numpy():
    host = make_host_array((4, 3))
    device = to_device(host)
    for index in (1, -1, slice(1, 3), Ellipsis, None, slice(None, None, -1)):
        assert_same_array(device[index], host[index])
    assert device[2][1] == host[2, 1] and type(device[2][1]) is np.float32
    assert_same_array(device[()], host[()])
    scalar = to_device(np.array(2.5))
    assert scalar[()] == 2.5 and type(scalar[()]) is np.float64
    assert scalar[...].shape == () and scalar[None].shape == (1,)


def test_invalid_indices_raise():
    device = to_device(make_host_array((4, 3)))
    host = make_host_array((4, 3))
    for index in (
        4,
        -5,
        (0, 3),
        (0, 0, 0),
        (..., ...),
        1.0,
        "x",
        (0, "x"),
        2**70,
        -(2**70),
        object(),
    ):
        with pytest.raises(IndexError):
            device[index]
        with pytest.raises(IndexError):
            host[index]
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        device[4]
    with pytest.raises(
        IndexError, match="too many indices for array: array is 2-dimensional, but 3"
    ):
        device[0, 0, 0]
    mask = np.zeros((4, 3), bool)
    for index in (mask[:3], [4], (0, [3]), [0.5]):
        with pytest.raises(IndexError):
            device[index]
    with pytest.raises(IndexError, match="dimensions"):
        device[(None,) * 31]
    with pytest.raises(TypeError):
        device[::0.5]
    with pytest.raises(ValueError):
        device[::0]

    class ObjectWithFailingIndex:
        def __index__(self):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        device[ObjectWithFailingIndex()]
    with pytest.raises(ZeroDivisionError):
        device[ObjectWithFailingIndex() :]


def test_fields_of_structured_arrays_are_views():
    host = make_host_array((3, 4), RECORD)
    device = to_device(host)
    for name in RECORD.names:
        assert_same_array(device[name], host[name])
        assert_same_array(device[1:, ::2][name], host[1:, ::2][name])
    with pytest.raises(ValueError, match="no field of name nothing"):
        device["nothing"]
    record = device[1, 2]
    assert isinstance(record, cuda.DeviceRecord) and record.dtype == RECORD
    assert record.shape == () and record == host[1, 2]
    record["n"] = host[1, 2]["n"] = 1  # not a copy
    assert_same_array(device, host)


def test_len_and_iteration_match_numpy():
    device = to_device(make_host_array((3, 2)))
    assert len(device) == 3 and len(_core.device_empty((0, 2), "f4")) == 0
    with pytest.raises(TypeError, match="unsized"):
        len(_core.device_empty((), "f4"))
    assert [tuple(row.shape) for row in device] == [(2,)] * 3


# ---- views of any geometry ----
def test_view_with_explicit_strides_matches_numpy():
    host = make_host_array((6, 4), "f4")
    device = to_device(host)
    assert_same_array(device._view((24,), None, None), host.reshape(24))
    assert_same_array(device._view((4, 6), (4, 16), None), host.T)
    assert_same_array(device._view((3, 4), (32, 4), np.dtype("i4"), 16), host[1::2].view("i4"))
    assert_same_array(
        device._view((5, 6), (0, 4), "f4"), np.lib.stride_tricks.as_strided(host, (5, 6), (0, 4))
    )
    assert_same_array(device._view(0, None, "c16"), np.zeros(0, "c16"))
    inner = device[2:4]
    assert_same_array(inner._view((4,), (4,), "f4", -16), host[1])
    for shape, strides, dtype, offset in [
        ((25,), None, "f4", 0),
        ((24,), None, "f4", 4),
        ((24,), None, "f4", -4),
        ((2,), (-4,), "f4", 0),
        ((2,), (96,), "f4", 0),
        ((2,), (2**62,), "f4", 0),
        ((2**40, 2**40), (0, 0), "f4", 0),
        ((12,), None, "c16", 0),
        ((0,), None, "f4", 97),
        ((1,), None, "f4", 2**62),
        ((1,), None, "f4", -(2**63)),
    ]:
        with pytest.raises(ValueError):
            device._view(shape, strides, dtype, offset)
    with pytest.raises(TypeError):
        device._view((3,), None, "O")


def test_views_keep_the_memory_alive():
    gc.collect()  # what earlier tests have left
    before = _core.live()["buffers"]
    views = [to_device(make_host_array(100))]
    for _ in range(10):
        views.append(views[-1][1:])
    assert _core.live()["buffers"] == before + 1
    last = views[-1]
    del views
    assert copy_to_host_array(last).tolist() == make_host_array(100)[10:].tolist()
    del last
    assert _core.live()["buffers"] == before


def test_results_of_c_code_have_the_registered_class():
    assert type(_core.device_empty(3, "f4")) is cuda.DeviceNDArray
    assert type(to_device(make_host_array(4))[1:]) is cuda.DeviceNDArray


def test_device_arrays_support_weak_references():
    device = to_device(make_host_array(4))
    ref = weakref.ref(device)
    assert ref() is device
    del device
    assert ref() is None


# ---- copies ----
@pytest.mark.parametrize("seed", range(4))
def test_strided_copies_to_and_from_the_device_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(40):
        shape = tuple(rng.randint(1, 5) for _ in range(rng.randint(1, 4)))
        base = make_host_array([3 * n for n in shape], rng.choice(["u1", "f4", "c16"]))
        steps = [tuple(rng.choice([1, 2, 3, -1, -2]) for _ in shape) for _ in range(2)]
        source, target = (
            base[tuple(slice(None, None, s) for s in step)][tuple(slice(n) for n in shape)]
            for step in steps
        )
        device = to_device(base)[tuple(slice(None, None, s) for s in steps[1])]
        device = device[tuple(slice(n) for n in shape)]
        device._write(source)
        result = np.zeros(base.shape, base.dtype)
        view = result[tuple(slice(None, None, s) for s in steps[0])][tuple(slice(n) for n in shape)]
        device._read(view)
        assert view.tobytes() == source.tobytes()
        assert np.count_nonzero(result) <= view.size  # no element outside of it


@pytest.mark.parametrize("seed", range(3))
def test_copies_between_strided_device_arrays_match_numpy(seed):
    rng = random.Random(seed)
    for _ in range(30):
        n = rng.randint(1, 6)
        host = make_host_array((4 * n, 5), "i4")
        device = to_device(host)
        first, second = (
            slice(s, s + k * n, k)
            for s, k in [(rng.randint(0, n), rng.choice([1, 2, 3])) for _ in range(2)]
        )
        if rng.random() < 0.5:
            second = slice(second.stop - 1, None if second.start == 0 else second.start - 1, -1)
            if len(host[second]) < n:
                continue
            k = host[second][:n]
            device[first][:n]._copy(device[second][:n])
            host[first][:n] = k.copy()
        else:
            device[first]._copy(device[second])
            host[first] = host[second].copy()
        assert_same_array(device, host)


def test_arrays_are_copied_between_devices():
    if _core.device_count() < 2:
        pytest.skip("one device")
    host = make_host_array((6, 4))
    here = to_device(host)
    _core.select_device(1)
    try:
        there = _core.device_empty((6, 4), "f4")
    finally:
        _core.select_device(0)
    assert (here.device, there.device) == (0, 1)
    there._copy(here)
    assert_same_array(there, host)
    there[::2, 1:]._copy(here[1::2, :3])
    host[::2, 1:] = host[1::2, :3].copy()
    assert_same_array(there, host)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", RECORD], ids=str)
def test_fill_of_views_matches_numpy_for_each_dtype(dtype):
    host = make_host_array((5, 6), dtype)
    device = to_device(host)
    value = make_host_array((2,), dtype)[1]
    for index in [(slice(None),), (slice(1, 3),), (slice(None, None, 2), slice(None, None, -3))]:
        device[index]._fill(np.array(value, dtype))
        host[index] = value
        assert_same_array(device, host)


def test_invalid_copies_raise():
    device = to_device(make_host_array((3, 4)))
    frozen = np.zeros((3, 4), "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        device._read(frozen)
    with pytest.raises(ValueError, match=r"\(3, 4\).*\(4, 3\)"):
        device._read(np.zeros((4, 3), "f4"))
    with pytest.raises(TypeError, match="dtype"):
        device._read(np.zeros((3, 4), "f8"))
    with pytest.raises(TypeError, match="dtype"):
        device._write(np.zeros((3, 4), ">f4"))
    with pytest.raises(ValueError, match="overlap"):
        device._read(np.lib.stride_tricks.as_strided(np.zeros(4, "f4"), (3, 4), (0, 4)))
    with pytest.raises(ValueError, match="overlap"):
        device._view((3, 4), (0, 4), None)._write(np.zeros((3, 4), "f4"))
    with pytest.raises(ValueError, match="overlap"):
        device._view((3, 4), (0, 4), None)._copy(device)
    for wrong in (None, [[1.0] * 4] * 3, device, 3):
        with pytest.raises(TypeError):
            device._read(wrong)
        with pytest.raises(TypeError):
            device._write(wrong)
    for wrong in (None, np.zeros((3, 4), "f4"), 3):
        with pytest.raises(TypeError):
            device._copy(wrong)
    for wrong in (1.0, np.float32(1), np.zeros(1, "f4"), np.zeros((), "f8"), np.zeros((), ">f4")):
        with pytest.raises(TypeError):
            device._fill(wrong)
    for stream in ("s", 7, 1.5, object()):
        with pytest.raises(TypeError):
            device._write(np.zeros((3, 4), "f4"), stream)


def test_copies_on_a_stream_run_in_order():
    host = make_host_array((64, 64))
    for stream in (_core.Stream(), _core.Stream(non_blocking=True)):
        device = _core.device_empty(host.shape, host.dtype)
        result = np.zeros_like(host)
        device._write(host, stream)
        other = _core.device_empty(host.shape, host.dtype)
        other._copy(device, stream)
        other[:, ::2]._fill(np.zeros((), "f4"), stream)
        other._read(result, stream=stream)
        stream.synchronize()
        expected = host.copy()
        expected[:, ::2] = 0
        assert (result == expected).all()


def test_page_locked_memory_lives_until_the_copy_is_done():
    """The array is dropped immediately, while the stream still needs it."""
    if not hasattr(cuda, "pinned_array"):
        pytest.skip("no page-locked arrays yet")
    stream = _core.Stream(non_blocking=True)
    device = _core.device_empty(1 << 16, "f4")
    for value in range(20):
        pinned = cuda.pinned_array(1 << 16, np.float32)
        pinned[:] = value
        device._write(pinned, stream)
        del pinned
    back = cuda.pinned_array(1 << 16, np.float32)
    device._read(back, stream)
    stream.synchronize()
    assert (back == 19).all()
    del back, device
    to_device(make_host_array(3))  # removes the references that the stream no longer needs
    gc.collect()


def test_copies_use_the_bound_stream_by_default():
    stream = _core.Stream()
    device = to_device(make_host_array(8))
    assert device.stream == 0 and device.__cuda_array_interface__["stream"] is None
    bound = device._bind(stream)
    assert bound.stream is stream and bound[2:].stream is stream
    assert bound.__cuda_array_interface__["stream"] == stream.handle
    assert bound.address == device.address and device.stream == 0
    assert bound._bind(0).stream == 0
    assert_same_array(bound, make_host_array(8))


# ---- the CUDA Array Interface ----
def test_cuda_array_interface_describes_the_array():
    device = to_device(make_host_array((3, 4)))
    assert device.__cuda_array_interface__ == {
        "shape": (3, 4),
        "strides": None,
        "typestr": "<f4",
        "descr": [("", "<f4")],
        "data": (device.address, False),
        "stream": None,
        "version": 3,
    }
    assert device[:, 1].__cuda_array_interface__["strides"] == (16,)
    assert device[3:].__cuda_array_interface__["data"] == (0, False)
    records = _core.device_empty(2, RECORD).__cuda_array_interface__
    assert (records["typestr"], records["descr"]) == (RECORD.str, RECORD.descr)
    overlapping = np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]})
    assert _core.device_empty(2, overlapping).__cuda_array_interface__["descr"] == [("", "|V4")]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_from_interface_imports_cuda_array_interface_versions(dtype):
    host = make_host_array((5, 6), dtype)
    device = to_device(host)
    for array, expected in [
        (device, host),
        (device[::2, ::-1], host[::2, ::-1]),
        (device[5:], host[5:]),
    ]:
        for changes in (
            {},
            {"version": 2, "stream": KeyError},
            {"version": 0, "descr": KeyError if dtype is not RECORD else RECORD.descr},
            {"stream": 1},
            {"stream": 2},
            {"mask": None},
        ):
            view = _core.from_interface(ForeignArray(array, **changes))
            assert_same_array(view, expected)
            assert not expected.size or view.address == array.address
            assert view._owner is not None


def test_read_only_interfaces_give_read_only_views():
    device = to_device(make_host_array(5))
    view = _core.from_interface(ForeignArray(device, data=(device.address, True)))
    assert view.readonly and view[1:].readonly and not device.readonly
    assert view.__cuda_array_interface__["data"] == (device.address, True)
    for write in (
        lambda: view._write(make_host_array(5)),
        lambda: view._fill(np.zeros((), "f4")),
        lambda: view[1:]._copy(device[1:]),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    assert_same_array(view, make_host_array(5))


WRONG = [
    (TypeError, "shape", None),
    (TypeError, "shape", [5]),
    (TypeError, "shape", 5),
    (TypeError, "shape", (5.0,)),
    (ValueError, "shape", (-5,)),
    (ValueError, "shape", (1,) * 33),
    (ValueError, "shape", (1,) * 1000),
    (ValueError, "shape", (2**63,)),
    (ValueError, "shape", (2**62,)),
    (ValueError, "shape", (2**32, 2**32)),
    (ValueError, "shape", KeyError),
    (TypeError, "typestr", 3),
    (TypeError, "typestr", None),
    (TypeError, "typestr", "nonsense"),
    (TypeError, "typestr", "<f3"),
    (TypeError, "typestr", "|O8"),
    (TypeError, "typestr", ""),
    (TypeError, "typestr", "\u20ac4"),
    (ValueError, "typestr", KeyError),
    (TypeError, "data", None),
    (TypeError, "data", 4096),
    (TypeError, "data", (4096,)),
    (TypeError, "data", ("4096", False)),
    (ValueError, "data", (-1, False)),
    (ValueError, "data", (2**64, False)),
    (ValueError, "data", (2**64 - 4, False)),
    (ValueError, "data", (0, False)),
    (ValueError, "data", KeyError),
    (TypeError, "strides", 4),
    (TypeError, "strides", "44"),
    (TypeError, "strides", (4.0,)),
    (ValueError, "strides", (4, 4)),
    (ValueError, "strides", ()),
    (ValueError, "strides", (2**64,)),
    (ValueError, "version", 4),
    (ValueError, "version", -1),
    (ValueError, "version", 2**70),
    (TypeError, "version", "3"),
    (ValueError, "stream", 0),
    (ValueError, "stream", -1),
    (ValueError, "stream", 2**64),
    (TypeError, "stream", "1"),
    (NotImplementedError, "mask", object()),
]


@pytest.mark.parametrize(
    "exception, field, value", WRONG, ids=lambda v: getattr(v, "__name__", repr(v)[:20])
)
def test_invalid_interfaces_are_rejected(exception, field, value):
    foreign = ForeignArray(to_device(make_host_array(5)), **{field: value})
    with pytest.raises(exception, match=field):
        _core.from_interface(foreign)


def test_import_propagates_errors_of_interface_attributes():
    class ObjectWithoutDict:
        __cuda_array_interface__ = 5

    class ObjectWithFailingInterface:
        @property
        def __cuda_array_interface__(self):
            raise ZeroDivisionError

    class WithoutInterface:
        @property
        def __cuda_array_interface__(self):
            raise AttributeError

    with pytest.raises(TypeError, match="dict"):
        _core.from_interface(ObjectWithoutDict())
    with pytest.raises(ZeroDivisionError):
        _core.from_interface(ObjectWithFailingInterface())
    for nothing in (WithoutInterface(), 3, None, np.zeros(3), cuda.DeviceNDArray):
        with pytest.raises(TypeError, match="cuda array interface"):
            _core.from_interface(nothing)


def test_interfaces_with_incomplete_field_lists_become_bytes():
    device = to_device(make_host_array(4, "V12"))
    for descr in ([("x", "<f4")], [("x", "O")], None):
        view = _core.from_interface(ForeignArray(device, descr=descr))
        assert view.dtype == np.dtype("V12")
    for descr in (3, "x", [3]):
        with pytest.raises(TypeError, match="descr"):
            _core.from_interface(ForeignArray(device, descr=descr))


def test_the_owner_is_kept_and_cycles_are_collected():
    device = to_device(make_host_array(5))
    foreign = ForeignArray(device)
    ref = weakref.ref(foreign)
    view = _core.from_interface(foreign)[1:]
    del foreign
    assert ref() is view._owner
    ref().cycle = view  # owner -> view -> owner
    del view
    gc.collect()
    assert ref() is None


def test_from_pointer_keeps_the_owner_alive():
    host = make_host_array((4, 4), "i4")
    device = to_device(host)
    owner = type("Owner", (), {})()
    ref = weakref.ref(owner)
    assert_same_array(_core.from_pointer(device.address, (4, 4), None, "i4"), host)
    view = _core.from_pointer(device.address + 48, (4, 4), (-16, 4), "i4", owner)
    assert_same_array(view, host[::-1])
    del owner
    assert ref() is view._owner
    del view
    assert ref() is None
    assert _core.from_pointer(0, 0, None, "f4").size == 0
    for address, shape, strides, exception in [
        (0, 3, None, ValueError),
        (2**64 - 8, 3, None, ValueError),
        (16, (8,), (-16,), ValueError),
        (-1, 3, None, OverflowError),
        (2**64, 3, None, OverflowError),
        ("1", 3, None, TypeError),
        (4096, -1, None, ValueError),
        (4096, 2**62, None, ValueError),
    ]:
        with pytest.raises(exception):
            _core.from_pointer(address, shape, strides, "f8")


# ---- type codes ----
def type_code(value):
    return int.from_bytes(_core.typecodes((value,)), "little")


def test_type_codes_encode_dtype_dimensions_and_layout():
    order = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]
    for number, dtype in enumerate(order, 1):
        host = make_host_array((3, 4), dtype)
        array = 1 << 16 | 2 << 8 | number
        for value, expected in [
            (host[1, 1], number),
            (np.array(host[1, 1]), 1 << 16 | 1 << 14 | number),
            (host, array | 1 << 14),
            (host.T, array | 2 << 14),
            (host[:, ::2], array | 1 << 14),
            (to_device(host), array | 1 << 14),
            (
                to_device(host)._view((4, 3), (host.itemsize, 4 * host.itemsize), None),
                array | 2 << 14,
            ),
            (to_device(host)[:, ::2], array),
            (to_device(host)[0, 0:1], 1 << 16 | 1 << 8 | 1 << 14 | number),
            (ForeignArray(to_device(host)), array | 1 << 14),
            (ForeignArray(to_device(host)[:, ::2]), array),
            (_core.Transfer(host, 1), array | 1 << 14),
        ]:
            assert type_code(value) == expected, (dtype, value)
    assert [type_code(v) for v in (True, 1, -(2**63), 2**63, 1.5, 1j)] == [1, 5, 5, 9, 12, 14]
    assert type_code(np.longdouble(1)) == 12 and type_code(np.longlong(1)) == 5
    assert _core.typecodes(()) == b"" and len(_core.typecodes([1, 2.0])) == 8


def test_type_codes_of_records_return_the_dtype():
    for value in (
        make_host_array(3, RECORD),
        to_device(make_host_array(3, RECORD)),
        make_host_array(3, RECORD)[0],
        ForeignArray(to_device(make_host_array(3, RECORD))),
    ):
        assert type_code(value) & 0xFF == 0
        assert _core.code_object(type_code(value) >> 20) == RECORD
    assert type_code(make_host_array(3, RECORD)[:1]) == type_code(make_host_array(3, RECORD))
    other = np.dtype([("x", "f4")])
    assert type_code(make_host_array(2, other)) >> 20 != type_code(make_host_array(2, RECORD)) >> 20
    for index in (0, -1, 5000):
        with pytest.raises(IndexError):
            _core.code_object(index)


def test_type_codes_of_tuples_and_other_objects_are_distinct():
    pair = collections.namedtuple("pair", "x y")
    values = [None, np.float32, (), (1,), (1, 2.0), (1, (2.0,)), pair(1, 2.0), make_host_array(2, "M8[s]"),
              make_host_array(2, "M8[D]"), make_host_array(2, "m8[s]"), make_host_array(2, "i8")]  # fmt: skip
    codes = [type_code(value) for value in values]
    assert len(set(codes)) == len(codes)
    assert codes == [type_code(value) for value in values]
    assert type_code(np.dtype("f4")) == type_code(np.float32) and type_code((2, 3.5)) == type_code(
        (1, 2.0)
    )
    assert _core.code_object(type_code(pair(3, 4.0)) >> 20) == (pair, _core.typecodes((1, 2.0)))
    assert (
        type_code(np.datetime64(1, "s")) == 5 | type_code(make_host_array(2, "M8[s]")) >> 20 << 20
    )
    assert type_code(enum.Enum("E", {"A": 2.5}).A) == type_code(2.5)
    deep = ()
    for _ in range(100):
        deep = (deep,)
    with pytest.raises(TypeError, match="nested too deeply"):
        type_code(deep)


def test_unsupported_values_have_no_type_code():
    for value in ("s", [1], object(), make_host_array(3, ">M8[s]"), make_host_array(3, ">f4"), make_host_array(3, "S3"),
                  np.array([None]), to_device(make_host_array(3, ">f4")), np.zeros(3, "V8"), (1, "s"),
                  np.dtype("S3"), np.zeros(2, "g"), np.zeros(2, [("x", ">i4")])):  # fmt: skip
        with pytest.raises(TypeError, match="argument 2"):
            _core.typecodes((1, value))
    with pytest.raises(OverflowError):
        _core.typecodes((2**64,))
    with pytest.raises(TypeError):
        _core.typecodes(3)


def test_transfers_report_their_kind():
    host = make_host_array(3)
    for mode in (1, 2, 3):
        transfer = _core.Transfer(host, mode)
        assert transfer.array is host and transfer.mode == mode
    for mode in (0, 4, -1):
        with pytest.raises(ValueError):
            _core.Transfer(host, mode)


def test_arrays_with_32_dimensions_match_numpy():
    shape = (1, 2) * 16
    host = make_host_array(shape, "u1")
    device = to_device(host)
    assert_same_array(device, host)
    assert_same_array(device[..., ::-1], host[..., ::-1])
    assert_same_array(device[:, 1, :, 0], host[:, 1, :, 0])
    assert list(itertools.islice(device.strides, 3)) == list(host.strides[:3])
