"""Tests DLPack in both directions: capsules made by hand, NumPy as a consumer, and refused
requests."""

import ctypes
import gc
import threading

import numpy as np
import pytest
from kit.dlpack import ManagedTensor, ManagedTensorVersioned

from numbalite import _core, cuda
from numbalite.errors import KernelError

CPU, CUDA, CUDA_HOST, ROCM, MANAGED = 1, 2, 3, 10, 13
CODES = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
DELETER = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
api.PyCapsule_GetName.restype = ctypes.c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = ctypes.c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]


def dlpack_device_pair():
    return (CPU, 0) if cuda.is_simulated() else (CUDA, 0)


class DLPackProducer:
    """An object with __dlpack__ over the memory of a device (or NumPy) array; counts the calls of its
    deleter."""

    def __init__(self, array, *, versioned=True, device=None, flags=0, major=1, deleter=True, knows_versions=True,
                 name=None, **changes):  # fmt: skip
        self.array = array
        self.deleted = 0
        self.asked = []
        self.knows_versions = knows_versions
        self.device = device or (
            dlpack_device_pair() if isinstance(array, cuda.DeviceNDArray) else (CPU, 0)
        )
        dtype = array.dtype
        self.shape = (ctypes.c_int64 * 40)(*array.shape)
        self.strides = (ctypes.c_int64 * 40)(*(s // dtype.itemsize for s in array.strides))
        self._deleter = DELETER(self._delete)
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")
        self.managed = (
            ManagedTensorVersioned(major=major, minor=0, flags=flags)
            if versioned
            else ManagedTensor()
        )
        self.managed.deleter = ctypes.cast(self._deleter, ctypes.c_void_p) if deleter else None
        address = array.address if isinstance(array, cuda.DeviceNDArray) else array.ctypes.data
        fields = {
            "data": address, "device_type": self.device[0], "device_id": self.device[1], "ndim": array.ndim,
            "code": CODES[dtype.kind], "bits": dtype.itemsize * 8, "lanes": 1, "shape": self.shape,
            "strides": self.strides, "byte_offset": 0, **changes,
        }  # fmt: skip
        for field, value in fields.items():
            setattr(self.managed.tensor, field, value)

    def _delete(self, address):
        assert address == ctypes.addressof(self.managed)
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if not self.knows_versions and "max_version" in keywords:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.asked.append(keywords)
        return api.PyCapsule_New(ctypes.addressof(self.managed), self.name, None)


def ascending_device_array(*shape, dtype="f4"):
    return cuda.to_device(np.arange(np.prod(shape)).astype(dtype).reshape(shape))


# ---- import ----
@pytest.mark.leaks
@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("dtype", "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split())
def test_from_dlpack_shares_memory_for_each_dtype(dtype, versioned):
    source = ascending_device_array(3, 4, dtype=dtype)
    producer = DLPackProducer(source, versioned=versioned)
    array = cuda.from_dlpack(producer)
    assert isinstance(array, cuda.DeviceNDArray)
    assert array.dtype == source.dtype and array.address == source.address
    assert array.shape == (3, 4) and not array.readonly
    np.testing.assert_array_equal(array.copy_to_host(), source.copy_to_host())
    view = array[1:, ::2]
    del array
    gc.collect()
    assert producer.deleted == 0
    np.testing.assert_array_equal(view.copy_to_host(), source.copy_to_host()[1:, ::2])
    del view
    assert producer.deleted == 1


def test_from_dlpack_keeps_strides_offsets_and_order():
    source = ascending_device_array(4, 6)
    view = source[::-2, 1::2].T
    array = cuda.from_dlpack(DLPackProducer(view))
    assert array.strides == view.strides and array.shape == view.shape
    np.testing.assert_array_equal(array.copy_to_host(), view.copy_to_host())
    packed = cuda.from_dlpack(DLPackProducer(source, strides=None))
    assert packed.is_c_contiguous() and packed.strides == (24, 4)
    later = cuda.from_dlpack(DLPackProducer(source[1], byte_offset=8, ndim=0))
    assert later.shape == () and later.item() == 8
    spread = cuda.from_dlpack(DLPackProducer(source[0], strides=(ctypes.c_int64 * 1)(0)))
    np.testing.assert_array_equal(spread.copy_to_host(), np.zeros(6, "f4"))


def test_from_dlpack_keeps_the_read_only_flag():
    array = cuda.from_dlpack(DLPackProducer(ascending_device_array(3), flags=1))
    assert array.readonly
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_from_dlpack_accepts_empty_arrays():
    empty = cuda.device_array((3, 0, 2), "f4")
    array = cuda.from_dlpack(DLPackProducer(empty, data=None, strides=None, device=(CUDA, 0)))
    assert array.shape == (3, 0, 2) and array.copy_to_host().size == 0


def test_from_dlpack_accepts_tensors_without_a_deleter():
    producer = DLPackProducer(ascending_device_array(3), deleter=False)
    cuda.from_dlpack(producer)
    assert producer.deleted == 0


def test_from_dlpack_accepts_managed_memory():
    source = ascending_device_array(3)
    array = cuda.from_dlpack(DLPackProducer(source, device=(MANAGED, 0)))
    assert array.address == source.address


def test_from_dlpack_accepts_a_capsule():
    producer = DLPackProducer(ascending_device_array(3))
    capsule = producer.__dlpack__()
    array = cuda.from_dlpack(capsule)
    assert api.PyCapsule_GetName(capsule) == b"used_dltensor_versioned"
    with pytest.raises(ValueError, match="consumed"):
        cuda.from_dlpack(capsule)
    del capsule
    assert producer.deleted == 0
    del array
    assert producer.deleted == 1


def test_from_dlpack_passes_the_consumer_stream():
    producer = DLPackProducer(ascending_device_array(3), device=(CUDA, 0))
    _core.from_dlpack(producer)
    stream = cuda.stream()
    _core.from_dlpack(producer, stream)
    _core.from_dlpack(producer, cuda.per_thread_default_stream())
    expected = [
        1,
        int(stream.handle.value if hasattr(stream.handle, "value") else stream.handle),
        2,
    ]
    assert [asked["stream"] for asked in producer.asked] == expected
    assert all(asked["max_version"][0] == 1 for asked in producer.asked)
    old = DLPackProducer(
        ascending_device_array(3), device=(CUDA, 0), versioned=False, knows_versions=False
    )
    cuda.from_dlpack(old)
    assert old.asked == [{"stream": 1}]


def test_from_dlpack_copies_host_memory():
    host = np.arange(6.0).reshape(2, 3)[:, ::2]
    array = cuda.from_dlpack(host)
    np.testing.assert_array_equal(array.copy_to_host(), host)
    np.testing.assert_array_equal(
        cuda.from_dlpack(DLPackProducer(host, versioned=False)).copy_to_host(), host
    )
    with pytest.raises(BufferError, match="host"):
        cuda.from_dlpack(host, copy=False)


def test_from_dlpack_copies_only_if_copy_is_true():
    source = ascending_device_array(2, 3)
    for x in (source, DLPackProducer(source)):
        assert cuda.from_dlpack(x).address == source.address
        assert cuda.from_dlpack(x, copy=False).address == source.address
        copied = cuda.from_dlpack(x, copy=True)
        assert copied.address != source.address
        np.testing.assert_array_equal(copied.copy_to_host(), source.copy_to_host())
        assert cuda.from_dlpack(x, device=0).address == source.address
        assert cuda.from_dlpack(x, device=cuda.gpus[0]).address == source.address
        assert cuda.from_dlpack(x, device=(CUDA, 0)).address == source.address


def test_from_dlpack_to_another_device_copies(run_python):
    run_python(
        "import numpy as np\n"
        "from numbalite import cuda\n"
        "a = cuda.to_device(np.arange(3))\n"
        "b = cuda.from_dlpack(a, device=1)\n"
        "assert (a.device, b.device) == (0, 1)\n"
        "assert b.copy_to_host().tolist() == [0, 1, 2]\n"
        "try: cuda.from_dlpack(a, device=1, copy=False)\n"
        "except BufferError: pass\n"
        "else: assert 0\n"
        "class Only:\n"
        "    __dlpack__ = b.__dlpack__\n"
        "    __dlpack_device__ = b.__dlpack_device__\n"
        "assert cuda.from_dlpack(Only()).device == 1\n"
        "assert cuda.from_dlpack(np.arange(3), device=1).device == 1\n",
        NUMBALITE_DRIVER="sim",
        NUMBALITE_SIM_DEVICES="2",
    )


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"code": 4, "bits": 16}, "bfloat16"),
        ({"code": 2, "bits": 8}, "type code 2 with 8 bits"),
        ({"code": 0, "bits": 4}, "type code 0 with 4 bits"),
        ({"code": 3}, "type code 3"),
        ({"code": 200}, "type code 200"),
        ({"lanes": 4}, "4 lanes"),
        ({"ndim": 33}, "33 dimensions"),
        ({"ndim": -1}, "-1 dimensions"),
        ({"shape": (ctypes.c_int64 * 2)(2, -1)}, "no valid shape"),
        ({"shape": None}, "no valid shape"),
        ({"strides": (ctypes.c_int64 * 2)(1 << 62, 1)}, "stride"),
        ({"device_type": ROCM}, "device type 10"),
        ({"major": 2}, "version 2"),
    ],
)
def test_from_dlpack_rejects_unsupported_tensors(changes, message):
    producer = DLPackProducer(ascending_device_array(2, 2), device=(CUDA, 0), **changes)
    with pytest.raises(BufferError, match=message):
        cuda.from_dlpack(producer)
    assert producer.deleted == 0  # it stays the producer's


