"""Arguments of classes with DLPack's C functions (__dlpack_c_exchange_api__): tensors are borrowed,
not exported.

A class whose functions are written in Python and called through ctypes replaces PyTorch's;
tests/gpu has the real one. Counts the reads of its __cuda_array_interface__.
"""

import ctypes

import numpy as np
import pytest
from kit.sample import random_generator

from numbalite import _core, cuda

CPU, CUDA = 1, 2
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class DLTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )  # fmt: skip


LEND = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(DLTensor))
STREAM = ctypes.PYFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p)
)


class DLPackFunctionTable(ctypes.Structure):
    pass


DLPackFunctionTable._fields_ = (
    ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("previous", ctypes.POINTER(DLPackFunctionTable)),
    ("allocate", ctypes.c_void_p), ("export_tensor", ctypes.c_void_p), ("import_tensor", ctypes.c_void_p),
    ("view_tensor", LEND), ("current_stream", STREAM),
)  # fmt: skip


class TensorBase:
    """A tensor over a device array."""

    device_type, code, byte_offset, current, requires_grad, conj, neg = (
        CUDA,
        None,
        0,
        0,
        False,
        False,
        False,
    )

    def __init__(self, array, **changes):
        self.array, self.lent, self.asked = array, 0, 0
        self.shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self.strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
        self.__dict__.update(changes)

    def is_conj(self):
        return self.conj

    def is_neg(self):
        return self.neg

    @property
    def __cuda_array_interface__(self):
        self.asked += 1
        return self.array.__cuda_array_interface__


@LEND
def export_borrowed_tensor(obj, out):
    t, dtype = out[0], obj.array.dtype
    obj.lent += 1
    t.data, t.device_type, t.device_id = obj.array.address - obj.byte_offset, obj.device_type, 0
    t.ndim, t.shape, t.strides = obj.array.ndim, obj.shape, obj.strides
    t.code, t.bits, t.lanes = (
        CODES[dtype.kind] if obj.code is None else obj.code,
        dtype.itemsize * 8,
        1,
    )
    t.byte_offset = obj.byte_offset
    return 0


@STREAM
def current_stream(device_type, device_id, out):
    out[0] = TensorBase.current
    return 0


