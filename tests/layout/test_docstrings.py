"""Docstrings with numpydoc's sections: known titles in their order, and parameters that exist."""

import ast
import re

import pytest

from .test_layout import ROOT, name

TITLES = ("Parameters", "Returns", "Yields", "Raises", "Warns", "See Also", "Notes", "Examples")
TITLE = re.compile(r"^(\S.*)\n(-{3,})$", re.M)


def functions():
    """(file, function, docstring) of the functions with sections."""
    for path in sorted((ROOT / "numbalite").rglob("*.py")):
        if "---" in (text := path.read_text()):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    doc = ast.get_docstring(node)
                    if doc and TITLE.search(doc):
                        yield path, node, doc


FOUND = list(functions())


@pytest.mark.parametrize(
    "found", FOUND, ids=[f"{name(path)}-{node.name}" for path, node, _ in FOUND]
)
def test_docstring_sections_are_valid_numpydoc(found):
    _, node, doc = found
    titles = TITLE.findall(doc)
    assert [title for title, _ in titles] == [one for one in TITLES if one in dict(titles)]
    assert all(len(title) == len(line) for title, line in titles)
    assert not doc.partition("\n")[0].startswith("-") and doc.partition("\n")[2].startswith("\n")
    listed = re.search(r"^Parameters\n-+\n(.*?)(?=\n\n\S|\Z)", doc, re.M | re.S)
    if listed and isinstance(node, ast.FunctionDef):
        every = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        exist = {one.arg for one in every} | {
            one.arg for one in (node.args.vararg, node.args.kwarg) if one
        }
        named = re.findall(r"^\*{0,2}(\w+)(?: : .*)?$", listed[1], re.M)
        assert named and set(named) <= exist, f"not parameters: {set(named) - exist}"
