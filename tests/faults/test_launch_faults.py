"""Every failure in the middle of a launch and its setup, below the public package: the n-th driver
call, the n-th block of host memory, the n-th allocation of the interpreter itself."""

import gc
import itertools

import numpy as np
import pytest
from kit.arrays import DLPackSpeaker, ForeignArray
from kit.walk import count_after_collection

from numbalite import _core, compilers, cuda, errors, vectorize
from numbalite.types import describe

try:
    import _testcapi
except ImportError:
    _testcapi = None

CLEAN = (errors.CudaAPIError, errors.KernelError, MemoryError)
SOURCE = """
#include "numbalite.cuh"
using namespace numbalite;
extern "C" { __device__ int fault_record[64]; __constant__ float table[6]; }
extern "C" __global__ void saxpy(float a, array<const float, 1> x, array<float, 1> y)
{ int i = threadIdx.x; if (i < y.shape[0]) y[i] += a * x[i]; }
extern "C" __global__ void many(PARAMETERS) {}
""".replace("PARAMETERS", ", ".join(f"float* p{i}" for i in range(80)))
HOST = np.arange(8, dtype="f4")
RECORDS = np.zeros(3, [("a", "i4"), ("b", "f4", (2,))])


class LaunchObjects:
    """The objects that the operations use."""

    def __init__(self):
        unit = compilers.Source(text=SOURCE, name="faults.cu", kernels=("saxpy", "many"),
                              variables=("fault_record", "table"), describe=True)  # fmt: skip
        simulated = cuda.is_simulated()
        target = ("sim",) if simulated else ("cuda", *cuda.get_current_device().compute_capability)
        self.image = image = compilers.compile_source(unit, target)
        self.rows = [
            row._replace(name=name)
            for row, name in zip(
                describe.parameters(image.descriptions["saxpy"]), "axy", strict=True
            )
        ]
        self.many_rows = describe.parameters(image.descriptions["many"])
        self.module = _core.Module(image.data)
        self.kernel = self.function()
        self.debug = self.function(fault=(image.lowered["fault_record"], lambda *found: 1 / 0))
        self.typed = self.dispatcher(self.kernel)
        self.many = _core.Dispatcher("many", [f"p{i}" for i in range(80)], typed=True)
        self.many._only(0, self.module.function(image.lowered["many"], "many", self.many_rows))
        self.x, self.y = self.device(), self.device()
        self.records = _core.device_empty(3, RECORDS.dtype)
        self.strided = _core.device_empty((4, 6), "f4")[::2, ::3]
        self.stream = _core.Stream(non_blocking=True)
        self.foreign = ForeignArray(self.x, stream=2)
        self.speaker = DLPackSpeaker(self.x)
        self.host_speaker = DLPackSpeaker(HOST)
        self.hosts = [np.zeros(2, "f4") for _ in range(80)]
        self.compiler = vectorize(["float32(float32, float32)"], source="x + y", args="x, y",
                                  target="cuda")  # fmt: skip
        self.compiled = {}
        self.plus = self.ufunc()

    def function(self, **options):
        return self.module.function(self.image.lowered["saxpy"], "saxpy", self.rows, **options)

    def dispatcher(self, kernel):
        made = _core.Dispatcher("saxpy", ["a", "x", "y"], typed=True)
        made._only(0, kernel)
        return made

    def ufunc(self):
        made = PlusUfunc("plus", 2, 1)
        made.world = self
        return made

    def device(self):
        made = _core.device_empty(8, "f4")
        made._write(HOST)
        return made


class PlusUfunc(_core.Ufunc):
    """A ufunc with one loop, which is already compiled."""

    def _choose(self, inputs, outputs, casting, dtype, signature):
        return b"\x0b\x0b\x0b"

    def _compile(self, *plan):
        made = self.world.compiled.get(plan)
        if made is None:
            made = self.world.compiled[plan] = self.world.compiler._compile(*plan)
        return made


class LazyKernelDispatcher(_core.Dispatcher):
    def __init__(self, kernel):
        super().__init__("saxpy", ["a", "x", "y"])
        self.kernel = kernel

    def _resolve(self, device, codes, args):
        return self.kernel


def load_module(w):
    return _core.Module(w.image.data)


def make_functions(w):
    return w.function(), w.function(fault=(w.image.lowered["fault_record"], print))


def load_many_parameters(w):
    return w.module.function(w.image.lowered["many"], "many", w.many_rows)


