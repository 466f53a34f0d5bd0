"""Calls the simulated driver through ctypes. Builds the simulated driver from its C files alone, and the
test kernels."""

import ctypes
import os
import shutil
import struct
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = [
    HERE / "harness.c",
    *sorted((ROOT / "cext" / "sim").rglob("*.c")),
    *sorted((ROOT / "cext" / "base").glob("*.c")),
]
INCLUDES = [f"-I{ROOT / 'cext'}", f"-I{ROOT / 'cuda_src'}"]
FLAGS = ["-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", "-pthread"]

c_size = ctypes.c_size_t
c_ptr = ctypes.c_void_p


def c_compiler():
    return next(
        (c for c in (os.environ.get("CC"), "gcc", "clang", "cc") if c and shutil.which(c)), None
    )


def cxx_compiler():
    return next(
        (c for c in (os.environ.get("CXX"), "g++", "clang++") if c and shutil.which(c)), None
    )


def build_library(path, *extra):
    command = [
        c_compiler(),
        "-std=gnu11",
        *FLAGS,
        *INCLUDES,
        "-shared",
        *extra,
        *map(str, SOURCES),
        "-ldl",
        "-o",
        path,
    ]
    subprocess.run(list(map(str, command)), check=True)
    return path


def build_kernels(path, source=HERE / "kernels.cpp", *extra):
    command = [
        cxx_compiler(),
        "-std=c++17",
        *FLAGS,
        *INCLUDES,
        f"-I{HERE}",
        "-shared",
        *extra,
        source,
        "-o",
        path,
    ]
    subprocess.run(list(map(str, command)), check=True)
    return path


def image_bytes(path):
    code = Path(path).read_bytes()
    return b"NLSIMG01" + struct.pack("<Q", len(code)) + code


class DriverError(Exception):
    def __init__(self, call, code, text):
        super().__init__(f"{call}: {code} {text}")
        self.code = code
        self.text = text


class SimDriver:
    """`driver.cuMemAlloc(...)` raises DriverError unless the status is 0; `driver.status.cu...` returns it."""

    def __init__(self, library, devices=1):
        self.loaded = ctypes.CDLL(str(library))
        if self.loaded.harness_open(devices):
            raise RuntimeError("the simulator does not open")
        self.retain(0)

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)
        function = getattr(self.loaded, name)

        def call_driver(*args):
            status = function(*args)
            if status:
                raise DriverError(name, status, self.fault())
            return None

        setattr(self, name, call_driver)
        return call_driver

    def fault(self):
        buffer = ctypes.create_string_buffer(2048)
        return buffer.value.decode() if self.loaded.harness_take_fault(buffer, c_size(2048)) else ""

    def code(self, name, *args):
        return getattr(self.loaded, name)(*args)

    def retain(self, device):
        context = c_ptr()
        self.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        self.cuCtxSetCurrent(context)
        return context

    def alloc(self, size):
        pointer = ctypes.c_uint64()
        self.cuMemAlloc(ctypes.byref(pointer), c_size(size))
        return pointer.value

    def free(self, pointer):
        self.cuMemFree(ctypes.c_uint64(pointer))

    def upload(self, values, kind="i"):
        data = struct.pack(f"<{len(values)}{kind}", *values)
        pointer = self.alloc(len(data))
        self.cuMemcpyHtoD(ctypes.c_uint64(pointer), data, c_size(len(data)))
        return pointer

    def download(self, pointer, count, kind="i"):
        buffer = ctypes.create_string_buffer(struct.calcsize(f"<{count}{kind}"))
        self.cuMemcpyDtoH(buffer, ctypes.c_uint64(pointer), c_size(len(buffer)))
        return list(struct.unpack(f"<{count}{kind}", buffer.raw))

    def load(self, image):
        module = c_ptr()
        self.cuModuleLoadDataEx(ctypes.byref(module), image, 0, None, None)
        return module

    def function(self, module, name):
        function = c_ptr()
        self.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
        return function

    def stream(self, flags=0):
        stream = c_ptr()
        self.cuStreamCreateWithPriority(ctypes.byref(stream), flags, 0)
        return stream

    def event(self, flags=0):
        event = c_ptr()
        self.cuEventCreate(ctypes.byref(event), flags)
        return event

    def synchronize(self):
        self.cuCtxSynchronize()

    def launch_code(
        self, function, grid, block, data=0, n=0, m=0, shared=0, stream=None, cooperative=False
    ):
        grid = (*grid, 1, 1)[:3] if isinstance(grid, tuple) else (grid, 1, 1)
        block = (*block, 1, 1)[:3] if isinstance(block, tuple) else (block, 1, 1)
        values = [ctypes.c_uint64(data), ctypes.c_int64(n), ctypes.c_int64(m)]
        pointers = (c_ptr * 3)(*(ctypes.addressof(v) for v in values))
        if cooperative:
            return self.loaded.cuLaunchCooperativeKernel(
                function, *grid, *block, shared, stream, pointers
            )
        return self.loaded.cuLaunchKernel(function, *grid, *block, shared, stream, pointers, None)

    def launch(self, *args, **kwargs):
        status = self.launch_code(*args, **kwargs)
        if status:
            raise DriverError("cuLaunchKernel", status, self.fault())


class TestImageKernels:
    """A loaded test image: `kernels.vadd(grid, block, data, n, m)` launches."""

    def __init__(self, driver, image):
        self.driver = driver
        self.module = driver.load(image)

    def handle(self, name):
        return self.driver.function(self.module, "k_" + name)

    def __getattr__(self, name):
        handle = self.handle(name)

        def launch_handle(*args, **kwargs):
            self.driver.launch(handle, *args, **kwargs)

        setattr(self, name, launch_handle)
        return launch_handle
