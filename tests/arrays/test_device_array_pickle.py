"""Sends device arrays to other processes by pickle, also with out-of-band buffers, and by the
serializers of dask.distributed."""

import pickle

import numpy as np
import pytest

from numbalite import cuda

RECORD = np.dtype([("x", "f4"), ("n", "i2"), ("m", "f8", (2,))], align=True)
ARRAYS = {
    "1d": np.arange(1000, dtype="f4"),
    "0d": np.array(3.5),
    "empty": np.zeros((0, 3), "i2"),
    "F": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "permuted": np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    "strided": np.arange(60, dtype="i2").reshape(6, 10)[::2, ::-3],
    "record": np.arange(48 * 3, dtype="u1")[: RECORD.itemsize * 3].view(RECORD),
    "time": np.arange(3).astype("M8[s]"),
}


@pytest.fixture(params=ARRAYS, ids=str)
def host_array(request):
    return ARRAYS[request.param]


def assert_same_array(device, host):
    assert type(device) is cuda.DeviceNDArray
    assert (device.shape, device.dtype) == (host.shape, host.dtype)
    assert device.copy_to_host().tobytes() == host.tobytes()


@pytest.mark.parametrize("protocol", range(2, 6))
def test_pickle_round_trip(host_array, protocol):
    assert_same_array(pickle.loads(pickle.dumps(cuda.to_device(host_array), protocol)), host_array)


def test_protocol_5_sends_elements_out_of_band():
    """With protocol 5 the elements are sent out of band."""
    for host in (np.arange(10000, dtype="f4"), np.ones((50, 60), order="F")):
        buffers = []
        data = pickle.dumps(cuda.to_device(host), 5, buffer_callback=buffers.append)
        assert len(data) < 1000 and len(buffers) == 1
        assert buffers[0].raw().nbytes == host.nbytes
        again = pickle.loads(data, buffers=buffers)
        assert_same_array(again, host)
        assert again.strides == host.strides, "the order of the axes stays"
        with pytest.raises(pickle.UnpicklingError):
            pickle.loads(data)


def test_pickled_record_is_independent():
    records = cuda.to_device(ARRAYS["record"])
    again = pickle.loads(pickle.dumps(records[1]))
    assert type(again) is cuda.DeviceRecord and again == records[1]
    again["n"] = 77
    assert records[1]["n"] != 77


# ---- dask.distributed ----
@pytest.fixture
def dask_protocol():
    protocol = pytest.importorskip("distributed.protocol")
    from numbalite.ndarray import serialize

    serialize.register_serializers()
    return protocol


@pytest.mark.parametrize("serializers", [("dask",), ("cuda",), ("pickle",)], ids=str)
def test_dask_serializers_round_trip(dask_protocol, host_array, serializers):
    device = cuda.to_device(host_array)
    header, frames = dask_protocol.serialize(device, serializers=serializers, on_error="raise")
    assert header["serializer"] == serializers[0]
    if serializers == ("dask",):
        assert all(isinstance(frame, memoryview) for frame in frames)
    if serializers == ("cuda",):
        assert all(cuda.is_cuda_array(frame) for frame in frames)
    again = dask_protocol.deserialize(header, frames)
    assert_same_array(again, host_array)
    if host_array.strides == device.strides:
        assert again.strides == host_array.strides


def test_arrays_use_the_dask_serializer(dask_protocol):
    header, _ = dask_protocol.serialize(cuda.to_device(np.arange(3)))
    assert header["serializer"] == "dask"
    record = cuda.to_device(ARRAYS["record"])[1]
    again = dask_protocol.deserialize(*dask_protocol.serialize(record))
    assert type(again) is cuda.DeviceRecord and again == record


def test_serializing_a_view_sends_only_its_elements(dask_protocol):
    wide = cuda.to_device(np.arange(1 << 16, dtype="f4"))
    _, frames = dask_protocol.serialize(wide[5:9])
    assert sum(frame.nbytes for frame in frames) == 16
    assert_same_array(
        dask_protocol.deserialize(*dask_protocol.serialize(wide[5:9])), np.arange(5, 9, dtype="f4")
    )


def test_dask_deserializes_split_frames(dask_protocol):
    """A long message may arrive in several frames."""
    host = np.arange(100, dtype="f4")
    header, (frame,) = dask_protocol.serialize(cuda.to_device(host))
    assert_same_array(dask_protocol.deserialize(header, [frame[:100], frame[100:]]), host)


def test_dask_sizeof_returns_nbytes():
    sizeof = pytest.importorskip("dask.sizeof").sizeof
    from numbalite.ndarray import serialize

    serialize.register_serializers()
    assert sizeof(cuda.to_device(np.zeros(1000))) == 8000


def test_serializers_register_in_either_import_order(run_python):
    """Two cases: distributed is imported after numbalite, and the first pickled array registers the
    serializers; a process has imported both before it loads an array."""
    pytest.importorskip("distributed")
    code = """
import pickle, sys
import numpy as np
from numbalite import cuda
assert "distributed" not in sys.modules and "dask" not in sys.modules
array = cuda.to_device(np.arange(5))
from distributed.protocol import serialize, deserialize
first = serialize(array)
second = serialize(array)
assert second[0]["serializer"] == "dask", second[0]
for message in first, second:
    assert deserialize(*message).tolist() == [0, 1, 2, 3, 4]
"""
    run_python(code)
    code = """
import distributed
from numbalite import cuda
import numpy as np
from distributed.protocol import serialize
assert serialize(cuda.to_device(np.arange(5)))[0]["serializer"] == "dask"
"""
    run_python(code)
