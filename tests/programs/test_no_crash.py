"""No input can crash the interpreter: public functions are called with unsuitable arguments of
every kind.

An exception is expected; a signal, an assertion of the interpreter or a SystemError is a failure.
The calls run in a separate process, which writes each call to a file, so that the last call before
a crash is known.
"""

import pytest

CODE = r"""
import os, random, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import _core, cuda, jit

what, seed, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)

class FalseProtocols:
    # Every protocol that C code may ask for, answered badly.
    shape = strides = dtype = "no"
    __cuda_array_interface__ = {"shape": (1 << 62,), "typestr": "<f4", "data": (0, False), "version": 3}
    def __index__(self): raise KeyError("index")
    def __float__(self): raise KeyError("float")
    def __len__(self): return -1
    def __getitem__(self, i): raise KeyError("item")
    def __cuda_stream__(self): return 0, -1
    def __dlpack__(self, *a, **k): return object()
    def __dlpack_device__(self): return 2, 77
    def __array__(self, *a, **k): raise KeyError("array")
    def __hash__(self): raise KeyError("hash")
    def __eq__(self, other): raise KeyError("eq")

class Text(str):
    pass

def sample_arguments():
    d = cuda.to_device(np.arange(12, dtype="f4").reshape(3, 4))
    return [
        None, True, -1, 0, 1, 3, 2**31, 2**63, -2**63, 2**64, 2**200, 1.5, float("nan"), 1j,
        "", "x", "float32", "C", Text("t"), "\ud800", "a\0b", b"", b"abc", b"NLSIMG01" + b"\0" * 40, b"\x7fELF" + b"\0" * 60,
        (), (1,), (1, 2), (-1,), (2**40, 2**40), (0, 0), ("a",), (None,), [1], {}, {"a": 1}, set(), slice(0, 1), Ellipsis,
        object(), FalseProtocols(), FalseProtocols, len, np.float32, np.dtype("f4"), np.dtype("i4,f8"), np.dtype("O"), np.dtype("S0"),
        np.zeros(3, "f4"), np.zeros((0, 2)), np.zeros(3, "O"), np.array(2.5), np.float32(1), np.int64(7), np.zeros(2, "i4,f8")[0],
        np.lib.stride_tricks.as_strided(np.zeros(1, "f4"), (2**20,), (0,)), memoryview(b"abc"), bytearray(b"abc"),
        d, d[1:], d[:0], d.T, cuda.stream(), cuda.event(), cuda.default_stream(),
    ]

# What would be no test: it ends the process, waits for a person, believes an address, or changes what all
# that follows does (a capture goes on, memory has another source or a limit).
NOT = {"configure", "fail_call_at", "fail_alloc_at", "from_pointer", "reset_device", "set_open_hook", "register_array_class",
       "pretend_foreign_capture", "reduction_limit", "limit_work_areas", "trace", "wrap", "external_stream", "from_interface", "profile_start", "profile_stop", "close", "open_ipc_array", "launch",
       "nvrtc_open", "device_pointer_value", "Graph",
       "hold_context",  # releasing a context that is not held destroys it for all
       "set_allocator", "pool_set_limits", "host_register", "host_unregister", "prefetch", "advise"}

def functions_under_test():
    if what == "module":
        for name in dir(_core):
            if name not in NOT and not name.startswith("__") and callable(getattr(_core, name)):
                if not (isinstance(getattr(_core, name), type) and issubclass(getattr(_core, name), BaseException)):
                    yield "_core." + name, getattr(_core, name)
    elif what == "cuda":
        for name in cuda.__all__:
            if name not in NOT and callable(getattr(cuda, name)):
                yield "cuda." + name, getattr(cuda, name)
    else:
        k = cuda.jit("__global__ void k(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }")
        b = cuda.jit("void(float32[:], int32)")(body)
        objects = [cuda.to_device(np.arange(12, dtype="f4").reshape(3, 4)), cuda.stream(), cuda.event(), k, k[1, 4], b, b[1, 4],
                   cuda.module("__device__ int v[3]; __global__ void k() {}"), jit("void(float32[:], int32)")(body), jit(body)]
        objects[-1](np.zeros(3, "f4"), 1)
        for thing in objects:
            for name in sorted(set(dir(thing)) - NOT):
                if name in {"__class__", "__init_subclass__", "__subclasshook__", "__new__", "__getattribute__", "__dir__",
                            "__del__", "__reduce__", "__reduce_ex__", "__sizeof__", "__doc__", "inspect_sass", "inspect_types"}:
                    continue
                try:
                    method = getattr(thing, name)
                except Exception:
                    continue
                if callable(method) and not isinstance(method, type):
                    yield f"{type(thing).__name__}.{name}", method

def body(x, n):
    "if (n > 100) x[0] = n;"

report = os.open(sys.argv[4], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
counts = 0
for name, function in list(functions_under_test()):
    given = sample_arguments()
    for _ in range(rounds):
        arguments = random.choices(given, k=random.choice([0, 1, 1, 1, 2, 2, 3, 4]))
        keywords = {}
        if random.random() < 0.1:
            keywords = {random.choice(["stream", "shape", "x", "n", "dtype", "copy", "order"]): random.choice(given)}
        line = " ".join([name, *(type(a).__name__ for a in arguments), *keywords])
        os.pwrite(report, line.ljust(300).encode(), 0)
        try:
            function(*arguments, **keywords)
        except SystemError as error:
            sys.exit(f"SystemError: {error} from {line}")
        except SystemExit:
            pass
        except Exception:
            pass
        counts += 1
try:
    cuda.synchronize()
except Exception:
    pass
x = cuda.to_device(np.arange(4))
assert x.copy_to_host().tolist() == [0, 1, 2, 3]
print(counts)
"""


