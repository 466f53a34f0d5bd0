"""Where the lesson runs: on a GPU, or on the simulator, and which of two sizes fits there.

The driver is opened at the first question. That the kernels are simulated is said in the lesson's own
text (``where``), so the warning that goes with opening the simulator is not shown as well.
"""

from __future__ import annotations

import warnings


def simulated() -> bool:
    """Do kernels run on the simulator? Opens the driver, without the simulator's warning."""
    from numbalite import cuda, errors

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.SimulatorWarning)
        cuda.get_current_device()
        return cuda.is_simulated()


def where() -> str:
    """Prints, and gives back, one sentence on what the kernels of this process run on.

    >>> from numbalite.course import where
    >>> sentence = where()
    On ...
    """
    if simulated():
        sentence = "On the simulator: times are those of a CPU, not of a GPU."
    else:
        from numbalite import cuda

        name = cuda.get_current_device().name
        name = name.decode() if isinstance(name, bytes) else name
        sentence = f"On {'an' if name[0] in 'AEIOUN' else 'a'} {name}."  # "an NVIDIA H200"
    print(sentence)
    return sentence


def size(gpu=10_000_000, sim=10_000):
    """The one of two values that fits where the program runs; mostly numbers of elements.

    >>> from numbalite.course import size
    >>> n = size(gpu=100_000_000, sim=50_000)
    """
    return sim if simulated() else gpu
