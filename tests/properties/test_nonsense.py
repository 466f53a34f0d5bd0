"""Calls the whole public API with invalid arguments: each call returns a result or raises a
documented exception.

KeyError, IndexError, AttributeError and similar exceptions indicate a bug of numbalite, unless NumPy or
Python raise the same exception for such an argument. The test finds functions by introspection, so it also
calls new functions."""

import contextlib
import copy
import functools
import io
import math
import os
import random
import re
import signal
import traceback
import types
import warnings
import zlib

import numpy as np
import pytest
from kit.sample import VARIABLE

import numbalite.course
import numbalite.coverage
import numbalite.errors
import numbalite.judge
import numbalite.operators
import numbalite.profiler
import numbalite.sparse
from numbalite import cuda

pytestmark = pytest.mark.sim

STUMBLES = (
    KeyError, IndexError, AttributeError, RecursionError, NameError, AssertionError, SystemError,
    ZeroDivisionError, UnboundLocalError,
)  # fmt: skip
# Functions that are not called, because they end the process, wait, begin a capture, change settings,
# or need a setup.
LEFT_OUT = {
    "close", "reset", "set_trace", "detect", "profile_start", "profile_stop", "select_device", "pause", "open",
    "Graph", "set_process_checks", "set_checks", "reduce_num_threads", "from_ipc_handle", "open_ipc_array",
    "cudadrv", "simulator", "simulator_init", "set_memory_manager", "defer_cleanup", "setLevel",
}  # fmt: skip


NUMPY = os.path.dirname(np.__file__) + os.sep
# Patterns of messages that Python's lists, tuples and similar types raise, not numbalite.
BUILTIN = re.compile(r"^(?:list|tuple|string|range|bytearray|array|bytes|deque) |^pop |^$")
SUBMODULES = {
    "random",
    "devicearray",
    "driver",
    "libdevice",
    "types",
    "testing",
    "nvtx",
    "cublas",
    "memory",
}


class SequenceOfHugeLength:
    def __len__(self):
        return 3

    def __getitem__(self, index):
        raise IndexError(index)


class OddArray(np.ndarray):
    @property
    def __array_interface__(self):
        return {}


class OddInterface:
    @property
    def __cuda_array_interface__(self):
        return {"shape": (2,)}


class OddAttributes:
    __array_interface__ = 5
    shape = "x"
    dtype = None


def make_arguments():
    """Creates new objects for each call, because some calls write to their arguments or close them."""
    host = np.arange(4.0)
    return [
        None, 3, -1, 0, 2**70, -(2**70), 1.5, float("nan"), "a + b", "float32", "", "void(float32[:])", b"x",
        (), (1, 2), [], [1, "a"], [[1], [2, 3]], {}, {"a": 1}, set(), np.float32, np.dtype("f4,i4"), object(),
        lambda x: x, print, int, type, OddAttributes(), OddInterface(), SequenceOfHugeLength(), host, host.view(OddArray),
        host.astype("f4"), np.array([], object), np.array("x"), np.zeros((0, 3)), np.zeros((2, 2), "c8"),
        np.zeros(3, "M8[s]"), slice(None), Ellipsis, True, 1j, np.datetime64(5, "s"), range(3), iter([1]),
        Exception("x"), cuda.to_device(host), cuda.to_device(np.arange(6).reshape(2, 3)), cuda.to_device(np.zeros(0)),
        cuda.to_device(np.zeros((2, 2), bool)), cuda.stream(), cuda.event(), np.ma.array([1]),
        np.random.default_rng(1), cuda.device_array(3, "f4,i4"),
    ]  # fmt: skip


def modules_under_test():
    import numbalite.array_api
    import numbalite.course
    import numbalite.coverage
    import numbalite.errors
    import numbalite.fft
    import numbalite.judge
    import numbalite.linalg
    import numbalite.operators
    import numbalite.profiler
    import numbalite.random
    import numbalite.sparse
    import numbalite.types

    return {
        "cuda": cuda, "numbalite": numbalite, "random": numbalite.random, "sparse": numbalite.sparse,
        "linalg": numbalite.linalg, "fft": numbalite.fft, "types": numbalite.types,
        "judge": numbalite.judge, "operators": numbalite.operators, "course": numbalite.course,
        "errors": numbalite.errors, "profiler": numbalite.profiler, "coverage": numbalite.coverage,
        "array_api": numbalite.array_api,
    }  # fmt: skip


