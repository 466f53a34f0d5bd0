"""Grading under pytest: ``pytest --pyargs numbalite.course --learner PATH`` runs one test for each answer.

PATH is a notebook or a Python program with answers, or a folder of them. ``--section N`` selects all
exercises of a section, ``--exercises WHAT`` the exercises of a teacher's module, or one exercise by its name;
``--no-speed`` omits times, ``--marks FILE`` writes the table. Without ``--learner``, the reference solutions
are graded, which shows whether the installation and the machine are suitable for the course.
"""

import pathlib

import pytest

from numbalite.course.catalogue import exercises, find_exercise, load_exercises
from numbalite.course.grading import Grader, Result
from numbalite.course.judging import judge
from numbalite.course.learner import Learner
from numbalite.course.plugin import record_mark, record_time


def pytest_generate_tests(metafunc):
    option = metafunc.config.getoption
    wanted = _required_exercises(option("--exercises", None) or [], option("--section", None))
    paths = option("--learner", None) or []
    if paths:
        files = _label_learners([file for path in paths for file in _learner_files(path)])
        cases = [
            (label, file, name) for label, file in files for name in _names_to_grade(file, wanted)
        ]
    else:
        cases = [(None, None, name) for name in wanted or exercises()]
    marks = ()
    if metafunc.config.pluginmanager.hasplugin("xdist"):
        marks = [[pytest.mark.xdist_group(str(file))] if file else [] for _, file, _ in cases]
    metafunc.parametrize(
        ("label", "file", "name"),
        [pytest.param(*case, marks=mark) for case, mark in zip(cases, marks or [()] * len(cases))],
        ids=["-".join(filter(None, (label, name))) for label, _, name in cases],
    )


def _required_exercises(asked, section):
    """Returns the exercises that every learner must have answered, or None if each learner is graded on the
    exercises that they have answered."""
    names = []
    modules = [what for what in asked if what not in exercises()]
    for module in modules:
        try:
            names += load_exercises(module)
        except (ImportError, ValueError) as problem:
            raise pytest.UsageError(
                f"--exercises {module}: {problem}. Pass a module, its file, or one of {', '.join(exercises())}"
            ) from None
    known = exercises()
    names += [what for what in asked if what not in modules]
    if section is not None:
        inside = [name for name, kind in known.items() if kind.section == section]
        if not inside:
            raise pytest.UsageError(f"--section {section}: there is no such section")
        names += inside
    return [name for name in known if name in names] if asked or section is not None else None


def _learner_files(path):
    """Returns (name of a learner, file) for a file, or for each file in a folder."""
    top = pathlib.Path(path)
    if top.is_file():
        return [(top.stem, top)]
    if not top.is_dir():
        raise pytest.UsageError(f"--learner {path}: No such file or folder")
    found = [
        file
        for file in sorted(top.rglob("*"))
        if file.suffix in {".ipynb", ".py"} and not _is_hidden_path(file.relative_to(top))
    ]
    if not found:
        raise pytest.UsageError(
            f"--learner {path}: the folder contains no notebook and no Python program"
        )
    return [(str(file.relative_to(top).with_suffix("")), file) for file in found]


def _is_hidden_path(path):
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


def _label_learners(files):
    """Learners of the same name are identified by their paths."""
    labels = [label for label, _ in files]
    return [(label if labels.count(label) == 1 else str(file), file) for label, file in files]


def _names_to_grade(file, wanted):
    """Returns the names of the answers to grade in a file. Names that are not exercises are
    included, and fail. Returns [None] if the file has no answers."""
    try:
        found = Learner(file).names()
    except (OSError, ValueError):
        return wanted or [None]
    if wanted is None:
        return found or [None]
    return [*wanted, *(name for name in found if name not in exercises())]


@pytest.fixture(scope="session")
def grader(request):
    """grader(file) -> Grader. One Grader at a time, because each has a process."""
    option = request.config.getoption
    modules = [what for what in option("--exercises", None) or [] if what not in _COURSE]
    current = {}

    def grade_file(file):
        if file not in current:
            while current:
                current.popitem()[1].close()
            current[file] = Grader(file, modules, not option("--no-speed", False))
        return current[file]

    yield grade_file
    while current:
        current.popitem()[1].close()


@pytest.fixture(scope="session")
def references(request):
    """Returns the mistakes of the reference solutions of this run's exercises: "" if they pass."""
    option = request.config.getoption
    if not option("--learner", None):
        return ""
    wanted = {
        item.callspec.params.get("name")
        for item in request.session.items
        if hasattr(item, "callspec")
    }
    modules = [what for what in option("--exercises", None) or [] if what not in _COURSE]
    grader = Grader(None, modules)
    try:
        results = [grader.reference(name) for name in exercises() if name in wanted]
    finally:
        grader.close()
    failed = [result.text for result in results if not result.passed]
    if not failed:
        return ""
    return "\n".join(
        ["Nothing is graded: the judge's own solutions fail on this machine.", *failed]
    )


_COURSE = frozenset(exercises())
"""The exercises that need no module."""


def test_exercise(label, file, name, request, references):
    if references:
        pytest.fail(references, pytrace=False)
    result = (
        _judge_own_solution(name, request) if file is None else _grade_file(file, name, request)
    )
    if result.seconds is not None:
        record_time(request.node, "", result.seconds, result.reference_seconds)
    if label is not None:
        outcome = "passed" if result.passed else "missing" if result.missing else "failed"
        record_mark(request.node, label, name or "(no exercise)", outcome, result.text)
    if not result.passed:
        pytest.fail(f"{label}\n{result.text}" if label else result.text, pytrace=False)


def _judge_own_solution(name, request):
    """Returns the judge's own solution."""
    speed = not request.config.getoption("--no-speed", False)
    verdict = judge(name, find_exercise(name).reference(), speed=speed)
    return Result(
        verdict.passed,
        str(verdict),
        seconds=verdict.seconds,
        reference_seconds=verdict.reference_seconds,
    )


def _grade_file(file, name, request):
    try:
        Learner(file)
    except (OSError, ValueError) as problem:
        return Result(False, str(problem), missing=True)
    if name is None:
        text = (
            f"{file}: no exercise is in it: it neither calls assess(...) nor defines one of "
            f"{', '.join(exercises())}"
        )
        return Result(False, text, missing=True)
    result = request.getfixturevalue("grader")(file).result(name)
    # A solution that does not compile counts as an attempt
    result.missing &= name not in Learner(file).names()
    return result
