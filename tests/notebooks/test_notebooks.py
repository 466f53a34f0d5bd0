"""Every notebook is well-formed, carries no output, and runs from top to bottom."""

import json
import linecache
import pathlib
import warnings

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).resolve().parents[2] / "notebooks").rglob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request):
    with open(request.param, encoding="utf-8") as file:
        return request.param, json.load(file)


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_form(notebook):
    """What nbformat 4.5 asks for, and no stored results."""
    _, book = notebook
    assert book["nbformat"] == 4 and book["nbformat_minor"] >= 5
    assert book["metadata"]["kernelspec"]["name"] == "python3"
    identities = [cell["id"] for cell in book["cells"]]
    assert len(set(identities)) == len(identities)
    for cell in book["cells"]:
        assert cell["cell_type"] in {"markdown", "code"}
        assert isinstance(cell["metadata"], dict)
        assert isinstance(cell["source"], (str, list))
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [] and cell["execution_count"] is None
    assert "".join(book["cells"][0]["source"]).startswith("# ")


def test_it_runs(notebook):
    """Each cell is compiled under a name of its own, as IPython does, so that sources can be looked up."""
    path, book = notebook
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, cell in enumerate(book["cells"]):
            if cell["cell_type"] != "code":
                continue
            source = "".join(cell["source"])
            place = f"<{path.stem}, cell {number}>"
            linecache.cache[place] = (len(source), None, source.splitlines(keepends=True), place)
            exec(compile(source, place, "exec"), names)
