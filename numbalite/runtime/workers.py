"""Assigns a device to each worker of dask.distributed.

By default, every process uses device 0. `DevicePerWorker` sets the default device of each worker.
`warn_of_shared_device` issues a warning in a worker that shares device 0 by default.
"""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

from distributed import Status, WorkerPlugin, get_worker

from numbalite import _core, config
from numbalite.errors import PerformanceWarning, warn
from numbalite.runtime import devices

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_here: dict[
    str, Any
] = {}  # "worker": the worker of this process that has a device; "warned": whether the warning was issued


class DevicePerWorker(WorkerPlugin):
    """A plug-in of dask.distributed: worker number i uses device i of its machine.

        client.register_plugin(DevicePerWorker())

    The number i is the worker's name, or the digits at its end after - or _, which is how LocalCluster,
    dask-jobqueue and `dask worker --name gpu --nworkers 4` name workers. If there are more workers than
    devices, workers share devices. `choose(worker)`, if passed, returns the device number of the worker
    instead. Workers must be processes:
    two workers that are threads of one process raise RuntimeError.
    """

    name = "numbalite-device-per-worker"

    def __init__(self, choose: Callable[[Any], int] | None = None) -> None:
        self.choose = choose

    def setup(self, worker: Any) -> None:
        """Called by distributed in each worker."""
        other = _here.get("worker", worker)
        if other is not worker and other.status not in (Status.closed, Status.failed):
            raise RuntimeError(
                f"the workers {other.name} and {worker.name} are threads of one process, which has one "
                "default device: make them processes (processes=True)"
            )
        _here["worker"] = worker
        choose = self.choose or (lambda worker: number_in_name(worker.name) % len(devices.gpus))
        devices.set_default_device(choose(worker))


def number_in_name(name: Any) -> int:
    """Returns the number at the end of a worker's name: the whole name, or the part after the last - or _;
    raises ValueError if there is no number."""
    found = re.fullmatch(r"(?:.*[-_])?(\d+)", str(name))
    if found is None:
        raise ValueError(
            f"the worker's name, {str(name)!r}, has no number at its end: name the workers "
            "(dask worker --name gpu --nworkers 2), or pass a function that returns the device of a worker: "
            "DevicePerWorker(lambda worker: ...)"
        )
    return int(found[1])


def warn_of_shared_device(device: int) -> None:
    """Warns once in a worker that uses device 0 of several by default. Called when a kernel is first loaded
    on a device."""
    if "warned" in _here or device != 0 or len(devices.gpus) < 2 or _is_device_selected():
        return
    try:
        worker = get_worker()
    except ValueError:  # no task of a worker
        return
    _here["warned"] = True
    warn(
        f"worker {worker.name} uses device 0 of {len(devices.gpus)}, as every worker does that was not told "
        "another: client.register_plugin(numbalite.runtime.workers.DevicePerWorker()) gives each its own",
        PerformanceWarning,
    )


def _is_device_selected():
    """Returns whether a device was selected for the process or the thread. (dask-cuda selects a device by
    moving it to the first position in CUDA_VISIBLE_DEVICES.)"""
    return (
        devices.default_is_chosen
        or _core.selected_device() is not None
        or "DEVICE" in vars(config)
        or "NUMBALITE_DEVICE" in dict(config.describe())
        or "dask_cuda" in sys.modules
    )
