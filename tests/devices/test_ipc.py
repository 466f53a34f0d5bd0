"""Tests device memory shared by several processes: handles of arrays and of raw memory."""

import contextlib
import gc
import os
import pickle
import struct

import numpy as np
import pytest

from numbalite import _core, cuda, errors

OPEN = """
import pickle, sys
import numpy as np
from numbalite import cuda
handle = pickle.loads(bytes.fromhex(sys.argv[1]))
"""


@pytest.fixture
def run_in_another_process(run_python):
    """run_in_another_process(code, thing): runs code in another process, where `handle` is thing; returns its
    output."""

    def run_with_handle(code, thing, **environment):
        return run_python(OPEN + code, pickle.dumps(thing).hex(), **environment).stdout

    return run_with_handle


@pytest.mark.leaks
@pytest.mark.parametrize("make", [cuda.to_device, None], ids=["moved", "ipc_array"])
def test_ipc_handles_share_memory_between_processes(make, run_in_another_process):
    host = np.arange(1000, dtype="f4")
    if make is None:
        array = cuda.ipc_array(host.shape, host.dtype)
        array.copy_to_device(host)
    else:
        array = make(host)
    handle = array.get_ipc_handle()
    code = (
        "with handle as a:\n"
        "    assert a.dtype == np.float32 and a.shape == (1000,)\n"
        "    print(float(a.copy_to_host().sum()))\n"
        "    a[2:4] = 77\n"
        "    cuda.synchronize()\n"
    )
    assert float(run_in_another_process(code, handle)) == host.sum()
    host[2:4] = 77
    np.testing.assert_array_equal(array.copy_to_host(), host)
    array[:2] = -1  # copies in the opposite direction, through the same handle
    cuda.synchronize()
    code = "with handle as a: print(a.copy_to_host()[:4].tolist(), (a + 1).copy_to_host()[0])"
    assert run_in_another_process(code, handle) == "[-1.0, -1.0, 77.0, 77.0] 0.0\n"


@cuda.jit("void(float64[:, :])")
def negated(x):
    "auto [i, j] = grid<2>(); if (i < x.shape[0] && j < x.shape[1]) x(i, j) = -x(i, j);"


def test_kernels_access_strided_ipc_arrays(run_in_another_process):
    """Strided parts keep their geometry, and kernels on both sides use the memory."""
    host = np.arange(24.0).reshape(4, 6)
    array = cuda.to_device(host)[1:, ::2]
    negated[1, (8, 8)](array)
    code = (
        "with handle as a:\n"
        "    print(a.shape, a.strides, a.copy_to_host().tolist())\n"
        "    set = cuda.jit('__global__ void set(array<double, 2> x) { x(threadIdx.x, threadIdx.y) = 5; }')\n"
        "    set[1, (3, 3)](a)\n"
        "    cuda.synchronize()\n"
    )
    text = run_in_another_process(code, array.get_ipc_handle())
    assert text == f"(3, 3) (48, 16) {(-host[1:, ::2]).tolist()}\n"
    assert array.copy_to_host().tolist() == [[5.0] * 3] * 3


def test_structured_array_is_shared(run_in_another_process):
    dtype = np.dtype([("n", "i4"), ("x", "f8")], align=True)
    host = np.array([(1, 2.5), (3, 4.5)], dtype)
    handle = cuda.to_device(host).get_ipc_handle()
    base = handle._ipc_handle.base
    assert base is not None, "the handle keeps the memory alive"
    text = run_in_another_process(
        "with handle as a: print(a.copy_to_host().tolist(), a.dtype.names)", handle
    )
    assert text == "[(1, 2.5), (3, 4.5)] ('n', 'x')\n"


def test_open_ipc_array_accepts_bytes_and_offset(run_in_another_process):
    """Opens a handle that is passed as bytes, as other libraries return it, with an offset in the
    allocation."""
    array = cuda.to_device(np.arange(12, dtype="i8"))
    handle = cuda.current_context().get_ipc_handle(array.gpu_data)
    assert bytes(handle.handle) == handle.handle.reserved and len(handle.handle) == 64
    code = (
        "raw, offset = handle\n"
        "with cuda.open_ipc_array(raw, shape=3, dtype=np.int64, offset=offset + 16) as a:\n"
        "    print(a.copy_to_host())\n"
        "with cuda.open_ipc_array(tuple(raw), (2, 2), 'i8', (48, 16), offset) as a:\n"
        "    print(a.copy_to_host().tolist())\n"
        "try:\n"
        "    with cuda.open_ipc_array(raw, 1 << 30, 'i8'): pass\n"
        "except ValueError as error: print('ValueError', 'are not in' in str(error))\n"
        "ctx = cuda.current_context()\n"
        "memory = ctx.open_ipc_handle(raw, 96)\n"
        "print(memory.size, memory.device_pointer_value > 0)\n"
    )
    text = run_in_another_process(code, (bytes(handle.handle), handle.offset))
    assert text == "[2 3 4]\n[[0, 2], [6, 8]]\nValueError True\n96 True\n"