def test_from_dlpack_rejects_invalid_addresses():
    impossible = (ctypes.c_int64 * 2)(1 << 31, 1 << 31)
    for changes in ({"shape": impossible, "strides": None}, {"shape": impossible}):
        with pytest.raises((BufferError, ValueError)):
            cuda.from_dlpack(
                DLPackProducer(ascending_device_array(2, 2), device=(CUDA, 0), **changes)
            )
    with pytest.raises(BufferError):
        cuda.from_dlpack(DLPackProducer(ascending_device_array(2, 2), device=(CUDA, 0), data=None))


@pytest.mark.sim
def test_simulator_rejects_tensors_of_a_real_gpu():
    host = np.zeros(3)
    with pytest.raises(BufferError, match="real GPU"):
        cuda.from_dlpack(DLPackProducer(host, device=(CUDA, 0)))


def test_from_dlpack_rejects_other_objects():
    class WrongDevice:
        answer = (CUDA, 0)

        def __dlpack_device__(self):
            return self.answer

        def __dlpack__(self, **keywords):
            return object()

    with pytest.raises(TypeError, match="capsule"):
        cuda.from_dlpack(WrongDevice())
    WrongDevice.answer = 5
    with pytest.raises(TypeError):
        cuda.from_dlpack(WrongDevice())
    WrongDevice.answer = ("a", "b")
    with pytest.raises(TypeError):
        cuda.from_dlpack(WrongDevice())
    WrongDevice.answer = (ROCM, 0)
    with pytest.raises((BufferError, TypeError)):
        cuda.from_dlpack(WrongDevice())
    WrongDevice.answer = (CUDA, 0)
    WrongDevice.__dlpack__ = lambda self, **keywords: 1 / 0
    with pytest.raises(ZeroDivisionError):
        cuda.from_dlpack(WrongDevice())
    for x in (5, None, "text", [1, 2], DLPackProducer, WrongDevice):
        with pytest.raises(TypeError, match="__dlpack__"):
            cuda.from_dlpack(x)
    with pytest.raises(TypeError, match="capsule"):
        cuda.from_dlpack(api.PyCapsule_New(1, b"something", None))
    with pytest.raises(BufferError, match="device type 10"):
        cuda.from_dlpack(ascending_device_array(3), device=(ROCM, 0))


