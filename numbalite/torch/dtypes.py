"""Converts dtypes of tensors to NumPy's dtypes, and NumPy's dtypes to those of tensors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

_NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
).split()
NUMPY = {getattr(torch, name): np.dtype(name) for name in _NAMES}
TORCH = {dtype: one for one, dtype in NUMPY.items()}


def to_numpy(name: str, tensors: Iterable) -> tuple[np.dtype, ...]:
    """Returns the NumPy dtypes of tensors; raises TypeError for a dtype that NumPy lacks."""
    try:
        return tuple(NUMPY[x.dtype] for x in tensors)
    except KeyError as missing:
        raise TypeError(
            f"{name}: {missing.args[0]} is not a dtype of numbalite: convert the tensor, as in x.to(torch.float32)"
        ) from None
