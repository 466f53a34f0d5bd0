"""numba's names around devices: see numbalite.cuda.devices."""

from numbalite.cuda.devices import close as reset
from numbalite.cuda.devices import current_context as get_context
from numbalite.cuda.devices import gpus, require_context

__all__ = ["get_context", "gpus", "require_context", "reset"]
