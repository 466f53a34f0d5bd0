"""The plug-in that gives each worker of a Dask cluster a device of its own."""

from __future__ import annotations

from numbalite.runtime.workers import DevicePerWorker

__all__ = ["DevicePerWorker"]
