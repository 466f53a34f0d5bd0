"""Tests the extension's dispatchers, launchers, modules and kernels, without the package's
decorators."""

import copy
import gc
import weakref

import numpy as np
import pytest
from kit.arrays import ForeignArray, to_device, zeroed_device_array
from kit.calls import traced_calls

from numbalite import _core, config, cuda, errors


@pytest.fixture
def kernel_by_name(core_kernels):
    return core_kernels


class IntegerLikeSeven:
    def __index__(self):
        return 7

    def __repr__(self):
        return "Seven()"


# ---- configurations ----
@pytest.mark.parametrize("grid, block, expected", [
    (2, 3, (2, 1, 1, 3, 1, 1)),
    ((2, 3), (4, 5), (2, 3, 1, 4, 5, 1)),
    ([2, 3, 4], [5, 6, 7], (2, 3, 4, 5, 6, 7)),
    (np.int8(2), (np.int64(3), IntegerLikeSeven(), True + 0), (2, 1, 1, 3, 7, 1)),
], ids=repr)  # fmt: skip
def test_launch_configuration_is_normalized(kernel_by_name, grid, block, expected):
    out = zeroed_device_array(6, "u4")
    launcher = kernel_by_name("where")[grid, block]
    launcher(out)
    assert tuple(out[i] for i in range(6)) == expected
    assert launcher.config == (expected[:3], expected[3:], 0, 0)
    assert (launcher.griddim, launcher.blockdim) == (expected[:3], expected[3:])
    assert launcher.dispatcher is kernel_by_name("where")
    stream = _core.Stream()
    launcher = kernel_by_name("where")[grid, block, stream, 16]
    assert launcher.config == (expected[:3], expected[3:], stream, 16)
    launcher(out)


@pytest.mark.parametrize("exception, key", [
    (ValueError, 1), (ValueError, (1,)), (ValueError, ()), (ValueError, (1, 1, 0, 0, 0)),
    (TypeError, (1.0, 1)), (TypeError, (1, "1")), (TypeError, (None, 1)), (TypeError, ((1, 1.5), 1)),
    (TypeError, (True, 1)), (TypeError, (np.zeros(2), 1)), (ValueError, ((), 1)),
    (ValueError, ((1,) * 4, 1)), (ValueError, (-1, 1)), (ValueError, (1, 2**32)), (ValueError, (1, 2**70)),
    (ValueError, (1, -(2**70))), (ValueError, (1, (np.uint64(2**40), 1))),
    (TypeError, (1, 1, "s")), (TypeError, (1, 1, 1.5)), pytest.param(TypeError, (1, 1, object()), id="TypeError-object"),
    (TypeError, (1, 1, 0, 1.5)), (TypeError, (1, 1, 0, None)), (ValueError, (1, 1, 0, -1)),
    (ValueError, (1, 1, 0, 2**40)), (ValueError, (1, 1, 0, 2**70)),
], ids=repr)  # fmt: skip
def test_invalid_launch_configurations_raise(kernel_by_name, exception, key):
    with pytest.raises(exception):
        kernel_by_name("nothing")[key]


def test_launch_limits_are_checked_before_arguments(kernel_by_name):
    device = cuda.get_current_device()
    threads, z = device.MAX_THREADS_PER_BLOCK, device.MAX_BLOCK_DIM_Z
    for grid, block, shared, text in [
        (1, threads + 1, 0, rf"{threads + 1}.*limit of {threads}\b"),
        (1, (32, 64, 2), 0, rf"\(32, 64, 2\) has 4096 threads.*{threads} threads per block"),
        (1, (1, 1, z + 1), 0, rf"block dimension z is {z + 1}.*limit of {z}"),
        ((1, 65536), 1, 0, "grid dimension y is 65536.*limit of 65535"),
        (0, 1, 0, "grid dimension x is 0"),
        (1, (1, 0), 0, "block dimension y is 0"),
        (1, 1, 1 << 30, r"shared memory.*limit of \d+ bytes"),
    ]:
        for name in ("saxpy", "nothing"):
            with pytest.raises(ValueError, match=rf"^{name}\(\): .*{text}"):
                kernel_by_name(name)[grid, block, 0, shared]("wrong", "arguments")


