"""Suggests replacements for names of NumPy and CuPy that numbalite.cuda lacks."""

from __future__ import annotations

import numpy as np

WAYS_OUT = (
    "d.copy_to_host() gives a NumPy array; cupy.asarray(d) and torch.from_dlpack(d) use the same "
    "memory on the device"
)
_CUPY = {
    "ndarray": "cuda.DeviceNDArray",
    "RawKernel": "@cuda.jit, or cuda.module(source)",
    "RawModule": "cuda.module(source)",
    "ElementwiseKernel": '@vectorize(target="cuda")',
    "ReductionKernel": 'cuda.reduce("a + b"), or @numbalite.fuse',
    "fuse": "@numbalite.fuse",
    "get_default_memory_pool": "cuda.memory_pool()",
    "get_default_pinned_memory_pool": "cuda.host_memory_pool()",
    "Device": "cuda.gpus[0]",
    "cuda": "cuda.stream(), cuda.event(), cuda.gpus[0] for CuPy's cuda.Stream(), cuda.Event(), cuda.Device(0)",
    "rsqrt": '1 / cuda.sqrt(x), or @vectorize(target="cuda") with "return rsqrt(x);"',
    "scatter_add": "np.add.at(x, indices, values)",
    "r_": "cuda.concatenate(...)",
    "c_": "cuda.column_stack(...)",
    "testing": "np.testing, with d.copy_to_host()",
    "seterrcall": "np.seterrcall, for arrays on the host",
    "geterrcall": "np.geterrcall, for arrays on the host",
    "frompyfunc": '@vectorize(target="cuda")',
    "ndenumerate": "np.ndenumerate(d.copy_to_host()), or a kernel",
    "nditer": "np.nditer(d.copy_to_host()), or a kernel",
    "float128": "cuda.float64: GPUs have no wider type",
    "longdouble": "cuda.float64: GPUs have no wider type",
    "clongdouble": "cuda.complex128: GPUs have no wider type",
    "complex256": "cuda.complex128: GPUs have no wider type",
    "matrix": "cuda.asarray(...), and @ for products",
    "asmatrix": "cuda.asarray(...), and @ for products",
    "poly1d": "cuda.polyval(coefficients, x)",
    "require": "cuda.asarray(a, dtype, order=...)",
}


def missing_name_advice(name: str) -> str:
    """Returns the text after "numbalite.cuda has no ...", or "" if there is no advice."""
    if name in _CUPY:
        return f": write {_CUPY[name]}"
    if not name.startswith("_") and hasattr(np, name):
        return f", nor a counterpart of np.{name}: {WAYS_OUT}"
    return ""
