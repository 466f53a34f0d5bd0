"""Checks the dependency rules in the sources, in seconds, without a compiler or a device.

base <- driver <- core <- py. The simulator (sim) is one implementation of the driver table, in
packages of its own."""

import ast
import fnmatch
import functools
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CEXT = ROOT / "cext"
SIM = ("sim/engine", "sim/debuginfo", "sim/check", "sim/driver")
# Package -> the packages whose headers it may include, in addition to its own.
BELOW = {
    "base": {"base"},
    "driver": {"base", "driver"},
    "sim/debuginfo": {"base", "sim/debuginfo"},
    "sim/engine": {"base", "driver", "sim/debuginfo", "sim/engine"},
    "sim/check": {"base", "driver", "sim/engine", "sim/debuginfo", "sim/check"},
    "sim/driver": {"base", "driver", *SIM},
    "core": {"base", "driver", "core"},
    "py": {"base", "driver", "core", "py"},
}
# Files (a .c and its .h are one) that may include one another in a cycle, and why.
CIRCLES = {
    ("base/lock", "base/mem"): "locks are memory that is counted, the counters are atomic",
    ("py/fault", "py/kernel"): "a kernel has a hook for its faults, which is told the kernel",
    ("py/argument", "py/aggregate"): "tuples and structs are arguments that are made of arguments",
    (
        "sim/engine/cluster",
        "sim/engine/scheduler",
    ): "threads wait for their cluster, which is awaited when none can run",
}
C_FILES = sorted(path for path in CEXT.rglob("*") if path.suffix in {".c", ".h"})
TEXT_SUFFIXES = {".c", ".h", ".cuh", ".cu", ".py", ".md", ".toml", ".ipynb", ".in", ".yml", ""}


@functools.cache
def strip_comments(text):
    """Returns C text without comments; string literals are kept."""
    pattern = r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    return re.sub(pattern, lambda m: m[1] or " ", text, flags=re.S)


@functools.cache
def included_files(path):
    """Returns the files that `path` includes, in order, as written."""
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', strip_comments(path.read_text()), re.M)


