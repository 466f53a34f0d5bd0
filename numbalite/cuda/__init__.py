"""numba.cuda's names: devices, streams, arrays, and the decorators that make kernels.

Where numba.cuda has a name, this has the same with the same meaning; what cannot mean anything for
kernels written in CUDA C++ (cuda.grid in Python code) is spelled in the kernel's own language.

The types behind the names are mostly C's (numbalite._core); what runs once, or for convenience, is here.
Uses all packages but course, jupyter and numba. Begin with devices.py, then arrays.py.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import numpy as _np

from numbalite.cuda import arrays as _arrays
from numbalite.cuda import assign as _assign
from numbalite.cuda import indexing as _indexing
from numbalite.cuda.arrays import (
    DeviceNDArray,
    In,
    InOut,
    Out,
    device_array,
    device_array_like,
    to_device,
)
from numbalite.cuda.attributes import MemoryInfo
from numbalite.cuda.devices import (
    close,
    cuda_error,
    current_context,
    defer_cleanup,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    is_simulated,
    is_supported_version,
    list_devices,
    profile_start,
    profile_stop,
    profiling,
    require_context,
    select_device,
    set_default_device,
    synchronize,
)
from numbalite.cuda.foreign import as_cuda_array, from_cuda_array_interface
from numbalite.cuda.rawmemory import is_cuda_array
from numbalite.cuda.records import DeviceRecord
from numbalite.cuda.streams import (
    Event,
    Graph,
    Stream,
    default_stream,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)
from numbalite.errors import CudaSupportError, KernelRuntimeError

newaxis = None

if TYPE_CHECKING:  # what __getattr__ imports when it is first used
    from typing import Any

    from numbalite import sparse, types
    from numbalite.cuda.algorithms.by_key import reduce_by_key
    from numbalite.cuda.algorithms.histogram import histogram
    from numbalite.cuda.algorithms.scan import scan
    from numbalite.cuda.algorithms.select import partition, select
    from numbalite.cuda.algorithms.sort import sort, topk
    from numbalite.cuda.arrayfunctions.creation import (
        arange,
        empty,
        eye,
        full,
        linspace,
        ones,
        zeros,
    )
    from numbalite.cuda.exchange import from_dlpack
    from numbalite.cuda.hostarrays import (
        managed_array,
        mapped,
        mapped_array,
        mapped_array_like,
        pinned,
        pinned_array,
        pinned_array_like,
    )
    from numbalite.cuda.ipc import IpcArrayHandle, ipc_array, open_ipc_array
    from numbalite.cuda.managers import (
        BaseCUDAMemoryManager,
        CupyMemoryManager,
        GetIpcHandleMixin,
        HostOnlyCUDAMemoryManager,
        RmmMemoryManager,
        TorchMemoryManager,
        set_memory_manager,
    )
    from numbalite.cuda.memory import host_memory_pool, memory_pool
    from numbalite.cuda.pointers import MappedMemory, MemoryPointer, PinnedMemory
    from numbalite.cuda.textures import surface, texture
    from numbalite.kernels.ahead import (
        compile,
        compile_all,
        compile_for_current_device,
        compile_ptx,
        compile_ptx_for_current_device,
    )
    from numbalite.kernels.decorators import jit, module
    from numbalite.kernels.foreign import declare_device
    from numbalite.linalg.epilogue import matmul
    from numbalite.sim.checks import checks
    from numbalite.ufuncs.decorators import cuda_guvectorize as guvectorize
    from numbalite.ufuncs.decorators import cuda_vectorize as vectorize
    from numbalite.ufuncs.reduction import Reduce, reduce

# Imported when they are first used: name -> module, or module:name where it is another there.
_LATER = {
    "jit": "numbalite.kernels.decorators",
    "module": "numbalite.kernels.decorators",
    "compile": "numbalite.kernels.ahead",
    "compile_for_current_device": "numbalite.kernels.ahead",
    "compile_all": "numbalite.kernels.ahead",
    "compile_ptx": "numbalite.kernels.ahead",
    "declare_device": "numbalite.kernels.foreign",
    "compile_ptx_for_current_device": "numbalite.kernels.ahead",
    "vectorize": "numbalite.ufuncs.decorators:cuda_vectorize",
    "guvectorize": "numbalite.ufuncs.decorators:cuda_guvectorize",
    "checks": "numbalite.sim.checks:checks",
    "reduce": "numbalite.ufuncs.reduction:Reduce",
    "Reduce": "numbalite.ufuncs.reduction",
    "scan": "numbalite.cuda.algorithms.scan:Scan",
    "select": "numbalite.cuda.algorithms.select:Select",
    "partition": "numbalite.cuda.algorithms.select:Partition",
    "sort": "numbalite.cuda.algorithms.sort:Sort",
    "topk": "numbalite.cuda.algorithms.sort:topk",
    "histogram": "numbalite.cuda.algorithms.histogram:Histogram",
    "reduce_by_key": "numbalite.cuda.algorithms.by_key:ReduceByKey",
    "matmul": "numbalite.linalg.epilogue:matmul",
    **dict.fromkeys(
        ("arange", "empty", "eye", "full", "linspace", "ones", "zeros"),
        "numbalite.cuda.arrayfunctions.creation",
    ),
    "from_dlpack": "numbalite.cuda.exchange",
    "memory_pool": "numbalite.cuda.memory",
    "host_memory_pool": "numbalite.cuda.memory",
    "pinned_array": "numbalite.cuda.hostarrays",
    "pinned_array_like": "numbalite.cuda.hostarrays",
    "mapped_array": "numbalite.cuda.hostarrays",
    "mapped_array_like": "numbalite.cuda.hostarrays",
    "managed_array": "numbalite.cuda.hostarrays",
    "pinned": "numbalite.cuda.hostarrays",
    "mapped": "numbalite.cuda.hostarrays",
    "MappedNDArray": "numbalite.cuda.hostarrays",
    "ManagedNDArray": "numbalite.cuda.hostarrays",
    "texture": "numbalite.cuda.textures",
    "surface": "numbalite.cuda.textures",
    "set_memory_manager": "numbalite.cuda.managers",
    "BaseCUDAMemoryManager": "numbalite.cuda.managers",
    "CupyMemoryManager": "numbalite.cuda.managers",
    "RmmMemoryManager": "numbalite.cuda.managers",
    "TorchMemoryManager": "numbalite.cuda.managers",
    "HostOnlyCUDAMemoryManager": "numbalite.cuda.managers",
    "GetIpcHandleMixin": "numbalite.cuda.managers",
    "MemoryPointer": "numbalite.cuda.pointers",
    "MappedMemory": "numbalite.cuda.pointers",
    "PinnedMemory": "numbalite.cuda.pointers",
    "ManagedMemory": "numbalite.cuda.pointers",
    "AutoFreePointer": "numbalite.cuda.pointers",
    "ipc_array": "numbalite.cuda.ipc",
    "open_ipc_array": "numbalite.cuda.ipc",
    "IpcArrayHandle": "numbalite.cuda.ipc",
    "IpcHandle": "numbalite.cuda.ipc",
    "Archive": "numbalite.cuda.cudadrv.linkable_code",
    "CUSource": "numbalite.cuda.cudadrv.linkable_code",
    "Cubin": "numbalite.cuda.cudadrv.linkable_code",
    "Fatbin": "numbalite.cuda.cudadrv.linkable_code",
    "LTOIR": "numbalite.cuda.cudadrv.linkable_code",
    "LinkableCode": "numbalite.cuda.cudadrv.linkable_code",
    "Object": "numbalite.cuda.cudadrv.linkable_code",
    "PTXSource": "numbalite.cuda.cudadrv.linkable_code",
    "runtime": "numbalite.cuda.cudadrv.runtime:runtime",
    "nvvm": "numbalite.cuda.cudadrv.nvvm",
    "driver": "numbalite.cuda.cudadrv.driver",
    "devicearray": "numbalite.cuda.cudadrv.devicearray",
    "random": "numbalite.cuda.random",
    "libdevice": "numbalite.cuda.libdevice",
    "sparse": "numbalite.sparse",
    "types": "numbalite.types",
    "config": "numbalite.config",
    "cudadrv": "numbalite.cuda.cudadrv",
    "core": "numbalite.cuda.core",
}

_CUPYS = ("asnumpy", "get_array_module")

__all__ = [
    "BaseCUDAMemoryManager",
    "CudaSupportError",
    "CupyMemoryManager",
    "DeviceNDArray",
    "DeviceRecord",
    "Event",
    "GetIpcHandleMixin",
    "Graph",
    "HostOnlyCUDAMemoryManager",
    "In",
    "InOut",
    "IpcArrayHandle",
    "KernelRuntimeError",
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "Out",
    "PinnedMemory",
    "Reduce",
    "RmmMemoryManager",
    "Stream",
    "TorchMemoryManager",
    "arange",
    "as_cuda_array",
    "checks",
    "close",
    "compile",
    "compile_all",
    "compile_for_current_device",
    "compile_ptx",
    "compile_ptx_for_current_device",
    "cuda_error",
    "current_context",
    "declare_device",
    "default_stream",
    "defer_cleanup",
    "detect",
    "device_array",
    "device_array_like",
    "empty",
    "event",
    "event_elapsed_time",
    "external_stream",
    "eye",
    "from_cuda_array_interface",
    "from_dlpack",
    "full",
    "get_current_device",
    "gpus",
    "guvectorize",
    "histogram",
    "host_memory_pool",
    "ipc_array",
    "is_available",
    "is_bfloat16_supported",
    "is_cuda_array",
    "is_float16_supported",
    "is_fp8_supported",
    "is_simulated",
    "is_supported_version",
    "jit",
    "legacy_default_stream",
    "linspace",
    "list_devices",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "matmul",
    "memory_pool",
    "module",
    "ones",
    "open_ipc_array",
    "partition",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "profile_start",
    "profile_stop",
    "profiling",
    "reduce",
    "reduce_by_key",
    "require_context",
    "scan",
    "select",
    "select_device",
    "set_default_device",
    "set_memory_manager",
    "sort",
    "sparse",
    "stream",
    "surface",
    "synchronize",
    "texture",
    "to_device",
    "topk",
    "types",
    "vectorize",
    "zeros",
]


def __getattr__(name: str) -> Any:
    where = _LATER.get(name)
    if where is not None:
        module, _, attribute = where.partition(":")
        found = importlib.import_module(module)
        if attribute or not module.endswith(f".{name}"):
            found = getattr(found, attribute or name)
    elif name.startswith("__"):
        raise AttributeError(name)
    else:  # numba.cuda has the type objects too: cuda.float32
        from numbalite import types

        found = types.NAMES.get(name)  # type: ignore[assignment]
        # Names of submodules come here too, from `from numbalite.cuda import serialize`, while this is imported.
        if found is None and (hasattr(_np, name) or name in _CUPYS):
            found = importlib.import_module("numbalite.cuda.numpynames").numpys(name)
        if found is None:
            inkernel = importlib.import_module("numbalite.cuda.inkernel")
            if name not in inkernel.INSTEAD:
                raise AttributeError(inkernel.message(name))
            found = inkernel.Word(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def _tell_dask():
    """Tells dask, once it has been imported, how device arrays travel."""
    if "dask" in sys.modules or "distributed" in sys.modules:
        from numbalite.cuda import serialize

        serialize.register()


def _cast_ufunc(dtype):
    """The ufunc that converts to a dtype: ufuncs are above arrays, whose assignments need it."""
    from numbalite.ufuncs.cudaufunc import cast_ufunc

    _assign.cast_ufunc = cast_ufunc
    return cast_ufunc(dtype)


def _masks():
    """What reads and writes the elements that a mask chooses; it is above arrays, whose indexing needs it."""
    from numbalite.cuda.algorithms import masks

    return masks


_assign.cast_ufunc = _cast_ufunc
_indexing.masks = _masks
_arrays.before_pickling = _tell_dask
_tell_dask()
