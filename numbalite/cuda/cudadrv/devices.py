"""Contains numba's names for devices: see numbalite.runtime.devices."""

from numbalite.runtime.devices import get_context, gpus, require_context, reset

__all__ = ["get_context", "gpus", "require_context", "reset"]
