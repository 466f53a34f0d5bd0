"""Every notebook is well-formed, carries no output, and runs from top to bottom.

Exercises and assessments run twice: with the solutions in their cells everything passes, without
them nothing does.
"""

import re

import books
import pytest

from numbalite.course import exercises

WITH_EXERCISES = [path for path in books.NOTEBOOKS if books.assessed(books.read(path))]


@pytest.fixture(params=books.NOTEBOOKS, ids=books.name)
def notebook(request):
    return request.param, books.read(request.param)


def test_there_are_notebooks():
    assert books.NOTEBOOKS


def test_form(notebook):
    """What nbformat 4.5 asks for, and no stored results."""
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
            assert cell["outputs"] == [] and cell["execution_count"] is None
    assert "".join(book["cells"][0]["source"]).startswith("# ")


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
