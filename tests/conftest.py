"""Defines fixtures for all tests: the driver of the session, new interpreters, and the leak count.

The fixtures use no GPU and no compiler before a test requests them. The driver is chosen once for the
session: that of NUMBALITE_DRIVER, else the GPU if a fresh process can see one, else the simulator.

With pytest-xdist (`make test` uses it) several processes run the tests. All processes use the driver and the
disk cache of the first process, so that each kernel is compiled once. Tests can run in any of these
processes: each test has its own folder, and counts only the objects of its process."""

import gc
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
pytest_plugins = ["kit.fixtures", "kit.atimport", "kit.sample"]

# Many tests start interpreters. If the environment disables byte code,
# each interpreter would compile the whole package.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Runs in a separate process, because a process that has initialized the driver must not fork.
FIND_GPU = """
import ctypes
driver, count = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value
"""


def choose_driver():
    """Stores the driver of this session in the environment, and returns it."""
    if not os.environ.get("NUMBALITE_DRIVER"):
        gpu = subprocess.run([sys.executable, "-c", FIND_GPU], capture_output=True, check=False)
        os.environ["NUMBALITE_DRIVER"] = "sim" if gpu.returncode else "cuda"
    return os.environ["NUMBALITE_DRIVER"]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Returns the number of processes for `-n auto`: one per available core, fewer if all share one
    GPU."""
    cores = len(os.sched_getaffinity(0))
    return cores if choose_driver() == "sim" else min(cores, 4)


def pytest_configure(config):
    if config.getoption("--hypothesis-profile", None) == "long":
        import hypothesis

        hypothesis.settings.register_profile("long")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts background jobs with SIGINT ignored;
        # tests of interrupts would then wait forever.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    choose_driver()
    if not hasattr(config, "workerinput"):
        cache = tempfile.mkdtemp(prefix="numbalite-tests-")
        config.add_cleanup(lambda: shutil.rmtree(cache, ignore_errors=True))
        os.environ["NUMBALITE_CACHE_DIR"] = cache


@pytest.fixture(scope="module", autouse=True)
def _freeze_existing_objects(compiled_at_import):
    """Freezes the objects that exist when a module begins, so that gc.collect() in its tests
    examines only newer objects."""
    gc.collect()
    gc.freeze()


def open_driver():
    from numbalite import cuda

    return "sim" if cuda.is_simulated() else "cuda"


@pytest.fixture(scope="session")
def driver_kind():
    """ "cuda" or "sim": the driver that runs the kernels of this session."""
    return open_driver()


@pytest.fixture(scope="session")
def checkout_root():
    """Returns the folder of the checkout."""
    return ROOT


@pytest.fixture
def disabled_checks(monkeypatch):
    """Disables checks in this process and in processes that it starts, even if NUMBALITE_SIM_CHECKS
    is set: for tests that count compilations (a checked kernel has an image of its own) or test the
    effect of checks."""
    if "NUMBALITE_SIM_CHECKS" not in os.environ or open_driver() != "sim":
        yield
        return
    from numbalite.runtime import checks

    with monkeypatch.context() as patch:
        patch.delenv("NUMBALITE_SIM_CHECKS")
        checks.on_open()
        yield
    checks.on_open()


@pytest.fixture
def run_python(tmp_path):
    """run_python(code, *arguments, check=True, timeout=120, under=(), **environment) -> CompletedProcess with text.

    Runs a new Python process with the same numbalite and cache, in its own folder. A variable with
    the value None is removed from the environment. `code` may start with "-m". `under`: a command
    that runs the interpreter. NUMBALITE_TEST_SLOWNESS multiplies the timeout, for emulated
    processors.
    """

    def run_code(code, *arguments, check=True, timeout=120, under=(), **environment):
        import numbalite

        package = str(pathlib.Path(numbalite.__file__).parents[1])
        paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
        env = {name: value for name, value in env.items() if value is not None}
        start = code.split() if code.startswith("-m ") else ["-c", code]
        result = subprocess.run(
            [*under, sys.executable, *start, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=timeout * float(os.environ.get("NUMBALITE_TEST_SLOWNESS", "1")),
            cwd=tmp_path,
            env=env,
            check=False,
        )
        if check and result.returncode:
            pytest.fail(f"exit status {result.returncode}\n{result.stdout}\n{result.stderr}")
        return result

    return run_code


def live_counts():
    """Returns the objects of C code after unreferenced objects were collected and the device is
    idle.

    Kernels that copy and convert elements, and traces of calls, are cached. The caches are dropped before
    the count, so that their objects do not count as leaks.
    """
    from numbalite import _core, cuda
    from numbalite.runtime import traced
    from numbalite.ufuncs import cudaufunc

    cudaufunc._casts.clear()
    traced.drop_traces()
    for _ in range(3):
        gc.collect()
    cuda.synchronize()
    return dict(_core.live())


@pytest.fixture
def count_live():
    """Returns the function that counts live objects of C code (blocks, buffers, streams, events,
    modules)."""
    return live_counts


def nvrtc_version():
    """Returns (major, minor) of the NVRTC that compiles for the GPU."""
    from numbalite.compilers import nvrtc

    return nvrtc.open_library()[1]


@pytest.fixture(autouse=True)
def assigned_configuration():
    """Restores numbalite.config after a test. In some versions of pytest, the undo of
    ``monkeypatch.setattr(config, name, value)`` assigns the earlier value, which would override the environment of
    all later tests."""
    from numbalite import config

    before = {name: vars(config)[name] for name in config.VARIABLES.keys() & vars(config).keys()}
    yield
    for name in config.VARIABLES.keys() & vars(config).keys():
        if name not in before:
            delattr(config, name)
        elif vars(config)[name] != before[name]:
            setattr(config, name, before[name])


@pytest.fixture(autouse=True)
def apply_markers(request):
    """Implements the markers gpu, sim, lines and leaks."""
    marks = {mark.name for mark in request.node.iter_markers()}
    if "gpu" in marks and open_driver() != "cuda":
        pytest.skip("needs a real GPU")
    if "sim" in marks and open_driver() != "sim":
        pytest.skip("needs the simulator")
    if "lines" in marks and open_driver() == "cuda" and nvrtc_version() < (12, 9):
        pytest.skip("this NVRTC has no __builtin_LINE")
    if "leaks" not in marks:
        yield
        return
    before = live_counts()
    yield
    after = live_counts()
    assert after == before, f"left behind: before {before}, after {after}"