@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize("what, rounds", [("module", 20), ("cuda", 15), ("objects", 8)])
def test_functions_with_random_arguments_do_not_crash(what, rounds, seed, run_python, tmp_path):
    report = tmp_path / "last"
    result = run_python(CODE, what, seed, rounds, report, check=False, timeout=250)
    last = report.read_text().strip() if report.exists() else "nothing"
    assert result.returncode == 0, (
        f"status {result.returncode} after {last}\n{result.stderr[-3000:]}"
    )
    assert int(result.stdout.split()[-1]) > 500


@pytest.mark.parametrize("count", [0, 1, 7, 8, 15, 16, 40])
def test_truncated_images_raise(count, run_python):
    """Loads a truncated image, such as a damaged cache file."""
    code = """
import sys, warnings
warnings.simplefilter("ignore")
from numbalite import _core, cuda
from numbalite.compilers import compile_source
from numbalite.compilers.source import Source
cuda.synchronize()
target = ("sim",) if cuda.is_simulated() else ("cuda", *cuda.get_current_device().compute_capability)
image = compile_source(Source(text='#include "numbalite.cuh"\\nextern "C" __global__ void k(int* x) { x[0] = 1; }', name="k.cu", kernels=("k",)), target)
part = image.data[: int(sys.argv[1])] if int(sys.argv[1]) < 40 else image.data[: len(image.data) // 2]
try:
    _core.Module(part).function("k", "k", [])
except Exception as error:
    print(type(error).__name__)
else:
    print("loaded")
"""
    result = run_python(code, count)
    assert result.stdout.strip() not in {"loaded", "SystemError"}


def test_very_long_and_deep_inputs_do_not_crash(run_python):
    """Tests very long names, very many parameters, and very deep recursion."""
    code = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from numbalite import cuda
name = "k" * 3000
k = cuda.jit(f"__global__ void {name}(float* x) {{ x[0] = 1; }}")
x = np.zeros(1, "f4")
k[1, 1](x)
assert x[0] == 1
try:
    k[1, 1](np.zeros(1))
except TypeError as error:
    assert "kkkk" in str(error)
