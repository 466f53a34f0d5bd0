"""Checks the imports of numbalite's modules in the sources: no cycles, and no import in a function
without a reason. `numbalite._core`, and imports for type checkers only, do not count."""

import ast
import functools
import graphlib
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = "each command loads what it needs"
LESSON = "numbalite.course loads no driver and no compiler before an exercise is run"
QUICK = "`import numbalite.cuda` stays quick"
FAILED = "only what failed is explained"
# Module -> (modules of numbalite that it imports in functions, * is any; reason).
LATER = {
    "numbalite": ("jupyter", "what is below gets numbalite.jupyter from here, when it asks"),
    "numbalite.__main__": ("*", COMMAND),
    "numbalite.compilers": (
        "compilers.host compilers.hostbuild compilers.nameconflicts compilers.nvrtc compilers.slipwarnings",
        "a hit of the cache loads no compiler",
    ),
    "numbalite.compilers.source": ("cxx.scanner", "a hit of the cache reads no tokens"),
    "numbalite.course.*": ("*", LESSON),
    "numbalite.coverage": ("coverage.plugin", "the plug-in imports coverage.py"),
    "numbalite.cuda": (
        "algorithms.masks ndarray.serialize runtime.devices types ufuncs.cudaufunc",
        "dask, devices, type names and what computes are loaded when they are used",
    ),
    "numbalite.cuda.numpynames": ("functions.coordinates", "only mgrid and ogrid need it"),
    "numbalite.ndarray.arrays": ("runtime.ipc types", QUICK),
    "numbalite.runtime.contexts": (
        "runtime.ipchandles runtime.managers runtime.memory runtime.rawmodules",
        QUICK,
    ),
    "numbalite.runtime.devices": (
        "compilers.toolkit runtime.managers runtime.memory runtime.checks",
        QUICK,
    ),
    "numbalite.ndarray.hostarrays": ("types", QUICK),
    "numbalite.runtime.managers": ("runtime.ipchandles", "few programs share memory"),
    "numbalite.ndarray.gather": (
        "compilers.templates kernels.decorators",
        "kernels are above arrays",
    ),
    "numbalite.ndarray.batchcopy": (
        "compilers.templates kernels.decorators",
        "kernels are above arrays",
    ),
    "numbalite.ndarray.jointable": (
        "compilers.templates kernels.decorators",
        "kernels are above arrays",
    ),
    "numbalite.ndarray.printing": ("runtime.checks", QUICK),
    "numbalite.cuda.random": ("kernels.decorators", QUICK),
    "numbalite.ndarray.records": ("types", QUICK),
    "numbalite.judge.runner": ("*", "the process answers before it loads a driver and a compiler"),
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
    "numbalite.kernels.dispatcher": ("profiler.session", "few programs profile kernels"),
    "numbalite.kernels.devicefunction": ("kernels.exported", "few programs look at PTX"),
    "numbalite.kernels.exported": (
        "kernels.inspection compilers.hints",
        "inspection loads subprocess",
    ),
    "numbalite.kernels.builder": ("cxx.devicelib", "its tables are long; most sources need none"),
    "numbalite.kernels.images": ("runtime.workers", "where dask.distributed is used"),
    "numbalite.kernels.kernel": ("kernels.inspection", "inspection loads subprocess"),
    "numbalite.kernels.results": ("types.describe", "for types that no user declares alone"),
    "numbalite.kernels.module": ("kernels.inspection kernels.project compilers.hints", FAILED),
    "numbalite.kernels.source": ("compilers.hints", FAILED),
    "numbalite.runtime.checks": ("compilers", "opening the simulator loads no compiler"),
    "numbalite.compilers.hints": ("compilers.sim.translation", FAILED),
    "numbalite.compilers.pythonisms": ("types.inkernel", FAILED),
    "numbalite.types.classes": ("types.structs", QUICK),
    "numbalite.numba.finder": ("autograd.minpy", "autograd is an optional package"),
    "numbalite.ufuncs.cudagufunc": (
        "ufuncs.cudaufunc ufuncs.differentiation",
        "only arguments that are cast, and derivatives, need them",
    ),
    "numbalite.ufuncs.decorators": (
        "kernels.targets ufuncs.cudagufunc ufuncs.cudaufunc ufuncs.hostufunc",
        "a program loads the targets that it uses",
    ),
    "numbalite.ufuncs.element": ("kernels.module", "for whole sources alone"),
    "numbalite.ufuncs.cudaufunc": ("ufuncs.differentiation", "few programs use derivatives"),
    "numbalite.ufuncs.hostufunc": (
        "kernels.options ufuncs.differentiation",
        "only options= and derivatives need them",
    ),
}


# Packages from the bottom up: a package imports only from earlier packages of this list. The map in
# docs/contributing.md has
# the same order.
ORDER = """types cxx compilers runtime profiler coverage kernels python ndarray ufuncs cpu algorithms functions linalg fft
    random sparse tuning cuda autograd operators torch jax numba editor jupyter judge course""".split()
