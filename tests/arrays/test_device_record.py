"""Tests arrays of records and records in device memory, and the API of
numba.cuda.cudadrv.devicearray."""

import ctypes
import pickle

import numpy as np
import pytest
from kit.arrays import assert_same_as_host

from numbalite import cuda, types
from numbalite.cuda.cudadrv import devicearray
from numbalite.cuda.cudadrv.devicearray import (
    DeviceNDArray,
    DeviceRecord,
    auto_device,
    from_record_like,
)

POINT = np.dtype([("x", "f4"), ("y", "f4")])
RECORD = np.dtype([("a", "i4"), ("b", "f8"), ("c", "f4", (2, 3)), ("p", POINT)])
PLAIN = np.dtype([("a", np.int32), ("b", np.float32)], align=True)


def make_records(count=4):
    host = np.zeros(count, RECORD)
    host["a"], host["b"] = np.arange(count), np.arange(count) / 2
    host["c"] = np.arange(count * 6).reshape(count, 2, 3)
    host["p"]["x"] = 7
    return host


def test_fields_of_a_record_are_read():
    host = make_records()
    device = cuda.to_device(host)
    record = device[2]
    assert type(record) is DeviceRecord and isinstance(record, cuda.DeviceNDArray)
    assert (record.shape, record.strides, record.ndim, record.size) == ((), (), 0, 1)
    assert record.dtype == RECORD and record.nbytes == RECORD.itemsize and record.device == 0
    assert record["a"] == 2 and type(record["a"]) is np.int32
    assert record["b"] == 1.0 and record[1] == 1.0 and record[-3] == 1.0
    assert_same_as_host(record["c"], host[2]["c"])
    assert record["c"][1, 2] == host[2]["c"][1, 2]
    assert type(record["p"]) is DeviceRecord and record["p"]["x"] == 7
    assert (
        record == host[2] and record != host[1] and device[1] != device[2] and record == device[2]
    )
    assert record == host[2].item() and record != (1, 2) and not record == 5
    assert record.item()[:2] == (2, 1.0) and len(record) == 4
    assert [type(field) for field in record][:2] == [np.int32, np.float64]
    assert repr(record).startswith("DeviceRecord((2, 1., [[")
    assert "dtype=[('a', '<i4')" in repr(record)
    assert record.copy_to_host().shape == ()
    assert type(device[1:3]) is DeviceNDArray and type(record[...]) is DeviceNDArray
    assert [r["a"] for r in device] == [0, 1, 2, 3]
    assert cuda.to_device(host.reshape(2, 2))[1, 0] == host[2]
    assert type(cuda.to_device(host)[1:][0]) is DeviceRecord


def test_fields_of_a_record_are_written():
    host = make_records()
    device = cuda.to_device(host)
    device[1]["a"] = host[1]["a"] = 50
    device[1]["c"] = host[1]["c"] = [[1, 2, 3]]
    device[1]["c"][1, ::2] = host[1]["c"][1, ::2] = 9
    device[2]["p"]["y"] = host[2]["p"]["y"] = 3
    device[2]["p"] = host[2]["p"] = (4, 5)
    device[3] = host[3] = host[0]
    device[0] = host[0] = (9, 8.5, [[1, 1, 1], [2, 2, 2]], (3, 4))
    assert_same_as_host(device, host)
    record = device[2]
    record[0] = host[2]["a"] = 33
    record.setitem("b", 4.5)
    host[2]["b"] = 4.5
    record["c"] = cuda.to_device(np.ones((2, 3), "i8"))
    host[2]["c"] = 1
    assert_same_as_host(device, host)
    record[...] = device[1]
    host[2] = host[1]
    assert_same_as_host(device, host)
    device[:] = device[0]
    host[:] = host[0]
    assert_same_as_host(device, host)
    stream = cuda.stream()
    bound = device[1].bind(stream)
    assert type(bound) is DeviceRecord and bound.stream is stream
    assert bound.getitem("a") == host[1]["a"] and device[1].getitem("a", stream) == host[1]["a"]
    made = device[1].copy()
    made["a"] = -1
    assert type(made) is DeviceRecord and device[1]["a"] != -1