WITH_INTERNAL_NAMES = ("judge", "operators", "course", "profiler")
"""Packages whose dir() has names of other modules."""


def public_functions():
    """Returns (name, how to get it) of all public functions and classes."""
    found = {}
    for path, module in modules_under_test().items():
        for name in module.__all__ if path in WITH_INTERNAL_NAMES else public_names(module):
            value = getattr(module, name, None)
            if isinstance(value, types.ModuleType):
                for inner in public_names(value) if path == "cuda" and name in SUBMODULES else ():
                    found[f"{path}.{name}.{inner}"] = (value, inner)
            elif not (isinstance(value, type) and issubclass(value, BaseException)):
                found[f"{path}.{name}"] = (module, name)
    return {
        name: of
        for name, of in found.items()
        if callable(getattr(*of, None)) and not is_from_typing(*of)
    }


def is_from_typing(owner, name):
    """Returns whether a module has imported the name for its annotations."""
    return getattr(getattr(owner, name), "__module__", None) == "typing"


def public_names(owner):
    return [n for n in dir(owner) if not n.startswith("_") and n not in LEFT_OUT]


def example_instances():
    """Returns a dict from a name to a function that creates an object whose methods are called."""
    source = "__device__ int v;\n__global__ void k(float* x) { x[0] = 1; }"
    return {
        "array": lambda: cuda.to_device(np.arange(6.0).reshape(2, 3)),
        "vector": lambda: cuda.to_device(np.arange(6, dtype=np.int32)),
        "stream": cuda.stream,
        "event": cuda.event,
        "device": lambda: cuda.gpus[0],
        "gpus": lambda: cuda.gpus,
        "context": cuda.current_context,
        "module": lambda: cuda.module(source),
        "kernel": lambda: cuda.module(source).k,
        "launcher": lambda: cuda.module(source).k[1, 1],
        "csr": lambda: numbalite.sparse.csr_array(np.eye(3)),
        "generator": lambda: cuda.random.default_rng(1),
        "reduction": lambda: cuda.reduce("a + b"),
        "ufunc": lambda: numbalite.vectorize(
            ["f8(f8, f8)"], target="cuda", source="double f(double x, double y) { return x + y; }"
        ),
        "checks": cuda.checks,
        "pinned": lambda: cuda.pinned_array(3),
        "mapped": lambda: cuda.mapped_array(3),
        "texture": lambda: cuda.texture(cuda.to_device(np.zeros((4, 4), np.float32))),
        "surface": lambda: cuda.surface(cuda.to_device(np.zeros((4, 4), np.float32))),
        "graph": captured_graph,
        "memory pool": lambda: cuda.memory_pool,
        "host memory pool": lambda: cuda.host_memory_pool,
        "record": lambda: cuda.device_array(3, "f4,i4")[0],
        "flat": lambda: cuda.to_device(np.arange(6.0).reshape(2, 3)).flat,
        "flags": lambda: cuda.to_device(np.arange(6.0)).flags,
        "memory": lambda: cuda.to_device(np.arange(6.0)).gpu_data,
        "managed": lambda: cuda.managed_array(3),
        "coo": lambda: numbalite.sparse.coo_array(np.eye(3)),
        "csc": lambda: numbalite.sparse.csr_array(np.eye(3)).tocsc(),
        "dia": lambda: numbalite.sparse.dia_array(np.eye(3)),
        "bit generator": lambda: cuda.random.Philox4x32(1),
        "states": lambda: cuda.random.create_xoroshiro128p_states(2, 1),
        "sort": lambda: cuda.sort("a < b"),
        "scan": lambda: cuda.scan("a + b"),
        "histogram": lambda: cuda.histogram("int(x)", bins=3),
        "fused": lambda: numbalite.fuse(lambda a, b: a * b + 1),
    }


