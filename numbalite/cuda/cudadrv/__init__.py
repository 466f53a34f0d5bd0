"""Contains modules under the names by which numba's users import them; the contents are in other packages."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MODULES = frozenset(
    ("devicearray", "devices", "driver", "error", "libs", "linkable_code", "nvvm", "runtime")
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:  # programs use cuda.cudadrv.driver without importing the submodule
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
