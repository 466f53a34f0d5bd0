"""Tests tasks in the formats of GPU MODE and KernelBench: small tasks of our own, computed by NumPy, and by PyTorch
where it is installed."""

import numpy as np
import pytest
from judge.corpus import judge_submission

from numbalite.judge import cases, formats, program, taskfile

pytestmark = pytest.mark.sim

TASK_YML = """
# name: blend
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "weights.py", "source": "../weights.py"}
  - {"name": "reference.py", "source": "reference.py"}
lang: "py"
tests:
  - {"rows": 3, "columns": 33, "seed": 1}
  - {"rows": 40, "columns": 7, "seed": 2}

benchmarks:
  - {"rows": 200, "columns": 100, "seed": 3}
"""
GPU_MODE = """
import numpy as np
from task import rows_first
from weights import weight

def ref_kernel(data):
    "Blends two images."
    first, second, out = data
    out[...] = weight * first + (1 - weight) * second
    return out

def generate_input(rows, columns, seed):
    rng = np.random.default_rng(seed)
    shape = rows_first(rows, columns)
    return (*rng.standard_normal((2, *shape)).astype(np.float32), np.empty(shape, np.float32))
"""
GPU_MODE_TORCH = """
import torch
from task import rows_first
from weights import weight

def ref_kernel(data: tuple[torch.Tensor, torch.Tensor, torch.Tensor], generator: torch.Generator | None = None):
    first, second, out = data
    return weight * first + (1 - weight) * second

def generate_input(rows, columns, seed):
    generator = torch.Generator(device="cuda")
    generator.manual_seed(seed)
    shape = rows_first(rows, columns)
    first = torch.randn(shape, device="cuda", dtype=torch.float32, generator=generator)
    return first, torch.rand(*shape, dtype=torch.float32).cuda(), torch.empty(shape, device="cuda")
"""
BLEND = """
int i = grid<1>(), columns = out.shape[1];
if (i >= out.size()) return;
int r = i / columns, c = i % columns;
out(r, c) = 0.25f * first(r, c) + 0.75f * second(r, c);
"""

KERNELBENCH = """
import numpy as np

class Model:
    "The scaled sum of each row."
    def __init__(self, factor):
        self.factor = factor
    def forward(self, x):
        return self.factor * x.sum(1)

rows = 4096
columns = 2 ** 14
width = 16384
shape = (rows, width)
factor = 3

def get_inputs():
    return [np.random.rand(*shape).astype(np.float32)]

def get_init_inputs():
    return [factor]
"""
KERNELBENCH_TORCH = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.factor * x.sum(1)

rows = 4096
width = 16384
factor = 3

def get_inputs():
    return [torch.rand(rows, width, device="cuda")]

def get_init_inputs():
    return [factor]
