"""A unit that is compiled when it is needed, once for each kind of device, and loaded once for each
device; and the kernels in it."""

from __future__ import annotations

from _thread import RLock
from math import prod

from numbalite import frontend
from numbalite.compilers import Unit, compile_unit, origin
from numbalite.errors import CompileError, CudaAPIError, KernelError
from numbalite.kernels import fault
from numbalite.kernels.targets import current_device, image_target, target_of
from numbalite.text import readable
from numbalite.text.capture import ascii_name

# CUfunction_attribute
MAX_THREADS_PER_BLOCK, SHARED_SIZE, CONST_SIZE, LOCAL_SIZE, NUM_REGISTERS = range(5)
CARVEOUT = 9
# CUdevice_attribute
MULTIPROCESSOR_COUNT = 16
# CUresult: invalid image, no binary for the GPU, invalid or unsupported PTX, invalid source
_REFUSED = (200, 209, 218, 222, 300)

printing = set()
"""Devices that kernels with printf have been loaded on: their text comes out when one waits for them."""


class Program:
    """A Unit with its images and loaded modules.

    ``explain`` turns a CompileError into the one that the user sees. ``pointers``: device arrays that the
    source names, as views in variables that are filled when a module is loaded: name expression of the
    variable -> (name, array).
    """

    def __init__(self, unit: Unit, explain=None, pointers=None):
        if unit.has_checks:
            unit = unit.replace(variables=(*unit.variables, fault.VARIABLE))
        self.unit = unit
        self.pointers = dict(pointers or {})
        self.explain = explain
        self.images = {}  # target -> Image
        self.modules = {}  # device -> _core.Module
        self.lock = RLock()

    def image(self, target=None):
        """The image for a target, or for the current device."""
        if target is None:
            target = target_of(current_device())
        with self.lock:
            image = self.images.get(target)
            if image is None:
                image = self.images[target] = self._first(target)
            return image

    def _first(self, target, again=False):
        """The image to load: on the simulator for the checks of this thread, which is likely to launch it.
        Mistakes of the source are told as they are without checks."""
        chosen = image_target(target, self.unit.debug)
        if chosen != target:
            try:
                return compile_unit(self.unit, chosen, again)
            except CompileError:
                pass
        return self.compile(target, again=again)

    def compile(self, target, unit=None, again=False):
        """Compiles for a target without keeping the image; ``again``: whatever the cache has."""
        try:
            return compile_unit(unit or self.unit, target, again)
        except CompileError as problem:
            if self.explain is None:
                raise
            explained = self.explain(problem)
        raise explained

    def module(self, device):
        """The module loaded on a device, which must be the current one."""
        with self.lock:
            module = self.modules.get(device)
            if module is None or not _is_alive(module):
                module = self._load(target_of(device))
                self._fill(module, device)
                self.modules[device] = module
                if "printf" in self.unit.source:
                    printing.add(device)
            return module

    def _load(self, target):
        """Loads the image. One that the driver does not take is compiled anew, once: what the cache had
        under the right name may have been made for something else."""
        from numbalite import _core

        try:
            return _core.Module(self.image(target).data)
        except (ValueError, CudaAPIError) as problem:
            if isinstance(problem, CudaAPIError) and problem.code not in _REFUSED:
                raise
            where = origin(self.unit, image_target(target, self.unit.debug))
            refused = self.images.pop(target)
            fresh = self._first(target, again=True)
            if fresh.data == refused.data:
                raise type(problem)(*_told(problem, f"{self.unit.name}, from {where}")) from None
        self.images[target] = fresh
        return _core.Module(fresh.data)

    def _fill(self, module, device):
        """The views of the device arrays that the source names, as array<...> has them."""
        if not self.pointers:
            return
        import numpy as np

        lowered = self.images[target_of(device)].lowered
        for variable, (name, array) in self.pointers.items():
            at = getattr(array, "device", device)
            if isinstance(at, int) and at != device:
                raise ValueError(
                    f"{self.unit.name}: the source names {name}, an array on device {at}, "
                    f"and is launched on device {device}: pass an array as an argument"
                )
            if hasattr(array, "_read") and array.size:
                # raises where the device has been reset since
                array._view((1,), (1,), np.uint8)._read(np.empty(1, np.uint8))
            view = module.variable(lowered[variable], np.int64, None)
            view.copy_to_device(_view_of(array))
        module.kept = tuple(self.pointers.values())  # graphs keep modules, not programs

    @property
    def is_loaded(self) -> bool:
        return bool(self.modules)


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


