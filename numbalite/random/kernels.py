"""Contains the kernels of the distributions, which are compiled at their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.kernels.decorators import builtin_kernel

if TYPE_CHECKING:
    from typing import Any

THREADS = 256
RUN = 256
"""Blocks of the stream for each element of a distribution that draws (random_draw.cuh)."""
_MAX_KNOWN = 64  # sizes
# For more numbers, each block loops: a few waves of blocks are faster than many
_MAX_BLOCKS = 1 << 13
_REALS = (np.float64, np.float32, np.float16)


class FillKernel:
    """A kernel of a distribution; it is called with the output array and the position in the random
    stream."""

    __slots__ = ("dtype", "kernel", "kinds", "known", "per_thread", "step")

    def __init__(self, kernel: Any, dtype: Any, kinds: Any, per_thread: int, step: int) -> None:
        self.kernel, self.dtype, self.kinds = kernel, dtype, kinds
        self.per_thread, self.step = per_thread, step
        self.known: dict[int, tuple] = {}

    def __call__(self, out: Any, bits: Any, stream: Any, parameters: Any) -> None:
        """Fills ``out`` with the next numbers of a bit generator."""
        n = out.size
        if not n:
            return
        launcher, blocks = self.known.get(n) or self._kernel_and_blocks(n)
        if stream:
            launcher = self.kernel[launcher.griddim, THREADS, stream]
        key, low, high = bits.place.take(blocks)
        if parameters:
            launcher(out, n, key, low, high, *parameters)
        else:  # a call without *args is faster by a third
            launcher(out, n, key, low, high)

    def _kernel_and_blocks(self, n):
        """Returns (the kernel with its launch configuration for n numbers, the number of blocks of the random stream
        that they use)."""
        units = -(-n // self.per_thread)
        grid = min(-(-units // THREADS), _MAX_BLOCKS)
        if len(self.known) >= _MAX_KNOWN:
            self.known.clear()
        made = self.known[n] = self.kernel[grid, THREADS], units * self.step
        return made


class DistributionKernels:
    """The kernels of one distribution.

    ``name``: the struct of the distribution in random_fill.cuh, or in random_draw.cuh if the number of random
    words per result varies. ``kinds``: the dtypes of the parameters; None stands for the type in which the
    kernel computes. ``dtypes``: of its numbers.
    """

    def __init__(self, name: str, *kinds: Any, draws: bool = False, dtypes: Any = _REALS) -> None:
        self.name, self.kinds, self.draws = name, kinds, draws
        self.dtypes = tuple(map(np.dtype, dtypes))
        self._fills: dict[tuple, FillKernel] = {}

    def fill(self, what: str, dtype: Any, arrays: tuple = ()) -> FillKernel:
        """Returns the kernel for numbers of a dtype (None for the default dtype). ``arrays`` lists the
        parameters that are arrays, if any."""
        try:
            return self._fills[dtype, arrays]
        except KeyError:
            pass
        found = self.dtypes[0] if dtype is None else np.dtype(dtype)
        if found not in self.dtypes:
            names = ", ".join(map(str, self.dtypes))
            raise TypeError(f"{what}: dtype must be one of {names}, not {found}")
        made = self._fills[dtype, arrays] = self._compile(found, arrays)
        return made

    def _compute_type(self, dtype):
        """Returns the type of the computation; numbers in half precision are rounded from float32."""
        narrow = dtype in (np.float32, np.float16) and not self.draws
        return np.dtype(np.float32 if narrow else np.float64)

    def _compile(self, dtype, arrays):
        real = self._compute_type(dtype)
        name = self.name
        if dtype == np.float16 and name == "uniform" and not self.kinds:
            name = "uniform_half"
        elif dtype.kind == "f" and not self.draws:
            name += f"<{types.cuda_name(real)}>"
        kinds = [np.dtype(kind or real) for kind in self.kinds]
        if self.draws:
            return FillKernel(
                _random_kernel("draw", name, dtype, kinds, arrays), dtype, kinds, 1, RUN
            )
        kernel = _random_kernel("fill", name, dtype, kinds, arrays)
        return FillKernel(kernel, dtype, kinds, 16 // real.itemsize, 1)


class Integers(DistributionKernels):
    """Uniform distributions, which use ``word`` bits for each number."""

    def __init__(self, word: int, dtypes: Any) -> None:
        super().__init__(f"integers<numbalite::uint{word}>", np.int64, np.uint64, dtypes=dtypes)
        self.word = word

    def _compile(self, dtype, arrays):
        kinds = list(map(np.dtype, self.kinds))
        kernel = _random_kernel("fill", self.name, dtype, kinds, arrays)
        return FillKernel(kernel, dtype, kinds, 128 // self.word, 1)


def _random_kernel(way, name, dtype, kinds, arrays):
    words = [types.cuda_name(dtype)]
    for kind, is_array in zip(kinds, arrays or [False] * len(kinds), strict=True):
        words.append(f"const {types.cuda_name(kind)} *" if is_array else types.cuda_name(kind))
    half = "#include <cuda_fp16.h>\n" if "__half" in words else ""
    return builtin_kernel(
        f'{half}#include "numbalite/random_{way}.cuh"\n',
        f"nl_random_{way}<numbalite::nl_random::{name}, {', '.join(words)}>",
    )