def slice_module_variable(w):
    return w.module.variable(w.image.lowered["table"], "f4", (2, 3))[1, :2]


def create_arrays(w):
    return _core.device_empty((2,) * 12, "f8", "F"), _core.device_empty(
        (3, 4), "f4", strides=(-16, 4)
    )


def wrap_pointer(w):
    return _core.from_pointer(w.x.address, (2, 2), (4, 8), "f4", [])


def import_interface(w):
    return _core.from_interface(w.foreign)


def export_interfaces(w):
    return w.strided.__cuda_array_interface__, w.records.__cuda_array_interface__


def export_dlpack(w):
    return (
        w.strided.__dlpack__(),
        w.strided.__dlpack__(max_version=(1, 0)),
        w.strided._bind(w.stream).__dlpack__(stream=1),
    )


def export_dlpack_copy(w):
    return w.strided.__dlpack__(max_version=(1, 0), copy=True)


def import_dlpack(w):
    assert _core.from_dlpack(w.host_speaker) is None
    return _core.from_dlpack(w.speaker), _core.from_dlpack(w.speaker.__dlpack__())


def launch_with_dlpack(w):
    w.typed[1, 32](2.0, w.speaker, w.y)
    w.typed[1, 32](2.0, w.host_speaker, w.speaker)


def make_views(w):
    return (
        w.x[2:5],
        w.strided[:, 0],
        w.records["b"],
        w.x._view((2,) * 3, None, "i4"),
        w.x._bind(w.stream),
    )


def read_elements(w):
    return w.x[3], w.records[1]


def read_attributes(w):
    return w.strided.shape, w.strided.strides, w.kernel.occupancy(128), w.kernel.max_block_size()


def copy_arrays(w):
    host = np.zeros((2, 2), "f4")
    w.strided._write(host)
    w.strided._read(host[::-1])
    w.strided._fill(np.zeros((), "f4"))


def copy_arrays_on_stream(w):
    w.y._copy(w.x, w.stream)
    w.y[1:]._copy(w.y[:-1], w.stream)
    w.y._read(np.zeros(8, "f4"), w.stream)


def launch_typed_kernel(w):
    w.typed[1, 32](2.0, w.x, w.y)
    w.typed[1, 32](a=2.0, y=w.y, x=w.foreign)


def launch_on_stream(w):
    w.typed[1, 32, w.stream](2.0, w.x, w.y)
    w.stream.synchronize()


def launch_by_new_dispatcher(w):
    w.dispatcher(w.kernel)[1, 32, 0, 50000](2.0, w.x, w.y)


def launch_by_new_lazy_dispatcher(w):
    lazy = LazyKernelDispatcher(w.kernel)
    lazy[1, 32](np.float32(2), w.x, w.y)
    lazy[1, 32](np.float32(2), w.foreign, w.y)


def launch_cooperatively(w):
    made = _core.Dispatcher("saxpy", typed=True, cooperative=True)
    made._only(0, w.kernel)
    made[1, 32](2.0, w.x, w.y)


def launch_debug_kernel(w):
    w.dispatcher(w.debug)[1, 32](2.0, w.x, w.y)


def launch_with_host_arrays(w):
    w.typed[1, 32](2.0, HOST, np.zeros(16, "f4")[::2])
    w.typed[1, 32, w.stream](2.0, cuda.In(HOST), cuda.Out(np.zeros(8, "f4")))
    same = HOST.copy()
    w.typed[1, 32](0.0, same, same)


def launch_with_many_host_arrays(w):
    w.many[1, 32](*w.hosts)


def launch_with_invalid_arguments(w):
    for arguments, options in [
        ((2.0, HOST, "y"), {}),
        ((2.0, HOST.copy()), {"z": 1}),
        ((2.0,), {"x": 1}),
        ((2.0, HOST[:6], HOST[2:]), {}),
        (("a", w.x, w.y), {}),
    ]:
        try:
            w.typed[1, 32](*arguments, **options)
        except (TypeError, ValueError):
            continue
        raise AssertionError("it was launched")


def configure_launcher(w):
    launcher = w.typed[(1, 2), [3, 4, 5], w.stream, 16]
    return launcher.config


def compute_type_codes(w):
    values = 1, 2.0, HOST, w.x, w.foreign, w.speaker, w.records, RECORDS[0]
    return _core.typecodes((*values, (1, (w.x, None)), np.float32, np.datetime64(1, "s")))


SWAPPED = np.zeros(8, ">f4")
MASK = HOST > 3
LARGE = np.zeros((2, 20000), "f4")[:, ::-1]