def product_files():
    """Returns every file of the product, as git would list it: no build output, no caches."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def package_of(relative):
    """Returns the package of a path below cext, or of an include: "core" of "core/stream.h",
    "sim/check" of ..."""
    parts = pathlib.PurePath(relative).parts
    return "/".join(parts[: 2 if parts[0] == "sim" else 1])


def relative_name(path):
    return str(path.relative_to(ROOT))


def make_test_of_c_files(rule):
    """Returns a test that a rule, a function of a path, holds for every C file; lists all files
    that violate it."""

    @functools.wraps(rule)
    def test_rule():
        broken = []
        for path in C_FILES:
            try:
                rule(path)
            except AssertionError as problem:
                broken.append(f"{relative_name(path)}: {problem}")
        assert not broken, "\n".join(broken)

    del test_rule.__wrapped__  # pytest would treat the parameter `path` as a fixture
    return test_rule


def test_every_package_has_include_rules():
    packages = {package_of(path.relative_to(CEXT)) for path in C_FILES}
    assert packages <= set(BELOW), "a new package: say in BELOW what it may include"


@make_test_of_c_files
def test_includes_follow_the_package_order(c_file):
    package = package_of(c_file.relative_to(CEXT))
    quoted = re.findall(r'#\s*include\s*"([^"]+)"', strip_comments(c_file.read_text()))
    for included in quoted:
        assert "/" in included, (
            f'{included}: write the package too: #include "{package}/{included}"'
        )
    for included in included_files(c_file):
        if included == "sim/abi.h":  # plain C shared with cuda_src
            assert package in SIM
        elif included.split("/")[0] in {"sim", *BELOW}:
            assert (CEXT / included).exists(), f"{included} does not exist"
            assert package_of(included) in BELOW[package], (
                f"{relative_name(c_file)} must not include {included}"
            )
        if included == "host/abi.h":  # likewise
            assert package == "core"


def test_c_packages_have_no_include_cycle():
    for package, below in BELOW.items():
        both_ways = {other for other in below - {package} if package in BELOW[other]}
        assert not both_ways, f"{package} and {both_ways} may include one another"


def find_cycles(graph):
    """Returns the sets of nodes that can all reach one another: the strongly connected components,
    by Tarjan."""
    order, low, stack, found = {}, {}, [], []

    def visit_node(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in order:
                visit_node(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in order:
            visit_node(node)
    return found


def assert_circles_are_named(graph, verb):
    for circle in find_cycles(graph):
        named = any(
            all(any(fnmatch.fnmatch(unit, pattern) for pattern in patterns) for unit in circle)
            for patterns in CIRCLES
        )
        assert named, f"{', '.join(circle)} {verb} one another: untie them, or say why in CIRCLES"


def test_cycle_detection_finds_every_cycle():
    graph = {"a": {"b"}, "b": {"c", "d"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a", "f"}}
    assert find_cycles(graph) == [["d", "e"], ["a", "b", "c"]]


def test_c_files_have_no_include_cycle():
    """Include cycles are errors: declarations that two files share belong in one of them or in a
    third file."""
    graph = {}
    for path in C_FILES:
        unit = path.relative_to(CEXT).with_suffix("")
        graph.setdefault(str(unit), set()).update(
            included.rpartition(".")[0]
            for included in included_files(path)
            if (CEXT / included).exists()
        )
    assert_circles_are_named(graph, "include")


@make_test_of_c_files
def test_python_header_is_included_only_in_py(c_file):
    package = c_file.relative_to(CEXT).parts[0]
    for included in included_files(c_file):
        if included in {"Python.h", "structmember.h", "frameobject.h"}:
            assert package == "py", f"{included} outside py/"
        if included.startswith("numpy/"):
            assert relative_name(c_file) in {"cext/py/hostarray.c", "cext/py/hostufunc.c"}, (
                f"{included} outside py/hostarray.c and py/hostufunc.c"
            )
    if package != "py":
        text = strip_comments(c_file.read_text())
        assert not re.search(r"\bPy[A-Z_]\w*\(", text), "a call of Python below py/"


@make_test_of_c_files
def test_threads_are_created_in_one_file(c_file):
    """Only base/lock names pthread and the atomic builtins; the rest of cext uses its functions.

    Code of instrumented builds that announces fibers to sanitizers is exempt.
    """
    if c_file.relative_to(CEXT).parts[:2] in {("base", "lock.h"), ("base", "lock.c")}:
        return
    text = strip_comments(c_file.read_text())
    text = re.sub(r"#ifdef NL_SIM_[AT]SAN\n.*?#endif", "", text, flags=re.S)
    found = re.findall(r"\bpthread_\w+|\b__(?:atomic|sync)_\w+|\bstdatomic\.h|\b_Atomic\b", text)
    assert not found, f"{sorted(set(found))}: belongs in base/lock"


# Files that may test which driver is loaded, in order to open or report it.
ASKS_THE_KIND = {
    "cext/driver/driver.h", "cext/driver/driver.c", "cext/driver/driver_real.c",
    "cext/sim/driver/calls.c", "cext/core/device.c", "cext/py/device.c",
    "numbalite/runtime/devices.py", "numbalite/__main__.py", "numbalite/jupyter/rich.py",
}  # fmt: skip


def test_simulator_implements_every_driver_call():
    """Without an entry in the simulator's table, a call jumps to address 0."""
    calls = re.findall(r"^    X\((\w+),", (CEXT / "driver/driver_calls.h").read_text(), re.M)
    files = (path.read_text() for path in (CEXT / "sim/driver").glob("calls*.c"))
    filled = set(re.findall(r"table->(\w+) =\s", "".join(files)))
    assert calls
    missing = sorted(set(calls) - filled)
    assert not missing, f"cext/sim/driver/calls_*.c: no function for {missing}"


