"""Stores the functions that XLA calls for operations, by their keys.

cext/py/xla.c is the handler of all operations. The handler finds the function that is stored under the
operation's key, and calls it with the buffers of the operands and results.

A key is a digest of the source: a program in JAX's compilation cache on disk, which contains keys, calls the same
functions in the next process. Operations that cannot be pickled have random keys, so each process compiles
their programs again.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import pickle
import secrets
import threading
from collections.abc import Callable

import jax
import numpy as np

from numbalite import _core, cuda
from numbalite.operators import Operation

TARGET = "numbalite"
_MAX_PREPARED = 256  # launches of an operation
_functions: dict[int, Callable] = {}
_lock = threading.Lock()
_registered = False


def register_operation(described: Operation, dtypes: tuple, numbers: tuple) -> np.int64:
    """Returns the key of an operation on arrays of these dtypes (the inputs, then the results).

    ``numbers`` contains the value of each input that is a number, and None for each array.
    """
    global _registered
    key = _source_key((type(described).__name__, described.source, dtypes, numbers))
    with _lock:
        if not _registered:
            host, device = _core.xla_handlers(_functions)
            jax.ffi.register_ffi_target(TARGET, host, platform="cpu")
            jax.ffi.register_ffi_target(TARGET, device, platform="CUDA")
            _registered = True
        _functions.setdefault(key, _handler_function(described, dtypes, numbers))
    return np.int64(key)


def _source_key(source):
    try:
        digest = hashlib.sha256(pickle.dumps(source)).digest()[:8]
    except Exception:  # for example, a user's function that cannot be pickled
        digest = secrets.token_bytes(8)
    return int.from_bytes(digest, "little", signed=True) or 1


def _handler_function(described, dtypes, numbers):
    """Returns the function that XLA's handler calls with the buffers (address, shape) and the stream."""
    prepared: dict[tuple, Callable] = {}  # (buffers, stream) -> function that launches

    def wrap_buffers(made, buffers):
        """Returns (inputs, outputs) as arrays over the buffers, which ``made`` creates."""
        arrays = iter([made(*one, dtype) for one, dtype in zip(buffers, dtypes, strict=True)])
        inputs = [next(arrays) if number is None else number for number in numbers]
        return inputs, list(arrays)

    def run_operation(operands, results, stream):
        buffers = (*operands, *results)
        if stream is None:
            return _run_on_host(described, *wrap_buffers(_host_array, buffers))
        # In most cases, XLA's allocator returns the addresses of earlier calls
        key = (stream, buffers)
        launch = prepared.get(key)
        if launch is None:
            arrays = wrap_buffers(_device_array, buffers)
            launch = _device_launch(described, *arrays, cuda.external_stream(stream))
            if len(prepared) >= _MAX_PREPARED:
                prepared.clear()
            prepared[key] = launch
        launch()

    return run_operation


def _run_on_host(described, inputs, outputs):
    if described.starts_at_zero:
        for output in outputs:
            output[...] = 0
    described.run_on_host(inputs, outputs)


def _device_launch(described, inputs, outputs, stream):
    """Returns a function without parameters that launches the operation on these arrays."""
    device = cuda.gpus[outputs[0].device]
    cleared = outputs if described.starts_at_zero else ()
    arguments = (*inputs, *outputs)
    with device:
        compute = described.device_call(inputs, outputs, stream)

    def launch_on_stream():
        with device:
            for output in cleared:
                output.fill(0, stream=stream)
            compute(*arguments)

    return launch_on_stream


def _host_array(address, shape, dtype):
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    memory = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.ndarray(shape, dtype, memory)


def _device_array(address, shape, dtype):
    if 0 in shape:
        return cuda.device_array(shape, dtype)
    described = {"shape": shape, "typestr": dtype.str, "data": (address, False), "version": 3}
    return cuda.from_cuda_array_interface(described, sync=False)
