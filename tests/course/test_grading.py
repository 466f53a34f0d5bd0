"""Tests the grading of files of learners, and pytest with the course's plugin."""

import json
import re

import numpy as np
import pytest

from numbalite import cuda
from numbalite.course import exercises, timeouts
from numbalite.course.learner import Learner, MissingAnswer

ANSWERS = '''"""Some answers."""

from numbalite import cuda
from numbalite.course import assess

# %% first
def bank_conflicts(stride):
    return max([t * stride % 32 for t in range(32)].count(b) for b in range(32))

verdict = assess("bank_conflicts", bank_conflicts)
assert verdict.passed

# %% a mistake, which does not keep the next part from running
undefined_name

# %% second
@cuda.jit
def vadd(a, b, out):
    """
    int i = grid<1>();
    if (i < out.size()) out[i] = a[i] - b[i];
    """
'''


def write_notebook(path, *cells):
    made = [
        {"cell_type": "code", "id": f"cell-{i}", "metadata": {}, "source": text.splitlines(True)}
        for i, text in enumerate(cells)
    ]
    made.insert(0, {"cell_type": "markdown", "id": "title", "metadata": {}, "source": ["# Title"]})
    path.write_text(json.dumps({"cells": made}))
    return path


@pytest.fixture
def answers_program(tmp_path):
    path = tmp_path / "answers.py"
    path.write_text(ANSWERS)
    return path


# ---- the learner's file -------------------------------------------------------------------------------


def test_learner_reads_answers_from_a_program(answers_program):
    learner = Learner(answers_program)
    assert learner.names() == ["vadd", "bank_conflicts"]  # lessons are in the order of the course
    assert learner.answer("bank_conflicts")(2) == 2
    assert learner.answer("vadd").__name__ == "vadd"
    with pytest.raises(
        MissingAnswer, match=r"answers.py has no saxpy.\nNameError at answers.py, line 14"
    ):
        learner.answer("saxpy")


def test_reported_lines_are_those_of_the_file(answers_program):
    answer = Learner(answers_program).answer("vadd")
    first = ANSWERS.split("\n").index("    int i = grid<1>();") + 1
    (made,) = answer.specialize(*_three_arrays()).inspect_source().values()
    given = re.search(rf'#line (\d+) "{re.escape(str(answers_program))}"\n(\s*)int i', made)
    assert int(given[1]) + given[2].count("\n") == first


def _three_arrays():
    return [np.zeros(4, np.float32) for _ in range(3)]


def test_learner_reads_answers_from_a_notebook(tmp_path):
    path = write_notebook(
        tmp_path / "mine.ipynb",
        "%matplotlib inline\nfrom numbalite.course import assess\n!ls",
        "import math\nanswer = lambda stride: math.gcd(stride, 32)",
        'assess("bank_conflicts", answer)\nraise ValueError("later")',
    )
    learner = Learner(path)
    assert learner.names() == ["bank_conflicts"]
    assert learner.answer("bank_conflicts")(8) == 8
    with pytest.raises(
        MissingAnswer, match="mine.ipynb has no wave.\nValueError at <?mine.ipynb, cell cell-2"
    ):
        learner.answer("wave")


ENDS = 'assess("bank_conflicts", lambda stride: 5)'


@pytest.mark.parametrize("magic", ["", "%load_ext numbalite\n"], ids=["python", "ipython"])
def test_endless_notebook_cell_times_out(tmp_path, monkeypatch, magic):
    monkeypatch.setattr(timeouts, "CELL_LIMIT", 60)  # and what it was, afterwards
    path = write_notebook(
        tmp_path / "mine.ipynb",
        magic + "from numbalite.course import assess, timeouts\ntimeouts.CELL_LIMIT = 0.5",
        "def wait():\n    while True:\n        try:\n            1 + 1\n        except Exception:\n            pass",
        "wait()",
        ENDS,
    )
    learner = Learner(path)
    assert learner.answer("bank_conflicts")(2) == 5  # the next cells run
    said = "was not done after 0.5 seconds. It never ends: look at the condition of each loop."
    with pytest.raises(MissingAnswer, match=re.escape(said)) as problem:
        learner.answer("wave")
    assert re.search(r"TimeLimitExceeded at .*line [2-6]", str(problem.value))


