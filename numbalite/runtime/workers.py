"""A device for each worker of dask.distributed.

Without being told, every process uses device 0. `DevicePerWorker` tells the workers of a cluster;
`tell_of_sharing` warns in a worker that nobody told.
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
] = {}  # "worker": that of this process, once it has a device; "told": of sharing


class DevicePerWorker(WorkerPlugin):
    """A plug-in: the worker with number i uses device i of its machine.

        client.register_plugin(DevicePerWorker())

    The number is the worker's name, or what its name ends in after - or _, as LocalCluster, dask-jobqueue
    and `dask worker --name gpu --nworkers 4` have them; with more workers than devices they share.
    Otherwise `choose(worker)` says the number of the device. Workers must be processes, not threads of one.
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
        choose = self.choose or (lambda worker: number_of(worker.name) % len(devices.gpus))
        devices.set_default_device(choose(worker))


def number_of(name: Any) -> int:
    """The number in a worker's name."""
    found = re.fullmatch(r"(?:.*[-_])?(\d+)", str(name))
    if found is None:
        raise ValueError(
            f"the worker's name, {str(name)!r}, has no number at its end: name the workers "
            "(dask worker --name gpu --nworkers 2), or say which device is whose: "
            "DevicePerWorker(lambda worker: ...)"
        )
    return int(found[1])


def tell_of_sharing(device: int) -> None:
    """Called when a kernel is first loaded on a device: warns, once, in a worker that uses the first of
    several devices because nobody has said another."""
    if "told" in _here or device != 0 or len(devices.gpus) < 2 or _is_chosen():
        return
    try:
        worker = get_worker()
    except ValueError:  # no task of a worker
        return
    _here["told"] = True
    warn(
        f"worker {worker.name} uses device 0 of {len(devices.gpus)}, as every worker does that was not told "
        "another: client.register_plugin(numbalite.runtime.workers.DevicePerWorker()) gives each its own",
        PerformanceWarning,
    )


def _is_chosen():
    """Has somebody said which device this process, or this thread, is to use? (dask-cuda does so by the
    order of CUDA_VISIBLE_DEVICES.)"""
    return (
        devices.default_is_chosen
        or _core.selected_device() is not None
        or "DEVICE" in vars(config)
        or "NUMBALITE_DEVICE" in dict(config.describe())
        or "dask_cuda" in sys.modules
    )
