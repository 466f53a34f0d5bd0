"""Compiles a source when needed, once for each target, and loads the images, once for each device."""

from __future__ import annotations

import sys
from _thread import RLock
from typing import TYPE_CHECKING, Any

from numbalite.compilers import (
    Source,
    asserts,
    compile_source,
    image_origin,
    issue_image_warnings,
    stoppable,
)
from numbalite.errors import CompileError, CudaAPIError
from numbalite.kernels import fault
from numbalite.kernels.targets import current_device, image_target, target_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numbalite.compilers import Image

# CUresult: invalid image, no binary for the GPU, invalid or unsupported PTX, invalid source
_REFUSED = (200, 209, 218, 222, 300)

printing: set = set()
"""Devices on which kernels with printf are loaded: their output appears when the host waits for them."""


class Images:
    """The images of a Source, and the modules that were loaded from these images.

    ``explain`` converts a CompileError to the exception for the user. ``pointers`` are the device arrays that
    the source captures: name expression of a variable -> (name, array). Loading a module stores the views of
    these arrays in the variables.
    """

    def __init__(self, source: Source, explain=None, pointers=None):
        if source.has_checks:
            source = source.replace(variables=(*source.variables, fault.VARIABLE))
        self.source = source
        self.pointers = dict(pointers or {})
        self.explain = explain
        self.compiled: dict[Any, Image] = {}  # target -> Image
        self.loaded: dict[Any, Any] = {}  # device -> _core.Module
        self.reported: set = set()  # the Slips whose warnings were already issued
        self.others: Callable[[], Iterable[Source]] = tuple
        """Returns the sources of the same function for its other signatures."""
        self.lock = RLock()

    def image(self, target=None):
        """Returns the compiled Image for a target, or for the current device."""
        if target is None:
            target = target_of(current_device())
        with self.lock:
            image = self.compiled.get(target)
            if image is None:
                image = self.compiled[target] = self._compile_first(target)
            return image

    def _compile_first(self, target, again=False):
        """Returns the Image to load. On the simulator, the image is compiled with the active checks of the
        calling thread.

        Errors in the source are reported as without checks.
        """
        chosen = image_target(target, self.source.debug)
        if chosen != target:
            try:
                return self._warn_of_slips(compile_source(self.source, chosen, again), chosen)
            except CompileError:
                pass
        return self.compile(target, again=again)

    def _warn_of_slips(self, image, target):
        """Issues warnings for the probable mistakes in an image, and returns the image. Raises an exception
        if a warning filter requests exceptions."""
        if image.slips:
            issue_image_warnings(image, target, self.others, self.reported)
            self.reported.update(image.slips)
        return image

    def compile(self, target, again=False):
        """Compiles for a target without storing the image in this object. With ``again=True``, the cached image
        is ignored."""
        try:
            image = compile_source(self.source, target, again)
        except CompileError as problem:
            if self.explain is None:
                raise
            explained = self.explain(problem)
        else:
            return self._warn_of_slips(image, target)
        raise explained

    def module(self, device):
        """Returns the module loaded on a device, which must be current."""
        with self.lock:
            module = self.loaded.get(device)
            if module is None or not _is_module_alive(module):
                module = self._load_image(target_of(device))
                self._store_array_views(module, device)
                self.loaded[device] = module
                _warn_workers(device)
                if "printf" in self.source.text:
                    printing.add(device)
            return module

    def _load_image(self, target):
        """Loads the image. If the driver rejects the image, compiles the source once more, because the cached
        image may be invalid for this device.
        """
        try:
            return _load_module(self.image(target))
        except (ValueError, CudaAPIError) as problem:
            if isinstance(problem, CudaAPIError) and problem.code not in _REFUSED:
                raise
            where = image_origin(self.source, image_target(target, self.source.debug))
            refused = self.compiled.pop(target)
            fresh = self._compile_first(target, again=True)
            if fresh.data == refused.data:
                raise type(problem)(
                    *_named_error_arguments(problem, f"{self.source.name}, from {where}")
                ) from None
        self.compiled[target] = fresh
        return _load_module(fresh)

    def _store_array_views(self, module, device):
        """Stores the views of the captured device arrays in the module's variables, with the layout of array<...>."""
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
                # raises an error if the device was reset meanwhile
                array._view((1,), (1,), np.uint8)._read(np.empty(1, np.uint8))
            view = module.variable(lowered[variable], np.int64, None)
            view.copy_to_device(_array_fields(array))
        module.kept = tuple(
            self.pointers.values()
        )  # graphs keep references to modules, not to Images

    @property
    def is_loaded(self) -> bool:
        return bool(self.loaded)


def _load_module(image):
    from numbalite import _core

    if not image.stop and not image.catches:
        return _core.Module(image.data)
    records = stoppable.RECORD if image.stop else "", asserts.RECORD if image.catches else ""
    return _core.Module(image.data, (*records, image.stop or b""))


def _warn_workers(device):
    """Warns if workers of dask.distributed share a device by default."""
    if "distributed" in sys.modules:
        from numbalite.runtime import workers

        workers.warn_of_shared_device(device)


def _array_fields(array):
    """Returns the fields of a C++ array<...> as a NumPy array of int64: address, shape, strides."""
    import numpy as np

    interface = array.__cuda_array_interface__
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is None:
        strides, step = [], np.dtype(interface["typestr"]).itemsize
        for n in reversed(shape):
            strides.insert(0, step)
            step *= n
    return np.array([interface["data"][0], *shape, *strides], np.uint64).view(np.int64)


def _named_error_arguments(problem, what):
    """Returns the arguments of an exception about an image; the message begins with the image's name."""
    if isinstance(problem, CudaAPIError):
        return problem.code, f"{what}: {problem.message}", problem.call
    return (f"{what}: {problem}",)


def _is_module_alive(module):
    return getattr(module, "alive", True)
