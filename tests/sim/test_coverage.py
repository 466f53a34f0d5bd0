"""Tests line and branch coverage of kernels: compares it with `clang --coverage` of the same text,
and tests the commands."""

import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

import pytest
from kit.sample import VARIABLE

from numbalite.compilers import host, hostbuild
from numbalite.coverage import data, report

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = host.find_compiler()
pytestmark = [
    pytest.mark.sim,
    pytest.mark.skipif(
        hostbuild.identify_compiler(COMPILER).family == "gcc", reason="g++ has no LLVM IR"
    ),
]
needs_gcov = pytest.mark.skipif(
    not shutil.which("llvm-cov") or COMPILER.is_zig, reason="llvm-cov is not installed"
)
LLVM_COV = ["llvm-cov", "gcov"]
KERNELS = 50
BATCH = 10


@pytest.fixture
def run_coverage(tmp_path):
    """run_coverage(program) runs `numbalite coverage run` in the test's folder; returns path -> FileCoverage."""

    def run_program(program, *options, status=0):
        (tmp_path / "program.py").write_text(program)
        command = [sys.executable, "-m", "numbalite", "coverage", "run", *options, "program.py"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment.pop("NUMBALITE_COVERAGE", None)
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == status, done.stderr
        found = data.read_coverage(str(tmp_path / data.FOLDER))
        return {os.path.relpath(path, tmp_path): one for path, one in found.items()}

    return run_program


# --- random kernels, with clang's own coverage as the oracle


class RandomFunctionText:
    """Returns the text of a random function of `int *x, int n`."""

    def __init__(self, rng):
        self.rng, self.rows, self.names = rng, [], 0

    def value(self):
        return self.values()[0]

    def values(self):
        """Returns two different values that are not both constants, because g++ folds comparisons of
        constants before it counts."""
        variables = ["x[0]", "x[1]", "x[2]", "x[n % 4]", "n", "n * 3 - x[2]"]
        return self.rng.sample([*variables, str(self.rng.randrange(9))], 2)

    def condition(self, depth=0):
        kind = self.rng.randrange(6) if depth < 2 else 0
        if kind == 1:
            return f"{self.condition(depth + 1)} && {self.condition(depth + 1)}"
        if kind == 2:
            return f"({self.condition(depth + 1)} || {self.condition(depth + 1)})"
        if kind == 3:
            return f"!({self.condition(depth + 1)})"
        left, right = self.values()
        return f"{left} {self.rng.choice(['<', '>', '==', '!='])} {right}"

    def statement(self, depth):
        indent, kind = "    " * (depth + 1), self.rng.randrange(9 if depth < 3 else 3)
        put = lambda row: self.rows.append(indent + row)
        if kind < 2:
            put(f"x[{self.rng.randrange(4)}] = ({self.value()}) & 15;")
        elif kind == 2:
            put(f"x[{self.rng.randrange(4)}] = ({self.condition()} ? n + 20 : n + 30) & 15;")
        elif kind in (3, 4):
            put(f"if ({self.condition()}) {{")
            self.block(depth)
            if kind == 4:
                put("} else {")
                self.block(depth)
            put("}")
        elif kind in (5, 6):
            self.names += 1
            name = f"i{self.names}"
            put(f"for (int {name} = 0; {name} < {self.rng.randrange(4)}; {name}++) {{")
            if self.rng.random() < 0.4:
                put(
                    f"    if ({self.condition()})\n{indent}        {self.rng.choice(['break', 'continue'])};"
                )
            self.block(depth)
            put("}")
        elif kind == 7:
            put(f"switch ({self.value()} & 3) {{")
            for label in self.rng.sample(["case 0:", "case 1: case 2:", "case 3:", "default:"], 3):
                put(label)
                self.block(depth)
                if self.rng.random() < 0.7:
                    put("    break;")
            put("}")
        else:
            put(f"if ({self.condition()}) return;")

    def block(self, depth):
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth + 1)

    def function(self, number):
        self.rows = [f"__global__ void kernel{number}(int *x, int n) {{"]
        for _ in range(self.rng.randrange(3, 9)):
            self.statement(0)
        return "\n".join([*self.rows, "}\n"])


PROGRAM = """
import pathlib
import numpy as np
from numbalite import cuda
module = cuda.module(pathlib.Path("kernels.cu"))
for number in range({count}):
    for n in {sizes}:
        module[f"kernel{{number}}"][1, 1](cuda.to_device(np.arange(4, dtype=np.int32) * n), n)
cuda.synchronize()
"""
HOST = """
#define __global__
#include "{path}"
int main() {{
    int sizes[] = {{ {sizes} }};
{calls}
}}
"""
_ROW = re.compile(r"\s*([\d#=-]+)\*?:\s*(\d+):")
_BRANCH = re.compile(r"branch\s+\d+ (never executed|taken (\d+))")


