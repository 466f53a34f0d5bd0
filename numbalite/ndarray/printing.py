"""Prints device arrays with the same text as NumPy, from a copy of only the printed elements.

An array with more elements than NumPy's `threshold` is printed with the first and the last elements of
each axis. A view selects the printed elements: an axis of n elements becomes two axes, of 2 and of
`edgeitems` elements. One copy of the view transfers the printed elements to the host, and NumPy formats them.
If the elements cannot be copied, the reason is printed instead.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from numbalite import errors

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from numbalite.ndarray.arrays import DeviceNDArray

IN_CAPTURE = "no values while a graph is captured"


def array_text(array: DeviceNDArray) -> str:
    """Returns the text of `str` for the array, as for a NumPy array. `cuda.checks()` reports uninitialized
    elements here, because a program prints its results."""
    return _printed_text(array, nullcontext)


def displayed_text(array: DeviceNDArray) -> str:
    """Like `array_text`, for consoles and notebooks: `cuda.checks()` does not report uninitialized elements."""
    from numbalite.runtime import checks

    return _printed_text(array, checks.display)


def _printed_text(array, while_copied):
    state, printed, options = _state_or_elements(array, while_copied)
    if state is not None:
        return f"<{state}>"
    if not options:
        return str(printed)
    return np.array2string(printed, separator=" ", prefix="", **options)


def representation_of(array: DeviceNDArray, name: str) -> str:
    """Returns the text of `repr` for the array: its elements as in NumPy's `repr`, its dtype and its
    device."""
    from numbalite.runtime import checks

    prefix = f"{name}("
    state, printed, options = _state_or_elements(array, checks.display)
    facts = [f"dtype={_dtype_text(array.dtype)}", f"device={array.device}"]
    if printed is None:
        return f"{prefix}<{state}>, {', '.join([f'shape={array.shape}', *facts])})"
    if options or not array.size:
        facts.insert(0, f"shape={array.shape}")
    if array.size:
        body = np.array2string(printed, separator=", ", prefix=prefix, suffix=",", **options)
    else:
        body = "[]"
    last = len(prefix) * ("\n" not in body) + len(body.rpartition("\n")[2])
    end = f"{', '.join(facts)})"
    is_long = last + len(", ") + len(end) > np.get_printoptions()["linewidth"]
    separator = "\n" + " " * len(prefix) if is_long else " "
    return f"{prefix}{body},{separator}{end}"


def _dtype_text(dtype):
    """Returns a dtype's name as in `dtype=float32`, in quotes if the name is not a Python identifier."""
    text = str(dtype)
    return text if text.isidentifier() or dtype.names is not None else repr(text)


def _state_or_elements(array, while_copied):
    """Returns (state, None, {}), or (None, elements, options): see `_host_elements`."""
    try:
        if array._in_capture() or _is_torch_capturing():
            return IN_CAPTURE, None, {}
        with while_copied():
            return None, *_host_elements(array)
    except errors.CudaDriverError as error:
        return _device_state(error), None, {}


def _is_torch_capturing():
    """Returns whether PyTorch is capturing the work of this thread into a graph. A copy on any stream would
    invalidate the capture."""
    torch = sys.modules.get("torch")
    if not hasattr(torch, "cuda") or not torch.cuda.is_initialized():
        return False
    return torch.cuda.is_current_stream_capturing()


def _device_state(error):
    """Returns the state of a device that a driver call reported, as one sentence."""
    return str(error).partition(". ")[0]


def _host_elements(array: DeviceNDArray) -> tuple[NDArray[Any], dict[str, int]]:
    """Returns (a NumPy array whose text is that of the device array, options of `array2string`)."""
    options = np.get_printoptions()
    if array.size <= options["threshold"] or not array.ndim:
        return array.copy_to_host(), {}
    return edge_elements(array, options["edgeitems"]), {"threshold": 0}


def edge_elements(array: DeviceNDArray, edge: int) -> NDArray[Any]:
    """Returns the elements of a large array that NumPy prints. A shortened axis has the first and last
    ``edge`` elements and one element between them, which NumPy prints as "..."."""
    edge = max(edge, 1)
    is_short = [length > 2 * edge for length in array.shape]
    shape, strides = [], []
    for length, stride, short in zip(array.shape, array.strides, is_short, strict=True):
        shape += [2, edge] if short else [length]
        strides += [(length - edge) * stride, stride] if short else [stride]
    counts = tuple(2 * edge if short else n for n, short in zip(array.shape, is_short, strict=True))
    view = array._view(tuple(shape), tuple(strides), array.dtype)
    ends = view.copy_to_host().reshape(counts)
    for axis, short in enumerate(is_short):
        if short:
            ends = np.insert(ends, edge, np.zeros((), array.dtype), axis)
    return ends
