"""In kernels of lessons and pages, neighbouring threads access neighbouring elements: the first
number of grid<2>() is the last index of the array."""

import pathlib
import re

import books
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Kernel -> reason why the first number of its grid belongs to the first index.
MEANT = {
    "increment_2d": "lesson 3.1 begins with it and asks for its speed",
    "warps_down_columns": "lesson 3.1 compares it with warps along rows",
    "copy_down_columns": "lesson 3.1 compares it with copies along rows",
}
_GRID = re.compile(r"auto \[(\w+), *(\w+)\] = grid<2>\(\)|^ *(\w+), *(\w+) = cuda\.grid\(2\)", re.M)
_TRANSPOSITION = re.compile(r"out[(\[]x, y[)\]] = a[(\[]y, x[)\]]")
_KERNEL = re.compile(r"^def (\w+)\(.*?(?=^\S|\Z)", re.M | re.S)


def notebook_kernels():
    """Yields (file, name, text) of the kernels with a grid in two dimensions."""
    paths = sorted(ROOT.glob("notebooks/**/*.ipynb"))
    found = [
        (path, books.cell_source(cell))
        for path in paths
        for cell in books.read_notebook(path)["cells"]
    ]
    for path in [
        ROOT / "README.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("notebooks/solutions/**/*.py"),
    ]:
        found.append((path, path.read_text(encoding="utf-8")))
    for path, text in found:
        for kernel in _KERNEL.finditer(text):
            if _GRID.search(kernel[0]):
                yield path.relative_to(ROOT).as_posix(), kernel[1], kernel[0]


def non_adjacent_accesses(text):
    """Yields accesses whose first index is the first number of the grid and whose last index is the
    second number."""
    first, second = next(filter(all, ((m[1] or m[3], m[2] or m[4]) for m in _GRID.finditer(text))))
    pattern = rf"\w+[(\[] *{first}\b[^,()\[\]]*(?:, *|\] *\[) *{second}\b[^,()\[\]]*[)\]]"
    return re.findall(pattern, text)


def test_notebooks_contain_kernels_to_check():
    assert len(list(notebook_kernels())) > 15


@pytest.mark.parametrize("case", list(notebook_kernels()), ids=lambda case: f"{case[0]}-{case[1]}")
def test_neighbouring_threads_use_neighbouring_elements(case):
    _, name, text = case
    wrong = non_adjacent_accesses(text)
    if _TRANSPOSITION.search(text):  # a transposition needs one access that is not adjacent
        return
    assert not wrong or name in MEANT, wrong
