"""``cuda.autotune``: measures variants of a kernel and keeps the fastest.

`tuned` has the decorator and its result, a Tuned kernel, whose launches look the choice up. `variants` compiles the
variants and removes those that cannot win; `search` selects which of the others to measure; `measure` launches them on
copies of the arguments and compares their results. `table` contains the results that users see and
that the disk cache stores. Uses types, compilers, runtime, kernels and ndarray. Begin with
tuned.py.
"""

from numbalite.tuning.table import Trial, Tuning
from numbalite.tuning.tuned import Tuned, autotune

__all__ = ["Trial", "Tuned", "Tuning", "autotune"]
