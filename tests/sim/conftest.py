"""Fixtures that compile images of the simulator and run them without its engine.

`compiled(unit)` compiles with a host compiler: each test draws one of the installed compilers, a
different one in each run. `alone(image)` loads an image and runs kernels one thread at a time, on
an engine of a few Python functions: enough for everything that threads do alone. Blocks that wait
for each other need the real engine (test_groups.py)."""

from __future__ import annotations

import ctypes
import importlib.util
import shutil
import sys

import pytest
from kit.sample import one_case

from numbalite.compilers.image import shared_object

COMPILERS = [name for name in ("clang++", "g++") if shutil.which(name)]
if importlib.util.find_spec("ziglang"):
    COMPILERS.append("zig")


class Dim(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Launch(ctypes.Structure):
    _fields_ = [
        ("grid", Dim),
        ("block", Dim),
        ("shared_bytes", ctypes.c_uint),
        ("cooperative", ctypes.c_uint),
        ("args", ctypes.POINTER(ctypes.c_void_p)),
    ]


class Param(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("align", ctypes.c_uint)]


class Kernel(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint),
        ("param_count", ctypes.c_uint),
        ("params", ctypes.POINTER(Param)),
        ("run_block", ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), Dim, ctypes.c_uint)),
        ("run_thread", ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), Dim, ctypes.c_uint)),
        ("name", ctypes.c_char_p),
        ("max_threads", ctypes.c_uint),
        ("enter_block", ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), Dim)),
    ]


class Global(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint), ("address", ctypes.c_void_p), ("size", ctypes.c_ulonglong)]


class Site(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("line", ctypes.c_int), ("column", ctypes.c_int)]


u32, u64, ptr = ctypes.c_uint, ctypes.c_ulonglong, ctypes.c_void_p
_CALLS = [
    ("barrier", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, u32, Site)),
    ("warp", ctypes.CFUNCTYPE(u64, ctypes.c_int, u32, u64, u32, u32, Site)),
    ("grid_barrier", ctypes.CFUNCTYPE(None, u32, Site)),
    ("yield_", ctypes.CFUNCTYPE(None, u32, Site)),
    ("is_fibers", ctypes.CFUNCTYPE(ctypes.c_int)),
    ("dynamic_shared", ctypes.CFUNCTYPE(ptr)),
    ("fault", ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, u32, Site)),
    ("exit_thread", ctypes.CFUNCTYPE(None, u32)),
    ("clock", ctypes.CFUNCTYPE(u64)),
    ("globaltimer", ctypes.CFUNCTYPE(u64)),
    ("smid", ctypes.CFUNCTYPE(u32)),
    ("vprintf", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ptr)),
    ("malloc", ctypes.CFUNCTYPE(ptr, u64)),
    ("free", ctypes.CFUNCTYPE(None, ptr)),
]


class Ops(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint), *_CALLS]


class Engine:
    """The operations of abi.h for one thread at a time; `calls` records the calls of the engine."""

    def __init__(self):
        self.calls = []
        self.dynamic = ctypes.create_string_buffer(1 << 16)
        libc = ctypes.CDLL(None)
        libc.malloc.restype, libc.malloc.argtypes = ptr, [ctypes.c_size_t]
        libc.free.argtypes = [ptr]
        self.ticks = 0

        def tick():
            self.ticks += 1
            return self.ticks

        def note(name, result=None):
            def call(*arguments):
                self.calls.append((name, *[_plain(a) for a in arguments]))
                return result

            return call

        functions = {
            "barrier": note("barrier", 0),
            "warp": lambda op, mask, value, argument, thread, site: value,
            "grid_barrier": note("grid_barrier"),
            "yield_": note("yield"),
            "is_fibers": lambda: 0,
            "dynamic_shared": lambda: ctypes.addressof(self.dynamic),
            "fault": note("fault"),
            "exit_thread": note("exit_thread"),
            "clock": tick,
            "globaltimer": tick,
            "smid": lambda: 3,
            "vprintf": lambda format, arguments: note("vprintf", 1)(format),
            "malloc": libc.malloc,
            "free": libc.free,
        }
        self.functions = [type_(functions[name]) for name, type_ in _CALLS]
        self.ops = Ops(1, *self.functions)


def _plain(value):
    return (value.file, value.line) if isinstance(value, Site) else value


class Alone:
    """A loaded image with the methods run(name, grid, block, *arguments) and variable(name)."""

    def __init__(self, image, path):
        assert image.kind == "sim" and image.data[:8] == b"NLSIMG01"
        path.write_bytes(shared_object(image.data))
        self.loaded = ctypes.CDLL(str(path))
        self.image, self.engine = image, Engine()
        self.loaded.nl_sim_image_init(ctypes.byref(self.engine.ops))

    def kernel(self, name):
        return Kernel.in_dll(self.loaded, self.image.lowered[name])

    def run(self, name, grid, block, *arguments, shared=0, single=False):
        kernel = self.kernel(name)
        assert kernel.param_count == len(arguments)
        slots = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
        grid, block = Dim(*(*grid, 1, 1)[:3]), Dim(*(*block, 1, 1)[:3])
        launch = Launch(grid, block, shared, 0, slots)
        for z in range(grid.z):
            for y in range(grid.y):
                for x in range(grid.x):
                    if single:
                        kernel.enter_block(ctypes.byref(launch), Dim(x, y, z))
                        for thread in range(block.x * block.y * block.z):
                            kernel.run_thread(ctypes.byref(launch), Dim(x, y, z), thread)
                    else:
                        kernel.run_block(ctypes.byref(launch), Dim(x, y, z), 0)
        return self.engine.calls

    def variable(self, name):
        return Global.in_dll(self.loaded, self.image.lowered[name])


@pytest.fixture(autouse=True)
def _as_users_compile(optimized):
    """Images of the simulator are the subject of these tests."""


def pytest_generate_tests(metafunc):
    if "compiled" in metafunc.fixturenames:
        drawn = one_case(COMPILERS, metafunc.definition.nodeid) if COMPILERS else []
        metafunc.parametrize("compiled", drawn, indirect=True)


@pytest.fixture
def compiled(request, monkeypatch):
    """Returns a function compiled(unit) -> Image, which uses the compiler that was drawn."""
    command = f"{sys.executable} -m ziglang c++" if request.param == "zig" else request.param
    monkeypatch.setenv("NUMBALITE_CXX", command)
    from numbalite.compilers import hostbuild

    compiled_by = hostbuild.compile
    return lambda unit: compiled_by(unit)


@pytest.fixture
def compiler(request):
    """The name of the compiler that `compiled` uses in this test."""
    return request.node.callspec.params["compiled"]


@pytest.fixture
def alone(compiled, tmp_path):
    """Returns a function alone(source, *kernels, **fields of the unit), which returns the loaded image."""
    from numbalite.compilers.source import Source

    count = iter(range(sys.maxsize))

    def load(source, *kernels, **fields):
        fields.setdefault("describe", False)
        fields.setdefault("name", "user.py")
        unit = Source(source, kernels=kernels, **fields)
        return Alone(compiled(unit), tmp_path / f"image{next(count)}.so")

    return load


@pytest.fixture
def module(compiled, compiler, monkeypatch):
    """Returns a function module(source), which returns a cuda.module on the simulator."""
    from numbalite import cuda

    if not cuda.is_simulated():
        pytest.skip("needs the simulator")
    monkeypatch.setenv("NUMBALITE_DISABLE_CACHE", "1")
    return cuda.module
