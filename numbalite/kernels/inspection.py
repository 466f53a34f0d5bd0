"""Returns PTX and machine code of kernels as text."""

from __future__ import annotations

from numbalite import config
from numbalite.compilers import disassembler
from numbalite.errors import CudaSupportError
from numbalite.kernels.targets import current_device, target_of

_TOOLS = (("nvdisasm", ["-hex", "-c"]), ("cuobjdump", ["-sass"]))


def gpu_target() -> tuple:
    """Returns the current GPU's target. Without a GPU, returns a common target, so that code can be inspected
    on any machine."""
    try:
        target = target_of(current_device())
    except CudaSupportError:  # no driver
        target = ("sim",)
    if target[0] == "cuda":
        return target
    return ("cuda", *(config.FORCE_CUDA_CC or (9, 0)))


def ptx_text(images) -> str:
    """Returns the PTX of a kernel's or module's Images. On the simulator, NVRTC compiles the PTX for this
    call, if installed."""
    image = images.image(gpu_target())
    return (image.ptx or b"").decode()


def sass_text(images) -> str:
    """Returns the machine code of Images, disassembled by a tool of the CUDA toolkit."""
    image = images.image(gpu_target())
    if image.kind != "cubin":
        raise CudaSupportError(
            "no machine code is available: NVRTC compiled to PTX, because this GPU is newer than NVRTC"
        )
    for name, options in _TOOLS:
        path = disassembler.find_tool(name)
        if path is not None:
            return disassembler.run_tool(path, options, image.data)
    raise CudaSupportError(
        "inspect_sass needs nvdisasm or cuobjdump, and neither was found: install the CUDA toolkit, or "
        "pip install nvidia-cuda-nvcc nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"
    )
