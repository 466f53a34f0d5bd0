"""Names that NumPy or CuPy has and numbalite.cuda has not -> what to write instead."""

from __future__ import annotations

import numpy as np

_CUPY = {
    **dict.fromkeys(("array", "asarray"), "cuda.to_device(a)"),
    "asnumpy": "d.copy_to_host()",
    "ndarray": "cuda.DeviceNDArray",
    "RawKernel": "@cuda.jit, or cuda.module(source)",
    "RawModule": "cuda.module(source)",
    "ElementwiseKernel": '@vectorize(target="cuda")',
    "ReductionKernel": 'cuda.reduce("a + b"), or @numbalite.fuse',
    "fuse": "@numbalite.fuse",
    "get_array_module": "numpy: its functions take device arrays",
    "get_default_memory_pool": "cuda.memory_pool()",
    "Device": "cuda.gpus[0]",
}


def hint(name: str) -> str:
    """What follows "numbalite.cuda has no ...": "" where nothing is known."""
    if name in _CUPY:
        return f": write {_CUPY[name]}"
    if name.endswith("_like") and hasattr(np, name):
        return f": write np.{name}(d), which makes a device array"
    if not name.startswith("_") and callable(getattr(np, name, None)):
        return f": np.{name} takes device arrays, where there is a counterpart"
    if name in ("fft", "linalg"):
        return f": the functions of np.{name} take device arrays"
    return ""