def test_no_code_branches_on_the_driver_kind():
    """Properties of a driver are fields of its table; `kind` is for messages."""
    words = {
        "*.[ch]": r"\b(?:nl_cu\.|table->|nl_driver->)kind\b",
        "*.py": r"\bdriver_kind\(|_core\.open\(\) *[=!]=",
    }
    for pattern, word in words.items():
        for path in sorted([*CEXT.rglob(pattern), *(ROOT / "numbalite").rglob(pattern)]):
            if relative_name(path) not in ASKS_THE_KIND:
                found = re.search(word, path.read_text())
                assert not found, (
                    f"{relative_name(path)}: {found[0]}: ask for what decides (driver.h)"
                )


@make_test_of_c_files
def test_sources_include_their_header_first(c_file):
    own = c_file.with_suffix(".h")
    if c_file.suffix == ".c" and own.exists():
        assert included_files(c_file)[0] == str(own.relative_to(CEXT))


def test_includes_of_the_simulator_and_of_kernels_exist():
    """A missing file would fail only in kernels that include it."""
    sources = ROOT / "cuda_src"
    roots = [sources, *(sources / name for name in ("sim", "sim/include", "std", "host"))]
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sorted(sources.rglob("*"))
        if path.is_file()
        for name in re.findall(
            r'^\s*#\s*include\s+"([^"]+)"', path.read_text("utf-8"), re.MULTILINE
        )
        if not any((folder / name).exists() for folder in (path.parent, *roots))
    ]
    assert not missing


@make_test_of_c_files
def test_headers_have_include_guards(c_file):
    if c_file.suffix == ".h":
        text = c_file.read_text()
        assert "#pragma once" in text or re.search(r"^#ifndef (NL_\w+_H)\n#define \1$", text, re.M)


@make_test_of_c_files
def test_c_files_begin_with_a_comment(c_file):
    assert c_file.read_text().lstrip().startswith("/*"), (
        "a file begins with a paragraph on its idea"
    )


@make_test_of_c_files
def test_c_code_reads_the_environment_in_one_file(c_file):
    if re.search(r"\b(secure_)?getenv\(", strip_comments(c_file.read_text())):
        assert c_file.relative_to(CEXT).parts[0] == "sim", "configuration reaches C by arguments"


def test_files_have_at_most_900_lines():
    code = {".c", ".h", ".py", ".cuh", ".cu"}
    long = {
        relative_name(path): lines
        for path in product_files()
        if path.suffix in code and (lines := len(path.read_text().splitlines())) > 900
    }
    assert not long, f"two nouns in one file: {long}"


def test_random_numbers_of_tests_can_be_repeated():
    """Tests draw with kit.sample.generator(), or with the module `random`, which kit/sample.py
    seeds."""
    unseeded = re.compile(
        r"np\.random\.default_rng\(\)|\brandom\.Random\(\)|np\.random\.RandomState\(\)"
    )
    paths = set((ROOT / "tests").rglob("test_*.py")) - {pathlib.Path(__file__)}
    found = [path.name for path in sorted(paths) if unseeded.search(path.read_text())]
    assert len(paths) > 100 and not found


def test_python_reads_the_environment_in_config():
    """Every environment variable is read in one module: numbalite/config.py."""
    for path in sorted((ROOT / "numbalite").rglob("*.py")):
        if path.name != "config.py":
            found = re.findall(
                r"os\.(?:getenv\([^)]*|environ(?:\.get\(|\[)[^)\]]*)", path.read_text()
            )
            assert not found, f"{relative_name(path)} reads {found}: add it to numbalite/config.py"


@make_test_of_c_files
def test_c_strings_contain_no_cuda_source(c_file):
    """CUDA C++ is in files under cuda_src; C strings hold no program text."""
    strings = re.findall(r'"((?:\\.|[^"\\\n])*)"', strip_comments(c_file.read_text()))
    for string in strings:
        assert not re.search(r"__(global|device|shared)__ \w+ \**\w+|extern \\\"C\\\"", string), (
            string
        )