def captured_graph():
    device, stream = cuda.device_array(3, np.float32), cuda.stream()
    with stream.capture() as graph:
        device.fill(1, stream)
    return graph


def has_method(example, attribute):
    """Some properties raise errors, for example mT of a vector."""
    try:
        return callable(getattr(example, attribute))
    except Exception:
        return False


@functools.cache
def callable_targets():
    """Returns a dict from a name to a function that creates the object to call."""
    found = {name: (lambda of=of: getattr(*of)) for name, of in public_functions().items()}
    for path, owner in (("numpy", np), ("numpy.linalg", np.linalg), ("numpy.fft", np.fft)):
        for name in public_names(owner):
            function = getattr(owner, name)
            if isinstance(function, (np.ufunc, types.FunctionType)) and name not in WITH_FILES:
                found[f"{path}.{name}"] = lambda f=function: functools.partial(call_on_device, f)
    for name, make in example_instances().items():
        example = make()
        for attribute in dir(example):
            special = attribute.startswith("__") and attribute in SPECIAL
            if attribute not in LEFT_OUT and (special or not attribute.startswith("_")):
                if has_method(example, attribute):
                    found[f"{name}.{attribute}"] = lambda make=make, a=attribute: getattr(make(), a)
    return found


WITH_FILES = ("save", "savez", "load", "info")


def call_on_device(function, *given, **named):
    """Returns a caller of one of NumPy's functions, whose first argument is on the device."""
    shape = ((2, 3), (2, 2), (), (0,))[len(given) % 4]
    return function(
        cuda.to_device(np.arange(6.0)[: math.prod(shape)].reshape(shape)), *given, **named
    )


SPECIAL = (
    "__getitem__", "__setitem__", "__call__", "__exit__", "__array__", "__dlpack__", "__copy__",
    "__deepcopy__", "__add__", "__matmul__", "__pow__", "__eq__", "__contains__", "__iter__", "__len__",
    "__format__", "__array_function__", "__array_ufunc__",
)  # fmt: skip


def is_ours(problem):
    """Returns whether numbalite's code raised the exception unintentionally."""
    if not isinstance(problem, STUMBLES) or isinstance(problem, np.exceptions.AxisError):
        return False
    frames = traceback.extract_tb(problem.__traceback__)
    last = frames[-1]
    if last.name == "__getitem__" and last.filename == __file__:  # SequenceOfHugeLength's
        return False
    if isinstance(problem, IndexError) and not BUILTIN.search(str(problem)):
        return False
    if last.filename.startswith(NUMPY) and not lacks_a_method(problem):
        return False
    if isinstance(problem, (KeyError, IndexError, AttributeError)) and last.line:
        return not last.line.strip().startswith("raise ") and not is_in_core(frames)
    return True


def lacks_a_method(problem):
    """Returns whether NumPy's code read an attribute of a device array that only NumPy's arrays have."""
    is_attribute = isinstance(problem, AttributeError) and problem.name is not None
    return (
        is_attribute
        and isinstance(problem.obj, numbalite._core.DeviceArray)
        and hasattr(np.ndarray, problem.name)
    )


def is_in_core(frames):
    """Returns whether the exception comes from C code, which raises every exception
    intentionally."""
    return frames[-1].filename == __file__


class TimeExpired(BaseException):
    pass


