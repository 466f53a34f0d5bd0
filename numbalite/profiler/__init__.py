"""Computes the cost of a kernel's memory accesses on a GPU, counted on the simulator: ``cuda.profile``,
``numbalite profile``.

The simulator counts the accesses (cext/sim/check/profile.c). `session` begins and ends a profile, `counters`
contains its results, by launch, kernel and line. `gpus` reads the data files of GPUs; `resources` reads a
cubin and computes the occupancy. `machinecode` reads nvdisasm's output, `reconcile` assigns the accesses in
the machine code to lines, `execution` estimates how often the basic blocks of the machine code run. `caches`
computes hit rates and bytes of DRAM, `timing` predicts times. `advice` proposes changes, `text`, `html` and
`pictures` show a profile, `program` implements the command. Uses compilers and runtime. Begin with
session.py.
"""

from numbalite.profiler.counters import Counters, KernelProfile, Launch, Line, Range
from numbalite.profiler.gpus import GPU
from numbalite.profiler.session import profile

__all__ = ["GPU", "Counters", "KernelProfile", "Launch", "Line", "Range", "profile"]
