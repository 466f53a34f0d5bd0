"""The C sources compile without a warning, with gcc and with clang; the package that users install works."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

import pytest
from kit.together import make_folder_once

from numbalite import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "cext").rglob("*.c"))
HEADERS = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "cext").rglob("*.h"))


def extension_compiler_flags():
    import numpy

    return [
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-fsyntax-only",
        "-Icext",
        "-Icuda_src",
        f"-isystem{numpy.get_include()}",
        f"-isystem{sysconfig.get_path('include')}",
        "-DNPY_NO_DEPRECATED_API=NPY_1_22_API_VERSION",
    ]


def assert_compiles_without_warnings(compiler, *arguments):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    command = [compiler, *extension_compiler_flags(), *arguments]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-4000:]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sources_compile_without_warnings(compiler):
    assert_compiles_without_warnings(compiler, *SOURCES)


def test_each_header_compiles_alone(tmp_path):
    """One compiler is enough, because a missing declaration is an error with every compiler. Each
    source includes its own header first (tests/layout), so the test compiles each header without other
    headers before it."""
    lines = []
    for header in HEADERS:
        if header[:-2] + ".c" in SOURCES:
            continue
        path = tmp_path / (header.replace("/", "_") + ".c")
        first = "#include <Python.h>\n" if "/py/" in header else ""
        path.write_text(f'{first}#include "{header.removeprefix("cext/")}"\nint not_empty;\n')
        lines.append(str(path))
    assert_compiles_without_warnings(
        "gcc" if shutil.which("gcc") else "clang", "-Wno-unused-function", *lines
    )


@pytest.fixture(scope="module")
def built_wheel(tmp_path_factory):
    (built,) = (make_folder_once(tmp_path_factory, "package", make_wheel) / "wheels").iterdir()
    return built


def make_wheel(folder):
    """Builds a wheel from the sdist as pip does, in a new folder that contains only the sdist's
    files.

    The test does not compile C: it reuses the existing extension, and checks that the sdist
    contains every C file.
    """
    for name in ("cext", "cuda_src", "numbalite", "docs", "notebooks", "tests", ".ci"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "__pycache__")
        )
    for name in (
        "setup.py",
        "pyproject.toml",
        "MANIFEST.in",
        "LICENSE",
        "README.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        ".pre-commit-config.yaml",
        "Makefile",
        ".clang-format",
    ):
        shutil.copy(ROOT / name, folder / name)
    env = {k: v for k, v in os.environ.items() if k not in {"LD_PRELOAD", "NUMBALITE_SANITIZE"}}

    def run_setup(where, *arguments):
        command = [sys.executable, "setup.py", "-q", *map(str, arguments)]
        result = subprocess.run(
            command, cwd=where, capture_output=True, text=True, env=env, check=False
        )
        assert result.returncode == 0, result.stdout + result.stderr

    run_setup(folder, "sdist", "-d", "out")
    (packed,) = (folder / "out").iterdir()
    # Python 3.12 and 3.13 warn if no filter is given;
    # early releases of 3.10 and 3.11 have no such argument.
    safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    shutil.unpack_archive(packed, folder / "unpacked", **safe)
    (unpacked,) = (folder / "unpacked").iterdir()
    for path in [*SOURCES, *HEADERS]:
        assert (unpacked / path).read_bytes() == (ROOT / path).read_bytes(), path
    # An object file newer than its sources is not rebuilt.
    ready = folder / "lib" / "numbalite" / pathlib.Path(_core.__file__).name
    ready.parent.mkdir(parents=True)
    shutil.copyfile(_core.__file__, ready)
    run_setup(
        unpacked, "build", "--build-lib", folder / "lib", "bdist_wheel", "-d", folder / "wheels"
    )
    assert ready.read_bytes() == pathlib.Path(_core.__file__).read_bytes(), "it was compiled"


@pytest.mark.slow
def test_the_wheel_holds_the_cuda_sources(built_wheel):
    names = set(zipfile.ZipFile(built_wheel).namelist())
    for path in (ROOT / "cuda_src").rglob("*"):
        if path.is_file():
            assert f"numbalite/_cuda_src/{path.relative_to(ROOT / 'cuda_src')}" in names
    for pattern in ("*.py", "*.pyi", "py.typed"):
        found = [str(path.relative_to(ROOT)) for path in (ROOT / "numbalite").rglob(pattern)]
        assert found and names.issuperset(found)
    for path in (ROOT / "numbalite/editor/vscode").rglob("*"):
        assert path.is_dir() or str(path.relative_to(ROOT)) in names, path
    front_end = "data/share/jupyter/labextensions/numbalite"
    for name in ("package.json", "static/remoteEntry.js"):
        assert any(n.endswith(f"{front_end}/{name}") for n in names), name
    ours = [n for n in names if not n.startswith("numbalite/_cuda_src/")]
    assert not [n for n in ours if n.endswith((".c", ".o")) or n.startswith(("tests", "cext"))]
    assert any(n.endswith("licenses/LICENSE") for n in names)


@pytest.mark.slow
def test_installed_wheel_compiles_a_kernel(built_wheel, tmp_path):
    """When the wheel is installed outside of the checkout, the kernel compiler finds its
    headers."""
    zipfile.ZipFile(built_wheel).extractall(tmp_path / "site")
    code = (
        "import numpy as np, numbalite\n"
        "from numbalite import cuda\n"
        "from numbalite.compilers.headers import cuda_src\n"
        "assert '_cuda_src' in str(cuda_src()), cuda_src()\n"
        "k = cuda.jit('__global__ void k(int* x) { x[grid<1>()] = grid<1>() * 2; }')\n"
        "x = np.zeros(8, 'i4')\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "k[1, 8](x)\n"
        "assert x.tolist() == [0, 2, 4, 6, 8, 10, 12, 14]\n"
        "print(numbalite.__file__)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert str(tmp_path) in result.stdout


@pytest.mark.parametrize(
    "variables, hint",
    [
        ({"CC": "no-such-cc"}, "error: the C compiler no-such-cc was not found: apt install gcc"),
        ({"CC": "false"}, "error: Python.h was not found: apt install python3-dev"),
    ],
)
def test_build_error_names_the_missing_package(tmp_path, variables, hint):
    pytest.importorskip("setuptools", minversion="77")
    build = (
        "import pathlib, runpy, setuptools, sys\n"
        "exists = pathlib.Path.exists\n"
        "pathlib.Path.exists = lambda path: path.name != 'Python.h' and exists(path)\n"
        f"sys.argv[1:] = ['-q', 'build_ext', '-b', {str(tmp_path)!r}, '-t', {str(tmp_path)!r}]\n"
        "runpy.run_path('setup.py')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=ROOT, env={**os.environ, **variables},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and hint in done.stderr


def test_all_version_strings_are_equal():
    """numbalite.__version__ equals the version in pyproject.toml."""
    import numbalite

    text = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{numbalite.__version__}"' in text


def test_graders_can_start_pytest_in_a_checkout():
    """pytest reads pyproject.toml in this folder and rejects options of missing plugins, so the extra that
    installs pytest for learners must install the plugin of each option."""
    text = (ROOT / "pyproject.toml").read_text()
    course = re.search(r"^course = \[(.*)\]$", text, re.M)[1]
    assert re.search(r"^timeout = \d+$", text, re.M) and '"pytest-timeout>=' in course


def test_make_docs_installs_the_packages_of_the_documentation_alone(tmp_path):
    if shutil.which("make") is None:
        pytest.skip("needs make")
    command = ["make", "-n", "docs", f"VENV={tmp_path / 'venv'}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    installs = [line for line in done.stdout.splitlines() if ".ci/environment" in line]
    assert [line.split("venv", 1)[1].split() for line in installs] == [[], ["docs"]], installs
