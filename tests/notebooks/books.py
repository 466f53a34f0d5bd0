"""Reads notebooks, inserts solutions, and runs the notebooks, for tests.

Notebooks run in a Jupyter kernel, as for readers. If Jupyter's packages are missing (a GPU machine
without internet), the cells run in this process, and a stand-in replaces matplotlib if it is
missing; notebooks with IPython's magics are not supported there.
"""

import importlib.util
import json
import linecache
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
NOTEBOOKS = sorted(p for p in FOLDER.rglob("*.ipynb") if ".ipynb_checkpoints" not in p.parts)
HAS_KERNEL = all(map(importlib.util.find_spec, ("nbclient", "ipykernel", "matplotlib")))

_REPORT = """
import json as _json

from numbalite.course import judging as _judging

print(_json.dumps([[v.name, v.passed, str(v)] for v in _judging.verdicts]))
"""


def notebook_name(path):
    """Returns names of notebooks in tests: "1_ufuncs/exercises"."""
    return str(path.relative_to(FOLDER).with_suffix(""))


def read_notebook(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def cell_source(cell):
    return "".join(cell["source"])


def code_cells(book):
    return [cell for cell in book["cells"] if cell["cell_type"] == "code"]


def assessed_names(book):
    """Returns the names that a notebook's cells pass to the judge: exercises, and tasks of a lesson."""
    return _calls_of("assess|check", book)


def task_names(book):
    """Returns only the names of the tasks."""
    return _calls_of("check", book)


def _calls_of(functions, book):
    return [
        found
        for cell in code_cells(book)
        for found in re.findall(rf'^(?:{functions})\(\s*"(\w+)"', cell_source(cell), re.M)
    ]


def read_solutions(path):
    """Returns {cell id: text} for the notebook at `path`, from notebooks/solutions/<its folder>.py."""
    file = FOLDER / "solutions" / f"{path.parent.name}.py"
    if path.parent == FOLDER or not file.exists():
        return {}
    parts = re.split(r"^# %% (\S+)\n", file.read_text(encoding="utf-8"), flags=re.M)
    return {parts[i]: parts[i + 1].strip() for i in range(1, len(parts), 2)}


def fill_with_solutions(book, path):
    """Returns the notebook with the solutions in its cells."""
    answers = read_solutions(path)
    cells = [
        {**cell, "source": answers[cell["id"]]} if cell["id"] in answers else cell
        for cell in book["cells"]
    ]
    return {**book, "cells": cells}


def run_notebook(book, path, kernels):
    """Runs the notebook from top to bottom; returns [name, passed, text] of each of the judge's
    verdicts."""
    if kernels is None:
        return run_in_this_process(book, path)
    wanted = bool(assessed_names(book))
    if wanted:
        report = {"cell_type": "code", "id": "report", "metadata": {}, "execution_count": None}
        book = {**book, "cells": [*book["cells"], {**report, "outputs": [], "source": _REPORT}]}
    done = kernels.execute(book)
    if not wanted:
        return []
    # Jupyter may send a cell's text in pieces, with a warning between them.
    outputs = [o for o in code_cells(done)[-1]["outputs"] if o.get("name") == "stdout"]
    return json.loads("".join("".join(output["text"]) for output in outputs))


class NotebookKernels:
    """A process that runs notebooks one after the other, each in a Jupyter kernel of its own."""

    def __init__(self):
        # The paths of a kernel's sockets must be short.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nl-"))
        here = dict.fromkeys(
            ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"),
            str(self.folder),
        )
        env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", **here}
        env.pop("MPLBACKEND", None)
        env.pop("PYTEST_CURRENT_TEST", None)  # ipykernel would not capture printf of kernels
        self.process = subprocess.Popen(
            [sys.executable, pathlib.Path(__file__).with_name("execute.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
            cwd=self.folder,
        )

    def execute(self, book):
        """Returns the notebook with its outputs. AssertionError: a cell raised, with the cell and
        the traceback."""
        file = self.folder / "book.ipynb"
        file.write_text(json.dumps(book), encoding="utf-8")
        print(file, file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        assert answer, "the process that runs notebooks has ended"
        problem = json.loads(answer)
        assert problem is None, problem
        return read_notebook(file)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)
        shutil.rmtree(self.folder, ignore_errors=True)


def run_in_this_process(book, path):
    """Returns the notebook with its outputs, executed in this process. Each cell has a name of its own, so
    that its source can be looked up."""
    from numbalite.course import judging

    judged = len(judging.verdicts)
    names = {"__name__": "__main__"}
    with warnings.catch_warnings(), _plots_without_window():
        warnings.simplefilter("ignore")
        for number, cell in enumerate(book["cells"]):
            if cell["cell_type"] != "code":
                continue
            run_cell(cell_source(cell), f"<{path.stem}, cell {number}>", names)
    return [[v.name, v.passed, str(v)] for v in judging.verdicts[judged:]]


def run_cell(text, place, names):
    """Runs one cell in this process."""
    linecache.cache[place] = (len(text), None, text.splitlines(keepends=True), place)
    exec(compile(text, place, "exec"), names)


def uses_magic(book):
    """Does a cell need IPython itself?"""
    return any(
        re.search(r"^\s*[%!]|get_ipython", cell_source(cell), re.M) for cell in code_cells(book)
    )


# ---- plots without a display -------------------------------------------------------------------------------


class _plots_without_window:
    """Returns matplotlib without a window, or, if it is missing, an object that accepts every call."""

    def __enter__(self):
        self.backend = os.environ.get("MPLBACKEND")
        os.environ["MPLBACKEND"] = "Agg"
        self.modules = []
        if importlib.util.find_spec("matplotlib") is None:
            for module in ("matplotlib", "matplotlib.pyplot", "matplotlib.patches"):
                sys.modules[module] = _PermissiveModule(module)
                self.modules.append(module)
            sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]
            sys.modules["matplotlib"].patches = sys.modules["matplotlib.patches"]

    def __exit__(self, *exception):
        os.environ.pop("MPLBACKEND")
        if self.backend is not None:
            os.environ["MPLBACKEND"] = self.backend
        for module in self.modules:
            del sys.modules[module]
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")


class _PermissiveObject:
    """A stand-in that accepts every call, has every attribute, and can be unpacked to any number of
    items."""

    def __call__(self, *args, **kwargs):
        return _PermissiveObject()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _PermissiveObject()

    def __getitem__(self, index):
        return _PermissiveObject()

    def __iter__(self):
        return iter([_PermissiveObject()])


class _PermissiveModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _make_subplots if name == "subplots" else _PermissiveObject()


def _make_subplots(rows=1, columns=1, **options):
    import numpy as np

    rows, columns = options.get("nrows", rows), options.get("ncols", columns)
    axes = np.empty((rows, columns), object)
    for at in np.ndindex(axes.shape):
        axes[at] = _PermissiveObject()
    if options.get("squeeze", True):
        axes = axes.squeeze()
    return _PermissiveObject(), axes[()] if axes.ndim == 0 else axes