def test_indexing_with_a_list_of_fields_returns_a_view():
    host = make_records()
    device = cuda.to_device(host)
    part = device[["a", "p"]]
    assert part.dtype == host[["a", "p"]].dtype and part.address == device.address
    assert part[1]["a"] == 1 and part.copy_to_host()["p"]["x"].tolist() == [7] * 4
    assert device[1][["a"]]["a"] == 1
    device[["a", "b"]] = (5, 6.5)
    host[["a", "b"]] = (5, 6.5)
    assert_same_as_host(device, host)
    with pytest.raises(KeyError):
        device[["a", "nothing"]]
    part, host_part = device[["b", "p"]], host[["b", "p"]]
    given = np.array([(i, (i, 2 * i)) for i in range(4)], [("b", "i4"), ("p", POINT)])
    for value in (given, cuda.to_device(given), given[1], cuda.to_device(given)[2], given[:1]):
        part[1:] = value[1:] if np.ndim(value) and len(value) > 1 else value
        host_part[1:] = (
            value if isinstance(value, (np.ndarray, np.void)) else value.copy_to_host()
        )[np.s_[1:] if value.shape == (4,) else ...]
        assert_same_as_host(device, host)
    mine = np.array([(i, (i, -i)) for i in range(4)], [("b", "f8"), ("p", POINT)]).astype(
        part.dtype
    )
    for value in (mine, cuda.to_device(mine)):
        part.copy_to_device(value)
        host[["b", "p"]] = mine
        assert_same_as_host(device, host)
    back = make_records()
    part.copy_to_host(back[["b", "p"]])
    assert (back["a"] == make_records()["a"]).all() and (back["p"]["y"] == [0, -1, -2, -3]).all()
    with pytest.raises(TypeError, match="cannot cast from"):
        part[:] = np.zeros(4, RECORD)
    with pytest.raises(TypeError, match="cannot cast from"):
        part[:] = cuda.to_device(np.zeros(4))


def test_record_assignment_converts_fields_by_position():
    """Fields are assigned by position, as in NumPy; if the dtypes differ, field by field on the
    device."""
    other = np.dtype(
        [("q", "f8"), ("r", "i2"), ("s", "f8", (2, 3)), ("t", [("x", "i4"), ("y", "f2")])]
    )
    host = make_records()
    for given in (host, host[:1], host[::-1]):
        expected = np.zeros(4, other)
        expected[:] = given
        device = cuda.to_device(np.zeros(4, other))
        device[:] = cuda.to_device(given)
        assert_same_as_host(device, expected)
        device[:] = given
        assert_same_as_host(device, expected)
    assert_same_as_host(cuda.to_device(host).astype(other), host.astype(other))
    with pytest.raises((TypeError, ValueError)):
        device[:] = cuda.to_device(np.zeros(4, PLAIN))
    with pytest.raises((TypeError, ValueError)):
        device[:] = np.zeros(4, PLAIN)


def test_invalid_field_accesses_raise():
    device = cuda.to_device(make_records())
    record = device[0]
    for wrong, error, message in (
        (lambda: record["nothing"], ValueError, "no field of name nothing"),
        (lambda: record[4], IndexError, "a record of 4 fields has no field 4"),
        (lambda: record[4:], IndexError, "too many indices"),
        (lambda: device[4], IndexError, "out of bounds"),
        (lambda: record.__setitem__("a", "text"), (TypeError, ValueError), "invalid|text"),
        (
            lambda: device.__setitem__(0, (1, 2)),
            (TypeError, ValueError),
            "tuple of length 2 to structure with 4",
        ),
        (
            lambda: DeviceRecord(np.float32),
            TypeError,
            "a record has a structured dtype, not float32",
        ),
        (lambda: device._record(), TypeError, "only an array of one record"),
        (lambda: cuda.to_device(np.zeros(1))._record(), TypeError, "only an array of one record"),
        (lambda: record.copy_to_host(np.zeros(1, PLAIN)[0]), TypeError, "incompatible dtype"),
    ):
        with pytest.raises(error, match=message):
            wrong()


