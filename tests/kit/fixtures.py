"""Defines fixtures that tests of several folders use. The plugin is loaded before a driver is
chosen: so it imports numbalite only in fixtures."""

import pytest


@pytest.fixture(scope="session")
def core_kernels():
    """Returns core_kernels(name), which returns a typed dispatcher of the extension with the named
    kernel, on device 0."""
    from .core_kernels import compile_core_kernels

    return compile_core_kernels()


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """Creates an empty folder in which kernels that this test compiles are cached."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBALITE_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def optimized_host_code(monkeypatch):
    """Compiles code for the CPU, simulated kernels included, at its default level. Use it where the optimizer could
    change what a test asserts. Other tests compile at level 0, which takes half the time."""
    monkeypatch.delenv("NUMBALITE_CPU_OPT", raising=False)


@pytest.fixture
def reduction_limits():
    """Sets limits of cext/core/reducelimit.c by name, so that small arrays are reduced and scanned as large
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
    """Maps is_scan to the list of launches of each reduction or scan that the test plans."""
    from numbalite import _core

    planned = {False: [], True: []}
    _core.reduction_observer(lambda is_scan, steps: planned[is_scan].append(steps))
    yield planned
    _core.reduction_observer(None)


@pytest.fixture
def reduction_steps(planned_steps):
    """Returns the launches of the reductions that the test plans, as _core.reduction_observer
    receives them."""
    return planned_steps[False]


@pytest.fixture
def scan_steps(planned_steps):
    """Returns the launches of the scans that the test plans, as _core.reduction_observer receives
    them."""
    return planned_steps[True]
