"""Provides numbalite under numba's names, so that programs that import numba run unmodified.

`install` inserts a finder (finder.py) before Python's own finders. For ``import numba`` and imports of
numba's modules, the finder returns numbalite's modules (listed in names.py). top.py is the module `numba`,
testing.py `numba.cuda.testing`; program.py is ``python -m numbalite run``. Only `numbalite.install_as_numba`,
the command line and the magic ``%numba`` use this package. The package numba uses types, cxx,
runtime, kernels, python, ufuncs, cpu, fft, cuda and autograd. Begin with names.py.
"""

from __future__ import annotations

import sys

from numbalite.cxx import executed
from numbalite.numba import finder
from numbalite.runtime import devices

__all__ = ["install"]


def install() -> None:
    """Makes ``import numba`` import numbalite for the rest of the process.

    ``from numba import cuda, vectorize, guvectorize, jit, njit, prange,
    float32, types`` and numba's modules (``numba.cuda.random``,
    ``numba.cuda.testing``, ``numba.core.types``, ``numba.core.errors``, ...)
    then come from numbalite. Functions that ``exec`` creates from source text
    can then be kernels, too. A feature of numba that numbalite lacks raises an
    error when it is used. Repeated calls change nothing.

    Raises
    ------
    ImportError
        numba itself has been imported already.

    Examples
    --------
    Before the first import of numba::

        import numbalite

        numbalite.install_as_numba()
        from numba import cuda  # numbalite.cuda
    """
    if any(isinstance(one, finder.Finder) for one in sys.meta_path):
        return
    own = sys.modules.get("numba")
    if own is not None:
        raise ImportError(
            f"numba itself is imported already ({getattr(own, '__file__', None) or own}): call "
            "numbalite.install_as_numba() before the first import of numba"
        )
    devices.simulator_is_available = True
    sys.meta_path.insert(0, finder.Finder())
    executed.watch_exec()
