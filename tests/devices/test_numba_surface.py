"""Uses each name of numba.cuda's host API as programs for numba use it.

The order of the tests is the order of numba's documentation: detection, devices and contexts,
streams and events, memory, device arrays, exchange with other libraries. Names with tests in other files are used here once, as numba's users write them."""

import asyncio
import ctypes
import importlib
import threading

import numpy as np
import pytest

from numbalite import cuda, errors

DETECTION = """
    is_available is_supported_version cuda_error detect gpus select_device get_current_device
    list_devices close current_context require_context synchronize profile_start profile_stop profiling
    is_float16_supported is_bfloat16_supported is_fp8_supported
"""
STREAMS = """
    stream default_stream legacy_default_stream per_thread_default_stream external_stream event
    event_elapsed_time
"""
MEMORY = """
    to_device device_array device_array_like pinned_array pinned_array_like mapped_array
    mapped_array_like managed_array pinned mapped as_cuda_array is_cuda_array from_cuda_array_interface
    open_ipc_array set_memory_manager BaseCUDAMemoryManager HostOnlyCUDAMemoryManager GetIpcHandleMixin
    MemoryPointer MappedMemory PinnedMemory MemoryInfo IpcHandle defer_cleanup In Out InOut
"""
MODULES = {
    "cudadrv.driver": """
        driver Driver Device Context Stream Event event_elapsed_time MemoryInfo CudaAPIError LinkerError
        DeadMemoryError BaseCUDAMemoryManager HostOnlyCUDAMemoryManager GetIpcHandleMixin
        NumbaCUDAMemoryManager set_memory_manager MemoryPointer AutoFreePointer MappedMemory PinnedMemory
        ManagedMemory IpcHandle host_to_device device_to_host device_to_device device_memset
        device_memory_size device_extents device_pointer device_ctypes_pointer host_pointer
        host_memory_size host_memory_extents is_device_memory require_device_memory profile_start
        profile_stop profiling get_version CudaPythonModule CudaPythonFunction Function FuncAttr
    """,
    "cudadrv.devices": "gpus get_context require_context reset",
    "cudadrv.devicearray": """
        DeviceNDArray DeviceNDArrayBase DeviceRecord MappedNDArray ManagedNDArray IpcArrayHandle
        from_record_like array_core is_cuda_ndarray require_cuda_ndarray
        verify_cuda_ndarray_interface from_array_like is_contiguous auto_device
        check_array_compatibility errmsg_contiguous_buffer
    """,
    "cudadrv.error": """
        CudaDriverError CudaRuntimeError CudaSupportError NvvmError NvvmSupportError NvvmWarning NvrtcError
        NvrtcCompilationError NvrtcBuiltinOperationFailure NvrtcSupportError CCSupportError
    """,
    "cudadrv.runtime": "runtime get_version Runtime",
    "cudadrv.libs": "get_cudalib open_cudalib get_libdevice test",
    "cudadrv.nvvm": "is_available",
    "cudadrv.linkable_code": """
        LinkableCode PTXSource CUSource Cubin Fatbin Archive Object LTOIR
    """,
    "core.errors": """
        NumbaPerformanceWarning NumbaInvalidConfigWarning NumbaWarning TypingError LoweringError
        DeprecationError
    """,
}


@pytest.mark.parametrize("name", [*DETECTION.split(), *STREAMS.split(), *MEMORY.split()])
def test_namespace_has_numbas_names(name):
    assert callable(getattr(cuda, name)) or name == "gpus"


@pytest.mark.parametrize("module", MODULES)
def test_numba_modules_have_the_expected_names(module):
    found = importlib.import_module(f"numbalite.cuda.{module}")
    missing = [name for name in MODULES[module].split() if not hasattr(found, name)]
    assert not missing
    assert cuda.cudadrv is importlib.import_module("numbalite.cuda.cudadrv")


# ---- devices and contexts


