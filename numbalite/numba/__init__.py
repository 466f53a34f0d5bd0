"""numba's names for numbalite, so that programs that import numba run unmodified.

`install` puts a finder (finder.py) in front of Python's own, which answers ``import numba`` and the imports
of numba's modules with numbalite's (listed in names.py). top.py is the module `numba`, testing.py
`numba.cuda.testing`; program.py is ``python -m numbalite run``. Only `numbalite.install_as_numba`, the command line and the magic
``%numba`` use it. Uses types, cxx,
runtime, kernels, python, ufuncs, cpu, fft, cuda and autograd. Begin with names.py.
"""

from __future__ import annotations

import sys

from numbalite.cxx import executed
from numbalite.numba import finder
from numbalite.runtime import devices

__all__ = ["install"]


def install() -> None:
    """Makes ``import numba`` mean numbalite for the rest of the process.

    ``from numba import cuda, vectorize, guvectorize, jit, njit, prange,
    float32, types`` and numba's modules (``numba.cuda.random``,
    ``numba.cuda.testing``, ``numba.core.types``, ``numba.core.errors``,
    ...) are numbalite's then. Functions that ``exec`` makes of a text can
    be kernels from then on, too. What numba has and numbalite has not
    raises an error when it is used. Calling it again changes nothing.

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
    executed.watch()
