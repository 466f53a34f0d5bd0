import contextlib
import ctypes
import sys
from pathlib import Path

import pytest
from kit.together import make_folder_once

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sim_driver as sim


@pytest.fixture(scope="session")
def engine_build(tmp_path_factory):
    """Builds the engine and its test kernels; returns (path of the library, path of the image)."""
    if not sim.c_compiler() or not sim.cxx_compiler():
        pytest.skip("needs a C and a C++ compiler")

    def build_engine(folder):
        sim.build_library(folder / "libsim.so")
        sim.build_kernels(folder / "kernels.so")

    folder = make_folder_once(tmp_path_factory, "sim_engine", build_engine)
    return folder / "libsim.so", folder / "kernels.so"


@pytest.fixture(scope="session")
def sim_driver(engine_build):
    return sim.SimDriver(engine_build[0], devices=2)


@pytest.fixture(scope="session")
def kernel_image(engine_build):
    return sim.image_bytes(engine_build[1])


@pytest.fixture
def engine_kernels(sim_driver, kernel_image):
    sim_driver.retain(0)
    kernels = sim.TestImageKernels(sim_driver, kernel_image)
    yield kernels
    if sim_driver.code("cuCtxSynchronize"):
        sim_driver.fault()
    sim_driver.cuModuleUnload(kernels.module)


@pytest.fixture
def make_stream(sim_driver):
    """make_stream(flags=0) -> a new stream."""
    made = []

    def create_stream(flags=0):
        made.append(sim_driver.stream(flags))
        return made[-1]

    yield create_stream
    for stream in made:
        sim_driver.cuStreamDestroy(stream)


@pytest.fixture
def shared_counter(sim_driver):
    """Returns the first of 16 integers that host and device share; the last integer is the gate of
    running_kernel."""
    pointer = ctypes.c_void_p()
    sim_driver.cuMemHostAlloc(ctypes.byref(pointer), ctypes.c_size_t(64), 0)
    ctypes.memset(pointer, 0, 64)
    yield ctypes.c_int.from_address(pointer.value)
    sim_driver.synchronize()
    sim_driver.cuMemFreeHost(pointer)


@pytest.fixture
def running_kernel(sim_driver, engine_kernels, shared_counter):
    """running_kernel(stream): a `with` block during which a kernel of the stream runs; after the block the
    kernel adds 1 to the counter.

    The body of the `with` block runs before this addition, even if this process is scheduled late.
    """

    @contextlib.contextmanager
    def hold_stream(stream=None):
        gate = ctypes.c_int.from_address(ctypes.addressof(shared_counter) + 60)
        gate.value = 0
        engine_kernels.gated(1, 1, ctypes.addressof(shared_counter), stream=stream)
        try:
            yield
        finally:
            gate.value = 1
        sim_driver.cuStreamSynchronize(stream)

    return hold_stream