@pytest.mark.sim
def test_endless_kernel_in_a_cell_times_out(tmp_path, monkeypatch):
    @cuda.jit
    def wait_forever(x):
        "while (*(volatile int *)&x[0] == 0) {}"

    x = cuda.to_device(np.zeros(1, np.int32))
    wait_forever.specialize(x)
    monkeypatch.setattr(timeouts, "CELL_LIMIT", 0.5)
    with pytest.raises(timeouts.TimeLimitExceeded, match=r"The cell was not done"):
        with timeouts.time_limit(timeouts.CELL_LIMIT, "The cell"):
            wait_forever[1, 1](x)
            cuda.synchronize()


def test_endless_compiled_code_times_out(tmp_path, run_python, driver_kind):
    """A function for the CPU cannot be stopped: the process ends with the reason."""
    path = write_notebook(
        tmp_path / "mine.ipynb",
        "from numbalite import jit\nfrom numbalite.course import assess",
        '@jit("int32()")\ndef wait():\n    "volatile int z = 1; while (z) {} return 0;"\n'
        "from numbalite.course import timeouts\ntimeouts.CELL_LIMIT = timeouts.GRACE = 0.5",
        "wait()",
        ENDS,
    )
    text = f"from numbalite.course.learner import Learner\nLearner({str(path)!r}).answer('wave')"
    result = run_python(text, check=False, NUMBALITE_DRIVER=driver_kind)
    assert result.returncode == 3
    assert "mine.ipynb, cell cell-2 was not done after 0.5 seconds" in result.stderr
    assert "The process ends." in result.stderr


def test_answer_names_are_found_without_running_code(tmp_path):
    path = tmp_path / "ends.py"
    path.write_text("raise SystemExit\nassess('vadd', 1)\nsaxpy = 3\n")
    assert Learner(path).names() == ["vadd", "saxpy"]


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": [{}]}'])
def test_invalid_notebooks_are_reported(tmp_path, text):
    path = tmp_path / "broken.ipynb"
    path.write_text(text)
    with pytest.raises(ValueError, match="not a notebook"):
        Learner(path)


# ---- pytest ---------------------------------------------------------------------------------------------


def run_grade_command(run_python, *arguments, driver_kind):
    """Runs the course's tests in a fresh process, from a folder without settings for pytest, and returns the
    ended process.

    Other plugins are disabled: importing hypothesis takes longer than the test.
    """
    return run_python(
        "-m pytest -q -p no:cacheprovider -p numbalite.course.plugin",
        *arguments,
        check=False,
        NUMBALITE_DRIVER=driver_kind,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )


def test_graded_program_reports_each_exercise(run_python, answers_program, driver_kind):
    arguments = ["--pyargs", "numbalite.course", "--learner", answers_program]
    result = run_grade_command(run_python, *arguments, driver_kind=driver_kind)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 failed, 1 passed" in result.stdout
    assert "vadd: not passed" in result.stdout and "With 1 element, out is wrong" in result.stdout
    assert "FAILED" in result.stdout and "test_exercise[answers-vadd]" in result.stdout


def test_missing_answers_fail(run_python, tmp_path, driver_kind):
    path = write_notebook(tmp_path / "mine.ipynb", "bank_conflicts = ...")
    arguments = ["--pyargs", "numbalite.course", "--learner", path, "--section", "3"]
    result = run_grade_command(run_python, *arguments, driver_kind=driver_kind)
    assert "mine.ipynb has no wave." in result.stdout
    assert "There is no answer yet: fill in the cell." in result.stdout
    assert f"{sum(e.section == 3 for e in exercises().values())} failed" in result.stdout


OWN = """
from numbalite.course import Assessment, exercise


@exercise
class Twice(Assessment):
    name = "twice"
    wants = "function"
    points = 2
    parameters = ("x",)
    launches = (0, 0)
    checked = ()
    large = None

    def make(self, rng, n):
        return (n,)

    def expected(self, x):
        return 2 * x

    def reference(self):
        return lambda x: x + x
"""

# With other tests on the same GPU, the first call of a process takes more than a second.
PATIENCE = 1 if cuda.is_simulated() else 6
RIGHT = f"""
import math
from numbalite import cuda, jit
from numbalite.course import assess, timeouts

timeouts.LIMIT = timeouts.CALL_LIMIT = {PATIENCE}

# %%
assess("bank_conflicts", lambda stride: math.gcd(stride, 32))

# %%
def twice(x):
    return x * 2
"""