def compiler_coverage(command, gcov, text, sizes, folder):
    """Returns (line -> has run, line -> [branches, taken branches]) from a compiler's own counters."""
    folder.mkdir()
    (folder / "kernels.h").write_text(text)
    count = text.count("__global__")
    calls = "\n".join(
        f"    for (int n : sizes) {{ int x[4] = {{0, n, 2 * n, 3 * n}}; kernel{k}(x, n); }}"
        for k in range(count)
    )
    main = HOST.format(path="kernels.h", sizes=", ".join(map(str, sizes)), calls=calls)
    (folder / "main.cpp").write_text(main)

    def run_command(*command):
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)

    run_command(*command, "--coverage", "-w", "main.cpp", "-o", "main")
    run_command("./main")
    run_command(*gcov, "-b", "-c", next(folder.glob("*.gcda")).name)
    lines, branches, line = {}, {}, 0
    for row in (folder / "kernels.h.gcov").read_text().splitlines():
        if found := _ROW.match(row):
            line = int(found[2])
            if line and found[1] != "-":
                lines[line] = found[1][0] not in "#="
        elif found := _BRANCH.match(row):
            total = branches.setdefault(line, [0, 0])
            total[0] += 1
            total[1] += bool(found[2] and int(found[2]))
    return lines, branches


