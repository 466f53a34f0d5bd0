"""What to compile for: the target of a device."""

from __future__ import annotations

from numbalite import _core, config
from numbalite.runtime import devices  # noqa: F401  (sets how the driver is opened)

SIMULATOR = ("sim",)
_CAPABILITY = 75, 76  # CUdevice_attribute


def target_of(device: int) -> tuple:
    """What to compile for: ("cuda", major, minor), or ("sim",)."""
    if _core.driver_has("host_code"):
        return SIMULATOR
    return ("cuda", *(_core.device_attribute(device, n) for n in _CAPABILITY))


def image_target(target: tuple, debug: bool) -> tuple:
    """What to compile a source for that the calling thread is about to launch: on the simulator the checks of
    this thread are a part of it. ``debug``: the source is of debug=True."""
    if target != SIMULATOR:
        return target
    return (*target, *config.check_names(_core.image_checks(debug)))


def current_device() -> int:
    return _core.current_device()
