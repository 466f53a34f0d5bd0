"""%numba: a notebook whose cells import numba."""

import sys

import pytest
from IPython.core.error import UsageError

from numbalite.cxx import executed
from numbalite.runtime import devices


@pytest.fixture
def remove_numba_modules(monkeypatch):
    """After the test, removes the modules with numba's name from this process."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(devices, "simulator_is_available", False)
    monkeypatch.setattr(executed, "watch_exec", lambda: None)  # could not be taken back
    kept = {
        name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "numba"
    }
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "numba"]:
        del sys.modules[name]
    sys.modules.update(kept)


def test_numba_programs_run_unmodified_in_cells(remove_numba_modules, run_cell):
    run_cell("%numba")
    run_cell("from numba import cuda as numbas, types")
    assert run_cell("numbas is cuda and types.float32(0.5)") == 0.5
    run_cell("%numba")  # again


def test_numba_magic_rejects_arguments_and_imported_numba(
    remove_numba_modules, run_cell, monkeypatch
):
    with pytest.raises(UsageError, match="%numba takes nothing, not '3'"):
        run_cell("%numba 3")
    monkeypatch.setitem(sys.modules, "numba", sys)
    with pytest.raises(UsageError, match="numba itself is imported already .*restart the kernel"):
        run_cell("%numba")
    del sys.modules["numba"]
