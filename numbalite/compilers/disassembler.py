"""Runs the disassemblers of the CUDA toolkit: nvdisasm and cuobjdump."""

from __future__ import annotations

import os
import shutil
import subprocess

from numbalite import config
from numbalite.compilers import folders
from numbalite.errors import CudaSupportError


def find_tool(name: str) -> str | None:
    """Returns the path of a program of the CUDA toolkit, or None."""
    path = shutil.which(name)
    if path:
        return path
    roots = config.read_external("CUDA_HOME"), config.read_external("CUDA_PATH"), "/usr/local/cuda"
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


def run(path: str, options: list, image: bytes) -> str:
    """Returns the output of a tool for a cubin; raises CudaSupportError if it fails."""
    with folders.Working() as folder:
        name = f"{folder}/image.cubin"
        with open(name, "wb") as file:
            file.write(image)
        done = subprocess.run([path, *options, name], capture_output=True, text=True)
    if done.returncode:
        raise CudaSupportError(f"{path} failed: {done.stderr.strip()}")
    return done.stdout