def test_records_are_kernel_arguments():
    host = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], PLAIN)
    device = cuda.to_device(host)
    kernel = cuda.jit(
        source="struct plain { int a; float b; };\n"
        "__global__ void step(plain* r) { r[threadIdx.x].a += 1; r[threadIdx.x].b *= 2; }"
    )
    kernel[1, 2](device)
    kernel[1, 1](device[2])
    host["a"] += 1
    host["b"] *= 2
    assert_same_as_host(device, host)


# ---- tests of numba's own suite, with another import ----
def check_record(reference, record):
    assert record.shape == () and record.strides == () and record.dtype == reference.dtype
    assert record.alloc_size == reference.dtype.itemsize
    assert record.gpu_data is not None
    assert record.device_ctypes_pointer != ctypes.c_void_p(0)
    assert record.as_cuda_arg() is record
    assert record._numba_type_ == types.Record(record.dtype)


@pytest.mark.parametrize("make", [np.zeros, np.recarray])
def test_device_record_copies_as_in_numbas_documentation(make):
    zero, other = make(1, PLAIN)[0], make(1, PLAIN)[0]
    zero["a"] = zero["b"] = 0
    other["a"], other["b"] = 10, 11.0
    record = DeviceRecord(PLAIN)
    check_record(zero, record)
    record.copy_to_device(zero)
    back = other.copy()
    assert record.copy_to_host(back) is back
    assert back == zero
    record.copy_to_device(other)
    back = zero.copy()
    record.copy_to_host(back)
    assert back == other
    made = from_record_like(other)
    check_record(other, made)
    second = from_record_like(made)
    check_record(made, second)
    assert made.gpu_data != second.gpu_data and made.gpu_data == made.gpu_data
    sent, is_new = auto_device(other)
    assert is_new and type(sent) is DeviceRecord
    check_record(other, sent)
    back = zero.copy()
    sent.copy_to_host(back)
    assert back == other
    assert auto_device(sent) == (sent, False)


def test_records_are_created_over_device_memory():
    device = cuda.to_device(np.array([(1, 2.5), (3, 4.5)], PLAIN))
    whole = DeviceRecord(PLAIN, gpu_data=device.gpu_data)
    assert whole["a"] == 1
    whole["a"] = 5
    assert device[0]["a"] == 5
    stream = cuda.stream()
    assert DeviceRecord(PLAIN, stream).stream is stream
    assert pickle.loads(pickle.dumps(device[1])) == device[1]


def test_device_array_constructor_accepts_numbas_arguments():
    array = DeviceNDArray((2, 3), (24, 8), np.float64)
    assert (array.shape, array.strides, array.dtype, array.alloc_size) == (
        (2, 3),
        (24, 8),
        "f8",
        48,
    )
    array[:] = 5
    view = DeviceNDArray((3,), (8,), "f8", gpu_data=array.gpu_data)
    view[0] = 1
    assert array[0, 0] == 1 and view.address == array.address
    with pytest.raises(ValueError, match="outside"):
        DeviceNDArray((7,), (8,), "f8", gpu_data=array.gpu_data)

    class DevicePointer:
        device_ctypes_pointer = ctypes.c_void_p(array.address)
        size = 48

    pointer = DevicePointer()
    foreign = DeviceNDArray((3,), (8,), "f8", gpu_data=pointer)
    assert foreign[0] == 1 and foreign.gpu_data.owner is pointer and not foreign.flags.owndata


