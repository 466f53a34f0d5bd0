"""PTX and machine code of kernels as text."""

from __future__ import annotations

import os
import shutil
import subprocess

from numbalite import config
from numbalite.compilers import folders
from numbalite.errors import CudaSupportError
from numbalite.kernels.targets import current_device, target_of

_TOOLS = (("nvdisasm", ["-hex", "-c"]), ("cuobjdump", ["-sass"]))


def gpu_target() -> tuple:
    """The current GPU's target; without a GPU, a common one, so that code can be inspected anywhere."""
    try:
        target = target_of(current_device())
    except CudaSupportError:  # no driver
        target = ("sim",)
    if target[0] == "cuda":
        return target
    return ("cuda", *(config.FORCE_CUDA_CC or (9, 0)))


def ptx(images) -> str:
    """The PTX of a kernel's or module's Images. On the simulator, NVRTC compiles it for this purpose, if
    installed."""
    image = images.image(gpu_target())
    return (image.ptx or b"").decode()


def sass(images) -> str:
    """The machine code of Images, disassembled by a tool of the CUDA toolkit."""
    image = images.image(gpu_target())
    if image.kind != "cubin":
        raise CudaSupportError(
            "there is no machine code to show: this GPU is newer than NVRTC, which gave PTX"
        )
    for name, options in _TOOLS:
        path = find_tool(name)
        if path is not None:
            return _run(path, options, image.data)
    raise CudaSupportError(
        "nvdisasm was not found, nor cuobjdump, and inspect_sass needs one: install the CUDA toolkit, or "
        "pip install nvidia-cuda-nvcc nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"
    )


def find_tool(name: str) -> str | None:
    """The path of a program of the CUDA toolkit, or None."""
    path = shutil.which(name)
    if path:
        return path
    roots = config.outside("CUDA_HOME"), config.outside("CUDA_PATH"), "/usr/local/cuda"
    for root in roots:
        if root and os.access(f"{root}/bin/{name}", os.X_OK):
            return f"{root}/bin/{name}"
    try:
        from cuda.pathfinder import find_nvidia_binary_utility
    except ImportError:
        return None
    try:
        return find_nvidia_binary_utility(name)
    except Exception:  # any failure means that the tool was not found
        return None


def _run(path, options, data):
    with folders.Working() as folder:
        image = f"{folder}/image.cubin"
        with open(image, "wb") as file:
            file.write(data)
        done = subprocess.run([path, *options, image], capture_output=True, text=True)
    if done.returncode:
        raise CudaSupportError(f"{path} failed: {done.stderr.strip()}")
    return done.stdout
