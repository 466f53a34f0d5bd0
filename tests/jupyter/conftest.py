"""Defines fixtures: an IPython shell in this process, and notebooks that run in a kernel
process."""

import gc
import sys

import pytest

from numbalite import config


@pytest.fixture(scope="session")
def _ipython_shell(tmp_path_factory):
    import os

    os.environ["IPYTHONDIR"] = str(tmp_path_factory.mktemp("ipython"))
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.hist_file = ":memory:"
    main = sys.modules["__main__"]
    shell = InteractiveShell.instance(config=settings)
    sys.modules["__main__"] = main
    shell.colors = "nocolor"  # an earlier shell may exist without these settings
    return shell


@pytest.fixture
def ipython_shell(_ipython_shell, monkeypatch):
    """Returns the shell with the extension loaded, without names of other tests. The shell's module is
    `__main__` until the test ends: the processes that later tests start read the specification of the real
    `__main__`."""
    monkeypatch.setitem(sys.modules, "__main__", _ipython_shell.user_module)
    _ipython_shell.reset(new_session=False)
    _ipython_shell.run_line_magic("load_ext", "numbalite")
    _ipython_shell.run_cell("import numpy as np\nfrom numbalite import cuda")
    yield _ipython_shell
    vars(config).pop("STOPPABLE", None)  # %load_ext has set it
    # Releases all device memory that the test allocated.
    _ipython_shell.reset(new_session=False)
    _ipython_shell.last_execution_result = None
    for name in ("last_exc", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    gc.collect()


@pytest.fixture
def run_cell(ipython_shell):
    """Returns run_cell(cell), which returns the cell's result or raises its exception.

    Without a history all cells have the same number, so the disk cache finds their kernels.
    """

    def run_and_return(cell, store_history=False):
        result = ipython_shell.run_cell(cell, store_history=store_history)
        result.raise_error()
        return result.result

    return run_and_return


@pytest.fixture
def run_notebook(checkout_root):
    """Returns run_notebook(*cells), which runs the cells in a new kernel and returns each cell's outputs; errors
    are outputs, too."""
    import os

    import nbclient
    from nbformat.v4 import new_code_cell, new_notebook

    def run_cells(*cells, captured=True, hint="0"):  # the note about the extension
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout_root),
            "NUMBALITE_NOTEBOOK_HINT": hint,
        }
        if captured:  # else ipykernel leaves file 1 alone
            del environment["PYTEST_CURRENT_TEST"]
        book = new_notebook(cells=[new_code_cell(cell) for cell in cells])
        nbclient.NotebookClient(book, allow_errors=True, timeout=120).execute(env=environment)
        return [cell.outputs for cell in book.cells]

    return run_cells