KEPT = []
CAPSULE = ctypes.pythonapi.PyCapsule_New
CAPSULE.restype, CAPSULE.argtypes = (
    ctypes.py_object,
    (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
)


def make_exchange_type(
    major=1, previous=None, lender=export_borrowed_tensor, name=b"dlpack_exchange_api"
):
    functions = DLPackFunctionTable(major, 3, previous, None, None, None, lender, current_stream)
    KEPT.append(functions)
    capsule = CAPSULE(ctypes.addressof(functions), name, None)
    return type("Tensor", (TensorBase,), {"__dlpack_c_exchange_api__": capsule})


Tensor = make_exchange_type()
FIRST = np.arange(12, dtype="f4").reshape(3, 4)


@cuda.jit
def twice(x, y):
    "int i = grid<1>(); if (i < 12) y[i / 4][i % 4] = x[i / 4][i % 4] * 2;"


@pytest.mark.parametrize("view", (np.s_[:], np.s_[::-1, ::-1], np.s_[:, ::-1]), ids=str)
def test_exchange_functions_borrow_the_tensor(view):
    """Launches and ufuncs read no attribute of the tensor except its exchange functions, with any strides."""
    x, y = (
        Tensor(cuda.to_device(FIRST)[view]),
        Tensor(cuda.device_array((3, 4), "f4"), byte_offset=16),
    )
    twice[1, 32](x, y)
    np.testing.assert_array_equal(y.array.copy_to_host(), FIRST[view] * 2)
    np.testing.assert_array_equal(
        np.add(cuda.to_device(FIRST), x).copy_to_host(), FIRST + FIRST[view]
    )
    assert x.lent == 2 and y.lent == 1 and not x.asked and not y.asked


@pytest.mark.parametrize("dtype", ("?", "i1", "u2", "i8", "f2", "f8", "c8", "c16"))
def test_dlpack_dtype_codes_are_converted(dtype):
    x = Tensor(cuda.to_device(np.ones((2, 0, 3), dtype)))
    found = _core.from_interface(x)
    assert found.dtype == dtype and found.shape == (2, 0, 3) and x.lent == 1 and not x.asked


def test_a_launch_on_a_named_stream_is_ordered_after_the_tensors_stream(monkeypatch):
    """The call is ordered by one event, without a wait on the host; on the tensor's own stream no
    event is needed."""
    stream, other = cuda.stream(), cuda.stream()
    monkeypatch.setattr(TensorBase, "current", stream.handle)
    x = Tensor(cuda.to_device(FIRST))
    y = cuda.device_array((3, 4), "f4")
    calls = []
    for named in (stream, other):
        _core.trace(True)
        twice[1, 32, named](x, y)
        calls.append(_core.traced())
        _core.trace(False)
    events = [sum("EventRecord" in call for call in made) for made in calls]
    assert events == [0, 1] and not any("Synchronize" in call for made in calls for call in made)
    np.testing.assert_array_equal(y.copy_to_host(stream=other), FIRST * 2)


@pytest.mark.parametrize(
    "tensor",
    (
        lambda a: Tensor(a, requires_grad=True),
        lambda a: Tensor(a, code=4),  # bfloat16
        lambda a: Tensor(a, device_type=CPU),
        lambda a: make_exchange_type(major=2)(a),
        lambda a: make_exchange_type(lender=LEND())(a),
        lambda a: make_exchange_type(name=b"another")(a),
    ),
)
def test_tensors_without_a_fast_export_use_dlpack(tensor):
    x, y = tensor(cuda.to_device(FIRST)), cuda.device_array((3, 4), "f4")
    twice[1, 32](x, y)
    np.testing.assert_array_equal(y.copy_to_host(), FIRST * 2)
    assert x.asked == 1


def test_older_exchange_api_versions_are_found():
    older = DLPackFunctionTable(
        1, 3, None, None, None, None, export_borrowed_tensor, current_stream
    )
    x = make_exchange_type(major=2, previous=ctypes.pointer(older))(cuda.to_device(FIRST))
    assert _core.from_interface(x).shape == (3, 4) and x.lent == 1 and not x.asked


def test_lazy_tensors_are_rejected():
    """The memory of PyTorch's lazy conjugates and negatives contains the values of the original
    tensor."""
    x, y = cuda.to_device(FIRST.astype("c8")), cuda.device_array((3, 4), "c8")
    with pytest.raises(BufferError, match=r"Tensor.*resolve_conj\(\)"):
        twice[1, 32](Tensor(x, conj=True), y)
    with pytest.raises(BufferError, match=r"Tensor.*resolve_neg\(\)"):
        twice[1, 32](Tensor(cuda.to_device(FIRST)[:, ::2], neg=True), y)
    with pytest.raises(BufferError, match=r"Tensor.*resolve_neg\(\)"):
        twice[1, 32](Tensor(cuda.to_device(FIRST)[:1, :1], neg=True), y)


@cuda.vectorize(["float32(float32, float32)"])
def subtract_doubled(x, y):
    "return x - 2 * y;"


def device_tensor(host):
    return Tensor(cuda.to_device(host))


def test_ufuncs_read_and_write_tensors_in_place():
    """Tests random strides, broadcasting, and an output that overlaps an input."""
    random = random_generator()
    for _ in range(20):
        whole = random.random((6, 8)).astype("f4")
        memory = cuda.to_device(whole)
        steps = [slice(None, None, int(step)) for step in random.choice([-2, -1, 1, 2], 2)]
        x, host = Tensor(memory[tuple(steps)]), whole[tuple(steps)]
        row = random.random(host.shape[1]).astype("f4")
        out = Tensor(cuda.device_array(host.shape, "f4"))
        assert subtract_doubled(x, device_tensor(row), out=out) is out
        np.testing.assert_array_equal(out.array.copy_to_host(), host - 2 * row)
        assert not x.asked and not out.asked
    x = Tensor(memory[1:])
    subtract_doubled(Tensor(memory[:-1]), x, out=x)
    np.testing.assert_array_equal(memory.copy_to_host()[1:], whole[:-1] - 2 * whole[1:])
    row = Tensor(cuda.to_device(whole[0]), strides=(ctypes.c_int64 * 1)(0))
    with pytest.raises(ValueError, match="overlap in memory"):
        subtract_doubled(device_tensor(whole[0]), device_tensor(whole[1]), out=row)


def test_a_ufunc_on_a_named_stream_is_ordered_with_the_tensors_stream(monkeypatch):
    """The call waits for the tensors' stream, and this stream then waits for the call, each with one
    event."""
    stream, other = cuda.stream(), cuda.stream()
    x, y, out = (device_tensor(FIRST) for _ in range(3))
    subtract_doubled(x, y, out=out)
    monkeypatch.setattr(TensorBase, "current", stream.handle)
    calls = []
    for named in (stream, other):
        _core.trace(True)
        subtract_doubled(x, y, out=out, stream=named)
        calls.append(_core.traced())
        _core.trace(False)
    events = [sum("EventRecord" in call for call in made) for made in calls]
    assert events == [0, 2] and not any("Synchronize" in call for made in calls for call in made)
    np.testing.assert_array_equal(out.array.copy_to_host(stream=other), -FIRST)


def check_tensor_kernel():
    """This function is called in a process of its own, where Tensor is the first class with the functions."""
    planned, general = [], []

    def allocate_tensor(size, stride, dtype):
        assert stride == tuple(s // 4 for s in np.empty(size, "f4").strides) and dtype == "f4"
        return Tensor(cuda.device_array(size, dtype))

    def plan_call(*args):
        planned.append(args)
        return subtract_doubled, allocate_tensor, (), ((None, None, "f4", None),)

    kernel = _core.TensorKernel(lambda *args, **more: general.append(args), plan_call, True, 0)
    # an object of a subclass is passed first, as torch.nn.Parameter may be
    parameter = type("Parameter", (Tensor,), {"detach": lambda self: Tensor(self.array)})
    found = kernel(parameter(cuda.to_device(FIRST)), device_tensor(FIRST)).array.copy_to_host()
    np.testing.assert_array_equal(found, -FIRST)
    random = np.random.default_rng(0)
    for shape in [(3, 4), (4,), (), (2, 1, 3), (5, 5)]:
        x, y = random.random(shape).astype("f4"), random.random(shape[-1:]).astype("f4")
        found = kernel(device_tensor(x), device_tensor(y)).array.copy_to_host()
        np.testing.assert_array_equal(found, x - 2 * y)
    assert len(planned) == len(kernel.plans) == 1
    kernel(device_tensor(FIRST), device_tensor(FIRST.astype("f2")))
    assert len(planned) == len(kernel.plans) == 2 and not general
    kernel(device_tensor(FIRST), device_tensor(FIRST[0, :3]))  # shapes that cannot be broadcast
    kernel(device_tensor(FIRST), y=device_tensor(FIRST))
    assert len(general) == 2


def test_a_tensor_kernel_caches_plans_by_dtype(checkout_root, run_python):
    """Tests the kernel that numbalite.torch registers, with stand-ins for tensors."""
    folders = [str(checkout_root / "tests"), str(checkout_root / "tests" / "exchange")]
    run_python(
        f"import sys; sys.path[:0] = {folders}; import test_dlpack_functions as t; t.check_tensor_kernel()"
    )


@cuda.jit("void(const float32*, float32*, int32)")
def halve(x, y, n):
    "int i = grid<1>(); if (i < n) y[i] = x[i] / 2;"


def check_views_of_tensors(kernel, random):
    """The kernel reads dense and strided tensors, in both orders, of each dtype and alignment, as NumPy does."""
    for repeat in range(60):
        dtype = random.choice(["f4", "f8", "i2", "c8"])
        parent = random.integers(-9, 9, (6, 9)).astype(dtype)
        row, column = (random.choice([-2, -1, 1, 2]) for _ in range(2))
        view = (slice(None, None, row), slice(None, None, column))
        first, kept = parent[view], cuda.to_device(parent)
        x = Tensor(kept[view], byte_offset=int(random.integers(2)) * 16)
        if repeat % 3 == 0:
            x = device_tensor(np.ascontiguousarray(first))
        elif repeat % 3 == 1:
            x = device_tensor(np.asfortranarray(first))
        y = device_tensor(np.zeros(first.shape, dtype))
        kernel(x, y)
        expected = np.zeros(first.shape, dtype)
        expected[:3, :4] = first[:3, :4] * 2
        np.testing.assert_array_equal(y.array.copy_to_host(), expected)


def check_reads_of_launches():
    """This function is called in a process of its own, where Tensor is the first class with the functions."""
    launcher = halve[1, 32]
    made = []

    def allocate_tensor(size, stride, dtype):
        made.append(Tensor(cuda.device_array(size, dtype)))
        return made[-1]

    def plan_call(x, y, n):
        return launcher, allocate_tensor, (), ()

    kernel = _core.TensorKernel(None, plan_call, False, 0)
    random = np.random.default_rng(1)
    for shape in [(6,), (2, 3), (), (1, 2, 1, 3), (1, 2, 1, 3, 1)]:
        reads = 1 if len(shape) <= 4 else 2  # long shapes are not copied
        for repeat in range(4):
            values = random.random(shape).astype("f4")
            x, y = device_tensor(values), device_tensor(values)
            assert kernel(x, y, values.size) is None
            if repeat:  # the first call makes the plan
                assert (x.lent, y.lent) == (reads, reads)
            np.testing.assert_array_equal(y.array.copy_to_host(), values / 2)
            assert not x.asked and not y.asked
    x = device_tensor(FIRST)  # one tensor as two arguments
    kernel(x, x, 12)
    np.testing.assert_array_equal(x.array.copy_to_host(), FIRST / 2)

    check_views_of_tensors(
        _core.TensorKernel(None, lambda *args: (twice[1, 32], None, (), ()), False, 0), random
    )

    # the launcher alone reads a newly allocated result
    kernel = _core.TensorKernel(
        None,
        lambda x, n: (
            lambda x, n, y: launcher(x, y, n),
            allocate_tensor,
            (),
            (((12,), (1,), "f4", None),),
        ),
        False,
        0,
    )
    for _ in range(3):
        x = device_tensor(FIRST)
        np.testing.assert_array_equal(kernel(x, 12).array.copy_to_host(), FIRST.ravel() / 2)
        assert made[-1].lent == 1

    # a callback of the launcher may change the tensors
    kernel = _core.TensorKernel(None, plan_call, False, 0)
    x, y = device_tensor(FIRST), device_tensor(FIRST)
    kernel(x, y, 12)
    replaced = cuda.to_device(FIRST)
    launcher.pre_launch_callbacks.append(lambda *args: setattr(y, "array", replaced))
    kernel(x, y, 12)
    np.testing.assert_array_equal(replaced.copy_to_host(), FIRST / 2)


def test_a_tensor_kernel_reads_the_tensors_of_a_launch_once(checkout_root, run_python):
    folders = [str(checkout_root / "tests"), str(checkout_root / "tests" / "exchange")]
    run_python(
        f"import sys; sys.path[:0] = {folders}; import test_dlpack_functions as t; t.check_reads_of_launches()"
    )
