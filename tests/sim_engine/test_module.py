"""Tests modules, functions, launch checks, devices."""

import ctypes
import struct
import threading

import pytest
from sim_driver import build_kernels, image_bytes

u64 = ctypes.c_uint64
size_t = ctypes.c_size_t
TILE = 4096  # static shared memory of kernel `reverse`


@pytest.fixture
def static_size(sim_driver, engine_kernels):
    """Static shared memory of every kernel of kernels.cpp: the tile, because the image file does not state to
    which kernel it belongs, and the thread-local variables of a C++ library that the compiler links in."""
    size = function_attribute(sim_driver, engine_kernels.handle("reverse"), 1)
    assert TILE <= size <= TILE + 64
    return size


def load_code(driver, image):
    log = ctypes.create_string_buffer(300)
    module = ctypes.c_void_p()
    options = (ctypes.c_int * 2)(5, 6)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 300)
    return driver.code(
        "cuModuleLoadDataEx", ctypes.byref(module), image, 2, options, values
    ), log.value.decode()


def function_attribute(driver, function, number):
    value = ctypes.c_int()
    driver.cuFuncGetAttribute(ctypes.byref(value), number, function)
    return value.value


def get_global(driver, module, name):
    pointer, size = u64(), size_t()
    status = driver.code(
        "cuModuleGetGlobal", ctypes.byref(pointer), ctypes.byref(size), module, name
    )
    return status, pointer.value, size.value


def test_loading_an_invalid_image_fails(sim_driver, kernel_image):
    assert load_code(sim_driver, b"\x7fELF" + bytes(100)) == (
        200,
        "this is no image for the CPU simulator",
    )
    status, log = load_code(sim_driver, b"NLSIMG01" + struct.pack("<Q", 4) + b"what")
    assert status == 200
    assert "no shared object" in log
    broken = bytearray(kernel_image)
    broken[16 + 64 : 16 + 4096] = bytes(4032)
    assert load_code(sim_driver, bytes(broken))[0] == 200


def test_each_load_has_its_own_variables(sim_driver, engine_kernels, kernel_image):
    first, second = sim_driver.load(kernel_image), sim_driver.load(kernel_image)
    data = sim_driver.upload([0] * 2)
    for module, count in ((first, 3), (second, 1)):
        function = sim_driver.function(module, "k_count")
        for _ in range(count):
            sim_driver.launch(function, 1, 1, data)
    assert sim_driver.download(data, 1) == [42]
    for module, value in ((first, 44), (second, 42)):
        status, pointer, size = get_global(sim_driver, module, b"g_counter")
        assert (status, size) == (0, 4)
        assert sim_driver.download(pointer, 1) == [value]
    sim_driver.cuModuleUnload(first)
    assert sim_driver.code("cuModuleUnload", first) == 400
    assert sim_driver.download(pointer, 1) == [42]
    sim_driver.cuModuleUnload(second)
    sim_driver.free(data)


def test_global_variable_has_address_and_size(sim_driver, engine_kernels):
    status, pointer, size = get_global(sim_driver, engine_kernels.module, b"g_table")
    assert (status, size) == (0, 400)
    assert get_global(sim_driver, engine_kernels.module, b"g_table") == (0, pointer, 400)
    value = ctypes.c_int(58)
    sim_driver.cuMemcpyHtoD(u64(pointer + 28), ctypes.byref(value), size_t(4))
    data = sim_driver.upload([0])
    engine_kernels.count(1, 1, data, 7)
    assert sim_driver.download(data, 1) == [100]
    sim_driver.free(data)


def test_functions_are_found_by_name(sim_driver, engine_kernels):
    function = ctypes.c_void_p()

    def lookup_status(name):
        return sim_driver.code(
            "cuModuleGetFunction", ctypes.byref(function), engine_kernels.module, name
        )

    assert lookup_status(b"k_vadd") == 0
    first = function.value
    assert lookup_status(b"k_vadd") == 0
    assert function.value == first
    assert lookup_status(b"k_none") == 500
    assert lookup_status(b"g_counter") == 500  # not a kernel
    assert lookup_status(b"malloc") == 500  # not the image's
    assert lookup_status(b"k_old") == 200
    assert get_global(sim_driver, engine_kernels.module, b"k_vadd")[0] == 500