def test_python_strings_contain_no_cuda_programs():
    """Python composes sources from templates (cuda_src/templates) and single lines; complete
    programs are files in cuda_src.

    The demo may contain kernels as strings, because it is a user's program.
    """
    documented = (ast.Module, ast.FunctionDef, ast.ClassDef)
    for path in sorted((ROOT / "numbalite").rglob("*.py")):
        if path.name == "demo.py":
            continue
        tree = ast.parse(path.read_text())
        texts = {
            ast.get_docstring(n, clean=False) for n in ast.walk(tree) if isinstance(n, documented)
        }
        for node in ast.walk(tree):
            text = (
                node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            )
            if text not in texts and re.search(r"__global__|__device__|__syncthreads", text):
                assert text.count("\n") <= 8, (
                    f"{relative_name(path)}: move this to cuda_src:\n{text[:300]}"
                )
                assert 'extern "C" __global__' not in text, (
                    f"{relative_name(path)}: cuda_src/templates"
                )
            if text not in texts:
                found = re.search(r"template <typename.*\{", text)
                assert not found, f"{relative_name(path)}: cuda_src/templates/elements: {found[0]}"


def test_files_contain_no_local_paths():
    """Files contain no paths of the machine on which they were written, such as home
    directories."""
    marks = re.compile(r"/(?:root|home/\w+)/")
    here = pathlib.Path(__file__)
    for path in product_files():
        if path.suffix in TEXT_SUFFIXES and path != here:
            found = marks.search(path.read_text(errors="replace"))
            assert not found, f"{relative_name(path)} names {found[0]}"


def test_tree_contains_no_binaries():
    for path in product_files():
        assert path.suffix not in {".so", ".o", ".whl", ".cubin", ".pyc", ".zip", ".gz"}, (
            relative_name(path)
        )


def test_contributing_guide_lists_every_package():
    page = (ROOT / "docs" / "contributing.md").read_text()
    package_map = page.partition("\n## The packages\n")[2].partition("\n## ")[0]
    tops = {
        path.relative_to(ROOT).parts[0]
        for path in product_files()
        if len(path.relative_to(ROOT).parts) > 1
    }
    packages = {f"{top}/" for top in tops if not top.startswith(".")}
    for parent in ("cext", "cuda_src", "numbalite", "tests"):
        inside = {path.relative_to(ROOT).parts for path in product_files()}
        packages |= {f"{parts[1]}/" for parts in inside if parts[0] == parent and len(parts) > 2}
    missing = sorted(package for package in packages if package not in package_map)
    assert not missing, f"the map in docs/contributing.md lacks {missing}"


def test_every_package_documents_its_first_file():
    """Docstrings of Python packages describe the package and the packages that it uses; a table of
    docs/contributing.md describes the other packages."""
    for path in sorted((ROOT / "numbalite").glob("*/__init__.py")):
        text = " ".join((ast.get_docstring(ast.parse(path.read_text())) or "").split())
        assert re.search(r"\b(Uses|may use) ", text, re.IGNORECASE), (
            f"{relative_name(path)}: what may it use?"
        )
        found = re.search(r"Begin with (?:(\w+\.py)|this file)", text)
        assert found, f"{relative_name(path)}: where does a reader begin?"
        assert found[1] is None or (path.parent / found[1]).is_file(), (
            f"{relative_name(path)}: {found[1]}"
        )
    page = (ROOT / "docs" / "contributing.md").read_text()
    table = re.findall(r"^\| `([\w/]+)` \| (.*) \|$", page, re.MULTILINE)
    packages = {f"cext/{package}" for package in BELOW} | {"tests"}
    packages |= {f"cuda_src/{path.name}" for path in (ROOT / "cuda_src").iterdir() if path.is_dir()}
    assert {package for package, _ in table} == packages
    for package, text in table:
        for file in re.findall(r"`([\w.]+\.\w+)`", text):
            assert (ROOT / package / file).is_file(), f"{package} has no {file}"


