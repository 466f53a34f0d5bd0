"""The pytest plugin: ``--learner`` for grading, and fixtures for tests of kernels.

pytest loads it by its entry point in every run on a machine where numbalite is installed, so nothing
but pytest is imported here; numbalite is when a fixture is used. In a checkout that is not installed:
``pytest -p numbalite.course.plugin``.
"""

from __future__ import annotations

import pytest

_PROPERTY = "numbalite kernel time"


def pytest_addoption(parser):
    group = parser.getgroup("numbalite", "kernels and exercises (numbalite)")
    group.addoption(
        "--learner",
        metavar="FILE",
        help="with --pyargs numbalite.course: grade the answers in FILE, a notebook or a program",
    )
    group.addoption(
        "--section",
        metavar="N",
        type=int,
        help="with --learner: grade the exercises of section N, also those that FILE lacks",
    )
    group.addoption(
        "--no-speed",
        action="store_true",
        help="with --pyargs numbalite.course: judge results only, not times",
    )


@pytest.fixture
def kernel_time(request):
    """kernel_time(f, *args, label=None, repeat=7, **kw) -> seconds, also shown after the run.

    The time of ``f(*args, **kw)`` as `numbalite.course.timed` takes it: by events on a GPU, where f
    launches kernels or gives back device arrays; by the clock otherwise.
    """
    from numbalite.course import timed

    def measure(f, *args, label=None, repeat=7, **kw):
        seconds = timed(f, *args, repeat=repeat, **kw)
        record(request.node, label or getattr(f, "__name__", type(f).__name__), seconds)
        return seconds

    return measure


@pytest.fixture
def kernel_tolerance():
    """kernel_tolerance(dtype, terms=1): how far a result of the dtype may be off (rtol, atol, absolute)."""
    from numbalite.course import tolerance

    return tolerance


@pytest.fixture
def assert_close():
    """assert_close(got, expected, terms=1): equal within the tolerance of ``got``'s dtype.

    Either may be a device array. Shape and dtype have to be equal. The AssertionError names the first
    element that is wrong, and how many are; ``terms`` is the number of terms of sums in the result.
    """
    import numpy as np

    from numbalite import cuda
    from numbalite.course.compare import mismatch, number, tolerance

    def on_host(value):
        if cuda.is_cuda_array(value):
            return cuda.as_cuda_array(value).copy_to_host()
        return np.asarray(value)

    def check(got, expected, terms=1):
        __tracebackhide__ = True
        got, expected = on_host(got), on_host(expected)
        assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
        assert got.dtype == expected.dtype, f"dtype {got.dtype}, expected {expected.dtype}"
        found = mismatch(got, expected, tolerance(got.dtype, terms))
        assert found is None, (
            f"{found.count} of {found.total} elements are wrong, the first at {list(found.index)}: "
            f"{number(found.got)}, expected {number(found.expected)}"
        )

    return check


def record(node, label, seconds, reference=None):
    """Puts a time into a test's report, for the table after the run."""
    node.user_properties.append((_PROPERTY, [label, seconds, reference]))


def pytest_terminal_summary(terminalreporter):
    """The table of kernel times, one row for each that a test has taken."""
    rows = [
        (report.nodeid, *value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in getattr(report, "user_properties", ())
        if name == _PROPERTY
    ]
    if not rows:
        return
    from numbalite.course.place import simulated
    from numbalite.course.verdict import duration

    where = "on the simulator: times of a CPU, not of a GPU" if simulated() else "on the GPU"
    terminalreporter.section(f"kernel times ({where})")
    width = max(len(f"{node.rpartition('::')[2]}  {label}") for node, label, _, _ in rows)
    for node, label, seconds, reference in sorted(rows):
        line = f"{node.rpartition('::')[2]}  {label}".ljust(width) + f"  {duration(seconds):>9}"
        if reference:
            line += f"  reference {duration(reference):>9}  ratio {seconds / reference:.2f}"
        terminalreporter.write_line(line)