def test_array_attributes_match_numpy():
    host = np.arange(12, dtype="i4").reshape(3, 4)
    device = cuda.to_device(host)
    for name in ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(device, name) == getattr(host, name)
    for part, of in (
        (device, host),
        (device.T, host.T),
        (device[::2], host[::2]),
        (device[:1], host[:1]),
    ):
        for name in (
            "c_contiguous",
            "f_contiguous",
            "contiguous",
            "forc",
            "fnc",
            "writeable",
            "aligned",
        ):
            assert getattr(part.flags, name) == getattr(of.flags, name), name
        for name in ("C_CONTIGUOUS", "F_CONTIGUOUS", "C", "F", "A", "W", "ALIGNED", "FORC"):
            assert part.flags[name] == of.flags[name], name
        assert part.is_c_contiguous() == of.flags.c_contiguous
        assert part.is_f_contiguous() == of.flags.f_contiguous
    with pytest.raises(KeyError):
        device.flags["nothing"]
    with pytest.raises(AttributeError):
        device.flags.nothing
    assert device.alloc_size == 48 and device[1:].alloc_size == 48
    assert (
        device.device_ctypes_pointer.value == device.address == device.gpu_data.device_pointer_value
    )
    assert int(device.gpu_data) == device.address and device.gpu_data.size == 48
    assert device.gpu_data.context == cuda.current_context()
    assert str(device._numba_type_) == "int32[:,::1]" or "int32" in str(device._numba_type_)
    assert device.as_cuda_arg() is device
    assert device.__cuda_memory__ is True and device.__cuda_ndarray__ is True
    assert [device.item(5), device.item(-1), device.item(1, 2), device.item((1, 2))] == [
        5,
        11,
        6,
        6,
    ]
    with pytest.raises(IndexError, match="index 12 is out of bounds for size 12"):
        device.item(12)


def test_numbas_devicearray_functions_work():
    host = np.arange(12).reshape(3, 4)
    device = cuda.to_device(host)
    assert devicearray.is_cuda_ndarray(device) and not devicearray.is_cuda_ndarray(host)
    assert not devicearray.is_cuda_ndarray(DeviceNDArray)
    assert devicearray.is_cuda_ndarray(cuda.mapped_array(3)) and devicearray.is_cuda_ndarray(
        cuda.managed_array(3)
    )
    devicearray.verify_cuda_ndarray_interface(device)
    devicearray.verify_cuda_ndarray_interface(cuda.to_device(make_records())[0])
    with pytest.raises(ValueError, match="require a device array object, got ndarray"):
        devicearray.verify_cuda_ndarray_interface(host)

    class IncompleteArray:
        __cuda_ndarray__ = True
        shape = (1,)
        strides = 8

    with pytest.raises(AttributeError, match="strides must be of type"):
        devicearray.verify_cuda_ndarray_interface(IncompleteArray())
    with pytest.raises(AttributeError, match="shape"):
        devicearray.verify_cuda_ndarray_interface(type("None", (), {"__cuda_ndarray__": True})())
    assert devicearray.from_array_like(host.T).strides == host.T.strides
    assert devicearray.array_core(np.broadcast_to(host[0], (3, 4))).shape == (4,)
    assert devicearray.array_core(device) is not None
    assert devicearray.is_contiguous(host) and not devicearray.is_contiguous(host[:, ::2])
    assert not devicearray.is_contiguous(host.T), "in C order, it means"
    devicearray.check_array_compatibility(host[None], device)
    with pytest.raises(TypeError, match="incompatible dtype"):
        devicearray.check_array_compatibility(host, host.astype("f4"))
    with pytest.raises(ValueError, match="incompatible shape"):
        devicearray.check_array_compatibility(host, host.T)
    for name in devicearray.__all__:
        assert getattr(devicearray, name) is not None


def test_field_number_out_of_range_raises():
    record = cuda.to_device(np.zeros(2, "f4,i4"))[0]
    for number in (2, -3, 2**70, np.int64(5)):
        for call in (
            record.__getitem__,
            lambda key: record.__setitem__(key, 1),
            lambda key: record.setitem(key, 1),
        ):
            with pytest.raises(IndexError, match="a record of 2 fields has no field"):
                call(number)
    record[np.int64(1)] = 7
    assert record[np.int8(-1)] == 7
