"""The pytest plugin: The option ``--learner`` is for grading. The plugin also provides the table of marks,
and fixtures for tests of kernels. The option ``--numbalite-races`` checks the kernels that tests launch for
races.

pytest loads the plugin by its entry point in every run on a machine where numbalite is installed. This
module therefore imports only pytest; a fixture imports numbalite when it is used. In a checkout that is not installed,
use ``pytest -p numbalite.course.plugin``.
"""

from __future__ import annotations

import pytest

_TIME = "numbalite kernel time"
_RACES = "numbalite verdict on races"
_MARK = ("learner", "exercise", "outcome", "verdict")
"""Properties of a test, which --junitxml writes too."""


def pytest_addoption(parser):
    group = parser.getgroup("numbalite", "kernels and exercises (numbalite)")
    group.addoption(
        "--learner",
        metavar="PATH",
        action="extend",
        nargs="+",
        help="with --pyargs numbalite.course: grade the answers in PATH, a notebook or a program, or a folder "
        "of them; several are graded one after the other",
    )
    group.addoption(
        "--section",
        metavar="N",
        type=int,
        help="with --learner: grade the exercises of section N, also those that a learner lacks",
    )
    group.addoption(
        "--exercises",
        metavar="WHAT",
        action="append",
        help="with --pyargs numbalite.course: grade the exercises of WHAT, a module of your own or its file, or "
        "the exercise of that name; may be given several times",
    )
    group.addoption(
        "--marks",
        metavar="FILE",
        help="with --learner: write the table of marks to FILE, as .csv, or as .html with a sheet for each learner",
    )
    group.addoption(
        "--no-speed",
        action="store_true",
        help="with --pyargs numbalite.course: judge results only, not times",
    )
    group.addoption(
        "--numbalite-races",
        action="store_true",
        help='run each test under cuda.checks("race", exact=True), on the simulator: a test whose kernels race fails',
    )
    group.addoption(
        "--numbalite-races-budget",
        metavar="SECONDS",
        type=float,
        default=1.0,
        help="how long a launch runs in other schedules, if atomics order its threads (1)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Runs a test under an exact search for races, if the option or the test's marker requests it."""
    marker = item.get_closest_marker("numbalite_races")
    given = dict(marker.kwargs) if marker else {}
    if not given.pop("on", marker is not None or item.config.getoption("--numbalite-races")):
        return (yield)
    from numbalite import cuda

    given.setdefault("budget", item.config.getoption("--numbalite-races-budget"))
    checks = cuda.checks("race", exact=True, **given)
    try:
        with checks:
            return (yield)
    finally:
        _record_verdicts(item, checks)


def _record_verdicts(item, checks):
    try:
        found = checks.verdicts
    except RuntimeError:  # there is no simulator
        return
    item.user_properties.append((_RACES, [[v.kernel, v.kind, v.schedules] for v in found]))


@pytest.fixture
def kernel_time(request):
    """Fixture kernel_time(f, *args, label=None, repeat=7, **kw) -> seconds; the time is also printed after
    the run.

    The time of ``f(*args, **kw)`` as `numbalite.course.timed` measures it: by events on a GPU, if f launches
    kernels or returns device arrays; by the clock otherwise.
    """
    from numbalite.course import timed

    def measure_and_record(f, *args, label=None, repeat=7, **kw):
        seconds = timed(f, *args, repeat=repeat, **kw)
        record_time(request.node, label or getattr(f, "__name__", type(f).__name__), seconds)
        return seconds

    return measure_and_record


@pytest.fixture
def kernel_tolerance():
    """Fixture kernel_tolerance(dtype, terms=1) -> (rtol, atol, absolute), the maximum errors of a result of
    the dtype."""
    from numbalite.course import tolerance

    return tolerance


@pytest.fixture
def assert_close():
    """Fixture assert_close(got, expected, terms=1): asserts that the values are equal within the tolerance of
    ``got``'s dtype.

    Both arguments may be device arrays. Shape and dtype must be equal. The AssertionError shows the first
    wrong element and the number of wrong elements. ``terms`` is the number of terms of sums in the result.
    """
    import numpy as np

    from numbalite import cuda
    from numbalite.judge.compare import element_text, find_mismatch
    from numbalite.types.tolerance import tolerance

    def on_host(value):
        if cuda.is_cuda_array(value):
            return cuda.as_cuda_array(value).copy_to_host()
        return np.asarray(value)

    def check_close(got, expected, terms=1):
        __tracebackhide__ = True
        got, expected = on_host(got), on_host(expected)
        assert got.shape == expected.shape, f"shape {got.shape}, expected {expected.shape}"
        assert got.dtype == expected.dtype, f"dtype {got.dtype}, expected {expected.dtype}"
        found = find_mismatch(got, expected, tolerance(got.dtype, terms))
        assert found is None, (
            f"{found.wrong} of {found.total} elements are wrong, the first at {list(found.place)}: "
            f"{element_text(found.got)}, expected {element_text(found.expected)}"
        )

    return check_close


def record_time(node, label, seconds, reference=None):
    """Adds a time to a test's report, for the table after the run."""
    node.user_properties.append((_TIME, [label, seconds, reference]))


def record_mark(node, learner, exercise, outcome, verdict):
    """Adds a mark to a test's report, for the table after the run."""
    node.user_properties.extend(zip(_MARK, (learner, exercise, outcome, verdict)))


def pytest_configure(config):
    config.addinivalue_line(
        "markers",
        "numbalite_races(on=True, budget=1.0): the test runs under cuda.checks('race', exact=True), or, with on=False, "
        "never does",
    )
    file = config.getoption("--marks", None)
    if file is None:
        return
    if not config.getoption("--learner", None):
        raise pytest.UsageError("--marks: marks exist only with --learner")
    from numbalite.course.marks import FORMATS

    if not file.endswith(FORMATS):
        raise pytest.UsageError(f"--marks {file}: its name should end with {' or '.join(FORMATS)}")


def pytest_terminal_summary(terminalreporter):
    """Prints the table of marks, and the table of kernel times."""
    found = [
        (report.nodeid, report.user_properties)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call" and hasattr(report, "user_properties")
    ]
    _show_marks(terminalreporter, [dict(properties) for _, properties in found])
    _show_races(
        terminalreporter,
        [value for _, pairs in found for name, value in pairs if name == _RACES],
    )
    _show_times(
        terminalreporter,
        [(node, *value) for node, pairs in found for name, value in pairs if name == _TIME],
    )


def _show_races(terminalreporter, tests):
    """Prints the number of tests with each verdict; a test has the worst verdict of its kernels."""
    if not tests:
        return
    kinds = ("no schedule races", "depends on atomics", "undecided", "races")
    worst = [max((kinds.index(kind) for _, kind, _ in found), default=-1) for found in tests]
    lines = [f"{worst.count(i)} {kind}" for i, kind in enumerate(kinds) if i in worst]
    launched = sum(1 for one in worst if one >= 0)
    schedules = sum(tried for found in tests for _, _, tried in found)
    terminalreporter.section("numbalite: races")
    terminalreporter.write_line(
        f"{launched} of {len(tests)} tests launch kernels: {', '.join(lines) or 'none'} ({schedules} schedules)"
    )


def _show_marks(terminalreporter, found):
    rows = [
        tuple(properties[name] for name in _MARK) for properties in found if _MARK[0] in properties
    ]
    if not rows:
        return
    from numbalite.course import exercises
    from numbalite.course.marks import Mark, MarkTable

    points = {name: kind.points for name, kind in exercises().items()}
    marks = MarkTable([Mark(*row) for row in rows], points)
    terminalreporter.section("marks")
    for line in marks.lines(terminalreporter._tw.fullwidth):
        terminalreporter.write_line(line)
    file = terminalreporter.config.getoption("--marks", None)
    if file is not None:
        marks.write(file)
        terminalreporter.write_line(f"\nwritten to {file}")


def _show_times(terminalreporter, rows):
    """Prints one row for each time that a test has measured."""
    if not rows:
        return
    from numbalite.course.device import simulated
    from numbalite.course.verdict import duration_text

    where = "on the simulator: times of a CPU, not of a GPU" if simulated() else "on the GPU"
    terminalreporter.section(f"kernel times ({where})")
    width = max(len(f"{node.rpartition('::')[2]}  {label}") for node, label, _, _ in rows)
    for node, label, seconds, reference in sorted(rows):
        line = (
            f"{node.rpartition('::')[2]}  {label}".ljust(width) + f"  {duration_text(seconds):>9}"
        )
        if reference:
            line += f"  reference {duration_text(reference):>9}  ratio {seconds / reference:.2f}"
        terminalreporter.write_line(line)