def test_device_attributes_exist():
    device = cuda.get_current_device()
    for name in ("name", "compute_capability", "uuid", "primary_context", "id"):
        getattr(device, name)
    assert device.get_primary_context() is device.primary_context
    device.release_primary_context()
    for name in ("float16", "bfloat16", "fp8"):
        supported = getattr(device, f"supports_{name}")
        assert supported is getattr(cuda, f"is_{name}_supported")()
    assert cuda.gpus[device.id].MULTIPROCESSOR_COUNT == device.MULTIPROCESSOR_COUNT
    assert cuda.gpus[np.int64(0)].id == 0 and cuda.gpus["0"].id == 0, "int() is applied"
    assert cuda.gpus.current.id == device.id and len(cuda.gpus.lst) == len(cuda.gpus)


def test_context_has_numbas_attributes():
    context = cuda.current_context()
    assert context is cuda.current_context() and context is cuda.current_context(0)
    assert context.device == cuda.get_current_device()
    assert isinstance(context.handle, int) and context.handle
    context.extras["mine"] = 1
    assert cuda.current_context().extras["mine"] == 1
    del context.extras["mine"]
    free, total = context.get_memory_info()
    assert 0 < free <= total
    with context.defer_cleanup(), cuda.defer_cleanup():
        pass
    context.synchronize()
    assert context.memory_manager.interface_version == 1
    assert isinstance(context.allocations, dict)
    context.deallocations.clear()
    assert len(context.deallocations) == 0 and not context.deallocations.is_locked
    assert context.can_access_peer(0) in (False, True)
    assert callable(context.enable_peer_access)


def test_context_memalloc_returns_raw_memory():
    from numbalite.cuda.cudadrv import driver

    context = cuda.current_context()
    memory = context.memalloc(64)
    assert memory.size == 64 == driver.device_memory_size(memory)
    assert driver.is_device_memory(memory) and not driver.is_device_memory(np.zeros(3))
    host = np.arange(64, dtype="u1")
    driver.host_to_device(memory, host, 64)
    back = np.zeros(64, "u1")
    driver.device_to_host(back, memory, 32)
    assert back.tolist() == [*range(32), *[0] * 32]
    driver.device_memset(memory, 7, 16)
    other = context.memalloc(64)
    stream = context.create_stream()
    driver.device_to_device(other, memory, 64, stream)
    driver.device_to_host(back, other, 64, stream)
    stream.synchronize()
    assert back.tolist() == [*[7] * 16, *range(16, 64)]
    driver.device_memset(other, -1, 4)
    driver.device_to_host(back, other, 8)
    assert back[:8].tolist() == [255] * 4 + [7] * 4
    with pytest.raises(ValueError, match="more than"):
        driver.host_to_device(memory, np.zeros(4, "u1"), 64)
    locked = context.memhostalloc(128)
    assert memoryview(locked.buffer).nbytes == 128
    context.memallocmanaged(64)
    pinned = np.zeros(1 << 16, "u1")
    assert context.mempin(pinned, driver.host_pointer(pinned), pinned.size) is not None


def test_memset_of_mapped_memory_is_synchronous():
    """A memset of managed or page-locked memory on stream 0 is complete when the call returns, because the host
    can read this memory."""
    from numbalite.cuda.cudadrv import driver

    spin = cuda.jit(
        "__global__ void spin(int n) { for (int i = 0; i < n; ++i) __nanosleep(1000); }"
    )
    for array in cuda.managed_array(1 << 16, "u1"), cuda.mapped_array(1 << 16, "u1"):
        array[:] = 1
        spin[1, 1](20_000)  # some 20 ms
        driver.device_memset(cuda.as_cuda_array(array), 5, array.size)
        assert (array == 5).all()


