"""Gathers and scatters elements by arrays of indices, with one kernel (cuda_src/templates/gather.cu).

C code plans the copies and launches the kernel (cext/py/gather.c).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from numbalite import _core
from numbalite.errors import KernelError
from numbalite.ndarray import assign, copyplan

if TYPE_CHECKING:
    from typing import Any

MODES = {"raise": 0, "wrap": 1, "clip": 2}


class AxisIndex(NamedTuple):
    """An index array for one axis of the indexed array."""

    array: Any
    """On the device, int32 or int64, of one dtype in a call."""
    strides: tuple[int, ...]
    """Its strides, in the shape of the result."""
    length: int
    step: int
    """The stride of the axis, in bytes."""


def gather(
    source: Any, of: Any, target: Any, to: Any, shape: Any, indices: Any, mode: int, stream: Any
) -> None:
    """target = source[indices]; `of` and `to` are the strides of source and target along the axes of the
    index arrays."""
    _gather_or_scatter(source, of, target, to, shape, indices, mode, False, stream)


def scatter(
    source: Any, of: Any, target: Any, to: Any, shape: Any, indices: Any, mode: int, stream: Any
) -> None:
    """target[indices] = source. If an index occurs twice, the stored value is undefined; the simulator
    reports repeated indices."""
    try:
        _gather_or_scatter(source, of, target, to, shape, indices, mode, True, stream)
    except KernelError as error:
        if error.kind != "race":
            raise
        raise KernelError(
            "assignment by an array of indices: an element is written several times, with different values, and a "
            "GPU may leave any of them (NumPy leaves the last): use each index once, or call np.add.at",
            kind="race",
        ) from error


def _gather_or_scatter(source, of, target, to, shape, indices, mode, scatters, stream):
    if not indices:
        assign.copy_elements(
            source._view_with_layout(shape, of), target._view_with_layout(shape, to), stream
        )
        return
    with assign.on_device(target.device):
        _core.gather(source, of, target, to, shape, indices, mode, scatters, stream)


def kernel_source(count: int, is_checked: bool) -> str:
    """Returns the kernel source for `count` index arrays. Only the simulator checks indices: on a
    GPU, a failed assertion would destroy the context."""
    from numbalite.compilers import templates

    every = range(count)
    return templates.fill_template(
        "gather",
        parameters=", ".join(
            f"array<const I, D> i{k}, long long length{k}, long long step{k}" for k in every
        ),
        offsets=", ".join(f"o{k} = 0" for k in every),
        steps=" ".join(f"o{k} += k * i{k}.strides[d];" for k in every),
        places=" + ".join(
            f"checked_offset<Mode>(*(const I *)((const char *)i{k}.data() + o{k}), length{k}, step{k})"
            for k in every
        ),
        check="assert(index_is_within_the_axis);" if is_checked else "",
    )


def gather_kernel(
    size: int, index: int, dims: int, mode: int, scatters: int, several: int, count: int
) -> Any:
    """Returns the kernel for words of `size` bytes, and for `count` arrays of indices of `index` bytes. C code calls
    this function for the first copy with each kernel (cext/py/copykernel.c)."""
    from numbalite.kernels.decorators import builtin_kernel

    is_checked = _core.driver_has("host_code")
    word, scatter = copyplan.WORDS[size].name, str(bool(scatters)).lower()
    name = f"gather<{word}, int{8 * index}, {dims}, {mode}, {scatter}, {several}>"
    return builtin_kernel(
        kernel_source(count, is_checked), name, **({"debug": True} if is_checked else {})
    )