# ---- export ----
def tensor_of_capsule(capsule):
    name = api.PyCapsule_GetName(capsule)
    struct = ManagedTensorVersioned if name == b"dltensor_versioned" else ManagedTensor
    return struct.from_address(api.PyCapsule_GetPointer(capsule, name))


@pytest.mark.leaks
@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
def test_dlpack_export_fills_the_tensor(version):
    array = ascending_device_array(3, 4, dtype="c8")[::2, 1:]
    capsule = array.__dlpack__(max_version=version)
    versioned = version is not None and version[0] >= 1
    assert api.PyCapsule_GetName(capsule) == (b"dltensor_versioned" if versioned else b"dltensor")
    managed = tensor_of_capsule(capsule)
    t = managed.tensor
    assert (t.data + t.byte_offset, t.ndim, t.code, t.bits, t.lanes) == (array.address, 2, 5, 64, 1)
    assert t.shape[:2] == [2, 3] and t.strides[:2] == [8, 1]
    assert (t.device_type, t.device_id) == array.__dlpack_device__() == dlpack_device_pair()
    if versioned:
        assert (managed.major, managed.flags) == (1, 0)


@pytest.mark.leaks
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_dlpack_capsules_may_be_deleted_in_another_thread(version):
    """A consumer renames the capsule and may call the deleter at any time, in any thread."""
    array = ascending_device_array(5)
    capsule = array.__dlpack__(max_version=version)
    gc.collect()  # what earlier tests have left
    before = _core.live()["buffers"]
    del array
    managed = tensor_of_capsule(capsule)
    address = ctypes.addressof(managed)
    api.PyCapsule_SetName(capsule, b"used_dltensor")
    del capsule
    assert _core.live()["buffers"] == before
    delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(managed.deleter)  # without the lock
    thread = threading.Thread(target=delete, args=(address,))
    thread.start()
    thread.join()
    assert _core.live()["buffers"] == before - 1


