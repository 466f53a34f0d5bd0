"""Exports the names of numba.cuda: devices, streams, arrays, and the decorators that create kernels.

Each name that numba.cuda also exports has the same meaning. Lower packages define the named objects; each object
is imported when it is first used. `numpynames` contains NumPy's functions for programs that write `import
numbalite.cuda as cp`. The packages cudadrv, core and libs, and random.py, are modules of numba.cuda.

The package cuda uses types, compilers, runtime, kernels, ndarray, ufuncs, algorithms, functions, fft and
random. Begin with this file.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

import numpy as _np

from numbalite import _core
from numbalite import frontend as _frontend
from numbalite.ndarray import above as _above

newaxis = None

if (
    TYPE_CHECKING
):  # for type checkers: at run time, __getattr__ imports these names at their first use
    from typing import Any

    from numbalite import sparse, types
    from numbalite.algorithms.by_key import reduce_by_key
    from numbalite.algorithms.histogram import histogram
    from numbalite.algorithms.scan import scan
    from numbalite.algorithms.select import partition, select
    from numbalite.algorithms.sort import sort, topk
    from numbalite.cuda.ufunctypes import *  # noqa: F403
    from numbalite.errors import CudaSupportError, KernelRuntimeError
    from numbalite.functions.creation import arange, empty, eye, full, linspace, ones, zeros
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
    from numbalite.ndarray.arrays import (
        DeviceNDArray,
        In,
        InOut,
        Out,
        device_array,
        device_array_like,
        to_device,
    )
    from numbalite.ndarray.exchange import from_dlpack
    from numbalite.ndarray.foreign import as_cuda_array, from_cuda_array_interface
    from numbalite.ndarray.hostarrays import (
        managed_array,
        mapped,
        mapped_array,
        mapped_array_like,
        pinned,
        pinned_array,
        pinned_array_like,
    )
    from numbalite.ndarray.records import DeviceRecord
    from numbalite.ndarray.textures import surface, texture
    from numbalite.profiler.session import profile
    from numbalite.runtime.attributes import MemoryInfo
    from numbalite.runtime.checks import checks
    from numbalite.runtime.devices import (
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
    from numbalite.runtime.ipc import IpcArrayHandle, ipc_array, open_ipc_array
    from numbalite.runtime.limits import limit
    from numbalite.runtime.managers import (
        BaseCUDAMemoryManager,
        CupyMemoryManager,
        GetIpcHandleMixin,
        HostOnlyCUDAMemoryManager,
        RmmMemoryManager,
        TorchMemoryManager,
        set_memory_manager,
    )
    from numbalite.runtime.memory import host_memory_pool, memory_pool
    from numbalite.runtime.pointers import MappedMemory, MemoryPointer, PinnedMemory
    from numbalite.runtime.rawmemory import is_cuda_array
    from numbalite.runtime.streams import (
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
    from numbalite.tuning.tuned import autotune
    from numbalite.ufuncs.decorators import cuda_guvectorize as guvectorize
    from numbalite.ufuncs.decorators import cuda_vectorize as vectorize
    from numbalite.ufuncs.reduction import Reduce, reduce

# Names that are imported at their first use: name -> module, or module:name for an object of another name.
_LATER = {
    "CudaSupportError": "numbalite.errors",
    "KernelRuntimeError": "numbalite.errors",
    **dict.fromkeys(
        (
            "DeviceNDArray",
            "In",
            "InOut",
            "Out",
            "device_array",
            "device_array_like",
            "to_device",
        ),
        "numbalite.ndarray.arrays",
    ),
    "as_cuda_array": "numbalite.ndarray.foreign",
    "from_cuda_array_interface": "numbalite.ndarray.foreign",
    "DeviceRecord": "numbalite.ndarray.records",
    "MemoryInfo": "numbalite.runtime.attributes",
    **dict.fromkeys(
        (
            "close",
            "cuda_error",
            "current_context",
            "defer_cleanup",
            "detect",
            "get_current_device",
            "gpus",
            "is_available",
            "is_bfloat16_supported",
            "is_float16_supported",
            "is_fp8_supported",
            "is_simulated",
            "is_supported_version",
            "list_devices",
            "profile_start",
            "profile_stop",
            "profiling",
            "require_context",
            "select_device",
            "set_default_device",
            "synchronize",
        ),
        "numbalite.runtime.devices",
    ),
    "is_cuda_array": "numbalite.runtime.rawmemory",
    **dict.fromkeys(
        (
            "Event",
            "Graph",
            "Stream",
            "default_stream",
            "event",
            "event_elapsed_time",
            "external_stream",
            "legacy_default_stream",
            "per_thread_default_stream",
            "stream",
        ),
        "numbalite.runtime.streams",
    ),
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
    "checks": "numbalite.runtime.checks:checks",
    "limit": "numbalite.runtime.limits:limit",
    "profile": "numbalite.profiler.session:profile",
    "autotune": "numbalite.tuning.tuned:autotune",
    "reduce": "numbalite.ufuncs.reduction:Reduce",
    "Reduce": "numbalite.ufuncs.reduction",
    "scan": "numbalite.algorithms.scan:Scan",
    "select": "numbalite.algorithms.select:Select",
    "partition": "numbalite.algorithms.select:Partition",
    "sort": "numbalite.algorithms.sort:Sort",
    "topk": "numbalite.algorithms.sort:topk",
    "histogram": "numbalite.algorithms.histogram:Histogram",
    "reduce_by_key": "numbalite.algorithms.by_key:ReduceByKey",
    "matmul": "numbalite.linalg.epilogue:matmul",
    **dict.fromkeys(
        ("arange", "empty", "eye", "full", "linspace", "ones", "zeros"),
        "numbalite.functions.creation",
    ),
    "from_dlpack": "numbalite.ndarray.exchange",
    "memory_pool": "numbalite.runtime.memory",
    "host_memory_pool": "numbalite.runtime.memory",
    "pinned_array": "numbalite.ndarray.hostarrays",
    "pinned_array_like": "numbalite.ndarray.hostarrays",
    "mapped_array": "numbalite.ndarray.hostarrays",
    "mapped_array_like": "numbalite.ndarray.hostarrays",
    "managed_array": "numbalite.ndarray.hostarrays",
    "pinned": "numbalite.ndarray.hostarrays",
    "mapped": "numbalite.ndarray.hostarrays",
    "MappedNDArray": "numbalite.ndarray.hostarrays",
    "ManagedNDArray": "numbalite.ndarray.hostarrays",
    "texture": "numbalite.ndarray.textures",
    "surface": "numbalite.ndarray.textures",
    "set_memory_manager": "numbalite.runtime.managers",
    "BaseCUDAMemoryManager": "numbalite.runtime.managers",
    "CupyMemoryManager": "numbalite.runtime.managers",
    "RmmMemoryManager": "numbalite.runtime.managers",
    "TorchMemoryManager": "numbalite.runtime.managers",
    "HostOnlyCUDAMemoryManager": "numbalite.runtime.managers",
    "GetIpcHandleMixin": "numbalite.runtime.managers",
    "MemoryPointer": "numbalite.runtime.pointers",
    "MappedMemory": "numbalite.runtime.pointers",
    "PinnedMemory": "numbalite.runtime.pointers",
    "ManagedMemory": "numbalite.runtime.pointers",
    "AutoFreePointer": "numbalite.runtime.pointers",
    "ipc_array": "numbalite.runtime.ipc",
    "open_ipc_array": "numbalite.runtime.ipc",
    "IpcArrayHandle": "numbalite.runtime.ipc",
    "IpcHandle": "numbalite.runtime.ipc",
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
    "autotune",
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
    "limit",
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
    "profile",
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
    else:  # numba.cuda also exports the type objects, such as cuda.float32
        from numbalite import types

        found = types.NAMES.get(name)  # type: ignore[assignment]
        # `from numbalite.ndarray import serialize` calls __getattr__ for the name of the submodule.
        if found is None and (hasattr(_np, name) or name in _CUPYS):
            found = importlib.import_module("numbalite.cuda.numpynames").device_function_of_name(
                name
            )
        if found is None:
            inkernel = importlib.import_module("numbalite.types.inkernel")
            if name not in inkernel.INSTEAD:
                raise AttributeError(inkernel.missing_name_message(name))
            found = inkernel.KernelName(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


def _register_dask_serializer():
    """Registers the serialization of device arrays with dask, once it has been imported."""
    if "dask" in sys.modules or "distributed" in sys.modules:
        from numbalite.ndarray import serialize

        serialize.register_serializers()


def _cast_ufunc(dtype):
    """Returns the ufunc that converts to a dtype. Assignments of the package ndarray find it here, because
    ufuncs is a higher package."""
    from numbalite.ufuncs.cudaufunc import cast_ufunc

    _above.cast_ufunc = cast_ufunc
    return cast_ufunc(dtype)


def _import_mask_functions():
    """Returns the functions that read and write elements by a mask. The module masks is in a higher
    package than ndarray, whose indexing needs the functions."""
    from numbalite.algorithms import masks

    return masks


def _load_devices(kind):
    """Called by C code before the driver is opened. Loads numbalite.runtime.devices, which replaces this hook
    by its own hook."""
    from numbalite.runtime import devices

    devices.on_open(kind)


_above.cast_ufunc = _cast_ufunc
_above.masks = _import_mask_functions
_above.before_pickling = _register_dask_serializer
if "numbalite.runtime.devices" not in sys.modules:
    _core.set_open_hook(_load_devices)
_register_dask_serializer()
if "ipykernel" in sys.modules:
    from numbalite import config as _config

    if _config.NOTEBOOK_HINT:
        _frontend.suggest_extension()
