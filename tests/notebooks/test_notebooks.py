"""Every notebook is well-formed, has the results of its own programs stored, and runs from top to bottom.

Exercises and assessments run twice: with the solutions in their cells everything passes, without
them nothing does.
"""

import json
import pathlib
import pickle
import re
import sys

import books
import figures
import outputs
import pytest

from numbalite.course import exercises

WITH_EXERCISES = [path for path in books.NOTEBOOKS if books.assessed(books.read(path))]


@pytest.fixture(params=books.NOTEBOOKS, ids=books.name)
def notebook(request):
    return request.param, books.read(request.param)


def test_there_are_notebooks():
    assert books.NOTEBOOKS


def test_form(notebook):
    """What nbformat 4.5 asks for."""
    _, book = notebook
    assert book["nbformat"] == 4 and book["nbformat_minor"] >= 5
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    identities = [cell["id"] for cell in book["cells"]]
    assert len(set(identities)) == len(identities)
    for cell in book["cells"]:
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cell["id"])
        assert cell["cell_type"] in {"markdown", "code"}
        assert isinstance(cell["metadata"], dict)
        assert isinstance(cell["source"], (str, list))
        if cell["cell_type"] == "code":
            assert isinstance(cell["outputs"], list)
            raises = any(output["output_type"] == "error" for output in cell["outputs"])
            assert raises == ("raises-exception" in cell["metadata"].get("tags", ()))
    assert "".join(book["cells"][0]["source"]).startswith("# ")


def test_stored_results(notebook):
    """They are those of the programs that stand there; a GPU's stand below the cells that they are of."""
    path, book = notebook
    assert not outputs.problems(book), (
        f"{outputs.problems(book)}: python tests/notebooks/outputs.py {path}"
    )
    text = json.dumps(book)
    assert str(books.ROOT) not in text and str(pathlib.Path.home()) not in text
    assert len(text) < 1_000_000


def test_stale_results_are_noticed(tmp_path):
    """A change of a program shows, and takes away what a GPU has recorded of it."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1}
    book = {"cells": [{**cell, "id": "a", "source": ["1 + 1"]}], "metadata": {}, "nbformat": 4}
    assert outputs.problems(book) == ["the stored results are those of other programs"]
    book["metadata"]["numbalite"] = {"programs": outputs.programs(book)}
    recorded = outputs._below(book["cells"][0], "H200", "2", [])
    book["cells"].append(recorded)
    assert outputs.problems(book) == []
    book["cells"][0]["source"] = ["1 + 2"]
    assert outputs.problems(book)[1:] == ["a-recorded is of another program"]
    path = tmp_path / "book.ipynb"
    outputs.write(book, path)
    outputs.store(path, Nothing)
    book = books.read(path)
    assert outputs.problems(book) == [] and len(book["cells"]) == 1


class Nothing:
    """Runs nothing."""

    def execute(book):
        return book


def test_figures_drawn_elsewhere(monkeypatch):
    """What a program draws without matplotlib is drawn later, with it."""
    pytest.importorskip("matplotlib")
    recorder = figures.Recorder()
    with monkeypatch.context() as patch:
        for module in figures.MODULES:
            patch.setitem(sys.modules, module, None)
        recorder.install()
        exec(DRAWING, {})
    monkeypatch.setenv("MPLBACKEND", "Agg")
    pictures = figures.draw(pickle.loads(pickle.dumps(recorder.take())), {})
    assert len(pictures) == 2 and all(picture.startswith(b"\x89PNG") for picture in pictures)


DRAWING = """
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
fig, (left, right) = plt.subplots(1, 2, figsize=(4, 2))
bars = left.bar(list("ab"), np.arange(2))
left.bar_label(bars, ["x", "y"])
for axes in left, right:
    axes.add_patch(Rectangle((0, 0), 1, 1))
fig.legend(handles=[plt.Rectangle((0, 0), 1, 1, label="z")])
fig, ax = plt.subplots()
ax.plot([1, 2])[0].set_color("red")
"""


def test_it_runs(notebook, kernels):
    path, book = notebook
    if kernels is None and books.uses_magic(book):
        pytest.skip("its magic words need IPython, which is not installed")
    verdicts = books.run(books.filled(book, path), path, kernels)
    assert [name for name, _, _ in verdicts] == books.assessed(book)
    for _, passed, text in verdicts:
        assert passed, text


@pytest.mark.parametrize("path", WITH_EXERCISES, ids=books.name)
def test_nothing_passes_unfilled(path):
    """The notebook as readers get it: it runs to its end, and no exercise passes."""
    book = books.read(path)
    verdicts = books.run_here(book, path)
    assert [name for name, _, _ in verdicts] == books.assessed(book)
    for _, passed, text in verdicts:
        assert not passed, text


def test_every_exercise_is_set():
    set_somewhere = [name for path in WITH_EXERCISES for name in books.assessed(books.read(path))]
    assert {kind.name for kind in exercises().values() if kind.section} <= set(set_somewhere)


@pytest.mark.parametrize("path", WITH_EXERCISES, ids=books.name)
def test_every_exercise_has_a_solution(path):
    cells = {cell["id"] for cell in books.code_cells(books.read(path))}
    for name in books.assessed(books.read(path)):
        assert f"{name}-exercise" in cells and f"{name}-exercise" in books.solutions(path)


@pytest.mark.parametrize(
    "file", sorted((books.FOLDER / "solutions").glob("*.py")), ids=lambda file: file.stem
)
def test_every_solution_has_its_cell(file):
    folder = books.FOLDER / file.stem
    paths = sorted(folder.glob("*.ipynb"))
    assert paths, f"no notebooks in {folder.name}"
    identities = [cell["id"] for path in paths for cell in books.code_cells(books.read(path))]
    for identity in books.solutions(paths[0]):
        assert identities.count(identity) == 1, identity