@pytest.mark.leaks
def test_dlpack_export_and_import_share_memory():
    array = ascending_device_array(2, 3)[:, ::-1]

    class DLPackOnly:
        def __init__(self, array):
            self.__dlpack_device__ = array.__dlpack_device__
            self.export = array.__dlpack__

        def __dlpack__(self, **options):
            return self.export(**options)

    again = cuda.from_dlpack(DLPackOnly(array))
    assert again.address == array.address and again.strides == array.strides
    expected = array.copy_to_host()
    del array
    gc.collect()
    np.testing.assert_array_equal(again.copy_to_host(), expected)
    del again
    gc.collect()


def test_read_only_export_requires_version_1():
    array = cuda.from_dlpack(DLPackProducer(ascending_device_array(3), flags=1))
    assert tensor_of_capsule(array.__dlpack__(max_version=(1, 0))).flags == 1
    with pytest.raises(BufferError, match="read-only"):
        array.__dlpack__()
    copied = tensor_of_capsule(array.__dlpack__(max_version=(1, 0), copy=True))
    assert copied.flags == 2 and copied.tensor.data != array.address


def test_dlpack_export_to_the_cpu_shares_or_copies():
    array = ascending_device_array(2, 3)
    if cuda.is_simulated():
        shared = np.from_dlpack(array)
        assert shared.ctypes.data == array.address
    else:
        managed = tensor_of_capsule(array.__dlpack__(dl_device=(CPU, 0), max_version=(1, 0)))
        assert managed.flags == 2 and managed.tensor.device_type == CPU
        with pytest.raises(BufferError, match="without a copy"):
            array.__dlpack__(dl_device=(CPU, 0), copy=False)
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        np.testing.assert_array_equal(np.from_dlpack(array, device="cpu"), array.copy_to_host())


@pytest.mark.sim
def test_numpy_waits_for_pending_work():
    """Exports host memory, which NumPy reads immediately, so that the work on it must be complete."""
    stream = cuda.stream()
    array = cuda.device_array(1 << 20, "f4", stream=stream)
    for value in range(5):
        array.fill(value)
    shared = np.from_dlpack(array)
    assert (shared == 4).all()
    cuda.to_device(np.zeros(3))
    shared[0] = 9
    assert array[0] == 9


@pytest.mark.parametrize("stream", [None, -1, 1, 2])
def test_dlpack_export_accepts_streams(stream):
    array = ascending_device_array(3)
    assert array.__dlpack__(stream=stream)
    bound = array.bind(cuda.stream())
    assert bound.__dlpack__(stream=stream)
    other = cuda.stream()
    handle = other.handle.value if hasattr(other.handle, "value") else other.handle
    assert bound.__dlpack__(stream=int(handle))


@pytest.mark.parametrize(
    "keywords, exception",
    [
        ({"stream": 0}, ValueError),
        ({"stream": -2}, ValueError),
        ({"stream": 1 << 70}, OverflowError),
        ({"stream": "1"}, TypeError),
        ({"max_version": 1}, TypeError),
        ({"max_version": ("1", 0)}, TypeError),
        ({"max_version": (1, 2, 3)}, TypeError),
        ({"dl_device": 2}, TypeError),
        ({"dl_device": (ROCM, 0)}, BufferError),
        ({"dl_device": (CUDA, 99)}, BufferError),
        ({"unknown": 1}, TypeError),
    ],
)
def test_invalid_dlpack_requests_raise(keywords, exception):
    array = ascending_device_array(3)
    with pytest.raises(exception):
        array.__dlpack__(**keywords)
    with pytest.raises(TypeError):
        array.__dlpack__(None)


def test_dlpack_export_rejects_unsupported_dtypes():
    for dtype in (">f4", "M8[s]", [("a", "i4")], "V4"):
        with pytest.raises(BufferError, match="element type"):
            cuda.device_array(3, dtype).__dlpack__()
    records = cuda.device_array(3, [("a", "i2"), ("b", "i4")])
    with pytest.raises(BufferError, match="multiples"):
        records["b"].__dlpack__()


