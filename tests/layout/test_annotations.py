"""Everything public is annotated where `make lint` has types checked: mypy itself skips what is not."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def checked():
    """The Python files that pyproject.toml names for mypy."""
    table = (ROOT / "pyproject.toml").read_text().partition("[tool.mypy]")[2]
    named = re.findall(r'"([^"]+)"', re.search(r"files = \[(.*?)\]", table, re.S)[1])
    paths = [ROOT / name for name in named]
    return sorted(
        file for path in paths for file in ([path] if path.suffix else path.rglob("*.py"))
    )


def is_public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def functions(body, owner=None):
    """(name, node, whether its first parameter is self or cls) of the public functions of a body."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from functions([*node.body, *node.orelse], owner)
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            yield from functions(node.body, node.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            name = f"{owner}.{node.name}" if owner else node.name
            yield name, node, bool(owner) and "staticmethod" not in decorators


def lacking(path):
    """Where the public functions of a file lack annotations."""
    for name, node, is_method in functions(ast.parse(path.read_text()).body):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        every = [parameter for parameter in every if parameter][1 if is_method else 0 :]
        if node.returns is None or any(parameter.annotation is None for parameter in every):
            yield f"{path.relative_to(ROOT)}, line {node.lineno}: {name}"


def test_public_functions_are_annotated():
    assert checked()
    assert not [place for path in checked() for place in lacking(path)]
