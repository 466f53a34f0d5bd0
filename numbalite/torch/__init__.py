"""Makes ufuncs, generalized ufuncs and kernels operators of PyTorch.

    from numbalite.torch import operator

    @operator("mylib::sincos")
    @vectorize(["float32(float32, float32)", "float64(float64, float64)"], target="cuda")
    def sincos(x, y):
        "return sin(x) * cos(y);"

The operator works on tensors of CUDA devices and of the CPU, under torch.compile, torch.export and torch.vmap, and with
autograd. Uses operators. Begin with operator.py.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError(
        "numbalite.torch needs PyTorch: pip install 'numbalite[torch]'", name=problem.name
    ) from problem

from .operator import Operator, operator

__all__ = ["Operator", "operator"]