many = 300
parameters = ", ".join(f"int a{i}" for i in range(many))
total = " + ".join(f"a{i}" for i in range(many))
k = cuda.jit(f"__global__ void k(int* out, {parameters}) {{ out[0] = {total}; }}")
out = np.zeros(1, "i4")
k[1, 1](out, *range(many))
assert out[0] == sum(range(many))
nested = []
for _ in range(100_000):
    nested = [nested]
for wrong in (nested, "x" * 1_000_000):
    try:
        k[1, 1](wrong, *range(many))
    except (TypeError, RecursionError) as error:
        assert len(str(error)) < 10_000
for text in ("void(" * 5000, "void(" + "float32[:], " * 5000 + ")", "((" * 3000, "[" * 100_000, "void(float32[" + ":," * 300 + "])"):
    try:
        cuda.jit(text)(lambda: None)
    except (TypeError, ValueError, RecursionError):
        pass
"""
    run_python(code)


def test_arguments_that_free_their_memory_do_not_crash(run_python):
    """Reading one argument runs code that closes the device, resets it, or moves an array that was read."""
    run_python("""
import warnings
import numpy as np, pytest
from numbalite import _core, cuda, guvectorize, vectorize
warnings.simplefilter("ignore")

class ObjectThatFreesMemory:
    def __init__(self, act):
        self.act = act
    @property
    def __cuda_array_interface__(self):
        self.act()
        self.keep = cuda.to_device(np.ones(64, "f4"))
        return self.keep.__cuda_array_interface__

class NumberThatFreesMemory:
    def __init__(self, act):
        self.act = act
    def __float__(self):
        self.act()
        return 1.0

@cuda.jit("void(float32[:], float32)")
def number(x, y):
    "x[threadIdx.x] = y;"

def body(x, y):
    "x[threadIdx.x] = y[threadIdx.x];"

typed, generic = cuda.jit("void(float32[:], float32[:])")(body), cuda.jit(body)

@vectorize(["float32(float32, float32)"], target="cuda")
def plus(x, y):
    "x + y"

@guvectorize(["void(float32[:], float32[:], float32[:])"], "(n),(n)->(n)", target="cuda")
def gplus(x, y, z):
    "for (int i = 0; i < z.size(); ++i) z[i] = x[i] + y[i];"

calls = {
    "typed": lambda d, e: typed[1, 64](d, e),
    "generic": lambda d, e: generic[1, 64](d, e),
    "number": lambda d, e: number[1, 64](d, NumberThatFreesMemory(e.act)),
    "hosts": lambda d, e: typed[1, 64](d, e) or typed[1, 64](np.ones(64, "f4"), e),
    "plus": lambda d, e: plus(d, e),
    "gplus": lambda d, e: gplus(d, e),
}
ones = np.ones(64, "f4")
for name, call in calls.items():
    for act in "close", "reset", "ipc":
        d = cuda.to_device(ones)
        acts = {"close": cuda.close, "reset": cuda.gpus[0].reset, "ipc": lambda: d.get_ipc_handle()}
        try:
            call(d, ObjectThatFreesMemory(acts[act]))
        except RuntimeError as error:
            assert "was reset" in str(error) or "call it again" in str(error), error
        else:                       # the array was read after it had moved
            assert (name, act) == ("generic", "ipc") and d.copy_to_host().sum() == 64, (name, act)
        d = cuda.to_device(ones)
        call(d, ObjectThatFreesMemory(lambda: None))
        assert d.copy_to_host().sum() == 64, name

# on a GPU, a filter for the warning about host arrays is the program's code too
if not cuda.is_simulated():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *a, **k: cuda.close()
        with pytest.raises(RuntimeError, match="call it again"):
            cuda.jit("void(float32[:], float32[:])")(body)[1, 64](cuda.to_device(ones), ones)

# and the new arguments of a captured launch
stream, d = cuda.stream(), cuda.to_device(ones)
with stream.capture() as graph:
    typed[1, 64, stream](d, d)
e = cuda.to_device(ones)
with pytest.raises(RuntimeError, match="call it again"):
    graph.launches[0].update(e, ObjectThatFreesMemory(lambda: e.get_ipc_handle()))
""")
