"""An IPython in this process, as %load_ext finds it, and notebooks in a kernel of their own."""

import gc
import sys

import pytest

from numbalite import config


@pytest.fixture(scope="session")
def _ipython(tmp_path_factory):
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
def shell(_ipython, monkeypatch):
    """The shell with the extension, and no names of other tests'. Its module is `__main__` until the test ends: the
    processes that later tests start read the specification of the real one."""
    monkeypatch.setitem(sys.modules, "__main__", _ipython.user_module)
    _ipython.reset(new_session=False)
    _ipython.run_line_magic("load_ext", "numbalite")
    _ipython.run_cell("import numpy as np\nfrom numbalite import cuda")
    yield _ipython
    vars(config).pop("STOPPABLE", None)  # %load_ext has set it
    # Nothing of this test's stays on the device.
    _ipython.reset(new_session=False)
    _ipython.last_execution_result = None
    for name in ("last_exc", "last_value", "last_traceback"):
        vars(sys).pop(name, None)
    gc.collect()


@pytest.fixture
def run(shell):
    """run(cell) -> the cell's result; its exception is raised.

    Without a history all cells have the same number, so the disk cache finds their kernels.
    """

    def run(cell, store_history=False):
        result = shell.run_cell(cell, store_history=store_history)
        result.raise_error()
        return result.result

    return run


@pytest.fixture
def notebook(root):
    """notebook(*cells) -> for each cell its outputs, from a fresh kernel; errors are outputs too."""
    import os

    import nbclient
    from nbformat.v4 import new_code_cell, new_notebook

    def run(*cells, captured=True, hint="0"):  # the note about the extension
        environment = {**os.environ, "PYTHONPATH": str(root), "NUMBALITE_NOTEBOOK_HINT": hint}
        if captured:  # else ipykernel leaves file 1 alone
            del environment["PYTEST_CURRENT_TEST"]
        book = new_notebook(cells=[new_code_cell(cell) for cell in cells])
        nbclient.NotebookClient(book, allow_errors=True, timeout=120).execute(env=environment)
        return [cell.outputs for cell in book.cells]

    return run
