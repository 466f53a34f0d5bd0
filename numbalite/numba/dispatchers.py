"""Exports numba.core.dispatcher, numba.core.registry and numba.cuda.dispatcher: the classes of jit's and
cuda.jit's results."""

from __future__ import annotations

from abc import ABC
from typing import Any

from numbalite.cpu.jit import HostDispatcher as CPUDispatcher
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.dispatcher import Dispatcher as KernelDispatcher
from numbalite.numba import names

__all__ = ["CPUDispatcher", "CUDADispatcher", "Dispatcher", "HostFunc"]

HostFunc = CPUDispatcher


class Dispatcher(ABC):  # noqa: B024
    """isinstance() is true for functions of jit, kernels and device functions."""


class CUDADispatcher(Dispatcher):
    """isinstance() is true for kernels and device functions."""


CUDADispatcher.register(KernelDispatcher)
CUDADispatcher.register(DeviceFunction)
Dispatcher.register(CPUDispatcher)


def __getattr__(name: str) -> Any:
    raise AttributeError(names.missing_name("numba.core.dispatcher", name))