def test_device_pointer_functions_return_addresses():
    from numbalite.cuda.cudadrv import driver

    array = cuda.to_device(np.arange(10, dtype="i4"))
    assert driver.device_pointer(array) == array.address == array.device_ctypes_pointer.value
    assert driver.device_pointer(array[2:]) == array.address + 8
    assert isinstance(driver.device_ctypes_pointer(array), ctypes.c_void_p)
    low, high = driver.device_extents(array[2:])
    assert low <= array.address and high >= array.address + 40
    assert array.gpu_data.device_pointer.value == array.address
    assert driver.device_memory_size(array) == 40
    host = np.arange(12, dtype="i4")[::-2]
    assert driver.host_pointer(host) == host.ctypes.data
    assert driver.host_memory_size(host) == 44
    low, high = driver.host_memory_extents(host)
    assert low == host.ctypes.data - 40 and high == host.ctypes.data + 4
    assert driver.host_memory_size(np.zeros(0)) == 0
    with pytest.raises(Exception, match="Not a CUDA memory object"):
        driver.require_device_memory(host)
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    assert driver.host_pointer(read_only, readonly=True)
    with pytest.raises(ValueError, match="read-only"):
        driver.host_pointer(read_only)


KERNEL = """
extern "C" __device__ float factor[2] = {3, 4};
extern "C" __global__ void scale(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= factor[0]; }
"""


def scale_image():
    """Returns the image of a kernel, and the symbols in this image. Simulates a file that was written
    on a machine with a GPU."""
    from numbalite import compilers

    target = ("sim",)
    if not cuda.is_simulated():
        target = ("cuda", *cuda.get_current_device().compute_capability)
    unit = compilers.Source(
        text='#include "numbalite.cuh"\n' + KERNEL, name="scale.cu", kernels=("scale",),
        variables=("factor",), describe=True,
    )  # fmt: skip
    image = compilers.compile_source(unit, target)
    return image.data, image.lowered["scale"], image.lowered["factor"]


def test_context_loads_module_images():
    context = cuda.current_context()
    image, scale, factor = scale_image()
    module = context.create_module_image(image)
    assert context.modules[module.handle] is module
    function = module.get_function(scale, "void(float32[:], int32)")
    assert function.name == scale and repr(function) == f"<CUDA function {scale}>"
    assert function.attrs.maxthreads >= 1 and function.device == context.device
    x = cuda.to_device(np.ones(4, "f4"))
    function[1, 32](x, 3)
    assert x.copy_to_host().tolist() == [3, 3, 3, 1]
    pointer, size = module.get_global_symbol(factor)
    assert size == 8
    host = np.zeros(2, "f4")
    cuda.cudadrv.driver.device_to_host(host, pointer, 8)
    assert host.tolist() == [3, 4]
    assert context.get_active_blocks_per_multiprocessor(function, 128, 0) >= 1
    grid, block = context.get_max_potential_block_size(function, None, 0, 0)
    assert grid >= 1 and 1 <= block <= 1024
    assert context.get_max_potential_block_size(function, None, 0, 64)[1] <= 64
    grid, block = context.get_max_potential_block_size(function, lambda block: block * 8, 0, 0)
    assert grid >= 1 and block >= 32
    with pytest.raises(TypeError, match="signature"):
        module.get_function(scale)[1, 1]
    with pytest.raises(errors.CudaAPIError):
        module.get_function("nothing")
    module.unload()
    assert module.handle not in context.modules
    with pytest.raises(RuntimeError, match="unloaded"):
        module.get_function(scale)


@pytest.mark.gpu
def test_context_loads_ptx_modules():
    text, _ = cuda.compile(KERNEL, name="scale", output="ptx")
    for given in (text, text.encode(), text.encode() + b"\0"):
        module = cuda.current_context().create_module_ptx(given)
        x = cuda.to_device(np.ones(4, "f4"))
        module.get_function("scale", "void(float32[:], int32)")[1, 32](x, 2)
        assert x.copy_to_host().tolist() == [3, 3, 1, 1]


def test_linkable_code_is_created_from_source_and_path(tmp_path):
    source = cuda.CUSource("__device__ int seven() { return 7; }", name="seven.cu")
    assert source.name == "seven.cu" and isinstance(source, cuda.LinkableCode)
    path = tmp_path / "eight.cu"
    path.write_text("__device__ int eight() { return 8; }")
    for code, word, want in (
        (source, "seven", 7),
        (cuda.LinkableCode.from_path(path), "eight", 8),
        (cuda.LinkableCode.from_path_or_obj(str(path)), "eight", 8),
    ):
        kernel = cuda.jit(f"__global__ void k(int* x) {{ *x = {word}(); }}", link=[code])
        x = cuda.device_array(1, np.int32)
        kernel[1, 1](x)
        assert x[0] == want
    assert cuda.LinkableCode.from_path_or_obj(source) is source
    with pytest.raises(NotImplementedError, match="callback"):
        cuda.CUSource("", setup_callback=print)
    with pytest.raises(RuntimeError, match="extension"):
        cuda.LinkableCode.from_path(tmp_path / "what.zip")


