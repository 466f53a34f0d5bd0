"""Fixtures that tests of several folders use. The plugin is loaded before a driver is chosen: it imports
numbalite when a test asks."""

import pytest


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
    from numbalite.ufuncs import reduceloops

    monkeypatch.setattr(reduceloops, "are_serial", lambda: False)


@pytest.fixture
def reduction_limits():
    """Sets limits of cext/core/reduceplan.c and scanplan.c by name, so that small arrays are reduced and scanned as large
    ones are."""
    from numbalite import _core

    before = {}

    def set_limits(**values):
        for name, value in values.items():
            before.setdefault(name, _core.reduction_limit(name, value))

    yield set_limits
    for name, value in before.items():
        _core.reduction_limit(name, value)


class PlannedSteps:
    """numbalite._core, with the launches of the reductions and scans that are planned."""

    def __init__(self, core):
        self._core = core
        self.steps = {"reduction_plan": [], "scan_plan": []}

    def __getattr__(self, name):
        found = getattr(self._core, name)
        if name not in self.steps:
            return found

        def plan(*given):
            made = found(*given)
            self.steps[name].append(made[0])
            return made

        return plan


@pytest.fixture
def planned_steps(monkeypatch):
    from numbalite import _core
    from numbalite.ufuncs import reduceloops

    watched = PlannedSteps(_core)
    monkeypatch.setattr(reduceloops, "_core", watched)
    return watched.steps


@pytest.fixture
def reduction_steps(planned_steps):
    """The launches of the reductions that are planned in the test, as _core.reduction_plan returns them."""
    return planned_steps["reduction_plan"]


@pytest.fixture
def scan_steps(planned_steps):
    """The launches of the scans that are planned in the test, as _core.scan_plan returns them."""
    return planned_steps["scan_plan"]


@pytest.fixture(params=["as here", "as on a GPU"])
def ways(request, driver_kind):
    """Both ways of dividing reductions, where there are two."""
    if request.param == "as on a GPU":
        if driver_kind != "sim":
            pytest.skip('on a GPU this is the same as "as here"')
        request.getfixturevalue("as_on_a_gpu")
    return request.param
