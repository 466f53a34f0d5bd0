"""Tests the cost of `import numbalite`, and the drivers, compilers and heavy modules that it does
not load."""

import pathlib
import sys

import pytest

HEAVY = """asyncio ctypes.util dataclasses difflib email hashlib http importlib.metadata json logging
    multiprocessing pathlib shutil socket ssl subprocess sysconfig tempfile unittest urllib.request uuid
    zipfile cuda cuda.pathfinder""".split()
UNTOUCHED = "numbalite.compilers.nvrtc numbalite.compilers.host numbalite.__main__".split()
LOADED = """numbalite numbalite._core numbalite.cuda numbalite.frontend numbalite.ndarray
    numbalite.ndarray.above""".split()
NEW = """
import sys, numpy
before = set(sys.modules)
{}
print(*sorted(set(sys.modules) - before))
"""


def test_import_loads_six_modules(run_python):
    """All other names of numbalite.cuda are imported when they are first used."""
    imported = run_python(NEW.format("import numbalite\nfrom numbalite import cuda")).stdout.split()
    assert [name for name in imported if name.startswith("numbalite")] == LOADED
    assert not set(imported) & set(HEAVY)


def test_first_array_loads_no_heavy_module(run_python):
    result = run_python(
        NEW.format("from numbalite import cuda, float32\ncuda.to_device(numpy.zeros(3, float32))")
    )
    imported = result.stdout.split()
    assert "numbalite.ndarray.arrays" in imported
    assert not set(imported) & {*HEAVY, *UNTOUCHED}


def test_importing_one_ufunc_loads_no_other_functions(run_python):
    result = run_python(
        NEW.format(
            "from numbalite import cuda\ncuda.sqrt(cuda.to_device(numpy.ones(3)))\ncuda.get_array_module(3)"
        )
    )
    packages = {name.split(".")[1] for name in result.stdout.split() if "numbalite." in name}
    assert "ufuncs" in packages
    assert not packages & {"algorithms", "fft", "functions", "linalg", "random", "sparse"}


@pytest.mark.parametrize(
    "program, name",
    [
        ("made = _core.device_empty((3,), 'f4')", "DeviceNDArray"),
        ("made = cuda.to_device(np.zeros(3, [('x', 'f4')]))[0]", "DeviceRecord"),
        ("made = _core.device_empty((), [('x', 'f4')])._record()", "DeviceRecord"),
    ],
)
@pytest.mark.every_case
def test_extension_arrays_get_their_class_on_first_use(run_python, program, name):
    """C code imports the classes of the arrays and records that it makes."""
    result = run_python(
        f"import numpy as np\nfrom numbalite import _core, cuda\n{program}\n"
        f"print(type(made) is cuda.{name})"
    )
    assert result.stdout.split() == ["True"]


@pytest.mark.parametrize("first", ["get", "set", "pickle"])
@pytest.mark.every_case
def test_first_array_operations_import_their_packages(run_python, first):
    """Tests masks, casts and pickles, each as the first operation of a process."""
    programs = {
        "get": "print(*d[d > 1].copy_to_host())",
        "set": "d[:] = np.array([0, 2, 3]); print(*d.copy_to_host()[1:].astype(float))",
        "pickle": "import pickle; print(*pickle.loads(pickle.dumps(d)).copy_to_host()[1:])",
    }
    result = run_python(
        "import numpy as np\nfrom numbalite import cuda\nd = cuda.to_device(np.array([1.0, 2.0, 3.0]))\n"
        + programs[first]
    )
    assert result.stdout.split() == ["2.0", "3.0"]


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


def test_invalid_environment_variable_does_not_break_the_import(run_python):
    result = run_python(
        "from numbalite import cuda\n"
        "try: cuda.synchronize()\n"
        "except ValueError as problem: print(problem)",
        NUMBALITE_DRIVER="gpu",
    )
    assert "NUMBALITE_DRIVER='gpu'" in result.stdout and "auto or cuda or sim" in result.stdout


@pytest.mark.skipif(not hasattr(sys, "getswitchinterval"), reason="CPython")
def test_import_takes_a_fraction_of_numpys_time(run_python):
    """Compares the import time with that of `import numpy` in the same process, because a slow or busy
    machine slows both imports."""
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


def test_import_of_an_unbuilt_checkout_raises(run_python, tmp_path):
    """Imports the package as a program that is started in the checkout while the package is
    installed elsewhere."""
    import numbalite

    folder = tmp_path / "numbalite"
    folder.mkdir()
    for name in ("__init__.py", "frontend.py"):
        (folder / name).write_bytes(pathlib.Path(numbalite.__file__).with_name(name).read_bytes())
    (folder / "_core.cpython-27-other.so").touch()
    (folder / "_core.pyi").touch()  # stub files for editors are no extension module
    result = run_python(
        "try:\n    from numbalite import _core\nexcept ImportError as problem:\n    print(problem)",
        PYTHONPATH=str(tmp_path),
    )
    assert (
        f"is not in {folder} (there is _core.cpython-27-other.so, for another Python)"
        in result.stdout
    )
    assert "pip install -e ." in result.stdout