def test_driver_object_reports_its_version():
    from numbalite.cuda.cudadrv.driver import driver

    assert driver.is_available and driver.initialization_error is None
    driver.ensure_initialized()
    assert driver.is_initialized
    assert (
        driver.get_version() >= (11, 4)
        and cuda.cudadrv.driver.get_version() == driver.get_version()
    )
    assert driver.get_device_count() == len(cuda.gpus)
    assert driver.get_device(0) == cuda.gpus[0]
    with pytest.raises(AttributeError, match=r"cuda\.bindings"):
        driver.cuMemAlloc(4)


def test_toolkit_modules_raise_or_find_libraries(capsys):
    from numbalite.cuda.cudadrv import libs, nvvm, runtime

    assert nvvm.is_available() is False
    with pytest.raises(errors.NvvmSupportError, match="NVRTC"):
        nvvm.NVVM()
    with pytest.raises(errors.CudaSupportError, match="libdevice"):
        libs.get_libdevice()
    assert libs.get_cudalib("cublas") == "libcublas.so"
    try:
        version = runtime.get_version()
    except errors.CudaSupportError:
        assert not libs.test()
        return
    assert version == cuda.runtime.get_version() and version >= (12, 0)
    assert runtime.runtime.is_supported_version() == (version[0] in (12, 13))
    assert libs.test() and "NVRTC" in capsys.readouterr().out
    assert "nvrtc" in libs.get_cudalib("nvrtc")


# ---- streams and events


def test_special_streams_have_numbas_handles():
    assert cuda.default_stream().handle == 0
    assert cuda.legacy_default_stream().handle == 1
    assert cuda.per_thread_default_stream().handle == 2
    context = cuda.current_context()
    assert context.get_default_stream().handle == 0
    assert context.get_legacy_default_stream().handle == 1
    assert context.get_per_thread_default_stream().handle == 2
    stream = context.create_stream()
    other = context.create_external_stream(stream.handle)
    assert other.external and other.handle == int(stream)
    assert stream.priority == 0 and not stream.non_blocking
    least, greatest = cuda.Stream.priority_range()
    assert greatest <= 0 <= least
    assert cuda.stream(non_blocking=True, priority=greatest).priority == greatest
    for one in (cuda.default_stream(), cuda.per_thread_default_stream(), cuda.stream(), other):
        x = cuda.to_device(np.arange(4), stream=one)
        assert x.copy_to_host(stream=one).tolist() == [0, 1, 2, 3]


@cuda.jit("void(float32[:])")
def plus_one(x):
    "int i = grid<1>(); if (i < x.size()) x[i] += 1;"


class ForeignStream:
    """Stand-in for a stream of cuda.core, CuPy or torch, with a handle and the method
    __cuda_stream__."""

    def __init__(self, stream):
        self.stream = stream

    def __cuda_stream__(self):
        return 0, self.stream.handle


class EarlyStream(ForeignStream):
    """The protocol of cuda.core's first releases, in which __cuda_stream__ is an attribute."""

    @property
    def __cuda_stream__(self):
        return 0, self.stream.handle


