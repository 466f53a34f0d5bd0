"""numbalite in notebooks.

`attach` connects numbalite with the IPython that it finds itself in: kernels' printf comes out in the
cell, in order (output.py), and long compilations say so (progress.py). It happens when a driver is first
opened or a compiler first run, and costs nothing where there is no IPython. `%load_ext numbalite` adds the
magics: %%cuda (cell.py) and %gpu_timeit (timing.py). How objects look in a notebook is in rich.py, how
compile errors do in tracebacks.py; highlighting cells of CUDA C++ is done by labextension/, in the browser.
"""

from __future__ import annotations

import sys

_attached = None  # the shell


def shell():
    """The running IPython, or None; never imports it."""
    module = sys.modules.get("IPython")
    found = getattr(module, "get_ipython", None)
    return found() if found is not None else None


def in_notebook() -> bool:
    """Does a front end show our output in cells (a kernel, not a terminal)?"""
    return getattr(shell(), "kernel", None) is not None


def attach(to=None) -> None:
    """Connects numbalite with a shell, by default the running one; once, and never an error."""
    global _attached
    found = to or shell()
    if found is None or found is _attached:
        return
    _attached = found
    from numbalite import compilers
    from numbalite.jupyter import output, progress, rich

    output.take_over()
    found.events.register("post_run_cell", output.end_of_cell)
    rich.register(found.display_formatter)
    compilers.watcher = progress.watch


def load(to) -> None:
    """What `%load_ext numbalite` does."""
    from numbalite.jupyter import cell, timing

    attach(to)
    to.register_magics(cell.CudaCell)
    to.register_magics(timing.GpuTimeit)


def unload(to) -> None:
    """What `%unload_ext numbalite` does: the magics go, the rest stays useful."""
    magics = to.magics_manager.magics
    magics["cell"].pop("cuda", None)
    for kind in ("cell", "line"):
        magics[kind].pop("gpu_timeit", None)
