"""Exports numba.cuda.vector_types: the vector types, by their names."""

from __future__ import annotations

from numbalite.types import NAMES, Vector

vector_types = {str(t): t for t in NAMES.values() if isinstance(t, Vector)}
