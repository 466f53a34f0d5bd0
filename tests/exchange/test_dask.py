"""Ufuncs and kernels that dask sends to worker processes are sent as source, and return the same
results."""

import pickle

import numpy as np
import pytest

from numbalite import cuda, guvectorize, vectorize

TARGETS = ["cpu", "parallel", "cuda"]
SCALE = 3


def make_ufunc(target, **keywords):
    @vectorize(["float64(float64, float64)", "int64(int64, int64)"], target=target, **keywords)
    def scaled_sum(x, y):
        "return SCALE * x + y;"

    return scaled_sum


def make_gufunc(target):
    @guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),(k)->(n)", target=target)
    def smooth(x, weights, out):
        """
        for (int i = 0; i < x.size(); ++i) {
            out[i] = 0;
            for (int j = 0; j < weights.size(); ++j)
                if (i + j < x.size()) out[i] += weights[j] * x[i + j];
        }
        """

    return smooth


@cuda.jit
def increment(x):
    "int i = grid<1>(); if (i < x.size()) x[i] += SCALE;"


def smooth(x, weights):
    return np.array([[w @ row[i : i + len(w)] if i + len(w) <= len(row) else w[: len(row) - i] @ row[i:]
                      for i in range(len(row))] for row, w in ((row, weights) for row in x)])  # fmt: skip


# ---- pickling ----
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("protocol", [2, 5])
def test_ufuncs_pickle_by_source(target, protocol):
    x = np.arange(6.0)
    ufunc = make_ufunc(target)
    again = pickle.loads(pickle.dumps(ufunc, protocol))
    assert type(again) is type(ufunc) and again.__name__ == "scaled_sum" and again.nin == 2
    np.testing.assert_array_equal(again(x, 1.0), 3 * x + 1)
    assert again(np.arange(3), np.arange(3)).dtype == np.int64
    gufunc = pickle.loads(pickle.dumps(make_gufunc(target), protocol))
    assert gufunc.signature == "(n),(k)->(n)"
    weights = np.array([0.5, 0.25])
    np.testing.assert_allclose(gufunc(x[None], weights), smooth(x[None], weights))


@pytest.mark.parametrize("target", TARGETS)
def test_lazily_compiled_ufuncs_are_pickled(target):
    ufunc = vectorize(source="x < y ? y : x", args="x, y", target=target)
    np.testing.assert_array_equal(ufunc(np.arange(3), 1), [1, 1, 2])
    again = pickle.loads(pickle.dumps(ufunc))
    np.testing.assert_array_equal(again(np.arange(3.0), 1.0), [1, 1, 2])


@pytest.mark.parametrize("target", TARGETS)
def test_device_functions_are_pickled_with_the_ufunc(target, run_python, tmp_path):
    """A kernel uses constants and device functions of its scope in a process that defines neither."""

    @cuda.jit(device=True)
    def twice(x):
        "return 2 * x + SCALE;"

    @vectorize(["float64(float64)"], target=target)
    def four_times(x):
        "return 2 * twice(x);"

    path = tmp_path / "pickled"
    path.write_bytes(pickle.dumps(four_times))
    run_python(
        "import pickle, sys, numpy as np\n"
        f"f = pickle.load(open({str(path)!r}, 'rb'))\n"
        "assert f(np.arange(3.0)).tolist() == [6, 10, 14]"
    )


def test_reduction_is_pickled():
    total = cuda.reduce("a + b")
    assert pickle.loads(pickle.dumps(total))(np.arange(10)) == 45


def test_pickled_ufuncs_keep_identity_and_options():
    ufunc = vectorize(
        ["int64(int64, int64)"], target="cuda", identity=0, source="x + y", args="x, y"
    )
    again = pickle.loads(pickle.dumps(ufunc))
    assert again.identity == 0
    assert again.reduce(np.arange(5)) == 10


def test_numpy_ufuncs_pickle_unchanged():
    make_ufunc("cpu")
    assert pickle.loads(pickle.dumps(np.add)) is np.add
    assert pickle.loads(pickle.dumps(np.matmul)) is np.matmul


# ---- dask ----
dask = pytest.importorskip("dask")


@pytest.fixture(params=["synchronous", "threads", "processes"])
def dask_scheduler(request):
    """Worker processes are spawned, because a forked process cannot use the device."""
    options = {"scheduler": request.param, "num_workers": 2}
    if request.param == "processes":
        options["multiprocessing.context"] = "spawn"
    with dask.config.set(options):
        yield request.param


@pytest.mark.filterwarnings("ignore")
def test_dask_map_blocks_applies_ufuncs(dask_scheduler):
    import dask.array as da

    x = np.arange(24.0).reshape(4, 6)
    blocks = da.from_array(x, chunks=(2, 3))
    results = [blocks.map_blocks(make_ufunc(target), 1.0, dtype="f8") for target in TARGETS]
    for result in dask.compute(*results):
        np.testing.assert_array_equal(result, 3 * x + 1)


@pytest.mark.filterwarnings("ignore")
def test_dask_apply_gufunc_applies_gufuncs(dask_scheduler):
    import dask.array as da

    x, weights = np.arange(24.0).reshape(4, 6), np.array([0.5, 0.25])
    blocks = da.from_array(x, chunks=(2, 6))
    results = [
        da.apply_gufunc(make_gufunc(target), "(n),(k)->(n)", blocks, weights, output_dtypes="f8")
        for target in TARGETS
    ]
    for result in dask.compute(*results):
        np.testing.assert_allclose(result, smooth(x, weights))


@pytest.mark.filterwarnings("ignore")
def test_dask_map_blocks_launches_kernels(dask_scheduler):
    import dask.array as da

    x = np.arange(20.0)
    result = da.from_array(x, chunks=8).map_blocks(kernel_block, increment, dtype="f8")
    np.testing.assert_array_equal(result.compute(), x + 3)


def kernel_block(block, kernel):
    result = np.array(block)
    if result.size:
        kernel[(result.size + 31) // 32, 32](result)
    return result


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", TARGETS)
def test_ufuncs_of_dask_arrays_return_dask_arrays(target):
    """A ufunc called with a dask array: dask's __array_ufunc__ is used, as for NumPy's ufuncs."""
    import dask.array as da

    x = np.arange(24.0).reshape(4, 6)
    result = make_ufunc(target)(da.from_array(x, chunks=(2, 3)), 1.0)
    assert isinstance(result, da.Array)
    np.testing.assert_array_equal(result.compute(scheduler="synchronous"), 3 * x + 1)
