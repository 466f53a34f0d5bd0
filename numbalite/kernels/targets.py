"""Selects the compilation target of a device."""

from __future__ import annotations

from numbalite import _core, config
from numbalite.runtime import devices  # noqa: F401  (importing devices sets how the driver is opened)

SIMULATOR = ("sim",)
_CAPABILITY = 75, 76  # CUdevice_attribute


def target_of(device: int) -> tuple:
    """Returns the target of a device: ("cuda", major, minor), or ("sim",)."""
    if _core.driver_has("host_code"):
        return SIMULATOR
    return ("cuda", *(_core.device_attribute(device, n) for n in _CAPABILITY))


def image_target(target: tuple, debug: bool) -> tuple:
    """Returns the target of an image for a launch by the calling thread.

    On the simulator, the target includes the active checks of this thread. ``debug`` is True if the source was defined with
    debug=True.
    """
    if target != SIMULATOR:
        return target
    return (*target, *config.check_names(_core.image_checks(debug)))


def current_device() -> int:
    return _core.current_device()
