"""Tests device, managed and page-locked memory, and pointer attributes."""

import ctypes

import pytest
from sim_driver import DriverError

u64 = ctypes.c_uint64
size_t = ctypes.c_size_t


def memory_info(driver):
    free, total = size_t(), size_t()
    driver.cuMemGetInfo(ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


def pointer_attribute(driver, pointer, number, kind=ctypes.c_int):
    value = kind()
    numbers, values = (ctypes.c_int * 1)(number), (ctypes.c_void_p * 1)(ctypes.addressof(value))
    status = driver.code("cuPointerGetAttributes", 1, numbers, values, u64(pointer))
    return value.value if status == 0 else -status


def alloc_async(driver, size, stream=None):
    pointer = u64()
    driver.cuMemAllocAsync(ctypes.byref(pointer), size_t(size), stream)
    return pointer.value


def test_allocations_are_aligned_and_counted(sim_driver):
    before = memory_info(sim_driver)
    pointers = [sim_driver.alloc(size) for size in (1, 255, 257, 4096, 100_000, 10 << 20)]
    assert all(p % 256 == 0 for p in pointers)
    assert len(set(pointers)) == len(pointers)
    assert before[0] - memory_info(sim_driver)[0] >= 10 << 20
    for pointer in pointers:
        sim_driver.free(pointer)
    assert memory_info(sim_driver) == before


def test_allocation_above_the_free_memory_fails(sim_driver):
    free, total = memory_info(sim_driver)
    pointer = u64()
    assert sim_driver.code("cuMemAlloc", ctypes.byref(pointer), size_t(total + 1)) == 2
    assert sim_driver.code("cuMemAlloc", ctypes.byref(pointer), size_t(1 << 62)) == 2
    assert sim_driver.code("cuMemAlloc", ctypes.byref(pointer), size_t(0)) == 1
    big = sim_driver.alloc(free - 4096)
    assert sim_driver.code("cuMemAlloc", ctypes.byref(pointer), size_t(8192)) == 2
    sim_driver.free(big)


def test_free_of_an_invalid_address_fails(sim_driver):
    pointer = sim_driver.alloc(100)
    assert sim_driver.code("cuMemFree", u64(pointer + 1)) == 1
    sim_driver.free(pointer)
    assert sim_driver.code("cuMemFree", u64(pointer)) == 1
    assert sim_driver.code("cuMemFree", u64(0)) == 0
    assert sim_driver.code("cuMemFreeAsync", u64(pointer), None) == 1


def test_copies_past_the_end_fail(sim_driver):
    pointer = sim_driver.alloc(100)
    buffer = ctypes.create_string_buffer(200)
    assert sim_driver.code("cuMemcpyHtoD", u64(pointer), buffer, size_t(101)) == 1
    assert sim_driver.code("cuMemcpyDtoH", buffer, u64(pointer + 1), size_t(100)) == 1
    assert sim_driver.code("cuMemsetD8Async", u64(pointer + 100), 0, size_t(1), None) == 1
    assert sim_driver.code("cuMemsetD32Async", u64(pointer + 2), 0, size_t(1), None) == 1
    sim_driver.free(pointer)


@pytest.mark.parametrize(
    ("call", "kind", "value"), [("8", "B", 7), ("16", "H", 700), ("32", "I", 70000)]
)
def test_memset_writes_each_width(sim_driver, call, kind, value):
    pointer = sim_driver.alloc(400)
    getattr(sim_driver, f"cuMemsetD{call}Async")(u64(pointer), value, size_t(100), None)
    assert sim_driver.download(pointer, 100, kind) == [value] * 100
    sim_driver.free(pointer)


class MemcpyParams3D(ctypes.Structure):
    _fields_ = [
        (side + name, kind)
        for side in ("src", "dst")
        for name, kind in [
            ("x", size_t),
            ("y", size_t),
            ("z", size_t),
            ("lod", size_t),
            ("type", ctypes.c_int),
            ("host", ctypes.c_void_p),
            ("device", u64),
            ("array", ctypes.c_void_p),
            ("reserved", ctypes.c_void_p),
            ("pitch", size_t),
            ("height", size_t),
        ]
    ] + [("width", size_t), ("rows", size_t), ("depth", size_t)]


def test_memcpy3d_copies_a_box(sim_driver):
    # a 2 x 3 x 4 box out of a 4 x 5 x 6 array of bytes, from offset (1, 1, 2)
    source = bytes(range(120))
    pointer = sim_driver.upload(source, "B")
    result = ctypes.create_string_buffer(24)
    copy = MemcpyParams3D(
        srctype=2, srcdevice=pointer, srcpitch=6, srcheight=5, srcx=2, srcy=1, srcz=1
    )
    copy.dsttype, copy.dsthost, copy.dstpitch, copy.dstheight = 1, ctypes.addressof(result), 4, 3
    copy.width, copy.rows, copy.depth = 4, 3, 2
    sim_driver.cuMemcpy3DAsync(ctypes.byref(copy), None)
    expected = bytes(
        source[30 * z + 6 * y + x] for z in (1, 2) for y in (1, 2, 3) for x in (2, 3, 4, 5)
    )
    assert result.raw == expected
    copy.srcz = 3
    assert sim_driver.code("cuMemcpy3DAsync", ctypes.byref(copy), None) == 1
    copy.srctype = 3  # a CUDA array (texture memory), which does not exist
    assert sim_driver.code("cuMemcpy3DAsync", ctypes.byref(copy), None) == 400
    sim_driver.free(pointer)


def test_pointer_attributes_of_each_memory_kind(sim_driver):
    pointer = sim_driver.alloc(1000)
    assert pointer_attribute(sim_driver, pointer + 999, 2) == 2
    assert pointer_attribute(sim_driver, pointer, 9) == 0
    assert pointer_attribute(sim_driver, pointer + 5, 11, u64) == pointer
    assert pointer_attribute(sim_driver, pointer, 12, size_t) == 1000
    assert pointer_attribute(sim_driver, pointer, 8) == 0
    assert pointer_attribute(sim_driver, pointer + 1000, 2) == 0
    sim_driver.free(pointer)
    assert pointer_attribute(sim_driver, pointer, 2) == 0
    here = ctypes.create_string_buffer(10)
    assert pointer_attribute(sim_driver, ctypes.addressof(here), 2) == 0


def test_managed_memory_is_shared_with_kernels(sim_driver, engine_kernels):
    pointer = u64()
    sim_driver.cuMemAllocManaged(ctypes.byref(pointer), size_t(12), 1)
    values = (ctypes.c_int * 3).from_address(pointer.value)
    values[:] = [3, 4, 0]
    engine_kernels.vadd(1, 32, pointer.value, 1)
    sim_driver.synchronize()
    assert values[2] == 7
    assert pointer_attribute(sim_driver, pointer.value, 8) == 1
    sim_driver.cuMemFree(pointer)


def test_page_locked_memory_has_a_device_address(sim_driver):
    pointer = ctypes.c_void_p()
    sim_driver.cuMemHostAlloc(ctypes.byref(pointer), size_t(1000), 2)
    assert pointer_attribute(sim_driver, pointer.value, 2) == 1
    device = u64()
    sim_driver.cuMemHostGetDevicePointer(ctypes.byref(device), pointer, 0)
    assert device.value == pointer.value
    assert sim_driver.code("cuMemFree", device) == 1
    sim_driver.cuMemFreeHost(pointer)
    assert sim_driver.code("cuMemFreeHost", pointer) == 1


def test_host_memory_is_registered_once(sim_driver):
    buffer = ctypes.create_string_buffer(1000)
    address = ctypes.c_void_p(ctypes.addressof(buffer))
    sim_driver.cuMemHostRegister(address, size_t(1000), 0)
    assert sim_driver.code("cuMemHostRegister", address, size_t(10), 0) == 712
    assert pointer_attribute(sim_driver, address.value, 2) == 1
    sim_driver.cuMemHostUnregister(address)
    assert sim_driver.code("cuMemHostUnregister", address) == 713


def test_memory_pool_attributes_and_trim_work(sim_driver, running_kernel):
    pool = ctypes.c_void_p()
    sim_driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0)
    threshold = u64(12345)
    sim_driver.cuMemPoolSetAttribute(pool, 4, ctypes.byref(threshold))
    value = u64()
    sim_driver.cuMemPoolGetAttribute(pool, 4, ctypes.byref(value))
    assert value.value == 12345
    sim_driver.cuMemPoolTrimTo(pool, size_t(0))
    stream = sim_driver.stream(1)
    pointer = alloc_async(sim_driver, 1000, stream)
    sim_driver.cuMemPoolGetAttribute(pool, 7, ctypes.byref(value))
    assert value.value == 1000
    with running_kernel(stream):
        sim_driver.cuMemFreeAsync(u64(pointer), stream)
        assert pointer_attribute(sim_driver, pointer, 2) == 2  # the kernel still runs
    assert pointer_attribute(sim_driver, pointer, 2) == 0
    sim_driver.cuStreamDestroy(stream)


