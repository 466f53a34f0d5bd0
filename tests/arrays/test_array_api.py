"""Tests numbalite.array_api: the array API standard's namespace, devices and dtypes."""

import numpy as np
import pytest
from kit.sample import random_generator

import numbalite.array_api as xp
from numbalite import cuda


def test_array_namespace_accepts_supported_versions():
    d = cuda.zeros(3)
    assert d.__array_namespace__() is xp
    for version in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        assert d.__array_namespace__(api_version=version) is xp
    with pytest.raises(
        ValueError, match="unsupported version of the array API standard: '2020.01'"
    ):
        d.__array_namespace__(api_version="2020.01")
    assert xp.__array_api_version__ == "2024.12"


def test_namespace_has_the_standards_names():
    assert [name for name in xp.__all__ if not hasattr(xp, name)] == []
    assert set(xp.__all__) <= set(dir(xp))
    assert {"matmul", "cumulative_prod", "take_along_axis", "float32", "pi", "fft"} <= set(dir(xp))
    with pytest.raises(AttributeError, match=r"the array API standard 2024\.12 has no 'hanning'"):
        xp.hanning


def test_array_api_functions_work_with_old_numpy_versions():
    """NumPy 2.1 added unstack, cumulative_sum and cumulative_prod."""
    d = xp.asarray([[1, 2], [3, 4]])
    assert [part.tolist() for part in xp.unstack(d, axis=1)] == [[1, 3], [2, 4]]
    assert xp.cumulative_sum(d, axis=0).tolist() == [[1, 2], [4, 6]]
    assert xp.cumulative_prod(d, axis=1, include_initial=True).tolist() == [[1, 1, 2], [1, 3, 12]]


def test_to_device_copies_between_host_and_device():
    d = xp.asarray([1.0, 2.0])
    host = d.to_device("cpu")
    assert type(host) is np.ndarray
    assert host.tolist() == [1, 2]
    assert d.to_device(d.device) is d
    assert d.to_device(cuda.gpus[0]) is d
    with cuda.stream() as stream:
        assert d.to_device("cpu", stream=stream).tolist() == [1, 2]
    with pytest.raises(
        ValueError, match="device must be 'cpu' or the number of a device, not 'gpu'"
    ):
        d.to_device("gpu")


def test_arrays_are_created_on_another_device(run_python):
    run_python(
        """
import numbalite.array_api as xp
x = xp.arange(3, device=1)
assert (x.device, x.to_device(0).device, x.to_device("cpu").tolist()) == (1, 0, [0, 1, 2])
assert xp.__array_namespace_info__().devices() == [0, 1]
assert xp.fft.fftfreq(4, device=1).device == 1
""",
        NUMBALITE_DRIVER="sim",
        NUMBALITE_SIM_DEVICES="2",
    )


def test_namespace_info_describes_devices_and_dtypes():
    info = xp.__array_namespace_info__()
    assert info.default_device() == cuda.get_current_device().id
    assert info.default_device() in info.devices()
    assert info.capabilities()["boolean indexing"] is True
    for axes in (info.capabilities()["max dimensions"],):
        assert xp.zeros((1,) * axes).ndim == axes
    defaults = info.default_dtypes()
    assert xp.zeros(1).dtype == defaults["real floating"]
    assert xp.asarray([1j]).dtype == defaults["complex floating"]
    assert xp.asarray([1]).dtype == defaults["integral"]
    assert xp.argmax(xp.zeros(2)).dtype == defaults["indexing"]
    every = info.dtypes()
    assert len(every) == 13
    for name, dtype in every.items():
        assert dtype == getattr(xp, name)
        assert not getattr(xp, name) == None  # noqa: E711 (np.dtype("float64") == None is true)
        assert xp.zeros(2, dtype=dtype).dtype == dtype
    for kind in (*"bool integral numeric".split(), "real floating", ("bool", "unsigned integer")):
        assert info.dtypes(kind=kind, device=0) == info.dtypes(kind=kind)
        if hasattr(np, "__array_namespace_info__"):  # since NumPy 2.1
            assert info.dtypes(kind=kind) == np.__array_namespace_info__().dtypes(kind=kind)
    with pytest.raises(ValueError, match="unsupported kind: 'real'"):
        info.dtypes(kind="real")
    with pytest.raises(IndexError):
        info.dtypes(device=1 << 20)


def test_array_api_functions_accept_the_standards_parameters():
    random = random_generator()
    x = random.integers(0, 5, (3, 6))
    d = xp.asarray(x)
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(xp.sort(d, axis=axis).to_device("cpu"), np.sort(x, axis))
        np.testing.assert_array_equal(
            xp.sort(d, axis=axis, descending=True).to_device("cpu"), -np.sort(-x, axis)
        )
        for descending, keys in ((False, x), (True, -x)):
            np.testing.assert_array_equal(
                xp.argsort(d, axis=axis, descending=descending).to_device("cpu"),
                np.argsort(keys, axis, kind="stable"),
            )
    np.testing.assert_array_equal(xp.clip(d, min=2).to_device("cpu"), np.clip(x, 2, None))
    np.testing.assert_array_equal(xp.clip(d, max=3).to_device("cpu"), np.clip(x, None, 3))
    assert type(xp.broadcast_arrays(d, d[0])) is type(xp.meshgrid(d[0], d[1])) is list
    for dtype in (xp.float32, xp.complex128, xp.asarray([1.0])):
        limits = xp.finfo(dtype)
        assert {type(one) for one in limits[1:5]} == {float}
        assert limits.eps == np.finfo(np.result_type(dtype)).eps
    assert xp.fft.rfftfreq(5, d=0.5, dtype=xp.float32).dtype == xp.float32
    np.testing.assert_array_equal(xp.fft.fftfreq(5).to_device("cpu"), np.fft.fftfreq(5))
