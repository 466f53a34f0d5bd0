"""Loads kernels and ufuncs as new modules, and measures the time of one call."""

from __future__ import annotations

import time
from typing import Any

from numbalite import cuda
from numbalite.kernels.dispatcher import Dispatcher, ExtendedDispatcher
from numbalite.kernels.module import Module, ModuleSource
from numbalite.ufuncs.cudagufunc import CudaGUfunc
from numbalite.ufuncs.cudaufunc import CudaUfunc


def solution_kind(solution: Any) -> str:
    """ "kernel", "ufunc" or "". Tests the type itself, because a class can override `__class__` of its
    instances."""
    if type(solution) in (Dispatcher, ExtendedDispatcher):
        return "kernel"
    return "ufunc" if type(solution) in (CudaUfunc, CudaGUfunc) else ""


def reload_solution(solution: Any) -> Any:
    """Returns the same kernel or ufunc in a new module, in which variables have their initial values. A
    Python function is returned unchanged."""
    if not solution_kind(solution):
        return solution
    reduce: Any = type(solution).__reduce__
    make, arguments, *_ = reduce(solution)
    if isinstance(solution, Dispatcher) and isinstance(arguments[1], ModuleSource):
        kind, source, given = arguments
        arguments = kind, _reloaded_source(source), given
    return make(*arguments)


def _reloaded_source(source):
    """Returns the source of a kernel of a complete CUDA C++ source, which is compiled to another module."""
    make, (module, *rest) = ModuleSource.__reduce__(source)
    make_module, parts = Module.__reduce__(module)
    return make(make_module(*parts), *rest)


def time_one_call(f: Any) -> tuple[Any, float]:
    """Returns (result, seconds) of one call, after the device is done: measured by events if the result is on
    a GPU, otherwise by the clock."""
    start, end = cuda.event(), cuda.event()
    cuda.synchronize()
    begin = time.perf_counter()
    start.record()
    result = f()
    end.record()
    cuda.synchronize()
    seconds = time.perf_counter() - begin
    if is_on_device(result) and not cuda.is_simulated():
        seconds = cuda.event_elapsed_time(start, end) / 1e3
    return result, seconds


def is_on_device(result: Any) -> bool:
    """Returns whether the call left its results on the device that computed them."""
    if isinstance(result, (tuple, list)):
        return all(map(is_on_device, result))
    return result is None or cuda.is_cuda_array(result)
