"""Grading under pytest: ``pytest --pyargs numbalite.course --learner FILE``, one test for each exercise.

FILE is a notebook or a Python program with answers. ``--section N`` asks for all exercises of a section,
``--no-speed`` leaves times out. Without ``--learner`` the judge's own solutions are graded, which shows
whether installation and machine are fit for the course.
"""

import functools
import sys

import pytest

from numbalite.course import patience
from numbalite.course.catalogue import exercises, find
from numbalite.course.judging import judge
from numbalite.course.learner import Learner, Missing
from numbalite.course.plugin import record


def pytest_generate_tests(metafunc):
    option = metafunc.config.getoption
    file, section = option("--learner", None), option("--section", None)
    known = exercises()
    if section is not None and section not in {kind.section for kind in known.values()}:
        raise pytest.UsageError(f"--section {section}: there is no such section")
    if section is not None:
        names = [name for name, kind in known.items() if kind.section == section]
    elif file is None:
        names = list(known)
    else:
        names = _read(file).names()
        if not names:
            raise pytest.UsageError(
                f"--learner {file}: no exercise is in it: it neither calls assess(...) nor defines "
                f"one of {', '.join(known)}"
            )
    metafunc.parametrize("name", names)


def _read(file):
    try:
        return Learner(file)
    except (OSError, ValueError) as problem:
        raise pytest.UsageError(f"--learner {file}: {problem}") from None


@pytest.fixture(scope="session")
def learner(request):
    """The file that is graded, run at the first exercise; None: the judge's own solutions are."""
    file = request.config.getoption("--learner", None)
    patience.unattended = True
    patience.tell = functools.partial(
        _tell, request.config.pluginmanager.getplugin("capturemanager")
    )
    return file and _read(file)


def _tell(capturing, message):
    """The last words of the process, which pytest would keep for a report."""
    if capturing is not None:
        capturing.suspend_global_capture(in_=True)
    print(message, file=sys.stderr, flush=True)


def test_exercise(name, learner, request):
    missing = None
    try:
        answer = learner.answer(name) if learner else find(name).reference()
    except Missing as problem:
        missing = str(problem)
    if missing is not None:
        pytest.fail(missing, pytrace=False)
    verdict = judge(name, answer, speed=not request.config.getoption("--no-speed", False))
    if verdict.seconds is not None:
        record(request.node, "", verdict.seconds, verdict.reference_seconds)
    if not verdict:
        pytest.fail(str(verdict), pytrace=False)
