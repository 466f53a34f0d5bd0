"""Runs the disassemblers of the CUDA toolkit: nvdisasm and cuobjdump."""

from __future__ import annotations

import os
import shutil
import subprocess
import zlib

from numbalite import config
from numbalite.compilers import cache, folders
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


def run_tool(path: str, options: list, image: bytes) -> str:
    """Returns the output of a tool for a cubin, from the disk cache if possible; raises CudaSupportError if
    the tool fails."""
    key = _cache_key(path, options, image)
    text = cache.load_entry(_decompress_text, key, cache.DISASSEMBLY)
    if text is None:
        text = _disassemble(path, options, image)
        if key is not None:
            cache.store_bytes(key, zlib.compress(text.encode(), 1), cache.DISASSEMBLY)
    return text


def _cache_key(path, options, image):
    """Returns the key in the disk cache, or None without a cache."""
    if cache.usable_directory() is None:
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    tool = os.path.realpath(path), status.st_size, status.st_mtime_ns
    return cache.hash_values(cache.SCHEMA, "disassembly", tool, tuple(options), image)


def _decompress_text(data):
    try:
        return zlib.decompress(data).decode()
    except zlib.error as problem:
        raise ValueError("not a disassembly") from problem


def _disassemble(path, options, image):
    with folders.WorkingFolder() as folder:
        name = f"{folder}/image.cubin"
        with open(name, "wb") as file:
            file.write(image)
        done = subprocess.run([path, *options, name], capture_output=True, text=True)
    if done.returncode:
        raise CudaSupportError(f"{path} failed: {done.stderr.strip()}")
    return done.stdout
