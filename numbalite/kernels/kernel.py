"""Defines a compiled kernel: its images, parameters and resource usage."""

from __future__ import annotations

import operator
from math import prod
from types import SimpleNamespace

from numbalite import frontend
from numbalite.cxx import readable
from numbalite.cxx.capture import ascii_name
from numbalite.errors import KernelError
from numbalite.kernels import fault
from numbalite.kernels.images import Images
from numbalite.kernels.targets import current_device, target_of

# CUfunction_attribute
MAX_THREADS_PER_BLOCK, SHARED_SIZE, CONST_SIZE, LOCAL_SIZE, NUM_REGISTERS = range(5)
CARVEOUT = 9
# CUdevice_attribute
MULTIPROCESSOR_COUNT = 16
SHARED_MEMORY_OF_BLOCK = 97  # MAX_SHARED_MEMORY_PER_BLOCK_OPTIN


class Kernel:
    """A kernel for one list of argument types, an overload of its Dispatcher; numba's ``_Kernel``.

    ``images`` are the Images of its source, or a function that returns these Images, if another source may
    replace the kernel's source. ``parameters`` are Parameter rows, or a function that returns the rows for an
    image.
    """

    is_python = False
    """Whether the kernel's source has a Python body."""
    exceptions: dict = {}  # noqa: RUF012
    """The exceptions that a Python body may raise (fault.py)."""
    variables: dict = {}  # noqa: RUF012
    """The types of its variables, with a Python body."""

    def __init__(self, images, expression, name, parameters, options, signature=None, labels=()):
        self._images = images
        self.expression = expression
        self.name = name
        self._parameters = parameters
        self.options = options
        self.signature = signature
        self.labels = labels
        self._kernels = {}  # device -> _core.Kernel

    @property
    def images(self) -> Images:
        return self._images() if callable(self._images) else self._images

    @property
    def parameters(self):
        """The Parameter of each parameter of the kernel."""
        if callable(self._parameters):
            self._parameters = self._parameters(self.images.image())
        return self._parameters

    def compile(self):
        """Compiles the kernel for the current device, unless it is compiled already."""
        self.images.image()

    @property
    def entry_name(self) -> str:
        """The kernel's symbol in the compiled code."""
        return self.images.image().lowered[self.expression]

    def load(self, device=None):
        """Returns the _core.Kernel on a device, which must be current; loads the kernel if necessary."""
        if device is None:
            device = current_device()
        with self.images.lock:
            kernel = self._kernels.get(device)
            if kernel is None or kernel.module is not self.images.module(device):
                kernel = self._kernels[device] = self._load_on_device(device)
            return kernel

    @property
    def loaded(self) -> list:
        """Returns the _core.Kernels of the devices on which this kernel is loaded."""
        return list(self._kernels.values())

    def _load_on_device(self, device):
        module = self.images.module(device)
        image = self.images.image(target_of(device))
        hook = None
        if self.images.source.has_checks:
            hook = image.lowered[fault.VARIABLE], self._raise_fault
        kernel = module.function(
            image.lowered[self.expression], self.name, list(self.parameters), hook
        )
        if self.options.shared_memory_carveout is not None:
            kernel.set_attribute(CARVEOUT, self.options.shared_memory_carveout)
        return kernel

    def _raise_fault(self, record, kernels, arrays):
        """Raises KernelError for a fault record, or the exception that the kernel raised.

        kernels: names of the kernels that may have written the fault record; arrays: their array arguments
        (fault.name_array).
        """
        found = fault.decode_record(record)
        fault.name_array(found, arrays)
        name = " or ".join(dict.fromkeys(kernels))
        where = found["file"]
        for label in self.labels:
            if where and label.endswith(where):
                where = label
        line = found["line"] or None
        raised = fault.fault_exception(found, self.exceptions, where)
        if raised is not None:
            raise raised
        place = f"{where}({line}): " if where and line else ""
        raise KernelError(
            place + fault.fault_message(found, name),
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

    # --- resource usage

    regs_per_thread = property(lambda self: self.load().attribute(NUM_REGISTERS))
    const_mem_size = property(lambda self: self.load().attribute(CONST_SIZE))
    shared_mem_per_block = property(lambda self: self.load().attribute(SHARED_SIZE))
    local_mem_per_thread = property(lambda self: self.load().attribute(LOCAL_SIZE))
    max_threads_per_block = property(lambda self: self.load().attribute(MAX_THREADS_PER_BLOCK))
    cooperative = property(lambda self: bool(self.options.cooperative))

    def occupancy(self, block, shared=0) -> int:
        """Returns the number of resident blocks of ``block`` threads (an int or a tuple) per
        multiprocessor."""
        threads = block_threads(block)
        if not hasattr(shared, "__index__"):
            raise TypeError(f"shared is bytes of dynamic shared memory, an integer, not {shared!r}")
        return self.load().occupancy(threads, operator.index(shared))

    def max_cooperative_grid_blocks(self, blockdim, dynsmemsize=0) -> int:
        """Returns the maximum number of blocks of a cooperative launch, because all must be resident on the
        device."""
        from numbalite import _core

        count = _core.device_attribute(current_device(), MULTIPROCESSOR_COUNT)
        return self.occupancy(blockdim, dynsmemsize) * count

    @property
    def _type_annotation(self):
        """An object like numba's `type_annotation`, with the types of the parameters."""
        return SimpleNamespace(typemap=dict(self.variables), signature=self.signature)

    def inspect_source(self) -> str:
        text = self.images.source.text
        return readable.readable_source(text, ascii_name(self.name)) if self.is_python else text

    def inspect_asm(self) -> str:
        from numbalite.kernels import inspection

        return inspection.ptx_text(self.images)

    def inspect_sass(self) -> str:
        from numbalite.kernels import inspection

        return inspection.sass_text(self.images)

    _repr_html_ = frontend.html_method("overload")

    def __repr__(self):
        return f"<compiled kernel {self.name}: {self.signature or self.expression}>"


def block_threads(block) -> int:
    """Returns the number of threads in a block, from an int or a tuple."""
    dims = block if isinstance(block, (tuple, list)) else (block,)
    if not 1 <= len(dims) <= 3 or not all(hasattr(n, "__index__") for n in dims):
        raise TypeError(f"a block is its number of threads, or a tuple of 1 to 3, not {block!r}")
    return prod(operator.index(n) for n in dims)
