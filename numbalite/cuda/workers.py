"""Exports the plug-in that assigns a device to each worker of a Dask cluster."""

from __future__ import annotations

from numbalite.runtime.workers import DevicePerWorker

__all__ = ["DevicePerWorker"]
