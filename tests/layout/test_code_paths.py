"""docs/contributing.md draws code paths as call trees: each function must call the functions below it."""

import ast
import pathlib
import re
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text()
SECTION = PAGE.partition("\n## Code paths\n")[2].partition("\n## ")[0]
PATHS = {
    name: re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for name, text in re.findall(
        r"^### (.+?)\n(.*?)(?=^### |\Z)", SECTION, re.MULTILINE | re.DOTALL
    )
}
"""Heading -> its call trees. The root of each one is called by the tree before it, through a table or a type's slot."""
WARM = ("A kernel launch", "An elementwise function", "A reduction", "An assignment")
MAX_WARM_DEPTH = 10


class PathStep(NamedTuple):
    depth: int
    function: str
    file: str


def steps_of_path(text):
    found = []
    for line in text.splitlines():
        row = re.fullmatch(r"( *)([\w.]+) {2,}([\w/]+\.(?:c|h|py))(?: {2,}.+)?", line)
        assert row, f"not `function  file  purpose`: {line!r}"
        found.append(PathStep(len(row[1]) // 2, row[2], row[3]))
    return found


def c_body(function, text):
    """Returns the text of a C function or of a macro, without comments; returns None if it is not defined in
    cext."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    defined = rf"^[a-zA-Z][^;{{}}()=]*?\b{function}\([^;{{}}]*?\) \{{$.*?^\}}"
    found = re.search(defined, text, re.MULTILINE | re.DOTALL)
    return found and found[0].split("{", 1)[1]


def python_body(function, text):
    """Returns the text of a function, or of the method `Class.method`."""
    nodes = [ast.parse(text)]
    for part in function.split("."):
        nodes = [
            child
            for node in nodes
            for child in ast.walk(node)
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)) and child.name == part
        ]
    return ast.get_source_segment(text, nodes[0]) if nodes else None


def function_body(step):
    text = (ROOT / step.file).read_text()
    found = (python_body if step.file.endswith(".py") else c_body)(step.function, text)
    assert found, f"{step.file} defines no {step.function}"
    return found


def test_every_code_path_is_documented():
    assert {*WARM, "Compilation of a Python function"} == set(PATHS)
    assert all(PATHS.values())


@pytest.mark.parametrize("name", PATHS)
def test_each_function_calls_the_functions_below_it(name):
    for tree in PATHS[name]:
        callers = []
        for step in steps_of_path(tree):
            assert step.depth <= len(callers), f"{step.function} is indented too far"
            del callers[step.depth :]
            if callers:
                called = step.function.rpartition(".")[2]
                calls = re.search(rf"\b{called}\b", function_body(callers[-1]))
                assert calls, f"{callers[-1].function} does not call {called}"
            assert function_body(step)
            callers.append(step)
        assert step.depth or len(steps_of_path(tree)) == 1, "a tree without branches"


@pytest.mark.parametrize("name", WARM)
def test_a_warm_call_passes_at_most_ten_functions(name):
    assert (
        sum(1 + max(step.depth for step in steps_of_path(tree)) for tree in PATHS[name])
        <= MAX_WARM_DEPTH
    )
