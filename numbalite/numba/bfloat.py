"""Exports numba.cuda.bf16: bfloat16 and its functions, which kernels use."""

from __future__ import annotations

from numbalite.types.inkernel import PARTS, Word


def __getattr__(name: str) -> Word:
    if name in PARTS["bf16"]:
        return Word(f"bf16.{name}")
    raise AttributeError(f"numba.cuda.bf16 has no {name!r}")
