"""Integrates numbalite with notebooks.

`attach` connects numbalite to the running IPython: printf of kernels appears in the cell, in order
(output.py), long compilations and kernels show their progress (progress.py), and warnings are shown as notes
(notes.py). The package is imported when a driver is first opened or a compiler first run, and has no cost
without IPython. `%load_ext numbalite` adds the magics: %%cuda (cell.py), %gpu_timeit (timing.py) and %numba
(asnumba.py), and completion in C++ (completion.py). rich.py defines the display of objects in a notebook,
tracebacks.py the display of compile errors; labextension/ highlights cells of CUDA C++, in the browser. Lower
packages call this package through numbalite.frontend, and never import it. The package jupyter uses
cxx, compilers, runtime, profiler, kernels, ndarray, cuda and numba. Begin with this file.
"""

from __future__ import annotations

from numbalite import compilers, config
from numbalite.jupyter import notes, output, progress, rich, tracebacks
from numbalite.jupyter.session import in_notebook, shell

__all__ = ["attach", "hint", "in_notebook", "load", "picture", "shell", "traceback", "unload"]

_attached = None  # the shell


def attach(to=None) -> None:
    """Registers numbalite's hooks in an IPython shell, by default the running shell. Repeated calls
    do nothing, and no call raises an exception."""
    global _attached
    found = to or shell()
    if found is None or found is _attached:
        return
    _attached = found
    output.redirect_output()
    notes.install_warning_hook()
    found.events.register("post_run_cell", output.end_of_cell)
    progress.watch_cells(found)
    rich.register(found.display_formatter)
    compilers.watcher = progress.show_compilation


def hint() -> None:
    """Shows a note about the extension."""
    notes.show_note(
        "%load_ext numbalite adds cells of CUDA C++ (%%cuda), %gpu_timeit and completion "
        "(NUMBALITE_NOTEBOOK_HINT=0 hides this note)"
    )


def picture(kind: str, thing) -> str:
    """Returns the HTML of one of numbalite's objects; rich.py contains a function for each class."""
    return getattr(rich, f"{kind}_html")(thing)


def traceback(kind: str, problem) -> list:
    """Returns the lines of text that IPython shows for an error; tracebacks.py contains a function for each
    type of error."""
    return getattr(tracebacks, f"{kind}_traceback")(problem)


def load(to) -> None:
    """Implements `%load_ext numbalite`."""
    from numbalite.jupyter import asnumba, cell, completion, timing

    attach(to)
    if config.is_default("STOPPABLE"):  # the stop button of a notebook stops kernels on a GPU
        config.STOPPABLE = True
    completion.add(to)
    to.register_magics(cell.CudaCell)
    to.register_magics(timing.GpuTimeit)
    to.register_magic_function(asnumba.as_numba, "line", "numba")


def unload(to) -> None:
    """Implements `%unload_ext numbalite`: removes the magics and keeps all other hooks."""
    from numbalite.jupyter import completion

    completion.remove(to)
    magics = to.magics_manager.magics
    magics["cell"].pop("cuda", None)
    for kind in ("cell", "line"):
        magics[kind].pop("gpu_timeit", None)
    magics["line"].pop("numba", None)
