"""Answers that try to pass without computing: each answer fails, and leaks nothing."""

import csv
import io
import os
import pathlib
import signal
import sys
import time
import types

import numpy as np
import pytest

from numbalite import _core, cuda, vectorize
from numbalite.course import judge
from numbalite.course.catalogue import find_exercise
from numbalite.course.grading import Grader
from numbalite.course.marks import Mark, MarkTable


@vectorize(["float32(float32)"], target="cuda")
def nothing(x):
    "x"


def _reachable_objects(frame, depth=4):
    """Returns all arrays and tuples of arrays that are reachable from the locals of the calling frames."""
    found, seen = [], set()
    while frame is not None:
        waiting = [(v, depth, f"{frame.f_code.co_name}: {k}") for k, v in frame.f_locals.items()]
        while waiting:
            value, left, where = waiting.pop()
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, np.ndarray):
                found.append((where, np.asarray(value)))
            elif isinstance(value, (cuda.DeviceNDArray,)):
                found.append((where, np.asarray(value.copy_to_host())))
            elif left and not isinstance(value, (type, type(os))):
                inside = value if isinstance(value, (list, tuple)) else ()
                inside = value.values() if isinstance(value, dict) else inside
                inside = [*inside, *getattr(value, "__dict__", {}).values()]
                if isinstance(value, types.FunctionType):
                    inside += [
                        cell.cell_contents
                        for cell in value.__closure__ or ()
                        if _is_cell_filled(cell)
                    ]
                waiting += [(each, left - 1, where) for each in inside]
        frame = frame.f_back
    return found


def _is_cell_filled(cell):
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def test_expected_results_are_not_in_any_stack_frame():
    """Searches the objects that are reachable from the frames at every call, including timed
    calls."""
    leaks, calls = [], []

    def hidden_layer(greyscales, weights):
        right = np.tanh(
            np.float64(np.asarray(greyscales)) / 255 * np.float64(np.asarray(weights))
        ).astype(np.float32)
        calls.append(right.size)
        for name, array in _reachable_objects(sys._getframe(1)):
            is_like = array.shape == right.shape and array.dtype.kind in "biufc"
            if is_like and right.size > 2 and np.allclose(array, right, 1e-4):
                leaks.append((right.size, len(calls), name))
        return find_exercise("hidden_layer").reference()(greyscales, weights)

    verdict = judge("hidden_layer", hidden_layer)
    assert len(calls) > 20 and not leaks, str(verdict)


def test_changing_data_through_stack_frames_keeps_expected_results():
    """A call that overwrites the judge's own copies with zeros does not change the expected
    results."""

    def hidden_layer(greyscales, weights):
        frame = sys._getframe(1)
        while frame is not None:
            place = frame.f_locals.get("place")
            for value in getattr(place, "given", ()):
                if isinstance(value, np.ndarray):
                    value[...] = 0
            frame = frame.f_back
        return nothing(cuda.to_device(np.zeros_like(greyscales))).copy_to_host()

    verdict = judge("hidden_layer", hidden_layer, speed=False)
    assert not verdict and "result is wrong" in verdict.reason


@pytest.mark.parametrize("name", ["vadd", "magnitude"])
def test_a_class_that_imitates_a_kernel_is_rejected(name):
    class ImitatedKernel:
        __class__ = _core.Dispatcher if name == "vadd" else _core.Ufunc

        def __getitem__(self, configuration):
            return lambda *arguments: None

    assert isinstance(ImitatedKernel(), _core.Dispatcher if name == "vadd" else _core.Ufunc)
    verdict = judge(name, ImitatedKernel())
    assert not verdict and verdict.reason.endswith("this is a ImitatedKernel.")


def test_kernel_with_a_replaced_class_is_rejected():
    kernel = find_exercise("vadd").reference()

    class ReplacedKernelClass(type(kernel)):
        def __getitem__(self, configuration):
            return lambda *arguments: None

    kernel.__class__ = ReplacedKernelClass
    assert "requires a kernel" in judge("vadd", kernel).reason


def test_replaced_kernel_attributes_are_not_called():
    """A function that replaces an attribute of the kernel is not called."""
    kernel = find_exercise("vadd").reference()
    kernel._resolve = kernel.configure = lambda *arguments: 1 / 0
    assert judge("vadd", kernel, speed=False)