def test_launch_opts_in_to_48_kib_of_shared_memory(kernel_by_name):
    """The kernel opts in to more than 48 KiB of shared memory once."""
    out = zeroed_device_array(64, "i4")
    for size in (64 * 4, 49152, 50000, 60000, 1024):
        kernel_by_name("shared")[1, 64, 0, size](out)
        assert [out[i] for i in (0, 1, 63)] == [63, 62, 0]

    def launch_large_shared():
        for size in (60000, 61000, 61000):
            kernel_by_name("shared")[1, 64, 0, size](out)

    calls = traced_calls(launch_large_shared)
    assert sum("FuncSetAttribute" in call for call in calls) == 1


def test_warm_launch_makes_one_driver_call(kernel_by_name):
    x, y = to_device(np.ones(4, "f4")), zeroed_device_array(4, "f4")
    launch, stream = kernel_by_name("saxpy")[1, 4], _core.Stream()
    launch(2.0, x, y, 4)
    kernel_by_name("saxpy")[1, 4, stream](2.0, x, y, 4)

    def launch_kernels():
        launch(2.0, x, y, 4)
        launch(np.float64(2), x, ForeignArray(y), n=np.int32(4))
        kernel_by_name("saxpy")[1, 4](2, x, y, 4)
        kernel_by_name("saxpy")[1, 4, stream](2, x, y, 4)

    calls = traced_calls(launch_kernels)
    if (
        _core.device_count() > 1
    ):  # each call queries the current device and the device of the memory
        asked = ("cuCtxGetCurrent", "cuPointerGetAttributes")
        calls = [call for call in calls if call not in asked]
    assert calls == ["cuLaunchKernel"] * 4


def test_cooperative_and_cluster_launches_are_limited(kernel_by_name):
    out = zeroed_device_array(6, "u4")
    together = kernel_by_name("where", cooperative=True)
    together[2, 32](out)
    assert out[0] == 2
    with pytest.raises(ValueError, match=r"cooperative grid of \d+ blocks.*limit of \d+"):
        together[(65535, 65535), 1024](out)
    clustered = _core.Dispatcher("where", ["out"], typed=True, cluster=(2, 1, 1))
    clustered._only(0, kernel_by_name.of("where"))
    with pytest.raises(
        ValueError, match="grid dimension x is 3, which is not a multiple of the cluster's 2"
    ):
        clustered[3, 32](out)
    if not cuda.is_simulated() and cuda.get_current_device().compute_capability >= (9, 0):
        clustered[4, 32](out)
        assert out[0] == 4


def test_call_without_configuration_raises(kernel_by_name):
    with pytest.raises(ValueError, match="launch configuration"):
        kernel_by_name("nothing")()
    with pytest.raises(TypeError):
        _core.Launcher()


# ---- dispatchers without a signature ----
class LazyDispatcher(_core.Dispatcher):
    def __init__(self, kernels, names=("value", "out")):
        super().__init__("lazy", names)
        self.kernels = kernels
        self.asked = []

    def _resolve(self, device, codes, args):
        codes = tuple(code & 0xFF for code in np.frombuffer(codes, "<u4"))
        self.asked.append((device, codes, args))
        found = self.kernels.get(codes)
        if isinstance(found, Exception):
            raise found
        return found


CODES = {"i64": 5, "u64": 9, "f64": 12, "f32": 11, "boolean": 1, "c128": 14}


@pytest.fixture
def lazy_kernel(kernel_by_name):
    return LazyDispatcher({(c, c): kernel_by_name.of(name) for name, c in CODES.items()})


def test_kernels_are_looked_up_once(lazy_kernel):
    outs = {dtype: zeroed_device_array(1, dtype) for dtype in ("i8", "u8", "f8", "f4", "?", "c16")}
    bound = lazy_kernel[1, 1]
    calls = [(3, "i8"), (2**63, "u8"), (2.5, "f8"), (np.float32(1.5), "f4"), (True, "?"), (2j, "c16"),
             (np.int64(-3), "i8"), (to_device(np.array(7)), "i8"), (np.array(2.25), "f8")]  # fmt: skip
    for _ in range(3):
        for value, dtype in calls:
            for launch in (bound, lazy_kernel[1, 1], lazy_kernel[1, (1, 1)]):
                outs[dtype]._fill(np.zeros((), dtype))
                launch(value, outs[dtype])
                expected = value if not isinstance(value, _core.DeviceArray) else value[()]
                assert outs[dtype][0] == expected
                launch(value, ForeignArray(outs[dtype]))
                launch(value, out=outs[dtype])
    assert len(lazy_kernel.asked) == 8, "six types of numbers, two of arrays without dimensions"
    device, codes, args = lazy_kernel.asked[0]
    assert device == 0 and codes == (5, 5) and args == (3, outs["i8"])