@needs_gcov
@pytest.mark.slow
@pytest.mark.parametrize("batch", range(KERNELS // BATCH))
def test_coverage_equals_clangs_and_gccs(batch, run_coverage, tmp_path):
    """Lines equal clang's coverage, branches equal gcov's with g++. llvm-cov 14 omits some branches of `a && b ||
    c` and miscounts some later lines; for lines that differ, gcov's count is used, if it has the line."""
    rng = random.Random(f"{os.environ.get(VARIABLE)} coverage {batch}")
    text = "".join(RandomFunctionText(rng).function(k) for k in range(BATCH))
    sizes = [rng.randrange(8) for _ in range(2)]
    (tmp_path / "kernels.cu").write_text(text)
    ours = run_coverage(PROGRAM.format(count=BATCH, sizes=sizes))["kernels.cu"]
    lines, _ = compiler_coverage(COMPILER.command, LLVM_COV, text, sizes, tmp_path / "clang")
    if shutil.which("g++") and shutil.which("gcov"):
        of_gcc, branches = compiler_coverage(["g++"], ["gcov"], text, sizes, tmp_path / "gcc")
        agreed = {
            line for line, has_run in ours.lines.items() if of_gcc.get(line, has_run) == has_run
        }
        lines.update((line, ours.lines[line]) for line in agreed & lines.keys())
        found = {line: [len(ways), sum(ways)] for line, ways in ours.branches.items()}
        assert found == branches
    assert ours.lines == lines
    assert any(lines.values()) and not all(lines.values())


# --- as users see it

MIXED = '''
import numpy as np
from numbalite import cuda

@cuda.jit
def text(x, n):
    """
    int i = grid<1>();
    if (i < n)
        x[i] += 1;
    else
        x[0] = 9;
    """

@cuda.jit
def python(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2
    else:
        x[0] = 3

helper = cuda.jit(device=True)(lambda v: v if v > 0 else -v)

text[1, 8](np.zeros(8), 8)
python[1, 4](np.ones(16, np.float32))
python[1, 4](np.ones(16))
'''


def line_with(text, marker):
    """Returns the number of the line that contains a text."""
    return next(i for i, row in enumerate(text.splitlines(), 1) if marker in row)


def test_coverage_includes_cpp_and_python_bodies(run_coverage):
    one = run_coverage(MIXED)["program.py"]
    assert {
        line_with(MIXED, "if (i < n)"),
        line_with(MIXED, "x[i] += 1"),
        line_with(MIXED, "x[i] = 2"),
    } <= set(one.executed_lines)
    assert one.missing_lines == [line_with(MIXED, "x[0] = 9"), line_with(MIXED, "x[0] = 3")]
    assert one.branches[line_with(MIXED, "if (i < n)")].count(False) == 1
    assert one.branches[line_with(MIXED, "if i < x.size")].count(True) == 1
    assert one.partial_lines() == [
        line_with(MIXED, "if (i < n)"),
        line_with(MIXED, "if i < x.size"),
    ]


def test_several_runs_and_processes_are_merged(run_coverage, tmp_path):
    run_coverage(MIXED)
    other = MIXED.replace("text[1, 8](np.zeros(8), 8)", "text[1, 8](np.zeros(8), 7)")
    # The program's text changes between the runs, but the kernels do not.
    one = run_coverage(other, "--append")["program.py"]
    assert one.missing_lines == [line_with(MIXED, "x[0] = 3")]
    assert not one.missing_lines or one.branches[line_with(MIXED, "if (i < n)")] == [True, True]
    again = run_coverage(MIXED)["program.py"]
    assert len(again.missing_lines) == 2  # without --append


FORKED = """
import json
import os
import numpy as np
from numbalite import cuda
@cuda.jit
def k(x, n):
    "if (n == 1) x[0] = 1; if (n == 2) x[0] = 2;"
for n in (1, 2):
    if os.fork() == 0:
        k[1, 1](np.zeros(1), n)
        os._exit(0)  # nothing runs at the end
    os.wait()
"""


def test_coverage_includes_children_ended_by_exit(run_coverage):
    one = run_coverage(FORKED)["program.py"]
    assert [way for ways in one.branches.values() for way in ways] == [True] * 4


CHECKED = """
import numpy as np
from numbalite import cuda
@cuda.jit
def k(x, n):
    '''
    __shared__ int s[4];
    if (n == 1)
        s[threadIdx.x % 4] = 1;
    __syncthreads();
    if (n == 2)
        x[threadIdx.x] = s[0] / n;
    '''
x = cuda.to_device(np.zeros(4))
k[1, 4](x, 1)
with cuda.checks():
    k[1, 4](x, 0)
with cuda.profile():
    k[1, 4](x, 0)
"""


def test_coverage_includes_checked_launches(run_coverage):
    one = run_coverage(CHECKED)["program.py"]
    assert one.missing_lines == [line_with(CHECKED, "x[threadIdx.x]")]
    assert {line: sorted(ways) for line, ways in one.branches.items()} == {
        line_with(CHECKED, "if (n == 1)"): [True, True],
        line_with(CHECKED, "if (n == 2)"): [False, True],
    }


def test_coverage_command_reports_and_exports(run_coverage, tmp_path):
    run_coverage(MIXED)

    def run_coverage_command(*arguments, status=0):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "numbalite", "coverage", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    table = run_coverage_command("report")
    row = next(row for row in table.splitlines() if row.startswith("program.py"))
    missing = f"{line_with(MIXED, 'x[0] = 9')}, {line_with(MIXED, 'x[0] = 3')}; branches of"
    assert missing in row
    assert "TOTAL" in table
    run_coverage_command("report", "--fail-under", "99", status=2)
    run_coverage_command("report", "--fail-under", "10")
    assert "no data" in run_coverage_command("report", "--omit", "program.py", status=1)
    assert "program.py" in run_coverage_command("report", "--include", "prog*")
    run_coverage_command("lcov")
    lcov = (tmp_path / "kernels.lcov").read_text().splitlines()
    assert "SF:program.py" in lcov
    assert f"DA:{line_with(MIXED, 'x[0] = 9')},0" in lcov
    assert f"DA:{line_with(MIXED, 'x[i] = 2')},1" in lcov
    lines = [row for row in lcov if row.startswith("DA:")]
    assert f"LF:{len(lines)}" in lcov
    assert f"LH:{sum(row.endswith(',1') for row in lines)}" in lcov
    index = tmp_path / run_coverage_command("html").strip()
    assert "program.py" in index.read_text()
    page = (index.parent / "file0.html").read_text()
    assert page.count('class="miss"') == 2
    run_coverage_command("erase")
    assert "no data" in run_coverage_command("report", status=1)
    assert "which program" in run_coverage_command("run", status=2)


def test_coverage_command_passes_status_and_arguments(run_coverage):
    run_coverage("import sys; sys.exit(3)", status=3)
    run_coverage("import sys; assert sys.argv == ['program.py']")
    assert run_coverage("import numbalite") == {}


def test_damaged_data_are_ignored(run_coverage, tmp_path):
    run_coverage(MIXED)
    folder = tmp_path / data.FOLDER
    (folder / "x.4096.cov").write_bytes(b"\0" * 4096 + b"{")
    (folder / "y.cov").write_bytes(b"")
    assert [os.path.basename(path) for path in data.read_coverage(str(folder))] == ["program.py"]


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([1, 2, 3, 7, 9, 10], "1-3, 7, 9-10")]
)
def test_line_numbers_are_printed_as_ranges(numbers, text):
    assert report.line_ranges_text(numbers) == text


# --- coverage.py's own reports

