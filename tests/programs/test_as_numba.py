"""Runs programs that import numba, each in a separate process, because the replacement of numba
cannot be undone."""

import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from kit.paths import python_path


@pytest.fixture
def run_as_numba(tmp_path, checkout_root):
    """run_as_numba(arguments, source) -> (status, standard output, standard error); a file contains
    source."""

    def run_program(*arguments, source="", **environment):
        program = tmp_path / "program.py"
        program.write_text(textwrap.dedent(source))
        found = subprocess.run(
            [sys.executable, *(str(program) if a == "FILE" else a for a in arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env={**os.environ, "PYTHONPATH": python_path(checkout_root), **environment},
            check=False,
        )
        return found.returncode, found.stdout, found.stderr.replace(str(program), "program.py")

    return run_program


RUN = ("-m", "numbalite", "run")


def test_numba_program_runs_unmodified(run_as_numba):
    """Names of numba's modules refer to numbalite's own objects, however they are imported."""
    status, out, err = run_as_numba(
        *RUN, "FILE", "one", "-v",
        source="""
        import sys, os
        import numba, numba.cuda.random
        import numba as nb
        import numpy as np
        from numba import (config, cuda, float32, float64, guvectorize, int32, jit, njit, prange, types, typeof,
                           vectorize, void)
        from numba.core import config as config2, errors, types as types2
        from numba.core.errors import NumbaPerformanceWarning, NumbaWarning, TypingError
        from numba.cuda import random
        from numba.cuda.cudadrv import driver, devicearray
        from numba.cuda.cudadrv.driver import CudaAPIError
        from numba.cuda.random import create_xoroshiro128p_states
        from numba.np.numpy_support import as_dtype, from_dtype
        from numba.core.typing import signature
        from numba.cuda.args import wrap_arg
        from numba.cuda.kernels.transpose import transpose
        from numba.cuda.typing.typeof import typeof as typeof2
        import numbalite

        assert __name__ == "__main__" and sys.modules["__main__"].sys is sys
        assert sys.argv[1:] == ["one", "-v"] and sys.path[0] == os.path.dirname(os.path.abspath(__file__))
        assert cuda is numbalite.cuda is numba.cuda is nb.cuda and types is types2 is numbalite.types
        assert signature(void, int32) == void(int32) and typeof2(1) is types.int64
        m = np.arange(6.0).reshape(2, 3)
        assert (transpose(cuda.to_device(m)).copy_to_host() == m.T).all()
        hinted = wrap_arg(np.ones(1), default=cuda.In)
        assert type(hinted) is type(cuda.In(np.ones(1))) and wrap_arg(hinted) is hinted
        assert config is config2 is numbalite.config and random is numbalite.cuda.random
        assert cuda.__name__ == cuda.__spec__.name == "numbalite.cuda"
        assert as_dtype(float32) == as_dtype(float32[:, ::1]) == np.float32 and from_dtype(np.int32) is int32
        assert numba.__name__ == "numbalite.numba.top" and numbalite.__version__ != numba.__version__
        version = tuple(map(int, numba.__version__.split(".")))
        assert numba.version_info[:3] == version == numba.version_info.full and version[:2] == numba.version_info.short
        assert list(prange(2, 5)) == [2, 3, 4] and set(dir(numbalite)) < set(dir(numba))

        @vectorize([float32(float32, float32)], target="cuda")
        def add(a, b):
            "return a + b;"

        @njit
        def plain(a, b, c=3, *more):
            return [a, b, c, *more]

        assert cuda.is_supported_version() and cuda.cuda_error() is None
        assert cuda.is_available() and config.DISABLE_JIT and plain(1, b=2) == [1, 2, 3]
        config.DEBUG_TYPEINFER = True
        print(add(np.float32(1), np.float32(2)), cuda.is_simulated())
        numbalite.install_as_numba()  # a second time
        """,
        NUMBA_ENABLE_CUDASIM="1", NUMBALITE_DRIVER="", NUMBA_DISABLE_JIT="1",
    )  # fmt: skip
    assert (status, out, err) == (0, "3.0 True\n", "")


def test_missing_numba_names_raise(run_as_numba):
    """An unsupported name can be imported from numba, and its use raises an error with the alternative;
    unsupported modules raise at import."""
    status, out, err = run_as_numba(
        *RUN, "FILE",
        source="""
        from numba import jitclass, objmode, cuda
        for use in (lambda: jitclass([]), lambda: objmode.x, lambda: __import__("numba.typed"),
                    lambda: __import__("numba").no_such, lambda: __import__("numba.core.no_such")):
            try:
                use()
            except Exception as problem:
                print(type(problem).__name__, problem)
        """,
    )  # fmt: skip
    assert (status, err) == (0, "")
    classes, objects, typed, name, module = out.splitlines()
    assert classes.startswith(
        "NotImplementedError 'numba' has no 'jitclass': numba is numbalite here; "
    )
    assert "keep what the class holds in arrays" in classes and "call Python code before" in objects
    assert (
        typed.startswith("ModuleNotFoundError no module 'numba.typed'") and "use an array" in typed
    )
    assert name.startswith("AttributeError 'numba' has no 'no_such': numba is numbalite here; ")
    assert module.startswith(
        "ModuleNotFoundError no module 'numba.core.no_such': numba is numbalite here; "
    )


def test_folders_and_archives_run(run_as_numba, tmp_path):
    """Folders and archives run by their __main__.py, as under Python."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "own.py").write_text("from numba import cuda\nname = cuda.__name__")
    (folder / "__main__.py").write_text("import sys, own\nprint(own.name, sys.argv[1:])")
    archive = shutil.make_archive(str(tmp_path / "archive"), "zip", folder)
    for path in (str(folder), archive):
        assert run_as_numba(*RUN, path, "-x") == (0, "numbalite.cuda ['-x']\n", "")


def test_help_option_prints_usage(run_as_numba):
    for arguments in (("run", "--help"), ("run", "-h"), ("cache", "-h"), ("--help",)):
        status, out, err = run_as_numba("-m", "numbalite", *arguments)
        assert status == 0 and out.startswith("usage: numbalite COMMAND") and not err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("FILE",), 1, 'Traceback (most recent call last):\n  File "program.py", line 3, in <module>\n'),
        (("-c", "raise SystemExit(7)"), 7, ""),
        (("-c", "x ="), 1, '  File "<string>", line 1\n'),
        (("-m", "no_such_module"), 1, "No module named no_such_module\n"),
        (("no_such.py",), 2, "run: cannot read no_such.py: No such file or directory\n"),
        (("-c",), 2, "run -c: what to run is missing\n"),
    ],
    ids=["raises", "exits", "syntax", "module", "file", "nothing"],
)  # fmt: skip
def test_exit_status_and_traceback_match_python(run_as_numba, arguments, status, message):
    """Exit status and output equal Python's; a traceback begins in the program."""
    source = "from numba import cuda\n\nraise KeyError(cuda.__name__)\n"
    found, out, err = run_as_numba(*RUN, *arguments, source=source)
    assert (found, out) == (status, "") and message in err
    assert "numbalite/" not in err


def test_unsupported_kernel_raises_with_the_users_line(run_as_numba):
    """The traceback of the error shows only the program's lines."""
    source = """
        from numba import cuda
        @cuda.jit
        def k(x):
            x[0] = [1][0]
        k[1, 1](cuda.device_array(1))
        """
    status, _, err = run_as_numba(*RUN, "FILE", source=source)
    assert status == 1 and "list is not possible in a kernel" in err
    assert [line for line in err.split("\n") if "File" in line] == [
        '  File "program.py", line 6, in <module>'
    ]


def test_imported_numba_is_kept(run_as_numba):
    """It stays what it is."""
    status, _, err = run_as_numba(
        "FILE",
        source="""
        import sys, types
        sys.modules["numba"] = types.ModuleType("numba")
        sys.modules["numba"].__file__ = "site/numba.py"
        import numbalite
        try:
            numbalite.install_as_numba()
        finally:
            import numba
            assert numba.__file__ == "site/numba.py"
        """,
    )  # fmt: skip
    assert status == 1
    assert (
        "ImportError: numba itself is imported already (site/numba.py): call numbalite.install"
        in err
    )


def test_numba_cuda_testing_tools_work(run_as_numba):
    """Tests numba.cuda.testing, which the tests of numba programs use."""
    status, out, err = run_as_numba(
        *RUN, "FILE", "-q",
        source="""
        from numba import config, cuda
        from numba.cuda.testing import (CUDATestCase, captured_cuda_stdout, skip_on_cudasim,
                                        skip_unless_cc_90, skip_unless_cudasim, unittest)
        from numba.tests.support import captured_stdout, override_config

        class Tests(CUDATestCase):
            @skip_on_cudasim("runs here")
            @skip_unless_cc_90
            def test_printing(self):
                @cuda.jit
                def k():
                    r'printf("from %d\\n", 3);'

                with captured_cuda_stdout() as out:
                    print("first")
                    k[1, 2]()
                assert sorted(out.getvalue().splitlines()) == ["first", "from 3", "from 3"]

            def test_settings(self):
                assert config.CUDA_WARN_ON_IMPLICIT_COPY is False
                with override_config("OPT", 1), captured_stdout() as out:
                    print(config.OPT)
                assert out.getvalue() == "1\\n" and config.OPT is None
                self.assertPreciseEqual([1.0], [1.0 + 1e-7], prec="single")
                with self.assertRaises(AssertionError):
                    self.assertPreciseEqual([1.0], [1.0 + 1e-7])

        unittest.main()
        """,
    )  # fmt: skip
    assert (status, out) == (0, ""), err
    assert "Ran 2 tests" in err and "OK" in err


def test_multiprocessing_children_use_numbalite_as_numba(run_as_numba):
    """Processes spawned by multiprocessing have numba's name for numbalite too."""
    status, out, err = run_as_numba(
        *RUN, "FILE", "4",
        source="""
        import multiprocessing, sys
        from numba import types

        def double(x):
            return types.int32(2 * x), types.__name__, sys.argv[1:]

        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.map(double, [3]))
        """,
    )  # fmt: skip
    assert (status, out) == (0, "[(np.int32(6), 'numbalite.types', ['4'])]\n"), err


def test_modules_that_programs_import_are_found(run_as_numba):
    """Every name works, or its import raises an ImportError with the alternative."""
    status, out, err = run_as_numba(
        *RUN, "FILE",
        source="""
        import warnings
        import numpy as np
        import numba
        from numba import cuda, guvectorize, jit, jit_module, njit, types, vectorize
        from numba import NumbaPendingDeprecationWarning, NumbaExperimentalFeatureWarning
        from numba.core import errors
        from numba.core.decorators import jit as jit2
        from numba.core.dispatcher import Dispatcher, HostFunc
        from numba.core.registry import CPUDispatcher
        from numba.cuda.api import to_device
        from numba.cuda.dispatcher import CUDADispatcher
        from numba.cuda.kernels.reduction import Reduce
        from numba.extending import is_jitted, register_jitable
        from numba.misc.special import literal_unroll, prange, typeof
        from numba.np.ufunc import DUFunc, GUFunc
        from numba.np.ufunc.parallel import get_thread_count
        import numba.np.ufunc

        @cuda.jit
        def kernel(x):
            x[0] = called(x[0])

        @cuda.jit(device=True)
        def device(x):
            return x

        @register_jitable
        def called(x):
            return x + 1

        @register_jitable(inline="always")
        def call_called_twice(x):
            return called(x) + 1

        @njit
        def function(x):
            return call_called_twice(x)

        assert isinstance(kernel, CUDADispatcher) and isinstance(device, CUDADispatcher)
        assert isinstance(kernel, Dispatcher) and not isinstance(called, Dispatcher)
        assert isinstance(function, CPUDispatcher) and isinstance(function, Dispatcher)
        assert isinstance(function, HostFunc) and not isinstance(function, CUDADispatcher)
        assert is_jitted(function) and is_jitted(kernel) and not is_jitted(called)
        assert isinstance(vectorize(["float64(float64)"])(lambda x: x), DUFunc)
        assert function(1) == 3 and get_thread_count() >= 1 and jit2 is jit
        assert isinstance(types.int8, types.Integer) and not isinstance(types.int8, types.Float)
        assert isinstance(types.float32, types.Number) and not isinstance(types.boolean, types.Number)

        # Ignoring numba's deprecations hides no warning of numbalite.
        for kind in (errors.NumbaDeprecationWarning, errors.NumbaPendingDeprecationWarning):
            assert issubclass(kind, errors.NumbaWarning) and not issubclass(errors.NumbaPerformanceWarning, kind)
        warnings.simplefilter("ignore", category=errors.NumbaDeprecationWarning)
        for name in errors.__all__:
            assert issubclass(getattr(errors, name), Exception) and getattr(numba, name) is getattr(errors, name)

        def plain(x):
            return x * 2

        jit_module(nopython=True)
        assert isinstance(plain, CPUDispatcher) and plain(4) == 8 and plain.py_func(4) == 8

        for line in (
            "from numba import foo", "from numba.core import cgutils", "from numba.core.registry import cpu_target",
            "from numba.misc.special import literally", "from numba.extending import overload",
            "from numba.extending import intrinsic", "from numba.types import ListType",
            "from numba.core.types import DictType, unicode_type", "from numba.typed import List, Dict",
            "from numba.experimental import jitclass", "from numba.cuda import foo",
            "from numba.cuda.simulator import kernel", "from numba.core.typing.templates import AbstractTemplate",
            "from numba.parfors import parfor", "import numba.core.compiler", "from numba.core.errors import foo",
            "import numba.pycc", "from numba.core.unsafe import bytes", "import numba.foo.bar",
        ):
            try:
                exec(line, {})
            except ImportError as problem:
                said, _, remedy = str(problem).partition("numba is numbalite here; ")
                assert remedy and "numba" in said, (line, problem)
            else:
                raise AssertionError(line)
        assert not hasattr(numba, "foo") and not hasattr(types, "ListType")
        print("done")
        """,
    )  # fmt: skip
    assert (status, out) == (0, "done\n"), err


def test_python_options_apply_to_the_program(run_as_numba):
    source = """
        import sys
        from numba import cuda
        import numpy as np

        @cuda.jit
        def nothing(x):
            "It does nothing, yet."

        @cuda.jit
        def one(x):
            "x[0] = 1;"

        x = np.zeros(1)
        nothing[1, 1](x)
        assert x[0] == 0
        one[1, 1](x)
        print(x[0], sys.argv[1:], sys.warnoptions, sys.flags.optimize)
    """
    for options, found in (
        ((), "[] 0"), (("-W", "ignore"), "['ignore'] 0"), (("-Wignore", "-O"), "['ignore'] 1"),
    ):  # fmt: skip
        status, out, err = run_as_numba(
            "-m", "numbalite", "run", *options, "FILE", "-W", "b", source=source
        )
        assert (status, out) == (0, f"1.0 ['-W', 'b'] {found}\n"), err
    code = "import sys; print(sys.argv, sys.warnoptions)"
    status, out, err = run_as_numba(*RUN, "-W", "error", "-c", code, "a")
    assert (status, out) == (0, "['-c', 'a'] ['error']\n"), err
    for arguments, said in ((("-Z", "FILE"), "unknown option -Z"), (("-W", "ignore"), "missing")):
        status, out, err = run_as_numba(*RUN, *arguments, source=source)
        assert status == 2 and said in err


def test_minpy_programs_run(run_as_numba):
    """Computes minpy's gradients with arrays on the device."""
    pytest.importorskip("autograd")
    status, out, err = run_as_numba(
        *RUN, "FILE",
        source="""
        import minpy
        import minpy.numpy as np
        import minpy.numpy.random as random
        from minpy.context import gpu, set_context
        from minpy.core import grad, grad_and_loss

        set_context(gpu(0))
        random.seed(0)
        x = random.rand(64, 3)
        t = np.dot(x, np.array([1.0, -2.0, 0.5]))

        def loss(w):
            return np.sum((np.dot(x, w) - t) ** 2) / 64

        step, w = grad_and_loss(loss), np.zeros(3)
        for _ in range(300):
            gradient, value = step(w)
            w = w - 0.5 * gradient
        print(type(w).__name__, float(value) < 1e-3, minpy.numpy.tanh(0.0))
        try:
            import minpy.nn
        except ModuleNotFoundError as problem:
            print(problem)
        """,
    )  # fmt: skip
    assert status == 0, err
    assert out.splitlines() == [
        "DeviceNDArray True 0.0",
        "minpy.nn: of minpy, numbalite has minpy, minpy.context, minpy.core, minpy.numpy, minpy.numpy.random",
    ]
