"""Defines fixtures that compile images of the simulator and run them without its engine.

`compile_image(unit)` compiles with a host compiler: each test draws one of the installed compilers, a
different one in each run. `load_alone(image)` loads an image and runs kernels one thread at a time, on
an engine of a few Python functions: sufficient for threads that do not communicate. Blocks that
wait
for each other need the real engine (test_groups.py)."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import sys

import pytest
from kit.sample import draw_one_case

from numbalite.compilers.image import shared_object

COMPILERS = [name for name in ("clang++", "g++") if shutil.which(name)]
if importlib.util.find_spec("ziglang"):
    COMPILERS.append("zig")


class EngineDim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class EngineLaunch(ctypes.Structure):
    _fields_ = [
        ("grid", EngineDim),
        ("block", EngineDim),
        ("shared_bytes", ctypes.c_uint),
        ("cooperative", ctypes.c_uint),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
    ]


class EngineParam(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("align", ctypes.c_uint)]


class EngineKernel(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint),
        ("param_count", ctypes.c_uint),
        ("params", ctypes.POINTER(EngineParam)),
        (
            "run_block",
            ctypes.CFUNCTYPE(None, ctypes.POINTER(EngineLaunch), EngineDim, ctypes.c_uint),
        ),
        (
            "run_thread",
            ctypes.CFUNCTYPE(None, ctypes.POINTER(EngineLaunch), EngineDim, ctypes.c_uint),
        ),
        ("name", ctypes.c_char_p),
        ("max_threads", ctypes.c_uint),
        ("enter_block", ctypes.CFUNCTYPE(None, ctypes.POINTER(EngineLaunch), EngineDim)),
    ]


class EngineGlobal(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint), ("address", ctypes.c_void_p), ("size", ctypes.c_ulonglong)]


class EngineSite(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("line", ctypes.c_int), ("column", ctypes.c_int)]


u32, u64, ptr = ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_void_p
_CALLS = [
    ("barrier", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, u32, EngineSite)),
    ("warp", ctypes.CFUNCTYPE(u64, ctypes.c_int, u32, u64, u32, u32, EngineSite)),
    ("grid_barrier", ctypes.CFUNCTYPE(None, u32, EngineSite)),
    ("yield_", ctypes.CFUNCTYPE(None, u32, EngineSite)),
    ("is_fibers", ctypes.CFUNCTYPE(ctypes.c_int)),
    ("dynamic_shared", ctypes.CFUNCTYPE(ptr)),
    ("fault", ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, u32, EngineSite)),
    ("exit_thread", ctypes.CFUNCTYPE(None, u32)),
    ("clock", ctypes.CFUNCTYPE(u64)),
    ("globaltimer", ctypes.CFUNCTYPE(u64)),
    ("smid", ctypes.CFUNCTYPE(u32)),
    ("vprintf", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ptr)),
    ("malloc", ctypes.CFUNCTYPE(ptr, u64)),
    ("free", ctypes.CFUNCTYPE(None, ptr)),
]


class EngineOps(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint), *_CALLS]


class SingleThreadEngine:
    """Implements the operations of abi.h for one thread at a time; `calls` lists the operations
    that kernels have called."""

    def __init__(self):
        self.calls = []
        self.dynamic = ctypes.create_string_buffer(1 << 16)
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes = ptr, [ctypes.c_size_t]
        libc.free.argtypes = [ptr]
        self.ticks = 0

        def read_tick_counter():
            self.ticks += 1
            return self.ticks

        def record_as(name, result=None):
            def record_call(*arguments):
                self.calls.append((name, *[_plain_value(a) for a in arguments]))
                return result

            return record_call

        functions = {
            "barrier": record_as("barrier", 0),
            "warp": lambda op, mask, value, argument, thread, site: value,
            "grid_barrier": record_as("grid_barrier"),
            "yield_": record_as("yield"),
            "is_fibers": lambda: 0,
            "dynamic_shared": lambda: ctypes.addressof(self.dynamic),
            "fault": record_as("fault"),
            "exit_thread": record_as("exit_thread"),
            "clock": read_tick_counter,
            "globaltimer": read_tick_counter,
            "smid": lambda: 3,
            "vprintf": lambda format, arguments: record_as("vprintf", 1)(format),
            "malloc": libc.malloc,
            "free": libc.free,
        }
        self.functions = [type_(functions[name]) for name, type_ in _CALLS]
        self.ops = EngineOps(1, *self.functions)


def _plain_value(value):
    return (value.file, value.line) if isinstance(value, EngineSite) else value


class LoadedImage:
    """A loaded image with the methods run(name, grid, block, *arguments) and variable(name)."""

    def __init__(self, image, path):
        assert image.kind == "sim" and image.data[:8] == b"NLSIMG01"
        path.write_bytes(shared_object(image.data))
        self.loaded = ctypes.CDLL(str(path))
        self.image, self.engine = image, SingleThreadEngine()
        self.loaded.nl_sim_image_init(ctypes.byref(self.engine.ops))

    def kernel(self, name):
        return EngineKernel.in_dll(self.loaded, self.image.lowered[name])

    def run(self, name, grid, block, *arguments, shared=0, single=False):
        kernel = self.kernel(name)
        assert kernel.param_count == len(arguments)
        slots = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        grid, block = EngineDim(*(*grid, 1, 1)[:3]), EngineDim(*(*block, 1, 1)[:3])
        launch = EngineLaunch(grid, block, shared, 0, slots)
        for z in range(grid.z):
            for y in range(grid.y):
                for x in range(grid.x):
                    if single:
                        kernel.enter_block(ctypes.byref(launch), EngineDim(x, y, z))
                        for thread in range(block.x * block.y * block.z):
                            kernel.run_thread(ctypes.byref(launch), EngineDim(x, y, z), thread)
                    else:
                        kernel.run_block(ctypes.byref(launch), EngineDim(x, y, z), 0)
        return self.engine.calls

    def variable(self, name):
        return EngineGlobal.in_dll(self.loaded, self.image.lowered[name])


@pytest.fixture(autouse=True)
def _use_optimized_host_code(optimized_host_code):
    """Requires the simulator, because these tests load its images."""


def pytest_generate_tests(metafunc):
    if "compile_image" in metafunc.fixturenames:
        drawn = draw_one_case(COMPILERS, metafunc.definition.nodeid) if COMPILERS else []
        metafunc.parametrize("compile_image", drawn, indirect=True)


@pytest.fixture
def compile_image(request, monkeypatch):
    """Returns a function compile_image(unit) -> Image, which uses the compiler that was drawn."""
    command = f"{sys.executable} -m ziglang c++" if request.param == "zig" else request.param
    monkeypatch.setenv("NUMBALITE_CXX", command)
    from numbalite.compilers import hostbuild

    compiled_by = hostbuild.compile
    return lambda unit: compiled_by(unit)


@pytest.fixture
def compiler_name(request):
    """Returns the name of the compiler that `compile_image` uses in this test."""
    return request.node.callspec.params["compile_image"]


@pytest.fixture
def load_alone(compile_image, tmp_path):
    """Returns a function load_alone(source, *kernels, **fields of the unit), which returns the loaded image."""
    from numbalite.compilers.source import Source

    count = iter(range(sys.maxsize))

    def load_source(source, *kernels, **fields):
        fields.setdefault("describe", False)
        fields.setdefault("name", "user.py")
        unit = Source(source, kernels=kernels, **fields)
        return LoadedImage(compile_image(unit), tmp_path / f"image{next(count)}.so")

    return load_source


@pytest.fixture
def make_sim_module(compile_image, compiler_name, monkeypatch):
    """Returns a function make_sim_module(source), which returns a cuda.module on the simulator."""
    from numbalite import cuda

    if not cuda.is_simulated():
        pytest.skip("needs the simulator")
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", "1")
    return cuda.module