def test_resolver_errors_propagate(lazy_kernel, kernel_by_name):
    out = zeroed_device_array(1, "i8")
    lazy_kernel.kernels = {(5, 5): ZeroDivisionError("mine")}
    with pytest.raises(ZeroDivisionError, match="mine"):
        lazy_kernel[1, 1](1, out)
    for wrong in (None, 3, kernel_by_name("i64"), "kernel"):
        lazy_kernel.kernels = {(5, 5): wrong}
        with pytest.raises(TypeError, match="Kernel is needed"):
            lazy_kernel[1, 1](1, out)
    lazy_kernel.kernels = {(5, 5): kernel_by_name.of("saxpy")}
    with pytest.raises(TypeError, match="missing 2"):
        lazy_kernel[1, 1](1, out)
    assert out[0] == 0
    plain = _core.Dispatcher("plain", ["x"])
    with pytest.raises(TypeError, match=r"plain\(\): there is no kernel"):
        plain[1, 1](1)
    with pytest.raises(TypeError, match="Kernel is needed"):
        plain._only(0, None)
    with pytest.raises(ValueError, match="4 bytes"):
        plain._add(0, b"123", kernel_by_name.of("i64"))
    with pytest.raises(TypeError):
        plain._add(0, "1234", None)
    if _core.device_count() > 1:
        with pytest.raises(ValueError, match="loaded on device 0"):
            plain._only(1, kernel_by_name.of("i64"))
    with pytest.raises(IndexError):
        plain._only(99, kernel_by_name.of("i64"))


def test_resolver_that_changes_the_device_raises(lazy_kernel):
    if _core.device_count() < 2:
        pytest.skip("one device")
    resolve = lazy_kernel.kernels.copy()

    class DeviceChangingDict(dict):
        def get(self, codes):
            _core.select_device(1)
            return resolve[codes]

    lazy_kernel.kernels = DeviceChangingDict()
    out = zeroed_device_array(1, "i8")
    try:
        lazy_kernel[1, 1](5, out)
    finally:
        _core.select_device(0)
    assert out[0] == 5


def test_a_lazy_kernel_rejects_unsupported_arguments(lazy_kernel):
    out = zeroed_device_array(1, "i8")
    for value in (
        "s",
        [1],
        object(),
        (1, "s"),
        np.zeros(2, ">i4"),
        np.zeros(2, "V8"),
    ):
        with pytest.raises(TypeError, match=r"^lazy\(\): parameter 1 'value': .* cannot be passed"):
            lazy_kernel[1, 1](value, out)
    with pytest.raises(OverflowError, match=r"^lazy\(\): parameter 1 'value'"):
        lazy_kernel[1, 1](2**64, out)
    with pytest.raises(TypeError, match="missing 1"):
        lazy_kernel[1, 1](1)
    with pytest.raises(ValueError, match="grid dimension x is 0"):
        lazy_kernel[0, 1]("not even looked at")
    assert not lazy_kernel.asked


def test_kernels_can_be_added_and_forgotten(lazy_kernel, kernel_by_name):
    out = zeroed_device_array(1, "f8")
    codes = _core.typecodes((1.0, out))
    lazy_kernel._add(0, codes, kernel_by_name.of("f64"))
    bound = lazy_kernel[1, 1]
    bound(1.5, out)
    assert out[0] == 1.5 and not lazy_kernel.asked
    lazy_kernel._clear()
    bound(2.5, out)
    lazy_kernel[1, 1](2.5, out)
    assert out[0] == 2.5 and len(lazy_kernel.asked) == 1
    assert len(codes) == 8


