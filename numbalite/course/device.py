"""Describes the device of the lesson, a GPU or the simulator, and selects one of two sizes.

The driver is opened by the first call. The lesson's text (``where``) and its plots (``stamp``) state that
kernels are simulated, so the simulator's own warning is not shown.
"""

from __future__ import annotations

import warnings

from numbalite.required import require


def simulated() -> bool:
    """Returns whether kernels run on the simulator. Opens the driver, without the simulator's warning."""
    from numbalite import cuda, errors

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.SimulatorWarning)
        cuda.get_current_device()
        return cuda.is_simulated()


def where() -> str:
    """Prints and returns the device of this process's kernels, as a sentence.

    Returns
    -------
    str
        The sentence.

    Examples
    --------
    >>> from numbalite.course import where
    >>> sentence = where()
    On ...
    """
    sentence = f"On {_device_with_article()}."
    if simulated():
        sentence = f"On {_device_with_article()}: times are those of a CPU, not of a GPU."
    print(sentence)
    return sentence


def _device_with_article() -> str:
    """Returns the device of the kernels, with an article."""
    if simulated():
        return "the simulator"
    from numbalite import cuda

    name = cuda.get_current_device().name
    name = name.decode() if isinstance(name, bytes) else name
    return f"{'an' if name[0] in 'AEIOUN' else 'a'} {name}"  # "an NVIDIA H200"


def stamp(ax, what=""):
    """Writes the device of the measurements into the title of a plot.

    Plots of simulated times are pale, with "simulated" across them: the
    times are those of a CPU and do not show which program is faster on a
    GPU. Call this function after everything is drawn.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        The plot.
    what : str
        The text before the device in the title.
    """
    require(ax, "stamp", "the axes of a plot (matplotlib)", "set_title", "patches", "lines")
    where = f"On {_device_with_article()}"
    if not simulated():
        ax.set_title(f"{what}\n{where}" if what else where, fontsize="small")
        return
    where += ": times of a CPU, not of a GPU"
    ax.set_title(f"{what}\n{where}" if what else where, fontsize="small")
    for drawn in (*ax.patches, *ax.lines):
        drawn.set_alpha(0.3)
    ax.text(
        0.5, 0.5, "simulated", transform=ax.transAxes, ha="center", va="center", rotation=12,
        fontsize=26, color="tab:red", alpha=0.5, zorder=10,
    )  # fmt: skip


def size(gpu=10_000_000, sim=10_000):
    """Returns the first of two values on a GPU, the second on the simulator.

    In most cases, the values are numbers of elements.

    Parameters
    ----------
    gpu : object
        The value for a GPU.
    sim : object
        The value for the simulator.

    Returns
    -------
    object
        ``gpu`` or ``sim``.

    Examples
    --------
    >>> from numbalite.course import size
    >>> n = size(gpu=100_000_000, sim=50_000)
    """
    return sim if simulated() else gpu
