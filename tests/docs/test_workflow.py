"""Tests the workflow that docs/simulator.md shows, and its test file."""

import os
import re
import shlex
import subprocess
import sys

import doc_pages
import pytest

yaml = pytest.importorskip("yaml")

PAGE = doc_pages.ROOT / "docs" / "simulator.md"
KERNEL = """
__global__ void saxpy(float a, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"""


@pytest.fixture(scope="module")
def workflow_job():
    text = PAGE.read_text(encoding="utf-8")
    workflow = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1])
    assert workflow[True] == ["push", "pull_request"]  # YAML 1.1 reads "on" as a truth value
    (only,) = workflow["jobs"].values()
    assert only["env"]["NUMBALITE_DRIVER"] == "sim"
    return only


def shell_steps(job):
    """Returns (command, variables) of the workflow's steps after the installation."""
    steps = [step for step in job["steps"] if "run" in step]
    assert steps[0]["run"].startswith("pip install ") and "numbalite" in steps[0]["run"]
    assert [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step] == [
        "actions/checkout",
        "actions/setup-python",
    ]
    return [(shlex.split(step["run"]), {**job["env"], **step.get("env", {})}) for step in steps[1:]]


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
def test_documented_workflow_passes_and_fails_on_a_bug(workflow_job, wrong, tmp_path, driver_kind):
    """The workflow's test passes, and fails with checks if the kernel writes out of bounds."""
    if driver_kind != "sim":
        pytest.skip("the workflow is for machines without a GPU")
    blocks = [
        block.text for block in doc_pages.parse_blocks(PAGE) if "def test_saxpy" in block.text
    ]
    (tmp_path / "test_kernels.py").write_text(blocks[0])
    kernel = KERNEL.replace("i < n", "i <= n") if wrong else KERNEL
    (tmp_path / "saxpy.cu").write_text(kernel)
    done = [
        run_module(command, variables, tmp_path) for command, variables in shell_steps(workflow_job)
    ]
    assert (done[0].returncode != 0) == wrong, done[0].stdout
    if wrong:
        # The order of the two accesses is the compiler's choice.
        assert (
            re.search("but [xy] points to 1", done[0].stdout)
            and "saxpy.cu, line 4" in done[0].stdout
        )
    else:
        assert all(d.returncode == 0 for d in done), done[-1].stdout


def run_module(command, variables, folder):
    return subprocess.run(
        [sys.executable, "-m", *command, "-p", "no:cacheprovider"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(doc_pages.ROOT), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
