"""Everything that users import is annotated: mypy, which reads the whole package (`make lint`),
skips functions without annotations. Functions that implement NumPy's (``@implements``) are called
through NumPy, whose stubs have the types of their parameters: only their results are annotated,
unless numbalite.cuda imports the function by name."""

import ast
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = "algorithms cuda fft functions linalg ndarray numba python random runtime".split()
MODULES = """__init__ arguments config errors compilers/templates cpu/jit types/parallelrange kernels/compiled
    kernels/conversions kernels/decorators kernels/dispatcher kernels/module kernels/targets
    sparse/__init__ sparse/array sparse/building sparse/construct sparse/elementwise sparse/formats
    sparse/indexing sparse/joining sparse/products sparse/reductions ufuncs/decorators
    ufuncs/deviceufunc ufuncs/elementwise""".split()


def annotated_files():
    """Yields the Python files of the public surface."""
    top = ROOT / "numbalite"
    yield from (top / f"{name}.py" for name in MODULES)
    for name in PACKAGES:
        yield from (p for p in (top / name).rglob("*.py") if p.parent.name != "libraries")


def is_public(name):
    return not name.startswith("_") or (name.startswith("__") and name.endswith("__"))


def public_functions(body, owner=None):
    """Yields (name, node, whether its first parameter is self or cls) of the public functions of a
    body."""
    for node in body:
        if isinstance(node, (ast.If, ast.Try)):
            yield from public_functions([*node.body, *node.orelse], owner)
        elif isinstance(node, ast.ClassDef) and is_public(node.name):
            yield from public_functions(node.body, node.name)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
            name = f"{owner}.{node.name}" if owner else node.name
            yield name, node, bool(owner) and "staticmethod" not in decorators


def imported_by_cuda():
    """Returns (module, name) of the names that type checkers see in numbalite.cuda."""
    tree = ast.parse((ROOT / "numbalite" / "cuda" / "__init__.py").read_text())
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {(node.module, alias.name) for node in imports for alias in node.names}


IMPORTED = imported_by_cuda()


def is_called_by_numpy(path, node):
    """Returns whether NumPy calls the function for device arrays, and no user calls it directly."""
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    if (module, node.name) in IMPORTED:
        return False
    names = (ast.unparse(d.func) for d in node.decorator_list if isinstance(d, ast.Call))
    return any(name.rpartition(".")[2] == "implements" for name in names)


def missing_annotations(path):
    """Returns the missing annotations of a file's public functions."""
    for name, node, is_method in public_functions(ast.parse(path.read_text()).body):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        every = [parameter for parameter in every if parameter][1 if is_method else 0 :]
        if is_called_by_numpy(path, node):
            every = []
        if node.returns is None or any(parameter.annotation is None for parameter in every):
            yield f"{path.relative_to(ROOT)}, line {node.lineno}: {name}"


def test_public_functions_are_annotated():
    assert not [place for path in annotated_files() for place in missing_annotations(path)]
