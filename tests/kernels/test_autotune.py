"""Tests cuda.autotune. Times on the simulator are meaningless, but most tests of this file let it
measure, to test all other functions."""

import csv
import json

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite import cuda
from numbalite.compilers import cache
from numbalite.errors import CompileError, SimulatorWarning
from numbalite.tuning import measure, tuned, variants
from numbalite.tuning.table import Tuning

SAXPY = """
#pragma unroll
for (int k = 0; k < UNROLL; k++) {
    int i = (blockIdx.x * UNROLL + k) * BLOCK + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""
TARGET = ("cuda", 9, 0)
SPACE = {"BLOCK": [64, 128, 256], "UNROLL": [1, 2]}


def launch_grid(n, BLOCK, UNROLL):
    return -(-n // (BLOCK * UNROLL)), BLOCK


@pytest.fixture(scope="module")
def cache_of_module(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def cache_without_choices(cache_of_module, monkeypatch):
    """Keeps the compiled images from test to test, because compilation dominates the time, but no choice."""
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(cache_of_module))
    yield
    for path in cache_of_module.rglob("*" + cache.TUNING):
        path.unlink()


@pytest.fixture
def measure_on_simulator(monkeypatch):
    """Lets the simulator measure, too."""
    monkeypatch.setattr(tuned, "are_times_meaningful", lambda: True)


def make_tuned_saxpy(key=("n",), over=SPACE, **given):
    @cuda.autotune(over=over, key=key, **given)
    @cuda.jit
    def saxpy(a, x, y, n):
        r"""
        #pragma unroll
        for (int k = 0; k < UNROLL; k++) {
            int i = (blockIdx.x * UNROLL + k) * BLOCK + threadIdx.x;
            if (i < n) y[i] += a * x[i];
        }
        """

    return saxpy


def saxpy_data(n):
    return cuda.to_device(np.arange(n, dtype=np.float32)), cuda.to_device(np.ones(n, np.float32))


def check_tuned_saxpy(kernel, n, configuration=launch_grid):
    x, y = saxpy_data(n)
    kernel[configuration](2.0, x, y, n)
    assert np.array_equal(y.copy_to_host(), 1 + 2 * np.arange(n, dtype=np.float32))
    assert np.array_equal(x.copy_to_host(), np.arange(n, dtype=np.float32))


@pytest.mark.sim
def test_simulator_uses_the_first_variant_with_a_note(monkeypatch):
    monkeypatch.setattr(tuned, "_noted", set())
    kernel = make_tuned_saxpy()
    with pytest.warns(SimulatorWarning, match="saxpy: the simulator measures no times"):
        check_tuned_saxpy(kernel, 1000)
    check_tuned_saxpy(kernel, 100_000)  # no second note
    assert kernel.tuning.best.constants == {"BLOCK": 64, "UNROLL": 1}
    assert kernel.tuning.origin == "simulator"
    assert kernel.tuning.measured == 0


def test_autotune_measures_all_variants_of_a_small_space(measure_on_simulator):
    kernel = make_tuned_saxpy(prune=False)
    check_tuned_saxpy(kernel, 1000)
    table = kernel.tuning
    assert table.measured == len(table) == 6
    assert all(trial.time > 0 and trial.low <= trial.time <= trial.high for trial in table)
    assert [trial.time for trial in table] == sorted(trial.time for trial in table)
    assert table.best.registers is not None
    assert 0 < table.best.occupancy <= 1


def test_autotune_chooses_once_for_each_class_of_sizes(measure_on_simulator):
    kernel = make_tuned_saxpy()
    check_tuned_saxpy(kernel, 600)
    check_tuned_saxpy(kernel, 1000)
    assert len(kernel.tunings) == 1
    check_tuned_saxpy(kernel, 1024)
    assert [table.sizes for table in kernel.tunings] == ["n: 2**9", "n: 2**10"]
    x, y = (cuda.to_device(np.ones(600)) for _ in range(2))
    kernel[launch_grid](2.0, x, y, 600)  # float64
    assert len(kernel.tunings) == 3


def test_autotune_key_contains_all_arrays_by_default(measure_on_simulator):
    kernel = make_tuned_saxpy(key=None)
    check_tuned_saxpy(kernel, 600)
    assert kernel.tuning.sizes == "x: 2**9, y: 2**9"


def test_autotune_results_are_reused_in_a_second_process(measure_on_simulator):
    check_tuned_saxpy(make_tuned_saxpy(), 1000)
    again = make_tuned_saxpy()
    check_tuned_saxpy(again, 900)
    assert again.tuning.origin == "disk cache"
    assert again.tuning.measured == 0
    assert len(again.tuning) == 6
    other = make_tuned_saxpy(over={**SPACE, "UNROLL": [1, 4]})
    check_tuned_saxpy(other, 1000)
    assert other.tuning.origin == "measured"


def test_damaged_tuning_table_is_measured_again(measure_on_simulator, monkeypatch):
    check_tuned_saxpy(make_tuned_saxpy(), 1000)
    monkeypatch.setattr(
        Tuning, "from_bytes", staticmethod(lambda data: 1 // len(data[:0] or b"x") and None)
    )
    again = make_tuned_saxpy()
    check_tuned_saxpy(again, 1000)
    assert again.tuning.origin == "measured"


@pytest.mark.parametrize(
    "stored", [b"", b"[]", b"{}", b'{"trials": []}', b"\xff", b'{"trials": [{}]}']
)
def test_invalid_stored_tuning_tables_raise(stored):
    with pytest.raises(ValueError):
        Tuning.from_bytes(stored)


def test_kernels_with_python_bodies_are_tuned(measure_on_simulator):
    @cuda.autotune(over={"BLOCK": [32, 64], "ITEMS": [1, 4]})
    @cuda.jit
    def block_sum(x, out):
        shared = cuda.shared.array(BLOCK, np.float64)  # noqa: F821
        t, total = cuda.threadIdx.x, 0.0
        for k in range(ITEMS):  # noqa: F821
            i = (cuda.blockIdx.x * ITEMS + k) * BLOCK + t  # noqa: F821
            if i < x.size:
                total += x[i]
        shared[t] = total
        cuda.syncthreads()
        if t == 0:
            total = 0.0
            for k in range(BLOCK):  # noqa: F821
                total += shared[k]
            cuda.atomic.add(out, 0, total)

    x, out = cuda.to_device(np.arange(1000.0)), cuda.to_device(np.zeros(1))
    block_sum[lambda x, BLOCK, ITEMS, **_: (-(-x.size // (BLOCK * ITEMS)), BLOCK)](x, out)
    assert out[0] == 499500
    assert block_sum.tuning.measured == 4


def test_compiler_options_can_be_tuned(measure_on_simulator):
    kernel = make_tuned_saxpy(over={**SPACE, "max_registers": [32, 64]})
    check_tuned_saxpy(kernel, 500, lambda n, BLOCK, UNROLL, **_: launch_grid(n, BLOCK, UNROLL))
    assert kernel.variant(BLOCK=64, UNROLL=2, max_registers=32).options.max_registers == 32


def test_autotune_accepts_a_kernel_factory(measure_on_simulator):
    source = """
    template<int BLOCK, int ITEMS> __global__ void fill(int *x, int n) {
        for (int k = 0; k < ITEMS; k++) {
            int i = (blockIdx.x * ITEMS + k) * BLOCK + threadIdx.x;
            if (i < n) x[i] = i;
        }
    }
    """

    @cuda.autotune(over={"BLOCK": [64, 128], "ITEMS": [1, 2]}, key=["n"])
    def fill(BLOCK, ITEMS):
        return cuda.jit(source=source, name=f"fill<{BLOCK}, {ITEMS}>")

    x = cuda.device_array(1000, np.int32)
    fill[lambda n, BLOCK, ITEMS: (-(-n // (BLOCK * ITEMS)), BLOCK)](x, 1000)
    assert np.array_equal(x.copy_to_host(), np.arange(1000))
    assert fill.tuning.measured == 4


def test_results_of_variants_are_compared(measure_on_simulator):
    @cuda.autotune(over={"BLOCK": [64, 128]})
    @cuda.jit
    def store_block_size(x):
        "x[grid<1>()] = BLOCK;"

    x = cuda.to_device(np.zeros(128, np.float32))
    with pytest.raises(
        measure.VariantError, match=r"x differs by 128 of 128 elements between BLOCK="
    ):
        store_block_size[lambda BLOCK, **_: (128 // BLOCK, BLOCK)](x)
    assert not x.copy_to_host().any()  # only copies were written


@pytest.mark.parametrize(("given", "passes"), [(None, True), (1e-9, False), (1e-2, True)])
def test_variants_with_other_results_raise(measure_on_simulator, given, passes):
    @cuda.autotune(over={"BLOCK": [64, 128]}, tolerance=given)
    @cuda.jit
    def store_nearly_equal(x):
        "x[grid<1>()] = 1 + BLOCK * 1e-7f;"

    x = cuda.to_device(np.zeros(128, np.float32))
    launch = store_nearly_equal[lambda BLOCK, **_: (128 // BLOCK, BLOCK)]
    if passes:
        launch(x)
    else:
        with pytest.raises(measure.VariantError):
            launch(x)


@pytest.mark.parametrize(
    "view",
    [np.s_[:, :], np.s_[::2, 1:], np.s_[::-1, ::3], np.s_[1:1, :], np.s_[:, 5:6]],
    ids=str,
)
def test_strided_arguments_are_restored_between_variants(measure_on_simulator, view):
    @cuda.autotune(over={"BLOCK": [32, 64]})
    @cuda.jit
    def double(x, columns):
        """
        for (int k = threadIdx.x; k < x.size(); k += BLOCK)
            x(k / columns, k % columns) *= 2;
        """

    whole = np.arange(77.0).reshape(7, 11)
    device = cuda.to_device(whole)
    part = device[view]
    double[lambda BLOCK, **_: (1, BLOCK)](part, part.shape[-1])
    expected = whole.copy()
    expected[view] *= 2
    assert np.array_equal(device.copy_to_host(), expected)


def test_host_arrays_are_restored_between_variants(measure_on_simulator):
    kernel = make_tuned_saxpy()
    x, y = np.arange(500, dtype=np.float32), np.ones(500, np.float32)
    kernel[launch_grid](2.0, cuda.In(x), y, 500)
    assert np.array_equal(y, 1 + 2 * x)


def test_autotune_restores_an_array_passed_twice(measure_on_simulator):
    kernel = make_tuned_saxpy()
    x, _ = saxpy_data(300)
    kernel[launch_grid](2.0, x, x, 300)
    assert np.array_equal(x.copy_to_host(), 3 * np.arange(300, dtype=np.float32))


def test_autotune_accepts_keywords_and_fixed_configurations(measure_on_simulator):
    @cuda.autotune(over={"UNROLL": [1, 2, 4]})
    @cuda.jit
    def add(a, x):
        """
        #pragma unroll UNROLL
        for (int i = threadIdx.x; i < x.size(); i += blockDim.x) x[i] += a;
        """

    x = cuda.to_device(np.zeros(300, np.float32))
    add[1, 64](x=x, a=2.0)
    add[1, 64](3.0, x=x)
    assert (x.copy_to_host() == 5).all()


def test_variants_that_cannot_win_are_not_launched(measure_on_simulator):
    @cuda.autotune(over={"BLOCK": [64, 4096], "UNUSED": [1, 2]})
    @cuda.jit
    def store_one(x):
        "x[grid<1>()] = 1;"

    x = cuda.to_device(np.zeros(128, np.float32))
    store_one[lambda BLOCK, **_: (128 // min(BLOCK, 128), BLOCK)](x)
    assert store_one.tuning.measured == 1
    reasons = [trial.why for trial in store_one.tuning]
    assert sum("blocks of 4096 threads" in why for why in reasons) == 2
    assert sum("the same code and launch" in why for why in reasons) == 1


def test_unlaunchable_variants_raise(measure_on_simulator):
    kernel = make_tuned_saxpy(over={"BLOCK": [4096], "UNROLL": [1]})
    x, y = saxpy_data(10)
    with pytest.raises(RuntimeError, match="no variant can be launched.*4096 threads"):
        kernel[launch_grid](2.0, x, y, 10)


def test_variants_that_do_not_compile_are_skipped(measure_on_simulator):
    @cuda.autotune(over={"BLOCK": [64, 128]})
    @cuda.jit
    def require_large_blocks(x):
        """
        static_assert(BLOCK > 64, "blocks are larger");
        x[grid<1>()] = 1;
        """

    x = cuda.to_device(np.zeros(128, np.float32))
    require_large_blocks[lambda BLOCK, **_: (128 // BLOCK, BLOCK)](x)
    assert require_large_blocks.tuning.best.constants == {"BLOCK": 128}
    assert require_large_blocks.tuning[-1].status == "failed"


def test_error_is_raised_if_no_variant_compiles(measure_on_simulator):
    @cuda.autotune(over={"BLOCK": [64, 128]})
    @cuda.jit
    def undefined_name(x):
        "x[0] = BLOCK + unknown;"

    with pytest.raises(CompileError, match="unknown"):
        undefined_name[lambda BLOCK, **_: (1, BLOCK)](cuda.to_device(np.zeros(1)))


def test_trials_and_where_limit_the_search(measure_on_simulator):
    over = {"BLOCK": [32, 64, 96, 128, 160, 192, 224, 256], "UNROLL": [1, 2, 4, 8]}
    kernel = make_tuned_saxpy(
        over=over, trials=5, where=lambda BLOCK, UNROLL: BLOCK * UNROLL <= 512
    )
    check_tuned_saxpy(kernel, 3000)
    assert kernel.tuning.measured == 5
    assert all(t.constants["BLOCK"] * t.constants["UNROLL"] <= 512 for t in kernel.tuning)


@pytest.mark.parametrize(
    "where", [lambda BLOCK: BLOCK > 32, lambda **c: c["BLOCK"] > 32, lambda UNROLL, BLOCK=0: BLOCK > 32]
)  # fmt: skip
def test_where_is_called_with_its_parameters(where):
    kernel = make_tuned_saxpy(over={"BLOCK": [32, 64], "UNROLL": [1, 2]}, where=where)
    assert [c["BLOCK"] for c in kernel._space] == [64, 64]


def test_large_tuning_spaces_are_searched_partially(measure_on_simulator):
    kernel = make_tuned_saxpy(
        over={"BLOCK": list(range(32, 352, 32)), "UNROLL": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
    )
    check_tuned_saxpy(kernel, 3000)
    assert kernel.tuning.measured == 10
    assert sum(trial.status == "skipped" for trial in kernel.tuning) > 50


def test_tuning_table_can_be_exported(measure_on_simulator, tmp_path):
    kernel = make_tuned_saxpy()
    check_tuned_saxpy(kernel, 1000)
    exported = json.loads(json.dumps(kernel.tuning.as_dict()))
    assert exported["trials"][0]["constants"] == kernel.tuning.best.constants
    kernel.tuning.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert rows[0]["BLOCK"] == str(kernel.tuning.best.constants["BLOCK"])
    text = repr(kernel.tuning)
    assert text.startswith("saxpy on ")
    assert "BLOCK  UNROLL" in text


def test_the_disk_cache_counts_and_removes_tables(measure_on_simulator):
    check_tuned_saxpy(make_tuned_saxpy(), 1000)
    assert cache.cache_usage()[1] > 0
    cache.clear_cache()
    again = make_tuned_saxpy()
    check_tuned_saxpy(again, 1000)
    assert again.tuning.origin == "measured"


def test_untuned_kernel_raises_in_a_capture(measure_on_simulator):
    kernel = make_tuned_saxpy()
    x, y = saxpy_data(100)
    stream = cuda.stream()
    with pytest.raises(RuntimeError, match="not tuned for this call yet"), stream.capture():
        kernel[lambda n, BLOCK, UNROLL: (*launch_grid(n, BLOCK, UNROLL), stream)](2.0, x, y, 100)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"over": {}}, TypeError, "over must be a dict"),
        ({"over": {"BLOCK": []}}, ValueError, "has no values"),
        ({"over": {"BLOCK": "64"}}, TypeError, "is a list of values"),
        ({"over": {"not a name": [1]}}, TypeError, "not a name"),
        ({"over": {"n": [1]}}, ValueError, "is a parameter of saxpy"),
        ({"key": ["m"]}, ValueError, "key has 'm'; the parameters of saxpy are a, x, y, n"),
        ({"key": "n"}, TypeError, "key must be a list of names"),
        ({"trials": 0}, ValueError, "at least 1"),
        ({"trials": 1.5}, TypeError, "number of variants"),
        ({"where": lambda **_: False}, ValueError, "accepts no combination"),
    ],
)
def test_invalid_autotune_arguments_raise(given, error, message):
    with pytest.raises(error, match=message):
        make_tuned_saxpy(**given)


def test_invalid_launch_functions_raise(measure_on_simulator):
    kernel = make_tuned_saxpy()
    x, y = saxpy_data(10)
    with pytest.raises(TypeError, match=r"returns \(grid, block\)"):
        kernel[lambda **_: 32](2.0, x, y, 10)
    with pytest.raises(TypeError, match="missing"):
        kernel[lambda n, OTHER: (1, 32)](2.0, x, y, 10)
    with pytest.raises(TypeError, match="parameters a, x, y, n; the call has 2 arguments"):
        kernel[launch_grid](2.0, x)
    with pytest.raises(TypeError, match="4 arguments, and n="):
        kernel[launch_grid](2.0, x, y, 10, n=10)
    with pytest.raises(ValueError, match="no variant"):
        kernel.variant(BLOCK=1, UNROLL=1)


def test_autotune_rejects_functions_that_are_not_kernels():
    with pytest.raises(TypeError, match=r"put @cuda\.jit under it"):
        cuda.autotune(over={"BLOCK": [1]})(lambda x: None)
    with pytest.raises(TypeError, match="is made of a whole source"):
        cuda.autotune(over={"BLOCK": [1]})(cuda.jit("__global__ void k(int *x) { *x = 1; }"))


@needs_nvrtc
def test_constants_without_effect_on_the_gpu_code_are_the_same_variant():
    def copy(x, y):
        """
        #pragma unroll UNROLL
        for (int k = 0; k < ITEMS; ++k) y[k * WEIGHTS[0] + threadIdx.x] = x[k + threadIdx.x];
        """

    def code(**constants):
        make = variants.from_kernel(cuda.jit(copy))
        variant = variants.Variant(constants, make)
        variant.configuration = 1, 32
        variant.compile(TARGET, (np.zeros(40, "f4"), np.zeros(40, "f4")))
        assert variant.problem is None
        return variant.code(TARGET)

    assert code(ITEMS=1, UNROLL=1, WEIGHTS=(3, 4)) == code(ITEMS=1, UNROLL=4, WEIGHTS=(3, 4))
    assert code(ITEMS=1, UNROLL=1, WEIGHTS=(3, 4)) != code(ITEMS=2, UNROLL=1, WEIGHTS=(3, 4))
    assert code(ITEMS=1, UNROLL=1, WEIGHTS=(3, 4)) != code(ITEMS=1, UNROLL=1, WEIGHTS=(3, 5))
