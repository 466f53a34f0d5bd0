"""Every notebook is well-formed, has the results of its own programs stored, and runs from top to bottom.

Exercises and assessments run twice: all pass with the solutions in their cells, none passes without
them."""

import json
import pathlib
import re

import books
import outputs
import pytest

from numbalite.course import exercises

WITH_ANSWERS = [path for path in books.NOTEBOOKS if books.assessed_names(books.read_notebook(path))]
WITH_TASKS = [path for path in WITH_ANSWERS if books.task_names(books.read_notebook(path))]
WITH_EXERCISES = [path for path in WITH_ANSWERS if path not in WITH_TASKS]


@pytest.fixture(params=books.NOTEBOOKS, ids=books.notebook_name)
def notebook_and_path(request):
    return request.param, books.read_notebook(request.param)


def test_notebooks_are_found():
    assert books.NOTEBOOKS


@pytest.mark.every_case
def test_notebooks_are_valid_nbformat(notebook_and_path):
    """What nbformat 4.5 asks for."""
    _, book = notebook_and_path
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


@pytest.mark.every_case
def test_stored_outputs_match_their_cells(notebook_and_path):
    """The stored results belong to the cells above them; a GPU's results are below the cells that
    produced them."""
    path, book = notebook_and_path
    assert not outputs.outdated_cells(book), (
        f"{outputs.outdated_cells(book)}: python tests/notebooks/outputs.py {path}"
    )
    text = json.dumps(book)
    assert str(books.ROOT) not in text and str(pathlib.Path.home()) not in text
    assert len(text) < 1_000_000


def test_stale_outputs_are_detected(tmp_path, monkeypatch):
    """A change of a program is detected, and removes the GPU's recorded output."""
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1}
    book = {"cells": [{**cell, "id": "a", "source": ["1 + 1"]}], "metadata": {}, "nbformat": 4}
    assert outputs.outdated_cells(book) == ["the stored results are those of other programs"]
    book["metadata"]["numbalite"] = {"programs": outputs.digest_of_code(book)}
    path, recording = tmp_path / "book.ipynb", tmp_path / "recording.json"
    outputs.write_notebook(book, path)
    said = {"program": outputs.digest_of_text("1 + 1"), "text": "2", "pictures": []}
    recording.write_text(json.dumps({"device": "a GPU", "books": {"book": {"a": said}}}))
    monkeypatch.setattr(books, "FOLDER", tmp_path)
    outputs.insert_outputs([path], recording)
    book = books.read_notebook(path)
    assert outputs.outdated_cells(book) == [] and "on a GPU" in books.cell_source(book["cells"][1])
    book["cells"][0]["source"] = ["1 + 2"]
    assert outputs.outdated_cells(book)[1:] == ["a-recorded is of another program"]
    outputs.write_notebook(book, path)
    outputs.store_outputs(path, IdleKernels)
    book = books.read_notebook(path)
    assert outputs.outdated_cells(book) == [] and len(book["cells"]) == 1


class IdleKernels:
    """Runs nothing."""

    def execute(book):
        return book


@pytest.mark.every_case
@pytest.mark.parametrize(
    "path", sorted((books.FOLDER / "slides").glob("*.ipynb")), ids=books.notebook_name
)
def test_slides_have_cells_and_notes(path):
    """Each cell is a slide, a continuation of a slide, or a note for the teacher; slides are
    short."""
    cells = books.read_notebook(path)["cells"]
    kinds = [cell["metadata"]["slideshow"]["slide_type"] for cell in cells]
    assert set(kinds) <= {"slide", "fragment", "-", "notes"} and kinds[0] == "slide"
    assert kinds.count("slide") >= 8 and kinds.count("notes") >= 4
    assert all(len(books.cell_source(cell).splitlines()) <= 20 for cell in cells)


@pytest.mark.parametrize("path", books.NOTEBOOKS, ids=books.notebook_name)
def test_notebook_runs_without_errors(path, notebook_kernels):
    book = books.read_notebook(path)
    if notebook_kernels is None and books.uses_magic(book):
        pytest.skip("its magic words need IPython, which is not installed")
    verdicts = books.run_notebook(books.fill_with_solutions(book, path), path, notebook_kernels)
    assert [name for name, _, _ in verdicts] == books.assessed_names(book)
    for _, passed, text in verdicts:
        assert passed, text


@pytest.mark.parametrize("path", WITH_EXERCISES, ids=books.notebook_name)
def test_unfilled_notebook_passes_no_exercise(path):
    """The distributed notebook runs to its end, and no exercise passes."""
    book = books.read_notebook(path)
    verdicts = books.run_in_this_process(book, path)
    assert [name for name, _, _ in verdicts] == books.assessed_names(book)
    for _, passed, text in verdicts:
        assert not passed, text


@pytest.mark.every_case
@pytest.mark.parametrize("path", WITH_TASKS, ids=books.notebook_name)
def test_no_task_passes_unfilled(path):
    """The results equal the stored results of the distributed notebook."""
    book = books.read_notebook(path)
    said = "".join(json.dumps(cell["outputs"]) for cell in books.code_cells(book))
    for name in books.task_names(book):
        assert f"{name}: not passed" in said and f"{name}: passed" not in said


def test_every_lesson_of_two_sections_has_tasks():
    lessons = [p for p in books.NOTEBOOKS if re.match(r"[12]_\w+/\d", books.notebook_name(p))]
    assert len(lessons) >= 10 and set(lessons) <= set(WITH_TASKS)


def test_every_exercise_is_assigned_in_a_notebook():
    set_somewhere = [
        name for path in WITH_EXERCISES for name in books.assessed_names(books.read_notebook(path))
    ]
    assert {kind.name for kind in exercises().values() if kind.section} <= set(set_somewhere)


@pytest.mark.every_case
@pytest.mark.parametrize("path", WITH_ANSWERS, ids=books.notebook_name)
def test_every_exercise_has_a_solution(path):
    cells = {cell["id"] for cell in books.code_cells(books.read_notebook(path))}
    for name in books.assessed_names(books.read_notebook(path)):
        assert f"{name}-exercise" in cells and f"{name}-exercise" in books.read_solutions(path)


@pytest.mark.every_case
@pytest.mark.parametrize(
    "file", sorted((books.FOLDER / "solutions").glob("*.py")), ids=lambda file: file.stem
)
def test_every_solution_has_its_cell(file):
    folder = books.FOLDER / file.stem
    paths = sorted(folder.glob("*.ipynb"))
    assert paths, f"no notebooks in {folder.name}"
    identities = [
        cell["id"] for path in paths for cell in books.code_cells(books.read_notebook(path))
    ]
    for identity in books.read_solutions(paths[0]):
        assert identities.count(identity) == 1, identity