def create_ufunc(w):
    return w.ufunc()(w.x, w.y), w.ufunc()(HOST, HOST)


def call_ufunc(w):
    w.plus(w.x, 1, out=w.y)
    return w.plus(w.x, w.y), w.plus(w.foreign, w.speaker)


def call_ufunc_with_host_arrays(w):
    w.plus(HOST, SWAPPED, out=SWAPPED)
    return w.plus(HOST, 1), w.plus(1, 2), w.plus([1, 2], HOST[:2]), w.plus(HOST[0], HOST)


def call_ufunc_with_large_arrays(w):
    return w.plus(LARGE, 1, stream=w.stream)


def call_ufunc_with_overlapping_out(w):
    w.plus(w.x[1:], w.x[:-1], out=w.x[1:])


def call_ufunc_with_mask(w):
    w.plus(w.x, HOST, out=w.y, where=MASK)
    return w.plus(HOST, 1, where=[[True] * 8, [False] * 8], dtype="f4")


def call_ufunc_with_invalid_arguments(w):
    for arguments, options in [
        ((HOST, HOST[:3]), {}),
        ((w.x, w.y, w.x[:1]), {}),
        ((HOST,), {}),
        ((HOST, 1), {"out": 3}),
        ((HOST, 1), {"where": HOST}),
        ((HOST, object()), {}),
        ((HOST, 1), {"other": 3}),
    ]:
        try:
            w.plus(*arguments, **options)
        except (TypeError, ValueError):
            continue
        raise AssertionError("it was computed")


OPERATIONS = [
    load_module, make_functions, load_many_parameters, slice_module_variable, create_arrays, wrap_pointer, import_interface, export_interfaces, export_dlpack,
    export_dlpack_copy, import_dlpack, launch_with_dlpack, make_views, read_elements,
    read_attributes, copy_arrays, copy_arrays_on_stream, launch_typed_kernel, launch_on_stream, launch_by_new_dispatcher, launch_by_new_lazy_dispatcher,
    launch_cooperatively, launch_debug_kernel, launch_with_host_arrays, launch_with_many_host_arrays,
    launch_with_invalid_arguments, configure_launcher, compute_type_codes, create_ufunc, call_ufunc, call_ufunc_with_host_arrays,
    call_ufunc_with_large_arrays, call_ufunc_with_overlapping_out, call_ufunc_with_mask, call_ufunc_with_invalid_arguments,
]  # fmt: skip


OF_THE_EXTENSION = [operation for operation in OPERATIONS if operation is not export_dlpack_copy]


@pytest.fixture(scope="module")
def launch_objects():
    made = LaunchObjects()
    yield made
    made.__dict__.clear()


@pytest.mark.sim
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_launches_survive_failing_driver_calls(launch_objects, operation, fail_each_step_once):
    fail_each_step_once(lambda: operation(launch_objects), _core.fail_call_at, CLEAN)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda f: f.__name__)
def test_launches_survive_failing_allocations(launch_objects, operation, fail_each_step_once):
    fail_each_step_once(lambda: operation(launch_objects), _core.fail_alloc_at, CLEAN)


@pytest.mark.skipif(
    not hasattr(_testcapi, "set_nomemory"), reason="this Python cannot make its allocations fail"
)
@pytest.mark.parametrize("operation", OF_THE_EXTENSION, ids=lambda f: f.__name__)
def test_launches_survive_failing_interpreter_allocations(launch_objects, operation):
    """If an allocation of the interpreter fails, MemoryError is raised and reference counts stay
    right.

    Operations get arguments that were created before, and operations that run Python code are not
    tested: CPython 3.12 crashes if an allocation fails while it creates a function or runs a
    generator.
    """
    operation(launch_objects)
    gc.collect()
    before = count_after_collection()
    quiet = 0  # consecutive steps whose failure had no effect: the caller may retry the step or work without it
    for step in itertools.count():
        _testcapi.set_nomemory(step, step + 1)
        try:
            operation(launch_objects)
            quiet += 1
        except MemoryError:
            quiet = 0
        except Exception as error:  # Python and NumPy convert some MemoryErrors to other errors
            assert not isinstance(error, SystemError), error
            quiet = 0
        finally:
            _testcapi.remove_mem_hooks()
        cuda.synchronize()
        if count_after_collection() != before:
            gc.collect()
        assert _core.live() == before, f"step {step}"
        if quiet == 30:
            break
