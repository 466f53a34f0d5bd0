"""Type checkers infer the right types in a program with `assert_type`, and in the programs of
README and the guide.

mypy runs with --strict. pyright is tested where basedpyright is installed, a package that contains it.
"""

import json
import os
import pathlib
import re
import runpy
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "docs"))
import doc_pages  # noqa: E402

PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "quickstart.md",
    *(ROOT / "docs" / "guide").glob("*.md"),
]
# Programs on pages have no annotations, and assign values of different types to one name.
OF_PAGES = "--allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls --allow-redefinition".split()
# Errors that NumPy's annotations cause: its functions return an ndarray, and few accept a device
# array for out=.
NUMPYS = re.compile(
    r'ndarray.*" has no attribute|for class "(NDArray|ndarray)|of "_G?UFunc_|"take_along_axis"|'
    r'parameter "out" of type "ndarray'
)


def errors_of_own_files(errors):
    """Returns the errors that NumPy's annotations do not cause."""
    numpys = {error.partition(": ")[0] for error in errors if NUMPYS.search(error)}
    return [error for error in errors if error.partition(": ")[0] not in numpys]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with one Python file for each page: the file contains the page's programs, on the same lines
    as in the page."""
    folder = tmp_path_factory.mktemp("pages")
    for page in PAGES:
        lines = []
        for block in doc_pages.blocks(page):
            if block.is_program and not block.is_shown_only:
                lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
        name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
        (folder / f"{name}.py").write_text("\n".join(lines) + "\n")
    assert len(list(folder.iterdir())) > 15
    return folder


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Returns the errors of mypy --strict for these arguments."""
    pytest.importorskip("mypy")
    cache = tmp_path_factory.mktemp("mypy")
    return lambda *arguments: _mypy(f"--cache-dir={cache}", *arguments)


def _mypy(*arguments):
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file=",
        "--strict",
        "--follow-imports=silent",
        "--no-pretty",
    ]
    command += map(str, arguments)
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


def pyright(folder, *files):
    """Returns the errors of pyright."""
    pytest.importorskip("basedpyright")
    settings = {
        "include": [str(file) for file in files],
        "extraPaths": [str(ROOT), str(HERE)],
        "typeCheckingMode": "standard",
        "reportUnnecessaryTypeIgnoreComment": True,
        "enableTypeIgnoreComments": True,
        "reportRedeclaration": False,
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--project", str(folder), "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True, text=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(files)
    return [
        f"{one['file']}:{one['range']['start']['line'] + 1}: {one['message']}"
        for one in found["generalDiagnostics"]
        if one["severity"] == "error"
    ]


def test_inferred_types_match_runtime_types(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    runpy.run_path(str(HERE / "program.py"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["program", "mistakes"])
def test_mypy_infers_the_types(name, mypy):
    assert not mypy(HERE / f"{name}.py")


@pytest.mark.slow
def test_mypy_accepts_programs_of_the_documentation(pages, mypy):
    assert not errors_of_own_files(mypy(*OF_PAGES, *pages.glob("*.py")))


@pytest.mark.slow
def test_pyright_infers_the_types(tmp_path):
    ignored = re.compile("no-untyped-def|import-not-found")  # rules of mypy alone
    for name in ("program", "mistakes"):
        lines = (HERE / f"{name}.py").read_text().splitlines()
        text = "\n".join(
            re.sub(r" # type: ignore\[.*", "", x) if ignored.search(x) else x for x in lines
        )
        (tmp_path / f"{name}.py").write_text(text)
    assert not pyright(tmp_path, tmp_path / "program.py", tmp_path / "mistakes.py")


@pytest.mark.slow
def test_pyright_accepts_programs_of_the_documentation(pages):
    assert not errors_of_own_files(pyright(pages, *sorted(pages.glob("*.py"))))


@pytest.mark.slow
def test_stub_file_matches_the_extension_module():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy.stubtest", "--mypy-config-file", "pyproject.toml"]
    done = subprocess.run(
        [*command, "--ignore-disjoint-bases", "--concise", "numbalite._core"],
        cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert not [line for line in done.stdout.splitlines() if line.startswith("numbalite._core")]
    assert done.returncode == 0, done.stdout + done.stderr