def test_dispatcher_stores_many_type_combinations(lazy_kernel, kernel_by_name):
    reals, integers = zeroed_device_array(1, "f8"), zeroed_device_array(1, "i8")
    for n in range(60):  # unused by this test, but defined in the same table
        lazy_kernel._add(0, _core.typecodes((1,) * n), kernel_by_name.of("i64"))
    lazy_kernel._add(0, _core.typecodes((1.0, reals)), kernel_by_name.of("i64"))
    lazy_kernel._add(
        0, _core.typecodes((1.0, reals)), kernel_by_name.of("f64")
    )  # the newer one counts
    lazy_kernel._add(0, _core.typecodes((1, integers)), kernel_by_name.of("i64"))
    bound = lazy_kernel[1, 1]
    for value in range(20):
        bound(value + 0.5, reals)
        bound(value, integers)
        assert reals[0] == value + 0.5 and integers[0] == value
    assert not lazy_kernel.asked
    for codes in range(100):  # slots of unreferenced launches are reused
        lazy_kernel._clear()
        lazy_kernel._add(0, _core.typecodes((codes, integers)), kernel_by_name.of("i64"))
    bound(3, integers)
    assert integers[0] == 3 and not lazy_kernel.asked


def test_dispatcher_rejects_invalid_arguments(lazy_kernel, kernel_by_name):
    with pytest.raises(RuntimeError, match="once"):
        _core.Dispatcher.__init__(kernel_by_name("saxpy"), "again")
    wrong = [(), (3,), ("k", 3), ("k", [3]), ("k", None, False, False, (1.5,))]
    wrong += [("k", ["x"], False, False, None, None, None, given) for given in (3, (1, 2))]
    for arguments in wrong:
        with pytest.raises(TypeError):
            _core.Dispatcher(*arguments)
    bare = _core.Dispatcher.__new__(_core.Dispatcher)  # __init__ never ran
    with pytest.raises(TypeError):
        bare[1, 1](1)


def test_launches_keep_no_arguments_or_dispatchers_alive(kernel_by_name):
    lazy = LazyDispatcher({(5, 5): kernel_by_name.of("i64")})
    array, host = zeroed_device_array(1, "i8"), np.zeros(1, "i8")
    launcher = lazy[1, 1]
    launcher(1, array)
    launcher(1, host)
    lazy.asked.clear()
    refs = [weakref.ref(o) for o in (array, host)]
    del array, host
    assert [r() for r in refs] == [None, None]
    ref = weakref.ref(lazy)
    del lazy, launcher
    assert ref() is None  # freed immediately, because there is no cycle
    lazy = LazyDispatcher({})
    lazy.launcher = lazy[1, 1]
    ref = weakref.ref(lazy)
    del lazy
    gc.collect()
    assert ref() is None


# ---- host arrays are announced ----
def test_host_array_warning_is_raised_once(kernel_by_name):
    said = []
    dispatcher = _core.Dispatcher(
        "saxpy", list("axyn"), typed=True, warn_host=lambda: said.append(1)
    )
    dispatcher._only(0, kernel_by_name.of("saxpy"))
    x, y = np.ones(4, "f4"), np.zeros(4, "f4")
    dispatcher[1, 4](1.0, cuda.In(x), cuda.InOut(y), 4)
    assert not said
    dispatcher[1, 4](1.0, x, y, 4)
    dispatcher[1, 4](1.0, x, y, 4)
    assert said == [1] and (y == 3).all()

    def raise_warning():
        raise UserWarning("no")

    dispatcher = _core.Dispatcher("saxpy", list("axyn"), typed=True, warn_host=raise_warning)
    dispatcher._only(0, kernel_by_name.of("saxpy"))
    for _ in range(2):
        with pytest.raises(UserWarning):
            dispatcher[1, 4](1.0, x, y, 4)
    assert (y == 3).all()


def test_small_grids_warn_about_low_occupancy(monkeypatch):
    def make_small_grid_kernel():
        return cuda.jit(_set_first)

    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", True)
    for grid in (128, (16, 8), (2, 2, 32)):
        make_small_grid_kernel()[grid, 1]
    for grid in (127, (2, 3)):
        with pytest.warns(errors.PerformanceWarning, match="Grid size .* low occupancy") as told:
            small = make_small_grid_kernel()
            small[grid, 1]
            small[grid, 2]
        assert len(told) == 1 and told[0].filename == __file__
    monkeypatch.setattr(config, "CUDA_LOW_OCCUPANCY_WARNINGS", False)
    make_small_grid_kernel()[1, 1]


def _set_first(x):
    "x[0] = 1;"


