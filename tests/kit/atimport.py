"""Compiles kernels with signatures that test modules define before the module's first test, instead of at import:
each process of pytest-xdist imports all modules, and would compile the same kernels."""

import functools

import pytest

_POSTPONED = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    if not isinstance(collector, pytest.Module):
        yield
        return
    from numbalite.kernels.compiled import ByTypes
    from numbalite.ufuncs.deviceufunc import DeviceUfunc

    collector.stash[_POSTPONED] = postponed = []

    def compile_given(self):
        postponed.append(functools.partial(ByTypes.compile_given, self))
        return self

    def compile_plans(self, plans):
        postponed.append(functools.partial(DeviceUfunc._compile_plans, self, list(plans)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ByTypes, "compile_given", compile_given)
        patch.setattr(DeviceUfunc, "_compile_plans", compile_plans)
        yield


@pytest.fixture(scope="module", autouse=True)
def compiled_at_import(request):
    """Compiles the kernels that the import of the module has deferred."""
    for compile_now in request.node.stash.get(_POSTPONED, ()):
        compile_now()
    request.node.stash[_POSTPONED] = []