def test_parameter_offsets_and_sizes_are_returned(sim_driver, engine_kernels):
    function = engine_kernels.handle("mixed")
    offset, size = size_t(), size_t()
    count = size_t()
    sim_driver.cuFuncGetParamCount(function, ctypes.byref(count))
    assert count.value == 5
    found = []
    while (
        sim_driver.code(
            "cuFuncGetParamInfo",
            function,
            size_t(len(found)),
            ctypes.byref(offset),
            ctypes.byref(size),
        )
        == 0
    ):
        found.append((offset.value, size.value))
    assert found == [(0, 1), (8, 8), (16, 4), (20, 2), (24, 24)]
    out = sim_driver.upload([0.0] * 5, "d")
    block = struct.pack("<b7xQfhxx3d", -3, out, 1.5, -7, 1, 2, 3)
    values = [ctypes.create_string_buffer(block[a : a + n], n) for a, n in found]
    pointers = (ctypes.c_void_p * 5)(*map(ctypes.addressof, values))
    sim_driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, pointers, None)
    assert sim_driver.download(out, 5, "d") == [-3, 1.5, -7, 6, 0]
    packed, length = ctypes.create_string_buffer(block, len(block)), size_t(len(block))
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(packed), 2, ctypes.addressof(length), 0)
    sim_driver.cuMemsetD8Async(u64(out), 0, size_t(40), None)
    sim_driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, None, extra)
    assert sim_driver.download(out, 5, "d") == [-3, 1.5, -7, 6, 0]
    length.value = 40
    assert sim_driver.code("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, extra) == 1
    assert sim_driver.code("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 1
    sim_driver.free(out)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        (0, 1),
        (1, 0),
        (1, 1025),
        ((1, 65536), 1),
        ((1, 1, 65536), 1),
        (1, (1, 1, 65)),
        (1, (32, 33)),
        (1, (2, 0)),
    ],
)
def test_invalid_launch_shapes_fail(sim_driver, engine_kernels, grid, block):
    assert sim_driver.launch_code(engine_kernels.handle("vadd"), grid, block) == 1