# ---- modules and kernels ----
def test_invalid_modules_raise(kernel_by_name):
    assert kernel_by_name.module.device == 0 and kernel_by_name.module.alive
    for wrong in (b"", b"\0", b"nonsense" * 100):
        with pytest.raises((ValueError, errors.CudaAPIError)):
            _core.Module(wrong)
    for wrong in ("text", None, 3):
        with pytest.raises(TypeError):
            _core.Module(wrong)
    with pytest.raises(errors.CudaAPIError, match="no_such_kernel"):
        kernel_by_name.module.function("no_such_kernel", "k", [])
    with pytest.raises(errors.CudaAPIError, match="no_such_variable"):
        kernel_by_name.module.variable("no_such_variable", "f4", 3)


def test_invalid_parameter_descriptions_raise(kernel_by_name):
    good = kernel_by_name.rows("f32")[0]
    for changes in [{"kind": "thing"}, {"dtype": "float31"}, {"size": 8}, {"size": -1}, {"size": 2**40},
                    {"align": 0}, {"align": 3}, {"align": 2**20}, {"layout": "Q"}, {"ndim": -1},
                    {"kind": "array"}, {"kind": "array", "ndim": 33, "size": 8 + 33 * 16},
                    {"kind": "pointer"}, {"kind": "pointer", "size": 8, "itemsize": 3},
                    {"kind": "array", "ndim": 2**28, "size": 8}, {"kind": "struct", "size": 0},
                    {"dtype": ""}]:  # fmt: skip
        with pytest.raises(ValueError):
            kernel_by_name.module.function(
                kernel_by_name.image.lowered["f32"], "f32", [good._replace(**changes)] * 2
            )
    for wrong in (3, [3], [()], [("a",)], ["scalar"], [(*good[:4], "x", *good[5:])]):
        with pytest.raises(TypeError):
            kernel_by_name.module.function(kernel_by_name.image.lowered["f32"], "f32", wrong)
    with pytest.raises(ValueError, match="more than"):
        kernel_by_name.module.function(
            kernel_by_name.image.lowered["f32"],
            "f32",
            [good._replace(kind="struct", size=30000)] * 2,
        )
    # compares with the attributes of the compiled kernel that the driver reports
    rows = kernel_by_name.rows("f32")
    for wrong in ([*rows, rows[1]], rows[:1], [rows[1], rows[0]]):
        try:
            kernel_by_name.module.function(kernel_by_name.image.lowered["f32"], "f32", wrong)
        except RuntimeError as error:
            assert "f32" in str(error)


def test_parameter_count_query_needs_cuda_13_2(kernel_by_name):
    """A driver before CUDA 13.2 is not asked for the number of parameters, which fails there, unless a
    user declares the parameters."""
    rows = kernel_by_name.rows("f32")

    def make_function(rows, claimed):
        return kernel_by_name.module.function(
            kernel_by_name.image.lowered["f32"], "f32", rows, claimed=claimed
        )

    _core.trace(True)
    make_function(rows, False)
    number = _core.traced().index("cuFuncGetParamCount") + 1
    try:
        for described, claimed, good, asked in [
            (rows, False, True, 2),
            (rows, True, True, 3),
            (rows[:1], True, False, 2),
            ([rows[1], rows[0]], False, False, 1),
        ]:
            _core.trace(True)
            _core.fail_call_at(number, 801)
            try:
                make_function(described, claimed)
            except RuntimeError as error:
                assert not good and "f32" in str(error)
            else:
                assert good
            assert _core.traced().count("cuFuncGetParamInfo") == asked
            assert len(_core.failed()) == (good and claimed)
    finally:
        _core.fail_call_at(0)
        _core.trace(False)


def test_kernel_attributes_and_occupancy_are_returned(kernel_by_name):
    saxpy = kernel_by_name.of("saxpy")
    assert (saxpy.name, saxpy.device, saxpy.module) == ("saxpy", 0, kernel_by_name.module)
    assert [row.name for row in saxpy.parameters] == ["a", "x", "y", "n"]
    assert saxpy.attribute(0) > 0 and saxpy.attribute(1) == 0
    assert saxpy.occupancy(256) > 0 and saxpy.occupancy(block=128, shared=1024) > 0
    grid, block = saxpy.max_block_size()
    assert grid > 0 and block > 0
    with pytest.raises(errors.CudaAPIError):
        saxpy.attribute(9999)
    for call in (lambda: saxpy.occupancy(0), lambda: saxpy.occupancy(-1), lambda: saxpy.occupancy(1, -1),
                 lambda: saxpy.max_block_size(-1)):  # fmt: skip
        with pytest.raises(ValueError):
            call()
    with pytest.raises(TypeError):
        saxpy.attribute("0")
    with pytest.raises(TypeError):
        _core.Kernel()
    with pytest.raises(TypeError):
        copy.copy(saxpy)


