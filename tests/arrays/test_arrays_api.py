"""Compares device arrays with NumPy: each operation that both support has equal results."""

import copy
import pickle

import numpy as np
import pytest
from kit.arrays import ForeignArray, assert_equal_arrays, assert_same_as_host

from numbalite import cuda, types

pytestmark = pytest.mark.leaks

HOSTS = {
    "0d": np.array(7, np.int32),
    "1d": np.arange(10, dtype=np.float32),
    "empty": np.zeros((3, 0, 2), np.int16),
    "2d": np.arange(12, dtype=np.int64).reshape(3, 4),
    "F": np.asfortranarray(np.arange(12, dtype=np.float64).reshape(3, 4)),
    "transposed": np.arange(24, dtype=np.uint8).reshape(2, 3, 4).transpose(1, 2, 0),
    "strided": np.arange(40, dtype=np.int32).reshape(5, 8)[::2, 1::3],
    "reversed": np.arange(12, dtype=np.int32).reshape(3, 4)[::-1, ::-1],
    "broadcast": np.broadcast_to(np.arange(4, dtype=np.int32), (3, 4)),
    "complex": (np.arange(6) * (1 + 2j)).astype(np.complex64),
    "bool": np.array([[True, False], [False, True]]),
    "half": np.arange(5, dtype=np.float16),
    "record": np.array([(1, 2.5), (3, 4.5)], [("a", np.int32), ("b", np.float64)]),
}


@pytest.fixture(params=HOSTS, ids=str)
def host_array(request):
    return HOSTS[request.param]


# ---- there and back


def test_to_device_and_back_keeps_shape_and_dtype(host_array):
    device = cuda.to_device(host_array)
    assert_same_as_host(device, host_array)
    assert (device.ndim, device.size, device.nbytes) == (
        host_array.ndim,
        host_array.size,
        host_array.nbytes,
    )
    assert device.is_c_contiguous() or device.is_f_contiguous() or host_array.ndim > 2
    assert cuda.to_device(device) is device


def test_copy_to_host_fills_arrays_of_any_strides(host_array):
    device = cuda.to_device(host_array)
    for order in "CF":
        into = np.zeros(host_array.shape, host_array.dtype, order)
        assert device.copy_to_host(into) is into
        np.testing.assert_array_equal(into, host_array)
    wide = np.zeros((*host_array.shape, 3), host_array.dtype)
    device.copy_to_host(wide[..., 1])
    np.testing.assert_array_equal(wide[..., 1], host_array)
    assert not wide[..., 0].astype(bool).any() if host_array.dtype.names is None else True, (
        "neighbours stay"
    )


def test_copy_to_device_accepts_host_and_device_arrays(host_array):
    device = cuda.device_array_like(host_array)
    device.copy_to_device(host_array)
    assert_same_as_host(device, host_array)
    other = cuda.device_array(host_array.shape, host_array.dtype)
    other.copy_to_device(device)
    assert_same_as_host(other, host_array)
    assert cuda.to_device(host_array, to=other) is other


def test_device_array_like_keeps_the_order_of_axes(host_array):
    strides = np.empty_like(host_array).strides
    if (
        "broadcast" not in str(strides)
        and 0 not in host_array.strides
        and host_array.size
        and min(host_array.strides, default=0) >= 0
    ):
        assert cuda.device_array_like(host_array).strides == strides
    assert cuda.to_device(host_array, copy=False).shape == host_array.shape


def test_copies_reject_other_shapes_and_dtypes():
    device = cuda.to_device(np.arange(6, dtype=np.float32))
    with pytest.raises(TypeError, match="accepts a NumPy array, not list"):
        device.copy_to_host([1.0])
    with pytest.raises(TypeError, match="incompatible dtype: float32 vs. float64"):
        device.copy_to_device(np.zeros(6))
    with pytest.raises(ValueError, match="incompatible shape"):
        device.copy_to_device(np.zeros(5, np.float32))
    with pytest.raises(ValueError, match="incompatible shape"):
        device.copy_to_host(np.zeros((2, 3), np.float32))
    locked = np.zeros(6, np.float32)
    locked.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        device.copy_to_host(locked)
    with pytest.raises(TypeError):
        cuda.device_array(2.5)
    with pytest.raises((TypeError, ValueError)):
        cuda.to_device(np.array([object()]))
    with pytest.raises(ValueError):
        cuda.device_array(-1)


