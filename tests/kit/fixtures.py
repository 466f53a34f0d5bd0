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
    """Sets limits of cext/core/reduceplan.c by name, so that small arrays are reduced as large ones are."""
    from numbalite import _core

    before = {}

    def set_limits(**values):
        for name, value in values.items():
            before.setdefault(name, _core.reduction_limit(name, value))

    yield set_limits
    for name, value in before.items():
        _core.reduction_limit(name, value)


@pytest.fixture
def reduction_steps(monkeypatch):
    """The launches of the reductions that are planned in the test, as _core.reduction_plan returns them."""
    from numbalite import _core
    from numbalite.ufuncs import reduceloops

    plans = []

    class Watched:
        def __getattr__(self, name):
            return getattr(_core, name)

        def reduction_plan(self, *given):
            made = _core.reduction_plan(*given)
            plans.append(made[0])
            return made

    monkeypatch.setattr(reduceloops, "_core", Watched())
    return plans


@pytest.fixture(params=["as here", "as on a GPU"])
def ways(request, driver_kind):
    """Both ways of dividing reductions, where there are two."""
    if request.param == "as on a GPU":
        if driver_kind != "sim":
            pytest.skip('on a GPU this is the same as "as here"')
        request.getfixturevalue("as_on_a_gpu")
    return request.param
