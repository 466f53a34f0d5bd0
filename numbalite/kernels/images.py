"""The images of a source: compiled when they are needed, once for each kind of device, and loaded once for
each device."""

from __future__ import annotations

import sys
from _thread import RLock
from typing import TYPE_CHECKING, Any

from numbalite.compilers import Source, asserts, compile_source, origin, stoppable, warn_of
from numbalite.errors import CompileError, CudaAPIError
from numbalite.kernels import fault
from numbalite.kernels.targets import current_device, image_target, target_of

if TYPE_CHECKING:
    from numbalite.compilers import Image

# CUresult: invalid image, no binary for the GPU, invalid or unsupported PTX, invalid source
_REFUSED = (200, 209, 218, 222, 300)

printing: set = set()
"""Devices that kernels with printf have been loaded on: their text comes out when one waits for them."""


class Images:
    """The images of a Source, and the modules that were loaded from them.

    ``explain`` turns a CompileError into the one that the user sees. ``pointers`` are the device arrays that the
    source names: name expression of a variable -> (name, array). Loading a module writes the views of these arrays
    into the variables.
    """

    def __init__(self, source: Source, explain=None, pointers=None):
        if source.has_checks:
            source = source.replace(variables=(*source.variables, fault.VARIABLE))
        self.source = source
        self.pointers = dict(pointers or {})
        self.explain = explain
        self.compiled: dict[Any, Image] = {}  # target -> Image
        self.loaded: dict[Any, Any] = {}  # device -> _core.Module
        self.reported: set = set()  # the Slips that were warned of
        self.lock = RLock()

    def image(self, target=None):
        """The image for a target, or for the current device."""
        if target is None:
            target = target_of(current_device())
        with self.lock:
            image = self.compiled.get(target)
            if image is None:
                image = self.compiled[target] = self._first(target)
            return image

    def _first(self, target, again=False):
        """The image to load: on the simulator for the checks of this thread, which is likely to launch it.
        Mistakes of the source are told as they are without checks."""
        chosen = image_target(target, self.source.debug)
        if chosen != target:
            try:
                return self._warned(compile_source(self.source, chosen, again))
            except CompileError:
                pass
        return self.compile(target, again=again)

    def _warned(self, image):
        """The image, after warnings of its slips: a filter may make errors of them."""
        if image.slips:
            warn_of(image, self.reported)
            self.reported.update(image.slips)
        return image

    def compile(self, target, again=False):
        """Compiles for a target without keeping the image; ``again``: whatever the cache has."""
        try:
            image = compile_source(self.source, target, again)
        except CompileError as problem:
            if self.explain is None:
                raise
            explained = self.explain(problem)
        else:
            return self._warned(image)
        raise explained

    def module(self, device):
        """The module loaded on a device, which must be the current one."""
        with self.lock:
            module = self.loaded.get(device)
            if module is None or not _is_alive(module):
                module = self._load(target_of(device))
                self._fill(module, device)
                self.loaded[device] = module
                _tell_workers(device)
                if "printf" in self.source.text:
                    printing.add(device)
            return module

    def _load(self, target):
        """Loads the image. One that the driver does not take is compiled anew, once: what the cache had
        under the right name may have been made for something else."""
        try:
            return _module(self.image(target))
        except (ValueError, CudaAPIError) as problem:
            if isinstance(problem, CudaAPIError) and problem.code not in _REFUSED:
                raise
            where = origin(self.source, image_target(target, self.source.debug))
            refused = self.compiled.pop(target)
            fresh = self._first(target, again=True)
            if fresh.data == refused.data:
                raise type(problem)(*_told(problem, f"{self.source.name}, from {where}")) from None
        self.compiled[target] = fresh
        return _module(fresh)

    def _fill(self, module, device):
        """The views of the device arrays that the source names, as array<...> has them."""
        if not self.pointers:
            return
        import numpy as np

        lowered = self.compiled[target_of(device)].lowered
        for variable, (name, array) in self.pointers.items():
            at = getattr(array, "device", device)
            if isinstance(at, int) and at != device:
                raise ValueError(
                    f"{self.source.name}: the source names {name}, an array on device {at}, "
                    f"and is launched on device {device}: pass an array as an argument"
                )
            if hasattr(array, "_read") and array.size:
                # raises where the device has been reset since
                array._view((1,), (1,), np.uint8)._read(np.empty(1, np.uint8))
            view = module.variable(lowered[variable], np.int64, None)
            view.copy_to_device(_view_of(array))
        module.kept = tuple(self.pointers.values())  # graphs keep modules, not Images

    @property
    def is_loaded(self) -> bool:
        return bool(self.loaded)


def _module(image):
    from numbalite import _core

    if not image.stop and not image.catches:
        return _core.Module(image.data)
    records = stoppable.RECORD if image.stop else "", asserts.RECORD if image.catches else ""
    return _core.Module(image.data, (*records, image.stop or b""))


def _tell_workers(device):
    """Workers of dask.distributed are told when they share a device without meaning to."""
    if "distributed" in sys.modules:
        from numbalite.runtime import workers

        workers.tell_of_sharing(device)


def _view_of(array):
    """The words of an array<...>: address, shape, strides."""
    import numpy as np

    interface = array.__cuda_array_interface__
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is None:
        strides, step = [], np.dtype(interface["typestr"]).itemsize
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    return np.array([interface["data"][0], *shape, *strides], np.uint64).view(np.int64)


def _told(problem, what):
    """The arguments of an exception about an image, with the image named."""
    if isinstance(problem, CudaAPIError):
        return problem.code, f"{what}: {problem.message}", problem.call
    return (f"{what}: {problem}",)


def _is_alive(module):
    return getattr(module, "alive", True)
