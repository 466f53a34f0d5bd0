"""Names that NumPy or CuPy has and numbalite.cuda has not -> what to write instead."""

from __future__ import annotations

import numpy as np

from numbalite.cuda.arrayfunctions.dispatch import WAYS_OUT

_CUPY = {
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
    if not name.startswith("_") and callable(getattr(np, name, None)):
        return f", nor a counterpart of np.{name}: {WAYS_OUT}"
    return ""
