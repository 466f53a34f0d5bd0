"""Tests of bugs that users reported, one test for each bug: NumPy judges."""

import concurrent.futures
import warnings

import numpy as np
import pytest
from kit.likenumpy import assert_equal_results
from kit.sample import random_generator

import numbalite
from numbalite import cuda, vectorize
from numbalite.cuda import sparse

D = cuda.to_device


@pytest.mark.parametrize("code", "FD")
def test_round_of_complex_numbers_matches_numpy_in_any_order(code):
    a = (np.arange(12) * (0.567 + 1.234j)).reshape(3, 4).astype(code)
    for decimals in (1, 2, -1):
        for x, d in ((a, D(a)), (a.T, D(a).T), (a[::-1, ::2], D(a)[::-1, ::2])):
            assert_equal_results(np.round(d, decimals), np.round(x, decimals))


def test_ellipsis_of_no_axes_separates_index_arrays():
    a, i, j = np.arange(24).reshape(2, 3, 4), np.array([0, 1]), np.array([2, 3])
    keys = (
        np.s_[:, i, ..., j], np.s_[:, 0, ..., j], np.s_[i, ..., i, j], np.s_[i, i, ..., j],
        np.s_[i, ..., j], np.s_[..., i, j], np.s_[i, i, j, ...],
    )  # fmt: skip
    for key in keys:
        assert_equal_results(D(a)[key], a[key])
        host, device = a.copy(), D(a)
        values = np.arange(host[key].size).reshape(host[key].shape)
        host[key] = device[key] = values
        assert_equal_results(device, host)