@pytest.mark.parametrize("wrap", [ForeignStream, EarlyStream, lambda stream: stream])
@pytest.mark.parametrize("non_blocking", [False, True])
def test_foreign_streams_are_accepted_by_every_function(wrap, non_blocking):
    """Each function with a stream parameter accepts an object with __cuda_stream__."""
    own = cuda.stream(non_blocking=non_blocking)
    stream = wrap(own)
    x = cuda.to_device(np.zeros(64, "f4"), stream=stream)
    plus_one[1, 64, stream](x)
    plus_one.forall(64, stream=stream)(x)
    plus_one.configure(1, 64, stream)(x)
    y = double(x, stream=stream)
    start, end = cuda.event(), cuda.event()
    start.record(stream)
    end.record(stream=stream)
    end.wait(stream)
    pinned = cuda.pinned_array(64, "f4")
    y.copy_to_host(pinned, stream=stream)
    x.copy_to_device(np.full(64, 9, "f4"), stream=stream)
    z = cuda.device_array_like(x, stream=stream)
    z.fill(5, stream=stream)
    z.setitem(slice(0, 2), 6, stream=stream)
    assert x.getitem(3, stream=stream) == 9
    total = cuda.reduce("a + b")(z, stream=stream)
    assert total == 5 * 64 + 2
    bound = x.bind(stream)
    assert bound.copy_to_host().tolist() == [9] * 64
    cuda.external_stream(own.handle).synchronize()
    assert pinned.tolist() == [6] * 64
    assert start.query() and end.query()
    assert cuda.device_array(3, stream=stream).stream is stream
    assert bound.__cuda_array_interface__["stream"] == own.handle


@cuda.vectorize(["float32(float32)"], target="cuda")
def double(x):
    "return 2 * x;"


@pytest.mark.parametrize("bad", [1, 1.5, "0", object(), np.int64(0) + 5])
def test_invalid_streams_raise(bad):
    x = cuda.device_array(4, np.float32)
    for use in (
        lambda: plus_one[1, 4, bad],
        lambda: double(x, stream=bad),
        lambda: x.copy_to_host(stream=bad),
        lambda: cuda.to_device(np.arange(3), stream=bad),
        lambda: cuda.event().record(bad),
    ):
        with pytest.raises(TypeError, match="stream"):
            use()


def test_objects_with_an_invalid_cuda_stream_raise():
    class ObjectWithFalseStream:
        def __init__(self, answer):
            self.answer = answer

        def __cuda_stream__(self):
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    x = cuda.device_array(4, np.float32)
    for answer, error in (
        ((1, 0), NotImplementedError),
        (None, TypeError),
        ((0, "x"), TypeError),
        ((0,), TypeError),
        (KeyError("mine"), KeyError),
    ):
        with pytest.raises(error):
            plus_one[1, 4, ObjectWithFalseStream(answer)](x)


def test_cuda_core_accepts_our_streams():
    stream = cuda.stream()
    assert stream.__cuda_stream__() == (0, stream.handle)
    core = pytest.importorskip("cuda.core")
    if cuda.is_simulated():
        pytest.skip("needs a GPU")
    device = core.Device()
    device.set_current()
    theirs = device.create_stream(stream)
    assert int(theirs.handle) == stream.handle


def test_stream_callbacks_and_async_done_complete():
    stream = cuda.stream()
    seen = []
    happened = threading.Event()

    def record_callback(given, status, argument):
        seen.append((given, status, argument))
        happened.set()

    stream.add_callback(record_callback)
    stream.add_callback(record_callback, arg="x")
    stream.synchronize()
    assert happened.wait(10)

    async def await_stream():
        x = cuda.to_device(np.zeros(4, "f4"), stream=stream)
        plus_one[1, 4, stream](x)
        done = stream.async_done()
        assert isinstance(done, asyncio.Future)
        result = await asyncio.wait_for(done, 20)
        return x.copy_to_host(), result

    host, result = asyncio.run(await_stream())
    assert host.tolist() == [1] * 4
    assert seen == [(stream, 0, None), (stream, 0, "x")]
    assert result is None or result is stream


def test_async_done_can_be_cancelled():
    async def cancel_async_done():
        stream = cuda.stream()
        done = stream.async_done()
        done.cancel()
        await asyncio.sleep(0.05)
        return done.cancelled()

    assert asyncio.run(cancel_async_done())


