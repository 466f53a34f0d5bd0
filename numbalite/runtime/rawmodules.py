"""Implements modules loaded from an image, and occupancy, with the names of numba's Context.

Most programs use `cuda.module` and `cuda.jit`; this module is for programs that have PTX or a cubin.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core, required, types
from numbalite.runtime.attributes import NUMBERS
from numbalite.runtime.pointers import MemoryPointer
from numbalite.types import signatures
from numbalite.types.describe import Parameter

if TYPE_CHECKING:
    from typing import Any


class FuncAttr(NamedTuple):
    """The driver's attributes of a kernel."""

    regs: int
    shared: int
    local: int
    const: int
    maxthreads: int


class CudaPythonModule:
    """An image that is loaded on a device, from Context.create_module_image or create_module_ptx."""

    def __init__(self, context: Any, image: Any) -> None:
        self.context = context
        with context:
            self._module = _core.Module(image)
        self.handle = self._module

    def _require_module(self):
        if self._module is None:
            raise RuntimeError("the module has been unloaded")
        return self._module

    def get_function(self, name: str, signature: Any = None) -> Any:
        """Returns a kernel by its symbol.

        With a signature ("void(float32, int32[:])"; arrays are plain pointers to C-contiguous elements) the
        kernel can be launched: `function[grid, block](*args)`. A signature that does not match the kernel
        raises a RuntimeError. To count the parameters, drivers before CUDA 13.2 are queried for the
        parameter after the signature's last one: compute-sanitizer reports the failure of this query.
        """
        return CudaPythonFunction(self, name, signature)

    def get_global_symbol(self, name: str) -> Any:
        """Returns (MemoryPointer, size) of a __device__ or __constant__ variable."""
        with self.context:
            variable = self._require_module().variable(name, "u1", None)
        pointer = MemoryPointer(self.context, variable.address, variable.size, owner=variable)
        return pointer, variable.size

    def unload(self) -> Any:
        """Releases the module; the module stays loaded as long as its kernels and variables exist."""
        self.context.unload_module(self)


class CudaPythonFunction:
    """A kernel of a module."""

    def __init__(self, module: Any, name: str, signature: Any) -> None:
        required.require_kind(module, "CudaPythonFunction", "a module", CudaPythonModule)
        self.module = module
        self.name = name
        rows = _signature_rows(signature) if signature is not None else None
        with module.context:
            self.handle = module._require_module().function(name, name, rows, claimed=True)
        self._dispatcher = None
        if signature is not None:
            self._dispatcher = _core.Dispatcher(name, [row.name for row in rows], typed=True)  # type: ignore[union-attr]
            self._dispatcher._only(module.context.device.id, self.handle)

    @property
    def device(self) -> Any:
        return self.module.context.device

    @property
    def attrs(self) -> FuncAttr:
        read = self.handle.attribute
        return FuncAttr(
            regs=read(4), shared=read(1), local=read(3), const=read(2), maxthreads=read(0)
        )

    def set_shared_memory_carveout(self, carveout: int) -> Any:
        """Sets the percentage of the L1 cache that is used as shared memory; -1: the driver decides."""
        if not -1 <= int(carveout) <= 100:
            raise ValueError("Carveout must be between -1 and 100")
        self.handle.set_attribute(9, int(carveout))

    def __getitem__(self, configuration: Any) -> Any:
        if self._dispatcher is None:
            raise TypeError(
                f"the parameters of {self.name} are not known: get_function(name, signature)"
            )
        return self._dispatcher[configuration]

    def __repr__(self) -> str:
        return f"<CUDA function {self.name}>"


def _signature_rows(signature):
    parsed = signatures.parse(signature) if isinstance(signature, str) else signature
    required.require(parsed, "get_function", "a signature", "args")
    return [_parameter_row(f"p{i}", kind, types) for i, kind in enumerate(parsed.args)]


def _parameter_row(name, kind, types):
    if isinstance(kind, types.Scalar):
        size = kind.size
        return Parameter(name, "scalar", kind.cxx, kind.dtype.name, size, size, size, 0, "C", False)
    element = getattr(kind, "dtype", None)
    if not isinstance(element, types.Scalar):
        raise TypeError(f"{name}: a raw kernel accepts numbers and pointers, not {kind}")
    const = bool(getattr(kind, "readonly", False))
    ctype = f"{'const ' * const}{element.cxx} *"
    return Parameter(name, "pointer", ctype, element.dtype.name, element.size, 8, 8, 0, "C", const)


def load_module(context: Any, image: Any) -> Any:
    """Loads the image (bytes of a cubin, fatbin or PTX; a str is PTX) on the context's device."""
    if isinstance(image, str):
        image = image.encode()
    required.require_kind(
        image, "create_module_image", "bytes, or PTX as text", (bytes, bytearray, memoryview)
    )
    return CudaPythonModule(
        context, bytes(image).rstrip(b"\0") + b"\0" if _is_ptx_text(image) else image
    )


def _is_ptx_text(image):
    return re.match(rb"\s*(//|\.version)", bytes(image[:4096])) is not None


def _core_kernel(function):
    """Returns the _core.Kernel of an object that represents a kernel in this module."""
    for name in ("handle", "kernel"):
        found = getattr(function, name, None)
        if callable(found):
            found = found()
        if isinstance(found, _core.Kernel):
            return found
    if isinstance(function, _core.Kernel):
        return function
    overloads = getattr(function, "overloads", None)
    if isinstance(overloads, dict) and len(overloads) == 1:
        return _core_kernel(next(iter(overloads.values())))
    raise TypeError(f"a kernel is needed, not {type(function).__name__}")


def active_blocks(function: Any, block: Any, shared: int) -> int:
    """Returns the number of blocks of `block` threads and `shared` bytes that fit on a multiprocessor."""
    return _core_kernel(function).occupancy(int(block), int(shared))


def best_block(function: Any, shared_of_block: Any, shared: int, limit: int) -> tuple:
    """Returns (grid, block): the block with the best occupancy, and the grid that fills the
    device."""
    kernel = _core_kernel(function)
    if shared_of_block is None and not limit:
        return kernel.max_block_size(int(shared))
    count = _core.device_attribute(kernel.device, NUMBERS["MULTIPROCESSOR_COUNT"])
    most = min(kernel.attribute(0), limit or kernel.attribute(0))
    best = 0, 0, 0
    for block in range(most - most % 32 or most, 0, -32):
        bytes_of = int(shared) if shared_of_block is None else int(shared_of_block(block))
        blocks = kernel.occupancy(block, bytes_of)
        if blocks * block > best[0]:
            best = blocks * block, blocks * count, block
    return best[1], best[2]