def test_coo_arrays_use_current_values():
    a = sparse.coo_array((np.array([1.0, 2.0]), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
    ones = D(np.ones(2))
    assert_equal_results(a @ ones, np.array([1.0, 2.0]))
    a.data *= 10
    assert_equal_results(a @ ones, np.array([10.0, 20.0]))
    assert_equal_results(a.toarray(), np.array([[0, 10.0], [20.0, 0]]))


@pytest.mark.filterwarnings("ignore:Casting complex values")
def test_copyto_applies_the_casting_rule_to_numbers():
    for dtype, value in (
        ("i8", 0.5),
        ("?", 7),
        ("u1", 3.5),
        ("f4", 1 + 1j),
        ("u1", 300),
        ("f4", 2),
        ("u1", True),
    ):
        outcomes = []
        for array in (np.ones(3, dtype), D(np.ones(3, dtype))):
            try:
                np.copyto(array, value)
                outcomes.append(np.asarray(array).tolist())
            except (TypeError, OverflowError) as problem:
                outcomes.append(type(problem))
        assert outcomes[0] == outcomes[1], (dtype, value)
    d = D(np.zeros(3, "f4"))
    np.copyto(d, 1 + 1j, casting="unsafe")
    assert_equal_results(d, np.ones(3, "f4"))


@pytest.mark.parametrize("dtype", ["?", "f4", [("x", "f4"), ("i", "i4")], "M8[s]"])
def test_copyto_with_where_matches_numpy(dtype):
    host = np.zeros((2, 3), "i4").astype(dtype)
    source, where = np.ones(3, "i4").astype(dtype), np.array([[True, False, True]])
    device = D(host)
    np.copyto(device, D(source), where=D(where))
    np.copyto(host, source, where=where)
    assert_equal_results(device, host)


def test_where_with_out_of_range_numbers_matches_numpy():
    u = np.arange(5, dtype="u1")
    for low, high in ((u, -1), (300, u), (u, 7)):
        device = [D(one) if one is u else one for one in (low, high)]
        try:
            want = np.where(u > 3, low, high)
        except OverflowError:  # NumPy 2.5
            with pytest.raises(OverflowError):
                np.where(D(u) > 3, *device)
        else:
            assert_equal_results(np.where(D(u) > 3, *device), want)
    for values in (300, -1, [1, 300]):
        with pytest.raises(OverflowError):
            np.insert(D(u), 0, values)
    assert_equal_results(np.insert(D(u), [0, 2], [7, 8]), np.insert(u, [0, 2], [7, 8]))
    with pytest.raises(TypeError, match="casting rule 'equiv'"):
        np.add(D(np.arange(3.0)), 1, casting="equiv")


def test_functions_accept_unaligned_fields_of_packed_records():
    p = np.zeros(8, [("k", "u1"), ("x", "f8"), ("i", "i4"), ("j", "i8")])
    p["x"], p["i"], p["j"] = np.arange(8)[::-1], np.arange(8) % 5, np.arange(8) % 3
    d = D(p)
    assert_equal_results(
        np.interp(d["x"], [0, 1.0, 9], [0, 1.0, 3]), np.interp(p["x"], [0, 1.0, 9], [0, 1.0, 3])
    )
    assert_equal_results(np.convolve(d["x"], [1.0, 2]), np.convolve(p["x"], [1.0, 2]))
    assert_equal_results(D(np.arange(5.0))[d["i"]], np.arange(5.0)[p["i"]])
    assert_equal_results(np.take(d["x"], d["i"]), np.take(p["x"], p["i"]))
    assert_equal_results(
        np.take_along_axis(d["x"], d["j"], 0), np.take_along_axis(p["x"], p["j"], 0)
    )
    assert_equal_results(np.choose(d["j"], [1, 2, 3]), np.choose(p["j"], [1, 2, 3]))
    assert_equal_results(np.delete(d["x"], d["j"]), np.delete(p["x"], p["j"]))
    assert_equal_results(sparse.csr_array(d["x"].reshape(2, 4)).toarray(), p["x"].reshape(2, 4))


def test_real_and_imaginary_parts_are_set():
    z, d = np.arange(4) * (1 + 2j), D(np.arange(4) * (1 + 2j))
    z.real = d.real = 7
    z.imag = d.imag = np.arange(4.0)
    assert_equal_results(d, z)
    with pytest.raises(TypeError, match="imaginary part"):
        D(np.arange(3)).imag = 1


def test_sort_histogram_select_and_partition_of_arrays_match_numpy():
    """With an array as argument, cuda.sort, histogram, select and partition are NumPy's functions."""
    random = random_generator()
    x = random.integers(0, 99, (5, 7))
    weights, axis, k = random.random((5, 7)), random.choice([0, 1, -1]), random.integers(5)
    calls = (
        lambda m, x, w: m.sort(x), lambda m, x, w: m.sort(x, axis), lambda m, x, w: m.sort(a=x, axis=None),
        lambda m, x, w: m.sort(x, kind="stable"), lambda m, x, w: m.histogram(x), lambda m, x, w: m.histogram(x, 5, (0, 50)),
        lambda m, x, w: m.histogram(a=x, bins=4, weights=w), lambda m, x, w: m.histogram(x, bins=[0, 10, 99], density=True),
        lambda m, x, w: m.select([x > 50, x < 10], [x, -x]), lambda m, x, w: m.select([x > 50], [x], default=3),
        lambda m, x, w: m.select(condlist=[x > 50], choicelist=[w]),
    )  # fmt: skip
    for call in calls:
        for given in (x, D(x)), (weights, D(weights)):
            expected, found = call(np, given[0], weights), call(cuda, given[1], D(weights))
            if isinstance(found, tuple):
                for one, other in zip(found, expected, strict=True):
                    assert_equal_results(one, other)
            else:
                assert_equal_results(found, expected)
    for part in (cuda.partition(D(x), k, axis), cuda.partition(a=D(x), kth=k, axis=axis)):
        np.testing.assert_array_equal(
            np.take(part.copy_to_host(), k, axis), np.take(np.sort(x, axis), k, axis)
        )
    for on_host in (x.tolist(), x, tuple(x.tolist())):
        assert_equal_results(cuda.sort(on_host), np.sort(x))
    # an operation makes a function
    assert_equal_results(cuda.sort(key="-x")(D(x)), -np.sort(-x))
    assert_equal_results(cuda.sort()(D(x)), np.sort(x))
    assert_equal_results(
        cuda.histogram("x / 50", bins=2)(D(x)), np.bincount((x // 50).ravel(), minlength=2)
    )
    assert_equal_results(cuda.select("x > 50")(D(x)), x[x > 50])
    assert_equal_results(cuda.partition("x > 50")(D(x))[1], x[x <= 50])
    for call, name in ((cuda.scan, "cumsum"), (cuda.reduce_by_key, "unique")):
        with pytest.raises(TypeError, match=rf"np\.{name}\(x\) accepts the array itself"):
            call(D(x))
    for call in cuda.scan, cuda.reduce, cuda.sort, cuda.select, cuda.partition:
        with pytest.raises(TypeError, match=r"which accepts the array: cuda\.\w+\('a \+ b'\)\(x\)"):
            call("a + b", D(x))
    with pytest.raises(TypeError, match="target is a string, not DeviceNDArray"):
        vectorize("a + b", D(x))


def test_all_names_of_numpy_work_or_raise_with_an_alternative():
    for name in dir(np):
        if name.startswith("_"):
            continue
        try:
            getattr(cuda, name)
        except AttributeError as error:
            assert ": " in str(error), error
    with pytest.raises(AttributeError, match=r"write cuda.host_memory_pool\(\)"):
        cuda.get_default_pinned_memory_pool
    for name in ("half", "single", "csingle", "cdouble", "ubyte", "long"):
        assert np.dtype(getattr(cuda, name)) == getattr(np, name)
    assert isinstance(np.float32(1), cuda.float32)
    assert not isinstance(np.float64(1), cuda.float32)
    assert not isinstance(1.0, cuda.float32)
    for function in (np.triu, np.tril):
        for ours, numpys in zip(
            cuda.mask_indices(4, function, 1), np.mask_indices(4, function, 1), strict=True
        ):
            assert_equal_results(ours, numpys)


def test_get_array_module_returns_cuda_or_numpy():
    d = D(np.arange(3.0))
    assert cuda.get_array_module(d) is cuda.get_array_module(1, np.ones(2), d) is cuda
    assert cuda.get_array_module(cuda.sparse.eye_array(3)) is cuda
    assert cuda.get_array_module() is cuda.get_array_module(np.ones(2), 3, [d]) is np


def test_load_reads_saved_arrays(tmp_path):
    cuda.save(tmp_path / "a.npy", D(np.arange(3.0)))
    assert_equal_results(cuda.load(tmp_path / "a.npy"), np.arange(3.0))
    cuda.savez(tmp_path / "b.npz", x=D(np.arange(3.0)))
    assert_equal_results(D(cuda.load(tmp_path / "b.npz")["x"]), np.arange(3.0))


def test_another_byte_order_raises_with_an_alternative():
    d = D(np.arange(4, dtype=">f4"))
    for call in (lambda: d + d, lambda: np.sin(d), lambda: d.sum(), lambda: np.allclose(d, d)):
        with pytest.raises(TypeError, match=r"newbyteorder\('='\)"):
            call()
    assert_equal_results(
        np.sin(d.astype(d.dtype.newbyteorder("="))), np.sin(np.arange(4, dtype="f4"))
    )


def test_concurrent_first_calls_match_numpy():
    """Only one thread at a time parses sources."""

    def compare_first_calls(seed):
        host = np.random.default_rng(seed).random((40, 30 + seed))
        x = D(host)
        assert_equal_results(np.concatenate([x, x]), np.concatenate([host, host]))
        assert_equal_results(np.argsort(x[0]), np.argsort(host[0]))
        assert_equal_results(x[x > 0.5], host[host > 0.5])

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(compare_first_calls, range(6)))


def _result_of_call(function, x, *args, **keywords):
    """Returns the result of a call; the result of a function without a return value is the argument."""
    made = function(x, *args, **keywords)
    made = x if made is None else made
    return made.copy_to_host() if hasattr(made, "copy_to_host") else made


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex")
@pytest.mark.parametrize("dtype", ["?", "i8", "f4", "M8[s]", "m8[s]"])
def test_assigned_numbers_are_cast_like_array_copies(dtype):
    values = np.nan, 1j, np.inf, 2.5, 1, True, [1, 2.5, 7], np.datetime64("2000-01-01", "s"), 10**30
    for value in values:
        x = np.zeros(3, dtype)
        for function, *args in (
            (np.full_like, value), (np.copyto, value), (np.copyto, value, "unsafe"),
        ):  # fmt: skip
            try:
                expected = _result_of_call(function, x, *args)
            except (TypeError, ValueError, OverflowError) as error:
                with pytest.raises(type(error)):
                    _result_of_call(function, D(x), *args)
            else:
                np.testing.assert_array_equal(_result_of_call(function, D(x), *args), expected)


def test_lossy_casts_of_numbers_warn_in_each_call():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(5):
            np.full_like(D(np.zeros(3, int)), np.nan)
    assert len(seen) == 5


def test_dtypes_of_small_and_empty_results_match_numpy():
    for shape in (0, 3), (3, 0), (0, 2, 3):
        for dtype in "?", "i4", "f2", "f4":
            a = np.zeros(shape, dtype)
            if 0 not in shape[-2:] and dtype == "f2":
                continue
            assert_equal_results(np.linalg.pinv(D(a)), np.linalg.pinv(a))
    x, flags = np.array([1.5, 2, 4]), np.array([True, False, True])
    for a, weights in ((x, flags), (D(x), D(flags))):
        with pytest.raises(TypeError):
            np.histogram(a, [0, 2, 5], weights=weights)
    assert_equal_results(
        np.histogram(D(x[:0]), [0, 2, 5], weights=D(flags[:0]))[0], np.zeros(2, bool)
    )
    assert_equal_results(cuda.arange(2, dtype=bool), np.arange(2, dtype=bool))
    for module in np, cuda:
        with pytest.raises(TypeError):
            module.arange(3, dtype=bool)


@pytest.mark.parametrize("convert", [int, float, complex])
def test_scalar_conversion_of_one_element_arrays_matches_numpy(convert):
    assert convert(D(np.array(3.0))) == 3
    for shape in (1,), (1, 1), (2,), (0,):
        results = []
        for x in np.ones(shape), D(np.ones(shape)):
            with warnings.catch_warnings(record=True) as seen:
                warnings.simplefilter("always")
                try:
                    result = convert(x)
                except TypeError:
                    result = TypeError
            results.append((result, [one.category for one in seen]))
        assert results[0] == results[1]


def test_dtypes_without_numbers_raise_with_an_alternative():
    times = D(np.zeros(3, "M8[s]"))
    for call in (np.sum, np.cumsum, lambda d: np.where(d, d, d), numbalite.fuse(lambda d: d + 1)):
        with pytest.raises(TypeError, match=r"d\.view\('i8'\).* or d\.copy_to_host\(\)"):
            call(times)
    with pytest.raises(TypeError, match=r"d\.astype.* or d\.copy_to_host\(\)"):
        np.sum(D(np.zeros(3, np.longdouble)))


def test_string_dtypes_without_length_have_one_character():
    """Strings without a length have one character, as in NumPy; earlier they had no character, and filling
    them raised TypeError."""
    for dtype in (str, bytes, "S", "U", np.dtype(str)):
        host = np.zeros((2, 4))[:, ::2]
        device = cuda.to_device(np.zeros((2, 4)))[:, ::2]
        for function in (np.zeros_like, np.ones_like, np.empty_like):
            made, wanted = function(device, dtype=dtype), function(host, dtype=dtype)
            assert (made.dtype, made.strides) == (wanted.dtype, wanted.strides)
        made, wanted = (np.full_like(x, "abc", dtype=dtype) for x in (device, host))
        assert made.dtype == wanted.dtype and np.array_equal(made.copy_to_host(), wanted)
        for function in ("zeros", "ones", "empty"):
            made = getattr(cuda, function)(3, dtype)
            assert (made.dtype, made.strides) == (wanted.dtype, (wanted.dtype.itemsize,))
    assert cuda.device_array(3, "S").dtype == np.dtype("S1")


def test_einsum_accepts_subscripts_in_lists():
    """NumPy has 52 labels (letters); any other label raises ValueError."""
    a, b = np.ones((2, 3)), np.ones((3, 4))
    for last, is_valid in (
        (0, True),
        (27, True),
        (51, True),
        (52, False),
        (100, False),
        (-1, False),
    ):
        outcomes = []
        for x, y in ((a, b), (cuda.to_device(a), cuda.to_device(b))):
            try:
                outcomes.append(np.einsum(x, [1, last], y, [last, 2], [1, 2]).shape)
            except ValueError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1], last
        assert (outcomes[0] == (2, 4)) == is_valid


def test_invalid_einsum_paths_match_numpy():
    for text, steps in (("ab,bc,cd,de->ae", [(2, 3), (0, 1)]), ("a,a,a->a", [(1,), (0, 1)])):
        arrays = [np.ones((2,) * len(term)) for term in text.partition("->")[0].split(",")]
        for given in (arrays, list(map(cuda.to_device, arrays))):
            with pytest.raises(RuntimeError, match="1 more operands has to be contracted"):
                np.einsum(text, *given, optimize=["einsum_path", *steps])


def test_unique_along_the_only_axis_counts_nan_once():
    """np.unique along the only axis equals np.unique without an axis: all NaNs count as one value, as in
    recent versions of NumPy."""
    x = np.array([np.nan, 0, 0, np.nan])
    for axis in (0, -1):
        made = np.unique(cuda.to_device(x), axis=axis, return_counts=True, return_inverse=True)
        values, inverse, counts = (one.copy_to_host() for one in made)
        assert np.array_equal(values, [0, np.nan], equal_nan=True)
        assert inverse.tolist() == [1, 0, 0, 1] and counts.tolist() == [2, 2]
        apart = np.unique(cuda.to_device(x), axis=axis, equal_nan=False)
        assert apart.shape == (3,)
    with pytest.raises(np.exceptions.AxisError):
        np.unique(cuda.to_device(x), axis=1)
