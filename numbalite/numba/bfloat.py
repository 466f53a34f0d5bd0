"""Exports numba.cuda.bf16: bfloat16 and its functions, which kernels use."""

from __future__ import annotations

from numbalite.types.inkernel import PARTS, KernelName


def __getattr__(name: str) -> KernelName:
    if name in PARTS["bf16"]:
        return KernelName(f"bf16.{name}")
    raise AttributeError(f"numba.cuda.bf16 has no {name!r}")
