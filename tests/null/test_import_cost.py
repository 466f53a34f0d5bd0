"""The cost of `import numbalite`, and the drivers, compilers and heavy modules that it does not
load."""

import pathlib
import sys

import pytest

HEAVY = """asyncio ctypes.util dataclasses difflib email hashlib http importlib.metadata json logging
    multiprocessing pathlib shutil socket ssl subprocess tempfile unittest urllib.request uuid zipfile
    cuda cuda.pathfinder""".split()
UNTOUCHED = "numbalite.compilers.nvrtc numbalite.compilers.host numbalite.__main__".split()


def test_import_loads_no_heavy_module(run_python):
    result = run_python(
        "import sys, numpy\n"
        "before = set(sys.modules)\n"
        "import numbalite\n"
        "from numbalite import cuda, float32\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    imported = result.stdout.split()
    assert "numbalite._core" in imported
    assert not set(imported) & {*HEAVY, *UNTOUCHED}


def test_import_opens_no_driver(run_python):
    result = run_python(
        "import numbalite\n"
        "from numbalite import _core, cuda\n"
        "assert not _core.is_open()\n"
        "maps = open('/proc/self/maps').read()\n"
        "print('libcuda.so' in maps, 'nvrtc' in maps)",
        NUMBALITE_DRIVER="auto",
    )
    assert result.stdout.split() == ["False", "False"]
    assert result.stderr == ""


def test_a_bad_variable_does_not_break_the_import(run_python):
    result = run_python(
        "from numbalite import cuda\n"
        "try: cuda.synchronize()\n"
        "except ValueError as problem: print(problem)",
        NUMBALITE_DRIVER="gpu",
    )
    assert "NUMBALITE_DRIVER='gpu'" in result.stdout and "auto or cuda or sim" in result.stdout


@pytest.mark.skipif(not hasattr(sys, "getswitchinterval"), reason="CPython")
def test_import_takes_a_fraction_of_numpys_time(run_python):
    """A fraction of the time of `import numpy`, in the same process: slow and busy machines are
    slow in both.

    15 ms, compared with 60, on a fast machine.
    """
    code = (
        "import time\n"
        "start = time.process_time()\n"
        "import numpy\n"
        "between = time.process_time()\n"
        "import numbalite\n"
        "from numbalite import cuda\n"
        "print((time.process_time() - between) / (between - start))"
    )
    best = min(float(run_python(code, PYTHONDONTWRITEBYTECODE=None).stdout) for _ in range(3))
    assert best < 0.4


def test_a_checkout_that_is_not_built_raises(run_python, tmp_path):
    """Imports as if a program is started in the checkout while the package is installed in another
    folder."""
    import numbalite

    folder = tmp_path / "numbalite"
    folder.mkdir()
    for name in ("__init__.py", "frontend.py"):
        (folder / name).write_bytes(pathlib.Path(numbalite.__file__).with_name(name).read_bytes())
    (folder / "_core.cpython-27-other.so").touch()
    (folder / "_core.pyi").touch()  # types for editors: no extension module
    result = run_python(
        "try:\n    from numbalite import _core\nexcept ImportError as problem:\n    print(problem)",
        PYTHONPATH=str(tmp_path),
    )
    assert (
        f"is not in {folder} (there is _core.cpython-27-other.so, for another Python)"
        in result.stdout
    )
    assert "pip install -e ." in result.stdout