def test_shared_memory_limits_are_enforced(sim_driver, engine_kernels, static_size):
    function = engine_kernels.handle("shared_memory")
    data = sim_driver.upload([0] * 32)
    usual, most = 49152 - static_size, 232448 - static_size
    assert function_attribute(sim_driver, function, 8) == usual
    assert sim_driver.launch_code(function, 1, 32, data, shared=usual) == 0
    assert sim_driver.launch_code(function, 1, 32, data, shared=usual + 1) == 1
    assert sim_driver.code("cuFuncSetAttribute", function, 8, most + 1) == 1
    sim_driver.cuFuncSetAttribute(function, 8, most)
    assert sim_driver.launch_code(function, 1, 32, data, most // 4 - 32, shared=most) == 0
    assert sim_driver.download(data, 32) == list(range(31, -1, -1))
    assert sim_driver.launch_code(function, 1, 32, data, most // 4, shared=most) == 0
    assert sim_driver.code("cuCtxSynchronize") == 700
    assert f"after the end of {most} bytes of dynamic shared memory" in sim_driver.fault()
    sim_driver.free(data)


def test_function_attribute_limits_threads_per_block(sim_driver, engine_kernels):
    assert function_attribute(sim_driver, engine_kernels.handle("reverse"), 0) == 1024


STATIC = """
#define KEEP(x) __asm__ volatile("" : : "r"(&x))
static thread_local int everybodys[10];
#define NUMBERED(i, kernel)                                                                        \\
    extern "C" __attribute__((visibility("default"))) const nl_sim_kernel nl_sim_kernel_##i;       \\
    const nl_sim_kernel nl_sim_kernel_##i = {NL_SIM_ABI, 3, all_params, run_block<kernel>,         \\
                                             run_thread<kernel>, "ns::" #kernel "<int>", 0, nullptr, {0, 0, 0}};
static void first(int *, long, long) { static thread_local int tile[100]; KEEP(tile); KEEP(everybodys); }
static void second(int *, long, long) { static thread_local double tile[100]; KEEP(tile); }
static void third(int *, long, long) {}
namespace numbalite_sim { static thread_local int ours[3]; static int keep() { KEEP(ours); return 0; } static int kept = keep(); }
NUMBERED(0, first)
NUMBERED(1, second)
NUMBERED(2, third)
"""


def test_static_shared_memory_size_is_per_kernel(sim_driver, tmp_path):
    source = tmp_path / "static.cpp"
    source.write_text('#include "tiny.h"\n' + STATIC)
    module = sim_driver.load(
        image_bytes(build_kernels(tmp_path / "static.so", source, "-Wno-error"))
    )
    common = function_attribute(sim_driver, sim_driver.function(module, "nl_sim_kernel_2"), 1)
    assert (
        function_attribute(sim_driver, sim_driver.function(module, "nl_sim_kernel_0"), 1)
        == common + 400
    )
    assert (
        function_attribute(sim_driver, sim_driver.function(module, "nl_sim_kernel_1"), 1)
        == common + 800
    )
    sim_driver.cuModuleUnload(module)


def test_cooperative_launch_size_is_limited(sim_driver, engine_kernels):
    function = engine_kernels.handle("cooperate")
    workers = ctypes.c_int()
    sim_driver.cuDeviceGetAttribute(ctypes.byref(workers), 16, 0)
    assert sim_driver.launch_code(function, 2 * workers.value + 1, 1024, cooperative=True) == 720
    assert sim_driver.launch_code(function, 2 * workers.value, 1024, cooperative=True) == 0
    sim_driver.synchronize()


def test_occupancy_depends_on_threads_and_shared_memory(sim_driver, engine_kernels, static_size):
    function = engine_kernels.handle("vadd")
    blocks, block = ctypes.c_int(), ctypes.c_int()

    def active_blocks(threads, shared=0):
        sim_driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(blocks), function, threads, size_t(shared)
        )
        return blocks.value

    assert [active_blocks(n) for n in (32, 64, 128, 1000, 1024)] == [32, 32, 16, 2, 2]
    assert active_blocks(128, 100_000) == 2
    assert active_blocks(128, 232448 - static_size) == 1
    assert active_blocks(128, 232449) == 0
    sim_driver.cuOccupancyMaxPotentialBlockSize(
        ctypes.byref(blocks), ctypes.byref(block), function, None, size_t(0), 0
    )
    assert block.value == 1024
    sim_driver.cuOccupancyMaxPotentialBlockSize(
        ctypes.byref(blocks), ctypes.byref(block), function, None, size_t(0), 100
    )
    assert block.value == 64  # 32 blocks of 64 threads fill an SM, 21 blocks of 96 do not


def test_device_name_uuid_and_attributes_are_returned(sim_driver):
    count = ctypes.c_int()
    sim_driver.cuDeviceGetCount(ctypes.byref(count))
    assert count.value == 2
    assert sim_driver.code("cuDeviceGet", ctypes.byref(count), 2) == 101
    name = ctypes.create_string_buffer(100)
    sim_driver.cuDeviceGetName(name, 100, 0)
    assert name.value == b"numbalite CPU simulator"
    uuids = [ctypes.create_string_buffer(16) for _ in range(2)]
    for device, uuid in enumerate(uuids):
        sim_driver.cuDeviceGetUuid(uuid, device)
    assert uuids[0].raw != uuids[1].raw
    values = {}
    for attribute in range(1, 147):
        value = ctypes.c_int(-9)
        assert sim_driver.code("cuDeviceGetAttribute", ctypes.byref(value), attribute, 1) == 0
        values[attribute] = value.value
    assert (values[1], values[4], values[10], values[75], values[76]) == (1024, 64, 32, 9, 0)
    assert values[16] >= 1


def test_context_is_current_per_thread(sim_driver, engine_kernels):
    current = ctypes.c_void_p()
    sim_driver.cuCtxGetCurrent(ctypes.byref(current))
    assert current.value
    assert sim_driver.code("cuCtxSetCurrent", ctypes.c_void_p(current.value + 8)) == 201
    results = []

    def record_context():
        sim_driver.cuCtxGetCurrent(ctypes.byref(current))
        results.append((current.value, sim_driver.code("cuCtxSynchronize")))

    thread = threading.Thread(target=record_context)
    thread.start()
    thread.join()
    assert results == [(None, 201)]


def test_error_codes_have_names(sim_driver):
    text = ctypes.c_char_p()
    sim_driver.cuGetErrorName(700, ctypes.byref(text))
    assert text.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    sim_driver.cuGetErrorString(2, ctypes.byref(text))
    assert text.value == b"out of memory"
    assert sim_driver.code("cuGetErrorName", 12345, ctypes.byref(text)) == 1


def test_reset_invalidates_handles(sim_driver, kernel_image):
    sim_driver.retain(1)
    module = sim_driver.load(kernel_image)
    stream, event = sim_driver.stream(), sim_driver.event()
    pointer = sim_driver.upload([1])
    sim_driver.launch(sim_driver.function(module, "k_vadd"), 1, 1, pointer)
    sim_driver.cuDevicePrimaryCtxReset(1)
    assert sim_driver.code("cuStreamQuery", stream) == 400
    assert sim_driver.code("cuEventQuery", event) == 400
    assert sim_driver.code("cuModuleUnload", module) == 400
    assert sim_driver.code("cuMemFree", u64(pointer)) == 1
    pointer = sim_driver.upload([1])
    assert sim_driver.download(pointer, 1) == [1]
    sim_driver.cuDevicePrimaryCtxRelease(1)
    sim_driver.retain(0)
    sim_driver.cuDevicePrimaryCtxRelease(0)


def test_kernel_printf_writes_to_stdout(sim_driver, engine_kernels, capfd):
    engine_kernels.says(2, 2)
    sim_driver.synchronize()
    lines = sorted(capfd.readouterr().out.splitlines())
    assert lines == [f"block {b} thread {t}: hello 1.50" for b in range(2) for t in range(2)]