UPWARD = {
    (
        "kernels",
        "python",
    ): "the decorators import the translator when they meet the first Python body",
}


@functools.cache
def module_files():
    """Returns a dictionary from the name of each module to its file."""
    found = {}
    for path in (ROOT / "numbalite").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def is_for_type_checkers(node):
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def imported_modules(module, node):
    """Yields the modules of numbalite that an import statement names."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        base = node.module or ""
        if node.level:
            is_package = module_files()[module].name == "__init__.py"
            parts = module.split(".")[: None if is_package else -1]
            parts = parts[: len(parts) - node.level + 1]
            base = ".".join([*parts, *([node.module] if node.module else [])])
        names = [f"{base}.{alias.name}" for alias in node.names]
    for name in names:
        if name.split(".")[0] == "numbalite" and not name.startswith("numbalite._core"):
            while name not in module_files():
                name = name.rpartition(".")[0]
            yield name


@functools.cache
def module_imports(module):
    """Returns (imports when the module is loaded, imports in functions)."""
    found = set(), set()
    functions = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda

    def collect_imports(node, depth):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                found[depth].update(imported_modules(module, child))
            elif not is_for_type_checkers(child):
                collect_imports(child, depth or isinstance(child, functions))

    collect_imports(ast.parse(module_files()[module].read_text()), 0)
    return tuple(names - {module} for names in found)


def allowed_imports(module):
    """Returns the modules that a module may import in functions."""
    for rule in (module, f"{module.rpartition('.')[0]}.*"):
        if rule in LATER:
            return {name if name == "*" else f"numbalite.{name}" for name in LATER[rule][0].split()}
    return set()


def test_imports_have_no_cycles():
    """Cycles through an import in a function also count."""
    graph = {module: set().union(*module_imports(module)) for module in module_files()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as problem:
        raise AssertionError(f"imports in a circle: {' <- '.join(problem.args[1])}") from None


def test_imports_in_functions_have_a_reason():
    without = {}
    for module in module_files():
        late, known = module_imports(module)[1], allowed_imports(module)
        if "*" not in known and late - known:
            without[module] = sorted(late - known)
    assert not without, "import at the top, or say why not in LATER"


def test_deferred_imports_are_listed_and_used():
    for module, (names, _) in LATER.items():
        if names != "*":
            assert allowed_imports(module) == module_imports(module)[1], (
                f"{module}: LATER names what is not so"
            )


def test_frontend_and_errors_import_nothing_else():
    assert module_imports("numbalite.frontend") == (set(), set())
    assert module_imports("numbalite.errors") == ({"numbalite.frontend"}, set())
    assert module_imports("numbalite.config") == ({"numbalite.errors"}, set())


def test_packages_below_do_not_import_the_front_end():
    for module in module_files():
        if (
            not module.startswith(("numbalite.jupyter", "numbalite.course"))
            and module != "numbalite"
        ):
            names = set().union(*module_imports(module))
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


def test_every_package_can_be_imported_first(run_python):
    """Packages also import one another through their parents: `%load_ext numbalite` is executed
    before `from numbalite import cuda`."""
    run_python(FIRST, ROOT)


def package_of(module):
    """Returns the folder of a module below numbalite; returns None for a module of the top folder."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ORDER else None


def package_imports():
    """Returns a dict from each package to the packages that its modules import, at the top and in
    functions."""
    found = {package: set() for package in ORDER}
    for module in module_files():
        package = package_of(module)
        if package:
            found[package] |= {package_of(name) for name in set().union(*module_imports(module))}
    return {package: names - {package, None} for package, names in found.items()}


def test_packages_import_from_below():
    folders = {path.parent.name for path in (ROOT / "numbalite").glob("*/__init__.py")}
    assert folders == set(ORDER)
    upward = {
        (package, name)
        for package, names in package_imports().items()
        for name in names
        if ORDER.index(name) > ORDER.index(package)
    }
    assert upward == set(UPWARD)


def test_docstrings_of_packages_list_their_imports():
    for package, names in package_imports().items():
        text = ast.get_docstring(ast.parse(module_files()[f"numbalite.{package}"].read_text()))
        found = re.search(r"(?:Uses|package \w+ uses) ([^.]*)\.", " ".join(text.split()))
        assert found, f"{package}: its docstring does not say what it uses"
        listed = set(re.findall(r"\w+", found[1])) & set(ORDER)
        assert listed == names, f"{package} uses {' '.join(sorted(names, key=ORDER.index))}"


def test_contributing_guide_lists_packages_in_order():
    text = (ROOT / "docs" / "contributing.md").read_text()
    listed = re.findall(
        r"^  (\w+)/ ", text[text.index("\nnumbalite/ ") : text.index("\ntests/")], re.M
    )
    assert listed == ORDER