def test_kernel_with_extensions_fails():
    class ArgumentExtension:
        def prepare_args(self, ty, value, **kw):
            return ty, value

    kernel = find_exercise("vadd").reference()
    kernel.extensions.append(ArgumentExtension())
    assert "without extensions=" in judge("vadd", kernel).reason


def test_function_that_skips_work_when_timed_fails():
    """The results are right until the third call with the large size."""
    reference, met = find_exercise("hidden_layer").reference(), []

    def hidden_layer(greyscales, weights):
        if greyscales.size in find_exercise("hidden_layer").large:
            met.append(1)
            if len(met) > 2:
                return np.zeros_like(greyscales)
        return reference(greyscales, weights)

    verdict = judge("hidden_layer", hidden_layer)
    assert not verdict and "wrong in the result" in verdict.reason, str(verdict)


@pytest.mark.parametrize("where", ["static int calls;", "__device__ int calls;"])
def test_kernel_that_skips_work_when_timed_fails(where):
    source = """
    __global__ void vadd(array<const float> a, array<const float> b, array<float> out) {
        int i = grid<1>();
        if (i < out.size() && (out.size() < 5000 || calls < 2)) out[i] = a[i] + b[i];
        if (i == 0 && out.size() > 5000) atomicAdd(&calls, 1);
    }
    """
    start = source.index("int i" if where.startswith("static") else "__global__")
    source = source[:start] + where + source[start:]
    verdict = judge("vadd", cuda.module(source)["vadd"])
    assert not verdict, str(verdict)


def test_module_variables_are_reset_between_runs():
    """State that a call with one size stores is not visible to the call with the next size."""

    @cuda.jit
    def vadd(a, b, out):
        """
        static int calls;
        int i = grid<1>();
        if (i < out.size()) out[i] = a[i] + b[i];
        if (i == 0 && calls++ > 2) out[i] = -1;
        """

    launched = [cuda.to_device(np.ones(1, np.float32)) for _ in range(3)]
    for _ in range(4):
        vadd[1, 1](*launched)
    assert launched[2].copy_to_host()[0] == -1  # the state is there
    verdict = judge("vadd", vadd, speed=False)
    assert verdict, str(verdict)


# ---- a file ---------------------------------------------------------------------------------------------


@pytest.fixture
def grade_answer(tmp_path, driver_kind, monkeypatch):
    """Returns a function grade_answer(text) -> the Result of the text's answer to bank_conflicts; asserts that all
    processes have ended."""
    monkeypatch.setenv("NUMBALITE_DRIVER", driver_kind)

    def grade_text(text):
        (tmp_path / "mine.py").write_text(text)
        grader = Grader(tmp_path / "mine.py", speed=False)
        try:
            return grader.result("bank_conflicts")
        finally:
            grader.close()

    return grade_text


RIGHT = """
import math
def bank_conflicts(stride):
    return math.gcd(stride, 32)
"""

CHILDREN = """
import os, pathlib, subprocess, sys, time
SLEEPS = "import os, pathlib, sys, time; pathlib.Path(f'pid{os.getpid()}').touch(); time.sleep(600)"

def start_child_processes(environment=None):
    subprocess.Popen([sys.executable, "-S", "-c", SLEEPS], start_new_session=True, env=environment)

start_child_processes()
start_child_processes({})
for _ in range(2):
    if os.fork() == 0:                # orphans in sessions of their own
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 3)
            pathlib.Path(f"pid{os.getpid()}").touch()
            time.sleep(600)
        os._exit(0)
while len(list(pathlib.Path().glob("pid*"))) < 4:
    time.sleep(0.01)
"""


def _running_pids(folder):
    found = [int(path.name[3:]) for path in folder.glob("pid*")]
    assert len(found) == 4
    return [pid for pid in found if pathlib.Path(f"/proc/{pid}").exists()]


