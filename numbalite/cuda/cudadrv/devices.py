"""numba's names around devices: see numbalite.cuda.devices."""

from numbalite.cuda.devices import get_context, gpus, require_context, reset

__all__ = ["get_context", "gpus", "require_context", "reset"]
