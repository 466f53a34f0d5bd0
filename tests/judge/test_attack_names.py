"""Tests that attacks on judges, and their twins, name modules and attributes that exist."""

import ast
import importlib
import inspect

import pytest
from judge.attacks import PYTHON_ATTACKS, python_answer
from judge.twins import TWINS

SOURCES = {
    **{f"attack: {title}": text for title, (text, _) in PYTHON_ATTACKS.items()},
    **{f"twin: {title}": text for title, (_, text, kind) in TWINS.items() if kind == "py"},
}


def find_unknown_names(source):
    """Returns the attributes of numbalite's modules in the source that do not exist. An attribute is also
    unknown if the source itself creates it."""
    tree = ast.parse(inspect.cleandoc(source))
    modules, unknown = {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for found in node.names:
                if found.name.startswith("numbalite") and found.asname:
                    modules[found.asname] = importlib.import_module(found.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numbalite"):
            owner = importlib.import_module(node.module)
            for found in node.names:
                if hasattr(owner, found.name):
                    modules[found.asname or found.name] = getattr(owner, found.name)
                else:
                    unknown.append(f"{node.module}.{found.name}")
    for node in ast.walk(tree):
        path = []
        while isinstance(node, ast.Attribute):
            path.insert(0, node.attr)
            node = node.value
        if not path or not isinstance(node, ast.Name) or node.id not in modules:
            continue
        owner = modules[node.id]
        for attribute in path:
            if not hasattr(owner, attribute):
                unknown.append(f"{node.id}.{'.'.join(path)}")
                break
            owner = getattr(owner, attribute)
    return unknown


def test_unknown_names_are_found():
    change = "import numbalite.judge.compare as c\nc.no_such_function = print"
    assert find_unknown_names(python_answer(change)) == ["c.no_such_function"]
    change = "from numbalite.judge.compare import find_mismatch, nothing"
    assert find_unknown_names(python_answer(change)) == ["numbalite.judge.compare.nothing"]


@pytest.mark.every_case
@pytest.mark.parametrize("title", sorted(SOURCES))
def test_names_in_attacks_exist(title):
    assert find_unknown_names(SOURCES[title]) == []
