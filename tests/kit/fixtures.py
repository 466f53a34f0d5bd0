"""Fixtures that tests of several folders use. The plugin is loaded before a driver is chosen: it imports
numbalite when a test asks."""

import pytest

from kit.sample import one


@pytest.fixture(scope="session")
def core_kernels():
    """core_kernels(name): a typed dispatcher of the extension with that kernel, on device 0."""
    from .core_kernels import compile_core_kernels

    return compile_core_kernels()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """An empty folder in which this test's compiled kernels are cached."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def as_on_a_gpu(monkeypatch):
    """Reductions are divided as GPUs have it; the simulator has simpler plans of its own."""
    from numbalite import _core
    from numbalite.ufuncs import reduceloops

    monkeypatch.setattr(reduceloops, "are_serial", lambda: False)
    before = _core.reduction_limit("SERIAL_PLANS", 0)
    yield
    _core.reduction_limit("SERIAL_PLANS", before)


@pytest.fixture
def reduction_limits():
    """Sets limits of cext/core/reduceplan.c and scanplan.c by name, so that small arrays are reduced and scanned as large
    ones are."""
    from numbalite import _core
    from numbalite.ufuncs import reduceloops

    before = {}
    reduceloops.describe_devices()  # which sets some

    def set_limits(**values):
        for name, value in values.items():
            before.setdefault(name, _core.reduction_limit(name, value))

    yield set_limits
    for name, value in before.items():
        _core.reduction_limit(name, value)


@pytest.fixture
def planned_steps():
    """{is it a scan: [the launches of each one that is planned in the test]}"""
    from numbalite import _core

    planned = {False: [], True: []}
    _core.reduction_observer(lambda is_scan, steps: planned[is_scan].append(steps))
    yield planned
    _core.reduction_observer(None)


@pytest.fixture
def reduction_steps(planned_steps):
    """The launches of the reductions that are planned in the test, as _core.reduction_observer has them."""
    return planned_steps[False]


@pytest.fixture
def scan_steps(planned_steps):
    """The launches of the scans that are planned in the test, as _core.reduction_observer has them."""
    return planned_steps[True]


def pytest_generate_tests(metafunc):
    """Each test that has the fixture `ways` runs with one of the two ways, drawn for the test."""
    if "ways" in metafunc.fixturenames:
        drawn = one(["as here", "as on a GPU"], metafunc.definition.nodeid)
        metafunc.parametrize("ways", drawn, indirect=True)


@pytest.fixture
def ways(request, driver_kind):
    """How reductions are divided: as on this device, or as on a GPU."""
    if request.param == "as on a GPU":
        if driver_kind != "sim":
            pytest.skip('on a GPU this is the same as "as here"')
        request.getfixturevalue("as_on_a_gpu")
    return request.param