def test_module_variables_are_arrays(kernel_by_name):
    module = _core.Module(kernel_by_name.image.data)
    table = module.variable(kernel_by_name.image.lowered["table"], "f4", (2, 3))
    values = np.arange(6, dtype="f4").reshape(2, 3) + 0.5
    table._write(values)
    look_up = _core.Dispatcher("look_up", ["out"], typed=True)
    look_up._only(
        0,
        module.function(
            kernel_by_name.image.lowered["look_up"], "look_up", kernel_by_name.rows("look_up")
        ),
    )
    out = zeroed_device_array(6, "f4")
    look_up[1, 1](out)
    assert [out[i] for i in range(6)] == values.ravel().tolist()
    table[1, 1:2]._write(np.array([9], "f4"))
    look_up[1, 1](out)
    assert out[4] == 9
    gc.collect()  # what earlier tests have left
    before = _core.live()["modules"]
    del module, look_up
    assert table[0, 1] == 1.5 and _core.live()["modules"] == before  # the array holds the module
    del table
    assert _core.live()["modules"] == before - 1
    module = _core.Module(kernel_by_name.image.data)
    for dtype, shape in [("f4", 7), ("f8", 6), ("f4", (2, 2)), ("f4", 0)]:
        with pytest.raises(ValueError, match="24 bytes"):
            module.variable(kernel_by_name.image.lowered["table"], dtype, shape)
    with pytest.raises(TypeError):
        module.variable(kernel_by_name.image.lowered["table"], "O", 3)


# ---- faults that kernels report ----
def test_fault_records_are_passed_to_the_hook(kernel_by_name):
    records = []

    class HookError(Exception):
        pass

    def record_fault(record, kernels, arrays):
        records.append(record)
        assert kernels == ("faulty",)
        (told,) = arrays
        assert told[0] == "out" and told[2:] == ((), (), 1), "a pointer has no shape"
        raise HookError

    rows = kernel_by_name.rows("faulty")
    fault = kernel_by_name.image.lowered["fault_record"], record_fault
    dispatcher = _core.Dispatcher("faulty", ["out", "value"], typed=True)
    dispatcher._only(
        0,
        kernel_by_name.module.function(
            kernel_by_name.image.lowered["faulty"], "faulty", rows, fault
        ),
    )
    for stream in (0, _core.Stream(), _core.Stream(non_blocking=True)):
        records.clear()
        out = np.zeros(1, "i4")
        with pytest.raises(HookError):
            dispatcher[1, 1, stream](out, 7)
        assert np.frombuffer(records[0], "i4")[[0, 5]].tolist() == [7, 42]
        assert not any(records[0][256:]), "the variable ends here"
        dispatcher[1, 1, stream](out, 0)  # the entry is no longer cached, so this is a new launch
        assert len(records) == 1
    for wrong in (3, ("fault_record",), (3, record_fault)):
        with pytest.raises(TypeError):
            kernel_by_name.module.function(
                kernel_by_name.image.lowered["faulty"], "faulty", rows, wrong
            )
    with pytest.raises(errors.CudaAPIError):
        kernel_by_name.module.function(
            kernel_by_name.image.lowered["faulty"], "faulty", rows, ("nowhere", record_fault)
        )


# ---- resets ----
def test_device_reset_invalidates_kernels(run_python):
    """After a reset, earlier arrays and kernels are refused and new ones work (in a separate
    process)."""
    run_python("""
import numpy as np
from numbalite import _core, cuda
k = cuda.jit("__global__ void k(float* x) { x[0] += 1; }")
x = cuda.to_device(np.zeros(4, "f4"))
k[1, 1](x)
_core.reset_device(0)
for use in (lambda: k[1, 1](x), lambda: x.copy_to_host(), lambda: x[0], lambda: x.fill(1)):
    try:
        use()
    except RuntimeError as error:
        assert "reset" in str(error), error
    else:
        raise AssertionError("a dead array was used")
y = cuda.to_device(np.zeros(4, "f4"))
k[1, 1](y)
assert y[0] == 1
""")