class Overload:
    """A kernel for one list of argument types; numba's ``_Kernel``."""

    is_python = False
    """Has its kernel a Python body?"""
    exceptions: dict = {}  # noqa: RUF012
    """What its kernel may raise, with a Python body (fault.py)."""

    def __init__(self, program, expression, name, parameters, options, signature=None, labels=()):
        if program is not None:
            self.program = program
        self.expression = expression
        self.name = name
        self._parameters = parameters
        self.options = options
        self.signature = signature
        self.labels = labels
        self._kernels = {}  # device -> _core.Kernel

    @property
    def parameters(self):
        """The Parameter rows; for a unit they come from the compiled code."""
        if callable(self._parameters):
            self._parameters = self._parameters(self.program.image())
        return self._parameters

    def compile(self):
        """Compiles for the current device, if that has not been done."""
        self.program.image()

    @property
    def entry_name(self) -> str:
        """The symbol in the compiled code."""
        return self.program.image().lowered[self.expression]

    def kernel(self, device=None):
        """The _core.Kernel on a device, which must be the current one."""
        if device is None:
            device = current_device()
        with self.program.lock:
            kernel = self._kernels.get(device)
            if kernel is None or kernel.module is not self.program.module(device):
                kernel = self._kernels[device] = self._load(device)
            return kernel

    @property
    def loaded(self) -> list:
        """The _core.Kernels that there are so far."""
        return list(self._kernels.values())

    def _load(self, device):
        module = self.program.module(device)
        image = self.program.image(target_of(device))
        hook = None
        if self.program.unit.has_checks:
            hook = image.lowered[fault.VARIABLE], self._fault
        kernel = module.function(
            image.lowered[self.expression], self.name, list(self.parameters), hook
        )
        if self.options.shared_memory_carveout is not None:
            kernel.set_attribute(CARVEOUT, self.options.shared_memory_carveout)
        return kernel

    def _fault(self, record, kernels, arrays):
        """Raises KernelError for a record, or the kernel's own exception. kernels: names of those that may have left it; arrays: what they
        were given (fault.name_array)."""
        found = fault.decode(record)
        fault.name_array(found, arrays)
        name = " or ".join(dict.fromkeys(kernels))
        where = found["file"]
        for label in self.labels:
            if where and label.endswith(where):
                where = label
        line = found["line"] or None
        raised = fault.exception(found, self.exceptions, where)
        if raised is not None:
            raise raised
        place = f"{where}({line}): " if where and line else ""
        raise KernelError(
            place + fault.message(found, name),
            kernel=name,
            block=found["block"],
            thread=found["thread"],
            array=found.get("array") or None,
            index=found.get("index"),
            file=where or None,
            line=line,
            others=found["others"],
            address=found.get("address"),
            kind={"index": "memory", "assert": "assert"}.get(found["kind"]),
        )

    # --- what the compiler made of it

    regs_per_thread = property(lambda self: self.kernel().attribute(NUM_REGISTERS))
    const_mem_size = property(lambda self: self.kernel().attribute(CONST_SIZE))
    shared_mem_per_block = property(lambda self: self.kernel().attribute(SHARED_SIZE))
    local_mem_per_thread = property(lambda self: self.kernel().attribute(LOCAL_SIZE))
    max_threads_per_block = property(lambda self: self.kernel().attribute(MAX_THREADS_PER_BLOCK))
    cooperative = property(lambda self: bool(self.options.cooperative))

    def occupancy(self, block, shared=0) -> int:
        """How many blocks of ``block`` threads (an int or a tuple) a multiprocessor holds at once."""
        threads = threads_of(block)
        if not hasattr(shared, "__index__"):
            raise TypeError(f"shared is bytes of dynamic shared memory, an integer, not {shared!r}")
        return self.kernel().occupancy(threads, shared.__index__())

    def max_cooperative_grid_blocks(self, blockdim, dynsmemsize=0) -> int:
        """The most blocks of a cooperative launch: as many as the device holds at once."""
        from numbalite import _core

        count = _core.device_attribute(current_device(), MULTIPROCESSOR_COUNT)
        return self.occupancy(blockdim, dynsmemsize) * count

    def inspect_source(self) -> str:
        source = self.program.unit.source
        if self.is_python:
            return readable.readable(source, ascii_name(self.name))
        return source

    def inspect_asm(self) -> str:
        from numbalite.kernels import inspection

        return inspection.ptx(self.program)

    def inspect_sass(self) -> str:
        from numbalite.kernels import inspection

        return inspection.sass(self.program)

    _repr_html_ = frontend.picture("overload")

    def __repr__(self):
        return f"<compiled kernel {self.name}: {self.signature or self.expression}>"


def threads_of(block) -> int:
    """The threads in a block given as an int or a tuple."""
    dims = block if isinstance(block, (tuple, list)) else (block,)
    if not 1 <= len(dims) <= 3 or not all(hasattr(n, "__index__") for n in dims):
        raise TypeError(f"a block is its number of threads, or a tuple of 1 to 3, not {block!r}")
    return prod(n.__index__() for n in dims)
