"""Tests kernels that fail: the reported error, the call that reports it, and that device and process
continue."""

import ctypes
import subprocess
import sys
import textwrap

import pytest
from kit.needs import x86_only
from sim_driver import HERE, DriverError


@pytest.fixture
def device_data(sim_driver):
    pointer = sim_driver.upload([0] * 8192)
    yield pointer
    sim_driver.free(pointer)


def pending_fault(driver):
    with pytest.raises(DriverError) as caught:
        driver.synchronize()
    driver.synchronize()  # only once
    return caught.value


def assert_driver_works(driver, kernels, data):
    kernels.vadd(1, 32, data, 4)
    assert driver.download(data, 1)


@pytest.mark.parametrize("name", ["asserts", "barrier_then_assert"])
def test_failed_assert_ends_the_kernel(sim_driver, engine_kernels, device_data, name, capfd):
    getattr(engine_kernels, name)(4, 32, device_data, 37)
    caught = pending_fault(sim_driver)
    assert caught.code == 710
    assert caught.text.startswith(f"kernel {name}, block (1,0,0), thread (5,0,0), test.py:")
    assert caught.text.endswith(": Assertion `i < n` failed.")
    line = capfd.readouterr().err
    assert f": {name}: block: [1,0,0], thread: [5,0,0] Assertion `i < n` failed.\n" in line
    assert_driver_works(sim_driver, engine_kernels, device_data)


@pytest.mark.parametrize("name", ["touch", "touch_synced"])
@pytest.mark.parametrize("thread", [0, 3, 70])
def test_null_pointer_access_ends_the_kernel(sim_driver, engine_kernels, device_data, name, thread):
    getattr(engine_kernels, name)(4, 32, device_data, 16, thread)
    caught = pending_fault(sim_driver)
    assert caught.code == 700
    assert f"kernel {name}, block ({thread // 32},0,0), thread ({thread % 32},0,0): " in caught.text
    assert "illegal access to address 0x10 (a null pointer)" in caught.text
    assert caught.text.endswith(
        "; run it under `with cuda.checks():` to see the line and the array"
    )
    assert_driver_works(sim_driver, engine_kernels, device_data)


def test_access_far_past_an_array_ends_the_kernel(sim_driver, engine_kernels):
    pointer = sim_driver.alloc(1000)
    engine_kernels.touch(1, 32, pointer, pointer + 4096, 1)
    caught = pending_fault(sim_driver)
    assert caught.code == 700
    assert "thread (1,0,0)" in caught.text
    assert "3096 bytes after the end of device memory of 1000 bytes" in caught.text
    sim_driver.free(pointer)


def test_access_to_freed_memory_ends_the_kernel(sim_driver, engine_kernels, device_data):
    pointer = sim_driver.alloc(1000)
    sim_driver.free(pointer)
    engine_kernels.touch(1, 32, device_data, pointer, 1)
    assert "in device memory of 1000 bytes" in (text := pending_fault(sim_driver).text)
    assert "that has been freed" in text


@pytest.mark.parametrize("index", [10, -1])
def test_writes_adjacent_to_an_array_are_reported(sim_driver, engine_kernels, index):
    pointer = sim_driver.alloc(40)
    engine_kernels.write_at(1, 1, pointer, index, 5)
    caught = pending_fault(sim_driver)
    assert caught.code == 700
    assert "kernel write_at: a write outside of an array" in caught.text
    where = (
        "the first byte that changed is 0 bytes after the end"
        if index > 0
        else "bytes changed before the beginning"
    )
    assert f"{where} of device memory of 40 bytes" in caught.text
    assert caught.text.endswith(
        "; run it under `with cuda.checks():` to see the thread and the line"
    )
    sim_driver.free(pointer)


@x86_only("clang++ checks the size of a stack frame")
def test_stack_overflow_ends_the_kernel(sim_driver, engine_kernels, device_data):
    engine_kernels.recurse(1, 4, device_data, 10)
    sim_driver.synchronize()
    engine_kernels.recurse(1, 4, device_data, 10_000)
    caught = pending_fault(sim_driver)
    assert caught.code == 719
    assert "stack overflow: the thread uses more than 655360 bytes" in caught.text
    old = ctypes.c_size_t()
    sim_driver.cuCtxGetLimit(ctypes.byref(old), 0)
    assert old.value == 1024
    sim_driver.cuCtxSetLimit(0, ctypes.c_size_t(1 << 20))
    engine_kernels.recurse(1, 4, device_data, 1000)
    sim_driver.synchronize()
    sim_driver.cuCtxSetLimit(0, old)


@x86_only("an integer division by zero traps")
def test_division_by_zero_returns_a_gpus_result(sim_driver, engine_kernels, device_data):
    engine_kernels.division(1, 1, device_data, 1 << 33)
    out = sim_driver.download(device_data, 17, "q")
    ones32, ones64 = (1 << 32) - 1, (1 << 64) - 1
    assert out[:14] == [
        -1,
        77,
        ones32,
        77,
        -1,
        -5,
        -(1 << 31),
        0,
        255,
        9,
        65535,
        9,
        ones64 - (1 << 64),
        1 << 40,
    ]
    assert out[14:] == [-1, -1, 14]