OF_TEN = {
    "ada": (RIGHT, [1, 1]),
    "bo": (RIGHT, [1, 1]),
    "cy": (RIGHT + "open('cy.py').close()  # its own folder\nimport own\n", [1, 1]),
    "di": (RIGHT.replace("x * 2", "x * 3"), [1, 0]),
    "ed": (RIGHT.replace("    return x * 2", "    while True: pass"), [1, 0]),
    "fay": (
        RIGHT.replace(
            "math.gcd(stride, 32))",
            '@jit("int32()")\ndef wait():\n    "volatile int z = 1; while (z) {} return 0;"\n'
            f"timeouts.CELL_LIMIT = timeouts.GRACE = {PATIENCE}\n# %%\nwait()",
        ).replace('assess("bank_conflicts", lambda stride: ', ""),
        [0, 1],
    ),
    "gus": (
        RIGHT.replace(
            'assess("b', '@cuda.jit("void(int32[:])")\ndef k(x):\n    "x[0] = y;"\nassess("b'
        ),
        [0, 1],
    ),
    "json": (RIGHT + 'assess("thrice", 3)\n', [1, 1, 0]),
    "ida": ("import os\nos._exit(0)\n", [0, 0]),
}


def test_class_folder_is_graded_for_each_learner(run_python, tmp_path, driver_kind):
    """Every learner's file is graded, including files that never end, do not compile, exit, or are
    no notebooks."""
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "class" / "joe").mkdir(parents=True)
    for learner, (text, _) in OF_TEN.items():
        (tmp_path / "class" / f"{learner}.py").write_text(text)
    (tmp_path / "class" / "joe" / "mine.ipynb").write_text("{")
    result = run_grade_command(
        run_python,
        *("--pyargs", "numbalite.course", "--learner", "class", "--no-speed"),
        *("--exercises", "own.py", "--exercises", "bank_conflicts"),
        *("--marks", "marks.csv", "--junitxml", "marks.xml"),
        driver_kind=driver_kind,
    )
    said = result.stdout
    table = dict.fromkeys(("learner", *OF_TEN, "joe/mine"), "")
    for line in (tmp_path / "marks.csv").read_text().splitlines():
        learner, _, marks = line.partition(",")
        table[learner] = marks
    assert table.pop("learner") == "bank_conflicts,twice,thrice,passed,points", said
    assert table.pop("joe/mine") == "0,0,,0,0"
    for learner, (_, marks) in OF_TEN.items():
        cells = [*marks[:2], *(marks[2:] or [""]), sum(marks), sum(marks) + marks[1]]
        assert table[learner] == ",".join(map(str, cells)), (learner, said)
    for line in (
        "ed\ntwice: not passed\n  It never ends",
        f"was not done after {PATIENCE} seconds, and nothing can stop it",
        "gus.py(11): error: ",
        "no exercise is called 'thrice'; there are zero_suppress",
        "ida.py, from line 1\n    It ended the process, with the exit status 0.",
        "not a notebook",
        "\ndi                   yes     no",
    ):
        assert line in said, said
    report = (tmp_path / "marks.xml").read_text()
    assert '<property name="learner" value="json" />' in report and 'failures="' in report


USAGE = [
    (["--learner", "missing.ipynb"], "No such file"),
    (["--learner", "empty.py"], "no exercise is in it"),
    (["--section", "9"], "--section 9: there is no such section"),
    (["--learner", "."], "no exercise is in it"),
    (["--learner", "hollow"], "the folder contains no notebook and no Python program"),
    (
        ["--exercises", "vad"],
        "--exercises vad: No module named 'vad'. Pass a module, its file, or one of zero_",
    ),
    (["--exercises", "empty.py"], "empty.py defines no exercise"),
    (["--exercises", "none.py"], "no such file: none.py"),
    (["--marks", "m.csv"], "--marks: marks exist only with --learner"),
    (["--learner", "empty.py", "--marks", "m.xls"], "its name should end with .csv or .html"),
]
# Each test runs in a separate process that has already imported pytest and the plugin.
ONE_BY_ONE = """
import json, os, sys
import pytest
import numbalite.course.plugin

for arguments in json.loads(sys.argv[1]):
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.dup2(1, 2)
        given = ["-q", "-p", "no:cacheprovider", "-p", "numbalite.course.plugin", "--pyargs", "numbalite.course"]
        status = pytest.main([*given, *arguments])
        sys.stdout.flush()
        os._exit(status)
    print(f"status {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}")
    print("----")
"""