def test_pending_frees_make_memory_available(sim_driver, engine_kernels):
    free, _ = memory_info(sim_driver)
    stream = sim_driver.stream(1)
    big = alloc_async(sim_driver, free - 8192, stream)
    engine_kernels.spin_ns(1, 1, 0, 20_000_000, stream=stream)
    sim_driver.cuMemFreeAsync(u64(big), stream)
    sim_driver.free(sim_driver.alloc(free // 2))
    sim_driver.cuStreamDestroy(stream)


def test_memory_belongs_to_its_device(sim_driver, engine_kernels, kernel_image):
    before = memory_info(sim_driver)
    there = sim_driver.retain(1)
    pointer = sim_driver.upload([1, 2, 3])
    assert pointer_attribute(sim_driver, pointer, 9) == 1
    assert (
        sim_driver.code("cuModuleGetFunction", ctypes.byref(ctypes.c_void_p()), None, b"x") == 400
    )
    sim_driver.cuDevicePrimaryCtxRelease(1)
    here = sim_driver.retain(0)
    assert memory_info(sim_driver) == before
    assert pointer_attribute(sim_driver, pointer, 9) == -2  # went with its context
    sim_driver.cuDevicePrimaryCtxRelease(0)
    assert here.value != there.value


def test_free_reports_writes_outside_of_the_allocation(sim_driver, engine_kernels):
    first, second = sim_driver.alloc(40), sim_driver.upload([0] * 10)
    # writes through a pointer that is not an argument, which a launch cannot detect
    engine_kernels.write_at(1, 1, second, (first + 40 - second) // 4, 5)
    sim_driver.synchronize()
    sim_driver.free(first)
    with pytest.raises(DriverError) as caught:
        sim_driver.synchronize()
    assert "0 bytes after the end of device memory of 40 bytes" in caught.value.text
    sim_driver.free(second)