def test_trap_ends_the_kernel(sim_driver, engine_kernels, device_data):
    engine_kernels.trap(1, 32, device_data, 9)
    caught = pending_fault(sim_driver)
    assert caught.code == 715
    assert "thread (9,0,0)" in caught.text


@x86_only("a misaligned vector access traps")
def test_misaligned_vector_access_ends_the_kernel(sim_driver, engine_kernels, device_data):
    engine_kernels.misaligned(1, 1, device_data)
    assert pending_fault(sim_driver).code == 716


def test_printf_of_an_invalid_string_is_reported(sim_driver, engine_kernels, device_data):
    engine_kernels.says_badly(1, 1, device_data, 8)
    assert pending_fault(sim_driver).code == 700
    engine_kernels.says(1, 1, device_data)
    sim_driver.synchronize()


def test_fault_abandons_the_rest_of_the_grid(sim_driver, engine_kernels):
    """Concurrent blocks use other elements, so only the first block's assertion fails, even if the
    operating system schedules its thread late."""
    blocks = 1 << 20
    data = sim_driver.upload([0] * blocks)
    engine_kernels.asserts(blocks, 1, data, 0)
    caught = pending_fault(sim_driver)
    assert caught.code == 710 and "block (0,0,0), thread (0,0,0)" in caught.text
    assert sim_driver.download(data, 1)[0] == 0
    sim_driver.free(data)


def test_fault_is_reported_by_waits_for_its_stream(sim_driver, engine_kernels, device_data):
    first, second = sim_driver.stream(1), sim_driver.stream(1)
    engine_kernels.asserts(1, 32, device_data, 0, stream=first)
    sim_driver.cuStreamSynchronize(second)
    with pytest.raises(DriverError) as caught:
        sim_driver.cuStreamSynchronize(first)
    assert caught.value.code == 710
    sim_driver.cuStreamSynchronize(first)
    engine_kernels.asserts(1, 32, device_data, 0, stream=first)
    event = sim_driver.event()
    sim_driver.cuEventRecord(event, first)
    assert sim_driver.code("cuEventSynchronize", event) == 710
    assert sim_driver.code("cuEventSynchronize", event) == 710  # until the program reads the fault
    assert "asserts" in sim_driver.fault()
    assert sim_driver.code("cuEventSynchronize", event) == 0
    engine_kernels.asserts(1, 32, device_data, 0, stream=first)
    sim_driver.cuStreamDestroy(first)
    assert pending_fault(sim_driver).code == 710
    sim_driver.cuStreamDestroy(second)
    sim_driver.cuEventDestroy(event)


def test_copy_to_the_host_reports_an_earlier_fault(sim_driver, engine_kernels, device_data):
    engine_kernels.asserts(1, 32, device_data, 0)
    with pytest.raises(DriverError) as caught:
        sim_driver.download(device_data, 1)
    assert caught.value.code == 710
    sim_driver.download(device_data, 1)


def test_kernel_malloc_and_free_manage_the_heap(sim_driver, engine_kernels, device_data):
    for keep in (0, 1):
        engine_kernels.heap(1, 64, device_data, 1000, keep)
        kept = sim_driver.download(device_data, 64, "Q")
        assert all(kept)
        assert len(set(kept)) == 64
    engine_kernels.heap(1, 1, device_data, kept[0], 2)
    assert "free() of an address that malloc() did not return" in pending_fault(sim_driver).text
    engine_kernels.heap(1, 1, device_data, 1 << 30)
    assert sim_driver.download(device_data, 1, "Q") == [0]


def run_python(build, code):
    script = f"""
    import sys
    sys.path.insert(0, {str(HERE)!r})
    import sim_driver as sim
    driver = sim.SimDriver({str(build[0])!r})
    kernels = sim.TestImageKernels(driver, sim.image_bytes({str(build[1])!r}))
    data = driver.upload([0] * 8192)
    """
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_crashes_outside_of_kernels_reach_the_previous_handler(engine_build):
    done = run_python(
        engine_build,
        """
        import ctypes, faulthandler
        kernels.vadd(1, 1, data, 1)
        driver.synchronize()
        faulthandler.enable()
        kernels.touch(1, 32, data, 16, 1)  # ours, though the handler was changed
        assert driver.code("cuCtxSynchronize") == 700
        ctypes.string_at(8)
        """,
    )
    assert done.returncode == -11
    assert "Fatal Python error: Segmentation fault" in done.stderr


def test_process_exits_cleanly_with_pending_work(engine_build):
    done = run_python(
        engine_build,
        """
        kernels.spin_ns(1000, 1, data, 50_000_000)
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_forked_child_cannot_use_the_driver(engine_build):
    done = run_python(
        engine_build,
        """
        import os, sys
        kernels.vadd(64, 128, data, 1000)
        driver.synchronize()
        kernels.spin_ns(100, 1, data, 1_000_000)
        child = os.fork()
        if not child:
            assert driver.code("cuCtxSynchronize") == 3
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        driver.synchronize()
        print(driver.download(data, 1)[0])
        """,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "100\n", "")
