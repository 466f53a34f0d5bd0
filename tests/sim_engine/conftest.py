import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import sim_driver as sim


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """Where the engine and its test kernels have been built: (library, image file)."""
    if not sim.c_compiler() or not sim.cxx_compiler():
        pytest.skip("needs a C and a C++ compiler")
    directory = tmp_path_factory.mktemp("sim_engine")
    library = sim.build_library(directory / "libsim.so")
    return library, sim.build_kernels(directory / "kernels.so")


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