def test_device_array_defaults_to_float64_and_c_order():
    array = cuda.device_array((2, 3))
    assert array.dtype == np.float64 and array.strides == (24, 8)
    assert cuda.device_array((2, 3), np.int8, order="F").strides == (1, 2)
    assert cuda.device_array(4, np.int16).shape == (4,)
    assert cuda.device_array(0).copy_to_host().shape == (0,)


# ---- attributes of the module


def test_numba_types_are_accepted_as_dtypes():
    """Names of numba's types, such as float32, are accepted as dtypes."""
    record = types.from_dtype([("a", "f4"), ("b", "i4")])
    for t in (types.float32, types.boolean, types.complex64, record, types.NPDatetime("s")):
        dtype = np.dtype(t)
        assert dtype == t.dtype and types.from_dtype(dtype) == t
        for make in (cuda.device_array, cuda.pinned_array, cuda.mapped_array, cuda.managed_array):
            assert make(4, t).dtype == make((2, 2), dtype=t).dtype == dtype
    x = cuda.to_device(np.arange(4))
    assert x.view(types.float32).dtype == x.astype(types.float32).dtype == np.float32
    assert np.asarray(x, types.int8).dtype == np.int8
    for t in (types.void, types.float32[:], types.CPointer(types.float32)):
        # NumPy 2.0 to 2.3 warn of a type whose attribute dtype is not a dtype.
        with pytest.raises((TypeError, ValueError, DeprecationWarning)):
            cuda.device_array(4, t)


def test_repr_and_str_show_values_dtype_and_device():
    array = cuda.to_device(np.arange(6, dtype=np.int32).reshape(2, 3))
    assert repr(array) == (
        "DeviceNDArray([[0, 1, 2],\n               [3, 4, 5]], dtype=int32, device=0)"
    )
    assert str(array) == f"{array}" == "[[0 1 2]\n [3 4 5]]"  # print() shows the elements
    assert array.flags["C_CONTIGUOUS"] and not array.flags.f_contiguous
    assert array.gpu_data.size == 24 and int(array.gpu_data) == array.address
    assert array.device_ctypes_pointer.value == array.address
    assert array.__cuda_array_interface__["data"][0] == array.address


# ---- indexing and views