CUDA = """
extern "C" __global__ void doubled(float *x, int n) {
    int i = threadIdx.x;
    if (i < n)
        x[i] *= 2;
    else
        x[0] = 7;
}
"""
PYTHON = """
import pathlib
unused = cuda.module(pathlib.Path(__file__).with_name("k.cu"))
unused.doubled[1, 4](np.ones(4, np.float32), 4)

def other():
    return 5

ignored = 5 if np.pi < 3 else 4  # pragma: no cover
"""


@pytest.fixture
def coverage_report(tmp_path):
    """coverage_report(*options) runs a program under coverage.py with the plug-in; returns the files of its JSON report."""
    pytest.importorskip("coverage")
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "k.cu").write_text(CUDA)
    (folder / "program.py").write_text(MIXED + PYTHON)
    (folder / "plain.py").write_text("a = 1\nif a > 2:\n    a = 3\n")
    (tmp_path / ".coveragerc").write_text("[run]\nplugins = numbalite.coverage\nsource = src\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBALITE_DRIVER": "sim"}
    environment.pop("NUMBALITE_COVERAGE", None)

    def run_coverage_module(*arguments):
        run = [sys.executable, "-m", "coverage", *arguments]
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def report_files(*options):
        run_coverage_module("run", *options, "src/program.py")
        run_coverage_module("json")
        run_coverage_module("html")
        found = json.loads((tmp_path / "coverage.json").read_text())
        return {os.path.basename(path): one for path, one in found["files"].items()}

    return report_files


def test_coverage_py_reports_kernel_lines(coverage_report):
    found = coverage_report()
    text = MIXED + PYTHON
    program, cuda_file = found["program.py"], found["k.cu"]
    missing = [
        line_with(text, "x[0] = 9"),
        line_with(text, "x[0] = 3"),
        line_with(text, "return 5"),
    ]
    assert program["missing_lines"] == missing
    assert {
        line_with(text, "x[i] += 1"),
        line_with(text, "x[i] = 2"),
        line_with(text, "import pathlib"),
    } <= set(program["executed_lines"])
    assert program["excluded_lines"] == [line_with(text, "ignored")]
    assert cuda_file["missing_lines"] == [line_with(CUDA, "x[0] = 7")]
    assert found["plain.py"]["executed_lines"] == []


def test_coverage_py_reports_kernel_branches(coverage_report):
    found = coverage_report("--branch")
    text = MIXED + PYTHON
    partial = {line for line, end in found["program.py"]["missing_branches"]}
    assert partial == {line_with(text, "if (i < n)"), line_with(text, "if i < x.size")}
    assert found["k.cu"]["missing_branches"][0][0] == line_with(CUDA, "if (i < n)")
    assert found["k.cu"]["summary"]["num_branches"] == 2
    assert line_with(text, "return 5") in found["program.py"]["missing_lines"]


def test_coverage_run_drops_kernel_data_of_earlier_runs(coverage_report, tmp_path):
    coverage_report()
    program = tmp_path / "src" / "program.py"
    program.write_text(program.read_text().replace("np.zeros(8), 8)", "np.zeros(8), 7)"))
    assert line_with(MIXED, "x[0] = 9") not in coverage_report()["program.py"]["missing_lines"]
    program.write_text(program.read_text().replace("np.zeros(8), 7)", "np.zeros(8), 8)"))
    assert (
        line_with(MIXED, "x[0] = 9")
        not in coverage_report("--append")["program.py"]["missing_lines"]
    )
    assert line_with(MIXED, "x[0] = 9") in coverage_report()["program.py"]["missing_lines"]


def test_numbalite_option_records_the_included_headers(run_coverage):
    """The sum of an array runs code of reduce.cuh, which is recorded only on request."""
    program = "import numpy as np; from numbalite import cuda; assert cuda.to_device(np.ones(9)).sum() == 9"
    assert not any("cuda_src" in path for path in run_coverage(program))
    found = run_coverage(program, "--numbalite")
    recorded = {pathlib.Path(path).name: one for path, one in found.items()}
    assert recorded["reduce.cuh"].executed_lines and recorded["reduce.cuh"].missing_lines


@pytest.mark.parametrize("option", [(), ("--numbalite",)])
def test_images_with_checks_of_their_own_are_loaded(run_coverage, option):
    """The kernel of indexing by an array is always checked: its image has hooks, which the flags do not use."""
    run_coverage(
        "import numpy as np; from numbalite import cuda\n"
        "assert cuda.to_device(np.arange(4))[np.array([3, 1])].copy_to_host().tolist() == [3, 1]",
        *option,
    )