"""
ROWS = "int i = grid<1>(); if (i >= out.size()) return; double t = 0; for (int j = 0; j < x.shape[1]; j++) t += x(i, j); out[i] = 3 * t;"

BOTH = pytest.mark.parametrize("library", ["numpy", "torch"])


@pytest.fixture
def reference_sources(library):
    if library == "torch":
        pytest.importorskip("torch")
    return {"numpy": (GPU_MODE, KERNELBENCH), "torch": (GPU_MODE_TORCH, KERNELBENCH_TORCH)}[library]


def gpu_mode(folder, text):
    (folder / "blend_py").mkdir()
    (folder / "weights.py").write_text("weight = 0.25")
    for name, content in (
        ("task.yml", TASK_YML), ("reference.py", text), ("task.py", "def rows_first(*shape): return shape"),
    ):  # fmt: skip
        (folder / "blend_py" / name).write_text(content)
    return str(folder / "blend_py")


@BOTH
def test_tasks_of_gpu_mode_are_read(reference_sources, tmp_path):
    path = gpu_mode(tmp_path, reference_sources[0])
    task = taskfile.load_task(path)
    assert task.name == "blend"
    assert task.signature == "void(const float32[:, ::1], const float32[:, ::1], float32[:, ::1])"
    assert [p.name for p in task.parameters] == ["first", "second", "out"]
    assert task.sizes == [(3, 33), (40, 7)] and task.benchmarks == ((200, 100),)
    # Each case has other data, and the result of float64.
    rng = np.random.default_rng(1)
    one, two = (cases.draw_case(task, (3, 33), "normal", rng) for _ in range(2))
    assert not np.array_equal(one.arguments[0], two.arguments[0])
    first, second = (a.astype(np.float64) for a in one.arguments[:2])
    np.testing.assert_array_equal(
        one.expected["out"], (0.25 * first + 0.75 * second).astype(np.float32)
    )
    right = judge_submission(task, BLEND, tmp_path)
    assert right.passed, str(right)
    wrong = judge_submission(task, BLEND.replace("0.75f", "0.76f"), tmp_path)
    assert not wrong.passed and "elements of out are wrong" in str(wrong)


@BOTH
def test_tasks_of_kernelbench_are_read(reference_sources, tmp_path):
    path = tmp_path / "12_Sum_of_rows_.py"
    path.write_text(reference_sources[1])
    task = taskfile.load_task(str(path))
    assert task.name == "Sum_of_rows"
    assert task.signature == "void(const float32[:, ::1], float32[::1])"
    assert task.sizes == [(32, 32)] and task.benchmarks == ((4096, 16384),)
    assert {(1, 32), (33, 32), (32, 257)} <= set(cases.sizes(task))
    right = judge_submission(task, ROWS, tmp_path)
    assert right.passed, str(right)
    wrong = judge_submission(task, ROWS.replace("x.shape[1]", "32"), tmp_path)
    assert not wrong.passed


def test_dimensions_are_expressions_and_parts_of_tuples(tmp_path):
    """Such as `rows = 256 * 8` and `shape = (256 * 8, width)`."""
    text = KERNELBENCH.replace("rows = 4096", "rows = 2 ** 11 * 2").replace(
        "16384", "(64 * 4) ** 2 - 49152"
    )
    path = tmp_path / "rows.py"
    for shape in ("shape = (rows, width)", "shape = (rows, 256 * 64)", "shape = [4096 + 0, width]"):
        path.write_text(text.replace("shape = (rows, width)", shape))
        task = taskfile.load_task(str(path))
        assert task.sizes == [(32, 32)] and sorted(task.benchmarks[0]) == [4096, 16384]
    right = judge_submission(task, ROWS, tmp_path)
    assert right.passed, str(right)


def test_launch_of_other_formats_is_an_expression(tmp_path):
    path = gpu_mode(tmp_path, GPU_MODE)
    task = taskfile.load_task(path, "(first.shape[0], 64)")
    case = cases.draw_case(task, (40, 7), "normal", np.random.default_rng(1))
    assert task.launch(*case.arguments) == (40, 64)
    assert taskfile.load_task(path).launch(*case.arguments) == (2, 256)
    with pytest.raises(ValueError, match="--launch is for tasks in other formats"):
        taskfile.load_task("vadd", "(1, 32)")


@pytest.mark.parametrize(
    ("launch", "message"),
    [
        ("(x", "never closed; expected .grid, block., an expression of x, out"),
        ("(nope, 256)", "NameError.*an expression of x, out"),
        ("5", "is 5; expected .grid, block."),
    ],
)
def test_invalid_launch_expressions_name_the_parameters(launch, message):
    with pytest.raises(ValueError, match=f"--launch '.*{message}"):
        formats._launch_function(launch, ["x", "out"])(1, 2)


def test_incomplete_tasks_name_what_is_missing(tmp_path):
    with pytest.raises(TypeError, match="has no task.yml: a folder is a task of GPU MODE"):
        formats.read_task(str(tmp_path), None)
    (tmp_path / "task.yml").write_text('tests:\n  - {"n": 4, "seed": 1}\n')
    (tmp_path / "reference.py").write_text("def generate_input(n, seed):\n    return 1\n")
    with pytest.raises(TypeError, match="reference.py must define ref_kernel"):
        formats.read_task(str(tmp_path), None)
    (tmp_path / "relu.py").write_text("def get_inputs():\n    return []\n")
    with pytest.raises(TypeError, match="relu.py must define Model"):
        formats.read_task(str(tmp_path / "relu.py"), None)


def test_results_without_an_array_get_a_parameter():
    given = [np.ones(3, np.float32), np.ones(3, np.float32)]
    assert (
        formats._result_parameter_index(given, given[0] + given[1], lambda v: v[0] + v[1]) is None
    )
    assert formats._result_parameter_index(given, given[0] * 2, lambda v: v[0] * 2) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("self.factor * x.sum(1)", "(x, x)", "returns a tuple instead of one array"),
        ("def forward", "def parameters(self): return [1]\n    def forward", "the model has parameters"),
        ("(*shape)", "(5, 1 << 18)", "no smaller size is valid, with other values of the integers of get_inputs"),
        ("(*shape)", "(rows, 1 << 18)", "no smaller size is valid, with other values of rows"),
        ("factor = 3", "factor = 3\nshape = (rows, 1 << 18)\nclass Model(Model):\n    parameters = lambda self: [1]", "the model has parameters"),
    ],
)  # fmt: skip
def test_tasks_that_are_no_functions_raise(old, new, message, tmp_path):
    path = tmp_path / "task.py"
    path.write_text(KERNELBENCH.replace(old, new))
    with pytest.raises(TypeError, match=message):
        taskfile.load_task(str(path))


def test_missing_packages_of_a_task_are_named(tmp_path, capsys):
    path = tmp_path / "task.py"
    path.write_text("import no_such_package\n" + KERNELBENCH)
    (tmp_path / "k.cu").write_text(ROWS)
    assert program.main([str(tmp_path / "k.cu"), "--task", str(path)]) == 2
    assert "No module named 'no_such_package'" in capsys.readouterr().err