# ---- arguments of kernels ----
def test_dlpack_objects_are_kernel_arguments():
    @cuda.jit
    def double(x, y):
        "int i = grid<1>(); if (i < x.size()) y[i] = 2 * x[i];"

    @cuda.jit("void(const float32[:], float32[:])")
    def double_kernel(x, y):
        "int i = grid<1>(); if (i < x.size()) y[i] = 2 * x[i];"

    source, host = ascending_device_array(4), np.arange(4, dtype="f4")
    for kernel in (double, double_kernel):
        for x in (DLPackProducer(source), DLPackProducer(host), DLPackProducer(host[:1])):
            out = cuda.device_array(4, "f4")
            kernel[1, 32](x, DLPackProducer(out))
            n = x.array.shape[0]
            np.testing.assert_array_equal(out.copy_to_host()[:n], 2 * host[:n])
        result = np.zeros(4, "f4")
        kernel[1, 32](DLPackProducer(source), DLPackProducer(result))
        np.testing.assert_array_equal(result, 2 * host)
        kernel[1, 32](cuda.In(host[:3]), cuda.Out(DLPackProducer(result[:3])))


def test_launch_rejects_invalid_dlpack_tensors():
    @cuda.jit("void(float32[:])")
    def store_one(x):
        "x[0] = 1;"

    @cuda.jit("void(float32[:])", debug=True)
    def write_x5(x):
        "x[5] = 1;"

    with pytest.raises(TypeError, match="float64"):
        store_one[1, 1](DLPackProducer(ascending_device_array(3, dtype="f8")))
    with pytest.raises(ValueError, match="read-only"):
        store_one[1, 1](DLPackProducer(ascending_device_array(3), flags=1))
    with pytest.raises(KernelError):  # the exception outlives the temporary objects of the launch
        write_x5[1, 1](DLPackProducer(np.zeros(3, "f4")))
    with pytest.raises(BufferError, match="bfloat16"):
        store_one[1, 1](
            DLPackProducer(ascending_device_array(3), code=4, bits=16, device=(CUDA, 0))
        )
    with pytest.raises(TypeError, match="__dlpack__"):
        store_one[1, 1](object())


@pytest.mark.sim
def test_exported_memory_stays_alive_while_the_host_reads(run_python):
    """While NumPy reads the memory in place, the device cannot be closed or reset and the array
    cannot be moved; afterwards all three work."""
    run_python("""
import numpy as np, pytest
from numbalite import cuda
for version in None, (1, 0):
    d = cuda.to_device(np.arange(1000.0))
    a = np.from_dlpack(d)
    cuda.close()
    cuda.current_context().reset()
    with pytest.raises(RuntimeError, match=r"cannot be reset: host arrays use its memory \\(1 arrays\\)"):
        cuda.gpus[0].reset()
    with pytest.raises(RuntimeError, match="cannot be moved"):
        d.get_ipc_handle()
    assert a.sum() == d.copy_to_host().sum() == 499500
    del a
    capsule = d.__dlpack__(max_version=version)
    del capsule                                  # never consumed
    cuda.gpus[0].reset()
    with pytest.raises(RuntimeError, match="was reset"):
        np.from_dlpack(d)
    d = cuda.to_device(np.arange(10))
    copy = np.from_dlpack(d, copy=True) if np.__version__ >= "2.1" else None
    del copy
    cuda.close()
    with pytest.raises(RuntimeError, match="was reset"):
        np.from_dlpack(d)
""")


class TensorLargerThanItsMemory:
    """Returns an array of another library with an arbitrary shape."""

    def __init__(self, array, shape, strides=None, offset=0):
        self.array = array
        data = (array.__cuda_array_interface__["data"][0] + offset, False)
        self.__cuda_array_interface__ = {
            "shape": shape, "strides": strides, "typestr": "<f8", "data": data, "version": 3
        }  # fmt: skip


@pytest.mark.sim
def test_tensors_that_exceed_their_allocation_are_rejected():
    """An array outside the allocation is rejected, because reading it would crash the host; an
    array inside is accepted."""
    owner = cuda.to_device(np.arange(16.0))
    for shape, strides, offset in [
        ((17,), None, 0),
        ((1 << 40,), None, 0),
        ((2,), None, 15 * 8),
        ((2,), (-8,), 0),
        ((2, 8), (72, 8), 0),
    ]:
        array = cuda.as_cuda_array(TensorLargerThanItsMemory(owner, shape, strides, offset))
        with pytest.raises(BufferError, match="not all in memory of the device"):
            np.from_dlpack(array)
    for shape, strides, offset in [((16,), None, 0), ((16,), (-8,), 15 * 8), ((0,), None, 1 << 40)]:
        array = cuda.as_cuda_array(TensorLargerThanItsMemory(owner, shape, strides, offset))
        assert np.from_dlpack(array).size == shape[0]