def _have_children_ended(folder):
    until = time.monotonic() + 10
    while (left := _running_pids(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return not left


def test_child_processes_in_other_sessions_are_killed(grade_answer, tmp_path):
    assert grade_answer(RIGHT + CHILDREN).passed
    assert _have_children_ended(tmp_path)


def test_child_processes_of_an_ended_program_are_killed(grade_answer, tmp_path):
    assert not grade_answer(CHILDREN + "os._exit(5)\n").passed
    assert _have_children_ended(tmp_path)


def test_child_processes_are_killed_without_their_supervisor(grade_answer, tmp_path):
    """Remaining processes are found by the program's mark in their environment; a process without
    the mark is not ended."""
    kept = CHILDREN.replace("start_child_processes({})\n", "start_child_processes()\n")
    result = grade_answer(kept + "import signal\nos.kill(os.getppid(), signal.SIGKILL)\n" + RIGHT)
    assert _have_children_ended(tmp_path), result.text


def test_endless_output_is_cut_off(grade_answer, tmp_path, monkeypatch):
    from numbalite.judge import supervisor

    text = RIGHT + "from numbalite.course import timeouts\ntimeouts.CELL_LIMIT = 2\n# %%\n"
    text += "while True: print('x' * 10000)\n"
    sizes, closed = [], Grader.close

    def close(grader):
        if grader._child is not None:
            child = grader._child
            child.process.terminate()
            child.process.wait(20)
            sizes.append(os.fstat(child.last_words.fileno()).st_size)
        closed(grader)

    monkeypatch.setattr(Grader, "close", close)
    assert grade_answer(text).passed
    assert 0 < max(sizes) <= supervisor.KEPT


WRITES = """
import itertools, os, pathlib, sys, tempfile, time
def write(folder, size, deletes):
    for i in range(1000):
        path = pathlib.Path(folder, f"junk{i}")
        path.write_bytes(os.urandom(1 << 16) * (size >> 16))
        if deletes:
            path.unlink()
        time.sleep(0.005)
    time.sleep(3)
"""


@pytest.fixture
def small_disk(monkeypatch):
    from numbalite.judge import process

    monkeypatch.setattr(process, "FILE_LIMIT", 8 << 20)
    monkeypatch.setattr(process, "DISK_LIMIT", 40 << 20)


@pytest.mark.parametrize("folder", ["'.'", "tempfile.gettempdir()"])
def test_disk_usage_is_limited(grade_answer, tmp_path, small_disk, folder):
    """The process is ended; the next run omits the cell, and the other answers count."""
    result = grade_answer(f"{WRITES}\n# %%\nwrite({folder}, 1 << 20, False)\n# %%\n{RIGHT}")
    assert result.passed
    written = list(tmp_path.glob("junk*"))
    assert len(written) < 1000
    for path in written:
        path.unlink()
    result = grade_answer(f"{WRITES}\nwrite({folder}, 1 << 20, False)\n{RIGHT}")
    assert not result.passed
    assert "It wrote more than 41 MB to files, and was ended." in result.text
    for path in tmp_path.glob("junk*"):
        path.unlink()


def test_writing_an_endless_file_raises_oserror(grade_answer, tmp_path, small_disk):
    text = f"""
try:
    with open("long", "wb") as file:
        while True: file.write(bytes(1 << 16))
except OSError as problem:
    open("problem", "w").write(str(problem))
{RIGHT}"""
    assert grade_answer(text).passed
    assert "File too large" in (tmp_path / "problem").read_text()
    assert (tmp_path / "long").stat().st_size <= 8 << 20


def test_temporary_files_are_removed(grade_answer, tmp_path):
    text = "import tempfile; open('where', 'w').write(tempfile.mkdtemp())\n" + RIGHT
    assert grade_answer(text).passed
    assert not os.path.exists((tmp_path / "where").read_text())


def test_long_verdict_text_is_shortened(grade_answer):
    result = grade_answer("def bank_conflicts(stride): raise ValueError('x' * 10**8)\n")
    assert not result.passed and 1000 < len(result.text) < 21_000


@pytest.mark.parametrize("signum", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_verdict_names_the_signal_that_ended_the_program(grade_answer, signum):
    result = grade_answer(f"import os\nos.kill(os.getpid(), {int(signum)})\n")
    assert f"by {signum.name}" in result.text


# ---- the referee ----------------------------------------------------------------------------------------


def test_expected_results_are_computed_in_another_process(grade_answer, tmp_path):
    """The methods that compute expected results do not run in the learner's process."""
    spy = """
from numbalite.course.section3 import BankConflicts
def called(*arguments):
    open("called", "w").close()
    return 1 / 0
BankConflicts.expected = BankConflicts.wrong = BankConflicts.reference = BankConflicts.make = called
"""
    result = grade_answer(RIGHT + spy)
    assert result.passed, result.text
    assert not (tmp_path / "called").exists()


CHANGED = {
    "the judge": "from numbalite.course import judging\njudging._AnswerJudge._run_all_checks = lambda self, speed: None",
    "comparisons": (
        "from numbalite.course.referee import RemoteReferee\n"
        "RemoteReferee.compare = lambda self, key, got, by_reference=False: None"
    ),
    "results of NumPy": "import numpy as np\nnp.count_nonzero = lambda *_: 0",
    "one size": (
        "from numbalite.course.section3 import BankConflicts\nBankConflicts.sizes = (1,)\n"
        "def bank_conflicts(stride): return math.gcd(stride, 32)"
    ),
    "the exercise": (
        "from numbalite.course.assessment import EXERCISES\n"
        "class Easy(EXERCISES['bank_conflicts']):\n"
        "    def expected(self, stride): return np.asarray(1)\n"
        "EXERCISES['bank_conflicts'] = Easy"
    ),
}


@pytest.mark.parametrize("change", CHANGED)
def test_changing_the_judge_module_does_not_pass(grade_answer, change):
    wrong = "import math\nimport numpy as np\ndef bank_conflicts(stride): return 1\n"
    result = grade_answer(wrong + CHANGED[change] + "\n")
    assert not result.passed and "not passed" in result.text, result.text


def test_other_answers_pass_after_a_forged_one(tmp_path, driver_kind, monkeypatch):
    monkeypatch.setenv("NUMBALITE_DRIVER", driver_kind)
    path = tmp_path / "mine.py"
    path.write_text(
        f"{RIGHT}\ndef wave(before, now, steps): return now\n"
        "from numbalite.course import judging\n"
        "judging._AnswerJudge._run_all_checks = lambda self, speed: self._check_results()\n"
        "judging._AnswerJudge._mistake_at_size = lambda self, n, margin=0: None\n"
    )
    grader = Grader(path, speed=False)
    try:
        assert "has not seen right results at all sizes" in grader.result("wave").text
        assert grader.reference("bank_conflicts").text
    finally:
        grader.close()


@pytest.mark.parametrize("garbage", ["b'x'", "b'{}'", "b'[1]'", "b'{\"draw\": 1000000000}'", "b''"])
def test_invalid_data_in_the_referees_pipe_fails(grade_answer, garbage):
    text = (
        "import sys\nfrom multiprocessing.connection import Connection\n"
        f"Connection(int(sys.argv[2])).send_bytes({garbage})\n"
    )
    result = grade_answer(RIGHT + text)
    assert not result.passed and "ended" in result.text, result.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("np.array(1, object)", "is object; it should be int64"),
        ("np.ones(3, object)", "has the shape (3,); it should be ()"),
        ("np.zeros((), [('a', 'f4'), ('b', 'i8')])", "it should be int64"),
        ("np.array('abc')", "is <U3; it should be int64"),
        ("np.array(1, 'M8[s]')", "is datetime64[s]; it should be int64"),
        ("(1, 2)", "It returns 2 results; 1 are wanted."),
    ],
)
def test_results_of_any_dtype_reach_the_referee(grade_answer, answer, said):
    result = grade_answer(f"import numpy as np\ndef bank_conflicts(stride): return {answer}\n")
    assert not result.passed and said in result.text, result.text


# ---- marks ----------------------------------------------------------------------------------------------


def test_formulas_in_names_are_escaped_in_the_csv_table():
    names = ['=cmd|"/c calc"!A0', "+1", "-1", "@SUM(A1)", "\t=1", " =1", "anna", "x=1"]
    table = MarkTable([Mark(name, name, "passed") for name in names]).csv()
    rows = list(csv.reader(io.StringIO(table)))
    cells = [row[0] for row in rows[1:]] + rows[0][1:-2]
    assert sorted(cells) == sorted(2 * [f"'{name}" for name in names[:-2]] + 2 * names[-2:])