def test_context_creates_timed_events():
    context = cuda.current_context()
    stream = cuda.stream()
    start, end = context.create_event(), cuda.event(timing=True)
    with stream.auto_synchronize():
        start.record(stream=stream)
        end.record(stream=stream)
    assert start.query() and start.elapsed_time(end) >= 0
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end)
    assert start.elapsed_time(evtend=end) == start.elapsed_time(end)
    assert (
        type(cuda.gpus[0].from_identity(cuda.gpus[0].get_device_identity()))
        is cuda.cudadrv.driver.Device
    )
    cuda.event(timing=False).record()


# ---- device arrays and exchange


def test_array_attributes_match_numbas():
    array = cuda.to_device(np.arange(6.0).reshape(2, 3))
    assert (array.shape, array.strides, array.ndim, array.size) == ((2, 3), (24, 8), 2, 6)
    assert (array.nbytes, array.alloc_size, array.dtype) == (48, 48, np.float64)
    assert array.flags["C_CONTIGUOUS"] and not array.flags["F_CONTIGUOUS"]
    assert array.stream == 0 and array.__cuda_memory__ and array.__cuda_ndarray__
    assert array.is_c_contiguous() and not array.is_f_contiguous()
    interface = array.__cuda_array_interface__
    assert interface["version"] == 3 and interface["strides"] is None
    assert len(array) == 2 and [len(part) for part in array.ravel().split(4)] == [4, 2]
    with pytest.raises(ValueError):
        array.__array__(copy=False)
    assert array.as_cuda_arg() is not None
    record = cuda.to_device(np.array([(1, 2.0)], [("n", "i4"), ("x", "f8")]))[0]
    assert isinstance(record, cuda.cudadrv.devicearray.DeviceRecord) and record["n"] == 1


def test_devicearray_module_functions_match_numba():
    from numbalite.cuda.cudadrv import devicearray

    host = np.arange(6.0).reshape(2, 3)
    array, new = devicearray.auto_device(host)
    assert new and array.copy_to_host().tolist() == host.tolist()
    same, new = devicearray.auto_device(array)
    assert same is array and not new
    assert devicearray.is_contiguous(array) and not devicearray.is_contiguous(array[:, ::2])
    assert devicearray.from_array_like(host.T).strides == host.T.strides
    devicearray.verify_cuda_ndarray_interface(array)
    with pytest.raises(ValueError):
        devicearray.require_cuda_ndarray(host)
    with pytest.raises(TypeError):
        devicearray.check_array_compatibility(host, host.astype("f4"))


def test_as_cuda_array_returns_a_view():
    array = cuda.to_device(np.arange(4.0))

    class ForeignArray:
        __cuda_array_interface__ = array.__cuda_array_interface__

    foreign = ForeignArray()
    view = cuda.as_cuda_array(foreign)
    assert view.address == array.address and cuda.is_cuda_array(foreign)
    assert cuda.to_device(foreign).address == array.address, "a view"
    made = cuda.from_cuda_array_interface(array.__cuda_array_interface__, owner=array)
    assert made.copy_to_host().tolist() == [0, 1, 2, 3]
    assert cuda.from_dlpack(array).address == array.address
    with pytest.raises(TypeError, match="cuda array interface"):
        cuda.as_cuda_array(np.zeros(3))
    masked = dict(array.__cuda_array_interface__, mask=array)
    with pytest.raises(NotImplementedError):
        cuda.from_cuda_array_interface(masked)


def test_foreign_arrays_use_their_producers_stream():
    """By default, another library's array is used on its producer's stream."""

    class ForeignArray:
        asked = 0

        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            self.asked += 1
            return self.array.__cuda_array_interface__

    stream = cuda.stream()
    foreign = ForeignArray(cuda.to_device(np.arange(4.0), stream=stream))
    view = cuda.as_cuda_array(foreign)
    assert isinstance(view.stream, cuda.Stream) and view.stream.external
    assert int(view.stream) == stream.handle and not view.stream.non_blocking
    view += 1
    assert view.copy_to_host().tolist() == [1, 2, 3, 4]
    assert cuda.as_cuda_array(ForeignArray(cuda.device_array(3))).stream == 0
    alone = cuda.stream(non_blocking=True)  # its work is not ordered with a ufunc's
    view = cuda.as_cuda_array(ForeignArray(cuda.to_device(np.arange(4.0), stream=alone)))
    assert view.stream == 0
    view += 1
    assert view.copy_to_host().tolist() == [1, 2, 3, 4]
    view = cuda.as_cuda_array(ForeignArray(cuda.device_array(4, stream=alone)), sync=False)
    assert int(view.stream) == alone.handle
    for use in (
        cuda.to_device,
        cuda.device_array_like,
        lambda x: cuda.device_array(4).copy_to_device(x),
        lambda x: cuda.device_array(4).setitem(..., x),
    ):
        foreign.asked = 0
        use(foreign)
        assert foreign.asked == 1