@contextlib.contextmanager
def memory_and_time_limit(seconds):
    def raise_time_expired(number, frame):
        raise TimeExpired

    before = signal.signal(signal.SIGALRM, raise_time_expired)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call_repeatedly(name, make, count, seed):
    """Calls a function `count` times; returns the traceback of an unexpected exception, or None."""
    drawn = random.Random(seed)
    for _ in range(count):
        with contextlib.suppress(Exception):  # an error of an earlier call, reported late
            cuda.synchronize()
        values = make_arguments()
        given = [drawn.choice(values) for _ in range(drawn.choice((0, 1, 1, 1, 2, 2, 3, 4)))]
        named = {}
        if drawn.random() < 0.25:
            words = (
                "axis",
                "out",
                "dtype",
                "stream",
                "shape",
                "where",
                "order",
                "copy",
                "size",
                "like",
            )
            named[drawn.choice(words)] = drawn.choice(values)
        try:
            with (
                memory_and_time_limit(20),
                contextlib.redirect_stdout(io.StringIO()),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                result = make()(*given, **named)
                if hasattr(result, "__next__"):
                    next(result, None)
        except TimeExpired:
            pass
        except Exception as problem:
            if is_ours(problem):
                traced = "".join(traceback.format_exception(problem)[-8:])
                return f"{name}(*{short_repr(given)}, **{short_repr(named)})\n{traced}"
        except SystemExit:
            return f"{name}(*{short_repr(given)}, **{short_repr(named)}): SystemExit"
    return None


def short_repr(values):
    try:
        return repr(values)[:300]
    except Exception as problem:
        return f"<{type(problem).__name__} in repr>"


SEED = os.environ.get(VARIABLE, "all")
COUNT = int(os.environ.get("NUMBALITE_NONSENSE", 1))


@pytest.fixture(autouse=True)
def isolate_files_and_kernels(tmp_path, monkeypatch):
    """Ignores errors of files, and of kernels that an earlier call has launched with invalid arguments."""
    monkeypatch.chdir(tmp_path)
    yield
    with contextlib.suppress(Exception):
        cuda.synchronize()


# An exception of a callback is reported by this warning, as intended.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("part", range(8))
def test_random_arguments_never_crash(part):
    found = []
    for name, make in callable_targets().items():
        if zlib.crc32(name.encode()) % 8 == part and (
            COUNT > 1 or random.Random(f"{SEED}{name}").random() < 0.25
        ):
            found.append(call_repeatedly(name, make, COUNT * 2, f"{SEED}{name}"))
    found = [text for text in found if text]
    assert not found, f"{len(found)} of them:\n" + "\n".join(found)


def test_devices_are_copied_and_pickled():
    for thing in (cuda.gpus[0], cuda.gpus, cuda.current_context()):
        assert str(copy.copy(thing)) == str(thing)
    assert copy.deepcopy(cuda.gpus[0]) == cuda.gpus[0]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: cuda.mapped_array_like("float32"), TypeError),
        (lambda: cuda.stream().__exit__(None, None, None), RuntimeError),
        (lambda: cuda.checks().__exit__(None, None, None), RuntimeError),
        (lambda: numbalite.sparse.csr_array(np.eye(3)).mean(out=3), TypeError),
        (lambda: np.trim_zeros(cuda.to_device(np.ones(3)), 3), TypeError),
        (lambda: cuda.scan("a + b", cuda.to_device(np.ones(3))), TypeError),
        (lambda: cuda.compile(3, "void()"), TypeError),
        (lambda: cuda.event_elapsed_time(1, 2), TypeError),
        (lambda: cuda.types.from_code(-1), ValueError),
        (lambda: numbalite.judge.Task("x"), TypeError),
        (lambda: numbalite.judge.Task(print, sizes=[1]), TypeError),
        (lambda: numbalite.judge.task(3, print), TypeError),
        (lambda: numbalite.operators.Elementwise(np.add), TypeError),
        (lambda: numbalite.operators.Generalized("x"), TypeError),
        (lambda: numbalite.operators.Launched("x", 1), TypeError),
        (lambda: numbalite.course.examine("x"), TypeError),
        (lambda: numbalite.course.exercise(int), TypeError),
        (lambda: numbalite.errors.users_frames("x"), TypeError),
        (lambda: numbalite.profiler.KernelProfile("x", "abc"), TypeError),
        (lambda: numbalite.coverage.coverage_init(1, 2), TypeError),
        (lambda: cuda.to_device([1.0], 0, True, np.dtype("O")), TypeError),
        (lambda: np.linalg.tensorsolve(cuda.to_device(np.ones(())), np.ones(()), [0]), ValueError),
    ],
)
def test_invalid_calls_raise_the_documented_error(call, error):
    with pytest.raises(error):
        call()


def test_pinned_accepts_arrays_with_their_own_interface():
    array = np.arange(4.0).view(OddArray)
    with cuda.pinned(array):
        pass