def test_ipc_handles_cannot_be_opened_in_their_own_process():
    array = cuda.to_device(np.arange(4))
    handle = array.get_ipc_handle()
    with pytest.raises(ValueError, match="original process"):
        handle.open()
    with pytest.raises(ValueError, match="not opened"):
        handle.close()
    copy = pickle.loads(pickle.dumps(handle))
    with pytest.raises(errors.CudaAPIError, match="another process"):
        copy.open()
    assert array.get_ipc_handle()._ipc_handle.handle == handle._ipc_handle.handle
    assert array.copy_to_host().tolist() == [0, 1, 2, 3]


def test_ipc_handle_is_opened_once_and_closed(run_in_another_process):
    array = cuda.to_device(np.arange(4))
    code = (
        "from numbalite import _core\n"
        "a = handle.open()\n"
        "try: handle.open()\n"
        "except ValueError as error: print(error)\n"
        "print(handle._ipc_handle.can_access_peer(cuda.current_context()))\n"
        "handle.close()\n"
        "del a\n"
        "b = handle.open(); handle.close(); del b\n"
        "c = handle._ipc_handle.open_staged(cuda.current_context())\n"
        "print(c.size); handle.close(); del c\n"
        "print(_core.live()['ipc'])\n"
    )
    text = run_in_another_process(code, array.get_ipc_handle())
    assert text == "IpcHandle is already opened\nTrue\n32\n0\n"


@pytest.mark.leaks
def test_an_array_of_a_closed_handle_raises(run_in_another_process):
    """Every use raises an error, also a use of a view: on a GPU a kernel that accesses closed memory loses
    the context."""
    code = (
        "from numbalite import errors\n"
        "with handle as a: view = a[1:]\n"
        "add = cuda.jit('__global__ void add(double *x) { x[threadIdx.x] += 1; }')\n"
        "uses = [lambda x: x.copy_to_host(), lambda x: x + 1, lambda x: np.add(x, 1, out=x),\n"
        "    lambda x: x.__setitem__(0, 3), lambda x: float(np.sum(x)), lambda x: add[1, 3](x),\n"
        "    lambda x: x.__cuda_array_interface__, lambda x: x.__dlpack__(), lambda x: x.sort(),\n"
        "    lambda x: x.get_ipc_handle(), lambda x: cuda.to_device(np.zeros(x.size)).copy_to_device(x)]\n"
        "for number, use in enumerate(uses):\n"
        "    for x in (a, view):\n"
        "        try: use(x)\n"
        "        except errors.CudaDriverError as error: assert 'was closed' in str(error), error\n"
        "        else: print(number, 'is allowed')\n"
        "assert 'was closed' in repr(a) and a.shape == (4,)\n"
        "with handle as again: print(again.copy_to_host())\n"
    )
    array = cuda.to_device(np.arange(4.0))
    assert run_in_another_process(code, array.get_ipc_handle()) == "[0. 1. 2. 3.]\n"
    with pytest.raises(TypeError, match="an array over memory of another process"):
        _core.ipc_end(array[1:].copy())


@pytest.mark.leaks
def test_arrays_that_cannot_be_shared_raise():
    whole = cuda.to_device(np.arange(8))
    part = whole[2:]
    with pytest.raises(RuntimeError, match="cuda.ipc_array"):
        part.get_ipc_handle()
    del whole
    part.get_ipc_handle()  # now only the handle refers to the memory
    assert part.copy_to_host().tolist() == [2, 3, 4, 5, 6, 7]
    given = cuda.to_device(np.arange(8))
    interface = given.__cuda_array_interface__
    with pytest.raises(RuntimeError, match="other libraries"):
        given.get_ipc_handle()
    assert interface["data"][0] == given.address
    with pytest.raises(ValueError, match="without elements"):
        cuda.device_array(0).get_ipc_handle()
    with pytest.raises(NotImplementedError, match="negative strides"):
        cuda.to_device(np.arange(3))[::-1].get_ipc_handle()
    with pytest.raises(TypeError):
        _core.ipc_export(np.arange(3))
    for bad in (b"", b"x" * 63, "x" * 64):
        with pytest.raises(ValueError, match="64 bytes"):
            _core.IpcMemory.open(bad)
    with pytest.raises(errors.CudaAPIError):
        _core.IpcMemory.open(bytes(64))
    with pytest.raises(ValueError):
        _core.IpcMemory.alloc(0)


def test_managed_memory_cannot_be_shared():
    array = cuda.as_cuda_array(cuda.managed_array(4))
    with pytest.raises(errors.CudaAPIError, match=r"cuda\.ipc_array"):
        array.get_ipc_handle()


def test_opening_a_handle_of_an_ended_process_raises(run_in_another_process, run_python):
    """A handle whose memory no longer exists is an error, not a crash."""
    code = (
        "import pickle, numpy as np\n"
        "from numbalite import cuda\n"
        "print(pickle.dumps(cuda.to_device(np.arange(4)).get_ipc_handle()).hex())"
    )
    handle = pickle.loads(bytes.fromhex(run_python(code).stdout))
    with pytest.raises(errors.CudaAPIError, match="must still exist"):
        handle.open()


