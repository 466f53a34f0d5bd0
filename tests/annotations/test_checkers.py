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
from kit.together import make_folder_once

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
OF_PAGES = """
disallow_untyped_defs = False
disallow_incomplete_defs = False
disallow_untyped_calls = False
allow_redefinition = True
"""
# Patterns of errors that NumPy's annotations cause: its functions return an ndarray, and few accept
# a device
# array for out=.
NUMPYS = re.compile(
    r'ndarray.*" has no attribute|for class "(NDArray|ndarray)|of "_G?UFunc_|"take_along_axis"|'
    r'parameter "out" of type "ndarray'
)


def errors_of_own_files(errors):
    """Returns the errors that NumPy's annotations do not cause."""
    errors = list(errors)
    numpys = {error.partition(": ")[0] for error in errors if NUMPYS.search(error)}
    return [error for error in errors if error.partition(": ")[0] not in numpys]


def write_page_programs(folder):
    """Writes one Python file for each page, and returns the files. A file contains the page's programs, on the
    same lines as in the page."""
    files = []
    for page in PAGES:
        lines = []
        for block in doc_pages.parse_blocks(page):
            if block.is_program and not block.is_shown_only:
                lines += [""] * (block.line - 1 - len(lines)) + block.text.splitlines()
        name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
        files.append(folder / f"{name}.py")
        files[-1].write_text("\n".join(lines) + "\n")
    assert len(files) > 15
    return files


@pytest.fixture(scope="module")
def mypy_errors(tmp_path_factory):
    """Returns the errors of mypy --strict, all files in one run: most of its time, mypy reads NumPy's stubs."""
    pytest.importorskip("mypy")
    return (
        (make_folder_once(tmp_path_factory, "mypy", run_mypy) / "errors").read_text().splitlines()
    )


def run_mypy(folder):
    pages = write_page_programs(folder)
    settings = folder / "mypy.ini"
    settings.write_text(f"[mypy]\n[mypy-{','.join(page.stem for page in pages)}]\n{OF_PAGES}")
    command = [
        sys.executable, "-m", "mypy", f"--config-file={settings}", "--strict", "--follow-imports=silent",
        "--no-pretty", f"--cache-dir={folder}", HERE / "program.py", HERE / "mistakes.py", *pages,
    ]  # fmt: skip
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    (folder / "errors").write_text("\n".join(errors))


@pytest.fixture(scope="module")
def pyright_errors(tmp_path_factory):
    """Returns the errors of pyright, all files in one run."""
    pytest.importorskip("basedpyright")
    folder = make_folder_once(tmp_path_factory, "pyright", run_pyright)
    return (folder / "errors").read_text().splitlines()


def run_pyright(folder):
    files = write_page_programs(folder)
    ignored = re.compile("no-untyped-def|import-not-found")  # rules of mypy alone
    for name in ("program", "mistakes"):
        lines = (HERE / f"{name}.py").read_text().splitlines()
        text = "\n".join(
            re.sub(r" # type: ignore\[.*", "", x) if ignored.search(x) else x for x in lines
        )
        files.append(folder / f"{name}.py")
        files[-1].write_text(text)
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
    errors = [
        f"{one['file']}:{one['range']['start']['line'] + 1}: {' '.join(one['message'].split())}"
        for one in found["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    (folder / "errors").write_text("\n".join(errors))


def is_error_in_page_program(error):
    """Returns whether the file of an error is a program of a documentation page."""
    return pathlib.Path(error.partition(":")[0]).stem not in ("program", "mistakes")


def test_inferred_types_match_runtime_types(monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    runpy.run_path(str(HERE / "program.py"))


@pytest.mark.slow
def test_mypy_infers_the_types(mypy_errors):
    assert not [error for error in mypy_errors if not is_error_in_page_program(error)]


@pytest.mark.slow
def test_mypy_accepts_programs_of_the_documentation(mypy_errors):
    assert not errors_of_own_files(filter(is_error_in_page_program, mypy_errors))


@pytest.mark.slow
def test_pyright_infers_the_types(pyright_errors):
    assert not [error for error in pyright_errors if not is_error_in_page_program(error)]


@pytest.mark.slow
def test_pyright_accepts_programs_of_the_documentation(pyright_errors):
    assert not errors_of_own_files(filter(is_error_in_page_program, pyright_errors))


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