KEYS = [
    0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(0, 0), Ellipsis, None, (0, 1), (slice(None), 1),
    (1, slice(None, None, 2)), (Ellipsis, 0), (None, 1, Ellipsis), (slice(2, 0, -1), slice(1, 3)), (0, Ellipsis, 1),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_getitem_matches_numpy(key):
    host = np.arange(12, dtype=np.int32).reshape(3, 4)
    device = cuda.to_device(host)
    got, expected = device[key], host[key]
    if np.ndim(expected) == 0 and not isinstance(expected, np.ndarray):
        assert type(got) is type(expected) and got == expected
    else:
        assert_same_as_host(got, expected)
        assert got.address == device.address or got.size == 0 or got.address > device.address
    same_or_equal = device.getitem(key)
    assert np.array_equal(np.asarray(same_or_equal), expected)


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("value", [5, 2.7, np.float64(9), True, [1], np.int8(3)], ids=str)
def test_setitem_of_scalars_matches_numpy(key, value):
    host = np.arange(12, dtype=np.int32).reshape(3, 4)
    device = cuda.to_device(host)
    if value == [1] and np.ndim(host[key]) == 0:
        with pytest.raises(ValueError, match="with a sequence"):
            device[key] = value
        return
    host[key] = value
    device[key] = value
    assert_same_as_host(device, host)


@pytest.mark.parametrize("dtype", [np.int32, np.float64, np.uint8, np.complex128])
@pytest.mark.parametrize("where", ["host", "device"])
def test_setitem_of_arrays_matches_numpy(dtype, where):
    cases = [
        (slice(None), np.arange(12).reshape(3, 4)),
        (slice(None), np.arange(4)),
        (slice(None), np.arange(3).reshape(3, 1)),
        (slice(None), np.arange(4).reshape(1, 1, 4)),
        ((slice(None, None, -1), slice(None, None, 2)), np.arange(6).reshape(3, 2)),
        ((slice(None), 2), np.arange(3)),
        (1, np.arange(4)[::-1]),
        ((0, 0), np.array(9)),
        (slice(0, 0), np.zeros((0, 4))),
    ]
    for key, value in cases:
        value = value.astype(dtype)
        host = np.zeros((3, 4), np.complex128 if dtype == np.complex128 else np.float32)
        device = cuda.to_device(host)
        host[key] = value
        device[key] = cuda.to_device(value) if where == "device" else value
        assert_same_as_host(device, host)


def test_setitem_of_overlapping_views_copies_first():
    host = np.arange(10)
    device = cuda.to_device(host)
    host[1:] = host[:-1].copy()
    device[1:] = device[:-1]
    assert_same_as_host(device, host)
    host[::-1] = host.copy()
    device[::-1] = device
    assert_same_as_host(device, host)


def test_setitem_raises_numpys_errors():
    device = cuda.to_device(np.zeros((3, 4), np.int8))
    with pytest.raises(ValueError, match="could not broadcast input array from shape"):
        device[:] = np.zeros(3)
    with pytest.raises(ValueError, match="could not broadcast"):
        device[0] = cuda.to_device(np.zeros((2, 4), np.int8))
    with pytest.raises(OverflowError):
        device[0, 0] = 300
    with pytest.raises((TypeError, ValueError)):
        device[0, 0] = "text"
    with pytest.raises((TypeError, ValueError)):
        device[0, 0] = [1, 2]
    for bad in ((3, 0), (0, 0, 0)):
        with pytest.raises(IndexError):
            device[bad] = 1
        with pytest.raises(IndexError):
            device[bad]
    with pytest.raises(IndexError, match="boolean index did not match"):
        device[np.zeros((3, 3), bool)]
    assert not device.copy_to_host().any()


def test_structured_arrays_support_field_and_record_indexing():
    host = HOSTS["record"].copy()
    device = cuda.to_device(host)
    assert device[1] == host[1]
    device[0] = (7, 8.5)
    host[0] = (7, 8.5)
    assert_same_as_host(device, host)
    device["a"][1] = 9
    device["b"] = [1.5, 2.5]
    host["a"][1] = 9
    host["b"] = [1.5, 2.5]
    assert_same_as_host(device, host)
    record = cuda.to_device(host[0])
    assert type(record) is cuda.DeviceRecord
    assert_equal_arrays(record, host[0])


# ---- other shapes


@pytest.mark.filterwarnings("ignore:reshape of")
def test_reshape_and_ravel_match_numpy(host_array):
    device = cuda.to_device(host_array)
    for shape in ((-1,), (1, -1), host_array.shape, (*host_array.shape, 1)):
        if host_array.size == 0 and -1 in shape:
            continue
        for order in "CF":
            assert_same_as_host(
                device.reshape(shape, order=order), host_array.reshape(shape, order=order)
            )
    for order in "CFK" if host_array.flags.forc else "CF":
        assert_same_as_host(device.ravel(order), host_array.ravel(order))
    assert_same_as_host(device.flatten("F"), host_array.flatten("F"))


@pytest.mark.filterwarnings("ignore:reshape of")
def test_reshape_of_views_matches_numpy():
    host = np.arange(48).reshape(4, 3, 4)
    device = cuda.to_device(host)
    for key in (slice(None, None, 2), (slice(None), slice(None), slice(None, None, 2)),
                (slice(None), 1), slice(None, None, -1)):  # fmt: skip
        assert_same_as_host(device[key].reshape(-1), host[key].reshape(-1))
        assert_same_as_host(device[key].T.reshape(-1), host[key].T.reshape(-1))
    view = device.reshape(12, 4)
    view[0, 0] = 99
    assert device[0, 0, 0] == 99, "a view where that is possible"
    with pytest.raises(ValueError, match="cannot reshape"):
        device.reshape(5, 5)


def test_transpose_matches_numpy(host_array):
    device = cuda.to_device(host_array)
    assert_same_as_host(device.T, host_array.T)
    assert_same_as_host(device.transpose(), host_array.transpose())
    if host_array.ndim == 3:
        assert_same_as_host(device.transpose(1, 0, 2), host_array.transpose(1, 0, 2))
        assert_same_as_host(device.transpose((2, 0, 1)), host_array.transpose((2, 0, 1)))
        assert_same_as_host(device.transpose(axes=(2, 0, 1)), host_array.transpose((2, 0, 1)))
        with pytest.raises(TypeError, match="not both"):
            device.transpose(1, axes=(2, 0, 1))
        assert_same_as_host(device.swapaxes(0, -1), host_array.swapaxes(0, -1))
        with pytest.raises(ValueError):
            device.transpose(0, 0, 1)
    assert_same_as_host(device.T.T.copy(), host_array)


def test_squeeze_matches_numpy():
    host = np.arange(6).reshape(1, 3, 1, 2)
    device = cuda.to_device(host)
    assert_same_as_host(device.squeeze(), host.squeeze())
    assert_same_as_host(device.squeeze(0), host.squeeze(0))
    assert_same_as_host(device.squeeze(axis=(0, 2)), host.squeeze(axis=(0, 2)))
    bare = device.squeeze()
    for _ in range(3):  # traced calls, too
        assert bare.squeeze() is bare and np.squeeze(bare) is bare and bare.squeeze(()) is bare
    with pytest.raises(ValueError):
        device.squeeze(1)


def test_view_with_other_dtype_matches_numpy():
    host = np.arange(8, dtype=np.float32).reshape(2, 4)
    device = cuda.to_device(host)
    for dtype in (np.int32, np.float64, np.uint8, np.complex64):
        assert_same_as_host(device.view(dtype), host.view(dtype))
    with pytest.raises(ValueError):
        device[:, :3].view(np.float64)
    with pytest.raises(ValueError):
        device[:, ::2].view(np.uint8)


def test_split_returns_pieces():
    host = np.arange(10)
    pieces = list(cuda.to_device(host).split(4))
    assert [piece.tolist() for piece in pieces] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    with pytest.raises(ValueError):
        list(cuda.device_array((2, 2)).split(2))


# ---- copies and conversions


def test_copy_and_pickle_match_numpy(host_array):
    device = cuda.to_device(host_array)
    for order in "CF":
        made = device.copy(order)
        assert_same_as_host(made, host_array)
        assert made.size == 0 or made.address != device.address
    assert_same_as_host(copy.copy(device), host_array)
    assert_same_as_host(copy.deepcopy(device), host_array)
    assert_same_as_host(pickle.loads(pickle.dumps(device)), host_array)


def test_copy_of_views_matches_numpy():
    host = np.arange(60).reshape(3, 4, 5)
    device = cuda.to_device(host)
    for key in ((slice(None), 1), (slice(None, None, -1), slice(None, None, 2)), (Ellipsis, 3)):
        assert_same_as_host(device[key].copy(), host[key])
        assert_same_as_host(device[key], host[key])


def test_fill_matches_numpy(host_array):
    if host_array.dtype.names:
        return
    device = cuda.to_device(host_array)
    device.fill(1)
    assert_same_as_host(device, np.ones(host_array.shape, host_array.dtype))
    part = np.zeros((5, 6), host_array.dtype)
    device = cuda.to_device(part)
    device[1::2, 1:4].fill(1)
    part[1::2, 1:4].fill(1)
    assert_same_as_host(device, part)


def test_astype_matches_numpy():
    host = np.arange(6, dtype=np.float64).reshape(2, 3) + 0.5
    device = cuda.to_device(host)
    for dtype in (np.float32, np.int16, np.complex128):
        assert_same_as_host(device.astype(dtype), host.astype(dtype))
    assert device.astype(np.float64, copy=False) is device
    assert device.astype(np.float64).address != device.address
    with pytest.raises(TypeError, match="cannot cast"):
        device.astype(np.int32, casting="safe")
    for given in (np.array([3, -20], "i2"), np.array(True), np.array([b"abc"])):
        for text in (str, "S"):
            assert cuda.to_device(given).astype(text).tolist() == given.astype(text).tolist()


def test_asarray_copies_to_the_host():
    host = np.arange(6, dtype=np.int32)
    device = cuda.to_device(host)
    np.testing.assert_array_equal(np.asarray(device), host)
    assert np.asarray(device, np.float64).dtype == np.float64
    if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
        with pytest.raises(ValueError, match="without a copy"):
            np.array(device, copy=False)


def test_one_element_arrays_convert_to_python_numbers():
    one = cuda.to_device(np.array(2.5))
    assert (float(one), int(one), complex(one), bool(one), one.item()) == (2.5, 2, 2.5, True, 2.5)
    assert [10, 20, 30][cuda.to_device(np.array(1))] == 20
    many = cuda.to_device(np.arange(3))
    assert many.item(2) == 2 and many.tolist() == [0, 1, 2]
    for convert in (float, int, complex):
        with pytest.raises(TypeError):
            convert(many)
    with pytest.raises(ValueError, match="ambiguous"):
        bool(many)
    with pytest.raises(TypeError):
        [1][many]


def test_iteration_yields_rows():
    host = np.arange(6).reshape(2, 3)
    device = cuda.to_device(host)
    assert len(device) == 2
    for got, expected in zip(device, host, strict=True):
        assert_same_as_host(got, expected)
    assert list(device[0]) == [0, 1, 2]
    with pytest.raises(TypeError, match="0-d"):
        iter(cuda.to_device(np.array(1)))
    with pytest.raises(TypeError):
        len(cuda.to_device(np.array(1)))


# ---- streams


def test_array_methods_accept_a_stream():
    stream = cuda.stream()
    host = np.arange(1000, dtype=np.float32)
    device = cuda.to_device(host, stream)
    assert device.stream is stream
    other = cuda.device_array_like(host, stream)
    other.copy_to_device(device, stream)
    other.setitem(slice(0, 10), 5, stream)
    back = other.copy_to_host(stream=stream)
    stream.synchronize()
    host[:10] = 5
    np.testing.assert_array_equal(back, host)
    bound = other.bind(0)
    assert not bound.stream and bound.address == other.address
    assert_same_as_host(other.ravel(stream=stream), host)


# ---- other packages' arrays


def test_cuda_array_interface_shares_memory():
    host = np.arange(12, dtype=np.int32).reshape(3, 4)
    device = cuda.to_device(host)
    foreign = ForeignArray(device)
    assert cuda.is_cuda_array(foreign) and cuda.is_cuda_array(device)
    assert not cuda.is_cuda_array(host)
    view = cuda.as_cuda_array(foreign)
    assert_same_as_host(view, host)
    assert view.address == device.address
    view[0, 0] = 77
    assert device[0, 0] == 77
    assert_same_as_host(
        cuda.as_cuda_array(ForeignArray(device.T)), np.where(host.T == 0, np.int32(77), host.T)
    )
    again = cuda.from_cuda_array_interface(foreign.__cuda_array_interface__, owner=foreign)
    assert again.address == device.address
    assert cuda.as_cuda_array(device) is device
    assert cuda.as_cuda_array(foreign, sync=False).address == device.address
    assert_same_as_host(cuda.to_device(foreign), device.copy_to_host())
    target = cuda.device_array_like(device)
    target[:] = foreign
    assert_same_as_host(target, device.copy_to_host())
    with pytest.raises(TypeError, match="cuda array interface"):
        cuda.as_cuda_array(host)
    with pytest.raises(NotImplementedError):
        cuda.as_cuda_array(ForeignArray(device, mask=foreign))


def test_the_owner_lives_as_long_as_a_view():
    device = cuda.to_device(np.arange(4))
    part = cuda.as_cuda_array(ForeignArray(device))[1:]
    del device
    assert part.tolist() == [1, 2, 3]


def test_in_out_and_inout_wrap_the_array():
    host = np.zeros(3)
    for hint in (cuda.In, cuda.Out, cuda.InOut):
        assert hint(host).array is host


@pytest.mark.parametrize(
    "interface, kind, said",
    [
        (5, TypeError, "must be a dict, not int"),
        ({"shape": (3,)}, ValueError, "'typestr' is missing"),
        ({"typestr": "<f4"}, ValueError, "'shape' is missing"),
    ],
)
def test_invalid_cuda_array_interfaces_raise_with_the_key(interface, kind, said):
    class ObjectWithInvalidInterface:
        __cuda_array_interface__ = interface

    @cuda.jit
    def store_one_lazy(x):
        "x[0] = 1;"

    @cuda.jit("void(float32[:])")
    def store_one_float32(x):
        "x[0] = 1;"

    @cuda.jit("void(float32)")
    def ignore_float32(x):
        ";"

    for kernel in store_one_lazy, store_one_float32, ignore_float32:
        where = rf"{kernel.__name__}\(\): parameter 1 'x': __cuda_array_interface__"
        with pytest.raises(kind, match=f"{where}.*{said}"):
            kernel[1, 1](ObjectWithInvalidInterface())
    with pytest.raises(kind, match=f"store_one_lazy.specialize: parameter 'x': .*{said}"):
        store_one_lazy.specialize(ObjectWithInvalidInterface())