def test_invalid_command_lines_print_usage(run_python, tmp_path, driver_kind):
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "hollow").mkdir()
    result = run_python(
        ONE_BY_ONE,
        json.dumps([arguments for arguments, _ in USAGE]),
        NUMBALITE_DRIVER=driver_kind,
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    *answers, nothing = result.stdout.split("----\n")
    assert len(answers) == len(USAGE) and not nothing
    for (arguments, said), answer in zip(USAGE, answers, strict=True):
        assert said in answer and not answer.endswith("status 0\n"), (arguments, answer)


def test_table_of_marks_is_formatted(tmp_path):
    from numbalite.course.marks import Mark, MarkTable

    marks = [
        Mark("bo", "vadd", "passed", "vadd: passed"),
        Mark("bo", "wave", "failed", "a < b"),
        Mark("ada", "wave", "missing", "no wave"),
        Mark("ada", "own", "passed", "own: passed"),
    ]
    table = MarkTable(marks, {"vadd": 1, "wave": 3, "unused": 1})
    assert table.lines() == [
        "learner  vadd  wave  own  passed   points",
        "ada               -  yes  1 of 2        1",
        "bo        yes    no       1 of 2        1",
    ]
    assert table.lines(width=40)[0].split() == ["learner", "1", "2", "3", "passed", "points"]
    assert table.lines(width=40)[-1] == "  3  own"
    assert table.csv().splitlines()[1:] == ["ada,,0,1,1,1", "bo,1,0,,1,1"]
    table.write(tmp_path / "marks.html")
    page = (tmp_path / "marks.html").read_text()
    assert (
        "a &lt; b" in page and page.count("<section>") == 2 and "{" not in page.split("</style>")[1]
    )


def test_pytest_fixtures_report_times_and_mismatches(run_python, tmp_path, driver_kind):
    """Times of the tests' kernels are printed as a table after the run; wrong elements are named."""
    (tmp_path / "test_mine.py").write_text("""
import numpy as np
import pytest

from numbalite import cuda


@cuda.jit
def double(x):
    "int i = grid<1>(); if (i < x.size()) x[i] *= 2;"


def test_time(kernel_time, assert_close):
    x = cuda.to_device(np.zeros(100, np.float32))
    assert kernel_time(double[1, 128], x, label="double, 100 elements", repeat=3) > 0
    assert_close(x, np.zeros(100, np.float32))


def test_wrong(assert_close):
    assert_close(np.arange(3), np.array([0, 1, 5]))


def test_shape(assert_close):
    with pytest.raises(AssertionError, match="shape"):
        assert_close(np.zeros(3), np.zeros(4))


def test_tolerance(kernel_tolerance):
    assert kernel_tolerance(np.int8).rtol == 0 < kernel_tolerance(np.float32).rtol
""")
    result = run_grade_command(run_python, "test_mine.py", driver_kind=driver_kind)
    assert "1 failed, 3 passed" in result.stdout, result.stdout + result.stderr
    assert "1 of 3 elements are wrong, the first at [2]: 2, expected 5" in result.stdout
    assert "= kernel times (" in result.stdout
    assert "test_time  double, 100 elements" in result.stdout


def test_unused_pytest_plugin_imports_nothing(run_python):
    code = (
        "import sys, pytest\n"
        "before = set(sys.modules)\n"
        "import numbalite.course.plugin\n"
        "print(sorted(m for m in set(sys.modules) - before if 'numbalite' in m))\n"
        "print('numpy' in sys.modules)\n"
    )
    modules = ["numbalite", "numbalite.course", "numbalite.course.plugin", "numbalite.frontend"]
    assert run_python(code).stdout == f"{modules}\nFalse\n"


def test_pytest_entry_point_has_the_modules_name(checkout_root):
    text = (checkout_root / "pyproject.toml").read_text()
    assert '"numbalite.course.plugin" = "numbalite.course.plugin"' in text


def test_nothing_is_graded_where_the_reference_fails(run_python, tmp_path, driver_kind):
    """If the reference solution fails, the exercise or the machine is faulty, and no marks are
    written."""
    (tmp_path / "own.py").write_text(OWN.replace("lambda x: x + x", "lambda x: x + 1"))
    (tmp_path / "class").mkdir()
    for learner in "ada", "bo":
        (tmp_path / "class" / f"{learner}.py").write_text(RIGHT)
    result = run_grade_command(
        run_python,
        *("--pyargs", "numbalite.course", "--learner", "class", "--no-speed"),
        *("--exercises", "own.py", "--exercises", "bank_conflicts", "--marks", "marks.csv"),
        driver_kind=driver_kind,
    )
    assert "4 failed" in result.stdout and not (tmp_path / "marks.csv").exists()
    assert "Nothing is graded: the judge's own solutions fail on this machine." in result.stdout
    assert "twice: not passed" in result.stdout and "bank_conflicts: not" not in result.stdout