def test_files_named_in_the_docs_exist():
    """Files and functions that the pages mention exist. test_code_paths.py checks the call trees of the code paths."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        for path in re.findall(
            r"`((?:cext|numbalite|cuda_src|tests)/[\w/.]+\.\w+)`", page.read_text()
        ):
            assert (ROOT / path).is_file(), f"{relative_name(page)} names {path}"
    paths = (ROOT / "docs" / "contributing.md").read_text().partition("\n## Code paths\n")[2]
    paths = paths.partition("\n## ")[0]
    assert paths
    sources = "".join(
        path.read_text() for path in product_files() if path.suffix in {".c", ".h", ".py"}
    )
    for word in re.findall(r"`([a-z_]{4,}|[A-Z]\w+\.\w+)`", paths):
        assert re.search(rf"\b{word.rpartition('.')[2]}\b", sources), f"nothing is called {word}"


# ---- the built module --------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def extension_symbols():
    """Returns [(type letter, name)] of the symbols that the extension module defines, local and global."""
    if not shutil.which("nm"):
        pytest.skip("no nm")
    from numbalite import _core

    def run_nm(*options):
        out = subprocess.run(
            ["nm", *options, _core.__file__], capture_output=True, text=True, check=True
        )
        return [line.split()[-2:] for line in out.stdout.splitlines() if line.strip()]

    return run_nm


def test_extension_exports_only_its_init_function(extension_symbols):
    exported = {symbol for _, symbol in extension_symbols("-D", "--defined-only")}
    # Ignores names that sanitizers and the linker add.
    exported = {
        s
        for s in exported
        if not re.match(r"_*(asan|odr_asan|ubsan|tsan|init|fini|edata|end|bss_start)", s)
    }
    assert exported == {"PyInit__core"}


@pytest.fixture(scope="module")
def object_symbols():
    """Returns {unit: (names that its object file defines for other units, names that it uses from other
    units)}.

    With hidden visibility the linker makes shared names local too: only the object files distinguish
    them.
    """
    paths = sorted((ROOT / "build").glob("temp.*/cext/**/*.o"))
    if not paths or not shutil.which("nm"):
        pytest.skip("no object files here")
    found = {}
    for line in subprocess.run(
        ["nm", "-A", "-g", *paths], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        path, _, rest = line.partition(".o:")
        unit = path.rpartition("/cext/")[2]
        if (CEXT / unit).with_suffix(".c").exists():  # or the object of a deleted source file
            letter, symbol = rest.split()[-2:]
            found.setdefault(unit, (set(), set()))[letter == "U"].add(symbol)
    return found


def test_c_functions_have_no_call_cycle(object_symbols):
    owner = {symbol: unit for unit, (defined, _) in object_symbols.items() for symbol in defined}
    graph = {
        unit: {owner[symbol] for symbol in taken if symbol in owner} - {unit}
        for unit, (_, taken) in object_symbols.items()
    }
    assert_circles_are_named(graph, "call")


def test_exported_symbols_begin_with_nl(object_symbols):
    """The names of functions and variables that are not static begin with nl_."""
    for unit, (defined, _) in object_symbols.items():
        for symbol in defined:
            assert symbol == "PyInit__core" or re.match(r"_*(nl_|odr_asan|asan)", symbol), (
                f"{unit}: {symbol}"
            )


def test_all_files_have_the_same_version():
    """The version is the same in every file that contains it."""
    import numbalite

    places = {
        "pyproject.toml": r'^version = "(.*)"',
        "CITATION.cff": r"^version: (.*)",
        "conda/recipe.yaml": r'^  version: "(.*)"',
        "numbalite/jupyter/labextension/package.json": r'"version": "(.*)"',
        "numbalite/editor/vscode/package.json": r'"version": "(.*)"',
    }
    for path, pattern in places.items():
        found = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
        assert found and found[1] == numbalite.__version__, path