@pytest.mark.leaks
def test_ipc_array_has_shape_order_and_stream():
    array = cuda.ipc_array((3, 4), np.int32, order="F")
    assert array.is_f_contiguous() and array.alloc_size == 48
    array[:] = np.arange(12).reshape(3, 4)
    assert array[1].copy_to_host().tolist() == [4, 5, 6, 7]
    stream = cuda.stream()
    assert cuda.ipc_array(5, stream=stream).stream is stream
    assert cuda.ipc_array((2, 0)).shape == (2, 0)
    assert cuda.ipc_array(3, "u1", strides=(2,)).strides == (2,)
    view = array[1:, 1]
    handle = view.get_ipc_handle()
    assert handle._ipc_handle.offset == 16 and handle._ipc_handle.size == 8
    del array, view, handle, stream
    gc.collect()


def test_ipc_handle_opens_on_another_device(run_in_another_process):
    """The handle contains the device of its memory; another device accesses it or gets a copy."""
    handle = cuda.to_device(np.arange(4)).get_ipc_handle()
    assert handle._ipc_handle.source_info == cuda.get_current_device().get_device_identity()
    if not cuda.is_simulated():
        pytest.skip("several simulated devices")
    code = (
        "cuda.select_device(1)\n"
        "with handle as a: print(a.copy_to_host())\n"
        "ipc = handle._ipc_handle\n"
        "memory = ipc.open_staged(cuda.current_context())\n"
        "print(memory.size)\n"
        "ipc.close()\n"
    )
    assert run_in_another_process(code, handle, NUMBALITE_SIM_DEVICES="2") == "[0 1 2 3]\n32\n"


def test_ipc_operations_survive_failing_driver_calls(count_live):
    """get_ipc_handle and ipc_array with each driver call failing in turn: no object leaks."""
    for operation in (
        lambda: cuda.to_device(np.arange(100)).get_ipc_handle(),
        lambda: cuda.ipc_array(100).get_ipc_handle(),
    ):
        operation()
        before = count_live()
        for fail in (_core.fail_call_at, _core.fail_alloc_at):
            for n in range(1, 40):
                fail(n)
                try:
                    operation()
                except (errors.NumbaliteError, MemoryError, RuntimeError):
                    pass
                else:
                    break
                finally:
                    fail(0)
            else:
                pytest.fail("it never got through")
            assert count_live() == before


@pytest.mark.sim
def test_simulator_rejects_forged_ipc_handles(run_in_another_process, tmp_path):
    """A handle is 64 untrusted bytes: it must name sealed memory of the same inode and size."""
    array = cuda.ipc_array(4)
    array[:] = 7
    good = bytes(array.get_ipc_handle()._ipc_handle.handle)
    layout = struct.Struct("8sii4Q")
    magic, pid, fd, inode, span, lead, size = layout.unpack(good[: layout.size])

    def forge_handle(descriptor, **changes):
        facts = os.fstat(descriptor)
        fields = {"inode": facts.st_ino, "span": facts.st_size, "lead": 0, "size": facts.st_size}
        fields |= changes
        return layout.pack(magic, pid, descriptor, *fields.values()).ljust(64, b"\0")

    with contextlib.ExitStack() as stack:
        path = tmp_path / "file"
        path.write_bytes(b"secret" * 4096)
        plain = os.memfd_create("numbalite-device-memory")
        stack.callback(os.close, plain)
        os.ftruncate(plain, span)
        open_to_shrink = os.memfd_create("numbalite-device-memory", os.MFD_ALLOW_SEALING)
        stack.callback(os.close, open_to_shrink)
        os.ftruncate(open_to_shrink, span)
        reader, writer = os.pipe()
        stack.callback(os.close, reader)
        stack.callback(os.close, writer)
        file = stack.enter_context(path.open("r+b"))
        handles = {
            "good": good,
            "file": forge_handle(file.fileno()),
            "memfd": forge_handle(plain),
            "without seals": forge_handle(open_to_shrink),
            "pipe": forge_handle(writer, span=span, size=size),
            "inode": forge_handle(fd, inode=inode + 1),
            "larger": forge_handle(fd, span=2 * span, size=2 * span),
            "beyond": forge_handle(fd, lead=lead, size=span - lead + 1),
            "closed": layout.pack(magic, pid, 10_000, inode, span, lead, size).ljust(64, b"\0"),
        }
        code = (
            "from numbalite import errors\n"
            "for name, bytes_ in handle.items():\n"
            "    try:\n"
            "        with cuda.open_ipc_array(bytes_, 4, np.float64) as a: print(name, a.copy_to_host())\n"
            "    except errors.CudaAPIError as error: assert 'INVALID_HANDLE' in str(error), error\n"
        )
        assert run_in_another_process(code, handles) == "good [7. 7. 7. 7.]\n"
    assert path.read_bytes() == b"secret" * 4096
