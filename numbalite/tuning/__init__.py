"""Implements ``cuda.autotune``, which measures variants of a kernel and keeps the fastest.

`tuned` contains the decorator and its result, a Tuned kernel, whose launches use the stored choice.
`variants` compiles the variants and removes variants that cannot be the fastest. `search` selects which of
the remaining variants to measure. `measure` launches variants on copies of the arguments and compares their
results. `table` contains the results that users see and that the disk cache stores. The package tuning
uses types, compilers, runtime, kernels and ndarray. Begin with tuned.py.
"""

from numbalite.tuning.table import Trial, Tuning
from numbalite.tuning.tuned import Tuned, autotune

__all__ = ["Trial", "Tuned", "Tuning", "autotune"]
