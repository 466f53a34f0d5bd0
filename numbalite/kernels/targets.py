"""What to compile for: the target of a device."""

from __future__ import annotations

from numbalite import _core
from numbalite.cuda import devices  # noqa: F401  (sets how the driver is opened)

_CAPABILITY = 75, 76  # CUdevice_attribute


def target_of(device: int) -> tuple:
    """What to compile for: ("cuda", major, minor), or ("sim",)."""
    if _core.driver_has("host_code"):
        return ("sim",)
    return ("cuda", *(_core.device_attribute(device, n) for n in _CAPABILITY))


def current_device() -> int:
    return _core.current_device()
