"""What arguments that many functions take may be, for annotations; imported by type checkers alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias

from numbalite import _core

StreamLike: TypeAlias = _core.Stream | int | Any
"""A stream, its handle, 0 for the default one, or another library's object with __cuda_stream__."""

ShapeLike: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
"""The elements along each dimension, or of one."""

DeviceLike: TypeAlias = Any
"""A device, its number, or an object that has one as `id`."""