def test_external_streams_are_not_queried():
    """A handle is checked when it is used; then an invalid one raises an error."""
    invalid = cuda.external_stream(0xDEADBEE0)
    assert int(invalid) == invalid.handle == 0xDEADBEE0 and invalid.external
    assert repr(invalid) == f"<External CUDA stream {0xDEADBEE0}>"
    if cuda.is_simulated():  # a real driver may crash
        for use in (
            invalid.synchronize,
            lambda: invalid.non_blocking,
            lambda: plus_one[1, 1, invalid],
            lambda: cuda.to_device(np.zeros(3), stream=invalid),
        ):
            with pytest.raises(errors.CudaAPIError, match="INVALID_HANDLE"):
                use()


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_mapped_arrays_are_host_and_device_arrays(make):
    from numbalite.cuda.cudadrv import devicearray, driver

    stream = cuda.stream()
    array = make((4, 3), np.int32, stream=stream)
    array[...] = np.arange(12).reshape(4, 3)
    interface = array.__cuda_array_interface__
    address = interface["data"][0]
    assert interface["stream"] == stream.handle and array.stream is stream
    assert make(3).__cuda_array_interface__["stream"] is None and make(3).stream == 0
    assert array.device_ctypes_pointer.value == address == int(array.gpu_data)
    assert array.gpu_data.size == 48 and array.alloc_size >= 48
    assert array[1:, ::2].device_ctypes_pointer.value == address + 12
    assert array[::-1].gpu_data.address == address and array[::-1].gpu_data.size == 48
    assert array.is_c_contiguous() and not array.is_f_contiguous() and array.T.is_f_contiguous()
    assert devicearray.is_cuda_ndarray(array) and driver.is_device_memory(array)
    assert isinstance(array, devicearray.DeviceNDArrayBase)
    assert isinstance(cuda.device_array(1), devicearray.DeviceNDArrayBase)
    assert not isinstance(np.zeros(1), devicearray.DeviceNDArrayBase)
    assert array.bind(0).__cuda_array_interface__["stream"] is None
    assert [part.tolist() for part in array.ravel().split(7)] == [[*range(7)], [*range(7, 12)]]
    assert array.as_cuda_arg() is array and array._numba_type_.ndim == 2
    with pytest.raises(TypeError, match="incompatible dtype"):
        array.copy_to_host(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="incompatible shape"):
        array.copy_to_device(np.zeros((3, 4), np.int32))
    with pytest.raises(TypeError, match="stream"):
        make(3, stream=7)
    copied = np.array(array, subok=True)  # in pageable memory, which no device can access
    for name in ("__cuda_array_interface__", "__cuda_memory__", "gpu_data", "alloc_size"):
        assert not hasattr(copied, name)
    assert not devicearray.is_cuda_ndarray(copied)


@pytest.mark.parametrize("kind", ["managed", "write-combined"])
def test_numpy_views_keep_mapped_memory_alive(kind, run_python):
    """close() keeps the context while NumPy arrays use its memory directly, and reset() raises an error."""
    make = "managed_array(8)" if kind == "managed" else "mapped_array(8, wc=True)"
    run_python(f"""
import numpy as np
from numbalite import cuda, errors
array, other = cuda.{make}, cuda.to_device(np.arange(3))
array[:] = 5
cuda.close()
assert array.sum() == 40 and other.copy_to_host().tolist() == [0, 1, 2]
for reset in (cuda.gpus[0].reset, cuda.get_current_device().reset):
    try:
        reset()
    except errors.CudaDriverError as problem:
        assert "cannot be reset" in str(problem) and "(1 arrays)" in str(problem)
    else:
        raise AssertionError
assert array.sum() == 40
del array
cuda.gpus[0].reset()
try:
    other.copy_to_host()
except RuntimeError as problem:
    assert "was reset" in str(problem)
cuda.close()
assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]
""")


