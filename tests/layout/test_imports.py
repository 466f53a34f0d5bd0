"""The imports of numbalite's modules, read from the sources: no circle, and none in a function without a
reason. `numbalite._core`, and what only type checkers read, do not count."""

import ast
import functools
import graphlib
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = "each command loads what it needs"
LESSON = "numbalite.course loads no driver and no compiler before an exercise is run"
QUICK = "`import numbalite.cuda` stays quick"
FAILED = "only what failed is explained"
# Modules that import others of ours in functions -> which (* is any), and why.
LATER = {
    "numbalite": ("jupyter", "what is below gets numbalite.jupyter from here, when it asks"),
    "numbalite.__main__": ("*", COMMAND),
    "numbalite.compilers": (
        "compilers.host compilers.hostbuild compilers.namesakes compilers.nvrtc",
        "a hit of the cache loads no compiler",
    ),
    "numbalite.compilers.source": ("text.scanner", "a hit of the cache reads no tokens"),
    "numbalite.course.*": ("*", LESSON),
    "numbalite.cuda": (
        "cuda.algorithms.masks cuda.serialize types ufuncs.cudaufunc",
        "dask, type names and what computes are loaded when they are asked for",
    ),
    "numbalite.cuda.arrays": ("cuda.ipc types", QUICK),
    "numbalite.cuda.contexts": (
        "cuda.ipchandles cuda.managers cuda.memory cuda.rawmodules",
        QUICK,
    ),
    "numbalite.cuda.devices": ("compilers.toolkit cuda.managers cuda.memory sim.checks", QUICK),
    "numbalite.cuda.hostarrays": ("types", QUICK),
    "numbalite.cuda.managers": ("cuda.ipchandles", "few programs share memory"),
    "numbalite.cuda.gather": ("compilers.templates kernels.decorators", "kernels are above arrays"),
    "numbalite.cuda.joined": ("compilers.templates kernels.decorators", "kernels are above arrays"),
    "numbalite.cuda.printing": ("sim.checks", QUICK),
    "numbalite.cuda.random": ("kernels.decorators", QUICK),
    "numbalite.cuda.records": ("types", QUICK),
    "numbalite.cuda.transposing": (
        "compilers.templates kernels.decorators",
        "kernels are above arrays",
    ),
    "numbalite.jupyter": (
        "jupyter.asnumba jupyter.cell jupyter.completion jupyter.timing",
        "%load_ext asks for the magics",
    ),
    "numbalite.jupyter.timing": ("cuda", "a magic is registered without a driver"),
    "numbalite.kernels.decorators": (
        "kernels.module python.definition",
        f"only Python bodies need the translator; else {FAILED}",
    ),
    "numbalite.kernels.ahead": ("kernels.inspection kernels.module", FAILED),
    "numbalite.kernels.devicefunction": ("kernels.exported", "few programs look at PTX"),
    "numbalite.kernels.exported": (
        "kernels.inspection text.hints",
        "inspection loads subprocess",
    ),
    "numbalite.kernels.builder": ("text.devicelib", "its tables are long; most sources need none"),
    "numbalite.kernels.images": ("cuda.workers", "where dask.distributed is used"),
    "numbalite.kernels.kernel": ("kernels.inspection", "inspection loads subprocess"),
    "numbalite.kernels.results": ("types.describe", "for types that nobody declares alone"),
    "numbalite.kernels.module": ("kernels.inspection kernels.project text.hints", FAILED),
    "numbalite.kernels.source": ("text.hints", FAILED),
    "numbalite.sim.checks": ("compilers", "opening the simulator loads no compiler"),
    "numbalite.text.hints": ("sim.translation", FAILED),
    "numbalite.text.pythonisms": ("cuda.inkernel", FAILED),
    "numbalite.types.classes": ("types.structs", QUICK),
    "numbalite.ufuncs.cudagufunc": ("ufuncs.cudaufunc", "only arguments that are cast need it"),
    "numbalite.ufuncs.decorators": (
        "kernels.targets ufuncs.cudagufunc ufuncs.cudaufunc ufuncs.hostufunc",
        "a program loads the targets that it uses",
    ),
    "numbalite.ufuncs.element": ("kernels.module", "for whole sources alone"),
    "numbalite.ufuncs.hostufunc": ("kernels.options", "only options= needs it"),
}


@functools.cache
def modules():
    """Name -> file."""
    found = {}
    for path in (ROOT / "numbalite").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def meant(module, node):
    """The modules of ours that an import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            is_package = modules()[module].name == "__init__.py"
            parts = module.split(".")[: None if is_package else -1]
            parts = parts[: len(parts) - node.level + 1]
            base = ".".join([*parts, *([node.module] if node.module else [])])
        names = [f"{base}.{alias.name}" for alias in node.names]
    for name in names:
        if name.split(".")[0] == "numbalite" and not name.startswith("numbalite._core"):
            while name not in modules():
                name = name.rpartition(".")[0]
            yield name


@functools.cache
def imports(module):
    """(imports when it is loaded, imports in functions)"""
    found = set(), set()
    functions = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda

    def walk(node, depth):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                found[depth].update(meant(module, child))
            elif not is_for_type_checkers(child):
                walk(child, depth or isinstance(child, functions))

    walk(ast.parse(modules()[module].read_text()), 0)
    return tuple(names - {module} for names in found)


def allowed(module):
    """What a module may import in functions."""
    for rule in (module, f"{module.rpartition('.')[0]}.*"):
        if rule in LATER:
            return {name if name == "*" else f"numbalite.{name}" for name in LATER[rule][0].split()}
    return set()


def test_no_circles():
    """Not even one that is closed by an import in a function."""
    graph = {module: set().union(*imports(module)) for module in modules()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as problem:
        raise AssertionError(f"imports in a circle: {' <- '.join(problem.args[1])}") from None


def test_imports_in_functions_have_a_reason():
    without = {}
    for module in modules():
        late, known = imports(module)[1], allowed(module)
        if "*" not in known and late - known:
            without[module] = sorted(late - known)
    assert not without, "import at the top, or say why not in LATER"


def test_reasons_are_needed():
    for module, (names, _) in LATER.items():
        if names != "*":
            assert allowed(module) == imports(module)[1], f"{module}: LATER names what is not so"


def test_the_lowest_modules():
    assert imports("numbalite.frontend") == (set(), set())
    assert imports("numbalite.errors") == ({"numbalite.frontend"}, set())
    assert imports("numbalite.config") == ({"numbalite.errors"}, set())


def test_nothing_below_imports_the_front_end():
    for module in modules():
        if (
            not module.startswith(("numbalite.jupyter", "numbalite.course"))
            and module != "numbalite"
        ):
            names = set().union(*imports(module))
            assert not any(name.startswith("numbalite.jupyter") for name in names), module


FIRST = """
import importlib, pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).glob("numbalite/*/__init__.py")):
    for name in [name for name in sys.modules if name.startswith("numbalite")]:
        if name != "numbalite._core":
            del sys.modules[name]
    try:
        importlib.import_module(f"numbalite.{path.parent.name}")
    except ModuleNotFoundError as problem:  # IPython, for instance
        assert not problem.name.startswith("numbalite"), problem
"""


def test_every_package_may_be_the_first(run_python):
    """Packages import one another by way of their parents, too: `%load_ext numbalite` comes before
    `from numbalite import cuda`."""
    run_python(FIRST, ROOT)
