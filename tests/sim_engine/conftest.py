import contextlib
import ctypes
import sys
from pathlib import Path

import pytest
from kit.together import make_folder_once

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sim_driver as sim


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """The paths of the built engine and of its test kernels: (library, image file)."""
    if not sim.c_compiler() or not sim.cxx_compiler():
        pytest.skip("needs a C and a C++ compiler")

    def make(folder):
        sim.build_library(folder / "libsim.so")
        sim.build_kernels(folder / "kernels.so")

    folder = make_folder_once(tmp_path_factory, "sim_engine", make)
    return folder / "libsim.so", folder / "kernels.so"


@pytest.fixture(scope="session")
def driver(build):
    return sim.Driver(build[0], devices=2)


@pytest.fixture(scope="session")
def image(build):
    return sim.image_of(build[1])


@pytest.fixture
def kernels(driver, image):
    driver.retain(0)
    kernels = sim.Kernels(driver, image)
    yield kernels
    if driver.code("cuCtxSynchronize"):
        driver.fault()
    driver.cuModuleUnload(kernels.module)


@pytest.fixture
def streams(driver):
    """streams(flags=0) -> a new stream."""
    made = []

    def make(flags=0):
        made.append(driver.stream(flags))
        return made[-1]

    yield make
    for stream in made:
        driver.cuStreamDestroy(stream)


@pytest.fixture
def counter(driver):
    """The first of 16 numbers that host and device share; the last number is the gate of `held`."""
    pointer = ctypes.c_void_p()
    driver.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(64), 0)
    ctypes.memset(pointer, 0, 64)
    yield ctypes.c_int.from_address(pointer.value)
    driver.synchronize()
    driver.cuMemFreeHost(pointer)


@pytest.fixture
def running_kernel(driver, kernels, counter):
    """running_kernel(stream): a `with` block during which a kernel of the stream runs; after the block the
    kernel adds 1 to the counter.

    The body of the `with` block runs before this addition, however late this process is scheduled.
    """

    @contextlib.contextmanager
    def hold(stream=None):
        gate = ctypes.c_int.from_address(ctypes.addressof(counter) + 60)
        gate.value = 0
        kernels.gated(1, 1, ctypes.addressof(counter), stream=stream)
        try:
            yield
        finally:
            gate.value = 1
        driver.cuStreamSynchronize(stream)

    return hold