def test_raw_memory_views_share_the_allocation():
    from numbalite.cuda.cudadrv import driver

    context = cuda.current_context()
    memory = context.memalloc(64)
    memory.memset(3)
    part = memory.view(16, 48)
    again = part.view(8)
    assert int(part) == int(memory) + 16 and part.size == 32 and part.owner is memory
    assert int(again) == int(memory) + 24 and again.size == 24 and again.owner is memory
    again.memset(7, 4)
    host = np.zeros(64, "u1")
    driver.device_to_host(host, memory, 64)
    assert host.tolist() == [3] * 24 + [7] * 4 + [3] * 36
    for start, stop in ((-1, None), (65, None), (8, 4), (0, 65)):
        with pytest.raises(IndexError):
            memory.view(start, stop)
    with pytest.raises(ValueError, match="memset"):
        memory.memset(0, 65)
    for mapped in (False, True):
        locked = context.memhostalloc(64, mapped=mapped)
        numbers = np.ndarray(16, "f4", buffer=locked)
        numbers[:] = 2
        assert (
            locked.host_pointer == numbers.ctypes.data and driver.is_device_memory(locked) == mapped
        )
    array = np.ndarray(16, "f4", buffer=context.memallocmanaged(64))
    array[:] = 1
    pinned = np.zeros(100)
    held = context.mempin(pinned, driver.host_pointer(pinned), pinned.nbytes, mapped=True)
    assert held.host_pointer == pinned.ctypes.data
    assert int(cuda.to_device(pinned).gpu_data.device_pointer) > 0


def test_context_memory_manager_can_be_assigned():
    """The memory manager of a context can be set by assignment, as in numba's tests."""

    class CountingManager(cuda.HostOnlyCUDAMemoryManager):
        interface_version = 1
        asked = ready = 0

        def initialize(self):
            self.ready += 1

        def memalloc(self, size):
            self.asked += size
            return before.memalloc(size)

        def get_memory_info(self):
            return cuda.MemoryInfo(1, 2)

    context = cuda.current_context()
    before = context.memory_manager
    context.memory_manager = CountingManager(context=context)
    try:
        assert context.memory_manager.ready == 1
        context.prepare_for_use()
        array = cuda.to_device(np.arange(10.0))
        assert context.memory_manager.asked == 80 and array.copy_to_host().sum() == 45
        assert context.get_memory_info() == (1, 2)
    finally:
        context.memory_manager = before
    assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]


def test_unicode_arrays_round_trip():
    """Strings are stored as bytes on a device, and are unchanged when they are copied back."""
    words = np.array(["a", "longer", "ü"])
    array = cuda.to_device(words)
    assert array.copy_to_host().tolist() == words.tolist() and array[2] == "ü"
    array[0] = "b"
    assert array.copy_to_host().tolist() == ["b", "longer", "ü"]
    kind = np.dtype([("x", "f8"), ("word", "U5")], align=True)
    record = cuda.to_device(np.array([(1.5, "one"), (2.5, "two")], kind))
    assert record[1]["word"] == "two" and record["x"].copy_to_host().tolist() == [1.5, 2.5]
    assert cuda.device_array(3, kind).dtype == kind


def test_error_messages_match_numba_and_numpy():
    with pytest.raises(ValueError, match="`copy=False` is not"):
        np.asarray(cuda.device_array(3), copy=False)
    with pytest.raises(ValueError, match=r"from shape \(2,3\) into shape \(35,\)"):
        cuda.device_array(35)[:] = np.ones((1, 2, 3))
    with pytest.raises(NotImplementedError, match="Masked arrays are not supported"):
        array = cuda.device_array(3)
        cuda.from_cuda_array_interface(dict(array.__cuda_array_interface__, mask=array))
