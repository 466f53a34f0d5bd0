"""Generates random numbers: `default_rng` fills arrays (numbalite/random/), and kernels use states of xoroshiro128+.

Kernels call ``xoroshiro128p_uniform_float32(states, i)`` and similar functions in CUDA C++; the
Python functions of these names raise an error that names CUDA C++. Every state starts 2**64
steps after the previous one, so the sequences of threads do not overlap. The sequences are
numba.cuda's.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite import required, types
from numbalite.ndarray.arrays import device_array
from numbalite.random.generator import Generator, default_rng
from numbalite.random.philox import Philox4x32

if TYPE_CHECKING:
    from typing import Any

    from numbalite.arguments import StreamLike
    from numbalite.ndarray.arrays import DeviceNDArray

__all__ = [
    "Generator",
    "Philox4x32",
    "create_xoroshiro128p_states",
    "default_rng",
    "init_xoroshiro128p_states",
    "seed",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_type",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

_OLD_NAMES = {
    **dict.fromkeys(("random_sample", "sample", "ranf"), lambda rng, size=None: rng.random(size)),
    "rand": lambda rng, *shape: rng.random(shape or None),
    "randn": lambda rng, *shape: rng.standard_normal(shape or None),
    "randint": lambda rng, low, high=None, size=None, dtype=np.int64: rng.integers(
        low, high, size, dtype
    ),
}
_shared: Generator | None = None


def seed(seed: Any = None) -> None:
    """Resets the generator of `cuda.random.normal`, `uniform`, ....

    The whole process shares this generator. For independent sequences, use
    separate generators (`default_rng`).

    Parameters
    ----------
    seed : None, int, list of int, SeedSequence, Philox4x32 or Generator
        A seed of `default_rng`.
    """
    global _shared
    _shared = default_rng(seed)


def _shared_generator_function(name, function):
    def draw_from_shared(*args, **keywords):
        if _shared is None:
            seed()
        return function(_shared, *args, **keywords)

    draw_from_shared.__name__ = draw_from_shared.__qualname__ = name
    return draw_from_shared


def __getattr__(name: str) -> Any:
    """Distributions with numpy.random's names: methods of one shared generator."""
    function = _OLD_NAMES.get(name)
    if function is None and not name.startswith("_"):
        function = getattr(Generator, name, None)
    if not callable(function) or name == "spawn":
        raise AttributeError(f"numbalite.cuda.random has no {name!r}")
    found = globals()[name] = _shared_generator_function(name, function)
    return found


xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
xoroshiro128p_type = types.from_dtype(xoroshiro128p_dtype)

# Constants of random_init.cuh: the block size, and the number of states that a thread creates
_THREADS, _RUN = 128, 16


@functools.cache
def _initialization_kernel():
    from numbalite.kernels.decorators import builtin_kernel

    return builtin_kernel('#include "numbalite/random_init.cuh"\n', "nl_random_init")


def init_xoroshiro128p_states(
    states: Any, seed: int, subsequence_start: int = 0, stream: StreamLike = 0
) -> None:
    """Fills an array of states of the generator xoroshiro128+.

    The i-th state is ``seed`` after subsequence_start + i jumps of 2**64.

    Parameters
    ----------
    states : DeviceNDArray
        A one-dimensional device array of ``xoroshiro128p_dtype``.
    seed : int
        The seed.
    subsequence_start : int
        The number of jumps of the first state.
    stream : Stream
        The stream of the work.

    Raises
    ------
    TypeError
        ``states`` is not a 1-D array of ``xoroshiro128p_dtype``.
    ValueError
        ``subsequence_start`` is negative.
    """
    required.require_array(states, "init_xoroshiro128p_states")
    if states.ndim != 1 or states.dtype != xoroshiro128p_dtype:
        raise TypeError(
            f"states must be a 1-D array of xoroshiro128p_dtype, not {states.ndim}-D {states.dtype}"
        )
    n, start = states.shape[0], operator.index(subsequence_start)
    if start < 0:
        raise ValueError(f"subsequence_start must not be negative: {start}")
    if n:
        grid = -(-n // (_THREADS * _RUN))
        seed = operator.index(seed) & (2**64 - 1)
        _initialization_kernel()[grid, _THREADS, stream](states, n, seed, start)


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: StreamLike = 0
) -> DeviceNDArray:
    """Returns a device array of states of the generator xoroshiro128+.

    The states are created on the device. Equal seeds create equal states.

    Parameters
    ----------
    n : int
        The number of states.
    seed : int
        The seed.
    subsequence_start : int
        The number of jumps of 2**64 to the first state. If several launches
        must not share numbers, pass ``subsequence_start + n`` of the previous
        launch's states.
    stream : Stream
        The stream of the work.

    Returns
    -------
    DeviceNDArray
        The states, for kernel parameters.

    Raises
    ------
    ValueError
        ``subsequence_start`` is negative.

    Examples
    --------
    >>> from numbalite.cuda.random import create_xoroshiro128p_states
    >>> states = create_xoroshiro128p_states(32, seed=1)
    >>> @cuda.jit
    ... def draw(states, out):
    ...     "int i = threadIdx.x; out[i] = xoroshiro128p_uniform_float32(states, i);"
    >>> out = np.empty(32, np.float32)
    >>> draw[1, 32](states, out)
    >>> bool((0 <= out).all() and (out < 1).all())
    True
    """
    states = device_array(n, dtype=xoroshiro128p_dtype, stream=stream)
    init_xoroshiro128p_states(states, seed, subsequence_start, stream)
    return states


def _device_only_stub(name):
    def function(*args):
        raise TypeError(f"{name} runs only in kernels: call it in CUDA C++")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"In kernels: ``{name}(states, i)``."
    return function


xoroshiro128p_next = _device_only_stub("xoroshiro128p_next")
xoroshiro128p_jump = _device_only_stub("xoroshiro128p_jump")
xoroshiro128p_uniform_float32 = _device_only_stub("xoroshiro128p_uniform_float32")
xoroshiro128p_uniform_float64 = _device_only_stub("xoroshiro128p_uniform_float64")
xoroshiro128p_normal_float32 = _device_only_stub("xoroshiro128p_normal_float32")
xoroshiro128p_normal_float64 = _device_only_stub("xoroshiro128p_normal_float64")
